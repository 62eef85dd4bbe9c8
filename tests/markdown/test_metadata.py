"""Front matter: whatever stands in it, the note is read, and nothing in it grows without bounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.markdown.document import parse
from commonplace.memory import Memory
from commonplace.types import Note


def note(yaml: str) -> Note:
    return parse(f"---\n{yaml}\n---\n# Heading\n\ntext\n", "x.md")


def nested(first: str, form: str) -> str:
    """Nine aliases of nine aliases of …: some hundred characters that stand for half a gigabyte."""
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{n}: &a{n} " + form.format(*[f"*a{n - 1}"] * 9) for n in range(1, 9)]
    return "\n".join(lines)


def test_any_block_is_read_and_little_text_stays_little() -> None:
    for yaml in (
        'a: !!int ""', "a: !!python/object:os.system x", "a: *nowhere", "? [a]\n: b", "<<: 3\na: *b", 'a: "\\ud800"', "a: \x01",
        "a: " + "9" * 5000, "[" * 5000, "a:\n" + "".join(" " * depth + "b:\n" for depth in range(1, 400)) + "c", "%YAML 9.9", "\t",
        nested("[x]", "[{}, {}, {}, {}, {}, {}, {}, {}, {}]"), "a: &a [*a]", "title: 0x" + "f" * 100_000, "0x" + "f" * 100_000 + ": a",
    ):  # fmt: skip
        found = note(yaml)
        assert (found.title, found.lines[-1]) == ("Heading", "text")
        assert len(json.dumps(dict(found.metadata))) < 100_000


@pytest.mark.parametrize(
    ("yaml", "value"),
    [
        ("a: text", "text"), ("a: 7", 7), ("a: 1.5", 1.5), ("a: yes", "yes"), ("a: nan", "nan"),
        ("a: !great day", "!great day"), ("a:", None), ("a: 2026-02-13", "2026-02-13"),
        ("a: [one, 2, 2026-02-13]", ["one", "2", "2026-02-13"]), ("a: {b: 1}", "{b: 1}"), ("a: [[x, y]]", "[[x, y]]"),
        ("a:\n  b: 1\n  c: 2", "b: 1 c: 2"), ("a: 123456789012345678901234567890", 123456789012345678901234567890),
        ("a: |-\n  one\n  two", "one\ntwo"), ("a: " + "x" * 5000, "x" * 5000),
        ("a: [\n  one,\n  'it''s',\n]", ["one", "it's"]), ('a: "one\n  two"  # a comment', "one two"),
        ("a: [" + ", ".join(["x"] * 150) + "]", ["x"] * 100),
    ],
)  # fmt: skip
def test_values_are_plain(yaml: str, value: object) -> None:
    assert note(yaml).metadata == {"a": value}


@pytest.mark.parametrize(
    ("yaml", "title", "date"),
    [
        ("title: A day\ndate: 2026-02-13", "A day", "2026-02-13"),
        ("title: 2026\ndate: '2026-02-13T10:00'", "2026", "2026-02-13"),
        ("title: '  '\ncreated: 2026-01-01\ndate: 2026-02-13 10:00:00", "Heading", "2026-02-13"),
        ("title:\ndate: soon\ncreated: 2026-02-13", "Heading", "2026-02-13"),
        ("title: [a]\ndate: '2026-02-30'", "Heading", None), ("Title: A day\ndate: [2026-02-13]", "Heading", None),
        ("date: '0000-01-01'", "Heading", None),
    ],
)  # fmt: skip
def test_titles_and_days(yaml: str, title: str, date: str | None) -> None:
    assert (note(yaml).title, note(yaml).date) == (title, date)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("---\na: 1\n---\n", (1, 3)), ("---  \na: 1\n...\n", (1, 3)), ("---\n---\n", (1, 2)), ("---\na: 1\n", None),
        (" ---\na: 1\n---\n", None), ("\n---\na: 1\n---\n", None), ("---\n" + "a: 1\n" * 498 + "---\n", (1, 500)),
        ("---\n" + "a: 1\n" * 499 + "---\n", None),
    ],
)  # fmt: skip
def test_where_it_stands(text: str, lines: tuple[int, int] | None) -> None:
    assert parse(text, "x.md").front_matter == lines


@given(st.text(st.sampled_from("ab:-!&*?<>|[]{},#'\"%@ \n0x1"), max_size=60) | st.text(max_size=60))
def test_any_front_matter_is_read(yaml: str) -> None:
    found = note(yaml)
    json.dumps(dict(found.metadata), ensure_ascii=False).encode()
    assert found.lines[-1] == "text"


def test_a_block_that_is_too_large_is_text_and_its_owner_is_told(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a.md").write_text("---\na: " + "x" * 70_000 + "\n---\n\n- a fact\n")
    with Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as memory:
        (warning,) = memory.sync().warnings
    assert warning == "memory/a.md: its front matter is larger than 64 KB, so it is read as text; shorten it"


def test_long_lines_take_no_time() -> None:
    for unit in (" ", "[", "[[", '"', "#", "# ", "- ", ": ", "a, "):
        note(f"a: {unit * (60_000 // len(unit))}")
