"""An operation of `/api`: a row of the table that routes, checks of requests and their description are of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from commonplace.actions import action as actions
from commonplace.actions.schema import Schema, record, text
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.servers.api import schema
from commonplace.servers.api.errors import Refused
from commonplace.servers.visitors import Visitors
from commonplace.types.data import to_data

if TYPE_CHECKING:
    from commonplace.agent.tools import Confirmations
    from commonplace.memory import Memory
    from commonplace.types import Finding, Provenance

Lane = Literal["light", "heavy", "entry", "model", "examination", "reading"]
Examine = Callable[[bool], Iterable["Finding"]]
LOST = message("preview.lost", "this preview is used, too old, or of something else; nothing was changed")
PREVIEW_AGAIN = message("preview.again", "ask for the preview again")


class Reply(NamedTuple):
    """An answer: a value as JSON, the status and further headers."""

    value: object
    status: int = 200
    headers: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class OperationCall:
    """A request as an operation gets it: its values fit their schema, and `headers` are those it declares.

    `agent` is who the server was started for, empty for the owner. `examine` examines the whole installation,
    with providers that are reached over a network if it is called with True. `reaches` says whether who asks
    may reach beyond the workspace; `reopen` opens the memory by settings that were changed. `visitors` are
    the browsers that are in, `is_from_page` says that a page of this server asks.
    """

    memory: Memory
    values: Mapping[str, Any]
    previews: Confirmations[Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    agent: str = ""
    examine: Examine = lambda online: ()
    reaches: bool = False
    reopen: Callable[[], Memory] | None = None
    visitors: Visitors = field(default_factory=Visitors)
    is_from_page: bool = False

    @property
    def provenance(self) -> Provenance | None:
        """Return the writer: the agent of this server; None for the owner."""
        from commonplace.agent.answers import Caller

        return Caller(self.agent).provenance() if self.agent else None

    def given(self, *names: str) -> dict[str, Any]:
        """Return the values of some names, as far as they were sent."""
        return {name: self.values[name] for name in names if name in self.values}

    def offer(self, kind: str, preview: object) -> str:
        """Keep what was shown; return the code by which it can be carried out once."""
        return self.previews.offer(kind, "", preview)

    def redeem(self, kind: str) -> Any:  # noqa: ANN401 - what `offer` took
        """Return what was shown by the code in `preview`. Raises Refused for any other code."""
        preview = self.previews.redeem(self.values["preview"], kind)
        if preview is None:
            raise Refused(409, LOST, PREVIEW_AGAIN)
        return preview

    def check_reach(self, command: str) -> None:
        """Raise Refused where who asks may not reach beyond the workspace, with the command that may."""
        if not self.reaches:
            reason = message(
                "reach",
                "this reaches beyond the workspace, so only a page that `commonplace web` opened "
                "on this machine may ask",
            )
            how = message("reach.how", "open it so, or use the command line: {command}", command=command)
            raise Refused(403, reason, how)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the API: its path, its input, its answer, and the function that runs it.

    `query` and `headers` describe the parameters apart from the body, by name; `body` an object. `lane` names
    the limit to wait for: `light` ones hardly wait, `heavy` ones wait for searches and other changes, an
    `entry` for other entries; of those that call a `model`, examine, or are `reading` whole folders, one runs
    at a time. `owner`: only for the owner. `beyond`: it reaches beyond the workspace; the command line that
    does the same, for callers who may not. `open_to_all`: it needs no token.
    """

    method: str
    path: str
    name: str
    about: str
    run: Callable[[OperationCall], object]
    answer: Schema
    query: Mapping[str, Schema] = field(default_factory=dict)
    body: Schema | None = None
    headers: Mapping[str, Schema] = field(default_factory=dict)
    refusals: tuple[int, ...] = ()
    lane: Lane = "heavy"
    owner: bool = False
    beyond: str = ""
    required: tuple[str, ...] = ()
    created: bool = False
    open_to_all: bool = False

    @property
    def writes(self) -> bool:
        """Return True if it may change notes; a preview changes no note."""
        return self.method != "GET" and not self.path.endswith("/preview")


# --- what is shown first --------------------------------------------------------------------------------

CODE = text("The code of a preview.", least=1, most=100)
_SHOWN = text("Carries out just what is shown, once; empty where there is nothing to carry out.")


def pair(action: actions.Action) -> tuple[Operation, Operation]:
    """Return the operations of an action: one that shows it, and one that carries out what was shown."""
    lane: Any = action.lane
    first = Operation(
        "POST", f"{action.path}/preview", f"preview_{action.name}", action.preview, partial(_preview, action),
        schema.answer(**schema.parts(action.answers), preview=_SHOWN),
        body=action.body, refusals=action.refusals, lane=lane, owner=action.owner,
        beyond=action.beyond and f"commonplace {action.beyond}",
    )  # fmt: skip
    then = replace(
        first, path=action.path, name=action.name, about=action.about, run=partial(_carry_out, action),
        answer=schema.of(action.answers), body=record("preview", preview=CODE),
    )  # fmt: skip
    return first, then


def _preview(action: actions.Action, call: OperationCall) -> object:
    now = datetime.now().astimezone()  # of what is shown and of what is written
    shown = action.show(actions.Call(call.memory, call.values, call.provenance, now))
    return {**to_data(shown.outcome), "preview": call.offer(action.name, shown.carry) if shown.carry else ""}


def _carry_out(action: actions.Action, call: OperationCall) -> object:
    done = call.redeem(action.name)()
    if action.final:
        call.previews.clear()  # which may hold the words
    if action.reopens(done) and call.reopen is not None:
        call.reopen()
    return done
