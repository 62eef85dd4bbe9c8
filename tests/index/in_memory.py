"""An index in plain Python, the second backend: whatever the contract leaves unsaid shows here."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from commonplace.base import tokens as estimates
from commonplace.chunking.settings import STRUCK
from commonplace.index import base, rows
from commonplace.index.base import ALL, DOCID, UNSERVED, Candidate, Entry, Key, Known, Scope, Source, Text
from commonplace.language import lexicon
from commonplace.notes.scan import FileState
from commonplace.types import Level

K1, B = 1.2, 0.75  # of BM25, as FTS5 has them


@dataclass
class Row:
    """A passage with all that is known of it."""

    candidate: Candidate
    source: Source
    own_day: str | None
    tokens: dict[str, list[str]]
    mtime_ns: int
    vector: bytes | None = None  # its key
    said: dict[str, Any] = field(default_factory=dict)


@dataclass
class State:
    """All that a transaction may take back."""

    entries: dict[Key, tuple[base.NoteRow, Known]] = field(default_factory=dict)
    quarters: dict[Key, int] = field(default_factory=dict)
    rows: dict[int, Row] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    vectors: dict[bytes, Any] = field(default_factory=dict)
    words: dict[bytes, bytes] = field(default_factory=dict)
    lost: set[bytes] = field(default_factory=set)
    version: int = 0
    ids: list[int] = field(default_factory=lambda: [0, 0, 0])  # notes, sections, passages

    def next(self, kind: int) -> int:
        self.ids[kind] += 1
        return self.ids[kind]


class MemoryIndex(base.Index):
    """See `index.base.Index`."""

    def __init__(self, identity: Mapping[str, str]) -> None:
        self.path, self.readonly = ":python:", False
        self.rebuild_reason: str | None = None
        self.identity, self.state = identity, State(meta=dict(identity))
        self.vectors: MemoryVectors = MemoryVectors(self)

    @property
    def meta(self) -> dict[str, Any]:
        return self.state.meta

    @property
    def version(self) -> int:
        return self.state.version

    @property
    def tokens(self) -> int:
        return -(-sum(self.state.quarters.values()) // 4)

    def close(self) -> None:
        pass

    @contextmanager
    def transaction(self, *, write: bool = True, anew: bool = False) -> Iterator[None]:
        before = deepcopy(self.state)
        try:
            if anew:
                kept = {key: before.meta[key] for key in before.meta.keys() - self.identity.keys()}
                self.state = State(
                    meta={**self.identity, **kept},
                    vectors=before.vectors,
                    words=before.words,
                    ids=before.ids,
                    version=before.version + 1,
                )
                self.rebuild_reason = None
            yield
        except BaseException:
            self.state = before
            raise

    # --- changes ------------------------------------------------------------------------------------

    def write(self, batches: Iterable[Sequence[Entry]]) -> int:
        last = self.state.ids[2]
        for entries in batches:
            self.update(gone=[entry.state.key for entry in entries])
            for entry in entries:
                self._add(entry)
            self.state.version += 1
        return last

    def _add(self, entry: Entry) -> None:
        state, note, file = self.state, entry.note, entry.state
        own, first = state.next(0), state.ids[2] + 1
        heads = [tuple(heading[: rows.LONGEST_HEADING] for heading in cut.headings) for cut in entry.sections]
        above = list(rows.headers(note, heads))
        sections = [state.next(1) for _ in entry.sections]
        bodies = rows.bodies(note, entry.passages)
        for passage, body in zip(entry.passages, bodies, strict=True):
            cut, said = passage.section, dict(passage.annotations or {})
            until = said.get("until", "") if STRUCK in said else None
            date = said.get("since") or note.date
            source = Source(
                *file.key, note.title, date, note.kind, entry.hash[:DOCID], heads[cut], file.mtime_ns
            )
            candidate = Candidate(
                state.next(2), own, sections[cut], passage.start_line, passage.end_line, passage.text,
                entry.sections[cut].turns, json.dumps(said, ensure_ascii=False) if said else None, until,
                rows.traits(passage), json.dumps(passage.shown) if passage.shown else None, source,
            )  # fmt: skip
            texts = {"body": body, "header": above[cut]}
            tokens = {name: tokenize(text) for name, text in texts.items()}
            row = Row(candidate, source, said.get("since"), tokens, file.mtime_ns, said=said)
            state.rows[candidate.id] = row
        metadata = json.dumps(dict(note.metadata), default=str) if note.metadata else None
        found = base.NoteRow(
            own,
            *file.key,
            note.title,
            note.date,
            entry.hash,
            file.size,
            len(note.lines),
            first,
            state.ids[2],
            metadata,
        )
        state.quarters[file.key] = file.size + sum(map(estimates.wide, note.lines))
        state.entries[file.key] = found, Known(file.mtime_ns, file.size, entry.hash)

    def update(self, touched: Iterable[FileState] = (), gone: Iterable[Key] = ()) -> None:
        for file in touched:
            note, known = self.state.entries[file.key]
            self.state.entries[file.key] = (
                note._replace(size=file.size), known._replace(mtime_ns=file.mtime_ns, size=file.size),
            )  # fmt: skip
        for key in gone:
            note, _ = self.state.entries.pop(key, (None, None))
            self.state.quarters.pop(key, None)
            for passage in range(note.first_passage, note.last_passage + 1) if note else ():
                vector = self.state.rows.pop(passage).vector
                self.state.lost |= {vector} if vector else set()
        self.state.version += 1

    # --- what is known ------------------------------------------------------------------------------

    def manifest(self) -> Mapping[Key, Known]:
        return {key: known for key, (_, known) in self.state.entries.items()}

    def statistics(self) -> base.Statistics:
        notes = self.notes()
        collections = {
            name: (len(own), sum(note.last_passage - note.first_passage + 1 for note in own))
            for name in {note.collection for note in notes}
            if (own := [note for note in notes if note.collection == name])
        }
        sections = {(row.candidate.note_id, row.candidate.section_id) for row in self.state.rows.values()}
        return base.Statistics(
            len(notes), len(sections), len(self.state.rows), len(self.state.vectors), self.vectors.pending(),
            max(self.state.rows, default=0), 0, collections,
        )  # fmt: skip

    def notes(
        self, *, keys: Iterable[Key] | None = None, docids: Iterable[str] | None = None
    ) -> list[base.NoteRow]:
        notes = [self.state.entries[key][0] for key in sorted(self.state.entries)]
        if keys is not None:
            wanted = set(keys)
            return [note for note in notes if (note.collection, note.path) in wanted]
        if docids is not None:
            return [note for note in notes if note.hash.startswith(tuple(docids))]
        return notes

    def passages(self, ids: Iterable[int]) -> list[Candidate]:
        return [self.state.rows[i].candidate for i in ids if i in self.state.rows]

    # --- questions ----------------------------------------------------------------------------------

    def select(
        self, scope: Scope, limit: int | None = None, *, struck: bool = False, newest: bool = False
    ) -> list[int]:
        rows = [row for row in self.state.rows.values() if self.covers(scope, row)]
        found = [row for row in rows if struck or row.candidate.until is None]
        found.sort(key=lambda row: row.candidate.id)
        if newest:
            found.sort(key=lambda row: (row.source.date or day_of(row.mtime_ns), row.mtime_ns), reverse=True)
        return [row.candidate.id for row in found][:limit]

    def covers(self, scope: Scope, row: Row) -> bool:
        return all(self._meets(condition, row) for condition in scope.conditions)

    def _meets(self, condition: base.Condition, row: Row) -> bool:
        own, source, day = row.candidate, row.source, row.source.date
        match condition:
            case base.In(name, values):
                ids = {
                    "collection": source.collection,
                    "kind": source.kind,
                    "note": own.note_id,
                    "passage": own.id,
                }
                return ids[name] in values
            case base.Days(first, last):
                return day is not None and first <= day <= (last or "9999")
            case base.WrittenBy(until):
                dated = row.own_day or (None if source.kind == "long-term" else day)
                return (dated or "") <= until
            case base.HeldOn(on):
                return own.until is None or own.until > on
            case base.Lines(note, first_line, last_line):
                return own.note_id == note and own.end_line >= first_line and own.start_line <= last_line
            case base.Has(key):
                return {"day": "since", "until": STRUCK}.get(key, key) in row.said
            case base.Matches(expression):
                return bool(parse(expression)(row.tokens))
            case base.Not(scope):
                return not self.covers(scope, row)
            case base.Either(scopes):
                return any(self.covers(scope, row) for scope in scopes)

    def match(
        self, expression: str, limit: int, *scopes: Scope, header: float = 1.0
    ) -> list[tuple[int, float]]:
        standing = [row for row in self.state.rows.values() if row.candidate.until is None]
        holds = parse(expression)
        lengths = [sum(map(len, row.tokens.values())) for row in standing]
        average = sum(lengths) / max(1, len(lengths))
        phrases = [phrase(text, bool(star)) for text, star in re.findall(_PHRASE, expression)]
        scores = {row.candidate.id: 0.0 for row in standing}
        for find in phrases:
            holding = sum(1 for row in standing if any(map(find, row.tokens.values())))
            idf = max(1e-6, math.log((len(standing) - holding + 0.5) / (holding + 0.5)))
            for row, length in zip(standing, lengths, strict=True):
                frequency = find(row.tokens["body"]) + header * find(row.tokens["header"])
                norm = frequency + K1 * (1 - B + B * length / average)
                scores[row.candidate.id] += idf * frequency * (K1 + 1) / norm
        best: set[tuple[int, float]] = set()
        for scope in scopes or (ALL,):
            found = [row.candidate.id for row in standing if holds(row.tokens) and self.covers(scope, row)]
            ranked = sorted(((i, scores[i]) for i in found), key=lambda pair: (-pair[1], pair[0]))
            best |= set(ranked[:limit])
        return sorted(best, key=lambda pair: (-pair[1], pair[0]))

    def frequencies(self, expressions: Sequence[str], *, struck: bool = False) -> tuple[list[int], int]:
        rows = [row for row in self.state.rows.values() if struck or row.candidate.until is None]
        return [sum(1 for row in rows if parse(one)(row.tokens)) for one in expressions], len(rows)


class MemoryVectors(base.VectorStore):
    """See `index.base.VectorStore`."""

    def __init__(self, index: MemoryIndex) -> None:
        self.index = index

    def level(self) -> Level:
        return 1 if any(row.vector for row in self.index.state.rows.values()) else 2

    def ready(self, *scopes: Scope, struck: bool = False) -> tuple[base.Nearest, Level]:
        held = [set(self.index.select(scope, struck=struck)) for scope in scopes or (ALL,)]

        def nearest(vector: base.Floats, limit: int) -> list[tuple[int, float]]:
            best: dict[int, float] = {}
            for each in held:
                near = self.cosines(vector, sorted(each))
                best |= dict(sorted(near.items(), key=lambda pair: (-pair[1], pair[0]))[:limit])
            return sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))

        return nearest, self.level()

    def cosines(self, vector: base.Floats, passages: Sequence[int]) -> dict[int, float]:
        rows, vectors = self.index.state.rows, self.index.state.vectors
        held = {i: rows[i].vector for i in passages if i in rows and rows[i].vector}
        return {i: float(vectors[own] @ vector) for i, own in held.items() if own and vectors[own].any()}

    def texts(self, after: int, limit: int, *, pending: bool = False) -> list[Text]:
        rows = [row for i, row in sorted(self.index.state.rows.items()) if i > after]
        return [
            Text(
                row.candidate.id,
                row.candidate.text,
                row.source.headings,
                row.source.collection,
                row.source.path,
                row.candidate.turns,
            )
            for row in rows
            if not pending or row.vector is None
        ][:limit]

    def pending(self) -> int:
        return sum(row.vector is None for row in self.index.state.rows.values())

    @property
    def length(self) -> int:
        used = {row.vector for row in self.index.state.rows.values() if row.vector}
        return next((len(self.index.state.vectors[key]) for key in used), 0)

    def known(self, keys: Iterable[bytes]) -> set[bytes]:
        return self.index.state.vectors.keys() & set(keys)

    def add(
        self, keys: Sequence[bytes], vectors: base.Floats, words: Mapping[bytes, bytes] | None = None
    ) -> None:
        self.index.state.words.update(words or {})
        for key, vector in zip(keys, vectors, strict=True):
            self.index.state.vectors.setdefault(key, vector)

    def words(self, passages: Iterable[int]) -> dict[int, tuple[int, bytes]]:
        rows, words = self.index.state.rows, self.index.state.words
        keys = {i: own for i in passages if i in rows and (own := rows[i].vector)}
        return {i: (rows[i].candidate.section_id, words[key]) for i, key in keys.items() if key in words}

    def kept(self) -> Iterator[tuple[list[bytes], base.Floats, dict[bytes, bytes]]]:
        for key, vector in self.index.state.vectors.items():
            words = {key: own} if (own := self.index.state.words.get(key)) else {}
            yield [key], vector[None], words

    def assign(self, pairs: Iterable[tuple[int, bytes]]) -> set[bytes]:
        pairs = list(pairs)
        known = self.known(key for _, key in pairs)
        for passage, key in pairs:
            if key in known or key == UNSERVED:
                self.index.state.rows[passage].vector = key
        return known

    def clear(self, notes: Iterable[int] | None = None) -> None:
        wanted = None if notes is None else set(notes)
        for row in self.index.state.rows.values():
            if wanted is None or row.candidate.note_id in wanted:
                row.vector = None

    def prune(self, *, lost: bool = False) -> None:
        used = {row.vector for row in self.index.state.rows.values()} - {None, UNSERVED}
        state = self.index.state
        gone = (state.lost if lost else state.vectors.keys()) - used
        state.vectors = {own: kept for own, kept in state.vectors.items() if own not in gone}
        state.words = {key: signs for key, signs in state.words.items() if key in state.vectors}
        state.lost = set()


# --- full text --------------------------------------------------------------------------------------------

_PHRASE = r'"((?:[^"]|"")*)"\s*(\*?)'
_TOKEN = re.compile(rf"{_PHRASE}|(AND|OR|[()])")
Find = Callable[[list[str]], int]
Holds = Callable[[Mapping[str, list[str]]], bool]


def tokenize(text: str) -> list[str]:
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return [lexicon.stem(word.lower()) for word in re.findall(r"[^\W_]+", plain)]


def phrase(text: str, begins: bool) -> Find:
    """How often a phrase stands in tokens."""
    words = tokenize(text.replace('""', '"'))

    def count(tokens: list[str]) -> int:
        last = len(words) - 1
        return sum(
            all(
                tokens[at + n].startswith(word) if begins and n == last else tokens[at + n] == word
                for n, word in enumerate(words)
            )
            for at in range(len(tokens) - last)
        )

    return count


def parse(expression: str) -> Holds:
    """An expression as a predicate on the tokens of each column."""
    return Parser(list(_TOKEN.finditer(expression))).either()


class Parser:
    """Recursive descent: OR binds loosest."""

    def __init__(self, tokens: list[re.Match[str]]) -> None:
        self.tokens = tokens

    def take(self, *signs: str) -> bool:
        """Whether the next token is one of these, which is then read."""
        taken = bool(self.tokens) and self.tokens[0][3] in signs
        if taken:
            self.tokens.pop(0)
        return taken

    def either(self) -> Holds:
        parts = [self.both()]
        while self.take("OR"):
            parts.append(self.both())
        return lambda columns: any(part(columns) for part in parts)

    def both(self) -> Holds:
        parts = [self.single()]
        while self.take("AND"):
            parts.append(self.single())
        return lambda columns: all(part(columns) for part in parts)

    def single(self) -> Holds:
        if self.take("("):
            inner = self.either()
            self.take(")")
            return inner
        found = self.tokens.pop(0)
        find = phrase(found[1], bool(found[2]))
        return lambda columns: any(map(find, columns.values()))


def day_of(mtime_ns: int) -> str:
    return datetime.fromtimestamp(mtime_ns / 1e9, UTC).date().isoformat()
