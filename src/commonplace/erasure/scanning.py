"""The byte scan: every file of the workspace and of the user's caches, read whole, for what was forgotten.

It trusts nothing that the erasing knows: text is looked for as it is, escaped, percent-encoded, folded, in
UTF-8 and UTF-16; in databases in every row, and in the bytes between them.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from commonplace import paths
from commonplace.base.connection import SIDE_FILES, connect
from commonplace.base.root import Root
from commonplace.erasure import requests
from commonplace.erasure.files import SESSIONS, stem_of
from commonplace.erasure.ground import Ground
from commonplace.erasure.messages import unescaped
from commonplace.erasure.wanted import Wanted
from commonplace.history import runs
from commonplace.index import schema
from commonplace.types.erasure import Trace

_SQLITE = b"SQLite format 3\0"
_SHORTEST = 5  # bytes of a form that is told from chance between the rows of a database
_SHORTEST_WIDE = 8  # and in UTF-16 in a file that does not say that it is
_BLOCK, _OVERLAP = 1 << 26, 1 << 13
_MOST = 1 << 34  # bytes of one file: what holds more would take longer than anybody waits
_NOT_OURS = frozenset({"models", "eval"})  # in the cache: downloaded weights, public question sets
_OWN_KEYS = frozenset({"kind", "by", "state"})  # whose values are words of ours
_KEY = re.compile("[a-z_]+")
_DATED = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.+Z-]*)?")
_PLAIN_ID = r"A-Za-z0-9._-"


class Forms(NamedTuple):
    """What is looked for: the words, and how they may stand as bytes in lower case."""

    wanted: Wanted
    narrow: tuple[bytes, ...]
    wide: tuple[bytes, ...]
    sessions: re.Pattern[str] | None

    def found(self, text: str) -> int:
        """Return how often any of it stands in a text."""
        count = len(self.wanted.whole.spans(text)) + len(self.wanted.parts.spans(text))
        return count + (len(self.sessions.findall(text)) if self.sessions else 0)


def forms(wanted: Wanted) -> Forms:
    """Prepare a scan."""
    told = sorted({one for form in (wanted.whole.forms | wanted.parts.forms) for one in _cases(form)})
    narrow = dict.fromkeys(form.encode("utf-8", "surrogatepass").lower() for form in told)
    wide = dict.fromkeys(
        form.encode(encoding, "surrogatepass").lower()
        for form in told
        for encoding in ("utf-16-le", "utf-16-be")
    )
    return Forms(wanted, tuple(narrow), tuple(wide), _of_sessions(wanted))


def _cases(form: str) -> set[str]:
    return {form, form.lower(), form.upper(), form.title(), form.casefold()}


def _of_sessions(wanted: Wanted) -> re.Pattern[str] | None:
    if not wanted.sessions:
        return None
    ids = "|".join(re.escape(one) for one in {*wanted.sessions, *wanted.told_sessions})
    stems = "|".join(re.escape(stem_of(session)) for session in wanted.sessions)
    named = rf"session[\"'\\]*\s*[:=]\s*[\"'\\]*(?:{ids})(?![{_PLAIN_ID}])"
    return re.compile(rf"{named}|{SESSIONS}/(?:{stems})(?:\.jsonl|(?![{_PLAIN_ID}]))")


def scan(ground: Ground, wanted: Wanted) -> list[Trace]:
    """Return the files in which something is still found, and what could not be looked into."""
    sought = forms(wanted)
    found: list[Trace] = []

    def closed(path: Path, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # what vanished meanwhile holds nothing
            told = f"could not be looked into: {paths.reason(error)}"
            found.append(Trace(ground.shown(path), 0, told))

    for path in files(ground, lambda error: closed(Path(error.filename), error)):
        shown = ground.shown(path)
        try:
            if count := of_file(path, sought) or _asks_for(ground, path, wanted):
                found.append(Trace(shown, count))
            elif wanted.found(shown):
                found.append(Trace(shown, 1, "its name says it: rename it"))
        except OSError as error:
            closed(path, error)
    bare = map(ground.shown, _without_bytes(ground))
    found += [Trace(one, 1, "its name says it: delete or rename it") for one in bare if wanted.found(one)]
    return found


def _asks_for(ground: Ground, path: Path, wanted: Wanted) -> int:
    """Count a request of an agent for what was forgotten: it holds lines, whose words nobody looks for."""
    if path.parent != requests.folder(ground.workspace):
        return 0
    request = requests.read(ground.workspace, path)
    return int(request is not None and request.goes_with(wanted))


def _without_bytes(ground: Ground) -> Iterator[Path]:
    """Yield links and empty folders of the workspace, but for our own: nothing but their names says it."""
    for folder, inner, names in os.walk(ground.workspace.root):
        inner[:] = [name for name in inner if name not in (".git", paths.DERIVED_FOLDER)]
        if not (inner or names):
            yield Path(folder)
        yield from (
            Path(folder, name) for name in (*inner, *names) if os.path.islink(os.path.join(folder, name))
        )


def files(ground: Ground, closed: Callable[[OSError], None]) -> Iterator[Path]:
    """Yield every file that could hold something: of the workspace, but for git's, and of the caches.

    The indexes of other workspaces in the cache are theirs: their notes say it, and they forget it. `closed`
    is told of each folder that cannot be listed.
    """
    seen: set[str] = set()
    cache = paths.user_cache_dir()
    own = {os.path.realpath(index.parent) for index in ground.indexes}
    indexes = os.path.realpath(paths.fallback_index(ground.workspace.root).parent.parent)
    places = [ground.workspace.root, cache, ground.index.parent, ground.usage.parent]
    for place in places:
        for folder, inner, names in os.walk(place, onerror=closed):
            at_cache = os.path.realpath(folder) == os.path.realpath(cache)
            inner[:] = sorted(n for n in inner if n != ".git" and not (at_cache and n in _NOT_OURS))
            if os.path.realpath(folder) == indexes:
                inner[:] = [name for name in inner if os.path.join(indexes, name) in own]
            for name in sorted(names):
                path = os.path.join(folder, name)
                if path not in seen and os.path.isfile(path) and not os.path.islink(path):
                    seen.add(path)
                    yield Path(path)


def of_file(path: Path, sought: Forms) -> int:
    """Return how often something is found in a file. Raises OSError."""
    with Root(path.parent).open(path.name) as file:
        head = file.read(len(_SQLITE))
        file.seek(0)
        side = next((end for end in SIDE_FILES if path.name.endswith(end)), "")
        if head == _SQLITE or side:
            main = path.with_name(path.name.removesuffix(side)) if side else path
            return _in_database(main, _blocks(file), sought, rows=not side)
        ours = path.suffix == ".json" and paths.DERIVED_FOLDER in path.parts
        if ours and os.fstat(file.fileno()).st_size <= _BLOCK:
            return _in_record(file.read(), sought)
        return sum(_in_text(block, sought) for block in _blocks(file))


def _in_record(data: bytes, sought: Forms) -> int:
    """Count what a record of ours says in values of notes and people; keys, kinds and dates are its own."""
    text = data.decode("utf-8", "replace")
    try:
        said = "\n".join(_said(json.loads(text)))
    except (ValueError, RecursionError):
        return _in_text(data, sought)
    sessions = len(sought.sessions.findall(text)) if sought.sessions else 0
    return sessions or _in_text(said.encode("utf-8", "surrogatepass"), sought)


def _said(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if isinstance(value, str) and not _DATED.fullmatch(value) and value != runs.WAITING:
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _said(one)
    elif isinstance(value, dict):
        forgets = value.get("kind") == "forget"  # whose title says how much, never what
        for key, one in value.items():
            if not (key in _OWN_KEYS or (forgets and key == "title")):
                yield from () if _KEY.fullmatch(key) else (key,)
                yield from _said(one)


def _blocks(file: Any) -> Iterator[bytes]:  # noqa: ANN401 - a file opened for bytes
    """The bytes of a file, some at a time; what stands where two meet is in both. Raises OSError."""
    left = _MOST
    for start, end in _written(file):
        file.seek(start)
        tail = b""
        while block := file.read(min(_BLOCK, end - start)):
            if len(block) > left:
                raise OSError(errno.EFBIG, f"it holds more than {_MOST:,} bytes")
            yield tail + block
            tail = block[-_OVERLAP:]
            left -= len(block)
            start += len(block)


def _written(file: Any) -> Iterator[tuple[int, int]]:  # noqa: ANN401 - a file opened for bytes
    """Where in a file something was written: it may have holes that are larger than any disk."""
    end = 0
    try:
        while True:
            start = file.seek(end, os.SEEK_DATA)
            end = file.seek(start, os.SEEK_HOLE)
            yield start, end
    except (OSError, AttributeError) as error:
        if getattr(error, "errno", None) != errno.ENXIO:  # a system that tells of no holes
            yield end, sys.maxsize


def _in_text(data: bytes, sought: Forms) -> int:
    text = data.decode("utf-8", "replace")
    if count := sought.found(text):
        return count
    if "\\u" in text and (count := sought.found(unescaped(text))):
        return count
    lower = data.lower()
    marked = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    near = [form for form in sought.wide if (marked or len(form) >= _SHORTEST_WIDE) and form in lower]
    if not near:
        return 0
    told = (data[at:].decode(encoding, "replace") for at in (0, 1) for encoding in ("utf-16-le", "utf-16-be"))
    return max(map(sought.found, told))


def _in_database(path: Path, blocks: Iterable[bytes], sought: Forms, *, rows: bool) -> int:
    """Count rows that hold it, and forms between the rows that no row explains."""
    near = {
        form for block in blocks for form in sought.narrow if len(form) >= _SHORTEST and form in block.lower()
    }
    count, explained = 0, set[bytes]()
    for text in _texts(path) if near or rows else ():
        count += sought.found(text) if rows and not _DATED.fullmatch(text) else 0
        lower = text.encode("utf-8", "surrogatepass").lower()
        explained |= {form for form in near - explained if form in lower}
    return count + len((near - explained) | (_unmerged(path, explained) if explained else set()))


def _unmerged(path: Path, forms: Set[bytes]) -> Set[bytes]:
    """Forms that stand in the pages of full text as part of no word that a row has there; all if unread."""
    found: set[bytes] = set()
    try:
        with _opened(path) as connection:
            for table in schema.full_text(connection):
                words = _vocabulary(connection, table)
                rests = {form: {word[word.find(form) :] for word in words if form in word} for form in forms}
                pages: Any = connection.execute(f"SELECT block FROM {schema.quoted(f'{table}_data')}")
                for (page,) in pages:
                    found |= {form for form, known in rests.items() if _alone(form, page.lower(), known)}
    except (apsw.Error, OSError):
        return forms
    return found


def _vocabulary(connection: apsw.Connection, table: str) -> list[bytes]:
    """The words that rows still have in a full-text table."""
    source = f"fts5vocab(main, {schema.quoted(table)}, 'row')"
    connection.execute(f"CREATE VIRTUAL TABLE temp.vocabulary USING {source}")
    terms: Any = connection.execute("SELECT term FROM temp.vocabulary").fetchall()
    connection.execute("DROP TABLE temp.vocabulary")
    return [term.encode("utf-8", "surrogatepass") for (term,) in terms]


def _alone(form: bytes, page: bytes, rests: Iterable[bytes]) -> bool:
    """Whether a form stands anywhere in a page without the rest of one of the words that have it."""
    at = page.find(form)
    while at >= 0:
        if not any(page.startswith(rest, at) for rest in rests):
            return True
        at = page.find(form, at + 1)
    return False


@contextmanager
def _opened(path: Path) -> Iterator[apsw.Connection]:
    """A database opened to be read only."""
    connection = connect(Root(path.parent), path.name, readonly=True)
    try:
        yield connection
    finally:
        connection.close()


def _texts(path: Path) -> Iterator[str]:
    """Every text in the rows of a database; none of one that cannot be read."""
    with suppress(apsw.Error, OSError), _opened(path) as connection:
        rows: Any = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall()
        for name, sql in rows:
            if "VIRTUAL TABLE" not in str(sql).upper():
                yield from _of_table(connection, name)


def _of_table(connection: apsw.Connection, name: str) -> Iterator[str]:
    rows: Any = connection.execute(f"SELECT * FROM {schema.quoted(name)}")
    for row in rows:
        for value in row:
            if isinstance(value, str):
                yield value
            elif isinstance(value, bytes) and name == "meta":
                yield value.decode("utf-8", "replace")
