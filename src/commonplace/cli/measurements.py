"""`eval …`, `demo`: the search scored with questions of the owner's notes, a tour."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import config
from commonplace.base import installation, paths
from commonplace.bench import questions
from commonplace.cli import failures, progress, session
from commonplace.cli.options import Group, command, completed, format_option, option
from commonplace.render import count, hits, screen

if TYPE_CHECKING:
    from commonplace.demo.tour import Stop
    from commonplace.memory import Memory
    from commonplace.render.screen import Look


# --- eval -----------------------------------------------------------------------------------------------


@command("show")
@format_option(("text", "json"))
@click.pass_context
def show(ctx: click.Context, form: str) -> None:
    """Ask the questions of `eval init`, and show where their answers stand among the hits."""
    memory = session.open_memory(ctx, {"usage.record": False})
    asked = questions.read(memory.workspace.root)
    with progress.shown(lines=True) as bar:
        memory.sync(progress=bar)
        score = questions.ask(memory, asked, bar)
    look = session.look(memory.settings)
    session.answer(form, score, lambda: questions.as_text(score, look))


@command("init")
@option(
    "--questions",
    "most",
    metavar="N",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="How many questions.",
)
@option("--seed", type=int, default=0, show_default=True, help="Another number, another choice.")
@click.pass_context
def init(ctx: click.Context, most: int, seed: int) -> None:
    """Make questions from your own notes: gold.jsonl in the workspace, for you to look through and mend.

    A question is two words of a line, not its rarest; `commonplace eval` asks them.
    """
    workspace = session.workspace_of(ctx)
    workspace.check_writable()
    settings = config.load(workspace.root, agent=session.agent(ctx))
    made = questions.made(questions.read_notes(workspace.root, settings), most, seed)
    if not made:
        failures.warn("the notes hold nothing that a question could be made of")
        ctx.exit(failures.NOTHING_FOUND)
    questions.write(workspace.root, made)
    about = f"{count(len(made), 'question')} about {count(len({one.path for one in made}), 'note')}"
    session.write(f"{paths.shown(workspace.root / questions.FILE)}: {about}")
    session.note("`commonplace eval` asks them, `commonplace eval reject N` drops one")


@command("reject")
@click.argument("numbers", metavar="N...", nargs=-1, required=True, type=int)
@click.pass_context
def reject(ctx: click.Context, numbers: tuple[int, ...]) -> None:
    """Drop questions by their numbers in the table; the others are numbered anew."""
    workspace = session.workspace_of(ctx)
    workspace.check_writable()
    session.write("\n".join(f"dropped: {one.question}" for one in questions.drop(workspace.root, numbers)))


evaluations = Group(
    "eval",
    commands=(show, init, reject),
    alone=show,
    help="Score the search with questions made of your own notes; alone, `eval show`.",
)


# --- demo -----------------------------------------------------------------------------------------------

LOG_WIDTH = 100  # where there is no terminal to ask
PASSAGE_ROWS = 3
INDENT = "   "


@command("demo")
@option(
    "--keep",
    metavar="DIR",
    help="Put the workspace here and leave it; a new or empty folder.",
    shell_complete=completed("folders"),
)
@click.pass_context
def demo(ctx: click.Context, keep: str | None) -> None:
    """Index a small bilingual workspace that ships with the package, and ask it eight questions."""
    from commonplace.config import editing

    if keep is not None:
        code = _show(Path(keep).resolve(), kept=True)
    else:
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
        _title(f"A workspace of notes, copied to {folder}", look)
        sizes = [len(text.encode()) for text in notes(folder)]
        session.write(f"  {count(len(sizes), 'note')}, {screen.size(sum(sizes))}: read, then embedded")
        spent = _index(memory)
        session.write("  Eight questions; the first one loads the models.\n")
        stops = []
        for stop in tour.walk(memory):
            stops.append(stop)
            _stop(len(stops), stop, memory, look)
        _costs(stops, spent, tour.everything(folder), look)
    _title("Next", look)
    program = installation.typed()
    if kept:
        session.write(f'  cd {folder}\n  {program} search "which tea after lunch"')
    else:
        session.write(f"  {program} demo --keep ~/demo   # the same, left for you to play with")
    session.write(f"  {program} init ~/notes         # a workspace of your own")
    session.write(f'  cd ~/notes && {program} remember "…"')
    silent = [stop.question.text for stop in stops if not stop.result.hits]
    for text in silent:
        failures.warn(f"error: nothing found for {text!r}")
    return failures.ERROR if silent else 0


def _title(text: str, look: Look) -> None:
    session.write(look.style(text, "bold"))


def _index(memory: Memory) -> tuple[float, float]:
    """Index in two steps; return the seconds that each of them took: text, then vectors."""
    with progress.shown(lines=True) as bar:
        started = time.perf_counter()
        text = memory.sync(embed=False, progress=bar)
        halfway = time.perf_counter()
        full = memory.sync(progress=bar)
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
    from commonplace.memory import question_words

    question = stop.question
    inner = look._replace(width=(look.width or LOG_WIDTH) - len(INDENT))
    words = question_words(question.text)
    _title(f"{number}. {question.text}", look)
    session.write(f"{INDENT}{question.kind}: {question.why}\n")
    text = hits.as_text(stop.result, inner, words=words, rows=PASSAGE_ROWS, locate=session.locator(memory))
    if text:
        session.write("\n".join(f"{INDENT}{line}".rstrip() for line in text.splitlines()) + "\n")
    rank = f" · answered by [{stop.rank}]" if stop.rank else ""
    tokens = hits.shown_tokens(stop.result, inner, words=words, rows=PASSAGE_ROWS)
    session.write(f"{INDENT}{hits.footer(stop.result, tokens)}{rank}\n")


def _costs(stops: Sequence[Stop], spent: tuple[float, float], everything: int, look: Look) -> None:
    """Say what it took to read the notes, to answer, and what an agent's prompt is spared."""
    from commonplace.demo import tour

    tokens = round(statistics.median(stop.tokens for stop in stops))
    answered_ms = statistics.median(sum(stop.result.timings_ms.values()) for stop in stops)
    _title("What it took", look)
    session.write(
        f"  once        {spent[0]:.1f} s to read the notes, {spent[1]:.1f} s to learn what they are about"
        f"\n  a question  {answered_ms:.0f} ms in the middle; `search --explain` shows where they go"
        f"\n  a prompt    {tokens:,} tokens, in the middle: what `commonplace recall` gives an agent for it,"
        f"\n              passages with their sources, at most {tour.BUDGET} here; every file whole would be"
        f"\n              {everything:,} tokens, {everything / max(1, tokens):.0f} times as many\n"
    )
