"""`commonplace eval`: retrieval quality on a question set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commonplace import render
from commonplace.bench import PRESETS
from commonplace.cli import progress
from commonplace.cli.options import command, option

if TYPE_CHECKING:
    from commonplace.types import Mode

LEAST_RESULTS = 50  # fewer would cut the list before the character budgets are used up


@command("eval")
@click.argument("queries", type=click.Path(path_type=Path, dir_okay=False))
@option(
    "--workspaces",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of workspaces; otherwise workspaces/ beside QUERIES.",
)
@option(
    "--preset",
    type=click.Choice(PRESETS),
    default=PRESETS[0],
    show_default=True,
    help="Ours, or another system's settings through the same engine.",
)
@option(
    "--mode",
    type=click.Choice(["hybrid", "lexical", "semantic"]),
    default="hybrid",
    show_default=True,
    help="What answers: both lists, words alone, meaning alone.",
)
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
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def evaluate(
    queries: Path,
    workspaces: Path | None,
    preset: str,
    mode: Mode,
    limit: int,
    out: Path | None,
    fresh: bool,
    estimate: bool,
    as_json: bool,
) -> None:
    """Score the search against questions with known evidence.

    QUERIES is JSON Lines: {"id", "workspace", "question", "category", "evidence": [{"path", "start_line",
    "end_line"}]}. Each workspace is indexed once, in your cache; nothing is written into it.
    """
    from commonplace.bench import datasets, evaluation, presets, report

    options = evaluation.Options(preset=presets.named(preset), mode=mode, limit=limit, fresh=fresh)
    questions = datasets.read_questions(queries)
    if out is not None:
        datasets.check_writable(out)
    folder = workspaces or datasets.workspaces_beside(queries)
    if estimate:
        expected = evaluation.estimate(questions, folder, options)
        click.echo(_json(render.estimate_data(expected)) if as_json else render.estimate_text(expected))
        return
    with progress.shown(lines=True) as told:
        found = evaluation.evaluate(questions, folder, options, told)
    if out is not None:
        datasets.write_answers(out, found.answers.values())
    if as_json:
        asked = {"queries": str(queries), "preset": preset, "mode": mode, "limit": limit}
        click.echo(_json(asked | report.as_record(found)))
    else:
        click.echo(f"preset {preset}: {options.preset.summary}; {mode}\n\n{report.as_text(found)}")


def _json(record: dict[str, Any]) -> str:
    import json

    return json.dumps(record, ensure_ascii=False, indent=1)
