"""Hits to the block of text that goes into a prompt: framed, dated, cited, inside a token budget."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from commonplace.base import tokens
from commonplace.base.tuples import NamedTuple
from commonplace.config.settings import Recall as Settings
from commonplace.markdown import fences
from commonplace.redaction.recalled import CLOSING, OPENING, disarm
from commonplace.render import screen
from commonplace.search.dedupe import Repeats
from commonplace.types import Hit, Recall, SearchResult
from commonplace.types.results import WEAK

_WORD = 80  # characters of a word, at most
# A hit whose meaning was weighed and that still has less than this share of the best score only fills the
# budget. Measured with 4,000 characters: at .3 no English set loses evidence, at .5 some lose .05. Where
# words decide alone, scores fall much faster, and the same share would cost a Chinese set .19.
FLOOR = 0.3
# Without a clear answer more passages do not help: of sixty questions to a sample vault as many
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


class PackedBlock(NamedTuple):
    """The text of a block, and its hits as shown, best first.

    `left_out` counts hits that did not fit, `repeated` those that repeat others in whole or in part.
    """

    text: str
    hits: tuple[Hit, ...]
    left_out: int
    repeated: int = 0


def near_best(message: str, result: SearchResult) -> SearchResult:
    """Keep the hits that answer a message about as well as the best one, if that does at all.

    Hits of triggers and instructions stay whatever they score.
    """
    from commonplace.search import wording

    least = max(LEAST_BEST, NEAR_BEST * max((hit.score for hit in result.hits), default=0.0))
    is_short = tokens.about(message) <= SHORT and not wording.asks(message)
    if is_short and result.confidence is not None and result.confidence < CLEAR_OF_SHORT:
        least = math.inf
    return replace(result, hits=tuple(hit for hit in result.hits if hit.score >= least or WEAK in hit.labels))


def recall(result: SearchResult, budget: int, settings: Settings, *, strict: bool = False) -> Recall:
    """Compose the block of a search, with its warnings; a `strict` one is empty without a clear answer."""
    # Without tentative hits, unless wanted, and without outdated ones, unless these are all.
    guesses = [] if settings.tentative else [hit for hit in result.hits if "tentative" in hit.labels]
    hits = [hit for hit in result.hits if hit not in guesses]
    hits = [hit for hit in hits if OUTDATED.isdisjoint(hit.labels)] or hits
    best, guess = (max((hit.score for hit in some), default=0.0) for some in (hits, guesses))
    weak = result.weak or best < CLEAR_BESIDE * guess
    if weak:  # a strict search still returns hits of triggers and instructions
        hits = [] if strict and not result.weak else worth_telling(hits)[:WEAK_HITS]
    block = compose(hits, budget)
    least = min((hit.score for hit in block.hits), default=0.0)
    return Recall(
        query=result.query, text=block.text, tokens=tokens.about(block.text), budget=budget, hits=block.hits,
        level=result.level, left_out=block.left_out, stale=result.stale, warnings=result.warnings,
        all_tokens=result.all_tokens, weak=weak, listing=result.listing,
        tentative=sum(hit.score >= least for hit in worth_telling(guesses)), confidence=result.confidence,
        repeated=block.repeated + sum(len(hit.others) for hit in block.hits),
    )  # fmt: skip


def compose(hits: Sequence[Hit], budget: int) -> PackedBlock:
    """Compose a block of whole passages without repetitions; no hits, no text.

    A hit that does not fit is passed over for smaller ones behind it, but the best one is cut rather than
    left out.
    """
    chosen: list[Hit] = []
    repeats = Repeats()
    left_out = repeated = 0
    most = tokens.quarters(framed(()))  # quarters of tokens that the block has, at most
    for hit in worth_telling(hits):
        rest = repeats.rest(hit)
        if rest is None:
            repeated += 1
            continue
        # The most that a hit adds; less where it continues another.
        larger = most + tokens.quarters(framed([rest]).removeprefix(OPENING)) + 1
        if larger > 4 * budget:  # all of it is composed anew only where that decides
            larger = tokens.quarters(framed([*chosen, rest]))
        shown = rest if larger <= 4 * budget else None if chosen else shortened(rest, budget)
        if shown is None:
            left_out += 1
            continue
        most = larger
        chosen.append(shown)
        repeats.add(shown)
        repeated += rest is not hit
    return PackedBlock(framed(chosen) if chosen else "", tuple(chosen), left_out, repeated)


def worth_telling(hits: Sequence[Hit]) -> list[Hit]:
    """Leave out hits without a statement, and those that score far less than the best."""
    telling = [hit for hit in hits if not _is_structure(hit, hits)]
    least = FLOOR * telling[0].score if telling else 0.0
    return [hit for hit in telling if hit.score >= least or all(f.name != "meaning" for f in hit.factors)]


def _is_structure(hit: Hit, hits: Iterable[Hit]) -> bool:
    """Tell if a hit has no statement: a heading with a day, front matter of a note with another hit."""
    if hit.text.startswith("#") and hit.text.strip("# \n") in ("", hit.date):
        return True
    is_front = hit.start_line == 1 and hit.text.startswith("---\n")
    return is_front and any(other.path == hit.path and other is not hit for other in hits)


def framed(chosen: Sequence[Hit], rest: str = "") -> str:
    """Put hits into the frame, by file and line, with further text below them that cannot close it."""
    return enclosed([*(text for _, text in blocks(chosen)), *([rest] if rest else [])])


def enclosed(texts: Iterable[str]) -> str:
    """Put texts into the frame, disarmed so that they cannot close it."""
    return "\n".join([OPENING, *map(_harmless, texts), CLOSING])


def numbered(hits: Sequence[Hit]) -> str:
    """Put hits into the frame, each behind its number from 1 and what cites it."""
    return enclosed(f"[{n}] {_cite(hit)}\n{hit.text}\n" for n, hit in enumerate(hits, 1))


# --- hits cut ---------------------------------------------------------------------------------------------


def shortened(hit: Hit, budget: int) -> Hit | None:
    """Cut the text of a hit, at lines where possible, until a block with it alone fits; None if it cannot.

    `…` marks the cut.
    """

    def begun(length: int, mark: str) -> Hit:
        last = max(hit.start_line, hit.end_line - hit.text.count("\n", length))
        return replace(hit, text=fences.closed(hit.text[:length].rstrip()) + mark, end_line=last)

    def most(lengths: Sequence[int], mark: str) -> int:
        """The most of some lengths that fits; the more characters, the more tokens."""
        too_long = bisect_left(
            lengths, True, key=lambda length: tokens.about(framed([begun(length, mark)])) > budget
        )
        return lengths[too_long - 1] if too_long else 0

    lines = most([found.start() for found in re.finditer("\n", hit.text)], f"\n{screen.ELLIPSIS}")
    if hit.text[:lines].strip():
        return begun(lines, f"\n{screen.ELLIPSIS}")
    line = hit.text.partition("\n")[0][: 4 * budget + _WORD]  # a token has at most four characters
    length = most(range(1, len(line)), screen.ELLIPSIS)
    if length < len(line):  # behind the last word or full-width mark that fits, if there is one
        ends = [found.end() for found in re.finditer(r"\S(?=\s)|[。！？，；：、]", line[: length + 1])]
        end = max((end for end in ends if end <= length), default=0)
        length = end if any(map(str.isalnum, line[:end])) else length
    return begun(length, screen.ELLIPSIS) if any(map(str.isalnum, line[:length])) else None


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
    """Disarm a text: it can neither close its frame nor control a terminal."""
    return disarm(screen.clean(text))
