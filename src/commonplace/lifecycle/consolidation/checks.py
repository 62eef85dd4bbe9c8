"""Which operations of a plan may be carried out, and why the others may not: pure, and without a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from commonplace.lifecycle import prose
from commonplace.lifecycle.consolidation import durable, plan, sameness, succession, support, words
from commonplace.lifecycle.consolidation.candidates import Candidate
from commonplace.lifecycle.consolidation.plan import Operation
from commonplace.lifecycle.consolidation.standing import Entry, Page
from commonplace.notes.redact import MARK, redact, strip_private
from commonplace.revision import contradictions

LONGEST = 300  # characters of an entry
_PLANTED = "is said by an agent alone that read what strangers write, on one day"
SHARE = 4  # one of so many earlier entries may be touched
_ADDRESS = re.compile(r"\b[a-z]+://[^\s<>]+", re.IGNORECASE)  # a question mark in it asks nothing
_COMMENT = re.compile(r"<!--|-->|<!")
_LEAD = re.compile(
    r"(?:#{1,6}(?:\s|$)|[-*+](?:\s|$)|\d{1,9}[.)](?:\s|$)|>|\||\[[ xX]\]|```|~~~|(?:[-*_=]\s*){3,}$"
    r"|\d\d:\d\d \S)"
)
_MARKS = ("**", "__", "`", "](", "![", "[[", "<", ">", "|", "~~", "http:", "https:", "www.", "@", "\\", "$$")


@dataclass(frozen=True, slots=True)
class Rejection:
    """An operation that is not carried out, and why."""

    operation: Operation
    reason: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """An operation that is carried out, and what its labels stand for; `section` as it is to be written."""

    operation: Operation
    sources: tuple[Candidate, ...] = ()
    targets: tuple[Entry, ...] = ()
    section: str = ""


@dataclass(slots=True)
class Checked:
    """The outcome of all checks, in the order of the plan."""

    accepted: list[Accepted] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ground:
    """What operations are checked against: the entries, the sources by label, and what the archive holds."""

    page: Page
    targets: Mapping[str, Entry]
    sources: Mapping[str, Candidate]
    archived: Sequence[Entry]
    today: date
    language: prose.Language


def check(operations: Sequence[Operation], ground: Ground) -> Checked:
    """Check operations against what stands there now."""
    done = Checked()
    touched: set[int] = set()
    left = len(ground.page.labelled) // SHARE
    standing = list(ground.page.labelled)
    for number, operation in enumerate(operations):
        if operation.op == "keep":
            continue
        accepted, reason = _checked(operation, ground, touched, standing, number)
        if accepted and len(accepted.targets) > left:
            accepted, reason = None, "touches more than a quarter of the entries"
        if accepted is None:
            done.rejected.append(Rejection(operation, reason))
            continue
        done.accepted.append(accepted)
        left -= len(accepted.targets)
        touched |= {target.statement.first for target in accepted.targets}
        standing = [e for e in standing if e.statement.first not in touched]
        standing += [Entry("", t.statement, operation.text, accepted.section) for t in accepted.targets[:1]]
        standing += [Entry("", c.statement, operation.text, accepted.section) for c in accepted.sources[:1]]
    return done


def ordered(operations: Sequence[Operation], sources: Mapping[str, Candidate]) -> list[Operation]:
    """The best supported first: they are the ones that a limit keeps."""

    def worth(operation: Operation) -> tuple[int, str]:
        known = [sources[label] for label in operation.sources if label in sources]
        return len(known), max((candidate.day.isoformat() for candidate in known), default="")

    touching = sorted((o for o in operations if o.op in plan.TOUCHING), key=worth, reverse=True)
    return [*touching, *(o for o in operations if o.op not in plan.TOUCHING)]


def _checked(
    operation: Operation, ground: Ground, touched: set[int], standing: Sequence[Entry], number: int
) -> tuple[Accepted | None, str]:
    if number >= plan.MOST_OPERATIONS:
        return None, "is beyond the most operations of a plan"
    found, reason = _looked_up(operation, ground, touched)
    if found is None:
        return None, reason
    reason = {"add": _added, "merge": _merged, "supersede": _superseded, "expire": _expired}[operation.op](
        found, ground
    )
    if not reason and operation.op != "expire":
        reason = faults(operation.text, found) or _repeated(found, ground, standing)
    return (None, reason) if reason else (found, "")


def _looked_up(operation: Operation, ground: Ground, touched: set[int]) -> tuple[Accepted | None, str]:
    """Find what the labels stand for."""
    for label in operation.sources:
        if label not in ground.sources:
            return None, f"no such source: {label[:80]}"
    for label in operation.targets:
        entry = ground.targets.get(label)
        if entry is None:
            return None, f"no such entry: {label[:80]}"
        if not entry.may_be_touched:
            return None, f"{label} {entry.kept}"
        if entry.statement.first in touched:
            return None, f"{label} is touched already"
    sources = tuple(ground.sources[label] for label in operation.sources)
    targets = tuple(ground.targets[label] for label in operation.targets)
    return Accepted(operation, sources, targets, targets[0].section if targets else ""), ""


def _added(found: Accepted, ground: Ground) -> str:
    if found.targets:
        return "adds and names entries"
    if not found.sources:
        return "names no source"
    wanted = found.operation.section or plan.SECTIONS[ground.language][found.sources[0].kind]
    there = {title.casefold(): title for title in ground.page.sections}
    allowed = {title.casefold(): title for named in plan.SECTIONS.values() for title in named.values()}
    title = there.get(wanted.casefold(), "")
    if title and title in ground.page.pinned:
        return f"section {title[:60]} is pinned"
    section = ground.page.sections[title] if title else allowed.get(wanted.casefold(), "")
    if not section:
        return f"no such section: {wanted[:60]}"
    object.__setattr__(found, "section", section)
    return _unsupported(found, ground)


def _unsupported(found: Accepted, ground: Ground) -> str:
    reason = support.missing(found.operation.text, [(c.text, c.day) for c in found.sources])
    return f"not supported: {reason}" if reason else _unwitnessed(found, ground)


def _unwitnessed(found: Accepted, ground: Ground) -> str:
    """Why what strangers may have planted with an agent is not kept yet: nobody else, no second day says it.

    No list of words tells it from a fact; the owner, a session that read no stranger's words, or a second day
    does.
    """
    if not any(source.exposed for source in found.sources):
        return ""
    others: list[support.Source] = [(c.text, c.day) for c in ground.sources.values() if not c.exposed]
    others += [(target.text, ground.today) for target in found.targets if found.operation.op == "merge"]
    exposed = [c for c in ground.sources.values() if c.exposed]
    text = found.operation.text
    if others and not support.missing(text, others):
        return ""
    saying = [c for c in exposed if not support.missing(text, [*others, (c.text, c.day)])]
    return "" if _are_two(saying) else _PLANTED


def _are_two(exposed: Sequence[Candidate]) -> bool:
    """Whether what strangers may have planted is of two days, and of two sessions where they have names."""
    said = {(one.day, one.statement.said.get("session", "")) for one in exposed}
    return any(day < later and (not name or name != other) for day, name in said for later, other in said)


def _superseded(found: Accepted, ground: Ground) -> str:
    if len(found.targets) != 1:
        return "replaces exactly one entry"
    if not found.sources:
        return "names no source"
    target = found.targets[0]
    if max(c.day for c in found.sources).isoformat() < target.since:
        return "is older than what it replaces"
    if sameness.says(found.operation.text, target.text) and sameness.says(target.text, found.operation.text):
        return "says what it replaces"
    if not succession.replaces(found.operation.text, target.text):
        return "is about something else than what it replaces"
    return _unsupported(found, ground)


def _expired(found: Accepted, ground: Ground) -> str:
    if len(found.targets) != 1:
        return "ends exactly one entry"
    target = found.targets[0]
    if target.statement.said.get("valid-until", "9999-12-31") < ground.today.isoformat():
        return ""
    if found.operation.reason == OVER and is_long_over(target, ground.today):
        return ""

    def ends(source: Candidate) -> bool:
        return durable.ends(source.text) and succession.ends(source.text, target.text)

    if not any(map(ends, found.sources)):
        return "no source says that it is over"
    saying = [source for source in ground.sources.values() if ends(source)]
    return "" if _are_two(saying) or not all(source.exposed for source in saying) else _PLANTED


OVER = "a dated plan that is long over"
_OVER_DAYS = 30


def is_long_over(entry: Entry, today: date) -> bool:
    """Whether an entry is a plan for days that are all a month ago or more."""
    from commonplace.search import dates

    # What else it says may hold, whenever its appointment was.
    if not durable.plans(entry.text) or len(prose.sentences(entry.text)) > 1:
        return False
    since = date.fromisoformat(entry.since) if entry.since else None
    spans = [s for s in dates.spans(entry.text, since or today) if any(c.isdigit() for c in s.text)]
    told = all(not span.relative for span in spans)  # one without a year may come again
    return bool(spans) and told and all((today - span.last).days >= _OVER_DAYS for span in spans)


def _merged(found: Accepted, ground: Ground) -> str:
    if len(found.targets) < 2:
        return "merges fewer than two entries"
    said = {token.key for s in words.read(found.operation.text, ground.today) for token in s.tokens}
    for target in found.targets:
        lost = [t.key for s in words.read(target.text, ground.today) for t in s.tokens if t.key not in said]
        if lost:
            return f"loses what {target.label} says: {' '.join(lost[:3])}"
    told: list[support.Source] = [(c.text, c.day) for c in found.sources]
    told += [(target.text, ground.today) for target in found.targets]
    reason = support.missing(found.operation.text, told)
    return f"not supported: {reason}" if reason else _unwitnessed(found, ground)


# --- the words ----------------------------------------------------------------------------------------------


def faults(text: str, found: Accepted) -> str:
    """Why a text may not stand in MEMORY.md, whatever it says; empty where it may."""
    return _form(text) or _strange_marks(text, found) or _content(text)


def _form(text: str) -> str:
    """What is wrong with the form of a text: it is to be one plain line."""
    if not text or len(text) > LONGEST:
        return f"longer than {LONGEST} characters" if text else "says nothing"
    if "\n" in text or len(text.splitlines()) > 1:
        return "has more than one line"
    if _COMMENT.search(text):
        return "holds a comment"
    return "begins as Markdown does" if _LEAD.match(text) else ""


def _strange_marks(text: str, found: Accepted) -> str:
    """The first mark in a text that neither a source nor a target has."""
    known = [c.text for c in found.sources] + [target.text for target in found.targets]
    mark = next((m for m in _MARKS if m in text and not any(m in told for told in known)), "")
    return f"holds {mark}, which no source has" if mark else ""


def _content(text: str) -> str:
    """What is wrong with what a text says."""
    if "~~" in text or redact(text)[0] != text or strip_private(text) != text or MARK in text:
        return "holds what must not be kept"
    if durable.instructs(text):
        return "speaks to a model"
    if text.endswith(("?", "？")) or any(one.asks for one in words.read(_ADDRESS.sub("", text))):
        return "asks"
    return "says when only as seen from its day" if words.is_relative(text) else ""


def _repeated(found: Accepted, ground: Ground, standing: Sequence[Entry]) -> str:
    """Why a text says nothing new: an entry, another operation, what was struck or archived says it."""
    own = {target.statement.first for target in found.targets}
    others = [e for e in standing if not (e.label and e.statement.first in own)]
    return (
        _said_already(found.operation.text, others)
        or _gone(found, ground, own)
        or (_displaced(found.operation.text, others) if found.operation.op == "add" else "")
        or ("" if found.operation.op == "merge" else _contradicting(found.operation.text, others))
    )


def _said_already(text: str, others: Sequence[Entry]) -> str:
    for entry in others:
        if sameness.says(entry.text, text):
            return f"is said already{f' by {entry.label}' if entry.label else ' by another operation'}"
    return ""


def _gone(found: Accepted, ground: Ground, own: set[int]) -> str:
    """Whether a text was struck or archived, and no source says so anew."""
    newest = max((source.day for source in found.sources), default=None)

    def says(entry: Entry) -> bool:
        return not _holds_again(entry, newest) and sameness.says(entry.text, found.operation.text)

    struck = (e for e in ground.page.entries if e.statement.struck and e.statement.first not in own)
    if any(map(says, struck)):
        return "was struck in MEMORY.md"
    return "stands in the archive" if any(map(says, ground.archived)) else ""


def _holds_again(entry: Entry, day: date | None) -> bool:
    """Whether a source of a day is newer than the striking of an entry: people change their mind twice."""
    until = entry.statement.said.get("until", "") if entry.statement.struck else ""
    return day is not None and "" < until < day.isoformat()


def _displaced(text: str, others: Sequence[Entry]) -> str:
    """Why a text may not stand beside an entry: one of the two would be wrong."""
    for entry in others:
        if not entry.label or sameness.says(text, entry.text):
            continue
        if succession.replaces(text, entry.text):
            kept = entry.kept
            return (
                f"contradicts {entry.label}, which {kept}"
                if kept
                else (f"takes the place of {entry.label}: supersede it")
            )
    return ""


def _contradicting(text: str, others: Sequence[Entry]) -> str:
    against = [entry.statement for entry in others if entry.label]
    return "contradicts an entry that it does not replace" if contradictions.between(text, against) else ""
