"""Who says a line, in the ways chats are written down; and what is no chat."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.markdown import turns


def share(text: str) -> float:
    return turns.read(text.split("\n")).share(range(1, text.count("\n") + 2))


SAID = {
    "Ann: yes": "ann", "- Ann: yes": "ann", "**User:** yes": "user", "**Ann Lee**: yes": "ann lee", "- 14:05 Bob: yes": "bob",
    "小王：好的": "小王", "- 使用者：好的": "使用者", "[14/08/2022, 18:12:00] Ann: yes": "ann",
    "\u200e[14/08/2022, 6:12:00\u202fPM] \u200eAnn: photo left out": "ann", "14/08/2022, 18:12 - Ann Lee: yes": "ann lee",
    "8/14/22, 6:12 PM - +49 170 1234567: yes": "+49 170 1234567", "[2024-05-01 10:32] 张三: 好的": "张三", "🐱 Mia: yes": "🐱 mia",
}  # fmt: skip
OPENINGS = {
    "**Ann** 6:12 PM": "ann", "**Ann Lee**  [10:32 AM]": "ann lee", "Ann  [10:32 AM]": "ann",
    "Ann Lee — Today at 10:32 AM": "ann lee", "Ann, [14.08.22 18:12]": "ann", "张三 2024-05-01 10:32": "张三", "张三 昨天 10:32": "张三",
    "张三 2024年5月1日 上午10:32": "张三", "2024-05-01 10:32:01 张三(12345)": "张三", "2024-05-01 10:32:01 小明<a@b.c>": "小明",
}  # fmt: skip
BRIEF = {"张三 10:32": "张三", "Ann 10:32 AM": "ann", "Ann Lee 6:12 PM": "ann lee"}
NOBODY = (
    "Standup at 10:30", "Dinner 19:30", "the meeting starts at 10:30", "- 10:32 the deploy started",
    "https://example.com/12:30", "10:32", "会议改到 10:32", "", "A line that ends in 5 and names nothing",
)  # fmt: skip


@pytest.mark.parametrize(("line", "who"), SAID.items())
def test_a_label_opens_what_is_said(line: str, who: str) -> None:
    assert turns.speaker(line) == who
    assert turns.opening(line, chat=True) is None
    said = line[turns.behind(line) :]
    assert said.strip() in ("yes", "好的", "photo left out")


@pytest.mark.parametrize(("line", "who"), OPENINGS.items())
def test_a_line_alone_opens_what_stands_below(line: str, who: str) -> None:
    assert turns.opening(line) == turns.speaker(line) == turns.speaker(f"{line}\nyes") == who


@pytest.mark.parametrize(("line", "who"), BRIEF.items())
def test_a_name_and_a_time_are_an_opening_in_a_chat_alone(line: str, who: str) -> None:
    assert turns.opening(line, chat=True) == turns.speaker(line, chat=True) == who
    assert turns.opening(line) is turns.speaker(line) is None


@pytest.mark.parametrize("line", NOBODY)
def test_what_names_nobody(line: str) -> None:
    assert turns.speaker(line) is turns.opening(line) is None


def test_what_is_no_chat() -> None:
    for lines in (
        [f"{key}: a value" for key in ("name", "colour", "size", "weight", "price")],
        ["- 9:00 tea", "- 10:00 walk", "- 12:30 lunch", "- 15:00 nap", "- 19:30 dinner"],
        ["Standup 9:30", "Review 14:00", "Dinner 19:30", "Call 20:00", "Sleep 23:00"],
        [f"2024-05-01 10:32:0{n} ERROR server: it failed" for n in range(6)], ["Ann: yes", "Bob: no"],
    ):  # fmt: skip
        text = "\n".join(lines)
        assert share(text) == 0
        assert not turns.read(text.split("\n")).chat_openings


@pytest.mark.parametrize(
    "stamped", ["**{0}** 10:3{1}", "{0} [10:3{1} AM]", "{0} 2024-05-01 10:3{1}", "{0} 10:3{1}"]
)
def test_whoever_speaks_once_opens_a_turn_of_a_chat(stamped: str) -> None:
    names = ["Ann", "Bob", "Carol", "Ann", "Bob"]
    lines = [line for n, who in enumerate(names) for line in (stamped.format(who, n), f"what {who} says")]
    assert turns.read(lines).chat_openings == {1, 3, 5, 7, 9}
    assert not turns.read(
        "\n".join(lines[:6])
    ).chat_openings  # three who speak once: as likely three appointments


@given(st.lists(st.text(max_size=120), max_size=12))
def test_any_text_has_a_share(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert 0 <= share(text) <= 1
    assert turns.read(text.split("\n")).chat_openings <= set(range(1, text.count("\n") + 2))
    for line in lines:
        assert 0 <= turns.behind(line) <= len(line)


def test_an_appointment_has_a_speaker_in_a_chat_alone() -> None:
    read = turns.read(["Dentist 10:30", "Ann [10:32 AM]", "yes"])
    assert read.of(1, 3, chat=False) == ("ann",)
    assert read.of(1, 3, chat=True) == ("dentist", "ann")
