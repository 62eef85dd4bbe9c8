"""Who gets in, what is refused and how that is said, whatever is asked; and what is recorded of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.base.errors import IndexUnavailable
from commonplace.config import Reach
from commonplace.memory import reaching
from commonplace.servers import access
from commonplace.servers.access import Access
from commonplace.servers.api import routes
from commonplace.servers.methods import LANE, Service
from tests.servers.api.conftest import BEYOND, TOKEN, Api
from tests.servers.conftest import Served
from tests.servers.test_http import request

BEARER = f"Bearer {TOKEN.reveal()}"


def test_nothing_is_told_without_the_token(api: Api) -> None:
    for operation in (one for one in routes.operations() if not one.open_to_all):
        for authorization in (None, "Bearer wrong-wrong-wrong", "Basic abc"):
            status, answer, headers = api.raw(
                operation.method, operation.path, {}, authorization=authorization
            )
            assert (status, answer["error"]["code"]) == (401, "unauthorized")
            assert headers["www-authenticate"].startswith("Bearer")
    assert api.raw("GET", "/api/openapi.json", authorization=None)[0] == 401


def test_the_token_of_an_agent_does_not_open_it(api: Api) -> None:
    own = f"Bearer {access.part(TOKEN, '/agents/alice').reveal()}"
    for path in ("/api/status", "/agents/alice/api/status", "/agents/alice/mcp/../../api/status"):
        assert api.raw("GET", path, authorization=own)[0] == 401
    assert api.raw("GET", "/agents/alice/api/status")[0] == 404


FOREIGN = [
    ({"host": "evil.example"}, 421), ({"host": "127.0.0.1.evil.example"}, 421), ({"origin": "http://evil.example"}, 403),
    ({"origin": "null"}, 403), ({"accept": "text/html"}, 406),
]  # fmt: skip


def test_rebound_names_and_foreign_pages_are_refused(api: Api) -> None:
    for headers, status in FOREIGN:
        answered, answer, _ = api.raw("GET", "/api/status", **headers)
        assert (answered, answer.keys()) == (status, {"error"})


WRONG = [
    ("GET", "/api", 404), ("GET", "/api/", 404), ("GET", "/api/nothing", 404), ("GET", "/api/status/", 404),
    ("GET", "/api/../api/nothing", 404), ("DELETE", "/api/status", 405), ("POST", "/api/search", 405),
    ("OPTIONS", "/api/status", 405), ("TRACE", "/api/entries", 405), ("GET", "/api/search", 400),
    ("GET", "/api/search?q=", 400), ("GET", "/api/search?q=a&q=b", 400), ("GET", "/api/search?q=a&limit=0", 400),
    ("GET", "/api/search?q=a&limit=1.5", 400), ("GET", "/api/search?q=a&limit=%EF%BC%93", 400),
    ("GET", "/api/search?q=a&history=yes", 400), ("GET", "/api/search?q=a&mode=x", 400),
    ("GET", "/api/search?q=a&x=1", 400), ("GET", "/api/search?q=a&collections=none", 404),
    ("GET", "/api/search?q=a&as_of=never", 400), ("GET", "/api/search?q=" + "a" * 10_001, 400),
    ("GET", "/api/note?reference=../../etc/passwd", 403), ("GET", "/api/note?reference=%2e%2e/x.md", 403),
    ("GET", "/api/note?reference=nothing.md", 404), ("GET", "/api/note?reference=%00.md", 404),
    ("GET", "/api/timeline?anchor=never", 404), ("GET", "/api/usage?days=0", 400), ("HEAD", "/api/status", 200),
]  # fmt: skip


def test_what_cannot_be_answered_says_why(api: Api) -> None:
    for method, path, status in WRONG:
        answered, answer, headers = api.raw(method, path)
        assert answered == status, answer
        assert headers["content-type"] == "application/json"
        assert str(api.root.parent) not in str(answer)
        if status == 405:
            assert headers["allow"]


NO_BODIES = [
    b"", b"{", b"[]", b"null", b'"text"', b'{"text": 5}', b'{"text": null}', b'{"txt": "a"}', b'{"text": "a", "x": 1}',
    b'{"text": NaN}', b"\xff\xfe", b'{"text": "\xff"}', b"[" * 100_000, b'{"text": "a", "long_term": "yes"}',
    b'{"text": "' + b"a" * 32_001 + b'"}',
]  # fmt: skip


def test_a_body_that_is_none_is_refused(api: Api) -> None:
    for body in NO_BODIES:
        assert api.refused("POST", "/api/entries", body)[0] == 400
        assert len(list((api.root / "memory").iterdir())) == 2


def test_large_bodies_and_forms_of_pages_are_refused(api: Api) -> None:
    assert api.raw("POST", "/api/entries", b"x" * (5 << 20), content_type="application/json")[0] == 413
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None):
        assert api.raw("POST", "/api/entries", b'{"text": "a"}', content_type=kind)[0] == 415


def test_half_a_surrogate_pair_is_answered(api: Api) -> None:
    written = api.post("/api/entries", text="half \ud800 a pair")
    assert "half" in (api.root / written["path"]).read_text()
    assert (
        api.raw("POST", "/api/corrections/preview", b'{"old": "\\ud800"}', content_type="application/json")[0]
        == 404
    )


def test_only_names_of_routes_are_recorded(api: Api) -> None:
    api.get("/api/search", q="heron")
    api.raw("GET", "/api/heron")
    api.raw("GET", "/api/status?heron=1")
    assert api.server.recorded("GET /api/search 200")
    assert api.server.recorded("GET - 404")
    assert api.server.recorded("GET /api/status 400")
    assert not [line for line in api.server.lines if "heron" in line]


def test_notes_are_read_while_searches_wait(api: Api, service: Service) -> None:
    for _ in range(LANE):
        service.lane.acquire()
    try:
        searches = [
            threading.Thread(target=api.get, args=("/api/search",), kwargs={"q": "deploy"})
            for _ in range(LANE + 1)
        ]
        for search in searches:
            search.start()
        assert api.get("/api/note", reference="MEMORY.md")["total_lines"] == 5
        assert api.get("/api/notes")["total"] == 3
        assert api.post("/api/entries", text="Written meanwhile.")["path"]
    finally:
        for _ in range(LANE):
            service.lane.release()
    for search in searches:
        search.join(30)
        assert not search.is_alive()


# --- who may only read, and who is an agent -------------------------------------------------------------


@pytest.fixture
def served(workspace: Path) -> object:
    """Serve a memory, made by a function, until the test ends."""
    running: list[tuple[Served, Service]] = []

    def start(open_memory: Callable[[], Memory], agent: str = "") -> Api:
        service = Service(open_memory, agent)
        running.append((Served(service, Access(TOKEN)), service))
        return Api(running[-1][0], workspace)

    yield start
    for server, service in running:
        server.end()
        service.close()


WRITES = [
    ("POST", "/api/entries", {"text": "a"}),
    ("PUT", "/api/source", {"path": "MEMORY.md", "text": "a"}),
    ("POST", "/api/corrections", {"preview": "x"}),
    ("POST", "/api/confirmations", {"preview": "x"}),
    ("POST", "/api/forget", {"preview": "x"}),
    ("POST", "/api/undo", {"preview": "x"}),
    ("POST", "/api/merge", {"preview": "x"}),
    ("POST", "/api/consolidation", {"preview": "x", "lines": [1]}),
]


QUERIES = {"/api/export": {"form": "md"}}


def test_who_only_reads_writes_nothing(served: Callable[..., Api], workspace: Path) -> None:
    before = {path: path.read_bytes() for path in workspace.rglob("*.md")}

    def open_memory() -> Memory:
        from commonplace import config

        reach = Reach(workspace, "", {}, "reader")
        return reaching(reach, "reader", settings=config.load(workspace))

    api = served(open_memory)
    for method, path, body in WRITES:
        assert api.refused(method, path, body)[0] == 403, path
    assert api.get("/api/search", q="deploy")["hits"]
    assert {path: path.read_bytes() for path in workspace.rglob("*.md")} == before


def test_an_agents_server_writes_in_its_name_and_does_nothing_that_is_the_owners(
    served: Callable[..., Api], workspace: Path
) -> None:
    api = served(lambda: Memory.open(workspace, agent="codex"), "codex")
    written = api.post("/api/entries", text="An agent wrote this.")
    assert "by: agent; agent: codex" in (workspace / written["path"]).read_text()
    shown = api.post("/api/corrections/preview", old="Lin signs it off.", new="Mira signs it off.")
    assert "agent: codex" in shown["diff"]
    assert api.get("/api/caller") == {
        "agent": "codex", "owner": False, "writes": True, "reaches": False,
    }  # fmt: skip
    bodies: dict[str, Any] = (
        {path: body for _, path, body in WRITES}
        | {
            "/api/forget/preview": {"selections": [{"kind": "text", "value": "a"}]},
            "/api/forget/refuse": {"request": "x"},
            "/api/consolidation/reject": {"preview": "x"},
        }
        | BEYOND
    )
    for one in (one for one in routes.operations() if one.owner):
        body, query = (
            (None, QUERIES.get(one.path, {})) if one.method == "GET" else (bodies.get(one.path, {}), {})
        )
        assert api.refused(one.method, one.path, body, **query)[0] == 403, one.path
    assert api.refused("GET", "/api/events")[0] == 403


def test_notes_of_another_workspace_are_read_and_not_changed(
    served: Callable[..., Api], workspace: Path, tmp_path: Path
) -> None:
    other = tmp_path / "team"
    (other / "memory").mkdir(parents=True)
    (other / "MEMORY.md").write_text("# Memory\n\n- The database moves in May.\n")
    api = served(lambda: Memory.open(workspace, beside=[other]))
    assert api.get("/api/search", q="database")["hits"][0]["workspace"] == "team"
    assert api.get("/api/note", reference="team:MEMORY.md")["total_lines"] == 3
    edit = {"path": "team:MEMORY.md", "text": "x"}
    assert api.raw("PUT", "/api/source", edit, if_none_match="*")[0] == 403
    assert api.refused("GET", "/api/source?path=team:MEMORY.md")[0] == 403
    correction = {"old": "team:MEMORY.md#L3", "new": "x"}
    assert api.refused("POST", "/api/corrections/preview", correction)[0] == 403
    assert "May" in (other / "MEMORY.md").read_text()
    assert not list(workspace.rglob("team*"))


def test_a_memory_that_cannot_be_opened_is_said_without_its_place(
    served: Callable[..., Api], workspace: Path
) -> None:
    def fail() -> Memory:
        raise IndexUnavailable(str(Path.home() / ".cache" / "x" / "index.sqlite"), "is locked")

    api = served(fail)
    status, message = api.refused("GET", "/api/status")
    assert (status, message) == (503, "index ~/.cache/x/index.sqlite: is locked")


def test_a_fault_in_an_answer_tells_nothing_of_it(served: Callable[..., Api], workspace: Path) -> None:
    def fail() -> Memory:
        raise ValueError("the words of a note")

    assert served(fail).refused("GET", "/api/status") == (500, "internal error")


def test_a_server_without_a_token_asks_for_none(serve: Callable[..., Served]) -> None:
    assert request(serve(Access()), "GET", "/api/status", Content_Type=None)[0] == 200
