"""What every index must do: a backend passes when its own subclass of `Contract` does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from commonplace.chunking.settings import DEFAULT
from commonplace.index import changes, facts, rules, sync
from commonplace.index.base import (
    ALL,
    UNSERVED,
    Days,
    Either,
    Entry,
    Has,
    HeldOn,
    In,
    Index,
    Lines,
    Matches,
    Not,
    Scope,
    WrittenBy,
)
from commonplace.index.vectors import Vectors
from commonplace.notes.scan import CollectionFiles, FileState, scan
from commonplace.providers.fake import FakeEmbedder
from commonplace.search import pipeline, query
from commonplace.search.request import Request
from commonplace.types import Note, Passage, Section
from tests.index.in_memory import MemoryIndex

DAY = 86_400_000_000_000  # ns
Rows = list[tuple[str, dict[str, str]]]  # a passage a line: what it says, and what is said of it
# Of each file the day, the front matter and the passages, below the title as their heading.
FILES: dict[tuple[str, str], tuple[str, str | None, dict[str, object], Rows]] = {
    ("memory", "MEMORY.md"): ("Facts", None, {}, [
        ("the walnut desk is by the window", {"trigger": "desk"}),
        ("the lamp is green", {"struck": "true", "until": "2026-02-01"}),
    ]),
    ("memory", "memory/2026-01-10.md"): ("Monday", "2026-01-10", {}, [
        ("ann repaired two desks", {"by": "ann"}),
        ("the lamp costs 40 dollars", {"since": "2026-01-05"}),
    ]),
    ("memory", "memory/2026-03-02.md"): ("Windows", "2026-03-02", {}, [
        ("new york new york, and a yorkshire lamp", {}),
    ]),
    ("docs", "plan.md"): ("Plan", None, {"tags": ["house", "garden"], "Owner": "Bo"}, [("数据库迁移", {})]),
    ("docs", "empty.md"): ("Empty", None, {}, []),
}  # fmt: skip


def entry(key: tuple[str, str], *, mtime_ns: int = 20_000 * DAY, texts: Rows | None = None) -> Entry:
    title, day, metadata, rows = FILES[key]
    rows = rows if texts is None else texts
    lines = (f"# {title}", *(text for text, _ in rows))
    kind = "long-term" if key[1] == "MEMORY.md" else "daily" if day else "note"
    note = Note(key[1], title, day, kind, lines, metadata=metadata)
    data = "\n".join(lines).encode()
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    return Entry(
        FileState(*key, f"/{key[1]}", mtime_ns, len(data)), digest, note,
        [Section((title,), 1, len(lines))] if rows else [],
        [Passage(0, n, n, text, said or None) for n, (text, said) in enumerate(rows, 2)],
    )  # fmt: skip


class Contract:
    """Tests of `index.base.Index`; a subclass makes the index."""

    def make(self) -> Index:
        raise NotImplementedError

    @pytest.fixture
    def index(self) -> Index:
        made = self.make()
        assert made.write([[entry(key) for key in FILES]]) == 0
        return made

    def texts(self, index: Index, ids: Sequence[int]) -> list[str]:
        """The first words of passages, in the order of their ids."""
        rows = {row.id: row.text for row in index.passages(ids)}
        return [" ".join(rows[i].split()[:3]) for i in ids]

    def found(self, index: Index, *conditions: object, struck: bool = True) -> set[str]:
        return set(self.texts(index, index.select(Scope(conditions), struck=struck)))  # type: ignore[arg-type]

    # --- changes ------------------------------------------------------------------------------------

    def test_files_are_added_replaced_touched_and_removed(self, index: Index) -> None:
        before, last = index.version, index.statistics().last_passage
        assert index.manifest().keys() == FILES.keys()
        key = ("memory", "memory/2026-03-02.md")
        assert index.write([[entry(key, mtime_ns=7, texts=[("changed", {})])]]) == last
        assert index.version != before
        assert index.manifest()[key][:2] == (7, len("# Windows\nchanged"))
        assert not index.match('"york"', 5)
        assert [i > last for i, _ in index.match('"changed"', 5)] == [True]
        index.update(
            [entry(key).state._replace(mtime_ns=8, size=99)], [("docs", "plan.md"), ("docs", "unknown.md")]
        )
        assert index.manifest()[key][:2] == (8, 99)
        assert ("docs", "plan.md") not in index.manifest()
        assert index.statistics().collections["docs"] == (1, 0)

    def test_a_transaction_is_taken_back_as_a_whole(self, index: Index) -> None:
        def change() -> None:
            with index.transaction():
                index.update(gone=list(FILES))
                index.meta["scan"] = "x"
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            change()
        assert index.manifest().keys() == FILES.keys()
        assert "scan" not in index.meta
        assert index.match('"york"', 5)

    def test_meta_holds_texts_and_bytes(self, index: Index) -> None:
        index.meta["a"], index.meta["b"] = "text", b"\x00\xff"
        assert (index.meta["a"], index.meta["b"], index.meta.get("c")) == ("text", b"\x00\xff", None)
        assert index.meta.pop("a", None) == "text"
        assert "a" not in index.meta
        assert {"b", *rules.identity(DEFAULT)} <= set(index.meta)

    def test_an_index_begun_anew_keeps_its_vectors(self, index: Index) -> None:
        vectors = Vectors(index)
        sync.sync_vectors(vectors, FakeEmbedder())
        vectors.describe({"": "Everything."})
        with index.transaction(anew=True):
            assert not index.manifest()
            index.write([[entry(key) for key in FILES]])
        assert index.rebuild_reason is None
        assert vectors.contexts() == {"": "Everything."}
        assert index.statistics().vectors == 5

    def test_what_is_shown_of_a_passage_is_kept(self, index: Index) -> None:
        cut = entry(("docs", "plan.md"))
        shown = (2, 9, [(1, 2)], "```sh")
        index.write([[cut._replace(passages=[one._replace(shown=shown) for one in cut.passages])]])
        (row,) = index.passages([index.statistics().last_passage])
        assert json.loads(row.shown or "") == [2, 9, [[1, 2]], "```sh"]

    # --- what is known ------------------------------------------------------------------------------

    def test_what_is_counted(self, index: Index) -> None:
        counted = index.statistics()
        assert (counted.notes, counted.passages, counted.vectors, counted.pending) == (5, 6, 0, 6)
        assert counted.collections == {"memory": (3, 5), "docs": (2, 1)}
        characters = sum(len("\n".join(entry(key).note.lines)) for key in FILES)
        assert index.tokens == -(-(characters + 3 * len("数据库迁移")) // 4)

    def test_notes_by_key_and_by_hash(self, index: Index) -> None:
        every = index.notes()
        assert [(note.collection, note.path) for note in every] == sorted(FILES)
        plan = index.notes(keys=[("docs", "plan.md"), ("docs", "unknown.md")])
        assert [(note.title, note.lines) for note in plan] == [("Plan", 2)]
        assert index.notes(docids=[plan[0].hash[:6], "ffffff"]) == plan
        assert index.notes(docids=[]) == index.notes(keys=[]) == []
        assert facts.keys(index) == {"tags", "owner", "by", "agent", "session"}
        assert all(note.last_passage - note.first_passage + 1 >= 0 for note in every)

    def test_passages_with_their_sources(self, index: Index) -> None:
        (desk,) = index.select(Scope((Matches('"walnut"'),)))
        (row,) = index.passages([desk, 10**9])
        source = row.source
        assert [row.source for row in index.passages([desk, 10**9])] == [source]
        assert (row.start_line, row.end_line, row.until) == (2, 2, None)
        assert row.annotations is not None
        assert '"trigger"' in row.annotations
        assert (source.path, source.kind, source.headings) == ("MEMORY.md", "long-term", ("Facts",))
        (lamp,) = index.select(Scope((Matches('"dollars"'),)))
        assert index.passages([lamp])[0].source.date == "2026-01-05"  # its own, not that of its note

    # --- scopes -------------------------------------------------------------------------------------

    def test_every_condition(self, index: Index) -> None:
        every = {
            "the walnut desk", "the lamp is", "ann repaired two", "the lamp costs", "new york new", "数据库迁移",
        }  # fmt: skip
        assert self.found(index) == every
        assert self.found(index, struck=False) == every - {"the lamp is"}
        assert self.found(index, In("collection", frozenset({"docs"}))) == {"数据库迁移"}
        assert self.found(index, In("kind", frozenset({"long-term"}))) == {"the walnut desk", "the lamp is"}
        note = index.notes(keys=[("docs", "plan.md")])[0]
        assert self.found(index, In("note", frozenset({note.id}))) == {"数据库迁移"}
        assert self.found(index, In("passage", frozenset({note.first_passage, 999}))) == {"数据库迁移"}
        assert self.found(index, Days("2026-01-06")) == {"ann repaired two", "new york new"}
        assert self.found(index, Days("", "2026-01-10")) == {"ann repaired two", "the lamp costs"}
        assert self.found(index, Days("2026-01-05", "2026-01-05")) == {"the lamp costs"}
        outside = self.found(index, Not(Scope((Days("2026-01-05", "2026-01-10"),))))
        assert outside == every - {"ann repaired two", "the lamp costs"}
        assert self.found(index, WrittenBy("2026-01-10")) == every - {"new york new"}
        assert self.found(index, HeldOn("2026-01-31")) == every
        assert self.found(index, HeldOn("2026-02-01")) == every - {"the lamp is"}
        facts_ = index.notes(keys=[("memory", "MEMORY.md")])[0]
        assert self.found(index, Lines(facts_.id, 3, 9)) == {"the lamp is"}
        assert self.found(index, Has("trigger")) == {"the walnut desk"}
        assert self.found(index, Has("by")) == {"ann repaired two"}
        assert self.found(index, Has("struck")) == {"the lamp is"}
        assert self.found(index, Has("day")) == {"the lamp costs"}
        assert self.found(index, Has("until")) == {"the lamp is"}
        assert self.found(index, Matches('"lamp"'), Not(Scope((Matches('"green"'),)))) == {
            "the lamp costs", "new york new",
        }  # fmt: skip
        sides = (Scope((In("collection", frozenset({"docs"})),)), Scope((Has("by"),)))
        assert self.found(index, Either(sides)) == {"数据库迁移", "ann repaired two"}
        assert self.found(index, Either(())) == self.found(index, Not(ALL)) == set()
        assert self.found(index, In("collection", frozenset())) == set()

    def test_the_order_of_what_is_selected(self, index: Index) -> None:
        ids = index.select(ALL)
        assert ids == sorted(ids)
        assert index.select(ALL, 2) == ids[:2]
        newest = self.texts(index, index.select(ALL, newest=True))
        # 20,000 days after 1970 is 2024-10-04: as old is what has no day.
        assert newest == [
            "new york new",
            "ann repaired two",
            "the lamp costs",
            "the walnut desk",
            "数据库迁移",
        ]

    # --- full text ----------------------------------------------------------------------------------

    def test_expressions(self, index: Index) -> None:
        for expression, expected in {
            '"lamp"': {"the lamp costs", "new york new"},
            '"desk"': {"the walnut desk", "ann repaired two"},  # in the plural as well
            '"new york"': {"new york new"},
            '"york new york and"': {"new york new"},
            '"york lamp"': set(),
            '"yorks" *': {"new york new"},
            '"lamp" AND "dollars"': {"the lamp costs"},
            '"walnut" OR "repaired"': {"the walnut desk", "ann repaired two"},
            '"2026 03 02"': {"new york new"},
            '"数据 据库"': {"数据库迁移"},
            '"库"*': {"数据库迁移"},
            '"zeppelin"': set(),
        }.items():
            ids = [passage for passage, _ in index.match(expression, 10)]
            assert set(self.texts(index, ids)) == expected, expression
            assert set(index.select(Scope((Matches(expression),)))) == set(ids), expression

    def test_bm25_is_that_of_fts5(self, index: Index) -> None:
        """As worked out in Python of the formula, see `index.base.Index.match`."""
        reference = MemoryIndex(rules.identity(DEFAULT))
        reference.write([[entry(key) for key in FILES]])
        for expression, weight in [('"york"', 1.0), ('"lamp" OR "desk"', 1.0), ('"windows" OR "lamp"', 2.5)]:
            expected = reference.match(expression, 10, header=weight)
            found = index.match(expression, 10, header=weight)
            assert found == [(i, pytest.approx(score, abs=1e-9)) for i, score in expected]

    def test_a_scope_and_a_limit_keep_to_their_best(self, index: Index) -> None:
        dated = Scope((Days("2026-01-05", "2026-01-10"),))
        assert self.texts(index, [i for i, _ in index.match('"lamp"', 10, dated)]) == ["the lamp costs"]
        assert index.match('"lamp"', 1) == index.match('"lamp"', 10)[:1]
        both = [passage for passage, _ in index.match('"lamp"', 1, ALL, dated)]
        assert both == [i for i, _ in index.match('"lamp"', 10) if i in both]
        assert set(both) == {i for scope in (ALL, dated) for i, _ in index.match('"lamp"', 1, scope)}

    def test_frequencies(self, index: Index) -> None:
        asked = ['"lamp"', '"zeppelin"']
        assert index.frequencies(asked) == ([2, 0], 5)
        assert index.frequencies(asked, struck=True) == ([3, 0], 6)
        index.update(gone=[("memory", "memory/2026-03-02.md")])
        assert index.frequencies(asked) == ([1, 0], 4)

    # --- vectors ------------------------------------------------------------------------------------

    def test_vectors_from_pending_to_nearest(self, index: Index) -> None:
        store, model = index.vectors, FakeEmbedder()
        assert (store.level(), store.pending(), store.cosines(np.zeros(3, np.float32), [1])) == (2, 6, {})
        texts = store.texts(0, 4)
        assert [text.passage for text in texts] == sorted(text.passage for text in texts)
        assert store.texts(texts[-1].passage, 10) == store.texts(0, 10)[4:]
        assert texts[0][1:] == (texts[0].text, ("Facts",), "memory", "MEMORY.md", 0.0)
        keys = [bytes([n]) * 16 for n in range(4)]
        vectors = model.embed([text.text for text in texts], "passage")
        store.add(keys, vectors)
        store.add(keys[:1], vectors[:1])
        assert store.known([*keys, b"?" * 16]) == set(keys)
        assert store.assign([(texts[0].passage, b"?" * 16)]) == set()
        assert store.assign(zip([text.passage for text in texts], keys, strict=True)) == set(keys)
        rest = store.texts(0, 10, pending=True)
        assert len(rest) == store.pending() == 2
        store.assign([(text.passage, UNSERVED) for text in rest])
        assert store.pending() == 0
        assert store.level() < 2
        standing = [text for text in texts if "green" not in text.text]
        for _ in range(2):  # the first question may be answered in another way than later ones
            nearest, _ = store.ready()
            found = nearest(vectors[0], 10)
            assert found[0] == (texts[0].passage, pytest.approx(1, abs=1e-3))
            assert {passage for passage, _ in found} == {text.passage for text in standing}
            assert [cosine for _, cosine in found] == sorted((c for _, c in found), reverse=True)
            assert len(nearest(vectors[0], 2)) == 2
            scoped, _ = store.ready(Scope((Days("2026-01-10", "2026-01-10"),)))
            assert self.texts(index, [passage for passage, _ in scoped(vectors[0], 5)]) == [
                "ann repaired two"
            ]
            both, _ = store.ready(ALL, Scope((Days("2026-01-10", "2026-01-10"),)))
            assert {passage for passage, _ in both(vectors[0], 1)} == {
                *(passage for passage, _ in nearest(vectors[0], 1)),
                *(passage for passage, _ in scoped(vectors[0], 1)),
            }
            struck, _ = store.ready(struck=True)
            assert len(struck(vectors[0], 10)) == 4
            assert store.cosines(vectors[0], [texts[0].passage, rest[0].passage, 999]) == {
                texts[0].passage: pytest.approx(1, abs=1e-3)
            }

    def test_words_go_with_their_vectors(self, index: Index) -> None:
        store, model = index.vectors, FakeEmbedder()
        texts = store.texts(0, 2)
        keys = [bytes([number]) * 16 for number in range(2)]
        store.add(keys, model.embed([text.text for text in texts], "passage"), {keys[1]: b"words"})
        store.assign(zip([text.passage for text in texts], keys, strict=True))
        (section,) = [one.section_id for one in index.passages([texts[1].passage])]
        assert store.words(text.passage for text in texts) == {texts[1].passage: (section, b"words")}
        store.clear()
        store.prune()
        store.add(keys, model.embed([text.text for text in texts], "passage"))
        store.assign(zip([text.passage for text in texts], keys, strict=True))
        assert store.words(text.passage for text in texts) == {}

    def test_a_vector_without_direction_is_known_and_never_found(self, index: Index) -> None:
        store = index.vectors
        first, second = (text.passage for text in store.texts(0, 2))
        store.add([b"0" * 16, b"1" * 16], np.eye(2, 8, -1, np.float32))
        assert store.assign([(first, b"0" * 16), (second, b"1" * 16)]) == {b"0" * 16, b"1" * 16}
        asked = np.eye(1, 8, 0, np.float32)[0]
        for _ in range(2):
            assert [passage for passage, _ in store.ready(struck=True)[0](asked, 5)] == [second]
        assert store.cosines(asked, [first, second]).keys() == {second}
        assert store.pending() == 4

    def test_vectors_without_a_passage_are_forgotten(self, index: Index) -> None:
        store = index.vectors
        sync.sync_vectors(Vectors(index), FakeEmbedder())
        before = index.statistics().vectors
        index.update(gone=[("memory", "memory/2026-03-02.md")])
        store.prune(lost=True)
        assert index.statistics().vectors == before - 1
        store.clear([index.notes(keys=[("memory", "MEMORY.md")])[0].id])
        assert store.pending() == 2
        store.prune(lost=True)
        assert index.statistics().vectors == before - 1  # no passage went
        store.clear()
        store.prune()
        assert index.statistics().vectors == 0

    # --- all of it ----------------------------------------------------------------------------------

    def test_a_workspace_is_synced_and_searched(self, tmp_path: Path) -> None:
        """The sync and the pipeline of the product over this backend."""
        for number, text in enumerate(["the walnut desk", "the brass lamp", "a walnut chair"]):
            (tmp_path / f"{number}.md").write_text(f"# N{number}\n\n{text}\n", "utf-8")
        index, model, where = self.make(), FakeEmbedder(), [CollectionFiles("memory", str(tmp_path))]
        assert sync.sync_text(index, scan(where), DEFAULT).added == 3
        assert sync.sync_text(index, scan(where), DEFAULT).unchanged == 3
        sync.sync_vectors(Vectors(index), model)
        means = pipeline.Means(lambda text, kind="query": model.embed([text], kind)[0])
        for text, path in {
            "walnut desk": "0.md",
            "lamps": "1.md",
            "chair": "2.md",
            "-desk walnut": "2.md",
        }.items():
            parsed = query.parse(text, lambda: facts.keys(index))
            outcome = pipeline.search(index, means, parsed, Request(text, limit=5))
            assert [hit.path for hit in outcome.hits][:1] == [path], text
        (tmp_path / "0.md").unlink()
        assert sync.sync_text(index, scan(where), DEFAULT).removed == 1
        assert not changes.compare(scan(where), index.manifest()).fresh
