"""What a text says, word by word: names, numbers, dates, what turns a statement, whatever else counts.

Dates that are told from a day (*tomorrow*, *next week*) are read as seen from the day of the note that says
them, and may be told in full.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from commonplace import language
from commonplace.language import dates, lexicon, rules, stopwords
from commonplace.language import values as figures
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
_BETWEEN_DAYS = frozenset(rules.expression("range_to").split("|")) | {"from", ""}
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


def _tokens(  # noqa: C901 - one row for each kind of piece
    piece: re.Match[str], days: list[str], clause: int, *, starts: bool
) -> Iterator[Token]:
    """What a piece of text says: nothing, one thing, or a word and the mark of what is its own."""
    text = piece[0]
    match piece.lastgroup:
        case "date":
            yield Token(days[int(piece["date"])], "date", clause)
        case "day":
            yield Token(f"weekday {'一二三四五六日'.index(text[-1].replace('天', '日'))}", "date", clause)
        case "code":
            yield from (Token(stem(part.casefold()), "code", clause) for part in piece["code"].split())
        case "turn":
            yield Token(text.strip("\x02"), "turn", clause)
        case "figure":
            yield Token(_figure(text), "number", clause)
        case "number":
            text = text.replace("−", "-").lstrip("+")
            if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?%?", text):
                text = text.replace(",", "")
            yield Token(text, "date" if re.fullmatch(r"\d{1,2}:\d\d", text) else "number", clause)
        case "wide" if text == "的":
            yield Token(text, "own", clause)
        case "wide" if text not in rules.words("light"):
            yield Token(text, "wide", clause, text in stopwords.CHINESE_CHARACTERS)
        case "sign":
            yield Token(text, "sign", clause)
        case "word":
            yield from _word(text, clause, starts=starts)


def _figure(text: str) -> str:
    """A number below a thousand in figures; digits beside each other, as of a code, stay as they are."""
    tens = set(text) & {"十", "百"}
    is_number = set(text) <= {*figures.FIGURES, "十", "百"} and (tens or len(text) == 1)
    return str(figures.wide_number(text)) if is_number else text


def _word(text: str, clause: int, *, starts: bool) -> Iterator[Token]:
    word = text.casefold()
    own = word.endswith("'s") and word not in ("it's", "that's", "there's", "let's")
    word = word.removesuffix("'s")
    if (known := _known_words().get(word)) and not _is_month(text, starts=starts):
        yield Token(*known, clause)
    elif word not in rules.words("light"):
        light = word in stopwords.ENGLISH or word in rules.words("idle")
        odd = not word.isalpha() or any(c.isupper() for c in text[1:])
        capital = text[0].isupper() and not light
        named = (odd and not light) or (capital and not starts)
        past = word.endswith("ed") and stem(word) != word
        yield Token(stem(word), "name" if named else "word", clause, light, capital, past)
    if own:
        yield Token("'s", "own", clause)


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
    days: list[str] = []
    done, at = "", 0
    text = text.replace("\x01", " ").replace("\x02", " ")
    for span in dates.spans(text, day or date(2000, 1, 1)):
        key, start = _key(span, day), text.find(span.text, at)
        if not key or start < 0:
            continue
        done += f"{text[at:start]} \x01{len(days)}\x01 "
        days.append(key)
        at = start + len(span.text)
    return done + text[at:], days


def _key(span: dates.Span, day: date | None) -> str:
    """The days of a date; empty for what is told by words: a day of the week, a month."""
    said = span.text.strip()
    has_figures = _FIGURE.search(said) is not None
    first, last = span.first, span.last
    if all(
        _WORD_DATE.fullmatch(word) or word in _BETWEEN_DAYS for word in re.split(r"[\s–—-]+", said.casefold())
    ):
        return ""  # by words alone: a day of the week, a month, from one to another
    if not span.relative or (_YEAR.search(said) and has_figures) or _NAMED.search(said) or not has_figures:
        if span.relative and not day:
            return ""
    elif not day:
        return f"{first:%m-%d}/{last:%m-%d}"
    else:
        try:  # a date without a year, in the year that brings it nearest: notes tell of what comes as well
            later = first.replace(year=first.year + 1), last.replace(year=last.year + 1)
            first, last = min((first, last), later, key=lambda days: abs(days[0] - day))
        except ValueError:
            pass
    return first.isoformat() if first == last else f"{first}/{last}"


def is_within(key: str, times: frozenset[str]) -> bool:
    """Whether a date is said, or one within it: the month of a day that is said is true as well."""
    if key in times or "/" not in key:
        return key in times
    first, last = key.split("/")
    return any(
        first <= time.partition("/")[0] and time.rpartition("/")[2] <= last for time in times if "-" in time
    )


def in_full(span: dates.Span, day: date | None) -> str:
    """A relative date by its days; empty for what is said by words, and for a quarter."""
    said = span.text.rstrip(".")
    first, _, last = (_key(span, day) if span.relative else "").partition("/")
    if not last:
        if not first or not day or _YEAR.search(said) or _NAMED.search(said) or not _FIGURE.search(said):
            return first
        return first if abs((date.fromisoformat(first) - day).days) <= _NEAR_DAYS else ""
    after = date.fromisoformat(last) + timedelta(1)
    if first.endswith("-01") and after.day == 1 and first[:7] == last[:7]:
        return first[:7]  # a month
    if first.endswith("-01-01") and (after.month, after.day) == (1, 1) and first[:4] == last[:4]:
        return f"{first[:4]}年" if re.search(lexicon.CJK_RUN, said) else f"in {first[:4]}"
    if not _NAMED.search(said) and not any(c.isdigit() for c in said):
        return ""
    return first + (" 至 " if re.search(lexicon.CJK_RUN, said) else " to ") + last


def on_next_day(text: str, day: date) -> str:
    """Return a text in which a day of the week is the next one after `day`, where no date stands by it."""
    bare = {weekday for sentence in read(text, day) for weekday in _bare_days(sentence)}
    done, at = "", 0
    for span in dates.spans(language.fold_width(text), day):
        start = text.find(span.text, at)
        is_day = _WORD_DATE.fullmatch(span.text.strip()) is not None and span.first == span.last
        if is_day and start >= 0 and span.first.weekday() in bare:
            ahead = (span.first.weekday() - day.weekday()) % 7 or 7
            done += f"{text[at:start]}{day + timedelta(ahead)}"
            at = start + len(span.text)
    return done + text[at:]


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
