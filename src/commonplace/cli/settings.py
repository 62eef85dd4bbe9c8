"""`config list|get|set|unset|path|edit`: the settings in force, their origins, and changes to them."""

from __future__ import annotations

import sys
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commonplace import config as settings
from commonplace.base import paths, records
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.cli import failures, session
from commonplace.cli.options import Group, argument, command, flag
from commonplace.config import files, keys, loading
from commonplace.render import screen, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace.config import Key, Loaded

_DEFAULT = "default"
_SEVERAL = ("texts", "names")  # kinds of keys that take more than one value
_NEW = b"# Settings of commonplace; `commonplace config list` shows every one with its value.\n"


@command("list", answers=True)
@flag("--origin", "Show the origin of each value: a file, a variable, or the default.")
def list_(ctx: click.Context, origin: bool, form: str) -> None:
    """List the settings in force."""
    loaded = _loaded(ctx)
    rows = [(key.name, _shown(_value(key, loaded)), _origin(key.name, loaded)) for key in settings.KEYS]
    data = {key.name: _data(key, loaded) for key in settings.KEYS}
    session.answer(form, data, lambda: "\n".join(screen.table([row[: 2 + origin] for row in rows])))


@command("get", answers=True)
@argument("name", "KEY", "keys")
@flag("--origin", "Show the origin of the value.")
def get(ctx: click.Context, name: str, origin: bool, form: str) -> None:
    """Show the value of one setting alone."""
    key, loaded = keys.find(name), _loaded(ctx)
    if form == "json":
        session.write(to_json(_data(key, loaded)))
        return
    value = _value(key, loaded)
    lines = value if isinstance(value, list) else [] if value is None else [value]
    clean = screen.one_line if session.is_terminal(sys.stdout) else str  # a script gets every space
    shown = [*map(_plain, lines), *[_origin(name, loaded)] * origin]
    session.write("\n".join(clean(str(line)) for line in shown))


@command("set")
@argument("name", "KEY", "keys")
@argument("values", "VALUE...", nargs=-1, required=True)
@flag("--in-workspace", "Set it in the workspace's file; otherwise in your own.")
def set_(ctx: click.Context, name: str, values: tuple[str, ...], in_workspace: bool) -> None:
    """Set one setting in your own file; several values make a list, `--` goes before one with a dash.

    A list may be written as in TOML as well: '["first", "second"]'. With --agent it is set for that agent
    alone.
    """
    several = keys.find(name).kind in _SEVERAL
    if not several and len(values) > 1:
        raise click.UsageError(f"{name} takes one value", ctx)
    if any(_redacted(one) != one for one in values):
        raise ConfigError(name, "holds what looks like a key; put that into a file, and name the file")
    listed = keys.listed(values[0]) if several and len(values) == 1 else None
    place = written(ctx, {name: (listed or values) if several else values[0]}, in_workspace=in_workspace)
    session.write(f"set {name} in {place}")
    warn_of_stronger(ctx, [name], place, " all the same, which is stronger")


@command("unset")
@argument("name", "KEY", "keys")
@flag("--in-workspace", "Remove it from the workspace's file; otherwise from your own.")
def unset(ctx: click.Context, name: str, in_workspace: bool) -> None:
    """Remove one setting from your own file, so that a weaker origin applies again.

    With --agent it is removed from that agent's tables alone.
    """
    keys.find(name)
    session.check_owner(ctx)
    file = _file(ctx, in_workspace)
    before = files.content(file)
    place = written(ctx, {name: None}, in_workspace=in_workspace)
    is_gone = files.content(file) != before
    session.write(f"removed {name} from {place}" if is_gone else f"{name} is not set in {place}")
    warn_of_stronger(ctx, [name], place)


@command("path", answers=True)
def path(ctx: click.Context, form: str) -> None:
    """Show the files that settings are read from."""
    named = {"user": settings.user_file(), "workspace": files.workspace_file(session.root_for_settings(ctx))}
    rows = [(name, screen.one_line(str(f)), "" if f.exists() else "missing") for name, f in named.items()]
    session.answer(form, {name: str(f) for name, f in named.items()}, lambda: "\n".join(screen.table(rows)))


@command("edit")
@flag("--in-workspace", "Edit the workspace's file; otherwise your own.")
def edit(ctx: click.Context, in_workspace: bool) -> None:
    """Edit a settings file with VISUAL, EDITOR, or the usual editor; it is checked before it is written.

    A text that cannot be loaded is kept beside your own settings; the file stays as it was.
    """
    session.check_owner(ctx)
    root = Path(session.writable_root(ctx)) if in_workspace else None
    before = files.content(file := _file(ctx, in_workspace))
    edited = click.edit(before or _NEW, extension=".toml", require_save=True)
    if edited in (None, before, _NEW):
        session.write("nothing was changed")
        return
    try:
        session.write(f"wrote {settings.rewrite(before, edited, workspace=root)}")
    except CommonplaceError as error:
        kept = (paths.user_config_dir() / file.name).with_suffix(".rejected.toml")
        with records.translated(kept):
            paths.root_of(kept).exchange(kept, edited)
        key, _, problem = str(error).partition(": ")
        raise ConfigError(key, f"{problem}; nothing was changed, and your text is kept in {kept}") from error


config = Group(
    "config", commands=[list_, get, set_, unset, path, edit], alone=list_,
    help="Show the settings in force and their origins; change them.",
)  # fmt: skip


def written(ctx: click.Context, values: Mapping[str, object], *, in_workspace: bool = False) -> str:
    """Set keys in the user's file or the workspace's, for an agent in its table; None removes a key.

    Return the place as shown. Raises ConfigError, AccessDenied.
    """
    session.check_owner(ctx)
    root = Path(session.writable_root(ctx)) if in_workspace else None
    agent = session.agent(ctx) or ""
    return loading.origin(settings.set_values(values, workspace=root, agent=agent), agent)


def warn_of_stronger(ctx: click.Context, names: list[str], place: str, stronger: str = "") -> None:
    """Warn of each key that another origin than a place decides."""
    try:
        loaded = _loaded(ctx)
    except ConfigError as error:
        failures.warn(f"the settings cannot be loaded as they are: {error}")
        return
    for name in names:
        if (other := _origin(name, loaded)) not in (_DEFAULT, place):
            failures.warn(f"{name} is set by {other}{stronger}")


def _file(ctx: click.Context, in_workspace: bool) -> Path:
    return files.workspace_file(Path(session.writable_root(ctx))) if in_workspace else settings.user_file()


def _loaded(ctx: click.Context) -> Loaded:
    return settings.trace(session.root_for_settings(ctx), agent=session.agent(ctx))


def _value(key: Key, loaded: Loaded) -> Any:  # noqa: ANN401 - of any kind
    value = attrgetter(key.name)(loaded.settings)
    return [_redacted(one) for one in value] if isinstance(value, tuple) else _redacted(value)


def _redacted(value: object) -> object:
    """Return a value with keys and passwords redacted, which may have been put there by mistake."""
    from commonplace.redaction import redact

    return redact.redact(value)[0] if isinstance(value, str) else value


def _origin(name: str, loaded: Loaded) -> str:
    return screen.one_line(loaded.origins.get(name, _DEFAULT))


def _data(key: Key, loaded: Loaded) -> dict[str, object]:
    return {
        "value": _value(key, loaded), "from": _origin(key.name, loaded), "default": key.default,
        "allowed": key.allowed, "about": key.doc,
    }  # fmt: skip


def _plain(value: object) -> object:
    """Return a value as a settings file spells it."""
    return str(value).lower() if isinstance(value, bool) else value


def _shown(value: object) -> str:
    if isinstance(value, list):
        return screen.one_line(" ".join(map(str, value))) or "-"
    return "-" if value in (None, "") else screen.one_line(str(_plain(value)))
