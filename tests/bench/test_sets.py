"""Question sets and their folders: beside the set, named, the owner's workspace; QMD's fixtures among them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.base.errors import ConfigError, NoteNotFound
from commonplace.bench import evaluation, metrics
from commonplace.bench import questions as sets_of


def fixture(path: Path, **changes: object) -> Path:
    queries = [
        {"id": "port", "query": "gateway port", "type": "exact", "description": "a number",
         "expected_files": ["KESTREL.md", "qmd://notes/memory/2026-01-05.md"], "expected_in_top_k": 2},
        {"id": "none", "query": "weather", "type": "topical", "description": "", "expected_files": [],
         "expected_in_top_k": 0},
    ]  # fmt: skip
    record = {"description": "made up", "version": 1, "queries": queries} | changes
    path.write_text(json.dumps(record, indent=2), encoding="utf-8")
    return path


def test_a_fixture_is_told_by_its_shape(queries: Path, tmp_path: Path) -> None:
    path = fixture(tmp_path / "fixture.json")
    asked = sets_of.read_set(path, own=lambda: queries.parent / "workspaces" / "ada")
    port = asked.questions[0]
    assert (port.text, port.category, port.workspace, asked.own) == ("gateway port", "exact", ".", False)
    # As QMD takes them: in any case, by the end of the path.
    assert [span.path for span in port.evidence] == ["projects/kestrel.md", "memory/2026-01-05.md"]
    found = evaluation.evaluate(asked.questions, asked.folder, evaluation.Options(mode="lexical"))
    assert (found.figures["port"]["recall@10"], found.skipped) == (1.0, 1)


def test_a_collection_of_a_fixture_is_a_folder_of_workspaces(queries: Path, tmp_path: Path) -> None:
    path = fixture(tmp_path / "fixture.json", collection="ada")
    asked = sets_of.read_set(path, queries.parent / "workspaces")
    assert asked.questions[0].workspace == "ada"
    assert asked.questions[0].evidence[0].path == "projects/kestrel.md"


def test_a_fixture_that_is_none_is_one_line(tmp_path: Path) -> None:
    for query, message in [
        (["no object"], "query 1: a query must be an object"),
        ([{"id": "a", "query": "b"}], "query 1: 'expected_files' must be a list of paths"),
        ([{"id": "a", "query": 7, "expected_files": []}], "query 1: 'question' must be text"),
    ]:
        with pytest.raises(ConfigError, match=message):
            sets_of.read_questions(fixture(tmp_path / "f.json", queries=query))


def test_a_fixture_without_questions_says_so(tmp_path: Path) -> None:
    for queries, message in [([], "'queries' is empty"), ({}, "'queries' is no list"), (None, "is no list")]:
        with pytest.raises(ConfigError, match=f"f.json: holds no questions: {message}|{message}"):
            sets_of.read_questions(fixture(tmp_path / "f.json", queries=queries))


def test_half_a_surrogate_pair_in_a_fixture_is_named_with_its_query(tmp_path: Path) -> None:
    good = {"id": "a", "query": "b", "type": "c", "expected_files": ["d.md"]}
    for bad in ({"id": "\ud800"}, {"query": "\ud800"}, {"type": "\ud800"}, {"expected_files": ["\ud800"]}):
        with pytest.raises(ConfigError, match="query 2: holds half a surrogate pair"):
            sets_of.read_questions(fixture(tmp_path / "f.json", queries=[good, good | bad]))
    with pytest.raises(ConfigError, match="query 1: holds half a surrogate pair"):
        sets_of.read_questions(fixture(tmp_path / "f.json", queries=[good], collection="\ud800"))


def test_a_path_that_means_several_files_means_the_exact_or_the_shortest() -> None:
    files = ["archive/a.md", "deep/er/a.md", "b.md", "x/ba.md"]
    paths = [sets_of.locate(path, files) for path in ("A.md", "b.md", "gone.md")]
    assert paths == ["archive/a.md", "b.md", "gone.md"]


def test_questions_about_the_folder_itself_are_about_the_workspace(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    docs = tmp_path / "docs"
    for folder in (root / "memory", docs):
        folder.mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Memory\n\n- The brass key hangs behind the clock.\n")
    (root / "draft.md").write_text("# Draft\n\n- The brass key is not indexed here.\n")
    (docs / "keys.md").write_text("Spare brass key: with the neighbour.\n")
    evidence = [
        {"path": "MEMORY.md", "start_line": 3, "end_line": 3},
        {"path": "docs/keys.md", "start_line": 1, "end_line": 1},
    ]
    record = {"id": "a", "workspace": ".", "question": "where is the brass key?", "evidence": evidence}
    (root / "gold.jsonl").write_text(json.dumps(record) + "\n")
    home = paths.user_config_dir()
    home.mkdir(parents=True)
    (home / "config.toml").write_text(f'[workspaces."{root}".collections.docs]\npath = "{docs}"\n')
    asked = sets_of.read_set(root / "gold.jsonl", own=lambda: root)
    assert (asked.own, asked.roots) == (True, {"docs": str(docs)})
    found = evaluation.evaluate(
        asked.questions, asked.folder, evaluation.Options(mode="lexical", own=asked.own)
    )
    assert found.figures["a"]["r@1000c"] == found.figures["a"]["recall@10"] == 1.0
    assert "draft.md" not in {span.path for span in found.answers["a"].results}
    sizes = asked.line_sizes()(".")
    assert metrics.recall_within(found.answers["a"].results, asked.questions[0].evidence, sizes, 1000) == 1.0


def test_without_a_folder_nothing_is_guessed(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": "a", "workspace": "w", "question": "?", "evidence": []}\n')
    asked = sets_of.read_set(tmp_path / "q.jsonl", own=lambda: tmp_path)
    assert (asked.folder, asked.own) == (tmp_path / "workspaces", False)
    with pytest.raises(NoteNotFound):
        sets_of.read_set(tmp_path / "gone.jsonl")
