"""Hits as text, JSON, Markdown or a list of files, whole or as rows of an index.

Every form is well-formed for any text: a note may hold what a terminal obeys.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain, pairwise

from commonplace.base import remedies
from commonplace.base import tokens as estimates
from commonplace.base.tuples import NamedTuple
from commonplace.render import count, screen, to_json
from commonplace.render.screen import PLAIN, Look, Span
from commonplace.types.data import cite
from commonplace.types.results import LISTING, WEAKLY, Hit, answered_by

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    from commonplace.types import Factor, SearchResult

PASSAGE_ROWS = 4  # rows of a passage that are shown by default
# Mean cells of a row: of shown rows without a terminal, and of a passage of short lines.
ROW_CELLS, SHORT_CELLS = 160, 80
PARTS = 4  # of what is shown of a line that is cut around its matches
ROW_TOKENS = 20  # of the reference, date, heading and score of a row; what a format puts around them is more
INDENT = "  "
_CUT = f" {screen.ELLIPSIS}"
_MARK = re.compile(r"[\W_]*$|\s*(?:`{3}|~{3})")  # a line without words, or the fence of a code block
_COMMENT = r"(?s)(?<![ \t])[ \t]*+<!--.*?-->"

Locate = Callable[[Hit], str]  # a hit to the absolute path of its file, for links


class Row(NamedTuple):
    """A hit in its shortest form; `heading` is cut so that the row stays within its tokens.

    One of a listing has no `score`.
    """

    ref: str
    date: str
    heading: str
    score: str

    @property
    def text(self) -> str:
        """The row on one line."""
        return " ".join(filter(None, self))

    @property
    def tokens(self) -> int:
        """About how many tokens the row is."""
        return estimates.about(self.text)

    def data(self) -> dict[str, object]:
        """The row as plain data."""
        values = {"date": self.date or None, "score": float(self.score or 0), "tokens": self.tokens}
        return {**self._asdict(), **values}

    def styled(self, look: Look) -> str:
        """The row on one line of a terminal."""
        ref, score = look.style(self.ref, "cyan"), look.style(self.score, "green")
        return self._replace(ref=ref, score=score).text


def row(hit: Hit) -> Row:
    """Return the row of a hit, with a reference that `get` takes."""
    named = f"{hit.workspace}:" if hit.workspace else ""
    ref = screen.place(f"{named}#{hit.docid}", hit.start_line, hit.end_line)
    bare = Row(ref, screen.one_line(hit.date or "")[:10], "", score(hit))
    headings = [screen.one_line(heading) for heading in hit.headings]
    names = [screen.one_line(hit.path).rpartition("/")[2], screen.one_line(hit.title), *headings]
    heading = next((name for name in reversed(names) if name and name != bare.date), "")
    room = 4 * ROW_TOKENS - estimates.quarters(bare.text) - 1
    if estimates.quarters(heading) > room:
        end, room = 0, room - estimates.quarters(screen.ELLIPSIS)
        while end < len(heading) and (room := room - estimates.quarters(heading[end])) >= 0:
            end += 1
        heading = heading[:end].rstrip() + screen.ELLIPSIS if end else ""
    return bare._replace(heading=heading)


def rows(hits: Sequence[Hit], form: str, look: Look = PLAIN) -> str:
    """Render hits as rows in one of `render.FORMS`."""
    if form == "files":
        return files(hits)
    short = [*map(row, hits)]
    if form == "json":
        return to_json([*map(Row.data, short)])
    if form == "md":
        return "\n".join(one._replace(ref=f"- `{one.ref}`").text for one in short)
    lead = numbers(len(short), look)
    return "\n".join(lead[at] + one.styled(look) for at, one in enumerate(short))


def numbers(count: int, look: Look) -> list[str]:
    """Return what stands before each hit: on a terminal, where a hit can be picked by it, its number."""
    if look.width is None:
        return [""] * count
    return [look.style(f"{number:>{len(str(count))}}", "bold") + " " for number in range(1, count + 1)]


def in_form(hits: Sequence[Hit], form: str, *, explain: bool = False) -> str:
    """Render hits in one of `render.FORMS` but text, which `as_text` does."""
    if form == "files":
        return files(hits)
    if form == "json":
        return to_json([to_data(hit, explain) for hit in hits])
    return "\n".join(chain.from_iterable(map(_markdown, hits))).removesuffix("\n")


def to_data(hit: Hit, explain: bool = False) -> dict[str, Any]:
    """Return a hit as plain data, with its factors if wanted."""
    from commonplace.types.data import to_data as plain

    data: dict[str, Any] = plain(hit)
    if hit.workspace:
        data["workspace"] = hit.workspace
    if explain:
        rows = shares(hit.score, hit.factors)
        data["factors"] = [{"name": n, "value": v, **({"note": note} if note else {})} for n, v, note in rows]
    return data


def files(hits: Iterable[Hit]) -> str:
    """List the files of hits, each once, in the order of their best hit."""
    return "\n".join(dict.fromkeys(screen.name(_named(hit)) for hit in hits))


def _markdown(hit: Hit) -> list[str]:
    """A heading that cites, a line about the hit, the passage as a quotation."""
    # Between backquotes no other may stand.
    cited = cite(_named(hit), hit.start_line, hit.end_line)
    place, *others = (f"`{place.replace('`', 'ˋ')}`" for place in (screen.name(cited), *_also(hit)))
    return [
        f"### {place}\n",
        " · ".join(filter(None, [*about(hit), score(hit), f"`#{hit.docid}`"])) + "\n",
        *(f"*{screen.one_line(context)}*\n" for context in hit.contexts),
        *([f"also in {', '.join(others)}\n"] if others else []),
        *(f"> {line}" for line in screen.clean(hit.text).split("\n")),
        "",
    ]


def _also(hit: Hit) -> list[str]:
    """Where else it stands what a hit says, with the day where the path does not tell it."""
    days = (f" ({one.date})" if one.date and one.date not in one.path else "" for one in hit.others)
    return [screen.name(one.citation + day) for one, day in zip(hit.others, days, strict=True)]


def as_text(
    result: SearchResult,
    look: Look = PLAIN,
    *,
    words: Sequence[str] = (),
    rows: int | None = PASSAGE_ROWS,
    explain: bool = False,
    locate: Locate | None = None,
) -> str:
    """Render hits for people: where, when, under which headings, the score; then the passage.

    On a terminal each has its number.

    `words` are marked. Passages are cut to `rows`; None shows all of them.
    """
    pattern = screen.matcher(words)
    blocks = []
    narrow = look if look.width is None else look._replace(width=look.width - len(str(len(result.hits))) - 1)
    for hit, number in zip(result.hits, numbers(len(result.hits), look), strict=True):
        lines = [number + headline(hit, narrow, locate)]
        if explain or rows is None:
            lines += [f"{INDENT}({screen.one_line(c)})" for c in hit.contexts]
        lines += passage(hit.text, look, pattern, rows)
        lines += [f"{INDENT}also in {', '.join(_also(hit))}"] if hit.others else []
        lines += [INDENT + explanation(hit)] if explain else []
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def shown_tokens(
    result: SearchResult, look: Look = PLAIN, *, words: Sequence[str] = (), rows: int | None = PASSAGE_ROWS
) -> int:
    """Estimate the tokens of the rows of passages that `as_text` shows."""
    plain, pattern = Look(width=look.width), screen.matcher(words)
    passages = (passage(hit.text, plain, pattern, rows) for hit in result.hits)
    texts = ([row.removeprefix(INDENT) for row in shown] for shown in passages)
    return sum(estimates.about("\n".join(text)) for text in texts)


def _named(hit: Hit) -> str:
    """The path of a hit, behind the name of its workspace where several are searched."""
    is_named = not hit.workspace or hit.path.startswith(f"{hit.workspace}:")
    return hit.path if is_named else f"{hit.workspace}:{hit.path}"


def about(hit: Hit) -> list[str]:
    """Return a hit's standing, date and heading path, which does not repeat the date."""
    path = " › ".join(undated(hit.headings, hit.date, hit.path))
    return [part for part in (*hit.standing, screen.one_line(hit.date or ""), path) if part]


def undated(headings: Iterable[str], day: str | None, path: str) -> list[str]:
    """Return headings without the date at their beginning; the heading of a daily note is dropped."""
    is_daily = day is not None and day in path.rpartition("/")[2]

    def rest(line: str) -> str:
        after = line.removeprefix(day) if day else line
        if after == line or after[:1].isdigit() or after[:1] == "-":
            return line
        return "" if is_daily else after.lstrip(" ,:·–—")

    return list(filter(None, map(rest, map(screen.one_line, headings))))


def score(hit: Hit) -> str:
    """Return the score of a hit as people read it; empty for one of a listing."""
    return "" if hit.is_listed else f"{hit.score:.2f}"


def headline(hit: Hit, look: Look = PLAIN, locate: Locate | None = None) -> str:
    """Return the first line of a hit; on a terminal the score stands at the right edge."""
    where = screen.place(_named(hit), hit.start_line, hit.end_line)
    detail, value = " · ".join(about(hit)), look.style(score(hit), "green")
    if look.width is not None:
        room = max(0, look.width - screen.cells(where) - len(score(hit)) - 4)
        detail = screen.pad(screen.shorten(detail, room), room if value else 0)
    shown = look.link(look.style(where, "cyan"), locate(hit) if locate else "", hit.start_line)
    behind = [detail] if detail or (value and look.width is not None) else []
    return "  ".join([shown, *behind, *filter(None, [value])])


class _Row(NamedTuple):
    """A row of a passage: its line (from 0), its part of that line, and the number of matching characters."""

    line: int
    span: Span
    matches: int


def passage(text: str, look: Look, pattern: re.Pattern[str] | None, limit: int | None) -> list[str]:
    """Return a passage's rows, indented and wrapped; of too many, neighbours with the most matches.

    Blank lines and comments (the inline metadata of notes) are left out unless all rows are wanted. Of short
    lines half as many more are shown before any is left out; a row of a table keeps its header. Without a
    terminal a line is one row, and a long line is cut around its matches.
    """
    lines = _lines(text, whole=limit is None)
    width = None if look.width is None else max(20, look.width - 2 * len(INDENT))
    found = [screen.matches(line, pattern) for line in lines]
    hangs = [screen.hang(line) if width else 0 for line in lines]
    rows = [
        _Row(at, span, _matched(found[at], span))
        for at, line in enumerate(lines)
        if line or limit is None
        for span in screen.rows(line, width, hangs[at])
    ]
    chosen: Sequence[int] = range(len(rows))
    if limit is not None and len(rows) > limit:
        rows = [row for row in rows if not _MARK.match(lines[row.line])]
        chosen = _chosen(rows, lines, limit)
    shown = [rows[at] for at in chosen]
    if limit is not None and width is None:
        shown = _narrowed(shown, lines, found, limit * ROW_CELLS)
    texts = []
    for row, above, at in zip(shown, [-1, *chosen], chosen, strict=False):
        line, (start, stop) = lines[row.line], row.span
        drawn = " " * (hangs[row.line] if start else 0) + screen.mark(line, row.span, found[row.line], look)
        if at > above + 1 or (start and width is None):
            drawn = f"{screen.ELLIPSIS} {drawn.lstrip()}"
        texts.append(drawn + _CUT if width is None and stop < len(line) else drawn)
    if chosen and chosen[-1] < len(rows) - 1:
        texts[-1] = texts[-1].removesuffix(_CUT) + _CUT
    return [INDENT + text for text in texts]


def _lines(text: str, *, whole: bool) -> list[str]:
    """The cleaned lines of a passage, without comments unless all rows are wanted."""
    end = text.rfind("-->") + 3  # no opening behind the last closing mark is followed to the end of the text
    if not whole and end > 2:
        text = re.sub(_COMMENT, "", text[:end]) + text[end:]
    return [line.rstrip() for line in screen.clean(text).expandtabs(4).split("\n")]


def _matched(spans: Sequence[Span], row: Span) -> int:
    """Count the characters of matches that reach into a row."""
    return sum(stop - start for start, stop in screen.inside(spans, row))


def _narrowed(
    rows: Sequence[_Row], lines: Sequence[str], found: Sequence[Sequence[Span]], room: int
) -> list[_Row]:
    """Cut the longest of whole lines around their matches, so that all have `room` cells together."""
    widths = [screen.cells(lines[row.line]) for row in rows]
    # The most cells that each line may have.
    share = bisect_right(range(room + 1), room, key=lambda most: sum(min(one, most) for one in widths)) - 1
    narrowed = []
    for row, width in zip(rows, widths, strict=True):
        if width > share:
            spans = screen.rows(lines[row.line], max(20, share // PARTS))
            parts = [_Row(row.line, span, _matched(found[row.line], span)) for span in spans]
            window = _densest(parts, min(PARTS, len(parts)))
            row = row._replace(span=(parts[window.start].span[0], parts[window.stop - 1].span[1]))
        narrowed.append(row)
    return narrowed


def _chosen(rows: Sequence[_Row], lines: Sequence[str], limit: int) -> Sequence[int]:
    """Choose the rows to show: all of a few short lines, else the densest and the header of their table."""
    is_short = sum(screen.cells(lines[at]) for at in {row.line for row in rows}) <= limit * SHORT_CELLS
    if len(rows) <= limit + (limit // 2 if is_short else 0):
        return range(len(rows))
    window = _densest(rows, limit)
    header = window.start
    in_table = [lines[row.line].lstrip().startswith("|") for row in rows]
    while header and in_table[header] and in_table[header - 1] and lines[rows[header].line - 1]:
        header -= 1
    if header == window.start or limit < 2:
        return window
    window = _densest(rows, limit - 1)
    return window if header in window else [header, *window]


def _densest(rows: Sequence[_Row], size: int) -> range:
    """Return neighbouring rows with the most matches; of several the first that begins with a match.

    Text behind a match says more than text before it: of a question the answer.
    """
    sums = [0, *accumulate(row.matches for row in rows)]
    weights = [sums[at + size] - sums[at] for at in range(len(rows) - size + 1)]
    most = max(weights)
    starts = [at for at, weight in enumerate(weights) if weight == most] if most else [0]
    start = next((at for at in starts if rows[at].matches), starts[-1])
    return range(start, start + size)


def explanation(hit: Hit) -> str:
    """Return the factors of a hit as a sum."""
    if hit.is_listed:
        return LISTING
    rows = shares(hit.score, hit.factors)
    terms = [f"{value:.4f} {name}" + (f" ({note})" if note else "") for name, value, note in rows]
    return f"{hit.score:.4f} = {' + '.join(terms)}".replace("+ -", "- ")


def shares(score: float, factors: Sequence[Factor]) -> list[tuple[str, float, str]]:
    """Return factors rounded to 4 places so that they add up to the rounded score, with its limit if need be.

    Their sums are rounded, so that the rest of one goes to the next.
    """
    sums = [round(total, 4) for total in accumulate((factor.value for factor in factors), initial=0.0)]
    values = [round(after - before, 4) for before, after in pairwise(sums)]
    rest = round(round(score, 4) - sums[-1], 4)
    shown = [(one.name, value, one.note) for one, value in zip(factors, values, strict=True)]
    return [*shown, *([("limit", rest, "")] if rest else [])]


def footer(result: SearchResult, tokens: int | None = None) -> str:
    """Return how many hits, which level answered, in what time; what is stale.

    `tokens` are those shown of the hits, if that is not all of them.
    """
    shown = count(result.tokens if tokens is None else tokens, "token")
    parts = [
        count(len(result.hits), "hit"),
        WEAKLY if result.weak and result.hits else "",
        f"{shown} of {result.all_tokens:,} in all notes" if result.hits and result.all_tokens else "",
        result.engine or answered_by(result.level, result.mode, listing=result.listing),
        f"{sum(result.timings_ms.values()):.0f} ms" if result.timings_ms else "",
        stale(result.stale),
    ]
    return " · ".join(filter(None, parts))


def stale(files: int) -> str:
    """Say how many files are not read yet, and what helps; empty for none."""
    return f"stale: {count(files, 'file')}, {remedies.say('sync')}" if files else ""


def timings(result: SearchResult) -> str:
    """Return the time of each stage of a search, in order."""
    return " · ".join(f"{stage} {spent:.1f} ms" for stage, spent in result.timings_ms.items())
