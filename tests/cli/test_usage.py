"""`usage`: the record as tables and as JSON, notes that are never found, and deleting it."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import apsw
import pytest

from commonplace.base.paths import Workspace
from tests.cli.conftest import Program, Run


def asked(run: Run) -> None:
    """Two questions that find something, one that does not, and a note that is opened."""
    run("search", "deploy")
    run("recall", "rain")
    run("search", "who owns the zeppelin hangar?")
    run("get", "memory/2026-02-14.md")


def test_an_empty_record(run: Run, workspace: Path) -> None:
    result = run("usage")
    assert result.exit_code == 0
    assert result.stdout == f"record     {Workspace(workspace).usage}, empty\n"
    assert run("usage", "--never").exit_code == 3


def test_tables(run: Run) -> None:
    asked(run)
    blocks = run("usage").stdout.rstrip().split("\n\n")
    today = date.today().isoformat()
    summary = blocks[0].splitlines()
    assert summary[1].startswith("asked      2 searches · 1 recall · 1 get · median ")
    assert summary[2:4] == [
        "answered   2 of 3 (67%)",
        "opened     1 of 2 (50%)",
    ]
    assert blocks[1].splitlines()[1].split() == [today, "2", "1", "1"]
    assert blocks[2] == (
        "found  opened  most often found\n    1       1  memory/2026-02-14.md\n    1       0  memory/2026-02-13.md"
    )
    assert blocks[3] == f"times  last        found nothing\n    1  {today}  who owns the zeppelin hangar?"
    assert blocks[4] == "date      size  never found (1, 48 bytes)\n      48 bytes  MEMORY.md"


def test_json_says_the_same(run: Run, workspace: Path) -> None:
    asked(run)
    found = json.loads(run("usage", "--format", "json", "--days", "1").stdout)
    (day,) = found["days"]
    assert 0 < day.pop("tokens") < day.pop("all_tokens")
    assert day == {"date": date.today().isoformat(), "searches": 2, "recalls": 1, "gets": 1}
    assert (found["questions"], found["answered"], found["opened"]) == (3, 2, 1)
    assert [one["question"] for one in found["unanswered"]] == ["who owns the zeppelin hangar?"]
    assert [one["path"] for one in found["never_found"]] == ["MEMORY.md"]
    assert found["store"] == str(Workspace(workspace).usage)


def test_never_lists_all(run: Run, workspace: Path) -> None:
    asked(run)
    listed = run("usage", "--never")
    assert listed.stdout == "MEMORY.md    48 bytes  Memory\n"
    assert "1 note · 48 bytes" in listed.stderr
    assert [one["path"] for one in json.loads(run("usage", "--never", "--format", "json").stdout)] == [
        "MEMORY.md"
    ]


def test_last_lists_single_questions_newest_first(run: Run) -> None:
    assert run("usage", "--last", "5").exit_code == 3
    asked(run)
    head, *rows = run("usage", "--last", "3").stdout.splitlines()
    assert head.split() == ["when", "who", "did", "tokens", "question", "first"]
    assert [row.split()[3] for row in rows] == ["get", "search", "recall"]
    assert "who owns the zeppelin hangar?" in rows[1]
    told = json.loads(run("usage", "--last", "1", "--format", "json").stdout)
    assert [(one["kind"], one["places"]) for one in told] == [("get", ["memory/2026-02-14.md#L1-L3"])]
    assert run("usage", "--last", "1", "--never").exit_code == 2


def test_clear_deletes_the_record(run: Run) -> None:
    asked(run)
    assert run("usage", "--clear").stdout == "deleted the record of 3 questions\n"
    assert json.loads(run("usage", "--format", "json").stdout)["questions"] == 0
    assert json.loads(run("usage", "--clear", "--format", "json").stdout) == {"questions": 0}
    assert run("usage", "--clear", "--never").exit_code == 2


def test_a_record_that_is_off_says_so(run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_USAGE_RECORD", "off")
    asked(run)
    assert run("usage").stdout.startswith("off        usage.record is false: nothing is recorded\n")
    assert not Workspace(workspace).usage.exists()


def test_a_damaged_record_is_one_line_with_the_remedy(run: Run, workspace: Path) -> None:
    asked(run)
    Workspace(workspace).usage.with_name("usage.sqlite-wal").unlink()  # which would make it whole again
    Workspace(workspace).usage.write_bytes(b"no database at all" * 500)
    result = run("usage")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "damaged" in result.stderr
    assert run("usage", "--clear").exit_code == 0
    assert run("usage").exit_code == 0


def test_a_search_from_the_shell_is_recorded_with_its_agent(process: Program, workspace: Path) -> None:
    assert process("--agent", "scribe", "search", "--lexical", "deploy").returncode == 0
    assert process("search", "rain").returncode == 0
    connection = apsw.Connection(str(Workspace(workspace).usage))
    kept = connection.execute("SELECT agent, question, hits FROM questions ORDER BY id").fetchall()
    connection.close()
    assert kept == [("scribe", "deploy", 1), ("", "rain", 1)]
