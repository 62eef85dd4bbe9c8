"""The block that goes into a prompt: long-term memory, the last days, files, and the recall for a message.

All of it stands in one frame, cited, inside one token budget; what did not get in is reported. The order of
precedence is long-term memory, the notes of the last days, files of convention, then the recall; none of the
first three may take more than its cap, so that the recall always keeps the room that is its own.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta

from commonplace.agent import chunks
from commonplace.agent.block import RECALL, Block, Context, LeftOut, Part
from commonplace.agent.chunks import Piece
from commonplace.agent.seen import Injected
from commonplace.base.errors import CommonplaceError, NoteNotFound, NoteUnreadable
from commonplace.config.settings import Prompt
from commonplace.memory import Memory
from commonplace.types import Note

__all__ = ["DAILY", "FILES", "LONG_TERM", "RECALL", "Context", "ContextBuilder", "LeftOut", "Part"]
LONG_TERM, DAILY, FILES = "long-term", "daily", "files"


class ContextBuilder:
    """Builds the context of prompts from a memory; safe from any thread.

    `settings` stand in for those of the workspace, `injected` for a memory of sessions in this process alone.
    """

    def __init__(
        self, memory: Memory, settings: Prompt | None = None, *, injected: Injected | None = None
    ) -> None:
        self.memory = memory
        self.settings = memory.settings.prompt if settings is None else settings
        self.injected = injected or Injected()

    def build(
        self,
        message: str,
        *,
        session: str = "",
        now: datetime | date | None = None,
        files: bool | None = None,
        budget: int | None = None,
    ) -> Context:
        """Compose the block for a message and note it as given to the session.

        A session is not given twice what it has; `files` adds the files of convention (default:
        `prompt.files`), `now` is today. What cannot be read is reported, never raised.
        """
        context = self.compose(message, session=session, now=now, files=files, budget=budget)
        self.given(context)
        return context

    def compose(
        self,
        message: str,
        *,
        session: str = "",
        now: datetime | date | None = None,
        files: bool | None = None,
        budget: int | None = None,
    ) -> Context:
        """Compose the block without noting that it was given: for whoever may not use it."""
        settings = self.settings
        today = now.date() if isinstance(now, datetime) else now or date.today()
        block = Block(self.memory, self.injected, session, settings.budget if budget is None else budget)
        files = settings.files if files is None else files
        share = self._share(block.budget, files)
        block.take(LONG_TERM, self._long_term(block, today), int(settings.long_term * share))
        block.take(DAILY, self._daily(block, today), int(settings.daily * share))
        if files:
            block.take(FILES, self._files(block, today), int(settings.file_tokens * share))
        if message.strip():
            block.recall(message, today)
        return block.context()

    def given(self, context: Context) -> None:
        """Note that the session of a context was given it."""
        self.injected.add(context.session, context.passages)

    def forget(self, session: str) -> None:
        """Let a session be given everything again, as after its conversation was shortened."""
        self.injected.forget(session)

    def _share(self, budget: int, files: bool) -> float:
        """What share of its cap a part may use where the budget has no room for all of them."""
        settings = self.settings
        caps = settings.long_term + settings.daily + (settings.file_tokens if files else 0)
        return min(1.0, budget / max(1, caps + self.memory.settings.recall.budget))

    def _long_term(self, block: Block, today: date) -> list[Piece]:
        workspace = self.memory.workspace
        path = workspace.memory_file.relative_to(workspace.root).as_posix()
        return self._read(block, path, chunks.of_sections, today)

    def _daily(self, block: Block, today: date) -> list[Piece]:
        found: list[Piece] = []
        try:
            days = [today - timedelta(days=back) for back in range(self.settings.days)]
            paths = [path for day in days for path in chunks.daily_notes(self.memory, day)]
        except NoteUnreadable as error:
            block.left_out.append(LeftOut(DAILY, str(error)))
            return found
        for path in paths:
            found += self._read(block, path, chunks.of_entries, today)
        return sorted(found, key=lambda piece: piece.newness, reverse=True)

    def _files(self, block: Block, today: date) -> list[Piece]:
        found: list[Piece] = []
        for path in self.settings.file_names:
            read = self._read(block, path, chunks.of_sections, today, missing_ok=True)
            found += sorted(read, key=lambda piece: piece.hits[0].start_line)
        return found

    def _read(
        self,
        block: Block,
        path: str,
        cut: Callable[..., list[Piece]],
        today: date,
        missing_ok: bool = False,
    ) -> list[Piece]:
        """The pieces of a note; none, and a line in the report, where it cannot be read."""
        try:
            note: Note = chunks.read(self.memory, path)
        except CommonplaceError as error:
            if not (missing_ok and isinstance(error, NoteNotFound)):
                block.left_out.append(LeftOut(path, str(error).removeprefix(f"{path}: ")))
            return []
        return cut(note, today, tentative=self.memory.settings.recall.tentative)
