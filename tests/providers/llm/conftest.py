"""A scripted server that answers as OpenAI's chat completions do."""

from __future__ import annotations

from commonplace.config.credentials import Secret
from commonplace.providers.catalog import Spec
from commonplace.providers.llm.base import Message
from commonplace.providers.llm.chat import ChatModel
from tests.providers.server import Server

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
