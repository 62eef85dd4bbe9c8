"""Without a language model a session has a summary only if it says what was decided or done, and one at most."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.life.conftest import LONG_AGO, Owner, until

DAY = "memory/2026-02-13.md"
HELLO, THANKS = ("Good morning! How are you?", "Fine, and you?"), ("Thanks!", "You are welcome.")
HI_ZH, THANKS_ZH = ("早上好，最近怎么样？", "很好，谢谢。"), ("谢谢！", "不客气。")
# The talk of a session between its greetings, and the sentence of it that a note keeps.
SAID = {
    "a person decided": (
        ("We decided to move the deploy to Thursday.", "Noted."),
        "move the deploy to Thursday",
    ),
    "an agent agreed": (("Which database?", "So we agreed on Postgres for Heron."), "Postgres for Heron"),
    "let us go with": (("Let's go with the walnut desk.", "A good choice."), "go with the walnut desk"),
    "the decision": (("Decision: the boiler is serviced in May.", "Fine."), "boiler is serviced in May"),
    "the agent fixed": (
        ("The parser fails.", "I've fixed the parser of dates."),
        "fixed the parser of dates",
    ),
    "it was done": (("And staging?", "Staging has been deployed with 4.2."), "deployed with 4.2"),
    "updated": (("And the docs?", "Done. Updated README.md and two pages."), "Updated README.md"),
    "booked": (("A table, please.", "I booked the table for Friday."), "booked the table for Friday"),
    "决定": (("我们决定用 PostgreSQL。", "好的。"), "决定用 PostgreSQL"),
    "就用": (("那就用胡桃木的桌子吧。", "不错。"), "就用胡桃木的桌子"),
    "定在": (("会议定在周三上午十点。", "收到。"), "定在周三上午十点"),
    "已修改": (("字段呢？", "已修改 schema.py，编号现在是 uuid。"), "已修改 schema.py"),
    "修好了": (("测试呢？", "失败的测试修好了。"), "失败的测试修好了"),
}
NOISE = {
    "small talk": ("Do you like ferries?", "They are relaxing."),
    "a question": ("Why is the sky blue?", "Because of Rayleigh scattering."),
    "a request alone": ("Please fix the parser and push it.", "It needs a token first."),
    "still open": ("We have not decided on a database yet.", "Take your time."),
    "a question of what is decided": ("Should we go with SQLite, or what was decided?", "That depends."),
    "a condition": ("If we decided to move, what would it cost?", "About two weeks."),
    "an offer": ("What can you do?", "I can fix, update and deploy things."),
    "code alone": ("Show me.", "```\n# we decided to use tabs\nI fixed it.\n```\nThere."),
    "闲聊": ("天气真好。", "是的，适合散步。"),
    "还没决定": ("我们还没决定用哪个数据库。", "不着急。"),
    "问句": ("要不要改用 Redis？", "看情况。"),
    "由你决定": ("这由你决定。", "我再想想。"),
}  # fmt: skip


def talk(path: Path, session: str, *said: tuple[str, str], hour: int = 9, day: str = "2026-02-13") -> None:
    """Append to a transcript as Claude Code writes it."""
    with path.open("a", encoding="utf-8") as file:
        for minute, pair in enumerate(said):
            for role, text in zip(("user", "assistant"), pair, strict=True):
                message = {"role": role, "content": [{"type": "text", "text": text}]}
                at = f"{day}T{hour:02}:{minute:02}:00"
                line = {"type": role, "message": message, "uuid": f"{role}{hour}{minute}", "timestamp": at}
                file.write(json.dumps({**line, "sessionId": session}) + "\n")


def end(owner: Owner, path: Path, session: str) -> None:
    """End a session as its client does, and wait until it is summed up where it is to be."""
    owner.hook("SessionEnd", session_id=session, transcript_path=str(path), reason="other")


def notes(owner: Owner) -> str:
    return "\n".join(path.read_text("utf-8") for path in sorted((owner.folder / "memory").glob("*.md")))


def test_only_what_was_decided_or_done_is_kept(owner: Owner, tmp_path: Path) -> None:
    talks = [pair for pair, _ in SAID.values()] + [*NOISE.values()]
    for number, pair in enumerate(talks):
        is_chinese = not pair[0].isascii()
        greeting, thanks = (HI_ZH, THANKS_ZH) if is_chinese else (HELLO, THANKS)
        session = f"s{number}"
        talk(tmp_path / f"{session}.jsonl", session, greeting, pair, thanks)
        path = tmp_path / f"{session}.jsonl"
        os.utime(path, (LONG_AGO, LONG_AGO))  # it rests
        owner.hook("Stop", session_id=session, transcript_path=str(path))
    end(owner, path, session)
    until(lambda: "nothing is pending" in owner.run("summarize", "--pending").err)
    written = notes(owner)
    for name, (_, kept) in SAID.items():
        assert kept in written, name
    assert written.count("session: ") == len(SAID)
    for noise in (
        "welcome",
        "Good morning",
        "不客气",
        "早上好",
        "Extract",
        "Asked",
        "请求",
        "Rayleigh",
        "Redis",
        "tabs",
    ):
        assert noise not in written


def test_a_session_that_goes_on_has_one_summary(owner: Owner, tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    talk(path, "s1", HELLO, ("We decided to move the deploy to Thursday.", "Noted."), THANKS)
    end(owner, path, "s1")
    until(lambda: "deploy to Thursday" in notes(owner))
    talk(path, "s1", HELLO, ("We decided to paint the fence green.", "I updated the plan."), THANKS, hour=15)
    owner.hook("SessionStart", source="resume", transcript_path=str(path))
    end(owner, path, "s1")
    until(lambda: "fence green" in notes(owner))
    assert owner.read(DAY).count("session: s1") == 1
    assert "deploy to Thursday" in owner.read(DAY)
    talk(path, "s1", HELLO, ("Nothing else?", "No."), THANKS, day="2026-02-15")
    end(owner, path, "s1")
    talk(path, "s1", HELLO, ("我们决定用胡桃木的桌子。", "好的。"), THANKS, day="2026-02-16")
    end(owner, path, "s1")
    until(lambda: "胡桃木" in notes(owner))
    assert notes(owner).count("session: s1") == 1
    assert "at: 2026-02-16" in owner.read(DAY)


def test_a_summary_that_a_person_edited_stays_as_it_is(owner: Owner, tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    talk(path, "s1", HELLO, ("We decided to move the deploy to Thursday.", "Noted."), THANKS)
    end(owner, path, "s1")
    until(lambda: "deploy to Thursday" in notes(owner))
    mine = owner.read(DAY).replace("to Thursday.", "to Friday, I mean.")
    owner.note(DAY, mine)
    talk(path, "s1", HELLO, ("We decided to paint the fence green.", "Fine."), THANKS, hour=15)
    end(owner, path, "s1")
    until(lambda: "fence green" in notes(owner))
    assert "to Friday, I mean." in owner.read(DAY)
    assert owner.read(DAY).count("session: s1") == 2
