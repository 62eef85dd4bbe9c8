"""`costs` and `cache …`: the costs of calls to models, and the caches of their answers."""

from __future__ import annotations

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
from commonplace.cli.options import Group, command, flag, option, span_days
from commonplace.render import screen

if TYPE_CHECKING:
    from commonplace.providers.cache import AnswerCache, VectorCache
    from commonplace.providers.costs import By, Costs

_HEAD = ("calls", "failed", "tokens in", "tokens out", "cost")
_DAY_S = 86_400


@command("costs", answers=True)
@option("--since", metavar="DATE|7d", help="Calls from that day on, or of the last days (7d) or weeks (2w).")
@option(
    "--by", type=click.Choice(["purpose", "model", "day"]), default="purpose", show_default=True,
    help="The group of each line.",
)  # fmt: skip
def costs(ctx: click.Context, since: str | None, by: By, form: str) -> None:
    """Show the number, the tokens and the cost of calls to models."""
    from commonplace.providers import costs

    start = _start(since)
    rows = costs.Ledger(Workspace(Path(session.workspace_root(ctx))).ledger).costs(by, start)
    none = "no calls to models" + (f" since {since}" if since else "")
    session.answer(form, [row._asdict() for row in rows], lambda: _table(by, rows) if rows else none)


def _start(since: str | None) -> float:
    """Return the moment a day began here, in seconds, or 0."""
    if since is None:
        return 0.0
    try:
        days = span_days(since)
        return clock.began(day(since) if days is None else date.today() - timedelta(days - 1))
    except ValueError as error:
        message = f"{since!r} is neither a day such as 2026-02-13 nor a span such as 7d or 2w"
        raise click.BadParameter(message, param_hint="--since") from error


def _table(by: str, costs: tuple[Costs, ...]) -> str:
    """Render a line for each, and their sum if they are several."""
    rows = [(by, *_HEAD), *map(_row, costs)]
    if len(costs) > 1:
        sums = (sum(getattr(line, name) for line in costs) for name in costs[0]._fields[1:])
        rows.append(_row(type(costs[0])("total", *sums)))
    return "\n".join(screen.table(rows, range(1, len(rows[0]))))


def _row(line: Costs) -> tuple[str, ...]:
    counts = (line.calls, line.failed, line.tokens_in, line.tokens_out)
    # Calls of unknown price are not in the sum.
    unpriced = f" + {line.unpriced} unpriced" if line.unpriced else ""
    return (screen.one_line(line.name) or "-", *map("{:,}".format, counts), f"${line.cost:.4f}{unpriced}")


# --- cache ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kept:
    """A cache as listed: its name, file, number of entries, size, limit in words, and entries by model."""

    cache: str
    path: str
    entries: int
    bytes: int
    limit: str
    models: Mapping[str, int]


_vectors = flag("--vectors", "The vectors of models behind a server alone.")
_answers = flag("--answers", "The answers of language models alone.")


@command("stats", answers=True)
@_vectors
@_answers
def stats(ctx: click.Context, vectors: bool, answers: bool, form: str) -> None:
    """Show the size of the caches of models' answers, their limits, and the models.

    They are shared by all your workspaces; an entry is found by a hash of its question, which is not in them.
    """
    caches = [_kept(name, made) for name, made in _chosen(vectors, answers).items()]
    session.answer(form, caches, lambda: "\n\n".join(map(_shown, caches)))


@command("clear", answers=True)
@_vectors
@_answers
@flag("--yes", "Do not ask; only a terminal is asked.")
def clear(ctx: click.Context, vectors: bool, answers: bool, yes: bool, form: str) -> None:
    """Clear the caches of models' answers; an answer that is needed again is paid for again.

    Indexes keep their vectors. A program that uses a cache meanwhile continues with it.
    """
    chosen = _chosen(vectors, answers)
    if session.can_ask(yes=yes):
        held = {name: _kept(name, one).entries for name, one in chosen.items()}
        session.confirm(f"Forget {_counted(held)}?")
    gone = {name: made.forget() for name, made in chosen.items()}
    session.answer(form, gone, lambda: f"forgot {_counted(gone)}")


def _chosen(vectors: bool, answers: bool) -> dict[str, AnswerCache | VectorCache]:
    """Return the caches that the flags name; both without any."""
    from commonplace.providers.cache import AnswerCache, VectorCache

    both = not (vectors or answers)
    found: dict[str, AnswerCache | VectorCache] = {}
    if vectors or both:
        found["vectors"] = VectorCache()
    if answers or both:
        found["answers"] = AnswerCache()
    return found


def _counted(entries: Mapping[str, int]) -> str:
    return " and ".join(render.count(number, name.removesuffix("s")) for name, number in entries.items())


def _kept(name: str, cache: AnswerCache | VectorCache) -> Kept:
    from commonplace.providers.cache import MAX_AGE_S

    with closing(cache):
        stats = cache.stats()
    age = f" and {MAX_AGE_S / _DAY_S:.0f} days" if name == "answers" else ""
    limit = f"at most {cache.limit:,} entries{age}"
    return Kept(name, str(cache.path), stats.entries, stats.bytes, limit, stats.models)


def _shown(kept: Kept) -> str:
    size = screen.size(kept.bytes)
    rows = [(kept.cache, f"{kept.entries:,} in {size}, {kept.limit}"), ("file", screen.one_line(kept.path))]
    ordered = sorted(kept.models.items(), key=lambda pair: (-pair[1], pair[0]))
    models = screen.table([(screen.one_line(n) or "-", f"{count:,}") for n, count in ordered], right=(1,))
    rows += [("model" if not n else "", line) for n, line in enumerate(models)]
    return "\n".join(screen.table(rows))


cache = Group("cache", commands=(stats, clear), help="Show and clear the caches of models' answers.")
