"""`commonplace eval compare`: two result files of one question set."""

from __future__ import annotations

from pathlib import Path

import click

from commonplace.cli import questions, session
from commonplace.cli.options import command, option


@command("compare")
@click.argument("first", metavar="A", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("second", metavar="B", type=click.Path(path_type=Path, dir_okay=False))
@option(
    "--queries",
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The question set that both answer.",
)
@questions.workspaces_option()
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def compare(
    ctx: click.Context, first: Path, second: Path, queries: Path, workspaces: Path | None, as_json: bool
) -> None:
    """Say what differs between two runs, and whether chance would do the same.

    A and B are files of `eval --out`. Each figure is shown with the mean of both, the difference (B - A), its
    95 % interval by paired bootstrap over the questions, and the p of no difference.
    """
    from commonplace.bench import comparison, datasets

    asked = questions.read(ctx, queries, workspaces)
    answers = [datasets.read_answers(path) for path in (first, second)]
    found = comparison.compare(asked, *answers)
    session.write(questions.as_json(comparison.as_record(found)) if as_json else comparison.as_text(found))
