"""Repetitions in a block of several passages: passages with the same meaning, and shared lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from commonplace.base import filetypes
from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.language import compare
from commonplace.language.compare import Wording
from commonplace.types import Hit

# A sentence ends with its mark and what closes a quotation after it; Chinese needs no blank behind it.
SENTENCE = lazy(r"[^\n]+?(?:[。！？][”’」』）)]*|[.!?][\"')\]]*(?=\s)|(?=\n)|\Z)[ \t]*|\n")


class Said(NamedTuple):
    """The wording of a passage, and the title and headings above it."""

    wording: Wording
    above: tuple[str, ...]

    def repeats(self, other: Said, asked: frozenset[str] = frozenset()) -> bool:
        """Tell whether it says what another one does; `asked` are the words of a question."""
        is_same = compare.same(self.wording, other.wording)
        return is_same and compare.agree(self.above, other.above, self.wording, asked)


def read(text: str, path: str, title: str, headings: Sequence[str]) -> Said:
    """Read what a passage says; of a program every character counts."""
    wording = compare.verbatim if filetypes.is_code(path) else compare.read
    return Said(wording(text), (title, *headings))


class Repeats:
    """The contents of a block so far, to leave repetitions out."""

    def __init__(self) -> None:
        self._hits: list[tuple[Hit, Said]] = []

    def rest(self, hit: Hit) -> Hit | None:
        """Return a hit without the lines that the block has; None if it repeats the block."""
        said = read(hit.text, hit.path, hit.title, hit.headings)
        had: dict[int, str] = {}
        for other, told in self._hits:
            inside = other.start_line <= hit.start_line and hit.end_line <= other.end_line
            if said.repeats(told) or (other.path == hit.path and inside and hit.text in other.text):
                return None
            if other.path == hit.path:
                had |= dict(enumerate(whole_lines(other), other.start_line))
        lines = whole_lines(hit) if had else []
        same = (had.get(number) == line for number, line in enumerate(lines, hit.start_line))
        rest = without(hit, [mark if line.strip() else None for mark, line in zip(same, lines, strict=True)])
        return rest if rest is None or rest is hit else self.rest(rest)

    def add(self, hit: Hit) -> None:
        """Note what a hit says."""
        self._hits.append((hit, read(hit.text, hit.path, hit.title, hit.headings)))


def whole_lines(hit: Hit) -> list[str]:
    """Return the lines of a hit; empty if its text does not match its lines one to one."""
    lines = hit.text.split("\n")
    return lines if len(lines) == hit.end_line - hit.start_line + 1 else []


def without(hit: Hit, known: Sequence[bool | None]) -> Hit | None:
    """Return a hit without the known lines at its ends; None if no other line has content.

    `known` has a value for each line: known or not, None for a line without content of its own.
    """
    if True not in known:
        return hit
    new = [number for number, mark in enumerate(known) if mark is False]
    if not new:
        return None
    first = new[0] if True in known[: new[0]] else 0
    last = new[-1] if True in known[new[-1] :] else len(known) - 1
    if first == 0 and last == len(known) - 1:
        return hit
    text = "\n".join(hit.text.split("\n")[first : last + 1])
    return replace(hit, text=text, start_line=hit.start_line + first, end_line=hit.start_line + last)
