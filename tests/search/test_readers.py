"""Who reads the head of a ranking: chosen by settings, model and ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.base.errors import ConfigError
from commonplace.base.paths import Workspace
from commonplace.index.base import Candidate
from commonplace.providers.costs import Ledger
from commonplace.search.ranking import RankSettings
from commonplace.search.reranking import Readers

OURS, RANKS = RankSettings(), RankSettings(fusion="ranks")
NOTES = """# Notes

- Nora: I bought a red bicycle yesterday.
- Omar: Was it expensive?
- Nora: Two hundred, and the bell works.
- Omar: Mine has been in the cellar since spring.
- Nora: Then let us ride to the lake on Sunday.
- Omar: If it does not rain, as it did last Sunday when we wanted to go to the market and stayed at home.
- Nora: We can take the train back, it runs every hour in summer and they let you take bicycles with you.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-01-05.md").write_text(NOTES)
    return tmp_path


@pytest.fixture
def readers(folder: Path) -> Callable[..., Readers]:
    def make(**overrides: object) -> Readers:
        settings = Memory.open(
            folder, overrides={k.replace("__", "."): v for k, v in overrides.items()}
        ).settings
        return Readers(settings, lambda: Ledger.of(Workspace(folder)))

    return make


def similar(question: str, turns: Sequence[Candidate]) -> Mapping[int, float]:
    return {}


def test_words_are_compared_where_no_reranker_is_set(readers: Callable[..., Readers]) -> None:
    ours = readers()
    assert ours.choose("auto", similar, OURS) == ours.choose("local", similar, OURS) == (None, similar)
    for choice, known, ranking in (("auto", None, OURS), ("auto", similar, RANKS), ("off", similar, OURS)):
        assert ours.choose(choice, known, ranking) == (None, None)


def test_late_interaction_without_words_is_a_warning(folder: Path) -> None:
    overrides = {"embedding.provider": "fake"}
    texts, warnings, _, _ = search(folder, "lake on Sunday", rerank="local", overrides=overrides)
    assert "lake" in texts[0]
    assert any("does not embed here" in told for told in warnings)


def test_a_reranker_that_is_not_set_is_a_warning(folder: Path) -> None:
    texts, warnings, _, _ = search(folder, "lake on Sunday", rerank="model")
    assert "lake" in texts[0]
    assert any("no reranker is set" in told for told in warnings)


def test_a_reranker_that_is_set_reads_by_itself(readers: Callable[..., Readers]) -> None:
    chosen, _ = readers(reranking__provider="fake", search__fusion="qmd").choose("auto", None, OURS)
    assert chosen is not None
    assert chosen.by_rank


def search(folder: Path, question: str, **how: Any) -> tuple[list[str], tuple[str, ...], set[str], set[str]]:
    overrides = how.pop("overrides", {})
    with Memory.open(folder, overrides=overrides) as memory:
        memory.sync()
        result = memory.search(question, min_score=0, **how)
        parts = {factor.name for hit in result.hits for factor in hit.factors}
        return [hit.text for hit in result.hits], result.warnings, parts, set(result.timings_ms)


def test_a_search_compares_words_and_says_so(folder: Path) -> None:
    texts, warnings, parts, _ = search(folder, "what did Nora purchase?")
    assert "bicycle" in texts[0]
    assert warnings == ()
    assert "words one by one" in parts
    _, _, parts, _ = search(folder, "what did Nora purchase?", rerank="off")
    assert "words one by one" not in parts


def test_a_reranker_of_the_settings_reads(folder: Path) -> None:
    overrides = {"reranking.provider": "fake", "embedding.provider": "none"}
    texts, warnings, parts, stages = search(folder, "the lake, in winter", overrides=overrides)
    assert "lake" in texts[0]
    assert warnings == ()
    assert "reranking" in parts
    assert "reranking" in stages


def test_a_model_that_cannot_read_is_a_warning(folder: Path) -> None:
    overrides = {"reranking.provider": "compatible", "reranking.base_url": "http://127.0.0.1:9/v1"}
    texts, warnings, parts, _ = search(folder, "lake on Sunday", overrides=overrides)
    assert "lake" in texts[0]
    assert len([told for told in warnings if "without reranking" in told]) == 1
    assert "reranking" not in parts


def test_a_language_model_that_is_not_set_is_a_warning(folder: Path) -> None:
    texts, warnings, _, _ = search(folder, "lake on Sunday", rerank="llm")
    assert "lake" in texts[0]
    assert any("needs a language model" in told for told in warnings)


def test_an_unknown_reader_is_refused(folder: Path) -> None:
    with Memory.open(folder) as memory, pytest.raises(ConfigError, match="rerank: 'best' is not allowed"):
        memory.search("lake", rerank="best")
