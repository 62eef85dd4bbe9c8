"""The click application: a table of commands, each loaded when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from commonplace import __version__
from commonplace.base import remedies
from commonplace.cli import failures
from commonplace.cli.flags import State
from commonplace.cli.options import Group, Option
from commonplace.cli.remedies import WORDS

PROGRAM = "commonplace"


# Groups of the help page: command → (module:attribute, one line); without a module the command of an action.
# Modules are not imported for the page.
COMMANDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Ask": {
        "search": ("asking:search", "Find the passages that answer a question, best first."),
        "recall": ("asking:recall", "Compose a cited block for a prompt, inside a token budget."),
        "ask": ("answers:ask", "Answer a question from the notes, by the language model, cited."),
        "prompt": ("asking:prompt", "Compose all that goes into a prompt, nothing twice."),
        "get": ("asking:get", "Show lines of a note."),
        "open": ("editor:open_", "Open a note at its line, in your editor or a viewer."),
        "multi-get": ("notes:multi_get", "Show several notes, also by globs."),
        "timeline": ("notes:timeline", "Show what surrounds a note or a day in time."),
        "ls": ("notes:ls", "List notes with date, size and title."),
        "tui": ("panel:tui", "Look at it in a panel: search, days, MEMORY.md, a live feed."),
        "chat": ("chat:chat", "Talk to a language model that has this memory."),
    },
    "Write": {
        "init": ("notes:init", "Make a workspace; touch nothing that exists."),
        "remember": ("notes:remember", "Append an entry to today's note or to MEMORY.md."),
        "edit": ("editor:edit", "Open a note at its line in your editor; say what changed."),
        "import": ("importing:import_", "Bring in what another memory holds, once."),
        "export": ("exporting:export", "Write all own notes into one file: Markdown, JSON or a zip."),
        "summarize": ("upkeep:summarize", "Sum up a session in the note of its day."),
    },
    "Refine": {
        "consolidate": ("upkeep:consolidate", "Refine the daily notes into MEMORY.md, checked."),
        "rollup": ("upkeep:rollup", "Turn daily notes that are old into monthly ones."),
        "schedule": ("upkeep:schedule", "Let the system refine the memory every night; how it went."),
        "correct": ("", "Strike a statement wherever notes say it; put another beside it."),
        "confirm": ("", "Let a tentative statement hold, or strike it."),
        "forget": ("forgetting:forget", "Remove notes, lines, words, people or sessions for real."),
        "log": ("corrections:log", "List generated changes of notes, and show them."),
        "undo": ("", "Take back a generated change, exactly or not at all."),
        "restore": ("corrections:restore", "Put back lines that another program overwrote."),
        "merge": ("", "Merge conflict copies of a sync program into their notes."),
    },
    "Serve": {
        "install": ("installing:install", "Enter this memory into Claude Code, Codex and other clients."),
        "uninstall": ("installing:uninstall", "Take it out of a client again, and nothing else."),
        "mcp": ("serving:mcp", "Serve one client over standard input and output (MCP)."),
        "hook": ("serving:hook", "Take an event of a coding client's session (Claude Code, Codex)."),
        "serve": ("serving:serve", "Serve many clients over HTTP on this machine (MCP)."),
        "web": ("serving:web", "Open the page of this memory in your browser."),
    },
    "Keep up": {
        "sessions": ("chat:sessions", "Follow, list and show transcripts of conversations."),
        "sync": ("index:sync", "Bring the index up to the files."),
        "watch": ("index:watch", "Sync whenever a note changes, until Ctrl-C."),
        "status": ("index:status", "Show what the index holds and whether it is fresh."),
        "doctor": ("doctor:doctor", "Examine everything that can be wrong, with the remedies."),
    },
    "Set up": {
        "collection": ("collections:collection", "Add, list, remove and rename further folders of notes."),
        "context": ("collections:context", "Describe what stands under a path, for whoever reads a hit."),
        "workspaces": ("workspaces:group", "List the workspaces of this machine, name them, forget them."),
        "index": ("index:index_group", "Keep the index on a server or in a local file."),
        "completion": (
            "completion:completion",
            "Print the script by which a shell completes commands and notes.",
        ),
        "config": ("settings:config", "Show the settings in force and what set each; change them."),
    },
    "Models": {
        "models": ("models:models", "List, fetch, choose and try models."),
        "cache": ("costs:cache", "Show and clear what is kept of models' answers."),
    },
    "Try and measure": {
        "costs": ("costs:costs", "Show what calls to models took and cost."),
        "usage": ("index:usage", "Show what was asked, found and opened, and what is never found."),
        "demo": ("measurements:demo", "Index a small bilingual workspace and ask it eight questions."),
        "eval": ("measurements:evaluations", "Score the search with questions made of your own notes."),
    },
}


FIRST = ("init", "remember", "search", "open", "web", "install", "import", "correct", "undo")


class Application(Group):
    """The group of all commands; it imports the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands in the order of the help page."""
        return [name for group in COMMANDS.values() for name in group]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command, or return None for an unknown name."""
        for group in COMMANDS.values():
            if cmd_name in group and group[cmd_name][0]:
                module, _, attribute = group[cmd_name][0].partition(":")
                loaded: click.Command = getattr(import_module(f"commonplace.cli.{module}"), attribute)
                return loaded
        from commonplace.cli import acting

        return acting.command(cmd_name)

    def abouts(self, ctx: click.Context) -> list[tuple[str, str]]:
        """Return (name, summary) of each command, from the table alone, without importing any."""
        return [(name, about) for group in COMMANDS.values() for name, (_, about) in group.items()]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands that people need first, and the names of the others by group."""
        abouts = dict(self.abouts(ctx))
        with formatter.section("Begin with"):
            formatter.write_dl([(name, abouts[name]) for name in FIRST])
        with formatter.section("Further (COMMAND --help tells more)"):
            groups = (
                (title, [name for name in group if name not in FIRST]) for title, group in COMMANDS.items()
            )
            formatter.write_dl([(title, ", ".join(names)) for title, names in groups if names])

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


def _show_version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"{PROGRAM} {__version__}")
        ctx.exit()


cli = Application(
    PROGRAM,
    help="Long-term memory for AI agents, in plain Markdown, found again in milliseconds.",
    several=True,
)
cli.params.append(
    Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_version,
        help="Show the version and exit.",
    )
)
