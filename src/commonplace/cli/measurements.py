"""`eval …`, `demo`: the search scored with questions of the owner's notes, and a tour."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import config
from commonplace.base import installation, paths
from commonplace.bench import questions
from commonplace.cli import failures, progress, session
from commonplace.cli.options import Group, argument, command, option
from commonplace.render import count, hits, screen

if TYPE_CHECKING:
    from commonplace.demo.tour import Stop
    from commonplace.memory import Memory
    from commonplace.render.screen import Look


# --- eval -----------------------------------------------------------------------------------------------


@command("show", answers=True)
def show(ctx: click.Context, form: str) -> None:
    """Ask the questions of `eval init`, and show the ranks of their answers among the hits."""
    memory = session.open_memory(ctx, {"usage.record": False})
    asked = questions.read(memory.workspace.root)
    with progress.shown(lines=True) as bar:
        memory.sync(progress=bar)
        score = questions.ask(memory, asked, bar)
    look = session.look(memory.settings)
    session.answer(form, score, lambda: questions.as_text(score, look))


@command("init")
@option(
    "--questions", "most", metavar="N", type=click.IntRange(min=1), default=50, show_default=True,
    help="Number of questions.",
)  # fmt: skip
@option("--seed", type=int, default=0, show_default=True, help="Another number makes another choice.")
def init(ctx: click.Context, most: int, seed: int) -> None:
    """Make questions from your own notes: gold.jsonl in the workspace, for you to look through and mend.

    A question is two words of a line, not its rarest; `commonplace eval` asks them.
    """
    workspace = session.workspace_of(ctx)
    workspace.check_writable()
    settings = config.load(workspace.root, agent=session.agent(ctx))
    made = questions.made(questions.read_notes(workspace.root, settings), most, seed)
    if not made:
        failures.warn("no question can be made of the notes; write some first")
        ctx.exit(failures.NOTHING_FOUND)
    questions.write(workspace.root, made)
    about = f"{count(len(made), 'question')} about {count(len({one.path for one in made}), 'note')}"
    session.write(f"{paths.shown(workspace.root / questions.FILE)}: {about}")
    session.note("`commonplace eval` asks them, `commonplace eval reject N` drops one")


@command("reject")
@argument("numbers", "N...", nargs=-1, required=True, type=int)
def reject(ctx: click.Context, numbers: tuple[int, ...]) -> None:
    """Drop questions by their numbers in the table; the others are numbered anew."""
    workspace = session.workspace_of(ctx)
    workspace.check_writable()
    session.write("\n".join(f"dropped: {one.question}" for one in questions.drop(workspace.root, numbers)))


evaluations = Group(
    "eval", commands=(show, init, reject), alone=show,
    help="Score the search with questions made of your own notes; alone, `eval show`.",
)  # fmt: skip


# --- demo -----------------------------------------------------------------------------------------------

LOG_WIDTH = 100  # without a terminal
PASSAGE_ROWS = 3
INDENT = "   "


@command("demo")
@option("--keep", metavar="DIR", help="Put the workspace into this new or empty folder.", completes="folders")
def demo(ctx: click.Context, keep: str | None) -> None:
    """Index a small bilingual workspace that ships with the package, and ask it eight questions."""
    from commonplace.config import editing

    if keep is not None:
        ctx.exit(_show(Path(keep).resolve(), kept=True))
    with tempfile.TemporaryDirectory(prefix="commonplace-demo-") as folder:
        root = Path(folder, "notes")
        try:
            code = _show(root, kept=False)
        finally:
            editing.move_own(root, None)
            paths.drop_state(root)
    ctx.exit(code)


def _show(folder: Path, *, kept: bool) -> int:
    from commonplace.demo import notes, tour, unpack
    from commonplace.memory import Memory

    unpack(folder)
    with Memory.open(folder, overrides={"usage.record": False}) as memory:
        look = session.look(memory.settings)
        look = look._replace(width=look.width or LOG_WIDTH, links=look.links and kept)
        session.write(look.style(f"A workspace of notes, copied to {folder}", "bold"))
        sizes = [len(text.encode()) for text in notes(folder)]
        session.write(f"  {count(len(sizes), 'note')}, {screen.size(sum(sizes))}: read, then embedded")
        _index(memory)
        session.write("  Eight questions; the first one loads the models.\n")
        stops = []
        for number, stop in enumerate(tour.walk(memory), 1):
            stops.append(stop)
            _stop(number, stop, memory, look)
        spent_ms = statistics.median(sum(stop.result.timings_ms.values()) for stop in stops)
        tokens = round(statistics.median(stop.tokens for stop in stops))
        whole = tour.everything(folder)
    program = installation.typed()
    again = f"{program} demo --keep ~/demo   # the same, left for you to play with"
    session.write(
        look.style("What it took, in the middle", "bold")
        + f"\n  {spent_ms:.0f} ms a question; `search --explain` shows the parts"
        f"\n  {tokens:,} tokens of a prompt: `commonplace recall`, with sources"
        f"\n  {whole:,} tokens in all files\n\n"
        + look.style("Next", "bold")
        + "\n  " + (f'cd {folder}\n  {program} search "which tea after lunch"' if kept else again)
        + f"\n  {program} init ~/notes         # a workspace of your own"
        + f'\n  cd ~/notes && {program} remember "…"'
    )  # fmt: skip
    silent = [stop.question.text for stop in stops if not stop.result.hits]
    for text in silent:
        failures.warn(f"error: nothing found for {text!r}")
    return failures.ERROR if silent else 0


def _index(memory: Memory) -> None:
    """Index text, then vectors, and print the seconds of each."""
    with progress.shown(lines=True) as bar:
        started = time.perf_counter()
        text = memory.sync(embed=False, progress=bar)
        halfway = time.perf_counter()
        full = memory.sync(progress=bar)
    ended = time.perf_counter()
    for message in full.warnings:
        failures.warn(message)
    state = memory.status()
    session.write(
        f"  {count(text.added, 'note')} read into {count(state.passages, 'passage')} "
        f"in {halfway - started:.2f} s, {count(state.vectors, 'vector')} computed in {ended - halfway:.2f} s "
        f"(model: {state.model})\n"
    )


def _stop(number: int, stop: Stop, memory: Memory, look: Look) -> None:
    from commonplace.memory import question_words

    question = stop.question
    inner = look._replace(width=(look.width or LOG_WIDTH) - len(INDENT))
    words = question_words(question.text)
    session.write(look.style(f"{number}. {question.text}", "bold"))
    session.write(f"{INDENT}{question.kind}: {question.why}\n")
    text = hits.as_text(stop.result, inner, words=words, rows=PASSAGE_ROWS, locate=session.locator(memory))
    if text:
        session.write("\n".join(f"{INDENT}{line}".rstrip() for line in text.splitlines()) + "\n")
    rank = f" · answered by [{stop.rank}]" if stop.rank else ""
    tokens = hits.shown_tokens(stop.result, inner, words=words, rows=PASSAGE_ROWS)
    session.write(f"{INDENT}{hits.footer(stop.result, tokens)}{rank}\n")
