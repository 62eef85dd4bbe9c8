"""The protocol of an index of notes and passages: `Index` and its `VectorStore`.

A backend implements both and passes `tests/index/contract.py`. Sync, search, upkeep and commands know an
index by the protocol alone. A question covers a `Scope`, a value that each backend compiles for itself.

Full text is asked in expressions, a subset of those of SQLite's FTS5 (https://sqlite.org/fts5.html, 3):
phrases of tokens in double quotes (`"new york"`, a quotation mark doubled), beginnings (`"yor" *`), `AND`,
`OR` and parentheses around a part.
Tokens are those of `language.lexicon`: the same text has the same tokens in every backend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager

from commonplace.base.tuples import NamedTuple

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any, Literal, Protocol

    import numpy as np
    from numpy.typing import NDArray

    from commonplace.notes.scan import FileState
    from commonplace.types import Level, Note, Passage, Section

    Floats = NDArray[np.float32]
    Nearest = Callable[[Floats, int], list[tuple[int, float]]]
else:
    Protocol = object

Key = tuple[str, str]  # collection, path
DOCID = 6  # hex digits of the content hash that name a note; longer prefixes work as well
UNSERVED = b""  # the key of a passage in a script that the model does not serve


# --- rows -----------------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """A file ready to be indexed: how it stood on disk, and what it was cut into."""

    state: FileState
    hash: str
    note: Note
    sections: Sequence[Section]
    passages: Sequence[Passage]


class Traits(NamedTuple):
    """The traits of a passage's text that ranking reads, worked out when it is indexed.

    `speakers` are the labels of its lines, one a line; `wide` is the share of CJK in it, 0..1, and `script`
    the script of that part (`language.scripts`), or empty.
    """

    speakers: str = ""
    wide: float = 0.0
    script: str = ""


class Known(NamedTuple):
    """Time, size and hash of an indexed file; a tuple, as one question makes ten thousand."""

    mtime_ns: int
    size: int
    hash: str


class Source(NamedTuple):
    """The note and section around a passage; `date` is the passage's own day or that of its note.

    `mtime_ns` is the time of the file's last change.
    """

    collection: str
    path: str
    title: str
    date: str | None
    kind: str
    docid: str
    headings: tuple[str, ...]
    mtime_ns: int = 0


class Candidate(NamedTuple):
    """A passage with its place, its text and its source.

    `annotations` is JSON, see `markdown.comments`; `until` is None for a standing passage, for a struck one
    the day until which it held, or empty; `shown` is JSON, see `markdown.shown`.
    """

    id: int
    note_id: int
    section_id: int
    start_line: int
    end_line: int
    text: str
    turns: float
    annotations: str | None = None
    until: str | None = None
    traits: Traits = Traits()
    shown: str | None = None
    source: Source = Source("", "", "", None, "", "", ())


class NoteRow(NamedTuple):
    """A file as the index holds it; its passages have consecutive ids. `metadata` is JSON, or None."""

    id: int
    collection: str
    path: str
    title: str
    date: str | None
    hash: str
    size: int
    lines: int
    first_passage: int
    last_passage: int
    metadata: str | None = None


class Text(NamedTuple):
    """A passage as it is embedded: its text below its headings, in the note at `path` of `collection`.

    `turns` says how much its section is a conversation, 0..1.
    """

    passage: int
    text: str
    headings: tuple[str, ...]
    collection: str
    path: str
    turns: float = 0.0


class Statistics(NamedTuple):
    """How much an index holds; `pending` passages lack a vector, `collections` gives notes and passages."""

    notes: int
    sections: int
    passages: int
    vectors: int
    pending: int
    last_passage: int
    stored_bytes: int
    collections: Mapping[str, tuple[int, int]]


# --- what a question covers -------------------------------------------------------------------------------


class In(NamedTuple):
    """The passages of these collections, kinds of notes or notes (by id), or these passages (by id)."""

    field: Literal["collection", "kind", "note", "passage"]
    values: frozenset[str] | frozenset[int]


class Days(NamedTuple):
    """The passages of the days from `first` to `last` (ISO, both included; empty: without bound).

    A passage has the day that it says it holds since, otherwise that of its note; without one it is left out.
    """

    first: str = ""
    last: str = ""


class WrittenBy(NamedTuple):
    """The passages written on `day` or before; those of long-term memory have no day but their own."""

    day: str


class HeldOn(NamedTuple):
    """The passages that stand, and those struck that held until after `day`."""

    day: str


class Lines(NamedTuple):
    """The passages of a note that touch these lines (1-based, inclusive)."""

    note: int
    first: int
    last: int


class Has(NamedTuple):
    """The passages that say something of a key of annotations; `day`: since when, `until`: those struck."""

    key: str


class Matches(NamedTuple):
    """The passages that match an expression of full text, struck ones included."""

    expression: str


class Not(NamedTuple):
    """The passages outside a scope."""

    scope: Scope


class Either(NamedTuple):
    """The passages inside any of some scopes."""

    scopes: tuple[Scope, ...]


Condition = In | Days | WrittenBy | HeldOn | Lines | Has | Matches | Not | Either


class Scope(NamedTuple):
    """The passages that meet every condition; all of them without conditions."""

    conditions: tuple[Condition, ...] = ()

    def __and__(self, other: Scope | Condition) -> Scope:
        return Scope(self.conditions + (other.conditions if isinstance(other, Scope) else (other,)))


ALL = Scope()


# --- the protocols ----------------------------------------------------------------------------------------


class VectorStore(Protocol):
    """The vectors of an index by key (16 bytes), and the key of each passage. Raises IndexUnavailable."""

    def level(self) -> Level:
        """Return 0 for vectors at full speed, 1 without an extension, 2 before the first vector."""

    def ready(self, *scopes: Scope, struck: bool = False) -> tuple[Nearest, Level]:
        """Prepare a question: a function from unit vector and limit to (passage, cosine), best first.

        It returns up to `limit` passages of each scope, of all passages without one; struck ones only where
        wanted. It may run in another thread, at the same time as questions of full text.
        """

    def cosines(self, vector: Floats, passages: Sequence[int]) -> dict[int, float]:
        """Return the cosines of passages with a unit vector; passages without a vector are left out."""

    def words(self, passages: Iterable[int]) -> dict[int, tuple[int, bytes]]:
        """Return section and signs of the words of passages, see `add`; passages without are left out."""

    def texts(self, after: int, limit: int, *, pending: bool = False) -> list[Text]:
        """Return the next passages above an id, in the order of ids; with `pending` those without vector."""

    def pending(self) -> int:
        """Count the passages without a vector."""

    @property
    def length(self) -> int:
        """The dimensions of the vectors of passages, 0 before the first."""

    def known(self, keys: Iterable[bytes]) -> set[bytes]:
        """Return those of some keys that have a vector."""

    def add(self, keys: Sequence[bytes], vectors: Floats, words: Mapping[bytes, bytes] | None = None) -> None:
        """Store vectors, (n, d) float32 unit rows, one a key; one of zeros is never among the nearest.

        `words` are the signs of the vectors of the words of some texts, see `providers.embedding.base.signs`.
        """

    def kept(self) -> Iterator[tuple[list[bytes], Floats, dict[bytes, bytes]]]:
        """Yield all vectors as `add` takes them, some at a time."""

    def assign(self, pairs: Iterable[tuple[int, bytes]]) -> set[bytes]:
        """Give passages the vectors of keys; return the keys that have one, the others are skipped.

        The key UNSERVED marks a passage that gets no vector.
        """

    def clear(self, notes: Iterable[int] | None = None) -> None:
        """Take the vectors from the passages of some notes, or from all; the vectors stay."""

    def prune(self, *, lost: bool = False) -> None:
        """Delete vectors that no passage uses; with `lost` only those that lost one in this process."""


class Index(Protocol):
    """Notes cut into passages, found by words and by meaning; safe to share between threads.

    Ids of passages rise, and those of a note follow each other: later writes have higher ids, except that
    ids at the end may be used again after a deletion. Every method raises IndexUnavailable where the index
    cannot be used.
    """

    path: str  # shown to people; of a file its path
    readonly: bool
    rebuild_reason: str | None  # why it must be built anew; it still answers
    meta: MutableMapping[str, Any]  # notes of the index about itself, text or bytes by name
    vectors: VectorStore

    @property
    def version(self) -> int:
        """A number that changes whenever any process has changed the index."""

    @property
    def tokens(self) -> int:
        """Estimated tokens of all indexed files together."""

    def close(self) -> None:
        """Close the index; a second call has no effect."""

    def transaction(self, *, write: bool = True, anew: bool = False) -> AbstractContextManager[None]:
        """Make several changes, or ask several questions of one state, as a context manager.

        With `anew` everything but the vectors and their notes in `meta` is dropped first, and the identity of
        this program is taken on; readers see the old state until the end.
        """

    def write(self, batches: Iterable[Sequence[Entry]]) -> int:
        """Add or replace files, each batch one change; return an id below those of all new passages."""

    def update(self, touched: Iterable[FileState] = (), gone: Iterable[Key] = ()) -> None:
        """Record time and size of files with the same content as before; remove others."""

    def manifest(self) -> Mapping[Key, Known]:
        """Return every indexed file with its time, size and hash; remembered until a change."""

    def statistics(self) -> Statistics:
        """Count the rows."""

    def notes(
        self, *, keys: Iterable[Key] | None = None, docids: Iterable[str] | None = None
    ) -> list[NoteRow]:
        """Return files in the order of collection and path: all, some, or those of hashes that begin so."""

    def passages(self, ids: Iterable[int]) -> list[Candidate]:
        """Return passages with their sources, in no particular order; unknown ids are left out."""

    def select(
        self, scope: Scope, limit: int | None = None, *, struck: bool = False, newest: bool = False
    ) -> list[int]:
        """Return the passages of a scope in the order of ids, struck ones only where wanted.

        With `newest` the newest days come first, within a day the notes changed last, within a note the order
        of ids; a passage without a day has the day of the last change of its note.
        """

    def match(
        self, expression: str, limit: int, *scopes: Scope, header: float = 1.0
    ) -> list[tuple[int, float]]:
        """Return the best standing passages for an expression as (id, BM25), best first, ties by id.

        There are up to `limit` of each scope, of all passages without a scope. BM25 has k1 1.2, b .75 and
        the idf of Robertson and Spärck Jones, at least 1e-6; it scores the phrases of the expression,
        `header` weighs that column, the body weighs 1.
        """

    def frequencies(self, expressions: Sequence[str], *, struck: bool = False) -> tuple[list[int], int]:
        """Count the passages that match each expression, and all passages; struck ones only where wanted."""
