"""The same conversation as every program writes it down, and what surrounds it in their files."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from commonplace.transcripts import ours
from commonplace.types.events import Call, Turn

ASKED = "Where does the kestrel service run?\nI forgot."
LOOKED = "Let me look."
FOUND = "region: eu-central-1 (the tool's own words)"
ANSWERED = "它运行在法兰克福 (eu-central-1)."
THOUGHT = "The user seems to be in a hurry."
TIMES = [f"2026-02-13T12:0{minute}:00.000Z" for minute in range(4)]
ARGUMENTS = {"command": "cat deploy.md"}
CALL = Call("c1", "exec", json.dumps(ARGUMENTS))

Value = Mapping[str, object]


@dataclass(frozen=True)
class Sample:
    """A file of one format: its name, its values, and whether it is one value or a line for each."""

    format: str
    values: Sequence[Value]
    archive: bool = False
    ending: str = ".jsonl"

    @property
    def data(self) -> bytes:
        """The file's bytes."""
        if self.archive:
            return json.dumps(self.values, ensure_ascii=False, indent=2).encode()
        return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in self.values)


def claude_code() -> Sample:
    base = {"sessionId": "s1", "cwd": "/work", "version": "2.1.37", "gitBranch": "", "isSidechain": False}

    def event(number: int, role: str, content: object, **more: object) -> Value:
        mark = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}", "timestamp": TIMES[number % 4]}
        return {**base, "type": role, "message": {"role": role, "content": content}, **mark, **more}

    thinking = {"type": "thinking", "thinking": THOUGHT, "signature": "x"}
    use = {"type": "tool_use", "id": "c1", "name": "exec", "input": ARGUMENTS}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": FOUND}]}
    return Sample(
        "claude-code",
        [
            {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
            {"type": "queue-operation", "operation": "dequeue", "timestamp": TIMES[0], "sessionId": "s1"},
            event(9, "user", "Caveat: injected", isMeta=True),
            event(0, "user", f"{ASKED}<system-reminder>\nbe brief\n</system-reminder>"),
            event(1, "assistant", [thinking]),
            event(1, "assistant", [{"type": "text", "text": LOOKED}, use]),
            event(2, "user", [result], toolUseResult={"stdout": FOUND}),
            event(8, "assistant", [{"type": "text", "text": "a sub-agent's words"}], isSidechain=True),
            event(3, "assistant", [{"type": "text", "text": ANSWERED}]),
            {**base, "type": "system", "subtype": "turn_duration", "uuid": "u7", "content": "said by nobody"},
        ],
    )


def codex() -> Sample:
    def item(number: int, **payload: object) -> Value:
        return {"timestamp": TIMES[number], "type": "response_item", "payload": payload}

    def message(number: int, role: str, kind: str, text: str) -> Value:
        return item(number, type="message", role=role, content=[{"type": kind, "text": text}])

    context = "<environment_context>\n  <cwd>/work</cwd>\n</environment_context>"
    agents = "# AGENTS.md instructions for /work\n\n<INSTRUCTIONS>\nbe brief\n</INSTRUCTIONS>"
    event = {"type": "user_message", "message": ASKED, "kind": "plain"}
    call = {"name": "exec", "arguments": CALL.arguments, "call_id": "c1"}
    return Sample(
        "codex",
        [
            {"timestamp": TIMES[0], "type": "session_meta", "payload": {"id": "s1", "cwd": "/work"}},
            message(0, "developer", "input_text", "said by nobody"),
            message(0, "user", "input_text", context),
            message(0, "user", "input_text", agents),
            message(0, "user", "input_text", ASKED),
            {"timestamp": TIMES[0], "type": "event_msg", "payload": event},
            {"timestamp": TIMES[0], "type": "turn_context", "payload": {"cwd": "/work", "model": "m"}},
            item(1, type="reasoning", summary=[{"type": "summary_text", "text": THOUGHT}]),
            message(1, "assistant", "output_text", LOOKED),
            item(1, type="function_call", **call),
            item(2, type="function_call_output", call_id="c1", output=FOUND),
            message(3, "assistant", "output_text", ANSWERED),
        ],
    )


def codex_first() -> Sample:
    """As its first versions wrote it: a head, then bare items without times."""
    newer = [value["payload"] for value in codex().values if value["type"] == "response_item"]
    head = {"id": "s1", "timestamp": TIMES[0], "instructions": None}
    return Sample("codex", [head, *newer])  # type: ignore[list-item]


def openclaw() -> Sample:
    def message(number: int, **more: object) -> Value:
        mark = {"id": f"m{number}", "parentId": f"m{number - 1}", "timestamp": TIMES[number]}
        return {"type": "message", **mark, "message": {**more, "timestamp": 1770984000000}}

    envelope = 'Conversation info (untrusted metadata):\n```json\n{\n  "sender": "ann"\n}\n```\n\n'
    call = {"type": "toolCall", "id": "c1", "name": "exec", "arguments": ARGUMENTS}
    said = [{"type": "thinking", "thinking": THOUGHT}, {"type": "text", "text": LOOKED}, call]
    named = {"toolCallId": "c1", "toolName": "exec", "isError": False}
    return Sample(
        "openclaw",
        [
            {"type": "session", "version": 3, "id": "s1", "timestamp": TIMES[0], "cwd": "/work"},
            {"type": "model_change", "id": "a", "parentId": None, "timestamp": TIMES[0], "modelId": "m"},
            {"type": "custom", "customType": "model-snapshot", "data": {}, "id": "b", "timestamp": TIMES[0]},
            message(0, role="user", content=[{"type": "text", "text": envelope + ASKED}]),
            message(1, role="assistant", content=said, usage={}, stopReason="toolUse"),
            message(2, role="toolResult", content=[{"type": "text", "text": FOUND}], **named),
            message(3, role="assistant", content=[{"type": "text", "text": ANSWERED}]),
            message(3, role="assistant", content=[{"type": "text", "text": "NO_REPLY"}]),
        ],
    )


def messages(time: str = "timestamp", **first: object) -> list[Value]:
    """Messages as chat completions take them."""
    call = {"id": "c1", "type": "function", "function": {"name": "exec", "arguments": CALL.arguments}}
    return [
        {"role": "user", "content": ASKED, time: TIMES[0], **first},
        {"role": "assistant", "content": LOOKED, "tool_calls": [call], time: TIMES[1]},
        {"role": "tool", "tool_call_id": "c1", "name": "exec", "content": FOUND, time: TIMES[2]},
        {"role": "assistant", "content": ANSWERED, time: TIMES[3]},
    ]


def nanobot() -> Sample:
    suffix = "[Runtime Context — metadata only, not instructions]\nChannel: cli\n[/Runtime Context]"
    mark = {"version": 1, "sources": ["runtime"], "suffix": suffix}
    said = messages(content=f"{ASKED}\n\n{suffix}", _runtime_context=mark)
    head = {"_type": "metadata", "key": "cli:direct", "created_at": TIMES[0], "updated_at": TIMES[3]}
    automation = {"role": "user", "content": "said by nobody", "_automation_turn": {"kind": "cron"}}
    return Sample("nanobot", [{**head, "metadata": {}, "last_consolidated": 0}, automation, *said])


def openai() -> Sample:
    return Sample("openai", [{"role": "system", "content": "said by nobody"}, *messages()])


def openai_list() -> Sample:
    return Sample("openai", openai().values, archive=True, ending=".json")


def commonplace() -> Sample:
    turns = [
        Turn("system", "said by nobody"),
        Turn("user", ASKED, TIMES[0]),
        Turn("assistant", LOOKED, TIMES[1], (CALL,)),
        Turn("tool", FOUND, TIMES[2], answers="c1", tool="exec"),
        Turn("assistant", ANSWERED, TIMES[3]),
    ]
    return Sample("commonplace", [json.loads(ours.line(turn)) for turn in turns])


def chatgpt() -> Sample:
    started = 1770984000.0  # 2026-02-13T12:00:00Z

    def node(name: str, parent: str | None, role: str, content: Value, **more: object) -> Value:
        author = {"role": role, "name": None, "metadata": {}}
        message = {"id": name, "author": author, "content": content, "recipient": "all", "metadata": {}}
        number = float(name[-1]) if name[-1].isdigit() else 0.0
        told = {**message, "create_time": started + 60 * number, **more}
        return {"id": name, "message": told, "parent": parent, "children": []}

    def text(said: str) -> Value:
        return {"content_type": "text", "parts": [said]}

    hidden = {"is_visually_hidden_from_conversation": True}
    code = {"content_type": "code", "language": "unknown", "text": CALL.arguments}
    thoughts = {"content_type": "thoughts", "thoughts": [{"content": THOUGHT}]}
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://1"}
    asked = {"content_type": "multimodal_text", "parts": [picture, ASKED]}
    nodes = [
        {"id": "root", "message": None, "parent": None, "children": ["s"]},
        node("s", "root", "system", text("said by nobody"), metadata=hidden),
        node("u0", "s", "user", asked),
        node("t1", "u0", "assistant", thoughts),
        node("a1", "t1", "assistant", text(LOOKED)),
        node("c1", "a1", "assistant", code, recipient="exec"),
        node("r2", "c1", "tool", {"content_type": "execution_output", "text": FOUND}),
        node("x3", "r2", "assistant", text("an answer that was thrown away")),
        node("a3", "r2", "assistant", text(ANSWERED)),
    ]
    mapping = {node["id"]: node for node in nodes}
    head = {"title": "Kestrel's region", "create_time": started, "update_time": started, "id": "k"}
    return Sample("chatgpt", [{**head, "mapping": mapping, "current_node": "a3"}], True, ".json")


def claude() -> Sample:
    def message(number: int, sender: str, *content: Value) -> Value:
        text = "\n".join(str(block.get("text", FOUND)) for block in content)
        mark = {"uuid": f"m{number}", "created_at": TIMES[number], "attachments": [], "files": []}
        return {**mark, "sender": sender, "text": text, "content": list(content)}

    said = {"type": "text", "text": LOOKED}
    use = {"type": "tool_use", "id": "c1", "name": "exec", "input": ARGUMENTS}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": FOUND}]}
    turns = [
        message(0, "human", {"type": "text", "text": ASKED}),
        message(1, "assistant", {"type": "thinking", "thinking": THOUGHT}, said, use, result),
        message(3, "assistant", {"type": "text", "text": ANSWERED}),
    ]
    head = {"uuid": "k", "name": "Kestrel's region", "created_at": TIMES[0], "updated_at": TIMES[3]}
    return Sample("claude", [{**head, "account": {"uuid": "a"}, "chat_messages": turns}], True, ".json")


SAMPLES: Mapping[str, Callable[[], Sample]] = {
    made.__name__: made
    for made in (
        claude_code, codex, codex_first, openclaw, nanobot, openai, openai_list, commonplace, chatgpt, claude,
    )
}  # fmt: skip


def packed(data: bytes, name: str = "conversations.json") -> bytes:
    """An archive as exports come: the conversations beside other files."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chat.html", "<html></html>")
        archive.writestr(name, data)
    return file.getvalue()
