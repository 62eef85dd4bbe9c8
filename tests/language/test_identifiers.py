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
CASES = [
    # parts of words
    ("The call of getUserName is slow", "getUserName", True),
    ("The call of getUserName is slow", "get user name", True),
    ("The call of getUserName is slow", "getusername", True),
    ("The call of getUserName is slow", "get_user_name", True),
    ("The call of getUserName is slow", "user", True),
    ("Then set account title once", "setAccountTitle", True),
    ("def drop_old_rows(limit)", "dropOldRows", True),
    ("def drop_old_rows(limit)", "drop old rows", True),
    ("def drop_old_rows(limit)", "drop-old-rows", True),
    ("class TokenBucketLimiter", "token bucket", True),
    ("class TokenBucketLimiter", "tokenbucketlimiter", True),
    ("class TokenBucketLimiter", "token_bucket_limiter", True),
    ("HTTPServer2 listens", "HTTPServer2", True),
    ("HTTPServer2 listens", "httpserver", True),
    ("HTTPServer2 listens", "http server", True),
    ("HTTPServer2 listens", "server", True),
    ("an XMLHttpRequest was sent", "xml request", True),
    ("MAX_RETRY_COUNT is five", "max_retry_count", True),
    ("MAX_RETRY_COUNT is five", "maxRetryCount", True),
    ("MAX_RETRY_COUNT is five", "retry count", True),
    ("run it with --dry-run-only", "dry-run-only", True),
    ("run it with --dry-run-only", "dryRunOnly", True),
    ("os.path.splitext gives both", "os.path.splitext", True),
    ("os.path.splitext gives both", "splitext", True),
    ("the Wi-Fi password is in the drawer", "wi-fi", True),
    ("wifi repeater upstairs", "Wi-Fi repeater", True),
    # paths, addresses
    ("see src/store/index.ts for types", "src/store/index.ts", True),
    ("see src/store/index.ts for types", "store/index.ts", True),
    ("see src/store/index.ts for types", "index.ts", True),
    ("saved as C:\\\\reports\\\\spring.xlsx", "C:\\\\reports\\\\spring.xlsx", True),
    ("saved as C:\\\\reports\\\\spring.xlsx", "spring.xlsx", True),
    ("write to mira.lund@example.org", "mira.lund@example.org", True),
    ("write to mira.lund@example.org", "mira.lund", True),
    ("write to mira.lund@example.org", "example.org", True),
    (URL, URL, True),
    (URL, "docs.example.net/guide", True),
    ("gateway at 10.20.30.40:8443", "10.20.30.40", True),
    ("gateway at 10.20.30.40:8443", "10.20.30.40:8443", True),
    ("gateway at 10.20.30.40:8443", '"20.10.40.30"', False),
    ("needs @tanstack/query-core", "@tanstack/query-core", True),
    ("needs @tanstack/query-core", "query-core", True),
    # versions, names with numbers
    ("tagged v1.2.3 yesterday", "v1.2.3", True),
    ("tagged v1.2.3 yesterday", "1.2.3", True),
    ("requires 3.11.9 at least", "v3.11.9", True),
    ("we moved to gpt-4.1 in May", "gpt-4.1", True),
    ("we moved to gpt-4.1 in May", "gpt4.1", True),
    ("we moved to gpt-4.1 in May", "GPT 4.1", True),
    ("Llama3 is smaller", "llama", True),
    ("Llama3 is smaller", "llama 3", True),
    ("Qwen 3 speaks more", "qwen3", True),
    ("the standup moved to 10am", "10 am standup", True),
    ("carry 25 kg at most", "25kg", True),
    ("port it to C++ first", "C++", True),
    ("R&D budget is fixed", "R&D", True),
    # numbers
    ("fixed by 4f9e21ab77c0d3e5b6a8192f3c4d5e6f70819a2b", "4f9e21ab77c0d3e5b6a8192f3c4d5e6f70819a2b", True),
    ("fixed by 4f9e21ab77c0d3e5b6a8192f3c4d5e6f70819a2b", "4f9e21a", True),
    ("fixed by 4f9e21ab77c0d3e5b6a8192f3c4d5e6f70819a2b", "4F9E21AB77", True),
    ("fixed by 4f9e21ab77c0d3e5b6a8192f3c4d5e6f70819a2b", "4f9e2", False),
    ("broken since 81c07de", "81c07de45a90b1c2d3e4f5061728394a5b6c7d8e", True),
    ("broken since 81c07de", "what broke since commit 81c07de45a90b1c2d3e4f5061728394a5b6c7d8e", True),
    ("order 7340216aa", "7340216", True),
    ("issue #1234 is open", "#1234", True),
    ("issue #1234 is open", "1234", True),
    ("see JIRA-4711", "JIRA-4711", True),
    ("see JIRA-4711", "jira 4711", True),
    ("id 550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000", True),
    ("id 550e8400-e29b-41d4-a716-446655440000", "550e8400", True),
    ("plumber: +86 139-2345-6789", "13923456789", True),
    ("plumber: +86 139-2345-6789", "139 2345 6789", True),
    ("dentist 15855501234", "158-5550-1234", True),
    ("dentist 15855501234", "+86 158 5550 1234", True),
    ("landlord (555) 010-7788", "5550107788", True),
    ("landlord (555) 010-7788", "555-010-7788", True),
    ("the vet: 071-514 2290", "0715142290", True),
    ("the vet: 071-514 2290", "+31 71 5142290", True),
    ("the vet: 071-514 2290", "+31715142290", True),
    ("the vet: 071-514 2290", "514 22 90", True),
    ("ferry office +31 (0)6-55018234", "0655018234", True),
    ("ferry office +31 (0)6-55018234", "+31655018234", True),
    ("ferry office +31 (0)6-55018234", "0031 6 55018234", True),
    ("school 071 361 40 92 in the morning", "0713614092", True),
    ("school 071 361 40 92 in the morning", "whose number is +31713614092?", True),
    ("clinic 0715311207", "+31 71 531 12 07", True),
    ("garage in Lyon 04.72.40.01.55", "+33 4 72 40 01 55", True),
    ("aunt in Leeds: 0113 496 0718", "+44 (0)113 4960718", True),
    ("水电工电话138-0808-7765", "13808087765", True),
    ("member 204.881.337 since then", "204881337", True),
    ("the roof cost 48,250 in all", "48250", True),
    ("the fence cost 3175 in all", "3,175", True),
    # Chinese and Latin together
    ("这个脚本用Python写的", "Python", True),
    ("这个脚本用Python写的", "python 脚本", True),
    ("这个脚本用Python写的", "用Python写", True),
    ("新买的iPhone15手机", "iPhone15", True),
    ("新买的iPhone15手机", "iphone", True),
    ("新买的iPhone15手机", "iPhone 15", True),
    ("新买的iPhone15手机", "手机", True),
    ("换成了GPT模型", "gpt模型", True),
    ("换成了GPT模型", "GPT", True),
    ("他只买A股", "A股", True),
    ("她喜欢B站", "b站", True),
    ("第三章在12月交稿", "12月", True),
    ("型号是ＸＰＳ１３", "xps13", True),
    ("型号是ＸＰＳ１３", "xps 13", True),
]

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
    return memory_of(
        tmp_path_factory.mktemp("names"), [*dict.fromkeys(text for text, _, _ in CASES), *OTHERS]
    )


def test_who_is_found(memory: Memory) -> None:
    for text, question, expected in CASES:
        assert (text in found(memory, question)) is expected


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
    PARTS.map("_".join),
    PARTS.map("-".join),
    PARTS.map(".".join),
    PARTS.map("/".join),
    PARTS.map(lambda words: "_".join(words).upper()),
    PARTS.map(lambda words: words[0] + "".join(word.title() for word in words[1:])),
    PARTS.map(lambda words: "HTTP" + "".join(word.title() for word in words)),
    st.tuples(WORDS, st.integers(0, 99999)).map(lambda pair: f"{pair[0].title()}{pair[1]}"),
    st.lists(st.integers(0, 99), min_size=2, max_size=4).map(
        lambda numbers: "v" + ".".join(map(str, numbers))
    ),
    HEX,
    st.tuples(PARTS, WORDS).map(lambda pair: f"{'.'.join(pair[0])}@{pair[1]}.example"),
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


def test_spellings() -> None:
    for question, spelling in [
        ("getUserName", "get user name"),
        ("get_user_name", "getusername"),
        ("gpt-4.1", "gpt4 1"),
        ("GPT4.1", "gpt 4 1"),
        ("v1.2", "1 2"),
        ("1.2", "v1 2"),
        ("81c07de", "81c07de*"),
        ("139 2345 6789", "13923456789"),
        ("+86 13923456789", "3456789"),
        ("48,250", "48250"),
        ("A股的", "a股"),
    ]:
        assert spelling in identifiers.spellings(question)


def test_prose_has_no_spellings() -> None:
    for question in ["what did Ann say about the tea", "我的生日是哪天", "defaced facade", ""]:
        assert query.parse(question).spellings == ()


def test_dates_amounts_and_decimals_are_no_telephone_numbers() -> None:
    for text in ["2026-10-01", "1.10.2026 14:30", "20261001", "2024-2026", "52.160114", "48,250.00", "1.2.3"]:
        assert identifiers.telephone(text) == ()
        assert lexicon.index_text(text) == text


def test_a_number_that_is_held_is_never_weak(memory: Memory) -> None:
    for question in ("+31 71 5142290", "0655018234", "(0113) 4960718"):
        assert not memory.search(question).weak


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
        ("13923456789", "tel. +86 139-2345-6789", ["86 139-2345-6789"]),
        ("+31655018234", "| Femke | +31 (0)6-55018234 |", ["31 (0)6-55018234"]),
        ("car", "scar car carpet", ["car"]),
    ]:
        pattern = screen.matcher(query.parse(question).marked)
        assert [line[start:end] for start, end in screen.matches(line, pattern)] == expected
