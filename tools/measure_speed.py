"""How fast and how large: each figure beside the bare cost of the same work on the same files, same run.

    python tools/measure_speed.py CORPUS [--model none|builtin|random] [--questions FILE] [--repeat N] [--json]

The corpus is copied to a temporary folder and never touched. What is timed runs in processes of its own, so
that peak memory is that of the work; ours and the bare work take turns, and medians are reported. What needs
a process of its own is a plain function run by `apart`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, ClassVar, Literal, ParamSpec, TypeVar

from measuring.metrics import percentile
from measuring.questions import walk

import commonplace
from commonplace.base import installation, paths
from commonplace.base.errors import ConfigError
from commonplace.base.root import Root
from commonplace.language import lexicon
from commonplace.render import screen
from commonplace.search import query
from commonplace.types.data import to_data

if TYPE_CHECKING:
    import apsw

    from commonplace.memory import Memory
    from commonplace.providers.embedding.base import Embedder, Floats, Kind

Unit = Literal["s", "ms", "x text", "MB"]
Model = Literal["none", "builtin", "random"]
Report = Callable[[str], None]
QUESTIONS = 50
COLD_RUNS = 9
HITS = 10
MEGABYTE = 1_000_000
SETTINGS = '[index]\ninclude = ["**/*.md"]\n'  # of the copy: every file counts, for the command line as well
PROGRESS_STEP = 5000  # passages between two lines of progress
FULL_TEXT = "passages_fts"  # the index's own table, so that the bare query meets the same rows
LONGEST_WORD, LONGEST_RUN = 14, 6  # characters: longer Latin words are rare ones, longer runs are sentences
# As the index has it: the text once, a full-text table that does not repeat it, the same tokenizer.
TABLES = f"""
PRAGMA journal_mode=wal; PRAGMA synchronous=normal; PRAGMA temp_store=memory;
CREATE TABLE texts(id INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(body, content='', contentless_delete=1, tokenize="{lexicon.TOKENIZER}");
"""
_MODELS = {
    "none": "no vectors",
    "builtin": "{vectors} vectors of the bundled model",
    "random": "{vectors} RANDOM vectors, questions embedded by the bundled model: timings only",
}
_WORDS = re.compile(r"[^\W\d_]{4,}")
_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Options:
    """What to measure; `model` random stores random vectors and embeds only the questions."""

    model: Model = "none"
    questions: Sequence[str] = ()
    repeat: int = 3
    cold_runs: int = COLD_RUNS


@dataclass(frozen=True, slots=True)
class Row:
    """A figure beside its bare cost, both in `unit`; `beside` says what the bare work is."""

    name: str
    value: float
    unit: Unit
    bare: float | None = None
    beside: str = ""

    JSON: ClassVar = "name value=shown_value unit bare=shown_bare ratio=shown_ratio bare_is=beside"

    @property
    def shown_value(self) -> float:
        """The value as JSON has it: to six places."""
        return round(self.value, 6)

    @property
    def shown_bare(self) -> float | None:
        """The bare cost as JSON has it: to six places."""
        return None if self.bare is None else round(self.bare, 6)

    @property
    def shown_ratio(self) -> float | None:
        """The ratio as JSON has it: to three places."""
        return None if self.ratio is None else round(self.ratio, 3)

    @property
    def ratio(self) -> float | None:
        """How many times the bare cost."""
        return self.value / self.bare if self.bare else None


@dataclass(frozen=True, slots=True)
class Speed:
    """The rows, and what they were measured on."""

    files: int
    bytes: int
    passages: int
    vectors: int
    model: Model
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Syncs:
    """Seconds of each turn: of ours, then of the bare work."""

    unchanged: list[float]
    changed: list[float]
    walked: list[float]
    walked_and_read: list[float]


@dataclass(frozen=True, slots=True)
class Series:
    """Milliseconds of one kind of search, one entry a question, beside those of the bare work."""

    name: str
    ours_ms: list[float]
    bare_ms: list[float]
    beside: str


@dataclass(frozen=True, slots=True)
class Warm:
    """Searches in process, first questions left out, and what was searched."""

    passages: int
    vectors: int
    series: list[Series]


@dataclass(slots=True)
class _Bench:
    """A copy of the corpus being measured."""

    notes: Path
    database: Path
    options: Options
    report: Report
    size: int
    rows: list[Row] = field(default_factory=list)


def measure(corpus: Path, options: Options, report: Report = lambda line: None) -> Speed:
    """Measure everything on a copy of the Markdown files of `corpus`. Raises ConfigError if it has none."""
    with tempfile.TemporaryDirectory(prefix="commonplace-speed-") as folder:
        notes = Path(folder, "notes")
        count, size = _copy(corpus, notes)
        report(f"{count} files, {size / MEGABYTE:.1f} MB, copied to {folder}")
        bench = _Bench(notes, Path(folder, "bare.sqlite"), options, report, size)
        _building(bench)
        _syncing(bench)
        questions = list(options.questions) or questions_from(notes, QUESTIONS)
        warm = _searching(bench, questions)
        _starting(bench, questions)
    return Speed(count, size, warm.passages, warm.vectors, options.model, tuple(bench.rows))


def _copy(corpus: Path, notes: Path) -> tuple[int, int]:
    """Copy the Markdown files with their times; return how many, and how many bytes."""
    count = size = 0
    for name in walk(corpus):
        target = notes / Path(name).relative_to(corpus)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(name, target)
        count, size = count + 1, size + target.stat().st_size
    if not count:
        raise ConfigError("corpus", f"no Markdown files in {corpus}")
    workspace = paths.Workspace(notes)
    workspace.files.create(workspace.derived / "config.toml", SETTINGS.encode())
    return count, size


def _building(bench: _Bench) -> None:
    ours, theirs = [], []
    for turn in range(bench.options.repeat):
        bench.report(f"building {turn + 1}/{bench.options.repeat}")
        theirs.append(apart(fill_bare, bench.notes, bench.database))
        ours.append(apart(build, bench.notes))
    work = "read, hash, store and FTS5-index the same text"
    seconds = [median(one for one, _ in turns) for turns in (ours, theirs)]
    peaks = [max(peak for _, peak in turns) / MEGABYTE for turns in (ours, theirs)]
    bench.rows += [
        Row("build without vectors", seconds[0], "s", seconds[1], work),
        Row("peak memory of the build", peaks[0], "MB", peaks[1], work),
        Row("database", database_size(bench.notes) / bench.size, "x text",
            bench.database.stat().st_size / bench.size, "the text once and its FTS5 index"),
    ]  # fmt: skip


def _syncing(bench: _Bench) -> None:
    bench.report("syncing")
    times, _ = apart(sync, bench.notes, max(3, bench.options.repeat))
    bench.rows += [
        Row("sync, nothing changed", median(times.unchanged), "s", median(times.walked), "stat every file"),
        Row("sync, one file changed", median(times.changed), "s", median(times.walked_and_read),
            "stat every file, read and hash one"),
    ]  # fmt: skip


def _searching(bench: _Bench, questions: Sequence[str]) -> Warm:
    if bench.options.model != "none":
        bench.report("embedding" if bench.options.model == "builtin" else "storing random vectors")
        (seconds, embedded), memory = apart(embed, bench.notes, bench.options.model)
        name = f"embed {embedded} passages" if bench.options.model == "builtin" else "store random vectors"
        bench.rows.append(Row(name, seconds, "s"))
        bench.rows.append(Row("peak memory of that", memory / MEGABYTE, "MB"))
    bench.report(f"searching: {len(questions)} questions")
    warm, _ = apart(search, bench.notes, questions, bench.options.model)
    for series in warm.series:
        for name, share in (("p50", 0.5), ("p95", 0.95)):
            value, beside = percentile(series.ours_ms, share), percentile(series.bare_ms, share)
            bench.rows.append(Row(f"{series.name}, {name}", value or 0.0, "ms", beside, series.beside))
    _, memory = apart(ask, bench.notes, questions[0], bench.options.model)
    bench.rows.append(Row("peak memory of searching", memory / MEGABYTE, "MB"))
    return warm


def _starting(bench: _Bench, questions: Sequence[str]) -> None:
    """Time the real command line from a cold start, in turn with an interpreter that does nothing."""
    modes = [["--lexical"], []] if bench.options.model != "none" else [["--lexical"]]
    for flags in modes:
        bench.report(f"cold search {' '.join(flags)}")
        ours, theirs = [], []
        cold_search(bench.notes, questions[0], flags, bench.options.model)  # compiles
        environment = shell_environment(bench.notes, bench.options.model)
        nothing = installation.python("-c", "pass")
        for turn in range(bench.options.cold_runs):
            theirs.append(timed(subprocess.run, nothing, env=environment, check=True))
            question = questions[turn % len(questions)]
            ours.append(cold_search(bench.notes, question, flags, bench.options.model))
        name = f"cold search{' --lexical' if flags else ' (hybrid)'}"
        bench.rows.append(Row(name, median(ours), "s", median(theirs), "start Python, do nothing"))


def as_text(speed: Speed) -> str:
    """One row a figure, and what it was measured on above."""
    model = _MODELS[speed.model].format(vectors=f"{speed.vectors:,}")
    size = f"{speed.bytes / MEGABYTE:.1f} MB"
    head = f"{speed.files:,} files, {size}, {speed.passages:,} passages, {model}"
    lines = [["", "measured", "bare", "ratio", "bare is"]]
    for row in speed.rows:
        digits = {"s": 3, "ms": 1, "MB": 0}.get(row.unit, 2)
        bare = "" if row.bare is None else f"{row.bare:.{digits}f} {row.unit}"
        ratio = "" if row.ratio is None else f"{row.ratio:.1f}"
        lines.append([row.name, f"{row.value:.{digits}f} {row.unit}", bare, ratio, row.beside])
    return "\n".join([head, "", *screen.table(lines, right=(1, 2, 3))])


# --- processes -------------------------------------------------------------------------------------------


def apart(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> tuple[_T, int]:
    """Run a function in a fresh process; return its result and the process's peak memory in bytes."""
    # A fresh process is started with `-c`, which would import from the current folder.
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            result = pool.submit(work, *args, **kwargs).result()
            return result, pool.submit(peak_memory).result()
    finally:
        os.environ.pop("PYTHONSAFEPATH")
        os.environ.update({"PYTHONSAFEPATH": before} if before else {})


def peak_memory() -> int:
    """Return the largest memory this process ever held, in bytes; 0 where the system does not say."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


# --- the bare work, with nothing of ours in between -----------------------------------------------------


def timed(work: Callable[_P, object], *args: _P.args, **kwargs: _P.kwargs) -> float:
    """Seconds that `work` takes."""
    started = time.perf_counter()
    work(*args, **kwargs)
    return time.perf_counter() - started


def read_and_hash(files: Sequence[str]) -> list[str]:
    """Read, hash and decode files; return their texts."""
    texts = []
    for name in files:
        with open(name, "rb") as file:
            data = file.read()
        hashlib.blake2b(data, digest_size=16).digest()
        texts.append(data.decode("utf-8", "replace"))
    return texts


def fill(database: Path, texts: Sequence[str]) -> float:
    """Store texts and index their words, one statement each; return seconds."""
    opened = connect(database)
    opened.execute(TABLES).fetchall()  # the driver stops at each statement that gives a row
    started = time.perf_counter()
    opened.execute("BEGIN")
    opened.executemany("INSERT INTO texts(body) VALUES(?)", [(text,) for text in texts])
    opened.execute("INSERT INTO words(rowid, body) SELECT id, body FROM texts")
    opened.execute("COMMIT")
    spent = time.perf_counter() - started
    opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    opened.close()
    return spent


def connect(database: Path) -> apsw.Connection:
    """Open a database with the same driver as the index."""
    from commonplace.base import database as connection

    return connection.connect(Root(database.parent), database, make=True)


def match(database: apsw.Connection, table: str, expression: str) -> list[tuple[int, float]]:
    """Return the best rows of a full-text table for an FTS5 expression, with their BM25."""
    sql = f"SELECT rowid, rank FROM {table} WHERE {table} MATCH ? ORDER BY rank LIMIT ?"
    return [(int(row), float(rank)) for row, rank in database.execute(sql, (expression, HITS))]


def product(count: int, dimensions: int) -> Callable[[], object]:
    """Return one product of a (count, dimensions) float32 matrix with a vector, ready to be timed."""
    import numpy as np

    random = np.random.default_rng(0)
    matrix = random.standard_normal((max(count, 1), dimensions), dtype=np.float32)
    vector = random.standard_normal(dimensions, dtype=np.float32)
    return lambda: matrix @ vector


# --- the work that is timed -----------------------------------------------------------------------------


def opened(
    notes: Path, model: Model = "none", *, sync_on_search: bool = True, embedder: Embedder | None = None
) -> Memory:
    """Open the copy of the corpus as a workspace of which every Markdown file counts."""
    from commonplace.memory import Memory

    settings = {
        "embedding.provider": _provider(model),
        "index.sync_on_search": sync_on_search,
        "usage.record": False,
    }
    return Memory.open(notes, overrides=settings, embedder=embedder)


def _provider(model: Model) -> str:
    return "none" if model == "none" else "builtin"


def build(notes: Path) -> float:
    """Index the corpus anew, without vectors; return seconds."""
    shutil.rmtree(paths.Workspace(notes).index.parent, ignore_errors=True)
    with opened(notes) as memory:
        return timed(memory.sync, embed=False)


def fill_bare(notes: Path, database: Path) -> float:
    """Read the corpus and index it with nothing but FTS5; return seconds."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)
    started = time.perf_counter()
    texts = read_and_hash(list(walk(notes)))
    return time.perf_counter() - started + fill(database, texts)


def database_size(notes: Path) -> int:
    """Return the size of the index in bytes, once its write-ahead log is folded in."""
    path = paths.Workspace(notes).index
    database = connect(path)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return path.stat().st_size


def sync(notes: Path, turns: int) -> Syncs:
    """Time syncs with nothing and with one file changed, in turn with the bare work."""
    files = sorted(walk(notes))
    times = Syncs([], [], [], [])
    _sync_once(notes)
    for _ in range(turns):
        times.walked.append(timed(_look, notes))
        times.unchanged.append(timed(_sync_once, notes))
    for turn in range(turns):
        changed = files[(turn + 1) * len(files) // (turns + 2)]
        with open(changed, "a", encoding="utf-8") as file:
            file.write(f"\nA line added in turn {turn}.\n")
        times.walked_and_read.append(timed(_look, notes, [changed]))
        times.changed.append(timed(_sync_once, notes))
    return times


def _sync_once(notes: Path) -> None:
    with opened(notes) as memory:
        memory.sync(embed=False)


def _look(notes: Path, read: Sequence[str] = ()) -> None:
    """The least that finding changes takes: `stat` every file, read and hash those that differ."""
    list(walk(notes))
    read_and_hash(read)


def embed(notes: Path, model: Model) -> tuple[float, int]:
    """Give every passage its vector, with progress on standard error; return seconds and how many."""
    from commonplace.providers.catalog import EMBEDDERS

    embedder = RandomPassages(EMBEDDERS.create("builtin")) if model == "random" else None
    due = PROGRESS_STEP

    def tell(stage: str, done: int, total: int) -> None:
        nonlocal due
        if stage == "vectors" and done >= due:
            due = done + PROGRESS_STEP
            print(f"  {done:,} of {total:,} passages", file=sys.stderr, flush=True)

    with opened(notes, model, embedder=embedder) as memory:
        report = memory.sync(progress=tell)
    return report.seconds, report.embedded


class RandomPassages:
    """A model whose passages get random unit vectors, so that many can be stored in seconds.

    Questions are embedded by the model inside: a search costs what it costs, and finds nothing by meaning.
    """

    def __init__(self, inner: Embedder) -> None:
        import numpy as np

        self.inner = inner
        self.name = inner.name
        self.fingerprint = inner.fingerprint
        self.dimensions = inner.dimensions
        self.scripts = frozenset({"latin", "cjk"})
        self._random = np.random.default_rng(0)

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Return random unit vectors for passages, (n, d) float32; embed questions in earnest."""
        import numpy as np

        if kind == "query":
            return self.inner.embed(texts, kind)
        vectors = self._random.standard_normal((len(texts), self.dimensions), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


def ask(notes: Path, question: str, model: Model) -> None:
    """Ask as a long-lived process does: the second time, vectors are held in memory."""
    with opened(notes, model) as memory:
        for _ in range(2):
            memory.search(question)


def search(notes: Path, questions: Sequence[str], model: Model) -> Warm:
    """Ask every question in process, in turn with the bare work.

    Once as a user gets it, files compared before each answer, and once without that comparison. Questions
    that the bundled model does not serve are left to the lexical series.
    """
    database = connect(paths.Workspace(notes).index)
    served = [question for question in questions if lexicon.cjk_share(question) < 0.5] or questions
    series = []
    for compare in (True, False):
        with opened(notes, model, sync_on_search=compare) as memory:
            status = memory.status()
            suffix = "" if compare else ", files not compared"
            series.append(_ask_lexical(memory, database, questions, suffix))
            if model != "none":
                series.append(_ask_hybrid(memory, database, served, suffix))
    database.close()
    return Warm(status.passages, status.vectors, series)


def _ask_lexical(memory: Memory, database: apsw.Connection, questions: Sequence[str], suffix: str) -> Series:
    series = Series(f"warm lexical search{suffix}", [], [], "one FTS5 query of the same words")
    memory.search(questions[0], mode="lexical")
    for question in questions:
        expression = _expression(question)
        series.bare_ms.append(1000 * timed(match, database, FULL_TEXT, expression))
        series.ours_ms.append(1000 * timed(memory.search, question, mode="lexical"))
    return series


def _ask_hybrid(memory: Memory, database: apsw.Connection, questions: Sequence[str], suffix: str) -> Series:
    from commonplace.providers.catalog import EMBEDDERS

    model = EMBEDDERS.create("builtin")
    multiply = product(memory.status().vectors, model.dimensions)

    def work(question: str, expression: str) -> None:
        model.embed([question], "query")
        match(database, FULL_TEXT, expression)
        multiply()

    series = Series(f"warm hybrid search{suffix}", [], [], "model run, FTS5 query and matrix product")
    for _ in range(2):  # the first question is answered from disk, the second reads the matrix
        memory.search(questions[0])
    for question in questions:
        series.bare_ms.append(1000 * timed(work, question, _expression(question)))
        series.ours_ms.append(1000 * timed(memory.search, question))
    return series


def _expression(question: str) -> str:
    return lexicon.any_of(query.terms(question)) or lexicon.quote("nothing")


def cold_search(notes: Path, question: str, flags: Sequence[str], model: Model) -> float:
    """Run the real command line once; return seconds. Raises RuntimeError with what it said."""
    start = installation.python("-c", "from commonplace.cli.main import main; main()")
    command = [*start, "-w", os.fspath(notes), "search", *flags, "--", question]
    environment = shell_environment(notes, model)
    started = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode not in (0, 3):
        raise RuntimeError(f"search exited with {done.returncode}: {done.stderr.decode('utf-8', 'replace')}")
    return seconds


def shell_environment(notes: Path, model: Model) -> dict[str, str]:
    """Return the environment of the command line: this code, compiled once, as it is when installed."""
    source = os.fspath(Path(commonplace.__file__).parent.parent)
    code = [source, installation.environment().get("PYTHONPATH", "")]
    kept = {n: v for n, v in installation.environment().items() if n != "PYTHONDONTWRITEBYTECODE"}
    return kept | {
        "PYTHONPATH": os.pathsep.join(filter(None, code)),
        "PYTHONPYCACHEPREFIX": os.fspath(notes.parent / "bytecode"),
        "COMMONPLACE_EMBEDDING_PROVIDER": _provider(model),
    }


def questions_from(notes: Path, count: int) -> list[str]:
    """Make questions from the corpus's own words: six words each, from files spread over it."""
    files = sorted(walk(notes))
    step = max(1, len(files) // (2 * count))
    found: list[str] = []
    for text in read_and_hash(files[::step]):
        short = (w if w.isascii() else w[:LONGEST_RUN] for w in _WORDS.findall(text))
        words = list(dict.fromkeys(word for word in short if len(word) <= LONGEST_WORD))
        chosen = words[:: max(1, len(words) // 6)][:6]
        if len(chosen) >= 3 and len(found) < count:
            found.append(" ".join(chosen))
    return found or ["nothing to ask"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the folder that is named and print a table, or JSON."""
    parser = argparse.ArgumentParser(
        description="Time build, sync and search beside the bare cost of the same work."
    )
    parser.add_argument("corpus", type=Path, help="folder of Markdown files; it is copied and left alone")
    parser.add_argument(
        "--model",
        choices=["none", "builtin", "random"],
        default="none",
        help="vectors: none, the bundled model's, or random ones with the bundled model for questions",
    )
    parser.add_argument(
        "--questions", type=Path, help="questions, one a line; otherwise made from the corpus's own words"
    )
    parser.add_argument("--repeat", type=int, default=3, help="turns; medians are shown")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    lines = given.questions.read_text("utf-8", "replace").splitlines() if given.questions else []
    options = Options(given.model, [line.strip() for line in lines if line.strip()], max(1, given.repeat))
    measured = measure(given.corpus, options, lambda line: print(line, file=sys.stderr))
    print(json.dumps(to_data(measured), ensure_ascii=False, indent=1) if given.json else as_text(measured))


if __name__ == "__main__":
    main()
