"""What a memory was asked and what came of it, as text and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from commonplace import screen
from commonplace.render.results import count
from commonplace.screen import PLAIN, Look

if TYPE_CHECKING:
    from commonplace.types import NoteInfo, NoteUse, Usage

NEVER_SHOWN = 10  # notes; all of them are a listing of their own
_DAYS_SHOWN = 14
_LONGEST_QUESTION = 100  # cells, where no terminal says how wide it is


def usage_data(usage: Usage) -> dict[str, Any]:
    """Return what was asked and what came of it as plain data."""
    from dataclasses import asdict

    mean = round(usage.reciprocal_rank, 4)
    return {**asdict(usage), "questions": usage.questions, "reciprocal_rank": mean}


def usage_text(usage: Usage, look: Look = PLAIN) -> str:
    """Render what was asked and what came of it as short tables."""
    blocks = [_summary(usage, look)]
    if usage.questions:
        days = [(d.date, f"{d.searches:,}", f"{d.recalls:,}", f"{d.gets:,}") for d in usage.days]
        blocks.append(_table(("day", "searches", "recalls", "gets"), days[-_DAYS_SHOWN:], (1, 2, 3), look))
    for title, uses in (("most often found", usage.most_found), ("most often opened", usage.most_opened)):
        if uses:
            blocks.append(_table(("found", "opened", title), map(_use, uses), (0, 1), look))
    if usage.unanswered:
        rows = [(f"{one.times:,}", one.last, _question(one.question, look)) for one in usage.unanswered]
        blocks.append(_table(("times", "last", "found nothing"), rows, (0,), look))
    if usage.never_found:
        blocks.append(_never(usage.never_found, look))
    return "\n\n".join(blocks)


def _summary(usage: Usage, look: Look) -> str:
    off = [] if usage.recording else [("off", "usage.record is false: nothing is recorded")]
    since = f", since {usage.since}" if usage.since else ", empty"
    rows = [*off, ("record", screen.one_line(usage.store) + since)]
    if usage.questions:
        rows += _figures(usage)
    if usage.missed:
        rows.append(("missed", f"{count(usage.missed, 'record')} could not be written at once"))
    return "\n".join(f"{look.style(name.ljust(11), 'dim')}{told}" for name, told in rows)


def _figures(usage: Usage) -> Iterable[tuple[str, str]]:
    sums = [sum(getattr(day, name) for day in usage.days) for name in ("searches", "recalls", "gets")]
    names = zip(sums, ("search", "recall", "get"), strict=True)
    asked = [count(number, noun).replace("searchs", "searches") for number, noun in names]
    yield "asked", f"{' · '.join(asked)} · median {usage.median_ms:.0f} ms"
    levels = ", ".join(f"level {level}: {number:,}" for level, number in sorted((usage.levels or {}).items()))
    yield "answered", f"{_share(usage.answered, usage.questions)} · {levels}"
    if usage.answered:
        ranks = [f"rank {rank}: {number:,}" for rank, number in (usage.opened_ranks or {}).items()]
        mean = f"mean of 1/rank {usage.reciprocal_rank:.2f}"
        yield (
            "opened",
            " · ".join([_share(usage.opened, usage.answered), *([", ".join(ranks), mean] if ranks else [])]),
        )
    yield "tokens", f"{usage.tokens:,} given, of {usage.all_tokens:,} with all notes each time"


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({part / max(1, whole):.0%})"


def _use(use: NoteUse) -> tuple[str, str, str]:
    return f"{use.found:,}", f"{use.opened:,}", screen.one_line(use.path)


def _question(text: str, look: Look) -> str:
    width = _LONGEST_QUESTION if look.width is None else max(10, look.width - 20)
    return screen.shorten(screen.one_line(text), width) or "-"


def _never(notes: Sequence[NoteInfo], look: Look) -> str:
    shown = [(one.date or "", screen.size(one.size), screen.one_line(one.path)) for one in notes]
    title = f"never found ({len(notes):,}, {screen.size(sum(one.size for one in notes))})"
    table = _table(("date", "size", title), shown[:NEVER_SHOWN], (1,), look)
    left = len(notes) - NEVER_SHOWN
    return f"{table}\n… and {left:,} more: `commonplace usage --never`" if left > 0 else table


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int], look: Look) -> str:
    first, *lines = screen.table([head, *rows], right)
    return "\n".join([look.style(first, "dim"), *lines])
