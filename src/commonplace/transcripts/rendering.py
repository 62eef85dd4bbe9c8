"""Messages as lines of a note: who says what, on one line each, so that citations lead to the message."""

from __future__ import annotations

import json
from collections.abc import Mapping

from commonplace.redaction.redact import redact, strip_private
from commonplace.transcripts import content
from commonplace.transcripts.injected import without_injected
from commonplace.types.events import Call, Turn

VERSION = "1"  # of what lines look like; another one has all transcripts read again
LABELS = {"user": "User", "assistant": "Assistant"}  # `chunking.turns` knows these for speakers
# What says most about a call, of the arguments that tools take.
_TELLING = ("file_path", "path", "command", "cmd", "pattern", "query", "url", "description", "code", "prompt")
_CALL_CHARACTERS = 80
_TITLE_CHARACTERS = 60


class Pen:
    """Writes messages as lines; it remembers what day it is."""

    def __init__(self) -> None:
        """Begin before the first message."""
        self.first_day = self.day = ""
        self.title = ""

    def line(self, turn: Turn | None) -> str:
        """Return the line of a message: empty for what nobody said to anybody, such as a tool's result.

        The first message of a further day has that day before its text.
        """
        text = said(turn) if turn is not None else ""
        if turn is None or not text:
            return ""
        if turn.role == "user" and not self.title:
            self.title = shortened(text, _TITLE_CHARACTERS)
        day = content.day(turn.at)
        new = bool(day and self.day and day != self.day)
        self.day = day or self.day
        self.first_day = self.first_day or day
        return f"**{LABELS[turn.role]}:** {f'({day}) ' if new else ''}{text}"


def said(turn: Turn) -> str:
    """Return what a message says, on one line, clean: its text, then its calls in a few words each."""
    if turn.role not in LABELS:
        return ""
    text = clean(turn.text)
    calls = "; ".join(filter(None, (_told(call) for call in turn.calls)))
    return " ".join(filter(None, [text, f"[{calls}]" if calls else ""]))


def shortened(text: str, characters: int) -> str:
    """Cut a text, at a blank where one is near."""
    if len(text) <= characters:
        return text
    head, blank, _ = text[:characters].rpartition(" ")
    return f"{head if blank and len(head) > characters // 2 else text[:characters]}…"


def clean(text: str) -> str:
    """Take out what is injected, private or secret, then fold: blocks of several lines are told by these."""
    text = without_injected(text).encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    return " ".join(redact(strip_private(text))[0].split())


def _told(call: Call) -> str:
    argument = clean(_argument(call.arguments))
    return " ".join(filter(None, [clean(call.name), shortened(argument, _CALL_CHARACTERS)]))


def _argument(text: str) -> str:
    """Return the argument that says most."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(found, Mapping):
        return ""
    named = [found[key] for key in _TELLING if key in found] or list(found.values())
    first = named[0] if named else ""
    if isinstance(first, list):  # a command in parts
        first = " ".join(map(str, first))
    return first if isinstance(first, str) else ""
