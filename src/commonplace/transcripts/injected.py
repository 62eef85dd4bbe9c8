"""What was put into a conversation by programs and said by nobody: recalled notes, reminders, contexts."""

from __future__ import annotations

import re

from commonplace.redaction.recalled import strip_blocks, without_blocks

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
