"""Settings files of other programs, changed: composed, backed up, exchanged as a whole, taken back exactly.

A trace of each change lies in the folder of the user's settings: a digest of the written file and the bytes
that we replaced. While the file matches the digest, undoing restores the former bytes exactly; otherwise our
entries are removed from the changed file.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from commonplace.base import locks, paths
from commonplace.base.errors import CommonplaceError, ConfigError, NoteUnreadable
from commonplace.base.root import Root
from commonplace.base.tuples import NamedTuple
from commonplace.storage import files

KEPT_DAYS = 30  # of a former version
_FOLDER, _BACKUPS, _LOCK = "clients", "backups", "clients.lock"
_ATTEMPTS = 20
_LARGEST = 64 << 20
# A text in quotes, or a word, on one line of JSON or TOML; and what follows a key.
_VALUE = re.compile(r""""(?:\\(?:.|$)|[^"\\\n])*(?:"|$)|'[^'\n]*(?:'|$)|[^\s"'{}\[\](),:=]+""", re.MULTILINE)
_KEY_END = re.compile(r"[ \t]*[:=]")
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

    def masking(self, before: bytes | None, after: bytes | None) -> Callable[[str], str]:
        """Return a function that blanks values in a text of this file, except those that we wrote."""

        def count(data: bytes | None) -> Counter[str]:
            return Counter(_VALUE.findall((data or b"").decode("utf-8", "replace")))

        others = count(self.stripped(before))
        ours = {value for one in (count(before), count(after)) for value in one if one[value] > others[value]}

        def shown(match: re.Match[str]) -> str:
            is_key = _KEY_END.match(match.string, match.end())
            return match[0] if is_key or match[0] in ours else "…"

        return lambda text: _VALUE.sub(shown, text)

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
    """A change of a file: `length` bytes at `start` that replaced `former` (base64).

    `after` is the digest of the whole file after the change. `existed`: the file existed before; `folders`
    are those made for it. `earlier` is the previous trace: a trace is saved before the file is written, so
    after a crash in between the file still matches the earlier one.
    """

    after: str
    start: int
    length: int
    former: str
    existed: bool
    folders: tuple[str, ...] = ()
    earlier: Trace | None = None

    @classmethod
    def of(
        cls, before: bytes | None, after: bytes, folders: tuple[str, ...], earlier: Trace | None = None
    ) -> Trace:
        """Compare a file with what it becomes."""
        old = before or b""
        start = _shared(old, after)
        end = _shared(old[start:][::-1], after[start:][::-1])
        former = base64.b64encode(old[start : len(old) - end]).decode()
        existed, earlier = before is not None, earlier and replace(earlier, earlier=None)
        return cls(_digest(after), start, len(after) - end - start, former, existed, folders, earlier)

    @classmethod
    def read(cls, noted: Mapping[str, Any]) -> Trace:
        """Read a saved trace. Raises ValueError, TypeError, KeyError if it is malformed."""
        earlier = cls.read(noted["earlier"]) if noted.get("earlier") else None
        trace = cls(**{**noted, "folders": tuple(noted["folders"]), "earlier": earlier})
        base64.b64decode(trace.former)
        return trace

    def undone(self, data: bytes) -> bytes | None:
        """Return what stood there before, for a file that is as it was left."""
        former = base64.b64decode(self.former)
        return data[: self.start] + former + data[self.start + self.length :] if self.existed else None


class Ledger:
    """The traces of changes and the former versions of files, in the folder of the user's settings."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.root = paths.user_config_dir(environ) / _FOLDER
        self.backups = self.root / _BACKUPS
        self.lock = self.root / _LOCK
        self._files = Root(self.root)

    def trace(self, path: Path) -> Trace | None:
        """Return the trace of a file; None if it is missing or unreadable."""
        try:
            return Trace.read(json.loads(self._files.read(self._name(path))))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def current(self, path: Path, data: bytes) -> Trace | None:
        """Return the trace that fits a file as it is, so that taking back gives what stood there."""
        trace, digest = self.trace(path), _digest(data)
        return next((one for one in (trace, trace and trace.earlier) if one and one.after == digest), None)

    def note(self, path: Path, trace: Trace | None) -> None:
        """Save the trace of a file; delete it for None. Raises NoteUnreadable."""
        with _translated(self.root):
            if trace is None:
                self._files.unlink(self._name(path), missing_ok=True)
            else:
                self._files.exchange(self._name(path), json.dumps(asdict(trace)).encode())

    def keep(self, path: Path, data: bytes) -> Path:
        """Keep a version of a file, for its owner alone; delete those that are older than `KEPT_DAYS`.

        Raises NoteUnreadable.
        """
        now = time.time()
        root = Root(self.backups)
        for name in root.names():
            with suppress(OSError):
                if now - root.stat(name).st_mtime > KEPT_DAYS * 86_400:
                    root.unlink(name)
        stamp = time.strftime("%Y%m%dT%H%M%S", time.localtime(now))
        name = f"{stamp}-{_digest(os.fsencode(path) + data)[:8]}-{path.name.lstrip('.')[:60]}"
        with _translated(self.backups):
            root.exchange(name, data)
        return self.backups / name

    @staticmethod
    def _name(path: Path) -> str:
        return f"{_digest(os.fsencode(os.path.abspath(path)))[:20]}.json"


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with alike."""
    lengths = range(1, min(len(one), len(other)) + 1)
    return bisect_left(lengths, True, key=lambda length: one[:length] != other[:length])


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# --- changing -------------------------------------------------------------------------------------------


class Done(NamedTuple):
    """A change that was made to a file: its bytes before and after, and the path of the backup.

    `trace` is the file's trace from before the change.
    """

    before: bytes | None
    after: bytes | None
    backup: Path | None
    trace: Trace | None


def without(edit: Edit, ledger: Ledger, before: bytes | None) -> bytes | None:
    """Return a file as it was without us: the very bytes where they are known. Raises ConfigError."""
    if before is not None and (trace := ledger.current(edit.path, before)):
        return trace.undone(before)
    rest, trace = edit.stripped(before), ledger.trace(edit.path)
    is_new = trace is not None and not trace.existed
    return None if is_new and rest is not None and rest.strip() in (b"", b"{}") else rest


def entered(edit: Edit, ledger: Ledger, before: bytes | None) -> bytes:
    """Return a file with what is ours, in the place of what was there of it. Raises ConfigError."""
    after = edit.installed(before)
    if before is not None and before != after and ledger.current(edit.path, before):
        return edit.installed(without(edit, ledger, before))
    return after


def install(edit: Edit, ledger: Ledger) -> Done:
    """Put what is ours into a file. Raises ConfigError, NoteUnreadable, with the file as it was."""

    def compose(before: bytes | None) -> tuple[bytes, Trace]:
        after = entered(edit, ledger, before)
        former = ledger.trace(edit.path)
        folders = former.folders if former else _missing(edit)
        earlier = ledger.current(edit.path, before) if before is not None and before != after else None
        return after, Trace.of(without(edit, ledger, before), after, folders, earlier)

    return _change(edit, ledger, compose)


def uninstall(edit: Edit, ledger: Ledger) -> Done:
    """Take what is ours out of a file, and the folders that were made for it. Raises as `install` does."""
    return _change(edit, ledger, lambda before: (without(edit, ledger, before), None))


def restore(edit: Edit, ledger: Ledger, done: Done) -> bool:
    """Give a file back as it was before a change; False where somebody has changed it since.

    Raises NoteUnreadable.
    """
    made = ledger.trace(edit.path)
    with locks.locked(ledger.lock):
        if not _exchange(edit, ledger, done.after, done.before):
            return False
        if done.before is None and made is not None:
            _leave(edit, made.folders)
        ledger.note(edit.path, done.trace)
    return True


def _change(
    edit: Edit, ledger: Ledger, compose: Callable[[bytes | None], tuple[bytes | None, Trace | None]]
) -> Done:
    with locks.locked(ledger.lock):
        files.clear(edit.path, lock=ledger.lock, within=edit.within)
        backup, former, missing = None, ledger.trace(edit.path), _missing(edit)
        try:
            for _ in range(_ATTEMPTS):
                before = edit.read()
                after, trace = compose(before)
                if before == after and trace is not None:
                    return Done(before, after, backup, former)
                if before is not None and before != after and not ledger.current(edit.path, before):
                    backup = ledger.keep(edit.path, before)
                # Saved first: after a failed write the trace's digest differs from the file and is ignored.
                if trace is not None:
                    ledger.note(edit.path, trace)
                if before == after or _exchange(edit, ledger, before, after):
                    if trace is None:  # whoever is killed in between finds the folders in the trace again
                        _leave(edit, former.folders if former else ())
                        with suppress(CommonplaceError):  # a trace of another digest is ignored
                            ledger.note(edit.path, None)
                    return Done(before, after, backup, former)
        except BaseException:
            _leave(edit, missing)  # what was made on the way to a file that could not be written
            if ledger.trace(edit.path) != former:
                with suppress(CommonplaceError):
                    ledger.note(edit.path, former)
            raise
    raise NoteUnreadable(paths.shown(edit.path), "another program keeps changing it; try again")


def _exchange(edit: Edit, ledger: Ledger, before: bytes | None, after: bytes | None) -> bool:
    mode = _READABLE if edit.share else 0
    return files.exchange(edit.path, before, after, lock=ledger.lock, within=edit.within, mode=mode)


def _leave(edit: Edit, folders: Sequence[str]) -> None:
    """Remove empty folders, the inner ones first."""
    for folder in reversed(folders):
        with suppress(OSError):  # it holds something else, or is not there
            Root(edit.within).rmdir(folder)


def _missing(edit: Edit) -> tuple[str, ...]:
    """The folders on the way to a file that are not there yet, the outer ones first."""
    above = [folder for folder in edit.path.parents if paths.is_within(str(folder), str(edit.within))]
    # By their own names: the way there may lead over a link that stays inside.
    return tuple(os.path.realpath(folder) for folder in reversed(above) if not os.path.lexists(folder))
