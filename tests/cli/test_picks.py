"""Numbers of hits at a terminal: what they stand for, and where they stand for nothing."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.render.screen import cells
from tests.cli.conftest import Program, called
from tests.cli.test_terminal import ended_on_a_terminal, on_a_terminal

pytest.importorskip("pty")


@pytest.fixture
def searched(workspace: Path) -> str:
    """A search at a terminal: what it shows, without colours."""
    return on_a_terminal(workspace, "search", "deploy OR tea OR rain", NO_COLOR="1", TERM="dumb")


def test_hits_have_numbers_at_a_terminal_alone(workspace: Path, searched: str, program: Program) -> None:
    assert [line[:2] for line in searched.splitlines() if ".md:" in line] == ["1 ", "2 ", "3 "]
    rows = on_a_terminal(workspace, "search", "deploy OR tea OR rain", "--layer", "index", NO_COLOR="1")
    assert [line[:3] for line in rows.splitlines()] == ["1 #", "2 #", "3 #"]
    assert program("search", "deploy OR tea OR rain").stdout.startswith(b"MEMORY.md:5  ")


@pytest.mark.parametrize("number", ["1", "2", "3"])
def test_a_number_is_that_hit_of_the_last_search(workspace: Path, searched: str, number: str) -> None:
    line = next(line for line in searched.splitlines() if line.startswith(f"{number} "))
    reference = line.split()[1]
    reference += "" if "-" in reference.rpartition(":")[2] else f"-{reference.rpartition(':')[2]}"
    by_number = ended_on_a_terminal(workspace, "get", number)
    assert by_number == ended_on_a_terminal(workspace, "get", reference)
    assert by_number[0] == 0


def test_a_recall_has_numbers_too(workspace: Path) -> None:
    on_a_terminal(workspace, "recall", "white tea")
    assert "Aged white tea" in on_a_terminal(workspace, "get", "1")


def test_a_timeline_has_numbers_too(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "team"
    (other / "memory").mkdir(parents=True)
    (other / "memory" / "2026-02-14.md").write_text(
        "# 2026-02-14\n\nThe zeppelin is green, as it was on its first flight over the town\nin May.\n"
    )
    both = ("-w", str(other))
    shown = on_a_terminal(workspace, *both, "timeline", "2026-02-14", NO_COLOR="1")
    heads = [line for line in shown.splitlines() if ".md:" in line]
    assert [head[:4] for head in heads[-2:]] == [f"{len(heads) - 1} ▶ ", f"{len(heads)} ▶ "]
    assert "Nothing but rain" in on_a_terminal(workspace, *both, "get", str(len(heads) - 1))
    assert "zeppelin" in on_a_terminal(workspace, *both, "get", str(len(heads)))


def test_a_list_has_numbers_too(workspace: Path, tmp_path: Path) -> None:
    team = tmp_path / "team"
    (team / "memory").mkdir(parents=True)
    for name in ("a", "b"):
        (workspace / "memory" / f"{name}.md").write_text("# Twice\n\nThe same.\n")
    (team / "memory" / "zeppelin.md").write_text("# Zeppelin\n\nIt is green.\n")
    both = ("-w", str(team))
    shown = on_a_terminal(workspace, *both, "ls", NO_COLOR="1", COLUMNS="80").splitlines()
    assert [line.split()[0] for line in shown] == [str(number) for number in range(1, len(shown) + 1)]
    assert max(map(cells, shown)) <= 80
    number = {line.split()[1]: line.split()[0] for line in shown}
    assert "It is green" in on_a_terminal(workspace, *both, "get", number["team:memory/zeppelin.md"])
    assert "white tea" in on_a_terminal(workspace, *both, "get", number["MEMORY.md"])
    told = ended_on_a_terminal(workspace, *both, "get", number["memory/b.md"])[2]
    assert "other notes have the text of that one; name it by its path" in told


def test_what_is_piped_knows_no_numbers(workspace: Path, searched: str, program: Program) -> None:
    told = program("get", "2")
    assert (told.returncode, told.stdout) == (1, b"")
    assert b"2: no such note" in told.stderr
    program("search", "rain")
    assert "rain" not in on_a_terminal(workspace, "get", "1")


def test_notes_that_are_called_so_are_reached(workspace: Path, searched: str) -> None:
    (workspace / "2.md").write_text("# Two\n\nThe note of that name.\n")
    for reference in ("2.md", "./2.md"):
        assert "of that name" in on_a_terminal(workspace, "get", reference)
    assert "of that name" not in on_a_terminal(workspace, "get", "2")


@pytest.mark.parametrize(
    ("number", "told"),
    [
        ("0", "the last search, timeline or list had 3 numbers; a note of this name is ./0"),
        ("4", "had 3 numbers"),
        ("2026", "no such note"),
    ],
)
def test_a_number_of_no_hit_is_told(workspace: Path, searched: str, number: str, told: str) -> None:
    code, shown, errors = ended_on_a_terminal(workspace, "get", number)
    assert (code, shown, errors.count("\n")) == (1, "", 1)
    assert told in errors


def test_a_hit_whose_note_changed_is_told(workspace: Path, searched: str) -> None:
    for note in workspace.rglob("*.md"):
        note.write_text(f"# Another\n\n{note.read_text()}")
    code, shown, errors = ended_on_a_terminal(workspace, "get", "1")
    assert (code, shown) == (1, "")
    assert "1: the note of that number has changed since, or is gone; search or list again" in errors


def test_without_a_search_and_after_an_old_one_it_is_told(workspace: Path, tmp_path: Path) -> None:
    assert "the last search of this workspace is not known" in ended_on_a_terminal(workspace, "get", "1")[2]
    on_a_terminal(workspace, "search", "deploy")
    (kept,) = (paths.user_cache_dir() / "picks").iterdir()
    os.utime(kept, (time.time() - 100_000,) * 2)
    assert "was more than a day ago" in ended_on_a_terminal(workspace, "get", "1")[2]


def test_each_workspace_and_each_agent_has_its_own(workspace: Path, searched: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "memory").mkdir(parents=True)
    assert "is not known" in ended_on_a_terminal(other, "get", "1")[2]
    assert "is not known" in ended_on_a_terminal(workspace, "--agent", "codex", "get", "1")[2]


def test_a_hit_of_another_workspace_is_found_where_that_is_named(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "team"
    (other / "memory").mkdir(parents=True)
    (other / "MEMORY.md").write_text("# Team\n\n- The zeppelin is green.\n")
    on_a_terminal(workspace, "-w", str(other), "search", "zeppelin OR tea")
    shown = [ended_on_a_terminal(workspace, "-w", str(other), "get", number) for number in ("1", "2")]
    assert [code for code, _, _ in shown] == [0, 0]
    assert {"zeppelin" in text for _, text, _ in shown} == {True, False}
    alone = [ended_on_a_terminal(workspace, "get", number) for number in ("1", "2")]
    assert sorted(code for code, _, _ in alone) == [0, 1]
    assert any(
        "that number is of the workspace 'team'; name it again with -w" in errors for _, _, errors in alone
    )


def test_no_word_of_a_note_is_kept_and_nobody_else_reads_it(workspace: Path, searched: str) -> None:
    (kept,) = (paths.user_cache_dir() / "picks").iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    text = kept.read_text()
    assert len(text.splitlines()) == 3
    assert not any(word in text for word in ("md", "memory", "deploy"))


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\n\0", b"../../etc/passwd\n" * 3, b"x" * 100_000])
def test_a_damaged_file_is_one_line(workspace: Path, searched: str, data: bytes) -> None:
    (kept,) = (paths.user_cache_dir() / "picks").iterdir()
    kept.write_bytes(data)
    code, shown, errors = ended_on_a_terminal(workspace, "get", "1")
    assert (code, shown, errors.count("\n")) == (1, "", 1)
    assert called("-w", workspace, "search", "deploy").returncode == 0
