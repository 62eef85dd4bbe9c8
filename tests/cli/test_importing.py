"""`import` as it is typed: kinds named or recognised, what is printed, with what it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

MEMORIES = [{"id": "1", "memory": "Prefers oolong", "created_at": "2025-03-04T08:00:00Z"}]


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps(MEMORIES))
    return path


def test_what_is_written_and_how_it_is_taken_back(run: Run, workspace: Path, export: Path) -> None:
    result = run("import", str(export))
    assert result.exit_code == 0
    assert result.stdout == "memory/2025-03-04-mem0.md  new  1 new\n"
    assert result.stderr == "mem0: 1 entry in 1 note\n"
    assert "Prefers oolong" in (workspace / "memory" / "2025-03-04-mem0.md").read_text()
    assert run("log").stdout.splitlines()[1].split()[1] == "import"
    again = run("import", "mem0", str(export))
    assert (again.exit_code, again.stdout, again.stderr) == (0, "", "mem0: nothing new\n")
    assert run("undo", "--yes").exit_code == 0
    assert not (workspace / "memory" / "2025-03-04-mem0.md").exists()


def test_a_dry_run_shows_places_and_lines(run: Run, workspace: Path, export: Path) -> None:
    result = run("import", str(export), "--dry-run")
    assert "+- 08:00 Prefers oolong" in result.stdout or "Prefers oolong" in result.stdout
    assert "nothing is changed yet" in result.stderr
    assert not (workspace / "memory" / "2025-03-04-mem0.md").exists()


def test_as_json(run: Run, export: Path) -> None:
    value = json.loads(run("import", str(export), "--json").stdout)
    assert value["source"] == "mem0"
    assert value["files"] == [
        {
            "path": "memory/2025-03-04-mem0.md",
            "outcome": "new",
            "added": 1,
            "updated": 0,
            "removed": 0,
            "differs": 0,
        }
    ]
    assert value["left_out"] == []
    assert value["run"]


def test_one_bad_path_stops_no_other(run: Run, tmp_path: Path, export: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    result = run("import", "mem0", str(bad), str(export))
    assert result.exit_code == 1
    assert "memory/2025-03-04-mem0.md  new" in result.stdout
    assert "left out" in result.stderr
    assert "is no JSON" in result.stderr


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((), 2, "kinds are commonplace, claude-mem, qmd"),
        (("nonsense",), 1, "neither a kind nor a path; there are commonplace, claude-mem"),
        (("obsidian",), 1, "say where it lies: a vault"),
        (("openclaw",), 1, "there is no ~/.openclaw"),
        (("mem0", "/nowhere.json"), 1, "no such file or folder"),
        (("/nowhere.json",), 1, "neither a file nor a folder"),
    ],
)
def test_mistakes_are_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...], code: int, told: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    result = run("import", *words)
    assert result.exit_code == code
    assert told in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_empty_source_is_nothing_found(run: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty.json"
    empty.write_text("[]")
    assert run("import", "mem0", str(empty)).exit_code == 3


@pytest.mark.parametrize("kind", ["nanobot", "openclaw", "basic-memory"])
def test_an_empty_folder_says_what_was_looked_for(run: Run, tmp_path: Path, kind: str) -> None:
    (tmp_path / "empty").mkdir()
    result = run("import", kind, str(tmp_path / "empty"))
    assert (result.exit_code, result.stdout) == (3, "")
    assert "looked for was a " in result.stderr
    assert str(tmp_path / "empty") in result.stderr


def test_another_engine_refuses_what_it_does_not_have(run: Run) -> None:
    for option in (("--as-of", "2026"), ("--history",), ("--strict",), ("--expand",)):
        result = run("search", "--engine", "qmd", *option, "tea")
        assert result.exit_code == 1
        assert f"qmd has no {option[0]}" in result.stderr


def test_an_undo_takes_collections_and_contexts_back_as_well(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sea").mkdir()
    settings = tmp_path / "index.yml"
    settings.write_text(
        f"global_context: Mine\ncollections:\n  sea:\n    path: {tmp_path}/sea\n    context: {{a: Boats}}\n"
    )
    assert run("import", str(settings)).exit_code == 0
    assert "import qmd" in run("log").stdout
    assert "sea" in run("collection", "list").stdout
    result = run("undo", "--yes")
    assert result.exit_code == 0
    assert "collection sea is removed; its files are untouched" in result.stderr
    assert "sea" not in run("collection", "list").stdout
    assert run("context", "list").stdout == ""
    assert run("undo", "--yes").exit_code == 3
    assert "collection sea  new" in run("import", str(settings)).stdout


def test_an_undo_of_that_undo_says_what_does_not_come_back(run: Run, tmp_path: Path) -> None:
    home = tmp_path / "openclaw"
    for name in ("notes", "more"):
        (home / name).mkdir(parents=True)
        (home / name / "a.md").write_text("# A\n\n- sea\n")
    settings = tmp_path / "index.yml"
    collections = "".join(f"  {name}:\n    path: {home}/{name}\n" for name in ("notes", "more"))
    settings.write_text(f"global_context: Mine\ncollections:\n{collections}")
    run("import", str(settings))
    run("undo", "--yes")
    [undoing, _] = json.loads(run("log", "--format", "json").stdout)
    run("context", "add", "", "Mine")  # one of three, by hand
    again = run("undo", undoing["id"], "--yes")
    assert again.exit_code == 0
    assert "2 collections and contexts of that import stay away" in again.stderr
    assert "import it again to add them" in again.stderr
    assert "collection notes  new" in run("import", str(settings)).stdout
    once_more = run("undo", "--yes")
    assert "stay away" not in once_more.stderr
    assert "collection notes is removed" in once_more.stderr


def test_an_undo_leaves_what_was_changed_since(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sea").mkdir()
    settings = tmp_path / "index.yml"
    settings.write_text(f"global_context: Theirs\ncollections:\n  sea:\n    path: {tmp_path}/sea\n")
    run("import", str(settings))
    run("context", "add", "", "Mine")
    run("collection", "rename", "sea", "water")
    run("undo", "--yes")
    assert "Mine" in run("context", "list").stdout
    assert "water" in run("collection", "list").stdout
