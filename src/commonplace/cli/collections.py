"""`collection …` and `context …`: further folders of notes, and descriptions of notes."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING

import click

from commonplace import config
from commonplace.base.errors import UnknownCollection
from commonplace.cli import session
from commonplace.cli.options import Group, argument, command, flag, option
from commonplace.config.collections import WEIGHTS
from commonplace.config.settings import Collection
from commonplace.render import count, reports, screen, to_json
from commonplace.types.data import to_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.memory import Memory

_ADD_CONTEXT = "commonplace context add PREFIX TEXT"
_name = argument("name", "NAME", "collections")


def _root(ctx: click.Context) -> Path:
    return Path(session.writable_root(ctx))


@command("add")
@argument("folder", "PATH", "folders")
@option("--name", metavar="N", help="Its name, otherwise the folder's; notes are shown as N/….")
@option("--glob", "globs", multiple=True, metavar="PATTERN", help="Files, else '**/*.md'; repeatable.")
@option("--ignore", multiple=True, metavar="PATTERN", help="Files to leave out; repeatable.")
@option(
    "--weight", type=click.Choice(WEIGHTS),
    help="own: your own notes; reference: yours go before it. Reference outside the workspace.",
)  # fmt: skip
def add(
    ctx: click.Context, folder: str, name: str | None, globs: tuple[str, ...], ignore: tuple[str, ...],
    weight: str | None,
) -> None:  # fmt: skip
    """Make a folder of Markdown, or of code, searchable beside the workspace's own notes."""
    globs = globs or ("**/*.md",)
    added = config.add_collection(_root(ctx), name, folder, glob=globs, ignore=ignore, weight=weight)
    session.write(f"added collection {added.name}: {added.path}; `commonplace sync` reads it")
    if weight is None and added.weight == "reference":
        own = f"`commonplace collection weight {added.name} own`"
        session.note(f"your own notes go before it: {own} changes that")


@command("list", answers=True)
def list_(ctx: click.Context, form: str) -> None:
    """List the collections and their sizes in the index."""
    memory = session.open_memory(ctx)
    held = memory.status().collections
    session.answer(form, held, lambda: reports.collections_text(held, session.look(memory.settings)))


@command("show", answers=True)
@_name
def show(ctx: click.Context, name: str, form: str) -> None:
    """Show a collection: its folder, patterns, descriptions, and its size in the index."""
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
        session.write(to_json({**to_data(held), "update": update, "bytes": size, "contexts": contexts}))
        return
    rows = [
        ("name", held.name),
        ("folder", held.root),
        ("files", " ".join([*held.globs, *map("!{}".format, held.ignore)])),
        ("holds", f"{count(held.notes, 'note')}, {count(held.passages, 'passage')}, {screen.size(size)}"),
        ("weight", f"{held.weight}: {reports.WEIGHTS[held.weight]}"),
        ("searched", "by default" if noted.by_default else f"when it is named: -c {name}, in:{name}"),
        *[("update", update)] * bool(update),
        *(("context", text) for text in contexts),
    ]
    session.write("\n".join(screen.table([(label, screen.one_line(text)) for label, text in rows])))


def _command_line(update: Sequence[str]) -> str:
    """Return a command as a shell takes it, secrets redacted."""
    from commonplace.redaction.redact import redact

    return redact(join(update))[0]


@command("include")
@_name
def include(ctx: click.Context, name: str) -> None:
    """Search a collection by default again; a new collection is searched."""
    config.set_collection(_root(ctx), name, by_default=True)
    session.write(f"collection {name} is searched by default")


@command("exclude")
@_name
def exclude(ctx: click.Context, name: str) -> None:
    """Keep a collection out of searches that do not name it with -c NAME or in:NAME."""
    config.set_collection(_root(ctx), name, by_default=False)
    session.write(f"collection {name} is searched when it is named: -c {name}, in:{name}")


@command("weight")
@_name
@argument("weight", type=click.Choice(WEIGHTS))
def weigh(ctx: click.Context, name: str, weight: str) -> None:
    """Set whether NAME holds your own notes, or reference, which your own notes go before."""
    config.set_collection(_root(ctx), name, weight=weight)
    session.write(f"collection {name} is {weight}: {reports.WEIGHTS[weight]}")


@command("update-cmd")
@_name
@argument("program", "[COMMAND]...", nargs=-1)
@flag("--clear", "Remove the command.")
def update_cmd(ctx: click.Context, name: str, program: tuple[str, ...], clear: bool) -> None:
    """Show or set the command that `sync --pull` runs in a collection's folder first, such as `git pull -q`.

    A command with options of its own follows --. It is run without a shell and noted in your own config.toml.
    """
    if program and clear:
        raise click.UsageError("--clear takes no command.")
    root = _root(ctx)
    if program or clear:
        config.set_update(root, name, program)
        runs = f"`commonplace sync --pull` runs {_command_line(program)}"
        session.write(f"collection {name}: {runs if program else 'no command is run any more'}")
        return
    collections = config.load(root).collections
    if name not in collections:
        raise UnknownCollection(name, sorted(collections))
    session.write(screen.one_line(_command_line(collections[name].update)))


@command("remove")
@_name
def remove(ctx: click.Context, name: str) -> None:
    """Forget a collection; its files are not touched."""
    config.remove_collection(_root(ctx), name)
    session.write(f"removed collection {name}; its files are untouched")


@command("rename")
@argument("old", completes="collections")
@argument("new")
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
@argument("prefix")
@argument("text", nargs=-1, required=True)
def add_context(ctx: click.Context, prefix: str, text: tuple[str, ...]) -> None:
    """Describe the notes under PREFIX: / for all, a collection's name, or a path."""
    key = config.add_context(_root(ctx), prefix, session.text_argument(text))
    session.write(f"added context for {key or '/'}")
    _tell_of_vectors(ctx)


@command("list", answers=True)
def list_contexts(ctx: click.Context, form: str) -> None:
    """List the contexts."""
    settings = session.open_memory(ctx).settings
    pairs = settings.contexts.items()
    rows = [(screen.one_line(prefix) or "/", screen.one_line(text)) for prefix, text in pairs]
    session.answer(form, dict(settings.contexts), lambda: "\n".join(map("  ".join, sorted(rows))), settings)
    if form == "text" and not rows:
        session.note(f"nothing is described; `{_ADD_CONTEXT}` does it")


@command("remove")
@argument("prefix")
def remove_context(ctx: click.Context, prefix: str) -> None:
    """Remove the context of PREFIX."""
    key = config.remove_context(_root(ctx), prefix)
    session.write(f"removed context for {key or '/'}")
    _tell_of_vectors(ctx)


def _tell_of_vectors(ctx: click.Context) -> None:
    """Note that a changed context changes vectors, if contexts are embedded."""
    if session.open_memory(ctx).settings.embedding.contexts:
        session.note("`commonplace sync` embeds the passages below it anew; `--estimate` says how many")


@command("check", answers=True)
def check(ctx: click.Context, form: str) -> None:
    """List the collections and top folders of notes that no context describes."""
    bare = _undescribed(session.open_memory(ctx))
    rows = [(screen.one_line(prefix), count(number, "note")) for prefix, number in bare]
    data = [{"prefix": prefix, "notes": number} for prefix, number in bare]
    session.answer(form, data, lambda: "\n".join(screen.table(rows, right=(1,))))
    if form == "text":
        session.note(f"describe them with `{_ADD_CONTEXT}`" if bare else "all are described")


def _undescribed(memory: Memory) -> list[tuple[str, int]]:
    """Return folders and collections without a context, each with its number of notes."""
    from commonplace.memory import sources

    collections = {source.name for source in sources(memory)[1:]}
    described = tuple(f"{prefix}/" for prefix in memory.settings.contexts if prefix)
    bare: Counter[str] = Counter()
    for note in memory.notes():
        folders = note.path.split("/")[:-1]
        depth = 2 if note.collection in collections else 1
        prefixes = accumulate(folders[:depth], "{}/{}".format)
        bare.update(prefix for prefix in prefixes if not f"{prefix}/".startswith(described))
    return sorted(bare.items())


context = Group(
    "context",
    commands=(add_context, list_contexts, check, remove_context),
    help="Descriptions of the notes under a path, shown with hits.",
)
