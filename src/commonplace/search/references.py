"""Notes by their names: references as hits show them, notes listed, chosen by glob, read several at once."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from posixpath import basename, dirname, join, normpath

from commonplace.base import paths, remedies
from commonplace.base.errors import NO_NOTE, CommonplaceError, NoteNotFound
from commonplace.base.messages import message
from commonplace.base.root import is_hidden
from commonplace.index import facts
from commonplace.index.base import DOCID, Index, Key
from commonplace.index.store import Store
from commonplace.language import caseless, composed
from commonplace.notes.scan import CollectionFiles, Globs, transcript_name, walked
from commonplace.notes.scan import shown as shown

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.markdown.references import Reference
    from commonplace.markdown.wiki import Link
    from commonplace.types import Excerpt, Gathered, NoteInfo

_WILD = frozenset("*?[{")
_DAY = re.compile(r"^\d{4}-\d\d-\d\d-")
_NEAR = 0.75  # of 1: how much of a word of a name and of what was written for it is the same
_SHORT = 2  # ASCII letters that are too few for a part of a name
_COMMA = r",(?![^{}]*\})"  # outside of braces


def source_of(store: Store, path: str) -> tuple[CollectionFiles, str]:
    """Return the collection and the path in it of a path as it is shown.

    Of a file of the workspace and one of a collection, the one that is indexed; the workspace's, if both are.
    """
    own, *further = store.sources
    head, _, rest = path.partition("/")
    source = next((source for source in further if source.name == head), None)
    if not rest or source is None:
        return own, path
    is_own = os.path.lexists(os.path.join(own.root, path))
    is_indexed = source.covers(rest) and os.path.lexists(os.path.join(source.root, rest))
    return (own, path) if is_own and (own.covers(path) or not is_indexed) else (source, rest)


def key_of(store: Store, path: str) -> Key:
    """Return the same as the index names it."""
    source, inner = source_of(store, path)
    return source.name, inner


def find(store: Store, reference: Reference) -> tuple[str, str]:
    """Return the shown path and the absolute one of the note that a reference names.

    The file may lie outside the roots: its reader checks that. A docid names the first of several
    notes with one content; with several contents it is ambiguous. Raises NoteNotFound, with near misses.
    """
    if reference.docid:
        store.freshen()
        notes = store.index.notes(docids=[reference.docid])
        if not notes or len({note.hash for note in notes}) > 1:
            names = [shown(note.collection, note.path) for note in notes[:5]]
            raise NoteNotFound(f"#{reference.docid}", names, "several notes have it" if notes else NO_NOTE)
        collection, path = notes[0].collection, notes[0].path
        source = next(source for source in store.sources if source.name == collection)
        return shown(collection, path), os.path.join(source.root, path)
    source, path = source_of(store, reference.path)
    path = as_written(source.root, path)
    if not os.path.lexists(os.path.join(source.root, path)):
        if source is not store.sources[0]:
            path = _later(store, source.name, path)
        elif ".." not in path.split("/") and not os.path.isabs(path):
            raise _missing(store, path)
    return shown(source.name, path), os.path.join(source.root, path)


def _later(store: Store, collection: str, path: str) -> str:
    """Where a transcript lies by now that its program renamed, compressed or moved; the path for others."""
    name = transcript_name(path)
    files = (state for state in store.scan() if state.collection == collection and state.format)
    return max((state.path for state in files if transcript_name(state.path) == name), default=path)


def as_written(root: str, path: str) -> str:
    """Return a path below a folder as its names are written there, which may be in NFD."""
    parts = path.split("/")
    if path.isascii() or os.path.lexists(os.path.join(root, path)) or ".." in parts or os.path.isabs(path):
        return path
    written: list[str] = []
    for part in parts:
        with suppress(OSError):
            names = os.listdir(os.path.join(root, *written))
            part = next((name for name in names if name == part or composed(name) == composed(part)), part)
        written.append(part)
    return "/".join(written)


def pictures(store: Store, note: str, name: str) -> Iterator[str]:
    """Yield files that a note may mean by a picture's name: from its folder, from the root, then anywhere.

    Hidden ones are left out. Whoever reads one checks that it lies inside the roots.
    """
    from urllib.parse import unquote

    source, path = source_of(store, note)
    names = dict.fromkeys((name, unquote(name)))
    for place in [*(join(dirname(path), one) for one in names), *(one.lstrip("/") for one in names)]:
        place = normpath(place)
        if not (place.startswith(("/", "..")) or is_hidden(place)):
            yield os.path.join(source.root, as_written(source.root, place))
    ends = tuple(f"/{caseless(normpath(one)).lstrip('/')}" for one in names)
    found = [one for one in walked(source.root) if caseless(f"/{one}").endswith(ends)]
    yield from (
        os.path.join(source.root, one) for one in sorted(found, key=lambda one: (one.count("/"), one))
    )


def resolve(store: Store, text: str) -> tuple[Reference, str, str]:
    """Return the reference that a text is, the place that a link names in the note, and the note's real path.

    `[[Note#Heading]]` and `Note#Heading` name a note as links of a wiki do; a text that is no path may also
    be a part of a note's name. Raises NoteNotFound as `find`.
    """
    from commonplace.markdown import references, wiki

    wanted, missing = references.Reference(), NoteNotFound(text)
    by_part = (link := wiki.link(text)) is None
    if link is None:
        wanted = references.parse_reference(text)
        name, _, place = wanted.path.partition("#")
        try:
            path, absolute = find(store, wanted)
            if not (name and place) or os.path.lexists(absolute):
                return replace(wanted, path=path), "", absolute
        except NoteNotFound as error:
            if not name:
                raise
            missing = error
        link = wiki.Link(name, place)
    try:
        wanted = replace(wanted, path=linked(store, link, by_part=by_part and not link.place))
        return wanted, link.place, find(store, wanted)[1]
    except NoteNotFound as error:
        raise (error if error.suggestions or not by_part else missing) from None


def linked(store: Store, link: Link, *, by_part: bool = False) -> str:
    """Return the shown path of the note that a link names: by its path or the end of it, an alias, its title.

    Of several the one with the shortest path. With `by_part` the file's name without its day will do, or a
    part of name or title that begins a word, where one note alone fits. Raises NoteNotFound if it is
    missing or ambiguous.
    """
    store.freshen()
    rows = {shown(row.collection, row.path): row for row in store.index.notes()}
    name = caseless(link.name.removeprefix("./").strip("/"))
    file = name if name.endswith(".md") else f"{name}.md"
    found = [path for path in rows if f"/{caseless(path)}".endswith((f"/{file}", f"/{name}"))]
    if not found:
        called = {(one.collection, one.path): one.metadata for one in facts.facts(store.index)}
        found = [
            path
            for path, row in rows.items()
            if name in _aliases(called.get((row.collection, row.path), {})) or caseless(row.title) == name
        ]
    names = {path: _spaced(f"{basename(path)}\n{row.title}") for path, row in rows.items()}
    part = re.escape(_spaced(name))
    for form in (rf"(?m)^(?:\d{{4}} \d\d \d\d )?{part}$", rf"(?<![a-z\d]){part}"):
        if by_part and not found and (len(name) > _SHORT or not name.isascii()):
            found = [path for path, text in names.items() if re.search(form, text)]
    found.sort(key=lambda path: (path.count("/"), path))
    fitting = [path for path in found if by_part or path.count("/") == found[0].count("/")]
    if len(fitting) != 1:
        told = message("note.several", "several notes are called so") if fitting else NO_NOTE
        raise NoteNotFound(paths.shown(link.name), fitting[:5] or near(file, rows, names), told)
    return fitting[0]


def _spaced(text: str) -> str:
    """Return a name in small letters, with blanks for its dashes and no `.md`."""
    return re.sub(r"[-_ ]+", " ", caseless(text).replace(".md", ""))


def _aliases(metadata: Mapping[str, object]) -> set[str]:
    """The further names of a note, in its front matter."""
    names: set[str] = set()
    for key in ("aliases", "alias"):
        value = metadata.get(key)
        listed = value if isinstance(value, list) else str(value or "").split(",")
        names |= {caseless(str(one).strip()) for one in listed}
    return names - {""}


def _missing(store: Store, path: str) -> NoteNotFound:
    """The error for a missing note, with near misses, or with the way to search for words."""
    from shlex import quote

    from commonplace.markdown.references import reads_as_words

    if close := near(path, {state.shown for state in store.scan()}):
        return NoteNotFound(paths.shown(path), close)
    remedy = remedies.say("search.words", quote(path)) if reads_as_words(path) else remedies.say("notes")
    return NoteNotFound(paths.shown(path), reason=f"{NO_NOTE}; {remedy}")


def near(path: str, known: Iterable[str], names: Mapping[str, str] | None = None) -> list[str]:
    """Return known paths that a path may have meant: near as a whole, or by the file's name, best first.

    A file's name is also compared without its day; `names` of the paths, lines of them, by each word as well.
    """
    from difflib import get_close_matches

    forms: dict[str, tuple[str, ...]] = {}
    for one in sorted(known):
        file, text = basename(one), (names or {}).get(one, "")
        forms[one] = (one, file, _DAY.sub("", file), *text.split("\n"), *text.split())
    every = {form for its in forms.values() for form in its if form}
    close = get_close_matches(_spaced(path), every, 3, _NEAR)
    close = close or get_close_matches(path, every, 3) or get_close_matches(basename(path), every, 3)
    return [*dict.fromkeys(one for form in close for one, its in forms.items() if form in its)][:5]


# --- lists ----------------------------------------------------------------------------------------------


def notes(index: Index, *, apart: bool = False) -> list[NoteInfo]:
    """Return every indexed note, in the order of their paths as they are shown.

    With `apart` each conversation of a file that holds several stands for itself.
    """
    from commonplace.types import NoteInfo

    with index.transaction(write=False):
        rows, days = index.notes(), facts.days(index)
    infos: list[NoteInfo] = []
    for row in sorted(rows, key=lambda row: shown(row.collection, row.path)):
        info = NoteInfo(
            shown(row.collection, row.path), row.collection, row.title, row.date, row.size, row.lines,
            row.hash[:DOCID], tuple(days[row.collection, row.path]),
        )  # fmt: skip
        infos += _conversations(info, row.metadata or "") if apart else [info]
    return infos


def _conversations(info: NoteInfo, metadata: str) -> list[NoteInfo]:
    """The conversations of a transcript; the file itself where it holds one."""
    from commonplace.types import CONVERSATIONS, ConversationInfo

    if f'"{CONVERSATIONS}"' not in metadata:
        return [info]
    told = [ConversationInfo(*one) for one in json.loads(metadata)[CONVERSATIONS]]
    if told and not told[0].first:
        return [replace(info, turns=told[0].turns)]
    return [
        replace(
            info, path=f"{info.path}#{number}", title=one.title, date=one.day or None, size=one.size,
            lines=one.last - one.first + 1, days=(one.day,) if one.day else (), turns=one.turns,
            number=number, written=one.ended,
        )
        for number, one in enumerate(told, 1)
    ]  # fmt: skip


def below(notes: Iterable[NoteInfo], under: str) -> Iterator[NoteInfo]:
    """Keep the notes of a collection, below a folder, of a path, or that a glob matches; empty: all."""
    under = composed(under.strip().removeprefix("./").rstrip("/"))
    matches = Globs([under]) if not _WILD.isdisjoint(under) else None
    for note in notes:
        inside = f"{composed(note.file)}/".startswith(f"{under}/") or composed(note.collection) == under
        if under in ("", ".", note.path) or inside or (matches and matches(note.file)):
            yield note


def expand(references: Iterable[str], known: Sequence[NoteInfo]) -> list[str]:
    """Take lists with commas apart, and put the notes that a glob matches in its place.

    A glob without matches stays as it is, for the error.
    """
    named = {note.path for note in known}
    expanded: list[str] = []
    for listed in references:
        for part in [listed] if listed in named else re.split(_COMMA, listed):
            if reference := part.strip():
                is_glob = reference not in named and not _WILD.isdisjoint(reference)
                expanded += [note.file for note in below(known, reference) if is_glob] or [reference]
    return list(dict.fromkeys(expanded))


def gather(references: Iterable[str], get: Callable[[str], Excerpt], max_bytes: int | None) -> Gathered:
    """Read references one by one; what fails or does not fit any more is named, and the rest goes on."""
    from commonplace.types import FileFailure, Gathered

    excerpts: list[Excerpt] = []
    left_out: list[FileFailure] = []
    unfit: set[str] = set()
    room = max_bytes
    for reference in references:
        try:
            excerpt = get(reference)
        except CommonplaceError as error:
            left_out.append(FileFailure(paths.shown(reference), str(error)))
            continue
        size = sum(len(line.encode("utf-8", "replace")) + 1 for line in excerpt.lines)
        if room is not None and size > room:
            unfit.add(reference)
            reason = f"{size:,} bytes, of {max_bytes:,} there is room for {room:,}"
            left_out.append(FileFailure(reference, reason))
            continue
        room = None if room is None else room - size
        excerpts.append(excerpt)
    return Gathered(tuple(excerpts), tuple(left_out), frozenset(unfit))
