"""Requests of agents to forget, until the owner approves or refuses them, or a week has passed.

A file for each in `requests/` of the state holds the words that are to go.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import ClassVar

from commonplace.base import locks, paths, records, remedies
from commonplace.base.errors import ConfigError
from commonplace.base.messages import message
from commonplace.edit.forget import targets as intents
from commonplace.edit.forget.targets import Targets
from commonplace.redaction.redact import public
from commonplace.types.changes import Erased, Erasure, Selection, SelectionKind
from commonplace.types.store import Site

LASTS = timedelta(days=7)
MOST, MOST_IN_ALL = 50, 500  # waiting requests of one agent and of all: few enough to read
_LARGEST = 4 << 20  # bytes of one
_NAME = re.compile(r"[0-9a-f]{8}")
_ENDING = ".json"


@dataclass(frozen=True, slots=True)
class Request:
    """Something that an agent asks to have forgotten; `code` names it, `preview` is what the agent saw."""

    code: str
    selection: Selection
    preview: Erasure
    at: datetime
    agent: str = ""
    session: str = ""

    JSON: ClassVar = "code at=when agent session kind value"

    @property
    def when(self) -> str:
        """Its moment, as ISO 8601 has it."""
        return self.at.isoformat()

    @property
    def kind(self) -> SelectionKind:
        """The kind of its selection."""
        return self.selection.kind

    @property
    def value(self) -> str:
        """Its words as they may be shown: hosts of agents record what a terminal shows."""
        return public(self.selection.value)

    @property
    def targets(self) -> Targets:
        """The targets of its preview; empty ones for an unreadable preview."""
        try:
            return intents.read(self.preview.basis)
        except (ValueError, TypeError, KeyError):
            return Targets()

    def goes_with(self, targets: Targets) -> bool:
        """Tell whether it asks for something that is forgotten, the lines of which it would keep."""
        return self.code in targets.requests or targets.overlaps(self.targets)


def folder(workspace: paths.Workspace) -> Path:
    """Where they lie."""
    return workspace.state / "requests"


def keep(
    workspace: paths.Workspace,
    selection: Selection,
    preview: Erasure,
    *,
    agent: str = "",
    session: str = "",
    now: datetime | None = None,
) -> Request:
    """Write down what an agent asks for; asked for once more it takes the place of the former.

    Raises ConfigError where too many wait, NoteUnreadable.
    """
    workspace.check_writable()
    now = now or datetime.now().astimezone()
    paths.prepare_state(workspace)
    with locks.locked(paths.lock_file(workspace, "requests")):
        code = check_room(workspace, selection, agent, now) or secrets.token_hex(4)
        request = Request(code, selection, preview, now, agent, session)
        path = folder(workspace) / f"{code}{_ENDING}"
        record = {
            "kind": selection.kind,
            "value": selection.value,
            "also": list(selection.also),
            "basis": preview.basis.decode("utf-8", "surrogatepass"),
            "at": now.isoformat(timespec="seconds"),
            "agent": agent,
            "session": session,
        }
        with records.translated(path):
            workspace.kept.exchange(path, records.encode(record), alone=True)
    return request


def check_room(
    workspace: paths.Workspace, selection: Selection, agent: str, now: datetime | None = None
) -> str:
    """Return the code under which an agent asked for the same before, if it did.

    Raises ConfigError where too many wait. Call it before composing a preview, which reads all notes.
    """
    now = now or datetime.now().astimezone()
    every = kept(workspace)  # whatever the clock says
    if same := [one for one in every if one.selection == selection and one.agent == agent]:
        return same[0].code
    waiting = [request for request in every if abs(now - request.at) <= LASTS]
    own = sum(request.agent == agent for request in waiting)
    if own >= MOST or len(waiting) >= MOST_IN_ALL:
        many = f"{MOST} requests of this agent" if own >= MOST else f"{MOST_IN_ALL} requests"
        raise ConfigError("forget", f"{many} wait for the owner already: {remedies.say('forget.pending')}")
    return ""


def listed(workspace: paths.Workspace, now: datetime | None = None) -> list[Request]:
    """Return what waits, oldest first; those older than `LASTS`, and damaged ones, are removed."""
    now = now or datetime.now().astimezone()
    waiting = []
    for path, request in _all(workspace):
        # One from the future is of a clock that was wrong; it would never grow old.
        if request is None or abs(now - request.at) > LASTS:
            records.remove(workspace.kept, path)
        else:
            waiting.append(request)
    return sorted(waiting, key=lambda request: (request.at, request.code))


def kept(workspace: paths.Workspace) -> list[Request]:
    """Return all that lie here, those that no longer count as well."""
    return [request for _, request in _all(workspace) if request]


def _all(workspace: paths.Workspace) -> list[tuple[Path, Request | None]]:
    with records.translated(folder(workspace)):
        names = workspace.kept.names(folder(workspace))
    every = [folder(workspace) / name for name in names if name.endswith(_ENDING)]
    return [(path, read(workspace, path)) for path in every]


def find(workspace: paths.Workspace, name: str) -> Request:
    """Return the one of a code, or of a number in the list. Raises ConfigError."""
    waiting = listed(workspace)
    for number, request in enumerate(waiting, 1):
        if name == request.code or (name.isdecimal() and len(name) < 4 and int(name) == number):
            return request
    pending = remedies.say("forget.pending")
    none = message("forget.no_request", "nothing waits under {name!r}: {pending}", name=name, pending=pending)
    raise ConfigError("forget", none)


def sweep(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Name the requests of agents that hold any of it, or ask for some of it; remove them to `change`."""
    workspace, erased = site.workspace, []
    for path in records.listed(workspace.kept, folder(workspace)):
        request = read(workspace, path)
        words = request.preview.basis.decode("utf-8", "replace") if request else ""
        text = records.load(workspace.kept, path).decode("utf-8", "replace")
        asks = request is not None and request.goes_with(targets)
        if asks or targets.matches(text) or targets.matches(words, escaped=True):
            erased.append(Erased("requests", site.shown(path)))
            if change:
                records.remove(workspace.kept, path)
    return erased


def remove(workspace: paths.Workspace, request: Request) -> None:
    """Remove one that was answered."""
    records.remove(workspace.kept, folder(workspace) / f"{request.code}{_ENDING}")


def read(workspace: paths.Workspace, path: Path) -> Request | None:
    """Return what a file says; None for a damaged one."""
    if not _NAME.fullmatch(path.stem):
        return None
    try:
        fields = records.read(workspace.kept, path, limit=_LARGEST)
        selection = Selection(fields["kind"], str(fields["value"]), tuple(map(str, fields["also"])))
        preview = Erasure((), dry_run=True, basis=fields["basis"].encode("utf-8", "surrogatepass"))
        at = datetime.fromisoformat(fields["at"]).astimezone()
        return Request(path.stem, selection, preview, at, str(fields["agent"]), str(fields["session"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
