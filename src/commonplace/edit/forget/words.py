"""Words to be forgotten, as they may stand anywhere: plain, escaped for JSON, percent-encoded, in variants.

Latin words are found whole and in any case ("Mira" in "mira's", not in "admiral"), Chinese ones anywhere.
Between words, and between Chinese characters, may stand a line break with what begins the next line, marks of
emphasis, and what nobody sees.
Both sides are folded (`characters`), one character to one, so that places in the folded text are places in
the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property
from unicodedata import normalize
from urllib.parse import quote

from commonplace import language
from commonplace.language.lexicon import CJK

MARK = "[forgotten]"
# Nobody sees them: soft hyphens, joiners, marks of direction, the mark of a file's byte order.
_UNSEEN = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_APART = "\N{ZERO WIDTH SPACE}"  # the one of them that may stand between words as well
# All repetitions have an upper end: text of nothing but blanks or marks takes no longer than any other.
_SPACES = "\t\v\f\x1c-\x20\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_ESCAPED = r"\\{1,8}t|%20"
_SPACE = rf"(?:[{_SPACES}]|{_ESCAPED})"
_BREAK = r"(?:\r\n|\r|\n|(?:\\{1,8}r)?\\{1,8}n|\\{1,8}r|(?:%0d)?%0a)"
_SOFT = "[*_~`]{0,8}"
_START = (
    rf"(?:[>{_SPACES}]{{0,40}}|(?:>|{_ESCAPED}){{0,8}}){_SOFT}"  # of a line: indentation, marks of quotation
)
_BLANKS = rf"(?:[+{_SPACES}]|{_ESCAPED})(?:[*_~`+{_SPACES}]{{0,40}}|(?:{_ESCAPED}){{0,8}})"
# What may stand between two words of a text: blanks and marks of emphasis, with one line break at most.
_GAP = rf"(?:{_SOFT}(?:{_BLANKS}(?:{_BREAK}{_START})?|{_BREAK}{_START}))"
_LOOSE_GAP = rf"(?:{_GAP}|[-._])"  # of a name, which may be that of a file or an address as well
# Between the names of a person: an initial, which has a point or is a capital.
_INITIAL = rf"{_LOOSE_GAP}(?:(?:[^\W\d_]\.|(?-i:[A-Z])){_GAP}|[^\W\d_][-._])?"
_WIDE_GAP = rf"{_SOFT}(?:[{_SPACES}]{{0,40}}{_BREAK}{_START}|{_SPACE}?{_SOFT})"  # between Chinese characters
# A word begins behind anything but a letter or digit; behind Chinese; behind an escape that ends in a letter.
_BEGINS = rf"(?:(?<![^\W_])|(?<=[{CJK}])|(?<=\\[nrtbf])|(?<=\\u[0-9a-f]{{4}})|(?<=%[0-9a-f]{{2}}))"
_ENDS = rf"(?:(?![^\W_])|(?=[{CJK}]))"
_WORD = rf"(?![{CJK}])[^\W_]"
_ESCAPES = re.compile(r"\\+u([0-9a-fA-F]{4})")
_APOSTROPHES = "'\N{RIGHT SINGLE QUOTATION MARK}"
# A character behind a Chinese name belongs to it where one of the first, or the end, follows the character,
# and it is none of the second, which stand behind a name of their own accord.
_BEHIND_NAME = r"[住在说是的，。、；：！？,.;:!?\s]|\Z"
_NO_NAME = (
    "住在说是的了着过和与跟同也都不没去来到有会要想能可把被给对为从向叫让请问答讲写看听"
    "吃喝买用做走等们家很就才又再还已最"
)
_MANY = 40  # words, from which on a text is not searched for each of them
_KEY = 24  # characters that such a word is looked up by
_BETWEEN = re.compile(r"\\+[nrt]|%20|%0[ad]|[\s*_~`>+.-]+")
_BACKSLASHES = re.compile(r"\\{2,}")
_SEAM = re.compile(rf"(?<=[{CJK}])\s*(?=[{CJK}])")

Span = tuple[int, int]
Step = tuple[str, str]  # what may stand before a piece of a text, and the piece in lower case


class Words:
    """Several words, names or sentences, found together."""

    def __init__(self, words: Iterable[str], *, names: bool = False) -> None:
        """Prepare words; those of `names` may be joined by hyphens, points, underscores as well."""
        known = dict.fromkeys(" ".join(_UNSEEN.sub("", word).split()) for word in words)
        self._words = [_Word(word, names=names) for word in known if word]

    def __bool__(self) -> bool:
        return bool(self._words)

    def spans(self, text: str) -> list[Span]:
        """Return where any of them stands in a text, in order, what overlaps as one."""
        if not self._words:
            return []
        folded = language.fold(text)
        if folded.isascii() or not _UNSEEN.search(folded):
            return _merged(self._found(folded))
        seen = [at for at, character in enumerate(folded) if not _UNSEEN.match(character)]
        places = [(seen[first], seen[last - 1] + 1) for first, last in self._found(_UNSEEN.sub("", folded))]
        return _merged([*places, *(self._found(folded.replace(_APART, " ")) if _APART in folded else ())])

    def _found(self, folded: str) -> Iterator[Span]:
        lower = _lower(folded)
        if len(self._words) > _MANY:
            near = self._near(plain(folded))
        else:
            near = [word for word in self._words if any(piece in lower for piece in word.pieces)]
        bare = plain(folded) if near else ""
        for word in near:
            if any(all(part in bare for part in core) for core in word.cores):
                yield from word.places(folded, lower)

    def _near(self, bare: str) -> list[_Word]:
        """Words that a plain text may hold, by how they begin: one look at a text, however many they are."""
        keys = self._keys
        long = {at for place in range(len(bare)) for at in keys.get(bare[place : place + _KEY], ())}
        short = {at for key, places in keys.items() if len(key) < _KEY and key in bare for at in places}
        return [self._words[at] for at in sorted(long | short)]

    @cached_property
    def _keys(self) -> dict[str, list[int]]:
        keys: dict[str, list[int]] = {}
        for at, word in enumerate(self._words):
            for key in {core[0][:_KEY] for core in word.cores}:
                keys.setdefault(key, []).append(at)
        return keys

    @property
    def forms(self) -> frozenset[str]:
        """How they may stand letter by letter in a file: as they are, folded, escaped, percent-encoded."""
        return frozenset(form for word in self._words for form in word.forms)

    def match(self, text: str) -> bool:
        """Whether any of them stands in a text."""
        return bool(self.spans(text))

    def clean_arguments(self, arguments: str) -> str:
        """Return the arguments of a call that hold one of them: readers expect an object."""
        return json.dumps({"text": MARK})

    def mask(self, text: str, mark: str = MARK) -> str:
        """Return a text with a mark in the place of each of them."""
        parts: list[str] = []
        at = 0
        for first, last in self.spans(text):
            parts += (text[at:first], mark)
            at = last
        return "".join([*parts, text[at:]])


class _Word:
    """One of them: what a text that holds it has in any case, and the expression that finds it."""

    def __init__(self, word: str, *, names: bool) -> None:
        self._word, self._names, self._gap = word, names, _LOOSE_GAP if names else _GAP
        if names and len(word.split()) == 2:
            self._gap = _INITIAL
        forms = [normalize("NFC", word), normalize("NFD", word)]
        self._forms = list(dict.fromkeys(map(language.fold, forms)))
        self._expressions: dict[Callable[[str], str], re.Pattern[str]] = {}
        self._written = list(dict.fromkeys([*forms, *self._forms]))
        ways = () if word.isascii() else (_escaped, quote)
        encoded = [way(form) for form in self._written for way in ways]
        cores = (*self._forms, *encoded)
        self.cores = {tuple(map(plain, core.split() if names else [core])) for core in cores}
        pieces = [_longest(form) for form in self._written]
        spelled = [*pieces, *(way(piece) for piece in pieces for way in ways)]
        # Of each the longest part that is written in one way only, however often escaped.
        self.pieces = {max(_lower(piece).split("\\"), key=len) for piece in spelled}

    @property
    def forms(self) -> list[str]:
        """How it may stand letter by letter in a file."""
        escaped = [] if self._word.isascii() else map(_escaped, self._written)
        joined = [sign.join(form.split()) for form in self._written for sign in "-._" if self._names]
        return [*self._written, *escaped, *map(quote, self._written), *joined]

    def places(self, folded: str, lower: str) -> Iterator[Span]:
        """Yield where it stands in a folded text, which is there in lower case as well."""
        if not self._steps or len(lower) != len(folded):
            yield from (match.span() for match in self._expression(_letter).finditer(folded))
        for steps in self._steps if len(lower) == len(folded) else ():
            yield from self._walked(steps, folded, lower)
        if not self._word.isascii() and "\\u" in lower:
            yield from (match.span() for match in self._expression(_json_letter).finditer(folded))
        if not self._word.isascii() and "%" in lower:
            yield from (match.span() for match in self._expression(_percent_letter).finditer(folded))

    @cached_property
    def _steps(self) -> list[list[Step]]:
        """The pieces of each form, to be read one after the other; none where an expression must find it.

        An expression for a sentence takes 20 ms to compile. What a piece begins with must not be what may
        stand before it.
        """
        ways: list[list[Step]] = []
        for form in () if self._names else self._forms:
            steps = [
                (_GAP if at else _WIDE_GAP, _lower(piece))
                for part in _SEAM.split(form)
                for at, piece in enumerate(part.split())
            ]
            if not all(piece[0].isalnum() for _, piece in steps):
                return []
            ways.append(steps)
        return ways

    def _walked(self, steps: Sequence[Step], folded: str, lower: str) -> Iterator[Span]:
        begins = _compiled(_BEGINS if re.match(_WORD, steps[0][1]) else "")
        ends = _compiled(_ENDS if re.match(_WORD, steps[-1][1][-1]) else "")
        at = lower.find(steps[0][1])
        while at >= 0:
            last = at + len(steps[0][1]) if begins.match(folded, at) else -1
            for gap, piece in steps[1:] if last > 0 else ():
                between = _compiled(gap).match(folded, last)
                last = between.end() if between else -1
                if not between or not lower.startswith(piece, last):
                    last = -1
                    break
                last += len(piece)
            if last > 0 and ends.match(folded, last):
                yield at, last
                at = lower.find(steps[0][1], last)
            else:
                at = lower.find(steps[0][1], at + 1)

    def _expression(self, letter: Callable[[str], str]) -> re.Pattern[str]:
        """What finds it in a folded text, its letters written in one way."""
        if letter not in self._expressions:
            forms = self._forms if letter is _letter else self._written
            ways = dict.fromkeys(self._joined(form, letter) for form in forms)
            self._expressions[letter] = re.compile("|".join(ways), re.IGNORECASE)
        return self._expressions[letter]

    def _joined(self, form: str, letter: Callable[[str], str]) -> str:
        parts = []
        for run in (part.split() for part in _SEAM.split(form)):
            # What parts two words can be read in many ways; before a letter or digit one is enough.
            gaps = ["", *(f"(?>{self._gap})" if word[0].isalnum() else self._gap for word in run[1:])]
            parts.append(
                "".join(gap + "".join(map(letter, word)) for gap, word in zip(gaps, run, strict=True))
            )
        begins = _BEGINS if re.match(_WORD, form) else ""
        ends = _ENDS if re.match(_WORD, form[-1]) else ""
        return f"{begins}{_WIDE_GAP.join(parts)}{ends}"


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE)


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


def _longest(form: str) -> str:
    """The longest part of a form between which nothing else may stand."""
    return max((part for run in form.split() for part in _SEAM.split(run)), key=len)


def _lower(text: str) -> str:
    return text.lower().replace(_APOSTROPHES[1], _APOSTROPHES[0])


def plain(text: str) -> str:
    """A text in lower case without all that may stand between words: what is found has it in common."""
    text = _lower(text)
    if not text.isascii():
        text = _UNSEEN.sub("", text)
    if "\\" in text:
        text = _BACKSLASHES.sub(r"\\", text)
    return _BETWEEN.sub("", text)


def unescaped(text: str) -> str:
    """Return a text with the letters that stand in it as escapes of JSON, however often escaped."""
    return _ESCAPES.sub(lambda escape: chr(int(escape[1], 16)), text)


def longer_names(names: Collection[str], texts: Iterable[str]) -> dict[str, int]:
    """Return what may be longer names in texts, each with how often it stands there.

    Chinese writes no blanks, so that 王伟 stands in 王伟明 too.
    """
    folded = list(map(language.fold, texts))
    shorter = set(map(language.fold, names))
    longer: dict[str, None] = {}
    for name in sorted(one for one in shorter if re.search(f"[{CJK}]\\Z", one)):
        expression = re.compile(rf"{re.escape(name)}(?![{_NO_NAME}])[{CJK}](?={_BEHIND_NAME})")
        longer |= dict.fromkeys(one for text in folded for one in expression.findall(text))
    return {one: sum(text.count(one) for text in folded) for one in longer if one not in shorter}


def name_longer(names: Collection[str], texts: Iterable[str]) -> str:
    """Say which longer names may go as well; empty for none."""
    each = ", ".join(f"{name} ({times})" for name, times in longer_names(names, texts).items())
    return f"also as the beginning of: {each}; these places go as well" if each else ""


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
