"""`config list|get|set|unset|path|edit|key`: the settings in force, what set them, and changing them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import render, screen
from commonplace.cli import failures, session
from commonplace.cli.editor import edit
from commonplace.cli.groups import Group
from commonplace.cli.options import command, format_option, option
from commonplace.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.config import Key, Loaded

_DEFAULT = "default"


@command("list")
@option("--origin", is_flag=True, help="Say what set each value: a file, a variable, nothing.")
@format_option(("text", "json"))
@click.pass_context
def list_(ctx: click.Context, origin: bool, form: str) -> None:
    """List the settings in force."""
    from commonplace import config

    loaded = _loaded(ctx)
    if form == "json":
        data = {key.name: _data(key, loaded) for key in config.KEYS}
        session.write(render.to_json(data))
    else:
        rows: list[tuple[str, ...]] = [(key.name, _shown(_value(key, loaded))) for key in config.KEYS]
        if origin:
            told = (screen.one_line(_origin(key, loaded)) for key in config.KEYS)
            rows = [(*row, name) for row, name in zip(rows, told, strict=True)]
        session.write(_table(rows))


@command("get")
@click.argument("name", metavar="KEY")
@option("--origin", is_flag=True, help="Say what set the value.")
@format_option(("text", "json"))
@click.pass_context
def get(ctx: click.Context, name: str, origin: bool, form: str) -> None:
    """Show the value of one setting, and nothing else."""
    from commonplace.config import keys

    key, loaded = keys.find(name), _loaded(ctx)
    value = _value(key, loaded)
    if form == "json":
        session.write(render.to_json(_data(key, loaded)))
    else:
        lines = value if isinstance(value, list) else [] if value is None else [value]
        if origin:
            lines = [*lines, _origin(key, loaded)]
        clean = screen.one_line if session.is_terminal(sys.stdout) else str  # a script gets every space
        session.write("\n".join(clean(str(_plain(line))) for line in lines))


@command("set")
@click.argument("name", metavar="KEY")
@click.argument("values", metavar="VALUE...", nargs=-1, required=True)
@option("--in-workspace", is_flag=True, help="Set it in the workspace's file; otherwise in your own.")
@click.pass_context
def set_(ctx: click.Context, name: str, values: tuple[str, ...], in_workspace: bool) -> None:
    """Set one setting in your own file; several values make a list, `--` goes before one with a dash.

    With --agent it is set for that agent alone.
    """
    from commonplace.config import keys

    key = keys.find(name)
    several = key.kind in ("texts", "names", "command")
    if not several and len(values) > 1:
        raise click.UsageError(f"{name} takes one value", ctx)
    if any(map(_is_secret, values)):
        remedy = "name a file (key_file) or an entry of the keyring (`commonplace config key NAME`) instead"
        raise ConfigError(name, f"holds what looks like a key, which no settings file should; {remedy}")
    _change(ctx, key, values if several else values[0], in_workspace)


@command("unset")
@click.argument("name", metavar="KEY")
@option("--in-workspace", is_flag=True, help="Remove it from the workspace's file; otherwise from your own.")
@click.pass_context
def unset(ctx: click.Context, name: str, in_workspace: bool) -> None:
    """Remove one setting from your own file, so that what is weaker applies again.

    With --agent it is removed from that agent's tables alone.
    """
    from commonplace.config import keys

    _change(ctx, keys.find(name), None, in_workspace)


@command("path")
@format_option(("text", "json"))
@click.pass_context
def path(ctx: click.Context, form: str) -> None:
    """Show the files that settings are read from."""
    from commonplace import config
    from commonplace.paths import Workspace

    files = (("user", config.user_file()), ("workspace", Workspace(session.root_for_settings(ctx)).settings))
    if form == "json":
        session.write(render.to_json({name: os.fspath(file) for name, file in files}))
    else:
        session.write(
            _table([(name, screen.one_line(str(f)), "" if f.exists() else "missing") for name, f in files])
        )


@command("key")
@click.argument("entry", metavar="NAME")
@option("--remove", is_flag=True, help="Take the entry out of the keyring.")
def key(entry: str, remove: bool) -> None:
    """Put a provider's key into the system keyring; it is asked for, or read from standard input.

    The setting `embedding.keyring`, `reranking.keyring` or `llm.keyring` then names the entry.
    """
    from commonplace.config import credentials

    name = screen.one_line(entry)
    if not name or _is_secret(entry):
        raise ConfigError("key", "NAME is what to call the entry; the key itself is asked for")
    if remove:
        credentials.forget(entry)
        session.write(f"removed {name} from the keyring")
        return
    given = click.prompt("Key", hide_input=True) if session.is_terminal(sys.stdin) else sys.stdin.readline()
    if len(given.split()) != 1:
        raise ConfigError("key", "one key is wanted, on one line")
    credentials.keep(entry, credentials.Secret(given))
    session.write(f"kept; `commonplace config set embedding.keyring {name}`, or llm.keyring, makes use of it")


config = Group(
    "config",
    commands=[list_, get, set_, unset, path, edit, key],
    help="Show the settings in force and what set each; change them.",
    alone=list_,
)


def _loaded(ctx: click.Context) -> Loaded:
    from commonplace import config

    return config.trace(session.root_for_settings(ctx), agent=session.agent(ctx))


def _value(key: Key, loaded: Loaded) -> object:
    group, _, name = key.name.partition(".")
    value = getattr(getattr(loaded.settings, group), name)
    return [_redacted(one) for one in value] if isinstance(value, tuple) else _redacted(value)


def _redacted(value: object) -> object:
    """A value without what looks like a key or a password, which may have been put there by mistake."""
    from commonplace.notes import redact

    return redact.redact(value)[0] if isinstance(value, str) else value


def _is_secret(text: str) -> bool:
    return _redacted(text) != text


def _origin(key: Key, loaded: Loaded) -> str:
    return loaded.origins.get(key.name, _DEFAULT)


def _data(key: Key, loaded: Loaded) -> dict[str, object]:
    default = list(key.default) if isinstance(key.default, tuple) else key.default
    return {
        "value": _value(key, loaded),
        "from": _origin(key, loaded),
        "default": default,
        "allowed": key.allowed,
        "about": key.doc,
    }


def _plain(value: object) -> object:
    """A value as a settings file spells it."""
    return str(value).lower() if isinstance(value, bool) else value


def _shown(value: object) -> str:
    if isinstance(value, list):
        return screen.one_line(" ".join(map(str, value))) or "-"
    return "-" if value in (None, "") else screen.one_line(str(_plain(value)))


def _change(ctx: click.Context, key: Key, value: object, in_workspace: bool) -> None:
    """Set or remove a key, and say so if it makes no difference."""
    from commonplace import config
    from commonplace.config import loading
    from commonplace.paths import Workspace

    root = Path(session.workspace_root(ctx)) if in_workspace else None
    agent = session.agent(ctx) or ""
    file = Workspace(root).settings if root else config.user_file()
    before = loading.content(file)
    place = loading.origin(config.set_values({key.name: value}, workspace=root, agent=agent), agent)
    if value is not None:
        session.write(f"set {key.name} in {place}")
    elif loading.content(file) != before:
        session.write(f"removed {key.name} from {place}")
    else:
        session.write(f"{key.name} is not set in {place}")
    _warn(ctx, key, place, unset=value is None)


def _warn(ctx: click.Context, key: Key, place: str, *, unset: bool) -> None:
    """Tell what decides about a key other than the place that was changed, or why nothing can be said."""
    try:
        other = _origin(key, _loaded(ctx))
    except ConfigError as error:
        failures.warn(f"the settings cannot be loaded as they are: {error}")
        return
    if other not in (_DEFAULT, place):
        failures.warn(f"{key.name} is set by {other}" + ("" if unset else " all the same, which is stronger"))


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(screen.cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    padded: Callable[[str, int], str] = screen.pad
    return "\n".join("  ".join(map(padded, row, widths)).rstrip() for row in rows)
