"""A question taken apart: words, phrases, exclusions, operators, as values that can be read."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.language import lexicon
from commonplace.language.stopwords import FIRST_PERSON
from commonplace.search import query
from commonplace.search.query import MAX_CHARACTERS, MAX_TERMS, parse


def test_terms() -> None:
    for text, terms in [
        ("Which tea after lunch?", ("tea", "lunch")),
        ("tea tea TEA", ("tea",)),
        ("Anna's birthday", ("anna", "birthday")),
        ("gpt-4.1", ("gpt 4 1", "gpt", "4", "1")),
        ("src/store.ts", ("src store ts", "src", "store", "ts")),
        ("e-mail", ("mail",)),
        ("getUserName", ("getusername", "get", "user", "name")),
        ("a b c", ("a", "b", "c")),
        ("route 66", ("route", "66")),
        ("北京大学", ("北京", "京大", "大学")),
        ("用gpt写", ("gpt", "用", "写")),
        ("my tea", ("i", "tea")),
        ("", ()),
        ("?!…", ()),
    ]:
        assert parse(text).terms == terms


def test_phrases_and_exclusions() -> None:
    for text, required, excluded, words in [
        ("tea", None, None, "tea"),
        ('"green tea"', '"green tea"', None, "green tea"),
        ('"green tea" "hot water"', '"green tea" AND "hot water"', None, "green tea hot water"),
        ("tea -coffee", None, '"coffee"', "tea"),
        ('tea -"black coffee" -milk', None, '"black coffee" OR "milk"', "tea"),
        ("tea-pot", None, None, "tea-pot"),
        ("tea - pot", None, None, "tea pot"),
        ("-coffee", None, '"coffee"', ""),
        ('-"black coffee" -milk', None, '"black coffee" OR "milk"', ""),
        ("NOT coffee", None, '"coffee"', ""),
        ('"', None, None, ""),
        ('tea "green', '"green"', None, "tea green"),
        ('say ""', None, None, "say"),
    ]:
        found = parse(text)
        assert (found.required, found.excluded, found.words) == (required, excluded, words)


ROWS = ["a1", "b1", "c1", "a1 b1", "a1 c1", "b1 c1", "a1 b1 c1", "a1 x x x x x x x b1", "a1 walnut", "walnut"]


def test_operators_say_exactly_what_is_wanted() -> None:
    for text, expression in [
        ("a1 AND b1", '"a1" AND "b1"'),
        ("a1 OR b1", '"a1" OR "b1"'),
        ("a1 AND NOT b1", '"a1" NOT "b1"'),
        ("a1 AND -b1", '"a1" NOT "b1"'),
        ("a1 AND b1 OR c1", '("a1" AND "b1") OR "c1"'),
        ("a1 AND (b1 OR c1)", '("a1" AND "b1") OR "c1"'),
        ("a1 OR b1 AND NOT c1", '("a1" OR "b1") NOT "c1"'),
        ("NOT a1 OR b1", '"b1" NOT "a1"'),
        ("a1 b1 AND c1", '"a1" AND "b1" AND "c1"'),
        ("a1 AND (b1", '"a1" AND "b1"'),
        ("a1 AND wal*", '"a1" AND "wal" *'),
    ]:
        parsed = parse(text)
        assert parsed.required, text
        found = parsed.expression(())
        if parsed.excluded:
            found = f"({found}) NOT ({parsed.excluded})"
        for row in ROWS:
            assert matches(row, found) == matches(row, expression), row


def matches(text: str, expression: str) -> bool:
    table = apsw.Connection(":memory:")
    table.execute(f"CREATE VIRTUAL TABLE t USING fts5(body, tokenize='{lexicon.TOKENIZER}')")
    table.execute("INSERT INTO t VALUES(?)", (lexicon.index_text(text),))
    return bool(table.execute("SELECT count(*) FROM t WHERE t MATCH ?", (expression,)).get)


@given(st.text() | st.text('ab1 "-*()学AND ORNT,'))
def test_every_expression_is_one_that_the_full_text_index_reads(text: str) -> None:
    found = parse(text)
    if expression := found.expression(found.terms):
        matches("any text", expression)
    for part in filter(None, (found.required, found.excluded)):
        matches("any text", part)


def test_a_book_is_cut_to_a_question() -> None:
    found = parse(" ".join(f"word{n}x" for n in range(20_000)))
    assert len(found.text) == MAX_CHARACTERS
    assert len(found.terms) == MAX_TERMS


def test_how_much_of_a_question_is_chinese() -> None:
    for text, share in [("tea", 0.0), ("茶", 1.0), ("喝 tea", 0.5), ("", 0.0), ("?", 0.0)]:
        assert parse(text).wide == pytest.approx(share)


def test_what_is_required_is_ranked_by_the_other_words_too() -> None:
    found = parse('tea "green leaf"')
    assert found.expression(found.terms) == '("green leaf") AND (("green leaf") OR "tea")'
    assert (parse("tea -milk").expression(["tea"]), parse("tea -milk").excluded) == ('"tea"', '"milk"')
    assert parse("").expression([]) == ""


def test_halves_of_characters_and_nul_are_no_part_of_a_question() -> None:
    assert parse("te\ud800a").text == "te?a"
    assert parse("te\0a").text == "te a"
    assert query.terms("") == []


@pytest.mark.parametrize(
    "text", ["error -71", "deploy.yml -i hosts --limit oriole -e now", "between -3.5 and 4", "nginx -s -t"]
)
def test_options_and_signs_exclude_nothing(text: str) -> None:
    assert parse(text).excluded is None
    assert parse(f"{text} -coffee").excluded == '"coffee"'


def test_who_is_spoken_of() -> None:
    for text, first in [("my tea", True), ("What did I say?", True), ("Amy's tea", False), ("茶", False)]:
        assert parse(text).spoken.isdisjoint(FIRST_PERSON) is not first


def test_filters_of_days_beside_words_that_ask_for_days_list_them() -> None:
    for text, lists in [
        ("on:yesterday", True),
        ("what did I do on:yesterday", True),
        ("what did I do in:memory", False),
        ("tea on:yesterday", False),
        ("-tea", True),
        ("tea -coffee", False),
        ("tea*", False),
    ]:
        assert parse(text).lists is lists, text
