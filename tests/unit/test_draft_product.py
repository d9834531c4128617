"""The draft model in the product: loading it, asking it where it pays, and exactness."""

from collections import Counter

import pytest
import torch
from click.testing import CliRunner

from apply_edit import applier
from apply_edit.applier import Applier
from apply_edit.cli.calibrate import show_draft
from apply_edit.cli.options import apply_options, to_config
from apply_edit.config import Config
from apply_edit.decode import calibrate, draft_target
from apply_edit.decode.calibrate import key_of, load
from apply_edit.decode.cost import PassCost
from apply_edit.decode.draft_target import DraftTarget, load_draft, quantised
from apply_edit.decode.gamma import CostGamma
from apply_edit.decode.loop import Decoding
from apply_edit.decode.novel_drafts import NovelDrafts
from apply_edit.decode.policy import FixedGamma
from apply_edit.decode.row import Request
from apply_edit.decode.sampling import Sampling, probabilities
from apply_edit.decode.target import Block
from apply_edit.engine import Engine
from apply_edit.errors import ConfigError, DeviceError, ModelLoadError
from apply_edit.rewriting import DecodeSettings, Rewrite
from proposers import Nothing, References, create
from tests.chi_square import assert_drawn_from
from tests.fakes import FakeTarget, PieceTokenizer, hash_target, tie_target, writing_engine
from tests.tiny import VOCAB as TINY
from tests.tiny import own_logits, qwen2_config, tiny_model, tiny_target
from tests.unit.test_tokens import byte_level
from tests.unit.test_tokens import load as load_tokenizer

VOCAB = 24
TEXT = PieceTokenizer([bytes([97 + i]) for i in range(VOCAB)])
ORIGINAL = tuple(range(8, 20))
FILE = "".join(f"value_{n} = {n}\n" for n in range(12))
NEW = FILE.replace("value_5 = 5\n", "def brand_new(thing):\n    return thing.quux(42)\n")


class Still(PassCost):
    """A cost that no pass corrects, so that choices do not depend on the machine."""

    def observe(self, width, prefix, seconds):
        """Learn nothing."""


def sure(target):
    """Return a fake target whose distributions have one likely token."""
    return FakeTarget(lambda prefix: 20 * target.next_logits(prefix), target.vocab_size)


def costs(step):
    """Return costs of a model whose pass takes ``step`` and little more for width."""
    return Still({512: (step, 1.1 * step, 2 * step)}, (1, 64, 512))


def draft_of(target, step=0.001):
    """Return a draft model over a fake target."""
    return DraftTarget(target, costs(step))


def novel(draft, request, policy, original=ORIGINAL, vocab=VOCAB):
    """Return the drafts for a request, and the router that asks for them."""
    references = References(original)
    drafts = NovelDrafts(draft, request, policy, references, vocab)
    return drafts, create("router", references, drafts)


def decode(target, request, proposer, policy):
    """Decode to the end; no row stays open."""
    output = Decoding(target, TEXT, request, proposer, policy).run()
    assert target.rows == {}
    return output


POLICIES = {
    "fixed": lambda: FixedGamma(4),
    "auto": lambda: CostGamma(costs(0.1), learns_cost=False),
}
DRAFTS = {
    "itself": lambda seed: sure(hash_target(VOCAB, 4, seed)),
    "another": lambda seed: sure(hash_target(VOCAB, 4, seed + 50)),
    "one with ties": lambda seed: sure(tie_target(VOCAB, 4, seed)),
    "one with more ids": lambda seed: sure(hash_target(VOCAB + 5, 4, seed)),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", DRAFTS)
@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(repetition_penalty=1.3),
        Sampling(temperature=0.8, top_p=0.9, seed=4, noise="position"),
    ],
    ids=["greedy", "penalty", "position"],
)
def test_a_draft_model_changes_nothing(policy, name, sampling):
    """Whatever drafts, ids and text are those of plain decoding, and its row is given back."""
    for seed in range(6):
        request = Request((1, 2, 3, seed), 40, frozenset({0}), sampling=sampling)
        plain = decode(hash_target(VOCAB, 4, seed), request, Nothing(), FixedGamma(0))
        draft = DRAFTS[name](seed)
        chosen = POLICIES[policy]()
        _, proposer = novel(draft_of(draft), request, chosen)
        fast = decode(hash_target(VOCAB, 4, seed), request, proposer, chosen)
        assert (fast.ids, fast.text, fast.finish) == (plain.ids, plain.text, plain.finish)
        assert draft.rows == {}


def test_a_model_that_drafts_for_itself_saves_passes():
    """Every draft is accepted; the rate is learned and drafts get longer."""
    request = Request((1, 2, 3), 60)
    policy = POLICIES["auto"]()
    _, proposer = novel(draft_of(sure(hash_target(VOCAB))), request, policy)
    output = decode(hash_target(VOCAB), request, proposer, policy)
    drafted = [run for r in output.report.records for run in r.runs if run[1] == "draft_model"]
    assert sum(run[2] for run in drafted) == sum(run[3] for run in drafted) > 30
    assert output.report.passes < 20
    assert max(run[2] for run in drafted) > drafted[0][2]


@pytest.mark.parametrize("original", [(), (0, 1, 2, 3, 4, 5) * 4], ids=["floor", "resuming"])
def test_sampled_output_has_the_targets_distribution(original, monkeypatch):
    """Drawn drafts of another model, asked for by cost: chi-square at 1e-4 of 2,000 samples.

    They end before an unsure token, and behind any that leads back into the original.
    """
    monkeypatch.setattr("proposers.draft_model._RESUMED", 1)
    sampling = {"temperature": 1.3, "top_k": 4}
    target, other = hash_target(6, 4, 1), hash_target(6, 4, 2)
    seen, drafted = Counter(), 0
    for seed in range(2000):
        request = Request((1, 2), 3, sampling=Sampling(**sampling, seed=seed))
        policy = CostGamma(costs(0.1), learns_cost=False)
        drafts = NovelDrafts(draft_of(other), request, policy, References(original), 6)
        output = decode(target, request, drafts, policy)
        drafted += output.report.drafted
        seen[output.ids] += 1

    def row(*ids):
        logits = target.next_logits((1, 2, *ids))[None]
        return probabilities(logits, Sampling(**sampling))[0].tolist()

    expected = {
        (a, b, c): pa * pb * pc
        for a, pa in enumerate(row())
        for b, pb in enumerate(row(a))
        for c, pc in enumerate(row(a, b))
    }
    assert drafted > 2000
    assert_drawn_from(expected, seen)


def test_drafts_are_drawn_as_the_request_samples():
    """Temperature, top-k and the target's ids hold for q as they do for p."""
    request = Request((1, 2), 9, sampling=Sampling(temperature=0.7, top_k=3, seed=1))
    wide = draft_of(sure(hash_target(VOCAB + 9)))
    draft = NovelDrafts(wide, request, FixedGamma(5), References(()), VOCAB).propose([], 9)
    assert 0 < len(draft) <= 5
    assert draft.regions == (("novel", len(draft)),)
    for token, row in zip(draft.ids, draft.probs, strict=True):
        assert row[token] > 0
        assert len(row) == VOCAB
        assert int((row > 0).sum()) == 3


def test_little_is_read_of_a_long_prompt_and_output():
    """The draft model reads the end of the prompt once and the end of the output per region."""
    target = sure(hash_target(VOCAB))
    request = Request(tuple(i % VOCAB for i in range(1300)), 9)
    drafts = NovelDrafts(draft_of(target), request, FixedGamma(3), References(()), VOCAB)
    output = [i % VOCAB for i in range(500)]
    assert 0 < len(drafts.propose(output, 9)) <= 3
    assert target.widths[0] == 256 + 128
    (row,) = target.rows.values()
    assert row[:256] == list(request.prompt_ids[-256:])
    assert row[256:384] == output[-128:]
    passes = target.num_passes
    output += [0] * 300
    assert drafts.propose(output, 9).ids
    assert target.widths[passes] == 128
    assert drafts.seconds > 0
    drafts.close()
    assert target.rows == {}
    assert drafts.propose(output, 9).ids == ()


def test_a_prompt_is_not_read_for_a_few_tokens():
    """Nothing is read until as much time was lost in novel text as reading takes."""
    small = sure(hash_target(VOCAB))
    # To read takes 3 s, and each token saves some 0.05 s; or nothing where drafting is dear.
    policy = CostGamma(costs(0.1), learns_cost=False)
    request = Request(tuple(i % VOCAB for i in range(2000)), 200)
    for step, least, most in ((0.01, 20, 100), (0.1, 300, 300)):
        cost = Still({512: (step, 0.8, 5.0)}, (1, 64, 512))
        small.num_passes, asked = 0, 0
        drafts = NovelDrafts(DraftTarget(small, cost), request, policy, References(()), VOCAB)
        while small.num_passes == 0 and asked < 300:
            drafts.propose([1] * asked, 9)
            asked += 1
        assert least <= asked <= most


def test_a_device_without_room_for_the_draft_model_costs_only_speed():
    """An error of the draft model's device ends drafting, not the request."""
    request = Request((1, 2, 3), 30)
    plain = decode(hash_target(VOCAB), request, Nothing(), FixedGamma(0))
    draft = sure(hash_target(VOCAB))
    score = draft.score

    def failing(blocks):
        if draft.num_passes == 5:
            message = "no memory left"
            raise DeviceError(message)
        return score(blocks)

    draft.score = failing
    _, proposer = novel(draft_of(draft), request, policy := FixedGamma(4))
    fast = decode(hash_target(VOCAB), request, proposer, policy)
    assert fast.ids == plain.ids
    assert draft.num_passes == 5
    assert draft.rows == {}


def test_a_cancelled_request_gives_the_row_back():
    """Cancelling between passes closes the draft model's row, too."""
    draft, target = sure(hash_target(VOCAB)), hash_target(VOCAB)
    request = Request((1, 2, 3), 30)
    policy = FixedGamma(2)
    _, proposer = novel(draft_of(draft), request, policy)
    asked = iter([False, False, True])
    decoding = Decoding(target, TEXT, request, proposer, policy, lambda: next(asked))
    assert decoding.run().finish == "cancelled"
    assert draft.num_passes > 0
    assert (draft.rows, target.rows) == ({}, {})


class Told:
    """Keeps what the engine explains."""

    def __init__(self):
        self.lines = []

    def stage(self, name):
        """Ignore it."""

    def decoded(self, event, num_done, num_expected):
        """Ignore it."""

    def explained(self, lines):
        """Keep the lines."""
        self.lines += lines


@pytest.mark.parametrize("gamma", [4, "auto"])
def test_the_engine_writes_the_same_in_fewer_passes(gamma):
    """With an instruction, the draft model writes what is new, and the report says what it cost."""
    job = Rewrite(FILE, instruction="do something")
    plain = writing_engine(NEW)
    text, before = plain.rewrite(job, DecodeSettings(gamma=gamma))
    engine = writing_engine(NEW)
    draft = sure(engine.target)
    fast = Engine(
        engine.target, engine.tokenizer, costs(0.1), draft=DraftTarget(draft, costs(0.0001))
    )
    told = Told()
    again, after = fast.rewrite(job, DecodeSettings(gamma=gamma), told)
    assert again == text == NEW
    assert after.report.passes < before.report.passes
    counts = after.report.to_dict()
    assert counts["by_source"]["draft_model"]["accepted"] > 10
    assert 0 < after.report.draft_s <= after.report.proposer_s
    assert counts["seconds"]["draft"] > 0
    assert draft.rows == {}
    assert before.report.draft_s == 0
    if gamma == "auto":
        assert any("draft model asked for" in line for line in told.lines)


def test_an_int8_model_gives_nearly_the_same_logits_and_rolls_back():
    """Quantised in place, it goes through our attention and cache; no warning reaches the user."""
    ids = [5, 3, 8, 1, 2, 9, 9, 4]
    model = tiny_model(qwen2_config())
    exact = own_logits(model, ids)
    target = quantised(tiny_target(qwen2_config()))
    assert target.vocab_size == TINY
    row = target.open_row()
    target.score([Block(row, (*ids[:4], 7, 7), 0)])
    target.rollback(row, 4)
    rows = target.score([Block(row, tuple(ids[4:]), 4)])[0].logits(0, 4)
    assert float((rows - exact[4:]).abs().max()) < 0.2 * float(exact.abs().max())
    assert any("quantized" in type(part).__module__ for part in target.model.modules())


def saved(folder, tokenizer=None):
    """Write a tiny model with a tokenizer; return the tokenizer as loaded."""
    tiny_model(qwen2_config()).save_pretrained(folder)
    return load_tokenizer(folder, tokenizer or byte_level())


@pytest.mark.parametrize(("dtype", "kind"), [("auto", "int8"), ("float32", "float32")])
def test_a_draft_model_is_loaded_and_measured_once(tmp_path, dtype, kind, monkeypatch):
    """On a CPU it is int8 by default; its cost is kept on disk under its own number format."""
    tokenizer = saved(tmp_path)
    draft = load_draft(tmp_path, tokenizer, "cpu", dtype, tmp_path / "kept")
    assert draft.cost.measured
    assert draft.target.vocab_size == 100
    kept = load(tmp_path / "kept", key_of(draft.target, tmp_path, kind))
    assert kept is not None
    assert load(tmp_path / "kept", key_of(draft.target, tmp_path, "bfloat16")) is None
    monkeypatch.setattr(calibrate, "measure", lambda *a, **k: pytest.fail("it measured again"))
    again = load_draft(tmp_path, tokenizer, "cpu", dtype, tmp_path / "kept")
    assert again.cost.tables == kept.tables


def test_a_draft_model_of_another_tokenizer_is_refused_before_it_is_loaded(tmp_path, monkeypatch):
    """The error says what differs, and no weights are read."""
    tokenizer = load_tokenizer(tmp_path, byte_level())
    (tmp_path / "other").mkdir()
    load_tokenizer(tmp_path / "other", byte_level(special=[]))
    monkeypatch.setattr(draft_target, "load", lambda *a: pytest.fail("it loaded the weights"))
    with pytest.raises(ModelLoadError, match="another tokenizer"):
        load_draft(tmp_path / "other", tokenizer, "cpu", "auto", tmp_path)


def test_int8_is_refused_where_it_cannot_be(tmp_path, monkeypatch):
    """On CUDA, and with a torch that cannot quantise, the message says what to do."""
    tokenizer = saved(tmp_path)
    monkeypatch.setattr(draft_target, "choose_device", lambda _: torch.device("cuda"))
    with pytest.raises(ConfigError, match="int8 is for CPUs"):
        load_draft(tmp_path, tokenizer, "cuda", "int8", tmp_path)
    monkeypatch.delattr("torch.ao.quantization.quantize_dynamic")
    with pytest.raises(ModelLoadError, match="--draft-dtype float32"):
        quantised(tiny_target(qwen2_config()))


def test_settings_of_a_draft_model_are_checked():
    """It works with the router only, and its number format is one of those known."""
    assert Config(draft="x", draft_dtype="int8").draft == "x"
    with pytest.raises(ConfigError, match="works with the router"):
        Config(draft="x", proposer="cursor")
    with pytest.raises(ConfigError, match="draft_dtype is 'int4'"):
        Config(draft_dtype="int4")


def test_options_become_settings():
    """--draft none is no draft model; a name is one."""
    import click

    seen = []

    @click.command()
    @apply_options
    def command(**options):
        seen.append(to_config(options))

    for arguments in (["f"], ["f", "--draft", "none"], ["f", "--draft", "x"]):
        assert CliRunner().invoke(command, arguments).exit_code == 0
    assert [config.draft for config in seen] == [None, None, "x"]


def test_the_applier_loads_the_draft_model_beside_the_target(tmp_path, monkeypatch):
    """Both names are found, and the engine is told of both, once."""
    calls = []

    class Found:
        def __init__(self, name):
            self.path = tmp_path / name

    def loaded(*arguments):
        calls.append(arguments)
        return writing_engine("b\n")

    monkeypatch.setattr(applier, "locate", lambda name, progress: Found(name))
    monkeypatch.setattr(applier.Engine, "load", loaded)
    applied = Applier(Config(target="big", draft="small", draft_dtype="int8", strategy="model"))
    for _ in range(2):
        assert applied.apply("a\n", None, instruction="b").text == "b\n"
    assert calls == [(tmp_path / "big", "auto", "auto", tmp_path / "small", "int8")]


def test_the_calibration_says_when_a_draft_model_pays():
    """The line has seconds per token, the ratio to the target, reading, and the break-even rate."""
    from rich.console import Console

    console = Console(width=200, record=True)
    show_draft(console, costs(0.1), costs(0.02))
    show_draft(console, costs(0.1), costs(0.2))
    text = console.export_text()
    assert "0.0200 s a token, 0.20 of a pass of the target; reads 12800 tokens" in text
    assert "from an acceptance rate of 0." in text
    assert "at no acceptance rate" in text
