"""Values of keys, set and removed in the user's file or a workspace's; and a file rewritten by its owner."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace import paths
from commonplace.config import documents, foreign, keys
from commonplace.config.loading import agent_name, check
from commonplace.errors import ConfigError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def set_values(
    values: Mapping[str, object],
    *,
    workspace: Path | None = None,
    agent: str = "",
    environ: Mapping[str, str] | None = None,
) -> Path:
    """Set several keys at once in the user's file, or in that of `workspace`; None removes a key.

    With `agent` it is that agent's tables which change. A text is read as from the environment. Returns the
    file; it is changed as a whole or not at all. Raises ConfigError for what is not allowed there, or where
    the file could not be loaded afterwards.
    """
    home = ("agents", agent_name(agent)) if agent else ()
    checked = {name: _checked(name, value, workspace) for name, value in values.items()}
    file = documents.location(workspace, environ)
    if not os.path.lexists(file) and all(value is None for value in checked.values()):
        return file

    def change(document: TOMLDocument) -> None:
        for key, value in checked.items():
            group, _, name = key.partition(".")
            if value is None:
                documents.discard(document, *home, group, name)
            else:
                table = documents.nested(document, *home, group)
                table[name] = list(value) if isinstance(value, tuple) else value

    documents.edit(workspace, environ, change)
    return file


def rewrite(
    before: bytes, after: bytes, *, workspace: Path | None = None, environ: Mapping[str, str] | None = None
) -> Path:
    """Replace the user's file, or that of a workspace, by a text of its owner's; return the file.

    Raises ConfigError for a text that could not be loaded, or if the file does not hold `before` any more.
    """
    file = documents.location(workspace, environ)

    def compose(data: bytes) -> bytes:
        if data != before:
            raise ConfigError("settings", f"{paths.shown(file)} was changed meanwhile; edit it again")
        check(after, file, workspace)
        return after

    documents.replace(workspace, environ, compose)
    return file


def _checked(name: str, value: object, workspace: Path | None) -> object:
    key = keys.find(name)
    if workspace is not None and not key.harmless:
        raise ConfigError(key.name, "may not stand in a workspace's file; set it in your own")
    if value is None:
        return None
    if isinstance(value, str) and key.variable:
        return keys.from_text(key, value)
    fit = keys.checked(key, value)
    if workspace is not None and key.name in foreign.OF_KEYS and isinstance(fit, tuple):
        for one in fit:
            if not foreign.may_name(one, foreign.OF_KEYS[key.name]):
                told = "may not be named by a workspace's file: hidden, or no note; set it in your own"
                raise ConfigError(key.name, f"{keys.quoted(one)} {told}")
    return fit
