"""Question sets and results: what is read, what is refused with file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from measuring import questions as sets_of
from measuring.metrics import Span
from measuring.questions import Answer

from commonplace.base.errors import CommonplaceError, ConfigError

GOOD = {
    "id": "q1",
    "workspace": "w",
    "question": "where?",
    "category": "places",
    "evidence": [{"path": "a.md", "start_line": 2, "end_line": 3}],
    "answer": "there",
}


def write(path: Path, *records: object) -> Path:
    lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_question_is_read(tmp_path: Path) -> None:
    (question,) = sets_of.read_questions(write(tmp_path / "q.jsonl", GOOD))
    assert question.text == "where?"
    assert question.evidence == (Span("a.md", 2, 3),)
    assert question.category == "places"
    assert question.stale == ()


def test_blank_lines_and_missing_categories_are_fine(tmp_path: Path) -> None:
    other = {k: v for k, v in GOOD.items() if k != "category"} | {"id": "q2", "evidence": []}
    first, second = sets_of.read_questions(write(tmp_path / "q.jsonl", GOOD, "", other))
    assert (first.category, second.category, second.evidence) == ("places", "-", ())


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    for line, message in [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        (GOOD, "the id 'q1' occurs twice"),
        ({"id": "q2"}, "'workspace' is missing"),
        (GOOD | {"id": 7}, "'id' must be text"),
        ({k: v for k, v in GOOD.items() if k != "evidence"} | {"id": "q2"}, "'evidence' is missing"),
        (GOOD | {"id": "q2", "stale": {}}, "'stale' must be a list"),
        (GOOD | {"id": "q2", "evidence": ["a.md"]}, "objects with path"),
        (GOOD | {"id": "q2", "evidence": [{"path": "a", "start_line": 0, "end_line": 1}]}, "line range 0-1"),
        (GOOD | {"id": "q2", "evidence": [{"path": "a", "start_line": 3, "end_line": 2}]}, "line range 3-2"),
        (GOOD | {"id": "q2", "evidence": [{"path": "a", "start_line": "3"}]}, "line range '3'"),
    ]:
        path = write(tmp_path / "q.jsonl", GOOD, line)
        with pytest.raises(ConfigError) as caught:
            sets_of.read_questions(path)
        assert str(caught.value).startswith(f"{path}:2: "), (line, message)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value), (line, message)


def test_a_file_that_holds_no_questions(tmp_path: Path) -> None:
    for data in [None, b"", b"\n\n", b"\xff\xfe\x00"]:
        path = tmp_path / "q.jsonl"
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(CommonplaceError, match=r"q\.jsonl"):
            sets_of.read_questions(path)


def test_answers_are_written_a_line_each(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    sets_of.write_answers(path, [Answer("问", (Span("a.md", 1, 2),), 1.23456), Answer("b", (), 2.0)])
    first, second = map(json.loads, path.read_text("utf-8").splitlines())
    result = {"path": "a.md", "start_line": 1, "end_line": 2}
    assert first == {"id": "问", "results": [result], "latency_ms": 1.235}
    assert second["results"] == []


def test_a_result_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(CommonplaceError, match="no such file"):
        sets_of.write_answers(tmp_path / "missing" / "out.jsonl", [])


def test_line_sizes_count_characters_and_the_break(tmp_path: Path) -> None:
    for text, expected in [
        ("", ()),
        ("a\nbc\n", (2, 3)),
        ("a\nbc", (2, 3)),
        ("\n", (1,)),
        ("中文\r\nx", (3, 2)),
        ("a\n\n", (2, 1)),
    ]:
        (tmp_path / "a.md").write_bytes(text.encode())
        sizes = sets_of.line_sizes(tmp_path)
        assert sizes("a.md") == expected
        assert sizes("missing.md") == (), (text, expected)


def test_a_workspace_that_is_not_there(tmp_path: Path) -> None:
    for name, message in [("gone", "no folder 'gone'"), ("..", "leaves"), ("/", "leaves")]:
        with pytest.raises(ConfigError, match=message):
            sets_of.workspace_folder(tmp_path, name)
