"""Scores computed by hand, and the gate."""

from __future__ import annotations

import math
from datetime import date

import pytest

from commonplace.index.base import Candidate
from commonplace.index.rows import traits
from commonplace.markdown.turns import read
from commonplace.search import fusion, query, ranking
from commonplace.search.ranking import Evidence, RankSettings
from commonplace.search.terms import idf
from commonplace.types import Passage

WEIGHTS = {
    "meaning": 0.68,
    "translated": 0.8,
    "length": -0.3,
    "speaker": 0.1,
    "asks": -0.03,
    "date": 0.25,
    "neighbours": 0.6,
    "section": 0.15,
    "words one by one": 1.7,
}
OURS = RankSettings(weights=WEIGHTS)


def candidate(number: int, text: str = "some words", section: int = 1, turns: float = 0.0) -> Candidate:
    speakers = read(text.split("\n")).of(1, text.count("\n") + 1, chat=turns > 0)
    passage = Passage(section, number, number, text, speakers=speakers)
    return Candidate(number, 1, section, number, number, text, turns, traits=traits(passage))


def evidence(question: str = "plain question", **named: object) -> Evidence:
    values: dict[str, object] = {
        "lexical": {},
        "semantic": {},
    }
    return Evidence(query.parse(question), **{**values, **named})  # type: ignore[arg-type]


def scores(found: list[ranking.Ranked]) -> dict[int, float]:
    """Scores without what length costs."""
    return {item.candidate.id: round(item.score - item.parts.get("length", 0.0), 4) for item in found}


def test_words_and_meaning_are_added() -> None:
    found = ranking.rank(
        [candidate(1), candidate(5)], evidence(lexical={1: 0.5}, semantic={1: 0.4, 5: 0.5}), RankSettings()
    )
    assert scores(found) == {1: round(0.68 * 0.4 + 0.32 * 0.5, 4), 5: 0.34}
    assert [item.candidate.id for item in found] == [1, 5]
    for item in found:
        assert sum(item.parts.values()) == pytest.approx(item.score)


def test_without_vectors_words_count_whole() -> None:
    assert scores(ranking.rank([candidate(1)], evidence(lexical={1: 0.5}), OURS)) == {1: 0.5}


def test_chinese_is_ranked_by_words() -> None:
    found = ranking.rank(
        [candidate(1, "只有中文")], evidence("plain", lexical={1: 0.5}, semantic={1: 0.9}), RankSettings()
    )
    assert scores(found) == {1: 0.5}


def test_a_passage_without_a_vector_is_neither_lost_nor_first() -> None:
    found = scores(
        ranking.rank(
            [candidate(1), candidate(5)],
            evidence(lexical={1: 0.8, 5: 0.8}, semantic={5: 0.6}),
            RankSettings(),
        )
    )
    assert 0.3 < found[1] < found[5]


def test_neighbours_count_in_conversations_only() -> None:
    said = {1: 1, 2: 0.1}
    facts = ranking.rank([candidate(1), candidate(2)], evidence(lexical=said), OURS)
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
    found = ranking.rank([*talk, note], evidence(lexical={1: 0.4, 2: 0.4, 3: 0.4, 20: 0.6}), OURS)
    assert found[0].candidate is note


def test_of_two_passages_that_answer_alike_the_shorter_one_is_first() -> None:
    long, short = candidate(1, "the boat " * 20), candidate(2, "the boat " * 5)
    found = ranking.rank([long, short], evidence(lexical={1: 0.5, 2: 0.5}), OURS)
    assert [item.candidate for item in found] == [short, long]
    assert [item.parts["length"] for item in found] == pytest.approx([-0.3 * 45 / 1875, -0.3 * 180 / 1875])


def test_length_costs_no_more_than_a_share_of_what_a_passage_answers() -> None:
    long, nothing = candidate(1, "the boat " * 900), candidate(2, "the boat " * 5)
    found = ranking.rank([long, nothing], evidence(lexical={1: 0.1}), OURS)
    assert [item.score for item in found] == pytest.approx([0.07, 0.0], abs=1e-6)


def test_a_turn_that_asks_gives_way_to_one_that_answers() -> None:
    asked, answered = (
        candidate(1, turns=1.0, text="A: the boat?"),
        candidate(2, turns=1.0, text="B: the boat."),
    )
    found = ranking.rank([asked, answered], evidence(lexical={1: 0.5, 2: 0.5}), OURS)
    assert [item.candidate for item in found] == [answered, asked]
    assert "asks" not in found[0].parts


def test_a_conversation_counts_what_is_further_away_less() -> None:
    talk = [candidate(number, turns=1.0) for number in (1, 2, 3)]
    found = ranking.rank(talk, evidence(lexical={1: 1, 2: 0.1, 3: 0.1}), OURS)
    parts = {item.candidate.id: item.parts["neighbours"] for item in found}
    assert parts[2] == pytest.approx(0.6 * 1.0, abs=1e-4)
    assert parts[3] == pytest.approx(0.6 * 0.1 + 0.3 * 1.0, abs=1e-4)
    assert parts[1] == pytest.approx(0.6 * 0.1 + 0.3 * 0.1, abs=1e-4)


def test_the_best_of_a_section_speaks_for_the_others() -> None:
    talk = [candidate(1, turns=1.0), candidate(9, turns=1.0), candidate(20, section=2, turns=1.0)]
    found = ranking.rank(talk, evidence(lexical={1: 1, 9: 0.2, 20: 0.2}), OURS)
    parts = {item.candidate.id: item.parts.get("section", 0.0) for item in found}
    assert parts == pytest.approx({1: 0.15 * 0.2, 9: 0.15 * 1.0, 20: 0.0})
    apart = [candidate(1, turns=1.0), candidate(2, section=2, turns=1.0)]
    said = {1: 1, 2: 0.1}
    assert scores(ranking.rank(apart, evidence(lexical=said), OURS))[2] == 0.1


def test_who_said_it() -> None:
    lines = {1: "**User:** I like tea", 2: "**Assistant:** tea is nice"}
    both = [candidate(n, text, section=n) for n, text in lines.items()]
    mine = ranking.rank(both, evidence("which tea do I like", lexical={1: 0.1, 2: 0.1}), OURS)
    assert scores(mine) == {1: 0.2, 2: 0.1}
    theirs = ranking.rank(both, evidence("which tea is nice", lexical={1: 0.1, 2: 0.1}), OURS)
    assert scores(theirs) == {1: 0.15, 2: 0.1}  # what the owner said counts a little by itself


def test_a_named_person_must_speak_often_to_be_one() -> None:
    often = [candidate(n, f"- Ann: line {n}", section=n) for n in range(1, 10)]
    said = {c.id: 0.1 for c in often}
    assert set(scores(ranking.rank(often, evidence("what did Ann say", lexical=said), OURS)).values()) == {
        0.2
    }
    rare = often[:3]
    assert set(scores(ranking.rank(rare, evidence("what did Ann say", lexical=said), OURS)).values()) == {0.1}


def test_other_fusions() -> None:
    both = evidence(
        lexical={1: 0.4, 2: 0.2},
        semantic={1: 0.2, 2: 0.6},
        today=date(2026, 1, 31),
    )
    dated = candidate(1)
    dated = dated._replace(source=dated.source._replace(date="2026-01-01"))
    by_score = ranking.rank([dated, candidate(2)], both, RankSettings(fusion="scores", recency=0.2))
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


def test_words_in_the_other_language_count_by_the_share_that_is_in_it() -> None:
    both = [candidate(1, "the sea at night"), candidate(5, "the 海 at 夜晚")]
    known = evidence(
        "夜晚的海", translated={1: 0.5, 5: 0.5}, semantic={1: 0.1, 5: 0.1}, served=("latin", "han")
    )
    words = {item.candidate.id: item.parts["translated"] for item in ranking.rank(both, known, OURS)}
    assert words[1] == pytest.approx(0.32 * 0.8 * 0.5)
    assert words[5] < words[1]


def test_words_one_by_one_count_against_the_best_turns() -> None:
    talk = [candidate(1, turns=1.0), candidate(5, section=2, turns=1.0), candidate(9, section=3)]
    known = evidence(lexical={1: 0.5, 5: 0.4, 9: 0.45}, similar=lambda _, __: {1: 0.2, 5: 0.4, 9: 0.9})
    found = ranking.rank(talk, known, OURS)
    assert [item.candidate.id for item in found] == [5, 9, 1]
    parts = {item.candidate.id: item.parts.get("words one by one") for item in found}
    assert parts == {1: pytest.approx(-0.17), 5: pytest.approx(0.17), 9: None}


def test_reference_stands_behind_own_notes_that_answer_alike() -> None:
    own, other = candidate(1), candidate(5)
    other = other._replace(source=other.source._replace(collection="docs"))
    known = evidence(lexical={1: 0.5, 5: 0.55}, reference={"docs"}, behind=0.1)
    found = ranking.rank([own, other], known, OURS)
    assert [item.candidate for item in found] == [own, other]
    assert found[1].parts["collection"] == -0.1


def test_a_word_that_is_repeated_counts_no_more_than_half_as_much_again() -> None:
    assert scores(ranking.rank([candidate(1)], evidence(lexical={1: 9.0}), OURS)) == {1: 1.5}


def test_meaning_in_another_language_counts_less_where_null_questions_reach_it() -> None:
    chinese = candidate(1, "\u53ea\u6709\u4e2d\u6587")
    for cosine, share in [(0.3, 0.6), (0.6, 1.0)]:
        known = evidence(semantic={1: cosine}, served=("latin", "han"))
        (found,) = ranking.rank([chinese], known, OURS)
        assert found.parts["meaning"] == pytest.approx(0.68 * cosine * share)


def test_the_weights_that_are_shipped_are_those_of_the_features() -> None:
    assert ranking.fitted().keys() >= WEIGHTS.keys() | {"importance", "project", "status", "writer", "bare"}
    assert len(ranking.fitted()) <= 14


def test_idf_by_hand() -> None:
    assert idf(0, 999) == pytest.approx(7.600, abs=1e-3)
    assert idf(999, 999) == 1e-6
    assert idf(0, 9) == pytest.approx(math.log(20), abs=1e-3)  # a small memory
    assert idf(9, 9) == pytest.approx(math.log(1 + 0.5 / 9.5))
