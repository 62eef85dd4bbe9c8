"""`costs`: what calls to models took and cost, from the workspace's ledger."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import render
from commonplace.cli import session
from commonplace.cli.options import command, format_option, option
from commonplace.render import screen

if TYPE_CHECKING:
    from commonplace.providers.costs import By, Costs

_UNITS = {"d": 1, "w": 7}
_HEAD = ("calls", "cached", "failed", "tokens in", "tokens out", "cost")


@command("costs")
@option("--since", metavar="DATE|7d", help="Calls from that day on, or of the last days (7d) or weeks (2w).")
@option(
    "--by",
    type=click.Choice(["purpose", "model", "day"]),
    default="purpose",
    show_default=True,
    help="What to sum up by.",
)
@format_option(("text", "json"))
@click.pass_context
def costs(ctx: click.Context, since: str | None, by: By, form: str) -> None:
    """Show what calls to models took and cost."""

    from commonplace.base.paths import Workspace
    from commonplace.providers import costs

    start = _start(since)
    path = costs.place(Workspace(Path(session.workspace_root(ctx))))
    found = costs.Ledger(path).costs(by, start)
    if form == "json":
        session.write(render.to_json([row._asdict() for row in found]))
    elif not found:
        session.write("no calls to models" + (f" since {since}" if since else ""))
    else:
        session.write(_table(by, found))


def _start(since: str | None) -> float:
    """Return the moment a day began here, or 0."""
    if since is None:
        return 0.0
    today = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    if back := re.fullmatch(r"(\d{1,4})([dw])", since):
        return (today - timedelta(days=int(back[1]) * _UNITS[back[2]] - 1)).timestamp()
    try:
        return datetime.strptime(since, "%Y-%m-%d").astimezone().timestamp()
    except (ValueError, OverflowError) as error:
        message = f"{since!r} is neither a day such as 2026-02-13 nor a span such as 7d or 2w"
        raise click.BadParameter(message, param_hint="--since") from error


def _table(by: str, found: tuple[Costs, ...]) -> str:
    rows = [(by, *_HEAD), *map(_row, found)]
    if len(found) > 1:
        rows.append(_total(found))
    return "\n".join(screen.table(rows, range(1, len(rows[0]))))


def _row(line: Costs) -> tuple[str, ...]:
    counts = (line.calls, line.cached, line.failed, line.tokens_in, line.tokens_out)
    return (
        screen.one_line(line.name) or "-",
        *(f"{count:,}" for count in counts),
        _cost(line.cost, line.unpriced),
    )


def _total(found: tuple[Costs, ...]) -> tuple[str, ...]:
    names = ("calls", "cached", "failed", "tokens_in", "tokens_out")
    sums = [sum(getattr(line, name) for line in found) for name in names]
    unpriced = sum(line.unpriced for line in found)
    return ("total", *(f"{count:,}" for count in sums), _cost(sum(line.cost for line in found), unpriced))


def _cost(dollars: float, unpriced: int) -> str:
    """Dollars, and how many calls are not in them because nobody knows their price."""
    return f"${dollars:.4f}" + (f" + {unpriced} unpriced" if unpriced else "")
