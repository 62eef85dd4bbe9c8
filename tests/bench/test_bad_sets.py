"""Question sets that somebody made by hand, or that were cut off: refused with their line before any work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from compare_answers import read_answers
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.bench import questions as sets_of
from commonplace.bench.metrics import Span
from commonplace.bench.questions import Answer, Question

GOOD = {"id": "q1", "workspace": "w", "question": "where?", "evidence": []}


def read(tmp_path: Path, data: str) -> list[Question]:
    path = tmp_path / "q.jsonl"
    path.write_text(data, encoding="utf-8", newline="")
    return sets_of.read_questions(path)


def test_a_mark_of_utf8_is_read_over(tmp_path: Path) -> None:
    assert [one.id for one in read(tmp_path, "\ufeff" + json.dumps(GOOD) + "\n")] == ["q1"]


def test_a_question_set_is_no_run(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(GOOD) + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="no line of a run of `eval --out`"):
        read_answers(path)


@pytest.mark.parametrize("name", ["", "/dev/null"])
def test_nobody_is_told_to_remove_what_is_no_file_of_ours(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommonplaceError) as caught:
        read_answers(tmp_path / name)
    assert "; remove" not in str(caught.value)


def test_a_bad_line_is_refused_with_its_number(tmp_path: Path) -> None:
    for line, message in [
        ("[" * 200_000, "not JSON"),
        ('{"id": ' + "9" * 5000 + "}", "not JSON"),
        ("\ufeff" + json.dumps(GOOD), "BOM"),
        (json.dumps(GOOD | {"id": "\ud800"}), "half a surrogate pair"),
        (json.dumps(GOOD | {"question": "a\udfff"}), "half a surrogate pair"),
        (
            json.dumps(GOOD | {"evidence": [{"path": "\ud800", "start_line": 1, "end_line": 1}]}),
            "half a surrogate",
        ),
        (json.dumps(GOOD)[:-1], "not JSON"),
        (json.dumps(GOOD) + json.dumps(GOOD), "not JSON: Extra data"),
        ("null", "not a JSON object"),
        (json.dumps(GOOD | {"id": ""}), "'id' must be text"),
        (json.dumps(GOOD | {"nothing": "yes"}), "'nothing' must be true or false, not 'yes'"),
        (json.dumps(GOOD | {"workspace": None}), "'workspace' is missing"),
        (json.dumps(GOOD | {"question": ["a"]}), "'question' must be text"),
        (json.dumps(GOOD | {"evidence": {}}), "'evidence' must be a list"),
        (
            json.dumps(GOOD | {"evidence": [{"path": "a", "start_line": True, "end_line": 1}]}),
            "no line range True-1",
        ),
        (
            json.dumps(GOOD | {"evidence": [{"path": "a", "start_line": 1.0, "end_line": 1}]}),
            "no line range 1.0-1",
        ),
        (json.dumps(GOOD | {"evidence": [{"start_line": 1, "end_line": 1}]}), "'path' is missing"),
        (json.dumps(GOOD | {"evidence": [None]}), "objects with path"),
    ]:
        with pytest.raises(ConfigError) as caught:
            read(tmp_path, f"\n{line}\n")
        assert caught.value.key == f"{tmp_path / 'q.jsonl'}:2", (line, message)
        assert message in str(caught.value)
        assert len(str(caught.value)) < 1000, (line, message)


def test_lines_may_end_as_they_do_on_windows(tmp_path: Path) -> None:
    lines = [json.dumps(GOOD), json.dumps(GOOD | {"id": "q2"})]
    assert [question.id for question in read(tmp_path, "\r\n".join(lines))] == ["q1", "q2"]


def test_a_line_separator_inside_a_text_does_not_end_the_line(tmp_path: Path) -> None:
    text = "one\u2028two\x85three"
    (question,) = read(tmp_path, json.dumps(GOOD | {"question": text}, ensure_ascii=False))
    assert question.text == text


@given(
    st.text()
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ).map(json.dumps)
)
def test_any_line_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, line: str) -> None:
    path = tmp_path_factory.mktemp("any") / "q.jsonl"
    path.write_text(line, encoding="utf-8", errors="replace")
    with pytest.raises(CommonplaceError):
        sets_of.read_questions(path)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
SPANS = st.lists(st.tuples(TEXT, st.integers(1, 50), st.integers(50, 99)), max_size=3)


@given(
    st.lists(st.tuples(TEXT, TEXT, TEXT, SPANS, SPANS), min_size=1, max_size=4, unique_by=lambda row: row[0])
)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str, list[Span], list[Span]]]
) -> None:
    def told(spans: list[Span]) -> list[dict[str, object]]:
        return [Span(*span)._asdict() for span in spans]

    path = tmp_path_factory.mktemp("set") / "q.jsonl"
    names = ("id", "workspace", "question", "evidence", "stale")
    records = [dict(zip(names, (*row[:3], told(row[3]), told(row[4])), strict=True)) for row in rows]
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    for question, (id_, workspace, text, evidence, stale) in zip(
        sets_of.read_questions(path), rows, strict=True
    ):
        assert (question.id, question.workspace, question.text) == (id_, workspace, text)
        assert (list(question.evidence), list(question.stale)) == (evidence, stale)


@given(st.lists(st.tuples(TEXT, st.lists(st.tuples(TEXT, st.integers(1), st.integers(1)))), max_size=4))
def test_results_are_one_object_a_line(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, list[tuple[str, int, int]]]]
) -> None:
    path = tmp_path_factory.mktemp("out") / "o.jsonl"
    sets_of.write_answers(path, [Answer(id_, tuple(Span(*s) for s in spans), 1.0) for id_, spans in rows])
    lines = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    assert [(line["id"], [tuple(r.values()) for r in line["results"]]) for line in lines] == rows


def test_a_workspace_that_cannot_be_one_is_told(tmp_path: Path) -> None:
    workspaces = tmp_path / "workspaces"
    workspaces.mkdir()
    (workspaces / "leaves").symlink_to(tmp_path)
    (workspaces / "loop").symlink_to(workspaces / "loop")
    (workspaces / "file").touch()
    for name in ["a\0b", "../w", "/", "w/../../x", "leaves", "loop", "x" * 5000, "file"]:
        with pytest.raises(ConfigError):
            sets_of.workspace_folder(workspaces, name)


def test_a_workspace_may_be_a_link_to_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to("a")
    assert sets_of.workspace_folder(tmp_path, "b") == tmp_path / "b"


def test_lines_of_a_file_that_cannot_be_named_have_no_size(tmp_path: Path) -> None:
    sizes = sets_of.line_sizes(tmp_path)
    assert (sizes("a\0b.md"), sizes("."), sizes("x" * 5000)) == ((), (), ())


def test_a_result_file_is_checked_without_losing_what_it_holds(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("kept\n")
    sets_of.check_writable(out)
    assert out.read_text() == "kept\n"
    with pytest.raises(CommonplaceError, match="is a directory"):
        sets_of.check_writable(tmp_path)
