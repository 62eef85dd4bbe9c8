"""The fixtures of QMD's own bench: questions and the files expected among the results.

One JSON object, `{"description", "version", "collection"?, "queries": [{"id", "query", "type",
"description", "expected_files", "expected_in_top_k"}]}` (github.com/tobi/qmd, `src/bench/types.ts`). A file
counts as found when any of its lines is; `expected_in_top_k` is not used, our figures name their own k.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from commonplace.bench.metrics import Span

QUERIES = "queries"
LAST_LINE = 1 << 31  # of a span that is a whole file, however long
_SCHEME = "qmd://"


def is_fixture(record: object) -> bool:
    """Tell a fixture from a question of ours by its shape."""
    return isinstance(record, dict) and isinstance(record.get(QUERIES), list)


def as_record(query: object, collection: str) -> dict[str, Any]:
    """Return one query of a fixture in the form of our own questions. Raises ValueError."""
    if not isinstance(query, Mapping):
        raise ValueError("a query must be an object")
    files = query.get("expected_files")
    if not isinstance(files, list) or not all(isinstance(file, str) and file for file in files):
        raise ValueError("'expected_files' must be a list of paths")
    lines = {"start_line": 1, "end_line": LAST_LINE}
    return {
        "id": query.get("id"),
        "workspace": collection,
        "question": query.get("query"),
        "category": query.get("type"),
        "evidence": [{"path": _path(file), **lines} for file in files],
    }


def located(spans: Iterable[Span], files: Sequence[str]) -> tuple[Span, ...]:
    """Name the files of a folder that whole-file spans mean: as QMD does, in any case and by their ends.

    A path that means several files means the shortest; one that means none is kept as it is.
    """
    return tuple(span._replace(path=_meant(span.path, files)) for span in spans)


def _meant(path: str, files: Sequence[str]) -> str:
    wanted = f"/{path.lower()}"
    same = (file for file in files if f"/{file.lower()}".endswith(wanted))
    return min(same, key=lambda file: (file != path, len(file), file), default=path)


def _path(file: str) -> str:
    """`qmd://collection/docs/a.md` is docs/a.md."""
    path = file.removeprefix(_SCHEME).partition("/")[2] if file.startswith(_SCHEME) else file
    return path.strip("/")
