"""Hits as text, JSON, Markdown or a list of files, whole or as rows of an index.

Every form is well-formed for any text: a note may hold what a terminal obeys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, chain, groupby, pairwise

from commonplace.base import remedies
from commonplace.base import tokens as estimates
from commonplace.base.tuples import NamedTuple
from commonplace.render import count, screen, to_json
from commonplace.render.screen import PLAIN, Look, Span
from commonplace.types.data import cite
from commonplace.types.data import to_data as plain
from commonplace.types.results import LISTING, WEAKLY, Hit, answered_by

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    from commonplace.types import Factor, SearchResult

STANDS_OUT, MOST_OUT = 0.6, 5  # share of the best score, and hits, that a terminal shows unfolded
PASSAGE_ROWS = 4  # rows of a passage that are shown by default
ROW_CELLS = 160  # of a row without a terminal
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
        heading = heading[: max(0, room)]
        while heading and estimates.quarters(heading + screen.ELLIPSIS) > room:
            heading = heading[:-1]
        heading = heading and heading.rstrip() + screen.ELLIPSIS
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

    On a terminal each has its number. `words` are marked. Passages are cut to `rows`; None shows all of them.
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
    return sum(estimates.about("\n".join(row.removeprefix(INDENT) for row in shown)) for shown in passages)


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


@lru_cache(64)  # shown, and counted
def passage(text: str, look: Look, pattern: re.Pattern[str] | None, limit: int | None) -> list[str]:
    """Return a passage's rows, indented and wrapped; of too many, neighbours with the most matches.

    Blank lines and comments (the inline metadata of notes) are left out unless all rows are wanted. Without a
    terminal the rows of a line are joined, and a long line is cut around its matches.
    """
    lines = _lines(text, whole=limit is None)
    width = None if look.width is None else max(20, look.width - 2 * len(INDENT))
    found = [screen.matches(line, pattern) for line in lines]
    hangs = [screen.hang(line) if width else 0 for line in lines]
    rows = [
        (at, start, stop)
        for at, line in enumerate(lines)
        if line or limit is None
        for start, stop in screen.rows(line, width or (limit and ROW_CELLS), hangs[at])
    ]
    first, last = 0, len(rows)
    if limit is not None and len(rows) > limit:
        marks = {at for at, line in enumerate(lines) if _MARK.match(line)}
        rows = [row for row in rows if row[0] not in marks]
        first, last = _densest([_matched(found[at], span) for at, *span in rows], limit)
    shown = rows[first:last]
    if width is None:
        joined = (list(group) for _, group in groupby(shown, key=lambda row: row[0]))
        shown = [(group[0][0], group[0][1], group[-1][2]) for group in joined]
    texts = []
    for number, (at, start, stop) in enumerate(shown):
        drawn = " " * (hangs[at] if start else 0) + screen.mark(lines[at], (start, stop), found[at], look)
        if (first and not number) or (start and width is None):
            drawn = f"{screen.ELLIPSIS} {drawn.lstrip()}"
        texts.append(drawn + _CUT if width is None and stop < len(lines[at]) else drawn)
    if texts and last < len(rows):
        texts[-1] = texts[-1].removesuffix(_CUT) + _CUT
    return [INDENT + text for text in texts]


def _lines(text: str, *, whole: bool) -> list[str]:
    """The cleaned lines of a passage, without comments unless all rows are wanted."""
    end = text.rfind("-->") + 3  # no opening behind the last closing mark is followed to the end of the text
    if not whole and end > 2:
        text = re.sub(_COMMENT, "", text[:end]) + text[end:]
    return [line.rstrip() for line in screen.clean(text).expandtabs(4).split("\n")]


def _matched(spans: Sequence[Span], row: Sequence[int]) -> int:
    """Count the characters of matches that reach into a row."""
    return sum(stop - start for start, stop in screen.inside(spans, (row[0], row[1])))


def _densest(matches: Sequence[int], size: int) -> tuple[int, int]:
    """Return the range of neighbouring rows with the most matches; of several the first that begins with one.

    Text behind a match says more than text before it: of a question the answer.
    """
    sums = [0, *accumulate(matches)]
    starts = range(max(1, len(matches) - size + 1))
    weights = [sums[min(at + size, len(matches))] - sums[at] for at in starts]
    most = max(weights)
    best = [at for at in starts if weights[at] == most]
    start = next((at for at in best if sum(matches[at : at + 1])), best[-1] if most else 0)
    return start, min(start + size, len(matches))


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


def standing_out(result: SearchResult) -> tuple[Hit, ...]:
    """Return the hits up to the last of the first five that scores .6 of the best; all hits of a listing."""
    if result.listing or not result.hits:
        return result.hits
    least = STANDS_OUT * max(hit.score for hit in result.hits)
    last = max(at for at, hit in enumerate(result.hits[:MOST_OUT]) if not at or hit.score >= least)
    return result.hits[: last + 1]


def footer(result: SearchResult, tokens: int | None = None, weaker: int = 0) -> str:
    """Return how many hits, which level answered, in what time; what is stale.

    `tokens` are those shown of the hits, if that is not all of them; `weaker` counts folded hits.
    """
    shown = count(result.tokens if tokens is None else tokens, "token")
    parts = [
        count(len(result.hits), "hit"),
        f"{weaker} weaker, --all" if weaker else "",
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
