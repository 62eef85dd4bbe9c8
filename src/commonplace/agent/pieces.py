"""The unit of notes in a prompt: hits that are shown together or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter

from commonplace.base.tuples import NamedTuple
from commonplace.types import Hit


class Piece(NamedTuple):
    """Hits that are shown together or not at all, how new they are, and why they are left out, if so.

    `gap` counts the blank lines behind it.
    """

    hits: tuple[Hit, ...]
    newness: tuple[str, str, int] = ("", "", 0)
    why: str = ""
    gap: int = 0

    @property
    def citation(self) -> str:
        """The lines from the first hit to the last."""
        first, last = self.hits[0], self.hits[-1]
        return first.citation if first is last else f"{first.path}#L{first.start_line}-L{last.end_line}"


newness_of = attrgetter("newness")


def joined(pieces: Iterable[Piece]) -> list[Hit]:
    """The hits of pieces in the order of their lines; what only blank lines part becomes one."""
    hits: list[Hit] = []
    end = 0  # the line that the next piece begins on, if it goes on from here
    for piece in sorted(pieces, key=lambda piece: (piece.hits[0].path, piece.hits[0].start_line)):
        for hit in piece.hits:
            last = hits[-1] if hits else None
            same = last and (last.path, last.headings, last.labels) == (hit.path, hit.headings, hit.labels)
            if last and same and hit.start_line == end:
                between = "\n\n" if hit.start_line > last.end_line + 1 else "\n"
                text = f"{last.text}{between}{hit.text}"
                hits[-1] = replace(last, end_line=hit.end_line, text=text)
            else:
                hits.append(hit)
            end = hit.end_line + 1
        end += piece.gap
    return hits
