"""Hits to the block of text that goes into a prompt: framed, dated, cited, inside a token budget.

A block has the best passages whole, or three layers: whole passages for the best, snippets for the middle,
rows with references for the rest. Nothing is said in it twice.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from commonplace.base import tokens
from commonplace.base.errors import ConfigError
from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.config.settings import Recall as Settings
from commonplace.markdown import fences
from commonplace.redaction.recalled import CLOSING, OPENING, disarm
from commonplace.render import hits as render
from commonplace.render import screen
from commonplace.search import query
from commonplace.search.dedupe import SENTENCE, Repeats
from commonplace.types import Hit, Recall, SearchResult
from commonplace.types.results import WEAK

FORMS = ("full", "mixed")  # of a block
FULL, SNIPPET, INDEX = "full", "snippet", "index"
FULL_SCORE, FULL_COUNT, SNIPPET_SCORE, SNIPPET_COUNT = 0.6, 3, 0.4, 5  # of the layers of a mixed block
SNIPPET_TOKENS, _WORD = 40, 80  # at most: tokens of a snippet, characters of a word
# What a text is cut behind, rather than behind any word.
_SENTENCE_END, _CLAUSE_END = lazy(r"[.!?](?=\s)|[。！？]"), lazy(r"[,;:](?=\s)|[，；：、]")
_ROWS = "More notes, by reference:"
# A hit whose meaning was weighed and that still has less than this share of the best score only fills the
# budget. Measured with 4,000 characters: at .3 no English set loses evidence, at .5 some lose .05. Where
# words decide alone, scores fall much faster, and the same share would cost a Chinese set .19.
FLOOR = 0.3
# Where nothing clearly answers, more passages hold no more: of sixty questions to a sample vault as many
# have their answer in 8 as in 14, and a sixth more of the tokens are from notes that answer.
WEAK_HITS = 8
CLEAR_BESIDE = 0.7  # what scores less than this much of a guess that is left out is no clear answer
# Of a sparing recall: the least score of the best passage (of few notes even a greeting is near to some), and
# the share of it that the others must have.
LEAST_BEST, NEAR_BEST = 0.3, 0.6
# The tokens of a message that says little, unless it asks something, and how sure the recall for one must be:
# a few words are near to something by chance. Of 60 remarks and orders of programmers in 24 memories, half as
# many bring anything so; 544 questions bring as much as before.
SHORT, CLEAR_OF_SHORT = 8, 1.5
OUTDATED = frozenset({"superseded", "expired"})  # labels of what no longer holds

# A hit and the layers taken so far to the layers that the hit may stand in, the fullest first.
_Layers = Callable[[Hit, Sequence[str]], Iterator[tuple[str, Hit | None]]]


class Block(NamedTuple):
    """The text of a block, the hits as they stand in it (best first) with the layer of each.

    `left_out` counts what did not fit, `repeated` what is not shown in full because it is said already.
    """

    text: str
    hits: tuple[Hit, ...]
    layers: tuple[str, ...]
    left_out: int
    repeated: int = 0


def near_best(message: str, result: SearchResult) -> SearchResult:
    """Keep the hits that answer a message about as well as the best one, if that does at all.

    What triggers and instructions call for comes however little it answers.
    """
    from commonplace.search import wording

    least = max(LEAST_BEST, NEAR_BEST * max((hit.score for hit in result.hits), default=0.0))
    is_short = tokens.about(message) <= SHORT and not wording.asks(message)
    if is_short and result.confidence is not None and result.confidence < CLEAR_OF_SHORT:
        least = math.inf
    return replace(result, hits=tuple(hit for hit in result.hits if hit.score >= least or WEAK in hit.labels))


def recall(
    result: SearchResult, budget: int, settings: Settings, form: str | None = None, *, strict: bool = False
) -> Recall:
    """Compose the block of a search, with what the search has to say. Raises ConfigError for a form.

    A `strict` one has nothing where nothing clearly answers.
    """
    form = form or settings.layer
    if form not in FORMS:
        raise ConfigError("layer", f"{form!r} is not allowed; it must be one of {', '.join(FORMS)}")
    # Without what is tentative, unless wanted, and what no longer holds, unless nothing else answers.
    guesses = [hit for hit in result.hits if "tentative" in hit.labels]
    if guesses and settings.tentative:
        guesses = []
    hits = [hit for hit in result.hits if hit not in guesses]
    hits = [hit for hit in hits if OUTDATED.isdisjoint(hit.labels)] or hits
    weak = result.weak or _says_less(hits, guesses)
    if weak:  # of a strict search comes what triggers and instructions call for though nothing answers
        hits = [] if strict and not result.weak else worth_telling(hits)[:WEAK_HITS]
    block = compose(hits, budget) if form == FULL else mix(hits, budget, result.query)
    least = min((hit.score for hit in block.hits), default=0.0)
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
        weak=weak,
        listing=result.listing,
        tentative=sum(hit.score >= least for hit in worth_telling(guesses)),
        confidence=result.confidence,
        repeated=block.repeated + sum(len(hit.others) for hit in block.hits),
    )


def _says_less(hits: Sequence[Hit], guesses: Sequence[Hit]) -> bool:
    """Whether what is left clearly answers no more, as the answer was a guess that is left out."""
    best, guess = (max((hit.score for hit in some), default=0.0) for some in (hits, guesses))
    return best < CLEAR_BESIDE * guess


def compose(hits: Sequence[Hit], budget: int) -> Block:
    """Compose a block of whole passages; no hits, no text.

    A hit that does not fit is passed over for smaller ones behind it, but the best one is cut rather than
    left out.
    """

    def layers(hit: Hit, taken: Sequence[str]) -> Iterator[tuple[str, Hit | None]]:
        yield FULL, hit
        if not taken:
            yield FULL, shortened(hit, budget)

    return _fill(hits, budget, layers)


def mix(hits: Sequence[Hit], budget: int, question: str) -> Block:
    """Compose a block in layers, as scores and counts allow; what does not fit may in a lower layer."""
    pattern = screen.matcher(query.parse(question).marked)

    def layers(hit: Hit, taken: Sequence[str]) -> Iterator[tuple[str, Hit | None]]:
        full = hit.score >= FULL_SCORE and taken.count(FULL) < FULL_COUNT
        if full:
            yield FULL, hit
        if full or (hit.score >= SNIPPET_SCORE and taken.count(SNIPPET) < SNIPPET_COUNT):
            yield SNIPPET, snippet(hit, pattern)
        yield INDEX, replace(hit, text="")

    return _fill(hits, budget, layers)


def _fill(hits: Sequence[Hit], budget: int, layers: _Layers) -> Block:
    """Take hits in the first layer in which they fit, without what is said already."""
    chosen: list[tuple[str, Hit]] = []
    repeats = Repeats()
    left_out = repeated = 0
    most = tokens.quarters(framed((), f"{_ROWS}\n"))  # quarters of tokens that the block has, at most
    for hit in worth_telling(hits):
        rest = repeats.rest(hit)
        if rest is None:
            repeated += 1
            continue
        for layer, shown in layers(rest, [layer for layer, _ in chosen]):
            if shown is None:
                continue
            larger = most + _quarters(layer, shown)
            if larger > 4 * budget:  # all of it is composed anew only where that decides
                exact = tokens.quarters(_text([*chosen, (layer, shown)]))
                larger = exact + len(_ROWS) + 2 if exact <= 4 * budget else 0
            if larger:
                most = larger
                chosen.append((layer, shown))
                repeats.add(shown)
                repeated += rest is not hit
                break
        else:
            left_out += 1
    shown_hits, taken = tuple(hit for _, hit in chosen), tuple(layer for layer, _ in chosen)
    return Block(_text(chosen) if chosen else "", shown_hits, taken, left_out, repeated)


def _quarters(layer: str, hit: Hit) -> int:
    """What a hit adds to a block at most, in quarters of tokens: less where it goes on from another."""
    text = _harmless(render.row(hit).text) if layer == INDEX else framed([hit]).removeprefix(OPENING)
    return tokens.quarters(text) + 1


def _text(chosen: Sequence[tuple[str, Hit]]) -> str:
    rows = [render.row(hit).text for layer, hit in chosen if layer == INDEX]
    whole = [hit for layer, hit in chosen if layer != INDEX]
    return framed(whole, "\n".join([_ROWS, *rows, ""]) if rows else "")


def worth_telling(hits: Sequence[Hit]) -> list[Hit]:
    """Leave out hits that say nothing by themselves, and those that say far less than the best."""
    telling = [hit for hit in hits if not _is_structure(hit, hits)]
    least = FLOOR * telling[0].score if telling else 0.0
    return [hit for hit in telling if hit.score >= least or all(f.name != "meaning" for f in hit.factors)]


def _is_structure(hit: Hit, hits: Iterable[Hit]) -> bool:
    """Tell whether a hit says nothing: the day of a note without text, front matter beside another hit."""
    if hit.text.startswith("#") and hit.text.strip("# \n") in ("", hit.date):
        return True
    is_front = hit.start_line == 1 and hit.text.startswith("---\n")
    return is_front and any(other.path == hit.path and other is not hit for other in hits)


def framed(chosen: Sequence[Hit], rest: str = "") -> str:
    """Put hits into the frame, by file and line, with further text below them that cannot close it."""
    return enclosed([*(text for _, text in blocks(chosen)), *([rest] if rest else [])])


def enclosed(texts: Iterable[str]) -> str:
    """Put texts into the frame, none of which can close it."""
    return "\n".join([OPENING, *map(_harmless, texts), CLOSING])


def numbered(hits: Sequence[Hit]) -> str:
    """Put hits into the frame, each behind its number from 1 and what cites it."""
    return enclosed(f"[{n}] {_cite(hit)}\n{hit.text}\n" for n, hit in enumerate(hits, 1))


# --- hits cut ---------------------------------------------------------------------------------------------


def snippet(hit: Hit, pattern: re.Pattern[str] | None) -> Hit:
    """Cut a hit to the sentences around the most words of the question, and its lines to theirs."""
    parts = [(found.start(), found.end()) for found in SENTENCE.finditer(hit.text)]
    if not parts or tokens.about(hit.text) <= SNIPPET_TOKENS:
        return hit
    weights = [len(screen.matches(hit.text[start:end], pattern)) for start, end in parts]
    start, end = _extended(hit.text, parts, weights.index(max(weights)))
    text = hit.text[start:end]
    if not _fits(text):
        start, text = _around(text, pattern, start)
    line = hit.start_line + hit.text.count("\n", 0, start) - hit.lead
    line += len(text) - len(text.lstrip("\n"))
    text = text.strip("\n").rstrip()
    last = max(hit.start_line, min(hit.end_line, line + text.count("\n")))
    first = max(hit.start_line, min(line, hit.end_line))
    return replace(hit, text=fences.closed(text), start_line=first, end_line=last, lead=0)


def _extended(text: str, parts: Sequence[tuple[int, int]], place: int) -> tuple[int, int]:
    """Extend a part by those behind it, then by those before it, as far as all fits; return its span."""
    first = last = place
    fits = _fits(text[slice(*parts[place])])
    # A blank part adds nothing at an end, so that what fits is not measured again with each of many.
    while fits and last + 1 < len(parts):
        start, end = parts[last + 1]
        if not (text[start:end].isspace() or _fits(text[parts[first][0] : end])):
            break
        last += 1
    while fits and first > 0:
        start, end = parts[first - 1]
        if not (text[start:end].isspace() or _fits(text[start : parts[last][1]])):
            break
        first -= 1
    return parts[first][0], parts[last][1]


def _fits(text: str) -> bool:
    return tokens.about(text.strip()) <= SNIPPET_TOKENS


def _around(text: str, pattern: re.Pattern[str] | None, start: int) -> tuple[int, str]:
    """A long sentence cut around the first word of the question that it holds, with ellipses."""
    found = screen.matches(text, pattern)
    begin = max(0, found[0][0] - SNIPPET_TOKENS // 2) if found else 0
    if begin and (gap := re.compile(r"(?<=\s)\S").search(text, begin, found[0][1])):
        begin = gap.start()
    end = len(text)
    while end > begin and tokens.about(f"…{text[begin:end]}…") > SNIPPET_TOKENS:
        end -= max(1, (end - begin) // 20)
    if end < len(text):
        _, length = next(screen.rows(text[begin:], screen.cells(text[begin:end])))
        end = begin + min(length, end - begin)
    before, after = "…" if begin else "", "…" if end < len(text) else ""
    return start + begin, f"{before}{text[begin:end].strip()}{after}"


def shortened(hit: Hit, budget: int) -> Hit | None:
    """Cut the text of a hit, at lines where possible, until the block of it alone fits; None if none does.

    `…` stands in the place of what is left out.
    """
    lines = hit.text.split("\n")

    def of(count: int) -> Hit:
        last = max(hit.start_line, hit.end_line - (len(lines) - count))
        text = fences.closed("\n".join(lines[:count]))
        return replace(hit, text=text + f"\n{screen.ELLIPSIS}" * (count < len(lines)), end_line=last)

    # The more lines, the more tokens: half of those that are left are looked at each time.
    most = bisect_left(
        range(1, len(lines)), True, key=lambda count: tokens.about(framed([of(count)])) > budget
    )
    while most and not any(lines[:most]):
        most -= 1
    if most:
        return of(most)
    line = lines[0][: 4 * budget + _WORD]  # a token has at most four characters
    if not any(map(str.isalnum, line)):
        return None
    first = of(1)

    def begun(length: int) -> Hit:
        return replace(first, text=fences.closed(f"{line[:length].rstrip()}{screen.ELLIPSIS}"))

    longest = bisect_left(
        range(1, len(line)), True, key=lambda length: tokens.about(framed([begun(length)])) > budget
    )
    length = _break(line, longest)
    return begun(length) if any(map(str.isalnum, line[:length])) else None


def _break(text: str, longest: int) -> int:
    """Where to cut a text to at most some characters: behind a sentence, a clause, else a word.

    A sentence or a clause keeps half of what fits; a word is cut where there is none before it.
    """
    if longest <= 0:
        return 0
    text = text[: longest + _WORD]  # what follows decides where a word ends, and no more
    _, end = next(screen.rows(text, screen.cells(text[:longest])))
    end = min(end, longest) if any(map(str.isalnum, text[:end])) else longest
    for pattern in (_SENTENCE_END, _CLAUSE_END):
        ends = [found.end() for found in pattern.finditer(text, 0, end)]
        if ends and 2 * ends[-1] >= end:
            return ends[-1]
    return end


# --- citations ------------------------------------------------------------------------------------------


def blocks(chosen: Sequence[Hit]) -> list[tuple[Hit, str]]:
    """Cited texts of hits that follow on from each other, each with a hit that has the lines of all.

    Files come in the order of their best hit, hits in the order of their lines.
    """
    files: dict[str, list[Hit]] = {}
    for hit in chosen:
        files.setdefault(hit.path, []).append(hit)
    found = []
    for hits in files.values():
        for run in _runs(sorted(hits, key=lambda hit: (hit.start_line, hit.end_line))):
            joined = replace(run[0], end_line=max(hit.end_line for hit in run))
            text = "\n".join([_cite(joined), *(hit.text for hit in run), ""])
            found.append((joined, _harmless(text)))
    return found


def _runs(hits: Sequence[Hit]) -> list[list[Hit]]:
    """Group hits that follow on from each other under the same headings."""
    runs: list[list[Hit]] = []
    for hit in hits:
        last = runs[-1][-1] if runs else None
        # One citation tells all that must be known of both.
        alike = last and (hit.headings, hit.standing, hit.date) == (last.headings, last.standing, last.date)
        if last and alike and hit.start_line <= last.end_line + 1:
            runs[-1].append(hit)
        else:
            runs.append([hit])
    return runs


def _cite(hit: Hit) -> str:
    """`From memory/2026-02-13.md#L12-L18 (2026-02-13, Deploy)`; a heading that has the date tells it."""
    headings = [heading for heading in hit.headings if heading != hit.date]
    date = None if any(hit.date and hit.date in heading for heading in headings) else hit.date
    about = ", ".join(filter(None, [*hit.standing, date, " › ".join(headings)]))
    return screen.name(f"From {hit.citation}{f' ({about})' if about else ''}:")


@lru_cache(256)  # a block is composed anew with each hit that may fit into it
def _harmless(text: str) -> str:
    """Text that can neither close the frame it stands in nor steer the terminal it may be printed on."""
    return disarm(screen.clean(text))
