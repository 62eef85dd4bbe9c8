"""Scores computed by hand, and the gate."""

from __future__ import annotations

import math
from datetime import date

import pytest

from commonplace.index.base import Candidate, traits
from commonplace.markdown.turns import read
from commonplace.search import fusion, query, ranking
from commonplace.search.ranking import Evidence, RankSettings
from commonplace.search.terms import Terms, idf
from commonplace.types import Passage


def candidate(number: int, text: str = "some words", section: int = 1, turns: float = 0.0) -> Candidate:
    speakers = read(text.split("\n")).of(1, text.count("\n") + 1, chat=turns > 0)
    passage = Passage(section, number, number, text, speakers=speakers)
    return Candidate(number, 1, section, number, number, text, turns, traits=traits(passage))


def evidence(question: str = "plain question", **named: object) -> Evidence:
    values: dict[str, object] = {
        "terms": Terms(ideal=10.0, asked=2, known=2, content=2, passages=5000),
        "lexical": {},
        "semantic": {},
    }
    return Evidence(query.parse(question), **{**values, **named})  # type: ignore[arg-type]


def scores(found: list[ranking.Ranked]) -> dict[int, float]:
    """Scores without what length costs."""
    return {item.candidate.id: round(item.score - item.parts.get("length", 0.0), 4) for item in found}


def test_words_and_meaning_are_added() -> None:
    found = ranking.rank(
        [candidate(1), candidate(5)], evidence(lexical={1: 5.0}, semantic={1: 0.4, 5: 0.5}), RankSettings()
    )
    assert scores(found) == {1: round(0.68 * 0.4 + 0.32 * 0.5, 4), 5: 0.34}
    assert [item.candidate.id for item in found] == [1, 5]
    for item in found:
        assert sum(item.parts.values()) == pytest.approx(item.score)


def test_without_vectors_words_count_whole() -> None:
    assert scores(ranking.rank([candidate(1)], evidence(lexical={1: 5.0}), RankSettings())) == {1: 0.5}


def test_chinese_is_ranked_by_words() -> None:
    found = ranking.rank(
        [candidate(1, "只有中文")], evidence("plain", lexical={1: 5.0}, semantic={1: 0.9}), RankSettings()
    )
    assert scores(found) == {1: 0.5}


def test_a_passage_without_a_vector_is_neither_lost_nor_first() -> None:
    found = scores(
        ranking.rank(
            [candidate(1), candidate(5)],
            evidence(lexical={1: 8.0, 5: 8.0}, semantic={5: 0.6}),
            RankSettings(),
        )
    )
    assert 0.3 < found[1] < found[5]


def test_neighbours_count_in_conversations_only() -> None:
    said = {1: 10.0, 2: 1.0}
    facts = ranking.rank([candidate(1), candidate(2)], evidence(lexical=said), RankSettings())
    talk = ranking.rank(
        [candidate(1, turns=1.0), candidate(2, turns=1.0)], evidence(lexical=said), RankSettings()
    )
    assert scores(facts)[2] == 0.1
    usual = (0.6 * 0.1 + 0.6 * 1.0 + 0.15 * 1.0 + 0.15 * 0.1) / 2  # what turns get as turns
    assert scores(talk)[2] == pytest.approx(0.1 + 0.6 * 1.0 + 0.15 * 1.0 - usual, abs=1e-2)
    assert talk[1].parts["section"] == pytest.approx(0.15 * 1.0)
    assert talk[0].parts["conversation"] == talk[1].parts["conversation"] == pytest.approx(-usual, abs=1e-2)


def test_a_chat_does_not_stand_above_a_plain_note_as_such() -> None:
    talk = [candidate(number, turns=1.0) for number in (1, 2, 3)]
    note = candidate(20, section=2)
    found = ranking.rank([*talk, note], evidence(lexical={1: 4.0, 2: 4.0, 3: 4.0, 20: 6.0}), RankSettings())
    assert found[0].candidate is note


def test_what_only_turns_get_puts_none_before_a_note_that_is_as_relevant() -> None:
    said = [candidate(number, turns=1.0) for number in (1, 2)]
    notes = [candidate(20, section=2), candidate(21, section=2)]
    ranked = [
        ranking.Ranked(said[0], 0.9, {"words": 0.4, "late interaction": 0.5}, 0.4),
        ranking.Ranked(said[1], 0.7, {"words": 0.3, "late interaction": 0.4}, 0.3),
        ranking.Ranked(notes[0], 0.5, {"words": 0.5}, 0.5),
        ranking.Ranked(notes[1], 0.1, {"words": 0.1}, 0.1),
    ]
    order = ranking.behind_others(ranked)
    assert [item.candidate.id for item in order] == [20, 1, 2, 21]
    assert all(math.fsum(item.parts.values()) == pytest.approx(item.score) for item in order)
    poor = [ranked[0], ranked[1], ranked[2]._replace(relevance=0.3, score=0.3)]
    assert ranking.behind_others(poor) == poor


def test_a_year_of_which_nearly_all_notes_are_tells_little() -> None:
    own = [candidate(number, section=number) for number in range(1, 11)]
    dates = dict.fromkeys(range(1, 10), "2026-05-01") | {10: None}
    for question, least, most in (
        ("what do I earn in 2026?", 0.0, 0.05),
        ("what was on 1 May 2026?", 0.2, 0.3),
    ):
        days = query.days(query.parse(question), date(2026, 11, 26))
        known = evidence(question, lexical={one.id: 5.0 for one in own}, dates=dates, days=days)
        parts = ranking.rank(own, known, RankSettings())[0].parts
        assert least <= parts["date"] <= most


def test_of_two_passages_that_answer_alike_the_shorter_one_is_first() -> None:
    long, short = candidate(1, "the boat " * 20), candidate(2, "the boat " * 5)
    found = ranking.rank([long, short], evidence(lexical={1: 5.0, 2: 5.0}), RankSettings())
    assert [item.candidate for item in found] == [short, long]
    assert [item.parts["length"] for item in found] == pytest.approx([-0.00016 * 45, -0.00016 * 180])


def test_length_costs_no_more_than_a_share_of_what_a_passage_answers() -> None:
    long, nothing = candidate(1, "the boat " * 900), candidate(2, "the boat " * 5)
    found = ranking.rank([long, nothing], evidence(lexical={1: 1.0}), RankSettings())
    assert [item.score for item in found] == pytest.approx([0.07, 0.0], abs=1e-6)


def test_a_turn_that_asks_gives_way_to_one_that_answers() -> None:
    asked, answered = (
        candidate(1, turns=1.0, text="A: the boat?"),
        candidate(2, turns=1.0, text="B: the boat."),
    )
    found = ranking.rank([asked, answered], evidence(lexical={1: 5.0, 2: 5.0}), RankSettings())
    assert [item.candidate for item in found] == [answered, asked]
    assert "asks" not in found[0].parts


def test_a_conversation_counts_what_is_further_away_less() -> None:
    talk = [candidate(number, turns=1.0) for number in (1, 2, 3)]
    found = ranking.rank(talk, evidence(lexical={1: 10.0, 2: 1.0, 3: 1.0}), RankSettings(section=0.0))
    parts = {item.candidate.id: item.parts["neighbours"] for item in found}
    assert parts[2] == pytest.approx(0.6 * 1.0, abs=1e-4)
    assert parts[3] == pytest.approx(0.6 * 0.1 + 0.3 * 1.0, abs=1e-4)
    assert parts[1] == pytest.approx(0.6 * 0.1 + 0.3 * 0.1, abs=1e-4)


def test_the_best_of_a_section_speaks_for_the_others() -> None:
    talk = [candidate(1, turns=1.0), candidate(9, turns=1.0), candidate(20, section=2, turns=1.0)]
    found = ranking.rank(talk, evidence(lexical={1: 10.0, 9: 2.0, 20: 2.0}), RankSettings())
    parts = {item.candidate.id: item.parts.get("section", 0.0) for item in found}
    assert parts == pytest.approx({1: 0.15 * 0.2, 9: 0.15 * 1.0, 20: 0.0})
    apart = [candidate(1, turns=1.0), candidate(2, section=2, turns=1.0)]
    said = {1: 10.0, 2: 1.0}
    assert scores(ranking.rank(apart, evidence(lexical=said), RankSettings()))[2] == 0.1


def test_who_said_it() -> None:
    lines = {1: "**User:** I like tea", 2: "**Assistant:** tea is nice"}
    both = [candidate(n, text, section=n) for n, text in lines.items()]
    mine = ranking.rank(both, evidence("which tea do I like", lexical={1: 1.0, 2: 1.0}), RankSettings())
    assert scores(mine) == {1: 0.2, 2: 0.1}
    theirs = ranking.rank(both, evidence("which tea is nice", lexical={1: 1.0, 2: 1.0}), RankSettings())
    assert scores(theirs) == {1: 0.15, 2: 0.1}  # what the owner said counts a little by itself


def test_a_named_person_must_speak_often_to_be_one() -> None:
    often = [candidate(n, f"- Ann: line {n}", section=n) for n in range(1, 10)]
    said = {c.id: 1.0 for c in often}
    assert set(
        scores(ranking.rank(often, evidence("what did Ann say", lexical=said), RankSettings())).values()
    ) == {0.2}
    rare = often[:3]
    assert set(
        scores(ranking.rank(rare, evidence("what did Ann say", lexical=said), RankSettings())).values()
    ) == {0.1}


def test_other_fusions() -> None:
    both = evidence(
        lexical={1: 4.0, 2: 2.0},
        semantic={1: 0.2, 2: 0.6},
        dates={1: "2026-01-01", 2: None},
        today=date(2026, 1, 31),
    )
    by_score = ranking.rank([candidate(1), candidate(2)], both, RankSettings(fusion="scores", recency=0.2))
    assert scores(by_score) == {1: round(0.68 * 0.2 + 0.3 + 0.1, 4), 2: round(0.68 * 0.6 + 0.15, 4)}
    by_rank = ranking.rank(
        [candidate(1), candidate(2)], both, RankSettings(fusion="ranks", vector=0.5, lexical=0.5)
    )
    assert by_rank[0].score == by_rank[1].score


def test_rank_fusion_by_hand() -> None:
    fused, _ = fusion.ranks([({1: 9.0, 2: 8.0}, 1.0), ({2: 0.5}, 1.0)], k=60)
    assert fused[2] == pytest.approx(0.5 * 61 / 62 + 0.5)
    assert fused[1] == pytest.approx(0.5)
    assert fusion.normalize({1: 4.0, 2: 1.0}) == {1: 1.0, 2: 0.25}
    assert fusion.normalize({}) == {}


def test_idf_by_hand() -> None:
    assert idf(0, 999) == pytest.approx(7.600, abs=1e-3)
    assert idf(999, 999) == 1e-6
    assert idf(0, 9) == pytest.approx(math.log(20), abs=1e-3)  # a small memory
    assert idf(9, 9) == pytest.approx(math.log(1 + 0.5 / 9.5))
