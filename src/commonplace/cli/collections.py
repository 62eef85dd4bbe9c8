"""`collection add|list|show|include|exclude|update-cmd|remove|rename`: folders beside the workspace's own."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Make a folder of Markdown, or of code, searchable beside the workspace's own notes."""
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
    from commonplace.config.settings import Collection
    from commonplace.errors import UnknownCollection

    memory = session.open_memory(ctx)
    size = sum(note.size for note in memory.notes() if note.collection == name)
    known = {one.name: one for one in memory.status().collections}
    if name not in known:
        raise UnknownCollection(name, list(known))
    found = known[name]
    contexts = config.contexts_for(memory.settings, name, name)
    noted = memory.settings.collections.get(name, Collection(name, found.root))
    update = _told(noted.update)
    if form == "json":
        more = {"include_by_default": noted.by_default, "update": update, "bytes": size, "contexts": contexts}
        session.write(render.to_json({**asdict(found), **more}))
        return
    rows = [
        ("name", found.name),
        ("folder", found.root),
        ("files", " ".join([*found.globs, *(f"!{glob}" for glob in found.ignore)])),
        ("holds", f"{render.count(found.notes, 'note')}, {render.count(found.passages, 'passage')}, "
                  f"{screen.size(size)}"),
        ("searched", "by default" if noted.by_default else f"when it is named: -c {name}, in:{name}"),
        *([("update", update)] if update else []),
        *(("context", text) for text in contexts),
    ]  # fmt: skip
    session.write("\n".join(screen.table([(label, screen.one_line(text)) for label, text in rows])))


def _told(update: Sequence[str]) -> str:
    """A command as a shell would take it, without the secrets in it."""
    from shlex import join

    from commonplace.notes.redact import redact

    return redact(join(update))[0]


@command("include")
@click.argument("name")
@option("--off", is_flag=True, help="The opposite, as `exclude` does.")
@click.pass_context
def include(ctx: click.Context, name: str, off: bool) -> None:
    """Let searches that name no collection look into this one again; a new collection is looked into."""
    _set_by_default(ctx, name, not off)


@command("exclude")
@click.argument("name")
@click.pass_context
def exclude(ctx: click.Context, name: str) -> None:
    """Keep a collection out of searches that do not name it with -c NAME or in:NAME."""
    _set_by_default(ctx, name, False)


def _set_by_default(ctx: click.Context, name: str, by_default: bool) -> None:
    from commonplace import config

    config.set_by_default(Path(session.workspace_root(ctx)), name, by_default)
    how = "searched by default" if by_default else f"searched when it is named: -c {name}, in:{name}"
    session.write(f"collection {name} is {how}")


@command("update-cmd")
@click.argument("name")
@click.argument("program", metavar="[COMMAND]...", nargs=-1)
@option("--clear", is_flag=True, help="Run nothing any more.")
@click.pass_context
def update_cmd(ctx: click.Context, name: str, program: tuple[str, ...], clear: bool) -> None:
    """Show or set what `sync --pull` runs in a collection's folder first, such as `git pull -q`.

    A command that has options of its own stands after --. It is run without a shell and noted in your own
    config.toml.
    """
    from commonplace import config
    from commonplace.errors import UnknownCollection

    if program and clear:
        raise click.UsageError("--clear takes no command.")
    root = Path(session.workspace_root(ctx))
    if program or clear:
        config.set_update(root, name, program)
        told = f"`commonplace sync --pull` runs {_told(program)}" if program else "nothing is run any more"
        session.write(f"collection {name}: {told}")
        return
    collections = config.load(root).collections
    if name not in collections:
        raise UnknownCollection(name, sorted(collections))
    session.write(screen.one_line(_told(collections[name].update)))


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
    "collection",
    commands=(add, list_, show, include, exclude, update_cmd, remove, rename),
    help="Further folders of notes.",
)
