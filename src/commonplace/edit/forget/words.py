"""Words to be forgotten, as they may stand anywhere: plain, escaped for JSON, percent-encoded, in variants.

Latin words are found whole and in any case ("Mira" in "mira's", not in "admiral"), Chinese ones anywhere.
Between words, and between Chinese characters, may stand a line break with what begins the next line, marks of
emphasis, and what nobody sees. A text is read as it stands, with its escapes decoded, and as a reader sees
it, without tags, comments, links and marks within words; places in a reading are places in the text.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import takewhile
from typing import TypeVar
from unicodedata import is_normalized, normalize
from urllib.parse import quote, unquote

from commonplace import language
from commonplace.base.tuples import NamedTuple
from commonplace.language import compare, rules
from commonplace.language.lexicon import CJK
from commonplace.markdown import visible

MARK = "[forgotten]"
_UNSEEN = re.compile(f"[{language.UNSEEN}]")
_APART = "\N{ZERO WIDTH SPACE}"  # the one of them that may stand between words as well
# A letter as JSON escapes it (a pair of surrogates as one), or as an address encodes its bytes.
_ENCODED = re.compile(
    r"(?<!\\)\\++u(?:d[89ab][0-9a-f]{2}\\++ud[c-f][0-9a-f]{2}|[0-9a-f]{4})|%(?:[0-7][0-9a-f]"
    r"|[cd][0-9a-f]%[89ab][0-9a-f]|e[0-9a-f](?:%[89ab][0-9a-f]){2}|f[0-7](?:%[89ab][0-9a-f]){3})",
    re.IGNORECASE,
)
# All repetitions have an upper end: text of nothing but blanks or marks takes no longer than any other.
_SPACES = "\t\v\f\x1c-\x20\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_ESCAPED = r"\\{1,8}t|%20"
_BREAK = r"(?:\r\n|\r|\n|(?:\\{1,8}r)?\\{1,8}n|\\{1,8}r|(?:%0d)?%0a)"
_SOFT = "[*_~`]{0,8}"
# Of a line: indentation, marks of quotation.
_START = rf"(?:[>{_SPACES}]{{0,40}}|(?:>|{_ESCAPED}){{0,8}}){_SOFT}"
_BLANKS = rf"(?:[+{_SPACES}]|{_ESCAPED})(?:[*_~`+{_SPACES}]{{0,40}}|(?:{_ESCAPED}){{0,8}})"
# What may stand between two words of a text: blanks and marks of emphasis, with one line break at most; of a
# name, which may be that of a file or an address, other signs; of a person an initial, which has a point or
# is a capital; between Chinese characters nothing as well.
_BETWEEN_WORDS = rf"(?:{_SOFT}(?:{_BLANKS}(?:{_BREAK}{_START})?|{_BREAK}{_START}))"
_IN_NAME = rf"(?:{_BETWEEN_WORDS}|[-._])"
_INITIAL = rf"{_IN_NAME}(?:(?:[^\W\d_]\.|(?-i:[A-Z])){_BETWEEN_WORDS}|[^\W\d_][-._])"
_IN_CHINESE = rf"{_SOFT}(?:[{_SPACES}]{{0,40}}{_BREAK}{_START}|(?:[{_SPACES}]|{_ESCAPED})?{_SOFT})"
# A word begins behind anything but a letter or digit; behind Chinese; behind an escape that ends in a letter.
_BEGINS = rf"(?:(?<![^\W_])|(?<=[{CJK}])|(?<=\\[nrtbf])|(?<=\\u[0-9a-f]{{4}})|(?<=%[0-9a-f]{{2}}))"
_ENDS = rf"(?:(?![^\W_])|(?=[{CJK}]))"
_MANY = 40  # words, from which on a text is not searched for each of them
_KEY = 24  # characters that such a word is looked up by
_IGNORED = re.compile(r"(?<!\\)\\++[nrt]|%20|%0[ad]|[\s*_~`>+.-]+")
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
        written = dict.fromkeys(" ".join(_UNSEEN.sub("", word).split()) for word in words)
        self._words = [_Word(word, names=names) for word in written if word]

    def __bool__(self) -> bool:
        return bool(self._words)

    def spans(self, text: str) -> list[Span]:
        """Return where any of them stands in a text, in order, what overlaps as one."""
        merged: list[Span] = []
        for first, last in sorted(self._found(text)) if self._words else ():
            if merged and first < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        return merged

    def _found(self, text: str) -> Iterator[Span]:
        for reading in _readings(text, self._encoded, self._may_stand_in):
            lower = _lower(reading.text)
            for word in self._near(reading.text, lower):
                for first, last in word.places(reading.text, lower):
                    yield reading.place(first, bisect_right), reading.place(last, bisect_left)

    def _near(self, text: str, lower: str) -> Iterator[_Word]:
        """Words that a text may hold."""
        if len(self._words) > _MANY:
            bare = plain(text)
            near = [self._words[at] for at in self._begun(bare)]
        else:
            near = [word for word in self._words if word.has_pieces_in(lower)]
            bare = plain(text) if near else ""
        yield from (word for word in near if word.may_stand_in(bare))

    def _may_stand_in(self, lower: str) -> bool:
        """Whether a text in lower case holds all pieces of a word, or there are too many words to look."""
        return len(self._words) > _MANY or any(word.has_pieces_in(lower) for word in self._words)

    def _begun(self, bare: str) -> list[int]:
        """The numbers of words that begin in a plain text: one look at it, however many they are."""
        keys = self._keys
        long = {at for place in range(len(bare)) for at in keys.get(bare[place : place + _KEY], ())}
        short = {at for key, places in keys.items() if len(key) < _KEY and key in bare for at in places}
        return sorted(long | short)

    @cached_property
    def _keys(self) -> dict[str, list[int]]:
        keys: dict[str, list[int]] = {}
        for at, word in enumerate(self._words):
            for key in {core[0][:_KEY] for core in word.cores}:
                keys.setdefault(key, []).append(at)
        return keys

    @cached_property
    def _encoded(self) -> frozenset[str]:
        return frozenset(piece for word in self._words for piece in word.encoded)

    @property
    def forms(self) -> frozenset[str]:
        """How they may stand letter by letter in a file: as they are, folded, escaped, percent-encoded."""
        return frozenset(form for word in self._words for form in word.forms)

    def match(self, text: str) -> bool:
        """Whether any of them stands in a text."""
        return bool(self._words) and any(True for _ in self._found(text))

    def clean_arguments(self, arguments: str) -> str:
        """Return the arguments of a call that hold one of them: readers expect an object."""
        return json.dumps({"text": MARK})

    def mask(self, text: str, mark: str = MARK) -> str:
        """Return a text with a mark in the place of each of them."""
        for first, last in reversed(self.spans(text)):
            text = text[:first] + mark + text[last:]
        return text


class _Word:
    """One of them: what a text that holds it has in any case, and the pieces that it consists of."""

    def __init__(self, word: str, *, names: bool) -> None:
        composed = [normalize("NFC", word), normalize("NFD", word), word]  # no form has every letter: U+FB2A
        folded = dict.fromkeys(map(_folded, composed))
        self._names, self._written = names, list(dict.fromkeys([*composed, *folded]))
        self._steps = [_steps(form, names=names) for form in folded]
        self.cores = {tuple(map(plain, form.split() if names else [form])) for form in folded}

    def has_pieces_in(self, lower: str) -> bool:
        """Whether a text in lower case holds every piece of a form within which nothing else may stand."""
        return any(all(piece in lower for _, piece in steps) for steps in self._steps)

    def may_stand_in(self, bare: str) -> bool:
        """Whether a plain text holds all that a text with this word in it has in common."""
        return any(all(part in bare for part in core) for core in self.cores)

    @property
    def encoded(self) -> set[str]:
        """What a text holds that has it encoded: of each part the longest stretch written in one way only."""
        parts = {part for form in self._written for run in form.split() for part in _SEAM.split(run)}
        wide = [part for part in parts if not part.isascii()]
        return {max(way(part).lower().split("\\"), key=len) for part in wide for way in (_escaped, quote)}

    @property
    def forms(self) -> list[str]:
        """How it may stand letter by letter in a file."""
        joined = [sign.join(form.split()) for form in self._written for sign in "-._" if self._names]
        return [*self._written, *map(quote, self._written), *map(_escaped, self._written), *joined]

    def places(self, text: str, lower: str) -> Iterator[Span]:
        """Yield where it stands in a folded text, which is there in lower case as well."""
        for steps in self._steps:
            first = steps[0][1]
            at = lower.find(first)
            while at >= 0:
                last = _end(steps, text, lower, at)
                if last:
                    yield at, last
                at = lower.find(first, max(last, at + 1))


_Step = tuple[tuple[re.Pattern[str], ...], str]  # what may stand before a piece, and the piece in lower case


def _steps(form: str, *, names: bool) -> list[_Step]:
    """The pieces of a form, to be read one after the other."""
    joints: tuple[str, ...] = (_IN_NAME,) if names else (_BETWEEN_WORDS,)
    if names and len(form.split()) == 2:
        joints = (_IN_NAME, _INITIAL)
    steps = []
    for part in _SEAM.split(form):
        for number, piece in enumerate(part.split()):
            signs = "".join(takewhile(lambda sign: not sign.isalnum(), piece))
            between = joints if number else (_IN_CHINESE,)
            steps.append((tuple(_compiled(one, signs) for one in between), _lower(piece)))
    return steps


@cache
def _compiled(between: str, signs: str = "") -> re.Pattern[str]:
    """What may stand before a piece; one that begins with signs, which may stand there too, is looked at."""
    return re.compile(f"{between}(?={re.escape(signs)})" if signs else between, re.IGNORECASE)


def _end(steps: list[_Step], text: str, lower: str, at: int) -> int:
    """Where a word ends that begins at a place; 0 where another stands there."""
    first, last = steps[0][1][0], steps[-1][1][-1]
    if _is_latin(first) and not _compiled(_BEGINS).match(text, at):
        return 0
    end = at + len(steps[0][1])
    for between, piece in steps[1:]:
        end = _behind(between, piece, text, lower, end)
        if not end:
            return 0
    return 0 if _is_latin(last) and not _compiled(_ENDS).match(text, end) else end


def _behind(between: Iterable[re.Pattern[str]], piece: str, text: str, lower: str, at: int) -> int:
    """Where a piece ends that follows a place, with what may stand before it; 0 where it does not follow."""
    starts = (match.end() for one in between if (match := one.match(text, at)))
    return next((start + len(piece) for start in starts if lower.startswith(piece, start)), 0)


def _is_latin(character: str) -> bool:
    return character.isalnum() and not compare.is_wide(character)


# --- how a text is read ---------------------------------------------------------------------------------


class _Reading(NamedTuple):
    """A text, folded; `place` maps places in it to where what is left out before them begins, or ends."""

    text: str
    place: Callable[[int, _Bisect], int]


def _readings(text: str, encoded: Collection[str], may_hold: Callable[[str], bool]) -> Iterator[_Reading]:
    """Read a text as it stands, decoded where an encoded piece stands in it, and as a reader sees it.

    The last only where the words may then stand in it, in lower case: this is what takes time.
    """
    ways = [_Reading(text, lambda place, bisect: place)]
    if encoded and ("\\u" in text or "%" in text):
        lower = text.lower()
        if any(piece in lower for piece in encoded):
            ways.append(_replaced(ways[0], _ENCODED, lambda match: _letter(match[0])))
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
    """A reading with something else in the place of all matches; itself where there is none."""
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


def _letter(encoded: str) -> str:
    if encoded.startswith("%"):
        return unquote(encoded, errors="replace")[:1]
    units = [unit.removeprefix("u") for unit in encoded.lower().split("\\") if unit]
    return bytes.fromhex("".join(units)).decode("utf-16-be", "surrogatepass")


def _escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


def _lower(text: str) -> str:
    """A text in lower case of the same length, with one apostrophe and one sigma."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(one if len(one.lower()) > 1 else one.lower() for one in text)
    if lower.isascii():
        return lower
    return lower.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").replace("ς", "σ")  # faster than `translate`


def plain(text: str) -> str:
    """A text in lower case without all that may stand between words: what is found has it in common."""
    text = _lower(text)
    if not text.isascii():
        text = _UNSEEN.sub("", text)
    text = _IGNORED.sub("", text)
    return re.sub(r"\\{2,}", r"\\", text) if "\\" in text else text


def unescaped(text: str) -> str:
    """Return a text with the letters that stand in it as escapes of JSON, however often escaped."""
    return _ENCODED.sub(lambda match: match[0] if match[0][0] == "%" else _letter(match[0]), text)


# --- longer names ---------------------------------------------------------------------------------------


def longer_names(names: Collection[str], texts: Iterable[str]) -> dict[str, int]:
    """Return what may be longer names in texts, each with how often it stands there.

    Chinese writes no blanks, so that 王伟 stands in 王伟明 too. A character behind a name belongs to it where
    the end, a sign or one of few characters follows, and it is none that stands behind a name of its own
    accord.
    """
    folded = list(map(language.fold, texts))
    shorter = set(map(language.fold, names))
    apart, ends = ("".join(rules.listed("zh", name)) for name in ("behind_names", "end_names"))
    longer: dict[str, None] = {}
    for name in sorted(name for name in shorter if compare.is_wide(name[-1:])):
        expression = rf"{re.escape(name)}(?![{apart}])[{CJK}](?=[{ends}，。、；：！？,.;:!?\s]|\Z)"
        longer |= dict.fromkeys(one for text in folded for one in re.findall(expression, text))
    return {one: sum(text.count(one) for text in folded) for one in longer if one not in shorter}


def name_longer(names: Collection[str], texts: Iterable[str]) -> str:
    """Say which longer names may go as well; empty for none."""
    each = ", ".join(f"{name} ({times})" for name, times in longer_names(names, texts).items())
    return f"also as the beginning of: {each}; these places go as well" if each else ""
