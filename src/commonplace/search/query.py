"""Questions as people type them, parsed for the index; a syntax error is impossible.

Plain words are alternatives: a passage need not hold all of them. `"phrases"` must be found where a passage
holds them; `-word`, `-"phrase"` and `NOT word` must not, `word*` matches beginnings. `AND` and `OR` demand
exactly what they say, AND before OR, without nesting. `in:`, `after:` and their like are filters
(`filters.py`). Identifiers (`gpt-4.1`, `src/store.ts`, `user@example.com`) match whole, in parts and in other
spellings (`language.identifiers`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType

from commonplace import language
from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.language import identifiers, lexicon, rules, stopwords

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from datetime import date
    from typing import Literal

    from commonplace.language.dates import Span
    from commonplace.search.filters import Filter

    Kind = Literal["lex", "vec", "hyde"]
else:
    Kind = str

MAX_CHARACTERS = 8000  # a question, not a document; the rest of a longer text adds cost and noise
MAX_TERMS = 512
MAX_SPELLINGS = 48
MAX_ITEMS = 128  # words of a question with operators
PHRASE_CHARACTERS = 80  # longer quotations are speech, whose words are looked for as any others
DIALOGUE_CHARACTERS = 500  # and in a text as long as this, all are
# The question as typed counts twice as much as a line of a language model: a wider question finds more, and
# its best hit must not displace the answer to the question itself.
TYPED, EXPANDED = 1.0, 0.5

_TOKEN = lazy(
    r"""(?P<not>(?<!\S)-(?=["“„«「『\w]))?"""
    r"""(?:"(?P<phrase>[^"]*)"?|[“„«「『](?P<marked>[^“”„«»「」『』]*)[”“»」』]"""
    r"""|(?P<word>[^\s"()“„«「『]+))"""
)
_NO_WORDS = frozenset('-"()“„«「『')  # without them a question is words alone
IDENTIFIER = 5  # characters at least
_WORD = lazy(rf"[^\W_]+(?:[{lexicon.MARKS}]+[^\W_]*)*")
_SENTENCE_ENDS = frozenset(".!?…。！？～~,，")
_WIDE_PUNCTUATION = "\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
MAX_OPTIONS = 16  # exclusions that are looked up among the notes
# A dash before one letter or a number is an option of a command (-i) or a sign (-71), not an exclusion.
_OPTION = lazy(r"(?:[A-Za-z]|[0-9]{1,4}(?:[.,][0-9]{1,4})?)(?![.,]?[^\W_])")
_POSSESSIVE = lazy(r"['’]s\b")


class Query(NamedTuple):
    """A parsed question.

    `words` is the question without operators, exclusions and filters, for the embedder; `terms` are phrases
    to look for, alternatives of each other; `spellings` are other ways to write them: they find and rank, but
    do not lower a score where they are missing. `required` and `excluded` are FTS5 expressions that a hit
    must, or must not, match; `quoted` are the phrases that `required` is made of, if it is; `operators` (AND,
    OR) and `unwanted` are as they were typed.
    """

    text: str
    words: str
    terms: tuple[str, ...]
    required: str | None = None
    excluded: str | None = None
    prefixes: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    spellings: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()

    @property
    def unquoted(self) -> Query:
        """The same question with the words of its quotations as any others."""
        words = " ".join(self.quoted)
        return self._replace(
            required=None,
            terms=tuple(dict.fromkeys([*self.terms, *terms(words)])),
            spellings=tuple(dict.fromkeys([*self.spellings, *_spellings(words)])),
            quoted=(),
        )

    @property
    def lists(self) -> bool:
        """True if it asks for all that its filters cover, or its exclusions leave."""
        if not (self.filters or self.excluded) or self.required or self.prefixes:
            return False
        from commonplace.search.filters import DATES

        dated = any(one.key in DATES and one.sign == ":" for one in self.filters)
        return not self.terms or (dated and _asks_of_days(self.words))

    @property
    def spoken(self) -> frozenset[str]:
        """Every word of the question in lower case, stop words included."""
        return frozenset(word.lower() for word in _WORD.findall(_POSSESSIVE.sub("", self.words)))

    @property
    def identifies(self) -> bool:
        """True for one long word with digits, as identifiers are (`KES-158`), and for a telephone number."""
        word = self.words.strip()
        is_long = len(word) >= IDENTIFIER and len(word.split()) == 1
        return (is_long and any(map(str.isdigit, word))) or bool(identifiers.telephone(word))

    @property
    def marked(self) -> tuple[str, ...]:
        """The words to mark in a passage: all that the question may have found in it."""
        return (*self.terms, *self.spellings, *terms(self.words), *_spellings(self.words), *self.prefixes)

    @property
    def wide(self) -> float:
        """Share of CJK among the words that say what the question is about, 0..1."""
        return wide_share(self.words)

    def expression(self, terms: Iterable[str]) -> str:
        """The FTS5 expression that finds what is required, ranked by these terms as well."""
        wanted = " OR ".join(filter(None, [lexicon.any_of(terms), *map(lexicon.beginning, self.prefixes)]))
        if self.required:
            return f"({self.required}) AND (({self.required}) OR {wanted})" if wanted else self.required
        return wanted


class Line(NamedTuple):
    """One way to ask: `lex` full text, `vec` the vectors as a question, `hyde` the vectors as a passage.

    Of the last two, `query.words` is what is embedded.
    """

    kind: Kind
    query: Query
    weight: float = EXPANDED


def plain(text: str) -> Query:
    """Take a text by its words alone, without operators, demands and filters."""
    words = " ".join(text.split())
    return Query(text, words, tuple(terms(words)))


# --- parsing --------------------------------------------------------------------------------------------


class _Item(NamedTuple):
    """One thing typed: a word, a phrase or an operator; `sign` is that of an exclusion, `-` or `NOT `."""

    text: str
    quoted: bool = False
    sign: str = ""
    prefix: bool = False

    @property
    def operator(self) -> str:
        """AND, OR, NOT; empty for a word."""
        return self.text if self.text in ("AND", "OR", "NOT") and not (self.quoted or self.sign) else ""

    @property
    def literal(self) -> str:
        """As FTS5 writes it, in no other spelling."""
        return lexicon.beginning(self.text) if self.prefix else lexicon.expression(self.text)

    @property
    def expression(self) -> str:
        """As FTS5 writes it, a word in its other spellings too."""
        others = [] if self.quoted or self.prefix else _spellings(self.text)
        return f"({self.literal} OR {lexicon.any_of(others)})" if others else self.literal


def parse(
    text: str,
    keys: Callable[[], frozenset[str]] = frozenset,
    is_option: Callable[[str, str], bool] = lambda word, beside: False,
) -> Query:
    """Parse whatever a person typed.

    `keys` looks up the keys of front matter, in lower case; `is_option` tells whether the notes hold a word
    as an option of a command, beside a word of the rest of the question.
    """
    text, filters = clean(text), tuple["Filter", ...]()
    if may_filter(text):
        from commonplace.search.filters import split

        text, filters = split(text, cache(keys))
    items = list(_items(language.fold_signs(text)))  # filters hold names, which stay as they are
    rest = " ".join(item.text for item in items if not (item.sign or item.operator))
    for at, item in [(at, item) for at, item in enumerate(items) if item.sign == "-"][:MAX_OPTIONS]:
        if not item.quoted and is_option(item.text, rest):
            items[at] = item._replace(sign="")
    items, operators = _operated(items)
    words = [item for item in items if item.operator not in operators]
    unwanted = [item for item in words if item.sign]
    wanted = [item for item in words if not item.sign]
    if not (wanted or filters) and len(text) > DIALOGUE_CHARACTERS:  # a list of things, not of exclusions
        wanted, unwanted = words, []
    asked = _demanding(items, operators) if operators else _alternatives(wanted)
    return asked._replace(
        text=text,
        words=" ".join(item.text for item in wanted),
        filters=filters,
        excluded=" OR ".join(item.literal for item in unwanted) or None,
        unwanted=tuple(item.sign + (f'"{item.text}"' if item.quoted else item.text) for item in unwanted),
    )


def _operated(items: list[_Item]) -> tuple[list[_Item], tuple[str, ...]]:
    """Make exclusions of NOT; keep AND and OR between two things, and return which there are.

    In a sentence, which has words such as *the* and *is* or is all in capitals, they are words. Elsewhere an
    operator without an operand is ignored.
    """
    words = [item.text for item in items if not (item.operator or item.quoted)]
    in_sentence = (len(words) > 2 and " ".join(words).isupper()) or not stopwords.ENGLISH.isdisjoint(
        word.lower() for word in words
    )
    if in_sentence or not any(item.operator for item in items):
        return items, ()
    kept: list[_Item] = []
    former = ""
    for item in items[:MAX_ITEMS]:
        if not item.operator:
            kept.append(item._replace(sign="NOT ") if former == "NOT" else item)
        elif item.operator != "NOT" and kept and not kept[-1].operator:
            kept.append(item)
        former = item.operator
    if kept and kept[-1].operator:
        kept.pop()
    return kept, tuple(dict.fromkeys(item.operator for item in kept if item.operator))


def _demanding(items: Sequence[_Item], operators: tuple[str, ...]) -> Query:
    """A question with operators: each hit must hold all that stands between two OR."""
    parts: list[list[str]] = [[]]
    for item in items:
        if item.operator == "OR":
            parts.append([])
        elif not (item.operator or item.sign):
            parts[-1].append(f"({item.expression})")
    required = " OR ".join(f"({' AND '.join(part)})" for part in parts if part)
    return Query("", "", (), required=required or None, operators=operators)


def _alternatives(wanted: Sequence[_Item]) -> Query:
    """A question of words and phrases."""
    words = " ".join(item.text for item in wanted if not item.quoted and not item.prefix)
    quoted = tuple(item.text for item in wanted if item.quoted)
    required = " AND ".join(map(lexicon.expression, quoted))
    prefixes = tuple(item.text for item in wanted if item.prefix)
    if len(prefixes) == len(wanted):  # beginnings alone: what else could be meant?
        required = " OR ".join(map(lexicon.beginning, prefixes))
    return Query(
        "",
        "",
        tuple(terms(words)),
        required=required or None,
        prefixes=prefixes,
        spellings=tuple(_spellings(words)),
        quoted=quoted,
    )


def may_filter(text: str) -> bool:
    """Tell if a text may hold filters: a dialogue does not."""
    return len(text) <= DIALOGUE_CHARACTERS and any(sign in text for sign in ":：<>=")


def clean(text: str) -> str:
    """Replace what no text holds (NUL bytes, halves of surrogates), fold letters and blanks, cut the rest."""
    text = text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    return lexicon.figures(language.fold_width(language.seen(text)))[:MAX_CHARACTERS]


def _items(text: str) -> Iterator[_Item]:
    """Split a question into words, phrases and operators; what holds no letter or digit is dropped."""
    if _NO_WORDS.isdisjoint(text):  # to compile the expression takes 1.5 ms
        yield from (_word(word) for word in text.split() if _WORD.search(word))
        return
    for found in _TOKEN.finditer(text):
        word, phrase, sign = found["word"] or "", found["phrase"] or found["marked"] or "", found["not"] or ""
        if _WORD.search(phrase):
            # Speech is not a phrase; nor is the text between two speeches, where a quotation mark is missing.
            is_speech = phrase[:1].isspace() or phrase.rstrip()[-1:] in _SENTENCE_ENDS
            is_phrase = (
                len(text) <= DIALOGUE_CHARACTERS and len(phrase) <= PHRASE_CHARACTERS and not is_speech
            )
            yield _Item(phrase, is_phrase, sign)
        elif _WORD.search(word):
            yield _word(word, "" if _OPTION.match(word) else sign)


def _word(word: str, sign: str = "") -> _Item:
    stem = word.rstrip("*")
    prefix = stem != word and len(stem) >= 2 and _WORD.fullmatch(stem) is not None
    return _Item(stem if prefix else word, False, sign, prefix)


def terms(text: str) -> list[str]:
    """The words worth looking for, once each, in the order of the question.

    Stop words are dropped (unless there are no other words), identifiers stand whole before their parts, CJK
    runs become bigrams.
    """
    text = language.compose(_POSSESSIVE.sub("", text))
    plain = text if text.isascii() else lexicon.RUN.sub(" ", text)
    wide = [bigram for run in lexicon.runs(text) for bigram in lexicon.bigrams(run)]
    found = dict.fromkeys([*identifiers.wholes(plain), *_words(plain), *stopwords.meaningful(wide)])
    if not found.keys() - {"i"}:  # a question that is made of stop words alone
        found = dict.fromkeys([*map(str.lower, _WORD.findall(plain)), *wide])
    return list(found)[:MAX_TERMS]


@lru_cache(maxsize=64)  # ranking asks for every candidate
def wide_share(words: str) -> float:
    """Share of CJK among the words of a text without those of every question, two characters a word."""
    if words.isascii():
        return 0.0
    folded = language.compose(words)
    told = stopwords.without(folded)
    wide = sum(max(1.0, len(run) / 2) for run in lexicon.cjk_runs(told))
    latin = sum(word.lower() not in stopwords.ENGLISH for word in re.findall(r"[A-Za-z]+", told))
    return wide / (wide + latin) if wide or latin else lexicon.cjk_share(folded)


def with_mark(text: str) -> str:
    """Return a question of several words with one mark at its end: without it models read it otherwise."""
    bare = text.rstrip(" ?？")
    if not bare[-1:].isalnum() or not (" " in bare or language.has_wide(bare)):
        return text
    return f"{bare}{'？' if language.has_wide(bare[-1]) else '?'}"


def latin(text: str) -> str:
    """The part of a text that a model for Latin scripts can read; all of it if that is empty."""
    return " ".join(re.sub(f"[{lexicon.CJK}{_WIDE_PUNCTUATION}]+", " ", text).split()) or text


def _spellings(text: str) -> list[str]:
    """Other spellings of what a question names; a dialogue names too much."""
    if len(text) > DIALOGUE_CHARACTERS:
        return []
    return identifiers.spellings(language.compose(text))[:MAX_SPELLINGS]


def _words(plain: str) -> Iterator[str]:
    """Words that say something, and the parts of camelCase ones; who asks is the word `i`."""
    for word in _WORD.findall(plain.replace("'", " ").replace("’", " ")):
        lower = word.lower()
        if lower in stopwords.FIRST_PERSON:
            yield "i"
        if lower not in stopwords.ENGLISH and (len(lower) > 1 or lower.isdigit()):
            yield lower
            yield from map(str.lower, lexicon.word_parts(word))


# --- days ----------------------------------------------------------------------------------------------


class Dated(NamedTuple):
    """The days that a question names, whether it asks for these alone, and the rest of its words.

    `naming` are passages of other days whose text names these, each with the earliest; `held` is whether
    passages are of these days or name them.
    """

    spans: tuple[Span, ...]
    alone: bool
    rest: str = ""
    held: bool = True
    naming: Mapping[int, Span] = MappingProxyType({})

    @property
    def named(self) -> bool:
        """True if it names one of them, so that notes of other days may name it too."""
        return any(span.named for span in self.spans)


def days(query: Query, now: date | None, *, coming: bool = False) -> Dated | None:
    """Return the days of a question as seen from `now` (default: today), or None without days.

    With `coming` those without a year may lie ahead.
    """
    if not may_name_days(query):
        return None
    from datetime import date

    from commonplace.language import dates

    spans = dates.spans(query.text, now or date.today(), coming=coming)
    if not spans:
        return None
    rest = further = query.words
    for span in spans:
        rest = rest.replace(span.text, " ")
        hour = rf"{re.escape(span.text)}(?:{dates.times_of_day(query.text)})?"
        further = re.sub(hour, " ", further, flags=re.IGNORECASE)
    return Dated(spans, _asks_of_days(further) and not (query.required or query.prefixes), rest)


def readings(query: Query, now: date | None) -> list[Dated]:
    """Return what the days of a question may be, the likeliest first: those that were, or that come."""
    each = [one for coming in (False, True) if (one := days(query, now, coming=coming))]
    if len(each) < 2 or each[0].spans == each[1].spans:
        return each[:1]
    spoken = query.spoken | set(language.fold(query.words))
    languages = rules.spoken(query.text)
    back, ahead = (
        not spoken.isdisjoint(rules.words(f"asking_{way}", languages)) for way in ("back", "ahead")
    )
    near = (each[1].spans[0].first - each[0].spans[0].first).days <= 7
    return each if back or (near and not ahead) else each[::-1]


def spelled(query: Query, days: Sequence[Span]) -> Query:
    """Return a question with the other ways to write its days, by which notes of others may speak of them.

    A feast goes by its shortest name, 中秋 for 中秋节: texts with the longer one hold it too.
    """
    from commonplace.language import dates, holidays

    ways: list[str] = []
    for span in days:
        if span.named and (feast := holidays.naming(span.text)):
            written, name, others = feast
            if gone := {*terms(written)} - {*terms(name)}:
                rest = tuple(term for term in query.terms if term not in gone)
                query = query._replace(words=query.words.replace(written, name), terms=rest)
            ways += others
        if span.named and span.first == span.last:
            ways += dates.spellings(span.first)
    return query._replace(spellings=(*query.spellings, *ways)[:MAX_SPELLINGS]) if ways else query


def _asks_of_days(text: str) -> bool:
    """Tell if a text asks for the notes of some days and has no other subject."""
    days = rules.words("asking_of_days", rules.spoken(text))
    asking, asking_wide = stopwords.ENGLISH | days, stopwords.CHINESE_CHARACTERS | days
    words = _WORD.findall(language.fold(_POSSESSIVE.sub("", text)).lower())
    return all(word in asking or asking_wide.issuperset(word) for word in words)


def may_name_days(query: Query) -> bool:
    """Tell by single words whether a question may hold a date, before anything that reads dates is loaded."""
    languages = rules.spoken(query.text)
    months = rules.words("months", languages) | rules.short_numbers("months", languages).keys()
    words = months | rules.words("week", languages) | rules.words("dated", languages)
    if any(character.isdigit() for character in query.text) or not words.isdisjoint(query.spoken):
        return True
    text = language.fold(query.text)
    return any(sign in text for sign in rules.words("dated", languages) if not sign.isascii())
