"""Receipts by the doors: events of a client in, `commonplace why` and `usage` out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.agent import receipts
from commonplace.agent.client_events import ClientEvents
from commonplace.types.changes import Selection
from tests.cli.conftest import Run, run, workspace  # noqa: F401

SECRET = "ghp_" + "a1B2" * 9
FERRY = "When does the ferry to Oslo leave?"


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with Memory.open(folder, overrides={"embedding.provider": "none"}) as opened:
        yield opened


@pytest.fixture
def events(memory: Memory) -> ClientEvents:
    return ClientEvents(memory, "claude-code")


def event(name: str, session: str = "s1", **more: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "session_id": session, **more}


def why(memory: Memory, which: str = "LAST") -> list[receipts.Receipt]:
    return receipts.listed(memory, which)


def test_a_message_has_a_receipt_with_its_passages_and_why(memory: Memory, events: ClientEvents) -> None:
    assert events.answer(event("UserPromptSubmit", prompt=f"{FERRY} My key is {SECRET}."))
    (one,) = why(memory)
    assert (one.agent, one.session, one.prefix) == ("claude-code", "s1", "kept")
    assert one.question.startswith(FERRY)
    (passage,) = one.passages
    assert passage.citation == "memory/2026-02-13.md#L3"
    assert passage.used == ""
    assert 0 < passage.tokens <= one.tokens
    assert sum(factor["value"] for factor in passage.factors) == pytest.approx(passage.score)
    data = b"".join(path.read_bytes() for path in memory.workspace.usage.parent.glob("usage*"))
    assert SECRET.encode() not in data
    assert b"east pier" not in data  # no text of a note


def test_a_message_that_memory_does_not_answer_has_none(memory: Memory, events: ClientEvents) -> None:
    for prompt in ("thanks!", "Which colour has the third moon of Jupiter?"):
        assert events.answer(event("UserPromptSubmit", prompt=prompt)) == ""
    assert why(memory) == []
    events.answer(event("UserPromptSubmit", prompt=FERRY))
    events.answer(event("UserPromptSubmit", prompt=FERRY))  # given already
    assert len(why(memory, "10")) == 1


def test_a_start_begins_a_prefix_and_has_no_question(memory: Memory, events: ClientEvents) -> None:
    events.answer(event("SessionStart", source="startup"))
    (one,) = why(memory)
    assert (one.prefix, one.question) == ("new", "")
    assert all(passage.factors == () for passage in one.passages)


@pytest.mark.parametrize(
    ("follows", "used"),
    [
        (event("Stop", last_assistant_message="It leaves at 17:45, from the east pier."), "reply"),
        (event("PostToolUse", tool_name="Bash", tool_input={"command": "open 'east pier' 17:45"}), "tool"),
        (event("Stop", last_assistant_message="The ferry to Oslo? I do not know when it leaves."), ""),
        (event("Stop", "s2", last_assistant_message="At 17:45 from the east pier."), ""),
        (event("PostToolUse", tool_name="memory_search", tool_input={"query": "17:45 east pier"}), ""),
    ],
)
def test_what_the_model_says_or_does_with_a_passage_marks_it_as_used(
    memory: Memory, events: ClientEvents, follows: dict[str, Any], used: str
) -> None:
    events.answer(event("UserPromptSubmit", prompt=FERRY))
    events.answer(follows)
    ((passage,),) = [one.passages for one in why(memory)]
    assert passage.used == used
    summary = memory.usage()
    assert (summary.given, summary.used) == (1, int(bool(used)))


def test_a_reply_is_read_from_the_transcript_of_the_client(
    memory: Memory, events: ClientEvents, tmp_path: Path
) -> None:
    said = [
        ("user", FERRY),
        ("assistant", "At 17:45, from the east pier."),
        ("user", "Thanks."),
        ("assistant", "Bye."),
    ]
    path = tmp_path / "s1.jsonl"
    for most, used in ((4, ""), (2, "reply")):
        path.write_text(
            "".join(json.dumps({"role": role, "content": text}) + "\n" for role, text in said[:most])
        )
        events.answer(event("UserPromptSubmit", prompt=FERRY))
        events.answer(event("Stop", transcript_path=str(path)))
        ((passage,),) = [one.passages for one in why(memory)]
        assert passage.used == used


def test_words_of_chinese_passages_are_pairs(memory: Memory, events: ClientEvents) -> None:
    (memory.workspace.memory_dir / "2026-01-05.md").write_text(
        "# 2026-01-05\n\n- 豆豆九月起上青禾小学，一年级二班。\n"
    )
    events.answer(event("UserPromptSubmit", prompt="豆豆上哪所小学？"))
    events.answer(event("Stop", last_assistant_message="她在青禾，一年级二班。"))
    assert [passage.used for passage in why(memory)[0].passages] == ["reply"]


def test_what_is_forgotten_has_no_receipt(memory: Memory, events: ClientEvents) -> None:
    events.answer(event("UserPromptSubmit", prompt=FERRY))
    events.answer(event("UserPromptSubmit", "s2", prompt=FERRY))
    assert [one.session for one in why(memory, "s2")] == ["s2"]
    memory.forget(Selection("note", "memory/2026-02-13.md"))
    assert why(memory, "9") == []


def test_without_a_record_there_is_none(folder: Path) -> None:
    overrides = {"embedding.provider": "none", "usage.record": False}
    with Memory.open(folder, overrides=overrides) as memory:
        assert ClientEvents(memory).answer(event("UserPromptSubmit", prompt=FERRY))
        assert why(memory) == []


def test_why_and_usage_show_it_at_a_terminal(workspace: Path, run: Run) -> None:  # noqa: F811
    with Memory.open(workspace) as memory:
        events = ClientEvents(memory, "claude-code")
        events.answer(event("UserPromptSubmit", prompt="When is the deploy?"))
        events.answer(event("Stop", last_assistant_message="On Thursday; it was moved. Lin signs it off."))
    shown = run("why")
    assert "claude-code · s1" in shown.stdout
    assert "memory/2026-02-13.md#L5" in shown.stdout
    assert "used in a reply" in shown.stdout
    data = json.loads(run("why", "s1", "--format", "json").stdout)
    assert [one["question"] for one in data] == ["When is the deploy?"]
    assert data[0]["passages"][0]["factors"]
    assert run("why", "unknown").exit_code == 3
    assert run("why", "0").exit_code == 1
    assert "1 of 1 (100%) of the blocks that prompts were given" in run("usage").stdout
