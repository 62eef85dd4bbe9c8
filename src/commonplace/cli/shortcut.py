"""`search` and `mcp` with plain options, without click: importing it takes a quarter of a search's time.

Whatever is not understood here to the letter (help, mistakes, rarer spellings) is left to click.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from commonplace.base import remedies
from commonplace.cli import failures
from commonplace.cli.flags import FLAGS, SHARED
from commonplace.cli.remedies import WORDS

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.servers.methods import Service


_NAMES = [(name, flag) for flag in (*SHARED, *FLAGS) for name in flag.names]
_BY_NAME = {name: flag for name, flag in _NAMES if "/" not in name}
_PAIRS = {
    one: flag for name, flag in _NAMES if "/" in name for one in name.split("/")
}  # --expand/--no-expand


def run(arguments: Sequence[str]) -> int | None:
    """Run a plain search or serve a client, and return the exit code; None for anything else."""
    options = parse(arguments, "mcp") if "mcp" in arguments else None
    serving = options is not None and not options["words"]
    if not serving:
        options = parse(arguments, "search")
        if options is None or not options["words"]:
            return None
    assert options is not None
    debug, words = bool(options.pop("debug", False)), options.pop("words")
    try:
        with remedies.spoken(WORDS):
            if serving:
                return connect(**options)
            from commonplace.cli import searching

            gc.disable()  # what a tenth of a second leaves behind is not worth looking for
            return searching.search(words, **options)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last place: every error is one line
        return failures.end(error, debug=debug)


def parse(arguments: Sequence[str], command: str) -> dict[str, Any] | None:
    """Read the arguments of a command: its `words`, and fields by name; None for what is left to click.

    Shared options alone may stand before the command, and with `mcp`.
    """
    options: dict[str, Any] = {"words": ()}
    left, begun = list(arguments), False
    while left:
        word = left.pop(0)
        if not begun and word == command:
            begun = True
        elif begun and word == "--":
            options["words"] += tuple(left)
            break
        elif begun and (word == "-" or not word.startswith("-")):
            options["words"] += (word,)
        elif not _take(word, left, options, shared=not begun or command == "mcp"):
            return None
    return options if begun else None


def _take(word: str, left: list[str], options: dict[str, Any], *, shared: bool) -> bool:
    """Note an option and its value; False if it is not understood."""
    name, equals, text = word.partition("=")
    flag = _BY_NAME.get(name) or _PAIRS.get(name)
    if flag is None or (shared and flag not in SHARED):
        return False
    if flag.read is None:
        options[flag.field] = flag.value if name in _BY_NAME else not name.startswith("--no-")
        return not equals
    if (equals and not name.startswith("--")) or not (equals or left):
        return False
    try:
        value = flag.convert(text if equals else left.pop(0))
    except ValueError:
        return False
    options[flag.field] = (*options.get(flag.field, ()), value) if flag.many else value
    return True


def connect(workspace: str | None = None, agent: str | None = None) -> int:
    """Serve the client at the other end of standard input; return the exit code."""
    from commonplace.servers import stdio

    return stdio.run(service(workspace, agent))


def service(workspace: str | None, agent: str | None) -> Service:
    """Make what serves a workspace, which is opened when it is first needed.

    Raises WorkspaceNotFound and ConfigError at once: a client shows best what fails at the start.
    """
    from commonplace import config
    from commonplace.base import paths
    from commonplace.servers.methods import Service
    from commonplace.servers.stdio import tell

    root = paths.resolve_workspace(workspace, os.environ)
    name = os.environ.get(config.AGENT_VARIABLE, "") if agent is None else agent
    settings = config.load(root, agent=name)

    def open_memory() -> Memory:
        from commonplace.memory import Memory

        return Memory(root, settings, agent=name)

    return Service(open_memory, name, tell)
