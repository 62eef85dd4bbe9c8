"""A block for a prompt while it is put together: what fits, what is said above, what a session was given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import date
from functools import partial

from commonplace.agent import chunks
from commonplace.agent.chunks import Piece
from commonplace.agent.seen import Injected, trimmed
from commonplace.base import tokens as estimates
from commonplace.base.errors import CommonplaceError, ConfigError, UnknownCollection
from commonplace.memory import Memory
from commonplace.render import count
from commonplace.search import pack
from commonplace.search.dedupe import Told
from commonplace.types import Hit, Level, Recall

RECALL = "recall"
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


class Block:
    """A block while it is put together; sizes are in quarters of a token."""

    def __init__(self, memory: Memory, injected: Injected, session: str, budget: int) -> None:
        self.budget = budget
        self.left_out: list[LeftOut] = []
        self._memory, self._injected, self._session = memory, injected, session
        self._told = Told()
        self._lines: set[tuple[str, str]] = set()  # that stand in the block, each with its note
        self._parts: list[Part] = []
        self._passages: list[Hit] = []
        self._found: Recall | None = None
        self._used = 0

    @property
    def _room(self) -> int:
        """What is left beside the frame."""
        return 4 * self.budget - estimates.quarters(pack.enclosed([])) - self._used

    def take(self, name: str, found: Iterable[Piece], cap: int) -> None:
        """Take the first pieces that fit into the cap of a part; what does not is passed over."""
        room = min(4 * cap, self._room)
        chosen: list[Piece] = []
        size = 0
        for piece in found:
            rest = self._rest(piece)
            if rest is None:
                continue
            # What touches nothing that is chosen is cited by itself: then the rest is not composed again.
            apart = not any(_touch(hit, other) for one in chosen for other in one.hits for hit in rest.hits)
            grown = size + _size([rest]) if apart else _size([*chosen, rest])
            if grown > room:
                self._leave(piece, f"no room in the {cap} tokens of this part")
                continue
            chosen.append(rest)
            size = grown
            for hit in rest.hits:
                self._told.add(hit)
                self._lines |= {(hit.path, line.strip()) for line in hit.text.split("\n")}
        self._used += _size(chosen)
        new = iter(self._injected.new(self._session, [hit for piece in chosen for hit in piece.hits]))
        fresh: list[Piece] = []
        for piece in chosen:
            if True in [next(new) for _ in piece.hits]:
                fresh.append(piece)
            else:
                self._leave(piece, GIVEN)
        self._show(name, chunks.joined(fresh))

    def recall(self, message: str, today: date) -> None:
        """Add the recall for a message, without what stands in the block."""
        budget = min((4 * self.budget - self._used) // 4, self._memory.settings.recall.budget)
        try:
            # What stands in the block already may be all that is found at first.
            self._found = found = _recalled(self._memory, message, budget + -(-self._used // 4), today)
        except (CommonplaceError, OSError) as error:
            self.left_out.append(LeftOut(RECALL, str(error)))
            return
        wanted = list(self._unsaid(found.hits))
        composed = pack.compose(wanted, budget)
        if unfit := found.left_out + composed.left_out:
            lost = max(0, _tokens(wanted) - _tokens(composed.hits))
            why = f"no room in the {budget} tokens of this part"
            self.left_out.append(LeftOut(f"{count(unfit, 'passage')} of the recall", why, lost))
        rests = self._injected.rest(self._session, composed.hits)
        for hit, rest in zip(composed.hits, rests, strict=True):
            if rest is None:
                self._leave(Piece((hit,)), GIVEN)
        self._show(RECALL, [rest for rest in rests if rest is not None])

    def _unsaid(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        """Hits without what stands in the block already."""
        for hit in hits:
            new = trimmed(hit, partial(_stands, self._lines, hit.path))
            rest = self._told.rest(new) if new is not None else None
            if rest is not None:
                yield rest
            else:
                self._leave(Piece((hit,)), SAID)

    def context(self) -> Context:
        """The block as it stands now."""
        text = pack.enclosed(part.text for part in self._parts) if self._parts else ""
        found = self._found
        trouble = [*self._memory.settings.warnings, *filter(None, [self._injected.trouble])]
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
        for joined, text in pack.blocks(hits):
            self._parts.append(Part(name, text, estimates.about(text), joined.citation))


def _recalled(memory: Memory, message: str, budget: int, today: date) -> Recall:
    """Recall for a message; one that reads as a mistaken query is asked by its words alone."""
    try:
        return memory.recall(message, budget=budget, layer="full", now=today)
    except (ConfigError, UnknownCollection):
        words = " ".join(re.findall(r"\w+", message))
        return memory.recall(words, budget=budget, layer="full", now=today)


def _stands(shown: Set[tuple[str, str]], path: str, line: str) -> bool:
    """Whether a line of a note stands in the block."""
    return (path, line.strip()) in shown


def _size(chosen: Sequence[Piece]) -> int:
    """What pieces take in the block, their line ends included."""
    return sum(estimates.quarters(text) + 1 for _, text in pack.blocks(chunks.joined(chosen)))


def _touch(hit: Hit, other: Hit) -> bool:
    """Whether lines of two hits lie in each other or side by side."""
    touches = hit.start_line <= other.end_line + 1 and other.start_line <= hit.end_line + 1
    return touches and hit.path == other.path


def _tokens(hits: Sequence[Hit]) -> int:
    return sum(estimates.about(hit.text) for hit in hits)
