"""The plan of a consolidation: what a model is shown, what it may answer, and what needs no model."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, Literal, get_args

from commonplace.base.tokens import about
from commonplace.language import compare
from commonplace.providers.llm import prompting
from commonplace.providers.llm.base import Message
from commonplace.upkeep import dialogue, prose

if TYPE_CHECKING:
    from commonplace.config.settings import Consolidate
    from commonplace.providers.llm.client import Client as Llm
    from commonplace.upkeep.consolidation.page import Entry, Page
    from commonplace.upkeep.consolidation.sources import Source

PURPOSE = "consolidate"
ANSWER_TOKENS = 4096
MOST_OPERATIONS = 100  # of an answer that are looked at
MOST_SHOWN = 1200  # characters of a statement that a model is shown
Op = Literal["add", "merge", "supersede", "expire", "conflict", "keep"]
TOUCHING = ("merge", "supersede", "expire")
_TEXT = {"type": "string"}
_LABELS = {"type": "array", "items": _TEXT}
_FIELDS: Mapping[str, Any] = {
    "op": {"enum": list(get_args(Op))}, "targets": _LABELS, "sources": _LABELS,
    "section": _TEXT, "text": _TEXT, "reason": _TEXT,
}  # fmt: skip
_OPERATION = {"type": "object", "properties": _FIELDS, "required": [*_FIELDS], "additionalProperties": False}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"operations": {"type": "array", "items": _OPERATION}},
    "required": ["operations"],
    "additionalProperties": False,
}
# Sections that may be made.
SECTIONS: Mapping[prose.Language, Sequence[str]] = {
    "en": ("Preferences", "Decisions", "People", "Facts", "Dates", "Procedures", "Lessons"),
    "zh": ("偏好", "决定", "人物", "事实", "日期", "流程", "教训"),
}
FACTS: Mapping[prose.Language, str] = {"en": "Facts", "zh": "事实"}  # where no section is named


@dataclass(frozen=True, slots=True)
class Operation:
    """A proposed change, with its labels not looked up yet."""

    op: Op
    targets: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    section: str = ""
    text: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt for the model: the messages, the sources in them, and how many did not fit."""

    messages: tuple[Message, ...]
    shown: tuple[Source, ...]
    left_out: int = 0


def question(
    page: Page, found: Sequence[Source], settings: Consolidate, now: datetime, days: str
) -> Question:
    """Put the entries and as many sources as fit into the prompt, the newest and most recalled first.

    The prompt names the time to the second, so that no plan is taken from the cache.
    """
    language = language_of(page, found)
    prompt = prompting.load("consolidate")

    def messages(shown: Sequence[Source]) -> tuple[Message, ...]:
        return prompt.messages(
            memory="\n".join(_entries(page)), candidates="\n".join(_lines(shown)), days=days,
            today=f"{now:%Y-%m-%d %H:%M:%S}", language={"en": "English", "zh": "Chinese"}[language],
            sections=", ".join(sections(page, language)),
        )  # fmt: skip

    left = settings.max_tokens - sum(about(message.content) for message in messages(()))
    shown: list[Source] = []
    headings: set[tuple[str, ...]] = set()
    for source in sorted(found, key=lambda s: (s.asked, s.day, s.importance, s.label), reverse=True):
        above = (source.day.isoformat(), *source.headings)
        left -= about(_line(source)) + 1 + (about(_above(source)) + 1 if above not in headings else 0)
        if left < 0:
            break
        headings.add(above)
        shown.append(source)
    shown.sort(key=lambda s: (s.day, s.statement.path, s.statement.first))
    return Question(messages(shown), tuple(shown), len(found) - len(shown))


def language_of(page: Page, found: Sequence[Source]) -> prose.Language:
    """The language of long-term memory, or of the notes where that is empty."""
    return prose.language([entry.text for entry in page.labelled] or [source.text for source in found])


def sections(page: Page, language: prose.Language) -> list[str]:
    """The sections that entries may be added to: those there are, and those that may be made."""
    there = [title for title in page.sections if title not in page.pinned]
    known = {title.casefold() for title in page.sections}
    return [*there, *(title for title in SECTIONS[language] if title.casefold() not in known)]


def entry_lines(entries: Iterable[Entry]) -> list[str]:
    """Entries as a model is shown them: with their labels, and marked where no plan may touch them."""
    lines = []
    for entry in entries:
        marks = ["pinned" if entry.pinned else "fixed"] if entry.kept else []
        marks += [f"since {entry.since}"] if entry.since else []
        said = f" ({', '.join(marks)})" if marks else ""
        lines.append(f"{entry.label}{said}: {dialogue.unframed(entry.text)}")
    return lines


def _entries(page: Page) -> list[str]:
    lines, section = [], None
    for entry in page.labelled:
        if entry.section != section:
            section = entry.section
            lines.append(f"## {dialogue.unframed(section)}")
        lines += entry_lines([entry])
    return lines or ["(empty)"]


def _lines(shown: Sequence[Source]) -> list[str]:
    """Statements below their days and headings."""
    lines, above = [], ""
    for source in shown:
        if (heading := _above(source)) != above:
            lines.append(heading)
            above = heading
        lines.append(_line(source))
    return lines


def _above(source: Source) -> str:
    return dialogue.unframed(" > ".join((f"## {source.day}", *source.headings)))


def _line(source: Source) -> str:
    marks = [f"asked for {source.asked} times"] if source.asked else []
    marks += [f"importance {source.importance}"] if source.importance > 5 else []
    said = f" ({', '.join(marks)})" if marks else ""
    text = source.text if len(source.text) <= MOST_SHOWN else f"{source.text[:MOST_SHOWN]}…"
    return f"{source.label}{said}: {dialogue.unframed(text)}"


def ask(llm: Llm, messages: Sequence[Message], settings: Consolidate) -> list[Operation]:
    """Let the model plan. Raises ProviderError, BudgetExceeded, ConfigError as `Llm.complete` does."""
    completion = llm.complete(
        messages, SCHEMA, max_tokens=ANSWER_TOKENS, deadline_s=settings.deadline_s, purpose=PURPOSE
    )
    return read(completion.data)


def again(
    asked: Question, operations: Sequence[Operation], rejected: Sequence[tuple[Operation, str]]
) -> tuple[Message, ...]:
    """Return the messages that ask a model once more: its plan, and why parts of it are refused."""
    told = [
        f"- {json.dumps(asdict(operation), ensure_ascii=False)}\n  refused: {reason}"
        for operation, reason in rejected
    ]
    answer = json.dumps({"operations": [asdict(one) for one in operations]}, ensure_ascii=False)
    (further,) = prompting.load("consolidate-again").messages(refused=dialogue.unframed("\n".join(told)))
    return (*asked.messages, Message("assistant", answer), further)


def read(data: object) -> list[Operation]:
    """Return the operations of an answer that fits the schema; empty for any other."""
    operations = data.get("operations") if isinstance(data, dict) else None
    if not isinstance(operations, list):
        return []
    return [
        Operation(
            one["op"],
            tuple(dict.fromkeys(one["targets"])),
            tuple(dict.fromkeys(one["sources"])),
            " ".join(one["section"].split())[:100],
            one["text"].strip(),
            " ".join(one["reason"].split())[:300],
        )
        for one in operations
    ]


# --- without a model ----------------------------------------------------------------------------------------

# Characters of entries that are compared at most: all that a page of some hundreds holds, each with each.
_MOST_COMPARED = 5_000_000
_MOST_CHARS = 1 << 18  # of the entries that are compared: no page that somebody reads has more
_GLANCE = 10  # what it counts to see that two cannot be the same


def ended(page: Page, today: date) -> list[Operation]:
    """Propose the ends of entries whose `valid-until` has passed."""
    return [
        Operation("expire", (entry.label,), reason="valid-until has passed")
        for entry in page.labelled
        if entry.may_be_touched and is_over(entry, today)
    ]


def is_over(entry: Entry, today: date) -> bool:
    """Tell whether the last day that an entry names for itself has passed."""
    return entry.statement.said.get("valid-until", "9999-12-31") < today.isoformat()


def proposals(page: Page, today: date) -> list[Operation]:
    """Propose the ends of what is over, and merges of near-duplicates, in the order of the entries."""
    operations = ended(page, today)
    over = {operation.targets[0] for operation in operations}
    free = [entry for entry in page.labelled if entry.may_be_touched and entry.label not in over]
    merged: set[str] = set()
    alike = _Alike(_compared(free))
    for number, entry in enumerate(alike.entries):
        if entry.label in merged:
            continue
        group = [entry, *(other for other in alike.behind(number) if other.label not in merged)]
        if len(group) > 1:
            labels = tuple(other.label for other in group)
            merged.update(labels)
            text = max((other.text for other in group), key=len)
            operations.append(Operation("merge", labels, text=text, reason="say the same"))
    return operations


def uncompared(page: Page) -> int:
    """How many entries, the last ones of a page that is too long, are not compared with the others."""
    free = [entry for entry in page.labelled if entry.may_be_touched]
    return len(free) - len(_compared(free))


def _compared(entries: Sequence[Entry]) -> Sequence[Entry]:
    sizes = list(accumulate(len(entry.text) for entry in entries))
    return entries[: bisect_right(sizes, _MOST_CHARS)]


class _Alike:
    """Entries of a page by what is the same in any two that say the same, so that few are compared."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        texts = {entry.text for entry in entries}
        said = {text: compare.read(text) for text in texts}
        self._said = [said[entry.text] for entry in entries]
        self._sizes = [len(one.tokens) for one in self._said]
        # A bit for each word: at least as many words differ as bits, and bits are counted ten times as fast.
        self._bits = [_bits(one.words) for one in self._said]
        self._left = _MOST_COMPARED
        self._turned: dict[object, list[int]] = {}  # entries of a section by their turning words
        for number, entry in enumerate(entries):
            self._turned.setdefault((entry.section, self._said[number].signs), []).append(number)

    def behind(self, number: int) -> list[Entry]:
        """Return the later entries with nearly the same words in the same order."""
        entry, said = self.entries[number], self._said[number]
        found: list[int] = []
        turned, bits, size = self._turned[entry.section, said.signs], self._bits[number], self._sizes[number]
        for other in islice(turned, bisect_right(turned, number), None):
            if self._left < 0:
                break
            self._left -= _GLANCE
            if 2 * (bits ^ self._bits[other]).bit_count() > max(size, self._sizes[other]):
                continue
            if compare.may_be_same(said, self._said[other]):
                self._left -= len(entry.text) + len(self.entries[other].text)
                if compare.same(said, self._said[other]):
                    found.append(other)
        return [self.entries[other] for other in found]


def _bits(words: Iterable[str]) -> int:
    bits = 0
    for word in words:
        bits |= 1 << (hash(word) & 255)
    return bits
