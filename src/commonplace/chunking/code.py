"""Programs cut into sections and passages: definitions by themselves, what lies between them in groups.

A section is a definition, or the lines of one (a class, the file) that its own definitions leave: a class
keeps its head, imports stand together. Its headings are the file's name and the names of the definitions
around it. A section that is too large is cut where the fewest nodes of the syntax tree are cut in two;
without a grammar, by blank lines and indentation, in one section.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from commonplace.base import filetypes
from commonplace.base.filetypes import Grammar
from commonplace.base.tuples import NamedTuple
from commonplace.chunking import breakpoints
from commonplace.chunking.settings import DEFAULT, ChunkSettings
from commonplace.markdown import structure
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
    """Definitions in order, the outer before the inner; strings by first and last line; lines of imports."""

    scopes: Sequence[Scope] = ()
    strings: Sequence[tuple[int, int]] = ()
    imports: Set[int] = frozenset()


def split(note: Note, settings: ChunkSettings = DEFAULT) -> tuple[list[Section], list[Passage]]:
    """Cut a program into sections and passages, which together cover every non-blank line once."""
    lines, grammar, outline = note.lines, filetypes.of(note.path), _Outline()
    sums = list(accumulate((structure.width(line) + 1 for line in lines), initial=0))
    if grammar and 0 < sums[-1] <= min(_LARGEST, _WIDEST * len(lines)) and usable(grammar):
        outline = _outline(lines, grammar, sums, settings.code)
    costs = _costs(lines)
    for first, last in outline.strings:
        if sums[last + 1] - sums[first] <= settings.code:
            costs[first + 1 : last + 1] = [STRING] * (last - first)
    sections: list[Section] = []
    passages: list[Passage] = []
    for names, rows in _runs(outline, lines):
        sections.append(Section((note.title, *names), rows[0] + 1, rows[-1] + 1))
        for first, last, text in _cut(rows, lines, sums, costs, settings):
            passages.append(Passage(len(sections) - 1, first + 1, last + 1, text))
    return sections, passages


def _runs(outline: _Outline, lines: Sequence[str]) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """Yield names and non-blank lines (0-based) of the same innermost definition; imports stand apart."""
    names, rows, before = tuple[str, ...](), list[int](), None
    for row, owner in enumerate(_owners(outline.scopes, len(lines))):
        if not lines[row].strip():
            continue
        key = (owner, owner is None and row in outline.imports)
        opens = owner is not None and owner.first == row
        if rows and key != before and (opens or not closes(lines[row])):
            yield names, rows
            rows = []
        if not rows:
            names, before = owner.names if owner else (), key
        rows.append(row)
    if rows:
        yield names, rows


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
    rows: Sequence[int],
    lines: Sequence[str],
    sums: Sequence[int],
    costs: Sequence[float],
    settings: ChunkSettings,
) -> Iterator[tuple[int, int, str]]:
    """Yield (first line, last line, text) of a run's passages; what is far too long is cut inside it."""
    start = 0
    while start < len(rows):
        first = rows[start]
        size = sums[first + 1] - sums[first] - 1
        if size > settings.line:
            limit = max(40, settings.piece * len(lines[first]) // size)
            for piece in breakpoints.pieces(lines[first], limit):
                yield first, first, piece
            start += 1
            continue
        end = _end(rows, start, sums, costs, settings.code)
        yield first, rows[end - 1], "\n".join(lines[first : rows[end - 1] + 1])
        start = end


def _end(rows: Sequence[int], start: int, sums: Sequence[int], costs: Sequence[float], limit: int) -> int:
    """Return where in `rows` the passage that begins at `start` ends: at the cheapest line near its share."""

    def size(end: int) -> int:
        return sums[rows[end - 1] + 1] - sums[rows[start]] - 1

    end = start + 1
    while end < len(rows) and size(end + 1) <= limit:
        end += 1
    if end == len(rows):
        return end
    rest = size(len(rows))
    share = rest / -(-rest // limit)
    best, where = STRING, end
    for place in range(end, start, -1):
        if size(place) * _LEAST_FILL < limit and best < STRING:
            break
        cost = costs[rows[place]] + _UNEVEN * ((size(place) - share) / limit) ** 2
        if cost < best:
            best, where = cost, place
    return where


# --- what is known of a program before it is cut ------------------------------------------------------------


def closes(line: str) -> bool:
    """Tell whether a line only closes the lines above it, such as `});` or `} else {`."""
    return _CLOSES.fullmatch(line) is not None


def _costs(lines: Sequence[str]) -> list[float]:
    """Return the cost of a cut before each line: levels of indentation, closing brackets, comments above."""
    costs: list[float] = []
    for line, above in zip(lines, ["", *lines], strict=False):
        cost = len(line[: len(line) - len(line.lstrip())].expandtabs(_INDENT)) / _INDENT
        cost += PARAGRAPH if above.strip() else 0.0
        cost += CLOSER if closes(line) else 0.0
        costs.append(cost + (COMMENT if line.strip() and _COMMENTED.match(above) else 0.0))
    return costs


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


def _outline(lines: Sequence[str], grammar: Grammar, sums: Sequence[int], limit: int) -> _Outline:
    """Read the definitions, strings and imports of a program, whatever is broken in it.

    A definition is looked into if it is a class, or larger than `limit`. The walk keeps a stack of its own:
    code may nest deeper than Python calls may.
    """
    scopes, strings, imports = list[Scope](), list[tuple[int, int]](), set[int]()
    tree = _parser(grammar).parse("\n".join(lines).encode("utf-8", "replace"))
    # Nodes to visit, with the names around them, and the line where a definition begins that they wrap.
    pending: list[tuple[Node, tuple[str, ...], int | None]] = [(tree.root_node, (), None)]
    while pending:
        node, names, wrapped = pending.pop()
        for child, lead, last in _led(node, wrapped, len(lines) - 1):
            first = min(child.start_point[0], last)
            if child.type in _IMPORTS and not names:
                imports.update(range(lead, last + 1))
            own = _name(child) if child.is_named and len(names) < _DEEPEST else ()
            if own and (last > first or child.type not in _TYPES):
                scope = Scope((*names, *own), min(lead, first), last)
                scopes.append(scope)
                value = child.child_by_field_name("value") or child.child_by_field_name("right")
                is_class = child.type in _CLASSES or (value is not None and value.type == "class")
                if is_class or sums[last + 1] - sums[scope.first] > limit:
                    pending.append((child, scope.names, None))
            elif last > first and "string" in child.type and child.type != "concatenated_string":
                strings.append((first, last))
            elif last > first:
                pending.append((child, names, lead if child.type in _WRAPPERS else None))
    return _Outline(sorted(scopes, key=lambda one: (one.first, -one.last)), strings, imports)


def _led(node: Node, lead: int | None, most: int) -> Iterator[tuple[Node, int, int]]:
    """Yield the children of a node, with the line of comments and decorators before each, and its last line.

    No line is larger than `most`; a node that ends before the first column of a line ends above it.
    """
    end = before = -1
    for child in node.children:
        first, (row, column) = min(child.start_point[0], most), child.end_point
        last = min(max(first, row if column else row - 1), most)
        if child.type in _LEADERS and (first > before or end == before):
            if lead is None or 0 <= end < first - _NEAR:
                lead = first
            end = last
            yield child, first, last
        else:
            yield child, lead if lead is not None and (end < 0 or first <= end + _NEAR) else first, last
            if child.is_named:  # what is not is a mark or a word such as `export`
                lead, end = None, -1
        before = last


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
