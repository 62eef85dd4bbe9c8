"""Plain JSON of settings files, changed as a whole: read, changed, and written with the file's indentation.

A file with comments is not changed: the error asks the user to add the entry by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

Step = str | int  # into an object, into an array
_BOM = "\ufeff"
_INDENT = re.compile(r"[{\[]\r?\n([ \t]+)\S")


class Broken(ValueError):
    """The text is not JSON, or its shape is not the expected one."""


def value(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return what a text says; a blank one counts as an empty object. Raises Broken."""
    plain = text.removeprefix(_BOM)
    if not plain.strip():
        return {}
    try:
        return json.loads(plain)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}: {error.msg}"
        if re.search(r"(?m)//|/\*|,\s*[}\]]", plain):
            place += "; it has comments or commas that plain JSON has not, so add the entry by hand"
        raise Broken(place) from error
    except (ValueError, RecursionError) as error:  # a number or a nesting without end
        raise Broken(str(error) or "nested too deeply") from error


def get(text: str, path: Sequence[Step]) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the value at a path, None if absent. Raises Broken."""
    found = value(text)
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found


def assign(text: str, path: Sequence[str], new: object) -> str:
    """Set a member, making the objects on the way; of an object each member is set, the rest of it stays.

    Raises Broken where something else than an object is on the way.
    """
    whole = value(text)
    inner: Any = whole
    for depth, key in enumerate(path[:-1]):
        inner = _object(inner, path[:depth]).setdefault(key, {})
    inner, key = _object(inner, path[:-1]), path[-1]
    former = inner.get(key)
    inner[key] = {**former, **new} if isinstance(former, dict) and isinstance(new, dict) else new
    return text if whole == value(text) else _written(text, whole)


def append(text: str, path: Sequence[str], new: object) -> str:
    """Put a value behind the last one of an array, which is made if it is missing. Raises Broken."""
    former = get(text, path)
    if former is not None and not isinstance(former, list):
        raise Broken(f"{'.'.join(path)} is no array")
    return assign(text, path, [*(former or []), new])


def remove(text: str, path: Sequence[Step]) -> str:
    """Take out what stands at a path. Raises Broken, KeyError, IndexError."""
    whole = value(text)
    inner = whole
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return _written(text, whole)


def _object(inner: object, path: Sequence[str]) -> dict[str, Any]:
    if isinstance(inner, dict):
        return inner
    raise Broken(f"{'.'.join(path) or 'the whole'} is no object")


def _written(text: str, whole: object) -> str:
    """A value in the manner of a text: its indentation, its line ends, and what stands behind it."""
    plain = text.removeprefix(_BOM)
    indent = _INDENT.search(plain)
    flat = bool(plain.strip()) and "\n" not in plain.strip() and plain.strip() not in ("{}", "[]")
    style: dict[str, Any] = {"indent": None if flat else indent[1] if indent else "  "}
    written = json.dumps(whole, ensure_ascii=False, **style)
    if re.search("[\ud800-\udfff]", written):  # half a pair, which no file can hold as it is
        written = json.dumps(whole, **style)
    newline = "\r\n" if "\r\n" in plain else "\n"
    end = plain[len(plain.rstrip()) :] if plain.strip() else newline
    return f"{_BOM if text != plain else ''}{written.replace(chr(10), newline)}{end}"
