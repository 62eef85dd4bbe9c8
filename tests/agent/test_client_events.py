"""Events of coding clients: what goes into the conversation, what is noted, and what is left alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.agent.client_events import ClientEvents, is_transcript, result_text
from commonplace.base import tokens
from commonplace.upkeep.watermarks import Pending
from tests.copies import files_of

SECRET = "sk-" + "proj-4fJ2kLm9Qz7Xw1Rb8Tn5Vc3Yd6Hs0Ga"
EVERYDAY = (
    "thanks!", "run the tests again", "fix the type error in that file", "commit this with a good message",
    "why does this fail?", "looks good, go on", "add a test for the empty case", "谢谢！", "再跑一遍测试", "好，继续",
)  # fmt: skip


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A workspace of an owner who decided something, with a task and the end of a session."""
    root = tmp_path / "notes"
    (root / "memory").mkdir(parents=True)
    today, earlier = date.today(), date.today() - timedelta(days=3)
    (root / "MEMORY.md").write_text(
        "# Memory\n\n## Work\n\n- The billing service is called Kestrel; it runs in Frankfurt.\n"
        "- 发票服务的负责人是林佳慧。\n- 09:10 [ ] Renew the certificate of Kestrel.\n- [x] Move Kestrel to Frankfurt.\n"
    )
    (root / "memory" / f"{earlier}.md").write_text(
        f"# {earlier}\n\n- 09:10 Decided: Kestrel is deployed on Thursdays, because Mira is there then.\n"
        "- 10:00 Bought tea.\n- 11:00 The lift in the office is broken again.\n"
    )
    (root / "memory" / f"{today}.md").write_text(
        f"# {today}\n\n## Session summaries\n\n- 08:00 Asked – a faster build\n  - Done – the cache works\n"
        "  - Open – the cache of the second runner\n"
    )
    with Memory.open(root) as opened:
        opened.sync()
        yield opened


@pytest.fixture
def events(memory: Memory) -> ClientEvents:
    return ClientEvents(memory, "claude-code")


def event(name: str, **more: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "session_id": "s1", "cwd": "/work", **more}


def given_text(output: str) -> str:
    """What an answer puts into the conversation."""
    if not output:
        return ""
    answer = json.loads(output)["hookSpecificOutput"]
    assert answer["hookEventName"] in ("SessionStart", "UserPromptSubmit")
    text: str = answer["additionalContext"]
    assert text.startswith("<recalled-notes")
    assert text.rstrip().endswith("</recalled-notes>")
    return text


def asked(events: ClientEvents, message: str, **more: Any) -> str:
    return given_text(events.answer(event("UserPromptSubmit", prompt=message, **more)))


def notes(memory: Memory) -> str:
    return "\n".join(path.read_text() for path in sorted(memory.workspace.root.rglob("*.md")))


def everything_on_disk(memory: Memory) -> bytes:
    return b"".join(path.read_bytes() for path in files_of(memory.workspace.root))


# --- what goes into the conversation --------------------------------------------------------------------


def test_a_session_begins_with_long_term_memory_and_open_matters(events: ClientEvents) -> None:
    text = given_text(events.answer(event("SessionStart", source="startup")))
    assert "it runs in Frankfurt" in text
    assert "[ ] Renew the certificate" in text
    assert "Open – the cache of the second runner" in text


def test_open_matters_are_tasks_that_are_not_done(memory: Memory) -> None:
    short = memory.settings.prompt._replace(long_term=0, daily=0, days=0)
    from commonplace.agent.context import OPEN, ContextBuilder

    block = ContextBuilder(memory, short).build("", open_matters=True)
    assert {part.name for part in block.parts} == {OPEN}
    assert "Renew" in block.text
    assert "Move Kestrel" not in block.text
    assert "Asked" not in block.text


@pytest.mark.parametrize("source", ["clear", "compact"])
def test_a_conversation_that_holds_nothing_is_given_everything_again(
    events: ClientEvents, source: str
) -> None:
    first = events.answer(event("SessionStart", source="startup"))
    assert given_text(first)
    assert events.answer(event("SessionStart", source="resume")) == ""
    assert events.answer(event("SessionStart", source=source)) == first


@pytest.mark.parametrize(
    ("message", "held"),
    [("On which day do we deploy Kestrel?", "Thursdays"), ("发票服务的负责人是谁？", "林佳慧")],
)
def test_a_message_gets_what_answers_it_once(events: ClientEvents, message: str, held: str) -> None:
    assert held in asked(events, message)
    assert asked(events, message) == ""
    events.answer(event("PreCompact", trigger="auto"))
    assert held in asked(events, message)


def test_everyday_messages_get_nothing(events: ClientEvents) -> None:
    assert [asked(events, message) for message in EVERYDAY] == [""] * len(EVERYDAY)


@pytest.mark.parametrize(
    "message", ["/compact", "/deploy Kestrel on Thursday", "", "   ", None, 7, ["Kestrel"]]
)
def test_commands_and_what_is_no_message_get_nothing(events: ClientEvents, message: object) -> None:
    assert events.answer(event("UserPromptSubmit", prompt=message)) == ""


def test_what_is_given_stays_inside_its_budget(memory: Memory, events: ClientEvents) -> None:
    lines = [f"- Kestrel fact {n}: the deploy of Kestrel number {n} took {n} minutes." for n in range(300)]
    (memory.workspace.root / "memory" / "facts.md").write_text("# Kestrel\n\n" + "\n".join(lines))
    memory.sync()
    text = asked(events, "How long did the deploy of Kestrel take?")
    assert 0 < tokens.about(text) <= memory.settings.prompt.message


def test_what_was_recalled_is_no_question(events: ClientEvents) -> None:
    block = asked(events, "On which day do we deploy Kestrel?")
    assert asked(events, f"{block}\n", session_id="s2") == ""


@pytest.mark.parametrize("session", ["../../x", "a/b", "", None, 3, "x" * 5000])
def test_a_session_that_could_be_a_path_is_left_alone(events: ClientEvents, session: object) -> None:
    for name in ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"):
        events.answer(
            event(name, session_id=session, prompt="On which day do we deploy Kestrel?", tool_name="Bash")
        )
    assert not (events.memory.workspace.root.parent / "x").exists()


# --- what is noted --------------------------------------------------------------------------------------


def ran(command: str, answer: object = "done", **more: Any) -> dict[str, Any]:
    return event(
        "PostToolUse", tool_name="Bash", tool_input={"command": command}, tool_response=answer, **more
    )


def test_a_tool_that_ran_is_in_the_notes_when_the_turn_is_over(memory: Memory, events: ClientEvents) -> None:
    assert (
        events.answer(ran("make release", {"stdout": "released 4.7", "stderr": "", "interrupted": False}))
        == ""
    )
    assert "make release" not in notes(memory)
    events.answer(event("Stop"))
    assert "Ran make release" in notes(memory)
    assert "released 4.7" not in notes(memory)
    assert "agent: claude-code; session: s1" in notes(memory)


@pytest.mark.parametrize(
    "command",
    [
        "commonplace search 'when do we deploy'",
        "cd /tmp && /usr/bin/commonplace remember 'x'",
        "python -P -m commonplace -w /n recall x",
        "cat memory/2026-02-13.md",
        "sed -i s/a/b/ ./MEMORY.md",
        "rm -rf .commonplace/spool",
    ],
)
def test_this_memory_is_not_observed(memory: Memory, events: ClientEvents, command: str) -> None:
    events.answer(ran(command, "x" * 9000, cwd=str(memory.workspace.root)))
    events.answer(event("Stop"))
    assert "Observations" not in notes(memory)


def test_notes_edited_by_a_client_are_not_observed(memory: Memory, events: ClientEvents) -> None:
    for tool, arguments in (
        ("Write", {"file_path": str(memory.workspace.root / "memory" / "plan.md"), "content": "x"}),
        ("Edit", {"file_path": str(memory.workspace.memory_file), "old_string": "a", "new_string": "b"}),
        ("mcp__memory__memory_write", {"text": "x"}),
    ):
        events.answer(event("PostToolUse", tool_name=tool, tool_input=arguments, tool_response="ok"))
    events.answer(event("Stop"))
    assert "Observations" not in notes(memory)


def test_files_beside_the_notes_are(memory: Memory, events: ClientEvents) -> None:
    arguments = {"file_path": str(memory.workspace.root / "src" / "memory.py"), "content": "x = 1"}
    events.answer(event("PostToolUse", tool_name="Write", tool_input=arguments, tool_response="ok"))
    events.answer(event("Stop"))
    assert "memory.py" in notes(memory)


def test_no_secret_reaches_the_disk(memory: Memory, events: ClientEvents) -> None:
    events.answer(ran(f"curl -H 'Authorization: Bearer {SECRET}' https://example.com", {"stdout": SECRET}))
    events.answer(event("UserPromptSubmit", prompt=f"my key is {SECRET}, when do we deploy Kestrel?"))
    events.answer(event("Stop"))
    assert SECRET.encode() not in everything_on_disk(memory)


def test_what_a_session_left_itself_is_not_given_to_it(memory: Memory, events: ClientEvents) -> None:
    noted = "- 11:00 The Heron import takes an hour. <!-- by: agent; agent: claude-code; session: s1 -->\n"
    day = memory.workspace.daily(date.today())
    day.write_text(day.read_text() + noted)
    memory.sync()
    assert asked(events, "How long does the Heron import take?") == ""
    assert "an hour" in asked(events, "How long does the Heron import take?", session_id="s2")


# --- sessions -------------------------------------------------------------------------------------------


def transcript(path: Path, turns: int = 3) -> Path:
    """A transcript as Claude Code writes it."""
    lines = []
    for n in range(turns):
        for role, text in (
            ("user", f"Please look at part {n} of the Heron import."),
            ("assistant", f"I fixed part {n} of Heron."),
        ):
            message = {"role": role, "content": [{"type": "text", "text": text}]}
            at = f"{date.today()}T09:{n:02}:00.000Z"
            lines.append(
                {"type": role, "message": message, "uuid": f"{role}{n}", "sessionId": "s1", "timestamp": at}
            )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_session_is_summed_up_from_the_clients_transcript_when_it_ends(
    memory: Memory, events: ClientEvents, tmp_path: Path
) -> None:
    path = str(transcript(tmp_path / "s1.jsonl"))
    events.answer(event("Stop", transcript_path=path))
    assert "Heron" not in notes(memory)
    mark = Pending(memory.workspace).read("s1")
    assert mark is not None
    assert mark.source == path
    events.answer(event("SessionEnd", transcript_path=path, reason="other"))
    assert "Done – I fixed part 0 of Heron." in notes(memory)
    before = notes(memory)
    events.answer(event("SessionEnd", transcript_path=path, reason="other"))
    assert notes(memory) == before


def test_a_session_that_was_left_behind_is_summed_up_at_the_next_start(
    memory: Memory, events: ClientEvents, tmp_path: Path
) -> None:
    path = transcript(tmp_path / "s1.jsonl")
    events.answer(event("Stop", transcript_path=str(path)))
    os.utime(path, (1, 1))  # it rests
    events.answer(event("SessionStart", session_id="s2", source="startup"))
    assert "Heron" in notes(memory)


def test_a_session_is_not_summed_up_from_the_transcript_of_its_subagent(
    memory: Memory, events: ClientEvents, tmp_path: Path
) -> None:
    for name in ("own", "subagent"):
        (tmp_path / f"{name}.jsonl").touch()
    events.answer(event("Stop", transcript_path=str(tmp_path / "own.jsonl")))
    for name in ("PreCompact", "Stop", "SessionEnd", "SubagentStop"):
        events.answer(event(name, transcript_path=str(tmp_path / "subagent.jsonl"), agent_id="a1"))
    mark = Pending(memory.workspace).read("s1")
    assert mark is not None
    assert (mark.source, mark.over) == (str(tmp_path / "own.jsonl"), False)
    assert Pending(memory.workspace).read("a1") is None


def test_only_a_file_of_this_user_is_a_transcript(tmp_path: Path) -> None:
    path = transcript(tmp_path / "s1.jsonl")
    (tmp_path / "link.jsonl").symlink_to(path)
    os.mkfifo(tmp_path / "fifo.jsonl")
    assert is_transcript(str(path))
    for wrong in ("link.jsonl", "fifo.jsonl", "none.jsonl", "s1.txt", "a\0.jsonl"):
        assert not is_transcript(str(tmp_path / wrong))
    assert not is_transcript("s1.jsonl")


def test_summaries_can_be_switched_off(memory: Memory, tmp_path: Path) -> None:
    (memory.workspace.root.parent / "home").mkdir(exist_ok=True)
    with Memory.open(memory.workspace.root, overrides={"summary.enabled": False}) as quiet:
        path = str(transcript(tmp_path / "s1.jsonl"))
        ClientEvents(quiet, "claude-code").answer(event("SessionEnd", transcript_path=path, reason="other"))
    assert "Heron" not in notes(memory)


# --- whatever comes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"stdout": "a", "stderr": "b", "interrupted": False}, "a\nb"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ({"file": {"filePath": "x", "content": "c"}}, "c"),
        ("plain", "plain"),
        (None, ""),
        ({"ok": True}, ""),
        ({"ok": "yes"}, '{"ok": "yes"}'),
        (3, "3"),
    ],
)
def test_results_are_read_in_any_shape(response: object, text: str) -> None:
    assert result_text(response) == text


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)


FIELDS = (
    "prompt", "tool_name", "tool_input", "tool_response", "error", "cwd", "transcript_path", "source", "duration_ms",
)  # fmt: skip
NAMES = (
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "Stop",
    "SessionEnd",
    "Other",
)


@given(name=st.sampled_from(NAMES), more=st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON)))
def test_no_event_raises(memory: Memory, name: str, more: dict[str, Any]) -> None:
    given_text(ClientEvents(memory, "x").answer(event(name, **more)))
