"""A small real loop around a language model, and the example of how a host gives its agent this memory.

One session, one message at a time: what is recalled goes along with the message, the model calls tools until
it answers, every turn goes into the transcript, and hooks hear of all of it. docs/agents.md lists the steps.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Self

from commonplace.agent import instructions, tools
from commonplace.agent.context import Context, ContextBuilder
from commonplace.agent.hooks import HookManager
from commonplace.agent.lifecycle import IdleTimer, ObservationHook, SummaryHook
from commonplace.agent.store import prefetch
from commonplace.agent.tools import FORGETS, READ_FILE, TOOLS, Tool, parsed
from commonplace.agent.worker import IndexWorker
from commonplace.base.deadline import Deadline
from commonplace.base.errors import CommonplaceError
from commonplace.providers.attempts import TooLarge
from commonplace.providers.llm.base import Message, ToolSpec
from commonplace.redaction.redact import redact_personal
from commonplace.transcripts.session import Transcript
from commonplace.types import Call, CompactionEvent, MessageEvent, SessionEvent, ToolExecution, Turn
from commonplace.upkeep import dialogue
from commonplace.upkeep.compaction import Compactor
from commonplace.upkeep.summaries import Summarizer

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.providers.llm.client import Client

Approve = Callable[[Tool, str], bool]  # a tool and what it would do; whether a person says yes
Show = Callable[[str, str], None]  # of what kind it is (text, recall, tool, note), and the words
PURPOSE = "chat"
ENOUGH = "not run: tools were called often enough for one answer; answer with what is known"
STOPPED = "not run to its end: the user stopped the answer"
MAX_ROUNDS, MOST_CALLS, MAX_TOKENS = 8, 16, 2048  # of one answer: rounds of calls, calls, tokens
UNTOLD = '{"what": "not kept"}'  # in place of what a model asked to have forgotten
NOBODY = "not done: it needs the yes of a person, and nobody is here to give it; nothing was changed"
DECLINED = "not done: the user said no; nothing was changed"
INTERRUPTED = "interrupted: there is no result"
NOT_KEPT = "the result was not kept"  # that of a search is left out of a transcript


@dataclass(slots=True)
class Reply:
    """The outcome of a message: the answer, the tools that ran, the notes that were recalled.

    `error` is the one line to show without an answer, `stopped` tells that it was interrupted;
    `text` is then the part received before.
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
        """Take the memory, the model and the options; a session with a transcript is continued.

        `hooks` and `tools` are added to its own; `show` gets the model's text, and other events;
        `approve` asks a person before an erasure; without it erasure is refused. Requests, reads and
        writes begin with `start`.
        """
        self.memory, self.llm, self.agent, self.show = memory, llm, agent, show
        self.session = session or f"{datetime.now():%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:4]}"
        self.history: list[Turn] = []
        settings = memory.settings
        self._chat = settings.chat
        self._transcript = Transcript.open(memory.workspace, self.session)
        self._context = ContextBuilder(memory)
        offered = [*TOOLS, *([READ_FILE] if self._chat.read_files else []), *tools]
        self._toolbox = Toolbox(
            memory,
            offered,
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
        self._given: list[Context] = []  # notes that are in the conversation
        self._counted = (0, 0)  # tokens that the model counted last, and the turns they were of
        self._lock, self._stopping = threading.Lock(), threading.Event()

    # --- the session --------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin the session, or go on where its transcript ends; what earlier ones left behind is done now.

        Raises ConfigError for a bad session id, NoteUnreadable for a transcript that cannot be read.
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

        Ctrl-C ends the answer at once, `stop` from another thread when the model has spoken.
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
                    # With the message, for the model alone: the transcript lacks it.
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
        for round_ in range(MAX_ROUNDS + 2):
            if self._compactor.is_due(self.history, self._tokens):
                self._shorten()
            try:
                asked = self._ask(reply)
            except TooLarge:  # the window is smaller than configured
                self._compactor.window = replace(self._compactor.window, tokens=self._tokens)
                if not self._shorten():
                    raise
                asked = self._ask(reply)
            if not asked.calls:
                break
            reply.executions += self._call(asked.calls, allowed=round_ < MAX_ROUNDS)
        return asked

    def _ask(self, reply: Reply) -> Turn:
        """Ask the model once and show what it says."""
        said = self.llm.complete(
            self._messages(),
            tools=[ToolSpec(tool.name, tool.description, tool.schema) for tool in self._toolbox.offered],
            max_tokens=MAX_TOKENS,
            deadline_s=self._chat.deadline_s,
            purpose=PURPOSE,
        )
        wanted = () if self._stopping.is_set() else said.calls
        calls = tuple(Call(call.id, call.name, call.arguments) for call in wanted)
        turn = Turn("assistant", said.text, _now(), calls)
        self._keep(*[turn] if said.text or calls else [])
        self._counted = (said.tokens_in + said.tokens_out, len(self.history))
        reply.text = "\n\n".join(filter(None, [reply.text, said.text]))
        if said.text:
            self.show("text", said.text)
        self._check_stopped()
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
            self._keep(*map(answered, calls, done))
        # Forgotten text must not come back from this conversation.
        if any(ran.tool == FORGETS and not ran.error and ran.arguments.get("confirm") for ran in done):
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
        """Return the messages for the model: the instructions on memory, the day, and the conversation."""
        asked = next((turn.text for turn in self.history if turn.role == "user"), "")
        system = f"{instructions.text(like=asked)}\n\n{datetime.now():%A, %Y-%m-%d}"
        return [Message("system", system), *dialogue.messages(self.history)]

    def _keep(self, *turns: Turn) -> None:
        """Add turns to the conversation and its transcript; one that cannot be written ends no chat."""
        self.history += turns
        try:
            self._transcript.extend(map(kept, turns))
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
        """Let notes that went with turns that are gone be recalled again; those in other turns not."""
        self._given = [one for one in self._given if any(one.text in turn.text for turn in self.history)]
        self._context.forget(self.session)
        for given in self._given:
            self._context.given(given)


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


# --- tool calls, run side by side: every call gets an answer, in order, whatever happens -----------------


class Toolbox:
    """The tools that a model is offered in one session, and what runs its calls."""

    def __init__(
        self,
        memory: Memory,
        offered: Sequence[Tool],
        *,
        session: str = "",
        agent: str = "",
        deadline_s: float = 60.0,
        approve: Approve | None = None,
    ) -> None:
        """Take the tools; a call that takes longer than `deadline_s` is answered without its result.

        `approve` asks a person about a call that needs a yes; without it every such call is refused.
        """
        self.offered = tuple(offered)
        self._memory, self._deadline_s, self._approve = memory, deadline_s, approve
        self._caller = tools.Caller(agent, session, asks_itself=approve is not None)

    def run(self, calls: Sequence[Call]) -> list[ToolExecution]:
        """Run calls in threads of their own; return their executions, in the order of the calls.

        Calls of tools that may need approval run first, here and one after the other, since a person may take
        longer to answer than a tool. A no holds for all calls of an answer.
        """
        done: dict[int, ToolExecution] = {}
        self._run_asked(calls[:MOST_CALLS], done)

        def work(place: int, call: Call) -> None:
            done[place] = self._run(call)

        threads = [
            threading.Thread(target=work, args=(place, call), name=f"commonplace-tool-{place}", daemon=True)
            for place, call in enumerate(calls[:MOST_CALLS])
            if place not in done
        ]
        for thread in threads:
            thread.start()
        deadline = Deadline(self._deadline_s)
        for thread in threads:
            thread.join(deadline.left_s())
        late = f"no result within {self._deadline_s:g} s"
        beyond = f"not run: only {MOST_CALLS} calls of one answer are"
        return [
            done.get(place) or self.refused(call, late if place < MOST_CALLS else beyond)
            for place, call in enumerate(calls)
        ]

    def refused(self, call: Call, error: str) -> ToolExecution:
        """Return the outcome of a call that was not run, or not to its end."""
        at, by = datetime.now().astimezone(), self._caller
        arguments = parsed(call.arguments) or {}
        return ToolExecution(by.session, call.name, arguments, error=error, at=at, agent=by.agent)

    def _run_asked(self, calls: Sequence[Call], done: dict[int, ToolExecution]) -> None:
        """Run the calls of tools that may need a yes, each once it is given."""
        declined: set[str] = set()
        for place, call in enumerate(calls):
            tool, arguments = self._tool(call), parsed(call.arguments)
            if tool is not None and tool.asks is not None and arguments is not None:
                why_not = self._why_not(tool, arguments, declined)
                done[place] = self.refused(call, f"{call.name}: {why_not}") if why_not else self._run(call)

    def _why_not(self, tool: Tool, arguments: Mapping[str, object], declined: set[str]) -> str:
        """Ask a person about what a call would do; return why it is not to run, empty where it is."""
        try:
            preview = tool.asks(self._memory, arguments) if tool.asks is not None else ""
        except Exception as error:  # noqa: BLE001 - a tool may be anybody's; the model gets the error
            return f"not done: what it would do cannot be told ({type(error).__name__}: {error})"
        if not preview:
            return ""
        if self._approve is None:
            return NOBODY
        if tool.name in declined or not self._approve(tool, preview):
            declined.add(tool.name)
            return DECLINED
        return ""

    def _run(self, call: Call) -> ToolExecution:
        started, at, by = time.perf_counter(), datetime.now().astimezone(), self._caller
        tool, arguments = self._tool(call), parsed(call.arguments)
        result = error = ""
        if tool is None:
            error = f"unknown tool {call.name!r}; there are {', '.join(tool.name for tool in self.offered)}"
        elif arguments is None:
            error = f"{call.name}: the arguments are not a JSON object: {call.arguments[:200]}"
        else:
            try:
                answer = tools.run(tool, self._memory, arguments, by)
                result, error = ("", answer.text) if answer.is_error else (answer.text, "")
            except Exception as raised:  # noqa: BLE001 - a tool may be anybody's; the model gets the error
                error = f"{call.name} failed: {type(raised).__name__}: {raised}"
        took_ms = (time.perf_counter() - started) * 1000
        return ToolExecution(by.session, call.name, arguments or {}, result, error, at, took_ms, by.agent)

    def _tool(self, call: Call) -> Tool | None:
        return next((tool for tool in self.offered if tool.name == call.name), None)


def answered(call: Call, execution: ToolExecution) -> Turn:
    """Return the turn that answers a call."""
    at = execution.at.isoformat(timespec="seconds")
    return Turn("tool", execution.error or execution.result, at, answers=call.id, tool=call.name)


def kept(turn: Turn) -> Turn:
    """Return a turn as a transcript keeps it.

    Results of tools may hold addresses and numbers of others, and text to be forgotten must not be recorded
    by the request for it.
    """
    if turn.role != "tool":
        calls = (replace(call, arguments=UNTOLD) if call.name == FORGETS else call for call in turn.calls)
        return replace(turn, calls=tuple(calls))
    return replace(turn, text=redact_personal(turn.text)[0])


def paired(turns: Iterable[Turn]) -> list[Turn]:
    """Return turns without answers to missing calls, and with an answer for each call that lacks one.

    So a transcript can be continued that was cut, at its beginning for a budget or at its end by a crash:
    the servers of models demand it.
    """
    whole: list[Turn] = []
    waiting: list[Call] = []

    def interrupt() -> None:
        whole.extend(Turn("tool", INTERRUPTED, answers=call.id, tool=call.name) for call in waiting)

    for turn in turns:
        if turn.role == "tool":
            call = next((call for call in waiting if call.id == turn.answers), None)
            if call is not None:
                waiting.remove(call)
                whole.append(turn if turn.text else replace(turn, text=NOT_KEPT))
            continue
        interrupt()
        waiting = list(turn.calls)
        whole.append(turn)
    interrupt()
    return whole
