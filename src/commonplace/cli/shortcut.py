"""`search` and `mcp` with plain options, without click: importing it takes a quarter of a search's time.

Whatever is not understood here to the letter (help, mistakes, rarer spellings) is left to click.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from commonplace.base import remedies
from commonplace.cli import failures
from commonplace.cli.remedies import WORDS

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.servers.methods import Service


def _day(text: str) -> object:
    from datetime import date

    return date.fromisoformat(text)


_FLAGS = {"--lexical": ("mode", "lexical"), "--semantic": ("mode", "semantic"),
          "--full": ("full", True), "--explain": ("explain", True), "--debug": ("debug", True),
          "--expand": ("expand", True), "--no-expand": ("expand", False),
          "--history": ("history", True)}  # fmt: skip
_BEFORE = ("-w", "--workspace", "--agent", "--debug")  # what may stand before the command
_VALUES: dict[str, tuple[str, Callable[[str], object]]] = {
    "-n": ("limit", int), "--limit": ("limit", int),
    "-w": ("workspace", str), "--workspace": ("workspace", str),
    "--agent": ("agent", str), "-c": ("collections", str), "--collection": ("collections", str),
    "--min-score": ("min_score", float), "--format": ("form", str), "--layer": ("layer", str),
    "--now": ("now", _day), "--rerank": ("rerank", str),
    "--as-of": ("as_of", str),
}  # fmt: skip


def run(arguments: Sequence[str]) -> int | None:
    """Run a plain search or serve a client, and return the exit code; None for anything else."""
    if "mcp" in arguments and (chosen := parse_mcp(arguments)) is not None:
        return _connect(chosen)
    found = parse(arguments)
    if found is None:
        return None
    with remedies.spoken(WORDS):
        return _search(found)


def _search(found: dict[str, object]) -> int | None:
    debug = bool(found.pop("debug", False))
    gc.disable()  # what a tenth of a second leaves behind is not worth looking for
    try:
        from commonplace.cli import searching

        ask = searching.Search(**found)  # type: ignore[arg-type]
        return searching.search(ask) if searching.is_valid(ask) else None
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last place: every error is one line
        return failures.end(error, debug=debug)


def parse_mcp(arguments: Sequence[str]) -> dict[str, object] | None:
    """Read the arguments of `mcp`, which are shared options alone; None for anything else."""
    found: dict[str, object] = {}
    left, commands = list(arguments), 0
    while left:
        word = left.pop(0)
        if word == "mcp":
            commands += 1
        elif word.partition("=")[0] not in _BEFORE or not _take_option(word, left, found):
            return None
    return found if commands == 1 else None


def _connect(chosen: dict[str, object]) -> int:
    debug = bool(chosen.pop("debug", False))
    try:
        with remedies.spoken(WORDS):
            return connect(**chosen)  # type: ignore[arg-type]
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last place: every error is one line
        return failures.end(error, debug=debug)


def parse(arguments: Sequence[str]) -> dict[str, object] | None:
    """Read the arguments of a plain search; None for anything else."""
    found: dict[str, object] = {}
    words: list[str] = []
    left = list(arguments)
    while left and (word := left.pop(0)) != "search":
        if word not in _BEFORE or not _take_option(word, left, found):
            return None
    while left:
        word = left.pop(0)
        if word == "--":
            words += left
            break
        if word == "-" or not word.startswith("-"):
            words.append(word)
        elif not _take_option(word, left, found):
            return None
    return {**found, "query": tuple(words)} if words else None


def _take_option(word: str, left: list[str], found: dict[str, object]) -> bool:
    """Note an option and its value; False if it is not understood."""
    if word in _FLAGS:
        name, given = _FLAGS[word]
        found[name] = given
        return True
    option, equals, value = word.partition("=")
    if option not in _VALUES or (equals and not option.startswith("--")) or not (equals or left):
        return False
    name, convert = _VALUES[option]
    try:
        converted = convert(value if equals else left.pop(0))
    except ValueError:
        return False
    found[name] = (*_several(found.get(name)), converted) if name == "collections" else converted
    return True


def _several(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else ()


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
