"""What a correction or a confirmation did, and statements with where they stand: as text, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from commonplace import screen

if TYPE_CHECKING:
    from commonplace.types import Cited, Confirmed, Corrected


def corrected_text(found: Corrected) -> str:
    """Say what was struck, and where the new statement stands."""
    struck = ", ".join(map(screen.one_line, found.struck))
    told = f"struck {struck}"
    return f"{told}; {screen.one_line(found.written)} stands instead" if found.written else told


def corrected_data(found: Corrected) -> dict[str, Any]:
    """Return a correction as plain data."""
    return {
        "run": found.run,
        "struck": list(found.struck),
        "written": found.written,
        "similar": cited_data(found.similar),
        "redacted": list(found.redacted),
        "warnings": list(found.warnings),
        "diff": found.diff,
    }


def confirmed_text(found: Confirmed) -> str:
    """Say what holds from now on, or was struck."""
    places = ", ".join(map(screen.one_line, found.statements))
    return f"{'rejected' if found.rejected else 'confirmed'} {places}"


def confirmed_data(found: Confirmed) -> dict[str, Any]:
    """Return a confirmation as plain data."""
    return {
        "run": found.run,
        "statements": list(found.statements),
        "rejected": found.rejected,
        "diff": found.diff,
    }


def cited_text(found: Sequence[Cited], *, numbered: bool = False) -> str:
    """List statements with where they stand, a line each; `numbered` from 1, to choose by."""
    lines = (f"{screen.one_line(one.citation)}  {screen.one_line(one.text)}" for one in found)
    return "\n".join(f"{n:>3}  {line}" if numbered else line for n, line in enumerate(lines, 1))


def cited_data(found: Iterable[Cited]) -> list[dict[str, str]]:
    """Return statements with where they stand as plain data."""
    return [{"citation": one.citation, "text": one.text} for one in found]
