"""Words to be forgotten, as they may stand anywhere: plain, escaped for JSON, percent-encoded, in variants.

Latin words are found whole and in any case ("Mira" in "mira's", not in "admiral"), Chinese ones anywhere.
Both sides are folded (`characters`), one character to one, so that places in the folded text are places in
the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from unicodedata import normalize
from urllib.parse import quote

from commonplace import characters
from commonplace.index.lexicon import CJK

MARK = "[forgotten]"
_BLANK = r"[^\S\r\n]"
_BREAK = r"(?:\r\n|\r|\n)"
# What may stand between two words of a text: blanks with one line break at most, or either of them escaped.
_GAP = rf"(?:{_BLANK}+(?:{_BREAK}{_BLANK}*)?|{_BREAK}{_BLANK}*|\\+[nrt]|%20|\+)"
_LOOSE_GAP = rf"(?:{_GAP}|[-_])"  # of a name, which may be that of a file as well
# A word begins behind anything but a letter or digit; behind Chinese; behind an escape that ends in a letter.
_BEGINS = rf"(?:(?<![^\W_])|(?<=[{CJK}])|(?<=\\[nrtbf])|(?<=\\u[0-9a-f]{{4}})|(?<=%[0-9a-f]{{2}}))"
_ENDS = rf"(?:(?![^\W_])|(?=[{CJK}]))"
_WORD = rf"(?![{CJK}])[^\W_]"
_APOSTROPHES = "'\N{RIGHT SINGLE QUOTATION MARK}"
_ESCAPED_BLANK = re.compile(r"\\+[nrt]|%20|[-+_]")
_BACKSLASHES = re.compile(r"\\{2,}")

Span = tuple[int, int]


class Words:
    """Several words, names or sentences, found together."""

    def __init__(self, words: Iterable[str], *, names: bool = False) -> None:
        """Prepare words; those of `names` may be joined by hyphens and underscores as well."""
        known = dict.fromkeys(" ".join(word.split()) for word in words)
        self._words = [_Word(word, names=names) for word in known if word]

    def __bool__(self) -> bool:
        return bool(self._words)

    def spans(self, text: str) -> list[Span]:
        """Return where any of them stands in a text, in order, what overlaps as one."""
        if not self._words:
            return []
        folded = characters.fold(text)
        lower = _lower(folded)
        near = [word for word in self._words if any(piece in lower for piece in word.pieces)]
        told = plain(folded) if near else ""
        found = [
            match.span()
            for word in near
            if any(core in told for core in word.cores)
            for match in word.expression.finditer(folded)
        ]
        return _merged(found)

    @property
    def forms(self) -> frozenset[str]:
        """How they may stand letter by letter in a file: as they are, folded, escaped, percent-encoded."""
        return frozenset(form for word in self._words for form in word.forms)

    def found(self, text: str) -> bool:
        """Whether any of them stands in a text."""
        return bool(self.spans(text))

    def replaced(self, text: str, mark: str = MARK) -> str:
        """Return a text with a mark in the place of each of them."""
        for first, last in reversed(self.spans(text)):
            text = text[:first] + mark + text[last:]
        return text


class _Word:
    """One of them: what a text that holds it has in any case, and the expression that finds it."""

    def __init__(self, word: str, *, names: bool) -> None:
        self._word, self._gap = word, _LOOSE_GAP if names else _GAP
        forms = [normalize("NFC", word), normalize("NFD", word)]
        self._forms = list(dict.fromkeys(map(characters.fold, forms)))
        self._written = list(dict.fromkeys([*forms, *self._forms]))
        encoded = [] if word.isascii() else [way(form) for form in self._written for way in (_escaped, quote)]
        self.forms = [*self._written, *encoded, *map(quote, self._written)]
        self.cores = {plain(form) for form in (*self._forms, *encoded)}
        self.pieces = {_longest(core) for core in self.cores}

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """What finds it in a folded text."""
        ways = [self._joined(form, _letter) for form in self._forms]
        if not self._word.isascii():
            ways += [self._joined(form, _json_letter) for form in self._written]
            ways += [self._joined(form, _percent_letter) for form in self._written]
        return re.compile("|".join(dict.fromkeys(ways)), re.IGNORECASE)

    def _joined(self, form: str, letter: object) -> str:
        assert callable(letter)
        parts = ("".join(map(letter, part)) for part in form.split())
        begins = _BEGINS if re.match(_WORD, form) else ""
        ends = _ENDS if re.match(_WORD, form[-1]) else ""
        return f"{begins}{self._gap.join(parts)}{ends}"


def _letter(character: str) -> str:
    return f"[{_APOSTROPHES}]" if character in _APOSTROPHES else re.escape(character)


def _json_letter(character: str) -> str:
    if character.isascii():
        return re.escape(character)
    data = character.encode("utf-16-be", "surrogatepass")
    return "".join(rf"\\+u{data[at : at + 2].hex()}" for at in range(0, len(data), 2))


def _percent_letter(character: str) -> str:
    return re.escape(character) if character.isascii() else re.escape(quote(character, safe=""))


def _escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


def _longest(core: str) -> str:
    """The longest part of a word that is written in one way only."""
    return max(re.split(r"[\s\\]+", core), key=len)


def _lower(text: str) -> str:
    return text.lower().replace(_APOSTROPHES[1], _APOSTROPHES[0])


def plain(text: str) -> str:
    """A text in lower case with single blanks, whatever blanks, hyphens and escapes it is written with."""
    text = _lower(text)
    if "\\" in text:
        text = _BACKSLASHES.sub(r"\\", text)
    return " ".join(_ESCAPED_BLANK.sub(" ", text).split())


def _merged(spans: Sequence[Span]) -> list[Span]:
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first < found[-1][1]:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found
