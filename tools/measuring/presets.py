"""The settings of other systems, in the same engine: how `tools/evaluate.py --preset` cuts and fuses.

A preset sets how text is cut and how the two lists are fused; the model, the tokenizer and BM25 are ours, so that
only the settings differ. One token counts as four characters, a CJK character as one token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from commonplace.chunking import breakpoints, passages
from commonplace.chunking.settings import DEFAULT, ChunkSettings
from commonplace.markdown import structure
from commonplace.markdown.fences import RULE
from commonplace.providers import opening
from commonplace.providers.costs import Ledger
from commonplace.search import ranking
from commonplace.types import Note, Passage, Section
from measuring.evaluation import Options

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.config import Settings
    from commonplace.providers.embedding.base import Embedder, Floats, Kind

TOKEN = 4  # characters


class EveryScript:
    """A model that claims to serve every script, as systems do that do not distinguish scripts.

    It shares the fingerprint of the model inside, whose vectors are the same.
    """

    scripts = frozenset({"latin", "cjk"})

    def __init__(self, inner: Embedder) -> None:
        self.inner, self.name = inner, inner.name
        self.fingerprint = inner.fingerprint
        if hasattr(inner, "estimate"):
            self.estimate = inner.estimate

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed with the model inside; (n, d) float32."""
        return self.inner.embed(texts, kind)


def every_script(settings: Settings, folder: Path) -> Embedder | None:
    """Return the model of the settings as one for every script; None without a model."""
    if settings.embedding.provider == "none":
        return None
    models = opening.models(settings.embedding, lambda: Ledger(folder / "ledger.sqlite"))
    return next((EveryScript(model) for model in models if not isinstance(model, str)), None)


class Windows(ChunkSettings):
    """Another way to cut: lines packed up to `target` across headings, each passage beginning with lines of
    the one before, up to `overlap`; the cut falls at the best place within the last `window`, and fences of
    at most `fence` stay whole. Sizes as in `ChunkSettings`."""

    window = overlap = fence = 0
    wide = TOKEN

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same note would be cut differently."""
        return f"windows-1:{tuple(self)}:{self.wide}:{self.window}:{self.overlap}:{self.fence}"


def windows(target: int, wide: int = TOKEN, *, window: int = 0, overlap: int = 0, fence: int = 0) -> Windows:
    """Return settings for lines packed up to `target`, where a longer line is cut."""
    values = {"wide": wide, "window": window, "overlap": overlap, "fence": fence}
    made: Windows = type("Windows", (Windows,), values)(target=target, line=target)
    return made


def split(note: Note, settings: ChunkSettings = DEFAULT) -> tuple[list[Section], list[Passage]]:
    """Cut a note as `passages.split` does, in whose place this stands, or in windows."""
    if not isinstance(settings, Windows):
        return ours(note, settings)
    units = list(_units(note, settings))
    found = [Passage(0, first, last, text) for first, last, text in _packed(units, note, settings)]
    return ([Section((), 1, len(note.lines))] if found else []), found


ours, passages.split = passages.split, split


def _units(note: Note, settings: Windows) -> Iterator[tuple[int, int, int]]:
    """Yield first line, last line and size of each line that is not blank, and of each fence that is whole."""
    fences = dict(note.fences)
    after = 0
    for number, line in enumerate(note.lines, 1):
        if number <= after or not line.strip():
            continue
        last = fences.get(number, number)
        size = sum(_width(line, settings.wide) for line in note.lines[number - 1 : last])
        if size > settings.fence:
            last, size = number, _width(line, settings.wide)
        yield number, last, size
        after = last


def _width(line: str, wide: int) -> int:
    """Return the size of a line where a CJK character, which has three bytes in UTF-8, counts as `wide`."""
    return len(line) + (wide - 1) * (len(line.encode("utf-8", "replace")) - len(line)) // 2


def _packed(
    units: Sequence[tuple[int, int, int]], note: Note, settings: Windows
) -> Iterator[tuple[int, int, str]]:
    start = 0
    while start < len(units):
        end, size = start + 1, units[start][2]
        while end < len(units) and size + 1 + units[end][2] <= settings.target:
            size += 1 + units[end][2]
            end += 1
        if end < len(units) and settings.window:
            end = _best(units, note, start, end, settings.window)
        first, last = units[start][0], units[end - 1][1]
        text = "\n".join(note.lines[first - 1 : last])
        is_long = end == start + 1 and size > settings.line and first == last
        limit = max(40, settings.line * len(text) // size) if is_long else len(text)
        yield from (
            (first, last, piece) for piece in (breakpoints.pieces(text, limit) if is_long else [text])
        )
        if end == len(units):
            return
        repeated, start, before = 0, end, start
        while start - 1 > before and repeated + units[start - 1][2] <= settings.overlap:
            start -= 1
            repeated += units[start][2]


def _best(units: Sequence[tuple[int, int, int]], note: Note, start: int, end: int, window: int) -> int:
    """Where to cut: a cut further from the end must be that much better, by a square law, as QMD has it."""
    best, where, distance = 0.0, end, 0
    for place in range(end, start, -1):
        distance += units[place][2] if place < end else 0
        if distance > window:
            break
        value = _worth(note, units[place][0]) * (1 - 0.7 * (distance / window) ** 2)
        if value > best:
            best, where = value, place
    return where


def _worth(note: Note, number: int) -> float:
    """How good a cut before a line is: heading, fence, rule, paragraph, list item, line, as QMD orders them."""
    line, above = note.lines[number - 1], note.lines[number - 2] if number > 1 else ""
    if any(heading.line == number for heading in note.headings):
        return 100.0
    if any(number in (first, last + 1) for first, last in note.fences):
        return 80.0
    if not above.strip():
        return 60.0 if RULE.match(line) else 20.0
    return 5.0 if structure.ITEM.match(line) else 1.0


# What the settings of other systems leave out: QMD's query expansion, reranking, and demand that a passage hold
# every word of a question, under which full text finds nothing for natural questions (0 of 25 in its own set):
# OR flatters it. OpenClaw's decay of dated notes (half-life 30 days) and diversity step, which serve today's
# notes and would only lower its figures on sets that are years old.
CHUNKS = {
    # QMD 2.8.3: 900 tokens, cut at the best break within the last 200, never inside a fence; headings are
    # breaks, not borders.
    "qmd": windows(900 * TOKEN, window=200 * TOKEN, overlap=135 * TOKEN, fence=900 * TOKEN),
    # OpenClaw 2026.9.6: by line, weighted length for CJK.
    "openclaw": windows(400 * TOKEN, overlap=80 * TOKEN),
    # nanobot's third memory design: characters.
    "nanobot": windows(800, 1, overlap=100),
    # nanocrab: by heading.
    "nanocrab": ChunkSettings(target=512 * TOKEN, line=512 * TOKEN),
}
PRESETS = {"default": Options()} | {
    name: Options(chunks=chunks, ranking=ranking.PRESETS[name], embedder=every_script)
    for name, chunks in CHUNKS.items()
}
