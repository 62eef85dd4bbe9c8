"""What a session was given already, so that nothing is put into its conversation twice.

A passage is known when every statement of it was given from the same note before; one that says a word more
or another is new, and a recall gives it without the known lines at its ends. Only hashes are kept. They
are signed, so that no foreign folder withholds anything from a prompt.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.base import atomic, paths, records
from commonplace.base.errors import CommonplaceError
from commonplace.render import screen
from commonplace.search import dedupe
from commonplace.types import Hit

if TYPE_CHECKING:
    from commonplace.types.changes import Erased
    from commonplace.types.store import Site, Targets

MAX_STATEMENTS = 4000  # a session; the oldest are forgotten first
MAX_SESSIONS = 256  # in memory; those not heard of for longest are forgotten first
LOCK_WAIT_S = 1.0  # for a file that only saves a few tokens
KEPT_S = 7 * 86_400.0  # after which the file of a session is deleted
_HEX = 16
KIND = "injected"
_LARGEST = 1_000_000  # bytes of a session's file
_DIGEST = re.compile("[0-9a-f]{16}")


class Injected:
    """What each session was given; safe from any thread.

    With a workspace a small file a session below `.commonplace/` keeps it for processes that come and go; a
    file that cannot be read or written is no error, `trouble` says so.
    """

    def __init__(self, workspace: paths.Workspace | None = None) -> None:
        self.trouble = ""
        self._workspace = workspace
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()

    def new(self, session: str, hits: Sequence[Hit]) -> list[bool]:
        """Tell of each hit whether it says something that the session was not given; all do without one."""
        if not session:
            return [True] * len(hits)
        with self._lock:
            given = self._given(session)
            return [any(digest not in given for digest in _digests(hit)) for hit in hits]

    def rest(self, session: str, hits: Sequence[Hit]) -> list[Hit | None]:
        """Return each hit without the lines at its ends that the session was given; None where all were."""
        if not session:
            return list(hits)
        with self._lock:
            given = self._given(session)
            return [_rest(hit, given) for hit in hits]

    def add(self, session: str, hits: Iterable[Hit]) -> None:
        """Note what a session was given."""
        found = [digest for hit in hits for digest in _digests(hit)] if session else []
        if not found:
            return
        with self._lock:
            _put(self._given(session), found)
            if self._workspace is not None:
                self._write(session, found)

    def forget(self, session: str) -> None:
        """Let everything be given to a session again: its conversation was shortened, or is over."""
        with self._lock:
            self._sessions.pop(session, None)
            if self._workspace is not None:
                self._delete(session)

    def _given(self, session: str) -> OrderedDict[str, None]:
        given = self._sessions.setdefault(session, OrderedDict())
        self._sessions.move_to_end(session)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        if self._workspace is not None:
            given.clear()  # another process may have added to it, or forgotten it
            _put(given, self._read(session))
        return given

    # --- the file of a session ----------------------------------------------------------------------

    def _path(self, session: str) -> Path:
        assert self._workspace is not None
        return self._workspace.derived / KIND / f"{_stem(session)}.json"

    def _read(self, session: str) -> list[str]:
        assert self._workspace is not None
        try:
            return _parsed(records.read(self._workspace.files, self._path(session), KIND, limit=_LARGEST))
        except (FileNotFoundError, ValueError):
            return []
        except OSError as error:
            self.trouble = f"what this session was given cannot be read: {records.trouble(error)}"
        except CommonplaceError as error:
            self.trouble = f"what this session was given cannot be read: {error}"
        return []

    def _write(self, session: str, found: Sequence[str]) -> None:
        assert self._workspace is not None
        path, files = self._path(session), self._workspace.files

        def changed(known: dict[str, Any] | None) -> Mapping[str, Any]:
            given = OrderedDict.fromkeys(_parsed(known or {}))
            _put(given, found)
            return {"given": list(given)}

        try:
            paths.prepare_derived(self._workspace, path.parent)
            with atomic.locked(paths.lock_file(self._workspace, KIND), LOCK_WAIT_S):
                records.update(files, path, KIND, changed, limit=_LARGEST)
            self._sweep()
            self.trouble = ""
        except CommonplaceError as error:
            self.trouble = f"what this session was given is not kept: {error}"

    def _delete(self, session: str) -> None:
        assert self._workspace is not None
        with suppress(OSError):
            self._workspace.files.unlink(self._path(session))

    def _sweep(self) -> None:
        """Delete the files of sessions that are long over."""
        assert self._workspace is not None
        files, folder, oldest = self._workspace.files, self._workspace.derived / KIND, time.time() - KEPT_S
        with suppress(OSError):
            for name in files.names(folder):
                with suppress(OSError):
                    if files.stat(folder / name).st_mtime < oldest:
                        files.unlink(folder / name)


def sweep(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Name what the forgotten sessions were given, or all; remove it to `change`.

    All where anything else is forgotten: these are hashes, which say whether a session
    has seen a statement. A passage may be given once more.
    """
    from commonplace.types.changes import Erased

    files, stems = site.workspace.files, set(map(_stem, targets.sessions))
    erased = []
    for path in records.listed(files, site.workspace.derived / KIND, ".json"):
        if not targets.only_sessions or path.stem in stems:
            erased.append(Erased("marks", site.shown(path)))
            if change:
                records.remove(files, path)
    return erased


def _stem(session: str) -> str:
    return hashlib.sha256(session.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _put(given: OrderedDict[str, None], found: Iterable[str]) -> None:
    for digest in found:
        given[digest] = None
        given.move_to_end(digest)
    while len(given) > MAX_STATEMENTS:
        given.popitem(last=False)


def _parsed(told: Mapping[str, Any]) -> list[str]:
    """The hashes of a record; what is none is passed over."""
    given = told.get("given")
    return [one for one in given if isinstance(one, str) and _DIGEST.fullmatch(one)] if given else []


def _rest(hit: Hit, given: Container[str]) -> Hit | None:
    if all(digest in given for digest in _digests(hit)):
        return None
    return trimmed(hit, lambda line: all(digest in given for digest in _of(hit.path, _statements(line))))


def trimmed(hit: Hit, known: Callable[[str], bool]) -> Hit | None:
    """Return a hit without the lines at its ends that are known, short ones too; None if none is left."""
    if "```" in hit.text:
        return hit
    # Blank lines and headings say nothing by themselves.
    lines = dedupe.whole_lines(hit)
    return dedupe.without(
        hit, [known(line) if line.strip() and not line.lstrip().startswith("#") else None for line in lines]
    )


def _digests(hit: Hit) -> list[str]:
    return list(_of(hit.path, _statements(hit.text)))


def _of(path: str, statements: Iterable[str]) -> Iterator[str]:
    for said in statements:
        yield hashlib.sha256(f"{path}\0{said}".encode("utf-8", "surrogateescape")).hexdigest()[:_HEX]


def _statements(text: str) -> Iterator[str]:
    """The sentences of a text without their blanks; headings say nothing where anything else does."""
    found = [
        " ".join(part[0].split()).lstrip(f"{screen.ELLIPSIS} ") for part in dedupe.SENTENCE.finditer(text)
    ]
    told = [said for said in found if said and not said.startswith("#")]
    yield from told or filter(None, found)
