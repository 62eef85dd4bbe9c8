"""`commonplace eval` as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from commonplace.cli.measurements import evaluate


def invoke(command: object, *arguments: object) -> Result:
    return CliRunner().invoke(command, list(map(str, arguments)))  # type: ignore[arg-type]


def test_eval_prints_tables(queries: Path) -> None:
    result = invoke(evaluate, queries)
    assert result.exit_code == 0, result.output
    assert "preset default: what a user gets; hybrid" in result.stdout
    assert "r@2000c" in result.stdout
    assert "people" in result.stdout
    assert "skipped  1 questions without evidence" in result.stdout


def test_eval_prints_json_and_writes_results(queries: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    result = invoke(evaluate, queries, "--preset", "nanobot", "--mode", "lexical", "--out", out, "--json")
    record = json.loads(result.stdout)
    assert (record["preset"], record["mode"], record["limit"]) == ("nanobot", "lexical", 100)
    assert record["figures"]["(all)"]["n"] == 5
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [line["id"] for line in lines] == ["ada-1", "ada-2", "ada-3", "lin-1", "lin-2"]
    assert set(lines[0]) == {"id", "results", "latency_ms"}
    assert set(lines[0]["results"][0]) == {"path", "start_line", "end_line"}


def test_eval_finds_workspaces_elsewhere(queries: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere.jsonl"
    moved.write_bytes(queries.read_bytes())
    result = invoke(evaluate, moved, "--workspaces", queries.parent / "workspaces", "--json")
    assert json.loads(result.stdout)["skipped"] == 1


def test_eval_refuses_wrong_values(queries: Path) -> None:
    for arguments in [["--preset", "bing"], ["--limit", "10"], ["--mode", "magic"]]:
        assert invoke(evaluate, queries, *arguments).exit_code == 2


def test_a_bad_line_is_one_line_of_error(queries: Path) -> None:
    queries.write_text(queries.read_text("utf-8") + '{"id": "x"}\n', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "commonplace", "eval", str(queries)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"commonplace: error: {queries}:7: 'workspace' is missing\n"


def test_a_result_file_that_cannot_be_written_is_told_first(
    queries: Path, tmp_path: Path, private_home: Path
) -> None:
    result = invoke(evaluate, queries, "--out", tmp_path / "missing" / "out.jsonl")
    assert "no such file" in str(result.exception)
    assert not list(private_home.rglob("index.sqlite"))


def test_the_command_modules_import_nothing_heavy() -> None:
    code = (
        "import sys; import commonplace.cli.measurements;"
        "print([m for m in ('numpy', 'apsw', 'rich', 'commonplace.memory') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
