"""`demo`: a small bilingual workspace indexed and asked eight questions, with what it cost."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.cli import failures, progress, session
from commonplace.cli.options import command, option
from commonplace.render import count, hits, screen

if TYPE_CHECKING:
    from commonplace.demo.tour import Stop
    from commonplace.memory import Memory
    from commonplace.render.screen import Look

LOG_WIDTH = 100  # where there is no terminal to ask
PASSAGE_ROWS = 3
INDENT = "   "


@command("demo")
@option("--keep", metavar="DIR", help="Put the workspace here and leave it; a new or empty folder.")
@click.pass_context
def demo(ctx: click.Context, keep: str | None) -> None:
    """Index a small bilingual workspace that ships with the package, and ask it eight questions."""
    if keep is not None:
        code = _show(Path(keep).absolute(), kept=True)
    else:
        with tempfile.TemporaryDirectory(prefix="commonplace-demo-") as folder:
            code = _show(Path(folder, "notes"), kept=False)
    ctx.exit(code)


def _show(folder: Path, *, kept: bool) -> int:
    from commonplace.demo import tour, unpack
    from commonplace.memory import Memory

    unpack(folder)
    with Memory.open(folder, overrides={"usage.record": False}) as memory:
        look = session.look(memory.settings)
        look = look._replace(width=look.width or LOG_WIDTH, links=look.links and kept)
        _title(f"A workspace of notes, copied to {folder}", look)
        spent = _index(memory)
        stops = []
        for stop in tour.walk(memory):
            stops.append(stop)
            _stop(len(stops), stop, memory, look)
        _costs(stops, spent, tour.everything(folder), look)
    _title("Next", look)
    if kept:
        session.write(f'  cd {folder}\n  commonplace search "which tea after lunch"')
    else:
        session.write("  commonplace demo --keep ~/demo   # the same, left for you to play with")
    session.write("  commonplace init ~/notes         # a workspace of your own")
    session.write('  cd ~/notes && commonplace remember "…"')
    silent = [stop.question.text for stop in stops if not stop.result.hits]
    for text in silent:
        failures.warn(f"error: nothing found for {text!r}")
    return failures.ERROR if silent else 0


def _title(text: str, look: Look) -> None:
    session.write(look.style(text, "bold"))


def _index(memory: Memory) -> tuple[float, float]:
    """Index in two steps; return the seconds that each of them took: text, then vectors."""
    with progress.shown(lines=True) as told:
        started = time.perf_counter()
        text = memory.sync(embed=False, progress=told)
        halfway = time.perf_counter()
        full = memory.sync(progress=told)
    spent = halfway - started, time.perf_counter() - halfway
    for message in full.warnings:
        failures.warn(message)
    state = memory.status()
    session.write(
        f"  {count(text.added, 'note')} read into {count(state.passages, 'passage')} "
        f"in {spent[0]:.2f} s, {count(state.vectors, 'vector')} computed in {spent[1]:.2f} s "
        f"(model: {state.model})\n"
    )
    return spent


def _stop(number: int, stop: Stop, memory: Memory, look: Look) -> None:
    question = stop.question
    _title(f"{number}. {question.text}", look)
    session.write(look.style(f"{INDENT}{question.kind}: {question.why}", "dim") + "\n")
    text = hits.as_text(
        stop.result,
        look._replace(width=(look.width or LOG_WIDTH) - len(INDENT)),
        words=session.words(question.text),
        rows=PASSAGE_ROWS,
        locate=session.locator(memory),
    )
    if text:
        session.write("\n".join(f"{INDENT}{line}".rstrip() for line in text.splitlines()) + "\n")
    rank = (
        f"the expected passage is hit {stop.rank}" if stop.rank else "the expected passage is not among them"
    )
    session.write(look.style(f"{INDENT}{hits.footer(stop.result)} · {rank}", "dim") + "\n")


def _costs(stops: Sequence[Stop], spent: tuple[float, float], everything: int, look: Look) -> None:
    """Print where the time and the tokens went, a line a question."""
    from commonplace.demo import tour

    stages = tour.stages(stops)
    _title("Where the time and the tokens went", look)
    tokens = round(statistics.median(stop.tokens for stop in stops))
    timed = [(f"{number}.", stop.result.timings_ms, stop.tokens) for number, stop in enumerate(stops, 1)]
    lines = [["ms", *stages, "total", "recall", "of the files"]]
    for name, spent_ms, taken in [*timed, ("median", tour.medians(stops), tokens)]:
        cells = [f"{spent_ms[stage]:.1f}" if stage in spent_ms else "-" for stage in stages]
        total = f"{sum(spent_ms.values()):.1f}"
        lines.append([name, *cells, total, f"{taken:,}", f"{taken / everything:.1%}"])
    for number, row in enumerate(screen.table(lines, range(len(lines[0])))):
        session.write("  " + (look.style(row, "dim") if number == 0 else row))
    session.write(
        f"\n  indexing   {spent[0]:.2f} s for the text, {spent[1]:.2f} s for the vectors, once"
        f"\n  recall     tokens that `commonplace recall` puts into a prompt for a question: cited passages,"
        f"\n             at most {tour.BUDGET} here, {tokens:,} in the middle"
        f"\n  the files  {everything:,} tokens: what a prompt would hold if it took in every file whole"
        f"\n  The line below each answer counts the hits as they are shown, and the text of all notes without"
        f"\n  headings and marks: fewer tokens on either side. All of them are estimates.\n"
    )
