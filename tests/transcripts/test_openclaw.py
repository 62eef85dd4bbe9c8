"""What OpenClaw's host writes into messages is nobody's: stamps, ids, directives, heartbeats."""

from __future__ import annotations

import pytest

from commonplace.transcripts import openclaw

ENVELOPE = 'Conversation info (untrusted metadata):\n```json\n{\n  "sender": "ann"\n}\n```\n\n'


def said(role: str, text: str) -> str | None:
    turn = openclaw.turn(
        {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}}
    )
    return turn.text if turn else None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[Fri 2026-02-13 11:00 GMT+1] When does it fly?\n[message_id: 88]", "When does it fly?"),
        ("[Telegram Ann (@ann) id:12 +3m 2026-02-13 11:00 UTC] Hello", "Hello"),
        (f"{ENVELOPE}[message_id: om_x1]\nAnn: hello", f"{ENVELOPE}Ann: hello"),
        (f"{ENVELOPE}[Thu 2026-03-05 16:29 GMT+8] hello", f"{ENVELOPE}hello"),
        ("System: [2026-02-13 11:00 UTC] Node connected\nHello", "Hello"),
        ("[2026-02-13 11:00] my log line", "[2026-02-13 11:00] my log line"),
        ("See [message_id: 88] in the log", "See [message_id: 88] in the log"),
        ("Is [Fri 2026-02-13 11:00] a stamp?", "Is [Fri 2026-02-13 11:00] a stamp?"),
    ],
)
def test_what_a_user_said(text: str, shown: str) -> None:
    assert said("user", text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly.\nCurrent time: Friday",
        "[Fri 2026-02-13 11:00 GMT+1] Read HEARTBEAT.md if it exists. reply HEARTBEAT_OK.",
        "[cron:2cc7 weekly-review] Run the review.",
    ],
)
def test_what_nobody_said(text: str) -> None:
    assert said("user", text) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[[reply_to_current]] At dawn.", "At dawn."), ("[[reply_to:88]]\nAt dawn.", "At dawn."),
        ("[[audio_as_voice]]At dawn, see [[Harbour]].", "At dawn, see [[Harbour]]."),
    ],
)  # fmt: skip
def test_what_an_assistant_said(text: str, shown: str) -> None:
    assert said("assistant", text) == shown
