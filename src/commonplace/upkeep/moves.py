"""References, links and wiki links to notes that were moved, in the other notes: pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, pairwise
from posixpath import basename, dirname, join, normpath, relpath, splitext
from urllib.parse import quote, unquote

from commonplace.markdown import references, structure
from commonplace.markdown.document import parse
from commonplace.redaction.redact import private_parts

Line = Callable[[int], str | None]  # where a line, from 1, is now; None where it is gone

_LINK = re.compile(
    r"(?P<open>\]\(<?|^ {0,3}\[[^\]\n]+\]:[ \t]*<?)(?P<to>[^()\s<>#]+)(?P<at>#[^()\s<>]*)?",
    re.MULTILINE,
)
_WIKI = re.compile(r"\[\[(?P<to>[^\[\]|#\n]+)(?P<at>#[^\[\]|\n]*)?(?P<shown>\|[^\[\]\n]*)?\]\]")
_LINES = re.compile(r"#L(\d{1,9})(?:-L?(\d{1,9}))?")
# Spans of code, and indented blocks: below a blank line that no item stands above.
_CODE = re.compile(
    r"(?<!`)(?P<ticks>`{1,9})(?!`)(?:(?!\n[ \t]*\n)[\s\S]){1,2000}?(?<!`)(?P=ticks)(?!`)"
    r"|(?<=\n\n)(?:(?: {4}|\t)[^\n]*\n?)+"
)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|/|#|\?")


@dataclass(frozen=True, slots=True)
class Moved:
    """A note that was moved: where it is now, where each of its lines is, and the heading it has there.

    `whole` is the reference that stands for all of it. `headings` are its own, by their anchors: the anchor
    that each has now, and what a wiki link calls it.
    """

    path: str
    now: str
    line: Line
    heading: str = ""
    whole: str = ""
    headings: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def follow(text: str, own: str, moved: Mapping[str, Moved]) -> str:
    """Return the text of the note at `own` with what refers to moved notes led to where they are now.

    Private parts stay as they are. What refers to a whole note leads to its heading, or to its new file.
    """
    for note in moved.values():
        if splitext(basename(note.path))[0] in text:
            text = references.shifted(text, {note.path: note.line})
            text = outside_code(text, partial(_whole, note))
    if not any(basename(path)[:10] in text for path in moved):
        return text
    return outside_code(text, lambda part: _linked(part, own, moved))


def _ends_in_item(text: str) -> bool:
    """Whether the last line of a text is of a list, so that what is indented below it is no code."""
    line = text.rstrip().rpartition("\n")[2]
    return structure.ITEM.match(line) is not None or line[:2] in ("  ", "\t")


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return a text changed everywhere but in code (blocks and spans) and in private parts."""
    spans = _code(text)
    mark = next(character for character in map(chr, range(0xE000, 0xF8FF)) if character not in text)
    parts = change(mark.join(_gaps(text, spans))).split(mark)
    hidden = [*(text[start:end] for start, end in spans), ""]
    return "".join(part + own for part, own in zip(parts, hidden, strict=True))


def without_code(text: str) -> str:
    """Return a text without its code and private parts."""
    return "\0".join(_gaps(text, _code(text)))


def _gaps(text: str, spans: list[tuple[int, int]]) -> list[str]:
    around = [(0, 0), *spans, (len(text), len(text))]
    return [text[end:start] for (_, end), (start, _) in pairwise(around)]


def _code(text: str) -> list[tuple[int, int]]:
    """The blocks and spans of code and the private parts of a text, in order, none within another."""
    note, starts = parse(text, "x.md"), [0, *accumulate(map(len, text.splitlines(keepends=True)))]
    kept = [(starts[first - 1], starts[min(last, len(starts) - 1)]) for first, last in note.fences]
    kept += [(start, end) for start, end, _ in private_parts(text)]
    kept += [f.span() for f in _CODE.finditer(text) if f["ticks"] or not _ends_in_item(text[: f.start()])]
    spans: list[tuple[int, int]] = []
    for start, end in sorted(kept):
        if spans and start < spans[-1][1]:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((start, end))
    return spans


def _whole(note: Moved, text: str) -> str:
    """Lead references of comments to a note without lines to where its first line is."""
    before = r"<!--\s*(?:cp\s*:[^<>]*?(?:from=|to=|,)|superseded-by\s*:\s*)"
    expression = rf"({before})(?:\./)?{re.escape(note.path)}(?=[\s,]|-->)"
    return re.sub(expression, lambda found: found[1] + note.whole, text) if note.whole else text


def _linked(text: str, own: str, moved: Mapping[str, Moved]) -> str:
    def link(found: re.Match[str]) -> str:
        target = unquote(found["to"])
        relative = normpath(join(dirname(own), target))
        note = moved.get(relative) or moved.get(normpath(target))
        if note is None or _SCHEME.match(target):
            return found[0]
        path, at = _place(note, found["at"] or "")
        start = dirname(own) if relative == note.path else ""
        shown = relpath(path, start or ".")
        return f"{found['open']}{quote(shown, safe='/._-~+@()') if '%' in found['to'] else shown}{at}"

    def wiki(found: re.Match[str]) -> str:
        told = found["to"].strip()
        stem = told.removesuffix(".md")
        note = next((n for n in moved.values() if stem in _names(n.path)), None)
        if note is None:
            return found[0]
        path, at = _place(note, found["at"] or "", anchor=False)
        name = path.removesuffix(".md") if "/" in stem else splitext(basename(path))[0]
        return f"[[{name}{at}{found['shown'] or ''}]]"

    return _WIKI.sub(wiki, _LINK.sub(link, text))


def _names(path: str) -> tuple[str, str]:
    stem = splitext(path)[0]
    return stem, basename(stem)


def _place(note: Moved, at: str, *, anchor: bool = True) -> tuple[str, str]:
    """The path that a link leads to now, and what follows it."""
    lines = _LINES.fullmatch(at)
    if lines:
        told = references.reference(f"{note.path}{at}", {note.path: note.line}) or note.now
        path, sign, rest = told.partition("#")
        return path, sign + rest
    if known := note.headings.get(slug(at.lstrip("#"))):
        return note.now, f"#{known[0] if anchor else known[1]}"
    if at or not note.heading:
        return note.now, at
    return note.now, f"#{slug(note.heading) if anchor else note.heading}"


def slug(heading: str) -> str:
    """The anchor that forges make of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def rebased(text: str, old: str, new: str) -> str:
    """Return a text whose relative links led from the folder of `old`, for the folder of `new`."""
    if dirname(old) == dirname(new):
        return text

    def link(found: re.Match[str]) -> str:
        target = found["to"]
        if _SCHEME.match(target) or not ("/" in target or "." in target):
            return found[0]
        told = relpath(normpath(join(dirname(old), target)), dirname(new) or ".")
        return f"{found['open']}{told}{found['at'] or ''}"

    return outside_code(text, lambda part: _LINK.sub(link, part))
