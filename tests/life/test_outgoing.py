"""What goes to a model on another machine holds no private part and no secret, through whichever door it came."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.life.conftest import Owner

TOKEN = "ghp_" + "Zx9Qw3Er7Ty1Ui5Op2As" * 2
QUESTIONS = (
    "Where is the kite? <private>Lena is ill</private>",
    "Where is the kite? <PRIVATE>Lena is ill",
    "Where is the kite? ＜private＞Lena is ill＜/private＞",
    "Where is the kite?\n```\n<private>Lena is ill</private>\n```",
    f"Why does this fail with the kite: curl -H 'Authorization: Bearer {TOKEN}'",
    f"export GITHUB_TOKEN={TOKEN} # for the kite",
    "The kite's password is hunter2-Lena-9, how do I log in?",
    "postgres://kite:hunter2-Lena-9@db.example.com/kite does not answer",
    "风筝的密码是 hunter2-Lena-9，怎么登录？",
    '{"kite": {"password": "hunter2-Lena-9"}} is not read',
)
HIDDEN = ("Lena is", TOKEN, "hunter2", "Lena-9", "session: s-77")


class Recorder:
    """A server that speaks OpenAI's language, gives every text a vector, and keeps what it was sent."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                recorder.bodies.append(body)
                answer = json.dumps(recorder.answer(json.loads(body))).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @staticmethod
    def answer(asked: Any) -> Any:
        if "input" in asked:
            texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
            rows = [
                {"index": n, "embedding": [1.0, len(text) % 7 / 7, 0.5, 0.25]} for n, text in enumerate(texts)
            ]
            return {"data": rows, "usage": {"prompt_tokens": 1}}
        message = {
            "role": "assistant",
            "content": '{"lex": ["kite"], "vec": ["the kite"], "hyde": "The kite hangs."}',
        }
        return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}}

    def sent(self) -> list[str]:
        """What of what must stay here was sent."""
        return [body for body in self.bodies if any(word in body for word in HIDDEN)]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    server = Recorder()
    yield server
    server.close()


@pytest.fixture
def remote(tmp_path: Path, recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> Iterator[Owner]:
    """Somebody whose embeddings and language model are a server's."""
    person = Owner(tmp_path / "notes")
    for part in ("EMBEDDING", "LLM"):
        settings = {"PROVIDER": "compatible", "BASE_URL": recorder.address, "MODEL": "any"}
        for name, value in settings.items():
            person.environment[f"COMMONPLACE_{part}_{name}"] = value
            monkeypatch.setenv(f"COMMONPLACE_{part}_{name}", value)
    person.note(
        "memory/kite.md",
        "# Kite\n\n- The kite hangs in the attic. <!-- by: agent; session: s-77 -->\n\n```\ncode\n"
        f"- In code. <!-- by: agent; session: s-77 -->\n<private>Lena is ill</private>\npassword = hunter2-Lena-9\n{TOKEN}\n```\n",
    )
    yield person
    person.close()


def test_a_question_in_python_leaves_without_what_is_private(remote: Owner, recorder: Recorder) -> None:
    memory = remote.memory()
    memory.sync()
    assert "kite" in "".join(recorder.bodies)
    for question in QUESTIONS:
        memory.search(question)
        memory.search(question, expand=True)
        memory.recall(question)
    assert len(recorder.bodies) > len(QUESTIONS)
    assert recorder.sent() == []


def test_so_does_one_through_every_other_door(remote: Owner, recorder: Recorder) -> None:
    for question in (QUESTIONS[1], f"{QUESTIONS[5]} <private>Lena is ill</private>"):
        remote.run("search", question)
        remote.run("search", question, "--expand")
        remote.run("prompt", question)
        remote.run("recall", question)
        remote.run("answer", question)
        remote.hook("UserPromptSubmit", prompt=question)
        remote.run("remember", question)
        agent = remote.mcp()
        agent.call("memory_search", query=question)
        served = remote.serve()
        served.request("POST", "/api/search", {"query": question})
        served.request(
            "GET", f"/api/recall?q={question.replace(' ', '+').replace('<', '%3C')}".replace("\n", "")
        )
        remote.run("serve", "stop")
    assert "kite" in "".join(recorder.bodies)
    assert recorder.sent() == []
