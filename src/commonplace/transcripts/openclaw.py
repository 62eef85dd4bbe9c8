"""OpenClaw: `~/.openclaw/agents/NAME/sessions/ID.jsonl`, a head, then events; some of them hold messages.

Its host writes into messages: a stamp before what a user says (`[Fri 2026-02-13 11:00 GMT+1] …`, with the
channel and the sender in front), `[message_id: 88]` on a line of its own, `[[reply_to_current]]` in answers.
It also speaks as the user: heartbeats every half hour, and what is due by a schedule (`[cron:…]`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from commonplace.transcripts import content
from commonplace.transcripts.content import Value
from commonplace.types.events import Turn

_STAMP = re.compile(
    r"(?P<before>\A\s*|\n```\s*\n\s*)"  # a block of JSON may stand before it
    r"\[[A-Z][^\[\]\n]{1,200}?\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?: [A-Z]{2,5}(?:[+-]\d[\d:]{0,4})?)?\] ?"
)
_ID = re.compile(r"(?m)^\[message_id: [^\[\]\n]{1,200}\][ \t]*(?:\n|\Z)")
_EVENT = re.compile(r"(?m)^System: \[\d{4}-\d\d-\d\d[^\]\n]*\][^\n]*(?:\n|\Z)")
_DIRECTIVE = re.compile(r"\[\[(?:reply_to_current|reply_to:[^\[\]\n]{1,200}|audio_as_voice)\]\][ \t]*\n?")
_NOBODY = ("Read HEARTBEAT.md if it exists", "[cron:")


def knows(value: Value) -> bool:
    """Tell whether a line is of this format."""
    if value.get("type") == "session":
        return "version" in value and "id" in value and "timestamp" in value
    return value.get("type") == "message" and "role" in content.mapping(value, "message")


def turn(value: Value) -> Turn | None:
    """Return the message of a line, if it holds one."""
    message = content.mapping(value, "message")
    if value.get("type") != "message" or not message:
        return None
    at = content.text(value, "timestamp") or content.time(message.get("timestamp"))
    role, body = message.get("role"), message.get("content")
    if role == "toolResult":
        names = content.text(message, "toolCallId"), content.text(message, "toolName")
        return Turn("tool", content.text_of(body), at, (), *names)
    said = content.message(role, body, at, "toolCall", "arguments")
    if said is None or said.role != "user":
        return said and replace(said, text=_DIRECTIVE.sub("", said.text))
    text = _EVENT.sub("", _ID.sub("", said.text)).strip() if "[" in said.text else said.text
    text = _STAMP.sub(r"\g<before>", text, count=1) if "[" in text else text
    return None if text.lstrip().startswith(_NOBODY) else replace(said, text=text)
