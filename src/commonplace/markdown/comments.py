"""What notes say of themselves: inline metadata in comments, and keys of the same names in front matter.

Only what means something is metadata; any other comment or key (`status: done`, `source: a book`) stays the
ordinary text it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.types import Provenance

Annotations = Mapping[str, str]

STATUSES = ("tentative", "superseded")
PINNED = "pinned"
STRUCK = "struck"  # what the chunker says of passages with struck text; no comment does
WRITERS = ("owner", "agent", "tool", "untrusted")
# Keys with a value of their own, and the most characters of it that are kept.
_LONGEST = {"importance": 4, "trigger": 500, "project": 100, "superseded-by": 300, "valid-until": 10}
# What code says of a line that it wrote or struck (`<!-- cp: from=memory/2026-02-13.md#L12 since=… -->`), and
# the most characters of each. `by` and `agent` are who struck it, not who said it.
MARKS = {"from": 2000, "since": 10, "until": 10, "by": 20, "agent": 60, "to": 300}
_MARK_NAMES = {"by": "struck-by", "agent": "struck-agent", "to": "superseded-by"}
_MARK = re.compile(rf"(?:^|\s)({'|'.join(MARKS)})=(\S+)")
_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")
# What may stand behind the writer, in this order, and the most characters of each that are kept.
PROVENANCE = {"agent": 60, "session": 100, "at": 40}
_FURTHER = rf"(?:;\s*+(?:{'|'.join(PROVENANCE)})\s*+:(?:(?!-->)[^;<>])*+)"
# A comment does not hold another: a line full of openings would take a time that grows with its square.
_COMMENT = re.compile(
    rf"<!--\s*+(?:(?P<key>{'|'.join(_LONGEST)})\s*+:(?P<value>(?:(?!<!--|-->).)*+)"
    rf"|cp\s*+:(?P<cp>(?:(?!<!--|-->).)*+)|(?P<pinned>{PINNED})\s*+"
    rf"|(?:status\s*+:\s*+)?(?P<status>{'|'.join(STATUSES)})\s*+"
    rf"|(?:by|source|provenance)\s*+:\s*+(?P<by>{'|'.join(WRITERS)})\s*+(?P<further>{_FURTHER}*+);?\s*+)-->",
    re.IGNORECASE,
)
_WRITER = re.compile(rf"<!(?=--\s*+(?:(?:by|source|provenance|cp)\s*+:|{PINNED}\b))", re.IGNORECASE)
# Words that open an entry which is a guess, behind the mark of a list and the hour.
_GUESSES = ("entative:", "entative：", "entative**", "entative__", "暂定", "待证")
_GUESS = re.compile(
    r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?(?:(?:[01]?\d|2[0-3]):[0-5]\d[ \t]+)?"
    r"(?:\*\*|__)?(?:[Tt]entative(?:\*\*|__)?(?::(?:\*\*|__)?(?:[ \t]|$)|：)|(?:暂定|待证)(?:\*\*|__)?[:：])"
)
_OPENING = re.compile(r"<!(?=--)")
_ANY = re.compile(r"<!--.*?-->", re.DOTALL)
_ANY_AND_BLANKS = re.compile(r"(?<![ \t])[ \t]*+<!--.*?-->", re.DOTALL)


def take(lines: list[str]) -> dict[int, dict[str, str]]:
    """Take inline metadata out of `lines` (in place) and return it by line, 1-based."""
    found: dict[int, dict[str, str]] = {}
    for index, line in enumerate(lines):
        if "<!--" in line and (comments := list(_COMMENT.finditer(line))):
            found[index + 1] = dict(pair for comment in comments for pair in _pairs(comment))
            lines[index] = _COMMENT.sub("", line).rstrip()
    return found


def each(text: str) -> Iterator[re.Match[str]]:
    """Yield the comments of a text, whatever they say.

    Behind the last end of one no opening is looked at: each would be followed to the end of the text.
    """
    return _ANY.finditer(text, 0, text.rfind("-->") + 3)


def without(text: str, instead: str = "", *, blanks: bool = False) -> str:
    """Return a text without its comments; with `blanks` those before one on its line go as well."""
    end = text.rfind("-->") + 3
    expression = _ANY_AND_BLANKS if blanks else _ANY
    return expression.sub(instead, text[:end]) + text[end:] if end > 2 else text


def guessed(text: str, lines: Sequence[str]) -> list[int]:
    """The lines that call themselves a guess (`- 14:05 tentative: …`), 1-based; few texts hold the word."""
    if not any(word in text for word in _GUESSES):
        return []
    return [number for number, line in enumerate(lines, 1) if is_guess(line)]


def is_guess(line: str) -> bool:
    """Whether a line opens an entry that calls itself a guess."""
    return _GUESS.match(line) is not None


def _pairs(comment: re.Match[str]) -> Iterator[tuple[str, str]]:
    if comment["status"]:
        yield "status", comment["status"].lower()
    elif comment["pinned"]:
        yield PINNED, "true"
    elif comment["cp"] is not None:
        for key, value in _MARK.findall(comment["cp"]):
            yield _MARK_NAMES.get(key, key), _decoded(value)[: MARKS[key]]
    elif comment["by"]:
        yield "by", comment["by"].lower()
        for part in filter(None, comment["further"].split(";")):
            key, _, value = part.partition(":")
            key, value = key.strip().lower(), value.strip()
            if value:
                yield key, value[: PROVENANCE[key]]
    else:
        key = comment["key"].lower()
        yield key, comment["value"].strip()[: _LONGEST[key]]


def of_provenance(provenance: Provenance) -> str:
    """Write who wrote an entry as the comment that `take` reads back.

    Values lose what would end the comment or one of them, and secrets. Raises ValueError for no writer.
    """
    if provenance.by not in WRITERS:
        raise ValueError(f"by must be one of {', '.join(WRITERS)}, not {provenance.by!r}")
    told = [f"by: {provenance.by}"]
    for key, longest in PROVENANCE.items():
        if value := _value(getattr(provenance, key), longest):
            told.append(f"{key}: {value}")
    return f"<!-- {'; '.join(told)} -->"


def of_marks(**marks: str) -> str:
    """Write what code says of a line as the comment that `take` reads back; empty values are left out.

    `from_` and `to` are references, `since` and `until` days; see `MARKS`. Blanks and what would end the
    comment are written as %20 and so on; an agent's name loses secrets. Raises ValueError for a name that is
    none.
    """
    named = {name.rstrip("_"): value for name, value in marks.items() if value}
    if "agent" in named:
        named["agent"] = _public(named["agent"])
    if unknown := named.keys() - MARKS.keys():
        raise ValueError(f"no mark of ours: {', '.join(sorted(unknown))}")
    told = (f"{name}={_encoded(named[name][: MARKS[name]])}" for name in MARKS if name in named)
    return f"<!-- cp: {' '.join(told)} -->"


def of_sources(references: Iterable[str]) -> str:
    """Write references as the one value of `from`, which `sources` takes apart again."""
    return ",".join(reference.replace("%", "%25").replace(",", "%2C") for reference in references)


def sources(said: Mapping[str, str]) -> list[str]:
    """Return the references that a generated line rests on, as its comment names them."""
    return [_decoded(reference) for reference in said.get("from", "").split(",") if reference]


def _encoded(value: str) -> str:
    def percent(character: str) -> str:
        plain = character.isprintable() and not character.isspace() and character not in "%<>"
        return (
            character if plain else "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "replace"))
        )

    return re.sub("-(?=-)", "%2D", "".join(map(percent, value)))


def _decoded(value: str) -> str:
    from urllib.parse import unquote

    return unquote(value) if _ENCODED.search(value) else value


def _value(text: str, longest: int) -> str:
    """Return a value that ends neither the comment nor itself, on one line, without secrets."""
    plain = "".join(c if c.isprintable() else " " for c in text if not 0xD800 <= ord(c) <= 0xDFFF)
    plain = re.sub("[;<>]", " ", _public(" ".join(plain.split())))
    short = " ".join(plain.split())[:longest]
    return re.sub("-{2,}", "-", short).strip(" -")


def _public(text: str) -> str:
    """Who somebody says to be, without secrets and private parts."""
    from commonplace.redaction.redact import redact, strip_private

    return redact(strip_private(text))[0]


def disarmed(text: str, *, entirely: bool) -> str:
    """Return a text whose comments say nothing: of who wrote it, or, `entirely`, of anything.

    What a tool brought home must not call itself the owner's, important, or the successor of a note.
    """
    return (_OPENING if entirely else _WRITER).sub("<! ", text)


def of_front_matter(metadata: Mapping[str, object]) -> dict[str, str]:
    """Return what front matter says of the whole note, under the names that comments have."""
    return dict(pair for key, value in metadata.items() for pair in _read(key.lower(), value))


def _read(key: str, value: object) -> Iterator[tuple[str, str]]:
    key = {"triggers": "trigger"}.get(key, key.replace("_", "-"))
    text = ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    text = text.strip()
    if key in _LONGEST and text:
        yield key, text[: _LONGEST[key]]
    elif key == PINNED and value is True:
        yield key, "true"
    elif (key == "status" and text.lower() in STATUSES) or (key in STATUSES and value is True):
        yield "status", text.lower() if key == "status" else key
    elif key in ("by", "source", "provenance") and text.lower() in WRITERS:
        yield "by", text.lower()
