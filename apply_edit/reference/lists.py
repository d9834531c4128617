"""Speculative decoding over lists of probabilities, to be read from top to bottom.

A model is a function ``fn(tokens) -> list[float]``: the distribution of the token after ``tokens``.
Every function here takes such a function or a :class:`CountingModel` around one, and returns the
new tokens only (the prompt is not repeated, an EOS is included).

There is no cache: what a real model would compute in one forward pass is one *call* here, however
many positions it scores, because that is how a pass is paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from apply_edit.reference.verify import Draws, HasRandom, Row, argmax, as_draws, verify

ModelFn: TypeAlias = Callable[[list[int]], Row]
Propose: TypeAlias = Callable[[list[int], int], Sequence[int]]


class CountingModel:
    """A model that counts its forward passes.

    >>> model = CountingModel(lambda tokens: [0.25, 0.75])
    >>> model.next_dist([0]), len(model.score_block([0], [1, 1])), model.calls
    ([0.25, 0.75], 3, 2)

    Args:
        fn: Returns the distribution of the next token.

    Attributes:
        calls: Forward passes so far.
    """

    def __init__(self, fn: ModelFn) -> None:
        self.fn = fn
        self.calls = 0
        self._size: int | None = None

    def __call__(self, tokens: Sequence[int]) -> Row:
        """Do what :meth:`next_dist` does, so that the counting model is a model itself."""
        return self.next_dist(tokens)

    def next_dist(self, tokens: Sequence[int]) -> Row:
        """Return the distribution of the token after ``tokens``; one pass."""
        self.calls += 1
        return self._row(list(tokens))

    def score_block(self, prefix: Sequence[int], block: Sequence[int]) -> list[Row]:
        """Return the distributions around a block of drafts; one pass.

        Row 0 comes after ``prefix``, row 1 after ``prefix`` and ``block[0]``, and so on:
        ``len(block) + 1`` rows. Row i is therefore the one that judges ``block[i]``.
        """
        self.calls += 1
        ends = range(len(block) + 1)
        return [self._row([*prefix, *block[:end]]) for end in ends]

    def vocabulary(self, tokens: Sequence[int]) -> int:
        """Return how many ids the model knows.

        That is a property of the model and no pass. Functions have no properties, so until the
        first pass the row after ``tokens`` has to be looked at for it.
        """
        return self._size or len(self._row(list(tokens)))

    def _row(self, tokens: list[int]) -> Row:
        row = self.fn(tokens)
        self._size = len(row)
        return row


def _score(model: CountingModel, seq: list[int], block: list[int]) -> list[Row]:
    """Score a block that may hold ids outside the vocabulary, in one pass.

    Nothing can follow such an id, so the model is not asked: rows after it are zero throughout.
    Nobody reads them, because the id has no mass in the row before it and is rejected there.
    """
    size = model.vocabulary(seq) if block else 0
    known = next((i for i, token in enumerate(block) if not 0 <= token < size), len(block))
    rows = model.score_block(seq, block[:known])
    return rows + [[0.0] * size] * (len(block) - known)


def _counting(model: CountingModel | ModelFn) -> CountingModel:
    return model if isinstance(model, CountingModel) else CountingModel(model)


def _check(max_new: int, k: int = 0) -> None:
    if max_new < 0 or k < 0:
        message = f"max_new and k must not be negative; got max_new={max_new}, k={k}"
        raise ValueError(message)


def _until(tokens: list[int], eos: int | None) -> list[int]:
    """Cut after the first EOS.

    >>> _until([5, 2, 7, 2], 2)
    [5, 2]
    """
    return tokens[: tokens.index(eos) + 1] if eos is not None and eos in tokens else tokens


def _stopped(tokens: list[int], eos: int | None) -> bool:
    # Only new tokens count: an EOS inside the prompt (a chat turn) ends nothing.
    return eos is not None and bool(tokens) and tokens[-1] == eos


def greedy_decode(
    target: CountingModel | ModelFn, prompt: Sequence[int], max_new: int, eos: int | None = None
) -> list[int]:
    """Decode with one pass per token, always taking the most probable one.

    >>> greedy_decode(lambda tokens: [0.1, 0.9] if len(tokens) < 3 else [1.0, 0.0], [1], 4, eos=0)
    [1, 1, 0]

    Raises:
        ValueError: ``max_new`` is negative.
    """
    _check(max_new)
    model = _counting(target)
    out: list[int] = []
    while len(out) < max_new and not _stopped(out, eos):
        out.append(argmax(model.next_dist([*prompt, *out])))
    return out


def speculative_greedy(
    target: CountingModel | ModelFn,
    propose: Propose,
    prompt: Sequence[int],
    max_new: int,
    k: int = 4,
    eos: int | None = None,
) -> list[int]:
    """Decode greedily, with drafts: the same tokens as :func:`greedy_decode`, in fewer passes.

    Args:
        target: The model that decides.
        propose: ``propose(seq, k)`` returns up to ``k`` ids that may follow ``seq``. More are cut
            off, none means a plain step, and wrong ones (also ids outside the vocabulary) cost
            time only.
        prompt: Ids before the first new token.
        max_new: Most tokens to emit, the bonus token included.
        k: Longest draft per pass (gamma).
        eos: Id that ends the output, where there is one.

    Raises:
        ValueError: ``max_new`` or ``k`` is negative.
    """
    _check(max_new, k)
    model = _counting(target)
    out: list[int] = []
    while len(out) < max_new and not _stopped(out, eos):
        seq = [*prompt, *out]
        # The pass adds one token of the target's own, so one place stays free for it.
        limit = min(k, max_new - len(out) - 1)
        block = list(propose(seq, limit))[:limit] if limit else []
        choices = [argmax(row) for row in _score(model, seq, block)]
        accepted = 0
        while accepted < len(block) and block[accepted] == choices[accepted]:
            accepted += 1
        out += _until([*block[:accepted], choices[accepted]], eos)
    return out


# Seven arguments, because this signature is the published one.
def speculative_sample(  # noqa: PLR0913
    target: CountingModel | ModelFn,
    draft: CountingModel | ModelFn,
    prompt: Sequence[int],
    max_new: int,
    k: int,
    rng: HasRandom | Draws,
    eos: int | None = None,
) -> list[int]:
    """Decode by sampling, with drafts: the output has exactly the target's distribution.

    Each round draws up to ``k`` tokens from the draft model, scores them in one pass of the target,
    accepts each with min(1, p/q), puts a token of the residual max(0, p - q) in the place of the
    first rejected one, and adds a bonus token when none was rejected.

    Args:
        target: The model whose distribution the output has.
        draft: The model that proposes; any model at all, only speed depends on it.
        prompt: Ids before the first new token.
        max_new: Most tokens to emit, the bonus token included.
        k: Longest draft per pass (gamma); 0 is plain sampling.
        rng: ``random.Random``, or anything else that has ``random()``, or :class:`Draws`.
        eos: Id that ends the output, where there is one.

    Raises:
        ValueError: ``max_new`` or ``k`` is negative.
    """
    _check(max_new, k)
    model, proposer, draws = _counting(target), _counting(draft), as_draws(rng)
    out: list[int] = []
    while len(out) < max_new and not _stopped(out, eos):
        seq = [*prompt, *out]
        block: list[int] = []
        q_rows: list[Row] = []
        for _ in range(min(k, max_new - len(out) - 1)):
            q_rows.append(proposer.next_dist([*seq, *block]))
            block.append(draws.categorical(q_rows[-1]))
        verdict = verify(block, q_rows, _score(model, seq, block), draws)
        out += _until([*block[: verdict.accepted], verdict.extra], eos)
    return out


def model_proposer(draft: CountingModel | ModelFn) -> Propose:
    """Return a proposer that continues greedily with a (smaller) model; one pass per id."""
    model = _counting(draft)

    def propose(seq: list[int], k: int) -> list[int]:
        block: list[int] = []
        for _ in range(k):
            block.append(argmax(model.next_dist([*seq, *block])))
        return block

    return propose


def lookup_proposer(reference: Sequence[int], ngram: int = 3) -> Propose:
    """Return a proposer that copies from ``reference``; no model is asked.

    It looks for the last ``ngram`` ids of the sequence in ``reference`` and proposes what follows
    their latest occurrence (the latest one that anything follows). The index is built once, so a
    proposal does not become slower with the length of the reference.

    >>> lookup_proposer([7, 8, 9, 5, 7, 8, 3], ngram=2)([1, 7, 8], 4)
    [3]
    >>> lookup_proposer([7, 8, 9], ngram=2)([1, 8, 9], 4)
    []

    Raises:
        ValueError: ``ngram`` is below 1.
    """
    if ngram < 1:
        message = f"ngram must be at least 1; got {ngram}"
        raise ValueError(message)
    source = list(reference)
    # Where the text after an n-gram begins; a later occurrence replaces an earlier one.
    after = {tuple(source[end - ngram : end]): end for end in range(ngram, len(source))}

    def propose(seq: list[int], k: int) -> list[int]:
        start = after.get(tuple(seq[-ngram:]))
        return [] if start is None else source[start : start + k]

    return propose
