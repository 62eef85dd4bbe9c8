"""Whether a source says what a statement says."""

from __future__ import annotations

from datetime import date

import pytest

from commonplace.lifecycle.consolidation import sameness, words
from commonplace.lifecycle.consolidation.support import supports

DAY = date(2026, 5, 26)
RIGHT = [
    ("Deploys go out on Thursdays.", "We decided that deploys go out on Thursdays."),
    ("Dentist on 2026-06-01 at 09:00.", "Dentist on Monday 1 June at 09:00."),
    ("Dentist on 2026-05-27 at 09:00.", "Dentist tomorrow at 09:00"),
    (
        "Marta moves the meeting to 3 June, 16:00.",
        "Marta moves the meeting to Wednesday 3 June, 16:00, since she is away.",
    ),
    ("空调清洗约了 2026-06-06 上午。", "空调清洗约了 6 月 6 日（周六）上午，师傅姓倪"),
    ("认不出来的时候要往慢的方向猜。", "教训：认不出来的时候要往慢的方向猜。"),
    ("Mira maintained the billing service.", "Mira maintains the billing service."),
    ("Mira came. She is allergic to nuts.", "Mira came. She is allergic to nuts."),
    ("Budget is $1,000.", "Budget is $1000."),
    ("老何决定每周三开周会。", "老何决定每周三开周会。"),
    ("Reviews take at most 1 day.", "The team agreed that reviews take at most one day."),
]
WRONG = [
    ("Deploys go out on Tuesdays.", "We decided that deploys go out on Thursdays."),
    ("Deploys do not go out on Thursdays.", "We decided that deploys go out on Thursdays."),
    ("Lin reports to Mira.", "Mira reports to Lin."),
    ("Dentist on 2026-05-28 at 09:00.", "Dentist tomorrow at 09:00"),
    ("No coffee.", "No coffee after 14:00."),
    ("Deploys go out.", "Deploys go out, unless Marta is away."),
    ("Mira is allergic to nuts", "Mira's sister is allergic to nuts"),
    ("小魏对花生过敏", "小魏的妹妹对花生过敏。"),
    ("周五下午部署。", "周五下午不部署。"),
    ("老何把调度器交给小魏。", "小魏把调度器交给老何。"),
    ("Larkspur: 20 requests", "Larkspur: 40, Pinebox: 20 requests"),
    ("Mіra maintains billing.", "Mira maintains billing."),
    ("We moved to Postgres", "We will move to Postgres"),
    ("Move to Postgres", "We may move to Postgres"),
    ("Timeout is 30 s.", "Timeout is 30 ms."),
    ("She is allergic to nuts.", "Mira came. She is allergic to nuts."),
    ("Tomas is the tech lead.", "Tomas was the tech lead."),
    ("Budget is €1000.", "Budget is $1000."),
    ("Deploys go out on Thursdays.", "Do deploys go out on Thursdays?"),
    ("The gateway is owned by Zed.", "Tomas said that the gateway is owned by Zed."),
    ("Mira hates tea", "Mira hates tea bags."),
    ("Flies from Paris to Berlin.", "Flies from Berlin to Paris."),
    ("豆豆喜欢芒果。", ""),
]


@pytest.mark.parametrize(("statement", "source"), RIGHT)
def test_what_a_source_says_is_supported(statement: str, source: str) -> None:
    assert supports(statement, [source], DAY) == ""


@pytest.mark.parametrize(("statement", "source"), WRONG)
def test_what_is_altered_is_not(statement: str, source: str) -> None:
    assert supports(statement, [source], DAY) != ""


def test_a_sentence_for_each_source() -> None:
    sources = ["Mira maintains billing.", "Lin signs the deploys off."]
    assert supports("Mira maintains billing. Lin signs the deploys off.", sources, None) == ""
    assert supports("Mira signs the deploys off.", sources, None) != ""
    assert supports("Lin maintains billing.", sources, None) != ""


def test_nothing_and_marks_alone_are_not_supported() -> None:
    assert supports("", ["Mira maintains billing."], None)
    assert supports("…", ["Mira maintains billing…"], None)
    assert supports("Mira maintains billing.", [], None)


def test_dates_without_a_year_are_the_nearest() -> None:
    assert words.read("on 3 June", date(2026, 5, 26)) == words.read("on 2026-06-03", date(2026, 5, 26))
    assert words.read("on 20 December", date(2026, 1, 4)) == words.read("on 2025-12-20", date(2026, 1, 4))


@pytest.mark.parametrize(
    ("text", "relative"),
    [("Dentist tomorrow.", True), ("下周三开会。", True), ("Dentist on 3 June.", False), ("Deploys on Thursdays.", False),
     ("去年十月搬家。", False), ("last week", True)],
)  # fmt: skip
def test_what_is_told_from_its_day(text: str, relative: bool) -> None:
    assert words.is_relative(text) == relative


def test_the_same_in_other_words() -> None:
    assert sameness.says("Mira maintains the billing service.", "The billing service is owned by Mira.")
    assert not sameness.says("Mira maintains the billing service.", "Mira maintains the search service.")
    assert not sameness.says("Mira eats meat.", "Mira eats no meat.")
    assert sameness.says("小魏负责调度器。", "调度器小魏负责。") or not sameness.says(
        "小魏负责调度器。", "老何负责调度器。"
    )
