"""An action: a change with a preview, described once for every interface.

An interface (command line, HTTP, MCP, page, panel) shows the outcome, asks, and carries out exactly that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from commonplace.actions.schema import Schema, record
from commonplace.base.tuples import NamedTuple

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.render.screen import Look
    from commonplace.types import Provenance

Door = Literal["cli", "http", "mcp", "page", "panel"]


class Call(NamedTuple):
    """The input of an action: the memory, values that fit its parameters, the caller, and the moment.

    Without `by` the owner is the caller.
    """

    memory: Memory
    values: Mapping[str, Any]
    by: Provenance | None
    now: datetime


class Shown(NamedTuple):
    """The outcome of an action before it is done; `carry` does exactly that; None without an effect.

    `title` is the title of a dialog. Without a `question`, a command line goes on by itself.
    `carry` raises PreviewOutdated if its outcome would differ by now.
    """

    outcome: Any
    carry: Callable[[], Any] | None
    title: str
    question: str = ""
    diff: str = ""
    text: Callable[[Look], str] = lambda look: ""  # where a diff does not show it
    remarks: Sequence[str] = ()


class Param(NamedTuple):
    """A value that an action takes: its name, its JSON Schema, and how a command line takes it.

    With a `metavar` it is an argument there, of which `words` takes all the rest; otherwise an option.
    `completes` says what a shell offers. `without` is the flag that says that it is left out on purpose.
    """

    name: str
    schema: Schema
    required: bool = False
    metavar: str = ""
    words: bool = False
    completes: str = ""
    without: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """A row: an action, its parameters, its answer, its permissions, and its interfaces.

    `answers` is the class of the value from `carry`, `text` its wording in a sentence. `reopens` tells
    whether settings were changed, `fails` whether a part was not done. A `final` action cannot be undone.
    `owner` keeps it from agents, `beyond` is the command for callers confined to the workspace.
    `beside` gives further remarks. `lane` and `refusals` are those of `/api`.
    """

    name: str
    about: str
    show: Callable[[Call], Shown]
    answers: type
    text: Callable[[Any], str]
    params: tuple[Param, ...] = ()
    hidden: tuple[Param, ...] = ()  # of programs alone
    path: str = ""
    preview: str = "Show what this would change."
    beside: Callable[[Any], Sequence[str]] = lambda done: ()
    reopens: Callable[[Any], bool] = lambda done: False
    fails: Callable[[Any], bool] = lambda done: False
    final: bool = False
    owner: bool = False
    beyond: str = ""
    lane: str = "heavy"
    refusals: tuple[int, ...] = (404, 409)
    doors: frozenset[Door] = frozenset({"cli", "http"})

    @property
    def body(self) -> Schema:
        """Its parameters, as the schema of one object."""
        every = (*self.params, *self.hidden)
        return record(
            " ".join(one.name for one in every if one.required), **{one.name: one.schema for one in every}
        )
