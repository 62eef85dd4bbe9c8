"""A scripted server that answers as OpenAI's chat completions do."""

from __future__ import annotations

import json

from commonplace.config.credentials import Secret
from commonplace.providers.catalog import Spec
from commonplace.providers.llm.base import Message
from commonplace.providers.llm.chat import ChatModel
from tests.providers.server import Reply, Server

KEY = "sk-test-0123456789abcdefghij"
QUESTION = (Message("system", "Be brief."), Message("user", "When do we deploy?"))


def model_at(server: Server, provider: str = "compatible") -> ChatModel:
    return ChatModel(Spec(provider, "test-model", f"{server.url}/v1", key=Secret(KEY)))


def answer(text: str | None = "On Tuesday.", finish: str = "stop", **more: object) -> dict[str, object]:
    """A whole answer, as in the API reference of chat completions."""
    message = {"role": "assistant", "content": text, "refusal": None, **more.pop("message", {})}  # type: ignore[dict-item]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_770_000_000,
        "model": "test-model-2026-01-01",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29},
        **more,
    }


def refusal(message: str, kind: str = "invalid_request_error", code: str | None = None) -> dict[str, object]:
    """The body of an error."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def events(*pieces: str, finish: str = "stop", usage: bool = True, done: bool = True) -> list[bytes]:
    """The chunks of a streamed answer, each a server-sent event."""
    chunks = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": piece}) for piece in pieces)]
    chunks.append(chunk({}, finish))
    if usage:
        counts = {"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29}
        chunks.append({**chunk({}), "choices": [], "usage": counts})
    return [event(part) for part in chunks] + ([b"data: [DONE]\n\n"] if done else [])


def chunk(delta: dict[str, object], finish: str | None = None, **more: object) -> dict[str, object]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, **more}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "test-model", "choices": [choice]}


def event(data: object) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def streamed(parts: list[bytes], **more: object) -> Reply:
    return Reply(b"".join(parts), headers={"Content-Type": "text/event-stream; charset=utf-8"}, **more)  # type: ignore[arg-type]
