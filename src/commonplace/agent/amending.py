"""The tools that take something back: a statement corrected, something forgotten once a person said yes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from commonplace.agent import amendments, answers
from commonplace.agent.answers import Answer, Caller

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types.erasure import Selection, SelectionKind

FORGETS = "memory_forget"
KINDS = ("text", "lines", "note", "person", "session")
LONGEST_REASON = 500  # characters
_LINES = re.compile(r"\S+#L\d+(?:-L?\d+)?|(?:#[0-9a-f]{6,}|\S+\.md):\d+(?:-\d*|:\d+)?")
_NOTE = re.compile(r"#[0-9a-f]{6,}|\S+\.md")
STALE = (
    "this code confirms nothing (it is of another preview, used, or too old, or the notes changed); nothing "
    "was erased. Call again without confirm, show the new preview to the user, and ask"
)


def correct(memory: Memory, given: Mapping[str, Any], caller: Caller) -> Answer:
    """Strike a statement and put the new one beside it; what cannot be done is told with the near misses."""
    from commonplace.revision.finding import StatementNotFound

    try:
        done = memory.correct(
            given["old"],
            given.get("new", ""),
            why=_reason(given.get("why", "")),
            provenance=caller.provenance(),
        )
    except StatementNotFound as error:
        return amendments.uncorrected(f"memory_correct: {error}", error.near)
    return amendments.corrected(done)


def _reason(why: str) -> str:
    """A reason as the record may keep it: one line of words, without secrets and private parts."""
    from commonplace import screen
    from commonplace.notes.redact import redact, strip_private

    return screen.one_line(redact(strip_private(why))[0])[:LONGEST_REASON]


def forget(memory: Memory, given: Mapping[str, Any], caller: Caller) -> Answer:
    """Preview what would be erased, or erase it where the code of exactly that preview is given."""
    from commonplace.agent import confirmations

    selection = _selection(given)
    found = memory.forget(selection, dry_run=True)
    waiting, digest = confirmations.of(memory), amendments.digest(selection, found)
    code = given.get("confirm", "").strip()
    if code:
        if not waiting.redeem(code, digest):
            return answers.failed(f"{FORGETS}: {STALE}")
        return amendments.erased(memory.forget(selection, agent=caller.agent, session=caller.session))
    if not found.places:
        return amendments.nothing(selection, found)
    told = amendments.preview(selection, found)
    return amendments.offered(selection, found, told, waiting.offer(digest, told))


def awaiting(memory: Memory, given: Mapping[str, Any]) -> str:
    """Return the preview that a call would confirm, for a person to approve of; empty for none."""
    from commonplace.agent import confirmations

    code = given.get("confirm")
    return confirmations.of(memory).shown(code.strip()) if isinstance(code, str) else ""


def _selection(given: Mapping[str, Any]) -> Selection:
    from commonplace.types.erasure import Selection

    what = given["what"].strip()
    return Selection(given.get("kind") or _kind(what), what)


def _kind(what: str) -> SelectionKind:
    """What is meant where nobody says so: lines or a note where it reads as one, words otherwise."""
    if _LINES.fullmatch(what):
        return "lines"
    return "note" if _NOTE.fullmatch(what) else "text"
