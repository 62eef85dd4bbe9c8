"""Tokens in two languages, through a real full-text table."""

from __future__ import annotations

import re

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.language import lexicon


def matches(text: str, phrase: str) -> bool:
    table = apsw.Connection(":memory:")
    table.execute(f"CREATE VIRTUAL TABLE t USING fts5(body, content='', tokenize='{lexicon.TOKENIZER}')")
    table.execute("INSERT INTO t(rowid, body) VALUES(1, ?)", (lexicon.index_text(text),))
    return bool(table.execute("SELECT count(*) FROM t WHERE t MATCH ?", (lexicon.expression(phrase),)).get)


def test_rewriting() -> None:
    for text, rewritten in [
        ("plain English text", "plain English text"),
        ("北京大学", " 北京 京大 大学 学 "),
        ("学", "  学 "),
        ("用gpt写", "用  gpt 写"),
        ("getUserName", "getUserName get User Name"),
        ("HTTPServer x", "HTTPServer x HTTP Server"),
        ("iPhone15手机", "iPhone15 手机 机 iPhone 15 Phone 15"),
        ("PDFs of v1 and 10am", "PDFs of v1 and 10am"),
        ("commit 9f72db0e3a", "commit 9f72db0e3a"),
        ("臺灣的計畫", "台湾 湾的 的计 计画 画"),
        ("ｶﾞｽ", "ガス ス"),
        ("parseHTTPResponse", "parseHTTPResponse parse HTTP Response"),
        ("ｇｐｔ４", "gpt4 gpt 4"),
        ("+31 (0)6-55018234", "+31 (0)6-55018234 31655018234 5018234"),
        (
            "071/514 22 90 / 06 4419 8830",
            "071/514 22 90 / 06 4419 8830 0715142290 5142290 0644198830 4198830",
        ),
        ("06\u00a04419\u20118830", "06 4419-8830 0644198830 4198830"),
        ("2026-10-01 06 4419 8830 10am", "2026-10-01 06 4419 8830 10am 0644198830 4198830"),
    ]:
        assert " ".join(lexicon.index_text(text).split()) == " ".join(rewritten.split())


def test_texts_are_rewritten_as_each_alone() -> None:
    texts = ["x getUserName", "北京 06 4419 8830", "HTTPServer2", "plain", "071-5142290 iPhone15"]
    assert list(lexicon.index_texts(texts)) == [lexicon.index_text(text) for text in texts]


def test_plain_text_is_not_copied() -> None:
    text = "nothing here needs rewriting, not even café"
    assert lexicon.index_text(text) is text


def test_found() -> None:
    for text, phrase in [
        ("runs gpt-4.1 now", "gpt-4.1"),
        ("in src/store.ts", "src/store.ts"),
        ("to user@example.com", "user@example.com"),
        ("to user@example.com", "example"),
        ("calls getUserName()", "getUserName"),
        ("snake_case_name", "case name"),
        ("Café à la carte", "cafe"),
        ("the runners were running", "run"),
        ("说 he said", "said"),
        ("日本語テスト", "語テ"),
        ("한국어 시험", "국어"),
        ("使用GPT模型来写", "使用GPT模型"),
        ("使用GPT模型来写", "用GPT模"),
        ("使用GPT模型来写", "GPT模"),
        ("第3章，第10节", "3章，第10"),
        ("学，北京", "学，北"),
        ("买了iPhone手机", "iPhone手"),
        ("ジョン・スミス", "ン・ス"),
    ]:
        assert matches(text, phrase)


def test_not_found() -> None:
    for text, phrase in [
        ("gpt 4 and 1", "gpt-4.1"),
        ("大北学京", "北京"),
        ("storets", "store.ts"),
        ("北京 A", "京北A"),
        ("使用GPT", "使GPT"),
    ]:
        assert not matches(text, phrase)


@given(st.text("甲乙丙丁戊己庚辛", min_size=1, max_size=12), st.data())
def test_every_substring_is_found(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert matches(f"before {text} after", text[start:end])


@given(st.text(max_size=60), st.text(max_size=30))
def test_any_text_can_be_indexed_and_any_phrase_quoted(text: str, phrase: str) -> None:
    table = apsw.Connection(":memory:")
    table.execute(f"CREATE VIRTUAL TABLE t USING fts5(body, tokenize='{lexicon.TOKENIZER}')")
    table.execute("INSERT INTO t VALUES(?)", (lexicon.index_text(text),))
    table.execute("SELECT * FROM t WHERE t MATCH ?", (lexicon.quote(phrase),)).fetchall()


def test_the_share_of_cjk() -> None:
    assert lexicon.cjk_share("only English") == 0
    assert lexicon.cjk_share("只有中文") == 1
    assert lexicon.cjk_share("把 retry 改成 jitter") == pytest.approx(3 / 5)


MIXED = st.lists(
    st.one_of(
        st.text("甲乙丙丁一二三", min_size=1, max_size=4),
        st.sampled_from(["gpt", "x7", "42", "Latin", "，", " ", "、", "-", "\n"]),
    ),
    min_size=1,
    max_size=8,
)


@given(MIXED, st.data())
def test_every_stretch_of_mixed_text_is_found(parts: list[str], data: st.DataObject) -> None:
    """From any CJK character, or any whole Latin word, to any other."""
    text = "".join(parts)
    places = [0, *(sum(map(len, parts[: n + 1])) for n in range(len(parts)))]
    inside = [n for n, character in enumerate(text) if re.match(lexicon.CJK_RUN, character)]
    cuts = sorted({*places, *inside, *(n + 1 for n in inside)})
    start, end = sorted((data.draw(st.sampled_from(cuts)), data.draw(st.sampled_from(cuts))))
    words = [text[start - 1 : start + 1], text[end - 1 : end + 1]]
    phrase = text[start:end]
    splits_a_word = any(len(pair) == 2 and pair.isascii() and pair.isalnum() for pair in words)
    if any(character.isalnum() for character in phrase) and not splits_a_word:
        assert matches(text, phrase)


def test_a_long_phrase_costs_no_time() -> None:
    for phrase in ("学" * 50_000 + "a", "a" + "学" * 50_000, "学a" * 25_000, "学，" * 25_000):
        lexicon.expression(phrase)
