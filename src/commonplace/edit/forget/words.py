"""Words to be forgotten: found in folded text, whatever stands between them.

Latin words are found whole and in any case ("Mira" in "mira's", not in "admiral"), Chinese ones anywhere.
Between words, and between Chinese characters, may stand a line break with what begins the next line, marks of
emphasis, and invisible characters. A text is read as it is, with the escapes of JSON decoded, and as a reader
sees it, without tags, comments, links and marks within words; places in a reading are places in the text.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar
from unicodedata import is_normalized, normalize

from commonplace import language
from commonplace.base.tuples import NamedTuple
from commonplace.language import compare
from commonplace.language.lexicon import CJK
from commonplace.markdown import visible

MARK = "[forgotten]"  # in records
GAP = "…"  # in notes
_UNSEEN = re.compile(f"[{language.UNSEEN}]")
_APART = "\N{ZERO WIDTH SPACE}"  # the one of them that may stand between words as well
# A character as JSON escapes it, a pair of surrogates as one, however often that was escaped again.
_ESCAPE = re.compile(
    r"\\+(?:[nrt]|u(?:(?:d[89ab][0-9a-f]{2}\\+ud[c-f][0-9a-f]{2})|[0-9a-f]{4}))", re.IGNORECASE
)
_CONTROL = {"n": "\n", "r": "\r", "t": "\t"}
# All repetitions have an upper bound, so that a text of blanks or marks alone is not slow.
_SPACES = "\t\v\f\x1c-\x20\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_BREAK = r"(?:\r\n|\r|\n)"
_SOFT = "[*_~`]{0,8}"
_START = rf"[>{_SPACES}]{{0,40}}{_SOFT}"  # of a line: indentation, marks of quotation
_BLANKS = rf"[{_SPACES}][*_~`{_SPACES}]{{0,40}}"
# Between two words of a text: blanks and marks of emphasis, with one line break at most; of a
# name, which may be that of a file or an address, other signs; of a person an initial, which has a point or
# is a capital; between Chinese characters the empty text, too.
_BETWEEN_WORDS = rf"(?:{_SOFT}(?:{_BLANKS}(?:{_BREAK}{_START})?|{_BREAK}{_START}))"
_IN_NAME = rf"(?:{_BETWEEN_WORDS}|[-._])"
_INITIAL = rf"{_IN_NAME}(?:(?:[^\W\d_]\.|(?-i:[A-Z])){_BETWEEN_WORDS}|[^\W\d_][-._])"
_IN_CHINESE = rf"{_SOFT}(?:[{_SPACES}]{{0,40}}{_BREAK}{_START}|[{_SPACES}]?{_SOFT})"
# A word begins behind anything but a letter or digit, and behind Chinese.
_BEGINS = rf"(?:(?<![^\W_])|(?<=[{CJK}]))"
_ENDS = rf"(?:(?![^\W_])|(?=[{CJK}]))"
_SEAM = re.compile(rf"(?<=[{CJK}])\s*(?=[{CJK}])")

_TOGETHER = 1 << 16  # characters or bytes of texts that are looked through as one

Span = tuple[int, int]
_Bisect = Callable[[Sequence[int], int], int]
_Instead = Callable[[re.Match[str]], str]
Key = TypeVar("Key")
Text = TypeVar("Text", str, bytes)


def together(texts: Iterable[tuple[Key, Text]]) -> Iterator[dict[Key, Text]]:
    """Yield texts by their keys, some at a time: joined, they are looked through much faster."""
    some: dict[Key, Text] = {}
    size = 0
    for key, text in texts:
        some[key] = text
        size += len(text)
        if size >= _TOGETHER:
            yield some
            some, size = {}, 0
    yield some


class Words:
    """Several words, names or sentences, found together."""

    def __init__(self, words: Iterable[str], *, names: bool = False) -> None:
        """Prepare words; those of `names` may be joined by hyphens, points, underscores as well."""
        self._words = list(dict.fromkeys(filter(None, (" ".join(_UNSEEN.sub("", w).split()) for w in words))))
        self._names = names

    def __bool__(self) -> bool:
        return bool(self._words)

    @cached_property
    def _forms(self) -> list[str]:
        """How they may be written: no form of Unicode has every letter (U+FB2A)."""
        composed = (normalize(form, word) for word in self._words for form in ("NFC", "NFD"))
        return list(dict.fromkeys([*composed, *self._words]))

    @cached_property
    def _patterns(self) -> list[_Pattern]:
        return [_Pattern(form, names=self._names) for form in dict.fromkeys(map(_folded, self._forms))]

    def spans(self, text: str) -> list[Span]:
        """Return the sorted spans of matches in a text, overlapping ones joined."""
        merged: list[Span] = []
        for first, last in sorted(self._found(text)) if self._words else ():
            if merged and first < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        return merged

    def _found(self, text: str) -> Iterator[Span]:
        for reading in _readings(text, lambda lower: any(p.may_stand_in(lower) for p in self._patterns)):
            lower = _lower(reading.text)
            for pattern in self._patterns:
                if pattern.may_stand_in(lower):
                    for match in pattern.expression.finditer(reading.text):
                        yield (
                            reading.place(match.start(), bisect_right),
                            reading.place(match.end(), bisect_left),
                        )

    @property
    def forms(self) -> frozenset[str]:
        """How they may stand letter by letter in a file: as they are, folded, escaped, names joined."""
        written = {*self._forms, *map(_folded, self._forms)}
        joined = {sign.join(form.split()) for form in written for sign in "-._" if self._names}
        return frozenset({*written, *joined, *(json.dumps(form)[1:-1] for form in written)})

    def match(self, text: str) -> bool:
        """Tell whether a text holds any of them."""
        return bool(self._words) and any(True for _ in self._found(text))

    def clean_arguments(self, arguments: str) -> str:
        """Return the arguments of a call that hold one of them: readers expect an object."""
        return json.dumps({"text": MARK})

    def mask(self, text: str, mark: str = MARK) -> str:
        """Return a text with a mark in the place of each of them."""
        for first, last in reversed(self.spans(text)):
            text = text[:first] + mark + text[last:]
        return text


class _Pattern:
    """The expression of a word in a folded text; the longest of its parts are looked for first."""

    def __init__(self, form: str, *, names: bool) -> None:
        between = f"(?:{_IN_NAME}|{_INITIAL})" if names and len(form.split()) == 2 else _IN_NAME
        between = between if names else _BETWEEN_WORDS
        parts = [part.split() for part in _SEAM.split(form)]
        self._pieces = sorted({_lower(piece) for part in parts for piece in part}, key=len, reverse=True)
        self._words = _IN_CHINESE.join(between.join(map(_written, part)) for part in parts)
        self._ends = form[0], form[-1]

    @cached_property
    def expression(self) -> re.Pattern[str]:
        first, last = (end.isalnum() and not compare.is_wide(end) for end in self._ends)
        words = f"{_BEGINS if first else ''}{self._words}{_ENDS if last else ''}"
        return re.compile(words, re.IGNORECASE)

    def may_stand_in(self, lower: str) -> bool:
        """Tell whether a text in lower case holds every piece."""
        return all(piece in lower for piece in self._pieces)


def _written(piece: str) -> str:
    """The expression of a piece: apostrophes and sigmas are each the same."""
    return re.sub(
        "['\N{RIGHT SINGLE QUOTATION MARK}]", "['\N{RIGHT SINGLE QUOTATION MARK}]", re.escape(piece)
    )


# --- how a text is read ---------------------------------------------------------------------------------


class _Reading(NamedTuple):
    """A text, folded; `place` maps places in it to where what is left out before them begins, or ends."""

    text: str
    place: Callable[[int, _Bisect], int]


def _readings(text: str, may_hold: Callable[[str], bool]) -> Iterator[_Reading]:
    """Read a text as it stands, with escapes decoded, and as a reader sees it.

    The last two only where `may_hold` accepts them in lower case: they are slow.
    """
    ways = [_Reading(text, lambda place, bisect: place)]
    if "\\u" in text or ("\\" in text and may_hold(_lower(_folded(text)))):
        ways.append(_replaced(ways[0], _ESCAPE, _unescaped))
    for written, place in ways:
        folded = _folded(written)
        if not is_normalized("NFC", folded):
            folded = "".join(map(_composed, folded))
        if _APART in folded:
            yield _Reading(folded.replace(_APART, " "), place)
        reading = _Reading(folded, place)
        reading = reading if folded.isascii() else _replaced(reading, _UNSEEN)
        yield reading
        instead = visible.instead if "&" in folded else ""
        lower = _lower(visible.WITHIN.sub("", visible.HIDDEN.sub(instead, reading.text)))
        if len(lower) < len(reading.text) and may_hold(lower):
            yield _replaced(_replaced(reading, visible.HIDDEN, visible.instead), visible.WITHIN)


def _folded(text: str) -> str:
    return language.fold_punctuation(language.fold(text))


def _composed(character: str) -> str:
    """A character as it is usually written, where that is one as well: of ά there are two."""
    composed = normalize("NFC", character)
    return composed if len(composed) == 1 else character


def _replaced(reading: _Reading, expression: re.Pattern[str], instead: _Instead = lambda _: "") -> _Reading:
    """Replace all matches in a reading; return the same object if it has no match."""
    text, parts = reading.text, list[str]()
    here, there, size, at = [0], [0], 0, 0  # places in the new text, and in this one
    for match in expression.finditer(text):
        parts += (text[at : match.start()], instead(match))
        size += len(parts[-2])
        here += (size, size := size + len(parts[-1]))
        there += match.span()
        at = match.end()

    def place(at: int, bisect: _Bisect) -> int:
        nearest = bisect(here, at)
        nearest -= nearest == len(here) or here[nearest] > at
        return reading.place(there[nearest] + at - here[nearest], bisect)

    return _Reading("".join([*parts, text[at:]]), place) if parts else reading


def _unescaped(escape: re.Match[str]) -> str:
    units = [unit.removeprefix("u") for unit in escape[0].lower().split("\\") if unit]
    return _CONTROL.get(units[0]) or bytes.fromhex("".join(units)).decode("utf-16-be", "surrogatepass")


def _lower(text: str) -> str:
    """A text in lower case of the same length, with one apostrophe and one sigma."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(one if len(one.lower()) > 1 else one.lower() for one in text)
    # Faster than `translate`.
    return lower.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").replace("ς", "σ")
