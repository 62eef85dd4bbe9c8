"""How fast and how large: each figure beside the bare cost of the same work on the same files, same run.

The corpus is copied to a temporary folder and never touched. What is timed runs in processes of its own, so
that peak memory is that of the work; ours and the bare work take turns, and medians are reported.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Literal

from commonplace import paths
from commonplace.bench import bare, probes
from commonplace.bench.metrics import percentile
from commonplace.bench.probes import Model, Warm
from commonplace.errors import ConfigError

Unit = Literal["s", "ms", "x text", "MB"]
Report = Callable[[str], None]
QUESTIONS = 50
COLD_RUNS = 9
MEGABYTE = 1_000_000
SETTINGS = '[index]\ninclude = ["**/*.md"]\n'  # of the copy: every file counts, for the command line as well


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
        questions = list(options.questions) or probes.questions_from(notes, QUESTIONS)
        warm = _searching(bench, questions)
        _starting(bench, questions)
    return Speed(count, size, warm.passages, warm.vectors, options.model, tuple(bench.rows))


def _copy(corpus: Path, notes: Path) -> tuple[int, int]:
    """Copy the Markdown files with their times; return how many, and how many bytes."""
    count = size = 0
    for name in bare.walk(corpus):
        target = notes / Path(name).relative_to(corpus)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(name, target)
        count, size = count + 1, size + target.stat().st_size
    if not count:
        raise ConfigError("--corpus", f"no Markdown files in {corpus}")
    paths.Workspace(notes).settings.write_text(SETTINGS, encoding="utf-8")
    return count, size


def _building(bench: _Bench) -> None:
    ours, theirs = [], []
    for turn in range(bench.options.repeat):
        bench.report(f"building {turn + 1}/{bench.options.repeat}")
        theirs.append(probes.apart(probes.fill_bare, bench.notes, bench.database))
        ours.append(probes.apart(probes.build, bench.notes))
    work = "read, hash, store and FTS5-index the same text"
    bench.rows += [
        Row("build without vectors", _median(ours), "s", _median(theirs), work),
        Row("peak memory of the build", _peak(ours), "MB", _peak(theirs), work),
        Row("database", probes.database_size(bench.notes) / bench.size, "x text",
            bench.database.stat().st_size / bench.size, "the text once and its FTS5 index"),
    ]  # fmt: skip


def _syncing(bench: _Bench) -> None:
    bench.report("syncing")
    times, _ = probes.apart(probes.sync, bench.notes, max(3, bench.options.repeat))
    bench.rows += [
        Row("sync, nothing changed", median(times.unchanged), "s", median(times.walked), "stat every file"),
        Row("sync, one file changed", median(times.changed), "s", median(times.walked_and_read),
            "stat every file, read and hash one"),
    ]  # fmt: skip


def _searching(bench: _Bench, questions: Sequence[str]) -> Warm:
    if bench.options.model != "none":
        bench.report("embedding" if bench.options.model == "builtin" else "storing random vectors")
        (seconds, embedded), memory = probes.apart(probes.embed, bench.notes, bench.options.model)
        name = f"embed {embedded} passages" if bench.options.model == "builtin" else "store random vectors"
        bench.rows.append(Row(name, seconds, "s"))
        bench.rows.append(Row("peak memory of that", memory / MEGABYTE, "MB"))
    bench.report(f"searching: {len(questions)} questions")
    warm, _ = probes.apart(probes.search, bench.notes, questions, bench.options.model)
    for series in warm.series:
        for name, share in (("p50", 0.5), ("p95", 0.95)):
            value, beside = percentile(series.ours_ms, share), percentile(series.bare_ms, share)
            bench.rows.append(Row(f"{series.name}, {name}", value or 0.0, "ms", beside, series.beside))
    _, memory = probes.apart(probes.ask, bench.notes, questions[0], bench.options.model)
    bench.rows.append(Row("peak memory of searching", memory / MEGABYTE, "MB"))
    return warm


def _starting(bench: _Bench, questions: Sequence[str]) -> None:
    """Time the real command line from a cold start, in turn with an interpreter that does nothing."""
    modes = [["--lexical"], []] if bench.options.model != "none" else [["--lexical"]]
    for flags in modes:
        bench.report(f"cold search {' '.join(flags)}")
        ours, theirs = [], []
        probes.cold_search(bench.notes, questions[0], flags, bench.options.model)  # compiles
        environment = probes.shell_environment(bench.notes, bench.options.model)
        for turn in range(bench.options.cold_runs):
            theirs.append(bare.start_python(environment))
            question = questions[turn % len(questions)]
            ours.append(probes.cold_search(bench.notes, question, flags, bench.options.model))
        name = f"cold search{' --lexical' if flags else ' (hybrid)'}"
        bench.rows.append(Row(name, median(ours), "s", median(theirs), "start Python, do nothing"))


def _median(measured: Sequence[tuple[float, int]]) -> float:
    return median(seconds for seconds, _ in measured)


def _peak(measured: Sequence[tuple[float, int]]) -> float:
    return max(memory for _, memory in measured) / MEGABYTE
