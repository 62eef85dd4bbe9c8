"""Entries on their way into notes, on disk: any process appends some in no time, one at a time writes them.

`.commonplace/spool/entries.jsonl` is appended to under a lock, a line an entry. Whoever drains it renames it
first, so that nobody appends to what is being read, and removes it when all of it stands in notes. Each line
is signed: one that is not ours gets into no note. Nothing here imports the engine: a hook process is gone
before that would be loaded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from commonplace.base import paths, records
from commonplace.base.locks import LOCK_WAIT_S, locked
from commonplace.base.root import Root
from commonplace.types import Entry, Provenance
from commonplace.types.changes import Writer

if TYPE_CHECKING:
    from commonplace.types.changes import Erased
    from commonplace.types.store import Site, Targets
    from commonplace.upkeep.claims import Drained

MAX_BYTES = 64_000_000  # of everything in the folder; some 60,000 entries
KIND = "spool"
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a spool holds: entries that wait, lines set aside, and how many it refused since it was full.

    A file that is larger than a spool may be is not looked into; `oversized` says how many there are.
    """

    entries: int
    damaged: int
    refused: int
    oversized: int = 0


class Spool:
    """The spool of one workspace; safe with many threads and processes, whichever is killed when."""

    def __init__(self, workspace: paths.Workspace, *, max_bytes: int = MAX_BYTES) -> None:
        """Name the workspace; nothing is made before there is something to keep."""
        self.workspace, self.max_bytes = workspace, max_bytes

    @property
    def path(self) -> Path:
        """The file that is appended to."""
        return self.workspace.spool / "entries.jsonl"

    @property
    def aside(self) -> Path:
        """The file of lines that no entry could be read from, and of entries that no note took."""
        return self.workspace.spool / "damaged.jsonl"

    def append(self, entry: Entry) -> bool:
        """Append an entry; false if it was refused because the spool is full. Raises as `extend` does."""
        return self.extend([entry]) == 1

    def extend(self, entries: Sequence[Entry], *, timeout_s: float = LOCK_WAIT_S) -> int:
        """Append entries, as many as there is room for; return how many. The rest are counted as refused.

        Secrets and private parts are taken out; an entry that is nothing else is dropped. It outlives the
        process at once, and a power cut some seconds later. Raises NoteUnreadable, OutsideRoots, and then
        nothing was appended.
        """
        lines = [encode(clean(entry)) for entry in entries]
        self.prepare()
        with locked(paths.lock_file(self.workspace, "spool"), timeout_s):
            taken = self._fitting(lines)
            with records.translated(self.path):
                if taken:
                    append(self.workspace.files, self.path, b"".join(taken))
                self._refuse(len(lines) - len(taken))
        return len(taken)

    def drain(
        self, write: Callable[[Sequence[Entry]], object], *, wait_s: float = 0.0, batch: int = 200
    ) -> Drained:
        """Hand what waits over to `write`, entries of one day at a time, and remove it when that comes back.

        `write` is given a batch again where a process was killed before it could say that it was written, so
        it must be one that a repetition adds nothing to, such as `Memory.capture`. Of two that drain, one
        does; the other waits `wait_s` for it. What `write` raises of ours ends the work and is in the
        report, and the rest waits on; but an entry that raises ConfigError is set aside.
        """
        from commonplace.upkeep import claims

        return claims.drain(self, write, wait_s, batch)

    def waiting(self) -> Waiting:
        """Count what is here, without changing it."""
        from commonplace.upkeep import claims

        refused = 0
        files = self.workspace.files
        with suppress(OSError):
            refused = files.stat(self.refusals).st_size
        every = [self.path, *claims.claimed(self)]
        sane = [path for path in every if not claims.oversized(self, path)]
        entries = sum(claims.lines(files, p) if p == self.path else claims.left(files, p) for p in sane)
        return Waiting(entries, claims.lines(files, self.aside), refused, len(every) - len(sane))

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return not any(name.endswith(".jsonl") and name != self.aside.name for name, _ in self._files())

    @property
    def refusals(self) -> Path:
        """The file that counts what was refused, a byte each."""
        return self.workspace.spool / "refused"

    def prepare(self) -> None:
        """Make the folder, which must lie in the workspace. Raises NoteUnreadable, OutsideRoots."""
        folder, files = self.workspace.spool, self.workspace.files
        if files.is_folder(folder):
            return
        paths.prepare_derived(self.workspace, folder)
        with records.translated(folder):
            files.make_folder(folder)

    def _files(self) -> Iterator[tuple[str, int]]:
        with (
            suppress(OSError),
            self.workspace.files.listed(self.workspace.spool) as folder,
            os.scandir(folder) as entries,
        ):
            for entry in entries:
                with suppress(OSError):
                    yield entry.name, entry.stat(follow_symlinks=False).st_size

    def _fitting(self, lines: Sequence[bytes]) -> list[bytes]:
        room = self.max_bytes - sum(size for _, size in self._files())
        taken: list[bytes] = []
        for line in lines:
            room -= len(line)
            if room < 0:
                break
            taken.append(line)
        return taken

    def _refuse(self, count: int) -> None:
        if count:
            append(self.workspace.files, self.refusals, b"." * count, whole_lines=False)


def hold(workspace: paths.Workspace) -> AbstractContextManager[None]:
    """Keep entries from being written into notes. Raises NoteUnreadable."""
    is_there = workspace.files.is_folder(workspace.spool)
    return locked(paths.lock_file(workspace, "drain")) if is_there else nullcontext()


def sweep(site: Site, targets: Targets, *, change: bool, among: Set[str] | None = None) -> list[Erased]:
    """Name the entries that hold any of it, whoever has claimed them.

    To `change` it is blanked in them, with `among` in these alone; called within `hold`.
    """
    from commonplace.types.changes import Erased

    files, folder = site.workspace.files, site.workspace.spool

    def cleaned(line: bytes) -> bytes:
        if among is not None and line.decode("utf-8", "replace") not in among:
            return line
        return without(line, targets)

    erased: list[Erased] = []
    change = change and bool(records.listed(files, folder, ".jsonl"))
    with locked(paths.lock_file(site.workspace, "spool")) if change else nullcontext():
        for path in records.listed(files, folder, ".jsonl"):
            dirty = records.clean_lines(files, path, cleaned, change=change)
            erased += [Erased("spool", site.shown(path), n, n, line) for n, line in dirty]
    return erased


def without(raw: bytes, targets: Targets) -> bytes:
    """Return a line without what is forgotten, of the same length: claims count its bytes.

    An entry of a forgotten session, about a person, or with nothing else to say becomes blank. One that was
    signed is signed again.
    """
    from commonplace.transcripts import ours

    body = raw.rstrip(b"\r\n")
    blank, end = b" " * len(body), raw[len(body) :]
    signed, value = True, None
    try:
        value = records.unseal(KIND, body)
    except ValueError:
        signed = False
        with suppress(ValueError, RecursionError):
            value = json.loads(body)
    if not isinstance(value, dict):
        return blank + end if targets.matches(body.decode("utf-8", "replace")) else raw
    by = value.get("provenance")
    if isinstance(by, dict) and by.get("session") in targets.session_names:
        return blank + end
    text = json.dumps(value, ensure_ascii=False)
    if not targets.matches(text):
        return raw
    if targets.takes_whole(text):
        return blank + end
    rest = targets.cut(str(value.get("text", "")))
    value = {name: targets.clean(one) for name, one in value.items()} | {"text": rest}
    if signed:
        after = records.seal(KIND, value).rstrip()
    else:
        after = min(json.dumps(value).encode(), ours.encoded(value), key=len)
    if not any(map(str.isalnum, rest)) or len(after) > len(body):
        return blank + end
    return after.ljust(len(body)) + end


def clean(entry: Entry) -> Entry:
    """Return an entry as a note may hold it: no private parts, no secrets, no characters that are none."""
    from dataclasses import replace

    from commonplace.redaction.redact import redact, strip_private

    def cleaned(text: str) -> str:
        text = text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
        return redact(strip_private(text))[0]

    return replace(entry, text=cleaned(entry.text), heading=cleaned(entry.heading))


def encode(entry: Entry) -> bytes:
    """Return an entry as one line of JSON, signed."""
    data: dict[str, Any] = {"at": entry.at.isoformat(), "text": entry.text}
    if entry.heading:
        data["heading"] = entry.heading
    if entry.provenance is not None:
        by = entry.provenance
        data["provenance"] = {"by": by.by, "agent": by.agent, "session": by.session, "at": by.at}
    return records.seal(KIND, data)


def decode(line: bytes) -> Entry:
    """Return the entry of a line. Raises ValueError for a cut or damaged one, `Unsigned` if not ours."""
    data = records.unseal(KIND, line)
    if not isinstance(data.get("text"), str):
        raise ValueError("no entry")
    at, heading, by = data.get("at"), data.get("heading", ""), data.get("provenance")
    if not isinstance(at, str) or not isinstance(heading, str):
        raise ValueError("no entry")
    provenance = None
    if isinstance(by, dict):
        fields = {name: str(by.get(name, "")) for name in ("agent", "session", "at")}
        writers = {name: name for name in get_args(Writer)}
        provenance = Provenance(writers.get(by.get("by"), "untrusted"), **fields)  # whoever is not known
    return Entry(data["text"], datetime.fromisoformat(at), heading, provenance)


def append(root: Root, path: Path, data: bytes, *, whole_lines: bool = True) -> None:
    """Append bytes to a file, all or none; behind a cut line they begin a new one. Raises OSError."""
    descriptor = root.descriptor(path, _APPEND)
    try:
        end = os.lseek(descriptor, 0, os.SEEK_END)
        if whole_lines and end:
            os.lseek(descriptor, -1, os.SEEK_END)
            if os.read(descriptor, 1) != b"\n":
                data = b"\n" + data
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except OSError:
            os.ftruncate(descriptor, end)  # a full disk: who appends keeps them, and tries again
            raise
    finally:
        os.close(descriptor)
