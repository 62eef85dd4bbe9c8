"""The speed bench on a handful of notes: every figure is there, the corpus is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.base.errors import ConfigError
from commonplace.bench import processes, speed
from commonplace.bench import questions as sets_of
from commonplace.bench.speed import Options

QUICK = {"repeat": 1, "cold_runs": 1}


def test_every_figure_is_measured_and_the_corpus_left_alone(queries: Path) -> None:
    corpus = queries.parent / "workspaces"
    before = {path: path.read_bytes() for path in corpus.rglob("*.md")}
    found = speed.measure(corpus, Options(**QUICK))
    assert {path: path.read_bytes() for path in corpus.rglob("*") if path.is_file()} == before
    assert (found.files, found.vectors, found.model) == (4, 0, "none")
    assert found.bytes == sum(map(len, before.values()))
    names = [row.name for row in found.rows]
    assert names == [
        "build without vectors", "peak memory of the build", "database",
        "sync, nothing changed", "sync, one file changed",
        "warm lexical search, p50", "warm lexical search, p95",
        "warm lexical search, files not compared, p50", "warm lexical search, files not compared, p95",
        "peak memory of searching", "cold search --lexical",
    ]  # fmt: skip
    assert all(row.value > 0 for row in found.rows)
    assert all(row.ratio is None or row.ratio > 0 for row in found.rows)


@pytest.mark.slow
def test_random_vectors_are_stored_and_questions_embedded(queries: Path) -> None:
    found = speed.measure(queries.parent / "workspaces", Options(model="random", **QUICK))
    assert 0 < found.vectors <= found.passages
    names = [row.name for row in found.rows]
    assert "store random vectors" in names
    assert "warm hybrid search, p50" in names
    assert names[-1] == "cold search (hybrid)"


def test_a_folder_without_notes_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no Markdown files"):
        speed.measure(tmp_path, Options(**QUICK))


def test_questions_come_from_the_corpus(queries: Path) -> None:
    questions = speed.questions_from(queries.parent / "workspaces", 3)
    assert 0 < len(questions) <= 3
    text = "".join(path.read_text("utf-8") for path in queries.parent.rglob("*.md"))
    assert all(word in text for question in questions for word in question.split())
    assert questions == speed.questions_from(queries.parent / "workspaces", 3)


def test_hidden_folders_are_not_part_of_a_corpus(tmp_path: Path) -> None:
    for name in ("a.md", ".hidden/b.md", "c.txt", "d/e.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert sorted(Path(name).name for name in sets_of.walk(tmp_path)) == ["a.md", "e.md"]


def test_the_bare_index_finds_words(tmp_path: Path) -> None:
    database = tmp_path / "bare.sqlite"
    assert speed.fill(database, ["one apple", "two pears", "three apples"]) > 0
    connection = speed.connect(database)
    assert {row for row, _ in speed.match(connection, "words", "apple OR plum")} == {1, 3}
    connection.close()


def test_peak_memory_is_that_of_the_work(tmp_path: Path) -> None:
    _, small = processes.apart(len, b"")
    _, large = processes.apart(bytes, 80_000_000)
    assert 70e6 < large - small < 400e6
