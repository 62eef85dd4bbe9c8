"""What MEMORY.md and the notes of the last days say against an entry that is being written.

A write waits for no more than this: lines with most words of a sentence are looked for as text, and
only notes that have such lines are taken apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace import paths
from commonplace.revision import likeness, sentences

if TYPE_CHECKING:
    from commonplace.types.statements import Cited, Statement

DAYS = 30
MOST = 5  # contradictions that are told
_LARGEST = 200_000  # bytes of a note that is read
# What stands around the words of an entry: its mark, its hour, comments.
_ENTRY = re.compile(r"^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\d\d:\d\d )?|<!--.*?-->")
_LONGEST = 20  # words of a sentence that speaks of one thing
_SPARED = 2  # words of a sentence that what contradicts it need not hold: a value, an opposite, another name


def contradicted(workspace: paths.Workspace, text: str, today: date) -> tuple[Cited, ...]:
    """Return the statements that stand and say something else of what an entry speaks of, MEMORY.md first.

    Only MEMORY.md and the daily notes of the last 30 days are read, as they lie; what cannot be read counts
    as saying nothing. Never raises.
    """
    try:
        return _contradicted(workspace, text, today)
    except Exception:  # noqa: BLE001 - the entry is written: whatever goes wrong in comparing it is no failure
        return ()


def _contradicted(workspace: paths.Workspace, text: str, today: date) -> tuple[Cited, ...]:
    wanted = [words for words in _wanted(text) if 0 < len(words) <= _LONGEST]
    found: list[Statement] = []
    for path in _near(workspace, today) if wanted else ():
        data = _read(workspace, path)
        if likely := _likely(data, wanted):
            found += _against(text, path.relative_to(workspace.root).as_posix(), data, likely, today)
        if len(found) >= MOST:
            break
    if not found:
        return ()
    from commonplace.revision import finding

    return tuple(finding.cited([finding.Match(statement) for statement in found], MOST))


def _wanted(text: str) -> list[list[str]]:
    """The words of each sentence, without what has figures in it."""
    spans = sentences.spans(text)
    return [
        [stem for stem in likeness.stems(text[start:end]) if not any(map(str.isdigit, stem))]
        for start, end in spans
    ]


def _near(workspace: paths.Workspace, today: date) -> Iterator[Path]:
    yield workspace.memory_file
    for days in range(DAYS):
        yield workspace.daily(today - timedelta(days=days))


def _read(workspace: paths.Workspace, path: Path) -> bytes:
    """The bytes of a note; none for what is no file of its own, or too large."""
    try:
        return workspace.files.read(path, limit=_LARGEST)
    except OSError:
        return b""


def _likely(data: bytes, wanted: Sequence[Sequence[str]]) -> list[str]:
    """The lines that hold most words of a sentence."""
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    lines = data.decode("utf-16" if wide else "utf-8", "replace").splitlines()
    found: dict[int, str] = {}
    for words in wanted:
        least = max(1, len(words) - (_SPARED if len(words) > _SPARED + 1 else 1))
        for number, line in enumerate(map(likeness.folded, lines)):
            if sum(word in line for word in words) >= least:
                found[number] = lines[number]
    return list(found.values())


def _against(text: str, path: str, data: bytes, likely: Sequence[str], today: date) -> list[Statement]:
    """The statements of a note that an entry contradicts; it is taken apart only if one of its lines does."""
    from commonplace.revision import contradictions

    if not any(contradictions.contradict(text, _ENTRY.sub("", line)) for line in likely):
        return []
    from commonplace.chunking import statements
    from commonplace.notes.parse import decode, parse

    stated = statements.read(parse(decode(data), path))
    return contradictions.between(text, (statement for statement in stated if _stands(statement, today)))


def _stands(statement: Statement, today: date) -> bool:
    said = statement.said
    until = min(filter(None, (said.get("until"), said.get("valid-until"))), default="")
    past = bool(until) and until < today.isoformat()
    return not (statement.struck or past or "status" in said or "superseded-by" in said)
