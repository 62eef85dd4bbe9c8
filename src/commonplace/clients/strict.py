"""Plain JSON of settings files, changed as a whole: read, changed, and written with the file's indentation.

A file with comments is not changed: the error asks the user to add the entry by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

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


def table(whole: Any, keys: Sequence[str]) -> dict[str, Any]:  # noqa: ANN401 - whatever JSON holds
    """Return the object at these keys, made if it is missing. Raises Broken for another value on the way."""
    for depth, key in enumerate(keys):
        whole = _object(whole, keys[:depth]).setdefault(key, {})
    return _object(whole, keys)


def drop_empty(whole: Any, keys: Sequence[str]) -> None:  # noqa: ANN401 - whatever JSON holds
    """Remove the value at these keys if it is empty, then the objects above it."""
    for depth in range(len(keys) - 1, -1, -1):
        above = table(whole, keys[:depth])
        if above.get(keys[depth]) in ({}, []):
            del above[keys[depth]]


def written(text: str, whole: object) -> str:
    """Return a value in the manner of the former text: its indentation, its line ends, its end."""
    if whole == value(text):
        return text
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


def _object(inner: object, path: Sequence[str]) -> dict[str, Any]:
    if isinstance(inner, dict):
        return inner
    raise Broken(f"{'.'.join(path) or 'the whole'} is no object")
