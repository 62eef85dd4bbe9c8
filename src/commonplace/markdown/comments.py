"""Metadata of notes and entries: inline comments, and front matter with keys of the same names.

Only what means something is metadata; any other comment or key (`status: done`, `source: a book`) stays the
ordinary text it is. `Annotations` brings it to the lines that it is about: front matter is about the whole
note; a comment on a heading, or on a line of its own directly below one, about all that stands under the
heading; on a line of its own directly below a fence, about the fence; the stamp of a chat says the day of its
turns (`stamps`); any other comment is about its entry. What stands nearer wins.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from commonplace.base.expressions import lazy
from commonplace.base.lines import remembered
from commonplace.base.tuples import NamedTuple
from commonplace.markdown import structure

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.types import Note, Provenance

Values = Mapping[str, str]

STATUSES = ("tentative", "superseded")
PINNED = "pinned"
WRITERS = ("owner", "agent", "tool", "untrusted")


# Comments with a value of their own, and the most characters of it that are kept.
_KEYS = {"importance": 4, "trigger": 500, "project": 100, "superseded-by": 300, "valid-until": 10}
# Marks of code on a line that it wrote or struck (`<!-- cp: from=memory/2026-02-13.md#L12 since=… -->`), and
# the most characters of each. `by` and `agent` are who struck it, not who said it.
MARKS = {"from": 2000, "since": 10, "until": 10, "by": 20, "agent": 60, "to": 300}
MARK_NAMES = {"by": "struck-by", "agent": "struck-agent", "to": "superseded-by"}
_MARK = lazy(rf"(?:^|\s)({'|'.join(MARKS)})=(\S+)")
# Further keys of a writer, in this order, each with its limit in characters.
PROVENANCE = {"agent": 60, "session": 100, "at": 40}
_FURTHER = rf"(?:;\s*+(?:{'|'.join(PROVENANCE)})\s*+:(?:(?!-->)[^;<>]|(?!))*+|(?!))"
# A comment does not hold another: a line full of openings would take a time that grows with its square.
_COMMENT = lazy(
    rf"<!--\s*+(?:(?P<key>{'|'.join(_KEYS)})\s*+:(?P<value>(?:(?!<!--|-->).|(?!))*+)"
    rf"|cp\s*+:(?P<cp>(?:(?!<!--|-->).|(?!))*+)|(?P<pinned>{PINNED})\s*+"
    rf"|(?:status\s*+:\s*+)?(?P<status>{'|'.join(STATUSES)})\s*+"
    rf"|(?:by|source|provenance)\s*+:\s*+(?P<by>{'|'.join(WRITERS)})\s*+(?P<further>{_FURTHER}*+);?\s*+)-->",
    re.IGNORECASE,
)
# Keys of front matter with a choice of values, and what a comment calls them.
_CHOICES = {"status": ("status", STATUSES)} | dict.fromkeys(("by", "source", "provenance"), ("by", WRITERS))
_FLAGS = {PINNED: (PINNED, "true")} | {status: ("status", status) for status in STATUSES}
_WRITER = lazy(rf"<!(?=--\s*+(?:(?:by|source|provenance|cp)\s*+:|{PINNED}\b))", re.IGNORECASE)
# Parts of the prefixes of guesses, behind the mark of a list and the hour.
_GUESSES = ("entative", "ENTATIVE", "暂定", "待证")
_GUESS = lazy(
    r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?(?:(?:[01]?\d|2[0-3]):[0-5]\d[ \t]+)?"
    r"(?:\*\*|__)?"
    r"(?:(?i:tentative)(?:\*\*|__)?(?::(?:\*\*|__)?(?:[ \t]|$)|：)|(?:暂定|待证)(?:\*\*|__)?[:：])"
)
# A comment that marks its statement as a guess, and the words that open a statement which is one.
TENTATIVE = lazy(r"(?<![ \t])[ \t]*+<!--\s*+(?:status\s*+:\s*+)?tentative\s*+-->", re.IGNORECASE)
GUESS_PREFIX = lazy(
    r"(?:\*\*|__)?(?:tentative|暂定|待证)(?:\*\*|__)?\s?[:：](?:\*\*|__)?[ \t]*", re.IGNORECASE
)
# Lines that differ in one of these share no passage: it would be trusted, or not, as a whole.
_DIVIDING = {
    "project", "superseded-by", "valid-until", "status", "by", "agent", "session", "since", PINNED
}  # fmt: skip
# Keys of filters in questions (`agent:nanobot`), each with the annotation that it needs.
FILTERS = dict.fromkeys(("by", "agent", "session"), "by") | {"project": "project"}
# Keys of tags and tasks in the text (`wiki`) among the front matter in the index.
TAGS_IN_TEXT, TASKS_IN_TEXT = "#", "task"
# Annotations of struck lines, not of items nested in them.
_OF_STRUCK = ("until", "struck-by", "struck-agent", "superseded-by")
_CODE = lazy(r"(?<![`\\])(`+)(?!`)(?:(?!\1(?!`)).|(?!))++\1(?!`)")
_LONGEST_LINE = 10_000  # characters of a line that is looked at for code
_OPENING = lazy(r"<!(?=--)")
_ANY = lazy(r"<!--.*?-->", re.DOTALL)
_ANY_AND_BLANKS = lazy(r"(?<![ \t])[ \t]*+<!--.*?-->", re.DOTALL)


def take(lines: list[str], fences: Iterable[tuple[int, int]] = ()) -> dict[int, dict[str, str]]:
    """Take inline metadata out of `lines` (in place) and return it by line, 1-based.

    Between backquotes on one line it is text. In `fences`, first and last lines, it is shown as text and
    counts: a fence that somebody forgot to close may hold entries of others, who are not to be trusted more.
    """
    shown = structure.lines_of(*fences)
    found: dict[int, dict[str, str]] = {}
    for number, line in enumerate(lines, 1):
        if "<!--" in line and (taken := _taken(line)):
            found[number] = dict(taken[0])
            if ("status", "superseded") in taken[0]:  # a replaced guess is no open one
                found[number]["status"] = "superseded"
            if number not in shown:
                lines[number - 1] = taken[1]
    return found


@remembered
def _taken(line: str) -> tuple[Sequence[tuple[str, str]], str] | None:
    """Return keys and values of the comments of a line, and the line without them; None without metadata."""
    said = list(_COMMENT.finditer(line))
    if said and "`" in line:
        code = [span.span() for span in _CODE.finditer(line, 0, _LONGEST_LINE)]
        said = [one for one in said if not _is_within(one, code)]
    if not said:
        return None
    borders = [0, *(place for comment in said for place in comment.span()), len(line)]
    pieces = zip(borders[::2], borders[1::2], strict=True)
    rest = "".join(line[start:end] for start, end in pieces).rstrip()
    return [pair for comment in said for pair in _pairs(comment)], rest


def _is_within(comment: re.Match[str], spans: Sequence[tuple[int, int]]) -> bool:
    at = bisect_left(spans, comment.span()) - 1
    return at >= 0 and comment.end() < spans[at][1]


def each(text: str) -> Iterator[re.Match[str]]:
    """Yield the comments of a text, whatever they say.

    Behind the last end of one no opening is looked at: each would be followed to the end of the text.
    """
    return _ANY.finditer(text, 0, text.rfind("-->") + 3)


def without(text: str, instead: str | Callable[[re.Match[str]], str] = "", *, blanks: bool = False) -> str:
    """Return a text without its comments; with `blanks` those before one on its line go as well."""
    end = text.rfind("-->") + 3
    expression = _ANY_AND_BLANKS if blanks else _ANY
    return expression.sub(instead, text[:end]) + text[end:] if end > 2 else text


def without_code(line: str) -> str:
    """Return a line without what stands between backquotes."""
    return _CODE.sub("`", line) if "`" in line else line


def guessed(text: str, lines: Sequence[str], passed: Iterable[tuple[int, int]] = ()) -> list[int]:
    """Return the lines that call themselves a guess (`- 14:05 tentative: …`), 1-based.

    Lines in `passed` (first and last lines of fences and front matter) do not count.
    """
    if not any(map(text.__contains__, _GUESSES)):  # as in nearly all texts
        return []
    silent = structure.lines_of(*passed)
    return [number for number, line in enumerate(lines, 1) if number not in silent and _GUESS.match(line)]


def _pairs(comment: re.Match[str]) -> Iterator[tuple[str, str]]:
    if comment["status"]:
        yield "status", comment["status"].lower()
    elif comment["pinned"]:
        yield PINNED, "true"
    elif comment["cp"] is not None:
        for key, value in _MARK.findall(comment["cp"]):
            yield MARK_NAMES.get(key, key), _decoded(value)[: MARKS[key]]
    elif comment["by"]:
        yield "by", comment["by"].lower()
        for part in comment["further"].split(";")[1:]:
            key, _, value = part.partition(":")
            if value := value.strip():
                key = key.strip().lower()
                yield key, value[: PROVENANCE[key]]
    else:
        key = comment["key"].lower()
        yield key, comment["value"].strip()[: _KEYS[key]]


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
    comment are written as %20 and so on; an agent's name loses secrets. Raises ValueError for an unknown
    name.
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

    return unquote(value) if "%" in value else value


def _value(text: str, longest: int) -> str:
    """Return a value that ends neither the comment nor itself, on one line, without secrets."""
    plain = "".join(c if c.isprintable() else " " for c in text if not 0xD800 <= ord(c) <= 0xDFFF)
    plain = re.sub("[;<>]", " ", _public(" ".join(plain.split())))
    short = " ".join(plain.split())[:longest]
    return re.sub("-{2,}", "-", short).strip(" -")


def _public(text: str) -> str:
    """Return the name of a writer without secrets and private parts."""
    from commonplace.redaction.redact import redact, strip_private

    return redact(strip_private(text))[0]


def disarmed(text: str, *, entirely: bool) -> str:
    """Return a text without metadata in its comments: without writers, or, `entirely`, without any.

    The result of a tool must not call itself the owner's, important, or the successor of a note.
    """
    return (_OPENING if entirely else _WRITER).sub("<! ", text)


def of_front_matter(metadata: Mapping[str, object]) -> dict[str, str]:
    """Return what front matter says of the whole note, under the names that comments have."""
    annotations: dict[str, str] = {}
    for name, value in metadata.items():
        key = {"triggers": "trigger"}.get(name.lower(), name.lower().replace("_", "-"))
        text = ", ".join(map(str, value)) if isinstance(value, list) else str("" if value is None else value)
        text = text.strip()
        choice, choices = _CHOICES.get(key, ("", ()))
        if key in _KEYS and text:
            annotations[key] = text[: _KEYS[key]]
        elif key in _FLAGS and text.lower() in ("true", "yes", "on"):
            annotations |= [_FLAGS[key]]
        elif text.lower() in choices:
            annotations[choice] = text.lower()
    return annotations


# --- brought to lines ---------------------------------------------------------------------------------------


class Annotations:
    """The annotations of each line of a note."""

    def __init__(self, note: Note) -> None:
        """Read the note's front matter and comments; both are nearly always empty."""
        self._note = _valid(of_front_matter(note.metadata)) if note.metadata else {}
        self._lines: dict[int, Values] = {}
        self._facts: dict[int, int] = {}  # the line that says since when a line holds, unless a heading does
        comments_of = {line: own for line in note.annotations if (own := _valid(note.annotations[line]))}
        ranges = [_Range(first, last, True, first, {"since": day}) for first, last, day in note.days]
        if comments_of:
            ranges += _ranges(note, comments_of)
        for one in sorted(ranges, key=lambda one: (not one.section, one.first)):  # entries last: nearest
            self._add(one)

    def _add(self, one: _Range) -> None:
        """Merge the values of a range into those of the ranges around it."""
        for number in range(one.first, one.last + 1):
            before = self._lines.get(number, self._note)
            if not one.section and one.said.get("since", before.get("since")) != before.get("since"):
                self._facts[number] = one.line
            if PINNED in before and one.said.get("by", "owner") != "owner":  # others' words are not
                before = {key: value for key, value in before.items() if key != PINNED}
            self._lines[number] = {**before, **one.said} if before else one.said

    def __bool__(self) -> bool:
        return bool(self._note or self._lines)

    def of(self, first: int, last: int, *, standing: bool = False) -> Values | None:
        """Return the annotations of some lines: the greatest importance, all triggers, else the first value.

        With `standing` those of struck text are left out.
        """
        merged: dict[str, str] = {}
        for number in range(first, last + 1):
            values = self._lines.get(number, self._note)
            for key, value in (_standing(values) if standing else values).items():
                if key not in merged:
                    merged[key] = value
                elif key == "importance":
                    merged[key] = str(max(int(merged[key]), int(value)))
                elif key == "trigger" and value not in merged[key]:
                    merged[key] += f", {value}"
        return merged or None

    def differ(self, line: int, other: int) -> bool:
        """Tell whether two lines may not share a passage.

        An entry with a day (`since`) stays apart: in a passage with others it would be found for their words,
        and count as newer than they are. Entries of the day of their heading may share one, as in the note of
        a month.
        """
        if not self._lines:
            return False
        if self._facts.get(line) != self._facts.get(other):
            return True
        first, second = (_standing(self._lines.get(number, self._note)) for number in (line, other))
        return not _DIVIDING.isdisjoint(key for key, _ in first.items() ^ second.items())


def _standing(values: Values) -> Values:
    """Return the annotations of a line without those of struck text."""
    if "until" not in values and "struck-by" not in values:
        return values
    return {key: value for key, value in values.items() if key not in _OF_STRUCK}


def _valid(values: Values) -> dict[str, str]:
    """Leave out what is empty, no number or no day; keep an importance within 1 to 10."""
    valid = {key: value for key, value in values.items() if value}
    importance = valid.pop("importance", "")
    if importance.isascii() and importance.isdigit():
        valid["importance"] = str(min(10, max(1, int(importance))))
    for key in valid.keys() & {"valid-until", "since", "until"}:
        from datetime import date  # a search reads no days

        with suppress(ValueError):
            if date.fromisoformat(valid[key]).isoformat() == valid[key]:
                continue
        del valid[key]
    return valid


class _Range(NamedTuple):
    """Annotated lines, whether they are a section, the line of the comment, and its values."""

    first: int
    last: int
    section: bool
    line: int
    said: Values


def _ranges(note: Note, comments_of: Mapping[int, Values]) -> Iterator[_Range]:
    """Yield the lines that each comment of a note is about; `comments_of` are those that say something."""
    lines, total = note.lines, len(note.lines)
    sections = structure.extents(note.headings, total)
    sections |= {h.line + 1: sections[h.line] for h in note.headings if structure.is_underlined(note, h)}
    fences = {number: span for span in note.fences for number in range(span[0], span[1] + 1)}
    entries = _entries(note)
    above: dict[int, int] = {}  # what stands directly above a comment on its own line
    below = done = 0
    for line in sorted(note.annotations):
        at = line
        if line > 1 and not lines[line - 1].strip():
            at = above[line] = above.get(line - 1, line - 1)
        if at not in sections and not lines[at - 1].strip():  # else what stands below
            below = max(below, line)
            while below < total and not lines[below].strip():
                below += 1
            at = below + 1
        if line in comments_of and at <= total:
            said = comments_of[line]
            if at in sections and at <= line:  # a comment above a heading is not about its section
                yield _Range(*sections[at], True, line, said)
            elif at < line and at in fences:
                yield _Range(*fences[at], False, line, said)
            elif at in entries:
                first, last, end = entries[at]
                if first <= done < at:  # another comment stands above in the same entry
                    first, end = done + 1, last
                yield _Range(first, end, False, line, said)
        done = at


def _entries(note: Note) -> dict[int, tuple[int, int, int]]:
    """Return first line, last line and end of the entry that each line belongs to.

    A row of a table goes with those above it. Fences count too: somebody may have left one open.
    """
    found: dict[int, tuple[int, int, int]] = {}
    inside = (structure.places(note.lines, range(a, b + 1), ()) for a, b in note.fences)
    for places in [*(places for _, places in structure.placed(note)), *inside]:
        rows: structure.StatementLines | None = None
        first = 0
        for place in places:
            goes_on = rows and place.is_silent and place.first == rows.last + 1
            first = first if goes_on else place.first
            found |= dict.fromkeys(range(place.first, place.last + 1), (first, place.last, place.end))
            rows = place if place.is_silent else None
    return found
