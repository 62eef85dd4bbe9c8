"""SQLite, PostgreSQL and Milvus give the same answers: the same order within ties, scores within 1 %."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import numpy as np
import pytest

from commonplace.chunking.settings import DEFAULT
from commonplace.config.credentials import NO_KEY
from commonplace.index import rules
from commonplace.index.base import (
    ALL,
    Days,
    Either,
    Entry,
    Has,
    HeldOn,
    In,
    Index,
    Matches,
    Not,
    Scope,
    WrittenBy,
)
from commonplace.index.milvus.index import MilvusIndex
from commonplace.index.postgres.index import PostgresIndex
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.language import lexicon
from commonplace.notes.scan import FileState
from commonplace.types import Note, Passage, Section
from tests.index.servers import NAMES, milvus_url, postgres_url

__all__ = ["milvus_url", "postgres_url"]
ENGLISH = (
    "the a walnut desk lamp window garden house deploy deploys database migration team meeting red green boat"
    " iPhone15 gpt-4.1 naïve café running repaired orders order yorkshire york new Anna Bo budget 2026 forty"
).split()
CHINESE = "数据库 迁移 北京 大学 会议 预算 花园 窗户 红色 团队 部署 周五 苹果 手机 的 了 在".split()
LIMIT, DIMENSIONS = 30, 16


def corpus(rng: random.Random, notes: int) -> list[Entry]:
    """Notes of made-up sentences, some of them struck, dated, attributed."""
    entries = []
    for number in range(notes):
        texts = []
        for _ in range(rng.randint(1, 6)):
            words = [rng.choice(ENGLISH) for _ in range(rng.randint(2, 25))]
            if rng.random() < 0.4:
                words = [
                    "".join(rng.choice(CHINESE) for _ in range(rng.randint(1, 6)))
                    for _ in range(rng.randint(1, 4))
                ]
            texts.append(" ".join(words))
        day = f"2026-0{rng.randint(1, 9)}-{rng.randint(10, 28)}" if rng.random() < 0.6 else None
        said = [
            dict(
                [("since", f"2026-0{rng.randint(1, 9)}-11")] * (rng.random() < 0.1)
                + [("by", "ann")] * (rng.random() < 0.2)
                + [("struck", "true"), ("until", "2026-05-01")] * (rng.random() < 0.1)
            )
            for _ in texts
        ]
        title = " ".join(rng.sample(ENGLISH, 2))
        lines = (f"# {title}", *texts)
        note = Note(f"{number}.md", title, day, "daily" if day else "note", lines)
        state = FileState(rng.choice(["memory", "docs"]), f"{number}.md", f"/{number}.md", number, 10)
        passages = [
            Passage(0, at, at, text, own or None)
            for at, (text, own) in enumerate(zip(texts, said, strict=True), 2)
        ]
        entries.append(Entry(state, f"{number:032x}", note, [Section((title,), 1, len(lines))], passages))
    return entries


def expression(rng: random.Random) -> str:
    """A question as the search writes it: words, phrases, beginnings, all of some."""

    def term() -> str:
        kind = rng.random()
        if kind < 0.5:
            return lexicon.sought(rng.choice(ENGLISH))
        if kind < 0.65:
            return lexicon.sought(" ".join(rng.sample(ENGLISH, 2)))
        if kind < 0.75:
            return lexicon.sought(rng.choice(ENGLISH)[: rng.randint(2, 4)] + "*")
        return lexicon.sought("".join(rng.choice(CHINESE) for _ in range(rng.randint(1, 2))))

    some = " OR ".join(term() for _ in range(rng.randint(1, 6)))
    return f"({some}) AND {term()}" if rng.random() < 0.3 else some


def scope(rng: random.Random) -> Scope:
    one = rng.choice([
        In("collection", frozenset({"docs"})), In("kind", frozenset({"daily"})), Days("2026-03-01", "2026-07-01"),
        WrittenBy("2026-06-01"), HeldOn("2026-03-01"), Has("by"), Has("until"), Has("day"),
        Matches(lexicon.sought(rng.choice(ENGLISH))), Not(Scope((Has("by"),))),
        Either((Scope((Has("by"),)), Scope((In("collection", frozenset({"memory"})),)))),
    ])  # fmt: skip
    return Scope((one,)) if rng.random() < 0.5 else ALL


@pytest.fixture(scope="module")
def engines(postgres_url: str, milvus_url: str) -> Iterator[dict[str, Index]]:
    identity, entries = rules.identity(DEFAULT), corpus(random.Random(7), 150)
    made: dict[str, Index] = {
        "sqlite": SqliteIndex(":memory:", identity),
        "postgres": PostgresIndex(postgres_url, identity, next(NAMES), NO_KEY),
        "milvus": MilvusIndex(milvus_url, identity, next(NAMES), NO_KEY),
    }
    rng = np.random.default_rng(5)
    for index in made.values():
        index.write([entries[:70], entries[70:]])
    passages = made["sqlite"].select(ALL, struck=True)
    keys = [passage.to_bytes(16, "big") for passage in passages]
    rows = rng.normal(size=(len(keys), DIMENSIONS)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for index in made.values():
        assert index.select(ALL, struck=True) == passages
        index.vectors.add(keys, rows)
        index.vectors.assign(zip(passages, keys, strict=True))
    yield made
    for index in made.values():
        index.close()


def same(expected: list[tuple[int, float]], found: list[tuple[int, float]]) -> bool:
    """Whether two rankings agree: scores place by place within 1 %, and the passages but for ties."""
    if len(expected) != len(found):
        return False
    scores = all(
        math.isclose(a[1], b[1], rel_tol=0.01, abs_tol=0.002) for a, b in zip(expected, found, strict=True)
    )
    last = expected[-1][1] if expected else 0.0
    clear = {one for one, score in expected if not math.isclose(score, last, rel_tol=0.01, abs_tol=0.002)}
    return scores and clear <= {one for one, _ in found}


def ask(engines: dict[str, Index], rng: random.Random) -> None:
    asked, where, header = expression(rng), scope(rng), rng.choice([1.0, 2.5])
    vector = np.random.default_rng(rng.randrange(1 << 30)).normal(size=DIMENSIONS).astype(np.float32)
    vector /= np.linalg.norm(vector)
    expected = None
    for name, index in engines.items():
        found = (
            index.match(asked, LIMIT, where, header=header),
            index.vectors.ready(where)[0](vector, LIMIT),
            index.select(where & Matches(asked), struck=True),
            index.frequencies([asked]),
        )
        if expected is None:
            expected = found
            continue
        told = (name, asked, where, header)
        assert same(expected[0], found[0]), (told, expected[0], found[0])
        assert same(expected[1], found[1]), (told, expected[1], found[1])
        assert expected[2:] == found[2:], told


@pytest.mark.parametrize("seed", range(4))
def test_a_hundred_questions_have_one_answer(engines: dict[str, Index], seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        ask(engines, rng)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 20))
def test_a_thousand_questions_have_one_answer(engines: dict[str, Index], seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        ask(engines, rng)


@pytest.mark.parametrize("engine", ["sqlite", "postgres", "milvus"])
def test_nothing_of_one_workspace_is_in_an_answer_of_another(
    engine: str, postgres_url: str, milvus_url: str
) -> None:
    """Every question of the protocol, in a workspace that is empty and in one with the same words and keys."""
    identity = rules.identity(DEFAULT)
    made = {
        "sqlite": lambda: SqliteIndex(":memory:", identity),
        "postgres": lambda: PostgresIndex(postgres_url, identity, next(NAMES), NO_KEY),
        "milvus": lambda: MilvusIndex(milvus_url, identity, next(NAMES), NO_KEY),
    }[engine]
    theirs, own, empty = made(), made(), made()
    entries, vector = corpus(random.Random(3), 30), np.eye(1, DIMENSIONS, dtype=np.float32)
    for index, some in ((theirs, entries[10:]), (own, entries[:10])):
        index.write([some])
        passages = index.select(ALL, struck=True)
        keys = [passage.to_bytes(16, "big") for passage in passages]
        index.vectors.add(keys, np.repeat(vector, len(keys), axis=0), {keys[0]: b"signs"})
        index.vectors.assign(zip(passages, keys, strict=True))
    theirs.meta["secret"] = "x"
    every = frozenset(range(1000))
    for index, expected in ((own, {entry.note.path for entry in entries[:10]}), (empty, set())):
        notes = index.notes()
        assert {note.path for note in notes} == expected
        assert {path for _, path in index.manifest()} == expected
        rng, held = random.Random(4), {one.id for one in index.passages(every)}
        assert {one.source.path for one in index.passages(every)} == expected
        for _ in range(20):
            where = scope(rng)
            found = index.select(where, struck=True)
            found += [one for one, _ in index.match(expression(rng), LIMIT, where)]
            found += index.select(Scope((In("passage", every), Matches(expression(rng)))), struck=True)
            if held:
                found += [one for one, _ in index.vectors.ready(where)[0](vector[0], LIMIT)]
            assert set(found) <= held
        assert set(index.vectors.cosines(vector[0], sorted(every))) <= held
        assert set(index.vectors.words(every)) <= held
        assert {text.path for text in index.vectors.texts(0, 1000)} == expected
        assert index.statistics().passages == len(held)
        assert index.frequencies(['"the" OR "walnut" OR "desk" OR "数据"'])[1] <= len(held)
        assert index.vectors.known([b"%d" % one for one in range(9)]) == set()
        assert "secret" not in index.meta
    assert empty.vectors.level() == 2
    assert not empty.vectors.known(passage.to_bytes(16, "big") for passage in range(1000))
    own.update(gone=list(own.manifest()))
    own.vectors.prune()
    with own.transaction(anew=True):
        pass
    assert len(theirs.notes()) == 20
    assert len(theirs.match('"desk" OR "the" OR "a" OR "walnut"', 100)) > 5
    assert theirs.vectors.ready()[0](vector[0], 5)
    for index in (theirs, own, empty):
        index.close()
