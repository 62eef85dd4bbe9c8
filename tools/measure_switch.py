"""Measure a change of models: how long it takes, how searches fare meanwhile, what the cache knows afterwards.

    python tools/measure_switch.py FOLDER

FOLDER holds notes; it is not changed, but for the index in its `.commonplace`, which is made anew. A server on
loopback stands for two models of 384 dimensions; it answers at once, so that what is measured is our own work.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

from commonplace import Memory
from commonplace.providers import opening

DIMENSIONS = 384
QUESTIONS = ("deploy certificate", "walnut desk", "release notes of last week", "memory of the index")


class Handler(BaseHTTPRequestHandler):
    """Answers as OpenAI's embeddings do, with numbers drawn by the text."""

    protocol_version = "HTTP/1.1"
    texts = 0

    def do_POST(self) -> None:
        """Answer one request."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Handler.texts += len(asked["input"])
        rows = [{"index": i, "embedding": drawn(asked["model"] + t)} for i, t in enumerate(asked["input"])]
        body = json.dumps({"data": rows}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


def drawn(text: str) -> list[float]:
    """Return numbers that depend on nothing but the text."""
    seed = int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())
    return np.round(np.random.default_rng(seed).standard_normal(DIMENSIONS), 4).tolist()


@contextmanager
def searching(folder: Path, model: dict[str, object]) -> Iterator[list[tuple[float, int]]]:
    """Ask from another thread all the while; collect milliseconds and levels."""
    found: list[tuple[float, int]] = []
    over = threading.Event()

    def ask() -> None:
        with Memory.open(folder, overrides=model) as memory:
            while not over.is_set():
                started = time.perf_counter()
                level = memory.search(QUESTIONS[len(found) % len(QUESTIONS)]).level
                found.append(((time.perf_counter() - started) * 1000, level))
                time.sleep(0.02)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def switch(folder: Path, name: str, model: dict[str, object]) -> None:
    """Sync with a model while questions are asked, and print how both fared."""
    before = Handler.texts
    with Memory.open(folder, overrides=model) as memory, searching(folder, model) as asked:
        started = time.perf_counter()
        report = memory.sync()
        seconds = time.perf_counter() - started
        guarded = memory._current.model
        rate = guarded.known / max(1, guarded.asked)
    levels = {
        level: sum(1 for _, found in asked if found == level)
        for level in sorted({found for _, found in asked})
    }
    print(
        f"{name}: {seconds:.2f} s for {report.embedded:,} vectors; {Handler.texts - before:,} texts asked for,"
        f" cache hits {rate:.1%}; meanwhile {len(asked)} searches, median"
        f" {statistics.median(ms for ms, _ in asked):.0f} ms, answered at levels {levels}"
    )


def main(folder: Path) -> None:
    """Fill a folder's index with one model, change to another and back, and print what each took."""
    shutil.rmtree(folder / ".commonplace", ignore_errors=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    common = {"embedding.provider": "compatible", "embedding.base_url": url}
    one, two = ({**common, "embedding.model": name} for name in ("one", "two"))
    for step, model in (
        ("first model ", one | {"embedding.fallback": []}),
        ("second model", two),
        ("back again  ", one),
        ("and again   ", two),
    ):
        switch(folder, step, model)
    with Memory.open(folder, overrides=two) as memory:
        print(f"status: {memory.status().vectors:,} vectors, model {memory._store.index.meta('model')}")
    assert opening.left_alone() == []
    server.shutdown()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    notes = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as cache:
        import os

        os.environ["XDG_CACHE_HOME"] = cache
        main(notes)
