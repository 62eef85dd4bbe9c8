"""A language model over HTTP that says what a test tells it, and keeps every request that reached it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.providers.server import Reply, Request, serving

Asked = Mapping[str, Any]  # the JSON of a request
STREAM = {"Content-Type": "text/event-stream"}


@dataclass(frozen=True)
class Say:
    """An answer: a text, and the tools it calls, each with its arguments."""

    text: str = ""
    calls: tuple[tuple[str, object], ...] = ()
    more: Mapping[str, Any] | None = None  # how the reply goes wrong
    refusal: str = ""  # the message of an error of status 400


def call(name: str, **arguments: object) -> Say:
    return Say(calls=((name, arguments),))


class Model:
    """Answers a conversation with the next of its script, then by `rule`, everything else by `aside`.

    It refuses what a strict server would refuse, and the test fails at its end.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[Asked] = []
        self.script: list[Say | Callable[[Asked], Say]] = []
        self.rule: Callable[[Asked], Say] = lambda asked: Say("Noted.")
        self.aside: Callable[[Asked], Say] = lambda asked: Say("NO_REPLY")
        self._numbers = itertools.count()

    def reply(self, request: Request) -> Reply:
        asked = request.json
        check(asked["messages"])
        self.requests.append(asked)
        if not is_chat(asked):
            step: Say | Callable[[Asked], Say] = self.aside
        else:
            step = self.script.pop(0) if self.script else self.rule
        said = step if isinstance(step, Say) else step(asked)
        if said.refusal:
            return Reply({"error": {"message": said.refusal, "code": "context_length_exceeded"}}, 400)
        calls = [
            {
                "id": f"call_{next(self._numbers)}",
                "type": "function",
                "function": {"name": name, "arguments": written(arguments)},
            }
            for name, arguments in said.calls
        ]
        finish = "tool_calls" if calls else "stop"
        if asked.get("stream"):
            delta = {"content": said.text, "tool_calls": [{"index": n, **c} for n, c in enumerate(calls)]}
            return Reply(streamed(delta) + streamed({}, finish) + b"data: [DONE]\n\n", headers=STREAM)
        message = {"role": "assistant", "content": said.text, "tool_calls": calls}
        whole = {"model": "scripted", "choices": [{"message": message, "finish_reason": finish}]}
        return Reply(whole, **(said.more or {}))

    # --- what was asked -----------------------------------------------------------------------------

    @property
    def chats(self) -> list[Asked]:
        """The requests of the conversation itself."""
        return [asked for asked in self.requests if is_chat(asked)]

    @property
    def others(self) -> list[Asked]:
        """The requests for flushes and summaries."""
        return [asked for asked in self.requests if not is_chat(asked)]


def is_chat(asked: Asked) -> bool:
    """Tell a request of a conversation from those for flushes and summaries."""
    return any(tool["function"]["name"] == "memory_search" for tool in asked.get("tools", ()))


def check(messages: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a conversation in which a call lacks its answer or an answer its call."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, f"an answer without its call: {message}"
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, f"calls without answers: {waiting}"
        waiting = [called["id"] for called in message.get("tool_calls", [])]
    assert not waiting, f"calls without answers: {waiting}"
    assert messages[-1]["role"] in ("user", "tool"), "nothing is asked"


def text(asked: Asked) -> str:
    """All that a request says."""
    return "\n".join(message["content"] for message in asked["messages"])


def last(asked: Asked, role: str = "user") -> str:
    """The last message of somebody."""
    found: str = [message["content"] for message in asked["messages"] if message["role"] == role][-1]
    return found


def written(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def streamed(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    """A chunk of a streamed answer, which hosts of other people ask for."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"model": "scripted", "choices": [choice]}).encode() + b"\n\n"


@contextmanager
def model_serving() -> Iterator[Model]:
    with serving() as server:
        model = Model(f"{server.url}/v1")
        server.answer = model.reply
        yield model
