"""A question is answered whatever stands beside it in the message, with a question mark or without."""

from __future__ import annotations

import json

from tests.life.conftest import Owner

ENGLISH = {
    "when do we deploy?": "Thursdays",
    "who owns the billing service?": "Tomas",
    "Where do feature flags live?": "flags.yaml",
    "Which RFC do API errors follow?": "7807",
}
CHINESE = {
    "我现在能跑步吗": "膝盖",
    "首印多少册": "一万二千册",
    "圍棋班幾點": "上午十点",
    "杭州住哪家酒店": "新新饭店",
    "姐姐的猫叫什么": "年糕",
    "上次血压多少": "138",
    "围棋班几点": "上午十点",
}
SENTENCE = "I changed the handler so that it logs the value."
QUERY = (
    "SELECT o.id, o.total\nFROM orders o JOIN customers c ON c.id = o.customer_id\nWHERE o.status = 'open';"
)
DIFF = "diff --git a/src/app.py b/src/app.py\n--- a/src/app.py\n+++ b/src/app.py\n@@ -1 +1 @@\n-x = 1\n+x = 2"
TRACE = (
    'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nKeyError: 4\nDETAIL: no such row'
)
DRESSES = [
    "{}",
    f"{{}} {SENTENCE}",
    f"{SENTENCE} {{}}",
    f"{{}}\n\n{QUERY}",
    "{}\n\nSELECT o.id FROM orders o;",
    f"{{}}\n\n{DIFF}",
    f"{DIFF}\n\n{{}}",
    f"{{}}\n```sql\n{QUERY}\n```",
    f"{{}}\n{TRACE}",
]
REMARKS = [
    "thanks!",
    "ok, go on",
    f"{SENTENCE}",
    f"make it shorter\n\n{DIFF}",
    "好的，谢谢",
    "改一下这段代码",
]


def write_notes(owner: Owner) -> None:
    days = [
        "Deploys go out on Thursdays.",
        "Mira owns the billing service; her backup is Tomas.",
        "Feature flags live in config/flags.yaml.",
        "API errors follow RFC 7807 (problem+json).",
        "Use tabs in Go, four spaces in Python.",
        "膝盖受伤，六月前不能跑步。",
        "和出版社签了合同，首印一万二千册。",
        "下周三去杭州，住在北山街的新新饭店。",
        "姐姐住在苏州平江路，猫叫年糕。",
        "血压 138/86，医生让少盐，三个月后复查。",
        "给女儿报了围棋班，每周日上午十点。",
        *(f"The {name} stands in the hall beside the door." for name in ("lamp", "bench", "clock", "mirror")),
        *(f"院子里的{name}今年开得很好。" for name in ("桂花", "石榴", "腊梅", "海棠")),
    ]
    for day, line in enumerate(days, 1):
        owner.note(f"memory/2026-10-{day:02}.md", f"# 2026-10-{day:02}\n\n- {line}\n")


def test_a_question_is_answered_beside_other_words(owner_with_model: Owner) -> None:
    owner = owner_with_model
    write_notes(owner)
    memory = owner.memory()
    asked = [(dress.format(text), holds) for dress in DRESSES for text, holds in ENGLISH.items()]
    asked += CHINESE.items()
    asked += [(f"{text}？我刚改完代码，测试都过了。", holds) for text, holds in CHINESE.items()]
    asked += [(f"我刚改完代码。{text}\n\n{DIFF}", holds) for text, holds in CHINESE.items()]
    missed = [
        message
        for message, holds in asked
        if holds not in memory.recall(message, strict=True, sparing=True).text
    ]
    assert len(missed) <= len(asked) // 10, missed
    given = [text for text in REMARKS if memory.recall(text, strict=True, sparing=True).hits]
    assert len(given) <= 1, given


def test_a_hook_answers_it_and_the_record_counts_what_was_given(owner_with_model: Owner) -> None:
    owner = owner_with_model
    write_notes(owner)
    owner.ok("sync")
    asked = {
        f"when do we deploy? {SENTENCE}": "Thursdays",
        f"Where do feature flags live?\n\n{QUERY}": "flags.yaml",
        "首印多少册": "一万二千册",
    }
    for number, (message, holds) in enumerate(asked.items()):
        given = owner.hook("UserPromptSubmit", prompt=message, session_id=f"s{number}")
        assert holds in given, message
    assert owner.hook("UserPromptSubmit", prompt="帮我写一首关于春天的诗", session_id="s9") == ""
    recorded = json.loads(owner.ok("usage", "--last", "4", "--format", "json"))
    assert [row["count"] for row in recorded] == [0, 1, 1, 1]
