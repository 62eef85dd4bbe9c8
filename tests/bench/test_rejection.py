"""Questions asked of the wrong workspace, and of their own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from measuring import evaluation
from measuring import questions as sets_of
from measuring.evaluation import Options

from commonplace.base.errors import ConfigError

LEXICAL = Options(mode="lexical")


def test_a_set_alone_is_asked_what_its_other_workspaces_know(queries: Path) -> None:
    (row,) = evaluation.reject([sets_of.read_set(queries)], LEXICAL)
    # The English notes share no word with the Chinese questions, nor the other way round.
    assert (row.name, row.wrong, row.empty, row.own) == ("queries.jsonl", 5, 1.0, 5)
    assert row.answered == row.found == 1.0


def test_every_set_is_asked_the_questions_of_the_others(queries: Path) -> None:
    both = sets_of.read_set(queries)
    english = replace(both, questions=tuple(q for q in both.questions if q.workspace == "ada"))
    chinese = replace(both, path=queries.parent / "zh" / "q.jsonl", questions=tuple(both.questions[3:]))
    plan = evaluation.plan([english, chinese], 0, 200)
    assert {(one.question.workspace, one.workspace) for one in plan if one.wrong} == {("lin", "ada")}
    first, second = evaluation.reject([english, chinese], LEXICAL, count=2)
    assert (first.name, second.name) == ("queries.jsonl", "zh/q.jsonl")
    assert (first.wrong, first.own, first.same, first.empty_same) == (2, 2, 0, None)
    assert evaluation.reject([english, chinese], LEXICAL, count=2) == [first, second]


def test_an_answer_to_the_wrong_question_counts_against_the_gate(queries: Path) -> None:
    lines = [json.loads(line) for line in queries.read_text("utf-8").splitlines()]
    near = [{**lines[0], "id": "near", "question": "What does Lena like in her coffee?", "workspace": "lin"}]
    other = queries.with_name("other.jsonl")
    other.write_text("".join(json.dumps(line) + "\n" for line in near), encoding="utf-8")
    asked, wrong = sets_of.read_set(queries), sets_of.read_set(other)
    ada = replace(asked, questions=asked.questions[:3])
    (row, _) = evaluation.reject([ada, replace(wrong, questions=wrong.questions)], LEXICAL)
    assert (row.wrong, row.empty, row.empty_same) == (1, 0.0, 0.0)


def test_one_workspace_alone_has_no_wrong_questions(queries: Path) -> None:
    asked = sets_of.read_set(queries)
    with pytest.raises(ConfigError, match="name another set"):
        evaluation.reject([replace(asked, questions=asked.questions[:3])], LEXICAL)
    with pytest.raises(ConfigError, match="no question with evidence"):
        evaluation.reject([replace(asked, questions=asked.questions[5:])], LEXICAL)
