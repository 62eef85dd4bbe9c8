"""Scripts: what a text is written in, and what a model for some scripts reads of it."""

from __future__ import annotations

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


def test_what_a_model_serves_and_reads() -> None:
    for served, yes, no in (
        (LATIN_ONLY, ["latin", ""], ["han", "other"]), (HAN, ["han", ""], ["cjk", "other"]), (BOTH, ["han", "other", ""], []),
        ({"cjk"}, ["han"], ["latin"]),
    ):  # fmt: skip
        assert [script for script in (*yes, *no) if scripts.serves(served, script)] == yes
    for text, served, share in (
        ("the password", LATIN_ONLY, 1.0), ("密码", LATIN_ONLY, 0.0), ("密码 is it", LATIN_ONLY, 0.5), ("密码 is it", HAN, 1.0),
        ("ひらがな", HAN, 0.0), ("ひらがな", BOTH, 1.0),
    ):  # fmt: skip
        assert scripts.legible(text, served) == share
    texts = ("what is the 密码", "きのう電車で行きました", "회의에서 (會議)", "the password")
    assert [text for text in texts if scripts.has_han(text)] == ["what is the 密码"]
