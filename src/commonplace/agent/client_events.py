"""Events from the hooks of a coding client, and the text that goes back into its session.

Claude Code and Codex run a program at each event of a session, with JSON on standard input
(https://code.claude.com/docs/en/hooks). At the start of a session and at each message of its user something
may go into the conversation: framed, inside a budget, without repetitions. All else is recorded in the
background: tools that ran go to the spool, the session is summed up from the client's transcript.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from commonplace.agent.context import Context, ContextBuilder
from commonplace.agent.seen import Injected
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.transcripts.injected import typed

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    from commonplace.config.settings import Prompt
    from commonplace.memory import Memory
    from commonplace.providers.llm.client import Client
    from commonplace.types import Entry
    from commonplace.upkeep.observations import Observer

# Events whose answer the client waits for, with what it puts into the conversation.
ANSWERED = ("SessionStart", "UserPromptSubmit")
_ANEW = ("clear", "compact")  # sources of a start whose conversation lacks all earlier turns
MOST_LATE, MOST_LATE_EVENTS = 64, 3  # sessions that lack answers, and events of each
# Where the answers of tools keep what people would call the result, in this order.
_RESULTS = ("stdout", "stderr", "output", "content", "text", "result", "file", "structuredPatch")
_DEEPEST, _PLAIN_LENGTH = 6, 64
_COMMAND = lazy(r"/[A-Za-z][\w-]*(?::[\w-]+)*(?:\s|$)", re.ASCII)  # `/compact`, `/plugin:name what for`
Later = Callable[[Callable[[], object]], object]


class ClientEvents:
    """Answers and notes the events of a client's sessions over one memory; safe from any thread."""

    def __init__(
        self,
        memory: Memory,
        agent: str = "",
        *,
        later: Later = lambda work: work(),
        submit: Callable[[Entry], object] | None = None,
    ) -> None:
        """Bind to a memory; `later` runs work in the background, `submit` takes observations.

        Jobs of equal events compare equal, and one run does the work of both.
        Without `submit` observations go to the queue.
        """
        self.memory, self.agent, self._later, self._submit = memory, agent, later, submit
        self._observer: Observer | None = None
        self._late: dict[str, list[Mapping[str, Any]]] = {}  # by session, the events whose answers it lacks

    def answer(self, event: Mapping[str, Any]) -> str:
        """Return the output of a hook's program, if any, and record it as given to the session.

        Raises CommonplaceError for a workspace that cannot be read or written.
        """
        text, given = self.compose(event)
        given()
        return text

    def compose(self, event: Mapping[str, Any]) -> tuple[str, Callable[[], None]]:
        """Return the output of a hook's program, and a function that records it as given to the session.

        For callers that may be too late with it: recorded text is not given again. Raises as `answer` does.
        """
        name, session = str(event.get("hook_event_name", "")), self._session(event)
        context: Context | None = None
        if session and name == "SessionStart":
            context = self._start(event, session)
        elif session and name == "UserPromptSubmit":
            context = self._recall(event, "" if _subagent(event) else session)
        elif session:
            self._note(name, event, session)
        if context is None or not context.text:
            is_message = session and name in ANSWERED and self.memory.workspace.reader is None
            return "", lambda: self._injected().heard(session) if is_message else None
        given = context
        is_new = name == "SessionStart" and event.get("source") != "resume"
        answer = {"hookEventName": name, "additionalContext": context.text}
        return json.dumps({"hookSpecificOutput": answer}), lambda: self._builder().given(
            given, "new" if is_new else "kept"
        )

    def missed(self, event: Mapping[str, Any]) -> None:
        """Note that the answer to an event came too late, or from words alone: the next message brings it."""
        if (session := self._session(event)) and not _subagent(event):
            known = [one for one in self._late.pop(session, []) if one != event]
            self._late[session] = [*known, event][-MOST_LATE_EVENTS:]
            while len(self._late) > MOST_LATE:
                self._late.pop(next(iter(self._late)), None)

    def _note(self, name: str, event: Mapping[str, Any], session: str) -> None:
        """Take an event without an answer; events of an agent that only reads are dropped."""
        if self.memory.workspace.reader is not None:
            return
        if name in ("PostToolUse", "PostToolUseFailure"):
            from commonplace.agent import receipts

            self._observe(event, session)
            receipts.mark_tool(self.memory, session, str(event.get("tool_name", "")), event.get("tool_input"))
        elif _subagent(event):
            return  # its conversation is not that of the session
        elif name == "PreCompact":
            self._compact(event, session)
        elif name in ("Stop", "SessionEnd"):
            self._rest(event, session, over=name == "SessionEnd")

    def _builder(self, settings: Prompt | None = None) -> ContextBuilder:
        return ContextBuilder(self.memory, settings, injected=self._injected())

    def _injected(self) -> Injected:
        return Injected(self.memory.workspace, self.agent)

    def _session(self, event: Mapping[str, Any]) -> str:
        """Return the id of the client's session; empty if it is invalid."""
        session = event.get("session_id")
        if not isinstance(session, str) or not session:
            return ""
        if len(session) <= _PLAIN_LENGTH and session.replace("-", "").isalnum() and session.isascii():
            return session  # as clients make them
        from commonplace.transcripts import session as transcript

        try:
            transcript.path_of(self.memory.workspace, session)
        except ConfigError:
            return ""
        return session

    # --- what goes into the conversation ----------------------------------------------------------------

    def _start(self, event: Mapping[str, Any], session: str) -> Context:
        """Long-term memory, the last days and open matters, as far as the session was not given them."""
        if event.get("source") in _ANEW:
            self._builder().forget(session)
        self._later(self._sum_up)
        return self._begin(event, session)

    def _begin(
        self, event: Mapping[str, Any], session: str, message: str = "", late: Sequence[str] = ()
    ) -> Context:
        """The block for the start of a session, with what answers messages.

        A session that is resumed knows the last days: what is new of them is mostly what it did itself.
        """
        is_resumed, settings = event.get("source") == "resume", self.memory.settings.prompt
        builder = self._builder(settings._replace(daily=0, days=0) if is_resumed else settings)
        return builder.compose(message, session=session, open_matters=not is_resumed, sparing=True, late=late)

    def _recall(self, event: Mapping[str, Any], session: str) -> Context | None:
        """Recall for the message, and for the message before if its answer came too late."""
        message = _message(event)
        if not message:
            return None
        late = self._late.pop(session, [])
        missed = [text for text in map(_message, late) if text and text != message]
        start = next((one for one in late if one.get("hook_event_name") == "SessionStart"), None)
        if start is not None:
            return self._begin(start, session, message, missed)
        settings = self.memory.settings.prompt
        alone = settings._replace(long_term=0, daily=0, days=0, file_names=(), budget=settings.message)
        return self._builder(alone).compose(message, session=session, sparing=True, late=missed)

    # --- observations -----------------------------------------------------------------------------------

    def _observe(self, event: Mapping[str, Any], session: str) -> None:
        from commonplace.storage.queue import Queue
        from commonplace.types.events import ToolExecution
        from commonplace.upkeep.observations import Observer

        arguments, took = event.get("tool_input"), event.get("duration_ms")
        execution = ToolExecution(
            session,
            str(event.get("tool_name", "")),
            arguments if isinstance(arguments, dict) else {},
            result_text(event.get("tool_response")),
            str(event.get("error") or ""),
            datetime.now(),
            float(took) if isinstance(took, int | float) and not isinstance(took, bool) else 0.0,
            self.agent,
            folder=str(event.get("cwd") or ""),
            subagent=_subagent(event),
        )
        if self._observer is None:
            self._observer = Observer(self.memory.settings, self.memory.workspace.root)
        entry = self._observer.observe(execution)
        if entry is not None:
            (self._submit or Queue(self.memory.workspace).append)(entry)

    def _compact(self, event: Mapping[str, Any], session: str) -> None:
        """Let everything be given again; have the language model write down what must not be lost."""
        self._injected().forget(session)
        self._injected().heard(session)
        if not self._mark(event, session, over=False) or not self.memory.settings.compaction.flush:
            return
        self._later(_Flush(self, str(event["transcript_path"]), session))  # type: ignore[arg-type]  # a tuple

    def _rest(self, event: Mapping[str, Any], session: str, *, over: bool) -> None:
        """Note where the session's transcript lies, and bring what was observed into the notes."""
        from commonplace.agent import receipts

        self._mark(event, session, over=over)
        if not over:
            receipts.mark(self.memory, session, _reply(event), "reply")
        self._later(self._write_down)
        if over:
            self._injected().heard(session, over=True)
            self._later(self._sum_up)

    def _mark(self, event: Mapping[str, Any], session: str, *, over: bool) -> bool:
        """Queue the session to be summed up; False where it has no transcript that may be read."""
        from commonplace.upkeep.watermarks import Pending

        source = event.get("transcript_path")
        if not isinstance(source, str) or not is_transcript(source):
            return False
        pending = Pending(self.memory.workspace)
        known = pending.read(session)
        if known is None or (known.source, known.over, known.agent) != (source, over, self.agent):
            pending.update(session, lambda mark: replace(mark, agent=self.agent, source=source, over=over))
        return True

    def _write_down(self) -> None:
        from commonplace.storage.queue import Queue

        Queue(self.memory.workspace).drain(self.memory.capture)

    def _sum_up(self) -> None:
        """Sum up what is queued and due, of this session and of others."""
        from commonplace.upkeep.summaries import Summarizer

        if self.memory.settings.summary.enabled:
            for outcome in Summarizer(self.memory, self.language_model()).run_pending():
                if outcome.error:
                    _log(f"session {outcome.session}: not summed up ({outcome.error})")

    def language_model(self) -> Client | None:
        """Return the model of the settings; None without one, or, with a line in the log, on an error."""
        from commonplace.providers import opening

        memory = self.memory
        try:
            return opening.open_llm(memory.workspace, memory.settings)
        except CommonplaceError as error:
            _log(f"no language model: {error}")
            return None


class _Flush(NamedTuple):
    """The work of writing down what must not be lost of a session, before its client shortens it."""

    events: ClientEvents
    source: str
    session: str

    def __call__(self) -> None:
        from commonplace.upkeep.flush import flush
        from commonplace.upkeep.summaries import foreign_turns

        memory, llm = self.events.memory, self.events.language_model()
        if llm is not None:
            turns, deadline_s = foreign_turns(self.source), memory.settings.compaction.deadline_s
            flush(memory, turns, llm, session=self.session, agent=self.events.agent, deadline_s=deadline_s)


def _subagent(event: Mapping[str, Any]) -> str:
    """The subagent that an event is of, by its type, else its id; its session is that of its parent."""
    return str(event.get("agent_type") or event["agent_id"]) if event.get("agent_id") else ""


def _reply(event: Mapping[str, Any]) -> str:
    """The words of the model since the last message of the user: of the event, or else of the transcript."""
    from commonplace.upkeep.summaries import foreign_turns

    said, source, replies = event.get("last_assistant_message"), event.get("transcript_path"), list[str]()
    if isinstance(said, str) or not isinstance(source, str) or not is_transcript(source):
        return said if isinstance(said, str) else ""
    with suppress(CommonplaceError):
        for turn in foreign_turns(source):
            replies = [] if turn.role == "user" else [*replies, turn.text]
    return "\n".join(replies)


def _message(event: Mapping[str, Any]) -> str:
    """Return the words of a user's message; empty for a command of the client or without words."""
    prompt = event.get("prompt")
    message = typed(prompt) if isinstance(prompt, str) else ""
    command = _COMMAND.match(message)
    # `/tmp is full` names a folder of this machine.
    return "" if command and not os.path.exists(command[0].rstrip()) else message


def _log(message: str) -> None:
    import logging

    logging.getLogger("commonplace.hook").warning(message)


def is_transcript(path: str) -> bool:
    """Return whether a path is a transcript that this user keeps: a regular JSON Lines file, not a link."""
    with suppress(OSError, ValueError):
        found = os.lstat(path)
        is_own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
        return is_own and os.path.isabs(path) and path.endswith(".jsonl")
    return False


def result_text(response: object, depth: int = 0) -> str:
    """Return the result of a tool as a text, whichever shape its client gives it, also as JSON in a text.

    Empty for a command without output.
    """
    if isinstance(response, str):
        if not response.lstrip().startswith("{"):
            return response
        try:
            read = json.loads(response)
        except (ValueError, RecursionError):
            return response
        return result_text(read, depth + 1) if any(key in read for key in _RESULTS) else response
    if response is None or depth > _DEEPEST:
        return ""
    if isinstance(response, list):
        return "\n".join(filter(None, (result_text(part, depth + 1) for part in response)))
    if isinstance(response, dict):
        texts = [result_text(response[key], depth + 1) for key in _RESULTS if key in response]
        if texts or not any(isinstance(value, str | dict | list) and value for value in response.values()):
            return "\n".join(filter(None, texts))  # flags and codes of a silent command are no result
    return json.dumps(response, ensure_ascii=False, default=str)
