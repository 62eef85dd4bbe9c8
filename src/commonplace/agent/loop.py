"""A small real loop around a language model, and the example of how a host gives its agent this memory.

One session, one message at a time: what is recalled goes along with the message, the model calls tools until it
answers, every turn goes into the transcript, and hooks are told of all of it. docs/agent.md walks through it.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Self

from commonplace.agent import calling, instructions
from commonplace.agent.calling import Toolbox
from commonplace.agent.context import Context, ContextBuilder
from commonplace.agent.files import READ_FILE
from commonplace.agent.hooks import HookManager
from commonplace.agent.pairing import paired
from commonplace.agent.store import prefetch
from commonplace.agent.tools import TOOLS, Caller, Tool
from commonplace.errors import CommonplaceError
from commonplace.lifecycle import dialogue
from commonplace.llm.base import Message, ToolSpec
from commonplace.sessions.transcript import Transcript
from commonplace.types.conversation import Call, MessageEvent, SessionEvent, ToolExecution, Turn

if TYPE_CHECKING:
    from types import TracebackType

    from commonplace.llm.client import Client
    from commonplace.memory import Memory

Show = Callable[[str, str], None]  # of what kind it is (text, recall, tool, note), and the words
PURPOSE = "chat"
ENOUGH = "not run: tools were called often enough for one answer; answer with what is known"
STOPPED = "not run to its end: the user stopped the answer"


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of a message: the answer, the tools that ran, the notes that went along.

    `error` is the one line to show where the answer could not be had, `stopped` says that it was broken off;
    `text` is then what had been said.
    """

    text: str = ""
    executions: tuple[ToolExecution, ...] = ()
    recalled: Context | None = None
    error: str = ""
    stopped: bool = False


class AgentLoop:
    """A conversation with a language model that has a memory.

    It is plain and synchronous: a host with an event loop calls it by `asyncio.to_thread`.
    """

    def __init__(
        self,
        memory: Memory,
        llm: Client,
        *,
        session: str = "",
        agent: str = "",
        hooks: Sequence[object] = (),
        tools: Sequence[Tool] = (),
        show: Show = lambda kind, text: None,
    ) -> None:
        """Take what it works with; a session that has a transcript is gone on with.

        `hooks` and `tools` come on top of its own; `show` is given the answer piece by piece and what else
        happens. Nothing is asked or written before `start`.
        """
        self.memory, self.llm, self.agent, self._show = memory, llm, agent, show
        self.session = session or f"{datetime.now():%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:4]}"
        self.history: list[Turn] = []
        self._chat = memory.settings.chat
        self._transcript = Transcript.open(memory.workspace, self.session)
        self._context = ContextBuilder(memory)
        offered = [*TOOLS, *([READ_FILE] if self._chat.read_files else []), *tools]
        self._toolbox = Toolbox(
            memory,
            offered if llm.calls_tools else (),
            session=self.session,
            agent=agent,
            deadline_s=self._chat.tools_deadline_s,
        )
        self._hooks = HookManager(hooks)
        self._lock, self._stopping = threading.Lock(), threading.Event()

    # --- one message --------------------------------------------------------------------------------

    def respond(self, message: str) -> Reply:
        """Answer a message of the user; what goes wrong is in the reply, and the next message finds all usable.

        Ctrl-C, or `stop` from another thread, ends the answer and keeps what was said.
        """
        with self._lock:
            self._stopping.clear()
            waiting = prefetch(self._context, message, session=self.session)
            said = Turn("user", message, _now())
            self._keep(said)
            self._hooks.emit("on_message_received", MessageEvent(self.session, said, self.agent))
            begun, executions = len(self.history), []
            recalled, error, stopped = None, "", False
            try:
                recalled = self._recalled(waiting.result(self._chat.recall_wait_s))
                self._answer(executions)
            except KeyboardInterrupt:
                stopped = True
            except CommonplaceError as failure:
                error = str(failure)
            reply = self._replied(begun, tuple(executions), recalled, error, stopped)
        return reply

    def stop(self) -> None:
        """End the answer that is being given, from any thread."""
        self._stopping.set()

    def _recalled(self, context: Context | None) -> Context | None:
        """Put what is recalled beside the message, for the model alone: the transcript keeps the message as it is."""
        if context is None or not context.text:
            return None
        said = self.history[-1]
        self.history[-1] = replace(said, text=f"{context.text}\n\n{said.text}")
        self._context.given(context)
        self._show("recall", ", ".join(dict.fromkeys(part.citation for part in context.parts)))
        return context

    def _answer(self, executions: list[ToolExecution]) -> None:
        """Ask and run tools in turns until the model answers, or has called them often enough."""
        for round_ in range(self._chat.max_rounds + 2):
            self._make_room()
            asked = self._ask()
            if not asked.calls:
                return
            executions += self._call(asked.calls, allowed=round_ < self._chat.max_rounds)

    def _ask(self) -> Turn:
        """Ask the model once and show its words as they come; they are kept also where it breaks off."""
        said: list[str] = []
        calls: tuple[Call, ...] = ()
        stream = self.llm.stream(
            self._messages(),
            tools=[
                ToolSpec(tool.name, tool.description, tool.schema) for tool in self._toolbox.offered.values()
            ],
            max_tokens=self._chat.max_tokens,
            deadline_s=self._chat.deadline_s,
            purpose=PURPOSE,
        )
        try:
            while True:
                said.append(next(stream))
                self._show("text", said[-1])
                if self._stopping.is_set():
                    raise KeyboardInterrupt
        except StopIteration as end:
            calls = tuple(Call(call.id, call.name, call.arguments) for call in end.value.calls)
        finally:
            stream.close()
            turn = Turn("assistant", "".join(said), _now(), calls)
            if said or calls:
                self._keep(turn)
        return turn

    def _call(self, calls: Sequence[Call], *, allowed: bool) -> list[ToolExecution]:
        """Run the calls of an answer side by side; each has its answer in the conversation, whatever happens."""
        reason = STOPPED if allowed else ENOUGH
        done = [calling.refused(call, reason, self._toolbox.caller) for call in calls]
        try:
            if allowed:
                for call in calls:
                    self._show("tool", f"{call.name} {call.arguments}")
                done = self._toolbox.run(calls)
        finally:
            self._keep(*map(calling.answered, calls, done))
        for execution in done:
            self._hooks.emit("on_tool_executed", execution)
        if self._stopping.is_set():
            raise KeyboardInterrupt
        return done

    def _messages(self) -> list[Message]:
        """What the model is sent: who it is, and the conversation."""
        system = f"{instructions.text('en')}\n\nToday is {datetime.now():%A, %Y-%m-%d}."
        return [Message("system", system), *dialogue.messages(self.history)]

    def _make_room(self) -> None: ...

    def _keep(self, *turns: Turn) -> None:
        """Add turns to the conversation and its transcript; a disk that is full does not end the conversation."""
        self.history += turns
        try:
            self._transcript.extend(turns)
        except CommonplaceError as error:
            self._show("note", f"not kept: {error}")

    def _replied(
        self,
        begun: int,
        executions: tuple[ToolExecution, ...],
        recalled: Context | None,
        error: str,
        stopped: bool,
    ) -> Reply:
        """Compose the reply out of what was said since the message, and tell hooks of the answer."""
        said = [turn for turn in self.history[begun:] if turn.role == "assistant" and turn.text]
        text = "\n\n".join(turn.text for turn in said)
        if said and not error and not stopped:
            self._hooks.emit("on_response_ready", MessageEvent(self.session, said[-1], self.agent))
        return Reply(text, executions, recalled, error, stopped)

    # --- the session --------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin, or go on where the transcript ends."""
        self.history = paired(self._transcript.load(max_tokens=8000))
        self._hooks.emit("on_session_start", SessionEvent(self.session, self.agent))

    def close(self) -> None:
        """End the session."""
        self._hooks.emit("on_session_end", SessionEvent(self.session, self.agent))
        self._hooks.close()
        self._transcript.close()

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
