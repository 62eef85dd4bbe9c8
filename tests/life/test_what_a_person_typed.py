"""What a program puts into a conversation is not what its person said: it asks for nothing and is no memory."""

from __future__ import annotations

import json

import pytest

from tests.life.conftest import Owner

SAID = "Which day is Kestrel deployed?"
INJECTED = [
    "<task-notification>\n<task-id>b1</task-id>\n<summary>{}</summary>\n</task-notification>",
    "<system-reminder>\n{}\n</system-reminder>",
    "<system-reminder>{}</system-reminder>\n<system-reminder>again</system-reminder>",
    "<teammate-message teammate_id=\"lead\">\n{}\n</teammate-message>",
    "<skill>\n<name>deploy</name>\n<path>/x/SKILL.md</path>\n{}\n</skill>",
    "<user_shell_command>\n<command>deploy</command>\n<result>\n{}\n</result>\n</user_shell_command>",
    "<local-command-stdout>{}</local-command-stdout>",
    "<bash-stdout>{}</bash-stdout><bash-stderr></bash-stderr>",
    "<environment_context>\n<cwd>{}</cwd>\n</environment_context>",
    "<tool_result>\n{}\n</tool_result>",
    "<turn_aborted>\n{}\n</turn_aborted>",
    "<subagent_notification>{}</subagent_notification>",
    "[Request interrupted by user]",
    "[Request interrupted by user for tool use]",
    "# Context from my IDE setup:\n\n## Active file: kestrel.md\n\n## Open tabs:\n- {}: kestrel.md\n",
    "# AGENTS.md instructions for /src\n\n<INSTRUCTIONS>\n{}\n</INSTRUCTIONS>",
]  # fmt: skip
ALONE = [  # of the hook alone: who pastes an element into a conversation may say it
    "<background-event id=\"3\">\n{}\n</background-event>",
    "<channel source=\"chat\">{}</channel>",
]  # fmt: skip


@pytest.fixture
def kestrel(owner: Owner) -> Owner:
    owner.note("memory/kestrel.md", "# Kestrel\n\n- Kestrel is deployed on Thursdays.\n")
    for word in "anchor barley cedar dahlia ember ferry gravel harbour indigo jasmine".split():
        owner.note(f"memory/{word}.md", f"# {word}\n\n- The {word} stands beside the door.\n")
    return owner


def test_only_what_a_person_typed_is_asked(kestrel: Owner) -> None:
    memory = kestrel.memory()
    assert memory.recall(SAID, strict=True).hits
    for number, form in enumerate([*INJECTED, *ALONE]):
        given = kestrel.hook("UserPromptSubmit", session_id=f"s{number}", prompt=form.format(SAID))
        assert given == "", form
    beside = [INJECTED[1], INJECTED[12], INJECTED[14] + "\n## My request for Codex:\n"]
    for number, form in enumerate(beside):
        prompt = f"{form.format('the barley')}\n{SAID}"
        assert "Thursdays" in kestrel.hook("UserPromptSubmit", session_id=f"t{number}", prompt=prompt), form


def test_a_transcript_holds_what_was_said(kestrel: Owner) -> None:
    rows = [
        {"type": "user", "uuid": str(n), "sessionId": "s", "timestamp": "2026-05-06T10:00:00Z",
         "message": {"role": "user", "content": form.format("zanzibar")}}
        for n, form in enumerate(INJECTED)
    ]  # fmt: skip
    error = {"type": "assistant", "uuid": "e", "sessionId": "s", "isApiErrorMessage": True,
             "message": {"role": "assistant", "content": [{"type": "text", "text": "API Error: zanzibar"}]}}  # fmt: skip
    spoken = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content":
              "# Context from my IDE setup:\n\n## Open tabs:\n- zanzibar\n\n## My request for Codex:\nPaint the quay."}}  # fmt: skip
    lines = "".join(json.dumps(row) + "\n" for row in [*rows, error, spoken])
    kestrel.note("elsewhere/s.jsonl", lines)
    codex = [
        {"type": "response_item", "timestamp": "2026-05-06T10:00:00Z", "payload":
         {"type": "message", "role": "user", "content": [{"type": "input_text", "text": form.format("zanzibar")}]}}
        for form in INJECTED
    ]  # fmt: skip
    kestrel.note("elsewhere/codex.jsonl", "".join(json.dumps(row) + "\n" for row in codex))
    kestrel.ok("sessions", "follow", kestrel.folder / "elsewhere")
    kestrel.ok("sync")
    memory = kestrel.memory()
    assert not [hit for hit in memory.search("zanzibar", min_score=0.01).hits if "zanzibar" in hit.text]
    assert any("Paint the quay" in hit.text for hit in memory.search("paint the quay").hits)
