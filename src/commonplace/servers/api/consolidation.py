"""A consolidation proposed, reviewed line by line with its sources, and accepted in part or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace.base.messages import message
from commonplace.servers.api.errors import Refused
from commonplace.servers.api.operations import CODE, PREVIEW_AGAIN, Operation, OperationCall
from commonplace.servers.api.schema import answer, flag, listed, number, record, text

if TYPE_CHECKING:
    from commonplace.upkeep.consolidation.checks import Accepted
    from commonplace.upkeep.consolidation.page import MemoryEntry
    from commonplace.upkeep.consolidation.run import Consolidation
    from commonplace.upkeep.consolidation.sources import Source

_MOST_LINES = 1000


def _propose(call: OperationCall) -> object:
    from commonplace.providers import opening
    from commonplace.upkeep.consolidation import consolidate

    memory = call.memory
    llm = opening.open_llm(memory.workspace, memory.settings)
    proposed = consolidate(memory, llm, days=call.values.get("days"), dry_run=True)
    code = call.offer("consolidate", proposed) if proposed.accepted else ""
    return {**_shown(proposed), "planned": llm is not None, "preview": code}


def _accept(call: OperationCall) -> object:
    from commonplace.upkeep.consolidation.run import accept

    proposed = call.redeem("consolidate")
    numbers = call.values["lines"]
    if unknown := [number for number in numbers if not 0 < number <= len(proposed.accepted)]:
        gone = message("preview.no_line", "there is no line {line}", line=unknown[0])
        raise Refused(400, gone, PREVIEW_AGAIN)
    done = accept(call.memory, proposed, [number - 1 for number in numbers])
    return {**_shown(done), "run": done.run.id if done.run else ""}


def _reject(call: OperationCall) -> object:
    call.redeem("consolidate")
    return {"rejected": True}


# --- as it is shown -------------------------------------------------------------------------------------


def _shown(done: Consolidation) -> dict[str, Any]:
    return {
        "lines": [{"number": number, **_line(item)} for number, item in enumerate(done.accepted, 1)],
        "rejected": [
            {"op": one.operation.op, "text": one.operation.text, "reason": one.reason}
            for one in done.rejected
        ],
        "conflicts": [
            {"source": _source(one.source), "entry": _entry(one.entry)} for one in done.contradictions
        ],
        "orphans": [
            {"entry": _entry(one.entry), "source": one.reference, "reason": one.reason}
            for one in done.orphans
        ],
        "diff": done.diff,
        "candidates": done.candidates,
        "left_out": done.left_out,
        "warnings": done.warnings,
    }


def _line(item: Accepted) -> dict[str, Any]:
    operation = item.operation
    return {
        "op": operation.op,
        "text": item.text or operation.text,
        "section": item.section,
        "until": item.until,
        "reason": operation.reason,
        "targets": [_entry(entry) for entry in item.targets],
        "sources": [_source(source) for source in item.sources],
    }


def _entry(entry: MemoryEntry) -> dict[str, str]:
    return {"citation": entry.statement.citation, "text": entry.text}


def _source(source: Source) -> dict[str, str]:
    place, day = source.statement.citation, source.day.isoformat()
    return {"citation": place, "text": source.text, "day": day, "speaker": source.speaker}


_ENTRY = answer(citation=text(), text=text())
_SOURCE = answer(citation=text(), text=text(), day=text(), speaker=text())
_LINE = answer(
    number={"type": "integer"}, op=text(), text=text(), section=text(), until=text(), reason=text(),
    targets=listed(_ENTRY, "What stands now."), sources=listed(_SOURCE, "What it rests on."),
)  # fmt: skip
_PARTS = {
    "lines": listed(_LINE),
    "rejected": listed(answer(op=text(), text=text(), reason=text())),
    "conflicts": listed(answer(source=_SOURCE, entry=_ENTRY), "What cannot both hold."),
    "orphans": listed(answer(entry=_ENTRY, source=text(), reason=text()), "Whose sources are gone."),
    "diff": text(),
    "candidates": {"type": "integer"},
    "left_out": {"type": "integer"},
    "warnings": listed(text()),
}
OPERATIONS = (
    Operation(
        "POST", "/api/consolidation/preview", "propose_consolidation",
        "Propose what long-term memory should say; a language model that is set is asked.", _propose,
        answer(**_PARTS, planned=flag("Whether a language model was asked."), preview=text()),
        body=record(days=number(1, 366, "Days of notes, today included.")),
        refusals=(409, 503), lane="model", owner=True,
    ),
    Operation(
        "POST", "/api/consolidation", "accept_consolidation", "Write chosen lines of what was proposed.",
        _accept, answer(**_PARTS, run=text("Empty where nothing changed.")),
        body=record(
            "preview lines", preview=CODE,
            lines={**listed(number(1, _MOST_LINES), "Their numbers.", _MOST_LINES), "minItems": 1},
        ),
        refusals=(409,), lane="model", owner=True,
    ),
    Operation(
        "POST", "/api/consolidation/reject", "reject_consolidation", "Throw away what was proposed.", _reject,
        answer(rejected=flag()), body=record("preview", preview=CODE), refusals=(409,), owner=True,
    ),
)  # fmt: skip
