"""`commonplace eval reject`: questions that a workspace cannot answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.cli import progress, questions, session
from commonplace.cli.options import command, option

if TYPE_CHECKING:
    from commonplace.types import Mode


@command("reject")
@click.argument(
    "sets",
    metavar="QUERIES...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
)
@option(
    "--questions",
    "count",
    metavar="N",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Wrong questions a set, and as many of its own.",
)
@questions.mode_option()
@option("--fresh", is_flag=True, help="Index anew instead of using what an earlier run left.")
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def reject(
    ctx: click.Context, sets: tuple[Path, ...], count: int, mode: Mode, fresh: bool, as_json: bool
) -> None:
    """Ask workspaces what they do not hold: how many answers are empty, and how many should not be.

    The workspaces of each set are asked questions of the other sets (of its other workspaces, where it is
    the only one) and of their own, by the search as a user gets it, which leaves an answer empty where
    nothing is near enough.
    """
    from commonplace.bench import evaluation, rejection

    read = [questions.read(ctx, path, None) for path in sets]
    options = evaluation.Options(mode=mode, fresh=fresh)
    with progress.shown(lines=True) as told:
        rows = rejection.measure(read, options, count, told)
    session.write(questions.as_json(rejection.as_record(rows)) if as_json else rejection.as_text(rows))
