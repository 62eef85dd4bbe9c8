"""The models that settings name: over real HTTP, behind cache and breaker, with others standing in."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.base.errors import ProviderError
from commonplace.base.paths import Workspace
from commonplace.providers import opening
from tests.copies import files_of

KEY = "sk-configured-0123456789"


class Server(ThreadingHTTPServer):
    """A server that speaks OpenAI's language: each word adds to one of 8 dimensions; `refuse` is a status."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.inputs: list[str] = []
        self.keys: list[str | None] = []
        self.models: list[str] = []
        self.refuse = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.keys.append(self.headers.get("Authorization"))
        self.server.models.append(asked["model"])
        status, answer = 200, {"data": [], "model": asked["model"]}
        if self.server.refuse:
            status, answer = (
                self.server.refuse,
                {"error": {"message": "invalid key", "code": "invalid_api_key"}},
            )
        else:
            self.server.inputs += asked["input"]
            answer["data"] = [{"index": i, "embedding": vector(t)} for i, t in enumerate(asked["input"])]
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def vector(text: str) -> list[float]:
    row = [0.01] * 8
    for word in text.lower().split():
        row[sum(word.encode()) % 8] += 1.0
    return row


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    for number in range(40):
        (tmp_path / "memory" / f"n{number}.md").write_text(
            f"# Note {number}\n\nwalnut desk {number}\n", "utf-8"
        )
    return tmp_path


@pytest.fixture
def settings(server: Server, tmp_path: Path) -> dict[str, object]:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    return {
        "embedding.provider": "compatible",
        "embedding.model": "words",
        "embedding.base_url": server.url,
        "embedding.key": str(file),
    }


def test_a_configured_endpoint_embeds_and_answers(
    root: Path, server: Server, settings: dict[str, object]
) -> None:
    with Memory.open(root, overrides=settings) as memory:
        report = memory.sync()
        assert (report.embedded, report.warnings) == (40, ())
        found = memory.search("walnut desk 7")
        assert (found.level, found.warnings) == (0, ())
        assert "meaning" in {factor.name for factor in found.hits[0].factors}
    assert set(server.keys) == {f"Bearer {KEY}"}
    kept = [file for file in files_of(root) if file.name != "key"]
    assert not any(KEY.encode() in file.read_bytes() for file in kept)


def test_nothing_is_paid_for_twice_in_another_workspace_or_after_the_index_is_gone(
    root: Path, server: Server, settings: dict[str, object], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with Memory.open(root, overrides=settings) as memory:
        memory.sync()
    paid = len(server.inputs)
    other = tmp_path_factory.mktemp("other")
    (other / "memory").mkdir()
    for number in range(40):
        (other / "memory" / f"n{number}.md").write_bytes((root / "memory" / f"n{number}.md").read_bytes())
    (other / "memory" / "new.md").write_text("# New\n\na brass lamp\n", "utf-8")
    with Memory.open(other, overrides=settings) as memory:
        assert memory.sync().pending == 0
    assert len(server.inputs) == paid + 1
    for file in Workspace(root).index.parent.glob("index.sqlite*"):
        file.unlink()
    with Memory.open(root, overrides=settings) as memory:
        memory.sync()
    assert len(server.inputs) == paid + 1


def test_a_wrong_key_is_asked_once_and_full_text_answers(
    root: Path, server: Server, settings: dict[str, object]
) -> None:
    server.refuse = 401
    with Memory.open(root, overrides=settings) as memory:
        with pytest.raises(ProviderError, match=r"invalid key|401|refused"):
            memory.sync()
        asked = len(server.keys)
        for _ in range(3):
            found = memory.search("walnut desk 7")
            assert found.hits
            assert found.level == 2
        report = memory.sync()
        assert "compatible/words is left alone until" in report.warnings[0]
        assert "full text answers alone" in report.warnings[0]
        assert any("is left alone until" in warning for warning in memory.status().warnings)
        assert KEY not in " ".join([*report.warnings, *memory.status().warnings])
    assert len(server.keys) == asked == 1
    with Memory.open(root, overrides=settings | {"embedding.key": "", "embedding.model": "other"}) as memory:
        server.refuse = 0
        assert memory.sync().embedded == 40  # another key and model have not failed


def test_another_provider_stands_in_and_the_first_comes_back(
    root: Path, server: Server, settings: dict[str, object]
) -> None:
    with Memory.open(root, overrides=settings) as memory:
        memory.sync()
        paid = len(server.inputs)
        (root / "memory" / "new.md").write_text("# New\n\na brass lamp\n", "utf-8")
        server.refuse = 401
        with pytest.raises(ProviderError):
            memory.sync()
    standing_in = settings | {"embedding.fallback": ["fake"]}
    with Memory.open(root, overrides=standing_in) as memory:
        report = memory.sync()
        assert "fake stands in" in report.warnings[0]
        assert memory.search("brass lamp").level == 0
    opening.breaker().reset()
    server.refuse = 0
    with Memory.open(root, overrides=standing_in) as memory:
        assert memory.sync().warnings == ()
        assert memory.search("brass lamp").warnings == ()
    assert len(server.inputs) == paid + 2  # the new note and the question


def test_an_index_does_not_decide_where_questions_go(
    root: Path, server: Server, settings: dict[str, object]
) -> None:
    with Memory.open(root, overrides=settings) as memory:
        memory.sync()
    asked = len(server.keys)
    with Memory.open(root, overrides={"embedding.provider": "fake"}) as memory:
        found = memory.search("walnut desk 7")
        assert found.level == 2
        assert "another model's vectors" in found.warnings[0]
    assert len(server.keys) == asked


@pytest.mark.parametrize("content", ["", "two words", "a\nb", "\xff" * 3, "k" * 20_000])
def test_a_key_file_must_hold_one_key(root: Path, settings: dict[str, object], content: str) -> None:
    Path(str(settings["embedding.key"])).write_bytes(content.encode("latin-1"))
    with Memory.open(root, overrides=settings) as memory:
        found = memory.search("walnut desk 7", mode="hybrid")
        assert found.hits
        memory.sync(embed=True)
        assert any("embedding.key" in warning for warning in memory.search("walnut").warnings)


def test_a_fallback_of_the_same_provider_has_its_address_and_key_and_its_own_dimensions(
    root: Path, server: Server, settings: dict[str, object]
) -> None:
    given = settings | {"embedding.dimensions": 8, "embedding.fallback": ["compatible/other", "fake"]}
    with Memory.open(root, overrides=given) as memory:
        first, near, other = opening.specs(memory.settings.embedding)
    assert (first.dimensions, near.dimensions, other.dimensions) == (8, None, None)
    assert (near.model, near.base_url, near.key.reveal()) == ("other", server.url, KEY)
    assert (other.base_url, other.key.reveal()) == ("", "")


def test_a_server_that_is_gone_costs_a_question_no_more_than_its_deadline(
    root: Path, server: Server, settings: dict[str, object]
) -> None:
    with Memory.open(root, overrides=settings) as memory:
        memory.sync()
    gone = settings | {"embedding.base_url": "http://127.0.0.1:9/v1", "limits.wait_s": 1}
    gone["embedding.provider"] = "openai"
    first = settings | {"embedding.provider": "openai"}
    with Memory.open(root, overrides=first) as memory:
        memory.sync()
    with Memory.open(root, overrides=gone) as memory:
        for _ in range(4):
            found = memory.search("walnut desk 7")
            assert found.hits
            assert found.level == 2
        assert "cannot be reached" in " ".join(found.warnings)
    (root / "memory" / "new.md").write_text("# New\n\na brass lamp\n", "utf-8")
    with Memory.open(root, overrides=gone | {"limits.deadline_s": 1}) as memory:
        raises = pytest.raises(ProviderError, match=r"left alone|cannot be reached")
        with raises:
            memory.sync()


def test_a_former_model_at_the_same_place_answers_until_the_switch(
    root: Path, server: Server, settings: dict[str, object]
) -> None:
    with Memory.open(root, overrides=settings) as memory:
        memory.sync()
    with Memory.open(root, overrides=settings | {"embedding.model": "others:latest"}) as memory:
        found = memory.search("walnut desk 7")
        assert found.level == 0
        assert found.warnings == ("the index holds another model's vectors: sync the index",)
        assert server.models[-1] == "words"
        assert memory.sync().embedded == 40
        assert memory.search("walnut desk 7").level == 0
        assert server.models[-1] == "others:latest"
