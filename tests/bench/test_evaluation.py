"""Asking a question set: what is indexed where, what is returned, and figures equal to the reference's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from measuring import evaluation
from measuring import questions as sets_of
from measuring.evaluation import Evaluation, Options

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.chunking.settings import ChunkSettings
from commonplace.providers.catalog import EMBEDDERS
from commonplace.providers.embedding.remote import RemoteEmbedder
from tests.providers.embedding import apis
from tests.providers.server import Server

# The reference scorer lies beside the repository where the question sets do.
SCORER = Path(__file__).parents[2].parent / "shared" / "bench" / "score.py"


def run(queries: Path, **options: object) -> Evaluation:
    questions = sets_of.read_questions(queries)
    return evaluation.evaluate(questions, queries.parent / "workspaces", Options(**options))  # type: ignore[arg-type]


def no_model(settings: object, folder: Path) -> None:
    """Make no model in the place of the settings' one."""


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
        evaluation.cache_folder(folder, Options(chunks=chunks, embedder=embedder, cache=tmp_path), model)
        for chunks in (ChunkSettings(), ChunkSettings(target=1600), ChunkSettings(line=400))
        for embedder in (None, no_model)
        for model in ("none", "builtin")
    }
    assert len(kept) == 12


def test_the_cache_lies_in_the_users_cache(queries: Path, private_home: Path) -> None:
    run(queries)
    assert len(list(private_home.glob("**/eval/*/index.sqlite"))) == 2


def test_a_missing_workspace_is_named(queries: Path) -> None:
    questions = sets_of.read_questions(queries)
    with pytest.raises(ConfigError, match="no folder 'ada'"):
        evaluation.evaluate(questions, queries.parent, Options())


def test_progress_counts_the_questions(queries: Path) -> None:
    told: list[tuple[str, int, int]] = []
    questions = sets_of.read_questions(queries)
    evaluation.evaluate(
        questions, queries.parent / "workspaces", Options(), lambda *stage: told.append(stage)
    )
    assert told == [("questions", n, 5) for n in range(1, 6)]


def test_progress_over_several_sets_never_runs_backwards(queries: Path) -> None:
    told: list[tuple[str, int, int]] = []
    again = queries.parent / "again.jsonl"
    again.write_bytes(queries.read_bytes())
    read = [sets_of.read_set(path) for path in (queries, again)]
    evaluation.evaluate_all(read, Options(mode="lexical"), lambda *stage: told.append(stage))
    assert told == [("questions", n, 10) for n in range(1, 11)]


def spoilt(queries: Path, changes: dict[str, dict[str, object]]) -> Path:
    """Change questions of a set by id."""
    records = [json.loads(line) for line in queries.read_text("utf-8").splitlines()]
    records = [record | changes.get(record["id"], {}) for record in records]
    queries.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return queries


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "lexical"])
def test_the_bundled_model_answers(queries: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMMONPLACE_EMBEDDING_PROVIDER")
    found = run(queries, mode=mode, chunks=ChunkSettings(target=1600))
    assert found.levels == ({2: 5} if mode == "lexical" else {0: 5})
    assert found.warnings == ()


def test_the_bundled_model_answers_chinese_by_vectors(queries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMMONPLACE_EMBEDDING_PROVIDER")
    assert run(queries).levels == {0: 5}


@pytest.mark.skipif(not SCORER.exists(), reason="the reference scorer is not here")
@pytest.mark.parametrize("chunks", [ChunkSettings(), ChunkSettings(target=3600)])
def test_the_figures_agree_with_the_reference(queries: Path, tmp_path: Path, chunks: ChunkSettings) -> None:
    found = run(queries, chunks=chunks)
    results, summary = tmp_path / "results.jsonl", tmp_path / "summary.json"
    sets_of.write_answers(results, found.answers.values())
    command = [sys.executable, SCORER, queries, results, "--json", summary]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    reference = json.loads(summary.read_text("utf-8"))["summary"]
    ours = evaluation.by_category(found)
    assert len(ours) == len(reference) == 3
    for category, row in ours.items():
        theirs = reference["ALL" if category == "(all)" else category]
        both = row.keys() - {*evaluation.SHARES}  # which the scorer does not know
        assert {k: round(row[k], 3) for k in both} == {k: round(theirs[k], 3) for k in both}


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A model behind HTTP that the settings name."""
    server = Server(apis.openai)
    named = {
        "PROVIDER": "openai",
        "MODEL": "text-embedding-3-small",
        "BASE_URL": f"{server.url}/v1",
        "DIMENSIONS": "8",
    }
    for name, value in named.items():
        monkeypatch.setenv(f"COMMONPLACE_EMBEDDING_{name}", value)
    key = paths.user_config_dir() / "key"
    key.parent.mkdir(parents=True)
    key.write_text(apis.KEY)
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_KEY", str(key))
    yield server
    for model in EMBEDDERS.made.values():
        if isinstance(model, RemoteEmbedder):
            model.close()
    server.close()


def test_questions_of_an_evaluation_are_not_recorded(
    queries: Path, tmp_path: Path, private_home: Path
) -> None:
    options = evaluation.Options(mode="lexical", cache=tmp_path / "cache")
    with evaluation.open_workspace(queries.parent / "workspaces" / "ada", options) as memory:
        memory.sync(embed=False)
        assert memory.search("gateway", mode="lexical").hits
        assert memory.usage().questions == 0
    assert [
        path for folder in (private_home, queries.parent, tmp_path) for path in folder.rglob("usage*")
    ] == []
