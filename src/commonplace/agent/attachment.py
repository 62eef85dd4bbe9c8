"""A memory attached to another host's loop: a recall before a message, tools observed, sessions summed up.

`agent.loop` is the loop of this package; here the loop is a host's and must not notice a memory that is
slow, locked or gone. A recall is late or empty, never an error. Observations go to the spool on disk and
no further: the host's process writes no note and embeds no text; the next `sync` of the workspace
takes them from there.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from commonplace.agent.background import Background
from commonplace.agent.context import Context, ContextBuilder
from commonplace.agent.hooks import HookManager
from commonplace.agent.lifecycle import END_WAIT_S, ObservationHook, SummaryHook
from commonplace.agent.loop import kept
from commonplace.agent.seen import Injected
from commonplace.agent.tools import parsed
from commonplace.agent.worker import IndexWorker
from commonplace.base.deadline import Deadline
from commonplace.base.errors import CommonplaceError, ConfigError, ProviderError
from commonplace.base.tuples import NamedTuple
from commonplace.config.settings import Prompt
from commonplace.memory import Memory
from commonplace.providers.llm import schemas
from commonplace.providers.llm.base import Completion, Request, counted
from commonplace.providers.llm.client import Client
from commonplace.transcripts import nanobot, openai
from commonplace.transcripts.injected import typed
from commonplace.transcripts.session import Transcript, path_of
from commonplace.types.events import SessionEvent, ToolExecution, Turn
from commonplace.upkeep.summaries import Conversations, Summarizer

Source = Memory | str | os.PathLike[str] | None
# Messages with role and content, most tokens of the answer, seconds it may take; what comes back is its text.
Ask = Callable[[Sequence[Mapping[str, str]], int, float], str]
_FORMS = {"openai": openai.turn, "nanobot": nanobot.turn}
_GRACE_S = 0.1  # in which a block that came at the last moment is still handed over
logger = logging.getLogger("commonplace.attachment")


def opened(memory: Source, agent: str = "") -> Memory:
    """Return a memory, opened where it is named by the path of its workspace. Raises as `Memory.open`."""
    return memory if isinstance(memory, Memory) else Memory.open(memory, agent=agent or None)


class Attachment:
    """One memory attached to one host, for all of its sessions; safe from any thread. Methods never raise."""

    def __init__(
        self,
        memory: Memory,
        *,
        agent: str = "",
        on_disk: bool = True,
        conversations: Conversations | None = None,
    ) -> None:
        """Take the memory and its options; reading, writing and threads begin with the first call.

        With `on_disk` what a session was given is known to later processes too: for a host that keeps what
        it is given in its history. `conversations` are those of a host that others can read; otherwise
        `keep` writes transcripts.
        """
        self.memory, self.agent = memory, agent
        settings = memory.settings
        # Unasked, only what clearly answers: the recall, and no other part of a block.
        prompt: dict[str, Any] = settings.prompt._asdict()
        sizes = {name: 0 for name, value in prompt.items() if type(value) is int and name != "budget"}
        alone = Prompt(**{**prompt, **sizes, "file_names": ()})
        injected = Injected(memory.workspace) if on_disk else None
        self._builder = ContextBuilder(memory, alone, injected=injected)
        self._wait_s = settings.chat.recall_wait_s
        self._worker = IndexWorker(memory, spool_only=True)
        self._summarizer = Summarizer(memory, conversations=conversations)
        self._summaries = SummaryHook(self._summarizer, wait_s=0.0)
        observing = ObservationHook(self._worker, settings, memory.workspace.root)
        self._hooks = HookManager.configured(settings.hooks, [observing, self._summaries])
        self._background, self._idle_s = Background("sessions"), settings.summary.idle_s
        self._begun: set[str] = set()

    # --- before a message ---------------------------------------------------------------------------

    def recall(self, message: str, session: str = "") -> Context | None:
        """Return the framed block for a message; None without a clear answer, or if it takes too long."""
        return self._recall(message, session, Deadline(self._wait_s))

    async def recall_async(self, message: str, session: str = "") -> Context | None:
        """Do as `recall` does without holding up the event loop."""
        deadline = Deadline(self._wait_s)
        try:
            async with asyncio.timeout(deadline.left_s() + _GRACE_S):
                return await asyncio.to_thread(self._recall, message, session, deadline)
        except (TimeoutError, RuntimeError):  # the host's pool has no thread in time, or starts no more
            return None

    def _recall(self, message: str, session: str, deadline: Deadline) -> Context | None:
        question = typed(message) if isinstance(message, str) else ""
        if not question.strip():
            return None
        context = self._builder.build_within(deadline.left_s(), question, session=session)
        return context if context is not None and context.text else None

    def given(self, session: str, contexts: Iterable[Context]) -> None:
        """Say what a conversation holds of what it was given: all else may be given again."""
        self._builder.forget(session)
        for context in contexts:
            self._builder.injected.add(session, context.passages)

    # --- after a tool -------------------------------------------------------------------------------

    def observe(self, execution: ToolExecution) -> None:
        """Pass a tool that ran to the observers; tools of this package are not observed."""
        self._hooks.emit("on_tool_executed", execution)

    async def observe_async(self, execution: ToolExecution) -> None:
        """Do as `observe` does without holding up the event loop."""
        await self._hooks.emit_async("on_tool_executed", execution)

    def execution(
        self,
        session: str,
        tool: str,
        arguments: object,
        result: object,
        error: str = "",
        *,
        at: datetime | None = None,
        took_s: float = 0.0,
    ) -> ToolExecution:
        """Return a tool that ran, of what a host has of it: arguments as JSON or values, any result."""
        values = parsed(arguments) if isinstance(arguments, str) else arguments
        values = dict(values) if isinstance(values, Mapping) else {}
        try:
            text = "" if result is None else str(result)
        except Exception as failed:  # noqa: BLE001 - of any tool's result
            text = f"({type(failed).__name__})"
        at = at or datetime.now().astimezone()
        return ToolExecution(session, tool, values, text, error, at, took_s * 1000, self.agent)

    # --- the session --------------------------------------------------------------------------------

    def begin(self, session: str) -> None:
        """Take a session as one that is alive here; what earlier processes left is summed up meanwhile.

        Nobody waits for it, but `settle`. It is let go of when it has rested for a while.
        """
        name = self._id(session)
        self.postpone(name)
        if name not in self._begun:
            self._begun.add(name)
            for event in ("on_session_start", "on_session_idle"):  # what is left of this one, too
                self._background.put(partial(self._hooks.emit, event, SessionEvent(name, self.agent)))

    def _end(self, name: str) -> None:
        """Sum up a session that rests, and let go of it until its next message."""
        self._begun.discard(name)
        self._hooks.emit("on_session_end", SessionEvent(name, self.agent))

    def settle(self, deadline_s: float = END_WAIT_S) -> bool:
        """Wait for summaries under way; tell whether all are done.

        For a host whose process ends with the answer.
        """
        deadline, begun = Deadline(deadline_s), threading.Event()
        if self._background.put(begun.set):
            begun.wait(deadline.left_s())
        return self._summaries.wait(deadline.left_s())

    def keep(
        self,
        session: str,
        messages: Iterable[Mapping[str, Any]],
        earlier: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """Append messages, as of chat completions, to the session's transcript, to be summed up from there.

        `earlier` ones come first where there is no transcript yet. Recalled text, private parts and secrets
        are left out.
        """
        if not self.memory.settings.summary.enabled:
            return
        name = self._id(session)
        try:
            transcript = Transcript.open(self.memory.workspace, name)
            before = [] if self.memory.workspace.files.is_file(transcript.path) else turns_of(earlier)
            transcript.extend(map(kept, [*before, *turns_of(messages)]))
        except CommonplaceError as error:
            logger.warning("session %s: not kept: %s", name, error)
            return
        self.postpone(session)

    def postpone(self, session: str) -> None:
        """Restart the idle time of a session, after which it is summed up."""
        name = self._id(session)
        self._background.put(partial(self._end, name), self._idle_s, key=name)

    def rest(self, session: str) -> None:
        """Have new turns of a session summed up in today's note, in the background."""
        self._hooks.emit("on_session_idle", SessionEvent(self._id(session), self.agent))

    def ask_with(self, ask: Ask | None, model: str = "host") -> None:
        """Let summaries be written by the host's own model; without one they quote what was decided."""
        self._summarizer.llm = Client(HostModel(ask, model)) if ask is not None else None

    def _id(self, session: str) -> str:
        """The id of a host's session as transcripts take it: one that could be a path is hashed."""
        try:
            path_of(self.memory.workspace, session)
        except ConfigError:
            return hashlib.sha256(session.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return session

    def close(self, deadline_s: float = 0.0) -> None:
        """Bring what was observed to disk; summaries that are not done by the deadline stay pending."""
        self._background.close()
        self._hooks.close()
        self._summaries.close(deadline_s)
        self._worker.stop()


class UserMessage(NamedTuple):
    """A message of the user: its words, and the number of equal messages before it."""

    words: str
    time: int


class Recalled:
    """Blocks recalled for the messages of one conversation, for a host that does not keep them.

    A block belongs to its message for as long as the message is in the conversation and this object lives:
    so the model sees it again, in the same place, and it is never stored.
    """

    def __init__(self, attachment: Attachment, session: str) -> None:
        """Begin empty; `attachment` must not share its record with other processes (`on_disk=False`)."""
        self._attachment, self.session = attachment, session
        self._blocks: dict[UserMessage, Context] = {}

    async def recall(self, message: str, earlier: Iterable[str]) -> None:
        """Recall for a message; `earlier` are those of the user before it. Never raises."""
        times = Counter(earlier)
        there = {one: block for one, block in self._blocks.items() if one.time < times[one.words]}
        if there != self._blocks:  # the conversation was shortened, or a run failed before it was stored
            self._blocks = there
            self._attachment.given(self.session, there.values())
        context = await self._attachment.recall_async(message, self.session)
        if context is not None:
            self._blocks[UserMessage(message, times[message])] = context

    def beside(self, messages: Iterable[str]) -> list[str]:
        """Return the block of each message; empty for a message without a block."""
        times: Counter[str] = Counter()
        texts: list[str] = []
        for words in messages:
            block = self._blocks.get(UserMessage(words, times[words]))
            texts.append(block.text if block is not None else "")
            times[words] += 1
        return texts

    def clear(self) -> None:
        """Begin anew."""
        self._blocks.clear()
        self._attachment.given(self.session, ())


def turns_of(messages: Iterable[Mapping[str, Any]], form: str = "openai") -> list[Turn]:
    """Return the turns of a host's messages: of chat completions, or as `nanobot` stores them."""
    return [*filter(None, map(_FORMS[form], messages))]


class HostModel:
    """The model of a host, as a `Client`. Exceptions of `ask` become ProviderErrors."""

    def __init__(self, ask: Ask, name: str) -> None:
        self.provider, self.name, self.fingerprint = "host", name, f"host:{name}"
        self._ask = ask

    def answer(self, request: Request) -> Completion:
        """Ask the host's model. Raises ProviderError."""
        messages: list[dict[str, str]] = [
            {"role": message.role, "content": message.content} for message in request.messages
        ]
        if request.schema is not None:
            messages[-1]["content"] += f"\n\n{schemas.instruction(request.schema)}"
        try:
            text = self._ask(messages, request.max_tokens, request.deadline_s)
        except Exception as error:  # a host's provider may raise anything
            raise ProviderError(self.provider, f"{type(error).__name__}") from error
        return counted(Completion(text, self.name), request)
