from dataclasses import replace

import pytest

from apply_edit import Applier, Config
from apply_edit.errors import GuardRefused, LowConfidence
from apply_edit.prompt import confirming
from apply_edit.target_merge import TargetMerge
from tests.fakes import writing_engine

NAMES = [f"part_{number:02}" for number in range(60)]
ORIGINAL = "\n".join(f"def {name}(x):\n    y = x + 1\n    return y\n" for name in NAMES)
EDITED = "def part_30(x):\n    y = x + 2\n    return y\n"
SNIPPET = f"# ... existing code ...\n\n{EDITED}\n# ... existing code ...\n"
MERGED = ORIGINAL.replace(EDITED.replace("+ 2", "+ 1"), EDITED)


def shown_in(prompt):
    """Return the text that a prompt shows."""
    return prompt.split("<code>\n")[1].split("</code>")[0]


def right(prompt):
    """Write what is right, whatever is shown."""
    return shown_in(prompt).replace(EDITED.replace("+ 2", "+ 1"), EDITED)


def right_from(num_lines):
    """Return a target that loses code unless it sees at least so many lines."""

    def answer(prompt):
        return right(prompt) if shown_in(prompt).count("\n") >= num_lines else "lost\n"

    return answer


def tried(result):
    """Return scope and code of each try."""
    return [(t.scope, t.refused) for t in result.tries]


def test_windows_that_are_right_are_the_result():
    """A large file is shown in windows, and one good try is all there is."""
    result = Applier(engine=writing_engine(right)).apply(ORIGINAL, SNIPPET, path="a.py")
    assert (result.text, result.strategy) == (MERGED, "model")
    assert tried(result) == [("windows", None)]
    assert result.report.windows == 1


def test_a_refused_window_is_tried_once_more_and_wider():
    """Where the target's text is asked for, a window that fails is followed by a wider one."""
    engine = writing_engine(right_from(40))
    result = Applier(Config("model"), engine=engine).apply(ORIGINAL, SNIPPET, path="a.py")
    assert (result.text, result.strategy) == (MERGED, "model")
    assert tried(result) == [("windows", "guard_refused"), ("wider", None)]


def test_a_second_failure_is_the_last():
    """Two failed tries are followed by the merge; the target is not asked a third time."""
    engine = writing_engine("lost\n")
    result = Applier(Config("model"), engine=engine).apply(ORIGINAL, SNIPPET, path="a.py")
    assert (result.text, result.strategy) == (MERGED, "merge")
    assert tried(result) == [
        ("windows", "guard_refused"),
        ("wider", "guard_refused"),
        ("merge", None),
    ]


def test_auto_does_not_wait_for_what_it_would_not_take():
    """In auto a clean merge is the result at once: no text of the target could take its place."""
    engine = writing_engine("lost\n")
    result = Applier(engine=engine).apply(ORIGINAL, SNIPPET, path="a.py")
    assert (result.text, result.strategy) == (MERGED, "merge")
    assert tried(result) == [("windows", "guard_refused"), ("merge", None)]
    assert result.warnings[0].code == "model_refused"


def test_without_a_clean_merge_auto_tries_wider_and_then_refuses(monkeypatch):
    """Where the guard refuses the merge too, the wider window is tried, and its failure is told."""
    monkeypatch.setattr(TargetMerge, "_instead_of_target", lambda *_: None)
    good = Applier(engine=writing_engine(right_from(40))).apply(ORIGINAL, SNIPPET, path="a.py")
    assert tried(good) == [("windows", "guard_refused"), ("wider", None)]
    with pytest.raises(GuardRefused):
        Applier(engine=writing_engine("lost\n")).apply(ORIGINAL, SNIPPET, path="a.py")


def test_windows_can_be_asked_for_in_a_small_file():
    """With scope windows a file that auto shows whole is shown in part."""
    small = "\n".join(ORIGINAL.splitlines()[100:160]) + "\n"
    seen = []
    engine = writing_engine(lambda prompt: seen.append(shown_in(prompt)) or right(prompt))
    for scope in ("auto", "windows"):
        Applier(Config(scope=scope), engine=engine).apply(small, SNIPPET, path="a.py")
    assert seen[0] == small
    assert len(seen[1]) < len(small) / 2


def test_the_drafts_of_a_window_know_what_the_edit_brings():
    """In a window, too, drafts from the edit and copies are told apart in the report."""
    result = Applier(engine=writing_engine(right)).apply(ORIGINAL, SNIPPET, path="a.py")
    regions = {region for record in result.report.records for region, *_ in record.runs}
    assert {"unchanged", "edit"} <= regions


def test_an_instruction_is_confirmed_in_other_words():
    """A sentence is put to the target in three ways; where they agree, that is the result."""
    seen = []
    engine = writing_engine(lambda prompt: seen.append(prompt) or "a = 2\n")
    result = Applier(engine=engine).apply("a = 1\n", None, instruction="a is 2")
    assert (result.text, result.strategy) == ("a = 2\n", "model")
    assert tried(result) == [("file", None), ("confirm", None), ("confirm", None)]
    assert len(set(seen)) == 3


def test_an_answer_that_hangs_on_the_wording_is_refused():
    """Where the target writes something else when asked in other words, nothing is applied."""
    engine = writing_engine(lambda prompt: "a = 2\n" if "below" in prompt else "a = 3\n")
    with pytest.raises(LowConfidence, match="line 1"):
        Applier(engine=engine).apply("a = 1\n", None, instruction="change a")
    config = Config(confirm=False)
    result = Applier(config, engine=engine).apply("a = 1\n", None, instruction="change a")
    assert result.text == "a = 2\n"


class Trained:
    """An engine whose model was trained on a prompt of its own."""

    def __init__(self):
        self.inner = writing_engine("a = 2\n")
        self.asked = 0

    def rewrite(self, *args):
        """Write, and say in which dialect."""
        self.asked += 1
        text, output = self.inner.rewrite(*args)
        return text, replace(output, dialect="fastapply")


def test_a_trained_prompt_is_not_put_in_other_words():
    """A model that knows one prompt is asked once; any other is asked in all the other ways."""
    engine = Trained()
    result = Applier(engine=engine).apply("a = 1\n", None, instruction="a is 2")
    assert (tried(result), engine.asked) == ([("file", None)], 1)
    assert confirming("generic-late") == ("generic", "generic-example")
