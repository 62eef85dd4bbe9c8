"""Clients of the server get a token that opens `/mcp`; all else is the owner's."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.life.conftest import Owner

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}
WRITE = {**CALL, "params": {"name": "memory_write", "arguments": {"text": "The kite is red."}}}
OWNERS: list[tuple[str, str, Any]] = [
    ("GET", "/api/status", None),
    ("GET", "/api/search?q=kite", None),
    ("GET", "/api/notes", None),
    ("GET", "/api/export", None),
    ("POST", "/api/remember", {"text": "As the owner."}),
    ("POST", "/api/forget/preview", {"text": "kite"}),
    ("POST", "/api/forget", {"text": "kite", "confirm": "x"}),
    ("POST", "/api/correct", {"old": "The kite is red.", "new": "The kite is blue."}),
    ("POST", "/api/undo", {}),
    ("GET", "/api/openapi.json", None),
    ("GET", "/agents/codex/mcp", None),
]


def test_the_token_of_clients_opens_mcp_alone(owner: Owner) -> None:
    served = owner.serve()
    token = owner.ok("serve", "status", "--client-token").strip()
    assert token != served.token
    status, answer = served.request("POST", "/mcp", WRITE, token)
    assert status == 200, answer
    text = next((owner.folder / "memory").glob("*.md")).read_text()
    assert "The kite is red. <!-- by: agent" in text
    refused = {path: served.request(method, path, body, token)[0] for method, path, body in OWNERS}
    assert set(refused.values()) == {401}, refused
    assert "As the owner" not in next((owner.folder / "memory").glob("*.md")).read_text()
    assert served.get("/api/status")
    assert served.request("POST", "/mcp", WRITE)[0] == 200


@pytest.mark.parametrize(
    "spoilt", [lambda token: token[:-1], lambda token: token + "0", str.upper, lambda token: ""]
)
def test_nothing_but_the_whole_token_opens_mcp(owner: Owner, spoilt: Any) -> None:
    served = owner.serve()
    token = owner.ok("serve", "status", "--client-token").strip()
    assert served.request("POST", "/mcp", WRITE, spoilt(token))[0] == 401
    assert served.request("POST", "/mcp/", WRITE, token)[0] in (401, 404)


def test_an_agent_cannot_approve_what_it_asked_for(owner: Owner) -> None:
    owner.note("memory/kite.md", "- The kite is red.\n")
    served = owner.serve()
    token = owner.ok("serve", "status", "--client-token").strip()
    asked = {"name": "memory_forget", "arguments": {"what": "The kite is red.", "kind": "text"}}
    status, answer = served.request("POST", "/mcp", {**CALL, "params": asked}, token)
    assert status == 200
    code = re.search(r"--approve (\S+)", str(answer))
    for path in ("/api/forget", "/api/forget/preview"):
        body = {"text": "The kite is red.", "confirm": code[1] if code else "", "code": code and code[1]}
        assert served.request("POST", path, body, token)[0] == 401
    assert "red" in owner.read("memory/kite.md")
