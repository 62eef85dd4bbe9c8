"""What is known of a program before it is cut: its definitions, and what a cut before each line would cost.

With a grammar that comes from the syntax tree, without one from blank lines and indentation. The walk over
the tree keeps a stack of its own: code may nest deeper than Python calls may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from commonplace.base.filetypes import Grammar
from commonplace.chunking import kinds
from commonplace.render import screen

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# What a cut costs: one for each node that spans it, and this much more.
PARAGRAPH, CLOSER, COMMENT, STRING = 0.5, 2.0, 6.0, 1000.0
_DEEPEST = 6  # names of a heading path; what is nested deeper belongs to the last of them
_NEAR = 2  # lines from the end of a comment to what it is about: one blank line may stand between
_REASON = 120  # characters of what a library says of itself
_INDENT = 4  # columns that count as one level where the syntax is unknown
_CLOSES = re.compile(r"[\s)\]}>;,]*(?:(?:else|finally)\b[\s{:]*)?")
_COMMENTED = re.compile(r"\s*(?:#|//|/?\*)")


class Scope(NamedTuple):
    """A definition that stands by itself: its names from outside in, its first and last line (0-based)."""

    names: tuple[str, ...]
    first: int
    last: int


class Outline(NamedTuple):
    """Definitions in order, the outer before the inner; the cost of a cut before each line; import lines."""

    scopes: Sequence[Scope]
    costs: Sequence[float]
    imports: frozenset[int] = frozenset()


class Lines:
    """The lines of a file with their sizes, summed so that any stretch is measured at once."""

    def __init__(self, lines: Sequence[str], sizes: Sequence[int]) -> None:
        self.lines = lines
        self._sums = list(accumulate((size + 1 for size in sizes), initial=0))

    def size(self, first: int, last: int) -> int:
        """Size of lines `first..last`, line breaks between them included."""
        return self._sums[last + 1] - self._sums[first] - 1


def closes(line: str) -> bool:
    """Tell whether a line only ends what stands above it, such as `});` or `} else {`."""
    return _CLOSES.fullmatch(line) is not None


def of_text(lines: Lines) -> Outline:
    """The outline of code whose syntax is not known: no definitions, cuts where little is indented."""
    costs = _paragraphs(lines.lines)
    for row, line in enumerate(lines.lines):
        bare = line.lstrip()
        costs[row] += len(line[: len(line) - len(bare)].expandtabs(_INDENT)) / _INDENT
        if row and _COMMENTED.match(lines.lines[row - 1]) and bare:
            costs[row] += COMMENT
    return Outline((), costs)


def of_syntax(lines: Lines, grammar: Grammar, limit: int) -> Outline:
    """The outline of a program, whatever is broken in it; needs the extra `code`, without `trouble`."""
    walk = _Walk(lines, limit)
    walk.run(_parser(grammar).parse("\n".join(lines.lines).encode("utf-8", "replace")).root_node)
    depths = accumulate(walk.spans[:-1])
    costs = [own + depth for own, depth in zip(_paragraphs(lines.lines), depths, strict=True)]
    for row in walk.commented:
        if row + 1 < len(costs):
            costs[row + 1] += COMMENT
    scopes = sorted(walk.scopes, key=lambda scope: (scope.first, -scope.last))
    return Outline(scopes, costs, frozenset(walk.imports))


def _paragraphs(lines: Sequence[str]) -> list[float]:
    """What a cut costs by the lines alone."""
    above = ["", *lines][: len(lines)]
    return [
        (PARAGRAPH if before.strip() else 0.0) + (CLOSER if closes(line) else 0.0)
        for line, before in zip(lines, above, strict=True)
    ]


@cache
def trouble(grammar: Grammar) -> str:
    """Say why a grammar that is installed cannot be used, or return an empty text."""
    try:
        _parser(grammar)
    except (ImportError, AttributeError, TypeError, ValueError) as error:  # built for another version
        return f"{grammar.module} cannot be used ({screen.shorten(screen.one_line(str(error)), _REASON)})"
    return ""


def _parser(grammar: Grammar) -> Parser:
    from importlib import import_module

    from tree_sitter import Language, Parser

    return Parser(Language(getattr(import_module(grammar.module), grammar.function)()))


class _Visit(NamedTuple):
    """A node whose children are looked at: the names around it, whether definitions in it stand alone."""

    node: Node
    names: tuple[str, ...]
    open: bool
    lead: int | None  # the line where a definition begins that this node is a wrapper of


class _Walk:
    """A walk over the tree; `spans` are differences: what is added from a line on."""

    def __init__(self, lines: Lines, limit: int) -> None:
        self.lines, self.limit = lines, limit
        self.last = len(lines.lines) - 1
        self.spans = [0.0] * (self.last + 2)
        self.scopes: list[Scope] = []
        self.commented: set[int] = set()
        self.imports: set[int] = set()

    def run(self, root: Node) -> None:
        """Visit every node that takes several lines."""
        pending = [_Visit(root, (), True, None)]
        while pending:
            visit = pending.pop()
            for child, lead in self._led(visit):
                deeper = self._take(visit, child, lead)
                if deeper is not None:
                    pending.append(deeper)

    def _led(self, visit: _Visit) -> Iterator[tuple[Node, int]]:
        """Children with the line that they begin on together with the comments and decorators before them."""
        lead, end, before = visit.lead, -1, -1
        for child in visit.node.children:
            first, last = self.rows(child)
            if child.type in kinds.LEADERS and (first > before or end == before):
                if lead is None or 0 <= end < first - _NEAR:
                    lead = first
                end = last
                if first > before and child.type not in ("decorator", "attribute_item"):
                    self.commented.update(range(first, last + 1))
                yield child, first
            else:
                near = lead is not None and (end < 0 or first <= end + _NEAR)
                yield child, lead if lead is not None and near else first
                if child.is_named:  # what is not is a mark or a word such as `export`
                    lead, end = None, -1
            before = last

    def _take(self, visit: _Visit, child: Node, lead: int) -> _Visit | None:
        """Note what a child is; return it for a visit if there may be more to know in it."""
        first, last = self.rows(child)
        if child.type in kinds.IMPORTS and not visit.names:
            self.imports.update(range(lead, last + 1))
        own = kinds.name(child) if visit.open and child.is_named else ()
        if own and (last > first or child.type not in kinds.TYPES) and len(visit.names) < _DEEPEST:
            return self._define(visit, child, Scope((*visit.names, *own), min(lead, first), last))
        if last <= first:
            return None
        if kinds.is_string(child):
            self._span(first, last, STRING if self.lines.size(first, last) <= self.limit else 1)
            return None
        self._span(first, last, 1)
        return _Visit(child, visit.names, visit.open, lead if child.type in kinds.WRAPPERS else None)

    def _define(self, visit: _Visit, child: Node, scope: Scope) -> _Visit | None:
        """Note a definition; what stands in it matters for a class, and where it must be cut."""
        self.scopes.append(scope)
        self._span(scope.first, scope.last, 1)
        large = self.lines.size(scope.first, scope.last) > self.limit
        if large or kinds.holds_definitions(child):
            return _Visit(child, scope.names, True, None)
        return None

    def _span(self, first: int, last: int, cost: float) -> None:
        self.spans[first + 1] += cost
        self.spans[last + 1] -= cost

    def rows(self, node: Node) -> tuple[int, int]:
        """First and last line of a node; one that ends before the first column of a line ends above it."""
        first = min(node.start_point[0], self.last)
        row, column = node.end_point
        return first, min(max(first, row if column else row - 1), self.last)
