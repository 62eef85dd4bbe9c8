"""`completion`: what a shell completes, and the script that makes it ask."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click
from click import shell_completion

from commonplace.cli import session
from commonplace.cli.options import command

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# What to do with the script, by shell.
SHELLS: Mapping[str, str] = {
    "bash": "add to ~/.bashrc:\n\n  eval \"$(commonplace completion bash)\"",
    "zsh": "add to ~/.zshrc, below compinit:\n\n  eval \"$(commonplace completion zsh)\"",
    "fish": "run once:\n\n  commonplace completion fish > ~/.config/fish/completions/commonplace.fish",
}  # fmt: skip
VARIABLE = "_COMMONPLACE_COMPLETE"  # what a shell sets that asks
_PLAIN = r"[^\w./:@%+=,#-]"  # all but these a shell may read as something else


_SCRIPT = """\
%(complete_func)s() {
    local IFS=$'\\n' type value
    COMPREPLY=()
    while IFS=',' read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD %(complete_var)s=bash_complete "$1")
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Bash(shell_completion.BashComplete):
    """Bash puts what it is offered on the line as it is: a blank would end the word.

    The script that comes with click loses backslashes as it reads, so this is another one.
    """

    source_template = _SCRIPT

    def format_completion(self, item: CompletionItem) -> str:
        """Escape an offer."""
        item.value = re.sub(_PLAIN, r"\\\g<0>", item.value)
        return super().format_completion(item)


def register() -> None:
    """Let click answer bash so."""
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
    register()
    kind = shell_completion.get_completion_class(shell)
    assert kind is not None
    root = ctx.find_root()
    session.write(kind(root.command, {}, str(root.info_name), VARIABLE).source().rstrip("\n"))
