"""What a block of several passages says already: whole passages that say it again, and single sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from commonplace.base import filetypes
from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.language import compare
from commonplace.language.compare import Wording
from commonplace.render import screen
from commonplace.types import Hit

# A sentence ends with its mark and what closes a quotation after it; Chinese needs no blank behind it.
SENTENCE = lazy(r"[^\n]+?(?:[。！？][”’」』）]*|[.!?][\"')\]]*(?=\s)|(?=\n)|\Z)[ \t]*|\n")
# What is shorter ("Yes, please.") says something only where it stands.
LEAST_WORDS = 3
# Only what is an entry of a list, or ends as a sentence does, is left out: rows of tables and lines of code
# mean something by coming back.
_ENTRY = lazy(r"[ \t>]*(?:[-*+•]|\d{1,3}[.)])[ \t]")
_END = lazy(r"[.!?。！？][\"')\]”’」』）*_]*\s*\Z")
_FENCES = ("```", "~~~")


class _Part(NamedTuple):
    """A sentence or a line break of a passage, and whether it is said already."""

    text: str
    repeats: bool

    @property
    def tells(self) -> bool:
        """Whether it is a part to keep a passage for: no line break, no heading."""
        return not self.repeats and bool(self.text.strip()) and not self.text.lstrip().startswith("#")


class Repeats:
    """What a block says so far, so that nothing is said in it twice."""

    def __init__(self) -> None:
        self._hits: list[tuple[Hit, Wording]] = []
        self._sentences: dict[tuple[str, ...], dict[tuple[str, ...], None]] = {}

    def rest(self, hit: Hit) -> Hit | None:
        """Return a hit without what is said already; None if nothing is left."""
        said = _read(hit.path, hit.text)
        headings = (hit.title, *hit.headings)
        if any(_covers(other, hit) or _says(told, other, said, headings) for other, told in self._hits):
            return None
        apart = self._apart(hit)
        if apart is not hit:
            return self.rest(apart) if apart is not None else None
        parts = [_Part(text, self._repeats(text, headings)) for text in _sentences(hit)]
        if not any(part.repeats for part in parts):
            return hit
        return _without_repeats(hit, parts) if any(part.tells for part in parts) else None

    def _apart(self, hit: Hit) -> Hit | None:
        """A hit without the lines at its ends that another one of the same note has: passages overlap."""
        had: dict[int, str] = {}
        for other, _ in self._hits:
            if other.path == hit.path and (lines := whole_lines(other)):
                had |= dict(enumerate(lines, other.start_line))
        lines = whole_lines(hit) if had else []
        same = [had.get(number) == line for number, line in enumerate(lines, hit.start_line)]
        return without(hit, [mark if line.strip() else None for mark, line in zip(same, lines, strict=True)])

    def add(self, hit: Hit) -> None:
        """Note what a hit says."""
        self._hits.append((hit, _read(hit.path, hit.text)))
        for text in _sentences(hit):
            if key := _key(text):
                self._sentences.setdefault(key, {})[hit.title, *hit.headings] = None

    def _repeats(self, text: str, headings: tuple[str, ...]) -> bool:
        key = _key(text)
        said = self._sentences.get(key) if key else None
        if not said:
            return False
        words = compare.read(text)
        return any(compare.agree(headings, other, words) for other in said)


def whole_lines(hit: Hit) -> list[str]:
    """The lines of a hit; none of one that is not there line by line."""
    lines = hit.text.split("\n")
    return lines if len(lines) == hit.end_line - hit.start_line + 1 else []


def without(hit: Hit, known: Sequence[bool | None]) -> Hit | None:
    """Return a hit without the lines at its ends that are known; None if no other line says anything.

    `known` tells it of each line, None of one that says nothing by itself.
    """
    if True not in known:
        return hit
    new = [number for number, mark in enumerate(known) if mark is False]
    if not new:
        return None
    first = new[0] if True in known[: new[0]] else 0
    last = new[-1] if True in known[new[-1] :] else len(known) - 1
    if first == 0 and last == len(known) - 1:
        return hit
    text = "\n".join(hit.text.split("\n")[first : last + 1])
    return replace(hit, text=text, start_line=hit.start_line + first, end_line=hit.start_line + last)


def _read(path: str, text: str) -> Wording:
    return compare.verbatim(text) if filetypes.is_code(path) else compare.read(text)


def _covers(other: Hit, hit: Hit) -> bool:
    """Whether a hit stands inside another one."""
    inside = other.start_line <= hit.start_line and hit.end_line <= other.end_line
    return other.path == hit.path and inside and hit.text in other.text


def _says(told: Wording, other: Hit, said: Wording, headings: tuple[str, ...]) -> bool:
    return compare.same(told, said) and compare.agree((other.title, *other.headings), headings, said)


def _sentences(hit: Hit) -> Iterator[str]:
    """The sentences and line breaks of a passage; none of a program."""
    if filetypes.is_code(hit.path) or any(fence in hit.text for fence in _FENCES):
        return
    yield from (found[0] for found in SENTENCE.finditer(hit.text))


def _key(text: str) -> tuple[str, ...]:
    """A sentence as it is looked up; nothing for what may be said again."""
    if not _ENTRY.match(text) and not _END.search(text):
        return ()
    tokens = compare.read(text).tokens
    return tokens if compare.weight(tokens) >= LEAST_WORDS else ()


def _without_repeats(hit: Hit, parts: list[_Part]) -> Hit:
    """Cut a hit to the lines that say something new, with an ellipsis for what is left out between them."""
    wanted = [number for number, part in enumerate(parts) if part.text.strip() and not part.repeats]
    first, last = wanted[0], wanted[-1]
    before = sum(part.text == "\n" for part in parts[:first])
    after = sum(part.text == "\n" for part in parts[last + 1 :])
    kept: list[str] = []
    end = ""  # the last character that is no blank
    for part in parts[first : last + 1]:
        if not part.repeats:
            kept.append(part.text)
            end = part.text.rstrip()[-1:] or end
        elif end != screen.ELLIPSIS:
            kept.append(f"{screen.ELLIPSIS} ")
            end = screen.ELLIPSIS
    text = "\n".join(line.rstrip() for line in "".join(kept).split("\n"))
    start = min(hit.start_line + before, hit.end_line)
    return replace(hit, text=text, start_line=start, end_line=max(start, hit.end_line - after))
