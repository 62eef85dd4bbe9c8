"""What stands on disk: the Markdown files of a collection with their size and time of change."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from stat import S_ISREG
from typing import NamedTuple

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


def fingerprint(sources: Sequence[Source], states: Sequence[FileState]) -> str:
    """A hash of a whole scan: equal only if every file has the path, size and time it had.

    It replaces ten thousand comparisons by one; marshal's second format has no references, so equal values
    give equal bytes.
    """
    import marshal
    from hashlib import blake2b

    told = [(s.name, s.root, s.globs, s.ignore) for s in sources]
    return blake2b(marshal.dumps((told, [tuple(s) for s in states]), 2), digest_size=16).hexdigest()


def _files(source: Source, root: str) -> list[FileState]:
    wanted, unwanted = matcher(source.globs), matcher(source.ignore)
    found: list[FileState] = []
    for start in _starting_points(source.globs):
        for path, absolute, status in _walk(root, start, wanted):
            if not unwanted(path):
                state = FileState(source.name, path, absolute, status.st_mtime_ns, status.st_size)
                found.append(state)
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
            entries = os.scandir(folder)
        except OSError:
            continue  # a folder that vanished or may not be read holds no notes for us
        with entries:
            for entry in entries:
                name = entry.name
                if entry.is_dir(follow_symlinks=False):
                    if name[0] != "." and name not in IGNORED_FOLDERS:
                        pending.append((f"{prefix}{name}/", entry.path))
                elif wanted(prefix + name) and (status := _status(entry, root)):
                    yield prefix + name, entry.path, status


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
