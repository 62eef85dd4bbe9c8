"""Check the operations of a plan, with a reason for each refusal: pure, over a model's verdicts.

Values, names and negations are compared here (`evidence`); whether a source says a statement is a verdict of
`verify`. Without a verdict only whole sentences that open their source are accepted.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from itertools import islice
from typing import Literal
from unicodedata import category

from commonplace.base.messages import message
from commonplace.language import compare, lexicon, rules
from commonplace.markdown import comments, metadata
from commonplace.markdown.references import parse_reference
from commonplace.redaction.redact import MARK, redact, strip_private
from commonplace.upkeep import prose
from commonplace.upkeep.consolidation import evidence, plan
from commonplace.upkeep.consolidation.evidence import Said
from commonplace.upkeep.consolidation.page import MemoryEntry, Page
from commonplace.upkeep.consolidation.plan import Operation
from commonplace.upkeep.consolidation.sources import Source
from commonplace.upkeep.consolidation.verify import Question, Verdict

LONGEST = 300  # characters of an entry
SHARE = 4  # one of so many earlier entries may be touched
BAD, WORST = 20, 4  # refused operations from which on a plan may be a bad one; for each that is accepted
_DOUBTS = frozenset(("possible", "said", "if", "unless", "intended", "nearly", "asks"))
_TO_COME, _DENIED = frozenset(("future", "necessary", "able")), frozenset(("not", "failed"))
# The number of entries that an operation names, and the reason for refusing any other number.
_TARGETS = {
    "add": (range(1), "adds and names entries"),
    "merge": (range(2, sys.maxsize), "merges fewer than two entries"),
    "supersede": (range(1, 2), "replaces exactly one entry"),
    "expire": (range(1, 2), "ends exactly one entry"),
    "conflict": (range(1, 2), "names exactly one entry"),
}
# The kind of a question about an entry, and the reason for refusing the operation after a no.
_ABOUT: Mapping[str, tuple[Literal["ended", "conflict"], str]] = {
    "expire": ("ended", "no source says that it is over"),
    "conflict": ("conflict", "does not contradict it"),
}
PLANTED = message("refused.planted", "is said by an agent alone that read what strangers write, on one day")
_LEAD = re.compile(
    r"(?:#{1,6}(?:\s|$)|[-*+](?:\s|$)|\d{1,9}[.)](?:\s|$)|>|\||\[[ xX]\]|```|~~~|(?:[-*_=]\s*){3,}$"
    r"|\d\d:\d\d \S)"
)
_HIDDEN = frozenset(("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"))  # Unicode categories
_PUNCTUATION = frozenset("，。、；：？！（）【】《》「」『』“”‘’…–—·•￥€£°±×≤≥≠→")
_MARKS = ("**", "__", "`", "](", "![", "[[", "<", ">", "|", "~~", "http:", "https:", "www.", "@", "\\", "$$")


@dataclass(frozen=True, slots=True)
class Rejection:
    """An operation that is not carried out, and why."""

    operation: Operation
    reason: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted operation, with its labels resolved.

    `text` and `section` are as they are to be written; `until` is the last day that matters, if any.
    """

    operation: Operation
    sources: tuple[Source, ...] = ()
    targets: tuple[MemoryEntry, ...] = ()
    section: str = ""
    text: str = ""
    until: str = ""


@dataclass(slots=True)
class Checked:
    """The outcome of all checks, in the order of the plan; `questions` are what a model has to verify."""

    accepted: list[Accepted] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ground:
    """The data that operations are checked against: entries, sources by label, the archive's entries.

    `verdicts` are the model's; None before it gave any: then each question counts as a yes.
    """

    page: Page
    targets: Mapping[str, MemoryEntry]
    sources: Mapping[str, Source]
    archived: Sequence[MemoryEntry]
    today: date
    language: prose.Language
    verdicts: Mapping[Question, Verdict] | None = None


class _Refused(Exception):
    pass


@dataclass(slots=True)
class _Standing:
    """The state while operations are accepted one by one; `left`: how many more entries may be touched."""

    entries: list[MemoryEntry]
    left: int
    touched: set[int] = field(default_factory=set)

    def carry_out(self, item: Accepted) -> None:
        """Apply an operation, so that the checks of the next ones see its effect."""
        self.left -= len(item.targets)
        self.touched |= {target.statement.first for target in item.targets}
        self.entries = [e for e in self.entries if not (e.label and e.statement.first in self.touched)]
        if item.text:
            first = item.targets[0] if item.targets else item.sources[0]
            self.entries.append(MemoryEntry("", first.statement, item.text, item.section))


def check(operations: Sequence[Operation], ground: Ground) -> Checked:
    """Check operations against the present page, the best supported first: a limit keeps them."""
    done = Checked()
    entries = list(ground.page.labelled)
    # Before the model gave verdicts all entries may be touched.
    standing = _Standing(entries, len(entries) // (1 if ground.verdicts is None else SHARE))
    for number, operation in enumerate(_ordered(operations, ground)):
        try:
            if number >= plan.MOST_OPERATIONS:
                raise _Refused(message("refused.most", "is beyond the most operations of a plan"))
            item = _checked(operation, ground, standing, done.questions)
            if operation.op != "conflict" and len(item.targets) > standing.left:
                raise _Refused(message("refused.quarter", "touches more than a quarter of the entries"))
        except _Refused as refused:
            done.rejected.append(Rejection(operation, refused.args[0]))
            continue
        done.accepted.append(item)
        if operation.op != "conflict":
            standing.carry_out(item)
    if len(done.rejected) >= BAD and len(done.rejected) > WORST * len(done.accepted):
        reason = "belongs to a plan that is refused for the most part"
        done.rejected += [Rejection(item.operation, reason) for item in done.accepted]
        done.accepted, done.questions = [], []
    return done


def _ordered(operations: Sequence[Operation], ground: Ground) -> list[Operation]:
    """The operations that touch entries by the number of their sources, and then the others."""

    def worth(operation: Operation) -> tuple[bool, int]:
        known = [label for label in operation.sources if label in ground.sources]
        return operation.op in plan.TOUCHING, len(known) * (operation.op in plan.TOUCHING)

    return sorted((one for one in operations if one.op != "keep"), key=worth, reverse=True)


def _checked(operation: Operation, ground: Ground, standing: _Standing, asked: list[Question]) -> Accepted:
    """Carry an operation through all checks; raise the reason of the first that it does not pass."""
    op = operation.op
    sources, targets = _looked_up(operation, ground, standing.touched)
    item = Accepted(operation, sources, targets, targets[0].section if targets else "", operation.text)
    count, reason = _TARGETS[op]
    if len(targets) not in count:
        raise _Refused(reason)
    # An entry ends by itself where the last day that it names has passed.
    if op == "expire" and plan.is_over(targets[0], ground.today):
        return item
    if op != "merge" and not sources:
        raise _Refused(message("refused.no_source", "names no source"))
    if op in _ABOUT:
        return _about_an_entry(item, ground, asked)
    if op == "add":
        item = replace(item, section=_section(item, ground))
    return _stated(item, ground, standing.entries, asked)


def _looked_up(
    operation: Operation, ground: Ground, touched: set[int]
) -> tuple[tuple[Source, ...], tuple[MemoryEntry, ...]]:
    """The sources and entries that the labels of an operation name, which it may touch."""
    for label in operation.sources:
        if label not in ground.sources:
            raise _Refused(message("refused.source", "no such source: {label}", label=label[:80]))
    for label in operation.targets:
        if label not in ground.targets:
            raise _Refused(message("refused.entry", "no such entry: {label}", label=label[:80]))
        entry = ground.targets[label]
        if operation.op != "conflict" and not entry.may_be_touched:
            raise _Refused(f"{label} {entry.kept}")
        if entry.statement.first in touched:
            raise _Refused(message("refused.touched", "{label} is touched already", label=label))
    sources = tuple(ground.sources[label] for label in operation.sources)
    return sources, tuple(ground.targets[label] for label in operation.targets)


def _section(item: Accepted, ground: Ground) -> str:
    """The section that an entry is added to, as the file writes it."""
    named = item.operation.section or plan.FACTS[ground.language]
    there = {title.casefold(): title for title in ground.page.sections}
    allowed = {title.casefold(): title for titles in plan.SECTIONS.values() for title in titles}
    title = there.get(named.casefold(), "")
    if title in ground.page.pinned:
        raise _Refused(message("refused.pinned", "section {title} is pinned", title=title[:60]))
    section = ground.page.sections[title] if title else allowed.get(named.casefold(), "")
    if not section:
        raise _Refused(message("refused.section", "no such section: {title}", title=named[:60]))
    return section


def _subject(text: str) -> str:
    """The first word of a text that carries meaning, without its ending; of CJK two characters."""
    tokens = [token for token in compare.read(text).tokens if compare.content([token])]
    if tokens and compare.is_wide(tokens[0]):
        return "".join(tokens[:2])
    return lexicon.stem(tokens[0].removesuffix("'s")) if tokens else ""


def _shared(texts: Iterable[str], entry: str) -> float:
    """Return the share of an entry's words that texts have, 0..1; 0 without its subject."""
    own, known = prose.terms(entry), frozenset[str]().union(*map(prose.terms, texts))
    return len(own & known) / len(own) if _subject(entry) in known and own else 0.0


def _about_an_entry(item: Accepted, ground: Ground, asked: list[Question]) -> Accepted:
    """Check the end of an entry, or a contradiction: a source is about it, and a model agrees."""
    (target,) = item.targets
    kind, reason = _ABOUT[item.operation.op]
    saying = [
        source
        for source in ground.sources.values()
        if _shared([source.text, *source.headings], target.text) >= 1 / 2
    ]
    if not any(source in saying for source in item.sources):
        raise _Refused(message("refused.unspoken", "no source speaks of it"))
    if kind == "ended":
        _check_end(item, saying, ground.today)
    said = tuple(source.said for source in item.sources)
    verdict = _verdict(Question(target.text, said, target.text, kind), ground, asked)
    if verdict is None or not verdict.says:
        raise _Refused(f"{reason} (not verified)" if verdict is None else reason)
    return replace(item, text="")


def _check_end(item: Accepted, saying: Sequence[Source], today: date) -> None:
    """Refuse to end an entry by text that strangers may have planted, or that names no end."""
    (target,) = item.targets
    if all(source.exposed for source in saying) and not _are_two(saying):
        raise _Refused(PLANTED)
    if _is_older(item.sources, target):
        raise _Refused(message("refused.older_end", "is older than what it ends"))
    if not any(_has_end(source.text, today) for source in item.sources):
        raise _Refused(
            message(
                "refused.not_over", "no source says that it is over: by what happened, of a day that has come"
            )
        )


def _has_end(text: str, day: date) -> bool:
    """Tell whether a sentence denies something or names an end, without doubt and of no day to come."""
    for sentence in prose.sentences(text):
        found = evidence.facts(sentence, day)
        is_later = min((first for first, _ in found.days), default=day) > day
        if found.turns & (_DOUBTS | _TO_COME) or is_later:
            continue
        if found.turns & _DENIED or rules.holds(sentence, "over"):
            return True
    return False


def _verdict(question: Question, ground: Ground, asked: list[Question]) -> Verdict | None:
    """Return the model's verdict; before it gave any, note the question and return a yes."""
    if ground.verdicts is not None:
        return ground.verdicts.get(question)
    asked.append(question)
    return Verdict(True)


# --- the text of an entry -----------------------------------------------------------------------------------


def _stated(
    item: Accepted, ground: Ground, standing: Sequence[MemoryEntry], asked: list[Question]
) -> Accepted:
    """Check a text for MEMORY.md, and write its days in full."""
    said = tuple(source.said for source in item.sources)
    is_whole = any(evidence.opens(item.text, one) for one in said)
    if item.operation.op == "merge":
        said += tuple(Said(target.text, None, (target.section,)) for target in item.targets)
        is_whole = is_whole or _is_kept(item.text, item.targets)
        _check_kept(item, ground, asked)
    else:
        if item.operation.op == "supersede":
            _check_replaced(item)
        item = replace(item, text=evidence.resolved(item.text, item.sources[0].day))
    if fault := faults(item.text, said):
        raise _Refused(fault)
    if reason := evidence.missing(item.text, said):
        raise _Refused(message("refused.unsupported", "not supported: {reason}", reason=reason))
    if any(source.exposed for source in item.sources):
        _check_witnessed(item, ground)
    _check_new(item, ground, standing)
    return _verified(item, said, ground, asked, is_whole=is_whole)


def _verified(
    item: Accepted, said: tuple[Said, ...], ground: Ground, asked: list[Question], *, is_whole: bool
) -> Accepted:
    """Check a text by the model's verdict, and note its last day where the model says that it ends."""
    op, targets = item.operation.op, item.operation.targets
    question = Question(item.text, said)
    if op == "supersede":
        question = Question(item.text, said, item.targets[0].text, "replaced")
    verdict = _verdict(question, ground, asked)
    if verdict is None:
        if not is_whole or op == "supersede":
            raise _Refused("was not verified")
        return item
    if not verdict.says:
        raise _Refused("not supported: the model that verified it does not find it in the source")
    if not verdict.alone:
        raise _Refused(
            "does not say by itself who or what it is about; name it in the sentence, or leave it out"
        )
    if op == "add" and verdict.repeats and verdict.repeats not in targets:
        raise _Refused(f"is said already by {verdict.repeats[:20]}, in other words")
    if not item.sources or not verdict.ends:
        return item
    return replace(item, until=evidence.last_day(item.text, max(source.day for source in item.sources)))


def _check_replaced(item: Accepted) -> None:
    """Refuse to replace an entry by text that is older, the same, doubtful, or about something else."""
    (target,) = item.targets
    if _is_older(item.sources, target):
        raise _Refused(message("refused.older", "is older than what it replaces"))
    if evidence.says(item.text, target.text) and evidence.says(target.text, item.text):
        raise _Refused(message("refused.same", "says what it replaces"))
    shared = _shared([item.text, *(source.text for source in item.sources)], target.text)
    if not shared or (shared <= 1 / 3 and not _has_end(item.text, max(one.day for one in item.sources))):
        raise _Refused(message("refused.other", "is about something else than what it replaces"))
    doubts = _DOUBTS & (evidence.facts(item.text).turns - evidence.facts(target.text).turns)
    if doubts:
        raise _Refused(f"leaves open what it replaces ({min(doubts)})")


def _is_older(sources: Sequence[Source], target: MemoryEntry) -> bool:
    """Return True if no source is later than an entry: by the day, and within a note by the line."""
    known = [parse_reference(label) for label in comments.sources(target.statement.said)]
    last = max((one.first for one in known if metadata.date_of(one.path) == target.since), default=0)
    newest = max((source.day.isoformat(), source.statement.first) for source in sources)
    return newest <= (target.since, last)


def _check_kept(item: Accepted, ground: Ground, asked: list[Question]) -> None:
    """Refuse a merge that loses facts of its entries; a verdict covers text in other words."""
    text, kept = evidence.facts(item.text), compare.read(item.text)
    for target in item.targets:
        own = evidence.facts(target.text)
        lost = sorted(own.names - text.words) + sorted(value for _, value in own.values - text.values)
        if lost := lost or sorted(own.turns ^ text.turns):
            raise _Refused(f"loses what {target.label} says: {' '.join(lost[:3])}")
        if compare.same(kept, compare.read(target.text)) or _is_kept(target.text, [item]):
            continue
        verdict = _verdict(Question(target.text, (Said(item.text, None),)), ground, asked)
        if verdict is None or not verdict.says:
            raise _Refused(message("refused.loses", "loses what {label} says", label=target.label))


def _is_kept(text: str, others: Iterable[MemoryEntry | Accepted]) -> bool:
    """Tell whether every sentence of a text is a sentence of one of the others."""
    known = {one for other in others for one in evidence.whole_sentences(other.text)}
    return known.issuperset(evidence.whole_sentences(text))


def _check_witnessed(item: Accepted, ground: Ground) -> None:
    """Refuse what strangers may have planted with an agent, until somebody else or a second day says it.

    No words tell it from a fact; the owner, a session that read no stranger's words, or a second day does.
    """

    def is_said(said: Sequence[Said]) -> bool:
        return not evidence.missing(item.text, said, share=1)

    others = [source.said for source in ground.sources.values() if not source.exposed]
    if item.operation.op == "merge":
        others += [Said(target.text, ground.today) for target in item.targets]
    exposed = [source for source in ground.sources.values() if source.exposed]
    if not is_said(others) and not _are_two([one for one in exposed if is_said([*others, one.said])]):
        raise _Refused(PLANTED)


def _are_two(exposed: Sequence[Source]) -> bool:
    """Tell whether exposed sources are of two days, and of two sessions where these have names."""
    said = {(one.day, one.statement.said.get("session", "")) for one in exposed}
    return any(day < later and (not name or name != other) for day, name in said for later, other in said)


def _check_new(item: Accepted, ground: Ground, standing: Sequence[MemoryEntry]) -> None:
    """Refuse text that an entry, another operation, or a struck or archived line has already."""
    text = item.text
    own = {target.statement.first for target in item.targets}
    others = [e for e in standing if not e.label or e.statement.first not in own]
    for entry in others:
        if evidence.says(entry.text, text) or _is_led_in(text, entry.text):
            by = entry.label or message("refused.another", "another operation")
            raise _Refused(message("refused.said", "is said already by {by}", by=by))
    _check_gone(item, ground, own)
    if item.operation.op == "add":
        _check_values(text, others)


def _is_led_in(text: str, entry: str) -> bool:
    """Tell whether a text is an entry and a word more ("As noted, …") that names nothing."""
    more = prose.terms(text) - prose.terms(entry)
    names = evidence.facts(text).names == evidence.facts(entry).names
    return len(more) <= 1 and names and evidence.says(text, entry)


def _check_gone(item: Accepted, ground: Ground, own: set[int]) -> None:
    """Refuse what was struck or archived, but for the entries that are touched themselves."""
    newest = max((source.day.isoformat() for source in item.sources), default="")
    for entry in ground.page.entries:
        is_other = entry.statement.struck and entry.statement.first not in own
        if is_other and _is_gone(entry, item.text, newest):
            raise _Refused(message("refused.struck", "was struck in MEMORY.md"))
    if any(_is_gone(entry, item.text, newest) for entry in ground.archived):
        raise _Refused(message("refused.archived", "stands in the archive"))


def _is_gone(entry: MemoryEntry, text: str, newest: str) -> bool:
    """Tell whether a struck or archived entry says a text, and no source is newer than its end."""
    until = entry.statement.said.get("until", "") if entry.statement.struck else ""
    return not "" < until < newest and evidence.says(entry.text, text)


def _check_values(text: str, entries: Iterable[MemoryEntry]) -> None:
    """Refuse to add the words of an entry with another number or day: one of the two would be wrong."""
    mine = evidence.facts(text)
    for entry in entries if mine.measured else ():
        theirs = evidence.facts(entry.text)
        differs = entry.label and theirs.measured and mine.measured != theirs.measured
        if differs and prose.terms(mine.rest) == prose.terms(theirs.rest):
            by_hand = f"contradicts {entry.label}, which {entry.kept}"
            raise _Refused(by_hand if entry.kept else f"takes the place of {entry.label}: supersede it")


# --- characters and marks -----------------------------------------------------------------------------------


@cache
def _instructions() -> re.Pattern[str]:
    """Matches instructions to a model, in any language."""
    tables = (rules.load(name)["instructions"]["patterns"] for name in rules.LANGUAGES)
    return re.compile("|".join(pattern for patterns in tables for pattern in patterns), re.IGNORECASE)


def _is_private(text: str) -> bool:
    """Tell whether a text has secrets, private parts, or the marks of such."""
    return "~~" in text or MARK in text or strip_private(redact(text)[0]) != text


def _asks(text: str) -> bool:
    """Tell whether a text has a question; a question mark in an address does not count."""
    return any(word.endswith(("?", "？")) or "？" in word for word in text.split() if "://" not in word)


# The reasons why a text may not be written to MEMORY.md, whatever its source.
_FAULTS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("says nothing", lambda text: not text),
    (f"longer than {LONGEST} characters", lambda text: len(text) > LONGEST),
    ("has more than one line", lambda text: len(text.splitlines()) > 1),
    ("holds a comment", lambda text: "<!" in text or "-->" in text),
    ("begins as Markdown does", lambda text: _LEAD.match(text) is not None),
    ("holds what must not be kept", _is_private),
    ("speaks to a model", lambda text: _instructions().search(text) is not None),
    ("asks", _asks),
    ("holds hidden characters", lambda text: any(category(one) in _HIDDEN for one in text)),
)


def faults(text: str, said: Sequence[Said]) -> str:
    """Return why a text may not be written to MEMORY.md; empty where it may."""
    if reason := next((reason for reason, holds in _FAULTS if holds(text)), ""):
        return reason
    known = "\0".join("\0".join((one.text, *one.headings, one.speaker)) for one in said)
    if mark := next((mark for mark in _MARKS if mark in text and mark not in known), ""):
        return f"holds {mark}, which no source has"
    strange = (c for c in text if not (c.isascii() or compare.is_wide(c) or c in known or c in _PUNCTUATION))
    return "".join(f"holds a character that no source has: {c}" for c in islice(strange, 1))
