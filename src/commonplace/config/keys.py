"""Values checked against the table of settings."""

from __future__ import annotations

import os
from collections.abc import Iterable

from commonplace.base import paths, remedies
from commonplace.base.errors import ConfigError
from commonplace.base.messages import Message, message
from commonplace.config import gone
from commonplace.config.settings import EMBEDDERS, FALSE, GONE, KEYS, TRUE, Key

_TYPES = {"integer": (int,), "number": (int, float), "boolean": (bool,), "text": (str,)}
_BY_NAME = {key.name: key for key in KEYS}


def from_text(key: Key, text: str, where: str = "") -> object:
    """Read a value given as text, in the environment or a flag."""
    value: object = text
    try:
        if key.kind == "boolean":
            value = {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False)}.get(text.lower(), text)
        elif key.kind in ("integer", "number"):
            value = int(text) if key.kind == "integer" else float(text)
    except ValueError as error:
        raise _not_allowed(key, text, where) from error
    return checked(key, value, where)


def listed(text: str) -> list[object] | None:
    """Read a TOML list; None for other text, such as the glob `[a-f]`."""
    import tomllib

    if not (text.startswith("[") and text.endswith("]")):
        return None
    try:
        several = tomllib.loads(f"read = {text}")["read"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    return several if isinstance(several, list) else None


def checked(key: Key, value: object, where: str = "") -> object:
    """Return a value that fits its key. Raises ConfigError."""
    if key.kind == "texts":
        return globs(key.name, value, where)
    if key.kind == "names":
        return _names(key, value, where)
    if not _fits(key, value):
        raise _not_allowed(key, value, where)
    return value


def _fits(key: Key, value: object) -> bool:
    """Tell if a value is of its key's kind, and inside its limits or among its choices."""
    if not isinstance(value, _TYPES[key.kind]) or isinstance(value, bool) != (key.kind == "boolean"):
        return False
    if key.low is None or key.high is None or not isinstance(value, int | float):
        return not key.choices or value in key.choices or value in _installed(key.group)
    return key.low <= value <= key.high


def _installed(group: str) -> set[str]:
    """Return the names of other packages in an entry point group."""
    from importlib.metadata import entry_points

    return {point.name for point in entry_points(group=group)} if group else set()


def _not_allowed(key: Key, value: object, where: str) -> ConfigError:
    if key.name.endswith(".provider") and str(value) in gone.PROVIDERS:
        return ConfigError(key.name, f"{_placed(value, where)} is gone: {gone.PROVIDERS[str(value)]}")
    return not_allowed(key.name, value, where, key.allowed)


def not_allowed(name: str, value: object, where: str, allowed: str) -> ConfigError:
    """Return the error about a value in a place; `allowed` says what it must be."""
    wrong = "{value} is not allowed; it must be {allowed}"
    return ConfigError(name, message("key.value", wrong, value=_placed(value, where), allowed=allowed))


def _placed(value: object, where: str) -> str:
    return f"{quoted(value)} {where}".rstrip()


def _names(key: Key, value: object, where: str) -> tuple[str, ...]:
    """Check names of embedding providers, each as NAME or NAME/MODEL."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise _not_allowed(key, value, where)
    for name in names:
        if name.partition("/")[0] not in EMBEDDERS:
            raise ConfigError(key.name, f"unknown provider {_placed(name, where)}{near(name, EMBEDDERS)}")
    return tuple(names)


def globs(name: str, value: object, where: str) -> tuple[str, ...]:
    """Return relative globs without `..`, in their normal form, without `./`. Raises ConfigError."""
    patterns = [value] if isinstance(value, str) else value
    if not isinstance(patterns, list | tuple) or not all(
        isinstance(glob, str) and _spelled(glob) for glob in patterns
    ):
        raise not_allowed(name, value, where, "a list of globs")
    for glob in patterns:
        if os.path.isabs(glob) or glob.startswith("~") or ".." in glob.replace("\\", "/").split("/"):
            raise ConfigError(name, f"{_placed(glob, where)} must be relative and without '..'")
    return tuple(map(_spelled, patterns))


def _spelled(glob: str) -> str:
    """Return a glob without empty steps: with them the same file would have two paths."""
    *steps, last = glob.split("/")
    return "/".join([*(step for step in steps if step not in ("", ".")), last])


def find(name: str, where: str = "") -> Key:
    """Return the key of a dotted name. Raises ConfigError, with the nearest name or the successor."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    hint = near(name, _BY_NAME, remedies.say("config.list"))
    if name in GONE:
        hint = message("key.gone", "; it is gone: {instead}", instead=GONE[name])
    place = message("where", " {where}", where=where) if where else ""
    unknown = message("key.unknown", "unknown key{place}{hint}", place=place, hint=hint)
    raise ConfigError(paths.shown(name), unknown)


def quoted(value: object) -> str:
    """Return a value as one short line for a message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:76]}…"


def near(name: str, known: Iterable[str], otherwise: str = "") -> Message:
    """Return the end of a message that suggests the nearest known name, or lists all known names."""
    from difflib import get_close_matches

    known = sorted(known)
    close = [one for one in known if name and one.startswith(name)] or get_close_matches(name, known, 1, 0.5)
    if close:
        return message("near", "; did you mean {near}?", near=close[0])
    if otherwise:
        return message("near.otherwise", "; {otherwise}", otherwise=otherwise)
    return message("near.known", "; known: {known}", known=tuple(known))
