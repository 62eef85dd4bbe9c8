"""Whether a search says nothing when it knows nothing: questions asked of the wrong workspace.

Nobody sets a threshold here, so what is measured is the gate of the search as a user gets it. Refusing
everything would be easy; so the same search is asked questions that its workspace does answer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple

from commonplace.base.errors import ConfigError
from commonplace.bench import evaluation, metrics
from commonplace.bench import questions as sets_of
from commonplace.bench.evaluation import Options
from commonplace.bench.metrics import Span
from commonplace.bench.questions import Question, QuestionSet
from commonplace.render import screen
from commonplace.types.progress import Progress, silent

QUESTIONS = 200
SEED = "commonplace"


class _Asked(NamedTuple):
    """A question to a workspace; `wrong` where that is not its own."""

    question: Question
    workspace: str
    wrong: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back for one question: nothing, something, or the evidence."""

    wrong: bool
    same_script: bool
    empty: bool
    found: bool


@dataclass(frozen=True, slots=True)
class Row:
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


def measure(
    sets: Sequence[QuestionSet], options: Options, count: int = QUESTIONS, progress: Progress = silent
) -> list[Row]:
    """Ask each set's workspaces `count` questions of the other sets, and as many of their own.

    A set that stands alone is asked those of its other workspaces. Raises ConfigError where there are none,
    and whatever opening and syncing raise.
    """
    plans = [_plan(sets, place, count) for place in range(len(sets))]
    total, rows = sum(map(len, plans)), []
    done = 0
    for asked, name, plan in zip(sets, _names(sets), plans, strict=True):
        outcomes = []
        for outcome in _ask(asked, plan, options):
            outcomes.append(outcome)
            done += 1
            progress("questions", done, total)
        rows.append(_row(name, outcomes))
    return rows


def _plan(sets: Sequence[QuestionSet], place: int, count: int) -> list[_Asked]:
    """Draw what is asked of one set, the same every time. Raises ConfigError for too few questions."""
    own = [question for question in sets[place].questions if question.evidence]
    if not own:
        raise ConfigError(str(sets[place].path), "holds no question with evidence")
    others = [one for asked in (*sets[:place], *sets[place + 1 :]) for one in asked.questions]
    names = list(sets_of.by_workspace(own))
    if not others and len(names) < 2:
        raise ConfigError(str(sets[place].path), "is about one workspace: name another set beside it")
    chance = Random(f"{SEED}:{len(own)}")  # noqa: S311 - a sample, no secret
    plan = [_Asked(one, one.workspace, False) for one in chance.sample(own, min(count, len(own)))]
    wrong = others or own
    for at, one in enumerate(chance.sample(wrong, min(count, len(wrong)))):
        free = names if others else [name for name in names if name != one.workspace]
        plan.append(_Asked(one, free[at % len(free)], True))
    return plan


def _ask(asked: QuestionSet, plan: Sequence[_Asked], options: Options) -> Iterator[Outcome]:
    """Ask one workspace after the other, each opened once."""
    scripts = [sets_of.language(one.question.text) for one in plan if not one.wrong]
    script = max(sorted(set(scripts)), key=scripts.count)
    for name in dict.fromkeys(one.workspace for one in plan):
        folder = sets_of.workspace_folder(asked.folder, name)
        with evaluation.open_workspace(folder, replace(options, own=asked.own)) as memory:
            memory.sync(embed=options.mode != "lexical")
            for one in plan:
                if one.workspace != name:
                    continue
                hits = memory.search(one.question.text, mode=options.mode).hits
                spans = [Span(hit.path, hit.start_line, hit.end_line) for hit in hits]
                yield Outcome(
                    wrong=one.wrong,
                    same_script=sets_of.language(one.question.text) == script,
                    empty=not hits,
                    found=not one.wrong and bool(metrics.reached(spans, one.question.evidence)),
                )


def _row(name: str, outcomes: Sequence[Outcome]) -> Row:
    wrong = [one for one in outcomes if one.wrong]
    own = [one for one in outcomes if not one.wrong]
    same = [one for one in wrong if one.same_script]
    return Row(
        name=name,
        wrong=len(wrong),
        empty=_share([one.empty for one in wrong]),
        same=len(same),
        empty_same=_share([one.empty for one in same]) if same else None,
        own=len(own),
        answered=_share([not one.empty for one in own]),
        found=_share([one.found for one in own]),
    )


def _share(answers: Sequence[bool]) -> float:
    return sum(answers) / len(answers)


def _names(sets: Sequence[QuestionSet]) -> list[str]:
    """Tell sets apart by what their paths do not share."""
    paths = [os.path.abspath(asked.path) for asked in sets]
    if len(set(paths)) < 2:
        return [asked.path.name for asked in sets]
    shared = os.path.commonpath(paths)
    return [os.path.relpath(path, shared) for path in paths]


def as_text(rows: Sequence[Row]) -> str:
    """One row a set."""
    lines = [["set", "wrong", "empty", "same script", "empty", "own", "answered", "found"]]
    for row in rows:
        same = "-" if row.empty_same is None else f"{row.empty_same:.3f}"
        wrong = [str(row.wrong), f"{row.empty:.3f}", str(row.same), same]
        lines.append([row.name, *wrong, str(row.own), f"{row.answered:.3f}", f"{row.found:.3f}"])
    return "\n".join(screen.table(lines, range(1, 8)))
