"""The click application: a table of commands, each loaded when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import click

from commonplace import __version__
from commonplace.base import remedies
from commonplace.cli import failures
from commonplace.cli.flags import State
from commonplace.cli.options import Group, Option
from commonplace.cli.remedies import WORDS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PROGRAM = "commonplace"

# Groups of the help page: command → module:attribute; without a module the command of an action.
COMMANDS: Mapping[str, Mapping[str, str]] = {
    "Ask": {
        "search": "asking:search", "recall": "asking:recall", "ask": "asking:ask",
        "prompt": "asking:prompt", "get": "asking:get", "open": "editor:open_",
        "multi-get": "notes:multi_get", "timeline": "notes:timeline", "ls": "notes:ls", "tui": "panel:tui",
        "chat": "chat:chat",
    },
    "Write": {
        "init": "notes:init", "remember": "notes:remember", "import": "importing:import_",
        "export": "exporting:export", "summarize": "upkeep:summarize",
    },
    "Refine": {
        "consolidate": "upkeep:consolidate", "rollup": "upkeep:rollup", "schedule": "upkeep:schedule",
        "correct": "", "confirm": "", "forget": "forgetting:forget", "log": "corrections:log", "undo": "",
        "restore": "corrections:restore", "merge": "",
    },
    "Serve": {
        "install": "installing:install", "uninstall": "installing:uninstall", "mcp": "serving:mcp",
        "hook": "serving:hook", "serve": "serving:serve", "web": "serving:web",
    },
    "Keep up": {
        "sessions": "chat:sessions", "sync": "index:sync", "watch": "index:watch", "status": "index:status",
        "doctor": "doctor:doctor",
    },
    "Set up": {
        "collection": "collections:collection", "context": "collections:context",
        "workspaces": "workspaces:group", "index": "index:index_group",
        "completion": "completion:completion", "config": "settings:config",
    },
    "Models": {
        "models": "models:models", "cache": "costs:cache",
    },
    "Try and measure": {
        "costs": "costs:costs", "usage": "index:usage", "why": "index:why",
        "demo": "measurements:demo", "eval": "measurements:evaluations",
    },
}  # fmt: skip
# The commands that people need first, with their summaries: help and completion import no command.
FIRST: Mapping[str, str] = {
    "init": "Make a workspace; touch nothing that exists.",
    "remember": "Append an entry to today's note or to MEMORY.md.",
    "search": "Find the passages that answer a question, best first.",
    "open": "Open a note at its line, in your editor or a viewer.",
    "web": "Open the page of this memory in your browser.",
    "install": "Enter this memory into Claude Code, Codex and other clients.",
    "import": "Bring in the notes of another memory, once.",
    "correct": "Strike a statement wherever notes say it; put another beside it.",
    "undo": "Take back a generated change, exactly or not at all.",
}


class Application(Group):
    """The group of all commands; it imports the command that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands in the order of the help page."""
        return [name for group in COMMANDS.values() for name in group]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command, or return None for an unknown name."""
        places = {name: place for group in COMMANDS.values() for name, place in group.items()}
        if place := places.get(cmd_name):
            module, _, attribute = place.partition(":")
            loaded: click.Command = getattr(import_module(f"commonplace.cli.{module}"), attribute)
            return loaded
        from commonplace.cli import acting

        return acting.command(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands that people need first, and the names of the others by group."""
        with formatter.section("Begin with"):
            formatter.write_dl(list(FIRST.items()))
        with formatter.section("Further (COMMAND --help tells more)"):
            rows = [
                (title, [name for name in group if name not in FIRST]) for title, group in COMMANDS.items()
            ]
            formatter.write_dl([(title, ", ".join(names)) for title, names in rows if names])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer commands and options."""
        from click.shell_completion import CompletionItem

        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        offered = [CompletionItem(name, help=FIRST.get(name)) for name in names]
        return offered + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a reader that went away and Ctrl-C end it without a word."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except (BrokenPipeError, KeyboardInterrupt) as error:
            ctx.exit(failures.end(error))
        return result

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,  # noqa: ANN401 - click's signature
    ) -> NoReturn:
        """Parse, run, exit: 0 found, 1 error, 2 wrong usage, 3 no result, 4 no model set, 130 Ctrl-C."""
        state = State()
        if "_COMMONPLACE_COMPLETE" in os.environ:
            from commonplace.cli import completion  # which says how bash takes what it is offered

            completion.register()
        try:
            with remedies.spoken(WORDS):
                code = super().main(args, PROGRAM, complete_var, standalone_mode=False, obj=state, **extra)
        except (click.Abort, Exception) as error:  # noqa: BLE001 - the last place: every error is one line
            code = failures.end(error, debug=state.debug)
        sys.exit(code if isinstance(code, int) else 0)


cli = click.version_option(__version__, prog_name=PROGRAM, message="%(prog)s %(version)s", cls=Option)(
    Application(
        PROGRAM,
        help="Long-term memory for AI agents, in plain Markdown, found again in milliseconds.",
        several=True,
    )
)
