"""Settings files of other programs: composed, backed up, and replaced as a whole."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from commonplace.base import locks, paths
from commonplace.base.digests import sha256
from commonplace.base.errors import ConfigError, NoteUnreadable
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
        """Return the file with our entries. Raises ConfigError."""
        with self.translated():
            return self.add(None if before is None else before.decode()).encode()

    def stripped(self, before: bytes | None) -> bytes | None:
        """Return the file without our entries; None if no settings are left. Raises ConfigError."""
        with self.translated():
            left = None if before is None else self.strip(before.decode())
        if left is None or left.encode() == before:
            return None if left is None else before
        is_empty = left.strip("\ufeff \r\n") in ("", "{}") and not self.is_linked
        return None if is_empty else left.encode()

    @property
    def is_linked(self) -> bool:
        """Tell whether the file, or a folder on the way to it, is a link."""
        way = os.path.relpath(self.path, self.within)
        return os.path.realpath(self.path) != os.path.join(os.path.realpath(self.within), way)

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


# --- changing -------------------------------------------------------------------------------------------


class Done(NamedTuple):
    """A file's bytes before and after a change, and the path of its backup."""

    before: bytes | None
    after: bytes | None
    backup: Path | None


def change(edit: Edit, environ: Mapping[str, str], *, remove: bool = False) -> Done:
    """Put our entries into a file, or take them out; keep its former version.

    Raises ConfigError, NoteUnreadable, with the file as it was.
    """
    folder = paths.user_config_dir(environ) / _FOLDER
    with locks.locked(folder / _LOCK):
        files.clear(edit.path, lock=folder / _LOCK, within=edit.within)
        for _ in range(_ATTEMPTS):
            before, backup = edit.read(), None
            after = edit.stripped(before) if remove else edit.installed(before)
            if before is not None and before != after:
                backup = _keep(folder / _BACKUPS, edit.path, before)
            if before == after or _exchange(edit, folder, before, after):
                return Done(before, after, backup)
    raise NoteUnreadable(paths.shown(edit.path), "another program keeps changing it; try again")


def restore(edit: Edit, environ: Mapping[str, str], done: Done) -> bool:
    """Give a file back as it was before a change; False if another program has changed it since.

    Raises NoteUnreadable.
    """
    folder = paths.user_config_dir(environ) / _FOLDER
    with locks.locked(folder / _LOCK):
        return _exchange(edit, folder, done.after, done.before)


def _keep(backups: Path, path: Path, data: bytes) -> Path:
    """Keep a version of a file, readable by its owner alone; delete versions older than `KEPT_DAYS`.

    Raises NoteUnreadable.
    """
    now, root = time.time(), Root(backups)
    for name in root.names():
        with suppress(OSError):
            if now - root.stat(name).st_mtime > KEPT_DAYS * 86_400:
                root.unlink(name)
    stamp = time.strftime("%Y%m%dT%H%M%S", time.localtime(now))
    name = f"{stamp}-{sha256(os.fsencode(path) + data).hexdigest()[:8]}-{path.name.lstrip('.')[:60]}"
    try:
        root.exchange(name, data)
    except OSError as error:
        raise NoteUnreadable(paths.shown(backups), paths.reason(error)) from error
    return backups / name


def _exchange(edit: Edit, folder: Path, before: bytes | None, after: bytes | None) -> bool:
    """Replace the bytes of a file; remove folders that are empty without it, or after a failure."""
    mode, is_done = _READABLE if edit.share else 0, False
    try:
        is_done = files.exchange(edit.path, before, after, lock=folder / _LOCK, within=edit.within, mode=mode)
    finally:
        if (after is None or not is_done) and not edit.is_linked:
            for above in edit.path.parents[: len(edit.path.relative_to(edit.within).parts) - 1]:
                with suppress(OSError):  # not empty, or not there
                    Root(edit.within).rmdir(above)
    return is_done
