"""What goes wrong around a conversation: hooks, index, queue, the process itself. It goes on, nothing is lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import apsw
import pytest

from commonplace.agent.worker import IndexWorker
from commonplace.base.errors import IndexUnavailable
from commonplace.base.paths import Workspace
from commonplace.memory import Memory
from commonplace.transcripts.session import Transcript
from commonplace.types import Entry
from tests.agent.model_server import Model, Say, call, last
from tests.agent.talking import TEA, Begin, note, wait_for
from tests.agent.test_conversation import TOOLS, recalled
from tests.cli.conftest import command, environment

# --- hooks ----------------------------------------------------------------------------------------------


class Raising:
    """Fails at everything."""

    def __getattr__(self, name: str) -> object:
        if not name.startswith("on_"):
            raise AttributeError(name)

        def fail(event: object) -> None:
            raise RuntimeError("out of order")

        return fail


class Hanging:
    """Never comes back from a message."""

    deadline_s = 0.05

    def __init__(self) -> None:
        self.released = threading.Event()

    def on_message_received(self, event: object) -> None:
        self.released.wait(30)


class Flooding:
    """Hands over a thousand entries at every message."""

    deadline_s = 60.0

    def __init__(self, worker: IndexWorker) -> None:
        self.worker, self.messages = worker, 0

    def on_message_received(self, event: object) -> None:
        self.messages += 1  # so that no two entries are the same, which is written once
        for number in range(1000):
            self.worker.submit(Entry(f"flood {number} of {self.messages}", datetime.now(), "Flood"))


def test_hooks_that_raise_hang_and_flood_hold_nothing_up(begin: Begin, model: Model, root: Path) -> None:
    hanging = Hanging()
    loop = begin(hooks=[Raising(), hanging], tools=TOOLS)
    loop._hooks.add(Flooding(loop._worker))
    model.rule = lambda asked: (
        call("exec", command="make") if asked["messages"][-1]["role"] == "user" else Say("Ok.")
    )
    for number in range(6):
        assert loop.respond(f"Message {number} about tea.").text == "Ok."
    hanging.released.set()
    wait_for(lambda: "Ran make" in note(root))
    assert TEA in recalled(model.chats[0])
    assert len(Transcript.open(Workspace(root), "s").load()) == 6 * 4
    loop.close()
    assert (note(root).count("flood "), loop._worker.state.lost) == (6000, 0)


def test_a_full_queue_spools_to_disk_and_the_next_start_writes_it(
    begin: Begin, model: Model, root: Path
) -> None:
    loop = begin(tools=TOOLS)
    lock = Workspace(root).locks / "notes.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    from commonplace.base.locks import locked

    with locked(lock):  # nobody can write notes meanwhile
        for number in range(2000):
            loop._worker.submit(Entry(f"entry {number} of many", datetime.now()))
        model.script = [call("exec", command="make all"), Say("Done.")]
        assert loop.respond("Run it all.").text == "Done."
        assert not loop._worker.stop(1.0)
    assert "entry 1999 of many" not in note(root)
    loop.close()
    again = begin("next")
    wait_for(lambda: note(root).count(" of many") == 2000 and "Ran make all" in note(root))
    again.close()
    assert note(root).count("entry 7 of many") == 1


# --- the index ------------------------------------------------------------------------------------------


def test_a_locked_index_leaves_the_answer(begin: Begin, model: Model, root: Path) -> None:
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        memory.sync()
    holder = apsw.Connection(str(Workspace(root).index))
    holder.execute("BEGIN EXCLUSIVE")
    try:
        loop = begin(settings={"limits.wait_s": 0.5})
        model.script = [call("memory_search", query="which tea"), Say("White tea.")]
        assert loop.respond("Which tea after lunch?").text == "White tea."
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert loop.respond("And which tea tomorrow?").text == "Noted."
    assert TEA in recalled(model.chats[-1])


@pytest.mark.parametrize("damage", ["missing", "garbage"])
def test_a_missing_or_broken_index_is_made_again(begin: Begin, model: Model, root: Path, damage: str) -> None:
    loop = begin()
    loop.respond("Hello.")
    loop.memory.close()
    for file in Workspace(root).index.parent.glob("index.sqlite*"):
        if damage == "missing":
            file.unlink()
        else:
            file.write_bytes(b"no database" * 1000)
    (root / "MEMORY.md").write_text(f"# Memory\n\n- {TEA}\n- Lin has the blue folder.\n", "utf-8")
    loop.respond("Who has the blue folder?")
    assert "Lin has the blue folder." in recalled(model.chats[-1])


def persistently(work: Callable[[], object]) -> None:
    """Do something as its caller would, who is told that another process is at it: again."""
    end = time.monotonic() + 120
    while True:
        try:
            work()
        except IndexUnavailable:
            assert time.monotonic() < end
        else:
            return


def test_an_index_that_is_rebuilt_meanwhile(begin: Begin, model: Model, root: Path) -> None:
    for number in range(200):
        path = root / "memory" / f"2025-01-{number % 28 + 1:02}-{number}.md"
        path.write_text(f"# Day\n\n- The walnut{number} crate stands in hall {number % 7}.\n" * 20, "utf-8")
    loop = begin()
    with (
        Memory.open(root, overrides={"embedding.provider": "fake"}) as rebuilding,
        ThreadPoolExecutor() as pool,
    ):
        done = pool.submit(lambda: [persistently(rebuilding.sync) for _ in range(2)])
        answered = 0
        while not done.done() or answered < 3:
            assert loop.respond(f"Where stands the walnut{answered} crate?").text == "Noted."
            answered += 1
        done.result()
    assert "stands in hall" in recalled(model.chats[-1])


# --- the process ----------------------------------------------------------------------------------------


@pytest.fixture
def chat(root: Path, model: Model) -> Iterator[subprocess.Popen[bytes]]:
    """A chat in a process of its own, which takes messages by a pipe."""
    process = subprocess.Popen(
        command("-w", root, "chat", "--base-url", model.url, "--model", "scripted", "--session", "killed"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(COMMONPLACE_EMBEDDING_PROVIDER="none"),
    )  # fmt: skip
    yield process
    process.kill()
    process.communicate()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="POSIX signals")
def test_killed_between_message_and_summary(
    chat: subprocess.Popen[bytes], begin: Begin, model: Model, root: Path
) -> None:
    asked = [f"We agreed that crate {number} goes to hall {number}." for number in range(4)]
    assert chat.stdin is not None
    for message in asked:
        chat.stdin.write(f"{message}\n".encode())
        chat.stdin.flush()
    wait_for(lambda: len(model.chats) == 4 and len(said(root)) == 8)
    os.kill(chat.pid, signal.SIGKILL)
    chat.wait()
    assert "Session summaries" not in note(root)
    assert [text for role, text in said(root) if role == "user"] == asked  # nothing is lost

    loop = begin("another")
    wait_for(lambda: "Session summaries" in note(root))
    assert "crate 0 goes to hall 0" in note(root)
    assert "session: killed" in note(root)
    loop.close()
    begin("third").close()
    assert note(root).count("Asked") == 1  # once

    gone_on = begin("killed")
    assert [turn.text for turn in gone_on.history if turn.role == "user"] == asked
    gone_on.respond("Where does crate 2 go?")
    assert "crate 2" in last(model.chats[-1])


def said(root: Path) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in Transcript.open(Workspace(root), "killed").load()]


# --- what it works on is deleted ------------------------------------------------------------------------


def place_of(root: Path, gone: str) -> Path:
    return Workspace(root).state if gone == "state" else root / gone


@pytest.mark.parametrize("gone", ["state", "memory", "sessions"])
def test_a_folder_that_is_deleted_under_a_conversation(
    begin: Begin, model: Model, root: Path, gone: str, caplog: pytest.LogCaptureFixture
) -> None:
    loop = begin()
    assert loop.respond("We agreed that crate 1 goes to hall 1.").text == "Noted."
    shutil.rmtree(place_of(root, gone))
    told = [loop.respond(f"We agreed that crate {number} goes to hall {number}.") for number in (2, 3)]
    assert [response.text for response in told] == ["Noted.", "Noted."]
    (root / "memory").mkdir(exist_ok=True)
    (root / "memory" / "lin.md").write_text("# Lin\n\n- Lin has the blue folder.\n")
    assert loop.memory.search("Who has the blue folder?").hits
    loop.close()
    kept = [turn.text for turn in Transcript.open(Workspace(root), "s").load()]
    after = [f"We agreed that crate {number} goes to hall {number}." for number in (2, 3)]
    assert set(after) <= set(kept)
    assert not [record for record in caplog.records if record.exc_info]


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("state", "memory")]


@pytest.mark.parametrize("gone", [*SLOW, "sessions"])
def test_a_folder_that_is_deleted_under_a_chat(
    chat: subprocess.Popen[bytes], model: Model, root: Path, gone: str
) -> None:
    assert chat.stdin is not None
    for number in range(4):
        chat.stdin.write(f"We agreed that crate {number} goes to hall {number}.\n".encode())
        chat.stdin.flush()
        wait_for(lambda number=number: len(model.chats) > number)  # type: ignore[misc]
        if number == 1:
            shutil.rmtree(place_of(root, gone), ignore_errors=True)
    out, err = chat.communicate(timeout=60)
    assert (chat.returncode, b"Traceback" in err) == (0, False), err
    assert out.count(b"Noted.") == 4
    kept = " ".join(turn.text for turn in Transcript.open(Workspace(root), "killed").load())
    lost = [number for number in range(2, 4) if f"crate {number} " not in kept]
    assert not lost, err
