"""`context add|list|check|remove`: descriptions attached to path prefixes, shown with the hits below them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import render, screen
from commonplace.cli import session
from commonplace.cli.groups import Group
from commonplace.cli.options import command, format_option

if TYPE_CHECKING:
    from commonplace.types import NoteInfo


@command("add")
@click.argument("prefix")
@click.argument("text", nargs=-1, required=True)
@click.pass_context
def add(ctx: click.Context, prefix: str, text: tuple[str, ...]) -> None:
    """Describe what stands under PREFIX: / for everything, a collection's name, or a path."""
    from commonplace import config

    key = config.add_context(Path(session.workspace_root(ctx)), prefix, session.text_argument(text))
    session.write(f"added context for {key or '/'}")
    _tell_of_vectors(ctx)


@command("list")
@format_option(("text", "json"))
@click.pass_context
def list_(ctx: click.Context, form: str) -> None:
    """List the contexts."""
    contexts = dict(session.open_memory(ctx).settings.contexts)
    if form == "json":
        session.write(render.to_json(contexts))
    else:
        told = ((screen.one_line(prefix), screen.one_line(text)) for prefix, text in sorted(contexts.items()))
        session.write("\n".join(f"{prefix or '/'}  {text}" for prefix, text in told))


@command("remove")
@click.argument("prefix")
@click.pass_context
def remove(ctx: click.Context, prefix: str) -> None:
    """Remove the context of PREFIX."""
    from commonplace import config

    key = config.remove_context(Path(session.workspace_root(ctx)), prefix)
    session.write(f"removed context for {key or '/'}")
    _tell_of_vectors(ctx)


def _tell_of_vectors(ctx: click.Context) -> None:
    """Say that a changed context is to be embedded, where contexts are."""
    if session.open_memory(ctx).settings.embedding.contexts:
        session.note("`commonplace sync` embeds the passages below it anew; `--estimate` says how many")


@command("check")
@format_option(("text", "json"))
@click.pass_context
def check(ctx: click.Context, form: str) -> None:
    """List the collections and top folders of notes that no context describes."""
    from commonplace.memory import sources

    memory = session.open_memory(ctx)
    collections = {source.name for source in sources(memory)[1:]}
    bare = _undescribed(memory.notes(), collections, [one for one in memory.settings.contexts if one])
    if form == "json":
        session.write(render.to_json([{"prefix": prefix, "notes": count} for prefix, count in bare.items()]))
    else:
        rows = [(screen.one_line(prefix), render.count(count, "note")) for prefix, count in bare.items()]
        session.write("\n".join(screen.table(rows, right=(1,))))
        session.note(
            "describe them with `commonplace context add PREFIX TEXT`" if bare else "all are described"
        )


def _undescribed(
    notes: Sequence[NoteInfo], collections: Collection[str], described: Sequence[str]
) -> dict[str, int]:
    """Top folders, collections and their top folders without a context of their own or above; with notes."""
    found: dict[str, int] = {}
    for note in notes:
        above = note.path.split("/")[:-1]
        for depth in range(1, min(len(above), 2 if note.collection in collections else 1) + 1):
            prefix = "/".join(above[:depth])
            if not any(prefix == one or prefix.startswith(f"{one}/") for one in described):
                found[prefix] = found.get(prefix, 0) + 1
    return dict(sorted(found.items()))


context = Group(
    "context",
    commands=(add, list_, check, remove),
    help="Descriptions of what stands under a path, shown with hits.",
)
