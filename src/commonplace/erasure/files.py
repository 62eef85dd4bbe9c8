"""Files that are read line by line, and those that a session left: transcripts, spool, marks, logs."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Set
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

from commonplace import atomic, paths, records
from commonplace.base.root import Root, Unsafe
from commonplace.erasure import cutting, messages
from commonplace.erasure import requests as pending
from commonplace.erasure.ground import Ground
from commonplace.erasure.messages import unescaped
from commonplace.erasure.wanted import Wanted
from commonplace.errors import NoteUnreadable
from commonplace.notes import writes
from commonplace.types.erasure import Erased

SESSIONS = "sessions"
_TEMPORARY = re.compile(r"\..{1,40}\.[0-9a-f]{12}\.tmp")  # as `atomic` names them
_OWN_TEMPORARY = re.compile(r"\..*\.tmp", re.DOTALL)  # as `base.root` does, where nobody else has files
_LINE = re.compile(rb"[^\n]*\n|[^\n]+\Z")
_LARGEST = 1 << 30  # bytes of a transcript, which grows for months
_LARGEST_LOG = 1 << 28
_LOGS = ("server.log", "schedule.log")

Line = Callable[[bytes, Wanted], bytes]


def transcripts(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Take it out of the workspace's own transcripts; those of forgotten sessions go whole.

    Raises NoteUnreadable.
    """
    found: list[Erased] = []
    with _locked(ground, "sessions", change=change):
        for path in _regular(ground, ground.workspace.root / SESSIONS, ".jsonl"):
            if path.stem in _stems(wanted) or wanted.owns(ground.shown(path)):
                lines = _LINE.findall(_read(ground, path))
                found.append(Erased("transcripts", ground.shown(path), count=len(lines)))
                if change:
                    _remove(ground, path)
            else:
                found += _rewritten(ground, path, wanted, messages.message, "transcripts", change=change)
    return found


def spool(ground: Ground, wanted: Wanted, *, change: bool, among: Set[str] | None = None) -> list[Erased]:
    """Take it out of entries (`among` these) that wait to be written into notes, whoever has claimed them.

    Changed under `no_drain` alone. Raises NoteUnreadable.
    """
    if not _regular(ground, ground.workspace.spool, ".jsonl"):
        return []

    def entry(line: bytes, wanted: Wanted) -> bytes:
        if among is not None and line.decode("utf-8", "replace") not in among:
            return line
        return messages.entry(line, wanted)

    found: list[Erased] = []
    with _locked(ground, "spool", change=change):
        for path in _regular(ground, ground.workspace.spool, ".jsonl"):
            found += _rewritten(ground, path, wanted, entry, "spool", change=change)
    return found


def no_drain(ground: Ground) -> AbstractContextManager[None]:
    """Keep what waits in the spool from being written into notes. Raises NoteUnreadable."""
    return _locked(ground, "drain", change=ground.workspace.files.is_folder(ground.workspace.spool))


def marks(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Remove the marks of forgotten sessions, and what each session was given: hashes of statements."""
    derived = ground.workspace.derived
    given = _regular(ground, derived / "injected", ".json")
    named = {
        hashlib.sha256(one.encode("utf-8", "surrogateescape")).hexdigest()[:24] for one in wanted.sessions
    }
    if not (wanted.people or wanted.texts or wanted.blocks or wanted.notes):
        given = [path for path in given if path.stem in named]
    pending = [
        derived / "pending" / f"{stem}{ending}"
        for stem in sorted(_stems(wanted))
        for ending in (".json", ".lock", ".queue")
    ]
    files = ground.workspace.files
    found = [path for path in [*given, *pending] if files.is_file(path)]
    for path in found if change else ():
        _remove(ground, path)
    return [Erased("marks", ground.shown(path)) for path in found]


def logs(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Blank it in the logs of servers and of the schedule, which go on writing: their length stays."""
    found: list[Erased] = []
    folders = (ground.workspace.derived, paths.fallback_index(ground.workspace.root).parent)
    for path in (folder / name for folder in folders for name in _LOGS):
        root = paths.root_of(path)
        if not root.is_file(path):
            continue
        with records.translated(path):
            data = root.read(path, limit=_LARGEST_LOG)
        spans = [(at, line) for at, line in _placed(data) if wanted.found(line.decode("utf-8", "replace"))]
        if spans:
            found.append(Erased("logs", ground.shown(path), count=len(spans)))
        if spans and change:
            with records.translated(path), os.fdopen(root.descriptor(path, os.O_RDWR), "r+b") as file:
                for at, line in spans:
                    file.seek(at)
                    file.write(b" " * len(line.rstrip(b"\r\n")))
                file.flush()
                os.fsync(file.fileno())
    return found


def leftovers(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Remove temporary files of writers that were killed, and foreign records, where they hold it.

    Raises NoteUnreadable.
    """
    workspace, root = ground.workspace, ground.workspace.files
    open_to_all = [
        workspace.root, *_below(root, workspace.memory_dir), *_below(root, workspace.root / "archive"),
    ]  # fmt: skip
    own = [workspace.root / SESSIONS, *_below(root, workspace.derived)]
    found: list[Erased] = []
    with _locked(ground, "notes", change=change), _locked(ground, "sessions", change=change):
        places = [path for folder in open_to_all for path in _named(root, folder, _TEMPORARY)]
        places += [path for folder in own for path in _named(root, folder, _OWN_TEMPORARY)]
        aside = [workspace.derived / records.FOREIGN_FOLDER / name for name in records.foreign(root)]
        places += aside  # whoever wrote them
        for path in dict.fromkeys(places):
            if any(wanted.found(_read(ground, file).decode("utf-8", "replace")) for file in _in(root, path)):
                found.append(Erased("foreign" if path in aside else "leftovers", ground.shown(path)))
                if change:
                    with records.translated(path):
                        root.remove(path)
    return found


def requests(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Remove what agents asked to have forgotten and wait for, where it says it or asks for some of it.

    Raises NoteUnreadable.
    """
    found: list[Erased] = []
    for path in _regular(ground, pending.folder(ground.workspace), ""):
        text = _read(ground, path).decode("utf-8", "replace")
        request = pending.read(ground.workspace, path)
        words = request.preview.basis.decode("utf-8", "replace") if request else ""
        asks = request is not None and request.goes_with(wanted)
        if asks or wanted.found(text) or wanted.found(messages.unescaped(words)):
            found.append(Erased("requests", ground.shown(path)))
            if change:
                with records.translated(path):
                    ground.workspace.files.unlink(path, missing_ok=True)
    return found


def copies(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Take it out of the copies of what editors overwrote, and out of what is kept of our own last writes.

    Raises NoteUnreadable.
    """
    door = ground.workspace.files
    found: list[Erased] = []
    with _locked(ground, "notes", change=change):
        for folder in (writes.FOLDER, writes.COPIES):
            for path in [f"{folder}/{name}" for name in writes.listed(ground.workspace, folder)]:
                try:
                    data = door.read(path)
                    rest = _rest(path, data, wanted)
                    if rest == data:
                        continue
                    found.append(Erased("copies", path))
                    if change and rest:
                        door.exchange(path, rest)
                    elif change:
                        door.unlink(path)
                except FileNotFoundError:  # a preview takes no lock, and a writer drops what it kept
                    continue
                except OSError as error:
                    raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error
    return found


def _rest(path: str, data: bytes, wanted: Wanted) -> bytes:
    """What is left of a copy; nothing of one of a forgotten note, nor of our own records of changed ones."""
    gone = [*wanted.notes, *(known.path for known in wanted.known if not path.endswith(".md"))]
    if any(writes.key_of(note) in path for note in gone):
        return b""
    if path.endswith((".json", ".new")):
        return b"" if wanted.found(unescaped(data.decode("utf-8", "replace"))) else data
    cut = cutting.cut(path, data, wanted)
    if cut is None:
        return data
    return cut.data or b"" if path.endswith(".md") else b""


def _in(root: Root, path: Path) -> list[Path]:
    """A file, or the files in a folder."""
    places = [place / name for place in _below(root, path) for name in _names(root, place)]
    return [place for place in (path, *places) if root.is_file(place)]


def _below(root: Root, folder: Path) -> Iterator[Path]:
    """A folder and those below it, but none that a link leads to."""
    if root.is_folder(folder):
        yield folder
        for name in _names(root, folder):
            yield from _below(root, folder / name)


def _named(root: Root, folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    named = [folder / name for name in _names(root, folder) if pattern.fullmatch(name)]
    return [path for path in named if root.is_file(path)]


def _names(root: Root, folder: Path) -> list[str]:
    with suppress(OSError):
        return root.names(folder)
    return []


def _regular(ground: Ground, folder: Path, ending: str) -> list[Path]:
    """The files of a folder, links left out. Raises NoteUnreadable where the folder is one."""
    root = ground.workspace.files
    try:
        names = root.names(folder)
    except (Unsafe, PermissionError) as error:
        raise NoteUnreadable(paths.shown(folder), records.trouble(error)) from error
    except OSError:
        return []
    return [folder / name for name in names if name.endswith(ending) and root.is_file(folder / name)]


def _stems(wanted: Wanted) -> set[str]:
    """The names of the files of forgotten sessions, as `sessions.transcript.path_of` makes them."""
    return set(map(stem_of, wanted.sessions))


def stem_of(session: str) -> str:
    """Return the name, without its ending, that the files of a session have."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", session):
        return session
    digest = hashlib.blake2b(session.encode("utf-8", "replace"), digest_size=4).hexdigest()
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", session).strip(".-_")[:80]
    return f"{plain or 'session'}-{digest}"


def _rewritten(
    ground: Ground, path: Path, wanted: Wanted, clean: Line, where: str, *, change: bool
) -> list[Erased]:
    """Clean a file line by line, and put it in its place as a whole."""
    assert where in ("transcripts", "spool")
    data = _read(ground, path)
    before = _LINE.findall(data)
    after = [clean(line, wanted) for line in before]
    shown = ground.shown(path)
    found = [
        Erased(
            "transcripts" if where == "transcripts" else "spool", shown, n, n, line.decode("utf-8", "replace")
        )
        for n, (line, cleaned) in enumerate(zip(before, after, strict=True), 1)
        if line != cleaned
    ]
    if found and change:
        if _read(ground, path) != data:
            raise NoteUnreadable(shown, "was changed meanwhile; try again")
        with records.translated(path):
            ground.workspace.files.exchange(path, b"".join(after), alone=True)
    return found


def _read(ground: Ground, path: Path) -> bytes:
    """The bytes of a file, none of one that its writer has put in its place or taken away meanwhile."""
    with records.translated(path), suppress(FileNotFoundError):
        return ground.workspace.files.read(path, limit=_LARGEST)
    return b""


def _placed(data: bytes) -> Iterator[tuple[int, bytes]]:
    for found in _LINE.finditer(data):
        yield found.start(), found[0]


def _remove(ground: Ground, path: Path) -> None:
    root = ground.workspace.files
    with records.translated(path):
        root.unlink(path, missing_ok=True)
    root.sync(path.parent)


def _locked(ground: Ground, name: str, *, change: bool) -> AbstractContextManager[None]:
    return atomic.locked(paths.lock_file(ground.workspace, name)) if change else nullcontext()
