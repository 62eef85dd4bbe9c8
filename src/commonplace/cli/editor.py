"""`config edit`: a settings file in an editor, checked before it is kept, and no text lost."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from commonplace.cli import failures, session
from commonplace.cli.options import command, option
from commonplace.errors import CommonplaceError, ConfigError


@command("edit")
@option("--in-workspace", is_flag=True, help="Edit the workspace's file; otherwise your own.")
@click.pass_context
def edit(ctx: click.Context, in_workspace: bool) -> None:
    """Edit a settings file with VISUAL, EDITOR, or what there is; it is checked before it is kept.

    A text that cannot be loaded is kept in your folder of settings; the file stays as it was.
    """
    from commonplace import config
    from commonplace.config import loading
    from commonplace.paths import Workspace, root_of

    root = Path(session.workspace_root(ctx)) if in_workspace else None
    file = Workspace(root).settings if root else config.user_file()
    before = loading.content(file)
    text, kept = before or _template(own=root is None).encode(), None
    while (edited := click.edit(text, extension=".toml", require_save=True)) not in (None, text):
        text = edited
        try:
            session.write(f"wrote {config.rewrite(before, text, workspace=root)}")
        except CommonplaceError as error:
            kept = _keep(file.name, text)
            if not session.is_terminal(sys.stdin):
                raise _refused(error, kept) from error
            failures.report(error)
            if not click.confirm("Edit it again?", default=True, err=True):
                break
        else:
            if kept is not None:
                root_of(kept).unlink(kept, missing_ok=True)
            return
    _leave(ctx, kept)


def _leave(ctx: click.Context, kept: Path | None) -> None:
    """End without a change, which is a failure if there is a text that was refused."""
    session.write("nothing was changed")
    if kept is not None:
        failures.warn(f"your text is kept in {kept}")
        ctx.exit(failures.ERROR)


def _refused(error: CommonplaceError, kept: Path) -> ConfigError:
    key, _, problem = str(error).partition(": ")
    return ConfigError(key, f"{problem}; your text is kept in {kept}")


def _keep(name: str, text: bytes) -> Path:
    """Put a text that was refused into the user's folder: a workspace could hold a link in its place."""
    from commonplace import atomic, paths
    from commonplace.base.root import Root

    folder = paths.user_config_dir()
    Root(folder).make_folder()
    kept = (folder / name).with_suffix(".rejected.toml")
    atomic.replace(kept, lambda _: text, lock=folder / "config.lock")
    return kept


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
