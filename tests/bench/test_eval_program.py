"""`commonplace eval` as a program: what is found, results that programs read, and what stops it early."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from commonplace.bench import metrics

from . import conftest


def evaluate(queries: Path, *options: object, **named: str) -> subprocess.CompletedProcess[str]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in named.items():
            patch.setenv(name, value)
        return conftest.run("eval", queries, *options)


def test_words_find_what_words_can_find(queries: Path) -> None:
    done = evaluate(queries, "--mode", "lexical", "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    figures = record["figures"]["(all)"]
    assert (figures["n"], record["skipped"], record["levels"]) == (5, 1, {"2": 5})
    assert figures["hit@10"] == 1.0
    names = [*(f"recall@{k}" for k in metrics.KS), *(f"hit@{k}" for k in metrics.KS), "mrr", "ndcg@10"]
    budgeted = [f"r@{budget}c" for budget in metrics.BUDGETS]
    assert set(figures) == {"n", *names, *budgeted, "empty", "weak"}
    assert all(0 <= value <= 1 for name, value in figures.items() if name != "n")


def test_a_second_run_of_a_mode_says_the_same(queries: Path) -> None:
    for mode in ["hybrid", "semantic"]:
        first = evaluate(queries, "--mode", mode, "--json", COMMONPLACE_EMBEDDING_PROVIDER="fake")
        assert first.returncode == 0, first.stderr
        record = json.loads(first.stdout)
        assert sum(record["levels"].values()) == 5, mode
        assert record["levels"].keys() & {"0", "1"}, mode  # English; the model does not serve Chinese
        again = json.loads(
            evaluate(queries, "--mode", mode, "--json", COMMONPLACE_EMBEDDING_PROVIDER="fake").stdout
        )
        assert again["figures"] == record["figures"], mode


def test_results_follow_the_questions_and_figures_follow_the_results(queries: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = evaluate(queries, "--out", out, "--json", "--limit", "50")
    figures = json.loads(done.stdout)["figures"]["(all)"]
    questions = {
        q["id"]: q for q in map(json.loads, queries.read_text("utf-8").splitlines()) if q["evidence"]
    }
    answers = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [answer["id"] for answer in answers] == list(questions)
    hits = []
    for answer in answers:
        evidence = [metrics.Span(**span) for span in questions[answer["id"]]["evidence"]]
        hits.append(metrics.hit_at([metrics.Span(**span) for span in answer["results"]], evidence, 5))
    assert figures["hit@5"] == sum(hits) / len(hits)


def test_results_of_an_earlier_run_stay_until_the_new_ones_are_there(queries: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("an hour of work\n")
    (queries.parent / "workspaces" / "lin").rename(queries.parent / "elsewhere")
    done = evaluate(queries, "--out", out)
    assert done.returncode == 1
    assert "no folder 'lin'" in done.stderr
    assert out.read_text() == "an hour of work\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_results_that_cannot_be_written_are_told_in_one_line(queries: Path) -> None:
    done = evaluate(queries, "--out", "/dev/full")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == "commonplace: error: /dev/full: no space left on device"


def test_a_set_that_is_none_is_told_in_one_line(queries: Path) -> None:
    for spoil, message in [
        (lambda queries: queries.unlink(), "no such file"),
        (lambda queries: queries.write_bytes(b"\xff\xfe"), "not UTF-8"),
        (lambda queries: queries.write_text(""), "holds no questions"),
        (lambda queries: queries.write_text("{}\n"), ":1: 'id' is missing"),
    ]:
        spoil(queries)  # type: ignore[operator]
        done = evaluate(queries)
        assert (done.returncode, done.stdout) == (1, ""), (spoil, message)
        assert message in done.stderr
        assert done.stderr.count("\n") == 1, (spoil, message)


def test_a_broken_note_is_no_reason_to_stop(queries: Path) -> None:
    folder = queries.parent / "workspaces" / "ada"
    (folder / "broken.md").write_bytes(b"---\na: !!bool perhaps\n---\n\xff\xfe\x00" * 20)
    (folder / "gone.md").symlink_to("nowhere.md")
    assert evaluate(queries, "--json").returncode == 0
