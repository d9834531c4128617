from __future__ import annotations

import pytest

from apply_edit.errors import ConfigError, GuardRefused
from apply_edit.guard import CHECKS, check, enforce
from apply_edit.types import EditFormat, FileEdit, FileOp, Hunk, ParsedEdit, Severity

ORIGINAL = '''"""Vents."""
import math


class Vent:
    """One vent."""

    def __init__(self, name):
        self.name = name
        self.angle = 0

    def open_to(self, angle):
        self.angle = angle

    def close(self):
        self.angle = 0
        self.log("closed")
        self.notify()

    def area(self):
        return math.sin(self.angle)


def report(vents):
    return [v.name for v in vents]
'''
SNIPPET = """class Vent:
    # ... existing code ...

    def open_to(self, angle):
        if angle > 90:
            raise ValueError(angle)
        self.angle = angle

    # ... existing code ...
"""
MERGED = ORIGINAL.replace(
    "        self.angle = angle\n",
    "        if angle > 90:\n            raise ValueError(angle)\n        self.angle = angle\n",
)
LAZY = ParsedEdit(EditFormat.LAZY, snippet=SNIPPET)
CLOSE = ORIGINAL[ORIGINAL.index("    def close") : ORIGINAL.index("    def area")]


def found(
    text: str,
    edit: ParsedEdit = LAZY,
    original: str = ORIGINAL,
    language: str | None = "python",
    truncated: bool = False,
) -> dict[str, Severity]:
    """Worst severity of each check that finds something."""
    worst: dict[str, Severity] = {}
    for each in check(original, text, edit, language=language, truncated=truncated):
        if worst.get(each.check) is not Severity.REFUSE:
            worst[each.check] = each.severity
    return worst


def refused(*args, **kwargs) -> set[str]:
    """Names of the checks that refuse."""
    return {name for name, worst in found(*args, **kwargs).items() if worst is Severity.REFUSE}


def lazy(snippet: str) -> ParsedEdit:
    """A lazy edit."""
    return ParsedEdit(EditFormat.LAZY, snippet=snippet)


def asks(sentence: str) -> ParsedEdit:
    """An instruction."""
    return ParsedEdit(EditFormat.INSTRUCTION, instruction=sentence)


def patch(*hunks: Hunk, op: FileOp = FileOp.UPDATE) -> ParsedEdit:
    """A structured edit."""
    return ParsedEdit(EditFormat.UDIFF, files=(FileEdit("a.py", op, hunks),))


def test_a_right_merge_passes():
    """Nothing is found in a right merge, by snippet, by hunk, as a whole file, by sentence."""
    hunk = Hunk("        self.angle = angle\n", MERGED[MERGED.index("        if") :][:73])
    assert found(MERGED) == {}
    assert found(MERGED, ParsedEdit(EditFormat.WHOLE, snippet=MERGED)) == {}
    assert found(MERGED, asks("Refuse angles over 90.")) == {}
    assert hunk.new.count("\n") >= 2


def test_checks_are_listed_and_can_be_switched_off():
    """Every check has a name, severity and description, and ``disabled`` leaves it out."""
    for name, each in CHECKS.items():
        assert each.name == name
        assert each.severity in Severity
        assert each.description
    text = "# ... existing code ...\n" + MERGED
    assert "leaked_marker" in refused(text)
    left = check(ORIGINAL, text, LAZY, disabled=frozenset({"leaked_marker"}))
    assert "leaked_marker" not in {each.check for each in left}
    with pytest.raises(ConfigError, match="there is no check 'nonsense'"):
        check(ORIGINAL, text, LAZY, disabled=frozenset({"nonsense"}))


def test_enforce_refuses_with_findings():
    """A refusal carries every finding with code, message, spans and near miss."""
    text = MERGED.replace("return [v.name for v in vents]", "return [v.title for v in vents]")
    with pytest.raises(GuardRefused, match="neither in the original nor in the edit") as caught:
        enforce(ORIGINAL, text, LAZY, language="python")
    finding = next(f for f in caught.value.fields["findings"] if f["check"] == "outside_edit")
    line = len(MERGED.splitlines()) - 1
    assert finding["severity"] == "refuse"
    assert finding["lines"] == ((line, line + 1),)
    assert finding["detail"]["first_difference"] == {
        "expected": "    return [v.name for v in vents]",
        "found": "    return [v.title for v in vents]",
        "line": line + 1,
    }


def test_enforce_returns_warnings():
    """Without a refusal the warnings come back."""
    text = ORIGINAL.replace("\n\n\n", "\n\n\n\n", 1)
    found_by = [each.check for each in enforce(ORIGINAL, text, asks("Tidy up."))]
    assert found_by == ["whitespace_only"]


@pytest.mark.parametrize(
    "marker",
    [
        "# ... existing code ...",
        "// ... rest of the file unchanged ...",
        "/* ... existing code ... */",
        "<!-- ... existing code ... -->",
        "-- ... existing code ...",
        "{/* ... existing code ... */}",
    ],
)
def test_marker_left_in_the_text(marker: str):
    """A marker of any comment style is refused, in every unstructured format."""
    text = MERGED.replace(CLOSE, f"    {marker}\n\n")
    assert "leaked_marker" in refused(text)
    assert "leaked_marker" in refused(text, asks("Refuse angles over 90."))
    assert "leaked_marker" in refused(text, ParsedEdit(EditFormat.WHOLE, snippet=text))


def test_marker_that_is_content():
    """A marker that the file had, or that a patch spells out as new text, is content."""
    marker = "# ... existing code ...\n"
    assert found(marker + MERGED, original=marker + ORIGINAL) == {}
    assert "leaked_marker" in refused(marker + marker + MERGED, original=marker + ORIGINAL)
    edit = patch(Hunk('"""Vents."""\n', '"""Vents."""\n' + marker))
    assert found(ORIGINAL.replace('"""\nimport', '"""\n' + marker + "import"), edit) == {}


def test_bare_ellipsis():
    """Three dots are code in Python, and a marker where they cannot be code."""
    edit = lazy("def report(vents):\n    ...\n")
    text = ORIGINAL.replace("    return [v.name for v in vents]", "    ...")
    assert "leaked_marker" not in found(text, edit)
    original = "function a() {\n  return 1;\n}\nfunction b() {\n  return 2;\n}\n"
    snippet = lazy("...\nfunction b() {\n  return 3;\n}\n")
    text = "...\nfunction b() {\n  return 3;\n}\n"
    assert "leaked_marker" in refused(text, snippet, original, "javascript")


@pytest.mark.parametrize("fence", ["```python\n{}```\n", "```\n{}```\n", "{}```\n", "~~~\n{}~~~\n"])
def test_fence_left_in_the_text(fence: str):
    """A fence around the text, or at one end, is refused."""
    assert "leaked_fence" in refused(fence.format(MERGED))


def test_fence_that_is_content():
    """Fences that the file has or the edit brings are content; one around a document is not."""
    original = "# Title\n\nText.\n"
    block = "```sh\nls\n```\n"
    edit = lazy(f"# ... existing code ...\n\nText.\n\n{block}")
    assert found(original + "\n" + block, edit, original, "markdown") == {}
    assert "leaked_fence" in refused(f"```markdown\n{original}\n{block}```\n", edit, original, "md")
    docstring = ORIGINAL.replace(
        '"""One vent."""', '"""One vent.\n\n    ```\n    x\n    ```\n    """'
    )
    merged = docstring.replace("angle = angle", "angle = angle or 0")
    edit = lazy("    def open_to(self, angle):\n        self.angle = angle or 0\n")
    assert found(merged, edit, docstring) == {}
    assert "leaked_fence" in refused(f"```\n{merged}```\n", edit, docstring)


def test_file_that_is_one_fence():
    """Fences that are the file's own first and last line stay what they are."""
    original = "```text\none\ntwo\n```\n"
    text = original.replace("two", "2")
    assert found(text, asks("Write 2 for two."), original, "markdown") == {}


def test_fence_asked_for_by_a_sentence_only_warns():
    """A sentence may want a docstring with a fenced example."""
    text = ORIGINAL.replace('"""One vent."""', '"""One vent.\n\n    ```\n    x\n    ```\n    """')
    assert found(text, asks("Add an example to the docstring."))["leaked_fence"] == Severity.WARN


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Here is the updated code:\n\n", ""),
        ("Here's the merged file with your changes.\n", ""),
        ("Sure! I've applied the edit.\n\n", ""),
        ("Certainly, the file now reads:\n", ""),
        ("I have updated the method as requested.\n", ""),
        ("The updated file:\n", ""),
        ("**Updated code:**\n", ""),
        ("", "\nI have changed `open_to` so that it refuses large angles.\n"),
        ("", "\nThe code above now raises a ValueError.\n"),
        ("", "\nExplanation:\n- a check was added\n"),
        ("", "\nLet me know if you need anything else!\n"),
        ("", "\nNote that the rest of the file is unchanged.\n"),
    ],
)
def test_prose_left_in_the_text(before: str, after: str):
    """Words about the answer at either end are refused."""
    assert "leaked_prose" in refused(before + MERGED + after)


def test_prose_that_is_content():
    """Words that the edit brings, or the file had, are content."""
    line = "Here is the updated code:\n"
    original = "# Notes\n\nText.\n"
    edit = lazy(f"# Notes\n\n{line}\nText.\n")
    assert "leaked_prose" not in found(f"# Notes\n\n{line}\nText.\n", edit, original, "markdown")
    assert found(line + MERGED, original=line + ORIGINAL) == {}


@pytest.mark.parametrize(
    ("check_name", "before", "after"),
    [
        ("leaked_thinking", "<think>\nThe user wants a check.\n</think>\n", ""),
        ("leaked_thinking", "</think>\n\n", ""),
        ("leaked_tag", "<updated-code>\n", "</updated-code>\n"),
        ("leaked_tag", "", "</code>\n"),
        ("leaked_tag", "<code-1a2b3c>\n", ""),
        ("leaked_tag", "", "<|im_end|>\n"),
        ("leaked_tag", "", "<|endoftext|>"),
        ("leaked_tag", "<<<<<<< SEARCH\n", ""),
        ("leaked_tag", "", ">>>>>>> REPLACE\n"),
        ("leaked_tag", "*** Begin Patch\n", "*** End Patch\n"),
        ("leaked_tag", "@@ -1,3 +1,4 @@\n", ""),
    ],
)
def test_syntax_of_prompts_and_patches(check_name: str, before: str, after: str):
    """Tags of prompts, thoughts, control tokens and patch syntax are refused."""
    assert check_name in refused(before + MERGED + after)
    assert check_name not in found(before + MERGED + after, original=before + ORIGINAL + after)


def test_tags_in_markup_are_content():
    """In HTML a tag alone on its line is ordinary, except around the whole text."""
    original = "<body>\n<p>x</p>\n</body>\n"
    text = "<body>\n<code>\nls\n</code>\n<p>x</p>\n</body>\n"
    assert "leaked_tag" not in found(text, asks("Show the ls command."), original, "html")
    around = f"<code>\n{original}</code>\n"
    assert "leaked_tag" in refused(around, asks("Do nothing."), original, "html")


def test_model_stopped_early():
    """The flag of the decoder is enough."""
    assert "truncated" in refused(MERGED, truncated=True)


@pytest.mark.parametrize("lines", [3, 6, 12])
def test_end_of_the_file_missing(lines: int):
    """A text that ends before its end is refused, whole lines or half a line."""
    cut = "".join(MERGED.splitlines(keepends=True)[:-lines])
    assert "truncated" in refused(cut)
    assert "truncated" in refused(cut[: len(cut) - 3])


def test_end_that_the_edit_takes_away_is_not_missing():
    """The end of a file may be deleted by a patch or by a sentence."""
    end = ORIGINAL[ORIGINAL.index("\n\ndef report") :]
    text = ORIGINAL.removesuffix(end)
    assert found(text, patch(Hunk(end, ""))) == {}
    assert "truncated" not in refused(text, asks("Remove the report function."))


def test_loops():
    """A block of lines over and over is refused, unless file or edit is like that."""
    block = "    def close(self):\n        self.angle = 0\n"
    assert "repetition_loop" in refused(MERGED.replace(CLOSE, CLOSE + block * 5))
    assert "repetition_loop" in refused(MERGED + "x = 1\n" * 20)
    table = "row()\n" * 30
    assert found(table + "row()\n", patch(Hunk(table, table + "row()\n")), table) == {}
    edit = lazy("# ... existing code ...\n" + "row()\n" * 12)
    assert "repetition_loop" not in found(ORIGINAL + "row()\n" * 12, edit)
    assert "repetition_loop" in refused(MERGED + "x = " + "abc, " * 200)


def test_method_lost():
    """A method that the snippet does not name must not go, be it near the edit or far from it."""
    assert "code_lost" in refused(MERGED.replace(CLOSE, ""))
    assert "code_lost" in refused(MERGED.replace(CLOSE, ""), language=None)
    far = MERGED[MERGED.index("\n\ndef report") :]
    assert "code_lost" in refused(MERGED.replace(far, "\n\nx = 1\n"))


def test_lost_definition_is_named():
    """The finding says which definitions went and which lines."""
    finding = next(
        each
        for each in check(ORIGINAL, MERGED.replace(CLOSE, ""), LAZY, language="python")
        if each.check == "code_lost"
    )
    assert finding.detail["definitions"] == ["Vent.close"]
    assert {"line": 17, "text": '        self.log("closed")'} in finding.detail["lost"]
    assert "Vent.close" in finding.message


def test_removals_that_the_snippet_names():
    """Neighbours shown as neighbours, a removal comment, and a restated method name a removal."""
    without = ORIGINAL.replace(CLOSE, "")
    assert refused(without, lazy("        self.angle = angle\n\n    def area(self):\n")) == set()
    comment = (
        "class Vent:\n    # ... existing code ...\n    # remove close\n    # ... existing ...\n"
    )
    for language in ("python", None):
        assert refused(without, lazy(comment), language=language) == set()
        other = comment.replace("remove close", "remove the area method")
        assert "code_lost" in refused(without, lazy(other), language=language)
    shorter = ORIGINAL.replace(CLOSE, "    def close(self):\n        self.shut()\n\n")
    for language in ("python", None):
        restated = lazy("    def close(self):\n        self.shut()\n")
        assert found(shorter, restated, language=language) == {}
        open_end = lazy(
            "    def close(self):\n        self.shut()\n        # ... existing code ...\n"
        )
        assert "code_lost" in found(shorter, open_end, language=language)
    one = ORIGINAL.replace("        self.notify()\n", "")
    assert "code_lost" in refused(one)


def test_moved_lines_are_not_lost():
    """Code that a patch moves is there, somewhere else."""
    moved = ORIGINAL.replace(CLOSE, "").replace("    def open_to", CLOSE + "    def open_to")
    hunks = (Hunk(CLOSE, ""), Hunk("    def open_to", CLOSE + "    def open_to", whole_lines=False))
    assert refused(moved, patch(*hunks)) == set()


def test_sentences_may_remove():
    """A sentence that asks for less gets less; one that does not is refused above a share."""
    short = ORIGINAL[: ORIGINAL.index("    def close")]
    assert "code_lost" in refused(short, asks("Rename open_to."))
    assert "code_lost" not in refused(short, asks("Delete everything after open_to."))


def test_change_far_from_the_edit():
    """A changed, added or removed line far from the edit is refused; a blank line warns."""
    assert "outside_edit" in refused(MERGED.replace("v.name for", "v.title for"))
    assert "outside_edit" in refused(MERGED.replace("import math\n", "import math\nimport os\n"))
    assert "code_lost" in refused(MERGED.replace("import math\n", ""))
    assert "outside_edit" in refused(MERGED.replace("    return [v", "  return [v"))
    blank = found(MERGED.replace("def report(vents):\n", "def report(vents):\n\n"))
    assert blank == {"outside_edit": Severity.WARN}


def test_line_invented_beside_the_edit():
    """A new statement beside the edit is refused, a comma put in is worth a warning."""
    raises = "            raise ValueError(angle)\n"
    assert "outside_edit" in refused(MERGED.replace(raises, raises + "        self.check()\n"))
    original = '{\n  "a": 1\n}\n'
    edit = lazy('  // ... existing code ...\n  "b": 2\n}\n')
    text = '{\n  "a": 1,\n  "b": 2\n}\n'
    assert found(text, edit, original, "json") == {"outside_edit": Severity.WARN}


def test_code_wrapped_by_the_edit_may_be_indented():
    """Existing code moves to the right when the snippet puts a block around it."""
    original = "def load(path):\n    data = read(path)\n    return data\n"
    edit = lazy(
        "def load(path):\n    try:\n        # ... existing code ...\n"
        "    except OSError:\n        return None\n"
    )
    text = (
        "def load(path):\n    try:\n        data = read(path)\n        return data\n"
        "    except OSError:\n        return None\n"
    )
    assert refused(text, edit, original) == set()


def test_snippet_line_missing():
    """A new line of the snippet must arrive; the finding shows what is there instead."""
    text = MERGED.replace("            raise ValueError(angle)\n", "            pass\n")
    assert "snippet_missing" in refused(text)
    finding = next(each for each in check(ORIGINAL, text, LAZY) if each.check == "snippet_missing")
    assert finding.detail["missing"] == ["            raise ValueError(angle)"]
    assert finding.detail["first_difference"] == {
        "expected": "            raise ValueError(angle)",
        "found": "            pass",
        "line": 14,
    }


def test_hunk_that_did_not_arrive():
    """What hunks that fit exactly lead to is known, so every missing line is refused."""
    edit = patch(
        Hunk("        self.angle = 0\n\n    def open", "        self.angle = 1\n\n    def open")
    )
    assert "snippet_missing" in refused(ORIGINAL.replace("vents]", "vents if v]"), edit)
    right = ORIGINAL.replace("        self.angle = 0\n\n    def open", edit.files[0].hunks[0].new)
    assert found(right, edit) == {}


def test_hunks_that_fit_loosely():
    """A hunk whose old text is a little off names what is like it, and nothing else."""
    off = Hunk("        self.angle = 0;\n        self.log('closed');\n", "        self.shut()\n")
    edit = patch(off)
    right = ORIGINAL.replace(
        '        self.angle = 0\n        self.log("closed")\n', "        self.shut()\n"
    )
    assert refused(right, edit) == set()
    assert "code_lost" in refused(right.replace("import math\n", ""), edit)
    assert "outside_edit" in refused(right.replace("v.name for", "v.title for"), edit)
    assert found(ORIGINAL, edit)["snippet_missing"] is Severity.WARN


def test_code_before_a_marker_on_the_same_line():
    """A line of code that wraps a marker names its ends, not what the marker stands for."""
    original = "function a() {\n  one();\n}\nfunction b() {\n  two();\n}\n"
    edit = lazy("function a() { /* ... existing code ... */ }\nfunction b() {\n  three();\n}\n")
    text = original.replace("two", "three")
    assert refused(text, edit, original, "javascript") == set()
    assert "code_lost" in refused(text.replace("  one();\n", ""), edit, original, "javascript")


def test_doubled_definition_and_import():
    """A definition or import that is there twice since the merge is worth a warning."""
    twice = MERGED.replace(CLOSE, CLOSE + CLOSE.replace("closed", "shut"))
    assert found(twice, asks("x"))["duplicate_definition"] is Severity.WARN
    imports = ORIGINAL.replace("import math\n", "import math\nimport math\n")
    assert found(imports, asks("x"))["duplicate_definition"] is Severity.WARN
    assert "duplicate_definition" not in found(MERGED + "# x\n", asks("x"), original=twice)


def test_overloads_and_properties_are_not_double():
    """Java overloads and Python property setters share a name by design."""
    java = "class A {\n  void f(int a) {}\n}\n"
    more = "class A {\n  void f(int a) {}\n  void f(String a) {}\n}\n"
    assert found(more, asks("Add an overload."), java, "java") == {}
    prop = "class A:\n    @property\n    def x(self):\n        return 1\n"
    setter = prop + "\n    @x.setter\n    def x(self, v):\n        pass\n"
    assert found(setter, asks("Add a setter."), prop) == {}


def test_syntax_errors_are_counted_against_the_original():
    """Only more errors than before are worth a warning, never the presence of one."""
    broken = ORIGINAL.replace("def report(vents):", "def report(vents:")
    assert found(broken, asks("x"))["syntax_errors"] is Severity.WARN
    fixed = broken.replace("self.angle = angle", "self.angle = angle or 0")
    assert "syntax_errors" not in found(fixed, asks("Default to 0."), original=broken)
    late = ORIGINAL.replace("        self.angle = angle\n", "        return = angle\n")
    assert "syntax_errors" in found(late, asks("x"))


def test_python_itself_is_asked():
    """What the grammar lets through and Python does not is found as well."""
    text = ORIGINAL.replace(
        "        self.angle = angle\n", "        nonlocal_ = 1\n        continue\n"
    )
    late = ORIGINAL + "\nx = 1\n  y = 2\n"
    assert "syntax_errors" in found(late, asks("x"))
    assert "syntax_errors" not in found(text, asks("x"))  # valid to the parser


def test_no_op():
    """An unchanged text is worth a warning where the edit wants a change, and only there.

    After a sentence it is refused: nobody can see in the file that it was done already.
    """
    assert found(ORIGINAL, asks("Rename it."))["no_op"] is Severity.REFUSE
    assert found(ORIGINAL)["no_op"] is Severity.WARN
    assert found(ORIGINAL, lazy("class Vent:\n    # ... existing code ...\n")) == {}
    assert found(ORIGINAL, patch(Hunk("x = 1\n", "x = 1\n"))) == {}
    assert "no_op" in found(ORIGINAL, patch(Hunk("import math\n", "import os\n")))
    assert found(ORIGINAL, ParsedEdit(EditFormat.WHOLE, snippet=ORIGINAL)) == {}


def test_file_emptied():
    """Nothing left is refused, unless the edit says that in so many words."""
    assert "file_emptied" in refused("\n")
    assert "file_emptied" in refused("", ParsedEdit(EditFormat.WHOLE, snippet=""))
    assert "file_emptied" not in found("", patch(Hunk(ORIGINAL, "")))
    assert "file_emptied" not in found("", patch(op=FileOp.DELETE))
    assert "file_emptied" not in found("", asks("Empty the file."))


def test_white_space_only():
    """A change of white space alone warns, unless that is what was asked for."""
    text = ORIGINAL.replace("    return [v", "     return [v")
    assert found(text, asks("Rename report."))["whitespace_only"] is Severity.WARN
    assert "whitespace_only" not in found(text, asks("Indent the return by one more space."))


@pytest.mark.parametrize("junk", ["\ufffd", "\0", chr(0xD83D)])
def test_encoding_junk(junk: str):
    """New junk is refused; junk that the file had stays."""
    assert "encoding_junk" in refused(MERGED.replace("angle > 90", f"angle > 90{junk}"))
    assert found(MERGED + f"# {junk}\n", original=ORIGINAL + f"# {junk}\n") == {}


def test_added_file_is_not_judged_by_what_was_there():
    """A patch that adds or overwrites a file names every line of it."""
    edit = patch(Hunk("", "x = 1\n"), op=FileOp.ADD)
    assert refused("x = 1\n", edit, "old = 1\n") == set()


def test_large_files_are_guarded_too():
    """In a file of 100,000 lines a change is told from a loss."""
    lines = [f"    value_{n} = compute(argument_{n})  # {'x' * 60}\n" for n in range(100_000)]
    changed = list(lines)
    changed[50_000] = "    changed = 1\n"
    snippet = "# ... existing code ...\n" + "".join(changed[49_998:50_003])
    original, text = "".join(lines), "".join(changed)
    assert refused(text, lazy(snippet), original) == set()
    assert "code_lost" in refused("".join(changed[:70_000]), lazy(snippet), original)


def test_a_last_line_that_the_edit_shortens_is_not_cut_off():
    """What an exactly placed edit takes from the end of the file is asked for."""
    for every in (False, True):
        hunk = Hunk(" b", "", whole_lines=False, replace_all=every)
        edit = ParsedEdit(EditFormat.STR_REPLACE, (FileEdit(None, hunks=(hunk,)),))
        assert not found("a\n", edit, original="a b\n")


@pytest.mark.parametrize("line", ["<think>", "</updated-code>", "<|im_end|>"])
def test_what_a_model_puts_around_a_whole_file_is_refused(line):
    """That the answer has such a line is no excuse for it."""
    original = "a = 1\nb = 2\nc = 3\n"
    for text in (f"{line}\n{original}", f"{original}{line}\n"):
        edit = ParsedEdit(EditFormat.WHOLE, snippet=text)
        with pytest.raises(GuardRefused):
            enforce(original, text, edit, language="python")


def test_words_about_the_answer_are_refused_in_a_whole_file():
    """`Here is the updated code:` is not the first line of a program."""
    original = "a = 1\nb = 2\nc = 3\n"
    text = "Here is the updated code:\n\n" + original
    edit = ParsedEdit(EditFormat.WHOLE, snippet=text)
    with pytest.raises(GuardRefused):
        enforce(original, text, edit, language="python")
