"""The work that `speed` times; what needs a process of its own is a plain function run by `apart`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

from commonplace import installation, paths
from commonplace.bench import bare
from commonplace.index import lexicon
from commonplace.search import query

if TYPE_CHECKING:
    import apsw

    from commonplace.embedding.base import Embedder
    from commonplace.memory import Memory

Model = Literal["none", "builtin", "random"]
PROGRESS_STEP = 5000  # passages between two lines of progress
FULL_TEXT = "passages_fts"  # the index's own table, so that the bare query meets the same rows
LONGEST_WORD, LONGEST_RUN = 14, 6  # characters: longer Latin words are rare ones, longer runs are sentences
_WORDS = re.compile(r"[^\W\d_]{4,}")
_P = ParamSpec("_P")
_T = TypeVar("_T")


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


def apart(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> tuple[_T, int]:
    """Run a function in a fresh process; return its result and the process's peak memory in bytes."""
    # A fresh process is started with `-c`, which would import from the current folder.
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        return _apart(work, *args, **kwargs)
    finally:
        os.environ.pop("PYTHONSAFEPATH")
        os.environ.update({"PYTHONSAFEPATH": before} if before else {})


def _apart(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> tuple[_T, int]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        result = pool.submit(work, *args, **kwargs).result()
        return result, pool.submit(peak_memory).result()


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
    import shutil

    shutil.rmtree(paths.Workspace(notes).derived, ignore_errors=True)
    with opened(notes) as memory:
        return bare.timed(memory.sync, embed=False)


def fill_bare(notes: Path, database: Path) -> float:
    """Read the corpus and index it with nothing but FTS5; return seconds."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)
    started = time.perf_counter()
    texts = bare.read_and_hash(list(bare.walk(notes)))
    return time.perf_counter() - started + bare.fill(database, texts)


def database_size(notes: Path) -> int:
    """Return the size of the index in bytes, once its write-ahead log is folded in."""
    from commonplace.base.connection import connect

    path = paths.Workspace(notes).index
    connection = connect(paths.root_of(path), path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path.stat().st_size


def sync(notes: Path, turns: int) -> Syncs:
    """Time syncs with nothing and with one file changed, in turn with the bare work."""
    files = sorted(bare.walk(notes))
    times = Syncs([], [], [], [])
    _sync_once(notes)
    for _ in range(turns):
        times.walked.append(bare.timed(_look, notes))
        times.unchanged.append(bare.timed(_sync_once, notes))
    for turn in range(turns):
        changed = files[(turn + 1) * len(files) // (turns + 2)]
        with open(changed, "a", encoding="utf-8") as file:
            file.write(f"\nA line added in turn {turn}.\n")
        times.walked_and_read.append(bare.timed(_look, notes, [changed]))
        times.changed.append(bare.timed(_sync_once, notes))
    return times


def _sync_once(notes: Path) -> None:
    with opened(notes) as memory:
        memory.sync(embed=False)


def _look(notes: Path, read: Sequence[str] = ()) -> None:
    """The least that finding changes takes: `stat` every file, read and hash those that differ."""
    list(bare.walk(notes))
    bare.read_and_hash(read)


def embed(notes: Path, model: Model) -> tuple[float, int]:
    """Give every passage its vector, with progress on standard error; return seconds and how many."""
    from commonplace.bench.embedders import RandomPassages
    from commonplace.embedding import registry

    embedder = RandomPassages(registry.create("builtin")) if model == "random" else None
    with opened(notes, model, embedder=embedder) as memory:
        report = memory.sync(progress=_Steps())
    return report.seconds, report.embedded


class _Steps:
    """Progress on standard error, a line now and then."""

    def __init__(self) -> None:
        self.due = PROGRESS_STEP

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage == "vectors" and done >= self.due:
            self.due = done + PROGRESS_STEP
            print(f"  {done:,} of {total:,} passages", file=sys.stderr, flush=True)


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
    connection = bare.connect(paths.Workspace(notes).index)
    served = [question for question in questions if lexicon.cjk_share(question) < 0.5] or questions
    series = []
    for compare in (True, False):
        with opened(notes, model, sync_on_search=compare) as memory:
            status = memory.status()
            suffix = "" if compare else ", files not compared"
            series.append(_ask_lexical(memory, connection, questions, suffix))
            if model != "none":
                series.append(_ask_hybrid(memory, connection, served, suffix))
    connection.close()
    return Warm(status.passages, status.vectors, series)


def _ask_lexical(
    memory: Memory, connection: apsw.Connection, questions: Sequence[str], suffix: str
) -> Series:
    series = Series(f"warm lexical search{suffix}", [], [], "one FTS5 query of the same words")
    memory.search(questions[0], mode="lexical")
    for question in questions:
        expression = _expression(question)
        series.bare_ms.append(1000 * bare.timed(bare.match, connection, FULL_TEXT, expression))
        series.ours_ms.append(1000 * bare.timed(memory.search, question, mode="lexical"))
    return series


def _ask_hybrid(memory: Memory, connection: apsw.Connection, questions: Sequence[str], suffix: str) -> Series:
    from commonplace.embedding import registry

    model = registry.create("builtin")
    product = bare.product(memory.status().vectors, model.dimensions)

    def work(question: str, expression: str) -> None:
        model.embed([question], "query")
        bare.match(connection, FULL_TEXT, expression)
        product()

    series = Series(f"warm hybrid search{suffix}", [], [], "model run, FTS5 query and matrix product")
    for _ in range(2):  # the first question is answered from disk, the second reads the matrix
        memory.search(questions[0])
    for question in questions:
        series.bare_ms.append(1000 * bare.timed(work, question, _expression(question)))
        series.ours_ms.append(1000 * bare.timed(memory.search, question))
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
    code = [os.fspath(Path(paths.__file__).parent.parent), installation.environment().get("PYTHONPATH", "")]
    kept = {n: v for n, v in installation.environment().items() if n != "PYTHONDONTWRITEBYTECODE"}
    return kept | {
        "PYTHONPATH": os.pathsep.join(filter(None, code)),
        "PYTHONPYCACHEPREFIX": os.fspath(notes.parent / "bytecode"),
        "COMMONPLACE_EMBEDDING_PROVIDER": _provider(model),
    }


def questions_from(notes: Path, count: int) -> list[str]:
    """Make questions from the corpus's own words: six words each, from files spread over it."""
    files = sorted(bare.walk(notes))
    step = max(1, len(files) // (2 * count))
    found: list[str] = []
    for text in bare.read_and_hash(files[::step]):
        short = (w if w.isascii() else w[:LONGEST_RUN] for w in _WORDS.findall(text))
        words = list(dict.fromkeys(word for word in short if len(word) <= LONGEST_WORD))
        chosen = words[:: max(1, len(words) // 6)][:6]
        if len(chosen) >= 3 and len(found) < count:
            found.append(" ".join(chosen))
    return found or ["nothing to ask"]
