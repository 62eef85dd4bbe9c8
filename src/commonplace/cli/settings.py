"""`config list|get|set|unset|path|edit|key`: the settings in force, what set them, and changing them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import render, screen
from commonplace.cli import failures, session
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

    key, loaded = keys.find(name, "as a key"), _loaded(ctx)
    value = _value(key, loaded)
    if form == "json":
        session.write(render.to_json(_data(key, loaded)))
    else:
        lines = value if isinstance(value, list) else [] if value is None else [value]
        said = [screen.one_line(str(line)) for line in map(_plain, lines)]
        session.write("\n".join([*said, *([_origin(key, loaded)] if origin else [])]))


@command("set")
@click.argument("name", metavar="KEY")
@click.argument("values", metavar="VALUE...", nargs=-1, required=True)
@option("--in-workspace", is_flag=True, help="Set it in the workspace's file; otherwise in your own.")
@click.pass_context
def set_(ctx: click.Context, name: str, values: tuple[str, ...], in_workspace: bool) -> None:
    """Set one setting in your own file; several values make a list."""
    from commonplace.config import keys

    key = keys.find(name, "as a key")
    several = key.kind in ("texts", "names", "command")
    if not several and len(values) > 1:
        raise click.UsageError(f"{name} takes one value", ctx)
    _change(ctx, key, values if several else values[0], in_workspace)


@command("unset")
@click.argument("name", metavar="KEY")
@option("--in-workspace", is_flag=True, help="Remove it from the workspace's file; otherwise from your own.")
@click.pass_context
def unset(ctx: click.Context, name: str, in_workspace: bool) -> None:
    """Remove one setting from your own file, so that the default applies again."""
    from commonplace.config import keys

    _change(ctx, keys.find(name, "as a key"), None, in_workspace)


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


@command("edit")
@option("--in-workspace", is_flag=True, help="Edit the workspace's file; otherwise your own.")
@click.pass_context
def edit(ctx: click.Context, in_workspace: bool) -> None:
    """Edit a settings file with VISUAL, EDITOR, or what there is; it is checked before it is kept.

    A text that cannot be loaded is kept beside the file, whose old content stays in force.
    """
    from commonplace import config
    from commonplace.paths import Workspace

    root = Path(session.workspace_root(ctx)) if in_workspace else None
    file = Workspace(root).settings if root else config.user_file()
    before = file.read_bytes() if file.exists() else b""
    text = before.decode("utf-8-sig", "surrogateescape") or _template(own=root is None)
    while (edited := click.edit(text, extension=".toml", require_save=True)) is not None and edited != text:
        after = edited.encode("utf-8", "surrogateescape")
        try:
            session.write(f"wrote {config.rewrite(before, after, workspace=root)}")
        except ConfigError as error:
            kept = _keep(file, after)
            if session.is_terminal(sys.stdin) and _again(error):
                text = edited
                continue
            problem = str(error).removeprefix(f"{error.key}: ")
            raise ConfigError(error.key, f"{problem}; your text is kept in {kept}") from error
        return
    session.write("nothing was changed")


@command("key")
@click.argument("entry", metavar="NAME")
@option("--remove", is_flag=True, help="Take the entry out of the keyring.")
def key(entry: str, remove: bool) -> None:
    """Put a provider's key into the system keyring; it is asked for, or read from standard input.

    The setting `embedding.keyring` or `llm.keyring` then names the entry.
    """
    from commonplace.config import credentials

    if remove:
        credentials.keep(entry, credentials.NO_KEY)
        session.write(f"removed {screen.one_line(entry)} from the keyring")
        return
    given = click.prompt("Key", hide_input=True) if session.is_terminal(sys.stdin) else sys.stdin.readline()
    secret = credentials.Secret(given)
    if not secret or len(given.split()) != 1:
        raise ConfigError("key", "one key is wanted, on one line")
    credentials.keep(entry, secret)
    session.write(
        f"kept; `commonplace config set embedding.keyring {screen.one_line(entry)}` makes use of it"
    )


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
    return list(value) if isinstance(value, tuple) else value


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

    root = Path(session.workspace_root(ctx)) if in_workspace else None
    file = config.set_values({key.name: value}, workspace=root)
    done = f"set {key.name} in {file}" if value is not None else f"removed {key.name} from {file}"
    session.write(screen.one_line(done))
    stronger = _origin(key, _loaded(ctx))
    if stronger not in (_DEFAULT, str(file)):
        failures.warn(f"{key.name} is set by {screen.one_line(stronger)} all the same, which is stronger")


def _template(*, own: bool) -> str:
    """A settings file that changes nothing: every key with its default, commented out."""
    import json

    from commonplace.config import KEYS

    lines, group = ["# Settings of commonplace. What is not set has the default that stands here."], ""
    for key in KEYS:
        if not (own or key.harmless):
            continue
        table, _, name = key.name.partition(".")
        lines += ["", f"[{table}]"] if table != group else []
        group = table
        default = "" if key.default is None else json.dumps(key.default)
        lines += [f"# {key.doc}", f"# {name} = {default}".rstrip()]
    return "\n".join(lines) + "\n"


def _keep(file: Path, text: bytes) -> Path:
    """Put a text that was refused beside its file."""
    from commonplace import atomic

    kept = file.with_suffix(".rejected.toml")
    kept.parent.mkdir(parents=True, exist_ok=True)
    atomic.replace(kept, lambda _: text, lock=kept.with_suffix(".lock"))
    return kept


def _again(error: ConfigError) -> bool:
    failures.report(error)
    return click.confirm("Edit it again?", default=True, err=True)


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(screen.cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    padded: Callable[[str, int], str] = screen.pad
    return "\n".join("  ".join(map(padded, row, widths)).rstrip() for row in rows)
