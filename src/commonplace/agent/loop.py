"""A small real loop around a language model, and the example of how a host gives its agent this memory.

One session, one message at a time: what is recalled goes along with the message, the model calls tools until it
answers, every turn goes into the transcript, and hooks are told of all of it. docs/agent.md walks through it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Self

from commonplace.agent import calling
from commonplace.agent.calling import Toolbox
from commonplace.agent.context import Context, ContextBuilder
from commonplace.agent.files import READ_FILE
from commonplace.agent.hooks import HookManager
from commonplace.agent.pairing import paired
from commonplace.agent.tools import TOOLS, Tool
from commonplace.errors import CommonplaceError
from commonplace.lifecycle import dialogue
from commonplace.llm.base import Message, ToolSpec
from commonplace.sessions.transcript import Transcript
from commonplace.types.conversation import Call, MessageEvent, SessionEvent, ToolExecution, Turn

if TYPE_CHECKING:
    from types import TracebackType

    from commonplace.llm.client import Client
    from commonplace.memory import Memory

Show = Callable[[str, str], None]  # what is shown (`text`, `recall`, `tool`, `note`), and the words
PURPOSE = "chat"
ENOUGH = "not run: tools were called often enough for one answer; answer with what is known"
STOPPED = "not run to its end: the user stopped the answer"


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of a message: the answer, the tools that ran, the notes that went along.

    `error` is the one line to show where no answer could be had; `stopped` says that it was broken off, then
    `text` is what had been said.
    """

    text: str
    executions: tuple[ToolExecution, ...] = ()
    recalled: Context | None = None
    error: str = ""
    stopped: bool = False


class AgentLoop:
    """A conversation with a language model that has a memory; a host with an event loop puts it into threads."""

    def __init__(
        self,
        memory: Memory,
        llm: Client,
        *,
        session: str = "",
        agent: str = "",
        hooks: Sequence[object] = (),
        tools: Sequence[Tool] | None = None,
        show: Show = lambda kind, text: None,
    ) -> None:
        """Take what it works with; a session that has a transcript is gone on with. `show` gets what happens."""
        self.memory, self.llm, self.agent, self.show = memory, llm, agent, show
        self.session = session or f"{datetime.now():%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:4]}"
        self.chat = memory.settings.chat
        self.transcript = Transcript.open(memory.workspace, self.session)
        self.history: list[Turn] = []
