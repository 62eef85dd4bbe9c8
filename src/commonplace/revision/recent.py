"""What MEMORY.md and the notes of the last days say against an entry that is being written."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from commonplace import paths
from commonplace.chunking import statements
from commonplace.errors import CommonplaceError
from commonplace.notes.parse import decode, parse
from commonplace.revision import claims, contradictions, finding, likeness
from commonplace.types.statements import Cited, Statement

DAYS = 30
MOST = 5  # contradictions that are told
_LARGEST = 200_000  # bytes of a note that is read; a write does not wait for more
_SHARED = 0.5  # of the words of the entry's claims, what a note must hold to be taken apart


def contradicted(workspace: paths.Workspace, text: str, today: date) -> tuple[Cited, ...]:
    """Return the statements that stand and say something else of what an entry speaks of, MEMORY.md first.

    Only MEMORY.md and the daily notes of the last 30 days are read, as they lie; what cannot be read counts
    as saying nothing.
    """
    wanted = [claim.words for claim in claims.of(text)]
    if not any(wanted):
        return ()
    found: list[Statement] = []
    for path in _near(workspace, today):
        content = _read(workspace, path)
        folded = likeness.folded(content) if content else ""
        if any(likeness.may_hold(folded, words, _SHARED) for words in wanted if folded):
            shown = path.relative_to(workspace.root).as_posix()
            standing = (s for s in statements.read(parse(content, shown)) if _stands(s, today))
            found += contradictions.between(text, standing)
        if len(found) >= MOST:
            break
    return tuple(finding.cited([finding.Match(statement) for statement in found], MOST))


def _near(workspace: paths.Workspace, today: date) -> Iterator[Path]:
    yield workspace.memory_file
    for days in range(DAYS):
        yield workspace.daily(today - timedelta(days=days))


def _read(workspace: paths.Workspace, path: Path) -> str:
    try:
        if not 0 < path.stat().st_size <= _LARGEST:
            return ""
        return decode(paths.read_contained(path, [workspace.root]))
    except (OSError, CommonplaceError):
        return ""


def _stands(statement: Statement, today: date) -> bool:
    said = statement.said
    until = min(filter(None, (said.get("until"), said.get("valid-until"))), default="")
    past = bool(until) and until < today.isoformat()
    return not (statement.struck or past or "status" in said or "superseded-by" in said)
