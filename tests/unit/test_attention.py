import pytest
import torch

from apply_edit.decode import attention
from apply_edit.decode.cache import KVCache
from apply_edit.decode.target import Block
from apply_edit.decode.transformers_target import padded
from apply_edit.errors import ModelLoadError
from tests.tiny import VOCAB, own_logits, qwen2_config, sliding_config, tiny_model, tiny_target

CPU = torch.device("cpu")


def plan_after(length, block, capacity=None):
    """Return the plan of a block behind ``length`` cached tokens."""
    cache = KVCache(1, capacity)
    row = cache.open_row()
    cache.commit(row, length)
    return attention.make_plan(cache, [block], CPU)


def test_a_tree_looks_at_its_ancestors_and_all_that_is_cached():
    """Siblings do not see each other, and depth, not place, gives the position."""
    plan = plan_after(2, Block(0, (5, 6, 7), 3, (-1, 0, 0)))
    assert plan.positions.tolist() == [[2, 3, 3]]
    assert plan.slots[0].tolist() == [2, 3, 4]
    assert plan.visible[0].int().tolist() == [
        [1, 1, 1, 0, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 1, 0, 1],
    ]


def test_static_storage_masks_what_lies_behind():
    """A static row is attended to as a whole, so everything behind the block must be masked."""
    plan = plan_after(1, Block(0, (5, 6), 2), capacity=5)
    assert plan.visible[0].int().tolist() == [[1, 1, 0, 0, 0], [1, 1, 1, 0, 0]]


def test_a_window_counts_positions_not_slots():
    """In a tree the window of a node reaches back from its depth, over ancestors at theirs."""
    plan = plan_after(3, Block(0, (5, 6, 7, 8), 4, (-1, -1, 1, 2)))
    (mask,) = plan.masks(2, 1)
    # Node 3 is at position 5 and sees 4 (node 2) and itself. Node 1 sits in slot 4, at position 3.
    assert mask.int().tolist()[3] == [0, 0, 0, 0, 0, 1, 1]
    (grouped,) = plan.masks(2, 3)
    assert torch.equal(grouped, mask.repeat(3, 1))


def test_the_first_block_of_a_row_needs_no_mask():
    """Plain causal attention is left to the fast path."""
    plan = plan_after(0, Block(0, (5, 6), 2))
    assert plan.masks(None, 2) == [None]


def test_a_model_that_brings_a_mask_is_refused():
    """An attention mask of the model's own would be ignored, so it is refused."""
    heads = torch.zeros(1, 2, 3, 4)
    module = torch.nn.Module()
    with pytest.raises(ModelLoadError, match="attention mask of its own"):
        attention.ragged_attention(module, heads, heads, heads, torch.ones(1))


def buffers(plan, ids):
    """Return every tensor that a pass reads."""
    return [ids, plan.positions, *plan.visible, *plan.slots, *plan.key_positions]


@pytest.mark.parametrize("config", [qwen2_config(), sliding_config(6)], ids=["full", "sliding"])
@pytest.mark.parametrize("parents", [None, (-1, 0, 0)], ids=["linear", "tree"])
def test_a_static_pass_can_be_replayed_at_another_length(config, parents):
    """A pass over static storage depends on its tensors only, as a captured graph does.

    The tensors of a pass at length 3 are overwritten with those of length 20, and the same call
    then gives the logits of length 20.
    """
    model = tiny_model(config)
    target = tiny_target(config, 64)
    cache, backbone = target._cache, target._backbone
    row = target.open_row()
    prompt = tuple((5 * i + 2) % VOCAB for i in range(20))
    block = padded(Block(row, (11, 12, 13), 3, parents))

    def prepare():
        plan = attention.make_plan(cache, [block], CPU)
        return plan, torch.tensor([block.ids])

    target.score([Block(row, prompt[:3], 1)])
    plan, ids = prepare()
    target.score([Block(row, prompt[3:], 1)])
    later, later_ids = prepare()
    for old, new in zip(buffers(plan, ids), buffers(later, later_ids), strict=True):
        assert old.shape == new.shape, "a captured pass has fixed shapes"
        old.copy_(new)
    cache.rollback(row, 3)  # Python numbers of the captured moment; only tensors may matter
    with torch.inference_mode():
        hidden = backbone(
            input_ids=ids, position_ids=plan.positions, ragged=plan, use_cache=False
        ).last_hidden_state[0]
        ours = target._head(hidden[:3])[:, :VOCAB]
    tails = [(11,), (11, 12), (11, 12, 13) if parents is None else (11, 13)]
    for logits, tail in zip(ours, tails, strict=True):
        fresh = own_logits(model, [*prompt, *tail])[-1]
        assert float((logits - fresh).abs().max() / fresh.abs().max()) < 1e-4
