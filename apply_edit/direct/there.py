r"""Recognise that a place reads as the new text already: the edit was applied there before.

New text that holds the old one, as that of every insertion does, leaves the old text to be found
again, and a second application would insert the same twice. One more may be meant, though, where
the old text has itself what is added, or where only brackets and blank lines are.

Does not know: how the place was found.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

from apply_edit.direct.splice import Writer
from apply_edit.match.ladder import PUNCTUATION, FileLines, Found, Lines, Place
from apply_edit.match.there import is_bounded

# Added text of this length is not added twice on purpose, whatever it is.
_SUBSTANTIAL = 10
_MAX_INDENT = 400


def lines_there(file: FileLines, found: Found, place: Place, *, at_end: bool = False) -> bool:
    """Say whether whole lines read as the new ones already.

    Args:
        file: The file.
        found: The hunk in the reading that was found.
        place: Where its old lines were found, or where lines are to be inserted.
        at_end: An insertion goes to the end of the file, so what stands there is above it.
    """
    size = place.end - place.start
    if size != len(found.old) or found.old == found.new:
        return False
    writer = Writer(file, found, place)
    offsets = _offsets(found.old, found.new) if size else iter([len(found.new) if at_end else 0])
    for k in offsets:
        added = (*found.new[:k], *found.new[k + size :])
        above = place.start - k
        known = {line.strip() for line in found.old or file.bodies[max(0, above - 1) : above]}
        if above < 0 or not _is_added_once(added, known):
            continue
        below = file.bodies[place.end : place.end + len(added) - k]
        here = [*file.bodies[above : place.start], *below]
        if [line.rstrip() for line in here] == [writer.line(line).rstrip() for line in added]:
            return True
    return False


def _offsets(old: Lines, new: Lines) -> Iterator[int]:
    """Yield where the old lines stand one below the other among the new ones."""
    for k in range(len(new) - len(old) + 1):
        if new[k] == old[0] and new[k : k + len(old)] == old:
            yield k


def text_there(
    text: str, old: str, new: str, span: tuple[int, int], *, folded: bool = False
) -> bool:
    r"""Say whether a piece of text reads as the new one already; line ends are not compared.

    Args:
        text: The file.
        old: The old text.
        new: The new text.
        span: Where the old text was found.
        folded: It was found with other quotes, dashes or spaces.

    >>> text_there("f(a, b)", "f(a", "f(a, b", (0, 3))
    True
    """
    plain = _folded if folded else _with_feeds
    old, new = plain(old), plain(new)
    at = new.find(old) if old else -1
    while at >= 0:
        before, after = new[:at], new[at + len(old) :]
        left, right = _around(text, span, (before, after), plain)
        added = before + after
        known: Container[str] = old
        if "\n" in added:
            known = {line.strip() for line in old.split("\n")}
        if (
            _is_added_once(added.split("\n"), known)
            and left.endswith(before)
            and right.startswith(after)
            and _is_whole((left[: len(left) - len(before)], right[len(after) :]), before, after)
        ):
            return True
        at = new.find(old, at + 1)
    return False


def _around(
    text: str, span: tuple[int, int], added: tuple[str, str], plain: Callable[[str], str]
) -> tuple[str, str]:
    """Return the text on both sides of a span, as far as it is looked at."""
    # Every line feed of the new text may be two characters in the file, and one line more tells
    # how the piece begins.
    least = max(0, span[0] - 2 * len(added[0]))
    begin = max(text.rfind("\n", 0, least) + 1, least - _MAX_INDENT)
    return plain(text[begin : span[0]]), plain(text[span[1] : span[1] + 2 * len(added[1]) + 2])


def _is_whole(outside: tuple[str, str], before: str, after: str) -> bool:
    """Say whether what was added does not end in the middle of a word, nor lines of a line."""
    left, right = outside
    if (before and not is_bounded(left, before, "")) or not is_bounded("", after, right):
        return False
    if "\n" in after and not after.endswith("\n") and right[:1] not in ("", "\n", "\r"):
        return False
    begins = not left.rpartition("\n")[2].strip()
    return "\n" not in before or before.startswith("\n") or begins


def _is_added_once(lines: Sequence[str], known: Container[str]) -> bool:
    """Say whether added lines are no repetition that may be meant."""
    if len("".join(lines).strip()) >= _SUBSTANTIAL:
        return True
    return any(c.isalnum() for line in lines for c in line if line.strip() not in known)


def _with_feeds(text: str) -> str:
    return text.replace("\r\n", "\n")


def _folded(text: str) -> str:
    return _with_feeds(text).translate(PUNCTUATION)
