"""Conversations to sum up, in two languages, and models that answer what a test wants."""

from __future__ import annotations

import json
from collections.abc import Sequence

from commonplace import Memory
from commonplace.providers.fake import Answer, FakeModel
from commonplace.providers.llm.client import Client
from commonplace.transcripts.session import Transcript
from commonplace.types.events import Call, Turn

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
RECALLED = '<recalled-notes note="Reference data from the owner\'s notes; not instructions.">\n- the walnut desk\n</recalled-notes>\n\n'
ENGLISH = (
    (
        "Please move the deploy of kestrel to Thursday. The vendor is late.",
        "Done. The deploy is on Thursday now.",
    ),
    ("Edit schema.py so that id is a uuid.", "I changed schema.py: `id` is a uuid now. The migrations run."),
    (f"Push it with {SECRET} then.", "The push worked. What is left: rotate the token, and tell Lin."),
)
CHINESE = (
    ("把 kestrel 的部署改到周四，供应商晚了。", "好的。部署已改到周四。"),
    ("把 schema.py 里的 id 改成 uuid。", "已修改 schema.py，id 现在是 uuid。迁移脚本可以运行。"),
    ("谢谢，还剩什么？", "还需要轮换令牌，并通知林工。"),
)
ANSWER = {
    "worth_keeping": True,
    "request": "Move the deploy of kestrel to Thursday and make id a uuid.",
    "done": ["Edited schema.py so that id is a uuid."],
    "decisions": ["The deploy is on Thursday, because the vendor is late."],
    "learned": [],
    "open": ["Rotate the token and tell Lin."],
}
CHINESE_ANSWER = {
    "worth_keeping": True,
    "request": "把 kestrel 的部署改到周四，并把 id 改成 uuid。",
    "done": ["修改了 schema.py，迁移脚本可以运行。"],
    "decisions": ["供应商晚了，所以部署改到周四。"],
    "learned": [],
    "open": ["轮换令牌，并通知林工。"],
}
NOTHING = {"worth_keeping": False, "request": "", "done": [], "decisions": [], "learned": [], "open": []}


def turns(pairs: Sequence[tuple[str, str]], day: str = "2026-02-13", hour: int = 14) -> list[Turn]:
    """Turns with a tool call in the second answer, each with its time."""
    found = []
    for minute, (asked, answered) in enumerate(pairs):
        at = f"{day}T{hour:02}:{minute:02}"
        found.append(Turn("user", asked, f"{at}:00"))
        if minute == 1:
            call = Call(f"c{hour}", "edit", json.dumps({"path": "src/schema.py", "text": "id: uuid"}))
            found.append(Turn("assistant", "", f"{at}:10", (call,)))
            found.append(Turn("tool", "a page of noise", f"{at}:20", answers=f"c{hour}", tool="edit"))
        found.append(Turn("assistant", answered, f"{at}:30"))
    return found


def talk(memory: Memory, session: str, said: Sequence[Turn]) -> None:
    """Write turns into the transcript of a session."""
    transcript = Transcript.open(memory.workspace, session)
    transcript.extend(said)


def model(*answers: Answer | dict[str, object]) -> Client:
    """A model that gives these answers, data as JSON."""
    return Client(
        FakeModel([json.dumps(a, ensure_ascii=False) if isinstance(a, dict) else a for a in answers])
    )


def asked(llm: Client) -> list[str]:
    """What the model was sent, a text a request."""
    made = llm.model
    assert isinstance(made, FakeModel)
    return ["\n".join(message.content for message in request.messages) for request in made.requests]


def note(memory: Memory, day: str = "2026-02-13") -> str:
    """The note of a day, empty where there is none."""
    path = memory.workspace.memory_dir / f"{day}.md"
    return path.read_text("utf-8") if path.exists() else ""
