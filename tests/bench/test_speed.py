"""`tools/measure_speed.py` and `measure_capture.py` on a handful of notes: every figure is there, the corpus is left alone."""

from __future__ import annotations

import importlib
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from measuring import questions as sets_of

from commonplace.base.errors import ConfigError
from commonplace.types.data import to_data
from tests.bench.test_presets import Ones

TOOLS = Path(__file__).parents[2] / "tools"
QUICK = {"repeat": 1, "cold_runs": 1}


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import the tool by its name, so that the processes it starts find it as well."""
    monkeypatch.syspath_prepend(TOOLS)
    return importlib.import_module("measure_speed")


def test_every_figure_is_measured_and_the_corpus_left_alone(speed: Any, queries: Path) -> None:
    corpus = queries.parent / "workspaces"
    before = {path: path.read_bytes() for path in corpus.rglob("*.md")}
    found = speed.measure(corpus, speed.Options(**QUICK))
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
def test_random_vectors_are_stored_and_questions_embedded(speed: Any, queries: Path) -> None:
    found = speed.measure(queries.parent / "workspaces", speed.Options(model="random", **QUICK))
    assert 0 < found.vectors <= found.passages
    names = [row.name for row in found.rows]
    assert "store random vectors" in names
    assert "warm hybrid search, p50" in names
    assert names[-1] == "cold search (hybrid)"


def test_a_folder_without_notes_is_an_error(speed: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no Markdown files"):
        speed.measure(tmp_path, speed.Options(**QUICK))


def test_questions_come_from_the_corpus(speed: Any, queries: Path) -> None:
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


def test_the_bare_index_finds_words(speed: Any, tmp_path: Path) -> None:
    database = tmp_path / "bare.sqlite"
    assert speed.fill(database, ["one apple", "two pears", "three apples"]) > 0
    connection = speed.connect(database)
    assert {row for row, _ in speed.match(connection, "words", "apple OR plum")} == {1, 3}
    connection.close()


def test_peak_memory_is_that_of_the_work(speed: Any, tmp_path: Path) -> None:
    _, small = speed.apart(len, b"")
    _, large = speed.apart(bytes, 200_000_000)
    assert 150e6 < large - small < 400e6


def test_random_passages_are_unit_vectors_and_questions_real(speed: Any) -> None:
    model = speed.RandomPassages(Ones())
    vectors = model.embed(["a", "b", "c"], "passage")
    assert vectors.shape == (3, 4)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert abs(float(vectors[0] @ vectors[1])) < 0.999
    assert (model.embed(["a"], "query") == 0.5).all()
    again = speed.RandomPassages(Ones())
    assert np.array_equal(again.embed(["x", "y", "z"], "passage"), vectors)


def test_speed_shows_each_figure_beside_its_bare_cost(speed: Any) -> None:
    rows = (speed.Row("build", 6.0, "s", 1.5, "insert"), speed.Row("peak", 100.0, "MB"))
    text = speed.as_text(speed.Speed(10_000, 29_800_000, 120_000, 5, "random", rows))
    assert "10,000 files, 29.8 MB, 120,000 passages, 5 RANDOM vectors" in text
    assert "build   6.000 s  1.500 s    4.0  insert" in text


def test_speed_as_a_record(speed: Any) -> None:
    rows = (speed.Row("build", 6.0, "s", 1.5, "insert"), speed.Row("peak", 100.0, "MB"))
    record = json.loads(json.dumps(to_data(speed.Speed(1, 2, 3, 0, "none", rows))))
    assert record["rows"][0] == {
        "name": "build", "value": 6.0, "unit": "s", "bare": 1.5, "ratio": 4.0, "bare_is": "insert",
    }  # fmt: skip
    assert record["rows"][1]["ratio"] is None


def test_the_tool_prints_json(
    speed: Any,
    queries: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "questions.txt").write_text("gateway port\n\n咖啡机\n", encoding="utf-8")
    asked = []

    def measure(corpus: Path, options: Any, report: object) -> Any:
        asked.append((corpus, options))
        return speed.Speed(4, 2, 3, 0, "none", ())

    monkeypatch.setattr(speed, "measure", measure)
    speed.main(["notes", "--questions", str(tmp_path / "questions.txt"), "--repeat", "1", "--json"])
    assert json.loads(capsys.readouterr().out)["files"] == 4
    assert asked == [(Path("notes"), speed.Options("none", ["gateway port", "咖啡机"], 1))]


def test_entries_are_submitted_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(TOOLS)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    capture = importlib.import_module("measure_capture")
    measured = capture.measure(40, "none")
    assert (measured.count, measured.written, len(measured.rows)) == (40, 80, 6)
    assert all(row.p50 <= row.p99 <= row.max for row in measured.rows)
    assert list(tmp_path.iterdir()) == []
    text = capture.as_text(measured)
    assert text.startswith("80 entries submitted")
    assert "submit, at once" in text
