"""How a browser gets in: a code for the token, a cookie and a key for the code, and from its own page alone."""

from __future__ import annotations

from typing import Any

from tests.servers.api.conftest import Api


def enter(api: Api, code: object, **headers: Any) -> tuple[int, Any, dict[str, str]]:
    origin = f"http://127.0.0.1:{api.server.port}"
    return api.raw(
        "POST", "/api/visits", {"code": code}, **{"authorization": None, "origin": origin, **headers}
    )


def browser(api: Api) -> dict[str, Any]:
    """The headers of a browser that is in."""
    status, answer, headers = enter(api, api.post("/api/codes")["code"])
    assert status == 200
    cookie, *about = headers["set-cookie"].split("; ")
    assert about == ["Path=/api", "Max-Age=2592000", "HttpOnly", "SameSite=Strict"]
    return {
        "authorization": None, "cookie": cookie, "x_commonplace_key": answer["key"],
        "origin": f"http://127.0.0.1:{api.server.port}",
    }  # fmt: skip


def test_a_browser_gets_in_with_a_code_once(api: Api) -> None:
    code = api.post("/api/codes")["code"]
    assert enter(api, code)[0] == 200
    assert enter(api, code)[0] == 403
    assert enter(api, "x")[0] == 403
    assert enter(api, 5)[0] == 400
    assert enter(api, "x" * 101)[0] == 400
    for headers in ({"origin": None}, {"origin": "http://127.0.0.1:1"}, {"content_type": "text/plain"}):
        assert enter(api, api.post("/api/codes")["code"], **headers)[0] in (403, 415)


def test_a_code_is_made_for_the_token_alone(api: Api) -> None:
    assert api.raw("POST", "/api/codes", authorization=None)[0] == 401
    assert api.raw("GET", "/api/codes")[0] == 405


def test_a_browser_that_is_in_reads_and_changes(api: Api) -> None:
    own = browser(api)
    assert api.raw("GET", "/api/status", **own)[0] == 200
    assert api.raw("POST", "/api/entries", {"text": "From a page."}, **own)[0] == 201
    for wrong in (
        {"cookie": None},
        {"x_commonplace_key": None},
        {"x_commonplace_key": "x"},
        {"authorization": "Bearer x"},
    ):
        assert api.raw("GET", "/api/status", **{**own, **wrong})[0] == 401


def test_a_browser_changes_nothing_for_another_page(api: Api) -> None:
    own, before = browser(api), len(list((api.root / "memory").iterdir()))
    for origin in (None, "http://127.0.0.1:1", f"http://localhost:{api.server.port}"):
        assert api.raw("POST", "/api/entries", {"text": "Forged."}, **{**own, "origin": origin})[0] == 401
    assert (
        api.raw("POST", "/api/entries", {"text": "Forged."}, **{**own, "origin": "http://evil.example"})[0]
        == 403
    )
    assert len(list((api.root / "memory").iterdir())) == before


def test_a_cookie_opens_nothing_but_the_api(api: Api) -> None:
    own = browser(api)
    assert api.raw("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, **own)[0] == 401
