"""Basic Memory: a project, a folder of Markdown with `permalink` in its front matter.

Observations (`- [category] text #tag (context)`), relations (`- relates_to [[Note]]`) and front matter stay
as they are written: tags and links are read from the text here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from itertools import islice
from pathlib import Path

from commonplace.base.root import Root
from commonplace.imports import files
from commonplace.types import FileFailure, Page, Part

KIND = "basic-memory"
_FIRST = 100  # notes that are looked at
_PERMALINK = re.compile(rb"\A(?:\xef\xbb\xbf)?---\r?\n(?:[^\n]*\n){0,40}?permalink[ \t]*:")


def recognises(path: Path) -> bool:
    """Return True if a folder holds notes with a permalink."""
    if not path.is_dir():
        return False
    found = islice(files.notes(Root(path)), _FIRST)
    return any(not isinstance(one, FileFailure) and _PERMALINK.match(one[1]) for one in found)


def read(path: Path) -> Iterator[Part]:
    """Yield the notes of a project, those in its folders too."""
    root = Root(path)
    for found in files.notes(root):
        if isinstance(found, FileFailure):
            yield found
            continue
        name, data, status = found
        target = f"memory/{KIND}/{name}"
        day = date.fromtimestamp(status.st_mtime).isoformat()
        yield Page(name, target, data, f"{target[:-3]}-{KIND}.md", root.absolute(name), day=day)
