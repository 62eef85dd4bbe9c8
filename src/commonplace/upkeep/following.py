"""Transcripts of this workspace and of other programs: followed where they lie, listed, read."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from commonplace import config
from commonplace.base import paths, remedies
from commonplace.base.errors import (
    ConfigError,
    IndexUnavailable,
    NoteNotFound,
    NoteUnreadable,
    UnknownCollection,
)
from commonplace.base.messages import message
from commonplace.base.root import Root, open_named
from commonplace.config.collections import collection_name
from commonplace.config.settings import AUTO, WORKSPACE_COLLECTION, Collection
from commonplace.config.settings import TRANSCRIPTS as TRANSCRIPT_FORMATS
from commonplace.memory import Memory, sources
from commonplace.notes.scan import OWN_SESSIONS, TRANSCRIPTS, CollectionFiles, FileState, scan, written_as
from commonplace.notes.scan import transcript_name as name_of
from commonplace.transcripts import formats
from commonplace.transcripts.content import Damaged as Damaged
from commonplace.transcripts.content import parsed as parsed
from commonplace.transcripts.formats import Damage as Damage
from commonplace.transcripts.formats import MessageLine as MessageLine
from commonplace.transcripts.rendering import cleaned

if TYPE_CHECKING:
    from commonplace.types import NoteInfo

GLOBS = ("**/*.jsonl",)  # files that are followed in a folder; the format of others is unknown
_WILD = dict.fromkeys(map(ord, "*?[]"), "?")


@dataclass(frozen=True, slots=True)
class Session:
    """A transcript: its id for commands, whose it is, when it was last written to (seconds), its bytes.

    Of several conversations in one file each is a session, whose id ends with `#` and its `number`. Title,
    day and turns are known once the file is indexed.
    """

    id: str
    collection: str
    format: str
    written: float
    size: int
    title: str = ""
    day: str = ""
    turns: int = 0
    number: int = 0

    JSON: ClassVar = "id collection format written size title day turns"

    @property
    def file(self) -> str:
        """The id of all conversations of its file."""
        return self.id.removesuffix(f"#{self.number}")


def follow(root: Path, path: str, *, name: str = "", kind: str = AUTO) -> Collection:
    """Follow the transcripts of a folder, or one file, as a collection; they are not copied.

    Without a name the collection is called as the folder or the file is. Raises ConfigError where there is
    no such file, no transcript that can be read, or the name is taken.
    """
    if not kind:
        raise ConfigError("format", f"it must be one of {', '.join((AUTO, *TRANSCRIPT_FORMATS))}")
    full = Path(os.path.expanduser(path))
    if not full.exists():
        raise ConfigError("path", paths.no_file(path))
    folder, globs = (full, GLOBS) if full.is_dir() else (full.parent, (full.name.translate(_WILD),))
    if full.is_file() and not written_as(full.name).lower().endswith(TRANSCRIPTS):
        raise ConfigError("path", f"{paths.shown(path)} ends in none of {', '.join(TRANSCRIPTS)}")
    _check_known(CollectionFiles("", os.path.realpath(folder), globs, (), kind), path)
    chosen = name or collection_name(full) or "sessions"
    return config.add_collection(root, chosen, str(folder), glob=globs, format=kind)


def unfollow(root: Path, name: str) -> Collection:
    """Follow a collection's transcripts no longer; they are not touched. Raises UnknownCollection."""
    followed = [key for key, collection in config.load(root).collections.items() if collection.format]
    if name not in followed:
        raise UnknownCollection(name, sorted(followed))
    return config.remove_collection(root, name)


def sessions(memory: Memory) -> list[Session]:
    """Return the workspace's own transcripts and those that are followed, that written to last first."""
    own = CollectionFiles(WORKSPACE_COLLECTION, str(memory.workspace.root), (OWN_SESSIONS,), (), AUTO)
    followed = [source for source in sources(memory) if source.format and source.name != own.name]
    indexed: dict[str, list[NoteInfo]] = {}
    with suppress(IndexUnavailable):  # the files are listed anyway
        for note in memory.notes():
            indexed.setdefault(note.file, []).append(note)
    transcripts = [
        one
        for state in scan([own, *followed])
        if state.format
        for one in _sessions(state, indexed.get(state.shown, []))
    ]
    return sorted(transcripts, key=lambda session: (-session.written, session.id))


def read(memory: Memory, session: str, last: int | None = None) -> list[MessageLine]:
    """Return the messages of a session, the last few or all, with their lines; private parts left out.

    A session is named as the list names it, or by the end of that, such as the name of its file without
    folders; a file names all of its conversations. Raises NoteNotFound, with near misses, and NoteUnreadable.
    """
    listed = sessions(memory)
    known = {one.file: replace(one, id=one.file, number=0) for one in listed} | {
        one.id: one for one in listed
    }
    found = known.get(session) or _by_end(known, session)
    source = next(source for source in sources(memory) if source.name == found.collection)
    is_ours = found.collection == WORKSPACE_COLLECTION
    inner = found.file if is_ours else found.file.removeprefix(f"{found.collection}/")
    paths.contain(Path(source.root, inner), [Path(source.root)])
    try:
        with Root(source.root).open(inner, links=True) as opened:
            places = deque(formats.turns(opened, inner, found.format, number=found.number), maxlen=last)
    except OSError as error:
        raise NoteUnreadable(paths.shown(session), paths.reason(error)) from error
    return [place._replace(turn=cleaned(place.turn)) for place in places]


def format_of(place: Path) -> str:
    """Return the format of a file, by its beginning; empty if it is not a transcript."""
    source = CollectionFiles("", os.path.realpath(place.parent), (place.name.translate(_WILD),), (), AUTO)
    states = (state for state in scan([source]) if state.format and state.path == place.name)
    return next(map(_told, states), "")


def calls(place: Path, tool: str, damage: Damage) -> Iterator[tuple[str, str]]:
    """Yield time and arguments of each call of a tool in a file's conversations. Raises NoteUnreadable.

    Unreadable parts of the conversations are recorded in `damage`.
    """
    with _opened(place) as file:
        for _, turn in formats.turns(file, place.name, AUTO, damage):
            yield from ((turn.at, call.arguments) for call in turn.calls if call.name == tool)


def elements(place: Path, keys: Sequence[str]) -> Iterator[object]:
    """Yield the elements of a JSON list in a file, or of the lists under some keys of an object.

    `Damaged` stands for what of it cannot be read. Raises NoteUnreadable for what is too large, and a file
    that cannot be opened.
    """
    with _opened(place) as file:
        yield from formats.elements(file, place.name, keys)


def beside(place: Path, names: Sequence[str]) -> bytes:
    """Return the first of some files that lies in the folder of one, or in its archive; empty if missing.

    Raises NoteUnreadable for one that is damaged or too large.
    """
    if place.suffix.lower() == ".zip":
        with _opened(place) as file:
            return formats.member(file, place.name, names)
    for name in names:
        with suppress(FileNotFoundError):
            try:
                return Root(place.parent).read(name)
            except FileNotFoundError:
                raise
            except OSError as error:
                raise NoteUnreadable(paths.shown(place.with_name(name)), paths.reason(error)) from error
    return b""


@contextmanager
def _opened(place: Path) -> Iterator[BufferedReader]:
    try:
        with open_named(place) as file:
            yield file
    except OSError as error:
        raise NoteUnreadable(paths.shown(place), paths.reason(error)) from error


def _sessions(state: FileState, indexed: Sequence[NoteInfo]) -> Iterator[Session]:
    """The sessions in a file, as the index knows them; the file alone where it does not."""
    whole = Session(state.shown, state.collection, _told(state), state.mtime_ns / 1e9, state.size)
    for note in indexed:
        yield replace(
            whole, id=note.path, written=note.written or whole.written, size=note.size, title=note.title,
            day=note.date or "", turns=note.turns, number=note.number,
        )  # fmt: skip
    if not indexed:
        yield whole


def _told(state: FileState) -> str:
    """Return the format of a file: as the owner set it, else by its beginning; empty if unknown."""
    if state.format != AUTO:
        return state.format
    try:
        with state.open() as file:
            return formats.format_of(file, state.path)
    except OSError:
        return ""


def _check_known(source: CollectionFiles, path: str) -> None:
    """Raise ConfigError for a place that has files, but not a single readable transcript."""
    states = [state for state in scan([source]) if state.format]
    if states and not any(_told(state) for state in states):
        known = ", ".join(title for title, _ in TRANSCRIPT_FORMATS.values())
        raise ConfigError("path", f"nothing in {paths.shown(path)} is a transcript of {known}")


def _by_end(known: Mapping[str, Session], session: str) -> Session:
    """The one session whose id ends so, with or without the ending of its file; or ended so before."""
    ends = {session, f"{session}.jsonl"}
    matches = [known[name] for name in known if any(name.endswith(f"/{end}") for end in ends)]
    if not matches:
        names = {name_of(end) for end in ends}
        matches = [one for name, one in known.items() if name_of(name) in names]
    if len(matches) == 1:
        return matches[0]
    from difflib import get_close_matches

    near = [match.id for match in matches[:5]] or get_close_matches(session, known, 3)
    reason = message("session.several", "several sessions end so")
    if not matches:
        reason = message("session.unknown", "no such session")
        if not near:
            reason = message("session.none", "no such session; {all}", all=remedies.say("sessions"))
    raise NoteNotFound(paths.shown(session), near, reason)
