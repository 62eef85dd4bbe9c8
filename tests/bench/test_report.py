"""Tables and records."""

from __future__ import annotations

from commonplace.bench import evaluation
from commonplace.bench.evaluation import Evaluation
from commonplace.bench.questions import Answer


def evaluated(**changes: object) -> Evaluation:
    figures = {"a": {"recall@1": 1.0, "r@1000c": 0.5}, "b": {"recall@1": 0.0, "r@1000c": 1.0}}
    values: dict[str, object] = {
        "answers": {id_: Answer(id_, (), 1.0) for id_ in figures},
        "figures": figures,
        "categories": {"a": "people", "b": "dates"},
        "skipped": 2,
        "warm_ms": (1.0, 2.0, 9.0),
        "levels": {0: 2},
        "warnings": ("something to know",),
    }
    return Evaluation(**(values | changes))  # type: ignore[arg-type]


def test_rows_are_all_questions_then_each_category() -> None:
    rows = evaluation.by_category(evaluated())
    assert list(rows) == ["(all)", "dates", "people"]
    assert rows["(all)"] == {"n": 2, "recall@1": 0.5, "r@1000c": 0.75}


def test_languages_are_shown_where_there_are_two() -> None:
    mixed = evaluated(languages={"a": "cjk", "b": "other"})
    assert evaluation.by_language(mixed)["cjk"] == {"n": 1, "recall@1": 1.0, "r@1000c": 0.5}
    assert "(cjk)" in evaluation.as_text(mixed)
    assert "(other)" not in evaluation.as_text(evaluated(languages={"a": "other", "b": "other"}))


def test_text_shows_only_what_was_measured() -> None:
    text = evaluation.as_text(evaluated())
    assert "recall@1" in text
    assert "fresh1st" not in text
    assert "latency  p50 2.00 ms, p90 9.00 ms, p99 9.00 ms" in text
    assert "skipped  2 questions" in text
    assert "note     something to know" in text


def test_a_single_question_has_no_warm_latency() -> None:
    found = evaluated(warm_ms=())
    assert "latency" not in evaluation.as_text(found)
    assert evaluation.as_record(found)["latency_ms"] == {"p50": None, "p90": None, "p99": None}


def test_a_set_without_evidence_reports_that() -> None:
    found = evaluated(figures={}, categories={}, answers={}, warm_ms=(), levels={})
    assert "skipped  2 questions" in evaluation.as_text(found)
    assert evaluation.as_record(found)["figures"] == {}
