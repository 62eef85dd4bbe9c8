"""Entries on their way into notes: nothing is lost, whatever is locked, full or killed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.agent.worker import IndexWorker
from commonplace.base import paths
from commonplace.base.errors import IndexUnavailable
from commonplace.base.locks import locked
from commonplace.storage import state
from commonplace.storage.queue import Queue
from commonplace.transcripts.session import Transcript
from commonplace.types import Entry, Provenance, Turn
from tests.copies import files_of

SOURCE = Path(__file__).parents[2] / "src"
AT = datetime(2026, 2, 13, 9, 30)
SECRET = "ghp_" + "a1B2" * 9
Make = Callable[..., IndexWorker]


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    (tmp_path / "notes" / "memory").mkdir(parents=True)
    with Memory.open(tmp_path / "notes") as opened:
        yield opened


@pytest.fixture
def worker(memory: Memory) -> Iterator[Make]:
    made: list[IndexWorker] = []

    def make(**named: object) -> IndexWorker:
        made.append(IndexWorker(memory, **named))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.stop(30)


def entry(text: str) -> Entry:
    return Entry(text, AT)


def note(memory: Memory) -> str:
    path = memory.workspace.daily(AT.date())
    return path.read_text("utf-8") if path.exists() else ""


def until(condition: Callable[[], object]) -> None:
    """Wait until something holds; fail where it never does."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


def test_what_is_submitted_is_written_indexed_and_found(memory: Memory, worker: Make) -> None:
    one = worker()
    for number in range(250):
        one.submit(entry(f"observation {number} of the walrus"))
    one.submit(Entry("by the tool", AT, "Work", Provenance("tool", "nanobot", "s1")))
    assert one.stop(60)
    lines = note(memory).splitlines()
    assert [line for line in lines if "walrus" in line] == [
        f"- 09:30 observation {number} of the walrus" for number in range(250)
    ]
    assert "## Work" in lines
    assert one.state.written == 251
    assert (one.state.queued, one.state.lost, one.state.trouble) == (0, 0, "")
    assert memory.status().stale == 0
    assert memory.status().notes == 1
    assert memory.search("observation 249 of the walrus").hits


def test_it_writes_without_being_told_to_stop(memory: Memory, worker: Make) -> None:
    one = worker()
    one.submit(entry("soon there"))
    until(lambda: "soon there" in note(memory))
    until(lambda: memory.workspace.index.exists() and memory.status().notes == 1)


def test_nothing_secret_comes_to_disk(memory: Memory, worker: Make) -> None:
    one = worker()
    one.submit(entry(f"token {SECRET} <private>diagnosis</private> and the rest"))
    assert one.stop(60)
    data = b"".join(path.read_bytes() for path in files_of(memory.workspace.root))
    assert b"and the rest" in data
    assert SECRET.encode() not in data
    assert b"diagnosis" not in data


def test_vectors_are_made_as_well(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    with Memory.open(tmp_path, overrides={"embedding.provider": "fake"}) as memory:
        one = IndexWorker(memory, sync_after_s=0.0)
        one.submit(entry("the walrus"))
        until(lambda: memory.workspace.index.exists() and memory.status().vectors == 1)
        assert one.stop(60)
        assert memory.status().pending == 0


def test_a_nudge_brings_the_index_up_to_the_files(memory: Memory, worker: Make) -> None:
    one = worker()
    until(memory.workspace.index.exists)
    memory.workspace.daily(AT.date()).write_text("# Day\n\n- Written by hand.\n")
    one.nudge()
    until(lambda: memory.status().notes == 1)


def test_it_takes_up_what_the_spool_holds(memory: Memory, worker: Make) -> None:
    Queue(memory.workspace).append(entry("from a process that is gone"))
    worker()
    until(lambda: "from a process that is gone" in note(memory))


def test_a_locked_note_holds_up_nobody_and_loses_nothing(memory: Memory, worker: Make) -> None:
    one = worker(capacity=10)
    with locked(paths.lock_file(memory.workspace, "notes")):
        for number in range(50):
            one.submit(entry(f"entry {number}"))
        until(lambda: Queue(memory.workspace).waiting().entries == 50)
        assert not one.stop(0.1)  # in the time there was, nothing could be written
        assert note(memory) == ""
    assert one.stop(60)
    until(lambda: note(memory).count("- 09:30 entry") == 50)
    assert one.state.lost == 0


def test_an_index_that_is_locked_or_cannot_be_had_holds_up_no_note(
    memory: Memory, worker: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unavailable(**named: object) -> None:
        raise IndexUnavailable("index.sqlite", "locked by another process")

    with monkeypatch.context() as patched:
        patched.setattr(memory, "sync", unavailable)
        one = worker()
        until(lambda: one.state.trouble)
        for number in range(3):
            one.submit(entry(f"entry {number}"))
        until(lambda: one.state.written == 3)
        assert "locked by another process" in one.state.trouble
    assert [r.getMessage() for r in caplog.records if "locked by" in r.getMessage()].__len__() == 1
    assert one.stop(60)  # and it tries again before it ends
    assert memory.status().notes == 1


def test_a_sync_of_another_process_is_waited_for_by_nobody_else(memory: Memory, worker: Make) -> None:
    with locked(paths.lock_file(memory.workspace, "sync")):
        one = worker()
        one.submit(entry("written meanwhile"))
        until(lambda: "written meanwhile" in note(memory))
    until(lambda: memory.status().notes == 1)


def test_a_transcript_that_grows_is_not_read_again_with_every_entry(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_SESSIONS_INDEX", "true")
    with Memory.open(memory.workspace.root) as opened:
        transcript = Transcript.open(opened.workspace, "s1")
        transcript.append(Turn("user", "Where does the walrus sleep?"))
        opened.sync()
        transcript.append(Turn("assistant", "Upon the pontoon."))
        with IndexWorker(opened) as one:
            one.submit(entry("a new observation"))
        assert opened.search("a new observation").hits
        assert not opened.search("pontoon").hits
        opened.sync()
        assert opened.search("pontoon").hits


@pytest.mark.parametrize("state", ["missing", "damaged", "of another time"])
def test_an_index_that_must_be_made_anew(memory: Memory, worker: Make, state: str) -> None:
    memory.remember("An old entry.", now=AT)
    memory.sync()
    memory.close()
    if state == "missing":
        memory.workspace.index.unlink()
    elif state == "damaged":
        memory.workspace.index.write_bytes(b"no database" * 900)
    else:
        overrides = Memory.open(memory.workspace.root, overrides={"index.include": ["memory/*.md"]})
        overrides.sync()
        overrides.close()
    one = worker()
    one.submit(entry("A new entry."))
    assert one.stop(60)
    assert memory.status().stale == 0
    assert memory.search("A new entry").hits


def test_a_queue_that_cannot_be_written_keeps_entries_in_memory_up_to_a_bound(
    memory: Memory, worker: Make, caplog: pytest.LogCaptureFixture
) -> None:
    paths.prepare_state(memory.workspace)
    state.path(memory.workspace).mkdir()
    one = worker(capacity=5)
    one.submit(entry("entry 0"))
    until(lambda: one.state.trouble)
    for number in range(1, 9):
        one.submit(entry(f"entry {number}"))
    assert one.state.lost == 4
    assert one.state.queued == 5
    state.path(memory.workspace).rmdir()
    assert not one.stop(60)  # all of it is written but for what was lost
    assert [line[8:] for line in note(memory).splitlines() if line.startswith("-")] == [
        f"entry {number}" for number in range(5)
    ]
    assert "4 entries were lost" in caplog.text
    assert one.state.trouble == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(memory: Memory, worker: Make) -> None:
    folder = memory.workspace.memory_dir
    mode = stat.S_IMODE(folder.stat().st_mode)
    folder.chmod(0o500)
    try:
        one = worker()
        one.submit(entry("held"))
        until(lambda: "permission denied" in one.state.trouble)
        assert not one.stop(5)
        assert Queue(memory.workspace).waiting().entries == 1
    finally:
        folder.chmod(mode)
    assert worker().stop(60)
    assert "held" in note(memory)


def test_a_worker_that_was_stopped_starts_again(memory: Memory, worker: Make) -> None:
    one = worker()
    assert one.stop(60)
    assert one.stop(60)
    one.submit(entry("afterwards"))
    assert one.stop(60)
    assert "afterwards" in note(memory)


def test_it_stops_at_the_end_of_a_block(memory: Memory) -> None:
    before = set(threading.enumerate())  # models of other tests wait to be forgotten
    with IndexWorker(memory) as one:
        one.submit(entry("inside"))
    assert "inside" in note(memory)
    assert not [t for t in set(threading.enumerate()) - before if t.name.startswith("commonplace")]


def test_two_workers_on_one_workspace_write_each_entry_once(memory: Memory, worker: Make) -> None:
    first, second = worker(), worker()
    for number in range(100):
        (first, second)[number % 2].submit(entry(f"<{number}>"))
    assert first.stop(60)
    assert second.stop(60)
    assert sorted(line[8:] for line in note(memory).splitlines() if line.startswith("-")) == sorted(
        f"<{number}>" for number in range(100)
    )


# --- the end of a process ---------------------------------------------------------------------------

HOST = """
import os, signal, sys, time
from datetime import datetime
from pathlib import Path
from commonplace import Memory
from commonplace.agent.worker import IndexWorker
from commonplace.types import Entry

memory = Memory.open(Path(sys.argv[1]), overrides={"embedding.provider": "none"})
worker = IndexWorker(memory)
def submit(count):
    for number in range(count):
        worker.submit(Entry(f"entry {number}", datetime(2026, 2, 13, 9, 30)))
"""


def _host(memory: Memory, program: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", HOST + program, str(memory.workspace.root)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _kept(memory: Memory) -> set[str]:
    """What stands in the note, once what the spool holds is written there as well."""
    Queue(memory.workspace).drain(memory.capture)
    lines = [line[8:] for line in note(memory).splitlines() if line.startswith("-")]
    assert len(lines) == len(set(lines))
    return set(lines)


def _all(count: int) -> set[str]:
    return {f"entry {number}" for number in range(count)}


@pytest.mark.parametrize(
    "ending", ["", pytest.param("sys.exit(3)", marks=pytest.mark.slow), "raise ValueError('as a host may')"]
)
def test_a_program_that_ends_without_stop_loses_nothing(memory: Memory, ending: str) -> None:
    host = _host(memory, f"submit(500)\n{ending}\n")
    _, err = host.communicate(timeout=120)
    assert host.returncode in (0, 3, 1)
    assert err == "" or "as a host may" in err
    assert _kept(memory) == _all(500)


def test_a_program_that_ends_itself_on_a_signal_loses_nothing(memory: Memory) -> None:
    program = """
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
submit(500)
print("ready", flush=True)
time.sleep(60)
"""
    host = _host(memory, program)
    assert host.stdout is not None
    host.stdout.readline()
    host.send_signal(signal.SIGTERM)
    host.communicate(timeout=120)
    assert host.returncode == 0
    assert _kept(memory) == _all(500)


@pytest.mark.parametrize("deadly", [pytest.param("SIGTERM", marks=pytest.mark.slow), "SIGKILL"])
def test_a_program_that_is_killed_loses_nothing_that_was_submitted(memory: Memory, deadly: str) -> None:
    program = """
submit(500)
os.kill(os.getpid(), getattr(signal, sys.argv[2]))
time.sleep(60)
"""
    host = subprocess.Popen(
        [sys.executable, "-c", HOST + program, str(memory.workspace.root), deadly],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    host.communicate(timeout=120)
    assert host.returncode == -getattr(signal, deadly)
    assert _kept(memory) == _all(500)


def test_a_child_after_a_fork_only_fills_the_spool(memory: Memory) -> None:
    program = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
submit(20)
child = os.fork()
if not child:
    worker.submit(Entry("of the child", datetime(2026, 2, 13, 9, 30)))
    sys.exit(0)
os.waitpid(child, 0)
print(worker.stop(60))
"""
    out, err = _host(memory, program).communicate(timeout=120)
    assert (out, err) == ("True\n", "")
    assert _kept(memory) == _all(20) | {"of the child"}
