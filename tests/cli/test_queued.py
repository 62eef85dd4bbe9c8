"""What hooks left in the queue, from the command line: told of by `status` and `doctor`, written by `sync`."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.base.locks import locked
from commonplace.notes import appends
from commonplace.storage import state, writes
from commonplace.storage.queue import Queue
from commonplace.types import Entry
from tests.cli.conftest import Run

AT = datetime(2026, 2, 13, 9, 30)


@pytest.fixture
def queue(workspace: Path) -> Queue:
    opened = Queue(paths.Workspace(workspace))
    opened.extend([Entry("The walrus sleeps.", AT), Entry("The walrus wakes.", AT)])
    return opened


def test_sync_writes_what_waits(run: Run, workspace: Path, queue: Queue) -> None:
    assert "2 entries wait in the queue" in run("status").stderr
    done = run("sync", "--format", "json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)
    assert "- 09:30 The walrus wakes." in (workspace / "memory" / "2026-02-13.md").read_text()
    assert queue.empty
    assert run("status").stderr == ""
    assert "walrus" in run("search", "walrus").stdout


def test_sync_says_what_it_could_not_write(run: Run, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appends.append_all, "__kwdefaults__", {"title": None, "timeout_s": 0.05})
    monkeypatch.setattr(writes, "locked", lambda lock, **_: locked(lock, timeout_s=0.05))
    with locked(paths.lock_file(queue.workspace, "notes")):
        done = run("sync")
    assert done.exit_code == 0
    assert "entries wait in the queue" in done.stderr
    assert "locked" in done.stderr
    assert queue.waiting().entries == 2


def test_what_was_damaged_is_told(run: Run, queue: Queue) -> None:
    with state.writing(queue.workspace) as connection:
        connection.execute("INSERT INTO queue(data) VALUES ('[1]')")
    assert "1 entry could not be written into a note" in run("sync").stderr
    assert "1 entry could not be written into a note" in run("status").stderr


def test_doctor_tells_of_it(run: Run, queue: Queue) -> None:
    said = json.loads(run("doctor", "--format", "json").stdout)
    found = {one["check"]: one["told"] for one in _findings(said) if one["check"].startswith("stores.spool")}
    assert found["stores.spool"].startswith("2 entries")
    queue.set_aside.write_bytes(b"{cut\n")
    run("sync")
    said = json.loads(run("doctor", "--format", "json").stdout)
    found = {one["check"]: one["told"] for one in _findings(said) if one["check"].startswith("stores.spool")}
    assert found.keys() == {"stores.spool_damaged"}


def _findings(said: object) -> list[dict[str, str]]:
    """All findings in what doctor prints, whatever they are grouped in."""
    if isinstance(said, dict):
        if "check" in said:
            return [said]
        said = list(said.values())
    return [one for part in said for one in _findings(part)] if isinstance(said, list) else []
