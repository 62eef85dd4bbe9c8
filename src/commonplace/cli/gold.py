"""`commonplace eval init`: a first question set from the owner's own notes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.cli import failures, progress, session
from commonplace.cli.options import command, option
from commonplace.render import count as counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.bench.drafting import Written
    from commonplace.bench.gold import Draft
    from commonplace.config import Settings
    from commonplace.llm.client import Client
    from commonplace.types import Note

FILE = "gold.jsonl"


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
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Where they are written; otherwise {FILE} in the workspace. It must not be there yet.",
)
@option("--seed", type=int, default=0, show_default=True, help="Another number, another choice.")
@option("--no-llm", is_flag=True, help="Ask no language model, though one is set.")
@option("--estimate", is_flag=True, help="Say what a language model would take, and write nothing.")
@click.pass_context
def init(ctx: click.Context, count: int, out: Path | None, seed: int, no_llm: bool, estimate: bool) -> None:
    """Make a first question set from your own notes, for you to look through.

    The language model that the settings name writes questions about single passages; without one, sentences
    with a date, a number, a name or a term become questions with a blank, and headings become questions.
    Each has `"review": true` until you have looked at it and taken that out. `eval FILE` asks them.
    """
    from commonplace import config, paths
    from commonplace.bench import gold
    from commonplace.notes import scan

    root = session.workspace_root(ctx)
    settings = config.load(Path(root), agent=session.agent(ctx))
    llm = None if no_llm else _llm(root, settings)
    path = out or Path(root, FILE)
    notes = list(gold.read_notes(scan.sources(root, settings)))
    if estimate:
        session.write(_estimated(llm, notes, count, seed))
        return
    gold.check_free(path)
    drafts = _drafts(llm, notes, count, seed)
    if not drafts:
        failures.warn("the notes hold nothing that a question could be made of")
        ctx.exit(failures.NOTHING_FOUND)
    gold.write(path, [draft.as_record() for draft in drafts])
    kinds = {kind: sum(draft.category == kind for draft in drafts) for kind in _kinds(drafts)}
    told = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    about = len({draft.evidence.path for draft in drafts})
    session.write(
        f"{paths.shown(path)}: {counted(len(drafts), 'question')} about {counted(about, 'note')} ({told})"
    )
    session.note('look at each, then take its "review" out; `commonplace eval` asks them')


def _kinds(drafts: Sequence[Draft]) -> list[str]:
    return sorted({draft.category for draft in drafts})


def _llm(root: str, settings: Settings) -> Client | None:
    """The language model of the settings, whose answers are kept unless they hold a secret."""
    from commonplace import paths
    from commonplace.llm.opening import open_llm
    from commonplace.notes.redact import holds_secret

    return open_llm(paths.Workspace(Path(root)), settings, holds_secret=holds_secret)


def _estimated(llm: Client | None, notes: Sequence[Note], count: int, seed: int) -> str:
    if llm is None:
        return "no language model is asked: questions come from headings and sentences, at no cost"
    from commonplace.bench import drafting

    calls, tokens, dollars = drafting.estimate(llm, drafting.pieces(notes, count, seed), count)
    price = "price unknown" if dollars is None else f"at most ${dollars:.4f}"
    most = f"; up to {drafting.MOST_ASKED} times that where answers must be refused"
    return f"{counted(calls, 'call')} to {llm.name} · at most {counted(tokens, 'token')}, {price}{most}"


def _drafts(llm: Client | None, notes: Sequence[Note], count: int, seed: int) -> list[Draft]:
    """What the model writes, filled up with what needs none."""
    from commonplace.bench import gold

    if llm is None:
        return gold.chosen(gold.drafts(notes), count, seed)
    from commonplace.bench import drafting

    with progress.shown(lines=True) as told:
        written = drafting.write(llm, drafting.pieces(notes, count, seed), count, told)
    _tell(written)
    lines = {draft.evidence for draft in written.drafts}
    others = [draft for draft in gold.drafts(notes) if draft.evidence not in lines]
    return [*written.drafts, *gold.chosen(others, count - len(written.drafts), seed)]


def _tell(written: Written) -> None:
    for reason, number in sorted(written.refused.items()):
        session.note(f"refused {number} of {written.asked}: {reason}")
    if written.trouble:
        failures.warn(f"{written.trouble}; the rest comes from headings and sentences")
