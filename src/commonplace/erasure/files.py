"""Files that are read line by line, and those that a session left: transcripts, spool, marks, logs."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

from commonplace import atomic, paths
from commonplace.erasure import cutting, messages
from commonplace.erasure.ground import Ground
from commonplace.erasure.messages import unescaped
from commonplace.erasure.wanted import Wanted
from commonplace.errors import NoteUnreadable
from commonplace.notes import writes
from commonplace.types.erasure import Erased

SESSIONS = "sessions"
_TEMPORARY = re.compile(r"\..{1,40}\.[0-9a-f]{12}\.tmp")  # as `atomic` names them
_LINE = re.compile(rb"[^\n]*\n|[^\n]+\Z")
_LOGS = ("server.log", "schedule.log")

Line = Callable[[bytes, Wanted], bytes]


def transcripts(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Take it out of the workspace's own transcripts; those of forgotten sessions go whole.

    Raises NoteUnreadable.
    """
    found: list[Erased] = []
    with _locked(ground, "sessions", change=change):
        for path in sorted((ground.workspace.root / SESSIONS).glob("*.jsonl")):
            if path.stem in _stems(wanted) or wanted.owns(ground.shown(path)):
                found.append(Erased("transcripts", ground.shown(path), count=len(_lines(path))))
                if change:
                    _remove(path)
            else:
                found += _rewritten(ground, path, wanted, messages.message, "transcripts", change=change)
    return found


def spool(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Take it out of entries that wait to be written into notes, whoever has claimed them.

    Raises NoteUnreadable.
    """
    folder = ground.workspace.spool
    if not folder.is_dir():
        return []
    found: list[Erased] = []
    with _locked(ground, "drain", change=change), _locked(ground, "spool", change=change):
        for path in sorted(folder.glob("*.jsonl")):
            found += _rewritten(ground, path, wanted, messages.entry, "spool", change=change)
    return found


def marks(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Remove the marks of forgotten sessions, and what each session was given: hashes of statements."""
    derived = ground.workspace.derived
    given = sorted((derived / "injected").glob("*.txt"))
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
    found = [path for path in [*given, *pending] if path.exists()]
    for path in found if change else ():
        _remove(path)
    return [Erased("marks", ground.shown(path)) for path in found]


def logs(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Blank it in the logs of servers and of the schedule, which go on writing: their length stays."""
    found: list[Erased] = []
    folders = (ground.workspace.derived, paths.fallback_index(ground.workspace.root).parent)
    for path in (folder / name for folder in folders for name in _LOGS):
        if not path.is_file():
            continue
        data = path.read_bytes()
        spans = [(at, line) for at, line in _placed(data) if wanted.found(line.decode("utf-8", "replace"))]
        if spans:
            found.append(Erased("logs", ground.shown(path), count=len(spans)))
        if spans and change:
            with open(path, "r+b") as file:
                for at, line in spans:
                    file.seek(at)
                    file.write(b" " * len(line.rstrip(b"\r\n")))
                file.flush()
                os.fsync(file.fileno())
    return found


def leftovers(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Remove temporary files of writers that were killed, where they hold it. Raises NoteUnreadable."""
    root = ground.workspace.root
    folders = [root, root / SESSIONS, *_below(ground.workspace.memory_dir), *_below(root / "archive")]
    found: list[Erased] = []
    with _locked(ground, "notes", change=change), _locked(ground, "sessions", change=change):
        places = [path for folder in folders for path in _temporary(folder)]
        places += [path for path in _below(ground.workspace.derived) for path in _temporary(path)]
        for path in dict.fromkeys(places):
            if wanted.found(path.read_bytes().decode("utf-8", "replace")):
                found.append(Erased("leftovers", ground.shown(path)))
                if change:
                    _remove(path)
    return found


def copies(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Take it out of the copies of what editors overwrote, and out of what is kept of our own last writes.

    Raises NoteUnreadable.
    """
    door = ground.workspace.files
    found: list[Erased] = []
    with _locked(ground, "notes", change=change):
        for folder in (writes.FOLDER, writes.COPIES):
            for path in [f"{folder}/{name}" for name in door.names(folder)]:
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


def _below(folder: Path) -> Iterator[Path]:
    for name, _, _ in os.walk(folder):
        yield Path(name)


def _temporary(folder: Path) -> list[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        return [Path(entry.path) for entry in entries if _TEMPORARY.fullmatch(entry.name)]
    return []


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
    data = _read(path)
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
    if found and change and not atomic.exchange(path, data, b"".join(after), lock=ground.lock):
        raise NoteUnreadable(shown, "was changed meanwhile; try again")
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error


def _lines(path: Path) -> list[bytes]:
    return _LINE.findall(_read(path))


def _placed(data: bytes) -> Iterator[tuple[int, bytes]]:
    for found in _LINE.finditer(data):
        yield found.start(), found[0]


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error
    atomic.sync_folder(path.parent)


def _locked(ground: Ground, name: str, *, change: bool) -> AbstractContextManager[None]:
    return atomic.locked(paths.lock_file(ground.workspace, name)) if change else nullcontext()
