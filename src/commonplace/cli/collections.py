"""`collection …` and `context …`: folders outside the workspace, and descriptions of notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING

import click

from commonplace import config
from commonplace.base.errors import UnknownCollection
from commonplace.cli import session
from commonplace.cli.options import Group, command, completed, format_option, option
from commonplace.config.collections import WEIGHTS
from commonplace.config.settings import Collection
from commonplace.render import count, reports, screen, to_json
from commonplace.types.data import to_data

if TYPE_CHECKING:
    from commonplace.memory import Memory

_ADD_CONTEXT = "commonplace context add PREFIX TEXT"


def _root(ctx: click.Context) -> Path:
    return Path(session.writable_root(ctx))


@command("add")
@click.argument("folder", metavar="PATH", shell_complete=completed("folders"))
@option(
    "--name",
    metavar="N",
    help="Name of the collection; the folder's own unless given. Its notes are shown as N/….",
)
@option(
    "--glob",
    "globs",
    multiple=True,
    metavar="PATTERN",
    help="Files to take, '**/*.md' unless given; repeatable.",
)
@option("--ignore", multiple=True, metavar="PATTERN", help="Files to leave out; repeatable.")
@option(
    "--weight",
    type=click.Choice(WEIGHTS),
    help="own: your own notes; reference: yours go before it. Reference where it lies outside the workspace.",
)
@click.pass_context
def add(
    ctx: click.Context,
    folder: str,
    name: str | None,
    globs: tuple[str, ...],
    ignore: tuple[str, ...],
    weight: str | None,
) -> None:
    """Make a folder of Markdown, or of code, searchable beside the workspace's own notes."""
    added = config.add_collection(
        _root(ctx), name, folder, glob=globs or ("**/*.md",), ignore=ignore, weight=weight
    )
    session.write(f"added collection {added.name}: {added.path}; `commonplace sync` reads it")
    if weight is None and added.weight == "reference":
        own = f"`commonplace collection weight {added.name} own`"
        session.note(f"your own notes go before it: {own} changes that")


@command("list")
@format_option(("text", "json"))
@click.pass_context
def list_(ctx: click.Context, form: str) -> None:
    """List the collections and what the index holds of them."""
    memory = session.open_memory(ctx)
    held = memory.status().collections
    session.answer(form, held, lambda: reports.collections_text(held, session.look(memory.settings)))


@command("show")
@click.argument("name", shell_complete=completed("collections"))
@format_option(("text", "json"))
@click.pass_context
def show(ctx: click.Context, name: str, form: str) -> None:
    """Show a collection: its folder, its patterns, what describes it, what the index holds of it."""
    memory = session.open_memory(ctx)
    size = sum(note.size for note in memory.notes() if note.collection == name)
    known = {one.name: one for one in memory.status().collections}
    if name not in known:
        raise UnknownCollection(name, list(known))
    held = known[name]
    contexts = config.contexts_for(memory.settings.contexts, name, name)
    noted = memory.settings.collections.get(name, Collection(name, held.root))
    update = _command_line(noted.update)
    if form == "json":
        more = {"update": update, "bytes": size, "contexts": contexts}
        session.write(to_json({**to_data(held), **more}))
        return
    rows = [
        ("name", held.name),
        ("folder", held.root),
        ("files", " ".join([*held.globs, *map("!{}".format, held.ignore)])),
        ("holds", f"{count(held.notes, 'note')}, {count(held.passages, 'passage')}, {screen.size(size)}"),
        ("weight", f"{held.weight}: {reports.WEIGHTS[held.weight]}"),
        ("searched", "by default" if noted.by_default else f"when it is named: -c {name}, in:{name}"),
        *([("update", update)] if update else []),
        *(("context", text) for text in contexts),
    ]
    session.write("\n".join(screen.table([(label, screen.one_line(text)) for label, text in rows])))


def _command_line(update: Sequence[str]) -> str:
    """A command as a shell would take it, without the secrets in it."""
    from commonplace.redaction.redact import redact

    return redact(join(update))[0]


@command("include")
@click.argument("name", shell_complete=completed("collections"))
@option("--off", is_flag=True, help="The opposite, as `exclude` does.")
@click.pass_context
def include(ctx: click.Context, name: str, off: bool) -> None:
    """Let searches that name no collection look into this one again; a new collection is looked into."""
    _set_by_default(ctx, name, not off)


@command("exclude")
@click.argument("name", shell_complete=completed("collections"))
@click.pass_context
def exclude(ctx: click.Context, name: str) -> None:
    """Keep a collection out of searches that do not name it with -c NAME or in:NAME."""
    _set_by_default(ctx, name, False)


def _set_by_default(ctx: click.Context, name: str, by_default: bool) -> None:
    config.set_collection(_root(ctx), name, by_default=by_default)
    how = "searched by default" if by_default else f"searched when it is named: -c {name}, in:{name}"
    session.write(f"collection {name} is {how}")


@command("weight")
@click.argument("name", shell_complete=completed("collections"))
@click.argument("weight", type=click.Choice(WEIGHTS))
@click.pass_context
def weigh(ctx: click.Context, name: str, weight: str) -> None:
    """Say whether NAME holds your own notes, or reference that these go before."""
    config.set_collection(_root(ctx), name, weight=weight)
    session.write(f"collection {name} is {weight}: {reports.WEIGHTS[weight]}")


@command("update-cmd")
@click.argument("name", shell_complete=completed("collections"))
@click.argument("program", metavar="[COMMAND]...", nargs=-1)
@option("--clear", is_flag=True, help="Run nothing any more.")
@click.pass_context
def update_cmd(ctx: click.Context, name: str, program: tuple[str, ...], clear: bool) -> None:
    """Show or set what `sync --pull` runs in a collection's folder first, such as `git pull -q`.

    A command that has options of its own stands after --. It is run without a shell and noted in your own
    config.toml.
    """
    if program and clear:
        raise click.UsageError("--clear takes no command.")
    root = _root(ctx)
    if program or clear:
        config.set_update(root, name, program)
        runs = (
            f"`commonplace sync --pull` runs {_command_line(program)}"
            if program
            else "nothing is run any more"
        )
        session.write(f"collection {name}: {runs}")
        return
    collections = config.load(root).collections
    if name not in collections:
        raise UnknownCollection(name, sorted(collections))
    session.write(screen.one_line(_command_line(collections[name].update)))


@command("remove")
@click.argument("name", shell_complete=completed("collections"))
@click.pass_context
def remove(ctx: click.Context, name: str) -> None:
    """Forget a collection; its files are not touched."""
    config.remove_collection(_root(ctx), name)
    session.write(f"removed collection {name}; its files are untouched")


@command("rename")
@click.argument("old", shell_complete=completed("collections"))
@click.argument("new")
@click.pass_context
def rename(ctx: click.Context, old: str, new: str) -> None:
    """Give a collection another name."""
    config.rename_collection(_root(ctx), old, new)
    session.write(f"renamed collection {old} to {new}")


collection = Group(
    "collection",
    commands=(add, list_, show, include, exclude, weigh, update_cmd, remove, rename),
    help="Further folders of notes.",
)

# --- contexts -------------------------------------------------------------------------------------------


@command("add")
@click.argument("prefix")
@click.argument("text", nargs=-1, required=True)
@click.pass_context
def add_context(ctx: click.Context, prefix: str, text: tuple[str, ...]) -> None:
    """Describe what stands under PREFIX: / for everything, a collection's name, or a path."""
    key = config.add_context(_root(ctx), prefix, session.text_argument(text))
    session.write(f"added context for {key or '/'}")
    _tell_of_vectors(ctx)


@command("list")
@format_option(("text", "json"))
@click.pass_context
def list_contexts(ctx: click.Context, form: str) -> None:
    """List the contexts."""
    settings = session.open_memory(ctx).settings
    contexts = dict(settings.contexts)
    rows = (
        f"{screen.one_line(prefix) or '/'}  {screen.one_line(contexts[prefix])}"
        for prefix in sorted(contexts)
    )
    session.answer(form, contexts, lambda: "\n".join(rows), settings)
    if form == "text" and not contexts:
        session.note(f"nothing is described; `{_ADD_CONTEXT}` does it")


@command("remove")
@click.argument("prefix")
@click.pass_context
def remove_context(ctx: click.Context, prefix: str) -> None:
    """Remove the context of PREFIX."""
    key = config.remove_context(_root(ctx), prefix)
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
    bare = _undescribed(session.open_memory(ctx))
    if form == "json":
        session.write(to_json([{"prefix": prefix, "notes": number} for prefix, number in bare]))
        return
    rows = [(screen.one_line(prefix), count(number, "note")) for prefix, number in bare]
    session.write("\n".join(screen.table(rows, right=(1,))))
    session.note(f"describe them with `{_ADD_CONTEXT}`" if bare else "all are described")


def _undescribed(memory: Memory) -> list[tuple[str, int]]:
    """Top folders, collections and their top folders that no context describes, with how many notes."""
    from commonplace.memory import sources

    collections = {source.name for source in sources(memory)[1:]}
    described = tuple(f"{prefix}/" for prefix in memory.settings.contexts if prefix)
    bare: Counter[str] = Counter()
    for note in memory.notes():
        folders = note.path.split("/")[:-1]
        depth = 2 if note.collection in collections else 1
        for prefix in accumulate(folders[:depth], "{}/{}".format):
            if not f"{prefix}/".startswith(described):
                bare[prefix] += 1
    return sorted(bare.items())


context = Group(
    "context",
    commands=(add_context, list_contexts, check, remove_context),
    help="Descriptions of what stands under a path, shown with hits.",
)
