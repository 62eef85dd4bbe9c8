"""Snippets are short and inside their passages; a guess that is left out makes the rest weak."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from commonplace.base import tokens
from commonplace.config.settings import Recall as Settings
from commonplace.render import screen
from commonplace.search import pack
from commonplace.types import Hit, SearchResult

SETTINGS = Settings(1000, tentative=False)


def hit(place: int, score: float, text: str = "") -> Hit:
    words = text or f"passage {place}"
    return Hit(
        "a.md", place, place + words.count("\n"), words, score, "T", (f"H{place}",), None, "memory", "abc123"
    )


def test_a_snippet_is_what_stands_around_the_evidence() -> None:
    for text, question, kept, lines in [
        ("Much is said first, at length, about nothing much. " * 4 + "The walnut desk is Lin's. " + "And more. " * 40, "walnut", "The walnut desk is Lin's.", (1, 1)),
        ("先说了很多别的事情，和问题没有关系。" * 6 + "周五下午不部署。" + "后面又说了很多别的事情。" * 6, "周五部署", "周五下午不部署。", (1, 1)),
        ("\n".join([f"- line {n} of words that fill the line" for n in range(20)] + ["- the walnut desk"]), "walnut", "- the walnut desk", (18, 21)),
        ("word " * 100 + "walnut" + " word" * 100, "walnut", "walnut", (1, 1)),
        ("many words " * 60 + "walnut" + " other words" * 60, "walnut", " walnut ", (1, 1)),
        ("x" * 600, "walnut", "x" * 100, (1, 1)),
    ]:  # fmt: skip
        cut = pack.snippet(
            hit(1, 0.5, text), screen.matcher([question, *question] if len(question) < 6 else [question])
        )
        assert kept in cut.text
        assert tokens.about(cut.text) <= pack.SNIPPET_TOKENS, (text, question, kept, lines)
        assert (cut.start_line, cut.end_line) == lines


@given(st.text(min_size=1, max_size=600), st.text(max_size=8))
def test_a_snippet_is_short_and_inside_its_passage(text: str, word: str) -> None:
    whole = hit(7, 0.5, text)
    cut = pack.snippet(whole, screen.matcher([word]))
    assert tokens.about(cut.text) <= max(pack.SNIPPET_TOKENS, 0) or cut == whole
    assert whole.start_line <= cut.start_line <= cut.end_line <= whole.end_line
    assert cut.text.strip("…").strip() in whole.text


def test_where_the_answer_is_a_guess_that_is_left_out_the_rest_is_weak() -> None:
    guess = replace(hit(1, 0.9), labels=("tentative",))
    rest = [hit(10 * n, 0.3) for n in range(1, 20)]
    result = SearchResult("passage", (guess, *rest), 2, 0)
    recall = pack.recall(result, 4000, SETTINGS)
    assert (recall.weak, len(recall.hits), recall.tentative) == (True, pack.WEAK_HITS, 1)
    assert pack.recall(result, 4000, SETTINGS, strict=True).text == ""
    called = replace(result, weak=True)
    assert pack.recall(called, 4000, SETTINGS, strict=True).hits
    beside = SearchResult("passage", (guess, hit(200, 0.8), *rest), 2, 0)
    assert not pack.recall(beside, 4000, SETTINGS).weak
