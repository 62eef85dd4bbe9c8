"""How each file of a client changes: the table of its servers, its hooks, its folder of skills."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.base.root import Root
from commonplace.clients import entries, strict, toml
from commonplace.clients.entries import Door, Taken
from commonplace.clients.files import Edit
from commonplace.clients.table import ClientFolders, Place, Scope, Target

SKILL = "commonplace"  # the name of the skill, and of its folder
_FOLDER = Path(__file__).with_name("skill")
_SKILL_FILE = "SKILL.md"
Add = Callable[[str | None], str]
Strip = Callable[[str], str | None]
_OURS = re.compile(rf"\A\ufeff?---\r?\n(?:[\w-]+:.*\n)*?name: {SKILL}\r?\n")


def of(target: Target, scope: Scope, site: ClientFolders, door: Door) -> list[Edit]:
    """Return how each file of a client changes. Raises ConfigError for a scope that it does not have."""
    if site.path(target.servers, scope) is None:
        raise ConfigError(target.name, f"{target.title} reads no settings of a project; use --user")
    form = toml if target.form == "toml" else entries
    rows: list[tuple[str, Place | None, str, Add, Strip]] = [
        (
            "server",
            target.servers,
            "",
            lambda text: form.add_server(text or "", target, door),
            lambda text: form.remove_server(text, target),
        ),
        (
            "hooks",
            target.hooks,
            "",
            lambda text: entries.add_hooks(text or "", target, door),
            entries.remove_hooks,
        ),
        (
            "skill",
            target.skills,
            os.path.join(SKILL, _SKILL_FILE),
            lambda text: _add_skill(text, door),
            lambda text: None if _OURS.match(text) else text,
        ),
    ]
    steps = []
    for what, place, below, add, strip in rows:
        if place is not None and (path := site.path(place, scope)) is not None:
            within = place.root(scope, site.folder(scope), site.environ)
            if not paths.is_within(str(path), str(within)):
                within = path.parent  # XDG_CONFIG_HOME and its like lead elsewhere
            steps.append(Edit(what, path / below, within, add, strip, share=scope == "project"))
    return steps


def ours(edit: Edit, target: Target) -> dict[str, list[str]]:
    """Return our entries in a file: names of servers or events, each with the command that it starts.

    For the skill: its name, without a command. Raises ConfigError, NoteUnreadable.
    """
    text = edit.text()
    if text is None:
        return {}
    with edit.translated():
        if edit.what == "server":
            settings = toml.value(text) if target.form == "toml" else strict.value(text)
            return entries.ours_in(target, settings)
        if edit.what == "hooks":
            return entries.hooked(text)
    return {SKILL: []} if _OURS.match(text) else {}


def skill(door: Door) -> str:
    """Return the skill, with the command that works on this machine."""
    text = Root(_FOLDER).read(_SKILL_FILE).decode()
    command = shlex.join(door.command)
    here = f"The program and the workspace are `{command}`: write that for `commonplace`."
    return f"{text}\n## On this machine\n\n{here}\n"


def _add_skill(text: str | None, door: Door) -> str:
    if text is not None and not _OURS.match(text):
        raise Taken("is another skill of that name; move it away first")
    return skill(door)
