"""What is durable, on a labelled list in two languages."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from commonplace.lifecycle.consolidation import durable

DAY = date(2026, 5, 26)


def labelled(language: str) -> list[tuple[bool, str]]:
    lines = (Path(__file__).with_name(f"statements_{language}.txt")).read_text("utf-8").splitlines()
    return [(line[0] == "+", line[2:]) for line in lines]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_precision_and_recall(language: str) -> None:
    statements = labelled(language)
    taken = [(wanted, text) for wanted, text in statements if durable.kind_of(text, DAY)]
    right = sum(wanted for wanted, _ in taken)
    precision, recall = right / len(taken), right / sum(wanted for wanted, _ in statements)
    wrong = [text for wanted, text in taken if not wanted]
    missed = [text for wanted, text in statements if wanted and not durable.kind_of(text, DAY)]
    print(f"{language}: precision {precision:.2f}, recall {recall:.2f}\nwrong {wrong}\nmissed {missed}")
    assert (precision, recall) >= (0.95, 0.9)
    assert recall >= 0.9


def test_the_lists_are_long_enough() -> None:
    assert len(labelled("en")) + len(labelled("zh")) >= 200


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Wen prefers tea to coffee.", "preference"),
        ("我们决定用 PostgreSQL 做队列。", "decision"),
        ("Lesson: a checksum protects the reader.", "lesson"),
        ("部署前必须跑一遍崩溃测试。", "procedure"),
        ("My sister works at a bank.", "person"),
        ("The lease ends on 2028-03-25.", "date"),
        ("Dentist appointment next Tuesday at 09:00.", "date"),
        ("NAS 有四块硬盘。", "fact"),
    ],
)
def test_each_has_its_kind(text: str, kind: str) -> None:
    assert durable.kind_of(text, DAY) == kind


def test_what_is_over_by_tomorrow_is_not() -> None:
    assert durable.kind_of("The demo is on 27 May at 10:00.", DAY) is None or durable.is_over(
        "Demo on 2026-05-27", DAY
    )
    assert durable.kind_of("Demo on 2026-05-27 at 10:00", DAY) is None
    assert durable.kind_of("Demo on 2026-06-27 at 10:00", DAY) == "date"


def test_a_story_is_no_statement() -> None:
    assert durable.kind_of("Priya is vegetarian. " * 40, DAY) is None
