"""Reading the text files of a workspace, as one more tool of an agent: contained, capped, redacted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.agent import answers
from commonplace.agent.tools import Answer, Caller, Tool
from commonplace.base import paths
from commonplace.base.errors import NoteNotFound, NoteUnreadable, OutsideRoots
from commonplace.base.root import Root

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import Excerpt

SUFFIXES = (".md", ".markdown", ".txt", ".rst", ".org", ".csv")
MOST_BYTES = 2_000_000
_MOST_NAMES = 20  # of a folder, told where a file is not found


def read(memory: Memory, given: Mapping[str, Any], caller: Caller) -> Answer:
    """Show lines of a text file of the workspace; raises as `excerpt` does."""
    first, lines = given.get("from"), given.get("lines")
    whole = (None if number is None else int(number) for number in (first, lines))
    return answers.read(partial(excerpt, memory.workspace.root), given["path"], *whole)


def excerpt(root: Path, reference: str) -> Excerpt:
    """Read lines of a file below a folder, private parts blanked and secrets redacted.

    Neither what is hidden nor what leaves the folder by its real path can be read. Raises OutsideRoots,
    NoteNotFound with what is there, NoteUnreadable.
    """
    from commonplace.markdown import references as excerpts
    from commonplace.markdown.document import decode, parse

    wanted = excerpts.parse_reference(reference)
    if not wanted.path:
        raise NoteNotFound(
            reference, reason="name a file by its path; memory_get takes what hits are cited by"
        )
    return excerpts.cut(parse(decode(_bytes(root, wanted.path)), wanted.path), wanted.path, "", wanted)


def _bytes(root: Path, path: str) -> bytes:
    """The bytes of a text file."""
    shown = paths.shown(path)
    try:
        real = paths.contain(Path(path), [root])
    except NoteNotFound as error:
        raise NoteNotFound(shown, _names(root, path), "no such file") from error
    inside = real.relative_to(os.path.realpath(root))
    if any(part.startswith(".") for part in inside.parts):
        raise OutsideRoots(shown, "hidden files are not read")
    if real.suffix.lower() not in SUFFIXES:
        raise NoteUnreadable(shown, f"only text files are read: {', '.join(SUFFIXES)}")
    try:
        if (size := Root(root).stat(real).st_size) > MOST_BYTES:
            raise NoteUnreadable(shown, f"{size:,} bytes; only files of up to {MOST_BYTES:,} are read")
    except OSError as error:
        raise NoteUnreadable(shown, paths.reason(error)) from error
    return paths.read_contained(real, [root])


def _names(root: Path, path: str) -> list[str]:
    """What stands where a file was looked for, as far as it may be read."""
    files = Root(root)
    try:
        inside = os.path.relpath(files.resolve(os.path.dirname(path)), files.path)
        names = files.names(inside)
    except OSError:  # one that may not be read, or a link that leads out
        names = []
    if not names:
        inside, names = "", files.names()
    names = [name for name in names if not name.startswith(".")]
    found = [os.path.join(inside, name) for name in names]
    found = [name for name in found if name.endswith(SUFFIXES) or files.is_folder(name)]
    return [os.path.normpath(name) for name in found[:_MOST_NAMES]]


READ_FILE = Tool(
    "read_file",
    "Read a text file of the workspace, such as a draft or AGENTS.md. Read on from nextFrom while "
    "the answer has one.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Relative to the workspace"},
            "from": {"type": "integer", "minimum": 1, "description": "First line"},
            "lines": {"type": "integer", "minimum": 1, "description": "How many"},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
    read,
)
