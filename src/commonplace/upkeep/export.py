"""All own notes as one value: a Markdown file to read, JSON to import again, or a zip of the files.

The same notes give the same bytes. No link out of the workspace is followed.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_ISLNK, S_ISREG
from typing import TYPE_CHECKING, Literal, get_args

from commonplace.base import paths, remedies
from commonplace.base.errors import CommonplaceError, ConfigError, NoteUnreadable
from commonplace.base.root import kind
from commonplace.base.tuples import NamedTuple
from commonplace.config.files import workspace_file
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.markdown.document import decode, parse, public
from commonplace.notes import scan
from commonplace.render import screen
from commonplace.storage import receipts
from commonplace.types.reports import FileFailure

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import Note

Form = Literal["md", "json", "zip"]
FORMS: tuple[Form, ...] = get_args(Form)
FORMAT, VERSION = "commonplace-export", 1  # of the JSON, as `imports/commonplace.py` reads it
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold, so that no file's own time shows
_PRIVATE_FILE = 0o100600  # a regular file for its owner alone


class Export(NamedTuple):
    """The exported bytes, the number of files in them, and the files that could not be read."""

    data: bytes
    files: int
    failures: tuple[FileFailure, ...] = ()


def export(memory: Memory, form: Form = "md", *, private: bool = False) -> Export:
    """Return all own notes of a workspace: long-term memory, notes without a day, then day by day.

    A zip holds the files byte for byte, with the workspace's settings.
    Elsewhere private parts are blank and secrets redacted, unless they are to be kept (`private`); marks of
    statements stay, so that a guess reads as one. Raises ConfigError for a form that there is not.
    """
    if form not in FORMS:
        raise ConfigError("form", f"{form!r} is not allowed; it must be one of {', '.join(FORMS)}")
    files, failures = _read(memory, with_settings=form == "zip")
    if form == "zip":
        return Export(_zip(files), len(files), failures)
    notes = [parse(decode(data), path) for path, data in files.items()]
    notes.sort(key=_place)
    texts = [decode(files[note.path]) for note in notes]
    if not private:
        texts = [public(text, note.path) for note, text in zip(notes, texts, strict=True)]
    data = receipts.exported((_markdown if form == "md" else _json)(notes, texts).encode("utf-8", "replace"))
    return Export(data, len(files), failures)


def form_of(target: Path) -> Form:
    """Return the form that the ending of a file's name says; of any other ending Markdown."""
    ending = target.suffix.lower().removeprefix(".")
    return next((form for form in FORMS if form == ending), "md")


def target_of(path: str) -> Path:
    """Return the file that a path names, from the user's home where it begins so; a link is not followed."""
    named = Path(os.path.expanduser(path))
    return named.parent.resolve() / named.name


def write(memory: Memory, target: Path, exported: Export, *, force: bool = False) -> None:
    """Write an export to a file outside the workspace and its collections, whole or not at all.

    Raises ConfigError for a place among the notes, and for one that is taken unless it is to be replaced
    (`force`); NoteUnreadable where it cannot be written.
    """
    shown = paths.shown(target)
    folder = os.path.realpath(target.parent)
    places = scan.places(scan.sources(os.fspath(memory.workspace.root), memory.settings))
    if any(paths.is_within(folder, os.path.realpath(place)) for place in places):
        raise ConfigError(
            "export", f"{shown} lies among the notes, where it would be searched; name another place"
        )
    if not os.path.isdir(folder):
        raise ConfigError("export", f"{paths.shown(target.parent)} is no folder; make it first")
    if os.path.isdir(target):
        raise ConfigError("export", f"{shown} is a folder; name a file in it")
    with suppress(FileNotFoundError):
        mode = os.lstat(target).st_mode
        if not (S_ISREG(mode) or S_ISLNK(mode)):
            raise ConfigError("export", f"{shown} is {kind(mode)}; name another file")
    root = paths.root_of(target)
    try:
        if force:
            root.exchange(target, exported.data)
        else:
            root.create(target, exported.data)
    except FileExistsError as error:
        raise ConfigError("export", f"{shown} is there already; {remedies.say('export.force')}") from error
    except OSError as error:
        raise NoteUnreadable(shown, paths.reason(error)) from error


def _read(memory: Memory, *, with_settings: bool) -> tuple[dict[str, bytes], tuple[FileFailure, ...]]:
    """The bytes of own notes by their paths, in the order of these, and what could not be read."""
    workspace, own = memory.workspace, memory.settings.index
    source = scan.CollectionFiles(WORKSPACE_COLLECTION, os.fspath(workspace.root), own.include, own.ignore)
    files, failures = dict[str, bytes](), list[FileFailure]()
    found = sorted((state.path, Path(state.absolute)) for state in scan.scan([source]))
    if with_settings and (settings := workspace_file(workspace.root)).is_file():
        found.append((settings.relative_to(workspace.root).as_posix(), settings))
    for path, absolute in found:
        try:
            files[path] = paths.read_contained(absolute, [workspace.root])
        except CommonplaceError as error:
            failures.append(FileFailure(paths.shown(path), str(error)))
    return files, tuple(failures)


def _place(note: Note) -> tuple[int, str, str]:
    """Return the sort key of a note in an export: long-term memory, undated notes, then days in order."""
    if note.path in (paths.MEMORY_FILE, f"{paths.MEMORY_FOLDER}/{paths.MEMORY_FILE}"):
        return 0, "", note.path
    return (2, note.date, note.path) if note.date else (1, "", note.path)


def _markdown(notes: Sequence[Note], texts: Sequence[str]) -> str:
    """Notes below each other, each behind a line that says where it is from."""
    parts = []
    for note, text in zip(notes, texts, strict=True):
        if front := note.front_matter:  # in the middle of a file it would be a rule and a heading
            lines = text.split("\n")
            lines[0], lines[front[1] - 1] = "```yaml", "```"
            text = "\n".join(lines)
        parts.append(f"*From {screen.name(note.path)}*\n\n{text.strip()}\n")
    return "\n---\n\n".join(parts)


def _json(notes: Sequence[Note], texts: Sequence[str]) -> str:
    rows: list[Mapping[str, object]] = [
        {"path": note.path, "title": note.title, "date": note.date, "text": text}
        for note, text in zip(notes, texts, strict=True)
    ]
    held = {"format": FORMAT, "version": VERSION, "notes": rows}
    return json.dumps(held, ensure_ascii=False, indent=2) + "\n"


def _zip(files: Mapping[str, bytes]) -> bytes:
    """The files of a workspace as a zip that holds no time and no owner."""
    from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

    out = io.BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = ZipInfo(path, _LONG_AGO)
            entry.compress_type, entry.external_attr = ZIP_DEFLATED, _PRIVATE_FILE << 16
            entry.create_system = 3  # Unix, wherever it is made
            archive.writestr(entry, data)
    return out.getvalue()
