"""`completion`: what a shell completes, and the script that makes it ask."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import click
from click import shell_completion

from commonplace.cli import session
from commonplace.cli.options import command

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

MOST = 400  # offers; a shell asks before it shows as many
_VARIABLE = "_COMMONPLACE_COMPLETE"  # as click calls it for this program
# What to do with the script, by shell.
SHELLS: Mapping[str, str] = {
    "bash": "add to ~/.bashrc:\n\n  eval \"$(commonplace completion bash)\"",
    "zsh": "add to ~/.zshrc, below compinit:\n\n  eval \"$(commonplace completion zsh)\"",
    "fish": "run once:\n\n  commonplace completion fish > ~/.config/fish/completions/commonplace.fish",
}  # fmt: skip
_PLAIN = r"[^\w./:@%+=,#-]"  # all but these a shell may read as something else


class _Bash(shell_completion.BashComplete):
    """Bash puts what it is offered on the line as it is, so that a blank would end the word."""

    def format_completion(self, item: CompletionItem) -> str:
        """Escape an offer, twice: the script takes one backslash away as it reads."""
        item.value = re.sub(_PLAIN, r"\\\\\g<0>", item.value)
        return super().format_completion(item)


shell_completion.add_completion_class(_Bash)


@command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)), required=False)
@click.pass_context
def completion(ctx: click.Context, shell: str | None) -> None:
    """Print the script by which a shell completes commands, options, notes, collections, agents and keys.

    Without SHELL it says what to do with it in the shell that SHELL names in the environment.
    """
    if shell is None:
        found = os.path.basename(os.environ.get("SHELL", ""))
        chosen = [found] if found in SHELLS else list(SHELLS)
        session.write("\n\n".join(f"For {name}, {SHELLS[name]}" for name in chosen))
        return
    kind = shell_completion.get_completion_class(shell)
    assert kind is not None
    root = ctx.find_root()
    session.write(kind(root.command, {}, str(root.info_name), _VARIABLE).source().rstrip("\n"))


def offers(kind: str, ctx: click.Context, typed: str) -> list[str]:
    """Return what may stand where some of it is typed, at most `MOST`; nothing where that cannot be told."""
    from commonplace.base.errors import CommonplaceError

    found: Iterable[str] = ()
    with suppress(CommonplaceError, OSError, click.ClickException):
        found = _KINDS[kind](ctx)
    fitting = (one for one in found if one.startswith(typed) and one.isprintable())
    return [one for _, one in zip(range(MOST), fitting, strict=False)]


def _notes(ctx: click.Context) -> Iterable[str]:
    return session.note_paths(session.asking(ctx))


def _collections(ctx: click.Context) -> Iterable[str]:
    from commonplace import config
    from commonplace.config.settings import WORKSPACE_COLLECTION

    return [WORKSPACE_COLLECTION, *sorted(config.load(session.root_for_settings(ctx)).collections)]


def _agents(ctx: click.Context) -> Iterable[str]:
    from commonplace import config

    return sorted(config.agents(session.root_for_settings(ctx)))


def _workspaces(ctx: click.Context) -> Iterable[str]:
    from commonplace.config import workspaces

    return [name for name, _ in workspaces.called(workspaces.known())]


def _sections(ctx: click.Context) -> Iterable[str]:
    """The headings of the second level of MEMORY.md, into which `remember --section` writes."""
    workspace = session.workspace_of(ctx)
    text = workspace.files.read(workspace.memory_file).decode("utf-8", "replace")
    return re.findall(r"(?m)^##[ \t]+(\S.*?)[ \t]*$", text)


def _keys(ctx: click.Context) -> Iterable[str]:
    from commonplace.config import KEYS

    return [key.name for key in KEYS]


_KINDS: Mapping[str, Callable[[click.Context], Iterable[str]]] = {
    "agents": _agents,
    "collections": _collections,
    "keys": _keys,
    "notes": _notes,
    "sections": _sections,
    "workspaces": _workspaces,
}
