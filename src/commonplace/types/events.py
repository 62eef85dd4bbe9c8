"""Conversations of a person, a model and its tools: turns, tool calls, and the events of hooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Speaker = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that a model asked for; `arguments` is JSON as the model wrote it, valid or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation.

    `at` is its time, ISO 8601, empty if unknown. `calls` are the tool calls of an assistant;
    in a tool's answer `answers` is the id of the call and `tool` the tool's name.
    """

    role: Speaker
    text: str
    at: str = ""
    calls: tuple[Call, ...] = ()
    answers: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class ToolExecution:
    """A tool that ran in a session: with what, what came of it, how long it took.

    `error` is empty where it succeeded; `untrusted` says that the result came from outside, such as a page
    of the network; `folder` is where it ran, if the host says so; `subagent` the one of `agent` that ran it.
    """

    session: str
    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    result: str = ""
    error: str = ""
    at: datetime = field(default_factory=datetime.now)
    duration_ms: float = 0.0
    agent: str = ""
    untrusted: bool = False
    folder: str = ""
    subagent: str = ""


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """A session that begins, rests or ends."""

    session: str
    agent: str = ""
    at: datetime = field(default_factory=datetime.now)


@dataclass(frozen=True, slots=True)
class MessageEvent:
    """A message that came in, or an answer that is about to go out."""

    session: str
    turn: Turn
    agent: str = ""


@dataclass(frozen=True, slots=True)
class CompactionEvent:
    """A conversation that is about to be shortened: all its turns, their tokens, and the model's window."""

    session: str
    turns: tuple[Turn, ...]
    tokens: int
    window: int
    agent: str = ""
