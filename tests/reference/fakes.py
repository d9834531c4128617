"""Models with a KV cache for tests: small, deterministic, and strict about their cache."""

import random
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

VOCAB = 13


def hash_choice(seed, agree=1.0, vocab=VOCAB):
    """Return a next-token rule that depends on the last eight ids.

    Args:
        seed: Names the rule.
        agree: With this probability (decided by the context) the rule of ``seed`` is followed,
            otherwise another token is chosen.
        vocab: Number of ids.
    """

    def choose(tokens):
        context = list(tokens[-8:])
        choice = random.Random(f"{seed}:{context}").randrange(vocab)
        dice = random.Random(f"agree:{context}")
        return choice if dice.random() < agree else (choice + 1) % vocab

    return choose


@dataclass
class FakeModel:
    """A model whose cache *is* the ids that were fed to it.

    A position that should have been rolled back, or one that was fed twice, changes the context and
    with it every later token; so equality with plain decoding proves the bookkeeping.

    Args:
        choose: The next-token rule over the ids in the cache.
        form: ``flat``, ``nested``, ``array`` or ``tensor``; any other input is refused.
        style: ``tuple`` or ``object``, what forward returns.
        in_place: Whether truncate_cache shortens the cache in place and returns nothing.
    """

    choose: object
    form: str = "flat"
    style: str = "tuple"
    in_place: bool = False
    passes: list = field(default_factory=list)  # (cached positions, ids fed) of each pass
    truncations: list = field(default_factory=list)  # (length before, valid_length)

    def forward(self, input_ids, use_cache=True, past_key_values=None):
        """Run one pass and note how much was cached and fed."""
        ids = self._ids(input_ids)
        assert use_cache is True
        assert ids, "an empty pass"
        past = [] if past_key_values is None else past_key_values
        self.passes.append((len(past), len(ids)))
        cache = [*past, *ids]
        rows = np.zeros((len(ids), VOCAB), dtype=np.float32)
        for i in range(len(ids)):
            rows[i, self.choose(cache[: len(past) + i + 1])] = 1.0
        logits = rows if self.form == "flat" else rows[None]
        if self.style == "tuple":
            return logits, cache
        return SimpleNamespace(logits=logits, past_key_values=cache)

    def truncate_cache(self, past_key_values, valid_length):
        """Cut the cache and note from where to where."""
        self.truncations.append((len(past_key_values), valid_length))
        if self.in_place:
            del past_key_values[valid_length:]
            return None
        return past_key_values[:valid_length]

    def _ids(self, input_ids):
        if self.form == "flat":
            return [0 + token for token in input_ids]
        if self.form == "nested":
            (row,) = input_ids
            return [int(token) for token in row]
        batch, length = input_ids.shape
        assert batch == 1
        if self.form == "tensor":
            return input_ids.detach()[0].tolist()
        return [int(input_ids[0, i]) for i in range(length)]


def plain(choose, prompt, max_new, eos):
    """Return what plain greedy decoding writes."""
    out = []
    while len(out) < max_new and (not out or out[-1] != eos):
        out.append(choose([*prompt, *out]))
    return out
