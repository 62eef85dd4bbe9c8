"""MEMORY.md that is longer than what a session begins with: given in part, and the part is named."""

from __future__ import annotations

import json
import re

import pytest

from tests.life.conftest import Owner

LEFT_OUT = re.compile(
    r"(\d+) more (?:entry|entries), ~([\d,]+) tokens, not shown for lack of room: (MEMORY\.md\S*)"
)


def bullets(count: int, mark: str = "-", blank: str = "") -> str:
    return "".join(
        f"{mark} Valve {n} of the boiler is set to {n} bar and is checked each spring.\n{blank}"
        for n in range(1, count + 1)
    )


LONG = {
    "one section": "## Notes\n\n" + bullets(40),
    "no heading": bullets(40),
    "numbered": "## Notes\n\n" + "".join(f"{n}. Valve {n} is set to {n} bar, and checked each spring.\n" for n in range(1, 60)),
    "stars": "## Notes\n\n" + bullets(40, "*"),
    "tasks": "## Notes\n\n" + bullets(40, "- [ ]"),
    "blank lines": "## Notes\n\n" + bullets(40, blank="\n"),
    "paragraphs": "## Notes\n\n" + bullets(40, "", "\n"),
    "below one item": "## Notes\n\n- The boiler:\n" + re.sub("^", "  ", bullets(40), flags=re.M),
    "third level": "## House\n\n### Boiler\n\n" + bullets(40),
    "a long section and short ones": "## Old\n\n- The roof was mended.\n\n## Notes\n\n" + bullets(40),
    "two long sections": "## Old\n\n" + bullets(30) + "\n## Notes\n\n" + bullets(30),
    "with continuation lines": "## Notes\n\n" + "".join(f"- Valve {n}\n  is set to {n} bar\n  each spring.\n" for n in range(1, 60)),
    "Chinese": "## 笔记\n\n" + "".join(f"- 第{n}号阀门设定为{n}巴，每年春天检查一次，由住在邻居家的人负责。\n" for n in range(1, 60)),
    "one long paragraph": "## Notes\n\n" + " ".join(f"Valve {n} is set to {n} bar." for n in range(1, 200)) + "\n",
    "one long table": "## Notes\n\n| valve | bar |\n| --- | --- |\n" + "".join(f"| valve {n} | {n} bar |\n" for n in range(1, 200)),
    "one long fence": "## Notes\n\n```\n" + "".join(f"valve {n} = {n} bar\n" for n in range(1, 200)) + "```\n",
    "comments": "## Notes\n\n" + bullets(40).replace(".\n", ". <!-- by: agent; agent: a; at: 2026-03-01T10:00:00 -->\n"),
    "CRLF": ("## Notes\n\n" + bullets(40)).replace("\n", "\r\n"),
}  # fmt: skip


def started(owner: Owner, text: str, session: str) -> str:
    owner.note("MEMORY.md", "# Memory\n\n" + text)
    return owner.hook("SessionStart", session_id=session, source="startup")


@pytest.mark.parametrize("kind", LONG)
def test_a_session_is_given_part_of_a_long_memory_and_told_of_the_rest(owner: Owner, kind: str) -> None:
    given = started(owner, LONG[kind], "s1")
    assert len(re.findall(r"\d+ ?(?:bar|巴)", given)) >= 5, given
    told = LEFT_OUT.search(given)
    assert told, given
    left, size = int(told[1]), int(told[2].replace(",", ""))
    assert left >= 1
    assert size >= 100
    if kind == "two long sections":
        assert owner.ok("get", told[3]).strip()  # it says where: the place can be read


def test_the_newest_the_most_used_and_the_pinned_come_first(owner: Owner) -> None:
    facts = [
        f"- Valve {n} of the boiler is set to {n} bar and is checked each spring.\n" for n in range(1, 61)
    ]
    facts[2] = facts[2].replace("\n", " <!-- pinned -->\n")
    owner.note("MEMORY.md", "# Memory\n\n## Notes\n\n" + "".join(facts))
    owner.ok("sync")
    memory = owner.memory()
    memory.search("an earlier question, without an answer")
    for _ in range(3):
        memory.get("MEMORY.md#L24")
    given = owner.hook("SessionStart", source="startup")
    assert [n for n in (60, 59, 20, 3) if f"Valve {n} " not in given] == []
    assert "Valve 8 " not in given


def test_a_short_memory_is_given_whole_without_a_word(owner: Owner) -> None:
    given = started(owner, "## Notes\n\n" + bullets(5) + "\n## House\n\nThe roof was mended.\n", "s1")
    assert "Valve 1 " in given
    assert "The roof" in given
    assert "not shown" not in given


def test_a_session_that_is_resumed_is_not_told_again(owner: Owner) -> None:
    assert started(owner, LONG["one section"], "s1")
    assert owner.hook("SessionStart", session_id="s1", source="resume") == ""


def test_who_writes_into_a_memory_that_outgrew_its_budget_is_told(owner: Owner) -> None:
    first = owner.run("remember", "--long-term", "The roof was mended.")
    assert "tokens" not in first.err
    owner.note("MEMORY.md", "# Memory\n\n" + LONG["one section"])
    assert re.search(
        r"MEMORY\.md has about \d+ tokens", owner.run("remember", "--long-term", "Mira likes tea.").err
    )
    assert "MEMORY.md has about" in owner.mcp().call("memory_write", text="Mira likes plums.", long_term=True)


def test_status_and_doctor_compare_it_with_the_budget(owner: Owner) -> None:
    owner.note("MEMORY.md", "# Memory\n\n" + LONG["one section"])
    status = owner.run("status", "--format", "json").json
    assert status["long_term"] > status["long_term_budget"] == 350
    assert re.search(r"MEMORY\.md +about \d+ tokens; a session begins with 350", owner.ok("status"))
    findings = json.dumps(owner.run("doctor", "--offline", "--json").json)
    assert "MEMORY.md has about" in findings
    owner.environment["COMMONPLACE_PROMPT_LONG_TERM"] = "5000"
    assert '"warning", "told": "MEMORY.md has' not in json.dumps(
        owner.run("doctor", "--offline", "--json").json
    )


OPEN = {
    "private type": ("# Memory\n\n- Java: List<Private> is generic.\n", "private part", 3, "</private>"),
    "private": ("# Memory\n\n## Facts\n\n<private>\nA.\n", "private part", 5, "</private>"),
    "second of two": ("# Memory\n\n<private>a</private>\n\n<private>b\n", "private part", 5, "</private>"),
    "backticks": ("# Memory\n\n## Facts\n\n```sh\nmake tea\n", "code block", 5, "```"),
    "tildes": ("# Memory\n\n~~~\nmake tea\n", "code block", 3, "~~~"),
}


@pytest.mark.parametrize("how", OPEN)
def test_an_entry_behind_what_was_never_closed_is_warned_of(owner: Owner, how: str) -> None:
    text, kind, line, closing = OPEN[how]
    owner.note("MEMORY.md", text)
    done = owner.run("remember", "--long-term", "Lima likes tea.")
    assert done.code == 0
    assert f"a {kind} opens at MEMORY.md:{line} and is not closed" in done.err, done
    assert f"write {closing} " in done.err


CLOSED = (
    "# Memory\n\n<private>a</private>\n",
    "# Memory\n\n```html\n<!-- \n```\n",
    "# Memory\n\n~~~\na\n~~~\n\n<!-- b -->\n",
    "# Memory\n\n- `<!--` opens a comment.\n",
    "# Memory\n\n- A list.\n",
    "# Memory\n",
)


@pytest.mark.parametrize("text", CLOSED)
def test_no_warning_where_all_is_closed(owner: Owner, text: str) -> None:
    owner.note("MEMORY.md", text)
    assert "not closed" not in owner.run("remember", "--long-term", "Lima likes tea.").err
