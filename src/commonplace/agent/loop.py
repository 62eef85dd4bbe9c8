"""A small real loop around a language model, and the example of how a host gives its agent this memory.

One session, one message at a time: what is recalled goes along with the message, the model calls tools until
it answers, every turn goes into the transcript, and hooks hear of all of it. docs/agents.md lists the steps.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Self

from commonplace.agent import calling, instructions
from commonplace.agent.calling import Approve, Toolbox, paired
from commonplace.agent.context import Context, ContextBuilder
from commonplace.agent.hooks import HookManager
from commonplace.agent.lifecycle import IdleTimer, ObservationHook, SummaryHook
from commonplace.agent.store import prefetch
from commonplace.agent.tools import READ_FILE, TOOLS, Tool
from commonplace.agent.worker import IndexWorker
from commonplace.base.errors import CommonplaceError
from commonplace.providers.llm.base import Completion, Message, ToolSpec
from commonplace.providers.refusals import TooLarge
from commonplace.transcripts.session import Transcript
from commonplace.types import Call, CompactionEvent, MessageEvent, SessionEvent, ToolExecution, Turn
from commonplace.upkeep import dialogue
from commonplace.upkeep.compaction import Compactor
from commonplace.upkeep.summaries import Summarizer

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.providers.llm.client import Client

Show = Callable[[str, str], None]  # of what kind it is (text, recall, tool, note), and the words
PURPOSE = "chat"
ENOUGH = "not run: tools were called often enough for one answer; answer with what is known"
STOPPED = "not run to its end: the user stopped the answer"


@dataclass(slots=True)
class Reply:
    """What became of a message: the answer, the tools that ran, the notes that went along.

    `error` is the one line to show where the answer could not be had, `stopped` says that it was broken off;
    `text` is then what had been said.
    """

    text: str = ""
    executions: list[ToolExecution] = field(default_factory=list)
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
        approve: Approve | None = None,
    ) -> None:
        """Take what it works with; a session that has a transcript is gone on with.

        `hooks` and `tools` come on top of its own; `show` is given the answer piece by piece, and what else
        happens; `approve` asks a person before something is erased, which nobody can without it. Nothing is
        asked, read or written before `start`.
        """
        self.memory, self.llm, self.agent, self.show = memory, llm, agent, show
        self.session = session or f"{datetime.now():%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:4]}"
        self.history: list[Turn] = []
        settings = memory.settings
        self._chat = settings.chat
        self._transcript = Transcript.open(memory.workspace, self.session, fsync=settings.sessions.fsync)
        self._context = ContextBuilder(memory)
        offered = [*TOOLS, *([READ_FILE] if self._chat.read_files else []), *tools]
        self._toolbox = Toolbox(
            memory,
            offered if llm.calls_tools else (),
            session=self.session,
            agent=agent,
            deadline_s=self._chat.tools_deadline_s,
            approve=approve,
        )
        self._compactor = Compactor(memory, llm, session=self.session, agent=agent)
        self._worker = IndexWorker(memory)
        self._summaries = SummaryHook(Summarizer(memory, llm))
        observing = ObservationHook(self._worker, settings, memory.workspace.root)
        self._hooks = HookManager.configured(settings.hooks, [observing, self._summaries, *hooks])
        self._idle = IdleTimer(self._hooks, settings.summary.idle_s)
        self._given: list[Context] = []  # what stands in the conversation of notes
        self._counted = (0, 0)  # tokens that the model counted last, and the turns they were of
        self._lock, self._stopping = threading.Lock(), threading.Event()

    # --- the session --------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin the session, or go on where its transcript ends; what earlier ones left behind is done now.

        Raises ConfigError for an id that is none, NoteUnreadable for a transcript that cannot be read.
        """
        self._read()
        self._hooks.emit("on_session_start", SessionEvent(self.session, self.agent))

    def _read(self) -> None:
        """Take the conversation from its transcript: at the start, and where something was erased from it."""
        self.history = paired(self._transcript.load(max_tokens=self._compactor.window.limit // 2))

    def close(self) -> None:
        """End the session: it is summed up if that is due, and what is under way is brought to disk."""
        self._idle.close()
        self._hooks.emit("on_session_end", SessionEvent(self.session, self.agent))
        self._hooks.close()
        self._summaries.close()
        self._worker.stop()
        self._transcript.close()

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()

    # --- one message --------------------------------------------------------------------------------

    def respond(self, message: str) -> Reply:
        """Answer a message of the user; what goes wrong is in the reply, and the session can go on.

        Ctrl-C, or `stop` from another thread, ends the answer and keeps what was said.
        """
        with self._lock:
            self._stopping.clear()
            waiting = prefetch(self._context, message, session=self.session)
            said, reply = Turn("user", message, _now()), Reply()
            self._keep(said)
            try:
                self._hooks.emit("on_message_received", MessageEvent(self.session, said, self.agent))
                context = waiting.result(self._chat.recall_wait_s)
                if context is not None and context.text:
                    # Beside the message, for the model alone: the transcript has none of it.
                    self.history[-1] = replace(said, text=f"{context.text}\n\n{said.text}")
                    self._given.append(context)
                    reply.recalled = context
                    self.show("recall", ", ".join(dict.fromkeys(part.citation for part in context.parts)))
                answer = self._answer(reply)
                self._hooks.emit("on_response_ready", MessageEvent(self.session, answer, self.agent))
            except KeyboardInterrupt:
                reply.stopped = True
            except CommonplaceError as error:
                reply.error = str(error)
            self._idle.touch(self.session, self.agent)
            self._worker.nudge()  # a tool may have written a note
            return reply

    def stop(self) -> None:
        """End the answer that is being given, from any thread."""
        self._stopping.set()

    def _answer(self, reply: Reply) -> Turn:
        """Ask and run tools in turns, until the model answers or has called them often enough."""
        for round_ in range(self._chat.max_rounds + 2):
            if self._compactor.is_due(self.history, self._tokens):
                self._shorten()
            try:
                asked = self._ask(reply)
            except TooLarge:  # the window is smaller than was said
                self._compactor.window = replace(self._compactor.window, tokens=self._tokens)
                if not self._shorten():
                    raise
                asked = self._ask(reply)
            if not asked.calls:
                break
            reply.executions += self._call(asked.calls, allowed=round_ < self._chat.max_rounds)
        return asked

    def _ask(self, reply: Reply) -> Turn:
        """Ask the model once and show its words as they come; they are kept also where it breaks off."""
        pieces: list[str] = []
        calls: tuple[Call, ...] = ()
        stream = self.llm.stream(
            self._messages(),
            tools=[ToolSpec(tool.name, tool.description, tool.schema) for tool in self._toolbox.offered],
            max_tokens=self._chat.max_tokens,
            deadline_s=self._chat.deadline_s,
            purpose=PURPOSE,
        )
        try:
            while True:
                try:
                    pieces.append(next(stream))
                except StopIteration as end:
                    whole: Completion = end.value
                    break
                self.show("text", pieces[-1])
                self._check_stopped()
            calls = tuple(Call(call.id, call.name, call.arguments) for call in whole.calls)
        finally:
            stream.close()
            turn = Turn("assistant", "".join(pieces), _now(), calls)
            if pieces or calls:
                self._keep(turn)
            reply.text = "\n\n".join(filter(None, [reply.text, turn.text]))
        self._counted = (whole.tokens_in + whole.tokens_out, len(self.history))
        return turn

    def _call(self, calls: Sequence[Call], *, allowed: bool) -> list[ToolExecution]:
        """Run the calls of an answer side by side; each is answered in the conversation, whatever happens."""
        done = [self._toolbox.refused(call, STOPPED if allowed else ENOUGH) for call in calls]
        try:
            if allowed:
                for call in calls:
                    self.show("tool", f"{call.name} {call.arguments}")
                done = self._toolbox.run(calls)
        finally:
            self._keep(*map(calling.answered, calls, done))
        if any(map(calling.erased, done)):  # what is forgotten must not come back from this conversation
            self._read()
            self._anew()
        for execution in done if allowed else ():
            self._hooks.emit("on_tool_executed", execution)
        self._check_stopped()
        return done

    def _check_stopped(self) -> None:
        if self._stopping.is_set():
            raise KeyboardInterrupt

    # --- the conversation ---------------------------------------------------------------------------

    def _messages(self) -> list[Message]:
        """What the model is sent: what its memory is for, the day, and the conversation."""
        asked = next((turn.text for turn in self.history if turn.role == "user"), "")
        system = f"{instructions.text(like=asked)}\n\n{datetime.now():%A, %Y-%m-%d}"
        return [Message("system", system), *dialogue.messages(self.history)]

    def _keep(self, *turns: Turn) -> None:
        """Add turns to the conversation and its transcript; one that cannot be written ends no chat."""
        self.history += turns
        try:
            self._transcript.extend(map(calling.kept, turns))
        except CommonplaceError as error:
            self.show("note", f"not kept: {error}")

    @property
    def _tokens(self) -> int:
        """About how many tokens the conversation takes: as counted last, and what came since."""
        counted, turns = self._counted
        return counted + dialogue.tokens(self.history[turns:])

    def _shorten(self) -> bool:
        """Let the model write down what must not be lost, then put a summary in the place of older turns."""
        turns, tokens = tuple(self.history), self._tokens
        window = self._compactor.window.tokens
        event = CompactionEvent(self.session, turns, tokens, window, self.agent)
        self._hooks.emit("on_before_compaction", event)
        done = self._compactor.compact(turns, tokens)
        if done is None:
            return False
        self.history = list(done.turns)
        self._counted = (done.tokens_after, len(self.history))
        self._anew()
        self.show("note", f"shortened from about {tokens:,} to {done.tokens_after:,} tokens")
        return True

    def _anew(self) -> None:
        """Let what went with turns that are gone be recalled again, and what stands in the others not."""
        self._given = [one for one in self._given if any(one.text in turn.text for turn in self.history)]
        self._context.forget(self.session)
        for given in self._given:
            self._context.given(given)


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
