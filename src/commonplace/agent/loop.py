"""A small real loop around a language model, and the example of how a host gives its agent this memory.

One session, one message at a time: what is recalled goes along with the message, the model calls tools until
it answers, every turn goes into the transcript, and hooks hear of all of it. docs/agents.md lists the steps.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Self

from commonplace.agent import instructions, receipts, tools
from commonplace.agent.background import Background
from commonplace.agent.context import Context, ContextBuilder
from commonplace.agent.hooks import HookManager
from commonplace.agent.lifecycle import ObservationHook, SummaryHook
from commonplace.agent.tools import FORGETS, READ_FILE, TOOLS, Tool, parsed
from commonplace.agent.worker import IndexWorker
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
        self._settings, self._approve = memory.settings, approve
        self._tools = [*TOOLS, *([READ_FILE] if memory.settings.chat.read_files else []), *tools]
        self._transcript = Transcript.open(memory.workspace, self.session)
        self._context = ContextBuilder(memory)
        self._compactor = Compactor(memory, llm, session=self.session, agent=agent)
        self._worker = IndexWorker(memory)
        self._summaries = SummaryHook(Summarizer(memory, llm))
        observing = ObservationHook(self._worker, memory.settings, memory.workspace.root)
        self._hooks = HookManager.configured(memory.settings.hooks, [observing, self._summaries, *hooks])
        self._idle = Background("idle")
        self._given: list[Context] = []  # notes that are in the conversation
        self._counted = (0, 0)  # tokens that the model counted last, and the turns they were of
        self._lock = threading.Lock()

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

        Ctrl-C ends the answer.
        """
        with self._lock:
            said, reply = Turn("user", message, _now()), Reply()
            self._keep(said)
            try:
                self._hooks.emit("on_message_received", MessageEvent(self.session, said, self.agent))
                self._recall(said, reply)
                answer = self._answer(reply)
                receipts.mark(self.memory, self.session, reply.text, "reply")
                self._hooks.emit("on_response_ready", MessageEvent(self.session, answer, self.agent))
            except KeyboardInterrupt:
                reply.stopped = True
            except CommonplaceError as error:
                reply.error = str(error)
            rests = partial(self._hooks.emit, "on_session_idle", SessionEvent(self.session, self.agent))
            self._idle.put(rests, self._settings.summary.idle_s, key=self.session)
            self._worker.nudge()  # a tool may have written a note
            return reply

    def _recall(self, said: Turn, reply: Reply) -> None:
        """Put what is recalled beside the message, for the model alone: the transcript lacks it."""
        wait_s = self._settings.chat.recall_wait_s
        context = self._context.build_within(wait_s, said.text, session=self.session)
        if context is not None and context.text:
            self.history[-1] = replace(said, text=f"{context.text}\n\n{said.text}")
            self._given.append(context)
            reply.recalled = context
            self.show("recall", ", ".join(dict.fromkeys(part.citation for part in context.parts)))

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
        asked = next((turn.text for turn in self.history if turn.role == "user"), "")
        system = f"{instructions.text(like=asked)}\n\n{datetime.now():%A, %Y-%m-%d}"
        said = self.llm.complete(
            [Message("system", system), *dialogue.messages(self.history)],
            tools=[ToolSpec(tool.name, tool.description, tool.schema) for tool in self._tools],
            max_tokens=MAX_TOKENS,
            deadline_s=self._settings.chat.deadline_s,
            purpose=PURPOSE,
        )
        calls = tuple(Call(call.id, call.name, call.arguments) for call in said.calls)
        turn = Turn("assistant", said.text, _now(), calls)
        self._keep(*[turn] if said.text or calls else [])
        self._counted = (said.tokens_in + said.tokens_out, len(self.history))
        reply.text = "\n\n".join(filter(None, [reply.text, said.text]))
        if said.text:
            self.show("text", said.text)
        return turn

    def _call(self, calls: Sequence[Call], *, allowed: bool) -> list[ToolExecution]:
        """Run the calls of an answer; each is answered in the conversation, whatever happens."""
        box = Toolbox(self.memory, self._tools, tools.Caller(self.agent, self.session), self._approve)
        done = [box.refused(call, STOPPED if allowed else ENOUGH) for call in calls]
        try:
            if allowed:
                for call in calls:
                    self.show("tool", f"{call.name} {call.arguments}")
                box.run(calls, done, self._settings.chat.tools_deadline_s)
        finally:
            self._keep(*map(answered, calls, done))
        # Forgotten text must not come back from this conversation.
        if any(ran.tool == FORGETS and not ran.error and ran.arguments.get("confirm") for ran in done):
            self._read()
            self._anew()
        for execution in done if allowed else ():
            receipts.mark_tool(self.memory, execution.session, execution.tool, execution.arguments)
            self._hooks.emit("on_tool_executed", execution)
        return done

    # --- the conversation ---------------------------------------------------------------------------

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
            self._context.injected.add(self.session, given.passages)


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


# --- tool calls: every call gets an answer, in order, whatever happens ----------------------------------


class Toolbox:
    """The tools that a model is offered, and what runs the calls of one answer."""

    def __init__(
        self,
        memory: Memory,
        offered: Sequence[Tool],
        caller: tools.Caller,
        approve: Approve | None = None,
    ) -> None:
        """Take the tools; `approve` asks a person about a call that needs a yes, which else is refused."""
        self._memory, self._approve = memory, approve
        self._tools = {tool.name: tool for tool in offered}
        self._caller = replace(caller, asks_itself=approve is not None)

    def run(self, calls: Sequence[Call], done: list[ToolExecution], deadline_s: float) -> None:
        """Run calls one after the other, and put the outcome of each at its place in `done`.

        All of them have `deadline_s` together, without the time in which a person is asked.
        """
        left_s, declined = deadline_s, set[str]()
        for place, call in enumerate(calls):
            if place >= MOST_CALLS:
                why_not = f"not run: only {MOST_CALLS} calls of one answer are"
            else:
                why_not = self._why_not(call, declined) if left_s > 0 else "not run: no time was left for it"
            if why_not:
                done[place] = self.refused(call, why_not)
                continue
            started, ran = time.monotonic(), list[ToolExecution]()
            work = threading.Thread(target=lambda to, call: to.append(self._run(call)), args=(ran, call))
            work.daemon = True  # one that hangs is left behind
            work.start()
            work.join(left_s)
            done[place] = ran[0] if ran else self.refused(call, f"no result within {deadline_s:g} s")
            left_s -= time.monotonic() - started

    def refused(self, call: Call, error: str) -> ToolExecution:
        """Return the outcome of a call that was not run, or not to its end."""
        at, by = datetime.now().astimezone(), self._caller
        arguments = parsed(call.arguments) or {}
        return ToolExecution(by.session, call.name, arguments, error=error, at=at, agent=by.agent)

    def _why_not(self, call: Call, declined: set[str]) -> str:
        """Ask a person about what a call would do; return why it is not to run, empty where it is.

        A no holds for all calls of the tool in one answer.
        """
        tool, arguments = self._tools.get(call.name), parsed(call.arguments)
        if tool is None or tool.asks is None or arguments is None:
            return ""
        try:
            preview = tool.asks(self._memory, arguments)
        except Exception as error:  # noqa: BLE001 - a tool may be anybody's; the model gets the error
            why = f"what it would do cannot be shown ({type(error).__name__}: {error})"
            return f"{call.name}: not done: {why}"
        if not preview:
            return ""
        if self._approve is None:
            return f"{call.name}: {NOBODY}"
        if tool.name in declined or not self._approve(tool, preview):
            declined.add(tool.name)
            return f"{call.name}: {DECLINED}"
        return ""

    def _run(self, call: Call) -> ToolExecution:
        started, at, by = time.perf_counter(), datetime.now().astimezone(), self._caller
        tool, arguments = self._tools.get(call.name), parsed(call.arguments)
        result = error = ""
        if tool is None:
            error = f"unknown tool {call.name!r}; there are {', '.join(self._tools)}"
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
