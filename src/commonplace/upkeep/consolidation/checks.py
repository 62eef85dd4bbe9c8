"""Which operations of a plan may be carried out, and why the others may not: pure, over a model's verdicts.

What is true in every language is checked here. Whether a source says a statement is a verdict of `verify`;
where that is missing, only a sentence of the source itself gets in.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from typing import Literal

from commonplace.base.messages import message
from commonplace.language import lexicon, reading, rules
from commonplace.markdown import comments
from commonplace.markdown.references import parse_reference
from commonplace.redaction.redact import MARK, redact, strip_private
from commonplace.upkeep import prose
from commonplace.upkeep.consolidation import grounding, plan
from commonplace.upkeep.consolidation.alignment import Said
from commonplace.upkeep.consolidation.page import Entry, Page
from commonplace.upkeep.consolidation.plan import Operation
from commonplace.upkeep.consolidation.sources import Source
from commonplace.upkeep.consolidation.verify import Question, Verdict

LONGEST = 300  # characters of an entry
SHARE = 4  # one of so many earlier entries may be touched
LEANING, SHORT = 12.0, 4.0  # words below which a line may lean on its heading, and below which it does
# How many entries an operation names, and what is wrong with one that names others.
_TARGETS = {
    "add": (range(1), "adds and names entries"),
    "merge": (range(2, sys.maxsize), "merges fewer than two entries"),
    "supersede": (range(1, 2), "replaces exactly one entry"),
    "expire": (range(1, 2), "ends exactly one entry"),
    "conflict": (range(1, 2), "names exactly one entry"),
}
# What a model verifies of an operation about an entry, and what is wrong where it says no.
_ABOUT: Mapping[str, tuple[Literal["ended", "conflict"], str]] = {
    "expire": ("ended", "no source says that it is over"),
    "conflict": ("conflict", "does not contradict it"),
}
PLANTED = message("refused.planted", "is said by an agent alone that read what strangers write, on one day")
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
    """An operation that is carried out, and what its labels stand for.

    `text` and `section` are as they are to be written; `until` is the last day that matters, if there is one.
    """

    operation: Operation
    sources: tuple[Source, ...] = ()
    targets: tuple[Entry, ...] = ()
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
    """What operations are checked against: the entries, the sources by label, and what the archive holds.

    `verdicts` are the model's; None before it was asked, where each is taken for a yes.
    """

    page: Page
    targets: Mapping[str, Entry]
    sources: Mapping[str, Source]
    archived: Sequence[Entry]
    today: date
    language: prose.Language
    verdicts: Mapping[Question, Verdict] | None = None


class _Refused(Exception):
    pass


@dataclass(slots=True)
class _Standing:
    """What stands while operations are accepted one by one: `left` is how many entries may be touched yet."""

    entries: list[Entry]
    left: int
    touched: set[int] = field(default_factory=set)

    def carry_out(self, item: Accepted) -> None:
        """Let what an operation does count for the next ones."""
        self.left -= len(item.targets)
        self.touched |= {target.statement.first for target in item.targets}
        self.entries = [e for e in self.entries if not (e.label and e.statement.first in self.touched)]
        if item.text:
            first = item.targets[0] if item.targets else item.sources[0]
            self.entries.append(Entry("", first.statement, item.text, item.section))


def check(operations: Sequence[Operation], ground: Ground) -> Checked:
    """Check operations against what stands there now, the best supported first: a limit keeps them."""
    done = Checked()
    entries = list(ground.page.labelled)
    standing = _Standing(entries, len(entries) // plan_share(ground))
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
    return done


def _ordered(operations: Sequence[Operation], ground: Ground) -> list[Operation]:
    """The operations that touch entries by their support, the newest first, and then the others."""

    def worth(operation: Operation) -> tuple[int, str]:
        known = [ground.sources[label] for label in operation.sources if label in ground.sources]
        return len(known), max((source.day.isoformat() for source in known), default="")

    touching = sorted((o for o in operations if o.op in plan.TOUCHING), key=worth, reverse=True)
    return [*touching, *(o for o in operations if o.op not in (*plan.TOUCHING, "keep"))]


def plan_share(ground: Ground) -> int:
    """One of how many entries may be touched; all may be asked about."""
    return SHARE if ground.verdicts is not None else 1


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
) -> tuple[tuple[Source, ...], tuple[Entry, ...]]:
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


def _shares_subject(texts: Iterable[str], entry: str, share: float, *, besides: bool = False) -> bool:
    """Whether texts name what an entry begins with, and enough of what else it says beside its values.

    With `besides` they name more of it than what it begins with, where it says more.
    """
    said = frozenset().union(*map(grounding.keys, texts))
    turns = {group for name in rules.LANGUAGES for group in rules.load(name)["turns"]}
    about, subject = grounding.keys(entry) - grounding.measured(entry) - turns, grounding.subject(entry)
    others = about - {subject}
    is_more = not (besides and others) or bool(others & said)
    return subject in said and is_more and len(about & said) >= share * len(about)


def _about_an_entry(item: Accepted, ground: Ground, asked: list[Question]) -> Accepted:
    """The end of an entry, or what speaks against it: a source says so, and of just that."""
    (target,) = item.targets
    kind, reason = _ABOUT[item.operation.op]
    saying = [
        source
        for source in ground.sources.values()
        if _shares_subject([source.text, *source.headings], target.text, 1 / 2)
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
    """Refuse to end an entry by what strangers may have planted, or by what does not say that it is over."""
    (target,) = item.targets
    if all(source.exposed for source in saying) and not _are_two(saying):
        raise _Refused(PLANTED)
    if _is_older(item.sources, target):
        raise _Refused(message("refused.older_end", "is older than what it ends"))
    texts = [source.text for source in item.sources]
    if any(grounding.says(target.text, text) or grounding.continues(text, target.text) for text in texts):
        raise _Refused(message("refused.holds", "no source says that it is over: one says that it holds"))
    if not any(grounding.ends(text, today) for text in texts):
        raise _Refused(
            message(
                "refused.not_over", "no source says that it is over: by what happened, of a day that has come"
            )
        )


def _verdict(question: Question, ground: Ground, asked: list[Question]) -> Verdict | None:
    """What the model says; before it was asked, a yes that notes the question."""
    if ground.verdicts is not None:
        return ground.verdicts.get(question)
    asked.append(question)
    return Verdict(True)


# --- what is to stand ---------------------------------------------------------------------------------------


def _stated(item: Accepted, ground: Ground, standing: Sequence[Entry], asked: list[Question]) -> Accepted:
    """A text that may stand in MEMORY.md, completed where it leans on its note."""
    said = tuple(source.said for source in item.sources)
    if item.operation.op == "merge":
        said += tuple(Said(target.text, None, (target.section,)) for target in item.targets)
        _check_kept(item, ground, asked)
    else:
        if item.operation.op == "supersede":
            _check_replaced(item)
        item = replace(item, text=grounding.resolved(grounding.named(item.text, said), said))
    _check_text(item, said)
    if any(source.exposed for source in item.sources):
        _check_witnessed(item, ground)
    _check_new(item, ground, standing)
    return _verified(item, said, ground, asked)


def _verified(item: Accepted, said: tuple[Said, ...], ground: Ground, asked: list[Question]) -> Accepted:
    """The text, or what completes it, that the model finds in its sources."""
    op, targets = item.operation.op, item.targets
    # An entry that is said twice says itself, whoever proposes to join the two.
    literal = grounding.is_literal(item.text, said) or item.text in {target.text for target in targets}
    texts = [item.text]
    if op != "merge":
        texts += [*_led_in(item, said), *(_headed(item, said) if literal else ())]
    short = len(texts) > 1 and grounding.weight(item.text) < SHORT
    replaced: tuple[str, Literal["replaced"]] | tuple[()] = ()
    if op == "supersede":
        replaced = targets[0].text, "replaced"
    outcomes: list[tuple[str, Accepted]] = []
    for text in texts:
        verdict = _verdict(Question(text, said, *replaced), ground, asked)
        done = _dated(replace(item, text=text), verdict)
        leans = short or done.text != text
        outcomes.append((_refusal(verdict, item, said, literal=literal, leans=leans), done))
    for reason, done in outcomes:
        if not reason:
            return done
    raise _Refused(outcomes[-1][0])


def _check_text(item: Accepted, said: Sequence[Said]) -> None:
    """Refuse a text that may not stand in MEMORY.md, or that no source can say."""
    if fault := faults(item.text, said):
        raise _Refused(fault)
    if reason := grounding.missing(item.text, said):
        raise _Refused(message("refused.unsupported", "not supported: {reason}", reason=reason))


def _dated(item: Accepted, verdict: Verdict | None) -> Accepted:
    """What is over with its day, with that day's date ("on Monday" is read in a year) and its last day."""
    if not item.sources or (verdict is not None and not verdict.ends):
        return item
    day = max(source.day for source in item.sources)
    text = reading.on_next_day(item.text, day)
    return replace(item, text=text, until=reading.last_day(text, day))


def _check_replaced(item: Accepted) -> None:
    """Refuse to replace an entry by what is older, the same, or about something else."""
    (target,) = item.targets
    if _is_older(item.sources, target):
        raise _Refused(message("refused.older", "is older than what it replaces"))
    if grounding.says(item.text, target.text) and grounding.says(target.text, item.text):
        raise _Refused(message("refused.same", "says what it replaces"))
    texts = [item.text, *(source.text for source in item.sources)]
    # Of an entry about the same, a word more than who it is about is said, or that something changes.
    changes = grounding.ends(item.text, max(source.day for source in item.sources))
    if not _shares_subject(texts, target.text, 0 if changes else 1 / 3, besides=not changes):
        raise _Refused(message("refused.other", "is about something else than what it replaces"))
    if open_ := sorted(grounding.doubts(item.text) - grounding.doubts(target.text)):
        raise _Refused(f"leaves open what it replaces ({open_[0]})")


def _is_older(sources: Sequence[Source], target: Entry) -> bool:
    """Whether nothing of sources was said after an entry: by the day, and within a note by the line."""
    newest = max(source.day for source in sources).isoformat()
    if newest != target.since:
        return newest < target.since
    known = [parse_reference(label) for label in comments.sources(target.statement.said)]
    last = {one.path: max(other.first for other in known if other.path == one.path) for one in known}
    of_day = [parse_reference(source.label) for source in sources if source.day.isoformat() == newest]
    return all(one.first <= last.get(one.path, 0) for one in of_day)


def _led_in(item: Accepted, said: Sequence[Said]) -> Iterator[str]:
    """Put before a line that leans on its note what its source begins with."""
    if any(grounding.stands_first(item.text, one) for one in said):
        return
    source, words = item.sources[0].text, item.operation.text.rstrip(".。!！")
    if (at := source.find(words)) > 0:
        whole = grounding.resolved(source[: at + len(words)], said)
        whole += item.operation.text[len(words) :]
        if not faults(whole, said) and not grounding.missing(whole, said):
            yield whole


def _headed(item: Accepted, said: Sequence[Said]) -> Iterator[str]:
    """Put before a short line the heading that it stands below, where it does not say that itself."""
    heading = next(iter(item.sources[0].headings[-1:]), "").rstrip(":： ")
    if not heading or grounding.weight(item.text) >= LEANING:
        return
    joint = "：" if lexicon.cjk_share(heading) else ": "
    is_new = grounding.keys(heading).isdisjoint(grounding.keys(item.text))
    if is_new and not faults(heading, [item.sources[0].said]):
        yield f"{heading}{joint}{item.text}"


def _refusal(
    verdict: Verdict | None, item: Accepted, said: Sequence[Said], *, literal: bool, leans: bool
) -> str:
    """Why a text does not get in by its verdict."""
    op = item.operation.op
    if verdict is None:
        return _unverified(item, said, leans=leans) if literal and op != "supersede" else "was not verified"
    if not verdict.says:
        return "not supported: the model that verified it does not find it in the source"
    if not verdict.alone:
        return "does not say by itself who or what it is about; name it in the sentence, or leave it out"
    if verdict.repeats and verdict.repeats not in item.operation.targets and op == "add":
        return f"is said already by {verdict.repeats[:20]}, in other words"
    return ""


def _unverified(item: Accepted, said: Sequence[Said], *, leans: bool) -> str:
    """Why a sentence of a source does not get in without a verdict: the opening one does."""
    is_first = any(grounding.stands_first(item.text, one) for one in said)
    alone = item.operation.op == "merge" or is_first
    return "" if alone and not leans else "does not stand alone"


def _check_kept(item: Accepted, ground: Ground, asked: list[Question]) -> None:
    """Refuse a merge that loses what its entries say: their values by themselves, the rest by a verdict."""
    for target in item.targets:
        if reason := _loss(target, item.text):
            raise _Refused(reason)
        if grounding.keys(target.text) <= grounding.keys(item.text):
            continue
        verdict = _verdict(Question(target.text, (Said(item.text, None),)), ground, asked)
        if verdict is None or not verdict.says:
            raise _Refused(message("refused.loses", "loses what {label} says", label=target.label))


def _loss(entry: Entry, text: str) -> str:
    """What of an entry the text turns or loses that it is merged into, as far as words tell."""
    one_script = (lexicon.cjk_share(text) >= 0.3) == (lexicon.cjk_share(entry.text) >= 0.3)
    keys, subject = grounding.keys(text), grounding.subject(entry.text)
    lost = sorted(grounding.values(entry.text) - grounding.values(text) - keys)[:3]
    if not lost and one_script and (reason := grounding.turns(entry.text, text)):
        return f"turns what {entry.label} says: {reason}"
    if not lost and grounding.keys(entry.text) <= keys:
        lost = sorted(grounding.particles(entry.text) - grounding.particles(text))[:1]
    elif not lost and one_script and subject not in keys:
        lost = [subject]
    return f"loses what {entry.label} says: {' '.join(lost)}" if lost else ""


def _check_witnessed(item: Accepted, ground: Ground) -> None:
    """Refuse what strangers may have planted with an agent, until somebody else or a second day says it.

    No words tell it from a fact; the owner, a session that read no stranger's words, or a second day does.
    """

    def is_said(said: Sequence[Said]) -> bool:
        return not grounding.missing(item.text, said, share=1)

    others = [source.said for source in ground.sources.values() if not source.exposed]
    if item.operation.op == "merge":
        others += [Said(target.text, ground.today) for target in item.targets]
    exposed = [source for source in ground.sources.values() if source.exposed]
    if not is_said(others) and not _are_two([one for one in exposed if is_said([*others, one.said])]):
        raise _Refused(PLANTED)


def _are_two(exposed: Sequence[Source]) -> bool:
    """Whether what strangers may have planted is of two days, and of two sessions where they have names."""
    said = {(one.day, one.statement.said.get("session", "")) for one in exposed}
    return any(day < later and (not name or name != other) for day, name in said for later, other in said)


def _check_new(item: Accepted, ground: Ground, standing: Sequence[Entry]) -> None:
    """Refuse what an entry, another operation, or what was struck or archived says already."""
    text = item.text
    own = {target.statement.first for target in item.targets}
    others = [e for e in standing if not e.label or e.statement.first not in own]
    for entry in others:
        if grounding.says(entry.text, text):
            by = entry.label or message("refused.another", "another operation")
            raise _Refused(message("refused.said", "is said already by {by}", by=by))
    _check_gone(item, ground, own)
    if item.operation.op == "add":
        _check_values(text, others)


def _check_gone(item: Accepted, ground: Ground, own: set[int]) -> None:
    """Refuse what was struck or archived, but for the entries that are touched themselves."""
    newest = max((source.day.isoformat() for source in item.sources), default="")
    for entry in ground.page.entries:
        is_other = entry.statement.struck and entry.statement.first not in own
        if is_other and _is_gone(entry, item.text, newest):
            raise _Refused(message("refused.struck", "was struck in MEMORY.md"))
    if any(_is_gone(entry, item.text, newest) for entry in ground.archived):
        raise _Refused(message("refused.archived", "stands in the archive"))


def _is_gone(entry: Entry, text: str, newest: str) -> bool:
    """Whether a struck or archived entry says a text; people change their mind, so a later source counts."""
    until = entry.statement.said.get("until", "") if entry.statement.struck else ""
    return not "" < until < newest and grounding.says(entry.text, text)


def _check_values(text: str, entries: Iterable[Entry]) -> None:
    """Refuse to add the words of an entry with another number or day: one of the two would be wrong."""
    mine = grounding.measured(text)
    for entry in entries if mine else ():
        theirs = grounding.measured(entry.text)
        if entry.label and theirs and grounding.keys(text) - mine == grounding.keys(entry.text) - theirs:
            by_hand = f"contradicts {entry.label}, which {entry.kept}"
            raise _Refused(by_hand if entry.kept else f"takes the place of {entry.label}: supersede it")


# --- the words ----------------------------------------------------------------------------------------------


@cache
def _instructions() -> re.Pattern[str]:
    """Finds words to a model, in any language."""
    tables = (rules.load(name)["instructions"]["patterns"] for name in rules.LANGUAGES)
    return re.compile("|".join(pattern for patterns in tables for pattern in patterns), re.IGNORECASE)


def _is_hidden(text: str) -> bool:
    """Whether a text holds what must not be kept: secrets, private parts, and the marks of such."""
    return "~~" in text or MARK in text or strip_private(redact(text)[0]) != text


def _asks(text: str) -> bool:
    """Whether a text asks; a question mark in an address does not."""
    words = " ".join(word for word in text.split() if "://" not in word)
    return any(sentence.asks for sentence in reading.read(words)) or text.endswith(("?", "？"))


# Why a text may not stand in MEMORY.md, whatever it says.
_FAULTS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("says nothing", lambda text: not text),
    (f"longer than {LONGEST} characters", lambda text: len(text) > LONGEST),
    ("has more than one line", lambda text: len(text.splitlines()) > 1),
    ("holds a comment", lambda text: "<!" in text or "-->" in text),
    ("begins as Markdown does", lambda text: _LEAD.match(text) is not None),
    ("holds what must not be kept", _is_hidden),
    ("speaks to a model", lambda text: _instructions().search(text) is not None),
    ("asks", _asks),
)


def faults(text: str, said: Sequence[Said]) -> str:
    """Return why a text may not stand in MEMORY.md, whatever it says; empty where it may."""
    if reason := next((reason for reason, holds in _FAULTS if holds(text)), ""):
        return reason
    known = "\0".join("\0".join((one.text, *one.headings)) for one in said)
    mark = next((mark for mark in _MARKS if mark in text and mark not in known), "")
    return f"holds {mark}, which no source has" if mark else ""
