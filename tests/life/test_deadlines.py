"""Answers of hooks: words at once while models load, what came too late with the next message, and counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.life.conftest import Owner, until


@pytest.fixture
def person(owner_with_model: Owner) -> Iterator[Owner]:
    """Somebody whose programs find the servers that they start; those end with the test."""
    with tempfile.TemporaryDirectory(prefix="run-") as folder:
        owner_with_model.environment["XDG_RUNTIME_DIR"] = folder
        yield owner_with_model
        owner_with_model.run("serve", "stop")


def late(person: Owner) -> int:
    return int(person.run("usage", "--format", "json").json["late"])


NOTES = {
    "memory/2026-02-10.md": "# 2026-02-10\n\n- Kestrel is deployed on Thursdays by Mira.\n",
    "memory/2026-02-11.md": "# 2026-02-11\n\n- The boiler needs new water every March.\n",
    "memory/2026-02-12.md": "# 2026-02-12\n\n- 备用钥匙放在邻居家的蓝色抽屉里。\n",
}


def begin(person: Owner) -> None:
    for path, text in NOTES.items():
        person.note(path, text)
    person.ok("sync")


@pytest.mark.parametrize("deadline", ["1", "2", "3", "5"])
@pytest.mark.parametrize("event", [
    {"hook_event_name": "UserPromptSubmit", "prompt": "When is Kestrel deployed?"},
    {"hook_event_name": "SessionStart", "source": "startup"},
])  # fmt: skip
def test_an_answer_that_came_too_late_is_counted_and_warned_of(
    owner: Owner, event: dict[str, str], deadline: str
) -> None:
    begin(owner)
    owner.environment["COMMONPLACE_SERVER_START"] = "never"
    given = json.dumps({"session_id": "s1", "cwd": str(owner.folder), **event})
    done = owner.run("hook", "--deadline", deadline, stdin=given)
    assert (done.code, done.out) == (0, "")
    until(lambda: late(owner) == 1)
    assert "too late" in owner.ok("usage")
    told = json.dumps(owner.run("doctor", "--offline", "--json").json)
    assert "of hooks came after their deadline" in told
    owner.ok("usage", "--clear", "--yes")
    assert late(owner) == 0


@pytest.mark.parametrize("event", [
    {"hook_event_name": "UserPromptSubmit", "prompt": "When is Kestrel deployed?"},
    {"hook_event_name": "SessionStart", "source": "startup"},
])  # fmt: skip
def test_what_came_too_late_comes_with_the_next_message(person: Owner, event: dict[str, str]) -> None:
    begin(person)
    person.note("MEMORY.md", "# Memory\n\n- Osprey has a blue hull.\n")
    told = "Thursdays" if "prompt" in event else "blue hull"
    given = json.dumps({"session_id": "s1", "cwd": str(person.folder), **event})
    done = person.run("--agent", "claude-code", "hook", "--deadline", "1", stdin=given)
    assert (done.code, done.out) == (0, "")
    until(lambda: told in person.hook("UserPromptSubmit", prompt="When does the boiler need water?"))


def test_a_prompt_right_behind_the_start_of_a_session_is_answered(person: Owner) -> None:
    begin(person)
    person.hook("SessionStart", source="startup")
    assert "Thursdays" in person.hook("UserPromptSubmit", prompt="When is Kestrel deployed?")
    until(lambda: person.run("serve", "status").code == 0)
    assert "March" in person.hook("UserPromptSubmit", prompt="When does the boiler need new water?")
    assert late(person) == 0


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "  "])
def test_a_client_that_leaves_its_end_of_the_pipe_open_is_answered(owner: Owner, end: str) -> None:
    begin(owner)
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "When is Kestrel deployed?"}
    with subprocess.Popen(
        [sys.executable, "-m", "commonplace", "hook", "--deadline", "60000"], cwd=owner.folder,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(event).encode() + end.encode())
        process.stdin.flush()
        assert b"Thursdays" in process.stdout.readline()


def test_an_answer_in_time_is_not_counted(owner: Owner) -> None:
    begin(owner)
    assert "Thursdays" in owner.hook("UserPromptSubmit", prompt="When is Kestrel deployed?")
    assert owner.hook("UserPromptSubmit", prompt="/clear") == ""
    assert owner.hook("UserPromptSubmit", prompt="thanks!") == ""
    assert late(owner) == 0
    assert "too late" not in owner.ok("usage")
