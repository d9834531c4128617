r"""What tree-sitter can say about a text: its language, its faults, its definitions.

Line numbers are 0-based and spans half-open, in lines as :func:`apply_edit.text.split_lines` cuts
them. A grammar is a wheel that is imported when it is first asked for; a language without a grammar
still has a name (prompts and comment signs want one), and :func:`has_grammar` tells the two apart.

Does not know: edits, markers, what a change of these facts means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import NamedTuple

from tree_sitter import Language, Node, Parser, Tree

from apply_edit.errors import UnsupportedLanguage
from apply_edit.syntax.names import (
    BY_EXTENSION,
    BY_FILE_NAME,
    BY_INTERPRETER,
    CONTAINERS,
    FUNCTION_VALUES,
    GRAMMARS,
    KINDS,
    NAMES,
    VARIABLES,
    WRAPPERS,
)

_LONE_RETURN = re.compile(r"\r(?!\n)")
_SHEBANG = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?(?P<program>[\w.+-]+)")
_ERROR_LIMIT = 1000


class Fault(NamedTuple):
    """A place where the text does not follow the grammar.

    Args:
        kind: ``error`` (text that fits nowhere) or ``missing`` (a token that should be there).
        start_line: 0-based first line.
        end_line: 0-based line behind the last one.
        text: The first characters of the place, or the name of the missing token.
    """

    kind: str
    start_line: int
    end_line: int
    text: str


class Definition(NamedTuple):
    """Something that has a name: a function, class, method, type, import, CSS rule.

    Args:
        kind: ``function``, ``method``, ``class``, ``type``, ``module``, ``macro``, ``import``,
            ``rule`` or ``table``.
        name: Name with its classes in front: ``Outer.Inner.method``. For an import its text.
        start_line: 0-based first line, decorators and ``export`` included.
        end_line: 0-based line behind the last one.
        head_line: 0-based line on which the definition proper begins (behind the decorators).
    """

    kind: str
    name: str
    start_line: int
    end_line: int
    head_line: int


def language_of(path: str | None, text: str | None = None) -> str | None:
    r"""Name the language of a file, or None where nothing tells.

    Args:
        path: Path or file name; ``"a.py"``. None where there is none.
        text: The text, for its ``#!`` line, where the path does not tell.

    >>> language_of("src/App.tsx"), language_of("run", "#!/usr/bin/env python3\n")
    ('tsx', 'python')
    """
    name = re.split(r"[\\/]", path)[-1].lower() if path else ""
    if name in BY_FILE_NAME:
        return BY_FILE_NAME[name]
    if "." in name:
        found = BY_EXTENSION.get(name.rsplit(".", 1)[1])
        if found is not None:
            return found
    if name.startswith(("dockerfile.", "makefile.")):
        return BY_FILE_NAME[name.split(".")[0]]
    match = _SHEBANG.match(text) if text is not None else None
    if match is not None:
        return next(
            (lang for word, lang in BY_INTERPRETER if match["program"].startswith(word)), None
        )
    return None


def canonical_language(name: str | None) -> str | None:
    """Return our name for a language, however it is called (``golang``, ``py``), or None.

    >>> canonical_language("py"), canonical_language("klingon")
    ('python', None)
    """
    if name is None:
        return None
    word = name.strip().lower().lstrip(".")
    return word if word in NAMES else BY_EXTENSION.get(word)


def has_grammar(language: str | None) -> bool:
    """Say whether a grammar can be loaded for the language (by any of its names)."""
    return canonical_language(language) in GRAMMARS


@cache
def grammar(language: str) -> Language:
    """Load a grammar; its wheel is imported at the first call.

    Raises:
        UnsupportedLanguage: There is no grammar for it.
    """
    name = canonical_language(language)
    if name is None or name not in GRAMMARS:
        known = ", ".join(sorted(GRAMMARS))
        message = f"no grammar for the language {language!r}; there are grammars for {known}"
        raise UnsupportedLanguage(message, language=language)
    module, function = GRAMMARS[name]
    return Language(getattr(import_module(module), function)())


def parse(text: str, language: str) -> Tree:
    """Parse a text.

    Raises:
        UnsupportedLanguage: There is no grammar for the language.
    """
    # The rows of tree-sitter end at line feeds only; ours also at a lone carriage return.
    unified = _LONE_RETURN.sub("\n", text) if "\r" in text else text
    return Parser(grammar(language)).parse(unified.encode("utf-8", "surrogatepass"))


def error_nodes(text: str, language: str) -> list[Fault]:
    """List the places that do not follow the grammar (at most 1000), top-most nodes only.

    Args:
        text: The whole text.
        language: A language with a grammar.

    Raises:
        UnsupportedLanguage: There is no grammar for the language.
    """
    faults: list[Fault] = []
    stack = [parse(text, language).root_node]
    while stack and len(faults) < _ERROR_LIMIT:
        node = stack.pop()
        if node.is_missing:
            faults.append(Fault("missing", *_lines(node), node.type))
        elif node.is_error:
            faults.append(Fault("error", *_lines(node), _text(node)[:80]))
        elif node.has_error:
            stack.extend(reversed(node.children))
    return faults


def definitions(text: str, language: str) -> list[Definition]:
    """List functions, classes, methods, types and imports in the order of the text.

    Args:
        text: The whole text.
        language: A language with a grammar; one without is the caller's mistake.

    Raises:
        UnsupportedLanguage: There is no grammar for the language.
    """
    return list(_walk(parse(text, language).root_node))


def _walk(root: Node) -> Iterator[Definition]:
    """Visit what may hold definitions, parents first, without recursion."""
    stack: list[tuple[Node, str, int]] = [
        (child, "", child.start_point.row) for child in reversed(root.children)
    ]
    while stack:
        node, prefix, start = stack.pop()
        kind = _kind(node)
        inner = prefix
        if kind is not None:
            name = _name(node, kind)
            qualified = f"{prefix}.{name}" if prefix and kind != "import" else name
            if kind == "function" and prefix and _in_class(node):
                kind = "method"
            if name:
                yield Definition(kind, qualified, start, _lines(node)[1], node.start_point.row)
                inner = qualified if kind != "import" else prefix
        if kind == "import":
            continue
        for child in reversed(_inside(node, kind)):
            keep = kind is None and node.type in WRAPPERS
            stack.append((child, inner, start if keep else child.start_point.row))


def _inside(node: Node, kind: str | None) -> list[Node]:
    """Children of a node that may define something."""
    if kind is None:
        if node.type not in CONTAINERS:
            return []
        return node.children
    value = node.child_by_field_name("value") or node.child_by_field_name("type")
    holder = value if value is not None and node.type in (*VARIABLES, "type_spec") else node
    body = holder.child_by_field_name("body")
    if body is not None:
        return body.children if body.type in CONTAINERS else []
    return [child for child in holder.children if child.type in CONTAINERS]


def _kind(node: Node) -> str | None:
    if node.type in VARIABLES:
        value = node.child_by_field_name("value")
        if value is not None and value.type in FUNCTION_VALUES:
            return "function"
        return "class" if value is not None and value.type == "class" else None
    kind = KINDS.get(node.type)
    if kind is None or not node.is_named:
        return None
    # ``struct x y;`` in C names a type and does not define it.
    if node.type.endswith("_specifier") and node.child_by_field_name("body") is None:
        return None
    return kind


def _name(node: Node, kind: str) -> str:
    if kind == "import":
        return " ".join(_text(node).split())
    if node.type in ("rule_set", "table", "table_array_element"):
        return _text(node).split("{")[0].split("\n")[0].strip()
    if node.type == "impl_item":
        return " ".join(_text(node).split("{")[0].split())
    name = (
        node.child_by_field_name("name")
        or node.child_by_field_name("property")
        or _declared(node.child_by_field_name("declarator"))
    )
    if name is None:
        return ""
    receiver = node.child_by_field_name("receiver")
    if receiver is None:
        return _text(name)
    words = re.findall(r"\w+", _text(receiver).split("[")[0])
    return f"{words[-1]}.{_text(name)}" if words else _text(name)


def _declared(node: Node | None) -> Node | None:
    """Follow C declarators down to the identifier."""
    while node is not None:
        inner = node.child_by_field_name("declarator")
        if inner is None:
            return node
        node = inner
    return None


def _in_class(node: Node) -> bool:
    """Say whether the definition stands directly in a class (decorators and bodies apart)."""
    parent = node.parent
    while parent is not None and (parent.type in CONTAINERS or parent.type in WRAPPERS):
        parent = parent.parent
    return parent is not None and KINDS.get(parent.type) == "class"


def _lines(node: Node) -> tuple[int, int]:
    """Half-open span of lines; a node that ends at the start of a line does not hold that line."""
    start, end = node.start_point.row, node.end_point.row
    return start, max(start + 1, end + (1 if node.end_point.column > 0 else 0))


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
