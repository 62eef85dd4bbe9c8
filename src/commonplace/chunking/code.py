"""Programs cut into sections and passages: definitions by themselves, what lies between them in groups.

A section is a definition, or the lines of one (a class, the file) that its own definitions leave: a class
keeps its head, imports stand together. Its headings are the file's name and the names of the definitions
around it. A section that is too large is cut where the fewest nodes of the syntax tree are cut in two;
without a grammar, by blank lines and indentation, in one section.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from commonplace.base import filetypes
from commonplace.base.filetypes import Grammar
from commonplace.base.tuples import NamedTuple
from commonplace.chunking import breakpoints
from commonplace.chunking.settings import DEFAULT, ChunkSettings
from commonplace.types import Note, Passage, Section

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# Generated or minified: the tree is useless, and takes a hundred times the size of the text.
_WIDEST, _LARGEST = 400, 4_000_000  # characters a line on average, characters of a file
_LEAST_FILL = 4  # a passage has at least this part of the limit, unless a string prevents it
_UNEVEN = 3.0  # what a passage costs that is off its share by the limit, against the nodes that a cut spans
# Cost of a cut, besides one for each node that spans it.
PARAGRAPH, CLOSER, COMMENT, STRING = 0.5, 2.0, 6.0, 1000.0
_DEEPEST = 6  # names of a heading path; what is nested deeper belongs to the last of them
_NEAR = 2  # lines from the end of a comment to what it is about: one blank line may stand between
_INDENT = 4  # columns that count as one level where the syntax is unknown
_LONGEST_NAME = 80
_CLOSES = re.compile(r"[\s)\]}>;,]*(?:(?:else|finally)\b[\s{:]*)?")
_COMMENTED = re.compile(r"\s*(?:#|//|/?\*)")

# Roles of the nodes of a syntax tree. The names are those of the grammars (`node-types.json` of
# tree-sitter-python, -javascript, -typescript, -go and -rust); no name means different things in two of them.
# Nodes that hold definitions.
_CLASSES = frozenset({
    "class_definition", "class_declaration", "abstract_class_declaration", "internal_module", "module",
    "impl_item", "trait_item", "mod_item",
})  # fmt: skip
_FUNCTIONS = frozenset({
    "function_definition", "function_declaration", "generator_function_declaration", "method_definition",
    "method_declaration", "function_item", "macro_definition",
})  # fmt: skip
# Types without code: by themselves only where they take several lines.
_TYPES = frozenset({
    "interface_declaration", "enum_declaration", "type_alias_declaration", "type_spec", "struct_item",
    "enum_item", "union_item",
})  # fmt: skip
# Nodes that name the function or class on their other side.
_ASSIGNMENTS = {
    "variable_declarator": ("name", "value"),
    "assignment_expression": ("left", "right"),
    "field_definition": ("property", "value"),
    "public_field_definition": ("name", "value"),
}
_ASSIGNED = frozenset({"arrow_function", "function_expression", "function", "generator_function", "class"})
# Nodes around a definition that begin on its line.
_WRAPPERS = frozenset({
    "decorated_definition", "export_statement", "lexical_declaration", "variable_declaration",
    "expression_statement", "type_declaration", "ambient_declaration",
})  # fmt: skip
_LEADERS = frozenset({"comment", "line_comment", "block_comment", "decorator", "attribute_item"})
_IMPORTS = frozenset({
    "import_statement", "import_from_statement", "future_import_statement", "import_declaration",
    "package_clause", "use_declaration", "extern_crate_declaration",
})  # fmt: skip


class Scope(NamedTuple):
    """A definition that stands by itself: its names from outside in, its first and last line (0-based)."""

    names: tuple[str, ...]
    first: int
    last: int


class _Outline(NamedTuple):
    """Definitions in order, the outer before the inner; the cost of a cut before each line; import lines."""

    scopes: Sequence[Scope]
    costs: Sequence[float]
    imports: frozenset[int] = frozenset()


class _Run(NamedTuple):
    """Consecutive lines with the same innermost definition: its names, the non-blank lines (0-based)."""

    names: tuple[str, ...]
    rows: list[int]


class _Lines:
    """The lines of a file with their sizes, summed so that any stretch is measured at once."""

    def __init__(self, lines: Sequence[str], wide: int) -> None:
        self.lines = lines
        sizes = (breakpoints.width(line, wide) for line in lines)
        self._sums = list(accumulate((size + 1 for size in sizes), initial=0))

    def size(self, first: int, last: int) -> int:
        """Size of lines `first..last`, line breaks between them included."""
        return self._sums[last + 1] - self._sums[first] - 1


def split(note: Note, settings: ChunkSettings = DEFAULT) -> tuple[list[Section], list[Passage]]:
    """Cut a program into sections and passages, which together cover every non-blank line once."""
    lines = _Lines(note.lines, settings.wide)
    grammar = filetypes.of(note.path)
    total = lines.size(0, len(note.lines) - 1) if note.lines else 0
    plain = not 0 < total <= min(_LARGEST, _WIDEST * len(note.lines))
    if grammar is None or plain or not usable(grammar):
        outline = _of_text(note.lines)
    else:
        outline = _Walk(lines, settings.code).outline(grammar)
    sections: list[Section] = []
    passages: list[Passage] = []
    for run in _runs(outline, note.lines):
        sections.append(Section((note.title, *run.names), run.rows[0] + 1, run.rows[-1] + 1))
        for first, last, text in _cut(run.rows, lines, outline.costs, settings):
            passages.append(Passage(len(sections) - 1, first + 1, last + 1, text))
    return sections, passages


def _runs(outline: _Outline, lines: Sequence[str]) -> Iterator[_Run]:
    """Set lines together that belong to the same definition, imports apart from other lines."""
    run: _Run | None = None
    before: object = None
    for row, owner in enumerate(_owners(outline.scopes, len(lines))):
        line = lines[row]
        if not line.strip():
            continue
        key = (owner, owner is None and row in outline.imports)
        opens = owner is not None and owner.first == row
        if run is not None and (key == before or (not opens and closes(line))):
            run.rows.append(row)
            continue
        if run is not None:
            yield run
        run, before = _Run(owner.names if owner else (), [row]), key
    if run is not None:
        yield run


def _owners(scopes: Sequence[Scope], count: int) -> Iterator[Scope | None]:
    """Yield the innermost definition of every line; None outside of definitions."""
    around: list[Scope] = []
    coming = 0
    for row in range(count):
        while around and around[-1].last < row:
            around.pop()
        while coming < len(scopes) and scopes[coming].first <= row:
            if scopes[coming].last >= row:
                around.append(scopes[coming])
            coming += 1
        yield around[-1] if around else None


def _cut(
    rows: Sequence[int], lines: _Lines, costs: Sequence[float], settings: ChunkSettings
) -> Iterator[tuple[int, int, str]]:
    """Yield (first line, last line, text) of a run's passages; what is far too long is cut inside it."""
    start = 0
    while start < len(rows):
        first = rows[start]
        size = lines.size(first, first)
        if size > settings.line:
            limit = max(40, settings.piece * len(lines.lines[first]) // size)
            for piece in breakpoints.pieces(lines.lines[first], limit):
                yield first, first, piece
            start += 1
            continue
        end = _end(rows, start, lines, costs, settings)
        last = rows[end - 1]
        yield first, last, "\n".join(lines.lines[first : last + 1])
        start = end


def _end(
    rows: Sequence[int], start: int, lines: _Lines, costs: Sequence[float], settings: ChunkSettings
) -> int:
    """Where the passage that begins at `rows[start]` ends: the index of the row that opens the next one."""
    limit, end = settings.code, start + 1
    while end < len(rows) and lines.size(rows[start], rows[end]) <= limit:
        end += 1
    if end == len(rows):
        return end
    rest = lines.size(rows[start], rows[-1])
    share = rest / -(-rest // limit)
    best, where = STRING, end
    for place in range(end, start, -1):
        size = lines.size(rows[start], rows[place - 1])
        if size * _LEAST_FILL < limit and best < STRING:
            break
        cost = costs[rows[place]] + _UNEVEN * ((size - share) / limit) ** 2
        if cost < best:
            best, where = cost, place
    return where


# --- what is known of a program before it is cut ------------------------------------------------------------


def closes(line: str) -> bool:
    """Tell whether a line only closes the lines above it, such as `});` or `} else {`."""
    return _CLOSES.fullmatch(line) is not None


def _paragraphs(lines: Sequence[str]) -> list[float]:
    """Return the cost of a cut before each line, from blank lines and closing brackets."""
    return [
        (PARAGRAPH if above.strip() else 0.0) + (CLOSER if closes(line) else 0.0)
        for line, above in zip(lines, ["", *lines], strict=False)
    ]


def _of_text(lines: Sequence[str]) -> _Outline:
    """The outline of code whose syntax is not known: no definitions, cuts where little is indented."""
    costs = _paragraphs(lines)
    for row, line in enumerate(lines):
        bare = line.lstrip()
        costs[row] += len(line[: len(line) - len(bare)].expandtabs(_INDENT)) / _INDENT
        if row and bare and _COMMENTED.match(lines[row - 1]):
            costs[row] += COMMENT
    return _Outline((), costs)


def usable(grammar: Grammar) -> bool:
    """Tell whether the syntax of a language can be read: its grammar is installed and fits the library."""
    return filetypes.installed(grammar) and fits(grammar)


@cache
def fits(grammar: Grammar) -> bool:
    """Tell whether an installed grammar was built for this version of the library."""
    try:
        _parser(grammar)
    except (ImportError, AttributeError, TypeError, ValueError):
        return False
    return True


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
    """A walk over the syntax tree, whatever is broken in it; needs a usable grammar.

    `spans` are differences: what is added from a line on. The walk keeps a stack of its own: code may nest
    deeper than Python calls may.
    """

    def __init__(self, lines: _Lines, limit: int) -> None:
        self.lines, self.limit = lines, limit
        self.last = len(lines.lines) - 1
        self.spans = [0.0] * (self.last + 2)
        self.scopes: list[Scope] = []
        self.commented: set[int] = set()
        self.imports: set[int] = set()

    def outline(self, grammar: Grammar) -> _Outline:
        """Visit every node that takes several lines, and say what is known then."""
        text = "\n".join(self.lines.lines).encode("utf-8", "replace")
        pending = [_Visit(_parser(grammar).parse(text).root_node, (), True, None)]
        while pending:
            visit = pending.pop()
            for child, lead in self._led(visit):
                deeper = self._take(visit, child, lead)
                if deeper is not None:
                    pending.append(deeper)
        depths = accumulate(self.spans[:-1])
        costs = [own + depth for own, depth in zip(_paragraphs(self.lines.lines), depths, strict=True)]
        for row in self.commented:
            if row + 1 < len(costs):
                costs[row + 1] += COMMENT
        scopes = sorted(self.scopes, key=lambda scope: (scope.first, -scope.last))
        return _Outline(scopes, costs, frozenset(self.imports))

    def _led(self, visit: _Visit) -> Iterator[tuple[Node, int]]:
        """Children with the line that they begin on together with the comments and decorators before them."""
        lead, end, before = visit.lead, -1, -1
        for child in visit.node.children:
            first, last = self.rows(child)
            if child.type in _LEADERS and (first > before or end == before):
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
        if child.type in _IMPORTS and not visit.names:
            self.imports.update(range(lead, last + 1))
        own = _name(child) if visit.open and child.is_named else ()
        if own and (last > first or child.type not in _TYPES) and len(visit.names) < _DEEPEST:
            return self._define(child, Scope((*visit.names, *own), min(lead, first), last))
        if last <= first:
            return None
        if "string" in child.type and child.type != "concatenated_string":
            self._span(first, last, STRING if self.lines.size(first, last) <= self.limit else 1)
            return None
        self._span(first, last, 1)
        return _Visit(child, visit.names, visit.open, lead if child.type in _WRAPPERS else None)

    def _define(self, child: Node, scope: Scope) -> _Visit | None:
        """Record a definition; return it for a visit if it is a class, or too large for one passage."""
        self.scopes.append(scope)
        self._span(scope.first, scope.last, 1)
        value = child.child_by_field_name("value") or child.child_by_field_name("right")
        is_class = child.type in _CLASSES or (value is not None and value.type == "class")
        is_large = self.lines.size(scope.first, scope.last) > self.limit
        return _Visit(child, scope.names, True, None) if is_large or is_class else None

    def _span(self, first: int, last: int, cost: float) -> None:
        self.spans[first + 1] += cost
        self.spans[last + 1] -= cost

    def rows(self, node: Node) -> tuple[int, int]:
        """First and last line of a node; one that ends before the first column of a line ends above it."""
        first = min(node.start_point[0], self.last)
        row, column = node.end_point
        return first, min(max(first, row if column else row - 1), self.last)


def _name(node: Node) -> tuple[str, ...]:
    """Return the name of a definition, behind that of its receiver's type; empty for other nodes."""
    kind = node.type
    if kind in _ASSIGNMENTS:
        target, value = map(node.child_by_field_name, _ASSIGNMENTS[kind])
        return _words(target) if value is not None and value.type in _ASSIGNED else ()
    if kind not in _CLASSES and kind not in _FUNCTIONS and kind not in _TYPES:
        return ()
    own = _words(node.child_by_field_name("type" if kind == "impl_item" else "name"))
    receiver = node.child_by_field_name("receiver") if own and kind == "method_declaration" else None
    if receiver is None:
        return own
    # The type in Go's `(s *Server[T])`.
    words = _words(receiver)[0].strip("()").split("[")[0].replace("*", " ").split()
    return (*words[-1:], *own)


def _words(node: Node | None) -> tuple[str, ...]:
    text = " ".join((node.text or b"").decode("utf-8", "replace").split()) if node is not None else ""
    return (text[:_LONGEST_NAME],) if text else ()
