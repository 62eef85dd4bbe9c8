"""Question sets asked through the search a user gets, one workspace at a time, and their figures.

`evaluate` asks questions of the workspaces that answer them. `reject` asks them of the wrong workspace too,
where nothing should clearly answer: by the strict search, which is empty then, as prompts and hooks ask it.
Refusing everything would be easy, so `reject` also asks questions that the workspace does answer.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from random import Random
from statistics import fmean as mean
from typing import TYPE_CHECKING, Any

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.base.tuples import NamedTuple
from commonplace.chunking import settings as chunking
from commonplace.chunking.settings import ChunkSettings
from commonplace.memory import Lab, Memory, sources
from commonplace.providers import opening
from commonplace.render import count as counted
from commonplace.render import screen
from commonplace.search import ranking
from commonplace.search.ranking import RankSettings
from commonplace.types import LEVEL_NAMES, Mode, SearchResult, SyncReport
from commonplace.types.progress import Progress, silent
from measuring import metrics
from measuring import questions as sets
from measuring.metrics import Span
from measuring.questions import Answer, Question, QuestionSet

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.providers.embedding.base import Embedder

# No look at the files between two questions: they are synced once.
SYNCED: Mapping[str, object] = {"index.sync_on_search": False, "usage.record": False}
# Every Markdown file of the folder, and no language model, whatever the user's own settings say.
OVERRIDES: Mapping[str, object] = {"index.include": ["**/*.md"], "search.expand": "off", **SYNCED}
WORTH_SHOWING = 1000  # workspaces with fewer passages to embed are done before a bar could be read
ALL, NOTHING, MEAN = "(all)", "(nothing)", "(mean)"
NDCG = f"ndcg@{max(metrics.KS)}"
RANKED = (*(f"recall@{k}" for k in metrics.KS), *(f"hit@{k}" for k in metrics.KS), "mrr", NDCG, "fresh1st")
BUDGETED = tuple(f"r@{budget}c" for budget in metrics.BUDGETS)
SHARES = ("empty", "weak", "refused")
FIGURES = RANKED + BUDGETED + ("refused",)
IN_TABLE = ("r@1000c", "r@2000c", "r@4000c", NDCG, "recall@5", "fresh1st", *SHARES)  # of several sets
LATENCIES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
SHOWN = 3  # places of evidence that are named where no file has them
WRONG_QUESTIONS, SEED = 200, "commonplace"

Rows = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Options:
    """How to ask; `cache` is where indexes are kept, `settings` further settings by dotted key.

    `own` searches the files that the workspace's own settings name, rather than every Markdown file;
    `refuse` leaves out what is noise and marks what is weak, as a user gets it. `embedder` makes the model to
    embed with from the settings and the folder of the index; None for the one of the settings.
    """

    chunks: ChunkSettings = chunking.DEFAULT
    ranking: RankSettings = ranking.DEFAULT
    mode: Mode = "hybrid"
    limit: int = 100
    fresh: bool = False
    cache: Path | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    own: bool = False
    refuse: bool = True
    embedder: Callable[[Settings, Path], Embedder | None] | None = None


@dataclass(slots=True)
class Evaluation:
    """Every question's answer and figures, by id in the order of the set, with its category and language.

    Questions that nothing answers have the category NOTHING and no language. `skipped` counts those of which
    neither evidence nor `nothing` says what should come back, which are not asked; `warm_ms` leaves out the
    first question of each workspace, which opens its index; `levels` says what answered, by level. `absent`
    is evidence in lines that no file has, which nothing can find; `unasked` says of questions that could not
    be asked why: they have no answer and no figures.
    """

    answers: dict[str, Answer]
    figures: Rows
    categories: Mapping[str, str]
    skipped: int
    warm_ms: list[float] = field(default_factory=list)
    levels: Mapping[int, int] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    index_s: float = 0.0
    search_s: float = 0.0
    languages: Mapping[str, str] = field(default_factory=dict)
    absent: Sequence[str] = ()
    unasked: dict[str, str] = field(default_factory=dict)


def evaluate(
    questions: Sequence[Question], workspaces: Path, options: Options, progress: Progress = silent
) -> Evaluation:
    """Index what must be indexed and ask every question of which it is known what should come back.

    Raises ConfigError for a workspace that is not there and where no question can be asked, and whatever
    opening and syncing raise.
    """
    asked = {question.id: question for question in questions if question.is_asked}
    groups = sets.by_workspace(asked.values())
    folders = {name: sets.workspace_folder(workspaces, name) for name in groups}
    evaluation = Evaluation(
        answers={},
        figures={},
        categories={id_: NOTHING if one.nothing else one.category for id_, one in asked.items()},
        languages={id_: sets.language(one.text) for id_, one in asked.items() if not one.nothing},
        skipped=len(questions) - len(asked),
    )
    levels, warnings, absent = Counter[int](), list[str](), list[str]()
    for name, group in groups.items():
        with _synced(folders[name], options, progress) as (memory, report):
            evaluation.index_s += report.seconds
            warnings += report.warnings
            warnings += [f"{failure.path}: {failure.reason}" for failure in report.failed]
            sizes = sets.line_sizes(
                folders[name], {source.name: source.root for source in sources(memory)[1:]}
            )
            absent += [
                span.citation if name == sets.SELF else f"{name}/{span.citation}"
                for question in group
                for span in question.evidence
                if len(sizes(span.path)) < span.start_line
            ]
            for result in _ask(memory, sizes, group, options, evaluation):
                if result is not None:
                    levels[result.level] += 1
                    warnings += result.warnings
                progress("questions", len(evaluation.answers) + len(evaluation.unasked), len(asked))
    if len(evaluation.unasked) == len(asked) > 0:
        raise ConfigError(*next(iter(evaluation.unasked.items())))
    evaluation.answers = {id_: evaluation.answers[id_] for id_ in asked if id_ in evaluation.answers}
    evaluation.figures = {id_: evaluation.figures[id_] for id_ in evaluation.answers}
    evaluation.categories = {i: name for i, name in evaluation.categories.items() if i in evaluation.answers}
    evaluation.languages = {i: name for i, name in evaluation.languages.items() if i in evaluation.answers}
    evaluation.absent = tuple(dict.fromkeys(absent))
    evaluation.levels = dict(sorted(levels.items()))
    evaluation.warnings = tuple(dict.fromkeys(warnings))
    return evaluation


def evaluate_all(
    asked_sets: Sequence[QuestionSet], options: Options, progress: Progress = silent
) -> dict[str, Evaluation]:
    """Evaluate sets one after the other, by what their paths do not share.

    Raises as `evaluate` does.
    """
    counts = [sum(question.is_asked for question in asked.questions) for asked in asked_sets]
    evaluations: dict[str, Evaluation] = {}
    before = 0

    def tell(stage: str, done: int, total: int) -> None:  # the questions of all sets are one stage
        progress(stage, *((before + done, sum(counts)) if stage == "questions" else (done, total)))

    for name, asked, number in zip(sets.names_of(asked_sets), asked_sets, counts, strict=True):
        evaluations[name] = evaluate(asked.questions, asked.folder, replace(options, own=asked.own), tell)
        before += number
    return evaluations


def _ask(
    memory: Memory,
    sizes: metrics.LineSizes,
    questions: Sequence[Question],
    options: Options,
    evaluation: Evaluation,
) -> Iterator[SearchResult | None]:
    """Ask one workspace its questions; enter answers, figures and times, and yield what came back.

    Of a question that cannot be asked, the reason is entered, and None is yielded.
    """
    least = None if options.refuse else 0.0
    for number, question in enumerate(questions):
        started = time.perf_counter()
        try:
            result = memory.search(question.text, limit=options.limit, mode=options.mode, min_score=least)
        except ConfigError as error:
            evaluation.unasked[question.id] = str(error)
            yield None
            continue
        took_ms = (time.perf_counter() - started) * 1000
        spans = _spans(result)
        evaluation.answers[question.id] = Answer(question.id, spans, took_ms)
        empty, weak = float(not spans), float(bool(spans) and result.weak)
        evaluation.figures[question.id] = (
            {"refused": max(empty, weak)}
            if question.nothing
            else metrics.score(spans, question.evidence, sizes, question.stale)
        ) | {"empty": empty, "weak": weak}
        evaluation.search_s += took_ms / 1000
        if number:  # the first one opened the index
            evaluation.warm_ms.append(took_ms)
        yield result


@contextmanager
def _synced(
    folder: Path, options: Options, progress: Progress = silent
) -> Iterator[tuple[Memory, SyncReport]]:
    """Open a workspace and bring its index up to its files; a bar is shown where that takes long."""

    def show(stage: str, done: int, total: int) -> None:
        if stage == "vectors" and total >= WORTH_SHOWING:
            progress(f"{stage} of {folder.name}", done, total)  # a stage a workspace

    with open_workspace(folder, options) as memory:
        yield (
            memory,
            memory.sync(embed=options.mode != "lexical", progress=show),
        )


def _spans(result: SearchResult) -> tuple[Span, ...]:
    return tuple(Span(hit.path, hit.start_line, hit.end_line) for hit in result.hits)


# --- workspaces, with their indexes in the user's cache -------------------------------------------------


def cache_folder(folder: Path, options: Options, model: str) -> Path:
    """Return where the index of a workspace is kept: by its real path, how it is cut, and the model."""
    root = options.cache or paths.user_cache_dir() / "eval"
    identity = (os.path.realpath(folder), options.chunks.fingerprint, model, options.embedder is not None)
    return root / hashlib.sha256(repr(identity).encode("utf-8", "surrogateescape")).hexdigest()[:20]


def open_workspace(folder: Path, options: Options) -> Memory:
    """Open a workspace as the options say, its index in the cache; nothing is read yet."""
    overrides = {**(SYNCED if options.own else OVERRIDES), **options.settings}
    settings = Memory.open(folder, overrides=overrides).settings
    index = cache_folder(folder, options, opening.choose(settings.embedding)[0])
    if options.fresh:
        shutil.rmtree(index, ignore_errors=True)
    make = options.embedder if options.mode != "lexical" else None
    return Memory.open(
        folder,
        overrides=overrides,
        lab=Lab(index / "index.sqlite", options.chunks, options.ranking),
        embedder=make(settings, index) if make else None,
    )


# --- figures as text and as JSON ------------------------------------------------------------------------


def by_category(evaluation: Evaluation) -> Rows:
    """Mean figures of all questions, then of each category in the order of their names.

    Each row also has `n`, its number of questions. Those that nothing answers have a row of their own.
    """
    everything = {id_: ALL for id_, name in evaluation.categories.items() if name != NOTHING}
    return _grouped(evaluation, everything) | _grouped(evaluation, evaluation.categories)


def by_language(evaluation: Evaluation) -> Rows:
    """Mean figures of the questions in each language: `cjk` where most letters are, `other`."""
    return _grouped(evaluation, evaluation.languages)


def _grouped(evaluation: Evaluation, names: Mapping[str, str]) -> Rows:
    groups: dict[str, list[Mapping[str, float]]] = {name: [] for name in sorted(set(names.values()))}
    for id_, name in names.items():
        groups[name].append(evaluation.figures[id_])
    return {name: {"n": len(rows), **metrics.mean(rows)} for name, rows in groups.items()}


def as_text(evaluation: Evaluation) -> str:
    """Two tables (ranks, characters read) and the lines that say how they came about."""
    rows, languages = by_category(evaluation), by_language(evaluation)
    if len(languages) > 1:
        rows |= {f"({name})": row for name, row in languages.items()}
    measured = {name for row in rows.values() for name in row}
    parts = []
    for names in (RANKED, (*BUDGETED, *SHARES)):
        if columns := [name for name in names if name in measured]:
            shown = {name: row for name, row in rows.items() if row.keys() & columns}
            lines = _lines("category", shown, columns)
            parts.append("\n".join(screen.table(lines, range(1, 2 + len(columns)))))
    return "\n\n".join([*parts, "\n".join(_facts(evaluation))])


def _lines(head: str, rows: Rows, columns: Sequence[str]) -> list[list[str]]:
    """A head and a line a row, as cells."""
    cells = ((f"{row[column]:.3f}" if column in row else "-" for column in columns) for row in rows.values())
    return [
        [head, "n", *columns],
        *([name, str(row["n"]), *line] for (name, row), line in zip(rows.items(), cells, strict=True)),
    ]


def by_set(evaluations: Mapping[str, Evaluation]) -> Rows:
    """The figures IN_TABLE and `ms` (median latency) of each set, then their mean: each set counts once."""
    rows = {name: _row(evaluation) for name, evaluation in evaluations.items()}
    mean_row = metrics.mean([{k: v for k, v in row.items() if k != "n"} for row in rows.values()])
    return rows | {MEAN: {"n": sum(row["n"] for row in rows.values()), **mean_row}}


def _row(evaluation: Evaluation) -> dict[str, float]:
    median = metrics.percentile(evaluation.warm_ms, LATENCIES["p50"])
    taken = {name: value for name, value in _measured(evaluation).items() if name in IN_TABLE}
    return {"n": len(evaluation.figures), **taken} | ({} if median is None else {"ms": median})


def table(rows: Rows, *, markdown: bool = False) -> str:
    """One line a set: recall, nDCG, what was refused, milliseconds."""
    measured = {name for row in rows.values() for name in row}
    columns = [name for name in (*IN_TABLE, "ms") if name in measured]
    lines = _lines("set", rows, columns)
    if "ms" in columns:
        for line, row in zip(lines[1:], rows.values(), strict=True):
            line[-1] = f"{row['ms']:.1f}" if "ms" in row else "-"
    if not markdown:
        return "\n".join(screen.table(lines, range(1, len(lines[0]))))
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


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
        "absent": list(evaluation.absent),
        "unasked": evaluation.unasked,
    }


def faults(evaluation: Evaluation) -> list[str]:
    """Say what is wrong with the questions of a set, a line each: evidence and questions that are none."""
    lines = []
    if evaluation.absent:
        more = len(evaluation.absent) - SHOWN
        first = ", ".join(evaluation.absent[:SHOWN])
        places = counted(len(evaluation.absent), "place")
        lines.append(f"evidence in {places} that no file has: {first}{f' and {more:,} more' * (more > 0)}")
    lines += [f"{id_} was not asked: {reason}" for id_, reason in evaluation.unasked.items()]
    return lines


def short_of(evaluation: Evaluation, least: Mapping[str, float]) -> list[str]:
    """Say which figures of all questions fall short of their least value, a line each."""
    measured = _measured(evaluation)
    return [
        f"{name} is {measured[name]:.4f}, under {value:g}"
        if name in measured
        else f"{name} was not measured: no question has it"
        for name, value in least.items()
        if measured.get(name, -1.0) < value
    ]


def _measured(evaluation: Evaluation) -> dict[str, float]:
    """The figures of all questions, with the share refused of those that nothing answers."""
    rows = by_category(evaluation)
    return {name: value for row in (rows.get(NOTHING, {}), rows.get(ALL, {})) for name, value in row.items()}


def _latency(evaluation: Evaluation) -> dict[str, float | None]:
    values = {name: metrics.percentile(evaluation.warm_ms, share) for name, share in LATENCIES.items()}
    return {name: None if value is None else round(value, 2) for name, value in values.items()}


def _facts(evaluation: Evaluation) -> Iterator[str]:
    if evaluation.warm_ms:
        shown = ", ".join(f"{name} {value:.2f} ms" for name, value in _latency(evaluation).items())
        yield f"latency  {shown} (each index opened before)"
    yield f"time     {evaluation.index_s:.1f} s indexing, {evaluation.search_s:.1f} s searching"
    for level, count in evaluation.levels.items():
        yield f"level {level}  {LEVEL_NAMES[level]}: {count} questions"
    if evaluation.skipped:
        yield f"skipped  {evaluation.skipped} questions without evidence or `nothing`"
    yield from (f"note     {warning}" for warning in evaluation.warnings)


# --- questions of the wrong workspace -------------------------------------------------------------------


class Trial(NamedTuple):
    """A question to a workspace; `wrong` where that is not its own."""

    question: Question
    workspace: str
    wrong: bool


class Outcome(NamedTuple):
    """What came back for a trial: nothing, something, or the evidence; in which language it was asked."""

    wrong: bool
    language: str
    empty: bool
    found: bool


@dataclass(frozen=True, slots=True)
class Rejection:
    """One set: shares of the questions that it does not answer and of those that it does.

    `empty_same` is the share of empty answers among the `same` wrong questions in the script that most of
    the set's own are in, which are the harder ones. `answered` had any answer, `found` one with evidence.
    """

    name: str
    wrong: int
    empty: float
    same: int
    empty_same: float | None
    own: int
    answered: float
    found: float


def reject(
    asked_sets: Sequence[QuestionSet],
    options: Options,
    count: int = WRONG_QUESTIONS,
    progress: Progress = silent,
) -> list[Rejection]:
    """Ask each set's workspaces `count` questions of the other sets, and as many of their own.

    A single set is asked the questions of its other workspaces. Raises ConfigError where there are none,
    and whatever opening and syncing raise.
    """
    plans = [plan(asked_sets, place, count) for place in range(len(asked_sets))]
    rows, done = [], 0
    for asked, name_of_set, trials in zip(asked_sets, sets.names_of(asked_sets), plans, strict=True):
        outcomes: list[Outcome] = []
        for name in dict.fromkeys(trial.workspace for trial in trials):
            folder = sets.workspace_folder(asked.folder, name)
            with _synced(folder, replace(options, own=asked.own)) as (memory, _):
                for trial in (trial for trial in trials if trial.workspace == name):
                    try:
                        result = memory.search(trial.question.text, mode=options.mode, strict=True)
                    except ConfigError as error:
                        raise ConfigError(f"question {trial.question.id}", str(error)) from error
                    spans = _spans(result)
                    found = bool(metrics.reached(spans, trial.question.evidence))
                    outcomes.append(
                        Outcome(trial.wrong, sets.language(trial.question.text), not spans, found)
                    )
                    done += 1
                    progress("questions", done, sum(map(len, plans)))
        rows.append(_rejection(name_of_set, outcomes))
    return rows


def _rejection(name: str, outcomes: Sequence[Outcome]) -> Rejection:
    wrong = [outcome for outcome in outcomes if outcome.wrong]
    own = [outcome for outcome in outcomes if not outcome.wrong]
    languages = [outcome.language for outcome in own]
    script = max(sorted(set(languages)), key=languages.count)
    same = [outcome for outcome in wrong if outcome.language == script]
    return Rejection(
        name=name,
        wrong=len(wrong),
        empty=mean(outcome.empty for outcome in wrong),
        same=len(same),
        empty_same=mean(outcome.empty for outcome in same) if same else None,
        own=len(own),
        answered=mean(not outcome.empty for outcome in own),
        found=mean(outcome.found for outcome in own),
    )


def plan(asked_sets: Sequence[QuestionSet], place: int, count: int) -> list[Trial]:
    """Draw what is asked of one set, the same every time. Raises ConfigError for too few questions."""
    asked = asked_sets[place]
    own = [question for question in asked.questions if question.evidence]
    if not own:
        raise ConfigError(str(asked.path), "holds no question with evidence")
    other_sets = [*asked_sets[:place], *asked_sets[place + 1 :]]
    others = list(chain.from_iterable(other.questions for other in other_sets))
    names = list(sets.by_workspace(own))
    if not others and len(names) < 2:
        raise ConfigError(str(asked.path), "is about one workspace: name another set beside it")
    chance = Random(f"{SEED}:{len(own)}")
    trials = [Trial(one, one.workspace, False) for one in chance.sample(own, min(count, len(own)))]
    wrong = others or own
    for number, question in enumerate(chance.sample(wrong, min(count, len(wrong)))):
        free = names if others else [name for name in names if name != question.workspace]
        trials.append(Trial(question, free[number % len(free)], True))
    return trials


def rejection_text(rows: Iterable[Rejection]) -> str:
    """One row a set."""
    lines = [["set", "wrong", "empty", "same script", "empty", "own", "answered", "found"]]
    for row in rows:
        shares = [row.empty, row.empty_same, row.answered, row.found]
        empty, same, answered, found = ("-" if share is None else f"{share:.3f}" for share in shares)
        lines.append([row.name, str(row.wrong), empty, str(row.same), same, str(row.own), answered, found])
    return "\n".join(screen.table(lines, range(1, 8)))
