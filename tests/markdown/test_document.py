"""A document loses nothing: what is read is written, what is edited is edited alone, and lines are followed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.base.errors import NoteUnreadable
from commonplace.markdown import statements
from commonplace.markdown.document import Document, Strike, decode, parse
from commonplace.types import Statement

FOLDER = Path(__file__).parents[1] / "golden"
NOTES = sorted([*FOLDER.glob("*.md"), *(FOLDER / "struck").glob("*.md")])
MARKS = st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"])
LINES = st.lists(
    st.sampled_from([
        "", "  ", "text", "# One", "## Two", "Title", "===", "---", "```", "~~~~", "- a", "  - b", "  more", "1. c",
        "- [ ] task", "- ~~gone~~", "| a |", "|---|", "| b |", "<private>", "</private>", "<!-- pinned -->", "<!--",
        "-->", "title: x", "- 茶 \udcff", "- <private>p</private> q", "Ann: hello", "> - quoted", "> ```",
    ]),
    max_size=14,
)  # fmt: skip
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
TEXTS = st.builds(
    lambda lines, end, ended: end.join(lines) + end * (ended and bool(lines)), LINES, ENDS, st.booleans()
)


@given(MARKS, st.binary(max_size=60))
@example(b"\xff\xfe", b"-\0 \0a\0\n\0\0")
def test_any_bytes_come_back(mark: bytes, body: bytes) -> None:
    document = Document.read(mark + body)
    assert document.data == mark + body == document.change({}).data == document.delete(()).document.data
    assert len(document.lines) == len(document.bare)
    if document.data[-1:] == b"\0" and len(document.data) % 2 and mark == b"\xff\xfe":
        with pytest.raises(NoteUnreadable, match="neither UTF-8 nor utf-16-le"):
            document.checked()


# --- edits ------------------------------------------------------------------------------------------------


@given(TEXTS, st.sampled_from([None, "One", "Two", "New"]))
def test_an_insertion_moves_lines_and_changes_none(text: str, heading: str | None) -> None:
    document = Document.of(text)
    edit = document.insert("- e1\n  e2", heading=heading)
    first, last = edit.lines
    assert edit.document.bare[first - 1 : last] == ["- e1", "  e2"]
    for number, line in enumerate(document.bare, 1):
        place = edit.moved(number)
        assert place
        assert edit.document.bare[place - 1] == line


@given(
    TEXTS | st.lists(st.sampled_from(["a\r", "b\n", "c\r\n", "\n", "\r", "\r\n"])).map("".join),
    st.sets(st.integers(1, 9)),
)
def test_what_is_deleted_is_gone_and_nothing_else(text: str, gone: set[int]) -> None:
    """A lone carriage return that meets a newline ends one line with it, for the map as for every reader."""
    document = Document.of(text)
    edit = document.delete(gone)
    assert Document.read(edit.document.data).lines == edit.document.lines
    for number, line in enumerate(document.lines, 1):
        place = edit.moved(number)
        assert (place is None) == (number in gone)
        assert place is None or line in edit.document.lines[place - 1]


@given(TEXTS, st.data())
def test_an_entry_behind_a_statement(text: str, data: st.DataObject) -> None:
    document = Document.of(text, "memory/2026-02-13.md")
    if not document.statements:
        return
    statement = data.draw(st.sampled_from(document.statements))
    edit = document.insert_after(statement, "- new")
    assert edit.lines[0] > statement.last
    assert edit.document.bare[edit.lines[0] - 1] == "- new"
    kept = [edit.document.bare[place - 1] for place in edit.places if place]
    assert kept == document.bare


# --- what belongs together --------------------------------------------------------------------------------

WHOLE = (
    "---\ntitle: x\ntags:\n  - a\n---\n# One\n\n- item\n  more\n  - nested\n\n  later\ntext\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    "\n```\ncode\n```\n## Two\nlast\n"
)


@pytest.mark.parametrize(
    ("line", "unit"),
    [
        (1, range(0)), (2, range(2, 3)), (3, range(3, 5)), (4, range(4, 5)), (6, range(6, 24)), (7, range(7, 8)),
        (8, range(8, 14)), (9, range(8, 14)), (10, range(10, 11)), (12, range(12, 14)), (13, range(12, 14)),
        (15, range(15, 18)), (17, range(17, 18)), (20, range(19, 22)), (22, range(22, 24)), (23, range(23, 24)),
    ],
)  # fmt: skip
def test_a_line_and_all_that_belongs_to_it(line: int, unit: range) -> None:
    assert Document.of(WHOLE).unit(line) == unit

    assert Document.of("---\nx: a\n\n  more\ny: 1\n---\n").unit(4) == range(2, 5)


@pytest.mark.parametrize(
    ("text", "heading", "wanted"),
    [
        ("# T\n\n- a\n\n\n## Two\n\n- b\n\n", None, "# T\n\n- a\n- new\n\n\n## Two\n\n- b\n\n"),
        ("# T\n\n## Two\n\ntext\n\n### In\n", "two", "# T\n\n## Two\n\ntext\n\n- new\n\n### In\n"),
        ("T\n=\n- a\n", None, "T\n=\n- a\n- new\n"), ("---\na: 1\n---\n", None, "---\na: 1\n---\n\n- new\n"),
        ("text\n# T\n", None, "text\n\n- new\n\n# T\n"), ("- a\n\n", "New", "- a\n\n## New\n\n- new\n\n"),
    ],
)  # fmt: skip
def test_an_entry_goes_to_the_end_of_its_section(text: str, heading: str | None, wanted: str) -> None:
    assert Document.of(text).insert("- new", heading=heading).document.text == wanted


def test_what_hides_other_lines_goes_as_a_whole() -> None:
    document = Document.of("a\n<private>\nb\n</private>\n```\nc\n```\n<!-- d\ne -->\n")
    assert document.whole({3}) == {2, 3, 4}
    assert document.whole({5}) == {5, 7}
    assert document.whole({9}) == {8, 9}
    assert document.whole({1}) == {1}


# --- references -------------------------------------------------------------------------------------------


def test_references_follow_the_lines_of_all_notes_at_once() -> None:
    one = Document.of("- a\n- b <!-- cp: from=two.md#L2 -->\n- c\n", "one.md")
    two = Document.of(
        "- d <!-- cp: from=one.md#L3 -->\n- e <!-- cp: from=one.md#L1,two.md#L1 -->\n", "two.md"
    )
    other = Document.of("- none\n", "other.md")
    cut, put = one.delete({1}), two.insert_after(two.statements[0], "- new")
    maps = {"one.md": cut.follower("one.md"), "two.md": put.follower("two.md")}
    first, second, third = (document.follow(maps) for document in (cut.document, put.document, other))
    assert first.text == "- b <!-- cp: from=two.md#L3 -->\n- c\n"
    assert second.text == ("- d <!-- cp: from=one.md#L2 -->\n- new\n- e <!-- cp: from=two.md#L1 -->\n")
    assert third is other


# --- parse -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "date", "kind"),
    [
        ("memory/2026-02-13-standup.md", "2026-02-13", "daily"), ("memory/2026-02-31.md", None, "note"),
        ("MEMORY.md", None, "long-term"), ("notes/plan b.md", None, "note"),
    ],
)  # fmt: skip
def test_dates_kinds_and_titles_come_from_the_path(path: str, date: str | None, kind: str) -> None:
    note = parse("## text", path)
    assert (note.date, note.kind, note.title) == (date, kind, path.rpartition("/")[2].removesuffix(".md"))
    assert parse("![[a.png]]\n#tag\n# Title\n", path).title == "Title"
    assert parse("text\n# Title\n", path).title == note.title


def test_private_parts_and_secrets_leave_the_lines_where_they_were() -> None:
    note = parse("a\n<private>\nsecret\n</private>\nkey AKIAIOSFODNN7SAMPLE2\nlast\n", "a.md")
    assert len(note.lines) == 6
    assert note.lines[5] == "last"
    assert "secret" not in "".join(note.lines)
    assert "[REDACTED:" in note.lines[4]


@given(TEXTS | st.text(max_size=300) | st.binary(max_size=300).map(decode))
def test_any_text_parses(text: str) -> None:
    document = Document.of(text)
    assert document.text == text
    note, lines = document.blocks, decode(document.data).split("\n")
    assert len(document.bare) == len(lines) - (not lines[-1])
    assert "private" in text.lower() or len(note.lines) == len(document.bare)
    assert [decode(line.encode("utf-8", "surrogateescape")) for line in document.bare] == lines[
        : len(document.bare)
    ]
    assert document.note == parse(decode(document.data), "note.md")
    assert all(1 <= h.line <= len(note.lines) for h in note.headings)
    assert all(1 <= a <= b <= len(note.lines) for a, b in note.fences)


def test_decoding() -> None:
    for data, text in {
        b"": "", b"\xef\xbb\xbfa\r\nb\rc\n": "a\nb\nc\n", "北京\n".encode("utf-16"): "北京\n", b"bad \xff": "bad \ufffd",
        b"nul \x00": "nul \ufffd",
    }.items():  # fmt: skip
        assert decode(data) == text


# --- strikes -----------------------------------------------------------------------------------------------
#
# Statements struck on the lines of the raw file, and new ones in their manner.


UNSTRUCK = sorted(path for path in (FOLDER / "struck").glob("*.md") if not path.stem.endswith(".struck"))
PATH = "memory/2026-02-13.md"


def read(text: str) -> list[Statement]:
    return statements.read(parse(text, PATH))


def strike(lines: Sequence[str], statement: Statement, **marks: str) -> list[str]:
    return list(Document.of("".join(lines), PATH).strike_all([Strike(statement, **marks)]).document.lines)


def struck_all(text: str) -> str:
    """A note with every statement struck that is not struck yet."""
    lines = list(Document.of(text).lines)
    for statement in read(text):
        if not statement.struck:
            lines = strike(lines, statement, until="2026-03-02")
    return "".join(lines)


@pytest.mark.parametrize("path", UNSTRUCK, ids=lambda path: path.stem)
def test_as_written_down(path: Path) -> None:
    wanted = path.with_suffix(".struck.md").read_bytes()
    assert struck_all(path.read_bytes().decode()).encode() == wanted


def plain(text: str) -> str:
    """A text without the signs that strikes write and escape."""
    return text.replace("\\", "").replace("~", "")


WORDS = st.text(st.sampled_from("ab ~\\.x部署`*<>-:!"), min_size=1, max_size=12).filter(
    lambda text: "<!" not in text and "<p" not in text
)
LINE = st.one_of(
    st.builds("{}{}{}".format, st.sampled_from(["- ", "  - ", "1. ", "- 14:05 ", "", "- [ ] ", "> ", "Ann: "]), WORDS,
              st.sampled_from(["", " <!-- note -->", " <!-- importance: 8 -->", " <private>p ~~ q</private>"])),
    st.sampled_from(["", "# Head", "```", "| t |", "---", "<private>", "</private>", "word", "~~gone~~ stays"]),
)  # fmt: skip


@given(st.lists(LINE, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.data())
def test_striking_changes_the_lines_of_the_statement_alone(
    lines: list[str], newline: str, ended: bool, data: st.DataObject
) -> None:
    text = newline.join(lines) + (newline if ended and lines else "")
    stated = [s for s in read(text) if not s.struck]
    if not stated:
        return
    one = data.draw(st.sampled_from(stated))
    raw = list(Document.of(text).lines)
    after = strike(raw, one, until="2026-03-02", by="agent", agent="nano bot")
    assert len(after) == len(raw)
    for number, (old, new) in enumerate(zip(raw, after, strict=True), 1):
        assert one.first <= number <= one.end or new == old
        assert new[len(new.rstrip("\r\n")) :] == old[len(old.rstrip("\r\n")) :]
        assert hidden(new) == hidden(old)


def hidden(line: str) -> str:
    """What stands in the private part of a line."""
    _, found, rest = line.partition("<private>")
    return found + rest.partition("</private>")[0]


def test_a_secret_stays_in_the_file_and_out_of_sight() -> None:
    for secret in ("the password: hunter2Xx91a", "Authorization: Bearer abcdef0123456789abcdef"):
        (one,) = read(f"- {secret}\n")
        assert "REDACTED" in one.text
        (line,) = strike(
            [f"- {secret}\n"], one, until="2026-03-02", by="agent", agent="nano", to="MEMORY.md#L4"
        )
        assert line == f"- ~~{secret}~~ <!-- cp: until=2026-03-02 by=agent agent=nano to=MEMORY.md#L4 -->\n"
        (back,) = read(line)
        assert (back.struck, back.text) == (True, one.text)


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("- 14:05 Old.", "New.", ["- New. <!-- cp: since=2026-03-02 -->"]),
        ("  * Old.", "One\ntwo", ["  * One <!-- cp: since=2026-03-02 -->", "    two"]),
        ("9. Old.", "One\ntwo", ["9. One <!-- cp: since=2026-03-02 -->", "   two"]),
        ("- [x] Old.", "New.", ["- [x] New. <!-- cp: since=2026-03-02 -->"]),
        ("Old paragraph.", "New.", ["New. <!-- cp: since=2026-03-02 -->"]),
        ("Old paragraph.", "# New", ["- # New <!-- cp: since=2026-03-02 -->"]),
        ("Old paragraph.", "a\nb", ["- a <!-- cp: since=2026-03-02 -->", "  b"]),
    ],
)
def test_a_new_entry_in_the_manner_of_the_old(old: str, new: str, wanted: list[str]) -> None:
    one = read(f"- above\n{old}\n" if old.startswith("  ") else f"{old}\n")[-1]
    assert statements.entry_like(one, new, since="2026-03-02") == wanted
