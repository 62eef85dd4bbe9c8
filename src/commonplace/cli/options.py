"""Commands, groups and the options that they share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import takewhile
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeVar

import click

from commonplace.base.errors import CommonplaceError, UnknownCollection, WorkspaceNotFound
from commonplace.cli.flags import FLAGS, HELP, REPEATABLE, SERVING, SHARED, Flag, State
from commonplace.config import files
from commonplace.render import FORMS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SETTINGS = {"max_content_width": 100}
_WHOLE = 1000  # characters of a command's summary
_UNITS = {"d": 1, "w": 7}  # days
_LONGEST_SPAN = 5  # digits
_COMPLETED = {"workspace": "workspaces", "agent": "agents", "collections": "collections"}
_DASHED, _JSON, TYPED = "commonplace.dashed", "commonplace.json", "commonplace.typed"  # of `Context.meta`
Pair = tuple[str, str]
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Option(click.Option):
    """An option whose help is not cleaned by click, which would import `inspect`: a tenth of a start."""

    def __init__(self, declarations: Sequence[str], help: str = "", **attributes: Any) -> None:  # noqa: ANN401
        super().__init__(declarations, **attributes)
        self.help = help


def _help_option() -> Option:
    def show(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    return Option(
        list(HELP), is_flag=True, is_eager=True, expose_value=False, callback=show,
        help="Show this message and exit.",
    )  # fmt: skip


class Command(click.Command):
    """A command with the options that every command has; its help is its docstring.

    Of each pair of options in `excluding` one alone may be given. `dashed` says how to give it words that
    begin with a dash: {0} is the command, {1} such a word, {2} that word in quotation marks. With `several`
    it takes more than one workspace; other commands refuse them and hide the option. With `answers` it has
    `--format` and `--json`.
    """

    def __init__(
        self,
        name: str | None,
        *,
        excluding: Sequence[Pair] = (),
        dashed: str = "",
        several: bool = False,
        answers: bool = False,
        **attributes: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(name, context_settings=SETTINGS, **attributes)
        self.params += [*(forms_of(("text", "json")) if answers else ()), *shared(several=several)]
        self.excluding, self.dashed = excluding, dashed

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """Return `-h, --help`."""
        return _help_option()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments. Raises click.UsageError for options that exclude each other."""
        typed = list(args)
        ctx.meta[_DASHED], ctx.meta[TYPED] = hint, _ = self._dash_hint(ctx, typed), typed
        try:
            rest = super().parse_args(ctx, args)
        except (click.NoSuchOption, click.MissingParameter) as error:
            if hint:
                raise click.UsageError(f"{hint[0]} is no option; {hint[1]}", ctx) from error
            raise
        check_excluding(ctx, self, typed, self.excluding)
        return rest

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. For an unknown workspace, the error explains that `-word` was read as `-w ord`."""
        try:
            return super().invoke(ctx)
        except (WorkspaceNotFound, UnknownCollection) as error:
            if ctx.meta.get(_DASHED):
                word, hint = ctx.meta[_DASHED]
                raise CommonplaceError(f"{error}; if {word} is a word: {hint}") from error
            raise

    def _dash_hint(self, ctx: click.Context, typed: Sequence[str]) -> Pair | None:
        """Return the first word with a dash that is not an option, and how to pass it."""
        words = list(takewhile(lambda word: word != "--", typed)) if self.dashed else []
        for before, word in zip(["", *words], words, strict=False):
            if re.fullmatch(r"-[^\W\d_]{2,}\S*", word) and not before.startswith("--"):
                return word, self.dashed.format(ctx.command_path, quote(word), quote(f'"{word}"'))
        return None


def check_excluding(
    ctx: click.Context, command: click.Command, typed: Sequence[str], pairs: Sequence[Pair]
) -> None:
    """Raise click.UsageError where both parameters of a pair were typed."""
    words = set(takewhile(lambda word: word != "--", typed))
    fields = {name: one.name or "" for one in command.params for name in one.opts}
    shared = Counter(one.name for one in command.params)

    def is_given(name: str) -> bool:
        if shared[fields[name]] > 1:  # several options set the field
            return name in words
        return ctx.get_parameter_source(fields[name]) is click.core.ParameterSource.COMMANDLINE

    for pair in pairs:
        if all(map(is_given, pair)):
            names = " and ".join(name if name.startswith("-") else name.upper() for name in pair)
            raise click.UsageError(f"{names} exclude each other.", ctx)


def shared(*, several: bool = True) -> list[click.Parameter]:
    """Make the options that may precede or follow a command; for one workspace alone if not `several`."""
    made: list[click.Parameter] = []
    for row in SHARED:
        attributes = _attributes(row)
        if not several and row.field == "everything":
            attributes["hidden"] = True
        elif not several and row.field == "workspace":
            attributes["help"] = row.help.removesuffix(REPEATABLE)
        made.append(Option([*row.names, row.field], expose_value=False, callback=_keep, **attributes))
    return made


def _keep(ctx: click.Context, parameter: click.Parameter, value: str | bool | tuple[str, ...] | None) -> None:
    if parameter.name == "state_dir" and isinstance(value, str) and value:
        files.move_state(value)
    elif value not in (None, False, ()):
        setattr(ctx.ensure_object(State), parameter.name or "", value)


def option(*names: str, completes: str = "", **attributes: Any) -> Callable[[Decorated], Decorated]:  # noqa: ANN401
    """Declare an option of a command; `completes` is the kind of value that a shell offers."""
    if completes:
        attributes["shell_complete"] = completed(completes)
    return click.option(*names, cls=Option, **attributes)


def flag(name: str, help: str, field: str = "") -> Callable[[Decorated], Decorated]:
    """Declare an option without a value."""
    return option(name, *filter(None, [field]), is_flag=True, help=help)


def argument(
    name: str,
    metavar: str = "",
    completes: str = "",
    **attributes: Any,  # noqa: ANN401
) -> Callable[[Decorated], Decorated]:
    """Declare an argument of a command."""
    attributes |= {"metavar": metavar} if metavar else {}
    return click.argument(name, shell_complete=completed(completes) if completes else None, **attributes)


def forms_of(formats: Sequence[str]) -> list[click.Parameter]:
    """Make `--format`, whose first form is the default, and `--json` if that is one of the forms."""

    def choose(ctx: click.Context, parameter: click.Parameter, value: str) -> str:
        return "json" if ctx.meta.get(_JSON) else value

    made: list[click.Parameter] = [
        Option(
            ["--format", "form"], type=click.Choice(list(formats)), default=formats[0], show_default=True,
            callback=choose, help="Form of the answer.",
        )
    ]  # fmt: skip
    if "json" in formats:
        made.append(
            Option(
                ["--json"], is_flag=True, is_eager=True, expose_value=False, help="Short for --format json.",
                callback=lambda ctx, parameter, value: ctx.meta.update({_JSON: value}),
            )
        )  # fmt: skip
    return made


def completed(kind: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Make the function that offers a shell the values of a parameter: notes, collections, keys, files."""

    def complete(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
        from commonplace.cli import offers

        return offers.find(kind, ctx, typed)

    return complete


def serving() -> list[click.Parameter]:
    """Make the options of commands that serve clients."""
    return [Option([*row.names, row.field], **_attributes(row)) for row in SERVING]


def flags(*fields: str) -> Callable[[Decorated], Decorated]:
    """Declare the options of a search that set these fields, in the order of its table; all without any."""
    chosen = [row for row in FLAGS if (not fields or row.field in fields) and row.field != "form"]

    def declare(function: Decorated) -> Decorated:
        own: list[click.Parameter] = vars(function).setdefault("__click_params__", [])
        own += () if fields else reversed(forms_of(FORMS))  # as click keeps the parameters of decorators
        for row in reversed(chosen):
            function = option(*row.names, row.field, **_attributes(row))(function)
        return function

    return declare


def _attributes(row: Flag) -> dict[str, Any]:
    """A row of the table as click takes it."""
    attributes: dict[str, Any] = {"help": row.help, "metavar": row.metavar, "multiple": row.many}
    if row.value is not True:
        attributes |= {"flag_value": row.value, "default": None}
    elif "/" in row.names[0]:
        attributes["default"] = None
    elif row.read is None:
        attributes["is_flag"] = True
    elif row.choices:
        attributes["type"] = click.Choice(row.choices)
    elif row.read is not str:
        attributes["type"] = _Value(row)
    if row.field in _COMPLETED:
        attributes["shell_complete"] = completed(_COMPLETED[row.field])
    return attributes


class _Value(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A value as the table of options reads it."""

    name = "value"

    def __init__(self, row: Flag) -> None:
        self.row = row

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> object:  # noqa: ANN401
        """Read a value. Raises click.BadParameter."""
        try:
            return self.row.convert(str(value))
        except ValueError:
            low, high = self.row.bounds or (0, 0)
            wanted = f"a number from {low} to {high}" if self.row.bounds else "a day, such as 2026-02-13"
            self.fail(f"{value!r} is not {wanted}.", param, ctx)


def span_days(text: str) -> int | None:
    """Read a span of days or weeks, such as `7d` or `2w`; None for other text."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not (number.isascii() and number.isdigit()) or len(number) > _LONGEST_SPAN:
        return None
    return int(number) * _UNITS[unit]


def command(name: str, **attributes: Any) -> Callable[[Callable[..., None]], Command]:  # noqa: ANN401 - of `Command`
    """Declare a command: its function takes the context first, its docstring is the help."""
    return lambda function: click.command(name, cls=Command, **attributes)(click.pass_context(function))


class Group(click.Group):
    """A group with the shared options; an unknown command is answered with the nearest name."""

    def __init__(
        self,
        name: str,
        *,
        commands: Sequence[click.Command] = (),
        help: str = "",
        alone: click.Command | None = None,
        several: bool = False,
    ) -> None:
        """Make a group of commands; called alone, it runs `alone` or shows its help.

        `several` is that of `Command`.
        """
        self.alone = alone
        super().__init__(
            name, commands=list(commands), help=help, params=shared(several=several),
            callback=click.pass_context(_run_alone), invoke_without_command=True, context_settings=SETTINGS,
        )  # fmt: skip

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """Return `-h, --help`."""
        return _help_option()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their summaries, which click would cut."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, self.commands[name].get_short_help_str(_WHOLE)) for name in self.list_commands(ctx)]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command called. Raises click.UsageError with the nearest name."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from difflib import get_close_matches

            names = self.list_commands(ctx)
            near = get_close_matches(args[0], names, 1)
            meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
            raise click.UsageError(f"no such command {args[0]!r}; {meant}", ctx)
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
