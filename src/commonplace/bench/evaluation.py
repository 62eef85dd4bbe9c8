"""A question set asked through the search a user gets, one workspace at a time, and its figures."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.base import paths
from commonplace.bench import metrics
from commonplace.bench import questions as sets
from commonplace.bench.metrics import Span
from commonplace.bench.presets import DEFAULT, Preset
from commonplace.bench.questions import Answer, Question
from commonplace.memory import Memory, sources
from commonplace.memory import estimate as expected
from commonplace.providers import opening
from commonplace.render import screen
from commonplace.types import LEVEL_NAMES, Estimate, Mode
from commonplace.types.progress import Progress, silent

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.providers.embedding.base import Embedder, Floats, Kind

# No look at the files between two questions: they are synced once.
SYNCED: Mapping[str, object] = {"index.sync_on_search": False, "usage.record": False}
# Every Markdown file of the folder, and no language model, whatever the user's own settings say.
OVERRIDES: Mapping[str, object] = {"index.include": ["**/*.md"], "search.expand": "off", **SYNCED}

# Workspaces with fewer passages to embed are done before a bar for them could be read.
WORTH_TELLING = 1000
ALL = "(all)"
NDCG = f"ndcg@{max(metrics.KS)}"
RANKED = (*(f"recall@{k}" for k in metrics.KS), *(f"hit@{k}" for k in metrics.KS), "mrr", NDCG, "fresh1st")
BUDGETED = tuple(f"r@{budget}c" for budget in metrics.BUDGETS)
FIGURES = RANKED + BUDGETED
LATENCIES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}

Rows = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Options:
    """How to ask; `cache` is where indexes are kept, `settings` further settings by dotted key.

    `own` searches the files that the workspace's own settings name, rather than every Markdown file.
    """

    preset: Preset = DEFAULT
    mode: Mode = "hybrid"
    limit: int = 100
    fresh: bool = False
    cache: Path | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    own: bool = False


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Every question's answer and figures, by id in the order of the set, with its category and language.

    `skipped` counts questions without evidence, which are not asked; `warm_ms` leaves out the first
    question of each workspace, which opens its index; `levels` says what answered, by level.
    """

    answers: Mapping[str, Answer]
    figures: Mapping[str, Mapping[str, float]]
    categories: Mapping[str, str]
    skipped: int
    warm_ms: tuple[float, ...]
    levels: Mapping[int, int]
    warnings: tuple[str, ...] = ()
    index_s: float = 0.0
    search_s: float = 0.0
    languages: Mapping[str, str] = field(default_factory=dict)


def evaluate(
    questions: Sequence[Question], workspaces: Path, options: Options, progress: Progress = silent
) -> Evaluation:
    """Index what must be indexed and ask every question that has evidence.

    Raises ConfigError for a workspace that is not there, and whatever opening and syncing raise.
    """
    asked = [question for question in questions if question.evidence]
    groups = sets.by_workspace(asked)
    folders = {name: sets.workspace_folder(workspaces, name) for name in groups}
    run = _Run(options, progress, len(asked))
    for name, group in groups.items():
        run.ask_workspace(folders[name], group)
    order = [question.id for question in asked]
    return Evaluation(
        answers={id_: run.answers[id_] for id_ in order},
        figures={id_: run.figures[id_] for id_ in order},
        categories={question.id: question.category for question in asked},
        skipped=len(questions) - len(asked),
        warm_ms=tuple(run.warm_ms),
        levels=dict(sorted(run.levels.items())),
        warnings=tuple(dict.fromkeys(run.warnings)),
        index_s=run.index_s,
        search_s=run.search_s,
        languages={question.id: sets.language(question.text) for question in asked},
    )


def estimate(questions: Sequence[Question], workspaces: Path, options: Options) -> Estimate:
    """Say what embedding the workspaces and the questions of a set would take; text alone is indexed.

    Raises as `evaluate` does.
    """
    asked = [question for question in questions if question.evidence and options.mode != "lexical"]
    parts = []
    for name, group in sets.by_workspace(asked).items():
        with open_workspace(sets.workspace_folder(workspaces, name), options) as memory:
            parts.append(expected(memory, [question.text for question in group]))
    prices = [one.dollars for one in parts]
    return Estimate(
        model=parts[0].model if parts else "none",
        texts=sum(map(attrgetter("texts"), parts)),
        known=sum(map(attrgetter("known"), parts)),
        tokens=sum(map(attrgetter("tokens"), parts)),
        dollars=None if None in prices else sum(filter(None, prices)),
        local=all(one.local for one in parts),
        batched=any(one.batched for one in parts),
        warnings=tuple(dict.fromkeys(warning for one in parts for warning in one.warnings)),
    )


def cache_folder(folder: Path, options: Options, model: str) -> Path:
    """Return where the index of a workspace is kept: by its real path, how it is cut, and the model."""
    root = options.cache or paths.user_cache_dir() / "eval"
    preset = options.preset
    identity = (os.path.realpath(folder), preset.chunks.fingerprint, model, preset.every_script)
    return root / hashlib.sha256(repr(identity).encode("utf-8", "surrogateescape")).hexdigest()[:20]


def open_workspace(folder: Path, options: Options) -> Memory:
    """Open a workspace as the options say, its index in the cache; nothing is read yet."""
    overrides = {**(SYNCED if options.own else OVERRIDES), **options.settings}
    memory = Memory.open(folder, overrides=overrides)
    provider = opening.choose(memory.settings.embedding).provider
    kept = cache_folder(folder, options, provider)
    if options.fresh:
        shutil.rmtree(kept, ignore_errors=True)
    return Memory.open(
        folder,
        overrides=overrides,
        index_path=kept / "index.sqlite",
        chunks=options.preset.chunks,
        ranking=options.preset.ranking,
        embedder=_every_script(memory.settings, kept, options),
    )


def _every_script(settings: Settings, kept: Path, options: Options) -> Embedder | None:
    """The model as systems use it that do not ask which scripts it serves; None for the ordinary one."""
    if not options.preset.every_script or options.mode == "lexical":
        return None
    if settings.embedding.provider == "none":
        return None
    from commonplace.providers import opening
    from commonplace.providers.costs import Accounts

    accounts = Accounts(paths.Workspace(kept), kept)
    models = opening.models(settings.embedding, accounts)
    model = next((model for model in models if not isinstance(model, str)), None)
    return EveryScript(model) if model else None


class EveryScript:
    """A model that claims to serve every script, as systems do that do not ask.

    It shares the fingerprint of the model inside, whose vectors are the same.
    """

    scripts = frozenset({"latin", "cjk"})

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self.name = inner.name
        self.fingerprint = inner.fingerprint
        self.dimensions = inner.dimensions
        if hasattr(inner, "estimate"):
            self.estimate = inner.estimate

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed with the model inside; (n, d) float32."""
        return self.inner.embed(texts, kind)


class _Run:
    """What is gathered over the workspaces of one evaluation."""

    def __init__(self, options: Options, progress: Progress, total: int) -> None:
        self.options = options
        self.progress = progress
        self.total = total
        self.answers: dict[str, Answer] = {}
        self.figures: dict[str, dict[str, float]] = {}
        self.warm_ms: list[float] = []
        self.levels: dict[int, int] = {}
        self.warnings: list[str] = []
        self.index_s = self.search_s = 0.0

    def ask_workspace(self, folder: Path, questions: Sequence[Question]) -> None:
        """Index one workspace and ask its questions."""
        with open_workspace(folder, self.options) as memory:
            sizes = sets.line_sizes(folder, {source.name: source.root for source in sources(memory)[1:]})
            self._sync(memory)
            for place, question in enumerate(questions):
                answer = self._ask(memory, question)
                self.answers[question.id] = answer
                self.figures[question.id] = metrics.score(
                    answer.results, question.evidence, sizes, question.stale
                )
                if place:
                    self.warm_ms.append(answer.latency_ms)
                self.progress("questions", len(self.answers), self.total)

    def _sync(self, memory: Memory) -> None:
        def tell(stage: str, done: int, total: int) -> None:
            if stage == "vectors" and total >= WORTH_TELLING:
                self.progress(stage, done, total)

        done = memory.sync(embed=self.options.mode != "lexical", progress=tell)
        self.index_s += done.seconds
        self.warnings += done.warnings
        self.warnings += [f"{failure.path}: {failure.reason}" for failure in done.failed]

    def _ask(self, memory: Memory, question: Question) -> Answer:
        started = time.perf_counter()
        found = memory.search(
            question.text,
            limit=self.options.limit,
            mode=self.options.mode,
            min_score=0.0,
        )
        seconds = time.perf_counter() - started
        self.search_s += seconds
        self.levels[found.level] = self.levels.get(found.level, 0) + 1
        self.warnings += found.warnings
        spans = tuple(Span(hit.path, hit.start_line, hit.end_line) for hit in found.hits)
        return Answer(question.id, spans, seconds * 1000)


# --- as text and as JSON --------------------------------------------------------------------------------


def by_category(evaluation: Evaluation) -> Rows:
    """Mean figures of all questions, then of each category in the order of their names.

    Each row also has `n`, its number of questions.
    """
    everything = {ALL: _means(evaluation.figures.values())} if evaluation.figures else {}
    return everything | _grouped(evaluation, evaluation.categories)


def by_language(evaluation: Evaluation) -> Rows:
    """Mean figures of the questions in each language: `cjk` where most letters are, `other`."""
    return _grouped(evaluation, evaluation.languages)


def _grouped(evaluation: Evaluation, names: Mapping[str, str]) -> Rows:
    return {
        name: _means(evaluation.figures[id_] for id_, own in names.items() if own == name)
        for name in sorted(set(names.values()))
    }


def _means(figures: Iterable[Mapping[str, float]]) -> dict[str, float]:
    rows = list(figures)
    return {"n": len(rows)} | metrics.mean(rows)


def as_text(evaluation: Evaluation) -> str:
    """Two tables (ranks, characters read) and the lines that say how they came about."""
    rows, languages = by_category(evaluation), by_language(evaluation)
    if len(languages) > 1:
        rows |= {f"({name})": row for name, row in languages.items()}
    parts = [_table(rows, RANKED), _table(rows, BUDGETED), "\n".join(_facts(evaluation))]
    return "\n\n".join(filter(None, parts))


def as_record(evaluation: Evaluation) -> dict[str, Any]:
    """Return the same as a JSON object."""
    return {
        "figures": by_category(evaluation),
        "languages": by_language(evaluation),
        "skipped": evaluation.skipped,
        "latency_ms": _latency(evaluation),
        "levels": {str(level): count for level, count in evaluation.levels.items()},
        "index_s": round(evaluation.index_s, 3),
        "search_s": round(evaluation.search_s, 3),
        "warnings": list(evaluation.warnings),
    }


def short_of(evaluation: Evaluation, least: Mapping[str, float]) -> list[str]:
    """Say which figures of all questions fall short of their least value, a line each."""
    found = by_category(evaluation).get(ALL, {})
    told = []
    for name, value in least.items():
        if name not in found:
            told.append(f"{name} was not measured: no question has it")
        elif found[name] < value:
            told.append(f"{name} is {found[name]:.4f}, under {value:g}")
    return told


def _table(rows: Mapping[str, Mapping[str, float]], columns: Sequence[str]) -> str:
    shown = [column for column in columns if any(column in row for row in rows.values())]
    body = [
        [name, f"{row['n']:.0f}", *(f"{row[column]:.3f}" if column in row else "-" for column in shown)]
        for name, row in rows.items()
    ]
    table = screen.table([["category", "n", *shown], *body], range(1, 2 + len(shown)))
    return "\n".join(table) if shown else ""


def _latency(evaluation: Evaluation) -> dict[str, float | None]:
    values = {name: metrics.percentile(evaluation.warm_ms, share) for name, share in LATENCIES.items()}
    return {name: None if value is None else round(value, 2) for name, value in values.items()}


def _facts(evaluation: Evaluation) -> Iterator[str]:
    latency = _latency(evaluation)
    if evaluation.warm_ms:
        told = ", ".join(f"{name} {value:.2f} ms" for name, value in latency.items())
        yield f"latency  {told} (each index opened before)"
    yield f"time     {evaluation.index_s:.1f} s indexing, {evaluation.search_s:.1f} s searching"
    for level, count in evaluation.levels.items():
        yield f"level {level}  {LEVEL_NAMES[level]}: {count} questions"
    if evaluation.skipped:
        yield f"skipped  {evaluation.skipped} questions without evidence"
    for warning in evaluation.warnings:
        yield f"note     {warning}"
