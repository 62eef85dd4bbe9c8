"""A damaged index: tables and columns that are gone or of another type, rows without each other, bad vectors."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
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
# Values of no type that is ever written; what the affinity of a column turns into text is text.
OTHER = {
    "INTEGER": ("'x'", "x'00'"),
    "REAL": ("'x'", "x'00'"),
    "TEXT": ("x'ff00'",),
    "BLOB": ("7", "'x'", "x''"),
}
JSON = {("notes", "metadata"), ("sections", "headings"), ("passages", "annotations")}
TABLES = ("meta", "notes", "sections", "passages", "vectors", "words")
KEYS = ("note_id", "section_id", "vector_id", "first_passage", "last_passage")


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


def columns(root: Path, table: str) -> list[tuple[str, str]]:
    connection = apsw.Connection(str(path(root)))
    rows = connection.execute(f"PRAGMA table_info({table})").fetchall()
    connection.close()
    return [(row[1], row[2]) for row in rows]


def damages(root: Path) -> list[str]:
    found = [f"DROP TABLE {table}" for table in (*TABLES, "passages_fts", "struck_fts", "passages_fts_data")]
    found += [f"DROP TABLE {table}; CREATE VIEW {table} AS SELECT 1 AS id" for table in TABLES]
    for table in TABLES:
        found.append(f"DELETE FROM {table}")
        found.append(f"DELETE FROM {table} WHERE rowid = 1" if table not in ("meta", "words") else "SELECT 1")
        for name, kind in columns(root, table):
            found.append(f"ALTER TABLE {table} RENAME COLUMN {name} TO gone")
            values: Sequence[str] = OTHER.get(kind, ("7", "x'ff'", "'x'"))
            if (table, name) in JSON:
                values = (*values, "'null'", "'{'", "'7'", "'{\"trigger\":1}'", "'[1]'")
                values = (*values, "'{}'" if name == "headings" else "'[]'")
            if name in KEYS:
                values = (*values, "999")
            if name not in ("id", "key"):
                found += [f"UPDATE {table} SET {name} = {value}" for value in values]
    found += [f"UPDATE meta SET value = {value} WHERE key IN ('contexts', 'formats', 'levels', 'staging', 'scan')"
              for value in ("'null'", "'[]'", "'[1]'", "'{'", '\'{"": 7}\'', "7")]  # fmt: skip
    found += [f"UPDATE meta SET value = json_set(value, '{place}', json('{value}')) WHERE key = 'confidence'"
              for place in ("$.amounts", "$.levels", '$.levels."en None"') for value in ('["a"]', "[1]", "7")]  # fmt: skip
    found += [
        "UPDATE notes SET date = 'zzz'",
        "UPDATE passages SET day = 'zzz' WHERE day IS NOT NULL",
        "UPDATE passages SET until = '2026-02-30' WHERE until IS NOT NULL",
        "DELETE FROM notes WHERE id = (SELECT max(id) FROM notes)",
        "UPDATE sections SET note_id = 1",
        "UPDATE vectors SET vector = zeroblob(length(vector)) WHERE id = 1",
        "UPDATE vectors SET vector = zeroblob(length(vector))",
        "UPDATE vectors SET vector = substr(vector, 5) WHERE id = 1",
        "UPDATE vectors SET vector = CAST(vector AS TEXT) WHERE id = 2",
        "DELETE FROM passages_fts WHERE rowid = 2",
        "INSERT INTO passages_fts(rowid, body) VALUES(99, 'white tea')",
    ]
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


@pytest.mark.parametrize("every", [11, pytest.param(2, marks=pytest.mark.slow)])
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


@pytest.mark.parametrize("statement", ["DELETE FROM notes", "DELETE FROM notes WHERE path LIKE '%14.md'"])
def test_passages_whose_notes_are_gone_are_not_kept_beside_those_that_are_read_again(
    workspace: Path, statement: str
) -> None:
    with Memory.open(workspace) as memory:
        before, passages = search(memory), memory.status().passages
    damage(workspace, f"{statement}; DELETE FROM meta WHERE key = 'scan'")
    with Memory.open(workspace) as memory:  # adds notes, with the ids of those that are gone
        memory.notes()
        search(memory)
    with Memory.open(workspace) as memory:
        memory.sync()
        assert (search(memory), memory.status().passages) == (before, passages)
        assert not memory._store.index.faults


def test_rows_of_a_note_whose_id_another_has_are_told_and_mended(workspace: Path) -> None:
    copies = "INSERT INTO passages SELECT id + 100, note_id, section_id" + "".join(
        f", {name}" for name, _ in columns(workspace, "passages")[3:]
    )
    full_text = "INSERT INTO passages_fts(rowid, body) SELECT id, text FROM passages WHERE id > 100"
    damage(workspace, f"{copies} FROM passages WHERE until IS NULL; {full_text}")
    findings = [one for one in diagnosis.examine(present(str(workspace))) if one.check == "index.rows"]
    assert [one.state for one in findings] == ["wrong"]
    with Memory.open(workspace) as memory:
        assert memory.search("walnut desk", mode="lexical").hits
        memory.sync()
        assert not memory._store.index.faults


def test_a_day_that_is_none_is_told_and_mended(workspace: Path) -> None:
    with Memory.open(workspace) as memory:
        before = [hit.text for hit in memory.search("walnut desk on 2026-02-14").hits]
    damage(workspace, "UPDATE notes SET date = 'zzz'; UPDATE passages SET day = 'zzz' WHERE day IS NOT NULL")
    findings = [one for one in diagnosis.examine(present(str(workspace))) if one.check == "index.rows"]
    assert [one.state for one in findings] == ["wrong"]
    with Memory.open(workspace) as memory:
        memory.sync()
        assert [hit.text for hit in memory.search("walnut desk on 2026-02-14").hits] == before
