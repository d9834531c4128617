"""Greedy speculative decoding with real models: two KV caches that are kept in step.

The rule for both caches, true after every round: all committed ids are cached except for the newest
one, which has not been through the model yet. Compare :mod:`apply_edit.reference.lists`, where the
same loop stands without caches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apply_edit.reference.adapter import CachedModel, CachedSequence

MAX_INPUT = 2048
MAX_NEW = 512
MAX_GAMMA = 16


def check_request(input_ids: Sequence[int], max_new_tokens: int, gamma: int) -> None:
    """Raise ``ValueError`` that names the first value outside its range."""
    for name, value, largest in (
        ("len(input_ids)", len(input_ids), MAX_INPUT),
        ("gamma", gamma, MAX_GAMMA),
        ("max_new_tokens", max_new_tokens, MAX_NEW),
    ):
        if not 1 <= value <= largest:
            message = f"{name} must be in 1..{largest}; got {value}"
            raise ValueError(message)


def _draft(
    draft: CachedSequence, seq: list[int], limit: int, eos_token_id: int | None
) -> list[int]:
    """Propose up to ``limit`` ids greedily, stopping after an EOS.

    The first pass also brings the cache up to date: it holds ``seq`` up to some point, always short
    of the newest id. The last proposed id is not put through the model.
    """
    proposal: list[int] = []
    pending = seq[draft.length :]
    while len(proposal) < limit and (not proposal or proposal[-1] != eos_token_id):
        # argmax of NumPy is the lowest id among equals, as the target's choice below.
        token = int(np.argmax(draft.extend(pending)[-1]))
        proposal.append(token)
        pending = [token]
    return proposal


# Six positional arguments and no more: this signature is the published one.
def speculative_decode(
    target_model: CachedModel,
    draft_model: CachedModel,
    input_ids: list[int],
    max_new_tokens: int,
    gamma: int,
    eos_token_id: int | None,
) -> tuple[list[int], float]:
    """Decode greedily: the target's own output, drafted by a smaller model.

    Each round the draft model proposes K ≤ gamma ids (it stops early after an EOS and where
    ``max_new_tokens`` leaves room for no more), one pass of the target judges them, and both caches
    are rolled back to what was accepted. The round ends with the target's own id: the correction
    of the first wrong draft, or the bonus token.

    One round in cache lengths: of a prefix of 10 ids, 9 are in the target's cache. With K = 4 the
    pass runs 1 + 4 ids, and 14 are cached. Two drafts are accepted and a correction is added: 13
    ids are committed, the cache is rolled back to 12, and the next pass begins with the newest id.

    Args:
        target_model: Decides every token. See :mod:`apply_edit.reference.adapter` for what a model
            has to offer.
        draft_model: Proposes. It must share the target's vocabulary; the same object may serve as
            both, since each side keeps a cache of its own.
        input_ids: The prompt, 1 to 2048 ids.
        max_new_tokens: 1 to 512; never exceeded, the bonus token included.
        gamma: Longest draft per round, 1 to 16.
        eos_token_id: Ends the output (an EOS in the prompt does not); ``None`` for no such id.

    Returns:
        The new ids (without the prompt, EOS included), and the acceptance rate: accepted over
        drafted ids, 0.0 where nothing was drafted.

    Raises:
        ValueError: A value is outside its range, or a model breaks its terms.
    """
    check_request(input_ids, max_new_tokens, gamma)
    target, draft = CachedSequence(target_model), CachedSequence(draft_model)
    prompt_length = len(input_ids)
    seq = list(input_ids)
    num_drafted = num_accepted = 0
    while len(seq) == prompt_length or seq[-1] != eos_token_id:
        room = max_new_tokens - (len(seq) - prompt_length)
        if room < 1:
            break
        # One place is left free for the token that the target adds.
        proposal = _draft(draft, seq, min(gamma, room - 1), eos_token_id)
        logits = target.extend([*seq[target.length :], *proposal])
        # Only the last K + 1 rows judge drafts; the ones before belong to the prompt.
        choices = np.argmax(logits[-len(proposal) - 1 :], axis=-1).tolist()
        accepted = 0
        while accepted < len(proposal) and proposal[accepted] == choices[accepted]:
            accepted += 1
        num_drafted += len(proposal)
        num_accepted += accepted
        seq += proposal[:accepted]
        if accepted == 0 or seq[-1] != eos_token_id:
            seq.append(choices[accepted])
        for side in (target, draft):
            side.rollback(min(side.length, len(seq) - 1))
    rate = num_accepted / num_drafted if num_drafted else 0.0
    return seq[prompt_length:], rate


def autoregressive_decode(
    model: CachedModel, input_ids: list[int], max_new_tokens: int, eos_token_id: int | None
) -> list[int]:
    """Decode greedily with one pass per token: what :func:`speculative_decode` has to equal.

    Raises:
        ValueError: A value is outside its range, or the model breaks its terms.
    """
    check_request(input_ids, max_new_tokens, gamma=1)
    sequence = CachedSequence(model)
    out: list[int] = []
    pending = list(input_ids)
    while len(out) < max_new_tokens and (not out or out[-1] != eos_token_id):
        pending = [int(np.argmax(sequence.extend(pending)[-1]))]
        out += pending
    return out
