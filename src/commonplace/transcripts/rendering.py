"""Messages as they are written: clean on disk, and a line each in a note, so that citations lead to them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from commonplace.redaction.recalled import strip_blocks, without_blocks
from commonplace.redaction.redact import redact, strip_private
from commonplace.transcripts import content
from commonplace.types.events import Call, Turn

VERSION = "1"  # of what lines look like; another one has all transcripts read again
LABELS = {"user": "User", "assistant": "Assistant"}  # `markdown.structure` knows these for speakers
# What says most about a call, of the arguments that tools take.
_TELLING = ("file_path", "path", "command", "cmd", "pattern", "query", "url", "description", "code", "prompt")
_CALL_CHARACTERS = 80
_TITLE_CHARACTERS = 60
# Blocks that coding agents put into messages of the user, as their transcripts show them.
_TAGS = (
    "system-reminder", "local-command-caveat", "local-command-stdout", "local-command-stderr",
    "command-name", "command-message", "command-args", "command-contents", "bash-stdout", "bash-stderr",
    "task-notification", "user-prompt-submit-hook", "ide_opened_file", "ide_selection", "ide_diagnostics",
    "environment_context", "user_instructions", "permissions instructions", "turn_aborted",
)  # fmt: skip
_NAMES = "|".join(map(re.escape, _TAGS))
_RUNTIME = (
    r"(?s)\[Runtime Context — metadata only, not instructions\].*?(?:\[/Runtime Context\]\s*|\n\s*\n|\Z)"
)
_SILENT = frozenset({"NO_REPLY", "HEARTBEAT_OK", "[Request interrupted by user]"})


# --- on disk: without recalled notes, private parts and secrets -----------------------------------------


def cleaned(turn: Turn) -> Turn:
    """Return a turn without what must not reach a disk, in its text, its calls and their arguments."""
    calls = tuple(Call(call.id, _cleaned(call.name), _arguments(call.arguments)) for call in turn.calls)
    return replace(turn, text=_cleaned(turn.text), calls=calls, tool=_cleaned(turn.tool))


def _cleaned(text: str) -> str:
    return redact(strip_private(strip_blocks(text)))[0]


def _arguments(text: str) -> str:
    """Clean every text inside of JSON, where escapes would hide it, then the whole, where names tell."""

    def inside(value: object) -> object:
        if isinstance(value, list):
            return [inside(item) for item in value]
        if isinstance(value, Mapping):
            return {_cleaned(key): inside(item) for key, item in value.items()}
        return _cleaned(value) if isinstance(value, str) else value

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _cleaned(text)
    inner = inside(value)
    return redact(text if inner == value else json.dumps(inner, ensure_ascii=False))[0]


# --- as lines of a note ---------------------------------------------------------------------------------


class Pen:
    """Writes messages as lines; it remembers what day it is."""

    def __init__(self) -> None:
        """Begin before the first message."""
        self.first_day = self.day = self.title = ""

    def line(self, turn: Turn | None) -> str:
        """Return the line of a message: empty for what nobody said to anybody, such as a tool's result.

        The first message of a further day has that day before its text.
        """
        if turn is None or not (text := said(turn)):
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
    calls = "; ".join(filter(None, map(_call, turn.calls)))
    return " ".join(filter(None, [clean(turn.text), f"[{calls}]" if calls else ""]))


def _call(call: Call) -> str:
    """A call by its name and the argument that says most."""
    try:
        found: object = json.loads(call.arguments)
    except (ValueError, RecursionError):
        found = {"": call.arguments}  # no JSON: shown as it is
    values: list[object] = []
    if isinstance(found, Mapping):
        values = [found[key] for key in _TELLING if key in found] or list(found.values())
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
    """Take out what is injected, private or secret, then fold: blocks of several lines are told by these."""
    text = without_injected(text).encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    return " ".join(redact(strip_private(text))[0].split())


def without_injected(text: str) -> str:
    """Return what somebody said in a message: without recalled notes and what its host put around it."""
    text = strip_blocks(text)
    if "<" in text:
        ends: dict[str, list[tuple[int, int]]] = {}
        for closing in re.finditer(rf"</({_NAMES})>\s*+", text):
            ends.setdefault(closing[1], []).append(closing.span())
        openings = re.finditer(rf"<({_NAMES})\b[^<>]*+>", text)
        text = without_blocks(text, openings, lambda opening: ends.get(opening[1], []))
    if "# AGENTS.md" in text:
        text = re.sub(r"(?s)\A\s*# AGENTS\.md instructions.*?(?:</INSTRUCTIONS>\s*|\Z)", "", text)
    if "[Runtime Context" in text:
        text = re.sub(_RUNTIME, "", text)
    if "(untrusted" in text:
        # OpenClaw names who wrote a message, and where, in a block of JSON before it.
        envelopes = re.finditer(r"[A-Z][\w ]{0,40} \(untrusted[\w ,]{0,40}\):\s*+```json\n", text)
        fences = [fence.span() for fence in re.finditer(r"\n```\s*+", text)]
        text = without_blocks(text, envelopes, lambda _: fences)
    return "" if text.strip() in _SILENT else text
