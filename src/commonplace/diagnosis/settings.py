"""The settings: whether both files and the environment load, what is left out, what agents reach."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from commonplace import config
from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.base.messages import message
from commonplace.config.files import AGENT_VARIABLE, workspace_file
from commonplace.diagnosis.examination import NOWHERE, Case, nowhere, only_places, trouble
from commonplace.providers import costs
from commonplace.providers.catalog import LLM_KEY
from commonplace.types import Finding

PREFIX = "COMMONPLACE_"
# Variables that are no settings: which workspace, where its state is, whose settings, a key, a token, where
# `./run` keeps its libraries.
OTHERS = (
    paths.WORKSPACE_VARIABLE, paths.STATE_VARIABLE, AGENT_VARIABLE, LLM_KEY, "COMMONPLACE_SERVER_TOKEN",
    "COMMONPLACE_VENV",
)  # fmt: skip
_EDIT = "commonplace config edit"


def files(case: Case) -> Iterator[Finding]:
    """See that the user's file, the workspace's and the prices can be read, each by itself."""
    user, told = config.user_file(case.environ), trouble(NOWHERE, only_places(case.environ))
    if told and case.environ.get(AGENT_VARIABLE):  # it may be about another agent
        yield Finding("settings.user", "wrong", f"{paths.shown(user)} does not load", "its owner is told why")
    elif told:
        yield _broken("settings.user", user, told)
    if case.workspace is not None and (told := trouble(case.place, nowhere())):
        yield _broken("settings.workspace", workspace_file(case.workspace.root), told)
    try:
        costs.load_prices()
    except CommonplaceError as error:
        mend = message("settings.mend_other", "mend the file, or delete it")
        yield Finding("settings.prices", "wrong", error.args[0], mend)


def _broken(check: str, path: Path, told: str) -> Finding:
    stops = "mend {file}; until then it stops every command"
    return Finding(check, "wrong", told, message("settings.mend", stops, file=paths.shown(path)))


def variables(case: Case) -> Iterator[Finding]:
    """See that every variable with our prefix is known and has an allowed value."""
    names = (*(key.variable for key in config.KEYS if key.variable), *OTHERS)
    known = {name.removeprefix(PREFIX): name for name in names}
    for name in sorted(name for name in case.environ if name.startswith(PREFIX)):
        if (bare := name.removeprefix(PREFIX)) not in known:
            unknown = message("variable.unknown", "the variable {name} is not known", name=paths.shown(name))
            remedy: str = f"unset {paths.shown(name)}"
            if close := get_close_matches(bare, known, 1):
                remedy = message("variable.rename", "rename it: {other}", other=known[close[0]])
            yield Finding("settings.variables", "warning", unknown, remedy)
        elif told := trouble(NOWHERE, {**nowhere(), name: case.environ[name]}):
            unset = "unset {name}, or give it a value that is allowed"
            yield Finding("settings.variables", "wrong", told, message("variable.value", unset, name=name))


def left_out(case: Case) -> Iterator[Finding]:
    """Name the settings without effect: of a former version, or not allowed to a workspace's file."""
    for warning in case.settings.warnings:
        told, _, remedy = warning.partition("; to allow it: ")
        yield Finding("settings.left-out", "warning", told, remedy or _EDIT)


def agents(case: Case) -> Iterator[Finding]:
    """See that each agent with memories of its own reaches all of them, and no other agent's."""
    asking = case.environ.get(AGENT_VARIABLE, "")
    try:
        names = config.limited(case.environ, asking)
    except CommonplaceError as error:
        yield Finding("settings.agents", "wrong", str(error), _EDIT)
        return
    for name in [asking] if asking in names else names:  # a limited agent learns only about itself
        try:
            reach = config.reach((), name, case.environ, started=case.place)
            roots = [reach.home, *reach.others.values()]
            for root in roots:
                config.load(root, case.environ, agent=name)
        except CommonplaceError as error:
            yield Finding("settings.agents", "wrong", f"[agents.{name}]: {error}", _EDIT)
            continue
        if missing := tuple(paths.shown(root) for root in roots if not root.is_dir()):
            gone = "[agents.{agent}] names {places}, which is not there"
            told = message("agent.gone", gone, agent=name, places=missing)
            yield Finding("settings.agents", "warning", told, _EDIT)
