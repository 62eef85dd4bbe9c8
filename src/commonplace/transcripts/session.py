"""The transcript of a session: `sessions/<id>.jsonl`, one message a line, appended and read from the end."""

from __future__ import annotations

import hashlib
import json
import os
import string
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.base import paths, records
from commonplace.base import tokens as estimates
from commonplace.base.errors import ConfigError, OutsideRoots
from commonplace.base.locks import locked
from commonplace.base.root import Unsafe
from commonplace.transcripts import content, ours
from commonplace.transcripts.rendering import cleaned
from commonplace.types.events import Turn

if TYPE_CHECKING:
    from typing import Self

    from commonplace.types.changes import Erased
    from commonplace.types.store import Site, Targets

FOLDER, ENDING = "sessions", ".jsonl"
_PLAIN = frozenset(string.ascii_letters + string.digits + "._-")
_MAX_CHARACTERS, _MAX_PLAIN = 200, 100
_TURN_TOKENS = 4  # what surrounds a message on its way to a model
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT


class Transcript:
    """One session's messages on disk; any number of processes may append to the same one."""

    def __init__(self, workspace: paths.Workspace, session: str) -> None:
        """Bind to a session; the file is opened by the first append."""
        self.session, self.path, self._workspace = session, path_of(workspace, session), workspace
        self._lock = paths.lock_file(workspace, FOLDER)
        self._root = workspace.files

    @classmethod
    def open(cls, workspace: paths.Workspace, session: str) -> Self:
        """Open the transcript of a session, which may be missing. Raises ConfigError for a path."""
        return cls(workspace, session)

    def append(self, turn: Turn) -> None:
        """Append one message, as `extend` does."""
        self.extend((turn,))

    def extend(self, turns: Iterable[Turn]) -> None:
        """Append messages without recalled notes, private parts and secrets, and force them to the disk.

        A message without a time gets the current one. A cut-off last line is ended first, so that the new
        message is not part of it. Raises AccessDenied, NoteUnreadable, OutsideRoots.
        """
        self._workspace.check_writable()
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        clean = [cleaned(turn) for turn in turns]
        if not clean:
            return
        data = b"".join(ours.line(turn if turn.at else replace(turn, at=now)) for turn in clean)
        # Opened anew each time: what another program put in its place is what is appended to.
        with locked(self._lock), _translated(self.path):
            descriptor = self._root.descriptor(self.path, _APPEND, make=True)
            try:
                is_new = not os.fstat(descriptor).st_size
                _append(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if is_new:  # its name must last as well
                self._root.sync(self.path.parent)

    def load(self, *, last: int | None = None, max_tokens: int | None = None) -> list[Turn]:
        """Return the messages in their order: all of them, the `last` few, the newest that fit a budget.

        Lines that are cut off or hold no message are passed over. Raises NoteUnreadable.
        """
        newest_first: list[Turn] = []
        left = max_tokens
        with _translated(self.path), suppress(FileNotFoundError), self._root.open(self.path) as file:
            turns = filter(None, (ours.turn(ours.parsed(line)) for line in content.backwards(file)))
            while len(newest_first) != last and (turn := next(turns, None)) is not None:
                if left is not None and (left := left - tokens(turn)) < 0:
                    break
                newest_first.append(turn)
        return newest_first[::-1]


def sessions(workspace: paths.Workspace) -> list[str]:
    """Return the ids of the sessions with a transcript, that written to last first."""
    dated: list[tuple[int, str]] = []
    with (
        suppress(OSError), workspace.files.listed(folder(workspace)) as listed, os.scandir(listed) as entries,
    ):  # fmt: skip
        for entry in entries:
            with suppress(OSError):
                if entry.name.endswith(ENDING) and entry.is_file(follow_symlinks=False):
                    dated.append((-entry.stat().st_mtime_ns, entry.name.removesuffix(ENDING)))
    return [name for _, name in sorted(dated) if _is_plain(name)]


def folder(workspace: paths.Workspace) -> Path:
    """Return the folder of transcripts, which may be missing."""
    return workspace.root / FOLDER


def path_of(workspace: paths.Workspace, session: str) -> Path:
    """Return the file of a session's transcript.

    An id of letters, digits, `.`, `_` and `-` is the file's name; in others what is odd becomes `-`, with a
    hash of the whole that keeps them apart. Raises ConfigError for one that could be a path.
    """
    if not session or len(session) > _MAX_CHARACTERS or not session.isprintable():
        limit = f"1 to {_MAX_CHARACTERS} printable characters"
        raise ConfigError("session", f"{paths.shown(session)!r} is no id; one has {limit}")
    if session.startswith(".") or "/" in session or "\\" in session:
        raise ConfigError("session", f"{session!r} is no id; it must not look like a path")
    return folder(workspace) / f"{stem_of(session)}{ENDING}"


def stem_of(session: str) -> str:
    """Return the name, without its ending, that the files of a session have, for any text."""
    if _is_plain(session):
        return session
    digest = hashlib.blake2b(session.encode("utf-8", "replace"), digest_size=4).hexdigest()
    plain = "".join(character if character in _PLAIN else " " for character in session)
    return f"{'-'.join(plain.split()).strip('.-_')[:80] or 'session'}-{digest}"


def _is_plain(session: str) -> bool:
    """Tell whether an id can be the file's name."""
    return 0 < len(session) <= _MAX_PLAIN and session[0].isalnum() and _PLAIN.issuperset(session)


def sweep(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Name the messages that hold any of it; transcripts of forgotten sessions go whole.

    To `change` it is removed from messages, whose ids stay so that calls keep their answers.
    """
    from commonplace.types.changes import Erased

    root, stems = site.workspace.files, set(map(stem_of, targets.sessions))
    erased: list[Erased] = []
    with locked(paths.lock_file(site.workspace, FOLDER)) if change else nullcontext():
        for path in records.listed(root, folder(site.workspace), ENDING):
            shown, lines = site.shown(path), list(BytesIO(records.load(root, path)))
            if is_whole := path.stem in stems or targets.owns(shown):
                after, found = [], [Erased("transcripts", shown, count=len(lines))]
            else:
                after = [without(line, targets) for line in lines]
                found = [
                    Erased("transcripts", shown, n, n, line.decode("utf-8", "replace"))
                    for n, (line, cleaned) in enumerate(zip(lines, after, strict=True), 1)
                    if line != cleaned
                ]
            if found and change:
                with records.translated(path):
                    root.unlink(path) if is_whole else root.exchange(path, b"".join(after), alone=True)
                root.sync(path.parent)
            erased += found
    return erased


def without(raw: bytes, targets: Targets) -> bytes:
    """Return a line without the forgotten words; unchanged if it holds no such word.

    A message that mentions a person loses its whole text, and a call its arguments. A damaged line becomes an
    empty object.
    """
    if not targets.matches(raw.decode("utf-8", "replace")):
        return raw
    end = raw[len(raw.rstrip(b"\r\n")) :]
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return b"{}" + end
    return ours.encoded(targets.clean(value)) + end


def _append(descriptor: int, data: bytes) -> None:
    """Write at the end of a file, on a line of its own."""
    if size := os.fstat(descriptor).st_size:
        os.lseek(descriptor, size - 1, os.SEEK_SET)
        if os.read(descriptor, 1) != b"\n":
            data = b"\n" + data
    view = memoryview(data)
    while view:  # a write that a full disk cuts short is followed by one that fails
        view = view[os.write(descriptor, view) :]


def tokens(turn: Turn) -> int:
    """Return about how many tokens a message takes in a prompt, its tool calls included."""
    calls = sum(estimates.about(call.name) + estimates.about(call.arguments) for call in turn.calls)
    return _TURN_TOKENS + estimates.about(turn.text) + calls


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    with records.translated(path):
        try:
            yield
        except Unsafe as error:
            if error.filename == os.fspath(path):
                raise
            raise OutsideRoots(paths.shown(path), records.trouble(error, path)) from error
