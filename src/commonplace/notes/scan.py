"""What stands on disk: the Markdown files of a collection with their size and time of change."""

from __future__ import annotations

import marshal
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from stat import S_ISREG
from typing import NamedTuple

# Folders that never hold somebody's notes; hidden ones are skipped as well.
IGNORED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "target", "vendor"})
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_WILD = re.compile(r"[*?\[]")
_SUFFIX_GLOB = re.compile(r"((?:[^*?\[\]]+/)?)\*\*/\*(\.\w+)")  # **/*.md, memory/**/*.md


class Source(NamedTuple):
    """A collection as it stands on disk: where it is, which files belong to it."""

    name: str
    root: str
    globs: tuple[str, ...] = ("**/*.md",)
    ignore: tuple[str, ...] = ()


class FileState(NamedTuple):
    """A file found on disk; `path` is posix and relative to its collection's root.

    A tuple rather than a dataclass: a search makes one for every file it compares.
    """

    collection: str
    path: str
    absolute: str
    mtime_ns: int
    size: int

    @property
    def key(self) -> tuple[str, str]:
        """Identity of the file in the index."""
        return (self.collection, self.path)


def scan(sources: Sequence[Source]) -> list[FileState]:
    """List the files of all collections; a file that two of them cover belongs to the first."""
    found: list[FileState] = []
    roots = [os.path.realpath(source.root) for source in sources]
    for place, source in enumerate(sources):
        root = roots[place]
        files = _files(source, root)
        # Links stay inside their root, so only collections whose roots hold each other can share a file.
        if any(_inside(root, other) or _inside(other, root) for other in roots[:place]):
            seen = {os.path.realpath(state.absolute) for state in found}
            files = [state for state in files if os.path.realpath(state.absolute) not in seen]
        found += files
    return found


def fingerprint(sources: Sequence[Source], states: Sequence[FileState]) -> bytes:
    """A whole scan as bytes: equal only if every file has the path, size and time it had.

    Comparing them replaces ten thousand comparisons by one. Marshal's second format has no references, so
    equal values give equal bytes.
    """
    told = [(s.name, s.root, s.globs, s.ignore) for s in sources]
    return marshal.dumps((told, [(s[0], s[1], s[3], s[4]) for s in states]), 2)


def _files(source: Source, root: str) -> list[FileState]:
    wanted, name = matcher(source.globs), source.name
    found = [
        FileState(name, path, absolute, status.st_mtime_ns, status.st_size)
        for start in _starting_points(source.globs)
        for path, absolute, status in _walk(root, start, wanted)
    ]
    if source.ignore:
        unwanted = matcher(source.ignore)
        found = [state for state in found if not unwanted(state.path)]
    return found


def _starting_points(globs: Sequence[str]) -> list[str]:
    """Deepest folders below which every match lies, so that a workspace in a large tree stays cheap."""
    starts = set()
    for glob in globs:
        fixed = re.split(r"[*?\[]", glob, maxsplit=1)[0]
        starts.add(fixed.rstrip("/") if fixed == glob else fixed.rpartition("/")[0])
    return sorted(start for start in starts if not any(_below(start, other) for other in starts - {start}))


def _below(path: str, folder: str) -> bool:
    return not folder or path.startswith(folder + "/")


def _walk(root: str, start: str, wanted: Callable[[str], bool]) -> Iterator[tuple[str, str, os.stat_result]]:
    """Yield (relative path, absolute path, status) of the wanted regular files at or below `start`."""
    top = os.path.join(root, start) if start else root
    if not os.path.isdir(top):
        yield from _single(root, start, top)
        return
    pending = [(start + "/" if start else "", top)]
    while pending:
        prefix, folder = pending.pop()
        try:
            descriptor = os.open(folder, _FOLDER_FLAGS)
        except OSError:
            continue  # a folder that vanished or may not be read holds no notes for us
        try:
            # Through the descriptor the kernel looks up one name for each file, not its whole path.
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    name = entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if name[0] != "." and name not in IGNORED_FOLDERS:
                            pending.append((f"{prefix}{name}/", f"{folder}/{name}"))
                    elif wanted(path := prefix + name) and (status := _status(entry, root, folder)):
                        yield path, f"{folder}/{name}", status
        finally:
            os.close(descriptor)


def _single(root: str, path: str, absolute: str) -> Iterator[tuple[str, str, os.stat_result]]:
    """A glob without wildcards names one file."""
    try:
        status = os.stat(absolute)
    except OSError:
        return
    if S_ISREG(status.st_mode) and _inside(os.path.realpath(absolute), root):
        yield path, absolute, status


def _status(entry: os.DirEntry[str], root: str, folder: str) -> os.stat_result | None:
    """Status of a regular file, or of one behind a link that stays inside the root."""
    try:
        if entry.is_file(follow_symlinks=False):
            return entry.stat(follow_symlinks=False)
        if entry.is_symlink() and _inside(os.path.realpath(f"{folder}/{entry.name}"), root):
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
    names = frozenset(glob for glob in globs if not _WILD.search(glob) and not glob.endswith("/"))
    simple = [found.groups() for glob in globs if (found := _SUFFIX_GLOB.fullmatch(glob))]
    rest = tuple(g for g in globs if g not in names and not _SUFFIX_GLOB.fullmatch(g))
    match = _expression(rest).fullmatch if rest else None

    def matches(path: str) -> bool:
        for prefix, suffix in simple:
            if path.endswith(suffix) and path.startswith(prefix):
                return True
        return path in names or (match is not None and match(path) is not None)

    return matches


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
