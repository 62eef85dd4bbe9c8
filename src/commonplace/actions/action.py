"""An action: a change that a person sees before it is made, described once for every door.

A door (command line, HTTP, MCP, page, panel) has it show its outcome, asks, and carries out just that.
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
    """What an action gets: the memory, values that fit its parameters, who asks, and the moment.

    Without `by` its owner asks.
    """

    memory: Memory
    values: Mapping[str, Any]
    by: Provenance | None
    now: datetime


class Shown(NamedTuple):
    """The outcome of an action before it is done; `carry` does just that, None where nothing would be done.

    `title` says in a dialog what is done. Where no `question` is asked, a command line goes on by itself.
    `carry` raises PreviewOutdated where anything else would come of it by now.
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
    """A row: what is done, by which values, what it answers, who may, and which doors it has.

    `answers` is the class of what `carry` returns, `text` says it in a
    sentence, `beside` what else there is to know. `reopens` tells whether settings were changed, `fails`
    whether not all of it was done. What is `final` cannot be undone. `owner` keeps it from agents, `beyond`
    is the command for who may not reach beyond the workspace. `lane` and `refusals` are those of `/api`.
    On the page and in the panel it gets a form of its own, where it is not offered beside what it is done to.
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
        """What it takes, as one object."""
        every = (*self.params, *self.hidden)
        return record(
            " ".join(one.name for one in every if one.required), **{one.name: one.schema for one in every}
        )
