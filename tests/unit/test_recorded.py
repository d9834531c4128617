from hypothesis import given
from hypothesis import strategies as st

from apply_edit import Applier, Config
from benchmarks.recorded import Recorder, Replayer, packed, unpacked
from tests.fakes import writing_engine

lines = st.lists(st.sampled_from(["a\n", "b\n", "\n", "  c\n", "d\n"]), max_size=12)


@given(lines, lines, st.sampled_from(["", "tail"]))
def test_a_packed_text_unpacks_to_itself(pool, text, tail):
    """Whatever lines were shown, the recorded text comes back."""
    written = "".join(text) + tail
    assert unpacked(packed(written, pool), pool) == written


def test_a_replay_writes_what_was_recorded():
    """A recording without the case's text gives the same result again, doubts included."""
    original, changed = "a = 1\nb = 2\n", "a = 1\nb = 3\n"
    recorder = Recorder(writing_engine(changed, doubt="3"))
    asked = {"original": original, "edit": None, "instruction": "b is 3"}
    config = Config(min_confidence=0.0)
    first = Applier(config, engine=recorder).apply(**asked)
    row = {"written": recorder.take()}
    assert original not in str(row)
    second = Applier(config, engine=Replayer([row])).apply(**asked)
    assert (second.text, second.strategy) == (first.text, first.strategy) == (changed, "model")
    assert abs(second.confidence - first.confidence) < 0.001
