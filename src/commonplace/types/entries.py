"""What is written into notes, and what is said of who wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Writer = Literal["owner", "agent", "tool", "untrusted"]
UNNAMED: Writer = "agent"  # what an agent is called that does not say its name
NO_AGENT = frozenset({"owner", "agent", "tool", "untrusted", "user", "you", "me"})  # they say who, not which


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who wrote an entry, as which agent, in which session, and when (ISO 8601, to the second)."""

    by: Writer
    agent: str = ""
    session: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is to be appended to the note of a day, redacted already; `at` says which day and what time."""

    text: str
    at: datetime
    heading: str = ""
    provenance: Provenance | None = None
