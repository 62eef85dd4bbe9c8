"""What a host puts into messages of its user, taken out of them: nobody said it."""

from __future__ import annotations

import re

from commonplace.redaction.recalled import strip_blocks, without_blocks

_SILENT = frozenset({"NO_REPLY", "HEARTBEAT_OK"})
# Elements that coding agents put into messages of the user, as their transcripts show them.
_TAGS = (
    "system-reminder", "local-command-caveat", "local-command-stdout", "local-command-stderr",
    "command-name", "command-message", "command-args", "command-contents", "bash-stdout", "bash-stderr",
    "task-notification", "user-prompt-submit-hook", "ide_opened_file", "ide_selection", "ide_diagnostics",
    "environment_context", "user_instructions", "permissions instructions", "turn_aborted", "skill",
    "user_shell_command", "teammate-message", "subagent_notification", "new-diagnostics", "tool_result",
)  # fmt: skip
# Words in it, its opening, its end. One with a group `ours` that has no end goes to the end of the text.
_INJECTED = (
    *((f"<{tag}", rf"<{tag}\b[^<>]*+>", rf"</{tag}>\s*+") for tag in _TAGS),
    ("# AGENTS.md", r"\A\s*# AGENTS\.md (?P<ours>instructions)", r"</INSTRUCTIONS>\s*+"),
    (
        "[Runtime Context",
        r"\[Runtime Context (?P<ours>— metadata only, not instructions)\]",
        r"\[/Runtime Context\]\s*+|\n\s*\n",
    ),
    # OpenClaw names who wrote a message, and where, in a block of JSON before it.
    ("(untrusted", r"[A-Z][\w ]{0,40} \(untrusted[\w ,]{0,40}\):\s*+```json\n", r"\n```\s*+"),
    # Codex in an editor: open files and the selection before what was asked.
    *(
        (words, rf"\A\s*{words}(?P<ours>:?\s)", r"## My request for [^\n]*+\n?\s*+")
        for words in ("# Context from my IDE setup", "# Files mentioned by the user")
    ),
    ("[Request interrupted", r"(?m)^\s*+\[Request interrupted by user", r"\]\s*+"),
)


def without_injected(text: str) -> str:
    """Return what somebody said in a message: without recalled notes and what its host put around it."""
    text = strip_blocks(text)
    for words, opening, end in _INJECTED:
        if words in text:
            ends = [match.span() for match in re.finditer(end, text)]
            text = without_blocks(text, re.finditer(opening, text), ends)
    return "" if text.strip() in _SILENT else text


def typed(message: str) -> str:
    """Return what a person typed of a message: nothing of one that is a single element as a whole."""
    text = without_injected(message).strip()
    element = re.match(r"<([\w-]++)", text)
    return "" if element and text.endswith(f"</{element[1]}>") else text
