"""What corrections and confirmations of statements give back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.types.statements import Cited


@dataclass(frozen=True, slots=True)
class Corrected:
    """What a correction did; citations are those of the notes as they are after it.

    `run` is empty where nothing was written yet (`dry_run`). `struck` are the statements that were struck,
    `written` is where the new one stands, empty for none; `similar` say nearly the same and still stand.
    `redacted` are the kinds of secrets that the new one lost, `diff` is what changed as it may be shown.
    `said` is how each struck statement begins, `digest` tells what changed from everything else.
    """

    run: str
    struck: tuple[str, ...]
    written: str = ""
    similar: tuple[Cited, ...] = ()
    redacted: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    diff: str = ""
    said: tuple[str, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Tentative statements that hold from now on, or were struck as rejected; see `Corrected`."""

    run: str
    statements: tuple[str, ...]
    rejected: bool = False
    diff: str = ""
    said: tuple[str, ...] = ()
    digest: str = ""
