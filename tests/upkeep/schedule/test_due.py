"""When a consolidation is due, what is known of the last one, and never two at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.upkeep.schedule import due

NIGHT = datetime.fromisoformat("2026-02-13T03:30:05+01:00")
HOLDER = """
import sys
from pathlib import Path
from commonplace.base import paths
from commonplace.upkeep.schedule import due
with due.held(paths.Workspace(Path(sys.argv[1]))):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    (tmp_path / "memory").mkdir()
    (tmp_path / "MEMORY.md").write_text("# Memory\n")
    (tmp_path / "memory" / "2026-02-12.md").write_text("# 2026-02-12\n\n- Deploys go out on Tuesdays.\n")
    with Memory.open(tmp_path) as opened:
        yield opened


def write(memory: Memory, name: str = "2026-02-13.md") -> None:
    with open(memory.workspace.memory_dir / name, "a") as file:
        file.write("- something new\n")


def test_the_first_one_is_due_where_there_are_daily_notes(memory: Memory) -> None:
    assert due.is_due(memory, NIGHT)
    (memory.workspace.memory_dir / "2026-02-12.md").rename(memory.workspace.memory_dir / "plans.md")
    assert not due.is_due(memory, NIGHT)


def test_it_is_due_again_when_time_has_passed_and_notes_have_changed(memory: Memory) -> None:
    due.note_run(memory, NIGHT, "nothing to do")
    assert not due.is_due(memory, NIGHT + timedelta(days=3))
    write(memory)
    assert not due.is_due(memory, NIGHT + timedelta(hours=20))
    assert due.is_due(memory, NIGHT + timedelta(days=1))


def test_a_timer_some_seconds_early_does_not_miss_a_night(memory: Memory) -> None:
    due.note_run(memory, NIGHT, "nothing to do")
    write(memory)
    assert due.is_due(memory, NIGHT + timedelta(hours=23))  # the clocks went forward


def test_long_term_memory_alone_makes_nothing_due(memory: Memory) -> None:
    due.note_run(memory, NIGHT, "2 added")
    memory.workspace.memory_file.write_text("# Memory\n\n- changed by the run itself\n")
    (memory.workspace.memory_dir / "archive.md").write_text("- old\n")
    assert not due.is_due(memory, NIGHT + timedelta(days=2))


def test_what_is_written_while_it_runs_is_for_the_next_one(memory: Memory) -> None:
    with due.held(memory.workspace) as seen:
        write(memory)
        due.note_run(memory, NIGHT, "1 added", seen=seen)
    assert due.is_due(memory, NIGHT + timedelta(days=1))


def test_a_clock_set_back_makes_it_due(memory: Memory) -> None:
    due.note_run(memory, NIGHT, "nothing to do")
    assert due.is_due(memory, NIGHT - timedelta(days=40))


def test_a_failed_one_leaves_the_next_one_due(memory: Memory) -> None:
    due.note_run(memory, NIGHT, "nothing to do")
    write(memory)
    due.note_run(memory, NIGHT + timedelta(days=1), "the model does not answer", failed=True)
    assert due.is_due(memory, NIGHT + timedelta(days=1, minutes=1))
    known = due.record(memory.workspace)
    assert known is not None
    assert known.result == "the model does not answer"
    assert due.moment(known.at) == NIGHT
    assert due.moment(known.tried) == NIGHT + timedelta(days=1)


def test_no_secret_gets_into_the_record(memory: Memory) -> None:
    due.note_run(memory, NIGHT, "refused: api_key = sk-proj-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY", failed=True)
    assert "aB3dE5fG7" not in str(due.record(memory.workspace))


def test_there_are_never_two_at_once(memory: Memory) -> None:
    root = str(memory.workspace.root)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(due.Running, match="another process"), due.held(memory.workspace):
            pass
        holder.kill()  # the lock goes with its holder
    with due.held(memory.workspace) as seen:
        assert seen == due.digest(memory.workspace)
