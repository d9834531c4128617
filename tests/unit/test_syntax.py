from __future__ import annotations

import pytest

from apply_edit.errors import UnsupportedLanguage
from apply_edit.syntax import (
    Definition,
    canonical_language,
    definitions,
    error_nodes,
    grammar,
    has_grammar,
    language_of,
)
from apply_edit.syntax.names import GRAMMARS


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("a/b.py", None, "python"),
        ("App.tsx", None, "tsx"),
        ("x.jsx", None, "javascript"),
        ("x.h", None, "c"),
        ("C:\\src\\x.CS", None, "csharp"),
        ("Makefile", None, "make"),
        ("Dockerfile.dev", None, "dockerfile"),
        ("notes.rst", None, "rst"),
        ("run", "#!/usr/bin/env python3\nx", "python"),
        ("run", "#!/bin/sh\n", "bash"),
        (None, "#!/usr/bin/env -S node --flag\n", "javascript"),
        ("unknown.zzz", "text", None),
        (None, None, None),
    ],
)
def test_language_of(path, text, language):
    """The language comes from the extension, the file name or the interpreter line."""
    assert language_of(path, text) == language


@pytest.mark.parametrize(
    ("name", "language"),
    [("py", "python"), ("TypeScript", "typescript"), ("c++", "cpp"), (".go", "go"), ("zz", None)],
)
def test_canonical_language(name, language):
    """A language is known by its extensions and usual names."""
    assert canonical_language(name) == language


def test_none_has_no_name_and_no_grammar():
    """An unknown language stays unknown."""
    assert canonical_language(None) is None
    assert not has_grammar(None)


@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_every_grammar_loads(language):
    """Every grammar that is promised can be loaded, and an empty text has no faults."""
    assert has_grammar(language)
    assert grammar(language) is grammar(language)
    assert error_nodes("", language) == []


def test_language_without_grammar_is_an_error():
    """Asking for a grammar that does not exist names those that do."""
    with pytest.raises(UnsupportedLanguage, match="python"):
        grammar("rst")


def test_errors_and_missing_tokens_are_listed():
    """Both kinds of faults are found, with the lines they stand on."""
    missing = error_nodes("function f() {\n  a();\n", "javascript")
    assert [(fault.kind, fault.text) for fault in missing] == [("missing", "}")]
    errors = error_nodes("x = 1\ny = ) 2\nz = 3\n", "python")
    assert [(fault.kind, fault.start_line, fault.end_line) for fault in errors] == [("error", 1, 2)]


def test_sound_text_has_no_faults():
    """A text that follows the grammar has no faults, whatever its line ends."""
    assert error_nodes("def f():\r\n    return 1\r\n", "python") == []
    assert error_nodes("def f():\r    return 1\r", "python") == []


def test_python_definitions():
    """Definitions carry their owners' names, and their spans include decorators."""
    text = (
        "import os\n"
        "from a import (\n    b,\n)\n"
        "@dec\nclass A(B):\n"
        "    @property\n    def f(self):\n        def g(): pass\n        return 1\n"
        "if x:\n    async def q(): ...\n"
    )
    assert definitions(text, "python") == [
        Definition("import", "import os", 0, 1, 0),
        Definition("import", "from a import ( b, )", 1, 4, 1),
        Definition("class", "A", 4, 10, 5),
        Definition("method", "A.f", 6, 10, 7),
        Definition("function", "A.f.g", 8, 9, 8),
        Definition("function", "q", 11, 12, 11),
    ]


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        (
            "typescript",
            "export class A {\n  m(): void {}\n  h = () => {};\n}\nexport const f = (a) => {};\n"
            "interface I { k(): void; }\ntype T = string;\nnamespace N { function z() {} }\n",
            [
                "class A",
                "method A.m",
                "method A.h",
                "function f",
                "class I",
                "method I.k",
                "type T",
                "module N",
                "function N.z",
            ],
        ),
        (
            "go",
            "package a\ntype S struct{}\nfunc (s *S) M() {}\nfunc F() {}\nfunc (s *G[T]) K() {}\n",
            ["type S", "method S.M", "function F", "method G.K"],
        ),
        (
            "rust",
            "use a::b;\nimpl S {\n  fn m(&self) {}\n}\nmod x { fn y() {} }\n",
            ["import use a::b;", "class impl S", "method impl S.m", "module x", "function x.y"],
        ),
        (
            "java",
            "class A {\n  A() {}\n  @Override int f() { return 1; }\n}\n",
            ["class A", "method A.A", "method A.f"],
        ),
        ("c", "#include <a.h>\nint *f(int a) {\n}\n", ["import #include <a.h>", "function f"]),
        (
            "cpp",
            "namespace n {\nclass A { void f() {} };\nvoid A::g() {}\n}\n",
            ["module n", "class n.A", "method n.A.f", "function n.A::g"],
        ),
        (
            "csharp",
            "using A;\nnamespace N { class B { int F() { return 1; } } }\n",
            ["import using A;", "module N", "class N.B", "method N.B.F"],
        ),
        (
            "ruby",
            "module M\n class A\n  def f\n  end\n  def self.g\n  end\n end\nend\n",
            ["module M", "class M.A", "method M.A.f", "method M.A.g"],
        ),
        ("php", "<?php\nclass A { function f() {} }\n", ["class A", "method A.f"]),
        ("bash", "f() {\n echo\n}\n", ["function f"]),
        ("css", ".a { b: c; }\n@media x {\n .d { }\n}\n", ["rule .a", "rule .d"]),
        ("toml", "a=1\n[x.y]\nb=2\n[[z]]\n", ["table [x.y]", "table [[z]]"]),
    ],
)
def test_definitions_of_other_languages(language, text, names):
    """Functions, methods, classes and imports are found in every language with a grammar."""
    assert [f"{d.kind} {d.name}" for d in definitions(text, language)] == names
