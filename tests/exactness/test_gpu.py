"""What only a CUDA device can show; skipped without one."""

import pytest
import torch

from apply_edit.decode import attention
from apply_edit.decode.loop import Decoding
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from apply_edit.decode.target import Block
from apply_edit.decode.transformers_target import TransformersTarget, padded
from proposers import References, create
from tests.fakes import PieceTokenizer
from tests.tiny import VOCAB, qwen2_config, tiny_model

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

# Half precision: a token may fall short of the best logit by this share of the largest logit.
HALF_GAP = 0.02
TEXT = PieceTokenizer([bytes([32 + i % 90]) for i in range(VOCAB)])


def cuda_target(dtype, capacity=None):
    """Return a tiny random model on the device."""
    model = tiny_model(qwen2_config()).to("cuda", dtype)
    return TransformersTarget(model, VOCAB, capacity)


def rows_of(target, ids):
    """Return the logits of a fresh pass."""
    row = target.open_row()
    logits = target.score([Block(row, tuple(ids), len(ids))])[0].logits(0, len(ids))
    target.close_row(row)
    return logits


@pytest.mark.parametrize("capacity", [None, 256], ids=["dynamic", "static"])
@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 1e-3), (torch.bfloat16, HALF_GAP)])
def test_every_token_is_the_best_or_nearly(dtype, bound, capacity):
    """Teacher-forced over the output, each token is the argmax or within the stated gap of it."""
    target = cuda_target(dtype, capacity)
    prompt = tuple(range(40))
    request = Request(prompt, 60)
    decoding = Decoding(target, TEXT, request, create("cursor", References(prompt)), FixedGamma(8))
    output = decoding.run()
    rows = rows_of(target, [*prompt, *output.ids])[len(prompt) - 1 : -1]
    chosen = rows.gather(1, torch.tensor(output.ids, device=rows.device)[:, None])[:, 0]
    gaps = (rows.max(dim=1).values - chosen) / rows.abs().max()
    assert float(gaps.max()) <= bound


@pytest.mark.parametrize("parents", [None, (-1, 0, 0)], ids=["linear", "tree"])
def test_a_captured_pass_is_replayed_at_another_length(parents):
    """A CUDA graph of a static pass gives the eager logits after its buffers are overwritten."""
    target = cuda_target(torch.float32, 64)
    device, cache = target.device, target._cache
    row = target.open_row()
    block = padded(Block(row, (11, 12, 13), 3, parents))
    target.score([Block(row, (1, 2, 3), 1)])
    plan = attention.make_plan(cache, [block], device)
    ids = torch.tensor([block.ids], device=device)

    def run():
        plan.made.clear()
        with torch.inference_mode():
            return target._backbone(
                input_ids=ids, position_ids=plan.positions, ragged=plan, use_cache=False
            ).last_hidden_state

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        hidden = run()
    target.score([Block(row, tuple(range(20, 37)), 1)])
    later = attention.make_plan(cache, [block], device)
    eager = target.score([Block(row, (11, 12, 13), 3, parents)])[0].logits(0, 3)
    target.rollback(row, 20)
    old = [plan.positions, *plan.visible, *plan.slots, *plan.key_positions]
    new = [later.positions, *later.visible, *later.slots, *later.key_positions]
    for buffer, value in zip(old, new, strict=True):
        buffer.copy_(value)
    graph.replay()
    with torch.inference_mode():
        ours = target._head(hidden[0, :3])[:, :VOCAB].float()
    assert float((ours - eager).abs().max() / eager.abs().max()) < 1e-4
