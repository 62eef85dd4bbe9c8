"""The order of hits where scores do not say it, and one hit for all that say the same.

`ranking` gives every candidate a score; the steps of `arrange` move some of them, one after the other. Each
notes what it adds in `parts` under a name of its own, so that `--explain` shows them as rows:

* `front matter`: what it answers is shown by the passage that follows it.
* `update`: a newer statement goes before an older one where the question asks for a value (`updates`).
* `trigger`: an entry that asks to be shown is among the first three.
* `replaces`: what replaces a statement goes before it.
* `said again`: of passages that say the same the newest is shown, with the score of the best.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from commonplace.base.expressions import lazy
from commonplace.chunking.settings import BARE, FRONT, MATTER
from commonplace.index import facts
from commonplace.index.base import Index
from commonplace.language import caseless
from commonplace.markdown import conflicts
from commonplace.render import screen
from commonplace.search import completion, dedupe, references, updates
from commonplace.search.ranking import Ranked, adjusted, fitted, labels, outdated, role_of, said
from commonplace.types.results import Factor, Hit, Place

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from datetime import date

    from commonplace.language.dates import Span
    from commonplace.search.as_of import Replaced
    from commonplace.search.candidates import Question
    from commonplace.search.dedupe import Said
    from commonplace.search.request import Outcome

# As many candidates as this for each hit wanted are compared; more only while hits are missing.
HEAD = 2
TRANSCRIPT = "session"  # the kind of note for transcripts; other kinds tell an event better
SHOWN = 5e-5  # a factor that would print as 0.0000 is left out
# The gain of a trigger: an answer that scores more than that above it is better. More if the best entry with
# one would not be among the first `AMONG`, less if a further one would displace an answer from there.
TRIGGER, AMONG = 0.3, 3
TRIGGERED, TRIGGERED_CHARACTERS = 3, 1800  # entries a question, and their text together
# The next entry replaces struck text if it says so; any other must answer this share of what the struck text
# answers, or a list of done items would lift entries on another subject.
ANSWERS_ALIKE = 0.5

# Among so many first candidates lists of links are followed: passages with this share of rows of links only.
# A linked passage scores at least a third of its list: "list of my projects" asks for no note "Reading list".
# Of 40 questions to four vaults 32 have their answer first so, not 25; 30, not 21, among 4,000 more passages.
LISTS, LIST, LINKED = 3, 0.8, 1 / 3
_LINK = lazy(r"\[\[([^\]|#\n]++)[^\]\n]*+\]\]|\[[^\]\n]*+\]\(([^)\s#]+)\.md[^)\n]*+\)")
_ROW = lazy(  # `- Kitchen: [[Offers]], [[Tiles]]`, `[Offers](offers.md) (of March)`
    r"\s*+(?:(?:[-*+]|\d+[.)])\s++)?(?:[^\[\]:：]++[:：]\s*+)?"
    r"(?:(?:\[\[[^\]]++\]\]|\[[^\]]*+\]\([^)\s]++\))[\s,、;；|·/]*+|(?!))++(?:[-–—(（].{,40})?"
)
# Replacements of a passage, by its id: the passages in each place.
Successors = Mapping[int, Sequence[Collection[int]]]


# --- front matter ---------------------------------------------------------------------------------------


def serve(question: Question, ranked: Sequence[Ranked]) -> tuple[list[Ranked], dict[int, str]]:
    """Give the score of front matter to the first passage of its note; return its text, by note.

    Front matter stays if no passage is below it, or if it alone meets a demand of the question. If the
    question excludes the passage, the front matter goes with it.
    """
    fronts = {item.candidate.id + 1: item for item in ranked if role_of(item.candidate) == FRONT}
    if not fronts or question.request.past:
        return list(ranked), {}
    below = {
        own.id: own
        for own in question.index.passages(sorted(fronts))
        if own.note_id == fronts[own.id].candidate.note_id and own.until is None
    }
    served = question.allowed(below)
    gone = served | (below.keys() - set(question.admitted(below)))
    known = {item.candidate.id: item for item in ranked if item.candidate.id + 1 not in gone}
    for own in served:
        item = known.get(own) or Ranked(below[own], 0.0, {})
        known[own] = adjusted(item, "front matter", max(0.0, fronts[own].score - item.score))
    texts = {below[own].note_id: fronts[own].candidate.text for own in served}
    return sorted(known.values(), key=lambda item: -item.score), texts


def _headed(hit: Hit, front: str, words: Collection[str]) -> Hit:
    """A hit below the keys of front matter that hold one of some words; the title is shown anyway."""
    if not front:
        return hit
    keys: list[list[str]] = []
    for line in front.split("\n")[1:-1]:
        if keys and (line[:1].isspace() or line.startswith("-")):
            keys[-1].append(line)
        else:
            keys.append([line])
    wanted = screen.matcher(words)
    lines = [
        line
        for key in keys
        if screen.matches("\n".join(key), wanted) and not key[0].startswith("title:")
        for line in key
    ]
    return (
        replace(hit, text="\n".join([*lines, "", hit.text]), lead=hit.lead + len(lines) + 1) if lines else hit
    )


# --- entries with a trigger -----------------------------------------------------------------------------


def chosen(ranked: Sequence[Ranked], triggered: Collection[int], today: Callable[[], date]) -> set[int]:
    """Choose which passages whose trigger is in the question are lifted: the best few that still hold."""
    first: set[int] = set()
    room = TRIGGERED_CHARACTERS
    for item in ranked if triggered else ():
        own = item.candidate
        fits = own.id in triggered and len(own.text) <= room and len(first) < TRIGGERED
        if fits and not outdated(said(own), today):
            first.add(own.id)
            room -= len(own.text)
    return first


def put_first(ranked: Sequence[Ranked], first: Collection[int]) -> list[Ranked]:
    """Put the best entry with a trigger among the first three; further ones pass no answer of these.

    A standing instruction on the subject is moved alike, but gains no score, since it accompanies the answer.
    """
    others = [item for item in ranked if item.candidate.id not in first]
    third = others[AMONG - 1].score if len(others) >= AMONG else -math.inf
    lifted = []
    for item in ranked:
        if item.candidate.id in first:
            own = said(item.candidate)
            name, gain = (
                ("trigger", TRIGGER) if "trigger" in own or MATTER not in own else ("instruction", 0.0)
            )
            lifted.append((item.score + gain, name, item))
    lifted.sort(key=lambda row: -row[0])
    ahead: list[Ranked] = []
    for score, name, item in lifted:
        lead = max(item.score, min(score, third)) if ahead else max(score, third)
        ahead.append(adjusted(item, name, lead - item.score))
    return sorted([*ahead[:1], *others, *ahead[1:]], key=lambda item: -item.score)


# --- what is replaced -----------------------------------------------------------------------------------


def superseded(index: Index, ranked: Sequence[Ranked]) -> Successors:
    """Find which candidates are those that another one names as what supersedes it."""
    standing = (item.candidate for item in ranked if item.candidate.until is None)
    named = {own.id: name for own in standing if (name := said(own).get("superseded-by"))}
    places = facts.places(index, set(named.values())) if named else {}
    rows = [(own.id, own.note_id, own.start_line, own.end_line) for own, *_ in ranked]
    return {
        old: [{own for own, *row in rows if own != old and any(place.holds(*row) for place in places[name])}]
        for old, name in named.items()
        if name in places
    }


def settled(ranked: Sequence[Ranked], known: Replaced) -> Successors:
    """Say what replaces each struck passage, now that the scores tell what answers alike."""
    scores = {item.candidate.id: item.score for item in ranked}
    successors = {own: list(places) for own, places in known.surely.items()}
    for own, places in known.perhaps.items():
        least = ANSWERS_ALIKE * scores.get(own, 0.0)
        alike = [{one for one in ids if scores.get(one, -1.0) >= least} for ids in places]
        successors[own] = [*successors.get(own, []), *filter(None, alike)]
    return successors


def linked(ranked: Sequence[Ranked], asked: frozenset[str]) -> Successors:
    """Find what the first candidates that are lists of links lead to, by the rows with words of a question.

    Such a list is no answer itself; the passages of its notes are, if they score enough.
    """
    found: dict[int, list[set[int]]] = {}
    for own, score, *_ in (item for item in ranked[:LISTS] if re.search(r"\]\]|\]\(", item.candidate.text)):
        rows = [row for row in own.text.split("\n") if row.strip() and row[0] != "#"]
        if sum(_ROW.fullmatch(row) is not None for row in rows) < LIST * len(rows):
            continue
        from urllib.parse import unquote

        text = "\n".join(row for row in rows if updates.words(row) & asked)
        ends = tuple(
            f"/{caseless(unquote(link[1] or link[2]).strip().lstrip('./'))}" for link in _LINK.finditer(text)
        )
        near = [other for other, its, *_ in ranked if its >= LINKED * score and other.note_id != own.note_id]
        called = [(other.id, (other.source.title, other.source.path.removesuffix(".md"))) for other in near]
        found[own.id] = [{id_ for id_, of in called if any(caseless(f"/{one}").endswith(ends) for one in of)}]
    return found


def in_order(ranked: Sequence[Ranked], successors: Successors, part: str = "replaces") -> list[Ranked]:
    """Put the best of each place that replaces a passage before it, where all of it stands behind.

    It is lifted rather than the other lowered, which somebody may ask for.
    """
    ordered = list(ranked)
    pairs = [(own, others) for own, places in successors.items() for others in places]
    for _ in pairs:  # a circle of replacements ends as well
        before = list(ordered)
        for own, others in pairs:
            both = [at for at, item in enumerate(ordered) if item.candidate.id in {own, *others}]
            if len(both) > 1 and ordered[both[0]].candidate.id == own:
                item = ordered.pop(both[1])
                gain = max(0.0, ordered[both[0]].score - item.score)
                ordered.insert(both[0], adjusted(item, part, gain))
        if ordered == before:
            break
    return ordered


# --- the same said twice --------------------------------------------------------------------------------


def gather(
    ranked: Iterable[Ranked], limit: int, asked: frozenset[str] = frozenset()
) -> list[tuple[Ranked, Sequence[Ranked]]]:
    """Group passages of which each says what every other does, best group first, until there are `limit`.

    Return of each group the passage to show, with the score of the best, and the others. Of several passages
    of the same lines one is kept. Shown is the newest, a note before a transcript and before a copy that a
    sync program left, and one of the days that the question names before a newer one. Of what is struck and
    what stands neither says the same, as what replaces something may hardly differ from it. `asked` are the
    words of the question.
    """
    groups: list[list[tuple[Ranked, Said]]] = []
    places: set[tuple[int, int, int, bool]] = set()
    for count, item in enumerate(ranked):
        if count >= HEAD * limit and len(groups) >= limit:
            break
        own = item.candidate
        place = own.note_id, own.start_line, own.end_line, own.until is None
        if place in places:
            continue
        places.add(place)
        told = dedupe.read(own.text, own.source.path, own.source.title, own.source.headings)
        for group in groups:
            if (group[0][0].candidate.until is None) is (own.until is None) and all(
                told.repeats(other, asked) for _, other in group
            ):
                group.append((item, told))
                break
        else:
            groups.append([(item, told)])
    return [_shown([item for item, _ in group]) for group in groups]


def _shown(group: Sequence[Ranked]) -> tuple[Ranked, Sequence[Ranked]]:
    paths = {one.candidate.source.path for one in group}

    def age(item: Ranked) -> tuple[bool, bool, float, str, int, int]:
        own, source = item.candidate, item.candidate.source
        is_copy = len(paths) > 1 and bool(conflicts.original(source.path, paths))
        named, day = item.parts.get("date", 0.0), source.date or ""
        return source.kind != TRANSCRIPT, not is_copy, named, day, source.mtime_ns, own.start_line

    newest, *others = sorted(group, key=age, reverse=True)
    gain = max(one.score for one in group) - newest.score
    return adjusted(newest, "said again", gain), others


# --- hits -----------------------------------------------------------------------------------------------


def arrange(
    question: Question,
    ranked: Sequence[Ranked],
    first: Collection[int],
    replaced: Replaced | None,
    outcome: Outcome,
) -> list[Hit]:
    """Return the best hits, one for all passages that say the same.

    `first` are entries with a trigger, `replaced` the replacements of struck text.
    """
    index, settings, request = question.index, question.ranking, question.request
    limit, least = request.limit or 0, request.min_score or -math.inf  # a weak passage may score below 0
    words = updates.words(question.query.words) - question.terms.missing
    if settings.updates and settings.fusion == "calibrated":
        with outcome.timed("updates"):
            ranked = updates.lift(ranked, question.query, question.days)
            ranked = in_order(ranked, linked(ranked, words), "linked")
    with outcome.timed("hits"):
        if request.min_score is None or request.min_score > 0:
            best = max((item.score for item in ranked), default=0.0)
            ranked = [item for item in ranked if not _is_silent(item) or item.score >= best / 2]
        ranked, fronts = serve(question, ranked)
        ranked = put_first(ranked, first)
        said_newer = updates.superseded(ranked, request.today)
        successors = {
            **{old: [{new}] for old, (new, _) in said_newer.items()},
            **superseded(index, ranked),
            **(settled(ranked, replaced) if replaced else {}),
        }
        kept = (item for item in in_order(ranked, successors) if item.score >= least)
        pairs = [
            (own.candidate, _hit(own, request.today, others, said_newer.get(own.candidate.id)))
            for own, others in gather(kept, limit, frozenset(question.query.terms))
        ]
        if request.past or not request.complete:
            return [hit for _, hit in pairs[:limit]]
        hits = completion.complete(question, pairs, limit, words)
        notes = {own.note_id: (own.source.collection, own.source.path) for own, _ in pairs}
        owed = {notes[note]: front for note, front in fronts.items() if note in notes}
        marked = question.query.marked if owed else ()
        hits = [_headed(hit, owed.pop((hit.collection, hit.path), ""), marked) for hit in hits]
        paths = {hit.path for hit in hits}
        copies = conflicts.copies(paths, lambda path: "\n".join(h.text for h in hits if h.path == path))
        return sorted(hits, key=lambda hit: copies.get(hit.path) in paths) if copies else hits


def listed(
    kept: Sequence[Ranked], now: date | None = None, naming: Mapping[int, Span] | None = None
) -> Iterator[Hit]:
    """Yield every passage as a hit of its own; of one that names a day it is labelled with that."""
    for item in kept:
        hit = _hit(item, now)
        if naming and (span := naming.get(item.candidate.id)):
            from commonplace.search import coming

            labels = (*hit.labels, f"names {span.written}")
            hit = completion.item(replace(hit, labels=labels), partial(coming.holds, span.text))
        yield hit


def _is_silent(item: Ranked) -> bool:
    """Return whether a candidate is a note without text or a word of the question."""
    return item.parts.get("words", 0.0) <= 0 and role_of(item.candidate) == BARE


def _hit(
    ranked: Ranked,
    now: date | None,
    others: Sequence[Ranked] = (),
    newer: tuple[int, str] | None = None,
) -> Hit:
    def today() -> date:
        from datetime import date  # only labels need it, and a search from the shell starts without

        return now or date.today()

    candidate, source, weights = ranked.candidate, ranked.candidate.source, fitted()
    own, score = said(candidate), min(1.0, max(0.0, ranked.score))
    parts = {**ranked.parts, "cap": score - ranked.score}  # so that the factors add up to what is shown
    factors = (
        Factor(name, value, f"{value / weights[name]:.2f} x {weights[name]:g}" if weights.get(name) else "")
        for name, value in parts.items()
        if abs(value) >= SHOWN
    )
    places = (
        Place(references.shown(at.collection, at.path), one.start_line, one.end_line, at.date)
        for one, at in ((other.candidate, other.candidate.source) for other in others)
    )
    return Hit(
        source.path, candidate.start_line, candidate.end_line, candidate.text, score, source.title,
        source.headings, source.date, source.collection, source.docid, factors=tuple(factors),
        labels=(*(labels(own, today) if own else ()), *([f"newer {newer[1]}".rstrip()] if newer else [])),
        others=tuple(places), until=candidate.until or None,
    )  # fmt: skip
