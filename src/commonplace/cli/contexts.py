"""`context add|list|remove`: descriptions attached to path prefixes, shown with the hits below them."""

from __future__ import annotations

from pathlib import Path

import click

from commonplace import render, screen
from commonplace.cli import session
from commonplace.cli.groups import Group
from commonplace.cli.options import command, format_option


@command("add")
@click.argument("prefix")
@click.argument("text", nargs=-1, required=True)
@click.pass_context
def add(ctx: click.Context, prefix: str, text: tuple[str, ...]) -> None:
    """Describe what stands under PREFIX: / for everything, a collection's name, or a path."""
    from commonplace import config

    key = config.add_context(Path(session.workspace_root(ctx)), prefix, session.text_argument(text))
    session.write(f"added context for {key or '/'}")


@command("list")
@format_option(("text", "json"))
@click.pass_context
def list_(ctx: click.Context, form: str) -> None:
    """List the contexts."""
    contexts = dict(session.open_memory(ctx).settings.contexts)
    if form == "json":
        session.write(render.to_json(contexts))
    else:
        told = ((screen.one_line(prefix), screen.one_line(text)) for prefix, text in sorted(contexts.items()))
        session.write("\n".join(f"{prefix or '/'}  {text}" for prefix, text in told))


@command("remove")
@click.argument("prefix")
@click.pass_context
def remove(ctx: click.Context, prefix: str) -> None:
    """Remove the context of PREFIX."""
    from commonplace import config

    key = config.remove_context(Path(session.workspace_root(ctx)), prefix)
    session.write(f"removed context for {key or '/'}")


context = Group(
    "context",
    commands=(add, list_, remove),
    help="Descriptions of what stands under a path, shown with hits.",
)
