"""The tools that take something back: a statement corrected, something forgotten once a person said yes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from commonplace.agent import amendments, answers
from commonplace.agent.answers import Answer, Caller
from commonplace.base.errors import PreviewOutdated

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types.changes import Erasure, Selection, SelectionKind

FORGETS = "memory_forget"
KINDS = ("text", "lines", "note", "person", "session")
LONGEST_REASON = 500  # characters
_LINES = re.compile(r"\S+#L\d+(?:-L?\d+)?|(?:#[0-9a-f]{6,}|\S+\.md):\d+(?:-\d*|:\d+)?")
_NOTE = re.compile(r"#[0-9a-f]{6,}|\S+\.md")
NEVER = "agents may have nothing erased here (forget.by_agents); the owner does: commonplace forget"
STALE = (
    "this code confirms nothing (it is of another preview, used, or too old, or the notes changed); nothing "
    "was erased. Call again without confirm, show the new preview to the user, and ask"
)


def correct(memory: Memory, given: Mapping[str, Any], caller: Caller) -> Answer:
    """Strike a statement and put the new one beside it; what cannot be done is told with the near misses."""
    from commonplace.edit.resolve import StatementNotFound

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
    from commonplace.redaction.redact import redact, strip_private
    from commonplace.render import screen

    return screen.one_line(redact(strip_private(why))[0])[:LONGEST_REASON]


def forget(memory: Memory, given: Mapping[str, Any], caller: Caller) -> Answer:
    """Erase what a person approves of: asked now, by the code of a preview, or later on the command line."""
    from commonplace.agent import confirmations

    by_agents = memory.settings.forget.by_agents
    if by_agents == "never":
        return answers.failed(f"{FORGETS}: {NEVER}")
    selection = _selection(given)
    waiting, request = confirmations.of(memory), amendments.request(selection)
    code = given.get("confirm", "").strip()
    text = waiting.shown(code) if code else ""
    preview = waiting.redeem(code, request) if code else memory.forget(selection, dry_run=True)
    if preview is None:
        return answers.failed(f"{FORGETS}: {STALE}")
    if not code:
        if not preview.places:
            return amendments.nothing(selection, preview)
        text = amendments.preview(selection, preview)
    if by_agents == "ask" and not caller.asks_itself:
        if caller.ask is None:
            return _left_to_the_owner(memory, selection, preview, text, caller)
        said = caller.ask(text, waiting.offer(request, text, preview))
        if said != "accept":
            return amendments.refused(said)
    elif not code:
        return amendments.offered(selection, preview, text, waiting.offer(request, text, preview))
    try:
        done = memory.forget(preview, agent=caller.name, session=caller.session)
    except PreviewOutdated as error:
        return answers.failed(f"{FORGETS}: {error}. Call again, without confirm")
    return amendments.erased(done)


def _left_to_the_owner(
    memory: Memory, selection: Selection, preview: Erasure, text: str, caller: Caller
) -> Answer:
    """Write down what is asked for, where nobody can be asked now."""
    from commonplace.edit.forget import requests

    kept = requests.keep(memory.workspace, selection, preview, agent=caller.name, session=caller.session)
    return amendments.waiting(selection, preview, text, kept.code)


def awaiting(memory: Memory, given: Mapping[str, Any]) -> str:
    """Return the preview that a call would confirm, for a person to approve of; empty for none."""
    from commonplace.agent import confirmations

    if memory.settings.forget.by_agents != "ask":
        return ""
    code = given.get("confirm")
    return confirmations.of(memory).shown(code.strip()) if isinstance(code, str) else ""


def _selection(given: Mapping[str, Any]) -> Selection:
    from commonplace.types.changes import Selection

    what = given["what"].strip()
    return Selection(given.get("kind") or _kind(what), what)


def _kind(what: str) -> SelectionKind:
    """What is meant where nobody says so: lines or a note where it reads as one, words otherwise."""
    if _LINES.fullmatch(what):
        return "lines"
    return "note" if _NOTE.fullmatch(what) else "text"
