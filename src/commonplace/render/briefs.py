"""Hits as rows of an index: one line each, short whatever it names, with a reference that `get` takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from commonplace import estimates, screen
from commonplace.screen import PLAIN, Look
from commonplace.types.results import Hit

ROW_TOKENS = 20  # of the reference, date, heading and score of a row; what a format puts around them is more
_COLUMNS = ("ref", "date", "heading", "score")


class Row(NamedTuple):
    """A hit in its shortest form; `heading` is cut so that the row stays within its tokens."""

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


def row(hit: Hit) -> Row:
    """Return the row of a hit."""
    last = f"-{hit.end_line}" if hit.end_line != hit.start_line else ""
    bare = Row(
        f"#{hit.docid}:{hit.start_line}{last}", screen.one_line(hit.date or "")[:10], "", f"{hit.score:.2f}"
    )
    headings = [screen.one_line(heading) for heading in hit.headings]
    names = [screen.one_line(hit.path).rpartition("/")[2], screen.one_line(hit.title), *headings]
    told = [name for name in names if name and name != bare.date][-1:]  # the innermost that says something
    room = 4 * ROW_TOKENS - estimates.quarters(bare.text) - 1
    return bare._replace(heading=_cut("".join(told), room))


def _cut(text: str, quarters: int) -> str:
    """Cut a text to a number of quarters of a token."""
    if estimates.quarters(text) <= quarters:
        return text
    kept, left = 0, quarters - estimates.quarters(screen.ELLIPSIS)
    while kept < len(text) and (left := left - estimates.quarters(text[kept])) >= 0:
        kept += 1
    return text[:kept].rstrip() + screen.ELLIPSIS if kept else ""


def rows(found: Sequence[Hit], form: str, look: Look = PLAIN) -> str:
    """Render hits as rows in one of `SEARCH_FORMATS`."""
    if form == "files":
        return "\n".join(dict.fromkeys(hit.path for hit in found))
    made = [row(hit) for hit in found]
    if form == "json":
        from commonplace.render.results import to_json

        return to_json([row_data(one) for one in made])
    if form == "csv":
        return _csv(made)
    if form == "xml":
        return _xml(made)
    if form == "md":
        return "\n".join(f"- {_markdown(one)}" for one in made)
    return "\n".join(_text(one, look) for one in made)


def row_data(one: Row) -> dict[str, Any]:
    """Return a row as plain data."""
    return {**one._asdict(), "date": one.date or None, "score": float(one.score), "tokens": one.tokens}


def _text(one: Row, look: Look) -> str:
    styles = ("cyan", "dim", "", "green")
    told = [(part, style) for part, style in zip(one, styles, strict=True) if part]
    return " ".join(look.style(part, style) if style else part for part, style in told)


def _markdown(one: Row) -> str:
    return " ".join([f"`{one.ref}`", *filter(None, one[1:])])


def _csv(made: Sequence[Row]) -> str:
    import csv
    import io

    out = io.StringIO(newline="")
    csv.writer(out).writerows([_COLUMNS, *made])
    return out.getvalue().removesuffix("\r\n")


def _xml(made: Sequence[Row]) -> str:
    from commonplace.render.results import XML_ATTRIBUTE, xml_text

    if not made:
        return "<hits/>"
    lines = []
    for one in made:
        told = [(name, value) for name, value in one._asdict().items() if value]
        attributes = "".join(f' {name}="{xml_text(value, XML_ATTRIBUTE)}"' for name, value in told)
        lines.append(f"  <hit{attributes}/>")
    return "\n".join(["<hits>", *lines, "</hits>"])
