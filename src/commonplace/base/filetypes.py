"""Which files are code, by the suffix of their names; which are pictures, by their first bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from commonplace.base.tuples import NamedTuple


class Grammar(NamedTuple):
    """A programming language: its name, and the module and function that bring its grammar."""

    name: str
    module: str
    function: str = "language"


_TYPESCRIPT = "tree_sitter_typescript"
SUFFIXES = {
    **dict.fromkeys(("py", "pyi"), Grammar("python", "tree_sitter_python")),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), Grammar("javascript", "tree_sitter_javascript")),
    **dict.fromkeys(("ts", "mts", "cts"), Grammar("typescript", _TYPESCRIPT, "language_typescript")),
    "tsx": Grammar("tsx", _TYPESCRIPT, "language_tsx"),
    "go": Grammar("go", "tree_sitter_go"),
    "rs": Grammar("rust", "tree_sitter_rust"),
}
# Bitmaps alone: an SVG holds scripts and styles.
_PICTURES = {
    rb"\x89PNG\r\n\x1a\n": "image/png",
    rb"\xff\xd8\xff": "image/jpeg",
    rb"GIF8[79]a": "image/gif",
    rb"(?s)RIFF.{4}WEBP": "image/webp",
}


def picture(data: bytes) -> str:
    """Return the type of a picture by its first bytes; empty for any other file."""
    return next((kind for start, kind in _PICTURES.items() if re.match(start, data)), "")


def of(path: str) -> Grammar | None:
    """Return the programming language of a file by its name, or None."""
    head, dot, suffix = path.rpartition(".")
    return SUFFIXES.get(suffix.lower()) if dot and head and not head.endswith("/") else None


def may_be_among(globs: Iterable[str]) -> bool:
    """Tell whether one of these globs may cover code; one that names another ending does not."""
    suffixes = (glob.rpartition(".")[2] for glob in globs)
    return any(suffix.lower() in SUFFIXES or not suffix.isalnum() for suffix in suffixes)


def installed(grammar: Grammar) -> bool:
    """Tell whether the syntax of a language can be parsed here, without importing it."""
    from importlib.util import find_spec

    return all(find_spec(module) is not None for module in ("tree_sitter", grammar.module))
