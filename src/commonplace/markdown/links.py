"""Links of Markdown outside code and private parts: led elsewhere, and labels of definitions renamed.

Links are inline (`[x](a.md#plan)`), definitions (`[1]: a.md`), HTML (`<a href="a.md">`) or those of a wiki
(`[[a#Plan|x]]`). All of it is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from urllib.parse import quote, unquote

from commonplace.base.tuples import NamedTuple
from commonplace.markdown import fences, metadata, structure
from commonplace.redaction.redact import private_parts, strip_private

_LINK = re.compile(
    r"(?P<open>\]\(<?|^ {0,3}\[[^\]\n]+\]:[ \t]*<?)"
    r"(?P<to>[^()\s<>#?]*)(?P<query>\?[^()\s<>#]*)?(?P<at>#[^()\s<>]*)?(?P<close>)",
    re.MULTILINE,
)
_HTML = re.compile(
    r"(?P<open><(?:a|img)\s(?:[^<>]*?\s)??(?:href|src)\s*+=\s*+[\"']?)"
    r"(?P<to>[^\s<>#?\"']*)(?P<query>\?[^\s<>#\"']*)?(?P<at>#[^\s<>\"']*)?(?P<close>)",
    re.IGNORECASE,
)
_WIKI = re.compile(
    r"(?P<open>\[\[)(?P<to>[^\[\]|#\n]*)(?P<query>)(?P<at>#[^\[\]|\n]*)?(?P<close>(?:\|[^\[\]\n]*)?\]\])"
)
_ELSEWHERE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")  # an address of the web
_SPAN = re.compile(r"(?<!`)(`{1,9})(?!`)(?:(?!\n[ \t]*\n)[\s\S]){1,2000}?(?<!`)\1(?!`)")  # of code
# A label, with what shows that it defines, names another, or is none: a box, an image, the text of a link.
_LABEL = re.compile(
    r"(?:(?P<box>^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\[[ xX]\][ \t]))"
    r"|(?P<start>^ {0,3})|(?P<before>(?<=[\]\\!])))?"
    r"\[(?P<label>[^\[\]\n]+)\](?P<empty>\[\](?![\[(:]))?(?=(?P<behind>[\[(:]?))",
    re.MULTILINE,
)
_DEFINITION = re.compile(r"^ {0,3}\[([^\]\n]+)\]:[ \t]*(\S.*)$", re.MULTILINE)


class Link(NamedTuple):
    """A link as it is written: the path without escapes, empty for a place in the note that holds it.

    `place` is empty or begins with `#`; `line` counts from 1.
    """

    path: str
    query: str
    place: str
    line: int
    is_wiki: bool


def changed(text: str, change: Callable[[Link], tuple[str, str] | None]) -> str:
    """Return a text with its links led to the path and the place that `change` returns; None leaves one.

    Links into the web are not asked for; code and private parts stay as they are.
    """

    def instead(match: re.Match[str], line: int) -> str:
        path, query, place = match["to"], match["query"] or "", match["at"] or ""
        if _ELSEWHERE.match(path) or not (path or place):
            return match[0]
        is_wiki = match["open"] == "[["
        link = Link(path.strip() if is_wiki else unquote(path), query, place, line, is_wiki)
        if (target := change(link)) is None:
            return match[0]
        now = quote(target[0], safe="/._-~+@()") if "%" in path and not is_wiki else target[0]
        return f"{match['open']}{now}{query}{target[1]}{match['close']}"

    for pattern in (_LINK, _HTML, _WIKI):
        text = _sub(pattern, instead, text)
    return text


def slug(heading: str) -> str:
    """Return the anchor that forges make of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(headings: Iterable[str]) -> Iterator[str]:
    """Yield the anchors of the headings of a note in order: a number sets those apart that are alike."""
    count: Counter[str] = Counter()
    for anchor in map(slug, headings):
        yield f"{anchor}-{count[anchor]}" if count[anchor] else anchor
        count[anchor] += 1


# --- labels -----------------------------------------------------------------------------------------------


def definitions(text: str) -> dict[str, str]:
    """Return what the labels of a text stand for (`[1]: …`, `[^1]: …`), as they are written."""
    return {match[1]: match[2] for match, _ in _outside(_DEFINITION, text)}


def labels(text: str) -> set[str]:
    """Return what is a label in a text, or would be one if it were defined (`[x]`)."""
    return {match["label"] for match, _ in _outside(_LABEL, text) if match["box"] is None}


def relabelled(text: str, names: Mapping[str, str]) -> str:
    """Return a text in which labels have other names, also those that are their own text (`[1]`, `[1][]`)."""

    def instead(match: re.Match[str], _: int) -> str:
        label, before = match["label"], text[match.start("label") - 2 : match.start("label") - 1]
        if label not in names or match["box"] is not None:
            return match[0]
        lead, name = match[0].partition("[")[0], names[label]
        is_defined = match["start"] is not None and match["behind"] == ":"
        if label.startswith("^") or is_defined or before == "]":
            return f"{lead}[{name}]{match['empty'] or ''}"
        if match["behind"] or match["before"] is not None:
            return match[0]
        return f"{lead}[{label}][{name}]"

    return _sub(_LABEL, instead, text)


# --- code -------------------------------------------------------------------------------------------------


def _sub(pattern: re.Pattern[str], change: Callable[[re.Match[str], int], str], text: str) -> str:
    """Replace what matches outside code and private parts; `change` gets the line of a match as well."""
    parts: list[str] = []
    done = 0
    for match, line in _outside(pattern, text):
        parts += text[done : match.start()], change(match, line)
        done = match.end()
    return "".join([*parts, text[done:]])


def _outside(pattern: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield what matches outside code and private parts, with the line of its end."""
    starts = _starts(text)
    hidden = _hidden(text, starts)
    for match in pattern.finditer(text):
        at = bisect_right(hidden, match.start(), key=lambda span: span[0]) - 1
        if at < 0 or match.start() >= hidden[at][1]:
            yield match, bisect_right(starts, match.end())


def _starts(text: str) -> list[int]:
    """Where each line starts, and where one behind the last would."""
    return list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))


def _hidden(text: str, starts: Sequence[int]) -> list[tuple[int, int]]:
    """The blocks and spans of code and the private parts of a text, in order, none within another."""
    lines = [line.removesuffix("\r") for line in strip_private(text).split("\n")]
    front = metadata.front_matter(lines)
    found, _ = fences.find(lines, front[1] if front else 0)
    spans = [
        (starts[first - 1], starts[last])
        for first, last in [*((one.first, one.last) for one in found), *_indented(lines)]
    ]
    spans += [(start, end) for start, end, _ in private_parts(text)]
    spans += [match.span() for match in _SPAN.finditer(text)]
    apart: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if apart and start < apart[-1][1]:
            apart[-1] = apart[-1][0], max(end, apart[-1][1])
        else:
            apart.append((start, end))
    return apart


def _indented(lines: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines of indented code: below a blank line that no item stands above."""
    is_code, after_blank, in_list = False, False, False
    for number, line in enumerate(lines, 1):
        if line.strip():
            is_code = line.startswith(("    ", "\t")) and (is_code or (after_blank and not in_list))
            if is_code:
                yield number, number
            else:
                in_list = structure.ITEM.match(line) is not None or line.startswith(("  ", "\t"))
        after_blank = not line.strip()
