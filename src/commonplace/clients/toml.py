"""TOML settings changed in place: a table appended as text, replaced, or removed alone.

Every change is parsed again and compared with the intended value; if they differ, it is not written.
"""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Sequence
from typing import Any

from commonplace.clients import entries
from commonplace.clients.entries import Door
from commonplace.clients.table import Target


class Broken(ValueError):
    """The text is not TOML, or cannot be changed by this module; the reason names the place."""


def value(text: str) -> dict[str, Any]:
    """Return what a text says. Raises Broken."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Broken(str(error) or "nested too deeply") from error


def add_server(text: str, target: Target, door: Door) -> str:
    """Enter a server, in the place of the former one. Raises Broken, Taken."""
    settings = value(text)
    entries.refuse_taken(target, settings, door.name)
    ours = entries.ours_in(target, settings)
    for name in ours:
        text = text if name == door.name else _without(text, target, name)
    entry = entries.server(target, door)
    expected = copy.deepcopy(value(text))
    _tables(expected, target).setdefault(door.name, {}).update(entry)
    changed = (
        _filled(text, target, door.name, entry)
        if door.name in ours
        else _appended(text, target, door.name, entry)
    )
    return _checked(changed, expected)


def remove_server(text: str, target: Target) -> str:
    """Take our servers out. Raises Broken."""
    for name in entries.ours_in(target, value(text)):
        text = _without(text, target, name)
    return text


def _tables(settings: dict[str, Any], target: Target) -> dict[str, Any]:
    """The table of servers, made where it is missing."""
    for key in target.keys:
        settings = settings.setdefault(key, {})
        if not isinstance(settings, dict):
            raise Broken(f"{key} is no table")
    return settings


def _appended(text: str, target: Target, name: str, entry: dict[str, object]) -> str:
    import tomlkit

    header = ".".join(tomlkit.key(key).as_string() for key in (*target.keys, name))
    block = f"[{header}]\n{tomlkit.dumps(entry)}"
    gap = "" if not text.strip("\ufeff") else "\n" if text.endswith("\n") else "\n\n"
    newline = "\r\n" if "\r\n" in text else "\n"
    return text + (gap + block).replace("\n", newline)


def _filled(text: str, target: Target, name: str, entry: dict[str, object]) -> str:
    """A text with what an entry says, and all else that its table holds."""
    import tomlkit

    document: Any = tomlkit.parse(text)
    table = document
    for key in (*target.keys, name):
        table = table[key]
    for key, inner in entry.items():
        if table.get(key) != inner:
            table[key] = inner
    return tomlkit.dumps(document)


def _without(text: str, target: Target, name: str) -> str:
    """A text without a table and those below it, and without the blank line before it. Raises Broken."""
    import tomlkit

    expected = copy.deepcopy(value(text))
    del _tables(expected, target)[name]
    changed = _without_lines(text, (*target.keys, name))
    if not _says(changed, expected):  # a line of a longer text looks like a table
        document: Any = tomlkit.parse(text)
        table = document
        for key in target.keys:
            table = table[key]
        del table[name]
        changed = tomlkit.dumps(document)
    return _checked(changed, expected)


def _without_lines(text: str, keys: Sequence[str]) -> str:
    """A text without the lines of a table, from its header to its last key, as lines look."""
    spelled = r"\s*\.\s*".join(
        rf"(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')" for key in keys
    )
    own = re.compile(rf"[ \t]*\[\s*{spelled}\s*(?:\.[^\]]*)?\]")
    lines: list[str] = []
    trivia: list[str] = []  # blank lines and comments, which may belong to what follows
    inside = False
    for line in text.splitlines(keepends=True):
        bare = line.lstrip()
        if bare.startswith("["):
            former = trivia if inside else lines
            if is_own := own.match(line) is not None:
                former[-1:] = former[-1:] if former and former[-1].strip() else []
            elif inside:
                lines += trivia
            inside, trivia = is_own, []
        if not inside:
            lines.append(line)
        elif bare and not bare.startswith("#"):
            trivia = []
        else:
            trivia.append(line)
    return "".join([*lines, *trivia])


def _checked(text: str, expected: dict[str, Any]) -> str:
    """Return a text if it says what it is to say. Raises Broken."""
    if not _says(text, expected):
        raise Broken("is written in a way that cannot be changed from here; edit it by hand")
    return text


def _says(text: str, expected: dict[str, Any]) -> bool:
    try:
        settings, due = _without_empty(value(text)), _without_empty(expected)
    except Broken:
        return False
    return settings == due or repr(settings) == repr(due)  # not-a-number is unlike itself


def _without_empty(table: dict[str, Any]) -> dict[str, Any]:
    inner = {key: _without_empty(item) if isinstance(item, dict) else item for key, item in table.items()}
    return {key: item for key, item in inner.items() if item != {}}
