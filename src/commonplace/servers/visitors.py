"""Browsers that are let in by a code that works once, with a cookie and a key, for thirty days.

A program with the token of the server can make a code. With the server's own key as well, which lies with the
user's settings, it is a program of the user: the browser that it lets in may reach beyond the workspace.

A cookie says for whom and until when it is, and its key is an HMAC-SHA256 of it (RFC 2104) that only a server
of this workspace can make, for one agent and one token. So a bookmark outlives the server.

A browser sends a cookie to every port of a host, also to the server of another user at 127.0.0.1. So the
cookie is not enough: the key, which pages keep in storage of one port (localStorage) and send in a header,
must come with it. No page of another origin can read the key or send that header.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Mapping

from commonplace.base.tuples import NamedTuple

KEY = "x-commonplace-key"
CODE_S = 120.0  # a browser starts in less
VISIT_S = 30 * 86_400  # seconds that a browser is in
MOST_CODES = 16  # that wait at once, of either kind
Clock = Callable[[], float]
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
    """A browser that is in: whether a program of the user let it in."""

    is_own: bool


class Visitors:
    """The browsers of one server; safe from any thread."""

    def __init__(
        self, cookie: str = "commonplace", key: str = "", seal: str = "", clock: Clock = time.time
    ) -> None:
        """Take the name of the cookie (one a server of a host), the server's key, and the seal of visits."""
        self.cookie, self.key = cookie, key or secrets.token_urlsafe(32)
        self._seal = (seal or secrets.token_urlsafe(32)).encode()
        self._clock, self._lock = clock, threading.Lock()
        self._codes: dict[bytes, Code] = {}  # by their digests

    def code(self, key: str = "") -> str:
        """Return a new code, which lets one browser in; that of a program of the user's for our own key."""
        code, is_own = secrets.token_urlsafe(24), secrets.compare_digest(_digest(key), _digest(self.key))
        with self._lock:
            same = [digest for digest, one in self._codes.items() if one.is_own == is_own]
            if len(same) >= MOST_CODES:  # of one kind: a token alone ends no code of the user's own
                del self._codes[same[0]]
            self._codes[_digest(code)] = Code(self._clock() + CODE_S, is_own)
        return code

    def enter(self, code: str) -> Visit | None:
        """Use a code up; return None if it is used, too old or unknown."""
        with self._lock:
            found = self._codes.pop(_digest(code), None)
            if found is None or found.until < self._clock():
                return None
        kind, until = "own" if found.is_own else "other", int(self._clock() + VISIT_S)
        cookie = f"{kind}.{until}.{secrets.token_urlsafe(32)}"
        return Visit(cookie, self._sign(cookie))

    def admit(self, method: str, headers: Mapping[str, str]) -> Visitor | None:
        """Return the browser that sends a request; None if it is not admitted, or another's page sends it.

        Requests that change anything must come from a page of this server.
        """
        pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        cookie = next((value for name, _, value in pairs if name == self.cookie), "")
        kind, _, rest = cookie.partition(".")
        is_signed = hmac.compare_digest(self._sign(cookie).encode(), headers.get(KEY, "").encode())
        if not is_signed or int(rest.partition(".")[0]) < self._clock():
            return None
        return Visitor(kind == "own") if method in _SAFE or is_own_page(headers) else None

    def _sign(self, cookie: str) -> str:
        return hmac.new(self._seal, cookie.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def is_own_page(headers: Mapping[str, str]) -> bool:
    """Return True if a request says that a page of this very server, its port included, sends it."""
    host = headers.get("host", "").lower()
    return bool(host) and headers.get("origin", "").lower() in (f"http://{host}", f"https://{host}")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
