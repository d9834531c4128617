from __future__ import annotations

import pytest

from apply_edit.markers import (
    Elision,
    comment_text,
    elision,
    is_bare_ellipsis,
    is_marker,
    is_real_comment,
    marker_subject,
    removal_comment,
    trailing_marker,
)
from apply_edit.markers.suspects import Kind, dots_are_text, find_suspects, vague_elision
from apply_edit.markers.words import Said, said

MARKERS = [
    "// ... existing code ...",
    "    # ... existing code ...",
    "\t-- rest of the file unchanged",
    "; ... rest ...",
    "% ...",
    "/* ... existing styles ... */",
    "<!-- ... -->",
    "      {/* ... rest of JSX ... */}",
    '"""... existing docstring ..."""',
    "' ... existing code ...",
    "// …",
    "# ⋮",
    ".. ... existing code ...",
    "[the rest of the file is unchanged]",
    "(same as before)",
    "// ... same ...",
    "// other methods remain the same",
    "// rest of the class",
    "# existing imports",
    "# keep the rest",
    "# ... rest of file unchanged",
    "// ... other methods",
    "// existing code",
    "... existing code ...",
    "...existing code...",
    "# ... (unchanged) ...",
    "// [existing code]",
    "// unchanged",
    "// The rest of the code remains unchanged",
    "# ... 12 lines ...",
    "# ... keep login and logout ...",
    "// ... imports ...",
    "// ---- existing code ----",
    "//...",
    " * ... existing code ...",
    "{# ... existing markup ... #}",
    "# ... existing code ...\r\n",
    "pass  # ... existing code ...",
    "# ... Rest unver\u00e4ndert",
    "# ... weitere Methoden",
    "// ... \u5176\u4f59\u4ee3\u7801\u4fdd\u6301\u4e0d\u53d8",
    '"...": "...",',
    '"...": "rest unchanged"',
    '"// ...": ""',
    '"... other keys ...": null',
    '"//": "... rest of the settings"',
]
LIKELY = [
    "# snip",
    "# <snip>",
    "# etc.",
    "// the rest",
    "// unchanged part",
    "/* as is */",
    "# as before",
    "# continue as before",
    "# as it was before",
    "# Unchanged",
    "# other methods",
    "# and so on",
    "// the same as above",
    "-- der Rest bleibt unver\u00e4ndert",
    "# bestehender Code",
    "# wie zuvor",
    "# le reste du code est inchang\u00e9",
    "# resto del c\u00f3digo sin cambios",
    "# o resto permanece igual",
    "# il resto rimane invariato",
    "# de rest blijft ongewijzigd",
    "# reszta bez zmian",
    "# \u0431\u0435\u0437 \u0438\u0437\u043c\u0435\u043d\u0435\u043d\u0438\u0439",
    "# \u4ee5\u4e0b\u4ee3\u7801\u4e0d\u53d8",
    "# \u73b0\u6709\u4ee3\u7801",
    "# \u6b8b\u308a\u306e\u30b3\u30fc\u30c9\u306f\u305d\u306e\u307e\u307e",
    "# \uae30\uc874 \ucf54\ub4dc \uc720\uc9c0",
    "\uff08\u4ee5\u4e0b\u4e0d\u53d8\uff09",
    '"...": "",',
]
DOUBTFUL = ["# other", "// body", "# more", "# code", '"...",', "...,", "X = [...]", '"a": {...},']
REAL = [
    "# the rest of the arguments are passed through",
    "# see above",
    "# TODO: the rest",
    "// the rest = xs.slice(1)",
    "#else",
    "#ifdef REST",
    "#include <other.h>",
    "# Methods",
    "# \u4f8b",
    "x[...] = 1",
    "Callable[..., int]",
    "f(...)",
    "return rest",
    "rest",
]
NOT_MARKERS = [
    "",
    "# ... see above",
    "...",
    "    ...",
    "...args,",
    "  ...existingUsers,",
    "0..10",
    "---",
    "# remove trailing white space",
    "// TODO: keep the rest of the buffer for the next read",
    "# existing users are skipped",
    "# The rest of the file is read lazily",
    "// the same value is used below",
    "# Unchanged",
    "# same as foo",
    "return x  # unchanged",
    "// keep existing value if nothing was passed",
    "# Keep all rows",
    "// Rest parameters are collected in an array",
    '"..."',
    "x = ...",
    "# e.g. a, b, ...",
    "# loading...",
    "// Existing connections are closed first",
    "// previous value",
    "# other methods",
    "The rest of the file is unchanged.",
    '"""..."""',
    "# type: ignore",
    "// remaining bytes",
    "// unchanged files are skipped",
    "# the values remain unchanged",
    "# someone was calling it, so it stays for now...",
]


@pytest.mark.parametrize("line", MARKERS)
def test_markers_are_recognised(line):
    """Comments and bracketed prose that stand for elided code are markers."""
    assert is_marker(line)


@pytest.mark.parametrize("line", NOT_MARKERS)
def test_code_and_real_comments_are_not_markers(line):
    """Code with dots and comments that a programmer would write are not markers."""
    assert not is_marker(line)


@pytest.mark.parametrize("line", ["...", "    ...\n", "…", "[...]", "(...)"])
def test_bare_ellipsis_is_left_to_the_caller(line):
    """An ellipsis alone is reported as such, and not as a marker."""
    assert is_bare_ellipsis(line)
    assert not is_marker(line)


def test_commented_ellipsis_is_not_bare():
    """With a comment sign an ellipsis is a marker."""
    assert not is_bare_ellipsis("# ...")


def test_trailing_marker_is_split_from_the_code():
    """Code, marker and closing brackets of one line are told apart."""
    line = "function f() { /* ... existing code ... */ }\n"
    assert trailing_marker(line) == ("function f() {", "/* ... existing code ... */", " }")
    assert trailing_marker("def f():  # ... existing code ...") == (
        "def f():",
        "# ... existing code ...",
        "",
    )


@pytest.mark.parametrize("line", ["x = 1  # one", "// ... existing code ...", "f(...args)"])
def test_line_without_trailing_marker(line):
    """A line of code with a real comment, or a marker alone, has no trailing marker."""
    assert trailing_marker(line) is None


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("# remove foo", "foo"),
        ("    // removed: bar()", "bar()"),
        ("/* Delete the legacy_login function */", "the legacy_login function"),
        ("# foo removed.", "foo"),
        ("-- drop table_name", "table_name"),
    ],
)
def test_removal_comment_gives_what_is_to_go(line, what):
    """A comment that asks for a removal gives back its object in its own words."""
    assert removal_comment(line) == what


@pytest.mark.parametrize("line", ["remove(foo)", "# removal of foo", "# foo", "del foo"])
def test_other_lines_are_no_removal_comments(line):
    """Code and other comments ask for no removal."""
    assert removal_comment(line) is None


@pytest.mark.parametrize(
    ("line", "subject"),
    [
        ("# ... existing imports ...", "imports"),
        ("// ... existing code ...", None),
        ("# ... keep login and logout ...", "login and logout"),
        ("x = 1", None),
    ],
)
def test_marker_subject(line, subject):
    """A marker that names what it keeps gives the name, without filler words."""
    assert marker_subject(line) == subject


@pytest.mark.parametrize("line", LIKELY)
def test_comments_of_nothing_but_such_words_are_likely_markers(line):
    """A comment that says only that code stays, in whatever language, is likely a marker."""
    assert elision(line) is Elision.LIKELY
    assert not is_real_comment(line)


@pytest.mark.parametrize("line", DOUBTFUL)
def test_comments_and_holes_that_may_stand_for_code_are_doubtful(line):
    """Vague comments, and dots where a value should be, may be markers."""
    assert elision(line) is Elision.DOUBTFUL


@pytest.mark.parametrize("line", REAL)
def test_comments_with_something_of_their_own_to_say_are_no_markers(line):
    """One word that is not about the text itself, or a directive, makes it no marker."""
    assert elision(line) is Elision.NONE


@pytest.mark.parametrize(
    ("line", "real"),
    [("# why", True), ("// ok", True), ("#endif", False), ("* item", False), ("x = 1", False)],
)
def test_real_comments(line, real):
    """A comment with words is real where its sign is not one of something else."""
    assert is_real_comment(line) is real


def test_comment_text():
    """The words of a comment come without its signs."""
    assert comment_text("  /* return a; */") == "return a;"


def test_marker_alone_between_brackets_needs_less():
    """Between brackets that hold nothing else a likely marker is one."""
    assert trailing_marker("f() { /* as is */ }") == ("f() {", "/* as is */", " }")
    assert trailing_marker("f() {  // as is") is None
    assert trailing_marker("f(a /* as is */)") is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Unver\u00e4ndert", Said.ELISION),
        ("unverandert", Said.ELISION),
        ("the other", Said.MAYBE),
        ("rest " * 13, Said.ELSE),
        ("lines 3-4 unchanged", Said.ELISION),
        ("\u4ee5\u4e0b", Said.MAYBE),
        ("\u4ee5\u4e0b code \u4e0d\u53d8", Said.ELISION),
        ("\u4ee5\u4e0b thing \u4e0d\u53d8", Said.ELSE),
        ("\u73b0\u6709", Said.MAYBE),
    ],
)
def test_words_of_elision(text, what):
    """Accents, case and numbers do not matter; every word has to be known, and one has to tell."""
    assert said(text) is what


def test_headings_and_entries_are_no_comments_in_documents():
    """In a document `#` and `*` begin lines like any other, and a line of such words may be one."""
    assert vague_elision("# the rest", "markdown") is Elision.NONE
    assert vague_elision("<!-- as before -->", "markdown") is Elision.LIKELY
    assert vague_elision("etc.", "text") is Elision.DOUBTFUL
    assert vague_elision("etc.", "javascript") is Elision.NONE


def test_a_stub_on_one_line_is_doubtful_in_python():
    """A body of dots behind a head may stand for the body that the file has."""
    assert vague_elision("def f(a): ...", "python") is Elision.DOUBTFUL
    assert vague_elision("def f(a): ...", "javascript") is Elision.NONE


@pytest.mark.parametrize(
    ("lines", "number", "text"),
    [
        (["new", "...", "newer"], 1, True),
        (["old", "...", "new"], 1, False),
        (["...", "new"], 0, False),
        (["new", "", "..."], 2, False),
        (["new:", "    ...", "old"], 1, True),
        (["old", "    ...", "old"], 1, False),
        (["new", "...", "// ..."], 1, False),
    ],
)
def test_dots_between_new_lines_are_text(lines, number, text):
    """Dots of a document are text where the lines around them, or their owner, are new."""
    assert dots_are_text(lines, number, {"old"}) is text


def _kinds(text, *, known=(), heads=(), language="python"):
    """Return what the suspects of a snippet are, and whether they stand above a line."""
    return [(s.kind, s.attached) for s in find_suspects(text.splitlines(), known, heads, language)]


def test_suspects_of_a_snippet():
    """Likely and doubtful lines are suspects; certain ones and lines of the file are not."""
    assert _kinds("x\n# as before\n") == [(Kind.COMMENT, False)]
    assert _kinds("x\n# as before\ny\n") == [(Kind.COMMENT, True)]
    assert _kinds("x\n# as before\n\ny\n") == [(Kind.COMMENT, False)]
    assert _kinds("x\n# other\n") == [(Kind.VAGUE, False)]
    assert _kinds("# ... existing code ...\n...\n") == []
    assert _kinds("# as before\n", known={"# as before"}) == []


def test_a_line_of_a_longer_comment_is_vague():
    """Words that end a comment of several lines are no marker by themselves."""
    assert _kinds("# a, b,\n# etc.\nx\n") == [(Kind.VAGUE, True)]


@pytest.mark.parametrize(
    ("language", "text", "kind"),
    [
        ("yaml", "a: 1\n...\n", Kind.DATA_DOTS),
        ("yaml", "---\na: 1\n...\n", Kind.END_DOTS),
        ("yaml", "---\na:\n  ...\n", Kind.DATA_DOTS),
        ("markdown", "a\n...\n", Kind.TEXT_DOTS),
        (None, "a\n...\n", Kind.TEXT_DOTS),
    ],
)
def test_bare_dots_outside_of_code(language, text, kind):
    """What three dots may be depends on the kind of file."""
    assert [s.kind for s in find_suspects(text.splitlines(), {}, {}, language)] == [kind]
