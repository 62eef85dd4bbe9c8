"""Milliseconds of a question on each engine of the index, over made-up notes: docs/scale.md shows a run.

python tools/measure_engines.py --passages 20000 [--postgres URL] [--milvus URL]
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from commonplace.chunking.settings import DEFAULT
from commonplace.config.credentials import NO_KEY
from commonplace.index import facts, rules
from commonplace.index.base import ALL, Entry, Index
from commonplace.language import lexicon
from commonplace.notes.scan import FileState
from commonplace.search import pipeline, query
from commonplace.search.request import Request
from commonplace.types import Note, Passage, Section

WORDS, DIMENSIONS, PER_NOTE, QUESTIONS, LIMIT = 30_000, 384, 10, 30, 300


def main() -> None:
    """Measure the engines that are named."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--passages", type=int, default=20_000)
    options.add_argument("--postgres")
    options.add_argument("--milvus")
    chosen = options.parse_args()
    identity = rules.identity(DEFAULT)
    with TemporaryDirectory() as folder:
        from commonplace.index.sqlite.index import SqliteIndex

        engines: dict[str, Callable[[], Index]] = {
            "SQLite": lambda: SqliteIndex(str(Path(folder) / "i.sqlite"), identity)
        }
        name = f"measure {time.time_ns()}"
        if chosen.postgres:
            from commonplace.index.postgres.index import PostgresIndex

            engines["PostgreSQL"] = lambda: PostgresIndex(chosen.postgres, identity, name, NO_KEY)
        if chosen.milvus:
            from commonplace.index.milvus.index import MilvusIndex

            engines["Milvus"] = lambda: MilvusIndex(chosen.milvus, identity, name, NO_KEY, f"{folder}/i")
        for title, make in engines.items():
            measure(title, make(), chosen.passages)


def measure(title: str, index: Index, passages: int) -> None:
    """Fill an index and ask it; print seconds and milliseconds (median and 95th percentile)."""
    rng, draws = random.Random(1), np.random.default_rng(1)
    # Words as often as in a language (Zipf), so that some stand in most passages and most in few.
    words = [f"w{number:x}" for number in range(WORDS)]
    odds = 1 / np.arange(1, WORDS + 1)
    said = draws.choice(WORDS, (passages, 40), p=odds / odds.sum())
    texts = [" ".join(words[one] for one in row) for row in said]

    def batches() -> list[list[Entry]]:
        entries = []
        for at in range(0, passages, PER_NOTE):
            lines = ("# Note", *texts[at : at + PER_NOTE])
            cut = [Passage(0, n, n, text) for n, text in enumerate(lines[1:], 2)]
            state = FileState("memory", f"{at}.md", f"/{at}.md", at, 10)
            note = Note(f"{at}.md", "Note", None, "note", lines)
            entries.append(Entry(state, f"{at:032x}", note, [Section(("Note",), 1, len(lines))], cut))
        return [entries[at : at + 200] for at in range(0, len(entries), 200)]

    started = time.perf_counter()
    index.write(batches())
    written = time.perf_counter() - started
    ids = index.select(ALL)
    rows = draws.normal(size=(len(ids), DIMENSIONS)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    started = time.perf_counter()
    for at in range(0, len(ids), 1000):
        keys = [one.to_bytes(16, "big") for one in ids[at : at + 1000]]
        index.vectors.add(keys, rows[at : at + 1000])
        index.vectors.assign(zip(ids[at : at + 1000], keys, strict=True))
    index.vectors.prune()
    embedded = time.perf_counter() - started
    # Words of a question are rarer: of all ranks from 20 on, evenly on a logarithmic scale.
    asked = [[words[int(20 * 1000 ** rng.random())] for _ in range(4)] for _ in range(QUESTIONS)]
    means = pipeline.Means(lambda text, kind="query": rows[hash(text) % len(rows)])

    def whole(question: list[str]) -> None:
        text = " ".join(question)
        parsed = query.parse(text, lambda: facts.keys(index))
        pipeline.search(index, means, parsed, Request(text, limit=10))

    figures = {
        "words": lambda one: index.match(lexicon.any_of(one), LIMIT),
        "meaning": lambda one: index.vectors.ready()[0](rows[hash(one[0]) % len(rows)], LIMIT),
        "whole question": whole,
    }
    told = [f"written {written:.0f} s, vectors {embedded:.0f} s"]
    for name, ask in figures.items():
        took = []
        ask(asked[0])
        for question in asked:
            started = time.perf_counter()
            ask(question)
            took.append((time.perf_counter() - started) * 1000)
        took.sort()
        told.append(f"{name} {statistics.median(took):.1f} / {took[int(0.95 * len(took))]:.1f} ms")
    print(f"{title}: {passages:,} passages; {'; '.join(told)}", flush=True)
    if hasattr(index, "drop"):
        index.drop()
    index.close()


if __name__ == "__main__":
    main()
