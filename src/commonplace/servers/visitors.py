"""Browsers that are let in by a code that works once, with a cookie and a key until the server ends.

A browser sends a cookie to every port of a host, also to the server of another user at 127.0.0.1. So it does
not let in alone: the key, which pages keep in what belongs to one port (localStorage) and send in a header,
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
MOST_CODES, MOST = 16, 64  # codes that wait, and browsers that are in, at once; the oldest goes
_SAFE = ("GET", "HEAD", "OPTIONS")


class Visit(NamedTuple):
    """What a browser is let in with: the value of its cookie, and the key."""

    cookie: str
    key: str


class Visitors:
    """The browsers of one server; safe from any thread."""

    def __init__(self, cookie: str = "commonplace", clock: Callable[[], float] = time.monotonic) -> None:
        """`cookie` is its name, one for each server of a host."""
        self.cookie = cookie
        self._clock, self._lock = clock, threading.Lock()
        self._codes: dict[bytes, float] = {}  # digests, with the time when they end
        self._visits: dict[bytes, bytes] = {}  # digests of cookies, with those of their keys

    def code(self) -> str:
        """Return a new code, which lets one browser in."""
        code = secrets.token_urlsafe(24)
        with self._lock:
            _make_room(self._codes, MOST_CODES)
            self._codes[_digest(code)] = self._clock() + CODE_S
        return code

    def enter(self, code: str) -> Visit | None:
        """Use a code up; None for one that is used, too old or none."""
        with self._lock:
            until = self._codes.pop(_digest(code), None)
            if until is None or until < self._clock():
                return None
            visit = Visit(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
            _make_room(self._visits, MOST)
            self._visits[_digest(visit.cookie)] = _digest(visit.key)
        return visit

    def admit(self, method: str, headers: Mapping[str, str]) -> bool:
        """Whether a browser that is in asks; what changes anything must come from a page of this server."""
        pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        cookie = next((value for name, _, value in pairs if name == self.cookie), "")
        with self._lock:
            key = self._visits.get(_digest(cookie))
        if key is None or not secrets.compare_digest(key, _digest(headers.get(KEY, ""))):
            return False
        return method in _SAFE or is_own_page(headers)


def is_own_page(headers: Mapping[str, str]) -> bool:
    """Whether a request says that a page of this very server, its port included, sends it."""
    host = headers.get("host", "").lower()
    return bool(host) and headers.get("origin", "").lower() in (f"http://{host}", f"https://{host}")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _make_room(held: dict[bytes, float] | dict[bytes, bytes], most: int) -> None:
    while len(held) >= most:
        del held[next(iter(held))]
