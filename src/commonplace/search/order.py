"""The order of hits, decided here alone: what scores do not say, one hit for all that say the same, variety.

`ranking` gives every candidate a score; the steps of `arrange` move some of them, one after the other. Each
notes what it adds in `parts` under a name of its own, so that `--explain` shows them as rows:

* `front matter`: what it answers is shown by the passage that follows it.
* `update`: a newer statement goes before an older one where the question asks for a value.
* `trigger`: an entry that asks to be told is among the first three.
* `superseded`: what names a replacement goes below it.
* `replaces`: what replaces struck text goes before it, in questions into the past.
* `said again`: of passages that say the same the newest is shown, with the score of the best.
* `diversity`: what is like a hit before it goes down.
* `says nothing`: a heading without text, a rule, an image goes behind what says something.

Headings alone that no word of the question leads to are left out where something answers far better.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

from commonplace import language
from commonplace.base import filetypes
from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.chunking.settings import BARE, FRONT, MATTER
from commonplace.index import facts
from commonplace.index.base import Index, Source
from commonplace.language import compare, lexicon, rules, stopwords
from commonplace.language.compare import Wording
from commonplace.language.scripts import has_han
from commonplace.markdown import conflicts, structure, turns
from commonplace.render import screen
from commonplace.search import references
from commonplace.search.query import Query
from commonplace.search.ranking import TIE, Ranked, labels, outdated, role_of, said
from commonplace.types.results import Factor, Hit, Place

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from datetime import date

    from commonplace.language.dates import Span
    from commonplace.search.as_of import Replaced
    from commonplace.search.candidates import Question
    from commonplace.search.request import Outcome

# As many candidates as this for each hit wanted are compared; more only while hits are missing.
HEAD = 2
FRONT_MATTER = "front matter"
TRANSCRIPT = "session"  # the kind of note that is one; any other tells an event better
_NONE: Mapping[int, Span] = MappingProxyType({})
EVENT_DAYS = 1  # what was said late is written down the day after
SILENT = 0.5  # of its score has what stands before a text that says nothing; less is worth no more than it
SHOWN = 5e-5  # a factor that would print as 0.0000 explains nothing
# What a trigger adds: what scores more than that above it is a better answer. More where the best entry with
# one would not be among the first `AMONG`, less where a further one would displace an answer from there.
TRIGGER, AMONG = 0.3, 3
TRIGGERED, TRIGGERED_CHARACTERS = 3, 1800  # entries a question, and their text together


def adjusted(item: Ranked, part: str, value: float) -> Ranked:
    """Return a candidate with a further part in its score."""
    parts = {**item.parts, part: item.parts.get(part, 0.0) + value}
    return item._replace(score=item.score + value, parts=parts) if value else item


# --- what serves other text -----------------------------------------------------------------------------

# The front matter of notes, by note, with the passage that has its score.
Fronts = Mapping[int, tuple[Ranked, Ranked]]


def hand_on(question: Question, ranked: Sequence[Ranked]) -> tuple[list[Ranked], Fronts]:
    """Give the score of front matter to the first passage of its note; return what was given, by note.

    What has none below it stays, and so does what holds a demand that the passage does not. Where the
    question excludes the passage, the front matter goes with it.
    """
    fronts = {one.candidate.id + 1: one for one in ranked if role_of(one.candidate) == FRONT}
    if not fronts or question.request.past:
        return list(ranked), {}
    firsts = {
        own.id: own
        for own in question.index.passages(sorted(fronts))
        if own.note_id == fronts[own.id].candidate.note_id and own.until is None
    }
    admitted = question.admitted(firsts)
    served = question.allowed(facts.within(question.index, firsts, question.covered))
    gone = served | (firsts.keys() - set(admitted))
    known = {item.candidate.id: item for item in ranked if item.candidate.id + 1 not in gone & fronts.keys()}
    for below in served:
        front = fronts[below]
        item = known.get(below) or Ranked(firsts[below], 0.0, {}, front.relevance)
        known[below] = adjusted(item, FRONT_MATTER, max(0.0, front.score - item.score))
    given = {known[below].candidate.note_id: (fronts[below], known[below]) for below in served}
    return sorted(known.values(), key=lambda item: -item.score), given


# --- entries with a trigger -----------------------------------------------------------------------------


def chosen(ranked: Sequence[Ranked], triggered: Collection[int], today: Callable[[], date]) -> set[int]:
    """Choose which passages whose trigger is in the question are lifted: the best few that still hold."""
    first: set[int] = set()
    room = TRIGGERED_CHARACTERS
    for item in ranked if triggered else ():
        own = item.candidate
        fits = own.id in triggered and len(own.text) <= room
        if fits and len(first) < TRIGGERED and not outdated(said(own), today):
            first.add(own.id)
            room -= len(own.text)
    return first


def put_first(ranked: Sequence[Ranked], first: Collection[int]) -> list[Ranked]:
    """Put the best entry with a trigger among the first three; further ones follow where they do not answer.

    What is among the first three by its own score stays there. An instruction for what is asked is treated
    alike, but that it adds nothing to its score: it goes with the answer, and is none.
    """

    def instructs(item: Ranked) -> bool:
        own = said(item.candidate)
        return MATTER in own and "trigger" not in own

    def lift(item: Ranked, by: float) -> Ranked:
        return adjusted(item, "instruction" if instructs(item) else "trigger", by)

    lifted = [
        lift(item, 0.0 if instructs(item) else TRIGGER) for item in ranked if item.candidate.id in first
    ]
    if not lifted:
        return list(ranked)
    best, *further = sorted(lifted, key=lambda item: -item.score)
    answers = {item.candidate.id for item in ranked[:AMONG]}
    ordered = [item for item in ranked if item.candidate.id not in first]
    ordered += [item for item in further if item.candidate.id in answers]
    ordered.sort(key=lambda item: -item.score)
    if len(ordered) >= AMONG:
        best = lift(best, max(0.0, ordered[AMONG - 1].score - best.score))
    ordered.insert(sum(item.score > best.score for item in ordered[: AMONG - 1]), best)
    ahead, rest = ordered[:AMONG], ordered[AMONG:]
    for item in further:
        if item.candidate.id not in answers:
            rest.append(lift(item, min(0.0, ahead[-1].score - item.score)))
    return [*ahead, *sorted(rest, key=lambda item: -item.score)]


# --- what is superseded ---------------------------------------------------------------------------------


def replacement(item: Ranked) -> str:
    """Return the reference that a candidate names as what supersedes it; `as_of` orders struck text."""
    own = item.candidate
    return said(own).get("superseded-by", "") if own.annotations and own.until is None else ""


def put_below(ranked: Sequence[Ranked], places: Mapping[str, Sequence[facts.Place]]) -> list[Ranked]:
    """Put what is superseded below what replaces it, where that is among the candidates.

    What replaces it may be superseded in turn, so this goes on until nothing moves; a circle ends it as well.
    """
    items, named = list(ranked), _superseded(ranked, places)
    for _ in named:
        moved = False
        for at, replacing in named:
            item, best = items[at], max((items[n].score for n in replacing), default=-math.inf)
            if item.score >= best > -math.inf:
                items[at] = adjusted(item, "superseded", best - TIE - item.score)
                moved = True
        if not moved:
            break
    return sorted(items, key=lambda item: -item.score) if named else items


def _superseded(
    ranked: Sequence[Ranked], places: Mapping[str, Sequence[facts.Place]]
) -> list[tuple[int, list[int]]]:
    """Where each superseded candidate stands in the order, and where all stand that replace it."""

    def stands_in(item: Ranked, name: str) -> bool:
        own = item.candidate
        return any(place.holds(own.note_id, own.start_line, own.end_line) for place in places[name])

    return [
        (at, [n for n, other in enumerate(ranked) if n != at and stands_in(other, name)])
        for at, item in enumerate(ranked)
        if (name := replacement(item)) in places
    ]


# --- what replaces struck text --------------------------------------------------------------------------

# The next entry stands in the place of struck text if it says so; one that does not must answer this much of
# what the struck text does, or a list of things done would lift what has nothing to do with the question.
ANSWERS_ALIKE = 0.5
# What stands in the place of struck passages, by id: the passages of each such place.
Successors = Mapping[int, Sequence[Collection[int]]]


def settled(ranked: Sequence[Ranked], known: Replaced) -> Successors:
    """Say what replaces each struck passage, now that the scores tell what answers alike."""
    scores = {item.candidate.id: item.score for item in ranked}
    successors = {own: list(places) for own, places in known.surely.items()}
    for own, places in known.perhaps.items():
        least = ANSWERS_ALIKE * scores.get(own, 0.0)
        alike = ({one for one in ids if scores.get(one, -1.0) >= least} for ids in places)
        successors.setdefault(own, []).extend(filter(None, alike))
    return successors


def in_order(ranked: Sequence[Ranked], successors: Successors) -> list[Ranked]:
    """Put the best of each place that replaces a struck passage before it, where all of it stands behind.

    It is lifted rather than the other lowered: whoever asks for what once stood is to find it.
    """
    ordered = list(ranked)
    pairs = [(own, others) for own, places in successors.items() for others in places]
    for _ in pairs:  # a circle of replacements ends as well
        moved = False
        for own, others in pairs:
            at, best = _first(ordered, (own,)), _first(ordered, others)
            if at < best < len(ordered):
                item, score = ordered.pop(best), ordered[at].score
                ordered.insert(at, adjusted(item, "replaces", max(0.0, score - item.score)))
                moved = True
        if not moved:
            break
    return ordered


def _first(ranked: Sequence[Ranked], passages: Collection[int]) -> int:
    """Where the first of some passages stands; behind all where none does."""
    return next((at for at, item in enumerate(ranked) if item.candidate.id in passages), len(ranked))


# --- newer statements before older ones -----------------------------------------------------------------

# Of two statements on one matter the one that says what changed often stands lower: it has fewer words of the
# question ("recently improved to 78%", "moved to Groningen"). It is lifted where both share words with it and
# - the question is for a value (*how many*, *what is the deadline*), and it has another one of that kind;
# - or the question is short and asks for the present state (*now*);
# - or question and statements are short, and the newer one speaks of a change.
# A question for what once was leaves the order as it is. Measured, the last two cost sets of other questions
# .004 of nDCG at most; without *short* and *speaks of a change* they cost .05.
COMPARED = 20  # candidates
OLDER = 2  # of them, those at the top that something newer may go before
# The newer statement may lie this much lower: it shares fewer words with the question. With .35 two of 18
# updates are missed, with .55 nothing more is found.
GAP = 0.45
# Share of the words of the shorter one that both must hold, where a value is asked for; of a Chinese one half
# of it, as its words are pairs of characters, and some of these are of two words.
SHARED = 0.2
ASKED = 0.3  # of the question's words that the older one holds, the newer one must hold this share
ALIKE = 0.5  # the same share, and the share of the older one's relevance, where no value is asked for
SHORT = 200  # characters of a question, and of a statement that speaks of one thing
LONGEST = 1200  # characters of a passage that are compared: a statement is shorter
STEP = 1e-4  # puts it right before the older one
_NAME = lazy(r"(?<=\s)[A-Z][a-z][\w'-]*")  # the first word of a question is large in any case
# What a question says of the kind of its value: the first list that matches decides, else any will do.
_ASKED_KINDS = {
    "asks_percent": ("percent",),
    "asks_clock": ("clock", "day"),
    "asks_date": ("date", "day", "clock"),
    "asks_money": ("money", "number", "percent"),
    "asks_number": ("number", "percent"),
}


class _Asked(NamedTuple):
    """What a question asks of two statements: its words, a value of some kinds, the present state.

    `names` are those of its words that are written large inside it. `exact` says that nothing but a value
    answers it, `short` that it is a question and not a story.
    """

    words: frozenset[str]
    names: frozenset[str]
    kinds: tuple[str, ...]
    exact: bool
    short: bool
    present: bool


class _Statement(NamedTuple):
    """A candidate with what is compared of it; the place is day, note and line."""

    item: Ranked
    text: str
    place: tuple[str, int, int]
    changes: bool
    dated: bool

    def is_later(self, old: _Statement) -> bool:
        """Later by day, or further down in the same note; of two notes of one day neither came first.

        Where something that says since when it holds stands in its note tells nothing. What has no day is
        older than what speaks of a change on some day: long-term memory follows the days.
        """
        (day, note, line), (old_day, old_note, old_line) = self.place, old.place
        if note == old_note and not (self.dated or old.dated):
            return line > old_line
        return day > old_day and (bool(old_day) or self.changes)

    def updates(self, old: _Statement, asked: _Asked) -> bool:
        """Whether it is a later statement on what another says, with something of its own."""
        if old.item.score - self.item.score > GAP or not (self.changes or asked.present):
            return False
        if not self.is_later(old):
            return False
        words, former = _words(self.text), _words(old.text)
        if former & asked.names - words:
            return False  # of Breda, where Delft is asked about
        common, known = len(words & asked.words), len(former & asked.words)
        least = SHARED / 2 if has_han(old.text) else SHARED
        shared = len(words & former) >= least * max(1, min(len(words), len(former)))
        now, before = (_values(self.text), _values(old.text)) if asked.kinds else ({}, {})
        if valued := [kind for kind in asked.kinds if before.get(kind)]:
            other = any(now.get(kind, frozenset()) - before[kind] for kind in valued)
            if other and shared and self.changes and common >= max(1.0, ASKED * known):
                return True
            if asked.exact:
                return False
        if not asked.short:
            return False
        short = shared and max(len(self.text), len(old.text)) <= SHORT
        alike = known and common >= ALIKE * known and self.item.relevance >= ALIKE * old.item.relevance
        return bool(alike and (asked.present or short) and words - former - asked.words)


def _asks_for_newest(question: Question) -> bool:
    """Tell whether a question may be answered by what was said last: it names no day for which it asks."""
    days = question.days
    is_dated = days is not None and days.named and not any(span.relative for span in days.spans)
    return not is_dated and asks_for_state(question.query)


def asks_for_state(query: Query) -> bool:
    """Tell whether a question may be answered by what was said last: it does not ask for what once was."""
    return not rules.holds(language.fold(query.text), "formerly")


def _asked(query: Query) -> _Asked:
    from commonplace.language import values  # few questions ask for one

    text = language.fold(query.text)
    kinds: tuple[str, ...] = ()
    if rules.holds(text, "value_questions") and not rules.holds(text, "spans_of_time"):
        known = (each for name, each in _ASKED_KINDS.items() if rules.holds(text, name))
        kinds = next(known, values.KINDS)
    present = rules.holds(text, "presently")
    is_exact = bool(kinds) and kinds != values.KINDS
    names = _words(" ".join(_NAME.findall(query.words)))
    return _Asked(_words(query.words), names, kinds, is_exact, len(text) <= SHORT, present)


def lift(ranked: Sequence[Ranked], query: Query, days: Mapping[int, str | None]) -> list[Ranked]:
    """Put newer statements right before the older ones at the top; `days` of the head, by passage.

    In a conversation with an assistant only the owner's statements count: the answers repeat what was asked.
    """
    head, asked = ranked[:COMPARED], _asked(query)
    statements = _statements(head, asked, days)
    top = {item.candidate.id for item in head[:OLDER]}
    ahead: dict[int, float] = {}  # what each newer statement gets, by passage
    for at, old in enumerate(statements):
        if old.item.candidate.id not in top:
            break
        if newer := [new for new in statements[at + 1 :] if new.updates(old, asked)]:
            # The first of them; of those that follow something without a day the last that was said.
            latest = newer[0] if old.place[0] else max(newer, key=lambda new: new.place)
            passage, lead = latest.item.candidate.id, old.item.score + STEP - latest.item.score
            ahead[passage] = max(lead, ahead.get(passage, lead))
    lifted = [adjusted(item, "update", ahead.get(item.candidate.id, 0.0)) for item in head]
    return [*sorted(lifted, key=lambda item: -item.score), *ranked[COMPARED:]]


def _statements(head: Sequence[Ranked], asked: _Asked, days: Mapping[int, str | None]) -> list[_Statement]:
    """What is said in the head by those whose word counts, in its order.

    Of a list it is the items that hold most words of the question, without the hours of writing.
    """
    speakers = {item.candidate.id: item.candidate.traits.speakers.partition("\n")[0] for item in head}
    owned = any(label in turns.OWNER for label in speakers.values())
    if not owned and sum(item.candidate.turns > 0 for item in head) > len(head) / 2:
        return []  # people among themselves: none of them speaks for the others
    from commonplace.markdown.statements import leading_time  # a search by words alone starts without

    statements = []
    for item in head:
        own, text = item.candidate, item.candidate.text[:LONGEST]
        if not owned or speakers[own.id] in turns.OWNER:
            place = (days.get(own.id) or "", own.note_id, own.start_line)
            lines = text.split("\n")
            if all(map(structure.ITEM.match, lines)):
                shares = [len(_words(line) & asked.words) for line in lines]
                best = max(shares)
                text = "\n".join(
                    leading_time(line)[1] for line, share in zip(lines, shares, strict=True) if share == best
                )
            changes = rules.holds(text, "changes")
            statements.append(_Statement(item, text, place, changes, not own.turns and "since" in said(own)))
    return statements


# Each of a head is compared with those at its top, and few get as far as to be read for it.
@lru_cache(1024)
def _values(text: str) -> Mapping[str, frozenset[str]]:
    from commonplace.language import values

    return values.read(language.fold(text).lower()).values


@lru_cache(4096)
def _words(text: str) -> frozenset[str]:
    """Words that say something, without their commonest endings, and pairs of CJK characters."""
    folded = language.fold(text).lower()
    latin = (word for word in re.findall(r"[a-z][a-z'-]+", folded) if word not in stopwords.ENGLISH)
    wide = stopwords.meaningful(pair for run in lexicon.cjk_runs(folded) for pair in lexicon.bigrams(run))
    return frozenset([*(re.sub(r"(?:ing|ed|es|s|ly)$", "", word) for word in latin), *wide])


class Entry(NamedTuple):
    """A ranked passage, the note it stands in, and what it says."""

    item: Ranked
    source: Source
    said: Wording

    @property
    def is_transcript(self) -> bool:
        """Whether it stands in a transcript."""
        return self.source.kind == TRANSCRIPT

    @property
    def is_struck(self) -> bool:
        """Whether it once stood."""
        return self.item.candidate.until is not None

    @property
    def headings(self) -> tuple[str, ...]:
        """What the passage stands under, the note's title included."""
        return (self.source.title, *self.source.headings)


class Statement(NamedTuple):
    """Passages that say the same: the one that is shown, with the score of the best, and the others."""

    shown: Entry
    others: tuple[Entry, ...] = ()


def entry(item: Ranked, source: Source) -> Entry:
    """Read what a candidate says; of a program every character counts."""
    read = compare.verbatim if filetypes.is_code(source.path) else compare.read
    return Entry(item, source, read(item.candidate.text))


# --- the same said twice --------------------------------------------------------------------------------


def gather(ranked: Iterable[Entry], limit: int, asked: frozenset[str] = frozenset()) -> list[list[Entry]]:
    """Group passages that say the same, best group first, until there are `limit` groups.

    Every note of a group says what every other does, and its transcripts tell of that, one of their days. Of
    several passages of the same lines one is kept. `asked` are the words of the question.
    """
    groups: list[list[Entry]] = []
    places: set[tuple[int, int, int, bool]] = set()
    twins: dict[object, list[Entry]] = {}  # notes; so that of a hundred copies each is compared once
    for count, one in enumerate(ranked):
        if count >= HEAD * limit and len(groups) >= limit:
            break
        candidate = one.item.candidate
        place = (candidate.note_id, candidate.start_line, candidate.end_line, one.is_struck)
        if place in places:
            continue
        places.add(place)
        key = (one.said.tokens, one.headings, one.is_struck)
        if one.is_transcript or not one.said.tokens:
            _join(groups, one, asked)
        elif key in twins:
            twins[key].append(one)
        else:
            twins[key] = _join(groups, one, asked)
    return sorted(groups, key=lambda group: -max(one.item.score for one in group))


def _join(groups: list[list[Entry]], one: Entry, asked: frozenset[str]) -> list[Entry]:
    """Put a passage into the group it belongs to; a note takes along all transcripts of what it tells."""
    # Nearly all pairs of notes are told apart by what costs next to nothing; transcripts are rare.
    is_transcript, said = one.is_transcript, one.said
    own = [
        group
        for group in groups
        if (is_transcript or compare.may_be_same(said, group[0].said) or group[0].is_transcript)
        and _belongs(one, group, asked)
    ]
    own.sort(key=lambda group: not _notes(group))
    if not own:
        groups.append([one])
        return groups[-1]
    joined = own[0]
    joined.append(one)
    if not one.is_transcript:
        _take_along(groups, joined, [group for group in own[1:] if not _notes(group)])
    return joined


def _take_along(groups: list[list[Entry]], joined: list[Entry], transcripts: Iterable[list[Entry]]) -> None:
    """Add groups of transcripts to one whose notes tell all that they hold."""
    for group in transcripts:
        if all(_is_told(transcript, _notes(joined)) for transcript in group):
            joined.extend(group)
            groups[:] = [other for other in groups if other is not group]


def _belongs(one: Entry, group: Sequence[Entry], asked: frozenset[str]) -> bool:
    """Whether a passage says what a group says."""
    notes = _notes(group)
    if one.is_transcript:
        return _is_told(one, notes) if notes else all(_is_same(one, other, asked) for other in group)
    return all(_is_same(one, other, asked) for other in notes) and all(
        _is_told(other, [*notes, one]) for other in group if other.is_transcript
    )


def _notes(group: Sequence[Entry]) -> list[Entry]:
    return [one for one in group if not one.is_transcript]


def _is_same(one: Entry, other: Entry, asked: frozenset[str]) -> bool:
    if one.is_struck is not other.is_struck:  # what replaces something may hardly differ from it
        return False
    return compare.same(one.said, other.said) and compare.agree(one.headings, other.headings, one.said, asked)


def _is_told(transcript: Entry, notes: Sequence[Entry]) -> bool:
    """Whether notes, which say the same, tell what a transcript of about that day holds."""
    own, days = transcript.source.date, [note.source.date for note in notes if note.source.date]
    if not own or not days:
        return False
    from datetime import date

    day = date.fromisoformat(own)
    return any(abs((date.fromisoformat(other) - day).days) <= EVENT_DAYS for other in days) and all(
        compare.same(note.said, transcript.said) or compare.same_event(note.said, transcript.said)
        for note in notes
    )


def tell(group: Sequence[Entry]) -> Statement:
    """Choose what is shown of a group: the newest, with the score of the best.

    A note comes before a transcript and before a copy that a sync program left, and one of the days that the
    question names before a newer one; within a day the file that was changed last decides.
    """
    if len(group) == 1:
        return Statement(group[0])

    paths = {one.source.path for one in group}

    def age(one: Entry) -> tuple[bool, bool, float, str, int, int]:
        named = one.item.parts.get("date", 0.0)
        line = one.item.candidate.start_line
        is_own = not conflicts.original(one.source.path, paths)
        return (not one.is_transcript, is_own, named, one.source.date or "", one.source.mtime_ns, line)

    newest = max(group, key=age)
    best = max(one.item.score for one in group)
    shown = newest._replace(item=adjusted(newest.item, "said again", best - newest.item.score))
    return Statement(shown, tuple(sorted((one for one in group if one is not newest), key=age, reverse=True)))


# --- what is alike --------------------------------------------------------------------------------------


def spread(statements: Sequence[Statement], share: float) -> list[Statement]:
    """Order statements by relevance less likeness to those before them (MMR), scores never rising.

    `share` is the lambda of Carbonell and Goldstein, SIGIR 1998: 1 leaves the order as it is. Their
    lambda * score - (1 - lambda) * likeness is divided by lambda, so that what is like nothing keeps its
    score. Likeness only grows with each choice, so no later choice can be worth more.
    """
    if share >= 1:
        return list(statements)
    factor = (1 - share) / max(share, 0.01)
    words = [compare.content(one.shown.said.tokens) for one in statements]
    likeness = [0.0] * len(statements)
    left = list(range(len(statements)))
    chosen: list[Statement] = []
    while left:
        best = max(left, key=lambda n: (statements[n].shown.item.score - factor * likeness[n], -n))
        left.remove(best)
        shown = statements[best].shown
        less = shown._replace(item=adjusted(shown.item, "diversity", -factor * likeness[best]))
        chosen.append(statements[best]._replace(shown=less))
        for other in left:  # the share of their telling words that two texts have in common, 0..1
            both = len(words[best] & words[other])
            alike = both / (len(words[best]) + len(words[other]) - both) if both else 0.0
            likeness[other] = max(likeness[other], alike)
    return chosen


# --- hits -----------------------------------------------------------------------------------------------


def arrange(
    question: Question,
    ranked: Sequence[Ranked],
    first: Collection[int],
    replaced: Replaced | None,
    diversity: float,
    outcome: Outcome,
) -> list[Hit]:
    """Return the best hits, one for all passages that say the same.

    `first` are entries with a trigger, `replaced` what stands in the place of struck text, `diversity` is
    how much relevance counts beside variety (`spread`).
    """
    index, settings = question.index, question.ranking
    ranked, fronts = hand_on(question, ranked)
    if settings.updates and settings.fusion == "calibrated" and _asks_for_newest(question):
        with outcome.timed("updates"):
            sources = index.sources([item.candidate.id for item in ranked[:COMPARED]])
            days = {passage: source.date for passage, source in sources.items()}
            ranked = lift(ranked, question.query, days)
    ranked = put_first(ranked, first)
    if names := {name for item in ranked if (name := replacement(item))}:
        ranked = put_below(ranked, facts.places(index, names))
    with outcome.timed("hits"):
        successors: Successors = {}
        if replaced:
            successors = settled(ranked, replaced)
            ranked = in_order(ranked, successors)
        return _behind_originals(_hits(question, ranked, successors, diversity, fronts))


def _behind_originals(hits: list[Hit]) -> list[Hit]:
    """Put copies that a sync program left behind the notes that they are copies of."""
    paths = {hit.path for hit in hits}
    copies = conflicts.copies(paths, lambda path: "\n".join(h.text for h in hits if h.path == path))
    return sorted(hits, key=lambda hit: copies.get(hit.path) in paths) if copies else hits


def _hits(
    question: Question, ranked: Sequence[Ranked], successors: Successors, diversity: float, fronts: Fronts
) -> list[Hit]:
    """One hit for all passages that say the same, cut to what is asked for."""
    index, request = question.index, question.request
    limit, least = request.limit or 0, request.min_score or -math.inf  # a weak passage may score below 0
    if request.min_score is None or request.min_score > 0:
        ranked = _without_bare(ranked)
    entries = _entries(index, [item for item in ranked if item.score >= least], limit)
    groups = gather(entries, limit, frozenset(question.query.terms))
    statements = [tell(group) for group in groups]
    shown = spread(statements, diversity)
    if successors and diversity < 1:
        shown = _in_order(shown, successors)
    shown = [one for one in shown if one.shown.item.score >= least]
    silent = [one for one in shown[:limit] if role_of(one.shown.item.candidate)]
    if silent:
        telling = [one for one in shown[:limit] if one not in silent]
        head = [*telling, *(_behind(one, telling) for one in silent)]
        shown = [*sorted(head, key=lambda one: -one.shown.item.score), *shown[limit:]]
    pairs = [
        (one.shown.item.candidate, _hit(one.shown.item, one.shown.source, request.today, one.others))
        for one in shown
    ]
    if request.past or not request.complete:
        return [hit for _, hit in pairs[:limit]]
    from commonplace.search import completion

    hits = completion.complete(index.passages, question.admitted, pairs, limit)
    return _headed(fronts, [one.shown for one in shown], hits, question.query.marked) if fronts else hits


def _headed(
    fronts: Fronts, entries: Iterable[Entry], hits: Sequence[Hit], words: Collection[str]
) -> list[Hit]:
    """Hits with what front matter says of some words above: above the passage with its score, else the first
    of the note.
    """
    owing = {
        (one.source.collection, one.source.path): fronts[one.item.candidate.note_id]
        for one in entries
        if one.item.candidate.note_id in fronts
    }
    places: dict[tuple[str, str], int] = {}
    for at, hit in enumerate(hits):
        note = hit.collection, hit.path
        if note in owing and hit.start_line == owing[note][1].candidate.start_line:
            places[note] = at
        elif note in owing:
            places.setdefault(note, at)
    headed = list(hits)
    for note, at in places.items():
        front, below = owing[note]
        carries = below.parts.get(FRONT_MATTER, 0.0) > SILENT * below.score
        if keys := _keys(front.candidate.text.split("\n")[1:-1], words, hits[at], carries=carries):
            text = "\n".join([*keys, "", hits[at].text])
            headed[at] = replace(hits[at], text=text, lead=hits[at].lead + len(keys) + 1)
    return headed


def _keys(lines: Sequence[str], words: Collection[str], hit: Hit, *, carries: bool) -> list[str]:
    """The keys of front matter, each with all it says, that hold one of some words.

    Words of the title, which is shown anyway, count in a key's name alone. Where none of the others is held
    and the front matter `carries` the hit, they count everywhere; if that finds none, all keys are returned.
    """
    keys: list[list[str]] = []
    for line in lines:
        if keys and (line[:1].isspace() or line.startswith("-")):
            keys[-1].append(line)
        else:
            keys.append([line])
    title = language.caseless(hit.title)
    every = screen.matcher(words)
    others = screen.matcher(word for word in words if language.caseless(word) not in title)
    holding = [
        key
        for key in keys
        if screen.matches(key[0].partition(":")[0], every) or screen.matches("\n".join(key), others)
    ]
    if carries and not holding:
        holding = [key for key in keys if screen.matches("\n".join(key), every)] or keys
    return [line for key in holding for line in key]


def _without_bare(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Candidates without headings alone that hold no word of the question, where others answer far better."""
    best = max((item.score for item in ranked if not _is_bare(item)), default=0.0)
    return [item for item in ranked if item.score >= SILENT * best or not _is_bare(item)]


def _is_bare(item: Ranked) -> bool:
    """Whether a candidate is a note without text, and no word of the question stands in it."""
    return item.parts.get("words", 0.0) <= 0 and role_of(item.candidate) == BARE


def _behind(statement: Statement, others: Sequence[Statement]) -> Statement:
    """A statement that says nothing with no more score than the last of others that are half as good.

    A note without text, or front matter alone: it is worth a look where nothing else is left.
    """
    item = statement.shown.item
    scores = (one.shown.item.score for one in others)
    least = min((score for score in scores if score >= SILENT * item.score), default=item.score)
    item = adjusted(item, "says nothing", min(0.0, least - item.score))
    return statement._replace(shown=statement.shown._replace(item=item))


def _in_order(statements: Sequence[Statement], replaced: Successors) -> list[Statement]:
    """Statements with what replaces struck text before it again, whatever variety made of that."""
    by_id = {one.shown.item.candidate.id: one for one in statements}
    shown = {other.item.candidate.id: own for own, one in by_id.items() for other in one.others}
    known = {
        own: [{shown.get(other, other) for other in others} for others in places]
        for own, places in replaced.items()
    }
    ordered = in_order([one.shown.item for one in statements], known)
    each = ((by_id[item.candidate.id], item) for item in ordered)
    return [one._replace(shown=one.shown._replace(item=item)) for one, item in each]


def listed(
    index: Index, kept: Sequence[Ranked], now: date | None = None, naming: Mapping[int, Span] = _NONE
) -> list[Hit]:
    """Return every passage as a hit of its own; of one that names a day it is labelled with that."""
    sources = index.sources([item.candidate.id for item in kept])
    hits = [_hit(item, sources[item.candidate.id], now) for item in kept]
    spans = [naming.get(item.candidate.id) for item in kept]
    return [
        replace(hit, labels=(*hit.labels, f"names {span.written}")) if span else hit
        for hit, span in zip(hits, spans, strict=True)
    ]


def _entries(index: Index, ranked: Sequence[Ranked], limit: int) -> Iterator[Entry]:
    """Candidates with what they say, read as far as they are asked for."""
    step = max(1, HEAD * limit)
    for start in range(0, len(ranked), step):
        batch = ranked[start : start + step]
        sources = index.sources([item.candidate.id for item in batch])
        yield from (entry(item, sources[item.candidate.id]) for item in batch)


def _hit(ranked: Ranked, source: Source, now: date | None, others: Sequence[Entry] = ()) -> Hit:
    def today() -> date:
        from datetime import date  # only labels need it, and a search from the shell starts without

        return now or date.today()

    candidate = ranked.candidate
    own = said(candidate)
    score = min(1.0, max(0.0, ranked.score))
    parts = {**ranked.parts, "cap": score - ranked.score}  # so that the factors add up to what is shown
    return Hit(
        path=source.path,
        start_line=candidate.start_line,
        end_line=candidate.end_line,
        text=candidate.text,
        score=score,
        title=source.title,
        headings=source.headings,
        date=source.date,
        collection=source.collection,
        docid=source.docid,
        factors=tuple(Factor(name, value) for name, value in parts.items() if abs(value) >= SHOWN),
        labels=labels(own, today) if own else (),
        others=tuple(
            Place(
                references.shown(other.source.collection, other.source.path),
                other.item.candidate.start_line,
                other.item.candidate.end_line,
                other.source.date,
            )
            for other in others
        ),
        until=candidate.until or None,
    )
