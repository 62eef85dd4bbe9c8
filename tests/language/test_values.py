"""Values in a sentence: letters that only expressions take for others."""

from __future__ import annotations

import re

import pytest

from commonplace.language import lexicon, values


def test_names_in_letters_that_are_like_others_only_in_expressions() -> None:
    for text, plain in [("Auguſt 3", "August 3"), ("ſunday", "sunday"), ("3rd of Aprıl", "3rd of April")]:
        assert values.read(text).values == values.read(plain).values, text
    assert values.read("sınır").rest == "sınır"


def test_each_kind_is_written_one_way() -> None:
    for text, kind, written in (
        ("9:30 pm", "clock", {"21:30"}), ("21:30", "clock", {"21:30"}), ("晚上九点半", "clock", {"21:30"}), ("晚上8点", "clock", {"20:00"}),
        ("the 5th of april", "date", {"4-5"}), ("april 5", "date", {"4-5"}), ("2026-04-05", "date", {"4-5"}), ("四月五日", "date", {"4-5"}),
        ("on fridays", "day", {"5"}), ("周日", "day", {"7"}), ("20 %, 20 percent", "percent", {"20", "20, 1"}), ("百分之二十", "percent", {"20"}),
        ("twelve", "number", {"12"}), ("十二个", "number", {"12"}), ("1,200", "number", {"1200"}),
        ("from shelf 3 to depot 3", "number", {"3", "3, 1"}), ("room 12, pr #13", "named", {"room12", "pr#13"}),
    ):  # fmt: skip
        assert values.read(text).values[kind] == written, text


@pytest.mark.parametrize(
    ("question", "line", "other"),
    [
        (
            "Zgraggen phone number",
            "| Zgraggen | plumber | 031 555 01 77 |",
            "Zgraggen praised the phone manner",
        ),
        ("where does my father live", "my father lives at seestrasse 9", "my father lives well"),
        ("我们的车牌号是多少", "车牌：be 482 913，白色的", "车牌要去换"),
        ("房租多少钱", "房租 2,380，电费 96", "房租没写"),
        ("when is the dentist", "dentist on 9 december at 10", "the dentist is kind"),
        ("how much was the piano", "a used piano, 1,850 francs", "the piano was a problem"),
        ("wifi password", "wifi atelier, password tech-2024", "the wifi password is with urs"),
        ("姚医生的电话", "姚医生 13800138000", "姚医生打了电话"),
    ],
)
def test_a_question_for_a_value_prefers_the_line_that_holds_one(question: str, line: str, other: str) -> None:
    kinds = values.asked(question.lower())
    wide = [pair for run in lexicon.cjk_runs(question) for pair in lexicon.bigrams(run)]
    words = {*re.findall(r"[a-z]{4,}", question.lower()), *wide}
    assert values.holds(line.lower(), kinds, words) > values.holds(other.lower(), kinds, words)
    assert values.holds(line, (), words) == 0


def test_most_questions_ask_for_no_value() -> None:
    for question in (
        "who paints the fence?",
        "why no cat?",
        "君在哪里上班",
        "what did we decide on the desk?",
    ):
        assert values.asked(question) == ()
