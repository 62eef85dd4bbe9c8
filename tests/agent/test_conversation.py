"""Forty messages through the loop over real HTTP, asserted on what reached the model and what reached the disk."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from commonplace.agent.loop import AgentLoop, Reply
from commonplace.agent.tools import Tool, ToolAnswer
from commonplace.base import tokens as estimates
from commonplace.memory import Memory
from commonplace.transcripts.session import Transcript
from commonplace.types.events import SessionEvent
from tests.agent.model_server import Asked, Model, Say, call, last
from tests.agent.talking import Begin, kind, note, wait_for

KEY = "sk-proj-" + "a1B2c3D4e5F6" * 4
PIN = "4711-9923-ultramarine"
OTHER_KEY = "ghp_" + "Zz9Yy8Xx7W" * 4
MAIL, PHONE = "anna.keller@example.org", "+49 170 5551234"
SECRETS = (KEY, PIN, OTHER_KEY, MAIL, "5551234")
LAUNCH = "The launch of Kestrel moved to 14 March."
FRIDAY = "周五下午不部署，因为没有人值班。"
EXPORT = "We agreed that the billing export retries three times before it pages anyone."
SETTINGS = {
    "compaction.window": 5000,
    "prompt.budget": 500,
    "recall.budget": 300,
    "summary.idle_s": 3600,
}
_BLOCK = re.compile(r"<recalled-notes.*?</recalled-notes>", re.DOTALL)
_FILLER = (
    "The schema review covered table number {0} and its indexes, the owner of step {0} checked the plan with "
    "the database group, and the rollout of part {0} stays behind its flag until the numbers look right. "
)


@dataclass
class Exchange:
    """A message, what the model answers to it in turn, and what must hold of the last request about it."""

    message: str
    answers: list[Say] = field(default_factory=list)
    check: Callable[[Asked, Reply], None] = lambda asked, reply: None
    before: Callable[[Path], None] = lambda root: None


def exec_tool(memory: Memory, given: Mapping[str, Any], caller: object) -> ToolAnswer:
    return ToolAnswer(f"3 failed\nreported by {MAIL}, {PHONE}\ntoken {OTHER_KEY}\nexit 1 in {given['command']}")


def write_tool(memory: Memory, given: Mapping[str, Any], caller: object) -> ToolAnswer:
    (memory.workspace.root / given["path"]).write_text(given["content"], "utf-8")
    return ToolAnswer("written")


def takes(*names: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": [*names],
    }


TOOLS = (
    Tool("exec", "Run a command.", takes("command"), exec_tool, read_only=False),
    Tool("write_file", "Write a file.", takes("path", "content"), write_tool, read_only=False),
)


# --- what is looked at ----------------------------------------------------------------------------------


def recalled(asked: Asked, *, newest: bool = False) -> str:
    """What stands in recalled blocks beside the user's messages, or beside the newest."""
    contents = [m["content"] for m in asked["messages"] if m["role"] == "user"]
    return "\n".join(block for text in contents[-newest:] for block in _BLOCK.findall(text))


def recalls(*texts: str, newest: bool = False) -> Callable[[Asked, Reply], None]:
    """Check that the model was sent what is remembered, with this message or one before it."""

    def check(asked: Asked, reply: Reply) -> None:
        block = recalled(asked, newest=newest)
        assert [text for text in texts if text not in block] == []

    return check


def statements(asked: Asked) -> Counter[str]:
    lines = (line.strip() for line in recalled(asked).splitlines())
    return Counter(line for line in lines if line and not line.startswith(("<", "From ", "#", "```")))


def tokens(asked: Asked) -> int:
    return estimates.about(json.dumps(asked, ensure_ascii=False))


def bytes_on_disk(*folders: Path) -> Iterator[tuple[Path, bytes]]:
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                yield path, path.read_bytes()


# --- the forty messages ---------------------------------------------------------------------------------


def filler(number: int, words: int = 3) -> Exchange:
    long = "".join(_FILLER.format(number * 10 + part) for part in range(words))
    part = 100 + number  # the minute that entries are written at must not be what is asked for
    return Exchange(f"Please go through part {part} of the schema review with me.", [Say(long)])


def failing(reply: Reply) -> None:
    assert "503" in reply.error


def by_hand(root: Path) -> None:
    with (root / "MEMORY.md").open("a", encoding="utf-8") as file:
        file.write("\n## Lin\n\n- Lin keeps the contracts in the blue folder.\n")


def conversation() -> list[Exchange]:
    wrote = ("write_file", {"path": "plan.md", "content": "# Plan\n\n1. Freeze the schema.\n"})
    return [
        Exchange("Hello, I am back at work on Kestrel."),
        Exchange("Which tea do I drink after lunch?", check=recalls("Aged white tea after lunch.")),
        Exchange("豆豆上哪所小学？", [Say("青禾小学。")], recalls("青禾小学")),
        Exchange(f"Remember this: {LAUNCH}", [call("memory_write", text=LAUNCH), Say("I wrote it down.")]),
        Exchange("请记住周五下午的事。", [call("memory_write", text=FRIDAY), Say("记下了。")]),
        Exchange("Run the tests.", [call("exec", command="make test"), Say("Three of them failed.")]),
        Exchange(
            "Write the plan, and look at the draft beside it.",
            [Say("", (wrote, ("read_file", {"path": "draft.txt"}))), Say("Both done.")],
            lambda asked, reply: [e.tool for e in reply.executions] == ["write_file", "read_file"] or 1 / 0,
        ),
        Exchange(f"The key is {KEY}, use it for the upload.", [Say(f"I must not keep {KEY}.")]),
        Exchange(f"<private>My PIN is {PIN}.</private> What comes next?", [Say("The review comes next.")]),
        Exchange(
            "What does the plan say?",
            [call("read_file", path="plan.md"), Say("Freeze the schema.")],
            lambda asked, reply: "Freeze the schema." in last(asked, "tool") or 1 / 0,
        ),
        Exchange(EXPORT),
        Exchange("When is the launch of Kestrel?", check=recalls(LAUNCH)),
        Exchange(
            "Which folder does Lin use for contracts?",
            check=recalls("blue folder", newest=True),
            before=by_hand,
        ),
        Exchange("周五下午可以部署吗？", [Say("不可以。")], recalls("周五下午不部署")),
        Exchange(
            "Search for the tea.",
            [Say("", (("memory_search", '{"query": '), ("memory_find", {}))), Say("I cannot.")],
            lambda asked, reply: all(e.error for e in reply.executions) or 1 / 0,
        ),
        Exchange("And now?", [Say("", more={"status": 503})] * 9, lambda asked, reply: failing(reply)),
        Exchange("Please try again.", [Say("Here I am again.")]),
        *[filler(number) for number in range(18, 21)],  # the agent wrote itself until here
        *[filler(number) for number in range(21, 31)],  # then it rests
        Exchange("When is the launch of Kestrel, once more?", check=recalls(LAUNCH)),
        *[filler(number) for number in range(32, 40)],
        Exchange("豆豆的小学叫什么名字来着？", [Say("青禾小学。")], recalls("青禾小学")),
    ]


def rest(loop: AgentLoop) -> None:
    """Let the session rest, as its timer would, and wait until that is seen to."""
    loop._hooks.emit("on_session_idle", SessionEvent(loop.session))
    pending = loop._summaries._summarizer.pending
    turns = len(Transcript.open(loop.memory.workspace, loop.session).load())

    def seen() -> bool:
        mark = pending.read(loop.session)
        return mark is not None and mark.done == turns

    wait_for(seen)


def test_forty_messages(begin: Begin, model: Model, root: Path, private_home: Path) -> None:
    shown: list[tuple[str, str]] = []
    loop = begin(
        "long",
        agent="tester",
        tools=TOOLS,
        settings=SETTINGS,
        show=lambda kind, words: shown.append((kind, words)),
    )
    exchanges = conversation()
    assert len(exchanges) == 40
    for number, exchange in enumerate(exchanges, 1):
        exchange.before(root)
        model.script = list(exchange.answers)
        before = len(model.chats)
        reply = loop.respond(exchange.message)
        assert model.chats[before:], exchange.message
        exchange.check(model.chats[-1], reply)
        if number in (20, 30):
            rest(loop)
        if number == 20:
            # The agent wrote memory itself, which cancels no summary and is not said twice.
            assert note(root).count("Asked") == 1
            assert note(root).count(LAUNCH) == 1
    wait_for(lambda: "Ran make test" in note(root))
    loop.close()

    nothing_is_recalled_twice(model)
    the_conversation_was_shortened_after_a_flush(model, loop, shown)
    what_was_said_is_summed_up(root)
    the_tools_are_observed(root)
    the_transcript_has_everything(loop, exchanges)
    no_secret_is_anywhere([root, private_home])


def nothing_is_recalled_twice(model: Model) -> None:
    for asked in model.chats:
        twice = {line: times for line, times in statements(asked).items() if times > 1}
        assert twice == {}, twice
    # What is said of itself in the newest message is the newest: a block went with many, not with all.
    assert 4 <= len({recalled(asked) for asked in model.chats} - {""}) < len(model.chats)


def the_conversation_was_shortened_after_a_flush(
    model: Model, loop: AgentLoop, shown: list[tuple[str, str]]
) -> None:
    kinds = [kind(asked) for asked in model.requests]
    shortened = [place for place, name in enumerate(kinds) if name == "compaction"]
    assert len(shortened) >= 2
    for place in shortened:
        assert kinds[place - 1] == "flush"
        after = next(asked for asked in model.requests[place:] if kind(asked) == "chat")
        assert "<conversation-summary" in after["messages"][1]["content"]
    assert kinds.count("flush") == len(shortened)
    assert sum(words.startswith("shortened") for _, words in shown) == len(shortened)
    note_text = note(loop.memory.workspace.root)
    assert note_text.count(EXPORT) == 1
    for asked in model.chats:
        assert tokens(asked) < SETTINGS["compaction.window"]


def what_was_said_is_summed_up(root: Path) -> None:
    entries = note(root).split("## Session summaries")
    assert len(entries) == 2
    assert entries[1].count("Asked") == 1  # brought up to date when it rested, and at the end
    assert "of the schema review" in entries[1]
    assert "<!--" in entries[1]


def the_tools_are_observed(root: Path) -> None:
    text = note(root)
    assert "## Observations" in text
    assert "Ran make test" in text
    assert "3 failed" not in text
    assert "Wrote plan.md" in text


def the_transcript_has_everything(loop: AgentLoop, exchanges: list[Exchange]) -> None:
    turns = Transcript.open(loop.memory.workspace, loop.session).load()
    asked = [turn.text for turn in turns if turn.role == "user"]
    assert len(asked) == len(exchanges)
    assert asked[0] == exchanges[0].message
    assert asked[8] == " What comes next?".strip() or asked[8].strip() == "What comes next?"
    assert "recalled-notes" not in loop._transcript.path.read_text("utf-8")
    called = [call.id for turn in turns for call in turn.calls]
    assert called == [turn.answers for turn in turns if turn.role == "tool"]


def no_secret_is_anywhere(folders: list[Path]) -> None:
    files = list(bytes_on_disk(*folders))
    assert any(path.suffix == ".jsonl" for path, _ in files)
    assert any(path.suffix == ".sqlite" for path, _ in files)
    found = [(path.name, secret) for path, data in files for secret in SECRETS if secret.encode() in data]
    assert found == []
