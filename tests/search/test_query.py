"""What people type: every string is answered, operators mean what they say, identifiers match literally."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.language import holidays, rules
from commonplace.search import query
from commonplace.types import Mode

NOTES = """# Notes

- The exporter runs gpt-4.1 since March.

- Types live in src/store.ts and src/store/wal.py.

- Write to user@example.com about the invoice.

- 北京大学的会议改到周三，学费另算。

- getUserName is slow, snake_case_name is not.

- The quick brown fox jumps.

- The brown quick dog sleeps.
"""


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    root = tmp_path_factory.mktemp("query")
    (root / "memory").mkdir()
    for number, block in enumerate(NOTES.split("\n\n")[1:]):
        (root / "memory" / f"{number}.md").write_text(f"# N\n\n{block}\n", "utf-8")
    made = Memory.open(root, overrides={"embedding.provider": "none"})
    made.sync()
    return made


@pytest.fixture(scope="module")
def hybrid(memory: Memory) -> Memory:
    made = Memory.open(memory.workspace.root, overrides={"embedding.provider": "fake"})
    made.sync()
    return made


def found(memory: Memory, text: str) -> list[str]:
    return [hit.text.strip("- \n") for hit in memory.search(text, min_score=0.001).hits]


def test_found_first(memory: Memory) -> None:
    for text, begins in [
        ("gpt-4.1", "The exporter"),
        ("src/store.ts", "Types live"),
        ("user@example.com", "Write to"),
        ("getUserName", "getUserName"),
        ("user name slow", "getUserName"),
        ("snake_case_name", "getUserName"),
        ("北京大学", "北京"),
        ("京大", "北京"),
        ("学", "北京"),
        ("费", "北京"),
        ("会议", "北京"),
        ("ｇｐｔ-4.1", "The exporter"),
        ("jump*", "The quick"),
        ("北京大*", "北京"),
        ('"改到周三，学费"', "北京"),
        ("wal.py", "Types live"),
        ("example.com", "Write to"),
    ]:
        assert found(memory, text)[0].startswith(begins)


def test_phrases_are_demanded(memory: Memory) -> None:
    assert found(memory, '"quick brown"') == ["The quick brown fox jumps."]
    assert found(memory, '"brown quick" fox') == ["The brown quick dog sleeps."]
    assert found(memory, "“brown quick” fox") == ["The brown quick dog sleeps."]
    assert found(memory, "「改到周三」fox") == found(memory, "《会议》 «改到周三»")
    assert found(memory, "brown -“quick dog”") == ["The quick brown fox jumps."]


def test_phrases_that_nothing_holds_are_words(memory: Memory, hybrid: Memory) -> None:
    for text in ['"quick yellow"', "“quick yellow”", '"quick yellow" "brown quick"']:
        for own in (memory, hybrid):
            result = own.search(text, min_score=0.001)
            assert {"The quick brown fox jumps.", "The brown quick dog sleeps."} <= {
                hit.text.strip("- \n") for hit in result.hits
            }
            assert [line for line in result.warnings if line.startswith('nothing holds "quick yellow"')]


def test_demands_of_operators_stay(memory: Memory) -> None:
    for text in ['fox AND "quick yellow"', "fox AND invoice", "zyzzy*"]:
        result = memory.search(text, min_score=0.001)
        assert result.hits == ()
        assert [line for line in result.warnings if "plain words demand nothing" in line]


def test_exclusions_exclude(memory: Memory) -> None:
    assert found(memory, "brown -fox") == ["The brown quick dog sleeps."]
    assert found(memory, 'brown -"quick dog"') == ["The quick brown fox jumps."]


def test_nothing_but_exclusions_lists_the_rest(memory: Memory) -> None:
    every = set(listed(memory, "path:memory"))
    for text in ("-fox", "NOT fox", "- -fox"):
        assert set(listed(memory, text)) == every - {"The quick brown fox jumps."}
        result = memory.search(text)
        assert result.listing
        assert [line for line in result.warnings if line.startswith("nothing but exclusions:")]
        assert memory.search(text, strict=True).hits == ()


def listed(memory: Memory, text: str) -> list[str]:
    return [hit.text.strip("- \n") for hit in memory.search(text, limit=50).hits]


def test_operators(memory: Memory) -> None:
    assert found(memory, "brown AND sleeps") == ["The brown quick dog sleeps."]
    assert len(found(memory, "fox OR invoice")) == 2
    assert found(memory, "brown NOT dog") == ["The quick brown fox jumps."]
    assert len(found(memory, "fox OR dog AND sleeps")) == 2
    assert found(memory, "quick AND -dog") == ["The quick brown fox jumps."]
    assert found(memory, "会议 AND 学费 NOT fox")[0].startswith("北京")
    assert found(memory, "会议 AND fox") == []


HARD = [
    "", " ", '"', '""', "-", "--", "*", "(", ")", "((((", "AND", "OR", "NOT", "NEAR", "NEAR(", "NEAR()",
    "NEAR(a b, -1)", "a AND", "AND a", "a OR OR b", "NOT a", "(a", "a)", "a (b OR", '"unbalanced', "-", "-a",
    "\x00", "a\x00b", "\ud800", "x" * 100_000, "word " * 20_000, "(" * 5000, '"' * 5001, "a AND " * 3000,
    "NEAR(" * 500, "^a", "a:b", "col:x", "{a b}", "a + b", "\\", "'", "`", "%", "_", "学" * 3000, "\x010",
    "NEAR(fox dog, " + "9" * 5000 + ")", "NEAR(fox dog)\x01" + "9" * 5000, "\x01٣", "NEAR(北京 学, 3)", "NEAR(fox 学)",
    " ".join(f"-w{n}" for n in range(1500)) + " fox", " ".join(f"w{n}*" for n in range(1500)),
    " ".join(f'"w{n} x"' for n in range(60)), "-" * 3000 + "fox", "学" * 7999 + "a AND 学", "a" * 8000 + "*",
]  # fmt: skip


def test_hard_questions_are_answered(memory: Memory) -> None:
    for text in HARD:
        memory.search(text)


TOKENS = st.sampled_from(
    [
        "AND",
        "OR",
        "NOT",
        "NEAR(",
        ")",
        "(",
        '"',
        "-",
        "*",
        "fox",
        "quick",
        "北京",
        "学",
        ",",
        "3",
        " ",
        "\x00",
        "''",
    ]
)


@given(
    st.one_of(st.text(max_size=80), st.lists(TOKENS, max_size=14).map("".join)),
    st.sampled_from(["hybrid", "semantic", "lexical"]),
    st.sampled_from([None, 0.0, 0.2]),
)
def test_any_question_is_answered_by_vectors_too(
    hybrid: Memory, text: str, mode: Mode, min_score: float | None
) -> None:
    for hit in hybrid.search(text, mode=mode, min_score=min_score).hits:
        assert 0 <= hit.score <= 1
    hybrid.recall(text)


@given(st.text("北京大学会议学费", min_size=1, max_size=5))
def test_every_substring_of_chinese_is_found(memory: Memory, text: str) -> None:
    line = next(block for block in NOTES.split("\n\n") if "北京" in block)
    if text in line:
        assert any(text in hit for hit in found(memory, f'"{text}"'))


def test_beginnings_alone_are_demanded() -> None:
    assert query.parse("deploy*").required == '"deploy" *'
    assert query.parse("deploy* roll*").required == '"deploy" * OR "roll" *'
    assert query.parse("deploy* rollback").required is None
    assert query.parse("").required is None


def test_a_dialogue_that_lacks_one_mark_demands_nothing() -> None:
    said = '<Ann>:"I like stars!" <Bot>:Me too, they shine." <Ann>:"It is a silver one." <Bot>:"Nice"'
    parsed = query.parse(said)
    assert parsed.required is None
    assert {"stars", "silver", "shine"} <= set(parsed.terms)


@pytest.mark.parametrize("language", rules.LANGUAGES)
def test_every_name_of_a_day_is_looked_for(language: str) -> None:
    for name in holidays.names(language):
        dated = query.days(query.parse(name), date(2026, 11, 23))
        assert dated is not None, name
        assert dated.alone
