"""`costs` and `cache …`: what calls to models took, and what is kept of their answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import render
from commonplace.base import clock
from commonplace.base.paths import Workspace
from commonplace.cli import session
from commonplace.cli.flags import day
from commonplace.cli.options import Group, command, format_option, option, span_days
from commonplace.render import screen

if TYPE_CHECKING:
    from commonplace.providers.cache import AnswerCache, VectorCache
    from commonplace.providers.costs import By, Costs

_HEAD = ("calls", "failed", "tokens in", "tokens out", "cost")


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

    from commonplace.providers import costs

    start = _start(since)
    path = Workspace(Path(session.workspace_root(ctx))).ledger
    rows = costs.Ledger(path).costs(by, start)
    none = "no calls to models" + (f" since {since}" if since else "")
    session.answer(form, [row._asdict() for row in rows], lambda: _table(by, rows) if rows else none)


def _start(since: str | None) -> float:
    """Return the moment a day began here, or 0."""
    if since is None:
        return 0.0
    try:
        days = span_days(since)
        return clock.began(day(since) if days is None else date.today() - timedelta(days - 1))
    except ValueError as error:
        message = f"{since!r} is neither a day such as 2026-02-13 nor a span such as 7d or 2w"
        raise click.BadParameter(message, param_hint="--since") from error


def _table(by: str, costs: tuple[Costs, ...]) -> str:
    """A line for each, and what they come to where they are several."""
    rows = [(by, *_HEAD), *map(_row, costs)]
    if len(costs) > 1:
        sums = (sum(getattr(line, name) for line in costs) for name in costs[0]._fields[1:])
        rows.append(_row(type(costs[0])("total", *sums)))
    return "\n".join(screen.table(rows, range(1, len(rows[0]))))


def _row(line: Costs) -> tuple[str, ...]:
    counts = (line.calls, line.failed, line.tokens_in, line.tokens_out)
    # Nobody knows the price of some calls, which are not in the sum.
    unpriced = f" + {line.unpriced} unpriced" if line.unpriced else ""
    return (screen.one_line(line.name) or "-", *map("{:,}".format, counts), f"${line.cost:.4f}{unpriced}")


_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Kept:
    """A cache as listed: its name, file, entries, bytes, limit, and entries by model.

    `limit` is in words.
    """

    cache: str
    path: str
    entries: int
    bytes: int
    limit: str
    models: Mapping[str, int]


def _which(vectors: bool, answers: bool) -> tuple[bool, bool]:
    return (vectors, answers) if vectors or answers else (True, True)


@command("stats")
@option("--vectors", is_flag=True, help="The vectors of models behind a server alone.")
@option("--answers", is_flag=True, help="The answers of language models alone.")
@format_option(("text", "json"))
@click.pass_context
def stats(ctx: click.Context, vectors: bool, answers: bool, form: str) -> None:
    """Show what is kept of models' answers: how much, what bounds it, from which models.

    Both are kept for all workspaces of yours, by a hash of what was asked, which is not in them.
    """
    chosen = _which(vectors, answers)
    readers = [reader for reader, take in zip((_vectors, _answers), chosen, strict=True) if take]
    caches = [reader(ctx) for reader in readers]
    session.answer(form, caches, lambda: "\n\n".join(map(_shown, caches)))


@command("clear")
@option("--vectors", is_flag=True, help="The vectors of models behind a server alone.")
@option("--answers", is_flag=True, help="The answers of language models alone.")
@option("--yes", is_flag=True, help="Do not ask, which happens on a terminal alone.")
@format_option(("text", "json"))
@click.pass_context
def clear(ctx: click.Context, vectors: bool, answers: bool, yes: bool, form: str) -> None:
    """Forget what is kept of models' answers; what is needed again is asked, and paid for, again.

    Indexes keep the vectors that they have. A program that uses a cache meanwhile goes on with it.
    """
    from commonplace.providers.cache import AnswerCache, VectorCache

    of_vectors, of_answers = _which(vectors, answers)
    if session.is_terminal(sys.stdin) and not yes:
        caches = [reader(ctx) for reader, take in ((_vectors, of_vectors), (_answers, of_answers)) if take]
        amount = " and ".join(render.count(cache.entries, cache.cache.removesuffix("s")) for cache in caches)
        click.confirm(f"Forget {amount}?", abort=True, err=True)
    kinds = (("vectors", VectorCache, of_vectors), ("answers", AnswerCache, of_answers))
    gone = {name: made().forget() for name, made, take in kinds if take}
    went = " and ".join(render.count(count, name.removesuffix("s")) for name, count in gone.items())
    session.answer(form, gone, lambda: f"forgot {went}")


def _vectors(ctx: click.Context) -> Kept:
    from commonplace.providers.cache import VectorCache

    return _kept("vectors", VectorCache(), "")


def _answers(ctx: click.Context) -> Kept:
    from commonplace.providers.cache import MAX_AGE_S, AnswerCache

    return _kept("answers", AnswerCache(), f" and {MAX_AGE_S / _DAY_S:.0f} days")


def _kept(name: str, cache: AnswerCache | VectorCache, age: str) -> Kept:
    with closing(cache):
        stats = cache.stats()
    limit = f"at most {cache.limit:,} entries{age}"
    return Kept(name, str(cache.path), stats.entries, stats.bytes, limit, stats.models)


def _shown(kept: Kept) -> str:
    size = screen.size(kept.bytes)
    rows = [(kept.cache, f"{kept.entries:,} in {size}, {kept.limit}"), ("file", screen.one_line(kept.path))]
    ordered = sorted(kept.models.items(), key=lambda pair: (-pair[1], pair[0]))
    models = screen.table([(screen.one_line(n) or "-", f"{count:,}") for n, count in ordered], right=(1,))
    rows += [("model" if not n else "", line) for n, line in enumerate(models)]
    return "\n".join(screen.table(rows))


cache = Group("cache", commands=(stats, clear), help="Show and clear what is kept of models' answers.")
