"""Experiment 5 on real (tiny, random) models, the library's own generation included."""

import json

import pytest
from click.testing import CliRunner

from apply_edit.cli.lab import lab_group
from apply_edit.lab import pair, predict
from apply_edit.lab.seam import Workload
from tests.tiny import qwen2_config, tiny_model
from tests.unit.test_tokens import byte_level

SIZES = pair.Sizes(prompts=2, tokens=6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a model folder with a tokenizer."""
    path = tmp_path_factory.mktemp("model")
    tokenizer = byte_level()
    config = qwen2_config()
    config.vocab_size = tokenizer.get_vocab_size() + 3
    tiny_model(config).save_pretrained(path)
    (path / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")
    (path / "generation_config.json").write_text(json.dumps({"repetition_penalty": 9.0}))
    return path


@pytest.fixture(scope="module")
def models(folder):
    """Return the model as its own draft model."""
    return pair.load_pair(str(folder), str(folder), "cpu")


def test_every_decoding_gives_the_plain_greedy_text(models):
    """Ours and the library's, with a draft model and with lookup, agree id for id when greedy."""
    bench = pair.bench(models, SIZES, 0)
    for workload in pair.workloads(models.tokenizer, SIZES):
        for prompt in workload.prompts:
            plain = bench.plain(prompt, 0.0)
            assert plain.passes == len(plain.ids) == 6
            for drafter in bench.drafters:
                assert drafter.decode(prompt, 0.0).ids == plain.ids
                assert drafter.library(prompt, 0.0).ids == plain.ids


def test_a_model_drafts_perfectly_for_itself(models):
    """One model in both parts accepts every draft, greedy and sampled."""
    bench = pair.bench(models, SIZES, 0)
    (edits, _) = pair.workloads(models.tokenizer, SIZES)
    for temperature in (0.0, 0.7):
        run = bench.drafters[0].decode(edits.prompts[0], temperature)
        assert run.drafted == run.accepted > 0
        assert run.passes == 2


def test_prompts_are_shared_out_over_the_workloads(models):
    """More than half are edits, and only those have something to copy from."""
    edits, chat = pair.workloads(models.tokenizer, pair.Sizes(prompts=5))
    assert (len(edits.prompts), len(chat.prompts)) == (3, 2)
    assert all(prompt.reference for prompt in edits.prompts)
    assert not any(prompt.reference for prompt in chat.prompts)


def test_the_whole_experiment_runs(models):
    """Prediction and measurement meet in one table: two drafters on edits, one on chat."""
    bench = pair.bench(models, SIZES, 0)
    work: tuple[Workload, ...] = pair.workloads(models.tokenizer, SIZES)
    result = predict.run(bench, work, 3)
    assert len(result.rows) == 2 * (2 + 1)
    assert "0 greedy outputs with drafts differ" in result.notes[-1]


def test_the_command_runs_it(folder):
    """The table is on standard output, what is being done on standard error."""
    options = ["--runs", "2", "--tokens", "4", "--steps", "2", "--no-plot", "--device", "cpu"]
    names = ["--target", str(folder), "--draft", str(folder)]
    result = CliRunner().invoke(lab_group, ["predict", *names, *options])
    assert result.exit_code == 0, result.output
    assert "Predicted before anything was drafted" in result.stdout
    assert "draft model" in result.stderr
