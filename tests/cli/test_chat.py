"""`chat`: what a person sees, what a pipe gets, and how it ends."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.model_server import Asked, Model, Say, call, last, model_serving
from tests.agent.talking import wait_for
from tests.cli.conftest import Program, Run, command, environment


@pytest.fixture
def model() -> Iterator[Model]:
    with model_serving() as running:
        yield running


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let recalls take their time on a busy machine."""
    monkeypatch.setenv("COMMONPLACE_LIMITS_WAIT_S", "60")


def at(model: Model) -> list[str]:
    return ["--base-url", model.url, "--model", "scripted"]


def test_one_message(process: Program, model: Model) -> None:
    model.script = [call("memory_search", query="tea"), Say("White tea.\x1b[2J")]
    done = process("chat", *at(model), "--once", "Which tea after lunch?")
    assert done.returncode == 0
    assert done.stdout == "White tea.\N{REPLACEMENT CHARACTER}[2J\n".encode()
    told = done.stderr.decode().splitlines()
    assert told[0].startswith("session ")
    assert told[1].startswith("recall: MEMORY.md#L5")
    assert told[2] == 'tool: memory_search {"query": "tea"}'
    assert "Which tea after lunch?" in last(model.chats[0])


def test_a_pipe_is_a_conversation(process: Program, model: Model, workspace: Path) -> None:
    lines = "第一句话\n\n/help\n/nothing\n/tmp is full\n/new\nsecond\n/quit\nthird\n"
    model.rule = lambda asked: Say(f"{len(asked['messages'])} messages")
    done = process("chat", *at(model), "--session", "first", input=lines.encode())
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"2 messages\n4 messages\n2 messages\n"
    told = done.stderr.decode()
    assert told.count("session ") == 2
    assert "/nothing is no command; /new begins" in told
    assert len(list((workspace / "sessions").glob("*.jsonl"))) == 2
    again = process("chat", *at(model), "--session", "first", "--once", "again")
    assert again.stdout == b"6 messages\n"


def test_a_failure_is_one_line_and_the_next_message_is_answered(process: Program, model: Model) -> None:
    model.script = [Say("", more={"status": 400})]
    done = process("chat", *at(model), input=b"first\nsecond\n")
    assert done.returncode == 0
    assert done.stdout == b"Noted.\n"
    errors = [line for line in done.stderr.decode().splitlines() if line.startswith("commonplace: ")]
    assert len(errors) == 1
    assert errors[0].startswith("commonplace: error: compatible: ")
    model.script = [Say("", more={"status": 401})]
    assert process("chat", *at(model), "--once", "again").returncode == 1


def test_which_model_is_asked(run: Run, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def error(*arguments: str, code: int = 1) -> str:
        done = run("chat", *arguments, "--once", "hello")
        assert done.exit_code == code
        return done.stderr

    assert "llm.provider: no language model is set, and a chat needs one" in error(code=4)
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
    process: Program, model: Model, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-test-" + "a1B2c3D4" * 4
    monkeypatch.setenv("COMMONPLACE_LLM_KEY", key)
    model.script = [Say("", more={"status": 401})]
    done = process("chat", *at(model), "--once", "hello")
    assert key.encode() not in done.stdout + done.stderr
    assert [
        path for path in workspace.rglob("*") if path.is_file() and key.encode() in path.read_bytes()
    ] == []


class Typist:
    """A chat on a terminal, what is typed there and what is seen."""

    def __init__(self, model: Model, workspace: Path) -> None:
        pty = pytest.importorskip("pty")
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            command("-w", workspace, "chat", *at(model), "--session", "s"),
            stdin=theirs, stdout=theirs, stderr=theirs, env=environment(TERM="dumb"), start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self._seen = b""

    def until(self, text: bytes) -> bytes:
        """Wait for a text, and return what came before it."""
        deadline = time.monotonic() + 30
        while text not in self._seen:
            ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, self._seen
            self._seen += os.read(self._ours, 4096)
        before, _, self._seen = self._seen.partition(text)
        return before

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def settle(self) -> None:
        """Wait until nothing is done any more but waiting for a key.

        Python's readline does not hear a signal that comes after its prompt and before it waits: a person is
        slower than that, or presses again.
        """
        clock = Path(f"/proc/{self.process.pid}/stat")
        before, since = None, time.monotonic()
        while time.monotonic() < since + 0.3:
            now = clock.read_text().rpartition(")")[2].split()[:13] if clock.exists() else None
            if now != before or (now and now[0] != "S"):
                before, since = now, time.monotonic()
            time.sleep(0.02)

    def type(self, text: bytes) -> None:
        os.write(self._ours, text)

    def end(self) -> None:
        self.until(b"> ")
        self.type(b"\x04")
        self.until(b"\n")
        assert self.process.wait(20) == 0

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def typist(model: Model, workspace: Path) -> Iterator[Typist]:
    if sys.platform == "win32":
        pytest.skip("POSIX terminals and signals")
    started = Typist(model, workspace)
    yield started
    started.close()


def test_ctrl_c_on_a_terminal_stops_the_answer_and_the_chat_goes_on(typist: Typist, model: Model) -> None:
    model.script = [Say("word " * 4000, more={"drip_s": 0.0005})]
    typist.until(b"> ")
    typist.type(b"Tell me a lot.\n")
    wait_for(lambda: bool(model.chats))
    typist.interrupt()
    typist.until(b"stopped")
    typist.until(b"> ")
    typist.type(b"Go on.\n")
    typist.until(b"Noted.")
    typist.end()
    assert last(model.chats[-1]).endswith("Tell me a lot.\n\nGo on.")


# --- what is done for good ------------------------------------------------------------------------------


def confirm(asked: Asked) -> Say:
    """Call again with the code that the last preview gave, as a model does that asks nobody."""
    code = last(asked, "tool").rpartition("confirm: ")[2].split()[0]
    return call("memory_forget", what="rain", confirm=code)


def test_only_the_person_at_the_terminal_can_have_something_forgotten(
    typist: Typist, model: Model, workspace: Path
) -> None:
    note = workspace / "memory" / "2026-02-14.md"
    for typed in (b"n\n", b"\n", b"\x04", b"y\n"):
        model.script = [call("memory_forget", what="rain"), confirm, Say("As you wish.")]
        typist.until(b"> ")
        typist.type(b"Tidy up the weather.\n")
        shown = typist.until(b"for good? [y/N] ")
        assert b"memory/2026-02-14.md#L3: Nothing but rain." in shown.replace(b"- ", b"")
        assert "rain" in note.read_text()
        typist.type(typed)
        typist.until(b"As you wish.")
        gone = typed == b"y\n"
        assert ("rain" not in note.read_text()) is gone, typed
        assert ("the user said no" in last(model.chats[-1], "tool")) is not gone, typed
    typist.end()


def test_ctrl_c_at_the_question_is_a_no(typist: Typist, model: Model, workspace: Path) -> None:
    model.script = [call("memory_forget", what="rain"), confirm]
    typist.until(b"> ")
    typist.type(b"Tidy up the weather.\n")
    typist.until(b"for good? [y/N] ")
    typist.settle()
    typist.interrupt()
    typist.until(b"stopped")
    typist.end()
    assert "rain" in (workspace / "memory" / "2026-02-14.md").read_text()


def test_through_a_pipe_nothing_is_forgotten(process: Program, model: Model, workspace: Path) -> None:
    model.script = [call("memory_forget", what="rain"), Say("I could not.")]
    done = process("chat", *at(model), input=b"Tidy up.\ny\nyes\n")
    assert done.returncode == 0, done.stderr
    assert "the owner has to approve" in last(model.chats[1], "tool")
    assert "rain" in (workspace / "memory" / "2026-02-14.md").read_text()
