"""A damaged index: tables and columns that are gone or others, notes about itself that nobody wrote."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from commonplace import Memory
from commonplace.base import paths
from commonplace.base.errors import IndexUnavailable
from commonplace.diagnosis import index as diagnosis
from commonplace.diagnosis.examination import present
from commonplace.types import SearchResult

NOTES = {
    "MEMORY.md": "---\ntags: [home]\n---\n# Memory\n\n## Tea\n\n- White tea after lunch. <!-- importance: 8 -->\n"
    "- Ask for the green pot <!-- trigger: teapot -->\n",
    "memory/2026-02-13.md": "# Day\n\n- ~~The deploy is on Tuesday.~~ <!-- until: 2026-02-14; replaced-by: 4 -->\n"
    "- The deploy is on Thursday. <!-- since: 2026-02-14 -->\n- Ann: hello\n- Bo: hi\n- Ann: how?\n- Bo: fine\n",
    "memory/2026-02-14.md": "# Day\n\n- The walnut desk costs 400 euro.\n",
}
QUESTIONS = ("white tea", "deploy", "walnut desk", "teapot")
TABLES = ("meta", "notes", "sections", "passages", "vectors", "words", "touched")


def search(memory: Memory, **options: object) -> list[list[tuple[str, str]]]:
    found: list[SearchResult] = [memory.search(text, **options) for text in QUESTIONS]  # type: ignore[arg-type]
    return [[(hit.path, hit.text) for hit in one.hits] for one in found]


ASKED: dict[str, Callable[[Memory], object]] = {
    "lexical": lambda memory: search(memory, mode="lexical"),
    "hybrid": search,
    "history": lambda memory: search(memory, history=True),
    "as of": lambda memory: search(memory, as_of="2026-02-13"),
    "timeline": lambda memory: memory.timeline("2026-02-13"),
    "notes": lambda memory: memory.notes(),
    "status": lambda memory: memory.status(),
    "doctor": lambda memory: diagnosed(memory.workspace.root),
    "sync": lambda memory: memory.sync(),
}


def diagnosed(root: Path) -> None:
    for finding in diagnosis.examine(present(str(root))):
        assert "the check itself failed" not in finding.told, finding
        assert finding.state == "ok" or finding.remedy, finding


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "fake")
    monkeypatch.setenv("COMMONPLACE_USAGE_RECORD", "false")
    root = tmp_path / "work"
    for name, text in NOTES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    with Memory.open(root) as memory:
        memory.sync()
    shutil.copyfile(path(root), tmp_path / "whole")
    return root


def path(root: Path) -> Path:
    return paths.Workspace(root).index


def columns(root: Path, table: str) -> list[str]:
    connection = apsw.Connection(str(path(root)))
    rows = connection.execute(f"PRAGMA table_info({table})").fetchall()
    connection.close()
    return [row[1] for row in rows]


def damages(root: Path) -> list[str]:
    found = [f"DROP TABLE {table}" for table in (*TABLES, "passages_fts", "struck_fts", "passages_fts_data")]
    found += [f"DROP TABLE {table}; CREATE VIEW {table} AS SELECT 1 AS id" for table in TABLES]
    found += [
        f"ALTER TABLE {table} RENAME COLUMN {name} TO gone"
        for table in TABLES
        for name in columns(root, table)
    ]
    found += [f"UPDATE meta SET value = {value} WHERE key IN ('contexts', 'formats', 'levels', 'staging', 'scan')"
              for value in ("'null'", "'[]'", "'[1]'", "'{'", '\'{"": 7}\'', "7")]  # fmt: skip
    found += [f"UPDATE meta SET value = json_set(value, '{place}', json('{value}')) WHERE key = 'confidence'"
              for place in ("$.amounts", "$.levels", '$.levels."en None"') for value in ('["a"]', "[1]", "7")]  # fmt: skip
    return found


def damage(root: Path, statement: str) -> None:
    for file in path(root).parent.glob("index.sqlite*"):
        file.unlink()
    shutil.copyfile(root.parent / "whole", path(root))
    connection = apsw.Connection(str(path(root)))
    try:
        connection.execute("PRAGMA writable_schema = 1").fetchall()
        connection.execute(statement).fetchall()
    except (apsw.ConstraintError, apsw.MismatchError):
        pass  # this SQLite itself refuses
    connection.close()


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_whatever_is_damaged_is_answered_or_told_and_mended(workspace: Path, every: int) -> None:
    with Memory.open(workspace) as memory:
        before = {name: ASKED[name](memory) for name in ("lexical", "hybrid", "history", "as of", "timeline")}
    wrong: list[tuple[str, str, str]] = []
    for number, statement in enumerate(damages(workspace)[::every]):
        name, ask = [*ASKED.items()][number % len(ASKED)]
        damage(workspace, statement)
        with Memory.open(workspace) as memory:
            try:
                ask(memory)
            except IndexUnavailable as error:
                if "sync" not in str(error):
                    wrong.append((statement, name, str(error)))
            except Exception as error:
                wrong.append((statement, name, repr(error)))
        damage(workspace, statement)
        with Memory.open(workspace) as memory:
            memory.sync()
            after = {name: ASKED[name](memory) for name in before}
            if after != before or memory.status().pending:
                wrong.append((statement, "after", repr(after)[:300]))
    assert wrong == []
