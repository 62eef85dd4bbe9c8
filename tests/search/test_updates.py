"""Newer statements before older ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.index.base import Candidate
from commonplace.search import order, query
from commonplace.search.order import COMPARED, GAP
from commonplace.search.ranking import Ranked

QUESTION = "How many sources are in my Zotero library?"
OLD = "**User:** My Zotero library has 45 sources, tagged by theme."
NEW = "**User:** I've now added 52 sources to my Zotero library."


def ranked(*said: tuple[str, float], note: int = 1, turns: float = 0.0) -> list[Ranked]:
    """Passages of one note in the order of their lines, sorted by score."""
    items = [
        Ranked(Candidate(line, note, 1, line, line, text, turns), score, {"words": score}, score)
        for line, (text, score) in enumerate(said, 1)
    ]
    return sorted(items, key=lambda item: -item.score)


def first(found: list[Ranked]) -> str:
    return found[0].candidate.text


def lifted(question: str, *said: tuple[str, float], days: dict[int, str | None] | None = None) -> str:
    return first(order.lift(ranked(*said), query.parse(question), days or {}))


def test_the_newer_value_goes_before_the_older() -> None:
    found = order.lift(ranked((OLD, 0.9), (NEW, 0.7)), query.parse(QUESTION), {})
    assert first(found) == NEW
    assert found[0].score > found[1].score
    assert sum(found[0].parts.values()) == pytest.approx(found[0].score)
    assert found[0].parts["update"] == pytest.approx(0.2, abs=0.001)


def test_a_newer_one_that_is_first_stays() -> None:
    assert lifted(QUESTION, (OLD, 0.7), (NEW, 0.9)) == NEW


def test_what_is_no_update_stays_behind() -> None:
    for newer, why in [
        ("**User:** My Zotero library has 52 sources.", "speaks of no change"),
        ("**User:** I've now added 45 sources to my Zotero library.", "the same value"),
        ("**User:** I've now added many sources to my Zotero library.", "no value"),
        ("**User:** I've now added 52 pictures to the gallery.", "about something else"),
        ("**Assistant:** You have now added 52 sources to your Zotero library.", "said by the assistant"),
    ]:
        assert lifted(QUESTION, (OLD, 0.9), (newer, 0.7)) == OLD, why


def test_what_stands_before_is_no_update() -> None:
    assert lifted(QUESTION, (NEW, 0.7), (OLD, 0.9)) == OLD


def test_the_day_tells_which_note_is_newer() -> None:
    old, new = ranked((OLD, 0.9)), ranked((NEW, 0.7), note=2)
    new = [new[0]._replace(candidate=new[0].candidate._replace(id=9))]
    question = query.parse(QUESTION)
    assert first(order.lift([*old, *new], question, {1: "2026-01-01", 9: "2026-02-01"})) == NEW
    assert first(order.lift([*old, *new], question, {1: "2026-02-01", 9: "2026-01-01"})) == OLD
    assert first(order.lift([*old, *new], question, {1: "2026-01-01", 9: "2026-01-01"})) == OLD
    assert first(order.lift([*old, *new], question, {})) == OLD


def test_too_far_below_is_too_weak() -> None:
    assert lifted(QUESTION, (OLD, 0.9), (NEW, 0.9 - GAP - 0.01)) == OLD


def test_plain_notes_are_statements_of_their_owner() -> None:
    old, new = "The API quota is 1,000 calls a day.", "The API quota was raised to 1,200 calls a day."
    assert lifted("what is the API quota", (old, 0.9), (new, 0.6)) == new


def test_people_among_themselves_do_not_update_each_other() -> None:
    said = (("Ann: I have 45 books now.", 0.9), ("Bob: I have now 52 books.", 0.7))
    found = order.lift(ranked(*said, turns=1.0), query.parse("how many books"), {})
    assert first(found) == said[0][0]


def test_chinese_is_understood() -> None:
    old, new = "每周跑步目标是20公里。", "每周跑步目标现在改为30公里。"
    assert lifted("我每周的跑步目标是多少公里？", (old, 0.9), (new, 0.7)) == new
    assert lifted("我每週的跑步目標是多少公里？", (old, 0.9), (new, 0.7)) == new


def test_only_values_are_updated() -> None:
    for question, asks in [
        (QUESTION, True),
        ("What is the deadline?", True),
        ("When is my call?", True),
        ("会议是什么时候？", True),
        ("How many days passed between both?", False),
        ("两次相隔多少天？", False),
        ("Tell me about the library", False),
        ("Can you list the order of events?", False),
    ]:
        assert order.asks_for_value(query.parse(question)) is asks


def test_a_passage_of_digits_alone_is_read_without_going_back() -> None:
    for text in ["1" * 4000, "1," * 2000, "十" * 4000, "1:" * 2000, "1.1." * 1000]:
        said = (("The quota is 5. " + text, 0.9), ("The quota is now 6. " + text, 0.7))
        assert lifted("what is the quota", *said) in {said[0][0], said[1][0]}, text


@given(st.lists(st.tuples(st.text(max_size=60), st.floats(0, 1)), max_size=COMPARED + 5), st.text(max_size=40))
def test_nothing_is_lost_and_scores_fall(said: list[tuple[str, float]], question: str) -> None:
    before = ranked(*said)
    found = order.lift(before, query.parse(question), {})
    assert sorted(item.candidate.id for item in found) == sorted(item.candidate.id for item in before)
    head = found[:COMPARED]
    assert [item.score for item in head] == sorted((item.score for item in head), reverse=True)
