"""The plan of a consolidation: what a model is shown, what it may answer, and what needs no model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from commonplace.base.tokens import about
from commonplace.language import compare, stopwords
from commonplace.providers.llm import prompting
from commonplace.providers.llm.base import Message
from commonplace.upkeep import dialogue, prose

if TYPE_CHECKING:
    from commonplace.config.settings import Consolidate
    from commonplace.providers.llm.client import Client as Llm
    from commonplace.upkeep.consolidation.page import MemoryEntry, Page
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
class PlanPrompt:
    """A prompt for the model: the messages, the sources in them, and how many did not fit."""

    messages: tuple[Message, ...]
    shown: tuple[Source, ...]
    left_out: int = 0


def question(
    page: Page, found: Sequence[Source], settings: Consolidate, now: datetime, days: str
) -> PlanPrompt:
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
    return PlanPrompt(messages(shown), tuple(shown), len(found) - len(shown))


def language_of(page: Page, found: Sequence[Source]) -> prose.Language:
    """The language of long-term memory, or of the notes where that is empty."""
    return prose.language([entry.text for entry in page.labelled] or [source.text for source in found])


def sections(page: Page, language: prose.Language) -> list[str]:
    """The sections that entries may be added to: those there are, and those that may be made."""
    there = [title for title in page.sections if title not in page.pinned]
    known = {title.casefold() for title in page.sections}
    return [*there, *(title for title in SECTIONS[language] if title.casefold() not in known)]


def entry_lines(entries: Iterable[MemoryEntry]) -> list[str]:
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


def ended(page: Page, today: date) -> list[Operation]:
    """Propose the ends of entries whose `valid-until` has passed."""
    return [
        Operation("expire", (entry.label,), reason="valid-until has passed")
        for entry in page.labelled
        if entry.may_be_touched and is_over(entry, today)
    ]


def is_over(entry: MemoryEntry, today: date) -> bool:
    """Tell whether the last day that an entry names for itself has passed."""
    return entry.statement.said.get("valid-until", "9999-12-31") < today.isoformat()


def proposals(page: Page, today: date) -> list[Operation]:
    """Propose the ends of what is over, and merges of entries with the same words, in their order."""
    operations = ended(page, today)
    over = {operation.targets[0] for operation in operations}
    groups: dict[object, list[MemoryEntry]] = {}
    for entry in page.labelled:
        if entry.may_be_touched and entry.label not in over:
            said = compare.read(entry.text)
            words = tuple(word for word in said.tokens if word not in stopwords.ENGLISH)
            groups.setdefault((entry.section, said.signs, words), []).append(entry)
    for group in groups.values():
        if len(group) > 1:
            text = max((entry.text for entry in group), key=len)
            labels = tuple(entry.label for entry in group)
            operations.append(Operation("merge", labels, text=text, reason="say the same"))
    return operations
