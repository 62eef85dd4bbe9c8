"""Messages as they are written: clean on disk, and a line each in a note, so that citations lead to them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from commonplace.redaction.recalled import strip_blocks
from commonplace.redaction.redact import redact, strip_private
from commonplace.transcripts import content
from commonplace.transcripts.injected import without_injected
from commonplace.types.events import Call, Turn

VERSION = "8"  # of what lines and their count of tokens are; another one has all transcripts read again
LABELS = {"user": "User", "assistant": "Assistant"}  # `markdown.structure` knows these for speakers
# The argument of a call that says most, of those that tools take.
_ARGUMENTS = "file_path path command cmd pattern query url description code prompt".split()
_CALL_CHARACTERS = 80
_TITLE_CHARACTERS = 60

# --- on disk: without recalled notes, private parts and secrets -----------------------------------------


def cleaned(turn: Turn) -> Turn:
    """Return a turn without what must not reach a disk, in its text, its calls and their arguments."""
    calls = tuple(Call(call.id, _clean(call.name), _clean_arguments(call.arguments)) for call in turn.calls)
    return replace(turn, text=_clean(turn.text), calls=calls, tool=_clean(turn.tool))


def _clean(text: str) -> str:
    return redact(strip_private(strip_blocks(text)))[0]


def _clean_arguments(text: str) -> str:
    """Clean every text inside of JSON, where escapes would hide it, then the whole, for secrets by name."""

    def inside(value: object) -> object:
        if isinstance(value, list):
            return [inside(item) for item in value]
        if isinstance(value, Mapping):
            return {_clean(key): inside(item) for key, item in value.items()}
        return _clean(value) if isinstance(value, str) else value

    try:
        value = json.loads(text)
        inner = inside(value)
    except ValueError:
        return _clean(text)
    except RecursionError:  # nested too deep to be looked into
        return ""
    return redact(text if inner == value else json.dumps(inner, ensure_ascii=False))[0]


# --- as lines of a note ---------------------------------------------------------------------------------


class Renderer:
    """Writes the messages of a conversation as lines; it remembers the day of the last one."""

    def __init__(self) -> None:
        """Begin before the first message."""
        self.first_day = self.day = self.title = ""

    def line(self, turn: Turn | None) -> str:
        """Return the line of a message; empty for system messages and tool results.

        It holds the text and the calls, clean; the first message of a further day has that day before them.
        """
        text = _text(turn) if turn else ""
        if turn is None or not text:
            return ""
        if turn.role == "user":
            self.title = self.title or shortened(text, _TITLE_CHARACTERS)
        day = content.day(turn.at)
        shown_day = f"({day}) " if day and self.day not in ("", day) else ""
        self.day = day or self.day
        self.first_day = self.first_day or day
        return f"**{LABELS[turn.role]}:** {shown_day}{text}"


def _text(turn: Turn) -> str:
    """Return the clean text and calls of a message; empty for system messages and tool results."""
    if turn.role not in LABELS:
        return ""
    calls = "; ".join(filter(None, map(_call, turn.calls)))
    return " ".join(filter(None, [clean(turn.text), f"[{calls}]" if calls else ""]))


def _call(call: Call) -> str:
    """A call by its name and the argument that says most."""
    try:
        arguments: object = json.loads(call.arguments)
    except (ValueError, RecursionError):
        arguments = {"": call.arguments}  # no JSON: shown as it is
    values: list[object] = []
    if isinstance(arguments, Mapping):
        values = [arguments[key] for key in _ARGUMENTS if key in arguments] or list(arguments.values())
    argument = values[0] if values else ""
    if isinstance(argument, list):  # a command in parts
        argument = " ".join(map(str, argument))
    shown = shortened(clean(argument), _CALL_CHARACTERS) if isinstance(argument, str) else ""
    return " ".join(filter(None, [clean(call.name), shown]))


def shortened(text: str, characters: int) -> str:
    """Cut a text, at a blank where one is near."""
    if len(text) <= characters:
        return text
    head, blank, _ = text[:characters].rpartition(" ")
    return f"{head if blank and len(head) > characters // 2 else text[:characters]}…"


def clean(text: str) -> str:
    """Take out what is injected, private or secret, then fold: the line breaks mark what is injected."""
    text = without_injected(text).encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    return " ".join(redact(strip_private(text))[0].split())


def spoken(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Yield turns in which the user says what somebody said; without those in which only the host speaks."""
    for turn in turns:
        if turn.role != "user":
            yield turn
        elif text := without_injected(turn.text).strip():
            yield replace(turn, text=text)
