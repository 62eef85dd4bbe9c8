"""List the files of collections, notes and transcripts, with size and time of change."""

from __future__ import annotations

import marshal
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from io import BufferedReader
from stat import S_ISREG

from commonplace.base import packed, paths, remedies
from commonplace.base.messages import message
from commonplace.base.paths import refusal
from commonplace.base.root import LIMIT, OWN_FOLDER, Root, Unsafe, is_hidden, is_within, read_whole
from commonplace.base.tuples import NamedTuple
from commonplace.config.settings import WORKSPACE_COLLECTION, Settings, is_one_file
from commonplace.language import composed

_BRACES = re.compile(r"\{([^{}]*)\}")
_MOST_GLOBS = 50  # alternatives of one glob
# Folders that never hold notes of the user; hidden ones are skipped as well.
IGNORED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "target", "vendor"})
_OLD_VERSIONS = ("bak", "version-files")
_WILD = "*?["
_MOST_ASIDE = 20_000  # files and folders that are looked at for Markdown in no collection
_MOST_DEEP = 2  # places of a glob where any folders may stand; one with more never matches

# Bare tuples by folder, since a search makes one for every file it compares.
Row = tuple[str, int, int]  # name, mtime_ns, size
Folder = tuple[str, list[Row]]  # path with a slash at its end, empty for the root
TRANSCRIPTS = (".jsonl", ".json", ".zip")  # files of a collection of transcripts that are not notes
OWN_SESSIONS = "sessions/*.jsonl"
# Programs rename a finished transcript: a word behind its name and often a time, compression, or a sibling
# folder (Codex).
_BACKUPS = ("bak", "full.bak")
_RENAMED = r"(?i)\.jsonl(?:\.(?:reset|deleted|archived|(?:full\.)?bak)(?:[.-][^/]*?)?)?(?:\.(?:gz|zstd?))?"
_FOLDERS = ("sessions", "archived_sessions")


def is_ignored(prefix: str, name: str) -> bool:
    """Tell whether a folder below `prefix` is never searched: of programs, or old versions of Logseq's."""
    return name in IGNORED_FOLDERS or (name in _OLD_VERSIONS and f"/{prefix}".endswith("/logseq/"))


def written_as(path: str) -> str:
    """Return the original path of a transcript that was renamed or compressed in its folder."""
    start = path.lower().rfind(".jsonl", path.rfind("/") + 1)
    return path[: start + 6] if start >= 0 and re.compile(_RENAMED).fullmatch(path, start) else path


def transcript_name(path: str) -> str:
    """Return the original name of a transcript that was renamed, moved or compressed."""
    return written_as(path).rpartition("/")[2]


def shown(collection: str, path: str) -> str:
    """Return a path as people write it: relative to the workspace, or below a collection's name."""
    return path if collection == WORKSPACE_COLLECTION else f"{collection}/{path}"


class CollectionFiles(NamedTuple):
    """A collection as it stands on disk: where it is, which files belong to it."""

    name: str
    root: str
    globs: tuple[str, ...] = ("**/*.md",)
    ignore: tuple[str, ...] = ()
    format: str = ""  # of the transcripts in it (see `transcripts.formats`); empty without transcripts

    def format_of(self, path: str) -> str:
        """The format of a transcript, empty for any other file."""
        if not self.format or not written_as(path).lower().endswith(TRANSCRIPTS):
            return ""
        own = self.name == WORKSPACE_COLLECTION
        return self.format if not own or Globs((OWN_SESSIONS,))(path) else ""

    def covers(self, path: str) -> bool:
        """Tell whether a path of the collection belongs to it."""
        return self.wanted(path) and not Globs(self.ignore)(path)

    def holds(self, real: str) -> bool:
        """Tell whether a file belongs to it, by its real path."""
        root = os.path.realpath(self.root)
        return is_within(real, root) and self.covers(os.path.relpath(real, root))

    @property
    def is_file(self) -> bool:
        """Tell whether it is a single file, such as an imported export."""
        return self.name != WORKSPACE_COLLECTION and is_one_file(self.globs)

    @property
    def wanted(self) -> Globs:
        """The globs as a predicate; those of transcripts match the names that they get later as well."""
        ends = self.format and self.name != WORKSPACE_COLLECTION and ".jsonl"
        return Globs((*self.globs, *(f"{glob}.*" for glob in self.globs if ends and glob.endswith(ends))))

    @property
    def file(self) -> str:
        """The path in it of its only file, by its later name if it has one; empty where it holds several."""
        path = self.globs[0] if self.is_file else ""
        if path and self.format and not os.path.lexists(f"{self.root}/{path}"):
            with suppress(OSError):
                return max((name for name in os.listdir(self.root) if written_as(name) == path), default=path)
        return path

    @property
    def place(self) -> str:
        """The folder that its notes lie in, or its only file."""
        return f"{self.root}/{self.file}" if self.is_file else self.root


def is_left_out(sources: Sequence[CollectionFiles], path: str, *, outside: bool = True) -> bool:
    """Tell whether a file is in no collection and is ignored or (with `outside`) not in the workspace."""
    real = os.path.realpath(path)
    around = [(one, root) for one in sources if is_within(real, root := os.path.realpath(one.root))]
    if any(source.holds(real) for source, _ in around):
        return False
    ignored = any(Globs(one.ignore)(os.path.relpath(real, root)) for one, root in around)
    return ignored or (outside and sources[0] not in [one for one, _ in around])


class FileState(NamedTuple):
    """A file found on disk; `path` is posix and relative to its collection's root."""

    collection: str
    path: str
    absolute: str
    mtime_ns: int
    size: int
    format: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Identity of the file in the index."""
        return (self.collection, self.path)

    @property
    def shown(self) -> str:
        """The path as people write it."""
        return shown(self.collection, self.path)

    def open(self) -> BufferedReader:
        """Open the file, or what a link in its place leads to, as long as that lies in its collection.

        Raises OSError, of which `Unsafe` for a link that leads out now, whatever the scan has seen.
        """
        root = Root(self.absolute[: -len(self.path)])
        return root.open(self.path, links=True)

    def read(self, limit: int = LIMIT) -> bytes:
        """Return its bytes. Raises OSError, of which `TooLarge` for more than `limit` of them."""
        with self.open() as file:
            return read_whole(file, self.path, limit)


class Away(NamedTuple):
    """A folder (final slash) or file that this scan could not read, or found without any files, and why.

    An empty path is the whole collection. `why` is MISSING, EMPTY, or the system's reason.
    """

    path: str
    why: str


MISSING, EMPTY = "missing", "empty"


class Listing(NamedTuple):
    """The files of one collection as they stood; `root` is the real path of its folder.

    A file is listed once: links to one that is listed are not, and of several links to one file the first.
    `links` are the links that match the globs and stay inside the root, broken ones too.
    """

    source: CollectionFiles
    root: str
    folders: list[Folder]
    links: Sequence[str] = ()
    away: Sequence[Away] = ()

    def states(self) -> list[FileState]:
        """The files one by one, for those who compare or read them."""
        collection, root = self.source.name, self.root
        states = [
            FileState(collection, prefix + name, f"{root}/{prefix}{name}", mtime_ns, size)
            for prefix, rows in self.folders
            for name, mtime_ns, size in rows
        ]
        if self.source.format:
            return [state._replace(format=self.source.format_of(state.path)) for state in states]
        return states

    def without(self, unwanted: Callable[[str], bool]) -> Listing:
        """The same without the files of these paths."""
        folders = [
            (prefix, [row for row in rows if not unwanted(prefix + row[0])]) for prefix, rows in self.folders
        ]
        return self._replace(folders=folders)


def own_folders(root: str) -> list[str]:
    """The real paths of the folders of commonplace itself, but for one that the workspace lies in."""
    real = os.path.realpath(root)
    own = [*map(os.path.realpath, paths.own_folders(None)), f"{real}/{OWN_FOLDER}"]
    return [one for one in own if not is_within(real, one)]


def sources(root: str, settings: Settings) -> list[CollectionFiles]:
    """The workspace's own notes and every collection, as the settings name them, without `own_folders`."""
    own, closed = settings.index, own_folders(root)
    kept = ((*own.include, OWN_SESSIONS), "auto") if settings.sessions.index else (own.include, "")
    sources = [_without(closed, CollectionFiles(WORKSPACE_COLLECTION, root, kept[0], own.ignore, kept[1]))]
    for name, collection in sorted(settings.collections.items()):
        folder = os.path.join(root, os.path.expanduser(collection.path))
        if not any(is_within(os.path.realpath(folder), one) for one in closed):
            source = CollectionFiles(name, folder, collection.glob, collection.ignore, collection.format)
            sources.append(with_archive(_without(closed, source)))
    return sources


def refused(settings: Settings, sources: Sequence[CollectionFiles]) -> list[str]:
    """Return a warning for each collection that is refused as a folder of commonplace itself."""
    gone = settings.collections.keys() - {source.name for source in sources}
    told = "collection {name} is not read: its folder holds settings and caches of commonplace; {remedy}"
    return [
        message("collection.closed", told, name=one, remedy=remedies.say("collection.drop", one))
        for one in sorted(gone)
    ]


def _without(closed: Sequence[str], source: CollectionFiles) -> CollectionFiles:
    """A source that ignores the folders in it that are `closed`, where its globs may reach them."""
    real, is_deep = os.path.realpath(source.root), any("/." in f"/{glob}" for glob in source.globs)
    within = [os.path.relpath(one, real) for one in closed if is_within(one, real)]
    more = tuple(f"{one}/" for one in within if is_deep or not is_hidden(one))
    return source._replace(ignore=(*source.ignore, *more)) if more else source


def with_archive(source: CollectionFiles) -> CollectionFiles:
    """Return a collection of transcripts with the sibling folder to which its program moves them."""
    above, name = os.path.split(source.root.rstrip("/"))
    archive = f"{above}/{_FOLDERS[1]}"
    if not source.format or name != _FOLDERS[0] or os.path.islink(archive) or not os.path.isdir(archive):
        return source
    globs, ignore = (
        tuple(f"{folder}/{glob}" for folder in _FOLDERS for glob in some)
        for some in (source.globs, source.ignore)
    )
    return source._replace(root=above, globs=globs, ignore=ignore)


def places(sources: Iterable[CollectionFiles]) -> list[str]:
    """Return the folders of collections, and the files that are a collection by themselves."""
    return [
        f"{source.root}/{start}" if start else source.place
        for source in sources
        for start in (_FOLDERS if source.globs[-1].startswith(f"{_FOLDERS[1]}/") and source.format else ("",))
    ]


def scan(sources: Sequence[CollectionFiles]) -> list[FileState]:
    """List the files of all collections; a file that two of them cover belongs to the first."""
    return states(look(sources))


def look(sources: Sequence[CollectionFiles]) -> list[Listing]:
    """Scan every collection; return one Listing each."""
    listings: list[Listing] = []
    for source in sources:
        root, links, away = os.path.realpath(source.root), list[str](), list[Away]()
        wanted, folders = source.wanted, list[Folder]()
        for start in [source.file] if source.is_file else _starting_points(source.globs):
            told = len(away)
            found = _walk(root, start, wanted, links, away)
            if len(away) == told and not wanted(start) and not any(rows for _, rows in found):
                away += _gone(root, start)
            folders += found
        if source.is_file and not folders:
            away.append(Away("", MISSING))
        listing = Listing(source, root, folders, links, away)
        if source.ignore:
            listing = listing.without(Globs(source.ignore))
        if source.format:
            listing = _readable(listing)
        listings.append(_distinct(listing, listings))
    return listings


def _readable(listing: Listing) -> Listing:
    """Drop backups, duplicates and unknown renames of transcripts; report packed ones that cannot be read."""
    unwanted, away = set[str](), list[Away]()
    for prefix, rows in listing.folders:
        later = sorted(row for row in rows if ".jsonl." in row[0])
        sizes = {name: size for name, _, size in rows} if later else {}
        for name, _, size in later:
            plain, unpacked = written_as(name), packed.without_ending(name)
            is_backup = name[len(plain) + 1 :].startswith(_BACKUPS) and plain in sizes
            if is_backup or plain == name or sizes.get(plain) == size or sizes.get(unpacked, size) != size:
                unwanted.add(prefix + name)
            elif why := packed.trouble(name):
                unwanted.add(prefix + name)
                away.append(Away(prefix + name, why))
            sizes.setdefault(unpacked, -1)
    return (
        listing.without(unwanted.__contains__)._replace(away=[*listing.away, *away]) if unwanted else listing
    )


def left_aside(sources: Sequence[CollectionFiles], known: Sequence[str]) -> list[str]:
    """Return Markdown files in no collection, except `known` names; stop after 20,000 files and folders.

    Ignored files are left out.
    """
    own, others = sources[0], {os.path.realpath(source.root) for source in sources[1:]}
    here = [one for one in sources if os.path.realpath(one.root) == os.path.realpath(own.root)]
    globs = [glob for one in here for glob in (*one.globs, *one.ignore)]
    chosen = Globs((*globs, *known))

    def is_skipped(folder: str) -> bool:  # all of it is searched, or ignored
        return f"{own.root}/{folder}" in others or ".md" in chosen.endings(f"{folder}/")

    found = walked(own.root, is_skipped)
    return sorted(path for path in found if path.endswith(".md") and not chosen(path))


def walked(root: str, is_skipped: Callable[[str], bool] = lambda folder: False) -> Iterator[str]:
    """Yield the paths of files below a folder but for hidden ones, as far as its first thousands."""
    left = _MOST_ASIDE
    for folder, names, files in os.walk(root):
        prefix = f"{folder[len(root) :]}/".lstrip("/")
        shown = [name for name in names if name[0] != "." and not is_ignored(prefix, name)]
        names[:] = [name for name in shown if not is_skipped(f"{prefix}{name}")]
        yield from (f"{prefix}{name}" for name in files if name[0] != ".")
        if (left := left - len(files) - len(names)) < 0:
            return


def _real(path: str) -> str:
    """Where links lead; the path itself where it is replaced by a file meanwhile."""
    try:
        return os.path.realpath(path)
    except OSError:
        return path


def _distinct(listing: Listing, others: Sequence[Listing]) -> Listing:
    """Return a listing without the files that others have, and without links to files of its own."""
    root = listing.root  # links stay inside their root: only collections with nested roots share files
    nested = [one for one in others if is_within(root, one.root) or is_within(one.root, root)]
    if not (nested or listing.links):
        return listing
    links, seen, taken = set(listing.links), {_real(one.absolute) for one in states(nested)}, set[str]()
    for state in sorted(listing.states(), key=lambda state: (state.path in links, state.path)):
        real = _real(state.absolute) if nested or state.path in links else state.absolute
        if real in seen:
            taken.add(state.path)
        seen.add(real)
    return listing.without(taken.__contains__) if taken else listing


def states(listings: Sequence[Listing]) -> list[FileState]:
    """The files of all listings one by one."""
    return [state for listing in listings for state in listing.states()]


def fingerprint(listings: Sequence[Listing]) -> bytes:
    """A whole scan as bytes: equal only if every file has the path, size and time it had.

    Comparing them replaces ten thousand comparisons by one. Marshal's second format has no references, so
    equal values give equal bytes.
    """
    return marshal.dumps([(tuple(listing.source), listing.folders) for listing in listings], 2)


def _starting_points(globs: Sequence[str]) -> list[str]:
    """Return the deepest folders, or single files, that contain every match."""
    starts = set()
    for glob in (glob for each in globs for glob in unbraced(each)):
        fixed = glob[: min((at for at in map(glob.find, _WILD) if at >= 0), default=len(glob))]
        starts.add(fixed.rstrip("/") if fixed == glob else fixed.rpartition("/")[0])
    return sorted(
        start
        for start in starts
        if not any(not other or start.startswith(f"{other}/") for other in starts - {start})
    )


def _gone(root: str, start: str) -> list[Away]:
    """A folder without a wanted file as a place that is away: moved, or where a disk is to be mounted.

    Other files do not count: sync programs and editors leave folders of settings and pictures behind.
    """
    folder, place = _real(f"{root}/{start}"), f"{start}/".lstrip("/")
    if not is_within(folder, root):
        return []
    return [Away(place, EMPTY if os.path.isdir(folder) else MISSING)]


def inode(path: str) -> int:
    """Return the inode of a file or folder; 0 if it is missing."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return 0


def _walk(root: str, start: str, wanted: Globs, links: list[str], away: list[Away]) -> list[Folder]:
    """The wanted regular files at or below `start`, by folder, links as well; both lists are added to.

    Hidden files are left out: macOS makes a `._a.md` for `a.md` on foreign disks.
    """
    files = Root(root)
    try:
        place = files.resolve(start)[len(files.path) :] if start else ""
    except OSError:
        return []  # a link that leaves the root
    if start and not files.is_folder(place.lstrip("/")):
        return _single(root, start, links) if wanted(start) else []
    folders: list[Folder] = []
    pending = [f"{start}/".lstrip("/")]
    with files.visiting() as enter:
        while pending:
            prefix = pending.pop()
            try:
                # Through the descriptor the kernel looks up one name for each file, not its whole path.
                with os.scandir(enter(f"{place}/{prefix[len(start) :]}".lstrip("/"))) as entries:
                    rows = _rows(entries, root, prefix, wanted, links, pending, away)
            except (FileNotFoundError, NotADirectoryError, Unsafe):
                continue  # it vanished, or became a file or a link
            except OSError as error:
                away.append(Away(prefix, refusal(error)))
                continue
            folders.append((prefix, rows))
    return folders


def _rows(
    entries: Iterable[os.DirEntry[str]],
    root: str,
    prefix: str,
    wanted: Globs,
    links: list[str],
    pending: list[str],
    away: list[Away],
) -> list[Row]:
    """The wanted files among the entries of a folder; links, folders and files out of reach are listed."""
    endings, rows = wanted.endings(prefix), list[Row]()
    for entry in entries:
        name = entry.name
        if name[0] == ".":
            continue
        right = name.endswith(endings) or wanted(prefix + name)
        if right and (status := _status(entry, root, prefix, links, away)):
            rows.append((name, status.st_mtime_ns, status.st_size))
        elif not is_ignored(prefix, name) and entry.is_dir(follow_symlinks=False):
            pending.append(f"{prefix}{name}/")
    return rows


def _single(root: str, path: str, links: list[str]) -> list[Folder]:
    """A glob without wildcards names one file."""
    if path.rpartition("/")[2].startswith("."):
        return []
    absolute = f"{root}/{path}"
    if os.path.islink(absolute):
        links.append(path)
    try:
        status = os.stat(absolute)
    except OSError:
        return []
    if S_ISREG(status.st_mode):
        return [("", [(path, status.st_mtime_ns, status.st_size)])]
    return []


def _status(
    entry: os.DirEntry[str], root: str, prefix: str, links: list[str], away: list[Away]
) -> os.stat_result | None:
    """Status of a regular file, or of one behind a link that stays inside the root."""
    try:
        if entry.is_file(follow_symlinks=False):
            return entry.stat(follow_symlinks=False)
        if entry.is_symlink() and is_within(os.path.realpath(f"{root}/{prefix}{entry.name}"), root):
            links.append(f"{prefix}{entry.name}")
            return entry.stat() if entry.is_file() else None
    except FileNotFoundError:
        return None
    except OSError as error:
        away.append(Away(f"{prefix}{entry.name}", refusal(error)))
    return None


class Globs:
    """Globs as a predicate over posix paths relative to the root.

    `**/` stands for any folders, `*` and `?` stay inside one name, `[...]` is a set, `{a,b}` either,
    `folder/` covers all below it, and each glob the file that is called so. Names, and all files of one
    ending below one folder, cost no regular expression.
    """

    def __init__(self, globs: Sequence[str]) -> None:
        self._names = frozenset(map(composed, globs))
        globs = tuple(composed(glob) for each in globs for glob in unbraced(each))
        names = frozenset(g for g in globs if not _is_wild(g) and not g.endswith("/"))
        endings = {glob: ending for glob in globs if (ending := _ending(glob))}
        rest = tuple(glob for glob in globs if glob not in names and glob not in endings)
        self._names |= names
        self._endings = tuple(endings.values())
        self._match = _expression(rest).fullmatch if rest else None

    def endings(self, folder: str) -> tuple[str, ...]:
        """Endings of names that are enough for a file of this folder (a slash at its end) to match."""
        return tuple(ending for above, ending in self._endings if composed(folder).startswith(above))

    def __call__(self, path: str) -> bool:
        """Tell whether a path matches, however its letters are written."""
        path = composed(path)
        return (
            path in self._names
            or any(path.endswith(ending) and path.startswith(folder) for folder, ending in self._endings)
            or (self._match is not None and self._match(path) is not None)
        )


def unbraced(glob: str) -> list[str]:
    """Return a glob for each alternative in braces; one with too many stays as it is."""
    globs = [glob]
    while "{" in globs[0] and (braces := _BRACES.search(globs[0])):
        choices = braces[1].split(",")
        globs = [_BRACES.sub(choice.replace("\\", r"\\"), one, 1) for one in globs for choice in choices]
        if len(globs) > _MOST_GLOBS:
            return [glob]
    return globs


def _is_wild(glob: str) -> bool:
    return any(sign in glob for sign in _WILD)


def _ending(glob: str) -> tuple[str, str] | None:
    """Folder and ending of a glob such as `memory/**/*.md`; None for one of another shape."""
    folder, stars, ending = glob.partition("**/*.")
    plain = (not folder or folder.endswith("/")) and not _is_wild(folder)
    return (folder, f".{ending}") if stars and plain and ending.isalnum() else None


@lru_cache(maxsize=64)
def _expression(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(_translate, globs)))


def _translate(glob: str) -> str:
    """Translate one glob to a regular expression; `folder/` covers all below it."""
    if glob.endswith("/"):
        glob += "**"
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]/]+\])", re.sub(r"(?:\*\*/)+", "**/", glob))
    if sum(part.startswith("**") for part in parts[1::2]) > _MOST_DEEP:
        return "(?!)"
    table = {"**/": "(?:.*/)?", "**": ".*", "?": "[^/]"}
    written = ""
    for place, part in enumerate(parts):
        if not place % 2:
            written += re.escape(part.replace("\0", ""))
        elif part != "*":
            written += table.get(part) or _character_set(part)
        else:
            written += "\0"  # a star, which is written with what stands behind it
    return "/".join(map(_segment, written.split("/"))) if "\0" in written else written


def _segment(written: str) -> str:
    """One name of a glob with its stars: each but the last takes the first place where the rest goes on.

    So no star is tried again, and the time does not grow with the power of their number (as in `fnmatch`).
    """
    first, *rest = written.split("\0")
    if not rest:
        return first
    inner = "".join(f"(?>[^/]*?{part})" for part in rest[:-1] if part)
    return f"{first}{inner}[^/]*{rest[-1]}"


def _character_set(glob: str) -> str:
    """A set as a regular expression, never matching a slash; one that makes no sense is taken as it is."""
    negated = glob[1] in "!^"
    body = re.escape(glob[2:-1] if negated else glob[1:-1]).replace("\\-", "-")
    try:
        re.compile(f"[{body}]")
    except re.error:
        return re.escape(glob)
    return f"[^/{body}]" if negated else f"(?!/)[{body}]"
