"""A question set asked through the search a user gets: one index a workspace, one workspace at a time."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace import paths
from commonplace.bench import datasets, metrics
from commonplace.bench.datasets import Answer, Question
from commonplace.bench.embedders import EveryScript
from commonplace.bench.metrics import Span
from commonplace.bench.presets import DEFAULT, Preset
from commonplace.embedding import automatic
from commonplace.index.progress import Progress, silent
from commonplace.memory import Memory, sources
from commonplace.memory import estimate as expected
from commonplace.types import Mode

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.embedding.base import Embedder
    from commonplace.types import Estimate

# No look at the files between two questions: they are synced once.
SYNCED: Mapping[str, object] = {"index.sync_on_search": False, "usage.record": False}
# Every Markdown file of the folder, and no language model, whatever the user's own settings say.
OVERRIDES: Mapping[str, object] = {"index.include": ["**/*.md"], "search.expand": "off", **SYNCED}

# Workspaces with fewer passages to embed are done before a bar for them could be read.
WORTH_TELLING = 1000


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
    groups = datasets.by_workspace(asked)
    folders = {name: datasets.workspace_folder(workspaces, name) for name in groups}
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
        languages={question.id: datasets.language(question.text) for question in asked},
    )


def estimate(questions: Sequence[Question], workspaces: Path, options: Options) -> Estimate:
    """Say what embedding the workspaces and the questions of a set would take; text alone is indexed.

    Raises as `evaluate` does.
    """
    asked = [question for question in questions if question.evidence and options.mode != "lexical"]
    found = []
    for name, group in datasets.by_workspace(asked).items():
        with open_workspace(datasets.workspace_folder(workspaces, name), options) as memory:
            found.append(expected(memory, [question.text for question in group]))
    return _total(found)


def _total(found: Sequence[Estimate]) -> Estimate:
    from commonplace.types import Estimate

    prices = [one.dollars for one in found]
    return Estimate(
        model=found[0].model if found else "none",
        texts=sum(one.texts for one in found),
        known=sum(one.known for one in found),
        tokens=sum(one.tokens for one in found),
        dollars=None if None in prices else sum(filter(None, prices)),
        local=all(one.local for one in found),
        batched=any(one.batched for one in found),
        warnings=tuple(dict.fromkeys(warning for one in found for warning in one.warnings)),
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
    provider = automatic.choose(memory.settings.embedding).provider
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
    from commonplace.costs.accounts import Accounts
    from commonplace.embedding import configured

    accounts = Accounts(paths.Workspace(kept), settings.embedding, kept)
    models = configured.models(settings.embedding, accounts)
    model = next((model for model in models if not isinstance(model, str)), None)
    return EveryScript(model) if model else None


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
            sizes = datasets.line_sizes(folder, {source.name: source.root for source in sources(memory)[1:]})
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
