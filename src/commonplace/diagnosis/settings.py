"""The settings: whether both files and the environment load, what they set, and what overrides what."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from commonplace import config, paths, screen
from commonplace.config.keys import Key
from commonplace.costs import prices
from commonplace.diagnosis.case import NOWHERE, Case, nowhere, only_places, trouble
from commonplace.errors import CommonplaceError
from commonplace.llm import prompting
from commonplace.llm.registry import KEY_VARIABLE
from commonplace.notes.redact import redact
from commonplace.types import Finding

PREFIX = "COMMONPLACE_"
# Variables that are no settings: which workspace, whose settings, a key.
OTHERS = (paths.WORKSPACE_VARIABLE, "COMMONPLACE_AGENT", KEY_VARIABLE)
_TABLE = re.compile(r"\s*\[+\s*([^\]]+?)\s*\]+")
_SETTING = re.compile(r"\s*([\w.\"/-]+)\s*=")
_ADDRESS_USER = re.compile(r"//[^/@\s]*@")


class Origin(NamedTuple):
    """Where a value was set: a variable, or a file with the line (0: not found)."""

    place: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.place}:{self.line}" if self.line else self.place


def files(case: Case) -> Iterator[Finding]:
    """See that the user's file, the workspace's, the prices and the prompts can be read, each by itself."""
    user, places = config.user_file(case.environ), only_places(case.environ)
    yield _file("settings.user", user, trouble(NOWHERE, places))
    if case.workspace is not None:
        own = case.workspace.settings
        yield _file("settings.workspace", own, trouble(case.place, nowhere()))
    yield from _others(case)


def _others(case: Case) -> Iterator[Finding]:
    try:
        prices.load(case.environ)
        for name in prompting.names():
            prompting.load(name, case.environ)
    except CommonplaceError as error:
        yield Finding("settings.others", "wrong", str(error), "mend the file, or delete it")
    else:
        yield Finding("settings.others", "ok", "prices and prompts load")


def _file(check: str, path: Path, told: str) -> Finding:
    shown = paths.shown(path)
    if told:
        line = line_of(path, told.partition(": ")[0])
        where = f" (line {line})" if line else ""
        return Finding(check, "wrong", f"{told}{where}", f"mend {shown}; until then it stops every command")
    if not os.path.lexists(path):
        return Finding(check, "ok", f"no file {shown}: nothing is set there")
    return Finding(check, "ok", f"{shown} loads")


def variables(case: Case) -> Iterator[Finding]:
    """See that every variable of ours is one that is known, with a value that is allowed."""
    known = {key.variable: key for key in config.KEYS if key.variable}
    for name in sorted(name for name in case.environ if name.startswith(PREFIX)):
        if name in OTHERS:
            continue
        if name not in known:
            yield _unknown(name, [*known, *OTHERS])
        elif told := trouble(NOWHERE, {**nowhere(), name: case.environ[name]}):
            yield Finding(
                "settings.variables", "wrong", told, f"unset {name}, or give it a value that is allowed"
            )


def _unknown(name: str, known: Sequence[str]) -> Finding:
    """A variable that is not known, with the one that was probably meant."""
    from difflib import get_close_matches

    bare = {other.removeprefix(PREFIX): other for other in known}
    close = get_close_matches(name.removeprefix(PREFIX), bare, 1)
    hint = f"; did you mean {bare[close[0]]}?" if close else ""
    shown = paths.shown(name)
    return Finding(
        "settings.variables", "warning", f"the variable {shown} is not known{hint}", f"unset {shown}"
    )


def origins(case: Case) -> Iterator[Finding]:
    """Tell every value that somebody set and where, and what overrides what."""
    places = {config.user_file(case.environ): trouble(NOWHERE, only_places(case.environ))}
    if case.workspace is not None:
        places[case.workspace.settings] = trouble(case.place, nowhere())
    sources = [path for path, told in places.items() if not told]
    tables = {path: _content(path) for path in sources}
    for key in config.KEYS:
        set_in = [path for path in sources if key.name.partition(".")[2] in _group(tables[path], key)]
        values = [_group(tables[path], key)[key.name.partition(".")[2]] for path in set_in]
        found = [Origin(paths.shown(path), line_of(path, key.name)) for path in set_in]
        if key.variable and case.environ.get(key.variable):
            found.append(Origin(key.variable))
            values.append(case.environ[key.variable])
        if found:
            yield _origin(key, found, [str(value) for value in values])


def _origin(key: Key, found: list[Origin], values: list[str]) -> Finding:
    told = f"{key.name} = {shown(key, values[-1])} (from {found[-1]})"
    if len(found) > 1 and values[-1].lower() != values[-2].lower():
        remedy = f"take one of the two away, if that is not meant: {found[-1]}, {found[-2]}"
        return Finding("settings.overridden", "warning", f"{told} overrides {found[-2]}", remedy)
    return Finding("settings.origin", "ok", told)


def shown(key: Key, value: str) -> str:
    """Return a value fit to be shown: no arguments, no user in an address, nothing that looks secret."""
    if key.kind == "command":
        return "a program"
    return screen.shorten(screen.one_line(redact(_ADDRESS_USER.sub("//", value))[0]), 80)


def line_of(path: Path, name: str) -> int:
    """Return the line of a TOML file that sets a dotted key or opens its table; 0 if none does."""
    try:
        lines = path.read_text("utf-8-sig", "replace").splitlines()
    except OSError:
        return 0
    table, wanted = "", name.replace('"', "")
    for number, line in enumerate(lines, 1):
        if opened := _TABLE.match(line):
            table = found = opened[1].replace('"', "")
        elif setting := _SETTING.match(line):
            found = ".".join(filter(None, (table, setting[1].replace('"', ""))))
        else:
            continue
        if found == wanted:
            return number
    return 0


def _content(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig").replace("\r\n", "\n"))
    except (OSError, ValueError, RecursionError):
        return {}  # `files` tells why


def _group(content: Mapping[str, Any], key: Key) -> Mapping[str, Any]:
    table = content.get(key.name.partition(".")[0], {})
    return table if isinstance(table, Mapping) else {}
