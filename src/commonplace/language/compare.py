"""The words of a text without its markup, and whether two texts say the same.

Two texts say the same when they hold the same words in the same order, but for a few that one of them has
more. Nothing that turns a statement may differ: a number, a date, a negation, a condition, a sign. Where the
two differ in a word each (Alice here, Bob there), they say two things.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from commonplace import language
from commonplace.base.tuples import NamedTuple
from commonplace.language import lexicon, rules, stopwords

# Shingles are three words, or two CJK characters (about a word). Four of five shared, which a copy with a
# word more has from some 12 words on; a shorter text must be the same word for word.
SHINGLE = 3
JACCARD = 0.8
# A copy with a clause more at its end shares all of its own with a text of similar size.
CONTAINED, SIMILAR_SIZE = 0.9, 0.8
# A text of so many words that carry something says by itself what it is about; a shorter one ("prefers tea",
# "Bug fixes") says it of what its headings name.
STANDING = 6
TIMED = 3
_REMEMBERED = 2000  # characters: questions read the same statements and passages again and again

_LAYOUT = frozenset(("memory", "notes"))  # headings that `remember` makes itself
_WHEN = r"\d{4}([-./]\d{1,2}){1,2}|\d{1,2}:\d{2}(:\d{2})?|(19|20|21)\d{2}"
_INFLECTIONS = rules.listed("en", "inflections")
_MARKS = r"(?m)^[ \t>]*(?:[-*+•][ \t]+|\d{1,3}[.)][ \t]+)?"
_CLOCK = r"(?m)^[(\[*`]*(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?[)\]*`]*[ \t]*[-–—:|]?[ \t]+(?=(.*))"
_HEADING = r"(?m)^ {0,3}#{1,6}(?:[ \t].*)?$"
_COMMENT = r"(?s)<!--.*?-->"
_SIGN = "[^\\w\\s.,;:!…\"'“”‘’()\\[\\]{}*_`#/\\\\–—\\-·•，。、；：！（）【】《》「」『』]"
_NUMBER = r"(?:(?<![^\s(])[-−])?\d+(?:[.,:/-]\d+)*"
_TOKENS = rf"[^\W\d_][^\W_]*(?:'[^\W_]+)*|{_NUMBER}(?![^\W_])|[^\W_]+(?:'[^\W_]+)*|\[x\]|~~|{_SIGN}"


@cache
def _turning(languages: rules.Languages) -> frozenset[str]:
    """The words of some languages that turn a statement."""
    return frozenset().union(
        *(rules.words(one, languages) for one in ("negations", "turning", "months", "week"))
    )


class Wording(NamedTuple):
    """A text as it is compared: its tokens in order, which there are, and those that turn it, in order."""

    tokens: tuple[str, ...]
    words: frozenset[str]
    signs: tuple[str, ...]


def read(text: str) -> Wording:
    """Read what a text says: without marks of lists, headings, comments, the hour of writing, and case.

    The headings stay in a text of headings alone.
    """
    return _remembered(text) if len(text) <= _REMEMBERED else _read(text)


def _read(text: str) -> Wording:
    text = language.caseless(language.fold(text))
    if not text.isascii():  # a comma between figures that are no thousands is a pause
        text = language.fold_punctuation(re.sub(r"，(?!(?<=\d，)\d{3}(?!\d))", "、", text))
    if "’" in text:
        text = text.replace("’", "'")
    if "<!--" in text:
        end = text.rfind("-->") + 3  # behind the last end no opening is looked at
        text = re.sub(_COMMENT, "", text[:end]) + text[end:]
    if "#" in text:
        text = re.sub(_HEADING, "", text).strip() or text
    text = re.sub(_MARKS, "", text)
    if ":" in text:
        # An hour before a word or two (`09:00 standup`) belongs to the statement.
        text = re.sub(_CLOCK, lambda at: "" if weight(_tokens(at[1])) >= TIMED else at[0], text)
    tokens, languages = _tokens(text), rules.spoken(text)
    words, idle, turning = frozenset(tokens), rules.words("omissible", languages), _turning(languages)
    if not idle.isdisjoint(words):
        tokens = [token for token in tokens if token not in idle]
        words -= idle
    plain = turning.isdisjoint(words) and "".join(words).isalpha()
    signs = (
        token
        for token in (() if plain else tokens)  # numbers and signs turn a statement as well
        if token in turning or (not token.isalpha() and ("'" not in token or token.endswith("n't")))
    )
    return Wording(tuple(tokens), words, tuple(signs))


_remembered = lru_cache(2048)(_read)


def verbatim(text: str) -> Wording:
    """Take a text as it stands, where every character counts: a program."""
    return Wording((text,), frozenset((text,)), (text,))


def _tokens(text: str) -> list[str]:
    if language.has_wide(text):
        text = re.sub(lexicon.CJK_RUN, lambda run: f" {' '.join(run[0])} ", text)
    tokens: list[str] = re.findall(_TOKENS, text)
    return [token.replace(",", "") for token in tokens] if "," in text else tokens


def weight(tokens: Iterable[str]) -> float:
    """Return how many different words carry something; a CJK character counts half."""
    return sum(0.5 if is_wide(token) else 1.0 for token in content(tokens))


def content(tokens: Iterable[str]) -> set[str]:
    """Return the tokens that say something."""
    return {
        token
        for token in tokens
        if token not in stopwords.ENGLISH and token not in stopwords.CHINESE_CHARACTERS
    }


@lru_cache(4096)
def is_wide(token: str) -> bool:
    """Tell whether a token is a CJK character."""
    return len(token) == 1 and re.fullmatch(lexicon.CJK_RUN, token) is not None


# --- the same said twice --------------------------------------------------------------------------------


def same(one: Wording, other: Wording) -> bool:
    """Tell whether two texts say the same, or nearly: either may stand for both."""
    if one.tokens == other.tokens:
        return bool(one.tokens)
    if not may_be_same(one, other):
        return False
    shorter, longer = sorted((one.tokens, other.tokens), key=len)
    return _runs_through(shorter, longer) and _overlap(shorter, longer)


def may_be_same(one: Wording, other: Wording) -> bool:
    """Tell whether two texts are of one size, turned alike, and made of about the same words."""
    if one.signs != other.signs:
        return False
    size, others = len(one.tokens), len(other.tokens)
    longer = max(size, others)
    if min(size, others) < SIMILAR_SIZE * longer or not longer:
        return False
    # `same` lets a quarter of the longer text's words differ; twice that is too much.
    return len(one.words ^ other.words) <= longer / 2


def _runs_through(shorter: Sequence[str], longer: Sequence[str]) -> bool:
    """Tell whether the other text has all words of one text in the same order."""
    rest = iter(longer)
    return all(any(word == other or _inflected(word, other) for other in rest) for word in shorter)


def _inflected(word: str, other: str) -> bool:
    """Tell whether two words are forms of one: `prefer`, `prefers`."""
    shorter, longer = (word, other) if len(word) < len(other) else (other, word)
    return len(shorter) > 2 and longer.startswith(shorter) and longer[len(shorter) :] in _INFLECTIONS


def _overlap(shorter: Sequence[str], longer: Sequence[str]) -> bool:
    one, other = shingles(shorter), shingles(longer)
    if not one or not other:
        return False
    shared = len(one & other)
    return shared >= JACCARD * len(one | other) or shared >= CONTAINED * min(len(one), len(other))


def shingles(tokens: Sequence[str]) -> set[tuple[str, ...]]:
    """Return three words in a row each; of CJK two characters."""
    made = set()
    for place, token in enumerate(tokens):
        size = 2 if is_wide(token) else SHINGLE
        if place + size <= len(tokens):
            made.add(tuple(tokens[place : place + size]))
    return made


# --- headings -------------------------------------------------------------------------------------------


def agree(
    one: tuple[str, ...], other: tuple[str, ...], said: Wording, asked: frozenset[str] = frozenset()
) -> bool:
    """Tell whether headings make one text two statements: not if one has all names of the other.

    Nor if the text is long enough to stand alone. A difference that the question names always counts.
    """
    first, second = (_named(headings) for headings in (one, other))
    if not asked.isdisjoint(first ^ second):
        return False
    return first <= second or second <= first or weight(said.tokens) >= STANDING


@lru_cache(1024)
def _named(headings: tuple[str, ...]) -> frozenset[str]:
    """The words and numbers of headings, without what only says when."""
    return timeless(token for heading in headings for token in read(heading).tokens)


def timeless(tokens: Iterable[str]) -> frozenset[str]:
    """Return the tokens that carry meaning, without dates and times."""
    words = content(tokens)
    languages = rules.spoken(" ".join(words))
    dated = frozenset().union(*(rules.words(one, languages) for one in ("months", "week", "date_units")))
    dated |= rules.short_numbers("week", languages).keys() | _LAYOUT
    return frozenset(word for word in words if word not in dated and not re.fullmatch(_WHEN, word))
