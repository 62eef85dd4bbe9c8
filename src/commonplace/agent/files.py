"""The notes of a workspace as plain files below `/memories`, for a model that views and edits files.

`/memories/MEMORY.md` is long-term memory, `/memories/2026-02-11.md` the note of that day, and everything else
lies in the folder of daily notes too, where notes are indexed. A file is shown with marks in place of private
parts and of secrets; an edit is one generated change: locked, whole, redacted, and taken back by `undo`.

The commands answer as the file system of the reference does (`BetaLocalFilesystemMemoryTool` in
the package `anthropic`), since models are trained on these texts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from posixpath import basename, dirname
from typing import Any

from commonplace.agent import authorship
from commonplace.agent.answers import Caller
from commonplace.agent.authorship import CommandRefused
from commonplace.base import filetypes, paths
from commonplace.base.errors import AccessDenied, CommonplaceError, NoteNotFound
from commonplace.base.tuples import NamedTuple
from commonplace.markdown import comments, metadata
from commonplace.markdown.document import Document
from commonplace.memory import Memory, reviewed
from commonplace.notes.scan import Globs
from commonplace.redaction import masks
from commonplace.redaction.recalled import strip_blocks
from commonplace.storage import diffs, transaction
from commonplace.types import About, Change, Provenance, Run

ROOT = "/memories"
MOST_LINES = 999_999
MOST_CHARACTERS = 1_000_000  # of a text that a command writes
MOST_BYTES = 4_000_000  # of a file that is shown or edited
MOST_FILES = 1000  # that a folder may hold which is deleted or renamed as one
MOST_DAYS = 31  # daily notes that a folder shows; the older ones are counted
_WIDTH = len(str(MOST_LINES))
_ATTEMPTS = 20  # a file that an editor changes this often in a row is not ours to fight over
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}[^/]*\.md")
_UNITS = "BKMG"
Compose = Callable[[str | None], str]


class Edited(NamedTuple):
    """A changed file: its text as it may be shown, and the run; None if the file is unchanged."""

    text: str
    run: Run | None


def shown(memory: Memory, place: str) -> str | None:
    """Return a file of the workspace as `edit` shows it for a rewrite; None if it is missing.

    Raises OutsideRoots, NoteUnreadable.
    """
    path, root = memory.workspace.root / place, memory.workspace.root
    try:
        data = paths.read_contained(path, [root])
    except NoteNotFound:
        return None
    return masks.mask(_unix(Document.read(data, str(path)).checked().text)).text


def edit(
    memory: Memory,
    place: str,
    compose: Compose,
    about: About,
    attribute: Callable[[str, str], str] = lambda before, after: after,
) -> Edited:
    """Change a file of the workspace as one generated change: locked, atomic, redacted, undoable.

    `compose` is given the text as it may be shown (None for a file that is missing) and returns the new one;
    what was hidden from it is put back. `attribute` is given the whole text of before and after, and returns
    the one that is written. Raises what `compose` raises, `masks.MarkLost` where hidden text
    would be lost, OutsideRoots, NoteUnreadable.
    """
    workspace, path = memory.workspace, memory.workspace.root / place
    paths.contain(path, [workspace.root], missing_ok=True)
    seen = ""

    def changes(read: transaction.Read) -> Sequence[Change]:
        nonlocal seen
        data = read(place)
        document = Document.read(data or b"", str(path)).checked()
        masked = masks.mask(_unix(document.text))
        text = compose(None if data is None else masked.text)
        text = _unix(text).encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
        after = masks.unmask(text, masked, redacted=memory.settings.remember.redact)
        if after and not after.endswith("\n"):
            after += "\n"
        after = attribute(_unix(document.text), after)
        seen = masks.mask(after).text
        after = after.replace("\n", "\r\n") if "\r\n" in document.text else after
        return [Change(place, data, document.with_text(after).data)]

    run = rewrite(memory, changes, about)
    return Edited(seen, run)


def rewrite(memory: Memory, compose: transaction.Compose, about: About) -> Run | None:
    """Change notes for an agent. Raises AccessDenied for an agent under review."""
    if about.by != "owner" and reviewed(memory, Provenance("agent", about.agent)):
        raise AccessDenied(about.agent, "edits no files, as its entries wait for the owner: remember them")
    for attempt in range(_ATTEMPTS):
        try:
            run = transaction.rewrite(memory.workspace, compose, about, settings=memory.settings.history)
            memory.store.written()
            return run
        except transaction.FileChanged:  # by an editor, which knows of no lock; what it wrote is read now
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


class Files:
    """The files below `/memories` of one memory; safe from any thread and with any number of processes."""

    def __init__(self, memory: Memory, *, agent: str = "", session: str = "") -> None:
        """Bind to a memory; `agent` and `session` are who edits, for the record of changes."""
        self._memory, self._caller = memory, Caller(agent, session)
        mark = comments.of_provenance(Provenance("agent", self._caller.agent)).removesuffix(" -->")
        mark = rf"{re.escape(mark)}(?:; (?:session|at): [^;<>]*)* -->$"
        self._marks = re.compile(rf"[ \n]{mark}", re.MULTILINE)  # a table or a fence has it on a line below
        self._line_ends = re.compile(rf"\n(?!{mark})", re.MULTILINE)
        self._included = Globs(memory.settings.index.include)
        self._files = memory.workspace.files
        self._commands: dict[str, Callable[[Mapping[str, Any]], str]] = {
            "view": self._view,
            "create": self._create,
            "str_replace": self._replace,
            "insert": self._insert,
            "delete": self._delete,
            "rename": self._rename,
        }

    def call(self, command: str, arguments: Mapping[str, Any]) -> str:
        """Carry a command out and return what it answers. Raises Refused with what it answers otherwise."""
        run = self._commands.get(command)
        if run is None:
            raise CommandRefused(f"Unknown command: {command}; there are {', '.join(self._commands)}")
        try:
            return run(arguments)
        except CommandRefused:
            raise
        except masks.MarkLost as error:
            raise CommandRefused(f"{error} would be lost; leave its mark where it stands") from error
        except CommonplaceError as error:
            raise CommandRefused(self._as_named(str(error))) from error
        except OSError as error:
            raise CommandRefused(f"{command}: {paths.reason(error)}") from error

    def _as_named(self, text: str) -> str:
        """A message with files named as a model knows them: no path of this machine is shown."""
        root = os.fspath(self._memory.workspace.root)
        for folder in dict.fromkeys((root, os.path.realpath(root))):
            text = text.replace(f"{folder}/{paths.MEMORY_FOLDER}/", f"{ROOT}/").replace(folder, ROOT)
        return text

    # --- looking ------------------------------------------------------------------------------------

    def _view(self, arguments: Mapping[str, Any]) -> str:
        path = _path(arguments, "path")
        place = self._place(path)
        if place == "" or self._files.is_folder(place):
            return self._listing(path, place)
        text = self._shown(
            path, place, missing=f"The path {path} does not exist. Please provide a valid path."
        )
        lines = text.split("\n")
        if len(lines) > MOST_LINES:
            raise CommandRefused(f"File {path} exceeds maximum line limit of 999,999 lines.")
        first, last = _range(arguments.get("view_range"), len(lines))
        return f"Here's the content of {path} with line numbers:\n" + _numbered(
            lines[first - 1 : last], first
        )

    def _listing(self, path: str, place: str) -> str:
        """The folders and files of a folder, two levels deep, as the reference lists them."""
        path = path.rstrip("/") or path
        rows = [*self._rows(place, "", 1)]
        days = sorted((name for name, _ in rows if _DAY.fullmatch(name)), reverse=True)
        left_out = set(days[MOST_DAYS:])
        lines = [f"{size}\t{path}/{name}" for name, size in rows if name not in left_out]
        if left_out:
            oldest = min(left_out)
            lines.append(f"({len(left_out)} older daily notes are not listed; the first is {path}/{oldest})")
        head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        return "\n".join([head, f"{self._size(place or paths.MEMORY_FOLDER)}\t{path}", *lines])

    def _rows(self, place: str, below: str, depth: int) -> Iterator[tuple[str, str]]:
        folder, is_root = place or paths.MEMORY_FOLDER, not place and not below
        names = self._files.names(folder)
        for name in sorted({*names, paths.MEMORY_FILE}) if is_root else names:
            is_long_term = is_root and name == paths.MEMORY_FILE
            inside = self._place(f"{ROOT}/{name}") if is_long_term else f"{folder}/{name}"
            shown = f"{below}/{name}" if below else name
            if name.startswith("."):
                continue
            if self._files.is_folder(inside):
                yield f"{shown}/", self._size(inside)
                if depth < 2:
                    yield from self._rows(inside, shown, depth + 1)
            elif self._files.is_file(inside):
                yield shown, self._size(inside)

    def _size(self, place: str) -> str:
        try:
            size = self._files.stat(place).st_size
        except OSError:
            size = 0
        if place.lower().endswith(".md") and size <= MOST_BYTES:  # as large as what is seen of it
            with suppress(OSError):
                text = self._files.read(place, limit=MOST_BYTES).decode("utf-8", "replace")
                size -= sum(len(match[0].encode()) for match in self._marks.finditer(_unix(text)))
        if not size:
            return "0B"
        unit = min((size.bit_length() - 1) // 10, len(_UNITS) - 1)
        number = size / 1024**unit
        return f"{number:.0f}{_UNITS[unit]}" if number == int(number) else f"{number:.1f}{_UNITS[unit]}"

    def _shown(self, path: str, place: str, *, missing: str) -> str:
        """The text of a file as it may be shown."""
        root = self._memory.workspace.root
        try:
            data = paths.read_contained(root / place, [root], limit=MOST_BYTES)
        except NoteNotFound as error:
            raise CommandRefused(missing) from error
        return self._marks.sub("", masks.mask(_unix(Document.read(data, place).checked().text)).text)

    # --- editing ------------------------------------------------------------------------------------

    def _create(self, arguments: Mapping[str, Any]) -> str:
        path, text = _path(arguments, "path"), _stored(arguments, "file_text")
        place = self._file(path)

        def compose(before: str | None) -> str:
            if before is not None:
                raise CommandRefused(f"File {path} already exists")
            return text

        if self._files.is_folder(place):
            raise CommandRefused(f"File {path} already exists")
        self._edit(place, compose, f"create {place}")
        return f"File created successfully at: {path}"

    def _replace(self, arguments: Mapping[str, Any]) -> str:
        path, place = self._existing(arguments)
        old, new = _text(arguments, "old_str"), _stored(arguments, "new_str", empty=True)
        line = 0

        def compose(before: str | None) -> str:
            nonlocal line
            text = _there(before, path)
            count = text.count(old) if old else 0
            if not count:
                raise CommandRefused(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
                )
            if count > 1:
                places = [match.start() for match in re.finditer(f"(?={re.escape(old)})", text)]
                lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
                several = f"Multiple occurrences of old_str `{old}` in lines: {lines}."
                raise CommandRefused(f"No replacement was performed. {several} Please ensure it is unique")
            line = text.count("\n", 0, text.index(old))
            return text.replace(old, new)

        lines = self._edit(place, compose, f"edit {place}").split("\n")
        first = max(0, line - 2)
        head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return f"{head}\n{_numbered(lines[first : line + 3], first + 1)}"

    def _insert(self, arguments: Mapping[str, Any]) -> str:
        path, place = self._existing(arguments)
        at, text = arguments.get("insert_line"), _stored(arguments, "insert_text")

        def compose(before: str | None) -> str:
            lines = _there(before, path).split("\n")
            if not lines[-1]:
                lines.pop()
            if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at <= len(lines):
                wrong = f"Invalid `insert_line` parameter: {at}."
                raise CommandRefused(f"{wrong} It should be within the range [0, {len(lines)}].")
            return "\n".join([*lines[:at], text.rstrip("\n"), *lines[at:]]) + "\n"

        self._edit(place, compose, f"edit {place}")
        return f"The file {path} has been edited."

    def _edit(self, place: str, compose: Compose, title: str) -> str:
        composed, attribute = partial(self._with_marks, compose), partial(self._attributed, place)
        return self._marks.sub("", edit(self._memory, place, composed, self._about(title), attribute).text)

    def _with_marks(self, compose: Compose, before: str | None) -> str:
        """Compose a text as the model sees it; lines that stay keep their marks."""
        marked = [] if before is None else self._line_ends.split(before)
        shown = [self._marks.sub("", line) for line in marked]
        lines = compose(None if before is None else "\n".join(shown)).split("\n")
        result = [*lines]
        end = 0
        for first, _, start, last in [*diffs.hunks(shown, lines), (len(shown), 0, len(lines), 0)]:
            result[end:start] = marked[first - (start - end) : first]
            end = last
        return "\n".join(result)

    def _attributed(self, place: str, before: str, after: str) -> str:
        """Mark what this agent wrote into a note; other files hold no marks."""
        if not self._is_note(place):
            return after
        return authorship.attribute(place, before, after, self._mark())

    def _mark(self) -> str:
        at = datetime.now().isoformat(timespec="seconds")
        return comments.of_provenance(replace(self._caller.provenance(), at=at))

    def _is_note(self, place: str) -> bool:
        is_markdown = place.lower().endswith((".md", ".markdown"))
        return is_markdown or (not filetypes.is_code(place) and self._included(place))

    def _delete(self, arguments: Mapping[str, Any]) -> str:
        path = _path(arguments, "path")
        place = self._place(path)
        if not place:
            raise CommandRefused("Cannot delete the /memories directory itself")
        self._move(path, place, None, f"delete {place}")
        return f"Successfully deleted {path}"

    def _rename(self, arguments: Mapping[str, Any]) -> str:
        path, new_path = _path(arguments, "old_path"), _path(arguments, "new_path")
        place, target = self._place(path), self._place(new_path)
        if not place:
            raise CommandRefused("Cannot rename the /memories directory itself")
        if not target or self._there(target):
            raise CommandRefused(f"The destination {new_path} already exists")
        if target.startswith(f"{place}/"):
            raise CommandRefused(f"The destination {new_path} lies inside of {path}")
        self._move(path, place, self._file(new_path), f"rename {place} to {target}")
        return f"Successfully renamed {path} to {new_path}"

    def _move(self, path: str, place: str, target: str | None, title: str) -> None:
        """Give a file, or all files of a folder, another place; without a target they go."""
        moved = list(self._below(path, place))

        def changes(read: transaction.Read) -> Sequence[Change]:
            composed: list[Change] = []
            for name in moved:
                data = read(name)
                if data is None:
                    raise CommandRefused(f"The path {path} does not exist")
                if target is None:
                    _refuse_hidden(data, name)
                else:
                    new = target + name.removeprefix(place)
                    if read(new) is not None:
                        raise CommandRefused(f"The destination {self._public(new)} already exists")
                    composed.append(Change(new, None, self._carried(name, new, data)))
                composed.append(Change(name, data, None))
            return sorted(composed, key=lambda change: change.after is None)  # what is moved comes first

        rewrite(self._memory, changes, self._about(title))
        transaction.drop_empty_folders(self._memory.workspace, moved)

    def _carried(self, name: str, new: str, data: bytes) -> bytes:
        """The bytes of a file at its new place; a new note, or one of another day, is the agent's."""
        was, becomes = self._is_note(name), self._is_note(new)
        document = Document.read(data, new)
        text = _unix(document.text)
        if was and becomes and _standing(name) == _standing(new):
            return data
        if was and authorship.pinned(text, name):
            raise CommandRefused(f"{basename(name)} holds pinned statements; its owner has to move it there")
        if not becomes:
            return data
        text = authorship.taken_over(new, text, self._mark()) if was else self._attributed(new, "", text)
        text = text.replace("\n", "\r\n") if "\r\n" in document.text else text
        return document.with_text(text).data

    def _below(self, path: str, place: str) -> Iterator[str]:
        """The files of a place, which may be one itself."""
        if not self._files.is_folder(place):
            if not self._there(place):
                raise CommandRefused(f"The path {path} does not exist")
            yield place
            return
        count, waiting = 0, [place]
        while waiting:
            folder = waiting.pop()
            for name in self._files.names(folder):
                inside = f"{folder}/{name}"
                if self._files.is_folder(inside):
                    waiting.append(inside)
                    continue
                count += 1
                if name.startswith(".") or not self._files.is_file(inside) or count > MOST_FILES:
                    why = f"more than {MOST_FILES} files" if count > MOST_FILES else "what is no plain file"
                    raise CommandRefused(f"The path {path} holds {why}; its owner has to do this")
                yield inside

    def _about(self, title: str) -> About:
        caller = self._caller
        return About("write", title, "an agent edited its memory", "agent", caller.name, caller.session)

    # --- paths --------------------------------------------------------------------------------------

    def _place(self, path: str) -> str:
        """The path in the workspace that a path below `/memories` stands for; empty for `/memories`."""
        if path != ROOT and not path.startswith(f"{ROOT}/"):
            raise CommandRefused(f"Path must start with /memories, got: {path}")
        parts = [part for part in path.removeprefix(ROOT).split("/") if part not in ("", ".")]
        if ".." in parts or "\\" in path or not path.isprintable():
            raise CommandRefused(f"Path {path} would escape /memories directory")
        if any(part.startswith(".") for part in parts):
            raise CommandRefused(f"Path {path} names a hidden file, which memory has not")
        if not parts:
            return ""
        workspace = self._memory.workspace
        if parts[0] == paths.MEMORY_FILE and parts[1:]:
            raise CommandRefused(f"The path {ROOT}/{paths.MEMORY_FILE} is not a directory")
        if parts == [paths.MEMORY_FILE]:
            return workspace.memory_file.relative_to(workspace.root).as_posix()
        return "/".join([paths.MEMORY_FOLDER, *parts])

    def _file(self, path: str) -> str:
        """The place of a file that is to be written: neither the folder itself nor below a file."""
        place = self._place(path)
        if not place or path.endswith("/"):
            raise CommandRefused(f"The path {path} is not a file.")
        above = dirname(place)
        while above not in ("", paths.MEMORY_FOLDER):
            if self._there(above) and not self._files.is_folder(above):
                raise CommandRefused(f"The path {self._public(above)} is not a directory")
            above = dirname(above)
        return place

    def _existing(self, arguments: Mapping[str, Any]) -> tuple[str, str]:
        path = _path(arguments, "path")
        place = self._place(path)
        if not place or self._files.is_folder(place):
            raise CommandRefused(f"The path {path} is not a file.")
        if not self._there(place):
            raise CommandRefused(f"The path {path} does not exist. Please provide a valid path.")
        if self._files.stat(place).st_size > MOST_BYTES:
            raise CommandRefused(f"The file {path} has more than {MOST_BYTES:,} bytes, too many to edit")
        return path, place

    def _there(self, place: str) -> bool:
        return os.path.lexists(self._memory.workspace.root / place)

    def _public(self, place: str) -> str:
        return f"{ROOT}/{place.removeprefix(f'{paths.MEMORY_FOLDER}/')}"


def _path(arguments: Mapping[str, Any], name: str) -> str:
    path = _text(arguments, name)
    if len(path) > 4096:
        raise CommandRefused(f"{name} is longer than a path can be")
    return path


def _text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        raise CommandRefused(f"Missing or invalid parameter `{name}`: it must be a string")
    if len(value) > MOST_CHARACTERS:
        raise CommandRefused(
            f"Parameter `{name}` has {len(value):,} characters; at most {MOST_CHARACTERS:,} are kept"
        )
    return value


def _stored(arguments: Mapping[str, Any], name: str, *, empty: bool = False) -> str:
    """Return a text to write: without recalled blocks, which memory has already, and with plain line ends."""
    value = arguments.get(name)
    if empty and value is None:
        return ""
    text = _text(arguments, name)
    without = strip_blocks(text)
    if text.strip() and not without.strip():
        raise CommandRefused(f"Nothing was written: `{name}` is recalled text, which memory holds already")
    return without.replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n")


def _there(text: str | None, path: str) -> str:
    if text is None:
        raise CommandRefused(f"The path {path} does not exist. Please provide a valid path.")
    return text


def _range(view_range: object, count: int) -> tuple[int, int]:
    """The first and the last line to show, counted from 1."""
    if not isinstance(view_range, list | tuple) or len(view_range) != 2:
        return 1, count
    first, last = view_range
    if not isinstance(first, int) or not isinstance(last, int):
        raise CommandRefused(f"Invalid `view_range` parameter: {view_range}. It should be two line numbers.")
    return max(1, first), count if last == -1 else max(0, last)


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _standing(place: str) -> tuple[str, str | None]:
    return metadata.kind_of(place), metadata.date_of(place)


def _refuse_hidden(data: bytes, name: str) -> None:
    """Refuse to delete what its owner has hidden or pinned: a model does not see what it would take."""
    text = _unix(Document.read(data, name).text)
    masked = masks.mask(text)
    if masked.private or masked.secret or authorship.pinned(text, name):
        reason = "holds pinned statements or parts that are not shown"
        raise CommandRefused(f"{basename(name)} {reason}; its owner has to delete it")
