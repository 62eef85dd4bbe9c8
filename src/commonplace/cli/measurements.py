"""`eval …`, `demo`: the search scored on question sets, a tour."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.base import installation
from commonplace.cli import failures, progress, session
from commonplace.cli.flags import HELP, SHARED
from commonplace.cli.options import Group, command, completed, option
from commonplace.render import count, hits, reports, screen
from commonplace.render import count as counted
from commonplace.types.data import to_data

if TYPE_CHECKING:
    from commonplace.bench.evaluation import Evaluation
    from commonplace.bench.questions import QuestionSet
    from commonplace.demo.tour import Stop
    from commonplace.memory import Memory
    from commonplace.render.screen import Look
    from commonplace.types import Mode

LEAST_RESULTS = 50  # fewer would cut the list before the character budgets are used up
GOLD = "gold.jsonl"
_FILE = click.Path(path_type=Path, dir_okay=False)
_SET = click.Path(path_type=Path)  # a folder stands for the question set in it
_JSON = option("--json", "as_json", is_flag=True, help="Print JSON.")
_FRESH = option("--fresh", is_flag=True, help="Index and embed anew instead of using what is there.")
_WORKSPACES = option(
    "--workspaces",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of workspaces; otherwise workspaces/ beside the questions.",
)
_MODE = option(
    "--mode",
    type=click.Choice(["hybrid", "lexical", "semantic"]),
    default="hybrid",
    show_default=True,
    help="What answers: both lists, words alone, meaning alone.",
)


def _as_json(value: object) -> str:
    return json.dumps(to_data(value), ensure_ascii=False, indent=1)


def _read(ctx: click.Context, queries: Path, workspaces: Path | None) -> QuestionSet:
    """Read a question set; one about `.` is about the workspace that the options name, or that it lies in."""
    from commonplace.base import paths
    from commonplace.bench import questions

    def own() -> Path:
        around = None
        if session.workspace(ctx) is None:
            around = paths.find_workspace(Path(os.path.abspath(queries)).parent)
        return around or Path(session.workspace_root(ctx))

    return questions.read_set(questions.file_of(queries), workspaces, own)


# --- eval -----------------------------------------------------------------------------------------------


def _least(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Read FIGURE=VALUE; a figure that there is not would never fall short."""
    if not values:
        return {}
    from commonplace.bench.evaluation import FIGURES

    least = {}
    for text in values:
        name, _, value = text.partition("=")
        if name not in FIGURES:
            raise click.BadParameter(f"no figure {name!r}; there are {', '.join(FIGURES)}")
        try:
            least[name] = float(value)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not FIGURE=VALUE, such as {name}=0.7") from None
        if not 0 <= least[name] <= 1:
            raise click.BadParameter(f"{value} is not in 0..1")
    return least


@command(
    "run",
    excluding=[
        ("--json", "--markdown"),
        *(("--estimate", one) for one in ("--out", "--fail-under", "--markdown")),
    ],
)
@click.argument("queries", metavar="QUERIES...", nargs=-1, required=True, type=_SET)
@_WORKSPACES
@_MODE
@option(
    "--limit",
    type=click.IntRange(min=LEAST_RESULTS),
    default=100,
    show_default=True,
    help="Results a question.",
)
@option("--no-refusal", is_flag=True, help="Ask without any threshold: nothing is empty or weak.")
@option("--out", metavar="FILE", type=_FILE, help="Write the results here, one line a question.")
@_FRESH
@option("--estimate", is_flag=True, help="Say what the vectors would take, and ask nothing.")
@option(
    "--fail-under",
    "least",
    metavar="FIGURE=VALUE",
    multiple=True,
    callback=_least,
    help="End with 1 when a figure of all questions is lower, such as r@2000c=0.7; repeatable.",
)
@_JSON
@option("--markdown", is_flag=True, help="Print one table of Markdown, a row a set.")
@click.pass_context
def evaluate(
    ctx: click.Context,
    queries: tuple[Path, ...],
    workspaces: Path | None,
    mode: Mode,
    limit: int,
    out: Path | None,
    fresh: bool,
    estimate: bool,
    least: Mapping[str, float],
    no_refusal: bool,
    as_json: bool,
    markdown: bool,
) -> None:
    """Score the search, as a user gets it, against questions with known evidence.

    QUERIES are files of JSON Lines: {"id", "workspace", "question", "category", "evidence": [{"path",
    "start_line", "end_line"}]}, with "nothing": true instead of evidence where the notes hold no answer;
    fixtures of QMD's bench; or folders with such a file. Several are scored in one table, a row a set. Each
    workspace is indexed once, in your cache; nothing is written into it.
    """
    from commonplace.bench import evaluation, questions

    if len(queries) > 1 and out is not None:
        raise click.UsageError("--out takes the results of one set; run the sets one by one")
    read = [_read(ctx, path, workspaces) for path in queries]
    if out is not None:
        questions.check_writable(out)
    options = evaluation.Options(mode=mode, limit=limit, fresh=fresh, refuse=not no_refusal)
    if estimate:
        expected = evaluation.estimate_all(read, options)
        click.echo(_as_json(expected) if as_json else reports.estimate_text(expected))
        return
    with progress.shown(lines=True) as bar:
        scored = evaluation.evaluate_all(read, options, bar)
    if out is not None:
        questions.write_answers(out, next(iter(scored.values())).answers.values())
    how = {"mode": mode, "limit": limit, "refusal": options.refuse}
    click.echo(_scores(queries, scored, how, as_json=as_json, markdown=markdown))
    for name, one in scored.items():
        for line in evaluation.faults(one):
            failures.warn(f"{name}: {line}")
    every = [question for asked in read for question in asked.questions]
    if unseen := sum(question.review for question in every):
        failures.warn(f"{unseen} of {len(every)} questions wait for review: nobody has looked at them")
    short = [
        f"{name}: {line}" if len(scored) > 1 else line
        for name, one in scored.items()
        for line in evaluation.short_of(one, least)
    ]
    for line in short:
        failures.warn(line)
    if short:
        ctx.exit(failures.ERROR)


def _scores(
    queries: Sequence[Path],
    scored: Mapping[str, Evaluation],
    how: Mapping[str, object],
    *,
    as_json: bool,
    markdown: bool,
) -> str:
    """The figures of sets: of one by category, of several a row each."""
    from commonplace.bench import evaluation

    if as_json and len(scored) == 1:
        (one,) = scored.values()
        return _as_json({"queries": str(queries[0]), **how, **evaluation.as_record(one)})
    rows = evaluation.by_set(scored)
    if as_json:
        records = {name: evaluation.as_record(one) for name, one in scored.items()}
        return _as_json({**how, "table": rows, "sets": records})
    if markdown:
        return evaluation.table(rows, markdown=True)
    about = str(how["mode"])
    if not how["refusal"]:
        about += "; without refusal"
    if len(scored) > 1:
        return f"{about}\n\n{evaluation.table(rows)}"
    return f"{about}\n\n{evaluation.as_text(*scored.values())}"


@command("reject")
@click.argument("sets", metavar="QUERIES...", nargs=-1, required=True, type=_SET)
@option(
    "--questions",
    "count",
    metavar="N",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Wrong questions a set, and as many of its own.",
)
@_MODE
@_FRESH
@_JSON
@click.pass_context
def reject(
    ctx: click.Context, sets: tuple[Path, ...], count: int, mode: Mode, fresh: bool, as_json: bool
) -> None:
    """Ask workspaces what they do not hold: how many answers are empty, and how many should not be.

    The workspaces of each set are asked questions of the other sets (of its other workspaces, where it is
    the only one) and of their own, by the strict search, which leaves an answer empty where
    nothing is near enough.
    """
    from commonplace.bench import evaluation

    read = [_read(ctx, path, None) for path in sets]
    with progress.shown(lines=True) as bar:
        rows = evaluation.reject(read, evaluation.Options(mode=mode, fresh=fresh), count, bar)
    session.write(_as_json({"sets": rows}) if as_json else evaluation.rejection_text(rows))


@command("init")
@option(
    "--questions",
    "count",
    metavar="N",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="How many questions.",
)
@option(
    "--out",
    metavar="FILE",
    type=_FILE,
    help=f"Where they are written; otherwise {GOLD} in the workspace. It must not be there yet.",
)
@option("--seed", type=int, default=0, show_default=True, help="Another number, another choice.")
@click.pass_context
def init(ctx: click.Context, count: int, out: Path | None, seed: int) -> None:
    """Make a first question set from your own notes, for you to look through.

    A question is two words of a line, not its rarest. Each has `"review": true` until you have looked at it
    and taken that out. `eval FILE` asks them.
    """
    from commonplace import config
    from commonplace.base import paths
    from commonplace.bench import gold

    workspace = session.workspace_of(ctx)
    settings = config.load(workspace.root, agent=session.agent(ctx))
    path = out or workspace.root / GOLD
    gold.check_free(path)
    drafts = gold.chosen(gold.drafts(gold.read_notes(workspace.root, settings), seed), count, seed)
    if not drafts:
        failures.warn("the notes hold nothing that a question could be made of")
        ctx.exit(failures.NOTHING_FOUND)
    gold.write(path, drafts)
    about = counted(len({draft.evidence.path for draft in drafts}), "note")
    place = paths.shown(path)
    session.write(f"{place}: {counted(len(drafts), 'question')} about {about}")
    session.note(f'look at each, then take its "review" out; `commonplace eval {place}` asks them')
    session.note(gold.CAVEAT)


class Evaluations(Group):
    """A group whose first command is meant where none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the first command in front of words that do not name one; options alone are the group's."""
        if any(not word.startswith("-") for word in args) and not self._names_a_command(args):
            args = [str(evaluate.name), *args]
        return super().parse_args(ctx, args)

    def _names_a_command(self, args: list[str]) -> bool:
        """Whether the first word that is no option of the group, nor the value of one, is a command."""
        takes_value = {name: flag.read is not None for flag in SHARED for name in flag.names}
        rest = iter(args)
        for word in rest:
            name, equals, _ = word.partition("=")
            if name not in takes_value:
                return word in (*HELP, "help") or word in self.commands
            if takes_value[name] and not equals:
                next(rest, None)
        return True


evaluations = Evaluations(
    "eval",
    commands=(evaluate, reject, init),
    help="Score the search against questions with known evidence: `eval QUERIES` is `eval run QUERIES`.",
)


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
    from commonplace.base import paths
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
    text = hits.as_text(
        stop.result,
        inner,
        words=words,
        rows=PASSAGE_ROWS,
        locate=session.locator(memory),
    )
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
