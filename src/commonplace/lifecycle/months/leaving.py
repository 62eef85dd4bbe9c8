"""What of a month's daily notes is left out of its note: observations, raw errors, what is said again.

What stands on several days is an event of each, or holds again after something else did: it stays where it
stands first and where it stands last, and what lies between says nothing more. On one day it stands once.
What leads in to a list stays, and what stands below it is said of that alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from commonplace.lifecycle.months.blocks import Block
from commonplace.notes.layout import FOREIGN
from commonplace.search import wording
from commonplace.search.wording import Wording

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


@dataclass(slots=True)
class _Standing:
    """An entry that stays, its day and how it is worded."""

    block: Block
    day: str
    said: Wording


def choose(days: Iterable[tuple[str, Sequence[Block]]]) -> list[Left]:
    """Return what is left out of the blocks of days, which come in their order."""
    left: list[Left] = []
    standing: dict[object, list[_Standing]] = {}
    for day, blocks in days:
        for block in blocks:
            if block.entry is None or not block.safe:
                continue
            if why := _worthless(block):
                left.append(Left(block, why))
                continue
            said = wording.read(block.told)
            alike = standing.setdefault((block.below, said.signs), [])  # all that may say the same
            left += _repeated(alike, _Standing(block, day, said))
    return left


def _worthless(block: Block) -> str:
    entry = block.entry
    if entry is None:
        return ""
    if entry.said.get("by") in FOREIGN:
        return OBSERVATION
    return ERROR if _ERROR.match(entry.text.lstrip("`*> ")) else ""


def _repeated(standing: list[_Standing], new: _Standing) -> list[Left]:
    """Add an entry to those that stand; return the one that says nothing more beside it and another."""
    if new.block.leads:
        return []
    alike = [other for other in standing if says_same(other.block, new.block, other.said, new.said)]
    if alike and alike[-1].day == new.day:
        return [Left(new.block, REPEATED, alike[-1].block)]
    standing.append(new)
    if len(alike) < 2:
        return []
    between = alike[-1]
    standing.remove(between)
    return [Left(between.block, REPEATED, new.block)]


def says_same(one: Block, other: Block, said: Wording, other_said: Wording) -> bool:
    """Whether two entries say the same of the same."""
    return wording.same(said, other_said) and wording.agree(one.headings, other.headings, said)
