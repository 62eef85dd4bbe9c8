"""A memory that is served over HTTP with its token, and one who asks it for JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from commonplace.config.credentials import Secret
from commonplace.providers.llm import schemas
from commonplace.servers.access import Access
from commonplace.servers.methods import Service
from tests.servers.conftest import Served
from tests.servers.conftest import serve as serve
from tests.servers.conftest import service as service
from tests.servers.conftest import workspace as workspace
from tests.servers.test_http import request

TOKEN = Secret("correct-horse-battery")


# What reaches beyond the workspace, with a body that fits.
BEYOND: dict[str, dict[str, object]] = {
    "/api/collections": {"path": ".."},
    "/api/collections/include": {"name": "docs", "include_by_default": False},
    "/api/collections/remove": {"name": "docs"},
    "/api/clients/preview": {"client": "codex"},
    "/api/clients": {"preview": "x"},
    "/api/import/preview": {"path": ".."},
    "/api/import": {"preview": "x"},
}


class Api:
    """One who has the token and asks for JSON; what is answered must be as it is described."""

    def __init__(self, server: Served, root: Path) -> None:
        self.server, self.root = server, root
        self.headers: dict[str, Any] = {}  # of who asks, if not who has the token
        self.document = self.get("/api/openapi.json")

    def raw(
        self, method: str, path: str, body: object = None, query: dict[str, Any] | None = None, **headers: Any
    ) -> tuple[int, Any, dict[str, str]]:
        address = f"{path}?{urlencode(query, doseq=True)}" if query else path
        named = {
            "authorization": f"Bearer {TOKEN.reveal()}",
            "content_type": (body is not None and "application/json") or None,
        }
        told = {name.title(): value for name, value in {**named, **headers}.items()}
        return request(self.server, method, address, body, **told)

    def own(self) -> dict[str, Any]:
        """The headers of a browser that a program of the user let in."""
        visitors = self.server.site.visitors
        visit = visitors.enter(visitors.code(visitors.key))
        assert visit is not None
        return {
            "authorization": None, "cookie": f"{visitors.cookie}={visit.cookie}", "x_commonplace_key": visit.key,
            "origin": f"http://127.0.0.1:{self.server.port}",
        }  # fmt: skip

    def get(self, path: str, /, **query: Any) -> Any:
        return self.checked("GET", path, self.raw("GET", path, query=query, **self.headers)[:2])

    def post(self, path: str, /, **body: Any) -> Any:
        return self.checked("POST", path, self.raw("POST", path, body, **self.headers)[:2])

    def refused(self, method: str, path: str, body: object = None, **query: Any) -> tuple[int, str]:
        """Ask for what is refused; return the status and the message."""
        status, answer, _ = self.raw(method, path, body, query, **self.headers)
        assert answer.keys() == {"error"}
        assert answer["error"].keys() >= {"code", "message"}
        return status, answer["error"]["message"]

    def checked(self, method: str, path: str, answered: tuple[int, Any]) -> Any:
        status, answer = answered
        assert status in (200, 201), answer
        if path != "/api/openapi.json":
            content = self.document["paths"][path][method.lower()]["responses"][str(status)]["content"]
            assert schemas.problem(answer, content["application/json"]["schema"]) == ""
        return answer


@pytest.fixture
def api(serve: Callable[..., Served], service: Service, workspace: Path) -> Api:
    """The served workspace of three notes."""
    return Api(serve(Access(TOKEN)), workspace)
