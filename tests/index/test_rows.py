"""Cut files as rows: ids that count on, headers, and text stored once."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from commonplace.chunking import passages
from commonplace.index import rows
from commonplace.index.base import Entry
from commonplace.markdown.document import parse
from commonplace.notes.scan import FileState

TALK = "# Day\n\n- Ann: hello\n- Bob: hi\n- Ann: how?\n- Bob: fine\n"


def entry(text: str, path: str = "a.md", collection: str = "memory") -> Entry:
    note = parse(text, path)
    state = FileState(collection, path, f"/notes/{path}", 7, len(text.encode()))
    return Entry(state, f"hash of {path}", note, *passages.split(note))


def test_no_files_are_no_rows() -> None:
    assert not any(rows.compose([], 1, 1, 1).values())


def test_a_file_is_a_row_of_each_kind() -> None:
    found = rows.compose([entry("# A\n\ntext <!-- importance: 7 -->\n", "memory/2026-02-13.md")], 4, 20, 300)
    (note,) = found["notes"]
    assert note[:10] == (
        4, "memory", "memory/2026-02-13.md", "A", "2026-02-13", "daily", "hash of memory/2026-02-13.md", 7, 33, 3,
    )  # fmt: skip
    assert note[10:] == (None, 33, 20, 20, 300, 300)
    assert found["sections"] == [(20, 4, '["A"]', 1, 3, 0.0)]
    assert found["passages"] == [
        (
            300,
            4,
            20,
            3,
            3,
            "text",
            '{"importance":"7"}',
            None,
            None,
            None,
            "",
            0.0,
            "",
            None,
        )
    ]
    assert found["passages_fts"] == [(300, "text", "A › 2026-02-13")]


def test_ids_count_on_from_file_to_file() -> None:
    found = rows.compose(
        [entry("# A\n\none\n\n# B\n\ntwo\n"), entry("", "b.md"), entry("three\n", "c.md")], 1, 1, 1
    )
    assert [row[12:] for row in found["notes"]] == [(1, 2, 1, 2), (3, 2, 3, 2), (3, 3, 3, 3)]
    assert [(row[0], row[1]) for row in found["sections"]] == [(1, 1), (2, 1), (3, 3)]
    assert [(row[0], row[1], row[2], row[5]) for row in found["passages"]] == [
        (1, 1, 1, "one"), (2, 1, 2, "two"), (3, 3, 3, "three"),
    ]  # fmt: skip


def test_text_is_indexed_in_tokens() -> None:
    entries = [entry("plain words\n"), entry("北京大学\n", "b.md"), entry("getUserName\n", "c.md")]
    bodies = [body.split() for _, body, _ in rows.compose(entries, 1, 1, 1)["passages_fts"]]
    assert bodies == [
        ["plain", "words"],
        ["北京", "京大", "大学", "学"],
        ["getUserName", "get", "User", "Name"],
    ]


def test_how_much_a_section_is_a_conversation_is_kept() -> None:
    assert rows.compose([entry(TALK)], 1, 1, 1)["sections"][0][5] == 1.0


def test_metadata_is_kept_as_json() -> None:
    (note,) = rows.compose([entry("---\ntags: [茶, b]\nwhen: 2026-02-13\n---\ntext\n")], 1, 1, 1)["notes"]
    assert json.loads(note[10]) == {"tags": ["茶", "b"], "when": "2026-02-13"}


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


@given(st.lists(st.text(max_size=80), max_size=4))
def test_rows_hold_together_whatever_the_text(texts: list[str]) -> None:
    entries = [entry(text, f"{number}.md") for number, text in enumerate(texts)]
    found = rows.compose(entries, 10, 100, 1000)
    assert [row[0] for row in found["notes"]] == list(range(10, 10 + len(texts)))
    assert [row[0] for row in found["passages"]] == [row[0] for row in found["passages_fts"]]
    sections = {row[0]: row for row in found["sections"]}
    for passage in found["passages"]:
        note = next(row for row in found["notes"] if row[0] == passage[1])
        assert sections[passage[2]][1] == note[0]
        first_section, last_section, first_passage, last_passage = note[-4:]
        assert first_section <= passage[2] <= last_section
        assert first_passage <= passage[0] <= last_passage


def test_of_a_long_heading_only_the_beginning_stands_with_its_passages() -> None:
    long = "so long " * 100_000
    found = rows.compose([entry(f"# {long}\n\n" + "## Some\n\ntext\n\n" * 50)], 1, 1, 1)
    most = rows.LONGEST_HEADING
    assert found["notes"][0][3] == long[:most]
    assert {row[2] for row in found["sections"][1:]} == {json.dumps([long[:most], "Some"])}
    assert max(len(text[2]) for text in found["passages_fts"]) < 2 * most
