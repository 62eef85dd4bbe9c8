"""A recall in three layers: full text for the best hits, snippets for the middle, rows for the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from commonplace.base import tokens
from commonplace.base.errors import ConfigError
from commonplace.config.settings import Recall as Settings
from commonplace.render import hits, screen
from commonplace.search import pack, query_document
from commonplace.search.dedupe import SENTENCE, Told
from commonplace.types import Hit, Recall, SearchResult

LAYERS = ("full", "mixed")  # of a block
FULL, SNIPPET, INDEX = "full", "snippet", "index"
SNIPPET_TOKENS = 40
_ROWS = "More notes, by reference:"


class Block(NamedTuple):
    """The text of a recall, its hits as they stand in it (best first) with the layer of each.

    `left_out` counts what did not fit, `repeated` what says what is said already.
    """

    text: str
    hits: tuple[Hit, ...]
    layers: tuple[str, ...]
    left_out: int
    repeated: int = 0


def composer(settings: Settings, layer: str | None = None) -> Callable[[Sequence[Hit], int, str], Block]:
    """Return what composes a block from hits, a budget and the question. Raises ConfigError."""
    layer = layer or settings.layer
    if layer not in LAYERS:
        raise ConfigError("layer", f"{layer!r} is not allowed; it must be one of {', '.join(LAYERS)}")

    def compose(hits: Sequence[Hit], budget: int, text: str) -> Block:
        hits = pack.valid(hits, tentative=settings.tentative)
        return _whole(hits, budget, text) if layer == FULL else mix(hits, budget, text, settings)

    return compose


def _whole(hits: Sequence[Hit], budget: int, question: str) -> Block:
    text, chosen, left_out, repeated = pack.compose(hits, budget)
    return Block(text, chosen, (FULL,) * len(chosen), left_out, repeated)


def recalled(result: SearchResult, budget: int, block: Block) -> Recall:
    """Return a block as what a recall gives, with what the search behind it has to say."""
    return Recall(
        query=result.query,
        text=block.text,
        tokens=tokens.about(block.text),
        budget=budget,
        hits=block.hits,
        level=result.level,
        left_out=block.left_out,
        stale=result.stale,
        warnings=result.warnings,
        all_tokens=result.all_tokens,
        layers=block.layers,
        repeated=block.repeated + sum(len(hit.others) for hit in block.hits),
    )


def mix(hits: Sequence[Hit], budget: int, question: str, thresholds: Settings) -> Block:
    """Compose the block from the hits that fit; what does not fit in its layer may in a lower one."""
    pattern = screen.matcher(query_document.words(question))
    chosen: list[tuple[Hit, str]] = []
    told = Told()
    left_out = 0
    for hit in pack.worth_telling(hits):
        rest = told.rest(hit)
        told.repeated += rest is not hit
        if rest is None:
            continue
        for layer in _layers(rest, [layer for _, layer in chosen], thresholds):
            shown = _shown(rest, layer, pattern)
            if shown is not None and _tokens([*chosen, (shown, layer)]) <= budget:
                chosen.append((shown, layer))
                told.add(shown)
                break
        else:
            left_out += 1
    shown_hits = tuple(hit for hit, _ in chosen)
    layers = tuple(layer for _, layer in chosen)
    return Block(_text(chosen) if chosen else "", shown_hits, layers, left_out, told.repeated)


def _layers(hit: Hit, taken: Sequence[str], thresholds: Settings) -> list[str]:
    """The layers a hit may stand in, the fullest first."""
    full = hit.score >= thresholds.full_score and taken.count(FULL) < thresholds.full_count
    middle = hit.score >= thresholds.snippet_score and taken.count(SNIPPET) < thresholds.snippet_count
    return [*([FULL] if full else []), *([SNIPPET] if middle or full else []), INDEX]


def _shown(hit: Hit, layer: str, pattern: re.Pattern[str] | None) -> Hit | None:
    """A hit with the text of its layer; a row has none."""
    if layer == FULL:
        return hit
    return replace(hit, text="") if layer == INDEX else snippet(hit, pattern)


def snippet(hit: Hit, pattern: re.Pattern[str] | None) -> Hit:
    """Cut a hit to the sentences around the most words of the question, and its lines to theirs."""
    parts = [(found.start(), found.end()) for found in SENTENCE.finditer(hit.text)]
    if not parts or tokens.about(hit.text) <= SNIPPET_TOKENS:
        return hit
    weights = [len(screen.matches(hit.text[start:end], pattern)) for start, end in parts]
    first = last = weights.index(max(weights))
    # A blank part adds nothing at an end, so that what fits is not measured again with each of many.
    blank = [hit.text[start:end].isspace() for start, end in parts]
    fits = _fits(hit.text[slice(*parts[first])])
    while last + 1 < len(parts):
        now = fits if blank[last + 1] else _fits(hit.text[parts[first][0] : parts[last + 1][1]])
        if not now:
            break
        fits, last = now, last + 1
    while first > 0:
        now = fits if blank[first - 1] else _fits(hit.text[parts[first - 1][0] : parts[last][1]])
        if not now:
            break
        fits, first = now, first - 1
    start, text = parts[first][0], hit.text[parts[first][0] : parts[last][1]]
    if not _fits(text):
        start, text = _around(text, pattern, start)
    line = hit.start_line + hit.text.count("\n", 0, start)
    line += len(text) - len(text.lstrip("\n"))
    text = text.strip("\n").rstrip()
    end = min(hit.end_line, line + text.count("\n"))
    return replace(hit, text=text, start_line=min(line, hit.end_line), end_line=end)


def _fits(text: str) -> bool:
    return tokens.about(text.strip()) <= SNIPPET_TOKENS


def _around(text: str, pattern: re.Pattern[str] | None, start: int) -> tuple[int, str]:
    """A long sentence cut around the first word of the question that it holds, with ellipses."""
    found = screen.matches(text, pattern)
    begin = max(0, found[0][0] - SNIPPET_TOKENS // 2) if found else 0
    end = len(text)
    while end > begin and tokens.about(f"…{text[begin:end]}…") > SNIPPET_TOKENS:
        end -= max(1, (end - begin) // 20)
    before, after = "…" if begin else "", "…" if end < len(text) else ""
    return start + begin, f"{before}{text[begin:end].strip()}{after}"


def _text(chosen: Sequence[tuple[Hit, str]]) -> str:
    told = [hit for hit, layer in chosen if layer != INDEX]
    rows = [hits.row(hit).text for hit, layer in chosen if layer == INDEX]
    return pack.framed(told, "\n".join([_ROWS, *rows, ""]) if rows else "")


def _tokens(chosen: Sequence[tuple[Hit, str]]) -> int:
    return tokens.about(_text(chosen))
