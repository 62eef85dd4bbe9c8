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
from commonplace.base.messages import message
from commonplace.base.root import read_named
from commonplace.config import Loaded
from commonplace.config.files import AGENT_VARIABLE, workspace_file
from commonplace.config.settings import Key
from commonplace.diagnosis.examination import NOWHERE, Case, nowhere, only_places, trouble
from commonplace.providers import costs
from commonplace.providers.catalog import LLM_KEY
from commonplace.redaction.redact import redact
from commonplace.render import screen
from commonplace.types import Finding

PREFIX = "COMMONPLACE_"
# Variables that are no settings: which workspace, whose settings, a key, where `./run` keeps its libraries.
OTHERS = (paths.WORKSPACE_VARIABLE, AGENT_VARIABLE, LLM_KEY, "COMMONPLACE_VENV")
_TABLE = re.compile(r"\s*\[+\s*([^\]]+?)\s*\]+")
_SETTING = re.compile(r"\s*([\w.\"/-]+)\s*=")
_ADDRESS_USER = re.compile(r"//[^/@\s]*@")


def files(case: Case) -> Iterator[Finding]:
    """See that the user's file, the workspace's and the prices can be read, each by itself."""
    user, told = config.user_file(case.environ), trouble(NOWHERE, only_places(case.environ))
    if told and case.environ.get(AGENT_VARIABLE):  # it may be about another agent
        yield Finding("settings.user", "wrong", f"{paths.shown(user)} does not load", "its owner is told why")
    else:
        yield _file("settings.user", user, told)
    if case.workspace is not None:
        own = workspace_file(case.workspace.root)
        yield _file("settings.workspace", own, trouble(case.place, nowhere()))
    yield from _others(case)


def _others(case: Case) -> Iterator[Finding]:
    try:
        costs.load_prices()
    except CommonplaceError as error:
        mend = message("settings.mend_other", "mend the file, or delete it")
        yield Finding("settings.others", "wrong", error.args[0], mend)
    else:
        yield Finding("settings.others", "ok", message("settings.prices", "prices load"))


def _file(check: str, path: Path, told: str) -> Finding:
    shown = paths.shown(path)
    if told:
        if line := line_of(path, told.partition(": ")[0]):
            told = message("settings.wrong", "{told} (line {line})", told=told, line=str(line))
        mend = message("settings.mend", "mend {file}; until then it stops every command", file=shown)
        return Finding(check, "wrong", told, mend)
    if not os.path.lexists(path):
        return Finding(
            check, "ok", message("settings.none", "no file {file}: nothing is set there", file=shown)
        )
    return Finding(check, "ok", message("settings.fine", "{file} loads", file=shown))


def variables(case: Case) -> Iterator[Finding]:
    """See that every variable with our prefix is known and has an allowed value."""
    known = {key.variable: key for key in config.KEYS if key.variable}
    for name in sorted(name for name in case.environ if name.startswith(PREFIX)):
        if name in OTHERS and name != AGENT_VARIABLE:
            continue
        if name not in (*known, AGENT_VARIABLE):
            yield _unknown(name, [*known, *OTHERS])
        elif told := trouble(NOWHERE, {**nowhere(), name: case.environ[name]}):
            unset = "unset {name}, or give it a value that is allowed"
            yield Finding("settings.variables", "wrong", told, message("variable.value", unset, name=name))


def _unknown(name: str, known: Sequence[str]) -> Finding:
    """A variable that is not known, with the one that was probably meant."""
    from difflib import get_close_matches

    bare = {other.removeprefix(PREFIX): other for other in known}
    close = get_close_matches(name.removeprefix(PREFIX), bare, 1)
    shown = paths.shown(name)
    told = message("variable.unknown", "the variable {name} is not known", name=shown)
    if close:
        meant = "the variable {name} is not known; did you mean {near}?"
        told = message("variable.near", meant, name=shown, near=bare[close[0]])
    return Finding("settings.variables", "warning", told, f"unset {shown}")


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
    """See that each agent with memories of its own reaches all of them, and no other agent's."""
    edit = "commonplace config edit"
    asking = case.environ.get(AGENT_VARIABLE, "")
    try:
        names = config.limited(case.environ, asking)
    except CommonplaceError as error:
        yield Finding("settings.agents", "wrong", str(error), edit)
        return
    for name in [asking] if asking in names else names:  # a limited agent learns only about itself
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
            gone = "[agents.{agent}] names {places}, which is not there"
            told = message("agent.gone", gone, agent=name, places=tuple(missing))
            yield Finding("settings.agents", "warning", told, edit)
        else:
            use = "reads" if reach.reader is not None else "writes"
            own = {"reads": "{agent} reads {own}", "writes": "{agent} writes to {own}"}[use]
            code, others = f"agent.{use}", ", reads {others}" if reach.others else ""
            told = message(f"{code}_others" if reach.others else code, own + others,
                           agent=name, own=reach.name, others=tuple(reach.others))  # fmt: skip
            yield Finding("settings.agents", "ok", told)


def _traced(place: Path, environ: Mapping[str, str]) -> Loaded:
    """Return the settings of one folder; the defaults if they do not load, which another check reports."""
    try:
        return config.trace(place, environ)
    except (CommonplaceError, OSError, ValueError):
        return config.trace(NOWHERE, nowhere())


def _origin(key: Key, winner: str, found: Mapping[str, object]) -> Finding:
    """A finding on one key: its value, what set it, and what would set it to something else."""
    value = found[winner]
    values = {"key": key.name, "value": shown(str(value)), "place": placed(key, winner)}
    others = [placed(key, origin) for origin, other in found.items() if other != value]
    if not others:
        told = message("settings.origin", "{key} = {value} (from {place})", **values)
        return Finding("settings.origin", "ok", told)
    away = "take one of them away, if that is not meant: {place}, {others}"
    remedy = message("settings.away", away, place=values["place"], others=tuple(others))
    over = "{key} = {value} (from {place}) overrides {others}"
    told = message("settings.overrides", over, **values, others=tuple(others))
    return Finding("settings.overridden", "warning", told, remedy)


def placed(key: Key, origin: str) -> str:
    """Return an origin with the line that sets the key, where it is a file, perhaps with a table of it."""
    path, _, table = origin.removesuffix("]").partition(" [")
    line = line_of(Path(path), f"{table}.{key.name}" if table else key.name)
    return f"{path}:{line}" if line else origin


def shown(value: str) -> str:
    """Return a value fit to be shown, without the user in an address and without secrets."""
    return screen.shorten(screen.one_line(redact(_ADDRESS_USER.sub("//", value))[0]), 80)


def line_of(path: Path, name: str) -> int:
    """Return the line of a TOML file that sets a dotted key or opens its table; 0 if not found."""
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
