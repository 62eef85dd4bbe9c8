"""Commands of the owner's that bring a collection up to date before it is synced, such as `git pull`.

A command is a list of arguments from the owner's own settings. It runs in the collection's folder, and is
ended when it takes too long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath

from commonplace.base import paths
from commonplace.config.settings import Collection
from commonplace.providers import program

TIMEOUT_S = 120.0  # a command that has not ended by then waits for somebody to answer it, or for a network


def run_all(collections: Iterable[Collection]) -> list[str]:
    """Run the commands of collections, one after the other; return what went wrong, a line each."""
    troubles = ((c.name, run(c.update, c.path)) for c in collections if c.update)
    return [f"collection {name}: {trouble}" for name, trouble in troubles if trouble]


def run(command: Sequence[str], folder: str, timeout_s: float = TIMEOUT_S) -> str:
    """Run a command in a folder without input; return what went wrong, or an empty text."""
    name = PurePath(command[0]).name
    try:
        failure = program.run(command, folder, timeout_s).failure
    except program.NotStarted as error:
        return f"{name} cannot be started in {paths.shown(folder)}: {error}"
    except TimeoutError:
        return f"{name} was ended after {timeout_s:g} s"
    return f"{name} {failure}" if failure else ""
