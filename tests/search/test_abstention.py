"""Whether anything found answers the question."""

from __future__ import annotations

from commonplace.index.base import Candidate
from commonplace.search import abstention, query
from commonplace.search.abstention import (
    GATE,
    GATE_DIALOGUE,
    GATE_LEAST,
    GATE_LOOSE,
    PROSE,
    STRANGER,
    TALK,
    TALK_UNREAD,
)
from commonplace.search.ranking import Evidence, Ranked
from commonplace.search.terms import Terms

KNOWN = Terms(asked=4, known=3, content=4, passages=5000)


def found(
    text: str, relevance: float, score: float | None = None, turns: float = 0.0, part: str = "words"
) -> list[Ranked]:
    score = relevance if score is None else score
    return [Ranked(Candidate(1, 1, 1, 1, 1, text, turns), score, {part: score}, relevance)]


def refuses(question: str, ranked: list[Ranked], terms: Terms = KNOWN) -> bool:
    evidence = Evidence(query.parse(question), terms, {1: 1.0}, {1: 0.5})
    return abstention.refuses(ranked, evidence, plain=True)


def test_what_is_not_relevant_is_no_answer() -> None:
    assert refuses("where is the deploy key", found("The weather was fine.", GATE - 0.01, 0.9))
    assert not refuses("where is the deploy key", found("The key lies in the vault.", GATE + 0.01, 0.9))
    assert refuses("where is the deploy key", [])


def test_a_score_that_stays_low_is_no_answer() -> None:
    assert refuses("where is the deploy key", found("Weather.", GATE + 0.01, PROSE - 0.01))
    assert not refuses("where is the deploy key", found("In the vault.", GATE + 0.01, PROSE))


def test_a_stranger_is_known_by_nobody() -> None:
    for question, strange in [
        ("What does Kate do?", True),
        ("where are Kate and Elise planning to go", True),
        ("What are Kate's dogs called?", True),
        ("I will visit Kate", False),  # no subject
        ("What is March like?", False),  # no name
        ("What does kate do?", False),
    ]:
        missing = KNOWN._replace(missing=frozenset({"kate", "elise", "march", "dogs"}))
        assert refuses(question, found("Some text.", STRANGER - 0.01, 0.9), missing) is strange
        assert not refuses(question, found("Some text.", STRANGER, 0.9), missing)
        known = missing._replace(missing=frozenset({"elise"}))
        assert not refuses(question, found("Some text.", STRANGER - 0.01, 0.9), known)


def test_a_preference_of_the_owner_answers_a_wish_for_advice() -> None:
    said = "**User:** I never stay in boutique hotels."
    assert not refuses("Can you recommend a hotel in Paris?", found(said, GATE_LOOSE + 0.01))
    assert not refuses("Which hotel should I take?", found("I prefer large hotels.", GATE_LOOSE + 0.01))
    assert refuses("Can you recommend a hotel in Paris?", found(said, GATE_LOOSE - 0.01))
    assert refuses("Where is the hotel in Paris?", found(said, GATE_LOOSE + 0.01))  # no advice
    assert refuses("Can you recommend a hotel?", found("**User:** The hotel was near.", GATE_LOOSE + 0.01))
    assert refuses("Can you recommend a hotel?", found("**Assistant:** I like hotels.", GATE_LOOSE + 0.01))
    both = [*found(said, 0.1), *found("- Ann: I like it", GATE_LOOSE + 0.1)]
    assert refuses("Can you recommend a hotel?", both)


def test_a_dialogue_has_no_single_match() -> None:
    long = KNOWN._replace(asked=20)
    assert not refuses("a dialogue", found("It fits.", GATE_DIALOGUE + 0.01), long)
    assert refuses("a dialogue", found("It does not.", GATE_DIALOGUE - 0.01), long)


def test_friends_talk_about_everything() -> None:
    for part, least in [("late interaction", TALK), ("words", TALK_UNREAD)]:
        said = "- Ann: Lovely weather!"
        assert refuses("which play did we see", found(said, 0.4, least - 0.01, turns=1.0, part=part))
        assert not refuses("which play did we see", found(said, 0.4, least, turns=1.0, part=part))


def test_a_reranker_has_a_scale_of_its_own() -> None:
    assert not refuses("where is the key", found("In the vault.", GATE, 0.05, part="reranking"))


def test_a_small_memory_is_asked_for_less() -> None:
    small = KNOWN._replace(passages=10)
    least = GATE * GATE_LEAST
    assert not refuses("where is the key", found("In the vault.", least + 0.01, 0.3), small)
    assert refuses("where is the key", found("In the vault.", least - 0.01, 0.3), small)
