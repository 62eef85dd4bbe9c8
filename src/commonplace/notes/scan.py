"""What stands on disk: the Markdown files of a collection with their size and time of change."""

from __future__ import annotations

import marshal
import os
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from stat import S_ISREG
from typing import NamedTuple

# Folders that never hold somebody's notes; hidden ones are skipped as well.
IGNORED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "target", "vendor"})
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_WILD = "*?["

Row = tuple[str, int, int]  # path, mtime_ns, size: bare, since a search makes one for every file it compares


class Source(NamedTuple):
    """A collection as it stands on disk: where it is, which files belong to it."""

    name: str
    root: str
    globs: tuple[str, ...] = ("**/*.md",)
    ignore: tuple[str, ...] = ()


class FileState(NamedTuple):
    """A file found on disk; `path` is posix and relative to its collection's root."""

    collection: str
    path: str
    absolute: str
    mtime_ns: int
    size: int

    @property
    def key(self) -> tuple[str, str]:
        """Identity of the file in the index."""
        return (self.collection, self.path)


class Listing(NamedTuple):
    """The files of one collection as they stood; `root` is the real path of its folder."""

    source: Source
    root: str
    rows: list[Row]

    def states(self) -> list[FileState]:
        """The files one by one, for those who compare or read them."""
        name, root = self.source.name, self.root
        return [FileState(name, path, f"{root}/{path}", mtime_ns, size) for path, mtime_ns, size in self.rows]


def scan(sources: Sequence[Source]) -> list[FileState]:
    """List the files of all collections; a file that two of them cover belongs to the first."""
    return states(look(sources))


def look(sources: Sequence[Source]) -> list[Listing]:
    """Look at the files of all collections: what `scan` lists, before it is taken apart."""
    found: list[Listing] = []
    for source in sources:
        listing = Listing(source, root := os.path.realpath(source.root), _files(source, root))
        # Links stay inside their root, so only collections whose roots hold each other can share a file.
        if any(_inside(root, other.root) or _inside(other.root, root) for other in found):
            seen = {os.path.realpath(state.absolute) for state in states(found)}
            own = zip(listing.rows, listing.states(), strict=True)
            rows = [row for row, state in own if os.path.realpath(state.absolute) not in seen]
            listing = listing._replace(rows=rows)
        found.append(listing)
    return found


def states(listings: Sequence[Listing]) -> list[FileState]:
    """The files of all listings one by one."""
    return [state for listing in listings for state in listing.states()]


def fingerprint(listings: Sequence[Listing]) -> bytes:
    """A whole scan as bytes: equal only if every file has the path, size and time it had.

    Comparing them replaces ten thousand comparisons by one. Marshal's second format has no references, so
    equal values give equal bytes.
    """
    return marshal.dumps([(tuple(listing.source), listing.rows) for listing in listings], 2)


def _files(source: Source, root: str) -> list[Row]:
    wanted = matcher(source.globs)
    found = [row for start in _starting_points(source.globs) for row in _walk(root, start, wanted)]
    if source.ignore:
        unwanted = matcher(source.ignore)
        found = [row for row in found if not unwanted(row[0])]
    return found


def _starting_points(globs: Sequence[str]) -> list[str]:
    """Deepest folders below which every match lies, so that a workspace in a large tree stays cheap."""
    starts = set()
    for glob in globs:
        fixed = glob[: min((at for at in map(glob.find, _WILD) if at >= 0), default=len(glob))]
        starts.add(fixed.rstrip("/") if fixed == glob else fixed.rpartition("/")[0])
    return sorted(start for start in starts if not any(_below(start, other) for other in starts - {start}))


def _below(path: str, folder: str) -> bool:
    return not folder or path.startswith(folder + "/")


def _walk(root: str, start: str, wanted: Callable[[str], bool]) -> list[Row]:
    """The wanted regular files at or below `start`."""
    if start and not os.path.isdir(f"{root}/{start}"):
        return _single(root, start)
    found: list[Row] = []
    pending = [f"{start}/" if start else ""]
    while pending:
        prefix = pending.pop()
        try:
            descriptor = os.open(f"{root}/{prefix}", _FOLDER_FLAGS)
        except OSError:
            continue  # a folder that vanished or may not be read holds no notes for us
        try:
            # Through the descriptor the kernel looks up one name for each file, not its whole path.
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    path = prefix + entry.name
                    if wanted(path) and (status := _status(entry, root, path)):
                        found.append((path, status.st_mtime_ns, status.st_size))
                    elif entry.is_dir(follow_symlinks=False) and _may_hold_notes(entry.name):
                        pending.append(f"{path}/")
        finally:
            os.close(descriptor)
    return found


def _may_hold_notes(folder: str) -> bool:
    return folder[0] != "." and folder not in IGNORED_FOLDERS


def _single(root: str, path: str) -> list[Row]:
    """A glob without wildcards names one file."""
    absolute = f"{root}/{path}"
    try:
        status = os.stat(absolute)
    except OSError:
        return []
    if S_ISREG(status.st_mode) and _inside(os.path.realpath(absolute), root):
        return [(path, status.st_mtime_ns, status.st_size)]
    return []


def _status(entry: os.DirEntry[str], root: str, path: str) -> os.stat_result | None:
    """Status of a regular file, or of one behind a link that stays inside the root."""
    try:
        if entry.is_file(follow_symlinks=False):
            return entry.stat(follow_symlinks=False)
        if entry.is_symlink() and _inside(os.path.realpath(f"{root}/{path}"), root):
            return entry.stat() if entry.is_file() else None
    except OSError:
        return None
    return None


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def matcher(globs: Sequence[str]) -> Callable[[str], bool]:
    """Compile globs to a predicate over posix paths relative to the root.

    `**/` stands for any folders, `*` and `?` stay inside one name, `[...]` is a set, `folder/` covers all
    below it. Names, and all files of one ending below one folder, cost no regular expression.
    """
    names = frozenset(g for g in globs if not any(sign in g for sign in _WILD) and not g.endswith("/"))
    endings = {glob: found for glob in globs if (found := _ending(glob))}
    rest = tuple(glob for glob in globs if glob not in names and glob not in endings)
    simple = tuple(endings.values())
    match = _expression(rest).fullmatch if rest else None

    def matches(path: str) -> bool:
        for folder, ending in simple:
            if path.endswith(ending) and path.startswith(folder):
                return True
        return path in names or (match is not None and match(path) is not None)

    return matches


def _ending(glob: str) -> tuple[str, str] | None:
    """Folder and ending of a glob such as `memory/**/*.md`; None for one of another shape."""
    folder, stars, ending = glob.partition("**/*.")
    plain = (not folder or folder.endswith("/")) and not any(sign in folder for sign in _WILD)
    return (folder, f".{ending}") if stars and plain and ending.isalnum() else None


@lru_cache(maxsize=64)
def _expression(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(_translate, globs)))


def _translate(glob: str) -> str:
    """One glob as a regular expression; a folder name alone covers all below it."""
    if glob.endswith("/"):
        glob += "**"
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]/]+\])", glob)
    table = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(table.get(p) or (_character_set(p) if p.startswith("[") else re.escape(p)) for p in parts)


def _character_set(glob: str) -> str:
    negated = glob[1] in "!^"
    body = glob[2:-1] if negated else glob[1:-1]
    return f"[{'^' if negated else ''}{re.escape(body).replace(chr(92) + '-', '-')}]"
