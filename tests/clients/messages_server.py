"""A language model as Anthropic's Messages API serves it, on loopback, that says what a test tells it.

https://docs.anthropic.com/en/api/messages-streaming: server-sent events. Every request that reached it is kept.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Rule = Callable[[Mapping[str, Any]], "str | tuple[str, dict[str, Any]]"]


class Messages:
    """Answers each request by a rule: a text, or a tool's name with its arguments."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.requests: list[dict[str, Any]] = []
        self.lock = threading.Lock()

    def answer(self, request: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        with self.lock:
            self.requests.append(request)
            number = len(self.requests)
        said = self.rule(request)
        usage = {
            "input_tokens": 10,
            "output_tokens": 5,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        }
        message = {
            "id": f"msg_{number:024}", "type": "message", "role": "assistant", "model": request.get("model", "m"),
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        yield "message_start", {"message": message}
        if isinstance(said, str):
            yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
            yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": said}}
        else:
            name, arguments = said
            block = {"type": "tool_use", "id": f"toolu_{number:020}", "name": name, "input": {}}
            yield "content_block_start", {"index": 0, "content_block": block}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
            yield "content_block_delta", {"index": 0, "delta": delta}
        yield "content_block_stop", {"index": 0}
        reason = "end_turn" if isinstance(said, str) else "tool_use"
        yield (
            "message_delta",
            {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 5}},
        )
        yield "message_stop", {}


@contextmanager
def serving(rule: Rule) -> Iterator[tuple[str, Messages]]:
    """Serve on a free port of loopback; yield the base URL and what it keeps."""
    messages = Messages(rule)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: object) -> None:
            pass

        def do_GET(self) -> None:
            self._json({})

        def do_HEAD(self) -> None:
            self._json({})

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
                self._json({"input_tokens": 10})
                return
            events = [(name, {"type": name, **data}) for name, data in messages.answer(request)]
            if not request.get("stream"):
                self._json(_whole(events))
                return
            body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events).encode()
            self._send(body, "text/event-stream")

        def _json(self, value: object) -> None:
            self._send(json.dumps(value).encode(), "application/json")

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", messages
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _whole(events: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """The message of a request that asked for no stream."""
    message: dict[str, Any] = dict(events[0][1]["message"])
    block = events[1][1]["content_block"]
    if block["type"] == "text":
        block = {**block, "text": events[2][1]["delta"]["text"]}
    else:
        block = {**block, "input": json.loads(events[2][1]["delta"]["partial_json"])}
    return {**message, "content": [block], "stop_reason": events[-2][1]["delta"]["stop_reason"]}
