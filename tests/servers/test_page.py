"""The page: static files alone, which reach nothing but their server."""

from __future__ import annotations

from collections.abc import Callable

from commonplace.servers import page
from commonplace.servers.access import Access
from tests.servers.api.conftest import TOKEN
from tests.servers.conftest import Served
from tests.servers.test_http import request

BARE = {"Content_Type": None, "Accept": "*/*"}


def test_files_are_served_to_all_with_strict_headers(serve: Callable[..., Served]) -> None:
    server = serve(Access(TOKEN))
    for path, (data, kind) in page.files().items():
        status, answer, headers = request(server, "GET", path, **BARE)
        assert (status, answer, headers["content-type"]) == (200, data, kind)
        assert headers.items() >= page.HEADERS.items()
        status, answer, headers = request(server, "HEAD", path, **BARE)
        assert (status, answer, headers["content-length"]) == (200, b"", str(len(data)))
    policy = page.HEADERS["content-security-policy"].split("; ")
    assert "default-src 'none'" in policy
    assert not [part for part in policy if "unsafe" in part or "*" in part or "http" in part]
    assert server.recorded("GET / 200")


def test_nothing_in_the_files_needs_what_the_policy_forbids() -> None:
    html = page.files()["/"][0].decode()
    assert " style=" not in html
    assert "<style" not in html
    assert "<script>" not in html
    assert "https://" not in html


OUTSIDE = [
    "/page/", "/page/../http.py", "/page/%2e%2e/http.py", "/page/__init__.py", "/page//etc/passwd",
    "/page/..%2fhttp.py", "/page/index.html", "//", "/page/app.js/", "/page/app.js%00",
]  # fmt: skip


def test_no_path_leads_out(serve: Callable[..., Served]) -> None:
    server = serve(Access(TOKEN))
    for path in OUTSIDE:
        assert request(server, "GET", path, **BARE)[0] == 401
        known = {"Authorization": f"Bearer {TOKEN.reveal()}"}
        assert request(server, "GET", path, **BARE, **known)[0] in (307, 404)


def test_other_hosts_and_origins_get_no_page(serve: Callable[..., Served]) -> None:
    server = serve(Access(TOKEN))
    assert request(server, "GET", "/", **BARE, Host="evil.example")[0] == 421
    assert request(server, "GET", "/", **BARE, Origin="http://evil.example")[0] == 403
