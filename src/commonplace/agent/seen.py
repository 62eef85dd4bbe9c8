"""Record of passages given to each session, so that a conversation gets each passage once.

A passage is known when every statement of it was given from the same note before; one that says a word more
or another is new, and a recall gives it without the known lines at its ends. Only hashes are kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from commonplace.base import paths
from commonplace.base.digests import sha256
from commonplace.base.errors import CommonplaceError
from commonplace.render import screen
from commonplace.search import dedupe
from commonplace.storage import keyvalue
from commonplace.types import Hit

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

MAX_STATEMENTS = 4000  # a session; the oldest are forgotten first
MAX_SESSIONS = 256  # in memory; those not heard of for longest are forgotten first
KEPT_S = 7 * 86_400.0  # after which the value of a session is removed
_HEX = 16
KIND = "injected"
_LIVE_S = 3600.0  # without a message a session may be one that was killed


class Injected:
    """The passages given to each session; safe from any thread.

    With a workspace the state keeps it for short-lived processes; a state that cannot be read or written
    is not an error: `trouble` describes it.
    """

    def __init__(self, workspace: paths.Workspace | None = None, agent: str = "") -> None:
        self.trouble = ""
        self._workspace, self.agent = workspace, agent
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()

    def new(self, session: str, hits: Sequence[Hit]) -> list[bool]:
        """Tell of each hit whether it says something that the session was not given; all do without one."""
        return [rest is not None for rest in self.rest(session, hits)]

    def rest(self, session: str, hits: Sequence[Hit]) -> list[Hit | None]:
        """Return each hit without the lines at its ends that the session was given; None where all were."""
        if not session:
            return list(hits)
        with self._lock:
            given = self._given(session)

            def known(path: str, text: str) -> bool:
                return all(digest in given for digest in _digests(path, text))

            return [
                None if known(hit.path, hit.text) else trimmed(hit, partial(known, hit.path)) for hit in hits
            ]

    def add(self, session: str, hits: Iterable[Hit]) -> None:
        """Note what a session was given."""
        digests = [digest for hit in hits for digest in _digests(hit.path, hit.text)] if session else []
        if not digests:
            return
        with self._lock:
            _put(self._given(session), digests)
            if self._workspace is not None:
                self._write(self._workspace, session, digests)

    def heard(self, session: str, *, over: bool = False) -> None:
        """Note that a session had a message or is over, for calls that do not name theirs."""
        if self._workspace is not None:
            self._write(self._workspace, session, (), over=over)

    def live(self) -> str:
        """Return the session of the agent that had a message lately; empty unless it is exactly one."""
        if self._workspace is None or not self.agent:
            return ""
        found: list[dict[str, Any]] = []
        with suppress(CommonplaceError):
            found = [value for _, value in keyvalue.each(self._workspace, KIND, since_s=_LIVE_S)]
        live = [one for one in found if one.get("agent") == self.agent and not one.get("over")]
        return str(live[0]["session"]) if len(live) == 1 else ""

    def forget(self, session: str) -> None:
        """Let everything be given to a session again: its conversation was shortened, or is over."""
        with self._lock:
            self._sessions.pop(session, None)
            if self._workspace is not None:
                with suppress(CommonplaceError):
                    keyvalue.remove(self._workspace, KIND, [keyvalue.of_session(session)])

    def _given(self, session: str) -> OrderedDict[str, None]:
        given = self._sessions.setdefault(session, OrderedDict())
        self._sessions.move_to_end(session)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        if self._workspace is None:
            return given
        given.clear()  # another process may have added to it, or forgotten it
        try:
            value = keyvalue.read(self._workspace, KIND, keyvalue.of_session(session))
        except CommonplaceError as error:
            self.trouble = f"what this session was given cannot be read: {error}"
        else:
            _put(given, value["given"] if value else ())
        return given

    def _write(
        self, workspace: paths.Workspace, session: str, digests: Sequence[str], *, over: bool = False
    ) -> None:
        """Add to the value of a session, and remove those of sessions that are long over."""

        def changed(value: dict[str, Any] | None) -> Mapping[str, Any]:
            given = OrderedDict.fromkeys(value["given"] if value else ())
            _put(given, digests)
            whose = {"session": session, "agent": self.agent, "over": over} if self.agent else {}
            return {"given": list(given), **whose}

        try:
            keyvalue.update(workspace, KIND, keyvalue.of_session(session), changed)
            keyvalue.drop_old(workspace, KIND, KEPT_S)
        except CommonplaceError as error:
            self.trouble = f"what this session was given is not kept: {error}"
            return
        self.trouble = ""


def _put(given: OrderedDict[str, None], digests: Iterable[str]) -> None:
    for digest in digests:
        given[digest] = None
        given.move_to_end(digest)
    while len(given) > MAX_STATEMENTS:
        given.popitem(last=False)


def trimmed(hit: Hit, known: Callable[[str], bool]) -> Hit | None:
    """Return a hit without the known lines at its ends, short ones too; None if all are known."""
    if "```" in hit.text:
        return hit
    # Blank lines and headings have no content of their own.
    lines = dedupe.whole_lines(hit)
    return dedupe.without(
        hit, [known(line) if line.strip() and not line.lstrip().startswith("#") else None for line in lines]
    )


def _digests(path: str, text: str) -> list[str]:
    """Return a hash of each sentence of a note, without blanks; of headings only without other text."""
    sentences = [
        " ".join(part[0].split()).lstrip(f"{screen.ELLIPSIS} ") for part in dedupe.SENTENCE.finditer(text)
    ]
    said = [sentence for sentence in sentences if sentence and not sentence.startswith("#")]
    return [
        sha256(f"{path}\0{sentence}".encode("utf-8", "surrogateescape")).hexdigest()[:_HEX]
        for sentence in said or filter(None, sentences)
    ]
