"""`completion`: the script by which a shell completes commands and values."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

import click
from click import shell_completion
from click.shell_completion import CompletionItem

from commonplace.cli import session
from commonplace.cli.options import argument, command

# How to install the script, by shell.
SHELLS: Mapping[str, str] = {
    "bash": "add to ~/.bashrc:\n\n  eval \"$(commonplace completion bash)\"",
    "zsh": "add to ~/.zshrc, below compinit:\n\n  eval \"$(commonplace completion zsh)\"",
    "fish": "run once:\n\n  commonplace completion fish > ~/.config/fish/completions/commonplace.fish",
}  # fmt: skip
VARIABLE = "_COMMONPLACE_COMPLETE"  # what a shell sets that asks
_PLAIN = r"[^\w./:@%+=,#-]"  # all but these a shell may read as something else


_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' type value line=${COMP_LINE:0:COMP_POINT} before=
    COMPREPLY=()
    # Bash takes a word apart at colons, and puts an offer in the place of the last part.
    [[ $COMP_WORDBREAKS == *:* && ${line##*[[:space:]]} =~ ^(.*:) ]] && before=${BASH_REMATCH[1]}
    while IFS=',' read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("${value#"$before"}") ;;
        esac
    done < <(env COMP_WORDS="$line" %(complete_var)s=bash_complete "$1")
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Bash(shell_completion.BashComplete):
    """Bash puts what it is offered on the line as it is: a blank would end the word.

    The script that comes with click loses backslashes as it reads, so this is another one.
    """

    source_template = _BASH

    quoted = False

    def get_completion_args(self) -> tuple[list[str], str]:
        """Read the line as far as the cursor, however Bash took it apart."""
        line = os.environ["COMP_WORDS"]
        words = shell_completion.split_arg_string(line)[1:]
        rest = re.sub(r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"", "x", line)  # what is quoted to its end
        self.quoted = bool({"'", '"'} & set(rest))
        return (words[:-1], words[-1]) if words and (self.quoted or not rest.endswith(" ")) else (words, "")

    def format_completion(self, item: CompletionItem) -> str:
        """Escape an offer, but within quotation marks."""
        if not self.quoted:
            item.value = re.sub(_PLAIN, r"\\\g<0>", item.value)
        return super().format_completion(item)


def register() -> None:
    """Let click answer bash so."""
    shell_completion.add_completion_class(_Bash)


@command("completion")
@argument("shell", type=click.Choice(list(SHELLS)), required=False)
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
