"""Identifiers, whole and in parts, in the spellings people use, asked of a real memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.language import identifiers, lexicon
from commonplace.render import screen
from commonplace.search import query

URL = "https://docs.example.net/guide/start?tab=two#install"
# Texts and questions that find them, or (!) do not.
CASES = {
    "The call of getUserName is slow": "getUserName | get user name | getusername | get_user_name | user",
    "Then set account title once": "setAccountTitle",
    "def drop_old_rows(limit)": "dropOldRows | drop old rows | drop-old-rows",
    "class TokenBucketLimiter": "token bucket | tokenbucketlimiter | token_bucket_limiter",
    "HTTPServer2 listens": "HTTPServer2 | httpserver | http server | server",
    "an XMLHttpRequest was sent": "xml request",
    "MAX_RETRY_COUNT is five": "max_retry_count | maxRetryCount | retry count",
    "run it with --dry-run-only": "dry-run-only | dryRunOnly",
    "os.path.splitext gives both": "os.path.splitext | splitext",
    "the Wi-Fi password is in the drawer": "wi-fi",
    "wifi repeater upstairs": "Wi-Fi repeater",
    "see src/store/index.ts for types": "src/store/index.ts | store/index.ts | index.ts",
    "saved as C:\\\\reports\\\\spring.xlsx": "C:\\\\reports\\\\spring.xlsx | spring.xlsx",
    "write to mira.lund@example.org": "mira.lund@example.org | mira.lund | example.org",
    URL: "https://docs.example.net/guide/start?tab=two#install | docs.example.net/guide",
    "gateway at 10.20.30.40:8443": "10.20.30.40 | 10.20.30.40:8443 | !\"20.10.40.30\"",
    "needs @tanstack/query-core": "@tanstack/query-core | query-core",
    "tagged v1.2.3 yesterday": "v1.2.3 | 1.2.3",
    "requires 3.11.9 at least": "v3.11.9",
    "we moved to gpt-4.1 in May": "gpt-4.1 | gpt4.1 | GPT 4.1",
    "Llama3 is smaller": "llama | llama 3",
    "Qwen 3 speaks more": "qwen3",
    "the standup moved to 10am": "10 am standup",
    "carry 25 kg at most": "25kg",
    "port it to C++ first": "C++",
    "R&D budget is fixed": "R&D",
    "fixed by 4f9e21ab77c0d3e5b6a8192f3c4d5e6f70819a2b": "4f9e21ab77c0d3e5b6a8192f3c4d5e6f70819a2b | 4f9e21a | 4F9E21AB77 | !4f9e2",
    "broken since 81c07de": "81c07de45a90b1c2d3e4f5061728394a5b6c7d8e | what broke since commit 81c07de45a90b1c2d3e4f5061728394a5b6c7d8e",
    "order 7340216aa": "7340216",
    "issue #1234 is open": "#1234 | 1234",
    "see JIRA-4711": "JIRA-4711 | jira 4711",
    "id 550e8400-e29b-41d4-a716-446655440000": "550e8400-e29b-41d4-a716-446655440000 | 550e8400",
    "plumber: +86 139-2345-6789": "13923456789 | 139 2345 6789",
    "dentist 15855501234": "158-5550-1234 | +86 158 5550 1234",
    "landlord (555) 010-7788": "5550107788 | 555-010-7788",
    "the vet: 071-514 2290": "0715142290 | +31 71 5142290 | +31715142290 | 514 22 90",
    "ferry office +31 (0)6-55018234": "0655018234 | +31655018234 | 0031 6 55018234",
    "school 071 361 40 92 in the morning": "0713614092 | whose number is +31713614092?",
    "clinic 0715311207": "+31 71 531 12 07",
    "garage in Lyon 04.72.40.01.55": "+33 4 72 40 01 55",
    "aunt in Leeds: 0113 496 0718": "+44 (0)113 4960718",
    "水电工电话138-0808-7765": "13808087765",
    "member 204.881.337 since then": "204881337",
    "the roof cost 48,250 in all": "48250",
    "the fence cost 3175 in all": "3,175",
    "这个脚本用Python写的": "Python | python 脚本 | 用Python写",
    "新买的iPhone15手机": "iPhone15 | iphone | iPhone 15 | 手机",
    "换成了GPT模型": "gpt模型 | GPT",
    "他只买A股": "A股",
    "她喜欢B站": "b站",
    "第三章在12月交稿": "12月",
    "型号是ＸＰＳ１３": "xps13 | xps 13",
}  # fmt: skip

OTHERS = [f"A note about the {word} and dinner" for word in "weather garden violin harbour ladder".split()]


def memory_of(root: Path, texts: list[str]) -> Memory:
    (root / "memory").mkdir(parents=True)
    for number, text in enumerate(texts):
        (root / "memory" / f"n{number}.md").write_text(f"- {text}\n", "utf-8")
    memory = Memory.open(root, overrides={"embedding.provider": "none"})
    memory.sync()
    return memory


def found(memory: Memory, question: str) -> list[str]:
    """What meets the demands of a question: words of a phrase that nothing holds do not."""
    result = memory.search(question)
    demanded = not any(line.startswith("nothing holds") for line in result.warnings)
    return [hit.text.removeprefix("- ") for hit in result.hits if demanded]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    return memory_of(tmp_path_factory.mktemp("names"), [*CASES, *OTHERS])


def test_who_is_found(memory: Memory) -> None:
    for text, questions in CASES.items():
        for question in questions.split(" | "):
            assert (text in found(memory, question.lstrip("!"))) is (question[0] != "!"), question


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("getUserName", ["getUserName is slow", "get user name is slow", "the user is slow"]),
        ("src/store/index.ts", ["see src/store/index.ts now", "see index/store src.ts now"]),
        ("v1.2.3", ["tag v1.2.3 done", "tag v1.3.2 done"]),
        ("10.20.30.40", ["at 10.20.30.40 now", "at 40.30.20.10 now"]),
        ("mira.lund@example.org", ["to mira.lund@example.org now", "lund at example mira org now"]),
        ("long-running", ["a long-running job is here", "a running job is long here"]),
        ("iPhone15", ["my iPhone15 here", "my iPhone 15 here", "my iPhone 12 here"]),
    ],
)
def test_whole_before_parts(tmp_path: Path, question: str, texts: list[str]) -> None:
    assert found(memory_of(tmp_path / "w", [*reversed(texts), *OTHERS]), question)[: len(texts)] == texts


WORDS = st.sampled_from("open store user token parse image retry queue north sync vault limit".split())
PARTS = st.lists(WORDS, min_size=2, max_size=4)
HEX = st.text("0123456789abcdef", min_size=7, max_size=40)
NAMES = st.one_of(
    st.tuples(st.sampled_from("_-./"), PARTS).map(lambda pair: pair[0].join(pair[1])),
    PARTS.map(lambda words: words[0] + "".join(word.title() for word in words[1:])),
    PARTS.map(lambda words: "HTTP" + "".join(word.title() for word in words)),
    st.tuples(WORDS, st.integers(0, 99999)).map(lambda pair: f"{pair[0].title()}{pair[1]}"),
    HEX,
)


@settings(max_examples=30)
@given(st.lists(NAMES, min_size=1, max_size=5, unique_by=str.lower), st.data())
def test_any_identifier_is_found_by_typing_it(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(names))
    texts = [f"here {one} stands" for one in names]
    with memory_of(tmp_path_factory.mktemp("any") / "w", [*texts, *OTHERS]) as memory:
        assert f"here {name} stands" in found(memory, name)
        assert f"here {name} stands" in found(memory, f"用的是{name}吗")


def test_prose_has_no_spellings() -> None:
    for question in ["what did Ann say about the tea", "我的生日是哪天", "defaced facade", ""]:
        assert query.parse(question).spellings == ()


def test_dates_amounts_and_decimals_are_no_telephone_numbers() -> None:
    for text in ["2026-10-01", "1.10.2026 14:30", "20261001", "2024-2026", "52.160114", "48,250.00", "1.2.3"]:
        assert identifiers.telephone(text) == ()
        assert lexicon.index_text(text) == text


def test_long_questions_cost_no_time() -> None:
    for text in ["1" * 8000, "a-" * 4000, "1 " * 4000, "aB1" * 2600, "1,234" * 1600, "(1) " * 2000]:
        identifiers.spellings(text)


@given(st.text(max_size=80))
def test_any_text_has_spellings_in_lower_case(text: str) -> None:
    found = identifiers.spellings(text)
    assert len(found) == len(set(found))
    assert all(spelling == spelling.lower() for spelling in found)


def test_operators_know_spellings_and_phrases_do_not(memory: Memory) -> None:
    assert found(memory, "getAccount AND title") == []
    assert found(memory, "setAccountTitle AND once") == ["Then set account title once"]
    assert found(memory, '"dropOldRows"') == []
    assert found(memory, "requires -3.11.9") == []


def test_what_was_found_is_marked() -> None:
    for question, line, expected in [
        ("user name", "call getUserName(x)", ["UserName"]),
        ("getUserName", "def get_user_name():", ["get_user_name"]),
        ("server", "an HTTPServer2 here", ["Server"]),
        ("python", "用Python写的", ["Python"]),
        ("iphone", "新买的iPhone15手机", ["iPhone"]),
        ("4f9e21a", "fixed by 4f9e21ab77c0d3", ["4f9e21ab77c0d3"]),
        ("car", "scar car carpet", ["car"]),
    ]:
        pattern = screen.matcher(query.parse(question).marked)
        assert [line[start:end] for start, end in screen.matches(line, pattern)] == expected
