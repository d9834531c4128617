"""The product as a person meets it: the installed command, a real model, a real file."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.fixture_cases import FIXTURES, load_case

DEMO = FIXTURES / "python" / "demo_rate_limiter"


def run(*arguments, **options):
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "apply_edit", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, **options)


@pytest.fixture(scope="module")
def merged():
    """What the default target makes of the demo, in JSON."""
    edit = next(DEMO.glob("edit.*"))
    original = next(DEMO.glob("original.*"))
    done = run(original, "--edit", edit, "--strategy", "model", "--json")
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_demo_is_exact(merged):
    """The default target, by itself, writes the demo's expected file byte for byte."""
    assert merged["text"].encode() == load_case(DEMO).expected
    assert merged["strategy"] == "model"


@pytest.mark.slow
def test_the_demo_takes_a_tenth_of_the_plain_passes(merged):
    """Plain greedy decoding takes a pass per token; the demo takes at most a tenth of that."""
    report = merged["report"]
    assert report["passes"] * 10 <= report["emitted"]
    assert report["drafted"] >= report["accepted"] > 0


@pytest.mark.slow
def test_an_interrupted_apply_leaves_the_file_alone(tmp_path):
    """Ctrl-C while the target works: one message, exit code 130, the file as it was."""
    file = tmp_path / "file.py"
    file.write_bytes(load_case(DEMO).original)
    edit = next(DEMO.glob("edit.*"))
    # Plain decoding, so that it takes long on any machine. A shell that runs the tests in the
    # background ignores interrupts, and so would what it starts.
    options = ["--in-place", "--strategy", "model", "--gamma", "0"]
    child = subprocess.Popen(
        [sys.executable, "-m", "apply_edit", file, "--edit", edit, *options],
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(10)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=120)
    assert child.returncode == 130
    assert err.decode().strip().endswith("cancelled; nothing was written")
    assert file.read_bytes() == load_case(DEMO).original


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_a_full_disk_behind_standard_output_is_one_message(tmp_path):
    """Where standard output cannot be written the command says so, without a traceback."""
    file = tmp_path / "a.txt"
    file.write_text("old\n")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "apply_edit", file, "--edit", "-", "--stdout"],
            input=b'{"old_str": "old", "new_str": "new"}',
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 13
    assert b"Traceback" not in done.stderr
    assert b"space" in done.stderr
