"""What OpenClaw's host writes into messages is nobody's: stamps, ids, directives, heartbeats."""

from __future__ import annotations

from commonplace.transcripts import openclaw

ENVELOPE = 'Conversation info (untrusted metadata):\n```json\n{\n  "sender": "ann"\n}\n```\n\n'


def said(role: str, text: str) -> str | None:
    turn = openclaw.turn(
        {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}}
    )
    return turn.text if turn else None


def test_what_the_host_wrote_into_a_message_is_left_out() -> None:
    for text, shown in [
        ("[Fri 2026-02-13 11:00 GMT+1] When does it fly?\n[message_id: 88]", "When does it fly?"),
        ("[Telegram Ann (@ann) id:12 +3m 2026-02-13 11:00 UTC] Hello", "Hello"),
        (f"{ENVELOPE}[message_id: om_x1]\nAnn: hello", f"{ENVELOPE}Ann: hello"),
        (f"{ENVELOPE}[Thu 2026-03-05 16:29 GMT+8] hello", f"{ENVELOPE}hello"),
        ("System: [2026-02-13 11:00 UTC] Node connected\nHello", "Hello"),
        ("[2026-02-13 11:00] my log line", "[2026-02-13 11:00] my log line"),
        ("See [message_id: 88] in the log", "See [message_id: 88] in the log"),
        ("Is [Fri 2026-02-13 11:00] a stamp?", "Is [Fri 2026-02-13 11:00] a stamp?"),
        ("[Fri 2026-02-13 11:00 GMT+1] Read HEARTBEAT.md if it exists. reply HEARTBEAT_OK.", None),
        ("[cron:2cc7 weekly-review] Run the review.", None),
    ]:
        assert said("user", text) == shown
    for text in ("[[reply_to_current]] At dawn.", "[[reply_to:88]]\nAt dawn.", "[[audio_as_voice]]At dawn."):
        assert said("assistant", text) == "At dawn."
