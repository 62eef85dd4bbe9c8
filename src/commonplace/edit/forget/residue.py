"""Verification of a forgetting: the byte scan, and places out of reach, each with a remedy.

Every file of the workspace and of the user's caches is read whole; stores are not queried. Text is found as
it is, escaped for JSON and folded; in databases in every row, and in the bytes between them. UTF-16
without a mark is not found. Git, collections, providers and backups are the owner's to clean.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

import apsw

from commonplace.base import paths, records
from commonplace.base.database import SIDE_FILES, connect, quoted
from commonplace.base.errors import CommonplaceError
from commonplace.base.root import Root, read_whole
from commonplace.base.snapshot import standing
from commonplace.edit.forget.notes import Context
from commonplace.edit.forget.targets import Targets
from commonplace.markdown.document import decode
from commonplace.notes import scan as listing
from commonplace.render import count as counted
from commonplace.storage import journal
from commonplace.types.changes import Trace, Unreachable
from commonplace.types.store import Site

_SHOWN = 5  # names in one line
_SQLITE = b"SQLite format 3\0"
_SHORTEST = 5  # bytes of a form that is no chance between the rows of a database
_ROWS = 500  # rows of a database that are looked through as one text
_MARKS = b"\xff\xfe", b"\xfe\xff"  # of UTF-16
_BLOCK, _OVERLAP = 1 << 22, 1 << 13
_LARGEST_RECORD = 1 << 26
_MOST = 1 << 34  # bytes of one file: what holds more would take longer than anybody waits
_NOT_OURS = frozenset({"models", "eval"})  # in the cache: downloaded weights, public question sets
_OWN_KEYS = frozenset({"kind", "by", "state", "writer"})  # whose values are words of the program
_KEY = re.compile("[a-z_]+")
_DATED = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.+Z-]*)?")


class Forms:
    """The searched words, and their forms as bytes in lower case."""

    def __init__(self, targets: Targets) -> None:
        """Prepare a scan."""
        self.words = (targets.whole, targets.parts)
        cases = (str, str.lower, str.upper, str.title, str.casefold)
        written = sorted({case(form) for words in self.words for form in words.forms for case in cases})
        encoded = dict.fromkeys(form.encode("utf-8", "surrogatepass").lower() for form in written)
        self.between_rows = [form for form in encoded if len(form) >= _SHORTEST]
        self.sessions = targets.mentions

    def count(self, text: str) -> int:
        """Count the matches in a text."""
        return sum(len(words.spans(text)) for words in self.words) + len(self.sessions.findall(text))


def scan(site: Site, targets: Targets) -> list[Trace]:
    """Return the files in which something is still found, and what could not be looked into."""
    sought = Forms(targets)
    traces: list[Trace] = []

    def closed(path: Path, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # deleted meanwhile
            reason = f"could not be looked into: {paths.reason(error)}"
            traces.append(Trace(site.shown(path), 0, reason))

    for path in map(Path, files(site, lambda error: closed(Path(error.filename), error))):
        shown = site.shown(path)
        try:
            if count := of_file(path, sought):
                traces.append(Trace(shown, count))
            elif targets.matches(shown):
                traces.append(Trace(shown, 1, "its name says it: rename it"))
        except OSError as error:
            closed(path, error)
    return [*traces, *_named(site, targets)]


def _named(site: Site, targets: Targets) -> Iterator[Trace]:
    """Yield links and empty folders of the workspace, but for our own, whose names match."""
    own = (".git", paths.DERIVED_FOLDER)
    for folder, entries in _walk(site.workspace.root, lambda _, name: name not in own, lambda _: None):
        for bare in [one.path for one in entries if one.is_symlink()] if entries else [folder]:
            if targets.matches(shown := site.shown(Path(bare))):
                yield Trace(shown, 1, "its name says it: delete or rename it")


def files(site: Site, closed: Callable[[OSError], None]) -> Iterator[str]:
    """Yield every file that could hold something: of the workspace, but for git's, and of the caches.

    `closed` is called for each folder that cannot be listed.
    """
    seen: set[str] = set()
    is_foreign = _foreign_folders(site)
    places = site.workspace.root, site.workspace.state, paths.user_cache_dir(), site.index.parent
    for place in (*places, site.usage.parent):
        walked = _walk(place, lambda folder, name: name != ".git" and not is_foreign(folder, name), closed)
        every = chain.from_iterable(entries for _, entries in walked)
        for path in (one.path for one in every if one.is_file(follow_symlinks=False)):
            if path not in seen:
                seen.add(path)
                yield path


def _walk(
    place: Path, is_entered: Callable[[str, str], bool], closed: Callable[[OSError], None]
) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Yield a folder and those below it, each with all that is in it, sorted; no link is followed.

    Asks of each folder, by the real path of the one above and its name, whether to enter it.
    """
    folders = [os.fspath(place)]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as opened:
                entries = sorted(opened, key=lambda one: one.name)
        except OSError as error:
            closed(error)
            continue
        yield folder, entries
        inner = [one for one in reversed(entries) if one.is_dir(follow_symlinks=False)]
        real = os.path.realpath(folder)
        folders += [one.path for one in inner if is_entered(real, one.name)]


def _foreign_folders(site: Site) -> Callable[[str, str], bool]:
    """Tell whether a name in a folder (a real path) is outside of this workspace.

    The indexes of other workspaces in the cache are cleaned by forgetting there.
    """
    cache = os.path.realpath(paths.user_cache_dir())
    indexes = os.path.realpath(site.workspace.index.parent.parent)
    own = os.path.realpath(site.index.parent)

    def is_foreign(folder: str, name: str) -> bool:
        in_cache = folder == cache and name in _NOT_OURS
        return in_cache or (folder == indexes and os.path.join(folder, name) != own)

    return is_foreign


def of_file(path: Path, sought: Forms) -> int:
    """Return how often something is found in a file. Raises OSError."""
    with Root(path.parent).open(path.name) as file:
        head = file.read(len(_SQLITE))
        file.seek(0)
        side = next((end for end in SIDE_FILES if path.name.endswith(end)), "")
        if head == _SQLITE or side:
            main = path.with_name(path.name.removesuffix(side)) if side else path
            return _in_database(main, _blocks(file), sought, rows=not side)
        if path.suffix in (".z", ".json") and (
            path.is_relative_to(paths.user_state_dir()) or paths.DERIVED_FOLDER in path.parts
        ):
            if path.suffix == ".z":
                return _in_text(records.unpacked(file.read()), sought)
            if os.fstat(file.fileno()).st_size <= _LARGEST_RECORD:
                return _in_record(file.read(), sought)
        return sum(_in_text(block, sought) for block in _blocks(file))


def _in_record(data: bytes, sought: Forms) -> int:
    """Count what one of our records says in values; keys, kinds and dates are its own."""
    text = data.decode("utf-8", "replace")
    values = "\n".join(_values(text)).encode("utf-8", "surrogatepass")
    return len(sought.sessions.findall(text)) or _in_text(values, sought)


def _values(text: str) -> list[str]:
    """The values in a text: those of JSON, or the text itself."""
    with suppress(ValueError, RecursionError):
        return [*_said(json.loads(text))] if text.startswith("{") else [text]
    return [text]


def _said(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        yield from () if _DATED.fullmatch(value) or value == journal.WAITING else (value,)
    elif isinstance(value, list):
        yield from chain.from_iterable(map(_said, value))
    elif isinstance(value, dict):
        # The title of a forgetting says how much, never what.
        own = {*_OWN_KEYS, "title"} if value.get("kind") == "forget" else _OWN_KEYS
        for key, inner in value.items():
            if key not in own:
                yield from () if _KEY.fullmatch(key) else (key,)
                yield from _said(inner)


def _blocks(file: Any) -> Iterator[bytes]:  # noqa: ANN401 - a file opened for bytes
    """The bytes of a file, some at a time; what stands where two meet is in both. Raises OSError."""
    if os.fstat(file.fileno()).st_size > _MOST:
        raise OSError(errno.EFBIG, f"it holds more than {_MOST:,} bytes")
    tail = b""
    while block := file.read(_BLOCK):
        yield tail + block
        tail = block[-_OVERLAP:]


def _in_text(data: bytes, sought: Forms) -> int:
    return sought.count(decode(data) if data[:2] in _MARKS else data.decode("utf-8", "replace"))


def _in_database(path: Path, blocks: Iterable[bytes], sought: Forms, *, rows: bool) -> int:
    """Count rows that hold it, and forms between the rows that no row explains."""
    near = {form for block in map(bytes.lower, blocks) for form in sought.between_rows if form in block}
    count, explained = 0, set[bytes]()
    for texts, whole in _texts(path) if near or rows else ():
        if rows and sought.count("\n\n".join(texts)):  # a date alone is the program's own
            count += sum(sought.count(text) for text in texts if not _DATED.fullmatch(text))
        lower = "\n\n".join(whole).encode("utf-8", "surrogatepass").lower() if near else b""
        explained |= {form for form in near - explained if form in lower}
    return count + len(near - explained)


def _texts(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    """Yield texts in rows of a database, without the words of the program and all; stop at an unreadable row.

    SQLite writes into side files of a database; in a folder of notes these may belong to others.
    """
    is_ours = any(path.is_relative_to(folder) for folder in (paths.user_state_dir(), paths.user_cache_dir()))
    is_state = path.name == "state.sqlite" and path.is_relative_to(paths.user_state_dir())
    query = "" if is_ours else "immutable=1"
    with (
        suppress(apsw.Error, OSError, CommonplaceError),
        nullcontext(path) if is_ours else standing(path) as file,
        closing(connect(Root(os.path.dirname(file)), file, readonly=True, query=query)) as connection,
    ):
        tables: Any = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
        for name in [name for name, sql in tables if "VIRTUAL TABLE" not in str(sql).upper()]:
            names = [
                str(one) for (one,) in connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
            ]
            kinds = "'text', 'blob'" if name == "meta" or is_state else "'text'"
            texts = [f"iif(typeof({quoted(one)}) IN ({kinds}), {quoted(one)}, '')" for one in names]
            rows: Any = connection.execute(f"SELECT {', '.join(texts)} FROM {quoted(name)}")
            while some := list(islice(rows, 1 if name == "blob" and is_state else _ROWS)):
                pairs = [(one, value) for row in some for one, value in zip(names, row, strict=True) if value]
                whole = [one if isinstance(one, str) else decode(records.unpacked(one)) for _, one in pairs]
                said = (text for (one, _), text in zip(pairs, whole, strict=True) if one not in _OWN_KEYS)
                yield ([value for text in said for value in _values(text)] if is_state else whole), whole


# --- out of reach ---------------------------------------------------------------------------------------


def unreachable(context: Context, targets: Targets, *, was_here: bool) -> list[Unreachable]:
    """Return what is left to the owner, as far as it can be named; never raises.

    Copies elsewhere are named only where the text was found here.
    """
    rows = list(_collections(context, targets))
    if not was_here:
        return rows
    root = Path(os.path.realpath(context.workspace.root))
    if any(os.path.lexists(folder / ".git") for folder in (root, *root.parents)):
        what = "commits, staged files and stashes of git, which are not searched"
        rows.append(Unreachable(what, "see `git log --all -S WORDS` and git filter-repo", "git"))
    rows += _providers(context)
    copies = "backups, snapshots and copies of this folder on other disks and machines"
    return [*rows, Unreachable(copies, "delete them there, or let them grow old", "backups")]


def _providers(context: Context) -> Iterator[Unreachable]:
    """Name the models of providers that were called, and their batches, as far as the ledger is readable."""
    from commonplace.providers.catalog import EMBEDDERS, LLMS, RERANKERS
    from commonplace.providers.costs import Ledger
    from commonplace.providers.embedding.batch import Store

    local = {name for table in (EMBEDDERS, LLMS, RERANKERS) for name in table.rows if table.find(name).local}
    with closing(Ledger(context.workspace.ledger)) as ledger, suppress(CommonplaceError):
        models = [cost.name for cost in ledger.costs("model")]
        if called := [name for name in models if name.partition("/")[0] not in local]:
            what = f"what models of providers were sent, and what those keep of it: {listed(called)}"
            yield Unreachable(what, "ask the providers to delete it", "providers")
        if jobs := Store(ledger).read():
            what = f"{counted(len(jobs), 'batch', 'batches')} of texts that an embedding provider works on"
            yield Unreachable(what, "cancel them with the provider", "batches")


def _collections(context: Context, targets: Targets) -> Iterator[Unreachable]:
    """Name the files of collections that hold it: they are not ours to change."""
    for source in context.sources[1:]:
        holding, packed = [], []
        for state in listing.scan([source]):
            if state.path.lower().endswith(".zip"):
                packed.append(state.path)
                continue
            try:
                with state.open() as file:
                    text = read_whole(file, state.path).decode("utf-8", "replace")
            except FileNotFoundError:
                continue
            except OSError as error:
                what = f"collection {source.name}: {state.path}: {paths.reason(error)}"
                yield Unreachable(what, "see whether it holds any of it, and change it there")
                continue
            if targets.matches(text):
                holding.append(state.path)
        if holding:
            what = f"collection {source.name}: {listed(holding)}; the index has them from there"
            remedy = "they are not ours to change: change them there, or take the collection away, then sync"
            yield Unreachable(what, remedy, "collection")
        if packed:
            yield Unreachable(f"collection {source.name}: archives were not looked into: {listed(packed)}",
                              "look into them with the program that made them")  # fmt: skip


def listed(names: Sequence[str]) -> str:
    """Name some of several."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
