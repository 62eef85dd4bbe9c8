"""`chat`: what a person sees, what a pipe gets, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..agent.model_server import Model, Say, call, last, model_serving
from .conftest import Program, Run, command, environment


@pytest.fixture
def model() -> Iterator[Model]:
    with model_serving() as running:
        yield running


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let recalls take their time on a busy machine."""
    monkeypatch.setenv("COMMONPLACE_CHAT_RECALL_WAIT_S", "60")


def at(model: Model) -> list[str]:
    return ["--base-url", model.url, "--model", "scripted"]


def test_one_message(program: Program, model: Model) -> None:
    model.script = [call("memory_search", query="tea"), Say("White tea.\x1b[2J")]
    done = program("chat", *at(model), "--once", "Which tea after lunch?")
    assert done.returncode == 0
    assert done.stdout == "White tea.\N{REPLACEMENT CHARACTER}[2J\n".encode()
    told = done.stderr.decode().splitlines()
    assert told[0].startswith("session ")
    assert told[1].startswith("recall: MEMORY.md#L5")
    assert told[2] == 'tool: memory_search {"query": "tea"}'
    assert "Which tea after lunch?" in last(model.chats[0])


def test_a_pipe_is_a_conversation(program: Program, model: Model, workspace: Path) -> None:
    lines = "第一句话\n\n/help\n/nothing\n/tmp is full\n/new\nsecond\n/quit\nthird\n"
    model.rule = lambda asked: Say(f"{len(asked['messages'])} messages")
    done = program("chat", *at(model), "--session", "first", input=lines.encode())
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"2 messages\n4 messages\n2 messages\n"
    told = done.stderr.decode()
    assert told.count("session ") == 2
    assert "/nothing is no command; /new begins" in told
    assert len(list((workspace / "sessions").glob("*.jsonl"))) == 2
    again = program("chat", *at(model), "--session", "first", "--once", "again")
    assert again.stdout == b"6 messages\n"


def test_a_failure_is_one_line_and_the_next_message_is_answered(program: Program, model: Model) -> None:
    model.script = [Say("", more={"status": 400})]
    done = program("chat", *at(model), input=b"first\nsecond\n")
    assert done.returncode == 0
    assert done.stdout == b"Noted.\n"
    errors = [line for line in done.stderr.decode().splitlines() if line.startswith("commonplace: ")]
    assert len(errors) == 1
    assert errors[0].startswith("commonplace: error: compatible: ")
    model.script = [Say("", more={"status": 401})]
    assert program("chat", *at(model), "--once", "again").returncode == 1


def test_which_model_is_asked(run: Run, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def error(*arguments: str) -> str:
        done = run("chat", *arguments, "--once", "hello")
        assert done.exit_code == 1
        return done.stderr

    assert "llm.provider: none is set; name one with --model and --base-url" in error()
    assert "say --model PROVIDER/small or --base-url" in error("--model", "small")
    assert "no key: set OPENAI_API_KEY" in error("--model", "openai/small")
    assert "llm.model: compatible needs one" in error("--base-url", model.url)
    assert "session: '../x' is no id" in error(*at(model), "--session", "../x")
    done = run("chat", "--base-url", model.url, "--model", "openai/some-oss", "--once", "hello")
    assert done.exit_code == 0
    assert model.chats[0]["model"] == "openai/some-oss"
    monkeypatch.setenv("COMMONPLACE_LLM_PROVIDER", "compatible")
    monkeypatch.setenv("COMMONPLACE_LLM_BASE_URL", model.url)
    monkeypatch.setenv("COMMONPLACE_LLM_MODEL", "set")
    run("chat", "--once", "hello")
    run("chat", "--model", "other", "--once", "hello")
    assert [asked["model"] for asked in model.chats[1:]] == ["set", "other"]


def test_what_is_written_says_which_agent_wrote_it(
    run: Run, model: Model, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(*arguments: str) -> str:
        model.script = [call("memory_write", text=f"Crate {len(model.chats)} is full."), Say("Noted.")]
        assert run("chat", *at(model), "--once", "Write it down.", *arguments).exit_code == 0
        (note,) = (path for path in (workspace / "memory").glob("*.md") if "is full" in path.read_text())
        return next(line for line in reversed(note.read_text().splitlines()) if "is full" in line)

    monkeypatch.setenv("COMMONPLACE_AGENT", "porter")
    assert "agent: porter" in written()
    assert "agent: clerk" in written("--agent", "clerk")


def test_no_key_is_shown_or_written(
    program: Program, model: Model, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-test-" + "a1B2c3D4" * 4
    monkeypatch.setenv("COMMONPLACE_LLM_KEY", key)
    model.script = [Say("", more={"status": 401})]
    done = program("chat", *at(model), "--once", "hello")
    assert key.encode() not in done.stdout + done.stderr
    assert [
        path for path in workspace.rglob("*") if path.is_file() and key.encode() in path.read_bytes()
    ] == []


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX terminals and signals")
def test_ctrl_c_on_a_terminal_stops_the_answer_and_the_chat_goes_on(model: Model, workspace: Path) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    model.script = [Say("word " * 4000, more={"drip_s": 0.0005})]
    process = subprocess.Popen(
        command("-w", workspace, "chat", *at(model), "--session", "s"),
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment(TERM="dumb"), start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    seen = b""

    def until(text: bytes) -> None:
        nonlocal seen
        deadline = time.monotonic() + 30
        while text not in seen:
            assert time.monotonic() < deadline, seen
            seen += os.read(ours, 4096)
        seen = seen.partition(text)[2]

    try:
        until(b"> ")
        os.write(ours, b"Tell me a lot.\n")
        until(b"word word")
        process.send_signal(signal.SIGINT)
        until(b"stopped")
        until(b"> ")
        os.write(ours, b"Go on.\n")
        until(b"Noted.")
        until(b"> ")
        os.write(ours, b"\x04")
        until(b"\n")
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    (answer,) = [m["content"] for m in model.chats[-1]["messages"] if m["role"] == "assistant"]
    assert answer.startswith("word word")
