"""`config list|get|set|unset|path|edit|key`: the settings in force, what set them, and changing them."""

from __future__ import annotations

import json
import sys
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commonplace import config as settings
from commonplace.base import paths, records
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.base.paths import root_of
from commonplace.base.root import Root
from commonplace.cli import failures, session
from commonplace.cli.options import Group, command, completed, format_option, option
from commonplace.config import files, keys, loading
from commonplace.render import screen, to_json

if TYPE_CHECKING:
    from commonplace.config import Key, Loaded

_DEFAULT = "default"
_SEVERAL = ("texts", "names")  # kinds of keys that take more than one value


@command("list")
@option("--origin", is_flag=True, help="Say what set each value: a file, a variable, nothing.")
@format_option(("text", "json"))
@click.pass_context
def list_(ctx: click.Context, origin: bool, form: str) -> None:
    """List the settings in force."""
    loaded = _loaded(ctx)
    rows = [
        (key.name, _shown(_value(key, loaded)), *([screen.one_line(_origin(key, loaded))] if origin else []))
        for key in settings.KEYS
    ]
    data = {key.name: _data(key, loaded) for key in settings.KEYS}
    session.answer(form, data, lambda: "\n".join(screen.table(rows)))


@command("get")
@click.argument("name", metavar="KEY", shell_complete=completed("keys"))
@option("--origin", is_flag=True, help="Say what set the value.")
@format_option(("text", "json"))
@click.pass_context
def get(ctx: click.Context, name: str, origin: bool, form: str) -> None:
    """Show the value of one setting, and nothing else."""
    key, loaded = keys.find(name), _loaded(ctx)
    if form == "json":
        session.write(to_json(_data(key, loaded)))
        return
    value = _value(key, loaded)
    lines = value if isinstance(value, list) else [] if value is None else [value]
    clean = screen.one_line if session.is_terminal(sys.stdout) else str  # a script gets every space
    shown = [*map(_plain, lines), *([_origin(key, loaded)] if origin else [])]
    session.write("\n".join(clean(str(line)) for line in shown))


@command("set")
@click.argument("name", metavar="KEY", shell_complete=completed("keys"))
@click.argument("values", metavar="VALUE...", nargs=-1, required=True)
@option("--in-workspace", is_flag=True, help="Set it in the workspace's file; otherwise in your own.")
@click.pass_context
def set_(ctx: click.Context, name: str, values: tuple[str, ...], in_workspace: bool) -> None:
    """Set one setting in your own file; several values make a list, `--` goes before one with a dash.

    A list may be written as TOML has it as well: '["first", "second"]'.

    With --agent it is set for that agent alone.
    """
    several = (key := keys.find(name)).kind in _SEVERAL
    if not several and len(values) > 1:
        raise click.UsageError(f"{name} takes one value", ctx)
    if any(_redacted(one) != one for one in values):
        raise ConfigError(name, "holds what looks like a key; put that into a file, and name the file")
    listed = keys.listed(values[0]) if several and len(values) == 1 else None
    _change(ctx, key, (listed or values) if several else values[0], in_workspace)


@command("unset")
@click.argument("name", metavar="KEY", shell_complete=completed("keys"))
@option("--in-workspace", is_flag=True, help="Remove it from the workspace's file; otherwise from your own.")
@click.pass_context
def unset(ctx: click.Context, name: str, in_workspace: bool) -> None:
    """Remove one setting from your own file, so that what is weaker applies again.

    With --agent it is removed from that agent's tables alone.
    """
    _change(ctx, keys.find(name), None, in_workspace)


@command("path")
@format_option(("text", "json"))
@click.pass_context
def path(ctx: click.Context, form: str) -> None:
    """Show the files that settings are read from."""
    named = {"user": settings.user_file(), "workspace": files.workspace_file(session.root_for_settings(ctx))}
    rows = [(name, screen.one_line(str(f)), "" if f.exists() else "missing") for name, f in named.items()]
    session.answer(form, {name: str(f) for name, f in named.items()}, lambda: "\n".join(screen.table(rows)))


@command("edit")
@option("--in-workspace", is_flag=True, help="Edit the workspace's file; otherwise your own.")
@click.pass_context
def edit(ctx: click.Context, in_workspace: bool) -> None:
    """Edit a settings file with VISUAL, EDITOR, or what there is; it is checked before it is kept.

    A text that cannot be loaded is kept in your folder of settings; the file stays as it was.
    """
    session.check_owner(ctx)
    root = Path(session.writable_root(ctx)) if in_workspace else None
    file = files.workspace_file(root) if root else settings.user_file()
    before = files.content(file)
    text, kept = before or _template(own=root is None).encode(), None
    while (edited := click.edit(text, extension=".toml", require_save=True)) not in (None, text):
        text = edited
        try:
            session.write(f"wrote {settings.rewrite(before, text, workspace=root)}")
        except CommonplaceError as error:
            kept = _keep(file.name, text)
            if not session.can_ask():
                key, _, problem = str(error).partition(": ")
                raise ConfigError(key, f"{problem}; your text is kept in {kept}") from error
            failures.report(error)
            if not click.confirm("Edit it again?", default=True, err=True):
                break
        else:
            if kept is not None:
                root_of(kept).unlink(kept, missing_ok=True)
            return
    session.write("nothing was changed")
    if kept is not None:
        failures.warn(f"your text is kept in {kept}")
        ctx.exit(failures.ERROR)


def _keep(name: str, text: bytes) -> Path:
    """Put a text that was refused into the user's folder: a workspace could hold a link in its place."""
    kept = (paths.user_config_dir() / name).with_suffix(".rejected.toml")
    with records.translated(kept):
        Root(kept.parent).exchange(kept, text)
    return kept


def _template(*, own: bool) -> str:
    """Return a settings file without effect: every key with its default, commented out."""
    lines, group = ["# Settings of commonplace. What is not set has the default that stands here."], ""
    for key in settings.KEYS:
        if not (own or key.harmless):
            continue
        table, _, name = key.name.partition(".")
        lines += ["", f"[{table}]"] if table != group else []
        group = table
        default = "" if key.default is None else json.dumps(key.default)
        lines += [f"# {key.doc}", f"# {name} = {default}".rstrip()]
    return "\n".join(lines) + "\n"


config = Group(
    "config",
    commands=[list_, get, set_, unset, path, edit],
    help="Show the settings in force and what set each; change them.",
    alone=list_,
)


def _loaded(ctx: click.Context) -> Loaded:
    return settings.trace(session.root_for_settings(ctx), agent=session.agent(ctx))


def _value(key: Key, loaded: Loaded) -> Any:  # noqa: ANN401 - of any kind
    value = attrgetter(key.name)(loaded.settings)
    return [_redacted(one) for one in value] if isinstance(value, tuple) else _redacted(value)


def _redacted(value: object) -> object:
    """A value without what looks like a key or a password, which may have been put there by mistake."""
    from commonplace.redaction import redact

    return redact.redact(value)[0] if isinstance(value, str) else value


def _origin(key: Key, loaded: Loaded) -> str:
    return loaded.origins.get(key.name, _DEFAULT)


def _data(key: Key, loaded: Loaded) -> dict[str, object]:
    return {
        "value": _value(key, loaded),
        "from": _origin(key, loaded),
        "default": key.default,
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
    session.check_owner(ctx)
    root = Path(session.writable_root(ctx)) if in_workspace else None
    agent = session.agent(ctx) or ""
    file = files.workspace_file(root) if root else settings.user_file()
    before = files.content(file)
    place = loading.origin(settings.set_values({key.name: value}, workspace=root, agent=agent), agent)
    if value is not None:
        session.write(f"set {key.name} in {place}")
    elif files.content(file) != before:
        session.write(f"removed {key.name} from {place}")
    else:
        session.write(f"{key.name} is not set in {place}")
    try:
        other = _origin(key, _loaded(ctx))
    except ConfigError as error:
        failures.warn(f"the settings cannot be loaded as they are: {error}")
        return
    if other not in (_DEFAULT, place):  # something else decides about the key
        stronger = "" if value is None else " all the same, which is stronger"
        failures.warn(f"{key.name} is set by {other}{stronger}")
