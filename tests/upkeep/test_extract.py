"""What is taken out of a conversation without a model: the first request, and what was decided or done."""

from __future__ import annotations

from commonplace.types.events import Call, Turn
from commonplace.upkeep import dialogue, prose
from commonplace.upkeep.summaries import compose, extract
from tests.upkeep.conversations import CHINESE, ENGLISH, turns


def test_first_request_and_what_was_done() -> None:
    parts = extract(dialogue.clean(turns(ENGLISH)), 200)
    assert compose(parts, "en", 200) == (
        "Asked – Please move the deploy of kestrel to Thursday. The vendor is late.\n"
        "- Done – I changed schema.py: `id` is a uuid now."
    )


def test_the_same_in_chinese() -> None:
    parts = extract(dialogue.clean(turns(CHINESE)), 200)
    assert compose(parts, "zh", 200) == (
        "请求 – 把 kestrel 的部署改到周四，供应商晚了。\n"
        "- 完成 – 部署已改到周四。已修改 schema.py，id 现在是 uuid。"
    )


def test_code_and_marks_are_left_out_and_lines_become_sentences() -> None:
    asked = "# Please fix it\n```\nTraceback: boom\n```\n- the parser\n- the tests"
    answer = "Sure!\n\n```\nI fixed all\n```\n- I fixed the parser"
    parts = extract([Turn("user", asked), Turn("assistant", answer)], 200)
    assert parts.request == "Please fix it. the parser. the tests."
    assert parts.done == "I fixed the parser."


def test_the_newest_sentences_fit_into_a_third_of_the_words() -> None:
    said = [Turn("user", f"We decided to keep plan number {number}.") for number in range(40)]
    decisions = extract(said, 60).decisions
    assert decisions.startswith("We decided to keep plan number 38.")
    assert decisions.endswith("We decided to keep plan number 39.")


def test_long_words_of_both_are_cut() -> None:
    said = [
        Turn("user", "We decided to move the deploy. " * 300),
        Turn("assistant", "部署已经改到了周四。" * 300),
    ]
    text = compose(extract(said, 200), "en", 200)
    assert prose.words(text) <= 200


def test_nothing_said_is_nothing() -> None:
    assert not extract(
        [Turn("tool", "I fixed it.", tool="x"), Turn("assistant", "", calls=(Call("", "x", ""),))], 200
    )
