"""The page of a server: the static files of this folder, with headers that let it reach this server only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from commonplace.base.root import Root

FOLDER = Path(__file__).parent
INDEX = "index.html"
_KINDS: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "x-frame-options": "DENY",
    "cache-control": "no-cache",
}


def files() -> dict[str, tuple[bytes, str]]:
    """Return what is served, by path: `/` and `/page/NAME`, each with its bytes and content type."""
    root = Root(FOLDER)
    found = {}
    for name in sorted(root.names()):
        if kind := _KINDS.get(Path(name).suffix):
            found["/" if name == INDEX else f"/page/{name}"] = root.read(name), kind
    return found


def build() -> list[BaseRoute]:
    """Make the routes of the page, one for each file; without other paths, no path leads out."""
    return [
        Route(path, Response(data, headers={**HEADERS, "content-type": kind}), methods=["GET"])
        for path, (data, kind) in files().items()
    ]
