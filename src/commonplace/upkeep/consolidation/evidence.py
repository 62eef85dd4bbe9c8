"""Compare a statement with its sources by values, names and negations; a model judges everything else.

The values, names and days of a sentence must be a subset of those of one source with its headings, and the
sentence must be as denied, doubted or conditional as the source's sentence that shares most words with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache

from commonplace import language
from commonplace.base.tuples import NamedTuple
from commonplace.language import dates, lexicon, rules, sentences, stopwords, values
from commonplace.language.periods import shifted
from commonplace.upkeep import prose

SHARE, _MOST, _LONGEST = 0.7, 50, 4_000  # of a sentence's words in its source; sentences; characters
_UNDATED = date(2000, 1, 1)  # relative dates of texts without a day are compared as seen from here
_WORD = re.compile(r"[^\W_](?:[\w.'@:/#+-]*\w)?")
_CODE = re.compile(r"`([^`]+)`")
_CONTRACTED = re.compile(r"\b(ca|wo|sha|\w+?)(?:n't|(?<=can)not)\b", re.IGNORECASE)
_IN_FULL = {"ca": "can", "wo": "will", "sha": "shall"}
_UNIT = re.compile(r"(?<![^\W_])\d(?:[\d.,]*\d)?[ -]?([A-Za-z]{2,})")
_CLAUSE = re.compile(r"[,，、;；:：()（）–—]")
# Groups of `turns` that restrict a sentence from any of its clauses.
_FAR = frozenset(("possible", "said", "if", "unless", "asks"))


@dataclass(frozen=True, slots=True)
class Said:
    """A statement of a note: its text, its day, the headings above it, and its speaker."""

    text: str
    day: date | None = None
    headings: tuple[str, ...] = ()
    speaker: str = ""


class Facts(NamedTuple):
    """The facts of a text: `values` by kind, days as periods, names, all words, and `turns` (not, may, if).

    `rest` is the text without its values and days.
    """

    values: frozenset[tuple[str, str]]
    days: tuple[tuple[date, date], ...]
    names: frozenset[str]
    words: frozenset[str]
    turns: frozenset[str]
    rest: str

    @property
    def measured(self) -> tuple[object, ...]:
        """The values and days; empty without any."""
        return (*sorted(self.values), *self.days)


def missing(statement: str, sources: Sequence[Said], *, share: float = SHARE) -> str:
    """Return why no source can support a statement; empty where each sentence has a source that may."""
    parts = prose.sentences(statement)
    for part in parts[:_MOST]:
        reasons = [_fault(part, source, share) for source in sources]
        if all(reasons):
            return min(reasons, key=len, default="has no source")
    return "" if 0 < len(parts) <= _MOST else "says nothing, or too much, that could be supported"


def _fault(sentence: str, source: Said, share: float) -> str:
    """Return why a source cannot support a sentence; empty where it may."""
    own, (known, days, words, sentences_of) = facts(sentence, source.day), _of_source(source)
    if not (said := prose.terms(sentence)):
        return "says nothing that could be supported"
    names = {name for name in own.names - known.words if not known.words.issuperset(_parts(name)[1:])}
    if strange := [*sorted(value for _, value in own.values - known.values), *sorted(names)]:
        return f"has {strange[0]}, which the source does not have"
    for first, last in own.days:
        if not any(first <= begun and ended <= last for begun, ended in days):
            return f"has {first}, which the source does not have"
    if len(prose.terms(own.rest) - words) > (1 - share) * len(said):
        return "has too many words that are not in the source"
    closest = max(sentences_of, key=lambda one: len(said & sentences_of[one]), default="")
    used = " , ".join(one for one in _CLAUSE.split(closest) if not said.isdisjoint(prose.terms(one)))
    theirs = facts(used, source.day).turns | (facts(closest, source.day).turns & _FAR)
    if lost := sorted(theirs - own.turns):
        return f"leaves out what restricts it ({lost[0]})"
    return f"adds what restricts it ({min(own.turns - theirs)})" if own.turns - theirs else ""


@lru_cache(64)
def _of_source(
    source: Said,
) -> tuple[Facts, list[tuple[date, date]], frozenset[str], dict[str, frozenset[str]]]:
    """Read the facts, days and words of a source, and the words of each of its sentences."""
    whole = "\n".join((*source.headings, source.speaker, source.text))[:_LONGEST]
    known, parts = facts(whole, source.day), prose.sentences(source.text[:_LONGEST])
    words = prose.terms(whole) | prose.terms(known.rest)
    days = [*known.days, *_other_days(whole, source.day)]
    return known, days, words, {part: prose.terms(part) for part in parts}


@lru_cache(2048)
def facts(text: str, day: date | None = None) -> Facts:
    """Read the facts of a text; relative dates as seen from the day of its note."""
    folded = language.fold(language.fold_width(text)).replace("’", "'")
    spans = dates.spans(folded, day or _UNDATED)
    rest = folded
    for span in spans:
        rest = rest.replace(span.text, " ", 1)
    figures = values.read(rest)
    found = {(kind, value) for kind, some in figures.values.items() for value in some}
    words = _WORD.findall(re.sub(lexicon.CJK_RUN, " ", rest))
    names = [word for word in words if _is_name(word)] + _UNIT.findall(rest)
    names += [word for part in _CODE.findall(folded) for word in _WORD.findall(part)]
    return Facts(
        frozenset(found),
        tuple((span.first, span.last) for span in spans),
        frozenset(map(_key, names)),
        frozenset(
            key for word in _WORD.findall(re.sub(lexicon.CJK_RUN, " ", folded)) for key in _parts(word)
        ),
        _turns(rest),
        figures.rest,
    )


def _key(word: str) -> str:
    return lexicon.stem(word.casefold().removesuffix("'s"))


def _parts(word: str) -> list[str]:
    """The key of a word, and of what stands between its signs."""
    return [_key(word), *map(_key, re.split(r"[\W_]+", word))]


def _is_name(word: str) -> bool:
    """Tell whether a word is a name or an identifier by its letters, at any place of a sentence."""
    odd = word[1:] != word[1:].lower() or any(sign in word[1:-1] for sign in "_./@:#+-")
    return (word[0].isupper() or odd) and _key(word) not in stopwords.ENGLISH


def _other_days(text: str, day: date | None) -> list[tuple[date, date]]:
    """Return the day of a note, and further readings of its dates without a year or a week: (first, last)."""
    if day is None:
        return []
    seen = [day - timedelta(7), day + timedelta(7), shifted(day, "year", 1)]
    folded = language.fold(language.fold_width(text))
    others = [span for other in seen for span in dates.spans(folded, other) if span.named]
    return [(day, day), *((span.first, span.last) for span in others)]


def _turns(text: str) -> frozenset[str]:
    """The groups of `turns` in the rules that a text has words of, and `asks` for a question."""
    text = _CONTRACTED.sub(lambda m: f"{_IN_FULL.get(m[1].lower(), m[1])} not", text)
    groups, turning = _turning(rules.spoken(text))
    found = {groups.get(match[0].lower(), "") for match in turning.finditer(text)} - {""}
    return frozenset(found | ({"asks"} if text.rstrip().endswith(("?", "？")) else set()))


@cache
def _turning(languages: rules.Languages) -> tuple[dict[str, str], re.Pattern[str]]:
    """The group of each word of some languages, and what finds these and longer words that contain one."""
    tables = (rules.load(name)["turns"] for name in languages)
    groups = {word: group for turns in tables for group, words in turns.items() for word in words}
    words = [rf"\b{word}\b" if word.isascii() else word for word in groups]
    known = sorted([*words, *rules.words("apart", languages)], key=len, reverse=True)
    return groups, re.compile("|".join(known), re.IGNORECASE)


def says(text: str, other: str) -> bool:
    """Tell whether a text has all words and values of another, and is as denied and doubted."""
    one, two = prose.terms(text), prose.terms(other)
    return bool(two) and two <= one and facts(text).turns == facts(other).turns


def opens(statement: str, source: Said) -> bool:
    """Tell whether a statement is the first sentences of its source, whole, with a subject."""
    own, known = whole_sentences(statement), whole_sentences(source.text)
    openings = {statement[:1], *(word.casefold() for word in _WORD.findall(statement)[:1])}
    leans = not openings.isdisjoint(rules.words("pronouns")) or sentences.leans(statement)
    return bool(own) and own == known[: len(own)] and not leans


def whole_sentences(text: str) -> list[str]:
    """Return the sentences of a text, without full stops and double spaces."""
    return [" ".join(one.split()).rstrip(".。") for one in prose.sentences(text)]


# --- days -------------------------------------------------------------------------------------------------


def resolved(text: str, day: date) -> str:
    """Write relative dates of a text in full, as seen from the day of its note; weekdays and months stay."""
    done, at = "", 0
    folded = language.fold_width(text)  # of the same length
    for span in dates.spans(folded, day):
        if span.relative and (full := _in_full(span, day)):
            words = span.text.rstrip(".")
            start = folded.index(words, at)
            done += text[at:start] + full
            at = start + len(words)
    return done + text[at:]


def _in_full(span: dates.Span, day: date) -> str:
    first, last = span.first, span.last
    if span.named:
        if not re.search(r"\d|[一二三四五六七八九十].*[日号]", span.text) or not span.names_a_day:
            return ""
        ahead = first.replace(year=first.year + 1, day=min(first.day, 28)) - day
        if ahead < day - first:  # of the two years the nearer one
            first, last = shifted(first, "year", 1), shifted(last, "year", 1)
        if abs((first - day).days) > 60:  # it may be a birthday
            return ""
    wide = re.search(lexicon.CJK_RUN, span.text) is not None
    if (first, last) == (date(first.year, 1, 1), date(first.year, 12, 31)):
        return f"{first.year}年" if wide else f"in {first.year}"
    return dates.Span(first, last, "").written.replace(" to ", " 至 " if wide else " to ")


def last_day(text: str, day: date) -> str:
    """Return the last day that a plan names, in ISO form; empty for a statement that holds on."""
    folded = language.fold_width(text)
    latest, at = "", 0
    onwards = rules.words("onwards")
    for span in dates.spans(folded, day):
        at = folded.index(span.text, at)
        before, after = folded[:at].split()[-1:], folded[at + len(span.text) :].lstrip()
        if span.first <= day or (span.last - span.first).days > 20:  # days of a plan's end, at most
            continue
        opens = bool(before) and (before[0].casefold() in onwards or before[0][-1] in onwards)
        if opens or after.startswith(tuple(word for word in onwards if not word.isascii())):
            return ""
        latest = max(latest, span.last.isoformat())
    return latest
