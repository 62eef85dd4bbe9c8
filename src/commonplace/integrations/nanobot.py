"""Memory for nanobot, found by its entry point `nanobot.tools`: install both in one environment.

One tool: its `provide` adds recalled passages to a message, its `execute` lets the model search, and the
tools of a turn are observed once nanobot has stored it. The notes are those of nanobot's workspace, or of
the one that COMMONPLACE_WORKSPACE names. Only daily notes are written: nanobot itself rewrites MEMORY.md.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from commonplace.agent import tools as table
from commonplace.agent.attachment import Ask, Attachment, turns_of
from commonplace.base.errors import MissingExtra
from commonplace.base.paths import WORKSPACE_VARIABLE
from commonplace.memory import Memory
from commonplace.redaction.recalled import TAG

try:
    from nanobot.agent.tools.base import Tool, ToolResult
    from nanobot.agent.tools.context import current_request_session_key
    from nanobot.bus.runtime_events import SessionTurnPersisted
    from nanobot.runtime_context import RuntimeContextBlock
except ImportError as error:
    raise MissingExtra("memory for nanobot (0.3.5 or later)", "nanobot") from error

if TYPE_CHECKING:
    from nanobot.agent.tools.context import RequestContext, ToolContext
    from nanobot.bus.queue import MessageBus
    from nanobot.session.manager import SessionManager
    from nanobot.utils.llm_runtime import LLMRuntime

    from commonplace.types import ToolExecution, Turn

NAME = "nanobot"
SEARCH = "memory_search"
Messages = Sequence[Mapping[str, Any]]
_LISTENING: WeakKeyDictionary[MessageBus, Callable[[], None]] = WeakKeyDictionary()
logger = logging.getLogger("commonplace.nanobot")


class MemoryTool(Tool):
    """The tool `memory_search`, the recall before a message, and what observes finished turns."""

    _scopes = {"core"}  # noqa: RUF012 - as nanobot reads it; sub-agents work without memory

    def __init__(self, attachment: Attachment, sessions: SessionManager | None = None) -> None:
        """Take what remembers, and nanobot's sessions, of which turns are read."""
        tool = table.find(SEARCH)
        assert tool is not None
        self._tool, self._attachment, self._sessions = tool, attachment, sessions
        self._counts: dict[str, int] = {}  # messages of a session before the turn under way
        self._settled = False

    @classmethod
    def create(cls, ctx: ToolContext) -> MemoryTool:
        """Make one for an agent, and listen to its turns. Raises as `Memory.open`."""
        memory = Memory.open(os.environ.get(WORKSPACE_VARIABLE) or ctx.workspace, agent=NAME)
        stored = StoredSessions(ctx.sessions) if ctx.sessions is not None else None
        tool = cls(Attachment(memory, agent=NAME, conversations=stored), ctx.sessions)
        if ctx.bus is not None and ctx.sessions is not None:
            if ctx.bus in _LISTENING:  # the tools of this agent are loaded anew
                _LISTENING.pop(ctx.bus)()
            _LISTENING[ctx.bus] = ctx.bus.subscribe(tool.observe, SessionTurnPersisted)
        return tool

    @property
    def name(self) -> str:
        """The name that the model calls."""
        return SEARCH

    @property
    def description(self) -> str:
        """When to use it; nanobot drops the instructions of servers, so that all of it stands here."""
        return self._tool.description

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return dict(self._tool.schema)

    @property
    def read_only(self) -> bool:
        """Allow parallel runs with other tools."""
        return True

    async def execute(self, **arguments: object) -> str:
        """Search, and answer with cited passages in their frame."""
        session = current_request_session_key() or ""
        answer = await asyncio.to_thread(
            table.call_json, self._attachment.memory, SEARCH, arguments, agent=NAME, session=session
        )
        text: str = ToolResult.error(answer.text) if answer.is_error else answer.text
        return text

    # --- before a message ---------------------------------------------------------------------------

    def runtime_context_provider(self) -> Callable[[RequestContext], Awaitable[RuntimeContextBlock | None]]:
        """Return what nanobot calls once for every message of a user."""
        return self.provide

    async def provide(self, request: RequestContext) -> RuntimeContextBlock | None:
        """Return the block for a message; None without new passages. Never raises."""
        try:
            session = request.session_key or f"{request.channel}:{request.chat_id}"
            messages, live = self._messages(session)
            self._counts[session] = len(messages)
            if not any(TAG in str(one.get("content")) for one in live if one.get("role") == "user"):
                self._attachment.given(session, ())  # a new conversation, or one that was shortened
            if request.runtime is not None:
                self._attachment.ask_with(_asking(request.runtime), request.runtime.model)
            self._attachment.begin(session)
            context = await self._attachment.recall_async(request.original_user_text or "", session)
            return RuntimeContextBlock("commonplace", context.text) if context is not None else None
        except Exception as error:  # noqa: BLE001 - one that raises would end the turn
            logger.warning("nothing recalled: %s", type(error).__name__)
            return None

    def _messages(self, session: str) -> tuple[Messages, Messages]:
        """The messages of a session, and those of them that its model is still shown."""
        if self._sessions is None:
            return (), ()
        stored = self._sessions.get_or_create(session)
        return stored.messages, stored.messages[stored.last_archived :]

    # --- after a turn -------------------------------------------------------------------------------

    async def observe(self, event: SessionTurnPersisted) -> None:
        """Have the tools of a stored turn observed; the session is summed up when it rests."""
        session = event.context.session_key
        messages, _ = self._messages(session)
        turn = messages[self._counts.pop(session, _last_user(messages)) :]
        for execution in _executions(self._attachment, session, turn):
            await self._attachment.observe_async(execution)
        self._attachment.postpone(session)
        if event.context.channel == "cli" and not self._settled:
            # `nanobot agent -m` ends with the answer: what an earlier process left is finished before.
            self._settled = True
            await asyncio.to_thread(self._attachment.settle)


class StoredSessions:
    """The sessions as nanobot stores them, for summaries; it moves foreign ones out of its folder."""

    def __init__(self, sessions: SessionManager) -> None:
        """Bind to what stores them."""
        self._sessions = sessions

    def load(self, session: str) -> list[Turn]:
        """Return the messages of a session, without what was put into them."""
        stored = self._sessions.read_session_snapshot(session)
        return turns_of(stored.messages, "nanobot") if stored is not None else []

    def state(self, session: str) -> tuple[int, float]:
        """Return how many messages there are and when the last one came. Raises FileNotFoundError."""
        stored = self._sessions.read_session_snapshot(session)
        if stored is None:
            raise FileNotFoundError(session)
        return len(stored.messages), stored.updated_at.timestamp()


def _last_user(messages: Messages) -> int:
    places = (place for place in range(len(messages) - 1, -1, -1) if messages[place].get("role") == "user")
    return next(places, 0)


def _executions(attachment: Attachment, session: str, turn: Messages) -> Iterator[ToolExecution]:
    """Yield the tools that ran in a turn: each call of an assistant with its result."""
    results = {one.get("tool_call_id"): one for one in turn if one.get("role") == "tool"}
    for call in (call for one in turn for call in one.get("tool_calls") or ()):
        function = call.get("function") or {}
        result = results.get(call.get("id"), {})
        content = result.get("content")
        text = content if isinstance(content, str) else str(content or "")
        error = text if text.startswith("Error") else ""
        yield attachment.execution(
            session, str(function.get("name", "")), function.get("arguments"), text, error,
            at=_at(result.get("timestamp")),
        )  # fmt: skip


def _at(timestamp: object) -> datetime | None:
    with suppress(ValueError):
        return datetime.fromisoformat(timestamp) if isinstance(timestamp, str) else None
    return None


def _asking(runtime: LLMRuntime) -> Ask:
    """Ask the owner's own model from another thread, on the loop that it belongs to."""
    loop = asyncio.get_running_loop()

    def ask(messages: Sequence[Mapping[str, str]], max_tokens: int, deadline_s: float) -> str:
        asked = runtime.provider.chat_with_retry(
            messages=[dict(message) for message in messages], model=runtime.model, max_tokens=max_tokens
        )
        response = asyncio.run_coroutine_threadsafe(asked, loop).result(deadline_s)
        if response.finish_reason == "error" or not response.content:
            raise ValueError("no answer")
        return str(response.content)

    return ask
