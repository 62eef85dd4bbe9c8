"""Hits as text, JSON, CSV, Markdown, XML or a list of files: well-formed for any text, at every edge."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from commonplace import estimates, screen
from commonplace.screen import PLAIN, Look
from commonplace.types.results import LEVEL_NAMES, Hit

if TYPE_CHECKING:
    from commonplace.types import Factor, Hit, SearchResult

_COMMENT = r"(?s)(?<![ \t])[ \t]*+<!--.*?-->"
SEARCH_FORMATS = ("text", "json", "csv", "md", "xml", "files")
PASSAGE_ROWS = 4  # rows of a passage shown unless all are asked for
INDENT = "  "
# XML 1.0 §2.2: what no document may hold, not even escaped. Compiled on use: that takes 5 ms.
NOT_XML = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_XML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;"})
XML_ATTRIBUTE = {**_XML, **str.maketrans({"\n": "&#10;", "\t": "&#9;"})}
_COLUMNS = (
    "path", "start_line", "end_line", "score", "date", "title", "headings", "collection", "docid",
    "citation", "labels", "until", "text", "also",
)  # fmt: skip

Locate = Callable[[Hit], str]  # a hit to the absolute path of its file, for links


def nowhere(hit: Hit) -> str:
    """Return no path: links are left out."""
    return ""


def hits(result: SearchResult, form: str, *, explain: bool = False) -> str:
    """Render hits in one of `SEARCH_FORMATS` but text, which `hits_text` does."""
    if form == "json":
        return to_json([hit_data(hit, explain) for hit in result.hits])
    writers: Mapping[str, Callable[[Sequence[Hit]], str]] = {
        "csv": hits_csv, "md": hits_markdown, "xml": hits_xml, "files": hits_files
    }  # fmt: skip
    return writers[form](result.hits)


def hit_data(hit: Hit, explain: bool = False) -> dict[str, Any]:
    """Return a hit as plain data; its factors only if they are asked for."""
    data: dict[str, Any] = {
        "path": hit.path,
        "start_line": hit.start_line,
        "end_line": hit.end_line,
        "score": round(hit.score, 4),
        "title": hit.title,
        "headings": list(hit.headings),
        "date": hit.date,
        "collection": hit.collection,
        "docid": hit.docid,
        "citation": hit.citation,
        "contexts": list(hit.contexts),
        "labels": list(hit.labels),
        "until": hit.until,
        "tokens": estimates.about(hit.text),
        "text": hit.text,
        "also": [{**other._asdict(), "citation": other.citation} for other in hit.others],
    }
    if explain:
        data["factors"] = [
            {"name": name, "value": value, **({"note": note} if note else {})}
            for name, value, note in shares(hit.score, hit.factors)
        ]
    return data


def to_json(data: object) -> str:
    """Render plain data as JSON that is valid UTF-8, names of files in other encodings included."""
    import json

    text = json.dumps(data, ensure_ascii=False, indent=2)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(data, indent=2)
    return text


def hits_csv(found: Sequence[Hit]) -> str:
    """Render hits as CSV with a header line (RFC 4180); `also` has a citation a line."""
    import csv
    import io

    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(_COLUMNS)
    for hit in found:
        also = "\n".join(other.citation for other in hit.others)
        labels = " ".join(hit.labels)
        data = {**hit_data(hit), "headings": " › ".join(hit.headings), "labels": labels, "also": also}
        writer.writerow(["" if data[name] is None else data[name] for name in _COLUMNS])
    return out.getvalue().removesuffix("\r\n")


def hits_markdown(found: Sequence[Hit]) -> str:
    """Render hits as Markdown: a heading that cites, a line about, the passage as a quotation."""
    return "\n".join(part for hit in found for part in _markdown(hit)).removesuffix("\n")


def _markdown(hit: Hit) -> Iterator[str]:
    yield f"### `{_quoted(hit.citation)}`\n"
    yield " · ".join([*about(hit), f"{hit.score:.2f}", f"`#{hit.docid}`"]) + "\n"
    for context in hit.contexts:
        yield f"*{screen.one_line(context)}*\n"
    if hit.others:
        yield ", ".join(f"`{_quoted(told)}`" for told in _also(hit)).join(("also in ", "\n"))
    yield from (f"> {line}" for line in screen.clean(hit.text).split("\n"))
    yield ""


def _quoted(text: str) -> str:
    """A text that may stand between backquotes."""
    return screen.one_line(text).replace("`", "ˋ")


def _also(hit: Hit) -> list[str]:
    """Where else it stands what a hit says, with the day where the path does not tell it."""
    return [
        f"{other.citation} ({other.date})" if other.date and other.date not in other.path else other.citation
        for other in hit.others
    ]


def hits_xml(found: Sequence[Hit]) -> str:
    """Render hits as XML; characters that XML cannot hold are left out."""
    rows = [row for hit in found for row in _xml(hit)]
    return "\n".join(["<hits>", *rows, "</hits>"]) if rows else "<hits/>"


def _xml(hit: Hit) -> Iterator[str]:
    data = hit_data(hit)
    names = ("path", "start_line", "end_line", "score", "title", "date", "until", "collection", "docid")
    attributes = "".join(
        f' {name}="{xml_text(str(data[name]), XML_ATTRIBUTE)}"'
        for name in (*names, "citation")
        if data[name] is not None
    )
    labels = f' labels="{" ".join(hit.labels)}"' if hit.labels else ""
    yield f"  <hit{attributes}{labels}>"
    for tag, values in (("heading", hit.headings), ("context", hit.contexts), ("text", (hit.text,))):
        yield from (f"    <{tag}>{xml_text(value, _XML)}</{tag}>" for value in values)
    for other in hit.others:
        date = f' date="{xml_text(other.date, XML_ATTRIBUTE)}"' if other.date else ""
        yield f'    <also{date} citation="{xml_text(other.citation, XML_ATTRIBUTE)}"/>'
    yield "  </hit>"


def xml_text(text: str, escapes: Mapping[int, str | int | None]) -> str:
    """Escape a text for XML; what no document may hold is left out."""
    return re.sub(NOT_XML, "", text).translate(dict(escapes))


def hits_files(found: Iterable[Hit]) -> str:
    """List the files of hits, each once, in the order of their best hit."""
    return "\n".join(dict.fromkeys(hit.path for hit in found))


def hits_text(
    result: SearchResult,
    look: Look = PLAIN,
    *,
    words: Sequence[str] = (),
    rows: int | None = PASSAGE_ROWS,
    explain: bool = False,
    locate: Locate = nowhere,
) -> str:
    """Render hits for people: where, when, under which headings, the score; then the passage.

    `words` are marked where they stand. Passages are cut to `rows`, None shows all of them.
    """
    pattern = screen.matcher(words)
    blocks = []
    for hit in result.hits:
        lines = [headline(hit, look, locate)]
        if explain or rows is None:
            lines += [look.style(f"{INDENT}({screen.one_line(c)})", "dim") for c in hit.contexts]
        lines += passage(hit.text, look, pattern, rows)
        if hit.others:
            told = ", ".join(screen.one_line(one) for one in _also(hit))
            lines.append(look.style(f"{INDENT}also in {told}", "dim"))
        if explain:
            lines.append(look.style(INDENT + explanation(hit), "dim"))
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def about(hit: Hit) -> list[str]:
    """Return a hit's standing, date and heading path; headings that only repeat the date are left out."""
    headings = [screen.one_line(h) for h in hit.headings]
    told = [h for h in headings if h and not (hit.date and h.startswith(hit.date))]
    return [part for part in (*hit.standing, screen.one_line(hit.date or ""), " › ".join(told)) if part]


def place(hit: Hit) -> str:
    """Return `path:12-18`, or `path:12` for a single line."""
    last = f"-{hit.end_line}" if hit.end_line != hit.start_line else ""
    return f"{screen.one_line(hit.path)}:{hit.start_line}{last}"


def headline(hit: Hit, look: Look = PLAIN, locate: Locate = nowhere) -> str:
    """Return the first line of a hit; on a terminal the score stands at the right edge."""
    where, told, score = place(hit), " · ".join(about(hit)), f"{hit.score:.2f}"
    gap = 2
    if look.width is not None:
        room = look.width - screen.cells(where) - len(score) - 4
        told = screen.shorten(told, max(room, 0))
        gap += max(0, room - screen.cells(told))
    shown = look.link(look.style(where, "cyan"), locate(hit), hit.start_line)
    middle = f"  {look.style(told, 'dim')}" if told else "  " if look.width is not None else ""
    return f"{shown}{middle}{' ' * gap}{look.style(score, 'green')}"


def passage(text: str, look: Look, pattern: re.Pattern[str] | None, limit: int | None) -> list[str]:
    """Return a passage's rows, indented and wrapped; of too many, those with the most matches.

    Blank lines and comments (the inline metadata of notes) are left out unless all rows are asked for.
    """
    end = text.rfind("-->") + 3  # behind it, every opening would be followed to the end of the text
    if limit is not None and end > 2:
        text = re.sub(_COMMENT, "", text[:end]) + text[end:]
    text = screen.clean(text).expandtabs(4)
    lines = [line.rstrip() for line in text.split("\n") if limit is None or line.strip()]
    width = None if look.width is None else max(20, look.width - 2 * len(INDENT))
    drawn: list[tuple[str, int]] = []
    for line in lines:
        spans = screen.matches(line, pattern)
        hang = screen.hang(line) if width else 0
        for row in screen.rows(line, width, hang) if width else [(0, len(line))]:
            # Spans come in order, none overlapping: those of a row stand beside each other.
            first = bisect_right(spans, row[0], key=lambda span: span[1])
            own = spans[first : bisect_left(spans, row[1], key=lambda span: span[0])]
            drawn.append((" " * hang * (row[0] > 0) + screen.mark(line, row, own, look), len(own)))
    return [INDENT + row for row in _window(drawn, limit)]


def _window(drawn: Sequence[tuple[str, int]], limit: int | None) -> list[str]:
    """The rows to show: all, or the `limit` in a row with the most matches, with ellipses."""
    shown = [row for row, _ in drawn]
    if limit is None or len(shown) <= limit:
        return shown
    sums = [0, *accumulate(found for _, found in drawn)]
    weights = [sums[at + limit] - sums[at] for at in range(len(drawn) - limit + 1)]
    start = weights.index(max(weights))
    shown = shown[start : start + limit]
    if start:
        shown[0] = f"{screen.ELLIPSIS} {shown[0].lstrip()}"
    if start + limit < len(drawn):
        shown[-1] = f"{shown[-1]} {screen.ELLIPSIS}"
    return shown


def explanation(hit: Hit) -> str:
    """Return the factors of a hit as a sum."""
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


def footer(result: SearchResult, tokens: int = 0) -> str:
    """Return how many hits, the tokens shown of them, which level answered, in what time; what is stale."""
    parts = [count(len(result.hits), "hit")]
    if result.hits and result.all_tokens:
        parts.append(f"{count(tokens or result.tokens, 'token')} of {result.all_tokens:,} in all notes")
    parts.append(LEVEL_NAMES[result.level])
    if result.timings_ms:
        parts.append(f"{sum(result.timings_ms.values()):.0f} ms")
    if result.stale:
        parts.append(f"stale: {count(result.stale, 'file')}, run `commonplace sync`")
    return " · ".join(parts)


def timings(result: SearchResult) -> str:
    """Return the time of each stage of a search, in order."""
    return " · ".join(f"{stage} {spent:.1f} ms" for stage, spent in result.timings_ms.items())


def count(number: int, noun: str, plural: str = "") -> str:
    """Return `1,234 hits`, `1 hit`, and with a plural of its own `2 entries`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
