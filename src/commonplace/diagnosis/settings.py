"""The settings: whether both files and the environment load, what they set, and what overrides what."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path

from commonplace import config
from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.base.root import read_named
from commonplace.config import Loaded
from commonplace.config.loading import AGENT_VARIABLE
from commonplace.config.settings import Key
from commonplace.diagnosis.examination import NOWHERE, Case, nowhere, only_places, trouble
from commonplace.providers import costs
from commonplace.providers.catalog import LLM_KEY
from commonplace.providers.llm import prompting
from commonplace.redaction.redact import redact
from commonplace.render import screen
from commonplace.types import Finding

PREFIX = "COMMONPLACE_"
# Variables that are no settings: which workspace, whose settings, a key.
OTHERS = (paths.WORKSPACE_VARIABLE, AGENT_VARIABLE, LLM_KEY)
_TABLE = re.compile(r"\s*\[+\s*([^\]]+?)\s*\]+")
_SETTING = re.compile(r"\s*([\w.\"/-]+)\s*=")
_ADDRESS_USER = re.compile(r"//[^/@\s]*@")


def files(case: Case) -> Iterator[Finding]:
    """See that the user's file, the workspace's, the prices and the prompts can be read, each by itself."""
    user, told = config.user_file(case.environ), trouble(NOWHERE, only_places(case.environ))
    if told and case.environ.get(AGENT_VARIABLE):  # it may be about another agent
        yield Finding("settings.user", "wrong", f"{paths.shown(user)} does not load", "its owner is told why")
    else:
        yield _file("settings.user", user, told)
    if case.workspace is not None:
        own = case.workspace.settings
        yield _file("settings.workspace", own, trouble(case.place, nowhere()))
    yield from _others(case)


def _others(case: Case) -> Iterator[Finding]:
    try:
        costs.load_prices(case.environ)
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
        if name in OTHERS and name != AGENT_VARIABLE:
            continue
        if name not in (*known, AGENT_VARIABLE):
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
    ours = {name: value for name, value in case.environ.items() if name.startswith(PREFIX)}
    agent = {name: value for name, value in ours.items() if name == AGENT_VARIABLE}
    sources = [
        _traced(NOWHERE, only_places(case.environ) | agent),
        _traced(case.place, nowhere() | agent),
        _traced(NOWHERE, nowhere() | ours),
    ]
    whole = _traced(case.place, case.environ)
    for warning in whole.settings.warnings:
        told, _, remedy = warning.partition("; to allow it: ")
        yield Finding("settings.left-out", "warning", told, remedy)
    for key in config.KEYS:
        setting = [source for source in sources if key.name in source.origins]
        values = {source.origins[key.name]: attrgetter(key.name)(source.settings) for source in setting}
        if values:
            yield _origin(key, whole.origins.get(key.name) or list(values)[-1], values)


def agents(case: Case) -> Iterator[Finding]:
    """See that agents with memories of their own reach all of them, and none that is another's."""
    edit = "commonplace config edit"
    asking = case.environ.get(AGENT_VARIABLE, "")
    try:
        names = config.limited(case.environ, asking)
    except CommonplaceError as error:
        yield Finding("settings.agents", "wrong", str(error), edit)
        return
    for name in [asking] if asking in names else names:  # who is limited is told of itself alone
        try:
            reach = config.reach((), name, case.environ, started=case.place)
            roots = {reach.name: reach.home, **reach.others}
            for root in roots.values():
                config.load(root, case.environ, agent=name)
        except CommonplaceError as error:
            yield Finding("settings.agents", "wrong", f"[agents.{name}]: {error}", edit)
            continue
        missing = [paths.shown(root) for root in roots.values() if not root.is_dir()]
        if missing:
            told = f"[agents.{name}] names {', '.join(missing)}, which is not there"
            yield Finding("settings.agents", "warning", told, edit)
        else:
            use = "reads" if reach.reader is not None else "writes to"
            others = f", reads {', '.join(reach.others)}" if reach.others else ""
            yield Finding("settings.agents", "ok", f"{name} {use} {reach.name}{others}")


def _traced(place: Path, environ: Mapping[str, str]) -> Loaded:
    """What one place sets; nothing where it does not load, which another check tells."""
    try:
        return config.trace(place, environ)
    except (CommonplaceError, OSError, ValueError):
        return config.trace(NOWHERE, nowhere())


def _origin(key: Key, winner: str, found: Mapping[str, object]) -> Finding:
    """A finding on one key: its value, what set it, and what would set it to something else."""
    value = found[winner]
    told = f"{key.name} = {shown(key, str(value))} (from {placed(key, winner)})"
    others = [placed(key, origin) for origin, other in found.items() if other != value]
    if not others:
        return Finding("settings.origin", "ok", told)
    remedy = f"take one of them away, if that is not meant: {placed(key, winner)}, {', '.join(others)}"
    return Finding("settings.overridden", "warning", f"{told} overrides {', '.join(others)}", remedy)


def placed(key: Key, origin: str) -> str:
    """Return an origin with the line that sets the key, where it is a file, perhaps with a table of it."""
    path, _, table = origin.removesuffix("]").partition(" [")
    line = line_of(Path(path), f"{table}.{key.name}" if table else key.name)
    return f"{path}:{line}" if line else origin


def shown(key: Key, value: str) -> str:
    """Return a value fit to be shown: no arguments, no user in an address, nothing that looks secret."""
    if key.kind == "command":
        return "a program"
    return screen.shorten(screen.one_line(redact(_ADDRESS_USER.sub("//", value))[0]), 80)


def line_of(path: Path, name: str) -> int:
    """Return the line of a TOML file that sets a dotted key or opens its table; 0 if none does."""
    try:
        lines = read_named(path).decode("utf-8-sig", "replace").splitlines()
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
