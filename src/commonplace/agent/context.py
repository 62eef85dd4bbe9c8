"""The block that goes into a prompt: long-term memory, the last days, files, and the recall for a message.

All of it stands in one frame, cited, inside one token budget; what did not get in is reported. The order of
precedence is long-term memory, the notes of the last days, files of convention, then the recall; none of the
first three may take more than its cap, so that the recall always keeps the room that is its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from commonplace import estimates
from commonplace.agent import pieces
from commonplace.agent.injected import Injected
from commonplace.agent.pieces import Piece
from commonplace.config.settings import Prompt
from commonplace.errors import CommonplaceError, ConfigError, NoteNotFound, UnknownCollection
from commonplace.memory import Memory
from commonplace.render import count
from commonplace.search import disclose
from commonplace.search.repeats import Told
from commonplace.types import Hit, Level, Note, Recall

LONG_TERM, DAILY, FILES, RECALL = "long-term", "daily", "files", "recall"
GIVEN = "in this session already"
SAID = "said above"


@dataclass(frozen=True, slots=True)
class Part:
    """Some lines of one note in the block: of which part, as they stand there, and where they come from."""

    name: str
    text: str
    tokens: int
    citation: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What did not get into the block, why, and about how many tokens it has, where that is known."""

    what: str
    why: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Context:
    """A block for a prompt, empty where there is nothing (new) to say, and how it came about.

    `passages` are the hits that the block is made of; `level`, `stale` and `warnings` are those of the
    recall, `level` None where none was made.
    """

    text: str
    tokens: int
    budget: int
    parts: tuple[Part, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    session: str = ""
    passages: tuple[Hit, ...] = ()
    level: Level | None = None
    stale: int = 0
    warnings: tuple[str, ...] = ()


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
        block = _Block(self, session, settings.budget if budget is None else budget)
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

    def _long_term(self, block: _Block, today: date) -> list[Piece]:
        workspace = self.memory.workspace
        path = workspace.memory_file.relative_to(workspace.root).as_posix()
        return self._read(block, path, pieces.of_sections, today)

    def _daily(self, block: _Block, today: date) -> list[Piece]:
        found: list[Piece] = []
        for back in range(self.settings.days):
            for path in pieces.daily_notes(self.memory, today - timedelta(days=back)):
                found += self._read(block, path, pieces.of_entries, today)
        return sorted(found, key=lambda piece: piece.newness, reverse=True)

    def _files(self, block: _Block, today: date) -> list[Piece]:
        found: list[Piece] = []
        for path in self.settings.file_names:
            read = self._read(block, path, pieces.of_sections, today, missing_ok=True)
            found += sorted(read, key=lambda piece: piece.hits[0].start_line)
        return found

    def _read(
        self,
        block: _Block,
        path: str,
        cut: Callable[..., list[Piece]],
        today: date,
        missing_ok: bool = False,
    ) -> list[Piece]:
        """The pieces of a note; none, and a line in the report, where it cannot be read."""
        try:
            note: Note = pieces.read(self.memory, path)
        except CommonplaceError as error:
            if not (missing_ok and isinstance(error, NoteNotFound)):
                block.left_out.append(LeftOut(path, str(error).removeprefix(f"{path}: ")))
            return []
        return cut(note, today, tentative=self.memory.settings.recall.tentative)


class _Block:
    """A block while it is put together; sizes are in quarters of a token."""

    def __init__(self, builder: ContextBuilder, session: str, budget: int) -> None:
        self.budget = budget
        self.left_out: list[LeftOut] = []
        self._memory, self._injected, self._session = builder.memory, builder.injected, session
        self._told = Told()
        self._parts: list[Part] = []
        self._passages: list[Hit] = []
        self._found: Recall | None = None
        self._used = 0

    @property
    def _room(self) -> int:
        """What is left beside the frame."""
        return 4 * self.budget - estimates.quarters(disclose.enclosed([])) - self._used

    def take(self, name: str, found: Iterable[Piece], cap: int) -> None:
        """Take the first pieces that fit into the cap of a part; what does not is passed over."""
        room = min(4 * cap, self._room)
        chosen: list[Piece] = []
        for piece in found:
            rest = self._rest(piece)
            if rest is None:
                continue
            if _size([*chosen, rest]) > room:
                self._leave(piece, f"no room in the {cap} tokens of this part")
                continue
            chosen.append(rest)
            for hit in rest.hits:
                self._told.add(hit)
        self._used += _size(chosen)
        new = iter(self._injected.new(self._session, [hit for piece in chosen for hit in piece.hits]))
        fresh: list[Piece] = []
        for piece in chosen:
            if True in [next(new) for _ in piece.hits]:
                fresh.append(piece)
            else:
                self._leave(piece, GIVEN)
        self._show(name, pieces.joined(fresh))

    def recall(self, message: str, today: date) -> None:
        """Add the recall for a message, without what stands in the block."""
        budget = min((4 * self.budget - self._used) // 4, self._memory.settings.recall.budget)
        try:
            # What stands in the block already may be all that is found at first.
            self._found = found = _recalled(self._memory, message, budget + -(-self._used // 4), today)
        except (CommonplaceError, OSError) as error:
            self.left_out.append(LeftOut(RECALL, str(error)))
            return
        hits = [self._told.rest(hit) for hit in found.hits]
        for hit, rest in zip(found.hits, hits, strict=True):
            if rest is None:
                self._leave(Piece((hit,)), SAID)
        wanted = [hit for hit in hits if hit is not None]
        composed = disclose.compose(wanted, budget)
        if unfit := found.left_out + composed.left_out:
            lost = _tokens(wanted) - _tokens(composed.hits)
            told = f"{count(unfit, 'passage')} of the recall"
            self.left_out.append(LeftOut(told, f"no room in the {budget} tokens of this part", max(0, lost)))
        new = self._injected.new(self._session, composed.hits)
        for hit, is_new in zip(composed.hits, new, strict=True):
            if not is_new:
                self._leave(Piece((hit,)), GIVEN)
        self._show(RECALL, [hit for hit, is_new in zip(composed.hits, new, strict=True) if is_new])

    def context(self) -> Context:
        """The block as it stands now."""
        text = disclose.enclosed(part.text for part in self._parts) if self._parts else ""
        found = self._found
        trouble = [self._injected.trouble] if self._injected.trouble else []
        return Context(
            text=text,
            tokens=estimates.about(text),
            budget=self.budget,
            parts=tuple(self._parts),
            left_out=tuple(self.left_out),
            session=self._session,
            passages=tuple(self._passages),
            level=found.level if found else None,
            stale=found.stale if found else 0,
            warnings=(*(found.warnings if found else ()), *trouble),
        )

    def _rest(self, piece: Piece) -> Piece | None:
        """A piece without what is said already; None, and a line in the report, if it is not to be told."""
        if piece.why:
            self._leave(piece, piece.why)
            return None
        hits = tuple(rest for hit in piece.hits if (rest := self._told.rest(hit)) is not None)
        if not hits:
            self._leave(piece, SAID)
            return None
        return piece._replace(hits=hits)

    def _leave(self, piece: Piece, why: str) -> None:
        self.left_out.append(LeftOut(piece.citation, why, _tokens(piece.hits)))

    def _show(self, name: str, hits: Sequence[Hit]) -> None:
        self._passages += hits
        for joined, text in disclose.blocks(hits):
            self._parts.append(Part(name, text, estimates.about(text), joined.citation))


def _recalled(memory: Memory, message: str, budget: int, today: date) -> Recall:
    """Recall for a message; one that reads as a mistaken query is asked by its words alone."""
    try:
        return memory.recall(message, budget=budget, layer="full", now=today)
    except (ConfigError, UnknownCollection):
        words = " ".join(re.findall(r"\w+", message))
        return memory.recall(words, budget=budget, layer="full", now=today)


def _size(chosen: Sequence[Piece]) -> int:
    """What pieces take in the block, their line ends included."""
    return sum(estimates.quarters(text) + 1 for _, text in disclose.blocks(pieces.joined(chosen)))


def _tokens(hits: Sequence[Hit]) -> int:
    return sum(estimates.about(hit.text) for hit in hits)
