"""Sentences with a blank, in two languages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.bench.gold import BLANK, clozes


def test_the_best_answer_is_blanked() -> None:
    for line, question, answer, kind in [
        ("- Moved the Kestrel gateway to port 8443.", "Moved the Kestrel gateway to port ____?", "8443", "number"),
        ("- [x] 14:02 Booked the ferry to Harwich for 3 May.", "Booked the ferry to Harwich for ____?", "3 May", "date"),
        ("1. The deploy **moved** because `frobnicate` broke.", "The deploy moved because ____ broke?", "frobnicate", "term"),
        ("Dentist appointment on Thursday at nine.", "Dentist appointment on ____ at nine?", "Thursday", "name"),
        ("We read [the paper](http://a/b) by Ada Lovelace.", None, None, None),  # two words are left
        ("The gateway listens on port 8443 since May 2024.", "The gateway listens on port 8443 since ____?", "May 2024", "date"),
        ("- 林小雨负责部署，她在2025年4月加入团队。", "林小雨负责部署，她在____加入团队？", "2025年4月", "date"),
        ("- 妈妈的生日是三月十二日。", "妈妈的生日是____？", "三月十二日", "date"),
        ("- 旧地址 3 月 31 日已交还，不要再用。", "旧地址 ____已交还，不要再用？", "3 月 31 日", "date"),
        ("- 张伟在北京大学教物理课。", "张伟在____教物理课？", "北京大学", "name"),
        ("> 会议比原计划早五分钟结束了。", "会议比原计划早____结束了？", "五分钟", "number"),
        ("- 42", None, None, None),
        ("plain words and nothing else", None, None, None),
        ("", None, None, None),
    ]:  # fmt: skip
        found = [(one.question, one.answer, one.kind) for one in clozes(line)]
        assert found == ([] if question is None else [(question, answer, kind)])


def test_each_sentence_is_a_question_of_its_own() -> None:
    line = "- The gateway moved to port 8443. Logs stay for 30 days on the server."
    assert [one.answer for one in clozes(line)] == ["8443", "30"]


def test_an_answer_that_stands_twice_is_no_answer() -> None:
    assert [one.answer for one in clozes("Room 12 was swapped, so room 12 went to Marseille instead")] == [
        "Marseille"
    ]


@given(st.text(max_size=200))
def test_no_line_is_an_error_and_no_question_names_its_answer(line: str) -> None:
    for one in clozes(line):
        assert BLANK in one.question
        assert one.answer not in one.question
