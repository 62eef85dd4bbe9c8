"""Phrases of triggers in questions: whole words, any script, and which notes they may come from."""

from __future__ import annotations

from commonplace.search import candidates


def test_a_phrase_stands_in_a_question() -> None:
    for question, phrase in [
        ("When do we DEPLOY?", "deploy"),
        ("deploy", "deploy"),
        ("用Python写的", "python"),
        ("我想喝茶了", "茶"),
        ("台灣的計畫", "计划"),
        ("ＧＰＴ４ 怎么样", "gpt4"),
        ("re-deploy now", "deploy"),
    ]:
        assert candidates._holds(candidates._folded(question), candidates._folded(phrase))


def test_a_part_of_a_word_is_no_phrase() -> None:
    for question, phrase in [
        ("redeploy", "deploy"),
        ("deployed", "deploy"),
        ("my_deploy", "deploy"),
        ("", "deploy"),
        ("NBA股票", "a股"),
    ]:
        assert not candidates._holds(candidates._folded(question), candidates._folded(phrase))


def test_phrases_are_parted_by_commas_of_both_scripts() -> None:
    said = '{"trigger": "Ship it, 发佈，茶、 ;[REDACTED:password], "}'
    assert list(candidates.phrases(said)) == ["ship it", "发布", "茶"]
