"""Browsers that are let in by a code that works once, with a cookie and a key until the server ends.

A program with the token of the server can make a code. With the server's own key as well, which lies with the
user's settings, it is a program of the user: the browser that it lets in may reach beyond the workspace.

A browser sends a cookie to every port of a host, also to the server of another user at 127.0.0.1. So the
cookie is not enough: the key, which pages keep in storage of one port (localStorage) and send in a header,
must come with it. No page of another origin can read the key or send that header.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Mapping

from commonplace.base.tuples import NamedTuple

KEY = "x-commonplace-key"
CODE_S = 120.0  # a browser starts in less
MOST_CODES, MOST = 16, 64  # codes that wait, and browsers that are in, at once, of either kind
_SAFE = ("GET", "HEAD", "OPTIONS")


class Visit(NamedTuple):
    """The credentials of an admitted browser: the value of its cookie, and the key."""

    cookie: str
    key: str


class Code(NamedTuple):
    """A code that waits: until when, and whether a program of the user made it."""

    until: float
    is_own: bool


class Visitor(NamedTuple):
    """A browser that is in: the digest of its key, and whether a program of the user let it in."""

    key: bytes
    is_own: bool


class Visitors:
    """The browsers of one server; safe from any thread."""

    def __init__(
        self, cookie: str = "commonplace", key: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`cookie` is its name, one for each server of a host; `key` is the server's own."""
        self.cookie, self.key = cookie, key or secrets.token_urlsafe(32)
        self._clock, self._lock = clock, threading.Lock()
        self._codes: dict[bytes, Code] = {}  # by their digests
        self._visits: dict[bytes, Visitor] = {}  # by digests of cookies

    def code(self, key: str = "") -> str:
        """Return a new code, which lets one browser in; that of a program of the user's for our own key."""
        code, is_own = secrets.token_urlsafe(24), secrets.compare_digest(_digest(key), _digest(self.key))
        with self._lock:
            _make_room(self._codes, MOST_CODES, is_own)
            self._codes[_digest(code)] = Code(self._clock() + CODE_S, is_own)
        return code

    def enter(self, code: str) -> Visit | None:
        """Use a code up; return None if it is used, too old or unknown."""
        with self._lock:
            found = self._codes.pop(_digest(code), None)
            if found is None or found.until < self._clock():
                return None
            visit = Visit(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
            _make_room(self._visits, MOST, found.is_own)
            self._visits[_digest(visit.cookie)] = Visitor(_digest(visit.key), found.is_own)
        return visit

    def admit(self, method: str, headers: Mapping[str, str]) -> Visitor | None:
        """Return the browser that sends a request; None if it is not admitted, or another's page sends it.

        Requests that change anything must come from a page of this server.
        """
        pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        cookie = next((value for name, _, value in pairs if name == self.cookie), "")
        with self._lock:
            visitor = self._visits.get(_digest(cookie))
        if visitor is None or not secrets.compare_digest(visitor.key, _digest(headers.get(KEY, ""))):
            return None
        return visitor if method in _SAFE or is_own_page(headers) else None


def is_own_page(headers: Mapping[str, str]) -> bool:
    """Return True if a request says that a page of this very server, its port included, sends it."""
    host = headers.get("host", "").lower()
    return bool(host) and headers.get("origin", "").lower() in (f"http://{host}", f"https://{host}")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _make_room(held: dict[bytes, Code] | dict[bytes, Visitor], most: int, is_own: bool) -> None:
    """Drop the oldest of a kind if there are too many: the token alone ends no visit of the user's own."""
    same = [digest for digest, one in held.items() if one.is_own == is_own]
    for digest in same[: max(0, len(same) + 1 - most)]:
        del held[digest]
