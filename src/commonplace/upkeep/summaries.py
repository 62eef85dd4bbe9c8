"""Sessions summed up in the daily notes: once for each stretch of new messages, by a model or without one."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from commonplace.base.errors import CommonplaceError
from commonplace.transcripts.session import Transcript
from commonplace.types.changes import Provenance
from commonplace.types.events import Call, Turn
from commonplace.upkeep import drafts, entries
from commonplace.upkeep.parts import HEADINGS
from commonplace.upkeep.watermarks import InUse, Mark, Pending

if TYPE_CHECKING:
    from commonplace.config.settings import Summary as Settings
    from commonplace.memory import Memory
    from commonplace.providers.llm.base import Llm
    from commonplace.types import Written

# Tools that write any file, and so memory where they are given a file of it.
_EDITORS = ("*write*", "*edit*", "*append*", "*create*", "*replace*", "*insert*")
_FILE = ("file_path", "path", "filename", "file")  # arguments that name it
# How answers begin that say a call did nothing; ours may also begin with the tool's name and a colon.
_FAILED = ("error", "failed", "not run", "no result", "unknown tool", "失败", "错误")
logger = logging.getLogger("commonplace.summaries")

Verdict = Literal["due", "short", "kept", "nothing"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a pending session: what was written, or what failed."""

    session: str
    written: Written | None = None
    error: str = ""


class Summarizer:
    """Sums up the sessions of a workspace; safe to share between threads."""

    def __init__(self, memory: Memory, llm: Llm | None = None, settings: Settings | None = None) -> None:
        """Bind to a memory and the model that is asked, None for extracts alone."""
        self.memory, self.llm = memory, llm
        self.settings = settings or memory.settings.summary
        self.pending = Pending(memory.workspace)

    def summarize(self, session: str, *, agent: str = "", by_hand: bool = False) -> Written | None:
        """Sum up what is new in a session, where that is due; return where it stands, None if nowhere.

        `by_hand` asks for it however little was said, and whoever wrote notes meanwhile. Raises InUse
        where another process has the session open, NoteUnreadable, OutsideRoots, ConfigError.
        """
        with self.pending.claim(session):
            return self._summarize(session, agent, by_hand=by_hand)

    def draft(self, session: str) -> drafts.Draft | None:
        """Compose what `summarize` by hand would write, and write nothing; None where nothing is new."""
        turns = self._load(session)
        mark = self.pending.read(session) or self._recovered(session, turns)
        stretch = turns[min(mark.done, len(turns)) :]
        return drafts.draft(stretch, self.llm, self.settings) if _user_turns(stretch) else None

    def run_pending(self, stop: Callable[[], bool] = lambda: False) -> list[Outcome]:
        """Sum up what sessions that nobody has open any more left behind; return those with an outcome.

        What fails stays pending, and so does what is left when `stop` says so.
        """
        found = []
        for mark in self.pending.marks():
            if stop():
                break
            if not self._is_waiting(mark):
                continue
            try:
                with self.pending.claim(mark.session):
                    fresh = self.pending.read(mark.session)
                    done = self._summarize(mark.session) if fresh and self._is_waiting(fresh) else None
            except InUse:
                continue
            except CommonplaceError as error:
                found.append(Outcome(mark.session, error=str(error)))
            else:
                found += [Outcome(mark.session, done)] if done else []
        return found

    def _is_waiting(self, mark: Mark) -> bool:
        """Whether something may be left to do of a session that nobody has open."""
        if self.pending.is_open(mark.session):
            return False
        try:
            status = self.memory.workspace.files.stat(self._transcript(mark.session).path)
        except (OSError, CommonplaceError):
            return False
        if status.st_size == mark.size and not mark.writing:
            return False
        # One that no program holds open says by its silence that it rests.
        rests = datetime.now().timestamp() - status.st_mtime >= self.settings.idle_s
        return mark.held or mark.over or rests

    # --- one session ------------------------------------------------------------------------------------

    def _summarize(self, session: str, agent: str = "", *, by_hand: bool = False) -> Written | None:
        size = self._size(session)
        turns = self._load(session)
        mark = self._settled(session, turns)
        agent = agent or mark.agent
        stretch = turns[mark.done :]
        verdict = "due" if by_hand and _user_turns(stretch) else self._verdict(stretch)
        if verdict in ("short", "nothing"):
            self.pending.update(session, lambda known: replace(known, size=size))
            return None
        draft = self._draft(session, stretch) if verdict == "due" else None
        done = self._write(session, agent, draft, turns) if draft and draft.text else None
        self.pending.update(
            session, lambda known: replace(known, agent=agent, done=len(turns), writing=0, at="", size=size)
        )
        return done

    def _settled(self, session: str, turns: Sequence[Turn]) -> Mark:
        """Return the mark of a session, moved on where a crash came between the note and it."""
        mark = self.pending.read(session)
        if mark is None:
            done = self._recovered(session, turns).done
        elif mark.writing and mark.at in entries.moments(self.memory, session, [mark.at]):
            done = mark.writing
        else:
            done = mark.done
        mark = replace(mark or Mark(session), done=done, writing=0, at="")
        self.pending.update(session, lambda known: replace(known, done=done, writing=0, at=""))
        return replace(mark, done=min(mark.done, len(turns)))

    def _recovered(self, session: str, turns: Sequence[Turn]) -> Mark:
        """Read from the notes how far a session without a mark is summed up."""
        moments = entries.moments(self.memory, session, [turn.at for turn in turns])
        done = [place for place, turn in enumerate(turns, 1) if entries.moment(turn.at) in moments]
        return Mark(session, done=max(done, default=0))

    def _verdict(self, stretch: Sequence[Turn]) -> Verdict:
        """Decide whether a stretch is to be summed up, as settings say."""
        if not _user_turns(stretch):
            return "nothing"
        if _user_turns(stretch) < self.settings.min_user_turns:
            return "short"
        return "kept" if wrote_memory(stretch, self.settings.writers) else "due"

    def _write(self, session: str, agent: str, draft: drafts.Draft, turns: Sequence[Turn]) -> Written:
        """Write down what is about to be written, then the entry; the mark is moved on afterwards."""
        at = entries.moment(turns[-1].at) or datetime.now().astimezone().isoformat(timespec="seconds")
        self.pending.update(session, lambda known: replace(known, agent=agent, writing=len(turns), at=at))
        return self.memory.remember(
            draft.text,
            heading=HEADINGS[draft.language],
            redact=True,
            now=entries.local(at),
            provenance=Provenance("agent", agent, session, at),
        )

    def _load(self, session: str) -> list[Turn]:
        return self._transcript(session).load()

    def _transcript(self, session: str) -> Transcript:
        return Transcript.open(self.memory.workspace, session)

    def _size(self, session: str) -> int:
        try:
            return self.memory.workspace.files.stat(self._transcript(session).path).st_size
        except OSError:
            return -1

    def _draft(self, session: str, stretch: Sequence[Turn]) -> drafts.Draft:
        draft = drafts.draft(stretch, self.llm, self.settings)
        if draft.trouble:
            logger.warning("session %s: summed up without a language model (%s)", session, draft.trouble)
        return draft


def _user_turns(turns: Sequence[Turn]) -> int:
    return sum(turn.role == "user" for turn in turns)


def wrote_memory(turns: Sequence[Turn], writers: Sequence[str]) -> bool:
    """Whether the agent itself wrote to memory in these turns, and did not fail to.

    `writers` are globs of tools that write memory; other tools that write files count where they are given
    a file of it.
    """
    answers = {turn.answers: turn.text.lstrip().lower() for turn in turns if turn.role == "tool"}
    calls = (call for turn in turns for call in turn.calls)
    return any(_writes(call, writers) and not _failed(call, answers.get(call.id, "")) for call in calls)


def _failed(call: Call, answer: str) -> bool:
    name = call.name.lower()
    return answer.startswith((*_FAILED, f"{name}: ", f"{name} failed"))


def _writes(call: Call, writers: Sequence[str]) -> bool:
    if _fits(call.name, writers):
        return True
    if not _fits(call.name, _EDITORS):
        return False
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return False
    named = [arguments.get(name) for name in _FILE] if isinstance(arguments, dict) else []
    return any(isinstance(path, str) and entries.is_memory(path) for path in named)


def _fits(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name.lower(), glob.lower()) for glob in globs)
