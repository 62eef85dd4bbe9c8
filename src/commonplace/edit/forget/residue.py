"""Verification of a forgetting: a scan of all bytes, and places out of reach, each with a remedy.

Every file of the workspace and of the user's caches is read. Of our databases all rows are searched, and the
bytes for words that no row has. UTF-16 and what is packed or encoded elsewhere is not found. Git,
collections, providers and backups are the owner's to clean.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw

from commonplace.base import paths, records
from commonplace.base.database import SIDE_FILES, connect, quoted
from commonplace.base.errors import CommonplaceError
from commonplace.base.root import Root, read_whole
from commonplace.edit.forget.notes import Context
from commonplace.edit.forget.targets import Targets
from commonplace.edit.forget.words import together
from commonplace.markdown.document import decode
from commonplace.notes import scan as listing
from commonplace.render import count as counted
from commonplace.storage.state import NAME as STATE
from commonplace.types.changes import Trace, Unreachable
from commonplace.types.store import Site

_SHOWN = 5  # names in one line
_SHORTEST = 5  # bytes of a form that is no chance between the rows of a database
_BLOCK, _OVERLAP = 1 << 22, 1 << 13
_MOST = 1 << 34  # bytes of one file: what holds more would take longer than anybody waits
_NOT_OURS = frozenset({"models", "eval"})  # in the cache: downloaded weights, public question sets
_OWN_COLUMNS = frozenset({"kind", "by", "state", "writer", "sql"})  # which hold words of the program
# And of JSON in the state: keys, kinds and dates, and the title of a forgetting, which says how much.
_OWN_WORDS = re.compile(
    r'"(?:kind|by|state)": "[a-z]*"|"title": "forget [\d,]+ \w+"|"[a-z_]+":'
    r'|"\d{4}-\d\d-\d\d(?:[T ][\d:.+Z-]*)?"'
)
_DATED = re.compile(r"(?m)^\d{4}-\d\d-\d\d(?:[T ][\d:.+Z-]*)?$")


class Forms:
    """The searched words, and their forms as bytes in lower case."""

    def __init__(self, targets: Targets) -> None:
        """Prepare a scan."""
        self._words, self._sessions = (targets.whole, targets.parts), targets.mentions
        cases = (str, str.lower, str.upper, str.title, str.casefold)
        written = {case(form) for words in self._words for form in words.forms for case in cases}
        encoded = {form.encode("utf-8", "surrogatepass").lower() for form in written}
        self.long = frozenset(form for form in encoded if len(form) >= _SHORTEST)

    def count(self, text: str) -> int:
        """Count the matches in a text."""
        return sum(len(words.spans(text)) for words in self._words) + len(self._sessions.findall(text))


def scan(site: Site, targets: Targets) -> list[Trace]:
    """Return the files in which something is still found, and what could not be looked into."""
    sought, traces = Forms(targets), list[Trace]()

    def closed(path: str, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # deleted meanwhile
            reason = f"could not be looked into: {paths.reason(error)}"
            traces.append(Trace(site.shown(Path(path)), 0, reason))

    for path, is_file in _entries(site, closed):
        shown, count = site.shown(Path(path)), 0
        try:
            count = of_file(Path(path), sought) if is_file else 0
        except OSError as error:
            closed(path, error)
        if count:
            traces.append(Trace(shown, count))
        elif targets.matches(shown):
            traces.append(
                Trace(shown, 1, f"its name says it: {'rename it' if is_file else 'delete or rename it'}")
            )
    return traces


def _entries(site: Site, closed: Callable[[str, OSError], None]) -> Iterator[tuple[str, bool]]:
    """Yield the files, links and empty folders of the workspace and of the caches; True for files.

    Git and the indexes of other workspaces are left out. `closed` is called for what cannot be listed.
    """
    cache, indexes, own = (
        os.path.realpath(path)
        for path in (paths.user_cache_dir(), site.workspace.index.parent.parent, site.index.parent)
    )
    places = (site.workspace.root, site.workspace.state, cache, site.index.parent, site.usage.parent)
    folders, seen = [os.fspath(place) for place in places], set[str]()
    while folders:
        folder = folders.pop()
        if (real := os.path.realpath(folder)) in seen:
            continue
        seen.add(real)
        try:
            with os.scandir(folder) as opened:
                entries = sorted(opened, key=lambda one: one.name)
        except OSError as error:
            closed(folder, error)
            continue
        if not entries:
            yield folder, False
        for one in entries:
            if not one.is_dir(follow_symlinks=False):
                if one.is_symlink() or one.is_file():
                    yield one.path, not one.is_symlink()
                continue
            is_foreign = one.name in _NOT_OURS if real == cache else real == indexes
            if one.name != ".git" and (not is_foreign or os.path.join(real, one.name) == own):
                folders.append(one.path)


def of_file(path: Path, sought: Forms) -> int:
    """Return how often something is found in a file. Raises OSError."""
    side = next((end for end in SIDE_FILES if path.name.endswith(end)), "")
    main = path.with_name(path.name.removesuffix(side))
    is_ours = any(path.is_relative_to(folder) for folder in (paths.user_state_dir(), paths.user_cache_dir()))
    with Root(path.parent).open(path.name) as file:
        if is_ours and main.suffix in (".sqlite", ".damaged"):
            return _in_database(main, _blocks(file), sought, rows=not side)
        return sum(sought.count(block.decode("utf-8", "replace")) for block in _blocks(file))


def _blocks(file: Any) -> Iterator[bytes]:  # noqa: ANN401 - a file opened for bytes
    """The bytes of a file, some at a time; what stands where two meet is in both. Raises OSError."""
    if os.fstat(file.fileno()).st_size > _MOST:
        raise OSError(errno.EFBIG, f"it holds more than {_MOST:,} bytes")
    tail = b""
    while block := file.read(_BLOCK):
        yield tail + block
        tail = block[-_OVERLAP:]


def _in_database(path: Path, blocks: Iterator[bytes], sought: Forms, *, rows: bool) -> int:
    """Count the sought words in the rows of a database, and those in its file that no row has."""
    near = {form for block in map(bytes.lower, blocks) for form in sought.long if form in block}
    count, own = 0, _OWN_WORDS if path.name == STATE else _DATED
    for texts in together(_texts(path)) if near or rows else ():
        said = "\n\n".join(text for (column, _), text in texts.items() if column not in _OWN_COLUMNS)
        count += sought.count(own.sub("", _DATED.sub("", said))) if rows else 0
        every = "\n\n".join(texts.values()).encode("utf-8", "surrogatepass").lower() if near else b""
        near = {form for form in near if form not in every}
    return count + len(near)


def _texts(path: Path) -> Iterator[tuple[tuple[str, int], str]]:
    """Yield the texts in rows of a database, each with its column and a number; stop at an unreadable row."""
    number = 0
    with (
        suppress(apsw.Error, OSError, CommonplaceError),
        closing(connect(Root(path.parent), path, readonly=True)) as connection,
    ):
        tables: Any = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
        ordinary = [name for name, sql in tables if "VIRTUAL TABLE" not in str(sql).upper()]
        for name in (*ordinary, "sqlite_schema"):
            columns: Any = connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
            names = ["sql"] if name == "sqlite_schema" else [str(column) for (column,) in columns]
            kinds = (str, bytes) if name == "meta" or path.name == STATE else str
            for row in connection.execute(f"SELECT {', '.join(map(quoted, names))} FROM {quoted(name)}"):
                for column, value in zip(names, row, strict=True):
                    if isinstance(value, kinds):
                        text = value if isinstance(value, str) else decode(records.unpacked(value))
                        yield (column, number := number + 1), text


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
