"""Decide which line of the file a changed line of the snippet replaces.

Needed only next to markers: between two matched lines the snippet stands as it is, whatever became
of what. Next to a marker a new line may be an addition or the new form of a line that is hidden
behind the marker.

Does not know: segments, blocks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rapidfuzz import fuzz

from apply_edit.merge.outline import Outline, assigned_name, head_name

_COMMENT = re.compile(r"(?://|#(?!\[)|/\*|\*|<!--|--\s|;|\"\"\"|%)")
_IMPORT = re.compile(
    r"(?:from\s+(?P<py>[\w.]+)\s+import\b|import\b.*\bfrom\s+(?P<js>['\"][^'\"]+['\"])"
    r"|(?:const|let|var)\s.*=\s*require\((?P<req>['\"][^'\"]+['\"])\))"
)
# Two calls of one function are entries of a list as often as one is the new form of the other.
_CALL = re.compile(r"(?:await\s+)?[\w.$:>-]+!?\(")
_STATEMENT = re.compile(
    r"(?:@[\w.]+|(?:await\s+)?[\w.$]+!?\(|(?:if|for|while|with|return|raise|throw|switch|match|case|assert|yield)\b)"
)
_FIELD = re.compile(
    r"(?!(?:return|defer|go|case|var|const|type|import|package|goto|break|func|range|select|insert|"
    r"create|alter|drop|update|delete|from|where|and|or|set|values|primary|foreign|unique|check|"
    r"constraint|key|index|join|left|inner|on|order|group|by|as|with|union)\b)"
    r"(?P<name>[a-z_]\w*)\s+[\w*\[(][^=:]*$",
    re.IGNORECASE,
)
_ENTRY = re.compile(
    r"(?:(?:pub\s+|pub\(crate\)\s+)?(?:import|use|mod|using|include|require|require_once|#\s*include|"
    r"\#define|gem|export\s+\*\s+from)\b\s*[(<\"']?(?P<module>[\w.:/@*-]+)[)>\"']?\s*(?:[;,].*)?$"
    r"|export\s+\{.*\}\s+from\s+['\"](?P<source>[^'\"]+)"
    r"|(?P<text>\"[^\"]*\"|'[^']*'),?$"
    r"|-\s+[\w.-]+:\s+(?P<item>\S+)$|[-*+]\s+(?P<bullet>\S+(?:\s\S+)?)$"
    r"|(?!(?:return|raise|throw|if|elif|else|while|for|case|def|class|await|yield|async|goto|func|"
    r"struct|type|var|let|const|val|package|module|namespace|end)\b)(?P<command>[a-z_]+\s+\S+)$"
    r"|(?!return\b|throw\b|new\b|await\b|delete\b|else\b)(?:[\w:<>*&\[\],?]+\s+)+\*?"
    r"(?P<prototype>\w+)\([^;]*;$)"
)
_REMARK = re.compile(
    r"//|--\s|;;?\s|%\s|#(?![\[!{]|\s*(?:include|define|undef|if|ifdef|ifndef|elif|else|endif|pragma|"
    r"error|import|region|endregion)\b)"
)
ANNOTATION = re.compile(r"@\w|#!?\[|\[\w[\w.]*(?:\(.*\))?\]$")
_LIKE = 0.75
# Calls with fewer characters of arguments look alike by chance.
_SHORT_CALL = 4
_KEYED_LIKE = 0.4
_MARGIN = 0.1
_LIMIT = 60


def is_comment(stripped: str) -> bool:
    """Say whether a line looks like a comment (or the start or middle of one)."""
    return _COMMENT.match(stripped) is not None


def likeness(new: str, old: str, names: tuple[str | None, str | None] | None = None) -> float:
    """Return how much ``new`` looks like a changed form of ``old``: 0 for not at all, up to 1.

    Args:
        new: A line of the snippet.
        old: A line of the file.
        names: What the two lines define, where their surroundings have been looked at.
    """
    if is_comment(new) != is_comment(old):
        return 0.0
    ratio = fuzz.ratio(new, old) / 100
    name, other = names or (head_name(new), head_name(old))
    if name is not None or other is not None:
        return max(0.9, ratio) if name == other else 0.0
    key = assigned_name(new)
    same_key = key is not None and key == assigned_name(old)
    if same_key and "=" in new and "=" in old and ratio >= _KEYED_LIKE:
        return max(0.85, ratio)
    known = _same_entry(new, old)
    if known is not None:
        return max(0.85, ratio) if known else 0.0
    if old.rstrip(":{(;,)") and new.startswith(old.rstrip(":{(;,)")) and len(old) > 8:
        return max(0.85, ratio)
    if same_key and ratio >= _KEYED_LIKE:
        return max(0.85, ratio)
    call, other_call = _CALL.match(new), _CALL.match(old)
    if call is not None and other_call is not None and call[0] == other_call[0]:
        return 0.0
    if new.startswith("return ") and old.startswith("return ") and ratio >= _KEYED_LIKE:
        return max(_LIKE, ratio)
    if key is not None and assigned_name(old) is not None and key != assigned_name(old):
        return ratio - 0.2
    return ratio


def _same_entry(new: str, old: str) -> bool | None:
    """Say whether two entries or imports have the same name; None where they are no such things.

    Whose an annotation is, is said by what it stands above: none is another one's form.
    """
    if ANNOTATION.match(new) and ANNOTATION.match(old):
        return False
    entry, other_entry = _entry(new), _entry(old)
    if entry is not None and other_entry is not None and entry[0] == other_entry[0]:
        return entry == other_entry
    module, other_module = _IMPORT.match(new), _IMPORT.match(old)
    if module is not None and other_module is not None:
        return bool(module[0].split()) and _module(module) == _module(other_module)
    return None


def _alike(new: tuple[Outline, int], old: tuple[Outline, int]) -> float:
    """Return the likeness of two lines; a field is the new form of the field of its name."""
    (lines, i), (original, j) = new, old
    text, hidden = lines.stripped[i], original.stripped[j]
    field = _FIELD.match(text) if original.names_first else None
    other = _FIELD.match(hidden) if field is not None else None
    if field is not None and other is not None and field["name"] == other["name"]:
        return 1.0
    return likeness(text, hidden, (lines.name(i), original.name(j)))


def _entry(stripped: str) -> tuple[str, str] | None:
    """Return kind and name of a line that is an entry among others of its kind, or None.

    Entries with other names stand side by side, however much they look alike.
    """
    match = _ENTRY.match(stripped)
    if match is None:
        return None
    kind = next(key for key, value in match.groupdict().items() if value is not None)
    return kind, match[kind]


def same_statement(new: str, old: str) -> bool:
    """Say whether two lines begin the same kind of statement, so that one may be the other's form.

    >>> same_statement("if WIN:", "if sys.platform == 'win32':"), same_statement("f(1)", "g(1)")
    (True, False)
    """
    first, other = _STATEMENT.match(new), _STATEMENT.match(old)
    if ANNOTATION.match(new) and ANNOTATION.match(old):
        return True
    return first is not None and other is not None and first[0] == other[0]


def past_annotations(stripped: Sequence[str], i: int, end: int) -> int:
    """Return the first line from ``i`` on that is no annotation, at most ``end - 1``.

    >>> past_annotations(["@a", "@b", "def f():"], 0, 3), past_annotations(["@a", "@b"], 0, 2)
    (2, 1)
    """
    while i + 1 < end and ANNOTATION.match(stripped[i]):
        i += 1
    return i


def annotation_name(stripped: str) -> str | None:
    """Return the name of an annotation, an attribute or a decorator; None for another line.

    >>> annotation_name("#[derive(Debug)]"), annotation_name("@app.get('/')"), annotation_name("x")
    ('derive', 'app.get', None)
    """
    if not ANNOTATION.match(stripped):
        return None
    name = re.match(r"[@#!\[]+(\w[\w.:]*)", stripped)
    return None if name is None else name[1]


def alike_calls(new: str, old: str) -> bool:
    """Say whether two calls of different functions are so alike that one may be the other's form.

    >>> alike_calls('logger.info("other %s", a)', 'log("other", a)'), alike_calls("f(a)", "g(b)")
    (True, False)
    """
    call, other = _CALL.match(new), _CALL.match(old)
    if call is None or other is None or call[0] == other[0]:
        return False
    arguments = fuzz.ratio(new[call.end() :], old[other.end() :]) / 100
    return len(new) - call.end() > _SHORT_CALL and arguments >= _LIKE


def is_remark(stripped: str) -> bool:
    """Say whether a line is a comment to its end, and no directive, selector or string.

    >>> is_remark("# why"), is_remark("#include <a.h>"), is_remark("#id {"), is_remark("* item")
    (True, False, False, False)
    """
    return _REMARK.match(stripped) is not None and not stripped.endswith(("{", ",", "\\"))


def _module(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group is not None).strip("'\"")


def _in_new_block(i: int, lines: Outline, matches: dict[int, int], pairs: dict[int, int]) -> bool:
    """Say whether the line stands in a block that the snippet opens anew."""
    owner = lines.parents[i]
    return owner >= 0 and owner not in matches and owner not in pairs


def pair_lines(
    new: list[int],
    lines: Outline,
    old: list[int],
    original: Outline,
    matches: dict[int, int],
) -> dict[int, int]:
    """Pair changed lines with the lines of the file that they replace, in order.

    Args:
        new: Lines of the snippet's outline without an equal line in the file.
        lines: The snippet.
        old: Lines of the file that may be replaced.
        original: The file.
        matches: What is matched already.

    A pair must stand out: where a new line is about as like to two lines of the file (entries of a
    list), it replaces neither.
    """
    new = [i for i in new if lines.stripped[i]][:_LIMIT]
    pairs: dict[int, int] = {}
    floor = -1
    for i in new:
        if _in_new_block(i, lines, matches, pairs):
            continue
        scored = sorted(
            ((_alike((lines, i), (original, j)), j) for j in old if j > floor),
            reverse=True,
        )
        if not scored or scored[0][0] < _LIKE:
            continue
        rivals = [j for score, j in scored if scored[0][0] - score < _MARGIN]
        # Of lines that are about as like, the only one at the same depth stands out.
        level = [j for j in rivals if original.widths[j] == lines.widths[i]]
        if len(rivals) > 1 and len(level) != 1:
            continue
        pairs[i] = floor = level[0] if len(rivals) > 1 else rivals[0]
    return pairs
