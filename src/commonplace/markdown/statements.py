"""A note taken apart into what it states (list items one by one, turns, paragraphs), and new entries written.

Fences, tables, headings, rules and front matter hold no statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from commonplace.base.expressions import lazy
from commonplace.markdown import comments, fences, struck, structure
from commonplace.markdown.comments import Annotations
from commonplace.types import Note, Statement

_HOUR = lazy(r"(?P<hour>(?:[01]\d|2[0-3]):[0-5]\d)[ \t]+(?=\S)")
# The time at the start of an entry, also behind the mark of a list, in brackets or emphasised.
_CLOCK = r"(?:[-*+]|\d{1,9}[.)])?[ \t]*[(\[*`]*((?:[01]?\d|2[0-3]):[0-5]\d)\b"
_BOX = lazy(r"\[[ xX]\][ \t]+")
_TASK = lazy(r"(?:[-*+][ \t]+)?(\[[ xX]\][ \t]+\S.*)")
_OURS = lazy(r"<!--\s*cp\s*:")
# Marks that would make another block of a paragraph.
_BLOCK = lazy(r"(?:[#>|`~=*+<-]|\d{1,9}[.)]|\[[ xX]\])")


def read(note: Note) -> list[Statement]:
    """Return the statements of a note in the order of their first lines."""
    said, found = comments.Annotations(note), list[Statement]()
    for section, places in structure.placed(note):
        stating = (place for place in places if not place.is_silent)
        found += filter(None, (_statement(note, place, section.headings, said) for place in stating))
    return found


def _statement(
    note: Note, place: structure.StatementLines, headings: tuple[str, ...], said: Annotations
) -> Statement | None:
    """Return the statement at a place; None for a place without words."""
    lines = list(note.lines[place.first - 1 : place.last])
    item = lines[0][: structure.opening(lines[0])]
    lines = [line[structure.quoted(line) :] for line in lines] if place.marks else lines
    lines[0] = note.lines[place.first - 1][len(item) :]
    clock = _HOUR.match(lines[0]) if lines[0][2:3] == ":" else None
    if clock:
        lines[0] = lines[0][clock.end() :]
    words = list(filter(None, (structure.unnamed(comments.without(line).strip())[0] for line in lines)))
    plain = struck.read(words) if words else None
    text = "\n".join(words if plain is None else plain)
    if not text:
        return None
    return Statement(
        note.path, place.first, place.last, place.end, text, headings,
        said=said.of(place.first, place.first) or {}, struck=plain is not None,
        item=item, hour=clock["hour"] if clock else "",
    )  # fmt: skip


def under(statements: Sequence[Statement], at: int) -> Iterator[Statement]:
    """Yield the statements that are nested in the one at a place."""
    for place in range(at + 1, len(statements)):  # not over a slice, which would copy all of them
        if statements[place].first > statements[at].end:
            return
        yield statements[place]


def leading_time(line: str) -> tuple[str, str]:
    """Split the leading time (HH:MM) from a line; ("", line) without one."""
    match = re.match(_CLOCK, line)
    return (match[1].rjust(5, "0"), line[match.end() :]) if match else ("", line)


def is_pinned(said: Mapping[str, str]) -> bool:
    """Tell whether annotations forbid generated changes."""
    return "pinned" in said


# --- entries ----------------------------------------------------------------------------------------------


def bullet(text: str, time: str | None = None) -> str:
    """Format text as one list item: further lines are indented so that they stay inside it.

    A task gets no time: Obsidian and GitHub do not read `- 14:05 [ ] x` as a task.
    """
    lines = text.strip("\n").rstrip().split("\n")
    if fence := fences.unclosed(lines):  # it would swallow the entries after it
        lines.append(fence.end)
    if fences.opens(lines[0]):
        lines.insert(0, "")  # a fence must start its own line
    first, *rest = lines
    task = _TASK.match(first.strip())
    first, lead = (task[1], "- ") if task else (first, f"- {time} " if time else "- ")
    return "\n".join([(lead + first.strip()).rstrip(), *(f"  {line}".rstrip() for line in rest)])


def commented(entry: str, comment: str) -> str:
    """Put a comment at the end of an entry's first line."""
    first, *rest = entry.split("\n", 1)
    return "\n".join([f"{first} {comment}", *rest])


def entry_like(statement: Statement, text: str, *, since: str, from_: Sequence[str] = ()) -> list[str]:
    """Format text as an entry with the list mark, indent and task box of an existing statement.

    since: day from which it holds; from_: its sources. A paragraph stays one where the text is a line
    of plain words; anything else becomes a list item.
    """
    text, item = text.strip(), statement.item.partition("[")[0]  # what opens a callout stays where it is
    if not statement.is_item and "\n" not in text and not _BLOCK.match(text):
        entry = [f"{item}{text}"]
    else:
        item = item if statement.is_item else f"{item}- "
        box = _BOX.match(statement.text)
        text = box[0] + text if box and not _BOX.match(text) else text
        first, *rest = bullet(text).split("\n")
        indent = re.sub(r"[^\s>]", " ", item)
        entry = [item + first.removeprefix("-").lstrip(), *((indent + line[2:]).rstrip() for line in rest)]
    mark = comments.of_marks(since=since, from_=comments.of_sources(from_)) if since or from_ else ""
    return [f"{entry[0]} {mark}".rstrip(), *entry[1:]]


def restated(statement: Statement, raw: Sequence[str], part: str, new: str, *, since: str) -> list[str]:
    """Format a statement with `part` replaced by `new`; keep its comments, which are in its `raw` lines.

    If `new` is not empty, drop its cp comments (date and sources). since: day from which the result holds.
    """
    from commonplace.redaction.redact import strip_private

    before, _, behind = statement.text.partition(part)
    if behind.strip() and new[-1:].isalnum() and not part[-1].isalnum():
        new += part[-1]
    text = f"{before}{new}{behind if new else behind.lstrip(' ')}".lstrip()
    text = "\n".join(filter(str.strip, text.split("\n")))
    first, *rest = entry_like(statement, f"{statement.hour} {text}".lstrip(), since=since)
    said = (comment[0] for comment in comments.each(strip_private("\n".join(raw))))
    kept = [comment for comment in said if not (new and _OURS.match(comment))]
    return [" ".join([first, *kept]), *rest]
