"""Cut files as rows: ids that count on, headers, and text stored once."""

from __future__ import annotations

import json

from commonplace.chunking import passages
from commonplace.index import rows
from commonplace.index.base import Entry
from commonplace.markdown.document import parse
from commonplace.notes.scan import FileState


def entry(text: str, path: str = "a.md", collection: str = "memory") -> Entry:
    note = parse(text, path)
    state = FileState(collection, path, f"/notes/{path}", 7, len(text.encode()))
    return Entry(state, f"hash of {path}", note, *passages.split(note))


def test_a_header_says_each_thing_once() -> None:
    for text, path, headings, expected in [
        ("text", "plan.md", (), "plan"),
        ("# A\n", "plan.md", ("A",), "A › plan"),
        ("# A\n\n## B\n", "memory/house/plan.md", ("A", "B"), "A › B › plan › house"),
        ("# A\n", "MEMORY.md", ("A",), "A"),
        ("# A\n", "memory/2026-02-13.md", ("A",), "A › 2026-02-13"),
        ("# 2026-02-13\n", "memory/2026-02-13.md", ("2026-02-13",), "2026-02-13"),
        ("---\ntitle: T\ntags: [x, y, T]\n---\n# A\n", "plan.md", ("A",), "T › A › x › y › plan"),
        ("---\ntags: x\n---\n# A\n", "plan.md", ("A",), "A › plan"),
        ("---\ntags: ['', x]\n---\n# A\n", "plan.md", ("A",), "A › x › plan"),
    ]:
        assert list(rows.headers(parse(text, path), [headings])) == [expected]


def test_of_a_long_heading_only_the_beginning_stands_with_its_passages() -> None:
    long = "so long " * 100_000
    found = rows.compose([entry(f"# {long}\n\n" + "## Some\n\ntext\n\n" * 50)], 1, 1, 1)
    most = rows.LONGEST_HEADING
    assert found["notes"][0][3] == long[:most]
    assert {row[2] for row in found["sections"][1:]} == {json.dumps([long[:most], "Some"])}
    assert max(len(text[2]) for text in found["passages_fts"]) < 2 * most
