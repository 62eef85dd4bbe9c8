"""Records are ours or they are data: what makes the program act carries the signature of its user's key.

A folder of notes may come from somebody else, with a `.commonplace/` in it that says what was begun, what is
to be forgotten and what waits to be written. A record is a JSON object with a member `signature` over its
kind and all the rest. One without it, or with another, is never acted upon: the next writer moves it,
as it is, to the same path below `.commonplace/foreign/`, and says so; `commonplace trust` signs it and moves
it back. What the user's other machines have signed is known where their keys are. A record that is replayed
in another folder of the same user is not recognised.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from commonplace.base import paths, remedies, signature
from commonplace.base.digests import sha256
from commonplace.base.errors import NoteUnreadable
from commonplace.base.expressions import lazy
from commonplace.base.root import LIMIT, Root, TooLarge, Unsafe
from commonplace.base.tuples import NamedTuple

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any, Literal

    Treatment = Literal["signed", "own", "lines", "bound", "data", "database", "lock"]

FOREIGN_FOLDER = "foreign"
MEMBER = "signature"
UNSIGNED = "was not written by your commonplace, or by an earlier version of it"
SHARE = "if another machine of yours wrote it, add the line of its signing.key to the one here"
_LINE = lazy(rb"[^\n]*\n|[^\n]+\Z")
_LARGE = 1 << 30  # bytes of a transcript, which grows for months
_ZLIB = b"x\x01", b"x\x9c"  # how bytes begin that we have compressed, the faster and the usual way
_AGAIN = lazy(r"~\d+\Z")  # what ends a name that was set aside before


class Place(NamedTuple):
    """A kind of file below `.commonplace/`, how it is treated, and who forgets what it says.

    `pattern` matches its whole path. `signed` is a record, `own` one that is passed over and
    written anew where it is not ours, `lines` a file with a record on each line, `bound`
    a file whose digest stands in a record. `data` makes the program do nothing, a `database` is opened
    hardened, a `lock` is only held. `store` is the name in `edit.forget.stores` of the store that it belongs
    to, empty for a file with no words of notes, questions or conversations in it: it is scanned all the same.
    """

    kind: str
    pattern: str
    treatment: Treatment
    store: str = ""


PLACES = (
    Place("history", r"history/[^/]+/run\.json", "signed", "history"),
    Place("history", r"history/[^/]+/\d+\.(?:z|before|after)", "bound", "history"),
    Place("erasing", r"erasing/[^/]+\.json", "signed", "intents"),
    Place("spool", r"spool/(?:entries|claimed-[^/]+)\.jsonl", "lines", "spool"),
    Place("claim", r"spool/claimed-[^/]+\.done", "signed"),  # how many bytes are written
    Place("spool", r"spool/damaged\.jsonl", "data", "spool"),
    Place("spool", r"spool/refused", "data"),  # a byte for each entry
    Place("pending", r"pending/[^/]+\.json", "signed", "pending"),
    Place("injected", r"injected/[^/]+\.json", "signed", "injected"),
    Place("observing", r"observing/[^/]+\.json", "signed", "observing"),
    Place("consolidated", r"consolidated\.json", "signed"),  # when, and how many
    Place("imports", r"imports\.json", "signed"),  # hashes of what was imported
    Place("batches", r"batches\.json", "signed"),  # hashes; the provider has the texts (`residue`)
    Place("request", r"requests/[^/]+\.json", "signed", "requests"),
    Place("writes", r"writes/[^/]+\.json", "own", "copies"),
    Place("writes", r"writes/[^/]+\.(?:kept|z)", "bound", "copies"),
    Place("overwritten", r"overwritten/[^/]+", "data", "copies"),
    Place("log", r"(?:schedule|server)\.log", "data", "logs"),
    Place("redaction", r"redaction", "data"),  # a digest
    Place("usage", r"usage\.(?:missed|late)", "data"),  # a byte for each question
    Place("database", r"index\.sqlite(?:-wal|-shm|-journal)?", "database", "index"),
    Place("database", r"ledger\.sqlite(?:-wal|-shm|-journal)?", "database"),  # names of models, and counts
    Place("database", r"usage\.sqlite(?:-wal|-shm|-journal)?", "database", "usage"),
    Place("lock", r"(?:locks|pending)/[^/]+\.(?:lock|queue)", "lock"),
    Place("ignore", r"\.gitignore", "data"),
    Place("foreign", rf"{FOREIGN_FOLDER}/.*", "data", "leftovers"),
)


class Foreign(NoteUnreadable):
    """A record that is not this user's; nothing that it says is done."""

    def __init__(self, path: str, reason: str = UNSIGNED) -> None:
        super().__init__(path, f"{reason}; {remedies.say('trust')}")


class Unsigned(ValueError):
    """A JSON object without the signature of this user."""


def place_of(name: str) -> Place | None:
    """Return what a file is by its path below `.commonplace/`; None for one that is not ours."""
    return next((place for place in PLACES if re.fullmatch(place.pattern, name, re.DOTALL)), None)


# --- one record -----------------------------------------------------------------------------------------


def seal(kind: str, value: Mapping[str, Any], *, indent: int | None = None) -> bytes:
    """Return a record as JSON with its signature, on one line unless it is indented; it ends with a break."""
    if not paths.keeps_key():
        say(paths.keyless())
    signed = {**value, MEMBER: signature.sign(paths.signing_key(), kind, _canonical(value))}
    return json.dumps(signed, indent=indent).encode() + b"\n"


def unseal(kind: str, data: bytes) -> dict[str, Any]:
    """Return what a record says. Raises `Unsigned`, and ValueError for bytes that are no JSON object."""
    value = _parsed(data)
    mark = value.pop(MEMBER, "")
    if not _is_known(kind, value, mark):
        raise Unsigned(UNSIGNED)
    return value


def _canonical(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def read(root: Root, path: Path, kind: str, *, limit: int = LIMIT) -> dict[str, Any]:
    """Return what the record in a file says.

    Raises `Foreign` for one that is not ours, as a link, a fifo or a file that is too large is not;
    ValueError for a damaged one, OSError for one that is missing or cannot be read.
    """
    try:
        return unseal(kind, root.read(path, limit=limit))
    except Unsafe as error:
        raise Foreign(paths.shown(path), f"is {paths.reason(error)}") from error
    except TooLarge as error:
        raise Foreign(paths.shown(path), f"is {paths.reason(error)}") from error
    except Unsigned as error:
        raise Foreign(paths.shown(path)) from error


def update(
    root: Root,
    path: Path,
    kind: str,
    change: Callable[[dict[str, Any] | None], Mapping[str, Any]],
    *,
    limit: int = LIMIT,
) -> None:
    """Replace a record by what `change` makes of it, under a lock that the caller holds and all writers take.

    `change` is given None where there is none, or a foreign one, which is set aside. Raises
    NoteUnreadable, with the old record in place.
    """
    known = None
    with translated(path):
        with suppress(FileNotFoundError, ValueError):
            try:
                known = read(root, path, kind, limit=limit)
            except Foreign as error:
                set_aside(root, path, error.reason)
        root.exchange(path, seal(kind, change(known)), alone=True)


@contextmanager
def translated(path: Path | str) -> Iterator[None]:
    """Turn the system's errors with a file into NoteUnreadable, with what helps against a link."""
    try:
        yield
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), trouble(error, path)) from error


def trouble(error: OSError, path: Path | str) -> str:
    """Return what is wrong with a file, and what helps where it is closed, or is a link or the like."""
    if isinstance(error, PermissionError) and (place := paths.barrier(Path(path).parent)):
        told, remedy = paths.barred(place)
        return f"{paths.shown(place)} {told}; {remedy}"
    special = isinstance(error, Unsafe | TooLarge) and paths.DERIVED_FOLDER in Path(error.filename).parts
    return f"{paths.reason(error)}{f'; remove {paths.shown(error.filename)}' if special else ''}"


def listed(root: Root, folder: Path, ending: str = "") -> list[Path]:
    """Return the files of a folder, links left out. Raises NoteUnreadable where the folder is a link."""
    try:
        names = root.names(folder)
    except (Unsafe, PermissionError) as error:
        raise NoteUnreadable(paths.shown(folder), trouble(error, folder)) from error
    except OSError:
        return []
    return [folder / name for name in names if name.endswith(ending) and root.is_file(folder / name)]


def of_session(folder: Path, session: str) -> Path:
    """Return the record of a session in a folder that has one a session; its name is a hash."""
    stem = sha256(session.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return folder / f"{stem}.json"


def drop_old(root: Root, folder: Path, kept_s: float) -> None:
    """Delete the files of a folder that nobody wrote to for so many seconds, as far as they can be."""
    oldest = time.time() - kept_s
    with suppress(OSError):
        for name in root.names(folder):
            with suppress(OSError):
                if root.stat(folder / name).st_mtime < oldest:
                    root.unlink(folder / name)


def load(root: Root, path: Path) -> bytes:
    """Return the bytes of a file that may be large, unpacked; none of one that is gone by now."""
    with translated(path), suppress(FileNotFoundError):
        return unpacked(root.read(path, limit=_LARGE))
    return b""


def unpacked(data: bytes) -> bytes:
    """Return what zlib has compressed, up to the size of two notes; other bytes as they are."""
    if data.startswith(_ZLIB):
        import zlib

        with suppress(zlib.error):
            return zlib.decompressobj().decompress(data, 2 * LIMIT + 64)
    return data


def remove(root: Root, path: Path) -> None:
    """Remove a file for good. Raises NoteUnreadable."""
    with translated(path):
        root.unlink(path, missing_ok=True)
    root.sync(path.parent)


def lines(data: bytes) -> list[bytes]:
    """Take a file apart at its line feeds; joined, the lines are the file again."""
    return _LINE.findall(data)


def clean_lines(
    root: Root, path: Path, clean: Callable[[bytes], bytes], *, change: bool
) -> list[tuple[int, str]]:
    """Return the lines of a file that `clean` changes, by their numbers; with `change` put them in place."""
    data = load(root, path)
    before = lines(data)
    after = list(map(clean, before))
    pairs = enumerate(zip(before, after, strict=True), 1)
    dirty = [(n, line.decode("utf-8", "replace")) for n, (line, cleaned) in pairs if line != cleaned]
    if dirty and change:
        if load(root, path) != data:
            raise NoteUnreadable(os.path.relpath(path, root.path), "was changed meanwhile; try again")
        with translated(path):
            root.exchange(path, b"".join(after), alone=True)
    return dirty


# --- what is not ours -----------------------------------------------------------------------------------


def set_aside(root: Root, path: Path, reason: str = UNSIGNED) -> None:
    """Move what is not our record to the same place below `foreign/`, unread, and say so once.

    A link is moved itself. What cannot be moved stays: nothing acts upon it there either. Outside of
    `.commonplace/`, in a folder of the user's own, nothing is done.
    """
    try:
        name = path.relative_to(Path(root.path, paths.DERIVED_FOLDER)).as_posix()
    except ValueError:
        return
    if not paths.keeps_key():  # it may well be ours
        say(paths.keyless())
        return
    target = free(root, f"{FOREIGN_FOLDER}/{name}")
    shown = paths.shown(f"{paths.DERIVED_FOLDER}/{name}")
    why = reason.removesuffix(f"; {remedies.say('trust')}")
    try:
        root.rename(path, f"{paths.DERIVED_FOLDER}/{target}")
    except FileNotFoundError:
        return
    except OSError as error:
        say(
            f"{shown} {why}; nothing in it is done, but it cannot be set aside ({trouble(error, path)})", root
        )
    else:
        aside = f"set aside below {paths.DERIVED_FOLDER}/{FOREIGN_FOLDER}, {remedies.say('trust')}"
        say(f"{shown} {why}; {aside}; {SHARE}", root)


def set_unsigned_aside(root: Root) -> None:
    """Set every record aside that is not ours and stands where ours do; lines of a spool are its drain's."""
    for name in unsigned(root):
        set_aside(root, Path(root.absolute(f"{paths.DERIVED_FOLDER}/{name}")))


def say(message: str, root: Root | None = None) -> None:
    """Warn once in the life of the process for each message (about a root)."""
    about = (root.path if root else "", message)
    if about not in _said:
        import logging

        _said.add(about)
        logging.getLogger("commonplace.records").warning("commonplace: warning: %s", message)


_said: set[tuple[str, str]] = set()


def free(root: Root, name: str) -> str:
    """Return a name below `.commonplace/` that nothing has yet, made of this one."""
    place, count = name, 0
    with suppress(OSError):
        while root.stat(f"{paths.DERIVED_FOLDER}/{place}"):
            count += 1
            place = f"{name}~{count}"
    return place


def foreign(root: Root) -> list[str]:
    """Return what was set aside, by its path below `foreign/`; a run is one, with all its files."""
    return [name for name in _walk(root, FOREIGN_FOLDER) if name]


def unsigned(root: Root) -> list[str]:
    """Return the records that are not ours and stand where ours do, by their paths below `.commonplace/`."""
    found = []
    for name in _walk(root, ""):
        at = _record(root, name)
        place = place_of(at)
        if place is not None and place.treatment == "signed":
            with suppress(OSError, ValueError):
                try:
                    read(root, Path(root.absolute(f"{paths.DERIVED_FOLDER}/{at}")), place.kind)
                except Foreign:
                    found.append(name)
    return found


class Aside(NamedTuple):
    """A record that was set aside, as it was read: where it stood, its bytes, what would be signed of it."""

    name: str  # below `foreign/`
    own: str  # the path below `.commonplace/` where it stood
    kind: str
    data: bytes
    values: tuple[dict[str, Any], ...]  # one record, or one for each line
    is_signed: bool = False  # by a key that is known by now

    @property
    def is_run(self) -> bool:
        """Whether it is a folder with further files, which its record names by their digests."""
        return self.own.endswith("/run.json")


def inspect(root: Root, name: str) -> Aside:
    """Read what was set aside under a name. Raises NoteUnreadable for what is no record, or is damaged."""
    source = f"{FOREIGN_FOLDER}/{name}"
    own = _record(root, _AGAIN.sub("", name), source)
    shown = paths.shown(f"{paths.DERIVED_FOLDER}/{source}")
    place = place_of(own)
    if place is None or place.treatment not in ("signed", "lines"):
        raise NoteUnreadable(shown, "is no record of commonplace; delete it")
    with translated(shown):
        data = root.read(f"{paths.DERIVED_FOLDER}/{_record(root, source)}")
    try:
        lines = data.splitlines() if place.treatment == "lines" else [data]
        read = [_parsed(line) for line in lines if line.strip()]
    except ValueError as error:
        raise NoteUnreadable(shown, "is damaged; delete it") from error
    marks = [value.pop(MEMBER, "") for value in read]
    signed = all(_is_known(place.kind, value, mark) for value, mark in zip(read, marks, strict=True))
    return Aside(name, own, place.kind, data, tuple(read), signed)


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data.decode("utf-8", "surrogatepass"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("no JSON object")
    return value


def _is_known(kind: str, value: Mapping[str, Any], mark: object) -> bool:
    return signature.verify(paths.known_keys(), kind, _canonical(value), mark)


def adopt(root: Root, aside: Aside) -> None:
    """Sign what `inspect` read, and nothing else, and move it back to where it stood.

    Raises NoteUnreadable where it is another by now, and where another has its place.
    """
    source = f"{FOREIGN_FOLDER}/{aside.name}"
    own = _AGAIN.sub("", aside.name)
    shown = paths.shown(f"{paths.DERIVED_FOLDER}/{source}")
    if free(root, own) != own:
        raise NoteUnreadable(shown, f"{paths.DERIVED_FOLDER}/{paths.shown(own)} is there; remove one of them")
    with translated(shown):
        at = f"{paths.DERIVED_FOLDER}/{_record(root, source)}"
        if root.read(at) != aside.data:
            raise NoteUnreadable(shown, "was changed after it was shown; look again")
        root.exchange(at, b"".join(seal(aside.kind, value) for value in aside.values), alone=True)
        root.rename(f"{paths.DERIVED_FOLDER}/{source}", f"{paths.DERIVED_FOLDER}/{own}")
        root.sync(os.path.dirname(f"{paths.DERIVED_FOLDER}/{own}"))


def _walk(root: Root, base: str) -> Iterator[str]:
    """The paths of records below a folder: files there and one level down, and the folders of runs."""
    top = f"{paths.DERIVED_FOLDER}/{base}" if base else paths.DERIVED_FOLDER
    for name in _names(root, top):
        if name == FOREIGN_FOLDER and not base:
            continue
        if root.is_folder(f"{top}/{name}"):
            yield from (f"{name}/{inner}" for inner in _names(root, f"{top}/{name}"))
        else:
            yield name


def _record(root: Root, name: str, source: str = "") -> str:
    """The file that holds the record of a name: of a run, the one in its folder."""
    inside = root.is_folder(f"{paths.DERIVED_FOLDER}/{source or name}")
    return f"{name}/run.json" if inside else name


def _names(root: Root, path: str) -> Sequence[str]:
    try:
        return root.names(path)
    except OSError:
        return ()
