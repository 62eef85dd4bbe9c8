"""Asking a question set: what is indexed where, what is returned, and figures equal to the reference's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.bench import datasets, evaluation, presets, report
from commonplace.bench.evaluation import Evaluation, Options
from commonplace.errors import ConfigError

# The reference scorer lies beside the repository where the question sets do.
SCORER = Path(__file__).parents[2].parent / "shared" / "bench" / "score.py"


def run(queries: Path, **options: object) -> Evaluation:
    questions = datasets.read_questions(queries)
    return evaluation.evaluate(questions, queries.parent / "workspaces", Options(**options))  # type: ignore[arg-type]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_every_question_with_evidence_is_asked_in_order(queries: Path) -> None:
    found = run(queries)
    assert list(found.answers) == ["ada-1", "ada-2", "ada-3", "lin-1", "lin-2"]
    assert found.skipped == 1
    assert found.levels == {2: 5}
    assert len(found.warm_ms) == 3  # the first question of each workspace is cold
    assert found.figures["ada-2"]["recall@1"] == 1.0
    assert found.figures["lin-1"]["r@1000c"] == 1.0


def test_every_markdown_file_counts_and_nothing_is_written(queries: Path) -> None:
    before = tree(queries.parent)
    found = run(queries)
    paths = {span.path for answer in found.answers.values() for span in answer.results}
    assert "projects/kestrel.md" in paths
    assert tree(queries.parent) == before
    assert not list(queries.parent.rglob(".*"))


def test_an_index_is_used_again_until_fresh_is_asked_for(queries: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    run(queries, cache=cache)
    kept = sorted(cache.glob("*/index.sqlite"))
    assert len(kept) == 2
    inodes = [path.stat().st_ino for path in kept]
    run(queries, cache=cache)
    assert [path.stat().st_ino for path in kept] == inodes
    marker = kept[0].parent / "marker"
    marker.touch()
    run(queries, cache=cache, fresh=True)
    assert not marker.exists()
    assert sorted(cache.glob("*/index.sqlite")) == kept


def test_a_changed_note_is_seen_in_the_next_run(queries: Path) -> None:
    run(queries)
    note = queries.parent / "workspaces" / "ada" / "projects" / "kestrel.md"
    note.write_text("# Kestrel\n\nNothing is known.\n", encoding="utf-8")
    assert run(queries).figures["ada-3"]["recall@10"] == 0.0


def test_each_way_of_cutting_has_its_own_index(queries: Path, tmp_path: Path) -> None:
    folder = queries.parent / "workspaces" / "ada"
    kept = {
        evaluation.cache_folder(folder, Options(preset=preset, cache=tmp_path), model)
        for preset in presets.ALL.values()
        for model in ("none", "builtin")
    }
    assert len(kept) == 2 * len(presets.ALL)


def test_the_cache_lies_in_the_users_cache(queries: Path, private_home: Path) -> None:
    run(queries)
    assert len(list(private_home.glob("**/eval/*/index.sqlite"))) == 2


def test_a_missing_workspace_is_named(queries: Path) -> None:
    questions = datasets.read_questions(queries)
    with pytest.raises(ConfigError, match="no folder 'ada'"):
        evaluation.evaluate(questions, queries.parent, Options())


def test_progress_counts_the_questions(queries: Path) -> None:
    told: list[tuple[str, int, int]] = []
    questions = datasets.read_questions(queries)
    evaluation.evaluate(
        questions, queries.parent / "workspaces", Options(), lambda *stage: told.append(stage)
    )
    assert told == [("questions", n, 5) for n in range(1, 6)]


@pytest.mark.parametrize("name", sorted(presets.ALL))
def test_every_preset_answers(queries: Path, name: str) -> None:
    found = run(queries, preset=presets.named(name))
    assert report.by_category(found)["(all)"]["hit@5"] == 1.0


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
def test_the_bundled_model_answers(queries: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMMONPLACE_EMBEDDING_PROVIDER")
    found = run(queries, mode=mode, preset=presets.named("openclaw"))
    assert found.levels == ({2: 5} if mode == "lexical" else {0: 5})
    assert found.warnings == ()


def test_a_model_that_serves_latin_leaves_chinese_to_full_text(
    queries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COMMONPLACE_EMBEDDING_PROVIDER")
    assert run(queries).levels == {0: 3, 2: 2}


@pytest.mark.skipif(not SCORER.exists(), reason="the reference scorer is not here")
@pytest.mark.parametrize("name", ["default", "qmd"])
def test_the_figures_agree_with_the_reference(queries: Path, tmp_path: Path, name: str) -> None:
    found = run(queries, preset=presets.named(name))
    results, summary = tmp_path / "results.jsonl", tmp_path / "summary.json"
    datasets.write_answers(results, found.answers.values())
    command = [sys.executable, SCORER, queries, results, "--json", summary]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    reference = json.loads(summary.read_text("utf-8"))["summary"]
    ours = report.by_category(found)
    assert len(ours) == len(reference) == 3
    for category, row in ours.items():
        theirs = reference["ALL" if category == "(all)" else category]
        assert {k: round(v, 3) for k, v in row.items()} == {k: round(theirs[k], 3) for k in row}
