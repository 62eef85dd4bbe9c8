"""A text as a chain of what it says, sentence by sentence: words by their stems, numbers, dates, signs.

Dates are days, whatever they are written as; what says nothing of its own (articles, forms of *be*) is left
out, and everything else, down to prepositions and signs, is there, so that nothing can be turned unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal, NamedTuple

from commonplace import characters
from commonplace.index import lexicon
from commonplace.search import dates

Kind = Literal["word", "number", "date", "sign", "wide"]


class Token(NamedTuple):
    """One thing said: `after` tells that a pause stands before it, `aside` that it stands in brackets."""

    key: str
    kind: Kind
    after: bool = False
    aside: bool = False


class Sentence(NamedTuple):
    """A sentence: what it says in order, whether it asks, and which forms of *be* stand in it."""

    tokens: tuple[Token, ...]
    asks: bool = False
    forms: frozenset[str] = frozenset()


_LIGHT = frozenset(
    """
    a an the is are was were am be been being of in on at and that this these those it its has have had do
    does did s
    """.split()
)
_BE = frozenset("is are am was were".split())
_LIGHT_WIDE = frozenset("的了是在着呢呀嘛哦啊")
_FILLERS_WIDE = re.compile("已经|终于|其实|真的|刚刚|刚才|一下")
_NUMBERS = {word: str(n) for n, word in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve".split())}  # fmt: skip
_CONTRACTED = re.compile(r"\b(can|won|shan|\w+?)(?:n't|nt(?<=cant))\b", re.IGNORECASE)
_WORD_DATE = re.compile(
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|jan\w*|feb\w*|mar\w*|apr\w*|may|june?|july?|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*"
    r"|(?:周|星期|礼拜)[一二三四五六日天]|Q[1-4])\.?",
    re.IGNORECASE,
)
_YEAR = re.compile(
    r"\d{4}|[去前今明后]年|上一年|\b(?:last|this|next) year\b|[〇零一二]{1}[〇零一二三四五六七八九]{3}年",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"[\d一二三四五六七八九十]")
_NAMED = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|ago|last|next|past|this|previous|current)\b"
    r"|[昨今明前后]|[上下这本]|之前|以前|最近|过去",
    re.IGNORECASE,
)
_PIECE = re.compile(
    rf"\x01(?P<date>\d+)\x01|(?P<wide>[{lexicon.CJK}])"
    r"|(?P<number>(?<![^\W\d_])(?:(?<![\w)])[-−+])?\d+(?:[.,:/-]\d+)*%?)"
    r"|(?P<word>[^\W\d_](?:[\w]|['’.@/:#+-](?=\w))*|\w+)"
    r"|(?P<stop>[.!?;。！？；…\n]+)|(?P<open>[(（\[【])|(?P<close>[)）\]】])|(?P<pause>[,:，：、–—|]|\s-\s)"
    r"|(?P<sign>[^\s\w\"'“”‘’「」『』《》〈〉*_`~#·•\\/-]|~(?!~)(?<!~~))"
)


@lru_cache(4096)
def read(text: str, day: date | None = None) -> tuple[Sentence, ...]:
    """Return the sentences of a text; relative dates are told from `day`, and stay words without one."""
    text = characters.fold_width(text).replace("~~", "")
    text, found = _with_dates(text, day)
    text = characters.fold(text)
    text = _CONTRACTED.sub(
        lambda m: {"ca": "can", "wo": "will", "sha": "shall"}.get(m[1].lower(), m[1]) + " not",
        text.replace("’", "'"),
    )
    text = _FILLERS_WIDE.sub("", text)
    return tuple(sentence for sentence in _sentences(text, found) if sentence.tokens)


def _sentences(text: str, found: list[str]) -> Iterator[Sentence]:
    tokens: list[Token] = []
    forms: set[str] = set()
    after, depth = True, 0
    for piece in _PIECE.finditer(text):
        if piece["stop"]:
            yield Sentence(tuple(tokens), bool({"?", "？"} & set(piece[0])), frozenset(forms))
            tokens, forms, after, depth = [], set(), True, 0
        elif piece["open"] or piece["close"]:
            depth = depth + 1 if piece["open"] else max(0, depth - 1)
            after = True
        elif piece["pause"]:
            after = True
        else:
            for token in _said(piece, found, forms):
                tokens.append(token._replace(after=after, aside=depth > 0))
                after = False
    yield Sentence(tuple(tokens), False, frozenset(forms))


def _said(piece: re.Match[str], found: list[str], forms: set[str]) -> Iterator[Token]:
    """What a piece of text says: nothing, or one thing, or a word and the mark of what is its own."""
    if piece["date"]:
        yield Token(found[int(piece["date"])], "date")
    elif piece["number"]:
        yield Token(_number(piece["number"]), "number")
    elif piece["wide"]:
        if piece[0] not in _LIGHT_WIDE:
            yield Token(piece[0], "wide")
    elif piece["sign"]:
        yield Token(piece[0], "sign")
    else:
        yield from _word(piece[0].casefold(), forms)


def _word(word: str, forms: set[str]) -> Iterator[Token]:
    own = word.endswith("'s") and word not in ("it's", "that's", "there's", "let's")
    word = word.removesuffix("'s")
    forms |= {word} & _BE
    if word in _NUMBERS:
        yield Token(_NUMBERS[word], "number")
    elif word not in _LIGHT:
        yield Token(stem(word), "word")
    if own:
        yield Token("'s", "sign")


def stem(word: str) -> str:
    """Return a word without its ending."""
    if not (word.isascii() and word.isalpha()):
        return word
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)]
    return word


def _number(text: str) -> str:
    text = text.replace("−", "-").lstrip("+")
    return text.replace(",", "") if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?%?", text) else text


def _with_dates(text: str, day: date | None) -> tuple[str, list[str]]:
    """Put marks in place of dates; return the text, and the days that the marks stand for."""
    found: list[str] = []
    done, at = "", 0
    text = text.replace("\x01", " ")
    for span in dates.spans(text, day or date(2000, 1, 1)):
        key = _key(span, day)
        start = text.find(span.text, at)
        if not key or start < 0:
            continue
        done += f"{text[at:start]} \x01{len(found)}\x01 "
        found.append(key)
        at = start + len(span.text)
    return done + text[at:], found


def _key(span: dates.Span, day: date | None) -> str:
    """The days of a date; empty for what is told by words: a day of the week, a month."""
    said = span.text.strip()
    if _WORD_DATE.fullmatch(said):
        return ""
    figures = _FIGURE.search(said)
    if not span.relative or (_YEAR.search(said) and figures):
        return _days(span.first, span.last) if day or not span.relative else ""
    if _NAMED.search(said) or not figures:
        return _days(span.first, span.last) if day else ""
    if day is None:
        return f"{span.first:%m-%d}/{span.last:%m-%d}"
    return _days(*_nearest(span, day))


def _nearest(span: dates.Span, day: date) -> tuple[date, date]:
    """A date without a year, in the year that brings it nearest: notes tell of what comes as well."""
    best = span.first, span.last
    for years in (0, 1):
        try:
            moved = (
                span.first.replace(year=span.first.year + years),
                span.last.replace(year=span.last.year + years),
            )
        except ValueError:
            continue
        if abs(moved[0] - day) < abs(best[0] - day):
            best = moved
    return best


def _days(first: date, last: date) -> str:
    return first.isoformat() if first == last else f"{first}/{last}"


def is_relative(text: str) -> bool:
    """Whether a text says when only as seen from its day: tomorrow, last week, 下周三."""
    one, other = date(2026, 2, 13), date(2026, 2, 13) - timedelta(1500)
    for span in dates.spans(text, one):
        plain = _WORD_DATE.fullmatch(span.text.strip())
        if span.relative and not plain and _NAMED.search(span.text) and not _YEAR.search(span.text):
            moved = [found for found in dates.spans(text, other) if found.text == span.text]
            if not moved or moved[0][:2] != span[:2]:
                return True
    return False
