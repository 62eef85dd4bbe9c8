"""Requests of agents to forget, until the owner approves or refuses them, or a week has passed.

Each is a value of `state.sqlite` and holds the words that are to go.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from commonplace.base import locks, paths, remedies
from commonplace.base.errors import ConfigError
from commonplace.base.messages import message
from commonplace.edit.forget import targets as intents
from commonplace.edit.forget.targets import Targets
from commonplace.redaction.redact import public
from commonplace.storage import keyvalue, state
from commonplace.types.changes import Erased, Erasure, Selection, SelectionKind
from commonplace.types.store import Site

LASTS = timedelta(days=7)
MOST = 50  # waiting requests of one agent: few enough to read
_KIND = "request"  # of `storage.keyvalue`


@dataclass(frozen=True, slots=True)
class ForgetRequest:
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


def keep(
    workspace: paths.Workspace,
    selection: Selection,
    preview: Erasure,
    *,
    agent: str = "",
    session: str = "",
    now: datetime | None = None,
) -> ForgetRequest:
    """Write down what an agent asks for; asked for once more it takes the place of the former.

    Raises ConfigError where too many wait, NoteUnreadable.
    """
    workspace.check_writable()
    now = now or datetime.now().astimezone()
    paths.prepare_state(workspace)
    with locks.locked(paths.lock_file(workspace, "requests")):
        code = check_room(workspace, selection, agent, now) or secrets.token_hex(4)
        request = ForgetRequest(code, selection, preview, now, agent, session)
        record = {
            "kind": selection.kind,
            "value": selection.value,
            "also": list(selection.also),
            "basis": preview.basis.decode("utf-8", "surrogatepass"),
            "at": now.isoformat(timespec="seconds"),
            "agent": agent,
            "session": session,
        }
        keyvalue.write(workspace, _KIND, code, record)
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
    if sum(one.agent == agent and abs(now - one.at) <= LASTS for one in every) >= MOST:
        many = f"{MOST} requests of this agent wait for the owner already: {remedies.say('forget.pending')}"
        raise ConfigError("forget", many)
    return ""


def listed(workspace: paths.Workspace, now: datetime | None = None) -> list[ForgetRequest]:
    """Return the waiting requests, oldest first; remove those older than `LASTS`, and damaged ones."""
    now = now or datetime.now().astimezone()
    # A request from the future was written by a clock that was wrong; it would never grow old.
    waiting = [one for one in kept(workspace) if abs(now - one.at) <= LASTS]
    names = {name for name, _ in keyvalue.each(workspace, _KIND)} - {one.code for one in waiting}
    keyvalue.remove(workspace, _KIND, names, erase=True)
    return sorted(waiting, key=lambda request: (request.at, request.code))


def kept(workspace: paths.Workspace) -> list[ForgetRequest]:
    """Return all requests, also those that no longer count."""
    return [found for one in keyvalue.each(workspace, _KIND) if (found := _read(*one))]


def find(workspace: paths.Workspace, name: str) -> ForgetRequest:
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
    workspace, gone = site.workspace, []
    for name, fields in keyvalue.each(workspace, _KIND):
        request, basis = _read(name, fields), str(fields.get("basis"))
        text = "\n".join(map(str, fields.values()))
        asks = request is not None and request.goes_with(targets)
        if asks or targets.matches(text) or targets.matches(basis):
            gone.append(name)
    if change:
        keyvalue.remove(workspace, _KIND, gone, erase=True)
    return [Erased("requests", site.shown(state.path(workspace))) for _ in gone]


def remove(workspace: paths.Workspace, request: ForgetRequest) -> None:
    """Remove a request that was answered."""
    keyvalue.remove(workspace, _KIND, [request.code], erase=True)


def _read(code: str, fields: dict[str, Any]) -> ForgetRequest | None:
    """Return the request of a value; None for a damaged one."""
    try:
        selection = Selection(fields["kind"], str(fields["value"]), tuple(map(str, fields["also"])))
        preview = Erasure((), dry_run=True, basis=fields["basis"].encode("utf-8", "surrogatepass"))
        at = datetime.fromisoformat(fields["at"]).astimezone()
        return ForgetRequest(code, selection, preview, at, str(fields["agent"]), str(fields["session"]))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
