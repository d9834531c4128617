import json
import os

import pytest

from apply_edit.errors import ModelLoadError, ModelNotFound
from apply_edit.models import Origin, locate
from apply_edit.models.locate import published_id
from tests.unit.models_kit import FakeIndex, RecordingProgress, fake_convert, make_store


def model_folder(path, *files):
    """Make a folder with these files."""
    path.mkdir()
    for name in files:
        (path / name).write_text("{}", encoding="utf-8")
    return path


WHOLE_FOLDER = ("config.json", "tokenizer.json", "model.safetensors")


def test_a_built_in_name_is_pulled_when_it_is_missing(tmp_path):
    """The first use downloads, the second finds."""
    index = FakeIndex()
    store = make_store(tmp_path, index=index)

    first = locate("tiny", store=store)
    second = locate("tiny", store=store, offline=True)

    assert first == second
    assert first.origin is Origin.BUILT_IN
    assert first.sha256 == store.entries[0].sha256
    assert (first.path / "config.json").is_file()
    assert len(index.requests) == 3


def test_offline_does_not_download(tmp_path):
    """The error says what to run."""
    index = FakeIndex()

    with pytest.raises(ModelNotFound, match="models pull tiny"):
        locate("tiny", store=make_store(tmp_path, index=index), offline=True)

    assert index.requests == []


def test_a_local_folder_is_used_in_place(tmp_path):
    """A folder with configuration, tokenizer and safetensors is accepted as it is."""
    folder = model_folder(tmp_path / "mine", *WHOLE_FOLDER)

    found = locate(str(folder), store=make_store(tmp_path / "home"))

    assert found.path == folder
    assert found.name == "mine"
    assert found.origin is Origin.FOLDER


@pytest.mark.parametrize("missing", WHOLE_FOLDER)
def test_a_folder_that_lacks_something_is_refused_by_name(tmp_path, missing):
    """The message names the file that is missing."""
    folder = model_folder(tmp_path / "mine", *(set(WHOLE_FOLDER) - {missing}))
    shown = missing.replace("model", "*")

    with pytest.raises(ModelLoadError) as caught:
        locate(str(folder), store=make_store(tmp_path / "home"))

    assert caught.value.fields["missing"] == [shown]
    assert shown in caught.value.message


def test_a_missing_shard_is_named(tmp_path):
    """Every file that the index of the weights names must be there."""
    folder = model_folder(tmp_path / "mine", "config.json", "tokenizer.json", "a.safetensors")
    index = {"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")

    with pytest.raises(ModelLoadError, match=r"b\.safetensors is missing"):
        locate(str(folder), store=make_store(tmp_path / "home"))


def test_a_pickle_checkpoint_is_refused_with_the_reason(tmp_path):
    """A .bin checkpoint is not loaded, and the message says why and what to do."""
    folder = model_folder(tmp_path / "m", "config.json", "tokenizer.json", "pytorch_model.bin")

    with pytest.raises(ModelLoadError, match="can run any code in it: convert it"):
        locate(str(folder), store=make_store(tmp_path / "home"))
    with pytest.raises(ModelLoadError, match=r"must be a \.gguf file"):
        locate(str(folder / "pytorch_model.bin"), store=make_store(tmp_path / "home"))


def test_a_local_gguf_is_converted_once_and_hashed_once(tmp_path):
    """The second use reads neither the whole file nor converts it; a changed file does both."""
    converted = []

    def convert(source, folder, meter):
        converted.append(source.name)
        fake_convert(source, folder, meter)

    store = make_store(tmp_path / "home", convert=convert)
    gguf = tmp_path / "my.gguf"
    gguf.write_bytes(b"GGUF one")
    progress = RecordingProgress()

    first = locate(str(gguf), store=store, progress=progress)
    second = locate(str(gguf), store=store, progress=progress)

    assert first == second
    assert first.origin is Origin.GGUF
    assert (first.path / "model.safetensors").read_bytes() == b"GGUF one"
    assert progress.messages == ["reading my.gguf"]
    assert converted == ["my.gguf"]

    gguf.write_bytes(b"GGUF two")
    os.utime(gguf, ns=(1, 1))
    third = locate(str(gguf), store=store)
    assert third.sha256 != first.sha256
    assert (third.path / "model.safetensors").read_bytes() == b"GGUF two"


@pytest.mark.parametrize("target", ["./nowhere", "/nowhere/model", "gone.gguf", "~/nowhere-at-all"])
def test_a_path_that_does_not_exist_is_not_taken_for_a_hub_id(tmp_path, target):
    """What looks like a path gives an error about the path."""
    with pytest.raises(ModelNotFound, match="no model folder or file"):
        locate(target, store=make_store(tmp_path))


def test_an_unknown_word_says_what_is_accepted(tmp_path):
    """The error suggests the close name and lists the kinds of targets."""
    with pytest.raises(ModelNotFound, match=r"did you mean tiny\?.*a \.gguf file.*org/name"):
        locate("tyny", store=make_store(tmp_path))


def test_a_hub_id_offline_is_only_looked_up_in_the_cache(tmp_path):
    """Offline, a repository that is not in the cache is an error that says so."""
    with pytest.raises(ModelNotFound, match="not in the cache"):
        locate("org/name", store=make_store(tmp_path), offline=True)


def test_a_folder_tells_what_it_was_published_as(tmp_path):
    """The hub's cache and a saved configuration name the model; a plain folder does not."""
    cached = tmp_path / "models--Kortix--FastApply-1.5B-v1.0" / "snapshots" / "abc"
    saved, plain = tmp_path / "saved", tmp_path / "plain"
    for folder in (cached, saved, plain):
        folder.mkdir(parents=True)
    (saved / "config.json").write_text('{"_name_or_path": "aiXcoder/aiXapply-4B"}')
    (plain / "config.json").write_text('{"_name_or_path": "/home/me/model with spaces"}')
    assert published_id(cached) == "Kortix/FastApply-1.5B-v1.0"
    assert published_id(saved) == "aiXcoder/aiXapply-4B"
    assert published_id(plain) is None
