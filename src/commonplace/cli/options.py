"""Commands, groups and options without an import of `inspect`, and the options that commands share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import takewhile
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeVar

import click

from commonplace.base.errors import CommonplaceError, UnknownCollection, WorkspaceNotFound
from commonplace.cli.flags import FLAGS, HELP, REPEATABLE, SERVING, SHARED, Flag, State, day
from commonplace.config import files

if TYPE_CHECKING:
    from datetime import date

    from click.shell_completion import CompletionItem

WIDEST_HELP = 100
_WHOLE = 1000  # characters of what a command does: the first sentence of its help
_UNITS = {"d": 1, "w": 7}  # days
_LONGEST_SPAN = 5  # digits
_COMPLETED = {"workspace": "workspaces", "agent": "agents", "collections": "collections"}
_DASHED, TYPED = "commonplace.dashed", "commonplace.typed"  # of `Context.meta`
Pair = tuple[str, str]
_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])


class Option(click.Option):
    """An option whose help is taken as it is written."""

    def __init__(self, declarations: Sequence[str], help: str = "", **attributes: Any) -> None:  # noqa: ANN401
        # click passes help through inspect.cleandoc; on its own, importing inspect takes a tenth of the
        # time a search may take.
        super().__init__(declarations, **attributes)
        self.help = help


class Command(click.Command):
    """A command with the options that every command has; its help is its docstring.

    Of each pair of options that it is `excluding` one alone may be given. `dashed` says how words that begin
    with a dash are given to it: {0} is the command, {1} such a word, {2} that word in quotation marks. With
    `several` it takes more than one workspace; another command refuses them, and does not offer that.
    """

    def __init__(
        self,
        name: str | None,
        *,
        excluding: Sequence[Pair] = (),
        dashed: str = "",
        several: bool = False,
        **attributes: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(name, **attributes)
        self.params.extend(shared(several=several))
        self.excluding, self.dashed = excluding, dashed

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments. Raises click.UsageError for options that exclude each other."""
        typed = list(args)
        ctx.meta[_DASHED], ctx.meta[TYPED] = hint, _ = self._dash_hint(ctx, typed), typed
        ctx.allow_extra_args = True  # this says itself what is wrong with them
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError as error:
            if form := self._json_hint(error):
                raise click.UsageError(f"no such option {form[0]}; it is {form[1]}", ctx) from error
            if hint and isinstance(error, (click.NoSuchOption, click.MissingParameter)):
                raise click.UsageError(f"{hint[0]} is no option; {hint[1]}", ctx) from error
            raise
        if rest and not ctx.resilient_parsing:
            raise click.UsageError(self._surplus(ctx, rest), ctx)
        check_excluding(ctx, self, typed, self.excluding)
        return rest

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; `-word` may have been read as `-w ord`, a workspace that is not there."""
        try:
            return super().invoke(ctx)
        except (WorkspaceNotFound, UnknownCollection) as error:
            if ctx.meta.get(_DASHED):
                word, hint = ctx.meta[_DASHED]
                raise CommonplaceError(f"{error}; if {word} is a word: {hint}") from error
            raise

    def _json_hint(self, error: click.UsageError) -> tuple[str, ...]:
        """Return the wrong and right spelling of the option for JSON if it was meant; else empty."""
        names = {name for one in self.params for name in one.opts}
        spellings = ("--json", "--format json")
        for wrong, right in (spellings, spellings[::-1]):
            asked = getattr(error, "option_name", "") == wrong.split()[0]
            if asked and right.split()[0] in names:
                return wrong, right
        return ()

    def _surplus(self, ctx: click.Context, rest: Sequence[str]) -> str:
        """Say that there are more arguments than the command has, and what may be meant by them."""
        told = f"got unexpected extra argument{'s' if rest[1:] else ''} ({' '.join(rest)})"
        taken = [one for one in self.params if isinstance(one, click.Argument)]
        files = [one.opts[0] for one in self.params if one.metavar == "FILE"]
        if len(taken) == 1 and isinstance(taken[0].type, click.types.StringParamType):
            words = quote(" ".join([ctx.params[taken[0].name or ""] or "", *rest]))
            return f"{told}; words in quotation marks are one: `{ctx.command_path} {words}`"
        return f"{told}; a file is named with {files[0]}" if files and not taken else told

    def _dash_hint(self, ctx: click.Context, typed: Sequence[str]) -> tuple[str, str] | None:
        """Return the first word with a dash that is not an option, and how to pass it."""
        words = list(takewhile(lambda word: word != "--", typed)) if self.dashed else []
        for before, word in zip(["", *words], words, strict=False):
            if re.fullmatch(r"-[^\W\d_]{2,}\S*", word) and not before.startswith("--"):
                return word, self.dashed.format(ctx.command_path, quote(word), quote(f'"{word}"'))
        return None

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return `-h, --help`."""
        return help_option()


def check_excluding(
    ctx: click.Context, command: click.Command, typed: Sequence[str], pairs: Sequence[Pair]
) -> None:
    """Raise click.UsageError where both of a pair of parameters were typed, or `--this` and `--no-this`."""
    words = set(takewhile(lambda word: word != "--", typed))
    both = [(one.opts[0], one.secondary_opts[0]) for one in command.params if one.secondary_opts]
    fields = {name: one.name or "" for one in command.params for name in one.opts}
    shared = Counter(one.name for one in command.params)

    def is_given(name: str) -> bool:
        if shared[fields[name]] > 1:  # several options set the field
            return name in words
        return ctx.get_parameter_source(fields[name]) is click.core.ParameterSource.COMMANDLINE

    for pair in [*(pair for pair in both if {*pair} <= words), *pairs]:
        if pair in both or all(map(is_given, pair)):
            names = " and ".join(name if name.startswith("-") else name.upper() for name in pair)
            raise click.UsageError(f"{names} exclude each other.", ctx)


def shared(*, several: bool = True) -> list[click.Parameter]:
    """Make the options that stand before or after a command; of one workspace alone where not `several`."""
    made: list[click.Parameter] = []
    for flag in SHARED:
        attributes = _attributes(flag)
        if not several and flag.field == "everything":
            attributes["hidden"] = True
        elif not several and flag.field == "workspace":
            attributes["help"] = flag.help.removesuffix(REPEATABLE)
        made.append(Option([*flag.names, flag.field], expose_value=False, callback=_keep, **attributes))
    return made


def _keep(ctx: click.Context, parameter: click.Parameter, value: str | bool | tuple[str, ...] | None) -> None:
    if parameter.name == "state_dir" and isinstance(value, str) and value:
        files.move_state(value)
    elif value not in (None, False, ()):
        setattr(ctx.ensure_object(State), parameter.name or "", value)


def help_option() -> Option:
    """Make `-h, --help`."""
    return Option(
        list(HELP),
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_help,
        help="Show this message and exit.",
    )


def _show_help(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def option(*names: str, **attributes: object) -> Callable[[_Decorated], _Decorated]:
    """Declare an option of a command."""
    return click.option(*names, cls=Option, **attributes)


def format_of(formats: Sequence[str]) -> Option:
    """Make `--format` with the forms a command can answer in; the first is the default."""
    return Option(
        ["--format", "form"], type=click.Choice(list(formats)), default=formats[0], show_default=True,
        help="Form of the answer.",
    )  # fmt: skip


def format_option(formats: Sequence[str]) -> Callable[[_Decorated], _Decorated]:
    """Declare `--format`; see `format_of`."""

    def declare(function: _Decorated) -> _Decorated:
        own: list[click.Parameter] = vars(function).setdefault("__click_params__", [])
        own.append(format_of(formats))  # as click keeps what decorators declare
        return function

    return declare


def completed(kind: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Make what offers a shell the values of a parameter: notes, collections, keys, files; see `offers`."""

    def complete(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
        from commonplace.cli import offers

        return offers.find(kind, ctx, typed)

    return complete


def serving() -> list[click.Parameter]:
    """Make the options of commands that serve clients."""
    return [Option([*flag.names, flag.field], **_attributes(flag)) for flag in SERVING]


def flags(*fields: str) -> Callable[[_Decorated], _Decorated]:
    """Declare the options of a search that set these fields, in the order of its table; all without any."""
    chosen = [flag for flag in FLAGS if not fields or flag.field in fields]

    def declare(function: _Decorated) -> _Decorated:
        for flag in reversed(chosen):
            name = flag.names[0].lstrip("-") if _excludes(flag) else flag.field
            function = option(*flag.names, name, **_attributes(flag))(function)
        return function

    return declare


def _attributes(flag: Flag) -> dict[str, Any]:
    """A row of the table as click takes it."""
    attributes: dict[str, Any] = {"help": flag.help, "metavar": flag.metavar, "multiple": flag.many}
    if _excludes(flag):
        attributes |= {"is_flag": True, "expose_value": False, "callback": _choose(flag)}
    elif "/" in flag.names[0]:
        attributes["default"] = None
    elif flag.read is None:
        attributes["is_flag"] = True
    elif flag.choices:
        attributes["type"] = click.Choice(flag.choices)
    elif flag.bounds:
        attributes["type"] = (click.IntRange if flag.read is int else _Number)(*flag.bounds)
    elif flag.field == "now":
        attributes["callback"] = _day
    if flag.field in _COMPLETED:
        attributes["shell_complete"] = completed(_COMPLETED[flag.field])
    if flag.default:
        attributes |= {"default": flag.default, "show_default": True}
    return attributes


def _excludes(flag: Flag) -> bool:
    """Return whether an option shares its field with others, of which only one may be given."""
    return flag.value is not True


def _choose(flag: Flag) -> Callable[[click.Context, click.Parameter, bool], None]:
    """Make the callback that sets the option's field. Raises click.UsageError if another is given."""

    def choose(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value and ctx.params.setdefault(flag.field, flag.value) != flag.value:
            names = " and ".join(other.names[0] for other in FLAGS if other.field == flag.field)
            raise click.UsageError(f"{names} exclude each other.", ctx)

    return choose


class _Number(click.FloatRange):
    """A number within bounds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 - as click has it
        """Read a number; NaN is refused."""
        number = super().convert(value, param, ctx)
        if number != number:  # within any bounds, as all comparisons with it are false
            self.fail(f"{value!r} is not a number.", param, ctx)
        return float(number)


def _day(ctx: click.Context, parameter: click.Parameter, value: str | None) -> date | None:
    try:
        return day(value) if value is not None else None
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is no day; write it as 2026-02-13.") from error


def span_days(text: str) -> int | None:
    """Read a span of days or weeks, such as `7d` or `2w`; None for other text."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not (number.isascii() and number.isdigit()) or len(number) > _LONGEST_SPAN:
        return None
    return int(number) * _UNITS[unit]


def command(
    name: str, *, excluding: Sequence[Pair] = (), dashed: str = "", several: bool = False
) -> Callable[[Callable[..., None]], Command]:
    """Declare a command; its docstring is its help, the rest is that of `Command`."""
    return click.command(
        name, cls=Command, context_settings={"max_content_width": WIDEST_HELP}, excluding=excluding,
        dashed=dashed, several=several,
    )  # fmt: skip


class Group(click.Group):
    """A group whose options and whose answer to an unknown name are the same everywhere."""

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
            name,
            commands=list(commands),
            help=help,
            params=shared(several=several),
            callback=click.pass_context(_run_alone),
            invoke_without_command=True,
            context_settings={"max_content_width": WIDEST_HELP},
        )

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return `-h, --help`."""
        return help_option()

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the commands with what each does, and options."""
        from click.shell_completion import CompletionItem

        rows = ((name, about) for name, about in self.abouts(ctx) if name.startswith(incomplete))
        offered = [CompletionItem(name, help=about) for name, about in rows]
        return offered + click.Command.shell_complete(self, ctx, incomplete)

    def abouts(self, ctx: click.Context) -> list[tuple[str, str]]:
        """Return the commands in order, with what each does, whole: half a sentence may say the opposite."""
        return [(name, self.commands[name].get_short_help_str(_WHOLE)) for name in self.list_commands(ctx)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with what each does."""
        with formatter.section("Commands"):
            formatter.write_dl(self.abouts(ctx))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command called; an unknown name is answered with the one that is meant.

        `help COMMAND` is `COMMAND --help`.
        """
        if args[0] == "help" and self.get_command(ctx, args[0]) is None:
            if not args[1:]:
                click.echo(ctx.get_help(), color=ctx.color)
                ctx.exit()
            args = [*args[1:], HELP[-1]]
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"no such command {args[0]!r}; {self._meant(ctx, args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def _meant(self, ctx: click.Context, word: str) -> str:
        """Suggest a word for one that is not a command."""
        from difflib import get_close_matches

        names = self.list_commands(ctx)
        near = get_close_matches(word, [*names, "help"], 1)
        return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"


def _run_alone(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is not None:
        return
    alone = ctx.command.alone if isinstance(ctx.command, Group) else None
    if alone is None:
        click.echo(ctx.get_help())
    else:
        with alone.make_context(alone.name, [], parent=ctx) as own:
            alone.invoke(own)
