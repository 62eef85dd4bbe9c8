"""What of a month's daily notes is left out of its note: observations, raw errors, what is said again.

What stands on several days is an event of each, or holds again after something else did: it stays where it
stands first and where it stands last, and what lies between says nothing more. On one day it stands once.
What leads in to a list stays, and what stands below it is said of that alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from commonplace.language import compare
from commonplace.language.compare import Wording
from commonplace.notes.layout import FOREIGN
from commonplace.upkeep.months.blocks import Block

Row = tuple[str, ...]  # words in a row

OBSERVATION, ERROR, REPEATED = "an observation", "a raw error", "said again"
_ERROR = re.compile(
    r"(?:Traceback \(most recent call last\)|(?:\w+\.)*[A-Z]\w*(?:Error|Exception): "
    r"|(?:ERROR|FATAL|CRITICAL)\b|\[(?:error|ERROR|fatal|FATAL)\]|npm ERR!|(?:error|fatal)(?:\[\w+\])?: "
    r"|panic: |\S+: command not found|Segmentation fault|at [\w$.]+\([\w.]+:\d+\))"
)


@dataclass(frozen=True, slots=True)
class Left:
    """An entry that is left out, why, and the entry that says the same, if one does."""

    block: Block
    why: str
    instead: Block | None = None


@dataclass(slots=True, eq=False)
class _Standing:
    """An entry that stays, its day and how it is worded."""

    block: Block
    day: str
    said: Wording


class _Entries:
    """Entries that stay, in their order, found by what any two that say the same share (`wording.same`).

    Two texts of other words share four of five rows of words of the one that has fewer. So one row of any
    fifth and one more of its rows stands in the other text: the rarest of them are looked up.
    """

    def __init__(self) -> None:
        self._count = 0
        self._numbers: dict[_Standing, int] = {}
        self._worded: dict[Row, list[_Standing]] = {}
        self._holding: dict[Row, list[_Standing]] = {}  # entries by every row of theirs,
        self._named: dict[Row, list[_Standing]] = {}  # and by the rare ones

    def alike(self, new: _Standing) -> list[_Standing]:
        """Those that say the same as another entry."""
        rows = compare.shingles(new.said.tokens)
        near = {*self._worded.get(new.said.tokens, ())} if new.said.tokens else set()
        near.update(other for row in self._rare(rows) for other in self._holding.get(row, ()))
        near.update(other for row in rows for other in self._named.get(row, ()))
        return [
            other
            for other in sorted(near & self._numbers.keys(), key=self._numbers.__getitem__)
            if says_same(other.block, new.block, other.said, new.said)
        ]

    def add(self, new: _Standing) -> None:
        """Let an entry stay behind all others."""
        self._numbers[new] = self._count = self._count + 1
        rows = compare.shingles(new.said.tokens)
        for index, keys in (
            (self._named, self._rare(rows)), (self._holding, rows), (self._worded, [new.said.tokens]),
        ):  # fmt: skip
            for key in keys:
                index.setdefault(key, []).append(new)

    def remove(self, entry: _Standing) -> None:
        """Let an entry stay no more."""
        del self._numbers[entry]

    def _rare(self, rows: Collection[Row]) -> list[Row]:
        """So many of some rows that a text which shares most of them has one of these."""
        others = len(rows) - math.ceil(min(compare.JACCARD, compare.CONTAINED) * len(rows) - 1e-9)
        return sorted(rows, key=lambda row: len(self._holding.get(row, ())))[: others + 1]


def choose(days: Iterable[tuple[str, Sequence[Block]]]) -> list[Left]:
    """Return what is left out of the blocks of days, which come in their order."""
    left: list[Left] = []
    standing: dict[object, _Entries] = {}
    for day, blocks in days:
        for block in blocks:
            if block.entry is None or not block.safe:
                continue
            if why := _worthless(block):
                left.append(Left(block, why))
                continue
            said = compare.read(block.told)
            entries = standing.setdefault((block.below, said.signs), _Entries())
            left += _repeated(entries, _Standing(block, day, said))
    return left


def _worthless(block: Block) -> str:
    entry = block.entry
    if entry is None:
        return ""
    if entry.said.get("by") in FOREIGN:
        return OBSERVATION
    return ERROR if _ERROR.match(entry.text.lstrip("`*> ")) else ""


def _repeated(standing: _Entries, new: _Standing) -> list[Left]:
    """Add an entry to those that stand; return the one that says nothing more beside it and another."""
    if new.block.leads:
        return []
    alike = standing.alike(new)
    if alike and alike[-1].day == new.day:
        return [Left(new.block, REPEATED, alike[-1].block)]
    standing.add(new)
    if len(alike) < 2:
        return []
    between = alike[-1]
    standing.remove(between)
    return [Left(between.block, REPEATED, new.block)]


def says_same(one: Block, other: Block, said: Wording, other_said: Wording) -> bool:
    """Whether two entries say the same of the same."""
    return compare.same(said, other_said) and compare.agree(one.headings, other.headings, said)
