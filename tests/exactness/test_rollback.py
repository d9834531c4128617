"""Logits after any history of accepted, rejected and branching drafts equal a fresh pass.

The bound is 1e-4 of the largest logit in absolute value. float32 gives about 1e-6 here.
"""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from apply_edit.decode.target import Block
from apply_edit.decode.transformers_target import TransformersTarget
from tests.exactness.profile import costly
from tests.tiny import VOCAB, own_logits, qwen2_config, sliding_config, tiny_model

BOUND = 1e-4
WINDOW = 8

CONFIGS = {"full": qwen2_config(), "sliding": sliding_config(WINDOW)}
MODELS = {name: tiny_model(config) for name, config in CONFIGS.items()}
CAPACITIES = {"dynamic": None, "static": 160}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Models of this size are many times slower on several threads of a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


ids = st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=7)
# One step: a linear block of which a part stays, or a tree of which a branch stays.
linear = st.tuples(st.just("linear"), ids, st.integers(0, 7))
trees = st.tuples(
    st.just("tree"),
    st.lists(st.tuples(st.integers(0, VOCAB - 1), st.integers(-1, 9)), min_size=1, max_size=9),
    st.integers(-1, 9),
)
histories = st.lists(st.one_of(linear, trees), min_size=1, max_size=6)


def gap(target, row, committed, model):
    """Return the largest difference to a fresh pass, relative to the largest logit."""
    probe = [3, 1, 4]
    ours = target.score([Block(row, tuple(probe), 3)])[0].logits(0, 3)
    target.rollback(row, len(committed))
    fresh = own_logits(model, [*committed, *probe])[-3:]
    return float((ours - fresh).abs().max() / fresh.abs().max())


def play(target, row, committed, step):
    """Carry out one step on the target; return the committed ids after it."""
    kind, what, keep = step
    if kind == "linear":
        target.score([Block(row, tuple(what), 1)])
        stay = [*committed, *what[:keep]]
        target.rollback(row, len(stay))
        return stay
    tokens = tuple(token for token, _ in what)
    # A wish that is not before the node becomes the root, so that every list makes a tree.
    parents = tuple(parent if parent < node else -1 for node, (_, parent) in enumerate(what))
    target.score([Block(row, tokens, 1, parents)])
    branch = []
    node = min(keep, len(tokens) - 1)
    while node >= 0:
        branch.append(node)
        node = parents[node]
    target.keep_branch(row, len(committed), branch[::-1])
    return [*committed, *(tokens[node] for node in branch[::-1])]


@pytest.mark.parametrize("storage", CAPACITIES)
@pytest.mark.parametrize("kind", MODELS)
def test_no_history_leaves_a_trace(kind, storage, record_property):
    """Whatever was scored, kept and dropped before, the logits are those of the committed ids."""
    model, worst = MODELS[kind], 0.0
    target = TransformersTarget(model, VOCAB, CAPACITIES[storage])

    @costly
    @given(ids, histories)
    def check(prompt, history):
        nonlocal worst
        row = target.open_row()
        try:
            target.score([Block(row, tuple(prompt), 1)])
            committed = list(prompt)
            for step in history:
                committed = play(target, row, committed, step)
            here = gap(target, row, committed, model)
            worst = max(worst, here)
            assert here < BOUND
        finally:
            target.close_row(row)

    check()
    record_property("largest relative gap", worst)


@pytest.mark.parametrize("storage", CAPACITIES)
@pytest.mark.parametrize("length", [2, WINDOW - 1, WINDOW, WINDOW + 1, 4 * WINDOW])
def test_rollback_in_a_sliding_window(length, storage):
    """A window rolls back before, at and after the point where it is full."""
    model = MODELS["sliding"]
    target = TransformersTarget(model, VOCAB, CAPACITIES[storage])
    committed = [(7 * i + 3) % VOCAB for i in range(length)]
    row = target.open_row()
    target.score([Block(row, tuple(committed), 1)])
    target.score([Block(row, tuple(range(20, 20 + WINDOW)), 1)])
    target.rollback(row, length)
    assert gap(target, row, committed, model) < BOUND
    target.rollback(row, length - 1)
    assert gap(target, row, committed[:-1], model) < BOUND


def test_the_window_matters():
    """The sliding model is one in which the window can be got wrong: full attention differs."""
    ids = [(7 * i + 3) % VOCAB for i in range(4 * WINDOW)]
    windowed = own_logits(MODELS["sliding"], ids)[-1]
    wide = own_logits(tiny_model(sliding_config(64)), ids)[-1]
    assert float((windowed - wide).abs().max() / wide.abs().max()) > 100 * BOUND


@pytest.mark.parametrize("storage", CAPACITIES)
def test_rows_of_a_ragged_pass_do_not_see_each_other(storage):
    """Blocks of different rows, linear and trees, share a pass and give what they give alone."""
    model = MODELS["full"]
    target = TransformersTarget(model, VOCAB, CAPACITIES[storage])
    prompts = [[5, 6, 7], [8], list(range(30, 50))]
    rows = [target.open_row() for _ in prompts]
    target.score([Block(row, tuple(p), 0) for row, p in zip(rows, prompts, strict=True)])
    blocks = [
        Block(rows[2], (1, 2, 3), 3),
        Block(rows[0], (9, 10, 11, 12), 4, (-1, 0, -1, 2)),
        Block(rows[1], (13,), 1),
    ]
    scores = target.score(blocks)
    branches = [[(1,), (1, 2), (1, 2, 3)], [(9,), (9, 10), (11,), (11, 12)], [(13,)]]
    for score, prompt, tails in zip(scores, [prompts[2], *prompts[:2]], branches, strict=True):
        for place, tail in enumerate(tails):
            fresh = own_logits(model, [*prompt, *tail])[-1]
            ours = score.logits(place, place + 1)[0]
            assert float((ours - fresh).abs().max() / fresh.abs().max()) < BOUND


def test_padded_rows_of_the_head_are_cut():
    """Logits have as many entries as the tokenizer has ids, though the head has more."""
    target = TransformersTarget(MODELS["full"], VOCAB)
    row = target.open_row()
    logits = target.score([Block(row, (1, 2), 2)])[0].logits(0, 2)
    assert logits.shape == (2, VOCAB)
    assert target.vocab_size == VOCAB
    assert torch.isfinite(logits).all()
