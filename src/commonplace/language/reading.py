"""What a text says, word by word: names, numbers, dates, what turns a statement, whatever else counts.

Dates that are told from a day (*tomorrow*, *next week*) are read as seen from the day of the note that says
them, and may be told in full.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from typing import Literal

from commonplace import language
from commonplace.base.tuples import NamedTuple
from commonplace.language import dates, lexicon, rules, stopwords
from commonplace.language import values as figures
from commonplace.language.compare import is_wide
from commonplace.language.lexicon import stem

Kind = Literal["word", "wide", "name", "number", "date", "code", "sign", "own", "turn"]
_PIECE = re.compile(
    rf"\x01(?P<date>\d+)\x01|`(?P<code>[^`]+)`|(?P<day>(?:周|星期|礼拜)[一二三四五六日天])|(?P<turn>\x02\w+\x02)"
    rf"|(?P<figure>[零〇一二两三四五六七八九十百千万]+(?![起些样直般定切致旦律边])(?<!一个))|(?P<wide>[{lexicon.CJK}])"
    r"|(?P<number>(?<![^\W\d_])(?:(?<![\w)])[-−+])?\d+(?:[.,:/-]\d+)*%?)"
    r"|(?P<word>[^\W\d_](?:[\w]|['’.@/:#+-](?=\w))*|\w+)"
    r"|(?P<stop>[.!?;。！？；…\n]+)|(?P<pause>[(（\[【)）\]】,:，：、–—|]|\s-\s)"
    r"|(?P<sign>[^\s\w\"'“”‘’「」『』《》〈〉*_`~#·•\\/-]|~(?!~)(?<!~~))"
)
_CONTRACTED = re.compile(r"\b(can|won|shan|\w+?)(?:n't|nt(?<=cant)|(?<=can)not)\b", re.IGNORECASE)
_WORD_DATE = re.compile(
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|jan\w*|feb\w*|mar\w*|apr\w*|may|june?|july?|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*"
    r"|(?:周|星期|礼拜)[一二三四五六日天]|Q[1-4])\.?",
    re.IGNORECASE,
)
_WORD_DATES = re.compile(  # from one to another as well
    rf"(?:from\s+)?(?:{_WORD_DATE.pattern})(?:\s*(?:{rules.expression('range_to')}|[–—-])\s*(?:{_WORD_DATE.pattern}))?",
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
_NEAR_DAYS = 60  # from a note to a day without a year that is of its time: a birthday is of every year
_PLAN_DAYS = 20  # of a plan that is over with them


class Token(NamedTuple):
    """One thing said, in the clause of a number; `light` words say nothing of their own.

    `capital` says that it may be a name though it opens its sentence, `past` that it ends as what was does.
    """

    key: str
    kind: Kind
    clause: int
    light: bool = False
    capital: bool = False
    past: bool = False

    @property
    def counts(self) -> bool:
        """Whether it says something by itself."""
        return not self.light and self.kind not in ("own", "turn")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: its tokens in order, whether it asks, its forms of *be*, and the word it opens with."""

    tokens: tuple[Token, ...]
    asks: bool = False
    forms: frozenset[str] = frozenset()
    opening: str = ""

    def keys_of(self, *kinds: Kind) -> list[str]:
        """Return the keys of its tokens in order: of some kinds, or of all."""
        return [token.key for token in self.tokens if not kinds or token.kind in kinds]


def was(sentences: Iterable[Sentence]) -> bool:
    """Whether sentences tell of what was: by a past form of *be*, and by no present one."""
    forms = frozenset[str]().union(*(sentence.forms for sentence in sentences))
    return bool(forms & rules.words("past")) and not forms & rules.words("present")


def names(heading: str) -> set[str]:
    """Return what may be a name in a heading: words with a capital, or the whole of a few CJK characters."""
    if 2 <= len(heading) <= 4 and all(map(is_wide, heading)):
        return {heading}
    words = re.findall(r"\b[A-Z]\w+(?:[ -][A-Z]\w+)*", heading)
    return {word for word in words if word.casefold() not in stopwords.ENGLISH}


def rewritten(text: str, changes: Iterable[tuple[str, str]]) -> str:
    """Return a text with other words in place of some of it, from left to right, but for empty ones."""
    folded = language.fold_width(text)  # of the same length
    done, at = "", 0
    for words, others in changes:
        start = folded.find(words, at)
        if others and start >= 0:
            done += text[at:start] + others
            at = start + len(words)
    return done + text[at:]


@lru_cache(4096)
def read(text: str, day: date | None = None) -> tuple[Sentence, ...]:
    """Return the sentences of a text; relative dates are told from `day`, and stay words without one."""
    text, days = _with_dates(re.sub(r"~~|\*+", "", language.fold_width(text)), day)
    text = _CONTRACTED.sub(
        lambda m: {"ca": "can", "wo": "will", "sha": "shall"}.get(m[1].lower(), m[1]) + " not",
        language.fold(text).replace("’", "'"),
    )
    text = _turns().sub(lambda match: _marked(match[0]), text)
    sentences: list[Sentence] = []
    tokens: list[Token] = []
    forms: set[str] = set()
    clause, opening = 0, ""
    be = rules.words("present") | rules.words("past")
    for piece in (*_PIECE.finditer(text), None):
        if piece is None or piece["stop"]:
            asks = piece is not None and bool({"?", "？"} & set(piece[0]))
            sentences += [Sentence(tuple(tokens), asks, frozenset(forms), opening)] if tokens else []
            tokens, forms, clause, opening = [], set(), 0, ""
        elif piece["pause"]:
            clause += 1
        else:
            opening = opening or piece[0].casefold()
            forms |= {piece[0].casefold()} & be
            tokens += _tokens(piece, days, clause, starts=not tokens)
    return tuple(sentences)


def _tokens(piece: re.Match[str], days: list[str], clause: int, *, starts: bool) -> Iterator[Token]:
    """What a piece of text says: nothing, one thing, or a word and the mark of what is its own."""
    text, group = piece[0], piece.lastgroup or ""
    if group in _SINGLE:
        yield Token(*_SINGLE[group](text), clause)
    elif group == "date":
        yield Token(days[int(piece["date"])], "date", clause)
    elif group == "code":
        yield from (Token(stem(part.casefold()), "code", clause) for part in piece["code"].split())
    elif group == "word":
        yield from _word(text, clause, starts=starts)
    elif text == "的":
        yield Token(text, "own", clause)
    elif text not in rules.words("light"):
        yield Token(text, "wide", clause, text in stopwords.CHINESE_CHARACTERS)


def _number(text: str) -> tuple[str, Kind]:
    """A number without its commas, or a time of day."""
    text = text.replace("−", "-").lstrip("+")
    if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?%?", text):
        text = text.replace(",", "")
    return text, "date" if re.fullmatch(r"\d{1,2}:\d\d", text) else "number"


def _figure(text: str) -> tuple[str, Kind]:
    """A number below a thousand in figures; digits beside each other, as of a code, stay as they are."""
    tens = set(text) & {"十", "百"}
    is_number = set(text) <= {*figures.FIGURES, "十", "百"} and (tens or len(text) == 1)
    return str(figures.wide_number(text)) if is_number else text, "number"


# What a piece of each kind says that says one thing.
_SINGLE: Mapping[str, Callable[[str], tuple[str, Kind]]] = {
    "day": lambda text: (f"weekday {'一二三四五六日'.index(text[-1].replace('天', '日'))}", "date"),
    "turn": lambda text: (text.strip("\x02"), "turn"),
    "sign": lambda text: (text, "sign"),
    "figure": _figure,
    "number": _number,
}


def _word(text: str, clause: int, *, starts: bool) -> Iterator[Token]:
    """What a word of a language with blanks says, and the mark of what is its own."""
    word = text.casefold()
    own = word.endswith("'s") and word not in ("it's", "that's", "there's", "let's")
    word = word.removesuffix("'s")
    if (known := _known_words().get(word)) and not _is_month(text, starts=starts):
        yield Token(*known, clause)
    elif word not in rules.words("light"):
        yield _plain(word, text, clause, starts=starts)
    if own:
        yield Token("'s", "own", clause)


def _plain(word: str, text: str, clause: int, *, starts: bool) -> Token:
    """What a word says that is no number and turns nothing: a name where its letters are odd or capitals."""
    light = word in stopwords.ENGLISH or word in rules.words("idle")
    is_odd = not word.isalpha() or text[1:] != text[1:].lower()
    is_past = word.endswith("ed") and stem(word) != word
    capital = text[0].isupper() and not light
    kind: Kind = "name" if (is_odd and not light) or (capital and not starts) else "word"
    return Token(stem(word), kind, clause, light, capital, is_past)


def _is_month(text: str, *, starts: bool) -> bool:
    """Whether a word is the name of a month by its capital: May, not may."""
    return text[0].isupper() and not starts and text.casefold() in rules.listed("en", "months")


@cache
def _known_words() -> Mapping[str, tuple[str, Kind]]:
    """English words that are numbers, days of the week, or turn a statement, with what they say."""
    table = rules.load("en")
    known: dict[str, tuple[str, Kind]] = {word: (str(n), "number") for word, n in table["numbers"].items()}
    known["one"] = "1", "word"  # a number, or nobody in particular
    for number, word in enumerate(table["weekdays"]):
        known[word] = known[f"{word}s"] = f"weekday {number}", "date"
    return {word: (group, "turn") for word, group in turn_groups().items()} | known


@cache
def turn_groups() -> Mapping[str, str]:
    """What turns a statement, by its group, in all languages."""
    tables = (rules.load(name)["turns"] for name in rules.LANGUAGES)
    return {word: group for turns in tables for group, words in turns.items() for word in words}


@cache
def _turns() -> re.Pattern[str]:
    """Finds what turns a statement beside single English words, idle Chinese words, and what looks so."""
    table = rules.load("zh")
    spaced = [rf"\b{word}\b" for word in turn_groups() if " " in word]
    words = [*table["apart"], *table["idle"], *(w for w in turn_groups() if not w.isascii()), *spaced]
    return re.compile("|".join(sorted(words, key=len, reverse=True)), re.IGNORECASE)


def _marked(words: str) -> str:
    """Put a mark in place of what turns a statement, nothing in place of what is idle."""
    if group := turn_groups().get(words.lower()):
        return f"\x02{group}\x02"
    return "" if words in rules.load("zh")["idle"] else words


def _with_dates(text: str, day: date | None) -> tuple[str, list[str]]:
    """Put marks in place of dates; return the text, and the days that the marks stand for."""
    text = text.replace("\x01", " ").replace("\x02", " ")
    spans = dates.spans(text, day or date(2000, 1, 1))
    days = [_key(span, day) for span in spans]
    marks = (f" \x01{number}\x01 " if key else "" for number, key in enumerate(days))
    return rewritten(text, zip((span.text for span in spans), marks, strict=True)), days


def _key(span: dates.Span, day: date | None) -> str:
    """The days of a date; empty for what is told by words: days of the week, months."""
    said = span.text.strip()
    if _WORD_DATES.fullmatch(said):
        return ""
    first, last = span.first, span.last
    lacks_year = span.relative and _lacks_year(said)
    if span.relative and not day:
        return f"{first:%m-%d}/{last:%m-%d}" if lacks_year else ""
    if lacks_year and day:  # in the year that brings it nearest: notes tell of what comes as well
        with suppress(ValueError):
            later = first.replace(year=first.year + 1), last.replace(year=last.year + 1)
            first, last = min((first, last), later, key=lambda days: abs(days[0] - day))
    return first.isoformat() if first == last else f"{first}/{last}"


def _lacks_year(said: str) -> bool:
    """Whether a date is told in figures, and neither with its year nor as seen from today."""
    return not (_YEAR.search(said) or _NAMED.search(said)) and _FIGURE.search(said) is not None


def is_within(key: str, times: frozenset[str]) -> bool:
    """Whether a date is said, or one within it: the month of a day that is said is true as well."""
    if key in times or "/" not in key:
        return key in times
    first, last = key.split("/")
    return any(
        first <= time.partition("/")[0] and time.rpartition("/")[2] <= last for time in times if "-" in time
    )


def in_full(span: dates.Span, day: date | None) -> str:
    """Return a relative date by its days; empty for what is said by words, and for a quarter."""
    said = span.text.rstrip(".")
    first, _, last = (_key(span, day) if span.relative else "").partition("/")
    if last:
        return _range_in_full(first, last, said)
    if not first or not day or not _lacks_year(said):
        return first
    return first if abs((date.fromisoformat(first) - day).days) <= _NEAR_DAYS else ""


def _range_in_full(first: str, last: str, said: str) -> str:
    """The days from one to another: a month or a year where they are one, empty where words say them."""
    after = date.fromisoformat(last) + timedelta(1)
    is_wide = re.search(lexicon.CJK_RUN, said) is not None
    if first == f"{last[:7]}-01" and after.day == 1:
        return first[:7]
    if first == f"{last[:4]}-01-01" and after == date(after.year, 1, 1):
        return f"{first[:4]}年" if is_wide else f"in {first[:4]}"
    if not _NAMED.search(said) and not any(map(str.isdigit, said)):
        return ""
    return f"{first} 至 {last}" if is_wide else f"{first} to {last}"


def on_next_day(text: str, day: date) -> str:
    """Return a text in which a day of the week is the next one after `day`, where no date stands by it."""
    bare = {weekday for sentence in read(text, day) for weekday in _bare_days(sentence)}

    def next_day(span: dates.Span) -> str:
        is_day = _WORD_DATE.fullmatch(span.text.strip()) is not None and span.first == span.last
        ahead = (span.first.weekday() - day.weekday()) % 7 or 7
        return f"{day + timedelta(ahead)}" if is_day and span.first.weekday() in bare else ""

    return rewritten(text, ((span.text, next_day(span)) for span in dates.spans(text, day)))


def _bare_days(sentence: Sentence) -> Iterator[int]:
    """Yield the days of the week that no date stands by: not Wednesday 3 June."""
    timed = [token for token in sentence.tokens if token.kind == "date" and ":" not in token.key]
    dated = [token.clause for token in timed if token.key[0].isdigit()]
    for token in timed:
        if token.key.startswith("weekday ") and all(abs(token.clause - clause) > 1 for clause in dated):
            yield int(token.key[8:])


def last_day(text: str, day: date) -> str:
    """Return the last day that a statement speaks of and after which it is over; empty for one that lasts."""
    folded = language.fold_width(text)
    latest, at = "", 0
    for span in dates.spans(folded, day):
        at = folded.find(span.text, at)
        before, after = folded[:at].split()[-1:], folded[at + len(span.text) :]
        onwards = rules.words("onwards")
        opens = bool(before) and (before[0].casefold() in onwards or before[0][-1] in onwards)
        if span.first <= day or (span.last - span.first).days > _PLAN_DAYS:
            continue  # past, of now, or no day: a month, a quarter
        if opens or any(after.lstrip().startswith(word) for word in onwards if not word.isascii()):
            return ""
        latest = max(latest, span.last.isoformat())
    return latest
