"""Settings files of other programs, changed: composed, backed up, exchanged as a whole, taken back exactly.

What we did to a file is noted beside the user's settings: a digest of what we wrote, and what stood where we
wrote. As long as the file is as we left it, taking back gives the very bytes that stood there; otherwise what
is ours is taken out of what the file has become.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from commonplace.base import atomic, paths
from commonplace.base.errors import ConfigError, NoteUnreadable
from commonplace.base.root import Root

KEPT_DAYS = 30  # of a former version
_FOLDER, _BACKUPS, _LOCK = "clients", "backups", "clients.lock"
_ATTEMPTS = 20
_LARGEST = 64 << 20
_READABLE = 0o644  # of files of a project, which others may share


@dataclass(frozen=True, slots=True)
class Edit:
    """A file below a folder, and how its text changes: `add` puts in what is ours, `strip` takes it out.

    None stands for no file; `strip` returns it for a file that is ours altogether. `what` names what is put
    in. A file that is made is its owner's alone, unless others may `share` it.
    """

    what: str
    path: Path
    within: Path
    add: Callable[[str | None], str]
    strip: Callable[[str], str | None]
    share: bool = False

    def read(self) -> bytes | None:
        """Return what the file holds, None for no file. Raises NoteUnreadable."""
        try:
            return Root(self.within).read(self.path, limit=_LARGEST, links=True)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise NoteUnreadable(paths.shown(self.path), paths.reason(error)) from error

    def text(self) -> str | None:
        """Return what the file says, None for no file. Raises NoteUnreadable, ConfigError."""
        data = self.read()
        with self.translated():
            return None if data is None else data.decode()

    def installed(self, before: bytes | None) -> bytes:
        """Return the file with what is ours. Raises ConfigError."""
        with self.translated():
            return self.add(None if before is None else before.decode()).encode()

    def stripped(self, before: bytes | None) -> bytes | None:
        """Return the file without what is ours. Raises ConfigError."""
        with self.translated():
            left = None if before is None else self.strip(before.decode())
            return None if left is None else left.encode()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Say of what is wrong with a text which file it is. Raises ConfigError."""
        try:
            yield
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise ConfigError(paths.shown(self.path), f"line {line} is not UTF-8; mend it first") from error
        except UnicodeEncodeError as error:
            raise ConfigError(
                paths.shown(self.path), "a path that is not UTF-8 cannot be noted; rename it"
            ) from error
        except ValueError as error:
            raise ConfigError(paths.shown(self.path), f"{error}; nothing was changed") from error


# --- what was done to a file ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Trace:
    """What was written into a file: `length` bytes at `start`, where `former` stood (base64).

    `after` is the digest of the whole file then. `existed` says whether there was one before; `folders` are
    those that were made for it.
    """

    after: str
    start: int
    length: int
    former: str
    existed: bool
    folders: tuple[str, ...] = ()

    @classmethod
    def of(cls, before: bytes | None, after: bytes, folders: tuple[str, ...]) -> Trace:
        """Compare a file with what it becomes."""
        old = before or b""
        start = _shared(old, after)
        end = _shared(old[start:][::-1], after[start:][::-1])
        former = base64.b64encode(old[start : len(old) - end]).decode()
        return cls(_digest(after), start, len(after) - end - start, former, before is not None, folders)

    def undone(self, data: bytes) -> bytes | None:
        """Return what stood there before, for a file that is as it was left."""
        former = base64.b64decode(self.former)
        return data[: self.start] + former + data[self.start + self.length :] if self.existed else None


class Ledger:
    """The traces of what was written, and former versions of files, beside the user's settings."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.root = paths.user_config_dir(environ) / _FOLDER
        self.backups = self.root / _BACKUPS
        self.lock = self.root / _LOCK
        self._files = Root(self.root)

    def trace(self, path: Path) -> Trace | None:
        """Return what was done to a file, None where nothing is noted or it cannot be read."""
        try:
            noted = json.loads(self._files.read(self._name(path)))
            trace = Trace(**{**noted, "folders": tuple(noted["folders"])})
            base64.b64decode(trace.former)
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return trace

    def note(self, path: Path, trace: Trace | None) -> None:
        """Write down what was done to a file, or that nothing of it is left."""
        if trace is None:
            self._files.unlink(self._name(path), missing_ok=True)
        else:
            self._files.exchange(self._name(path), json.dumps(asdict(trace)).encode())

    def keep(self, path: Path, data: bytes) -> Path:
        """Keep a version of a file, for its owner alone; delete those that are older than `KEPT_DAYS`."""
        now = time.time()
        root = Root(self.backups)
        for name in root.names():
            with suppress(OSError):
                if now - root.stat(name).st_mtime > KEPT_DAYS * 86_400:
                    root.unlink(name)
        stamp = time.strftime("%Y%m%dT%H%M%S", time.localtime(now))
        name = f"{stamp}-{_digest(os.fsencode(path) + data)[:8]}-{path.name.lstrip('.')[:60]}"
        root.exchange(name, data)
        return self.backups / name

    @staticmethod
    def _name(path: Path) -> str:
        return f"{_digest(os.fsencode(os.path.abspath(path)))[:20]}.json"


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with alike."""
    lengths = range(1, min(len(one), len(other)) + 1)
    return bisect_left(lengths, True, key=lambda length: one[:length] != other[:length])


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# --- changing -------------------------------------------------------------------------------------------


def without(edit: Edit, ledger: Ledger, before: bytes | None) -> bytes | None:
    """Return a file as it was without us: the very bytes where they are known. Raises ConfigError."""
    trace = ledger.trace(edit.path)
    if before is not None and trace is not None and _is_as_left(ledger, edit.path, before):
        return trace.undone(before)
    left = edit.stripped(before)
    is_new = trace is not None and not trace.existed
    return None if is_new and left is not None and left.strip() in (b"", b"{}") else left


def entered(edit: Edit, ledger: Ledger, before: bytes | None) -> bytes:
    """Return a file with what is ours, in the place of what was there of it. Raises ConfigError."""
    after = edit.installed(before)
    if before is not None and before != after and _is_as_left(ledger, edit.path, before):
        return edit.installed(without(edit, ledger, before))
    return after


def _is_as_left(ledger: Ledger, path: Path, data: bytes) -> bool:
    """Whether a file is as we wrote it, so that taking back gives what stood there."""
    trace = ledger.trace(path)
    return trace is not None and trace.after == _digest(data)


def install(edit: Edit, ledger: Ledger) -> Path | None:
    """Put what is ours into a file; return where the former version is kept, None where there was none.

    Raises ConfigError, NoteUnreadable, with the file as it was.
    """

    def compose(before: bytes | None) -> tuple[bytes, Trace]:
        after = entered(edit, ledger, before)
        former = ledger.trace(edit.path)
        folders = former.folders if former else _missing(edit)
        return after, Trace.of(without(edit, ledger, before), after, folders)

    return _change(edit, ledger, compose)


def uninstall(edit: Edit, ledger: Ledger) -> Path | None:
    """Take what is ours out of a file, and the folders that were made for it. Raises as `install` does."""
    trace = ledger.trace(edit.path)
    backup = _change(edit, ledger, lambda before: (without(edit, ledger, before), None))
    for folder in reversed(trace.folders if trace else ()):
        with suppress(OSError):  # it holds something else
            Root(edit.within).rmdir(folder)
    return backup


def _change(
    edit: Edit, ledger: Ledger, compose: Callable[[bytes | None], tuple[bytes | None, Trace | None]]
) -> Path | None:
    backup = None
    with atomic.locked(ledger.lock):
        for _ in range(_ATTEMPTS):
            before = edit.read()
            after, trace = compose(before)
            if before == after and trace is not None:
                return backup
            if before is not None and before != after and not _is_as_left(ledger, edit.path, before):
                backup = ledger.keep(edit.path, before)
            # Noted first: a trace of what was not written is of another digest, and counts for nothing.
            if trace is not None:
                ledger.note(edit.path, trace)
            mode = _READABLE if edit.share else 0
            if atomic.exchange(edit.path, before, after, lock=ledger.lock, within=edit.within, mode=mode):
                if trace is None:
                    ledger.note(edit.path, None)
                return backup
    raise NoteUnreadable(paths.shown(edit.path), "another program keeps changing it; try again")


def _missing(edit: Edit) -> tuple[str, ...]:
    """The folders on the way to a file that are not there yet, the outer ones first."""
    above = [folder for folder in edit.path.parents if paths.is_within(str(folder), str(edit.within))]
    # By their own names: the way there may lead over a link that stays inside.
    return tuple(os.path.realpath(folder) for folder in reversed(above) if not os.path.lexists(folder))
