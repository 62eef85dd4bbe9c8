"""`commonplace eval` as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from commonplace.cli.measurements import evaluate

from .conftest import run


def invoke(command: object, *arguments: object) -> Result:
    return CliRunner().invoke(command, list(map(str, arguments)))  # type: ignore[arg-type]


def test_eval_prints_tables(queries: Path) -> None:
    result = invoke(evaluate, queries)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("hybrid\n")
    assert "r@2000c" in result.stdout
    assert "people" in result.stdout
    assert "skipped  1 questions without evidence" in result.stdout


def test_eval_prints_json_and_writes_results(queries: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    result = invoke(evaluate, queries, "--mode", "lexical", "--out", out, "--json")
    record = json.loads(result.stdout)
    assert (record["mode"], record["limit"]) == ("lexical", 100)
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
    for arguments in [["--limit", "10"], ["--mode", "magic"]]:
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


def several(queries: Path, tmp_path: Path) -> Path:
    """The same workspaces with another set: one question that nothing answers, one that something does."""
    other = tmp_path / "other"
    (other / "dev").mkdir(parents=True)
    (other / "dev/workspaces").symlink_to(queries.parent / "workspaces")
    records = [
        {"id": "n", "workspace": "ada", "question": "zeppelin trombone walrus", "nothing": True},
        {
            "id": "y",
            "workspace": "ada",
            "question": "ferry Harwich",
            "evidence": [{"path": "memory/2026-01-05.md", "start_line": 10, "end_line": 10}],
        },
    ]
    text = "".join(json.dumps(record) + "\n" for record in records)
    (other / "dev/queries.jsonl").write_text(text, "utf-8")
    return other


def test_several_sets_are_one_table(queries: Path, tmp_path: Path) -> None:
    other = several(queries, tmp_path)
    done = run("eval", queries, other)
    assert done.returncode == 0, done.stderr
    head, *rows = done.stdout.strip().split("\n\n")[1].split("\n")
    assert head.split()[:3] == ["set", "n", "r@1000c"]
    assert {"refused", "weak", "empty", "ms"} <= set(head.split())
    assert [row.split()[0] for row in rows] == ["set", "other/dev", "(mean)"]
    record = json.loads(run("eval", queries, other, "--json").stdout)
    assert record["table"]["other/dev"]["refused"] == 1.0
    assert record["sets"]["other/dev"]["figures"]["(nothing)"]["n"] == 1
    assert record["refusal"] is True
    table = run("eval", queries, other, "--markdown").stdout.split("\n")
    assert table[0].startswith("| set | n | r@1000c |")
    assert set(table[1]) == {"|", " ", "-"}


def test_without_refusal_nothing_is_refused(queries: Path, tmp_path: Path) -> None:
    other = several(queries, tmp_path)
    record = json.loads(run("eval", other, "--json", "--no-refusal").stdout)
    assert record["figures"]["(nothing)"]["refused"] == 0.0
    assert (record["refusal"], record["figures"]["(all)"]["n"]) == (False, 1)
    assert run("eval", other, "--fail-under", "refused=1").returncode == 0
    short = run("eval", other, "--fail-under", "refused=1", "--no-refusal")
    assert (short.returncode, "refused is 0.0000, under 1" in short.stderr) == (1, True)


def test_results_are_written_of_one_set(queries: Path, tmp_path: Path) -> None:
    done = run("eval", queries, several(queries, tmp_path), "--out", tmp_path / "out.jsonl")
    assert (done.returncode, "--out" in done.stderr) == (2, True)
    done = run("eval", tmp_path / "set/workspaces")
    assert (done.returncode, "holds no question set" in done.stderr) == (1, True)


def test_evidence_and_nothing_exclude_each_other(queries: Path) -> None:
    record = json.loads(queries.read_text("utf-8").splitlines()[0]) | {"nothing": True}
    queries.write_text(json.dumps(record) + "\n", "utf-8")
    done = run("eval", queries)
    assert (done.returncode, "'nothing' is true" in done.stderr) == (1, True)
