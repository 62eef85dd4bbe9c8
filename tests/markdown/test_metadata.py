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


@pytest.mark.parametrize(
    "yaml",
    [
        'a: !!int ""',
        'a: !!float ""',
        "a: !!bool perhaps",
        "a: !!timestamp soon",
        "a: !!python/object:os.system x",
        "a: *nowhere",
        "? [a]\n: b",
        "<<: 3\na: *b",
        'a: "\\ud800"',
        "a: \x01",
        "a: " + "9" * 5000,
        "[" * 5000,
        "a:\n" + "".join(" " * depth + "b:\n" for depth in range(1, 400)) + "c",
        "%YAML 9.9",
        "\t",
    ],
)
def test_what_cannot_be_read_is_no_metadata(yaml: str) -> None:
    found = note(yaml)
    assert found.title == "Heading"
    assert found.lines[-1] == "text"


@pytest.mark.parametrize(
    "yaml",
    [
        nested("[x]", "[{}, {}, {}, {}, {}, {}, {}, {}, {}]"),
        nested("{k: v}", "{{a: {}, b: {}, c: {}, d: {}, e: {}, f: {}, g: {}, h: {}, i: {}}}"),
        nested("{k: v}", "{{<<: [{}, {}, {}, {}, {}, {}, {}, {}, {}]}}"),
        "a: &a [*a]",
        "a: 0x" + "f" * 100_000,
        "title: 0x" + "f" * 100_000,
        "date: 0x" + "f" * 100_000,
        "0x" + "f" * 100_000 + ": a",
    ],
    ids=["lists", "maps", "merges", "itself", "number", "title", "date", "key"],
)
def test_little_text_that_stands_for_much_stays_little(yaml: str) -> None:
    found = note(yaml)
    assert len(json.dumps(dict(found.metadata))) < 100_000
    assert len(found.title) <= 1000


@pytest.mark.parametrize(
    ("yaml", "value"),
    [
        ("a: text", "text"),
        ("a: 7", 7),
        ("a: 1.5", 1.5),
        ("a: yes", "yes"),
        ("a: nan", "nan"),
        ("a: !great day", "!great day"),
        ("a:", None),
        ("a: 2026-02-13", "2026-02-13"),
        ("a: [one, 2, 2026-02-13]", ["one", "2", "2026-02-13"]),
        ("a: {b: 1}", "{b: 1}"),
        ("a: [[x, y]]", "[[x, y]]"),
        ("a:\n  b: 1\n  c: 2", "b: 1 c: 2"),
        ("a: 123456789012345678901234567890", 123456789012345678901234567890),
        ("a: |-\n  one\n  two", "one\ntwo"),
        ("a: " + "x" * 5000, "x" * 5000),
        ("a: [" + ", ".join(["x"] * 150) + "]", ["x"] * 100),
    ],
)
def test_values_are_plain(yaml: str, value: object) -> None:
    assert note(yaml).metadata == {"a": value}


@pytest.mark.parametrize(
    ("yaml", "title"),
    [
        ("title: A day", "A day"),
        ("title: 2026", "2026"),
        ("title: '  '", "Heading"),
        ("title:", "Heading"),
        ("title: [a]", "Heading"),
        ("Title: A day", "Heading"),
    ],
)
def test_titles(yaml: str, title: str) -> None:
    assert note(yaml).title == title


@pytest.mark.parametrize(
    ("yaml", "date"),
    [
        ("date: 2026-02-13", "2026-02-13"),
        ("date: '2026-02-13T10:00'", "2026-02-13"),
        ("date: 2026-02-13 10:00:00", "2026-02-13"),
        ("created: 2026-02-13", "2026-02-13"),
        ("created: 2026-01-01\ndate: 2026-02-13", "2026-02-13"),
        ("date: soon\ncreated: 2026-02-13", "2026-02-13"),
        ("date: '2026-13-45'", None),
        ("date: '2026-02-30'\ncreated: 2026-03-01", "2026-03-01"),
        ("date: '0000-01-01'", None),
        ("date: 13.2.2026", None),
        ("date: [2026-02-13]", None),
    ],
)
def test_only_a_real_day_is_a_date(yaml: str, date: str | None) -> None:
    assert note(yaml).date == date


def test_the_day_in_the_name_wins() -> None:
    assert parse("---\ndate: 2020-01-01\n---\n", "memory/2026-02-13.md").date == "2026-02-13"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("---\na: 1\n---\n", (1, 3)),
        ("---  \na: 1\n...\n", (1, 3)),
        ("---\n---\n", (1, 2)),
        ("---\na: 1\n", None),
        (" ---\na: 1\n---\n", None),
        ("\n---\na: 1\n---\n", None),
        ("---\n" + "a: 1\n" * 498 + "---\n", (1, 500)),
        ("---\n" + "a: 1\n" * 499 + "---\n", None),
    ],
)
def test_where_it_stands(text: str, lines: tuple[int, int] | None) -> None:
    assert parse(text, "x.md").front_matter == lines


@given(st.text(st.sampled_from("ab:-!&*?<>|[]{},#'\"%@ \n0x1"), max_size=60) | st.text(max_size=60))
def test_any_front_matter_is_read(yaml: str) -> None:
    found = note(yaml)
    json.dumps(dict(found.metadata), ensure_ascii=False).encode()
    assert found.lines[-1] == "text"


@pytest.mark.parametrize("number", ["1" + ":1" * 20_000, "1" + ":1" * 20_000 + ".5", "9" * 20_000])
def test_a_number_too_long_to_be_one_is_text(number: str) -> None:
    assert note(f"a: {number}").metadata == {"a": number}


def test_a_block_that_is_too_large_is_text_and_its_owner_is_told(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a.md").write_text("---\na: " + "x" * 70_000 + "\n---\n\n- a fact\n")
    with Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as memory:
        (warning,) = memory.sync().warnings
    assert warning == "memory/a.md: its front matter is larger than 64 KB, so it is read as text; shorten it"


def test_long_lines_take_no_time() -> None:
    for unit in (" ", "[", "[[", '"', "#", "# ", "- ", ": ", "a, "):
        note(f"a: {unit * (60_000 // len(unit))}")
