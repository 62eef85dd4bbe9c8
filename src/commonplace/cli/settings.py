"""`config`: the settings in force, and the files and variables that set them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import render, screen
from commonplace.cli import session
from commonplace.cli.options import command, format_option

if TYPE_CHECKING:
    from commonplace.config import Key, Settings


@command("config")
@click.argument("what", type=click.Choice(["show", "path"]), default="show", metavar="[show|path]")
@format_option(("text", "json"))
@click.pass_context
def config(ctx: click.Context, what: str, form: str) -> None:
    """Show the settings in force and what set them, or (path) the files they are read from."""
    from commonplace import config as settings
    from commonplace.paths import Workspace

    root = Path(session.workspace_root(ctx))
    files = (("user", settings.user_file()), ("workspace", Workspace(root).settings))
    if what == "path":
        data: object = {name: os.fspath(path) for name, path in files}
        rows = [
            (name, screen.one_line(str(path)), "" if path.exists() else "missing") for name, path in files
        ]
    else:
        loaded = settings.load(root, os.environ)
        shown = [(key.name, _value(key, loaded), _origin(key, loaded), key.doc) for key in settings.KEYS]
        data = {name: {"value": value, "from": origin, "about": doc} for name, value, origin, doc in shown}
        rows = [(name, _shown(value), origin) for name, value, origin, _ in shown]
    session.write(render.to_json(data) if form == "json" else _table(rows))


def _shown(value: object) -> str:
    if isinstance(value, list):
        return screen.one_line(" ".join(map(str, value))) or "-"
    return "-" if value in (None, "") else screen.one_line(str(value))


def _value(key: Key, settings: Settings) -> object:
    group, _, name = key.name.partition(".")
    value = getattr(getattr(settings, group), name)
    return list(value) if isinstance(value, tuple) else value


def _origin(key: Key, settings: Settings) -> str:
    """Say what set a value: the environment, a file, or nothing."""
    if key.variable and os.environ.get(key.variable):
        return key.variable
    default = list(key.default) if isinstance(key.default, tuple) else key.default
    return "default" if _value(key, settings) == default else "file"


def _table(rows: list[tuple[str, str, str]]) -> str:
    widths = [max(screen.cells(row[column]) for row in rows) for column in range(2)]
    return "\n".join(
        f"{screen.pad(row[0], widths[0])}  {screen.pad(row[1], widths[1])}  {row[2]}".rstrip() for row in rows
    )
