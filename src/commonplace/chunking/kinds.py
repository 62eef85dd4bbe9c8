"""What the nodes of a syntax tree are to a reader: definitions and their names, imports, what leads on.

The names are those of the grammars (`node-types.json` of tree-sitter-python, -javascript, -typescript, -go
and -rust); no name means different things in two of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

# What holds definitions of its own.
CLASSES = frozenset({
    "class_definition", "class_declaration", "abstract_class_declaration", "internal_module", "module",
    "impl_item", "trait_item", "mod_item",
})  # fmt: skip
FUNCTIONS = frozenset({
    "function_definition", "function_declaration", "generator_function_declaration", "method_definition",
    "method_declaration", "function_item", "macro_definition",
})  # fmt: skip
# Types without code: by themselves only where they take several lines.
TYPES = frozenset({
    "interface_declaration", "enum_declaration", "type_alias_declaration", "type_spec", "struct_item",
    "enum_item", "union_item",
})  # fmt: skip
# What gives a name to the function or class on its other side.
_ASSIGNMENTS = {
    "variable_declarator": ("name", "value"),
    "assignment_expression": ("left", "right"),
    "field_definition": ("property", "value"),
    "public_field_definition": ("name", "value"),
}
_ASSIGNED = frozenset({"arrow_function", "function_expression", "function", "generator_function", "class"})
# What stands around a definition and begins with it.
WRAPPERS = frozenset({
    "decorated_definition", "export_statement", "lexical_declaration", "variable_declaration",
    "expression_statement", "type_declaration", "ambient_declaration",
})  # fmt: skip
LEADERS = frozenset({"comment", "line_comment", "block_comment", "decorator", "attribute_item"})
IMPORTS = frozenset({
    "import_statement", "import_from_statement", "future_import_statement", "import_declaration",
    "package_clause", "use_declaration", "extern_crate_declaration",
})  # fmt: skip
_LONGEST_NAME = 80


def name(node: Node) -> tuple[str, ...]:
    """Return the name that a definition has, behind that of its receiver's type; empty for what is none."""
    kind = node.type
    if kind in _ASSIGNMENTS:
        target, value = map(node.child_by_field_name, _ASSIGNMENTS[kind])
        return _told(target) if value is not None and value.type in _ASSIGNED else ()
    if kind not in CLASSES and kind not in FUNCTIONS and kind not in TYPES:
        return ()
    if kind == "impl_item":
        return _told(node.child_by_field_name("type"))
    own = _told(node.child_by_field_name("name"))
    receiver = node.child_by_field_name("receiver") if own and kind == "method_declaration" else None
    return (*_receiver(receiver), *own) if receiver is not None else own


def holds_definitions(node: Node) -> bool:
    """Tell whether a definition is a class or the like, whose own definitions stand by themselves."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    return node.type in CLASSES or (value is not None and value.type == "class")


def is_string(node: Node) -> bool:
    """Tell whether a node is one string literal."""
    return "string" in node.type and node.type != "concatenated_string"


def _told(node: Node | None) -> tuple[str, ...]:
    text = " ".join((node.text or b"").decode("utf-8", "replace").split()) if node is not None else ""
    return (text[:_LONGEST_NAME],) if text else ()


def _receiver(node: Node) -> tuple[str, ...]:
    """The type in Go's `(s *Server[T])`."""
    words = _told(node)[0].strip("()").split("[")[0].replace("*", " ").split()
    return (words[-1],) if words else ()
