"""Hits as text, JSON, Markdown or a list of files, whole or as rows of an index.

Every form is well-formed for any text: a note may hold what a terminal obeys.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain, takewhile

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

PASSAGE_ROWS = 4  # rows of a passage shown unless all are asked for
# Cells of a row in the mean: of those shown where there is no terminal, and of a passage of short lines.
ROW_CELLS, SHORT_CELLS = 160, 80
PARTS = 4  # of what is shown of a line that is cut around its matches
ROW_TOKENS = 20  # of the reference, date, heading and score of a row; what a format puts around them is more
INDENT = "  "
_CUT = f" {screen.ELLIPSIS}"
_COMMENT = r"(?s)(?<![ \t])[ \t]*+<!--.*?-->"

Locate = Callable[[Hit], str]  # a hit to the absolute path of its file, for links


Day = tuple[int, ...]


class Line(NamedTuple):
    """What a line of a passage is: a mark that says nothing, one that only says who speaks, a question.

    `header` is the line (from 0) that heads the table of a row, `day` the year, month and day that a line
    begins with, as far as it names them.
    """

    is_mark: bool = False
    header: int | None = None
    day: Day = ()
    opens: bool = False
    asks: bool = False


Read = Callable[[Sequence[str]], Sequence[Line]]


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
        return {
            **self._asdict(),
            "date": self.date or None,
            "score": float(self.score or 0),
            "tokens": self.tokens,
        }

    def styled(self, look: Look) -> str:
        """The row on one line of a terminal."""
        styles = ("cyan", "", "", "green")
        parts = ((part, style) for part, style in zip(self, styles, strict=True) if part)
        return " ".join(look.style(part, style) if style else part for part, style in parts)


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
        return "\n".join(" ".join([f"- `{one.ref}`", *filter(None, one[1:])]) for one in short)
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
    """Return a hit as plain data; its factors only if they are asked for."""
    from commonplace.types.data import to_data as plain

    data: dict[str, Any] = plain(hit)
    if hit.workspace:
        data["workspace"] = hit.workspace
    if explain:
        data["factors"] = [
            {"name": name, "value": value, **({"note": note} if note else {})}
            for name, value, note in shares(hit.score, hit.factors)
        ]
    return data


def files(hits: Iterable[Hit]) -> str:
    """List the files of hits, each once, in the order of their best hit."""
    return "\n".join(dict.fromkeys(screen.name(_named(hit)) for hit in hits))


def _markdown(hit: Hit) -> list[str]:
    """A heading that cites, a line about the hit, the passage as a quotation."""
    # Between backquotes no other may stand.
    cited = cite(_named(hit), hit.start_line, hit.end_line)
    places = [place.replace("`", "ˋ") for place in (screen.name(cited), *_also(hit))]
    also = ", ".join(f"`{place}`" for place in places[1:])
    return [
        f"### `{places[0]}`\n",
        " · ".join(filter(None, [*about(hit), score(hit), f"`#{hit.docid}`"])) + "\n",
        *(f"*{screen.one_line(context)}*\n" for context in hit.contexts),
        *([f"also in {also}\n"] if also else []),
        *(f"> {line}" for line in screen.clean(hit.text).split("\n")),
        "",
    ]


def _also(hit: Hit) -> list[str]:
    """Where else it stands what a hit says, with the day where the path does not tell it."""
    return [
        screen.name(
            f"{other.citation} ({other.date})"
            if other.date and other.date not in other.path
            else other.citation
        )
        for other in hit.others
    ]


def as_text(
    result: SearchResult,
    look: Look = PLAIN,
    *,
    words: Sequence[str] = (),
    rows: int | None = PASSAGE_ROWS,
    explain: bool = False,
    locate: Locate | None = None,
    read: Read | None = None,
) -> str:
    """Render hits for people: where, when, under which headings, the score; then the passage.

    On a terminal each has its number.

    `words` are marked where they stand. Passages are cut to `rows`, None shows all of them; `read` tells what
    their lines are, so that what is left belongs together.
    """
    pattern = screen.matcher(words)
    blocks = []
    narrow = look if look.width is None else look._replace(width=look.width - len(str(len(result.hits))) - 1)
    for hit, number in zip(result.hits, numbers(len(result.hits), look), strict=True):
        lines = [number + headline(hit, narrow, locate)]
        if explain or rows is None:
            lines += [f"{INDENT}({screen.one_line(c)})" for c in hit.contexts]
        lines += passage(hit.text, look, pattern, rows, read)
        if hit.others:
            also = ", ".join(_also(hit))
            lines.append(f"{INDENT}also in {also}")
        if explain:
            lines.append(INDENT + explanation(hit))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def shown_tokens(
    result: SearchResult,
    look: Look = PLAIN,
    *,
    words: Sequence[str] = (),
    rows: int | None = PASSAGE_ROWS,
    read: Read | None = None,
) -> int:
    """Return about how many tokens the rows of passages are that `as_text` shows."""
    plain, pattern = Look(width=look.width), screen.matcher(words)
    texts = ([row.removeprefix(INDENT) for row in passage(hit.text, plain, pattern, rows, read)]
             for hit in result.hits)  # fmt: skip
    return sum(estimates.about("\n".join(text)) for text in texts)


def _named(hit: Hit) -> str:
    """The path of a hit, behind the name of its workspace where several were asked."""
    is_named = not hit.workspace or hit.path.startswith(f"{hit.workspace}:")
    return hit.path if is_named else f"{hit.workspace}:{hit.path}"


def about(hit: Hit) -> list[str]:
    """Return a hit's standing, date and heading path, which does not repeat the date."""
    path = " › ".join(undated(hit.headings, hit.date, hit.path))
    return [part for part in (*hit.standing, screen.one_line(hit.date or ""), path) if part]


def undated(headings: Iterable[str], day: str | None, path: str) -> list[str]:
    """Return headings without the date that they begin with; that of a note of a day says nothing more."""
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
    detail, value = " · ".join(about(hit)), score(hit)
    gap = 2
    if look.width is not None:
        room = look.width - screen.cells(where) - len(value) - 4
        detail = screen.shorten(detail, max(room, 0))
        gap += max(0, room - screen.cells(detail))
    shown = look.link(look.style(where, "cyan"), locate(hit) if locate else "", hit.start_line)
    middle = f"  {detail}" if detail else "  " if look.width is not None else ""
    return f"{shown}{middle}{' ' * gap}{look.style(value, 'green')}" if value else f"{shown}{middle}".rstrip()


def passage(
    text: str, look: Look, pattern: re.Pattern[str] | None, limit: int | None, read: Read | None = None
) -> list[str]:
    """Return a passage's rows, indented and wrapped; of too many, those with the most matches.

    Blank lines and comments (the inline metadata of notes) are left out unless all rows are asked for; where
    there are too many rows, so are lines that are marks alone. Of short lines half as many more are shown
    before any is left out. Without a terminal a line is one row, and a long one is cut around its matches.
    """
    lines = _lines(text, whole=limit is None)
    width = None if look.width is None else max(20, look.width - 2 * len(INDENT))
    found = [screen.matches(line, pattern) for line in lines]
    hangs = [screen.hang(line) if width else 0 for line in lines]
    rows = [
        _Row(at, span, span[0] == 0, _matched(found[at], span))
        for at, line in enumerate(lines)
        if line or limit is None
        for span in screen.rows(line, width, hangs[at])
    ]
    chosen: Sequence[int] = range(len(rows))
    if limit is not None and len(rows) > limit:
        rows, chosen = _selected(rows, lines, read(lines) if read else [Line()] * len(lines), limit)
    shown = [rows[at] for at in chosen]
    if limit is not None and width is None:
        shown = _narrowed(shown, lines, found, limit * ROW_CELLS)
    texts = []
    for row, above, at in zip(shown, [-1, *chosen], chosen, strict=False):
        line, hang = lines[row.line], hangs[row.line] if row.span[0] else 0
        drawn = " " * hang + screen.mark(line, row.span, _inside(found[row.line], row.span), look)
        texts.append(_with_ellipses(drawn, row, line, skips=at > above + 1, whole=width is not None))
    if chosen and chosen[-1] < len(rows) - 1:
        texts[-1] = texts[-1].removesuffix(_CUT) + _CUT
    return [INDENT + text for text in texts]


def _lines(text: str, *, whole: bool) -> list[str]:
    """The lines of a passage as a screen takes them, without its comments unless they are wanted."""
    end = text.rfind("-->") + 3  # behind it, every opening would be followed to the end of the text
    if not whole and end > 2:
        text = re.sub(_COMMENT, "", text[:end]) + text[end:]
    return [line.rstrip() for line in screen.clean(text).expandtabs(4).split("\n")]


def _selected(
    rows: Sequence[_Row], lines: Sequence[str], told: Sequence[Line], limit: int
) -> tuple[list[_Row], Sequence[int]]:
    """The rows of a passage that say something, and which of them are shown."""
    telling = _telling(rows, told)
    is_short = sum(screen.cells(lines[at]) for at in {row.line for row in telling}) <= limit * SHORT_CELLS
    if len(telling) <= limit + (limit // 2 if is_short else 0):
        return telling, range(len(telling))
    return telling, _chosen(telling, told, limit)


def _with_ellipses(drawn: str, row: _Row, line: str, *, skips: bool, whole: bool) -> str:
    """A drawn row with an ellipsis where rows above it are left out, and where a part of its line is."""
    start, stop = row.span
    if skips or (start and not whole):
        drawn = f"{screen.ELLIPSIS} {drawn.lstrip()}"
    return drawn if whole or stop == len(line) else drawn + _CUT


class _Row(NamedTuple):
    """A row of a passage: the line that it is of (from 0) and its part of it, whether it begins a line, how
    many characters of it match: the whole of a date says more than its year and its month elsewhere.

    What stands below a line that only says who speaks begins nothing.
    """

    line: int
    span: Span
    begins: bool
    matches: int


def _inside(spans: Sequence[Span], row: Span) -> Sequence[Span]:
    """Those of some spans that a row holds; they are in order and do not overlap."""
    first = bisect_right(spans, row[0], key=lambda span: span[1])
    return spans[first : bisect_left(spans, row[1], key=lambda span: span[0])]


def _matched(spans: Sequence[Span], row: Span) -> int:
    """How many characters of some spans a row has."""
    return sum(stop - start for start, stop in _inside(spans, row))


def _telling(rows: Iterable[_Row], lines: Sequence[Line]) -> list[_Row]:
    """Rows without those of marks."""
    telling: list[_Row] = []
    opened, last = False, -1  # the line above only says who speaks
    for row in rows:
        if lines[row.line].is_mark:
            continue
        if row.line != last:
            opened, last = last >= 0 and lines[last].opens, row.line
        telling.append(row._replace(begins=row.begins and not opened))
    return telling


def _narrowed(
    rows: Sequence[_Row], lines: Sequence[str], found: Sequence[Sequence[Span]], room: int
) -> list[_Row]:
    """Rows of whole lines, the longest cut around their matches, so that all have `room` cells together."""
    widths = [screen.cells(lines[row.line]) for row in rows]
    share = room
    for left, width in zip(range(len(rows), 0, -1), sorted(widths), strict=True):
        share = room // left
        if width > share:
            break
        room -= width
    narrowed = []
    for row, width in zip(rows, widths, strict=True):
        if width > share:
            spans = screen.rows(lines[row.line], max(20, share // PARTS))
            parts = [_Row(row.line, span, span[0] == 0, _matched(found[row.line], span)) for span in spans]
            window = _densest(parts, range(len(parts)), min(PARTS, len(parts)))
            row = row._replace(span=(parts[window.start].span[0], parts[window.stop - 1].span[1]))
        narrowed.append(row)
    return narrowed


def _chosen(rows: Sequence[_Row], lines: Sequence[Line], limit: int) -> list[int]:
    """The rows with the most matches, with the header of their table and what answers their question.

    Of days in their order that the matches do not tell apart it is the last, below what heads them.
    """
    if dated := _by_day(rows, lines):
        head = [at for at in range(dated.start) if rows[at].line == rows[dated.start - 1].line]
        head = head[: min(1, limit - 1)]
        return [*head, *dated[len(head) - limit :]]
    window = _densest(rows, range(len(rows)), limit)
    best = max(window, key=lambda at: rows[at].matches)
    header = lines[rows[window[0]].line].header
    beside = [at for at in range(window[0]) if rows[at].line == header][:1]
    if lines[rows[best].line].asks:
        below = [at for at in range(best, len(rows)) if rows[at].line > rows[best].line]
        opened = sum(1 for _ in takewhile(lambda at: lines[rows[at].line].opens, below))
        beside += [at for at in below[: opened + 1] if at not in window]
    beside = beside[: limit - 1]
    if beside:
        size = limit - len(beside)
        around = range(max(window.start, best - size + 1), min(window.stop, best + size))
        window = _densest(rows, around, size)
    return sorted([*beside, *window])


def _by_day(rows: Sequence[_Row], lines: Sequence[Line]) -> range | None:
    """The rows from the first day to the last, where most lines begin with a day, the days rise, and as many
    matches belong to each, none to what is neither of a day nor heads them.
    """
    days: list[Day] = []
    matches: list[int] = []
    start = stop = 0
    last = -1
    for at, row in enumerate(rows):
        day = lines[row.line].day if row.line != last else ()
        if day:
            start = start if days else at
            days.append(day)
            matches.append(0)
        if days:
            matches[-1] += row.matches
        stop = at + 1 if day or row.line == last else stop
        last = row.line
    if 2 * len(days) <= len({row.line for row in rows}) or days != sorted(days) or days[0] == days[-1]:
        return None
    head = rows[start - 1].line if start else -1
    aside = any(row.matches for row in [*rows[:start], *rows[stop:]] if row.line != head)
    return None if aside or len(set(matches)) > 1 else range(start, stop)


def _densest(rows: Sequence[_Row], among: range, size: int) -> range:
    """Rows one after the other with the most matches; of several the first where a line with matches begins.

    What follows says more than what stands before: of a question the answer.
    """
    sums = [0, *accumulate(rows[at].matches for at in among)]
    weights = [sums[at + size] - sums[at] for at in range(len(among) - size + 1)]
    most = max(weights)
    starts = [among[at] for at, weight in enumerate(weights) if weight == most]
    if not most:
        return range(starts[0], starts[0] + size)
    beginning = 0  # of the line that a row is of
    matched: set[int] = set()
    for at in range(among.stop):
        beginning = at if rows[at].begins else beginning
        if rows[at].matches:
            matched.add(beginning)
    start = next((at for at in starts if at in matched), starts[len(starts) // 2])
    return range(start, start + size)


def explanation(hit: Hit) -> str:
    """Return the factors of a hit as a sum."""
    if hit.is_listed:
        return LISTING
    terms = [f"{value:.4f} {name}" + (f" ({note})" if note else "") for name, value, note in
             shares(hit.score, hit.factors)]  # fmt: skip
    return f"{hit.score:.4f} = {' + '.join(terms)}".replace("+ -", "- ")


def shares(score: float, factors: Sequence[Factor]) -> list[tuple[str, float, str]]:
    """Return factors rounded to 4 places so that they add up to the rounded score.

    What rounding leaves goes to the largest; what more is missing (a score is kept within 0..1) gets a
    line of its own.
    """
    rounded = [(f.name, round(f.value, 4), f.note) for f in factors]
    rest = round(round(score, 4) - sum(value for _, value, _ in rounded), 4)
    if not rest:
        return rounded
    if not rounded or abs(rest) > 0.00005 * (len(rounded) + 1) + 1e-9:
        return [*rounded, ("limit", rest, "")]
    largest = max(range(len(rounded)), key=lambda number: abs(rounded[number][1]))
    name, value, note = rounded[largest]
    rounded[largest] = (name, round(value + rest, 4), note)
    return rounded


def footer(result: SearchResult, tokens: int | None = None) -> str:
    """Return how many hits, which level answered, in what time; what is stale.

    `tokens` are those shown of the hits, if that is not all of them.
    """
    parts = [count(len(result.hits), "hit"), *([WEAKLY] if result.weak and result.hits else [])]
    if result.hits and result.all_tokens:
        shown = count(result.tokens if tokens is None else tokens, "token")
        parts.append(f"{shown} of {result.all_tokens:,} in all notes")
    parts.append(result.engine or answered_by(result.level, result.mode, listing=result.listing))
    if result.timings_ms:
        parts.append(f"{sum(result.timings_ms.values()):.0f} ms")
    if result.stale:
        parts.append(f"stale: {count(result.stale, 'file')}, {remedies.say('sync')}")
    return " · ".join(parts)


def timings(result: SearchResult) -> str:
    """Return the time of each stage of a search, in order."""
    return " · ".join(f"{stage} {spent:.1f} ms" for stage, spent in result.timings_ms.items())
