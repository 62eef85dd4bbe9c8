"""Groups of commands: `collection add`, `context list`; a mistyped name suggests the nearest."""

from __future__ import annotations

from collections.abc import Sequence

import click

from commonplace.cli.options import WIDEST_HELP, help_option, shared

_WHOLE = 1000  # characters of what a command does: the first sentence of its help


class Group(click.Group):
    """A group whose options and whose answer to an unknown name are the same everywhere."""

    def __init__(
        self,
        name: str,
        *,
        commands: Sequence[click.Command] = (),
        help: str = "",
        alone: click.Command | None = None,
    ) -> None:
        """Make a group of commands; called alone, it runs `alone` or shows its help."""
        self.alone = alone
        super().__init__(
            name,
            commands=list(commands),
            help=help,
            params=shared(),
            callback=click.pass_context(_run_alone),
            invoke_without_command=True,
            context_settings={"max_content_width": WIDEST_HELP},
        )

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return `--help`."""
        return help_option()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with what each does, whole: half a sentence may say the opposite."""
        rows = [(name, self.commands[name].get_short_help_str(_WHOLE)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command called; an unknown name suggests the nearest."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from difflib import get_close_matches

            names = self.list_commands(ctx)
            close = get_close_matches(args[0], names, 1)
            known = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names)}"
            raise click.UsageError(f"no such command {args[0]!r}; {known}", ctx)
        return super().resolve_command(ctx, args)


def _run_alone(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is not None:
        return
    alone = ctx.command.alone if isinstance(ctx.command, Group) else None
    if alone is None:
        click.echo(ctx.get_help())
    else:
        with alone.make_context(alone.name, [], parent=ctx) as own:
            alone.invoke(own)
