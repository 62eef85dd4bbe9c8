"""Results at every edge: hits and reports as text, JSON, Markdown, lists of files.

Here is what all of it is made with; a search loads the module it prints with and no other.
"""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.base.messages import count as count  # which many that render use

FORMS = ("text", "json", "md", "files")  # of hits


def to_json(value: object) -> str:
    """Render a value as JSON that is valid UTF-8, names of files in other encodings included."""
    import json

    from commonplace.types.data import to_data

    data = to_data(value)
    text = json.dumps(data, ensure_ascii=False, indent=2)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(data, indent=2)
    return text


def some(names: Sequence[str], most: int = 3) -> str:
    """Return the first of some names: `a, b, c and 4 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")
