"""`tools/compare_answers.py` and `--fail-under`: what a run is worth beside another, and beside a floor."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import compare_answers as comparison
import pytest

from commonplace.bench import questions as sets_of

from . import conftest

Tool = Callable[..., subprocess.CompletedProcess[str]]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return conftest.run("eval", *arguments)


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the tool."""

    def run_tool(*arguments: object) -> subprocess.CompletedProcess[str]:
        code = comparison.main(list(map(str, arguments)))
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return run_tool


@pytest.fixture
def results(queries: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A run, and the same with every answer turned round and one left out."""
    one, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert run(queries, "--mode", "lexical", "--out", one).returncode == 0
    lines = [json.loads(line) for line in one.read_text("utf-8").splitlines()]
    turned = [{**line, "results": line["results"][::-1]} for line in lines[1:]]
    turned.append({"id": "unheard-of", "results": []})
    other.write_text("".join(json.dumps(line) + "\n" for line in turned), encoding="utf-8")
    return one, other


def test_every_figure_has_means_difference_interval_and_p(
    compare: Tool, queries: Path, results: tuple[Path, Path]
) -> None:
    done = compare(*results, "--queries", queries, "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    asked = sets_of.read_set(queries)
    scored = [comparison.score(asked, comparison.read_answers(path)) for path in results]
    for name, row in record["figures"].items():
        means = [sum(figures[name] for figures in one.values()) / len(one) for one in scored]
        assert [row["a"], row["b"]] == pytest.approx(means)
        assert row["difference"] == pytest.approx(means[1] - means[0])
        assert row["low"] <= row["difference"] <= row["high"]
        assert 0 < row["p"] <= 1
    assert record["figures"]["mrr"]["difference"] < 0
    assert (record["missing"], record["unknown"]) == ({"a": 0, "b": 1}, {"a": 0, "b": 1})


def test_a_run_beside_itself_differs_in_nothing(
    compare: Tool, queries: Path, results: tuple[Path, Path]
) -> None:
    done = compare(results[0], results[0], "--queries", queries)
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(("r@", "recall", "ndcg"))]
    assert len(rows) == 8
    assert all(row[4] == "+0.0000" and row[-1] == "1.0000" for row in rows)


def test_a_few_questions_get_no_star_and_one_no_interval(
    compare: Tool, queries: Path, tmp_path: Path
) -> None:
    lines = queries.read_text("utf-8").splitlines(keepends=True)
    one, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for number in (1, 5):
        queries.write_text("".join(lines[:number]), encoding="utf-8")
        assert run(queries, "--mode", "lexical", "--out", one).returncode == 0
        answers = [json.loads(line) | {"results": []} for line in one.read_text("utf-8").splitlines()]
        other.write_text("".join(json.dumps(answer) + "\n" for answer in answers), encoding="utf-8")
        told = compare(other, one, "--queries", queries)
        rows = [line.split() for line in told.stdout.splitlines() if line.startswith(("r@", "hit", "mrr"))]
        assert "+1.0000" in {row[4] for row in rows}
        assert not any("*" in row for row in rows)
        assert "no star for fewer than 6" in told.stdout
        assert all((row[-1] == "-") == (number == 1) for row in rows)
        figures = json.loads(compare(other, one, "--queries", queries, "--json").stdout)["figures"]
        assert (figures["mrr"]["p"] is None) == (number == 1)


def test_a_star_needs_six_questions_and_an_interval_without_zero() -> None:
    sure = comparison.Difference(0.5, 0.1, 0.9, 0.001)
    assert not comparison.Row("mrr", 5, 0.0, 0.5, sure).is_sure
    assert comparison.Row("mrr", 6, 0.0, 0.5, sure).is_sure
    assert not comparison.Row("mrr", 6, 0.0, 0.5, sure._replace(low=-0.1)).is_sure


def test_the_text_says_which_lines_were_missing(
    compare: Tool, queries: Path, results: tuple[Path, Path]
) -> None:
    told = compare(*results, "--queries", queries).stdout
    assert "B has no line for 1 question:" in told
    assert "B has 1 line for questions not in the set" in told


def test_results_of_another_set_are_one_line_of_error(
    compare: Tool, queries: Path, results: tuple[Path, Path]
) -> None:
    for content in ["", '{"id": "of-another-set", "results": []}\n']:
        results[1].write_text(content, "utf-8")
        done = compare(*results, "--queries", queries)
        assert (done.returncode, done.stdout) == (1, ""), content
        assert "B: answers none of the questions of" in done.stderr, content
        assert done.stderr.count("\n") == 1, content


def test_figures_of_some_questions_are_compared_on_those(
    compare: Tool, queries: Path, results: tuple[Path, Path]
) -> None:
    lines = [json.loads(line) for line in queries.read_text("utf-8").splitlines()]
    lines[0]["stale"] = [{"path": "gone.md", "start_line": 1, "end_line": 1}]
    queries.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    rows = json.loads(compare(*results, "--queries", queries, "--json").stdout)["figures"]
    assert (rows["fresh1st"]["n"], rows["mrr"]["n"]) == (1, 5)


def test_a_bad_result_line_is_one_line_of_error(compare: Tool, queries: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "ada-1", "results": [], "latency_ms": "soon"}\n')
    done = compare(bad, bad, "--queries", queries)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: {bad}:1: 'latency_ms' must be a number\n"


def test_figures_that_fall_short_end_with_one(queries: Path) -> None:
    done = run(queries, "--mode", "lexical", "--fail-under", "hit@10=1", "--fail-under", "recall@1=0.99")
    assert done.returncode == 1
    assert "r@2000c" in done.stdout  # the tables are there all the same
    told = [line for line in done.stderr.splitlines() if line.startswith("commonplace: ")]
    assert told == ["commonplace: recall@1 is 0.8000, under 0.99"]
    assert run(queries, "--mode", "lexical", "--fail-under", "hit@10=1").returncode == 0
    unmeasured = run(queries, "--mode", "lexical", "--fail-under", "fresh1st=0")
    assert (unmeasured.returncode, "was not measured" in unmeasured.stderr) == (1, True)


def test_a_floor_that_is_none_is_wrong_usage(queries: Path) -> None:
    for value in ["magic=1", "mrr", "mrr=high", "mrr=2", "mrr=nan"]:
        done = run(queries, "--fail-under", value)
        assert (done.returncode, done.stdout) == (2, ""), value


def test_a_set_is_scored_where_no_command_is_named(queries: Path) -> None:
    for before in [[], ["-w", "."], ["--workspace=."], ["--agent", "reject"], ["--debug"]]:
        assert json.loads(run(*before, queries, "--mode", "lexical", "--json").stdout)["skipped"] == 1
        assert run(*before, "reject", "--help").stdout.startswith("Usage: commonplace eval reject")
