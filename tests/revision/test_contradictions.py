"""What contradicts what: precision first, measured on labelled pairs in two languages."""

from __future__ import annotations

from itertools import combinations

import pytest

from commonplace.chunking import statements
from commonplace.notes.parse import parse
from commonplace.revision import values
from commonplace.revision.contradictions import between, contradict

from .pairs import COMPATIBLE, CONTRADICTING, UNRELATED


def test_there_are_enough_pairs_in_both_languages() -> None:
    everything = CONTRADICTING + COMPATIBLE + UNRELATED
    wide = [pair for pair in everything if not pair[0].isascii()]
    assert len(everything) >= 200
    assert len(wide) >= 60


def test_precision_and_recall() -> None:
    found = [pair for pair in CONTRADICTING if contradict(*pair)]
    wrong = [pair for pair in COMPATIBLE + UNRELATED if contradict(*pair)]
    assert wrong == []
    assert len(found) >= 0.9 * len(CONTRADICTING)


def test_either_way_round() -> None:
    pairs = CONTRADICTING + COMPATIBLE + UNRELATED
    assert [pair for pair in pairs if contradict(*pair) != contradict(pair[1], pair[0])] == []


def test_sentences_of_different_pairs_seldom_contradict_each_other() -> None:
    told = sorted({one for pair in CONTRADICTING + COMPATIBLE + UNRELATED for one in pair})
    known = {frozenset(pair) for pair in CONTRADICTING}
    crossed = [pair for pair in combinations(told, 2) if frozenset(pair) not in known]
    alarms = [pair for pair in crossed if contradict(*pair)]
    assert len(crossed) > 30_000
    assert len(alarms) <= 0.0015 * len(crossed), alarms


@pytest.mark.parametrize(("one", "other"), CONTRADICTING[:8] + CONTRADICTING[50:58])
def test_what_says_the_same_is_no_contradiction(one: str, other: str) -> None:
    assert not contradict(one, one)
    assert not contradict(other, other)


def test_statements_that_stand_are_found_in_their_order() -> None:
    note = parse(
        "- Standup is at 9:30.\n- ~~Standup is at 8:00.~~\n- 14:05 Lunch. Standup is at 9:45.\n- Tea at four.\n",
        "MEMORY.md",
    )
    found = between("Standup is at 10:00.", statements.read(note))
    assert [statement.first for statement in found] == [1, 3]


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("at 9:30", "at 09:30", "clock"),
        ("at 3 pm", "at 15:00", "clock"),
        ("上午九点半", "9:30", "clock"),
        ("下午三点", "at 3 pm", "clock"),
        ("on May 3", "on the 3rd of May", "date"),
        ("5月3日", "on 3 May", "date"),
        ("80%", "百分之八十", "percent"),
        ("$5,000", "5000元", "money"),
        ("twelve chairs", "12 chairs", "number"),
        ("三只猫", "3只猫", "number"),
        ("周四", "on Thursdays", "day"),
        ("v1.2.0", "1.2.0", "version"),
    ],
)
def test_values_are_written_one_way(one: str, other: str, kind: str) -> None:
    assert values.read(one).values == values.read(other).values
    assert [*values.read(one).values] == [kind]


def test_a_number_that_names_one_of_many_is_no_value() -> None:
    assert [*values.read("PR 12 and room 4").values] == ["named"]
