"""What stands on disk: the Markdown files of a collection with their size and time of change."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from stat import S_ISREG

# Folders that never hold somebody's notes; hidden ones are skipped as well.
IGNORED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "target", "vendor"})
_SUFFIX_GLOB = re.compile(r"\*\*/\*\.\w+")


@dataclass(frozen=True, slots=True)
class Source:
    """A collection as it stands on disk: where it is, which files belong to it."""

    name: str
    root: str
    globs: tuple[str, ...] = ("**/*.md",)
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileState:
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


def scan(sources: Sequence[Source]) -> list[FileState]:
    """List the files of all collections; a file that two of them cover belongs to the first."""
    found: list[FileState] = []
    seen: set[str] = set()
    nested = len(sources) > 1
    for source in sources:
        for state in _files(source):
            if nested:
                real = os.path.realpath(state.absolute)
                if real in seen:
                    continue
                seen.add(real)
            found.append(state)
    return found


def _files(source: Source) -> Iterator[FileState]:
    wanted, unwanted = matcher(source.globs), matcher(source.ignore)
    root = os.path.realpath(source.root)
    for start in _starting_points(source.globs):
        for path, absolute, status in _walk(root, start):
            if wanted(path) and not unwanted(path):
                yield FileState(source.name, path, absolute, status.st_mtime_ns, status.st_size)


def _starting_points(globs: Sequence[str]) -> list[str]:
    """Deepest folders below which every match lies, so that a workspace in a large tree stays cheap."""
    starts = set()
    for glob in globs:
        fixed = re.split(r"[*?\[]", glob, maxsplit=1)[0]
        starts.add(fixed if fixed == glob else fixed.rpartition("/")[0])
    return sorted(s for s in starts if not any(o != s and (s + "/").startswith(o + "/" if o else "") for o in starts))


def _walk(root: str, start: str) -> Iterator[tuple[str, str, os.stat_result]]:
    """Yield (relative path, absolute path, status) of the regular files at or below `start`."""
    top = os.path.join(root, start) if start else root
    if not os.path.isdir(top):
        yield from _single(root, start, top)
        return
    prefix = start + "/" if start else ""
    pending = [(prefix, top)]
    while pending:
        prefix, folder = pending.pop()
        try:
            entries = os.scandir(folder)
        except OSError:
            continue  # a folder that vanished or may not be read holds no notes for us
        with entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name[0] != "." and entry.name not in IGNORED_FOLDERS:
                        pending.append((prefix + entry.name + "/", entry.path))
                elif status := _status(entry, root):
                    yield prefix + entry.name, entry.path, status


def _single(root: str, path: str, absolute: str) -> Iterator[tuple[str, str, os.stat_result]]:
    """A glob without wildcards names one file."""
    try:
        status = os.stat(absolute)
    except OSError:
        return
    if S_ISREG(status.st_mode) and _inside(os.path.realpath(absolute), root):
        yield path, absolute, status


def _status(entry: os.DirEntry[str], root: str) -> os.stat_result | None:
    """Status of a regular file, or of one behind a link that stays inside the root."""
    try:
        if not entry.is_symlink():
            return entry.stat(follow_symlinks=False) if entry.is_file(follow_symlinks=False) else None
        if entry.is_file() and _inside(os.path.realpath(entry.path), root):
            return entry.stat()
    except OSError:
        return None
    return None


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def matcher(globs: Sequence[str]) -> Callable[[str], bool]:
    """Compile globs to a predicate over posix paths relative to the root.

    `**/` stands for any folders, `*` and `?` stay inside one name, `[...]` is a set, `folder/` covers all
    below it. Plain suffix globs, the common case, cost one string comparison.
    """
    suffixes = tuple(g[4:] for g in globs if _SUFFIX_GLOB.fullmatch(g))
    rest = tuple(g for g in globs if not _SUFFIX_GLOB.fullmatch(g))
    match = _expression(rest).fullmatch if rest else None
    return lambda path: path.endswith(suffixes) or bool(match and match(path))


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
