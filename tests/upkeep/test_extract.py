"""Summaries without a model, made of the conversation's own words."""

from __future__ import annotations

from commonplace.types.events import Call, Turn
from commonplace.upkeep import dialogue, prose
from commonplace.upkeep.summaries import compose, extract
from tests.upkeep.conversations import CHINESE, ENGLISH, turns


def test_first_request_actions_and_last_answer() -> None:
    parts = extract(dialogue.clean(turns(ENGLISH)), "en")
    assert compose(parts, "en", 200) == (
        "Extract of a session, put together without a language model\n"
        "- Asked – Please move the deploy of kestrel to Thursday. The vendor is late.\n"
        "- Done – edit src/schema.py\n"
        "- Last answer – The push worked. What is left: rotate the token, and tell Lin."
    )


def test_the_same_in_chinese() -> None:
    parts = extract(dialogue.clean(turns(CHINESE)), "zh")
    assert compose(parts, "zh", 200) == (
        "会话摘录，未经语言模型整理\n"
        "- 请求 – 把 kestrel 的部署改到周四，供应商晚了。\n"
        "- 完成 – edit src/schema.py\n"
        "- 最后的回答 – 还需要轮换令牌，并通知林工。"
    )


def test_code_and_marks_are_left_out_and_lines_become_sentences() -> None:
    asked = "# Please fix it\n```\nTraceback: boom\n```\n- the parser\n- the tests"
    parts = extract(
        [Turn("user", asked), Turn("assistant", "Sure!\n\nThe parser was wrong. It is right now.")], "en"
    )
    assert parts.request == "Please fix it. the parser. the tests."
    assert parts.answer == "The parser was wrong. It is right now."


def test_calls_are_counted_and_the_newest_are_told() -> None:
    calls = [Call("", "exec", f'{{"command": "make step{number}"}}') for number in range(12)]
    said = [Turn("user", "Build."), Turn("assistant", "", calls=(*calls, calls[-1]))]
    done = extract(said, "en").done
    assert done.startswith("4 more; exec make step4; ")
    assert done.endswith("exec make step11 ×2")
    assert "另有 4 项；" in extract(said, "zh").done


def test_calls_of_our_own_tools_are_not_told() -> None:
    names = ("memory_search", "mcp__commonplace__memory_get", "exec")
    calls = tuple(Call("", name, '{"query": "ferry"}') for name in names)
    assert extract([Turn("user", "When?"), Turn("assistant", "", calls=calls)], "en").done == "exec ferry"


def test_long_words_of_both_are_cut() -> None:
    said = [Turn("user", "Move the deploy. " * 300), Turn("assistant", "部署已经改到了周四。" * 300)]
    text = compose(extract(said, "en"), "en", 200)
    assert prose.words(text) <= 200


def test_nothing_said_is_nothing() -> None:
    assert not extract([Turn("tool", "noise")], "en")
