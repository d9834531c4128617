"""Tell by its words alone whether a comment stands for code that is left out, in many languages.

The words are in ``words.toml``. A comment in which one word is not among them has something of its
own to say, and is not judged here.

Does not know: comment signs, the file.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files

_WORD = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NOT_CJK = re.compile(r"[^\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
# Notes of programmers; what follows is theirs, also where the word is one of another language.
_NOTE = re.compile(r"\b(?:TODO|FIXME|XXX|HACK|NOTE)\b")
# Code that is commented out has them.
_CODE = re.compile(r"[=_{};\\\"|\[\]]")
_MAX_WORDS = 12
# "as it was before": so far may the two words be from each other.
_NEAR = 3


class Said(Enum):
    """What the words of a comment say."""

    ELISION = "elision"
    """That code is left out, and nothing else."""
    MAYBE = "maybe"
    """Only words that such comments are made of, but not plainly that."""
    ELSE = "else"
    """Something else."""


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """The words of all languages by what they do; see ``words.toml``.

    Args:
        roles: Words by role.
        known: All words.
        phrases: Words in this order.
        pieces: Matches a text made of nothing but known pieces, where words have no blanks.
        telling: Matches a piece that says it by itself.
        beside: Matches a piece that says it beside another one.
    """

    roles: dict[str, frozenset[str]]
    known: frozenset[str]
    phrases: tuple[str, ...]
    pieces: re.Pattern[str]
    telling: re.Pattern[str]
    beside: re.Pattern[str]


def said(text: str) -> Said:
    r"""Say what the words of a comment are about.

    Args:
        text: The comment without its signs and ellipses.

    >>> said("Der Rest bleibt unver\u00e4ndert").name, said("the other").name, said("a bug").name
    ('ELISION', 'MAYBE', 'ELSE')
    """
    lexicon = _lexicon()
    if _NOTE.search(text) is not None or _CODE.search(text) is not None:
        return Said.ELSE
    if _CJK.search(text) is not None:
        return _said_without_blanks(text, lexicon)
    words = [word for word in _WORD.findall(_fold(text)) if not word.isdigit()]
    if not words or len(words) > _MAX_WORDS or not lexicon.known.issuperset(words):
        return Said.ELSE
    if _is_telling(words, lexicon):
        return Said.ELISION
    vague = (lexicon.roles[role] for role in ("adjectives", "things", "same", "vague"))
    return Said.ELSE if all(role.isdisjoint(words) for role in vague) else Said.MAYBE


def _is_telling(words: list[str], lexicon: _Lexicon) -> bool:
    there = set(words)

    def has(*roles: str) -> bool:
        return all(not lexicon.roles[role].isdisjoint(there) for role in roles)

    spaced = f" {' '.join(words)} "
    return (
        has("alone")
        or has("adjectives", "things")
        or has("adjectives", "definitions")
        or has("same", "stay")
        or has("no", "change")
        or any(f" {phrase} " in spaced for phrase in lexicon.phrases)
        or _compares(words, lexicon)
    )


def _compares(words: list[str], lexicon: _Lexicon) -> bool:
    """Say whether something is "as before"."""
    before = lexicon.roles["before"]
    return any(
        not before.isdisjoint(words[i + 1 : i + 1 + _NEAR])
        for i, word in enumerate(words)
        if word in lexicon.roles["like"]
    )


def _said_without_blanks(text: str, lexicon: _Lexicon) -> Said:
    foreign = [w for w in _WORD.findall(_fold(_CJK.sub(" ", text))) if not w.isdigit()]
    joined = _NOT_CJK.sub("", text)
    if not lexicon.known.issuperset(foreign) or lexicon.pieces.fullmatch(joined) is None:
        return Said.ELSE
    if lexicon.telling.search(joined) is not None:
        return Said.ELISION
    beside = lexicon.beside.search(joined)
    return Said.ELISION if beside is not None and beside[0] != joined else Said.MAYBE


def _fold(text: str) -> str:
    """Write a text without case and accents."""
    folded = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in folded if not unicodedata.combining(c)).replace("\u0131", "i")


@cache
def _lexicon() -> _Lexicon:
    data = tomllib.loads(files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))
    cjk = data.pop("cjk")
    languages = list(data.values())
    roles = {
        role: frozenset(_fold(" ".join(language[role] for language in languages)).split())
        for role in languages[0]
        if role != "phrases"
    }
    phrases = tuple(_fold(phrase) for language in languages for phrase in language["phrases"])
    known = frozenset().union(*roles.values(), *(phrase.split() for phrase in phrases))
    return _Lexicon(
        roles,
        known,
        phrases,
        re.compile(f"(?:{_one_of(cjk['alone'] + ' ' + cjk['other'])})+"),
        re.compile(_one_of(cjk["alone"])),
        re.compile(_one_of(cjk["needed"])),
    )


def _one_of(pieces: str) -> str:
    return "|".join(sorted(map(re.escape, pieces.split()), key=len, reverse=True))
