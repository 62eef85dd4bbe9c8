"""`collection add|list|show|remove|rename`: further folders of Markdown beside the workspace's own notes."""

from __future__ import annotations

from pathlib import Path

import click

from commonplace import render, screen
from commonplace.cli import session
from commonplace.cli.groups import Group
from commonplace.cli.options import command, format_option, option


@command("add")
@click.argument("folder", metavar="PATH")
@option("--name", required=True, metavar="N", help="Name of the collection; its notes are shown as N/….")
@option(
    "--glob",
    "globs",
    multiple=True,
    metavar="PATTERN",
    help="Files to take, '**/*.md' unless given; repeatable.",
)
@option("--ignore", multiple=True, metavar="PATTERN", help="Files to leave out; repeatable.")
@click.pass_context
def add(ctx: click.Context, folder: str, name: str, globs: tuple[str, ...], ignore: tuple[str, ...]) -> None:
    """Make a folder of Markdown searchable beside the workspace's own notes."""
    from commonplace import config

    root = Path(session.workspace_root(ctx))
    added = config.add_collection(root, name, folder, glob=globs or ("**/*.md",), ignore=ignore)
    session.write(f"added collection {name}: {added.path}; `commonplace sync` reads it")


@command("list")
@format_option(("text", "json"))
@click.pass_context
def list_(ctx: click.Context, form: str) -> None:
    """List the collections and what the index holds of them."""
    memory = session.open_memory(ctx)
    state = memory.status()
    if form == "json":
        session.write(render.to_json(render.status_data(state)["collections"]))
    else:
        session.write(render.collections_text(state.collections, session.look(memory.settings)))


@command("show")
@click.argument("name")
@format_option(("text", "json"))
@click.pass_context
def show(ctx: click.Context, name: str, form: str) -> None:
    """Show a collection: its folder, its patterns, what describes it, what the index holds of it."""
    from dataclasses import asdict

    from commonplace import config
    from commonplace.errors import UnknownCollection

    memory = session.open_memory(ctx)
    size = sum(note.size for note in memory.notes() if note.collection == name)
    known = {one.name: one for one in memory.status().collections}
    if name not in known:
        raise UnknownCollection(name, list(known))
    found = known[name]
    contexts = config.contexts_for(memory.settings, name, name)
    if form == "json":
        session.write(render.to_json({**asdict(found), "bytes": size, "contexts": contexts}))
        return
    rows = [
        ("name", found.name),
        ("folder", found.root),
        ("files", " ".join([*found.globs, *(f"!{glob}" for glob in found.ignore)])),
        ("holds", f"{render.count(found.notes, 'note')}, {render.count(found.passages, 'passage')}, "
                  f"{screen.size(size)}"),
        *(("context", text) for text in contexts),
    ]  # fmt: skip
    session.write("\n".join(screen.table([(label, screen.one_line(text)) for label, text in rows])))


@command("remove")
@click.argument("name")
@click.pass_context
def remove(ctx: click.Context, name: str) -> None:
    """Forget a collection; its files are not touched."""
    from commonplace import config

    config.remove_collection(Path(session.workspace_root(ctx)), name)
    session.write(f"removed collection {name}; its files are untouched")


@command("rename")
@click.argument("old")
@click.argument("new")
@click.pass_context
def rename(ctx: click.Context, old: str, new: str) -> None:
    """Give a collection another name."""
    from commonplace import config

    config.rename_collection(Path(session.workspace_root(ctx)), old, new)
    session.write(f"renamed collection {old} to {new}")


collection = Group(
    "collection", commands=(add, list_, show, remove, rename), help="Further folders of notes."
)
