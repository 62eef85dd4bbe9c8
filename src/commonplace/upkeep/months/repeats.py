"""What a language model says is told twice in a month: asked for as labels, believed only where it is so.

It writes nothing. A statement it points at is left out only if the statements that it names say all of it,
by the checks of consolidation, and none of its days is lost by that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from commonplace.base.tokens import about
from commonplace.notes.layout import FOREIGN
from commonplace.providers.llm import prompting
from commonplace.redaction.redact import redact
from commonplace.upkeep import dialogue
from commonplace.upkeep.consolidation import grounding
from commonplace.upkeep.months.blocks import Block
from commonplace.upkeep.months.leaving import Left

if TYPE_CHECKING:
    from commonplace.config.settings import Consolidate
    from commonplace.providers.llm.base import Llm, Schema

PURPOSE = "rollup"
TOLD = "told by another"
MOST = 200  # items of an answer that are looked at
_LABEL = {"type": "string"}
_FIELDS = {"statement": _LABEL, "told_by": {"type": "array", "items": _LABEL}, "reason": _LABEL}
_ITEM = {"type": "object", "properties": _FIELDS, "required": [*_FIELDS], "additionalProperties": False}
SCHEMA: Schema = {
    "type": "object",
    "properties": {"repeats": {"type": "array", "items": _ITEM}},
    "required": ["repeats"],
    "additionalProperties": False,
}
Days = Sequence[tuple[str, Sequence[Block]]]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A statement that is told by others, all by their labels, and what each said when the model saw it."""

    statement: str
    told_by: tuple[str, ...]
    seen: Mapping[str, str]


def ask(llm: Llm, month: str, days: Days, settings: Consolidate) -> list[Repeat]:
    """Ask which statements of a month are told twice. Raises ProviderError, BudgetExceeded, ConfigError."""
    seen: dict[str, str] = {}
    lines: list[str] = []
    left = settings.max_tokens
    for label, (block, _) in _labelled(days).items():
        if block.entry is not None and block.entry.said.get("by") in FOREIGN:
            continue
        lines.append(f"{label} {dialogue.unframed(' '.join(redact(block.told)[0].split()))}")
        left -= about(lines[-1])
        if left < 0:
            lines.pop()
            break
        seen[label] = block.told
    if len(seen) < 2:
        return []
    messages = prompting.load(PURPOSE).messages(month=month, statements="\n".join(lines))
    answer = llm.complete(messages, SCHEMA, deadline_s=settings.deadline_s, purpose=PURPOSE)
    return [_repeat(item, seen) for item in _items(answer.data)]


def _items(data: object) -> list[dict[str, Any]]:
    items = data.get("repeats") if isinstance(data, dict) else None
    return items[:MOST] if isinstance(items, list) else []


def _repeat(item: Mapping[str, Any], seen: Mapping[str, str]) -> Repeat:
    return Repeat(str(item["statement"]), tuple(map(str, item["told_by"])), seen)


def _labelled(days: Days) -> dict[str, tuple[Block, str]]:
    """The entries that may be sent, by their labels, with their days."""
    return {
        f"{block.path}#L{block.first}": (block, day)
        for day, blocks in days
        for block in blocks
        if block.entry is not None and block.safe and not block.leads
    }


def choose(repeats: Sequence[Repeat], days: Days, left: Sequence[Left]) -> list[Left]:
    """Return what of that may be left out of a month as it is now, beside what is left out by rule."""
    known = _labelled(days)
    gone = {f"{item.block.path}#L{item.block.first}" for item in left}
    tellers: set[str] = set()
    chosen: list[Left] = []
    for repeat in repeats:
        labels = {repeat.statement, *repeat.told_by}
        fresh = all(label in known and repeat.seen.get(label) == known[label][0].told for label in labels)
        if not fresh or labels & gone or repeat.statement in {*tellers, *repeat.told_by}:
            continue
        block, day = known[repeat.statement]
        others = [known[label] for label in repeat.told_by]
        if _keeps_days(day, [other for _, other in others]) and _is_told(block, others):
            gone.add(repeat.statement)
            tellers |= set(repeat.told_by)
            chosen.append(Left(block, TOLD, others[0][0]))
    return chosen


def _keeps_days(day: str, others: Sequence[str]) -> bool:
    return day in others or (any(other < day for other in others) and any(other > day for other in others))


def _is_told(block: Block, others: Sequence[tuple[Block, str]]) -> bool:
    if any(other.headings[1:] != block.headings[1:] or other.below != block.below for other, _ in others):
        return False  # under another heading or lead-in it may be said of something else
    sources = [grounding.Said(other.told, date.fromisoformat(told)) for other, told in others]
    return grounding.is_literal(block.told, sources)
