"""Scripts: what a text is written in, and what a model for some scripts reads of it."""

from __future__ import annotations

import pytest

from commonplace.language import scripts

LATIN_ONLY, HAN, BOTH = frozenset({"latin"}), frozenset({"latin", "han"}), frozenset({"latin", "cjk"})


def test_script_of() -> None:
    for text, script in [
        ("The deploy moved to Thursday.", "latin"),
        ("Café Zoë, déjà vu", "latin"),
        ("周五下午不部署。", "han"),
        ("週五下午不部署。", "han"),
        ("他昨天晚上又推荐了《となりのトトロ》这部很有名的动画电影，我们打算周末一起看", "han"),
        ("きのう電車で行きました", "cjk"),
        ("어제 회의에서 결정했다", "cjk"),
        ("用 Postgres 做队列，不用别的", "han"),
        ("Встреча перенесена на четверг", "other"),
        ("نقل الاجتماع إلى يوم الخميس", "other"),
        ("2026-02-13 14:05 — 42", ""),
        ("", ""),
    ]:
        assert scripts.script_of(text) == script


def test_a_multilingual_model_serves_scripts_that_nobody_names() -> None:
    assert scripts.serves(BOTH, "other")
    assert not scripts.serves(LATIN_ONLY, "other")
    assert not scripts.serves(frozenset({"cjk"}), "latin")


def test_a_model_for_chinese_alone() -> None:
    assert scripts.serves(HAN, "han")
    assert scripts.serves(BOTH, "han")
    assert not scripts.serves(LATIN_ONLY, "han")
    assert not scripts.serves(HAN, "cjk")
    assert not scripts.serves(HAN, "other")


def test_a_text_without_letters_is_served_by_all() -> None:
    assert all(scripts.serves(served, "") for served in (LATIN_ONLY, HAN, BOTH))


def test_some_chinese() -> None:
    assert scripts.has_han("what is the 密码")
    assert not scripts.has_han("きのう電車で行きました")
    assert not scripts.has_han("회의에서 (會議)")
    assert not scripts.has_han("the password")


@pytest.mark.parametrize(
    ("text", "served", "share"),
    [
        ("the password", LATIN_ONLY, 1.0),
        ("密码", LATIN_ONLY, 0.0),
        ("密码 is it", LATIN_ONLY, 0.5),
        ("密码 is it", HAN, 1.0),
        ("ひらがな", HAN, 0.0),
        ("ひらがな", BOTH, 1.0),
    ],
)
def test_what_is_legible(text: str, served: frozenset[str], share: float) -> None:
    assert scripts.legible(text, served) == share
