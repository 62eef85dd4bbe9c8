"""`export`: one file of all own notes, the same for the same notes, and back again."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commonplace import ConfigError, Memory
from commonplace.cli.application import cli
from commonplace.upkeep.export import export
from tests.cli.conftest import Program, Run
from tests.places import settings_file

TOKEN = "ghp_" + "a1B2" * 9
PEOPLE = f"---\ntitle: People\n---\n\n- Lin <private>is ill</private>, key {TOKEN}\n"


@pytest.fixture
def notes(workspace: Path, tmp_path: Path) -> Path:
    """The workspace with a note without a day, settings, derived data, and a link that leads out."""
    (workspace / "memory" / "people.md").write_text(PEOPLE)
    settings_file(workspace).write_text("[search]\nlimit = 5\n")
    (workspace / ".commonplace").mkdir(exist_ok=True)
    (workspace / ".commonplace" / "x.md").write_text("derived")
    (tmp_path / "secret.md").write_text("of somebody else")
    (workspace / "memory" / "out.md").symlink_to(tmp_path / "secret.md")
    return workspace


ORDER = ["MEMORY.md", "memory/people.md", "memory/2026-02-13.md", "memory/2026-02-14.md"]


def test_markdown_reads_in_order_and_leaves_out_what_is_private(run: Run, notes: Path) -> None:
    done = run("export")
    assert (done.exit_code, done.stderr) == (0, "")
    places = [done.stdout.index(f"*From {path}*") for path in ORDER]
    assert places == sorted(places)
    assert "```yaml\ntitle: People\n```" in done.stdout
    for gone in ("is ill", TOKEN, "somebody else", "derived"):
        assert gone not in done.stdout
    kept = run("export", "--private").stdout
    assert "is ill" in kept
    assert TOKEN in kept


def test_json_can_be_imported_again(run: Run, notes: Path, tmp_path: Path) -> None:
    def there(*arguments: str) -> Result:
        return CliRunner().invoke(cli, ["-w", str(other), *arguments])

    target = tmp_path / "all.json"
    guess = "- Lin likes tea. <!-- tentative; since: 2025-01-02; until: 2027-01-01 -->"
    with (notes / "memory" / "people.md").open("a") as file:
        file.write(f"{guess}\n")
    assert run("export", "--to", str(target)).exit_code == 0
    held = json.loads(target.read_text("utf-8"))
    assert [note["path"] for note in held["notes"]] == ORDER
    assert TOKEN not in target.read_text("utf-8")
    other = tmp_path / "other"
    run("init", str(other))
    target = target.rename(other / target.name)  # what lies in a workspace is no note of it for that
    done = there("import", str(target))
    assert done.exit_code == 0, done.stderr
    assert "周五下午不部署" in (other / "memory" / "2026-02-13.md").read_text("utf-8")
    assert (other / "MEMORY.md").read_text("utf-8") == (notes / "MEMORY.md").read_text("utf-8")
    assert guess in (other / "memory" / "people.md").read_text("utf-8")
    assert "nothing new" in there("import", str(target)).stderr


@pytest.mark.parametrize(
    "path",
    ["../x.md", "/tmp/x.md", "memory/../../x.md", "memory/.x.md", "a\\b.md", "x.py", "", 3, "memory//x.md"],
)
def test_a_hostile_export_writes_nowhere_else(
    run: Run, tmp_path: Path, path: object, workspace: Path
) -> None:
    source = tmp_path / "all.json"
    source.write_text(
        json.dumps({"format": "commonplace-export", "version": 1, "notes": [{"path": path, "text": "x"}]})
    )
    before = sorted(tmp_path.rglob("*.md"))
    done = run("import", str(source))
    assert done.exit_code == 1
    has_no_path = path in ("x.py", "", 3)
    reason = "is no note with a path and a text" if has_no_path else "has a path that no note in a workspace"
    assert reason in done.stderr
    assert sorted(tmp_path.rglob("*.md")) == before


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"format": "commonplace-export", "version": 1, "notes": [', "is no whole export"),
        ('{"format": "commonplace-export", "version": 2, "notes": []}', "another version"),
        ('{"format": "commonplace-export", "version": 1}', "is no export"),
    ],
)
def test_what_is_no_export_is_named(run: Run, tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "all.json").write_text(text)
    done = run("import", str(tmp_path / "all.json"))
    assert done.exit_code == 1
    assert reason in done.stderr


def test_a_zip_holds_the_files_and_the_same_notes_give_the_same_bytes(
    program: Program, notes: Path, tmp_path: Path
) -> None:
    target = tmp_path / "all.zip"
    assert program("export", "--to", f"../{target.name}", cwd=notes).returncode == 0
    for path in notes.rglob("*.md"):
        if not path.is_symlink():
            os.utime(path, (1_700_000_000, 1_700_000_000))
    assert program("export", "--format", "zip").stdout == target.read_bytes()
    with zipfile.ZipFile(io.BytesIO(target.read_bytes())) as archive:
        assert sorted(archive.namelist()) == sorted([*ORDER, ".commonplace/config.toml"])
        assert archive.read("memory/people.md").decode() == PEOPLE
    assert program("export", "--format", "zip", "--private").returncode == 2


def test_nothing_is_overwritten_and_nothing_is_put_among_the_notes(
    run: Run, notes: Path, tmp_path: Path
) -> None:
    target = tmp_path / "all.md"
    target.write_text("mine")
    done = run("export", "--to", str(target))
    assert (done.exit_code, target.read_text()) == (1, "mine")
    assert "--force replaces it" in done.stderr
    assert run("export", "--to", str(target), "--force").exit_code == 0
    assert target.read_text("utf-8").startswith("*From MEMORY.md*")
    (tmp_path / "inside").symlink_to(notes / "memory")
    for place in (notes / "x.md", notes / "memory" / "x.md", tmp_path / "inside" / "x.md"):
        done = run("export", "--to", str(place))
        assert done.exit_code == 1
        assert "lies among the notes" in done.stderr
        assert not place.exists()
    assert run("export", "--to", str(tmp_path / "no" / "x.md")).exit_code == 1
    assert run("export", "--to", str(tmp_path)).exit_code == 1
    assert run("export", "--force").exit_code == 2


def test_a_link_in_the_place_of_the_file_is_replaced_and_not_followed(
    run: Run, notes: Path, tmp_path: Path
) -> None:
    link = tmp_path / "all.md"
    link.symlink_to(notes / "memory" / "people.md")
    assert run("export", "--to", str(link)).exit_code == 1
    assert run("export", "--to", str(link), "--force").exit_code == 0
    assert not link.is_symlink()
    assert (notes / "memory" / "people.md").read_text() == PEOPLE


def test_from_python(notes: Path) -> None:
    with Memory.open(notes) as memory:
        assert export(memory, "json") == export(memory, "json")
        with pytest.raises(ConfigError, match="must be one of md, json, zip"):
            export(memory, "pdf")  # type: ignore[arg-type]
