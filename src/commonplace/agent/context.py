"""The block that goes into a prompt: long-term memory, the last days, files, and the recall for a message.

All of it is in one frame, cited, inside one token budget; omissions are reported. The order of
precedence is long-term memory, the notes of the last days, files of convention, then the recall; each of the
first three has a cap, so that the recall always keeps its share.

A prompt takes notes in pieces: entries of long-term memory, of a day, of a file. A piece is a hit
without a question: cited lines with their labels. Tentative and outdated statements are
left out, as in a recall; struck ones are in no piece.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial

from commonplace.agent.pieces import Piece, joined, newness_of
from commonplace.agent.seen import Injected, trimmed
from commonplace.base import tokens as estimates
from commonplace.base.deadline import Deadline
from commonplace.base.errors import CommonplaceError, NoteNotFound, NoteUnreadable
from commonplace.base.tuples import NamedTuple
from commonplace.config.settings import CONVENTION, Prompt
from commonplace.memory import Memory
from commonplace.render import count
from commonplace.search import journal, pack
from commonplace.search.dedupe import Repeats
from commonplace.types import Hit, Level, Recall

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.agent.receipts import Prefix

LONG_TERM, DAILY, FILES, OPEN, RECALL = "long-term", "daily", "files", "open", "recall"
OPEN_DAYS = 14  # of daily notes in which open matters are looked for
GIVEN, SAID = "in this session already", "said above"
FILE_TOKENS, OPEN_TOKENS = 400, 150  # at most, for files of convention and for open matters
RUNNING = 4  # blocks that are built with a deadline at a time
_SLOTS = threading.BoundedSemaphore(RUNNING)


class Part(NamedTuple):
    """Some lines of one note in the block: of which part, where they come from, and their text."""

    name: str
    citation: str
    tokens: int
    text: str


class LeftOut(NamedTuple):
    """A text left out of the block, the reason, and its approximate number of tokens, if known."""

    what: str
    why: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Context:
    """A block for a prompt, empty without (new) content, and the report on it.

    `passages` are the hits that the block is made of; `level`, `stale` and `warnings` are those of the
    recall, `level` None without one.
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
    message: str = ""

    JSON = "text tokens budget session level stale warnings parts left_out"


class ContextBuilder:
    """Builds the context of prompts from a memory; safe from any thread.

    `settings` replace those of the workspace; `injected` is a record of sessions in this process alone.
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
        open_matters: bool = False,
        sparing: bool = False,
    ) -> Context:
        """Compose the block for a message and note it as given to the session.

        A session is not given twice what it has; `files` adds the files of convention (default:
        `prompt.file_names`), `open_matters` tasks and what summaries name as open; `sparing` leaves out of
        the recall what answers far less than the best passage; `now` is today. What cannot be read is
        reported, never raised.
        """
        context = self.compose(
            message,
            session=session,
            now=now,
            files=files,
            budget=budget,
            open_matters=open_matters,
            sparing=sparing,
        )
        self.given(context)
        return context

    def build_within(self, timeout_s: float, message: str, **options: object) -> Context | None:
        """Build a block in a thread of its own; None if it is late or failed. Never raises.

        `options` are those of `compose`. A late block does not count as given. At most `RUNNING` blocks are
        built at a time in a process, so that a memory that hangs piles up no threads.
        """
        deadline, built, done = Deadline(timeout_s), list[Context](), threading.Event()
        if not _SLOTS.acquire(timeout=max(0.0, timeout_s)):
            return None

        def work() -> None:
            try:
                built.append(self.compose(message, **options))  # type: ignore[arg-type]
            except Exception as error:  # noqa: BLE001 - a host's prompt does not fail with its memory
                import logging

                logging.getLogger("commonplace.context").warning("no block: %s", type(error).__name__)
            finally:
                _SLOTS.release()
                done.set()

        try:
            threading.Thread(target=work, name="commonplace-block", daemon=True).start()
        except RuntimeError:  # no more threads, or the interpreter is about to end
            _SLOTS.release()
            return None
        if not done.wait(deadline.left_s()) or not built:
            return None
        self.given(built[0], "kept")
        return built[0]

    def compose(
        self,
        message: str,
        *,
        session: str = "",
        now: datetime | date | None = None,
        files: bool | None = None,
        budget: int | None = None,
        open_matters: bool = False,
        sparing: bool = False,
        late: Sequence[str] = (),
    ) -> Context:
        """Compose the block without noting that it was given: for a host that may not use it.

        `late` are former messages whose answers came too late: they have the room that is left.
        """
        settings, today = self.settings, day_of(now)
        budget = settings.budget if budget is None else budget
        block = PromptBlock(self.memory, self.injected, session, budget)
        names = settings.file_names if files is None else (settings.file_names or CONVENTION) * files
        # Where the budget has no room for all parts, each may use the same share of its cap.
        caps = settings.long_term + settings.daily + (FILE_TOKENS if names else 0)
        share = min(1.0, block.budget / max(1, caps + self.memory.settings.recall.budget))
        if settings.long_term or settings.days or names or open_matters:
            self._take_notes(block, today, share, names, open_matters=open_matters)
        if message.strip():
            block.recall(message, today, sparing=sparing)
        for text in late:
            block.recall(text, today, sparing=sparing)
        return replace(block.context(), message=message)

    def _take_notes(
        self, block: PromptBlock, today: date, share: float, names: Sequence[str], *, open_matters: bool
    ) -> None:
        """Put notes into a block, each part into its share of its cap."""
        from commonplace.agent import chunks  # a recall alone needs no note to be cut

        settings, workspace = self.settings, self.memory.workspace
        read = partial(self._read, block, today)
        path = workspace.memory_file.relative_to(workspace.root).as_posix()
        if settings.long_term:
            cap = int(settings.long_term * share)
            block.take(LONG_TERM, read(path, chunks.of_facts), cap, partial(_by_use, self.memory))
        entries = [
            piece
            for place in self._daily(block, today, settings.days)
            for piece in read(place, chunks.of_entries)
        ]
        block.take(DAILY, sorted(entries, key=newness_of, reverse=True), int(settings.daily * share))
        if names:
            pieces: list[Piece] = []
            for name in names:
                facts = read(name, chunks.of_facts, missing_ok=True)
                pieces += sorted(facts, key=lambda piece: piece.hits[0].start_line)
            block.take(FILES, pieces, int(FILE_TOKENS * share), tuple)
        if open_matters:
            places = [path, *self._daily(block, today, OPEN_DAYS)]
            matters = [piece for place in places for piece in read(place, chunks.of_open_matters)]
            block.take(OPEN, sorted(matters, key=newness_of, reverse=True), OPEN_TOKENS)

    def given(self, context: Context, prefix: Prefix = "unknown") -> None:
        """Note that the session of a context was given it, with a receipt; `prefix` as of `Receipt`."""
        from commonplace.agent import receipts

        self.injected.add(context.session, context.passages)
        receipts.record(
            self.memory,
            context.passages,
            agent=self.injected.agent,
            session=context.session,
            message=context.message,
            tokens=context.tokens,
            prefix=prefix,
        )

    def forget(self, session: str) -> None:
        """Let a session be given everything again, as after its conversation was shortened."""
        self.injected.forget(session)

    def _daily(self, block: PromptBlock, today: date, count: int) -> list[str]:
        """The paths of the notes of so many last days, newest day first."""
        from commonplace.agent import chunks

        # There are no days before the year 1.
        days = [today - timedelta(days=back) for back in range(min(count, today.toordinal()))]
        try:
            return [path for day in days for path in chunks.daily_notes(self.memory, day)]
        except NoteUnreadable as error:
            block.left_out.append(LeftOut(DAILY, str(error)))
            return []

    def _read(
        self,
        block: PromptBlock,
        today: date,
        path: str,
        cut: Callable[..., list[Piece]],
        missing_ok: bool = False,
    ) -> list[Piece]:
        """Return the pieces of a note; empty, with a line in the report, if it cannot be read."""
        from commonplace.agent import chunks

        try:
            note = chunks.read(self.memory, path)
        except CommonplaceError as error:
            if not (missing_ok and isinstance(error, NoteNotFound)):
                block.left_out.append(LeftOut(path, str(error).removeprefix(f"{path}: ")))
            return []
        return cut(note, today, tentative=self.memory.settings.recall.tentative)


class PromptBlock:
    """A block under construction: chosen pieces and earlier text; sizes are in quarters of a token."""

    def __init__(self, memory: Memory, injected: Injected, session: str, budget: int) -> None:
        self.budget = budget
        self.left_out: list[LeftOut] = []
        self._memory, self._injected, self._session = memory, injected, session
        self._told = Repeats()
        self._lines: set[tuple[str, str]] = set()  # of the block, each with its note
        self._parts: list[Part] = []
        self._passages: list[Hit] = []
        self._recall: Recall | None = None
        self._used = 0

    def take(
        self,
        name: str,
        pieces: Sequence[Piece],
        cap: int,
        order: Callable[[Sequence[Piece]], Sequence[Piece]] | None = None,
    ) -> None:
        """Take the first pieces that fit into the cap of a part; the others are passed over.

        With `order` a line in the block says how much is left out and where; `order` then puts the pieces
        that matter most first.
        """
        room = min(4 * cap, 4 * self.budget - estimates.quarters(pack.enclosed([])) - self._used)
        shown = [piece for piece in pieces if not piece.why]
        reserved = 0
        if order is not None and shown and _size(shown) > room:
            pieces, reserved = order(pieces), estimates.quarters(_rest_line(shown)) + 1
        chosen, left = self._choose(pieces, room - reserved, cap)
        if reserved and left and not chosen:
            chosen = self._begun(left[0], room - reserved)
        self._used += _size(chosen)
        fresh = list(self._fresh(chosen))
        self._show(name, joined(fresh))
        if reserved and left and (fresh or not chosen) and reserved <= room:
            line = _rest_line(left)
            self._parts.append(Part(name, left[0].citation, estimates.about(line), line))
            self._used += reserved

    def _choose(self, pieces: Sequence[Piece], room: int, cap: int) -> tuple[list[Piece], list[Piece]]:
        """Take pieces as long as they fit; return them, and those that lack room."""
        chosen: list[Piece] = []
        left: list[Piece] = []
        size = 0
        for piece in pieces:
            rest = self._rest(piece)
            if rest is None:
                continue
            grown = _grown(size, chosen, rest)
            if grown > room:
                self._leave(piece, f"no room in the {cap} tokens of this part")
                left.append(piece)
                continue
            chosen.append(rest)
            size = grown
            self._note(rest)
        return chosen, left

    def _begun(self, piece: Piece, room: int) -> list[Piece]:
        """Return the beginning of a piece that is too long for its part; empty if that has no content."""
        hit = pack.shortened(piece.hits[0], (room + estimates.quarters(pack.enclosed([]))) // 4)
        begun = [] if hit is None else [Piece((hit,))]
        if not begun or _size(begun) > room:
            return []
        self._note(*begun)
        return begun

    def _note(self, piece: Piece) -> None:
        """Record that a piece is in the block."""
        for hit in piece.hits:
            self._told.add(hit)
            self._lines |= {(hit.path, line.strip()) for line in hit.text.split("\n")}

    def _fresh(self, chosen: Sequence[Piece]) -> Iterator[Piece]:
        """The pieces of which the session was not given every hit."""
        news = iter(self._injected.new(self._session, [hit for piece in chosen for hit in piece.hits]))
        for piece in chosen:
            if True in [next(news) for _ in piece.hits]:
                yield piece
            else:
                self._leave(piece, GIVEN)

    def recall(self, message: str, today: date, *, sparing: bool) -> None:
        """Add the recall for a message, without what the block holds already.

        A `sparing` one also leaves out notes that the session itself made (see `Memory.recall`).
        """
        budget = min((4 * self.budget - self._used) // 4, self._memory.settings.recall.budget)
        # The first hits may all be in the block already.
        # Unprompted recall gives passages only for a clear answer.
        ask = partial(self._memory.recall, budget=budget + -(-self._used // 4), now=today, strict=True)
        # Notes that the session itself made are in its conversation.
        apart = self._session if sparing else ""
        recall = self._ask(message, partial(ask, sparing=sparing, without_session=apart))
        if recall is None:
            return
        self._recall = recall if self._recall is None else self._recall
        if recall.tentative:
            self.left_out.append(LeftOut(f"{count(recall.tentative, 'passage')} of the recall", "tentative"))
        unsaid: list[Hit] = []
        for hit in recall.hits:
            rest = trimmed(hit, lambda line, path=hit.path: (path, line.strip()) in self._lines)  # type: ignore[misc]
            if (rest := self._told.rest(rest) if rest is not None else None) is not None:
                unsaid.append(rest)
            else:
                self._leave(Piece((hit,)), SAID)
        composed = pack.compose(unsaid, budget)
        if unfit := recall.left_out + composed.left_out:
            lost = max(0, _tokens(unsaid) - _tokens(composed.hits))
            why = f"no room in the {budget} tokens of this part"
            self.left_out.append(LeftOut(f"{count(unfit, 'passage')} of the recall", why, lost))
        rests = self._injected.rest(self._session, composed.hits)
        for hit, new in zip(composed.hits, rests, strict=True):
            if new is None:
                self._leave(Piece((hit,)), GIVEN)
            self._note(Piece((hit,)))
        if composed.hits:
            self._used += estimates.quarters(composed.text) - estimates.quarters(pack.enclosed([]))
        self._show(RECALL, [new for new in rests if new is not None])

    def _ask(self, message: str, recall: Callable[..., Recall]) -> Recall | None:
        """Recall for a message; None, and a line in the report, where that fails."""
        try:
            return recall(message)
        except (CommonplaceError, OSError) as error:
            self.left_out.append(LeftOut(RECALL, str(error)))
            return None

    def context(self) -> Context:
        """The block with what it holds now."""
        text = pack.enclosed(part.text for part in self._parts) if self._parts else ""
        recall, trouble = self._recall, self._injected.trouble
        warnings = (*(() if recall is None else recall.warnings), *self._memory.settings.warnings)
        return Context(
            text=text,
            tokens=estimates.about(text),
            budget=self.budget,
            parts=tuple(self._parts),
            left_out=tuple(self.left_out),
            session=self._session,
            passages=tuple(self._passages),
            level=None if recall is None else recall.level,
            stale=0 if recall is None else recall.stale,
            warnings=(*warnings, trouble) if trouble else warnings,
        )

    def _rest(self, piece: Piece) -> Piece | None:
        """Return a piece without text that the block has; None, with a line in the report, if that is all."""
        told = [] if piece.why else [self._told.rest(hit) for hit in piece.hits]
        hits = tuple(hit for hit in told if hit is not None)
        if not hits:
            self._leave(piece, piece.why or SAID)
            return None
        return piece._replace(hits=hits)

    def _leave(self, piece: Piece, why: str) -> None:
        self.left_out.append(LeftOut(piece.citation, why, _tokens(piece.hits)))

    def _show(self, name: str, hits: Sequence[Hit]) -> None:
        self._passages += hits
        for hit, text in pack.blocks(hits):
            self._parts.append(Part(name, hit.citation, estimates.about(text), text))


def _by_use(memory: Memory, facts: Sequence[Piece]) -> Sequence[Piece]:
    """Entries of long-term memory, newest first, and the most used ones taken between them by turns."""
    try:
        used = journal.lines_used(memory.workspace.usage, facts[0].hits[0].path)
    except CommonplaceError:
        return facts  # `doctor` reports a record that cannot be read

    def times(piece: Piece) -> int:
        first, last = piece.hits[0].start_line, piece.hits[-1].end_line
        return sum(count for start, end, count in used if start <= last and first <= end)

    turns = {index: 2 * index for index in range(len(facts))}
    uses = sorted((-times(piece), index) for index, piece in enumerate(facts))
    for turn, (unused, index) in enumerate(uses):
        if unused:
            turns[index] = min(turns[index], 2 * turn + 1)
    return [facts[index] for index in sorted(turns, key=lambda index: turns[index])]


def _rest_line(left: Sequence[Piece]) -> str:
    """Say how many entries are left out, about how large they are, and where they stand."""
    places = []
    for path in dict.fromkeys(piece.hits[0].path for piece in left):
        hits = [hit for piece in left for hit in piece.hits if hit.path == path]
        first, last = min(hit.start_line for hit in hits), max(hit.end_line for hit in hits)
        places.append(replace(hits[0], start_line=first, end_line=last).citation)
    size = sum(_tokens(piece.hits) for piece in left)
    entries = count(len(left), "more entry", "more entries")
    return f"… {entries}, ~{size:,} tokens, not shown for lack of room: {', '.join(places)}\n"


def _size(chosen: Sequence[Piece]) -> int:
    """Return the size of pieces in the block, with their line ends."""
    return sum(estimates.quarters(text) + 1 for _, text in pack.blocks(joined(chosen)))


def _grown(size: int, chosen: Sequence[Piece], piece: Piece) -> int:
    """Return the size of the chosen pieces together with one more."""
    ends = [(hit.path, hit.start_line - 1, hit.end_line + 1) for hit in piece.hits]
    touched = any(
        other.path == path and first <= other.end_line and other.start_line <= last
        for one in chosen
        for other in one.hits
        for path, first, last in ends
    )
    # A piece that touches no chosen one is cited by itself: then the rest is not composed again.
    return _size([*chosen, piece]) if touched else size + _size([piece])


def _tokens(hits: Sequence[Hit]) -> int:
    return sum(estimates.about(hit.text) for hit in hits)


def day_of(now: datetime | date | None) -> date:
    """Return the day of a moment; today for None."""
    return now.date() if isinstance(now, datetime) else now or date.today()
