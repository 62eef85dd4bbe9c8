"""`commonplace eval run`: retrieval quality on a question set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import render
from commonplace.bench import PRESETS
from commonplace.cli import failures, progress, questions
from commonplace.cli.options import command, option

if TYPE_CHECKING:
    from commonplace.bench.datasets import Question
    from commonplace.types import Estimate, Mode

LEAST_RESULTS = 50  # fewer would cut the list before the character budgets are used up


def _least(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Read FIGURE=VALUE; a figure that there is not would never fall short."""
    if not values:
        return {}
    from commonplace.bench.report import FIGURES

    least = {}
    for text in values:
        name, _, value = text.partition("=")
        if name not in FIGURES:
            raise click.BadParameter(f"no figure {name!r}; there are {', '.join(FIGURES)}")
        try:
            least[name] = float(value)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not FIGURE=VALUE, such as {name}=0.7") from None
        if not 0 <= least[name] <= 1:
            raise click.BadParameter(f"{value} is not in 0..1")
    return least


@command("run")
@click.argument("queries", type=click.Path(path_type=Path, dir_okay=False))
@questions.workspaces_option()
@option(
    "--preset",
    type=click.Choice(PRESETS),
    default=PRESETS[0],
    show_default=True,
    help="Ours, or another system's settings through the same engine.",
)
@questions.mode_option()
@option(
    "--limit",
    type=click.IntRange(min=LEAST_RESULTS),
    default=100,
    show_default=True,
    help="Results a question.",
)
@option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the results here, one line a question.",
)
@option("--fresh", is_flag=True, help="Index anew instead of using what an earlier run left.")
@option("--estimate", is_flag=True, help="Say what the vectors would take, and ask nothing.")
@option(
    "--fail-under",
    "least",
    metavar="FIGURE=VALUE",
    multiple=True,
    callback=_least,
    help="End with 1 when a figure of all questions is lower, such as r@2000c=0.7; repeatable.",
)
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def evaluate(
    ctx: click.Context,
    queries: Path,
    workspaces: Path | None,
    preset: str,
    mode: Mode,
    limit: int,
    out: Path | None,
    fresh: bool,
    estimate: bool,
    least: Mapping[str, float],
    as_json: bool,
) -> None:
    """Score the search against questions with known evidence.

    QUERIES is JSON Lines: {"id", "workspace", "question", "category", "evidence": [{"path", "start_line",
    "end_line"}]}, or a fixture of QMD's bench. Each workspace is indexed once, in your cache; nothing is
    written into it.
    """
    from commonplace.bench import datasets, evaluation, presets, report

    asked = questions.read(ctx, queries, workspaces)
    options = evaluation.Options(
        preset=presets.named(preset), mode=mode, limit=limit, fresh=fresh, own=asked.own
    )
    if out is not None:
        datasets.check_writable(out)
    if estimate:
        expected = evaluation.estimate(asked.questions, asked.folder, options)
        click.echo(_estimate(expected, as_json=as_json))
        return
    with progress.shown(lines=True) as told:
        found = evaluation.evaluate(asked.questions, asked.folder, options, told)
    if out is not None:
        datasets.write_answers(out, found.answers.values())
    if as_json:
        how = {"queries": str(queries), "preset": preset, "mode": mode, "limit": limit}
        click.echo(questions.as_json(how | report.as_record(found)))
    else:
        click.echo(f"preset {preset}: {options.preset.summary}; {mode}\n\n{report.as_text(found)}")
    _warn_of_unseen(asked.questions)
    if short := report.short_of(found, least):
        for line in short:
            failures.warn(line)
        ctx.exit(failures.ERROR)


def _estimate(expected: Estimate, *, as_json: bool) -> str:
    return questions.as_json(render.estimate_data(expected)) if as_json else render.estimate_text(expected)


def _warn_of_unseen(asked: Sequence[Question]) -> None:
    if unseen := sum(question.review for question in asked):
        failures.warn(f"{unseen} of {len(asked)} questions wait for review: nobody has looked at them")
