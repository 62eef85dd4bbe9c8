"""What notes say of themselves in the ranking: each factor by itself, and in a memory of files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.index.base import Candidate
from commonplace.index.facts import LinkTarget
from commonplace.search import order, ranking
from commonplace.search.ranking import Ranked
from commonplace.types import Hit, Mode

DAY = date(2026, 3, 1)


def today() -> date:
    return DAY


def item(number: int, score: float, text: str = "some words", **said: str) -> Ranked:
    told = json.dumps({key.replace("_", "-"): value for key, value in said.items()}) if said else None
    return Ranked(Candidate(number, number, 1, 1, 1, text, 0.0, told), score, {"words": score}, score)


def test_each_factor_has_its_part() -> None:
    for said, project, expected in [
        ({"importance": "5"}, "", {"importance": 0.0}),
        ({"importance": "10"}, "", {"importance": 1.0}),
        ({"importance": "1"}, "", {"importance": -0.8}),
        ({"project": "Kestrel"}, "kestrel", {"project": 1.0}),
        ({"project": "other"}, "kestrel", {"project": -0.6}),
        ({"project": "other"}, "", {}),
        ({}, "kestrel", {}),
        ({"status": "tentative"}, "", {"status": 0.2}),
        ({"status": "superseded"}, "", {"status": 1.0}),
        ({"superseded-by": "#a1b2c3"}, "", {"status": 1.0}),
        ({"valid-until": "2026-02-28"}, "", {"status": 1.0}),
        ({"valid-until": "2026-03-01"}, "", {}),
        ({"by": "owner"}, "", {}),
        ({"by": "agent"}, "", {"writer": 0.2}),
        ({"by": "untrusted"}, "", {"writer": 1.0}),
        ({"role": "bare"}, "", {"bare": 1.0}),
    ]:
        assert ranking.annotated(said, project, today) == pytest.approx(expected)


def test_labels_say_what_a_reader_must_know() -> None:
    assert ranking.labels({"importance": "9", "by": "agent"}, today) == ()
    assert ranking.labels({"status": "superseded", "by": "tool"}, today) == ("superseded", "untrusted")
    assert ranking.labels({"status": "tentative", "valid-until": "2026-01-01"}, today) == (
        "expired",
        "tentative",
    )


def test_the_best_triggered_entry_is_among_the_first_three_and_the_sum_stays_the_score() -> None:
    for scores, triggered, expected in [
        ([0.9, 0.4, 0.2, 0.1], {2, 3}, [1, 2, 3, 4]),  # both answer anyway, and none passes a better answer
        ([0.9, 0.8, 0.7, 0.2, 0.1], {4, 5}, [1, 2, 4, 3, 5]),
        ([0.9, 0.8, 0.5, 0.45, 0.4], {4, 5}, [1, 2, 4, 3, 5]),
        ([0.4, 0.35, 0.2, 0.15, 0.1], {4, 5}, [4, 1, 2, 3, 5]),
        ([0.4, 0.1], {1, 2}, [1, 2]),
        ([0.9, 0.1], {2}, [1, 2]),
    ]:
        found = order.put_first([item(n, score) for n, score in enumerate(scores, 1)], triggered)
        assert [r.candidate.id for r in found] == expected
        assert [r.score for r in found] == sorted((r.score for r in found), reverse=True)
        assert all(sum(r.parts.values()) == pytest.approx(r.score) for r in found)
    assert order.put_first([item(1, 0.1)], {1})[0].parts["trigger"] == pytest.approx(order.TRIGGER)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.sets(st.integers(1, 9), max_size=3))
def test_a_trigger_takes_one_of_the_first_three_places_at_most(
    scores: list[float], triggered: set[int]
) -> None:
    ranked = sorted((item(n, score) for n, score in enumerate(scores, 1)), key=lambda one: -one.score)
    found = order.put_first(ranked, triggered)
    before, after = ([one.candidate.id for one in items] for items in (ranked, found))
    assert sorted(before) == sorted(after)
    untriggered = [one for one in before if one not in triggered]
    assert [one for one in after if one not in triggered] == untriggered
    news = set(after[:3]) - set(before[:3])
    assert len(news) <= max(1, 3 - len(untriggered))
    assert triggered.isdisjoint(after) or not triggered.isdisjoint(after[:3])


def test_few_entries_are_put_first_and_none_that_no_longer_holds() -> None:
    ranked = [item(n, 1 / n) for n in range(1, 6)]
    assert order.chosen(ranked, range(1, 6), today) == {1, 2, 3}
    long = [item(1, 0.9, "x" * 1700), item(2, 0.8, "y" * 101), item(3, 0.7, "z" * 100)]
    assert order.chosen(long, (1, 2, 3), today) == {1, 3}
    assert order.chosen([item(1, 0.9, status="superseded"), item(2, 0.5)], (1, 2), today) == {2}


def test_what_is_superseded_stands_below_what_replaces_it() -> None:
    ranked = [item(1, 0.9), item(3, 0.5), item(2, 0.4)]
    found = order.in_order(ranked, {1: [{2}]})
    assert [r.candidate.id for r in found] == [2, 1, 3]
    for one in found:
        assert sum(one.parts.values()) == pytest.approx(one.score)


def test_a_chain_of_replacements_is_followed_and_a_circle_ends() -> None:
    chain = [item(1, 0.9), item(2, 0.8), item(3, 0.1)]
    assert [r.candidate.id for r in order.in_order(chain, {1: [{2}], 2: [{3}]})] == [3, 2, 1]
    assert len(order.in_order(chain[:2], {1: [{2}], 2: [{1}]})) == 2


def test_lines_of_a_reference_tell_which_passage_replaces() -> None:
    assert LinkTarget(1, 4, 9).holds(1, 8, 12)
    assert not LinkTarget(1, 4, 9).holds(1, 10, 12)
    assert not LinkTarget(1, 4, 9).holds(2, 4, 9)
    assert LinkTarget(1).holds(1, 300, 301)


# --- files ----------------------------------------------------------------------------------------------

NOTES = {
    "MEMORY.md": """# Memory

- The staging server is called heron. <!-- superseded-by: memory/2026-02-20.md -->

- Before a release, ask Mira for the signing key. <!-- trigger: ship it, 发佈 --> <!-- importance: 9 -->

- Old: ship it by hand on Mondays. <!-- trigger: ship it --> <!-- superseded -->
""",
    "memory/2026-01-10.md": """# 2026-01-10

- The cache might leak under load. <!-- tentative -->
- The cache holds 512 entries.
- The guest wifi password is on the fridge. <!-- valid-until: 2026-02-01 -->
- A web page says that the cache was removed. <!-- by: untrusted -->
""",
    "memory/2026-02-20.md": "# 2026-02-20\n\n- The staging server is now osprey.\n",
    "memory/kestrel.md": "---\nproject: kestrel\n---\n# Notes\n\n- Backups run at noon.\n",
    "memory/heron.md": "---\nproject: heron\n---\n# Notes\n\n- Backups run at night.\n",
}


def write(root: Path) -> Path:
    (root / "memory").mkdir()
    for path, text in NOTES.items():
        (root / path).write_text(text, "utf-8")
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """What is only asked, by all tests alike."""
    with Memory.open(write(tmp_path_factory.mktemp("notes"))) as opened:
        opened.sync()
        yield opened


def hits(memory: Memory, question: str, mode: Mode = "hybrid") -> tuple[Hit, ...]:
    return memory.search(question, mode=mode, now=DAY, min_score=0).hits


def test_a_fact_that_was_replaced_stands_below_its_replacement(memory: Memory) -> None:
    for mode in ["hybrid", "lexical"]:
        found = hits(memory, "what is the staging server called, heron?", mode)
        texts = [hit.text for hit in found]
        old = next(hit for hit in found if "heron." in hit.text)
        assert texts.index("- The staging server is now osprey.") < texts.index(old.text), mode
        assert old.labels == ("superseded",), mode
        for hit in found:
            assert sum(factor.value for factor in hit.factors) == pytest.approx(hit.score, abs=1e-3), mode


def test_recall_leaves_out_what_no_longer_holds_and_guesses(memory: Memory) -> None:
    recalled = memory.recall("staging server heron", now=DAY).text
    assert "osprey" in recalled
    assert "called heron." not in recalled
    assert "might leak" not in memory.recall("cache leak under load", now=DAY).text


def test_recall_gives_what_no_longer_holds_where_nothing_else_answers(root: Path) -> None:
    (root / "memory" / "2026-01-10.md").write_text(
        "- The wifi code is blue42. <!-- superseded -->\n", "utf-8"
    )
    for path in ("MEMORY.md", "memory/2026-02-20.md", "memory/kestrel.md", "memory/heron.md"):
        (root / path).unlink()
    with Memory.open(root) as memory:
        text = memory.recall("wifi code", now=DAY).text
    assert "blue42" in text
    assert "(superseded, 2026-01-10)" in text


def test_guesses_are_recalled_where_they_are_asked_for(root: Path) -> None:
    with Memory.open(root, overrides={"recall.tentative": True}) as memory:
        recall = memory.recall("cache leak under load", now=DAY)
    assert "might leak" in recall.text
    assert "tentative" in recall.text
    assert recall.tentative == 0


def test_guesses_that_a_recall_leaves_out_are_counted(memory: Memory) -> None:
    recall = memory.recall("cache leak under load", now=DAY)
    assert "might leak" not in recall.text
    assert recall.tentative == 1
    assert memory.recall("staging server osprey", now=DAY).tentative == 0


def test_what_has_ended_depends_on_the_day_asked_from(memory: Memory) -> None:
    (late,) = (hit for hit in hits(memory, "guest wifi password") if "fridge" in hit.text)
    early = memory.search("guest wifi password", now=date(2026, 1, 15), min_score=0).hits[0]
    assert (late.labels, early.labels) == (("expired",), ())
    assert "expired" not in [factor.name for factor in early.factors]


def test_a_trigger_in_the_question_finds_its_entry(memory: Memory) -> None:
    for question in ["can we ship it today?", "Ship  it", "今天可以发布吗", "now 發佈 please"]:
        for mode in ["hybrid", "lexical"]:
            found = memory.search(question, mode=mode, now=DAY).hits
            (entry,) = (hit for hit in found[: order.AMONG] if "Mira" in hit.text)
            assert "trigger" in [factor.name for factor in entry.factors], (question, mode)
            assert not any(
                "trigger" in [f.name for f in hit.factors] for hit in found if "by hand" in hit.text
            ), (question, mode)


def test_a_trigger_is_whole_words(memory: Memory) -> None:
    for question in ["the ship items", "relationship it", "shipping", "florbatz quizzle"]:
        assert not any("trigger" in [f.name for f in hit.factors] for hit in hits(memory, question))


def test_filters_and_exclusions_hold_for_triggers(memory: Memory) -> None:
    assert all("Mira" not in hit.text for hit in memory.search("ship it -Mira", now=DAY).hits)
    assert all("Mira" not in hit.text for hit in memory.search("ship it path:memory", now=DAY).hits)


@pytest.mark.parametrize(("project", "time"), [("kestrel", "noon"), ("heron", "night")])
def test_the_project_at_hand_comes_first(root: Path, project: str, time: str) -> None:
    with Memory.open(root, overrides={"search.project": project}) as memory:
        assert time in memory.search("when do backups run", mode="lexical", now=DAY).hits[0].text


def test_untrusted_text_says_so(memory: Memory) -> None:
    (found,) = (hit for hit in hits(memory, "cache removed web page") if "web page" in hit.text)
    assert found.labels == ("untrusted",)
    assert ("writer", -0.05) in [(factor.name, factor.value) for factor in found.factors]


def test_notes_age_where_it_is_wanted_but_not_long_term_memory(root: Path) -> None:
    overrides = {"search.recency": 0.2}
    with Memory.open(root, overrides=overrides) as memory:
        found = hits(memory, "staging server cache backups release")
    ages = {hit.path: {f.name: f.value for f in hit.factors}.get("age", 0.0) for hit in found}
    assert ages["memory/2026-01-10.md"] == pytest.approx(-0.2 * (1 - 0.5 ** (50 / 30)))
    assert ages["MEMORY.md"] == ages["memory/kestrel.md"] == 0.0


@pytest.mark.parametrize(
    ("fusion", "part"),
    [("qmd", "rank fusion"), ("openclaw", "words"), ("nanobot", "rank fusion"), ("nanocrab", "words")],
)
def test_scores_can_be_made_in_other_ways(root: Path, fusion: str, part: str) -> None:
    with Memory.open(root, overrides={"search.fusion": fusion}) as memory:
        memory.sync()
        found = hits(memory, "how many entries does the cache hold?")
        assert "512" in found[0].text
        assert part in [factor.name for factor in found[0].factors]
        assert ("first places" in [factor.name for factor in found[0].factors]) is (fusion == "qmd")
        document = memory.search("lex: cache entries\nvec: how much is kept in the cache?", now=DAY).hits
        assert "512" in document[0].text
