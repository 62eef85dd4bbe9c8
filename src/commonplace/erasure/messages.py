"""Lines of JSON without what is forgotten: messages of transcripts, entries of the spool, records of runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from commonplace import records
from commonplace.erasure.wanted import Wanted
from commonplace.erasure.words import MARK

_ESCAPE = re.compile(r"\\+u([0-9a-fA-F]{4})")
_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
SPOOL = "spool"  # as `lifecycle.spool` signs its lines, which is above this


def message(raw: bytes, wanted: Wanted) -> bytes:
    """Return a line of a transcript without what is forgotten; the same where it holds nothing of it.

    A message that mentions a person loses its whole text, and calls their arguments; ids stay, so that calls
    keep their answers. A damaged line becomes an empty object.
    """
    if not wanted.found(raw.decode("utf-8", "replace")) and not _escapes(raw, wanted):
        return raw
    end = raw[len(raw.rstrip(b"\r\n")) :]
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return b"{}" + end
    return _encoded(cleaned(value, wanted)) + end


def _escapes(raw: bytes, wanted: Wanted) -> bool:
    """Whether a line says it by escapes of its own, of letters that need none."""
    return b"\\u" in raw and wanted.found(unescaped(raw.decode("utf-8", "replace")))


def unescaped(text: str) -> str:
    """Return a text with the letters that stand in it as escapes of JSON, however often escaped."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)


def cleaned(value: Any, wanted: Wanted, key: str = "") -> Any:  # noqa: ANN401 - any JSON
    """Return a JSON value without what is forgotten in its texts."""
    if isinstance(value, str):
        if key == "arguments":
            return wanted.parts.within(value) if _said(value, wanted) else value
        plain = unescaped(value)
        hidden = not wanted.found(value) and wanted.found(plain)
        return MARK if hidden or wanted.whole.found(value) else wanted.parts.replaced(value)
    if isinstance(value, list):
        return [cleaned(one, wanted, key) for one in value]
    if isinstance(value, dict):
        return {wanted.replaced(str(name)): cleaned(one, wanted, str(name)) for name, one in value.items()}
    return value


def _said(arguments: str, wanted: Wanted) -> bool:
    """Whether a call's arguments hold it, as JSON or however a model wrote them."""
    return wanted.found(arguments) or wanted.found(unescaped(arguments))


def entry(raw: bytes, wanted: Wanted) -> bytes:
    """Return a line of the spool without what is forgotten, of the same length: claims count its bytes.

    An entry of a forgotten session, about a person, or with nothing else to say becomes blank. One that was
    signed is signed again.
    """
    body = raw.rstrip(b"\r\n")
    end = raw[len(body) :]
    value, encoded = _loaded(body)
    if not isinstance(value, dict):
        return b" " * len(body) + end if wanted.found(body.decode("utf-8", "replace")) else raw
    if _is_of_session(value, wanted):
        return b" " * len(body) + end
    told = json.dumps(value, ensure_ascii=False)
    if not wanted.found(told):
        return raw
    return _shortened(value, wanted, len(body), encoded) + end


def _loaded(body: bytes) -> tuple[object, Callable[[dict[str, Any]], bytes]]:
    """What a line of the spool says, and how it is written down again."""
    with suppress(ValueError):
        return records.unseal(SPOOL, body), _sealed
    try:
        return json.loads(body), _shortest
    except (ValueError, RecursionError):
        return None, _shortest


def _sealed(value: dict[str, Any]) -> bytes:
    return records.seal(SPOOL, value).rstrip()


def _shortest(value: dict[str, Any]) -> bytes:
    return min(json.dumps(value).encode(), _encoded(value), key=len)


def _is_of_session(value: dict[str, Any], wanted: Wanted) -> bool:
    by = value.get("provenance")
    return isinstance(by, dict) and by.get("session") in {*wanted.sessions, *wanted.told_sessions}


def _shortened(
    value: dict[str, Any], wanted: Wanted, length: int, encoded: Callable[[dict[str, Any]], bytes]
) -> bytes:
    """An entry without some words, filled up with blanks; all blanks where it says nothing or is too long."""
    if wanted.whole.found(json.dumps(value, ensure_ascii=False)):
        return b" " * length
    text = wanted.parts.replaced(str(value.get("text", "")), "")
    value = {name: cleaned(one, wanted) for name, one in value.items()} | {"text": text}
    body = encoded(value)
    if not any(character.isalnum() for character in text) or len(body) > length:
        return b" " * length
    return body.ljust(length)


def _encoded(value: object) -> bytes:
    """A value on one line; what only an escape can hold, or ends a line for some readers, is escaped."""
    try:
        return json.dumps(value, ensure_ascii=False).translate(_BREAKS).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
