"""`commonplace eval`: its commands; a question set is scored where none of them is named."""

from __future__ import annotations

import click

from commonplace.cli.comparing import compare
from commonplace.cli.evaluate import evaluate
from commonplace.cli.gold import init
from commonplace.cli.groups import Group
from commonplace.cli.rejecting import reject

DEFAULT = "run"


class Evaluations(Group):
    """A group whose first command is meant where none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the first command in front of words that do not name one; options alone are the group's."""
        if any(not word.startswith("-") for word in args) and not self._names_a_command(args):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def _names_a_command(self, args: list[str]) -> bool:
        """Whether the first word that is no option of the group, nor the value of one, is a command."""
        options = [option for option in self.params if isinstance(option, click.Option)]
        flags = {name for option in options if option.is_flag for name in option.opts}
        valued = {name for option in options if not option.is_flag for name in option.opts}
        rest = iter(args)
        for word in rest:
            if word in valued:
                next(rest, None)
            elif word not in flags and word.partition("=")[0] not in valued:
                return word == "--help" or word in self.commands
        return True


evaluations = Evaluations(
    "eval",
    commands=(evaluate, compare, reject, init),
    help="Score the search against questions with known evidence: `eval QUERIES` is `eval run QUERIES`.",
)
