"""What was put into a conversation by programs and said by nobody: recalled notes, reminders, contexts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from commonplace.notes.recalled import strip_blocks, without_blocks

# Blocks that coding agents put into messages of the user, as their transcripts show them.
_TAGS = (
    "system-reminder", "local-command-caveat", "local-command-stdout", "local-command-stderr",
    "command-name", "command-message", "command-args", "command-contents", "bash-stdout", "bash-stderr",
    "task-notification", "user-prompt-submit-hook", "ide_opened_file", "ide_selection", "ide_diagnostics",
    "environment_context", "user_instructions", "permissions instructions", "turn_aborted",
)  # fmt: skip
_OPENING = re.compile(rf"<({'|'.join(map(re.escape, _TAGS))})\b[^<>]*+>")
_CLOSING = re.compile(rf"</({'|'.join(map(re.escape, _TAGS))})>\s*+")
_AGENTS_FILE = re.compile(r"(?s)\A\s*# AGENTS\.md instructions.*?(?:</INSTRUCTIONS>\s*|\Z)")
_RUNTIME = re.compile(
    r"(?s)\[Runtime Context — metadata only, not instructions\].*?(?:\[/Runtime Context\]\s*|\n\s*\n|\Z)"
)
# OpenClaw names who wrote a message, and where, in a block of JSON before it.
_ENVELOPE = re.compile(r"[A-Z][\w ]{0,40} \(untrusted[\w ,]{0,40}\):\s*+```json\n")
_ENVELOPE_END = re.compile(r"\n```\s*+")
_SILENT = frozenset({"NO_REPLY", "HEARTBEAT_OK", "[Request interrupted by user]"})


def without_injected(text: str) -> str:
    """Return what somebody said in a message: without recalled notes and what its host put around it."""
    text = strip_blocks(text)
    if "<" in text:
        text = _without_tagged(text)
    if "# AGENTS.md" in text:
        text = _AGENTS_FILE.sub("", text)
    if "[Runtime Context" in text:
        text = _RUNTIME.sub("", text)
    if "(untrusted" in text:
        text = _without_envelopes(text)
    return "" if text.strip() in _SILENT else text


def _without_tagged(text: str) -> str:
    ends: dict[str, list[tuple[int, int]]] = {}
    for closing in _CLOSING.finditer(text):
        ends.setdefault(closing[1], []).append(closing.span())
    return without_blocks(text, _OPENING.finditer(text), lambda found: _next(ends.get(found[1], []), found))


def _without_envelopes(text: str) -> str:
    ends = [found.span() for found in _ENVELOPE_END.finditer(text)]
    return without_blocks(text, _ENVELOPE.finditer(text), lambda found: _next(ends, found))


def _next(ends: Sequence[tuple[int, int]], opening: re.Match[str]) -> int:
    """Where the first of some ends behind an opening ends; 0 for none."""
    place = bisect_left(ends, (opening.end(), 0))
    return ends[place][1] if place < len(ends) else 0
