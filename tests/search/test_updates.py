"""Newer statements before older ones."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.index.base import Candidate, Traits
from commonplace.markdown.turns import speaker
from commonplace.search import query, updates
from commonplace.search.ranking import Ranked
from commonplace.search.updates import COMPARED, GAP

QUESTION = "How many sources are in my Zotero library?"
OLD = "**User:** My Zotero library has 45 sources, tagged by theme."
NEW = "**User:** I've now added 52 sources to my Zotero library."


def ranked(*said: tuple[str, float], note: int = 1, turns: float = 0.0) -> list[Ranked]:
    """Passages of one note in the order of their lines, sorted by score."""
    items = [
        Ranked(
            Candidate(line, note, 1, line, line, text, turns, traits=Traits(speaker(text) or "")),
            score,
            {"words": score},
            score,
        )
        for line, (text, score) in enumerate(said, 1)
    ]
    return sorted(items, key=lambda item: -item.score)


def dated(item: Ranked, day: str | None) -> Ranked:
    own = item.candidate
    return item._replace(candidate=own._replace(source=own.source._replace(date=day)))


def first(found: list[Ranked]) -> str:
    return found[0].candidate.text


def lifted(question: str, *said: tuple[str, float]) -> str:
    return first(updates.lift(ranked(*said), query.parse(question)))


def test_the_newer_value_goes_before_the_older() -> None:
    found = updates.lift(ranked((OLD, 0.9), (NEW, 0.7)), query.parse(QUESTION))
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


def test_what_is_said_of_another_name_is_no_update() -> None:
    old = "- The Delft wave starts on 7 April."
    for newer, stays in [
        ("- The Breda wave now starts on 22 June, after it was moved.", True),
        ("- The Delft wave now starts on 22 June, after it was moved.", False),
    ]:
        found = lifted("When does the Delft wave start?", (old, 0.9), (newer, 0.7))
        assert (found == old) is stays


def test_what_stands_before_is_no_update() -> None:
    assert lifted(QUESTION, (NEW, 0.7), (OLD, 0.9)) == OLD


def test_the_day_tells_which_note_is_newer() -> None:
    old, new = ranked((OLD, 0.9)), ranked((NEW, 0.7), note=2)
    new = [new[0]._replace(candidate=new[0].candidate._replace(id=9))]
    question = query.parse(QUESTION)
    for before, after, wanted in [
        ("2026-01-01", "2026-02-01", NEW),
        ("2026-02-01", "2026-01-01", OLD),
        ("2026-01-01", "2026-01-01", OLD),
        (None, None, OLD),
    ]:
        assert first(updates.lift([dated(old[0], before), dated(new[0], after)], question)) == wanted


def test_too_far_below_is_too_weak() -> None:
    assert lifted(QUESTION, (OLD, 0.9), (NEW, 0.9 - GAP - 0.01)) == OLD


def test_plain_notes_are_statements_of_their_owner() -> None:
    old, new = "The API quota is 1,000 calls a day.", "The API quota was raised to 1,200 calls a day."
    assert lifted("what is the API quota", (old, 0.9), (new, 0.6)) == new


def test_people_among_themselves_do_not_update_each_other() -> None:
    said = (("Ann: I have 45 books now.", 0.9), ("Bob: I have now 52 books.", 0.7))
    found = updates.lift(ranked(*said, turns=1.0), query.parse("how many books"))
    assert first(found) == said[0][0]


def test_chinese_is_understood() -> None:
    old, new = "每周跑步目标是20公里。", "每周跑步目标现在改为30公里。"
    assert lifted("我每周的跑步目标是多少公里？", (old, 0.9), (new, 0.7)) == new
    assert lifted("我每週的跑步目標是多少公里？", (old, 0.9), (new, 0.7)) == new


def test_a_question_for_what_once_was_leaves_the_order() -> None:
    assert not updates.asks_for_newest(query.parse("How many sources did my library have before?"))
    assert not updates.asks_for_newest(query.parse("你以前在哪里上班？"))
    assert updates.asks_for_newest(query.parse("How many sources are in my library?"))


def test_a_span_between_two_events_is_no_value() -> None:
    old, new = (
        "The trip took 4 days.",
        "The trip has been changed, it takes 6 days, said the agency in Bergen.",
    )
    assert lifted("How many days does the trip take?", (old, 0.9), (new, 0.6)) == new
    assert lifted("How many days passed between both trips?", (old, 0.9), (new, 0.3)) == old


PROBES = tomllib.loads((Path(__file__).parent / "updates.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """All pairs of `updates.toml` in one memory, each statement in a note of its day."""
    root = tmp_path_factory.mktemp("updates")
    (root / "memory").mkdir()
    for at, pair in enumerate(PROBES["pair"]):
        for month, key in (("01", "old"), ("03", "new"), ("04", "beside")):
            file = root / f"memory/2026-{month}-{at % 28 + 1:02}.md"
            with file.open("a", encoding="utf-8") as note:
                note.write(f"\n{pair[key]}\n")
    with Memory.open(root) as opened:
        opened.sync()
        yield opened


def test_of_forty_pairs_the_newer_goes_first(memory: Memory) -> None:
    newer = beside = 0
    for pair in PROBES["pair"]:
        texts = [hit.text for hit in memory.search(pair["question"], min_score=0.0, limit=30).hits]
        at = {
            key: next((n for n, text in enumerate(texts) if pair[key] in text), 99)
            for key in ("old", "new", "beside")
        }
        newer += at["new"] < at["old"]
        beside += at["beside"] < min(at["old"], at["new"])
    assert newer >= 35
    assert beside <= 1


@pytest.mark.parametrize("probe", PROBES["past"], ids=lambda probe: str(probe["question"]))
def test_what_once_was_goes_first_where_it_is_asked_for(memory: Memory, probe: dict[str, str]) -> None:
    texts = [hit.text for hit in memory.search(probe["question"], min_score=0.0, limit=30).hits]
    assert any(probe["first"] in text for text in texts[:2])


def test_a_passage_of_digits_alone_is_read_without_going_back() -> None:
    for text in ["1" * 4000, "1," * 2000, "十" * 4000, "1:" * 2000, "1.1." * 1000]:
        said = (("The quota is 5. " + text, 0.9), ("The quota is now 6. " + text, 0.7))
        assert lifted("what is the quota", *said) in {said[0][0], said[1][0]}, text


@given(
    st.lists(st.tuples(st.text(max_size=60), st.floats(0, 1)), max_size=COMPARED + 5), st.text(max_size=40)
)
def test_nothing_is_lost_and_scores_fall(said: list[tuple[str, float]], question: str) -> None:
    before = ranked(*said)
    found = updates.lift(before, query.parse(question))
    assert sorted(item.candidate.id for item in found) == sorted(item.candidate.id for item in before)
    head = found[:COMPARED]
    assert [item.score for item in head] == sorted((item.score for item in head), reverse=True)


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        ("组会是每周二下午三点。", "组会改到周四上午十点。", "组会几点"),
        ("组会是每周二下午三点。", "组会改到周四上午十点。", "组会现在几点"),
        ("住在杭州滨江区。", "搬家了，现在住在上海徐汇区。", "我住在哪里"),
        (
            "The deadline for the Gdansk integration is 30 April.",
            "The Gdansk deadline slips to 29 May, since the customs interface is late.",
            "What is the deadline for the Gdansk integration?",
        ),
        (
            "Maja's cello lesson is on Thursdays at 16:30.",
            "Maja's cello lesson moved from Thursday to Saturday.",
            "When is Maja's cello lesson?",
        ),
    ],
)
def test_a_later_day_goes_before_an_earlier_one(tmp_path: Path, old: str, new: str, question: str) -> None:
    for day, text in (("2026-02-01", old), ("2026-03-01", new)):
        path = tmp_path / f"memory/{day}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f"# {day}\n\n- 10:00 Called mum; 买了菜。\n- {text}\n- 11:30 Fixed the bike.\n", "utf-8"
        )
    with Memory.open(tmp_path) as memory:
        memory.sync()
        hits = [hit.text for hit in memory.search(question).hits]
    places = [next(at for at, hit in enumerate(hits) if text in hit) for text in (new, old)]
    assert places == sorted(places)


def test_long_term_memory_is_older_than_a_day_that_speaks_of_a_change(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n- 过敏药吃的是氯雷他定。\n", "utf-8")
    (tmp_path / "memory").mkdir()
    for day, drug in (("2026-01-01", "左西替利嗪"), ("2026-03-01", "西替利嗪")):
        (tmp_path / f"memory/{day}.md").write_text(f"# {day}\n\n- 过敏药从今天起换成{drug}。\n", "utf-8")
    with Memory.open(tmp_path) as memory:
        memory.sync()
        for question in ("我现在吃什么过敏药", "我的过敏药是什么"):
            assert memory.search(question).hits[0].path == "memory/2026-03-01.md", question
