"""What was put into a conversation by programs and said by nobody: recalled notes, reminders, contexts."""

from __future__ import annotations

import re

from commonplace.notes.recalled import strip_blocks

# Blocks that coding agents put into messages of the user, as their transcripts show them.
_TAGS = (
    "system-reminder", "local-command-caveat", "local-command-stdout", "local-command-stderr",
    "command-name", "command-message", "command-args", "command-contents", "bash-stdout", "bash-stderr",
    "task-notification", "user-prompt-submit-hook", "ide_opened_file", "ide_selection", "ide_diagnostics",
    "environment_context", "user_instructions", "permissions instructions", "turn_aborted",
)  # fmt: skip
_BLOCKS = re.compile(rf"(?s)<({'|'.join(map(re.escape, _TAGS))})\b[^<>]*>.*?</\1>\s*")
_AGENTS_FILE = re.compile(r"(?s)\A\s*# AGENTS\.md instructions.*?(?:</INSTRUCTIONS>\s*|\Z)")
_RUNTIME = re.compile(
    r"(?s)\[Runtime Context — metadata only, not instructions\].*?(?:\[/Runtime Context\]\s*|\n\s*\n|\Z)"
)
# OpenClaw names who wrote a message, and where, in a block of JSON before it.
_ENVELOPE = re.compile(r"(?s)[A-Z][\w ]{0,40} \(untrusted[\w ,]{0,40}\):\s*```json\n.*?\n```\s*")
_SILENT = frozenset({"NO_REPLY", "HEARTBEAT_OK", "[Request interrupted by user]"})


def without_injected(text: str) -> str:
    """Return what somebody said in a message: without recalled notes and what its host put around it."""
    text = strip_blocks(text)
    if "<" in text:
        text = _BLOCKS.sub("", text)
    if "# AGENTS.md" in text:
        text = _AGENTS_FILE.sub("", text)
    if "[Runtime Context" in text:
        text = _RUNTIME.sub("", text)
    if "(untrusted" in text:
        text = _ENVELOPE.sub("", text)
    return "" if text.strip() in _SILENT else text
