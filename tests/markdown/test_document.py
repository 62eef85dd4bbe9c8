"""A document loses nothing: what is read is written, what is edited is edited alone, and lines are followed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.errors import NoteUnreadable
from commonplace.markdown import references, statements
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
def test_any_bytes_come_back(mark: bytes, body: bytes) -> None:
    document = Document.read(mark + body)
    assert document.data == mark + body
    assert document.change({}).data == mark + body
    assert document.delete(()).document.data == mark + body
    assert len(document.lines) == len(document.bare)


@given(TEXTS)
def test_lines_are_those_that_readers_count(text: str) -> None:
    document = Document.of(text)
    assert document.text == text
    plain = decode(document.data).split("\n")
    assert [decode(line.encode("utf-8", "surrogateescape")) for line in document.bare] == (
        plain if plain[-1] else plain[:-1]
    )
    assert document.note == parse(decode(document.data), "note.md")
    assert document.blocks.headings == parse(decode(document.data), "note.md", redacted=False).headings


@pytest.mark.parametrize("path", NOTES, ids=lambda path: path.stem)
def test_golden_notes(path: Path) -> None:
    document = Document.read(path.read_bytes(), path.name)
    assert document.data == path.read_bytes()
    assert document.note == parse(decode(path.read_bytes()), path.name)


def test_damaged_utf_16_is_read_and_kept_but_not_written() -> None:
    data = "\ufeff- a\n".encode("utf-16-le") + b"\x00"
    document = Document.read(data, "a.md")
    assert document.bare == ["- a"]
    assert document.delete({1}).document.data == b"\xff\xfe\x00"
    with pytest.raises(NoteUnreadable, match="neither UTF-8 nor utf-16-le"):
        document.checked()
    assert Document.read(data[:-1]).checked().bare == ["- a"]


# --- edits ------------------------------------------------------------------------------------------------


@given(TEXTS, st.sets(st.integers(1, 14)))
def test_what_is_deleted_is_gone_and_nothing_else(text: str, lines: set[int]) -> None:
    document = Document.of(text)
    edit = document.delete(lines)
    for number, line in enumerate(document.lines, 1):
        place = edit.moved(number)
        assert (place is None) == (number in lines)
        assert place is None or edit.document.lines[place - 1] == line
    assert len(edit.document.lines) == len(document.lines) - len(
        lines & set(range(1, len(document.lines) + 1))
    )


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


@given(TEXTS, st.data())
def test_striking_many_is_striking_one_after_the_other(text: str, data: st.DataObject) -> None:
    """Also those that are within each other, whatever the order."""
    document = again = Document.of(text, "memory/2026-02-13.md")
    chosen = data.draw(st.permutations(document.statements))
    document = document.strike_all([Strike(statement, "2026-03-02") for statement in chosen]).document
    for statement in chosen:
        again = Document.of(again.text, again.path).strike_all([Strike(statement, "2026-03-02")]).document
    assert document.data == again.data
    assert len(document.lines) == len(Document.of(text).lines)


@given(st.lists(st.sampled_from(["a\r", "b\n", "c\r\n", "\n", "\r", "\r\n"])), st.sets(st.integers(1, 9)))
def test_a_deletion_among_mixed_line_ends(lines: list[str], gone: set[int]) -> None:
    """A lone carriage return that meets a newline ends one line with it, for the map as for every reader."""
    document = Document.of("".join(lines))
    edit = document.delete(gone)
    again = Document.read(edit.document.data)
    assert again.lines == edit.document.lines
    for number, line in enumerate(document.lines, 1):
        place = edit.moved(number)
        assert (place is None) == (number in gone)
        assert place is None or line in again.lines[place - 1]


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


def test_a_paragraph_stays_apart_from_its_entry() -> None:
    document = Document.of("One\ntwo.\nAnn: hello\n\n- a\n  - b\n- c\n")
    paragraph, turn, item, *_ = document.statements
    assert (
        document.insert_after(turn, "Three.").document.text
        == "One\ntwo.\nAnn: hello\n\nThree.\n\n- a\n  - b\n- c\n"
    )
    assert (
        document.insert_after(item, "- x").document.text == "One\ntwo.\nAnn: hello\n\n- a\n- x\n  - b\n- c\n"
    )
    assert paragraph.end == 2


def test_other_text_in_a_line_keeps_its_end() -> None:
    document = Document.of("a\r\nb\rc")
    assert document.change({1: "x", 3: "z"}).text == "x\r\nb\rz"


# --- what belongs together --------------------------------------------------------------------------------

WHOLE = """---
title: x
tags:
  - a
---
# One

- item
  more
  - nested

  later
text

| a | b |
|---|---|
| 1 | 2 |

```
code
```
## Two
last
"""


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


@given(TEXTS)
def test_every_line_is_in_its_unit(text: str) -> None:
    document = Document.of(text)
    for line in range(1, len(document.lines) + 1):
        unit = document.unit(line)
        assert line in unit or document.front_matter
        assert document.whole(set(unit)) >= set(unit)


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


def test_a_reference_that_moves_into_a_note_that_moves_is_moved_once() -> None:
    maps = {"a.md": lambda line: f"b.md#L{line}", "b.md": lambda line: f"b.md#L{line + 10}"}
    text = "- x <!-- cp: from=a.md#L1,b.md#L1 -->"
    assert references.shifted(text, maps) == "- x <!-- cp: from=b.md#L1,b.md#L11 -->"


# --- parse -------------------------------------------------------------------------------------------------
#
# Markdown to a Note: structure, metadata, line numbers that are the file's own.


def headings(text: str) -> list[tuple[int, str, int]]:
    return [(h.level, h.text, h.line) for h in parse(text, "a.md").headings]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# One\n## Two ##\n####### seven\n#none\n#\n", [(1, "One", 1), (2, "Two", 2), (1, "", 5)]),
        ("Title\n=====\ntext\nSub\n---\n", [(1, "Title", 1), (2, "Sub", 4)]),
        ("- item\n---\n\n---\n> q\n---\n", []),
        ("    # code\n # indented\n- item\n  # of it\n", []),
        ("```\n# no\n```\n# yes\n", [(1, "yes", 4)]),
        ("~~~~\n```\n# no\n~~~\n# no\n~~~~\n# yes\n", [(1, "yes", 7)]),
        ("````md\n```\n# no\n```\n````\n# yes\n", [(1, "yes", 6)]),
        ("```\nnever closed\n# no\n", []),
        ("a `x` ```inline``` b\n# yes\n", [(1, "yes", 2)]),
        ("---\ntitle: T\n---\n# yes\n", [(1, "yes", 4)]),
    ],
)
def test_headings(text: str, found: list[tuple[int, str, int]]) -> None:
    assert headings(text) == found


def test_fences_are_known_by_their_lines() -> None:
    assert parse("a\n```py\nx\n```\n~~~\nopen", "a.md").fences == ((2, 4), (5, 6))


def test_front_matter() -> None:
    note = parse("---\ntitle: A day\ntags: [one, two]\ndate: 2026-02-13\n---\n\ntext\n", "notes/x.md")
    assert (note.title, note.date, note.front_matter) == ("A day", "2026-02-13", (1, 5))
    assert note.metadata["tags"] == ["one", "two"]


@pytest.mark.parametrize(
    "head", ["---\n: : [\n---\n", "---\n- a list\n---\n", "---\nno end\n", "---\n\n---\n"]
)
def test_damaged_front_matter_is_text(head: str) -> None:
    note = parse(head + "# Title\n", "x.md")
    assert [heading.text for heading in note.headings][-1] == "Title"
    assert not note.metadata


@pytest.mark.parametrize(
    ("path", "date", "kind"),
    [
        ("memory/2026-02-13.md", "2026-02-13", "daily"),
        ("memory/2026-02-13-standup.md", "2026-02-13", "daily"),
        ("memory/2026-02-31.md", None, "note"),
        ("MEMORY.md", None, "long-term"),
        ("notes/plan.md", None, "note"),
    ],
)
def test_dates_and_kinds_come_from_the_path(path: str, date: str | None, kind: str) -> None:
    note = parse("text", path)
    assert (note.date, note.kind) == (date, kind)


def test_title_falls_back_to_the_name() -> None:
    assert parse("text", "notes/plan b.md").title == "plan b"


def test_inline_metadata_is_taken_out() -> None:
    note = parse("- deploy <!-- importance: 8 --> <!-- trigger: ship, release -->\n<!-- other -->\n", "a.md")
    assert note.annotations == {1: {"importance": "8", "trigger": "ship, release"}}
    assert note.lines == ("- deploy", "<!-- other -->")


@pytest.mark.parametrize(
    ("line", "found", "left"),
    [
        ("a <!--importance:8-->", {"importance": "8"}, "a"),
        ("a <!-- IMPORTANCE : 8 -->", {"importance": "8"}, "a"),
        ("a <!-- project: x --> b", {"project": "x"}, "a  b"),
        ("a <!-- project:  -->", {"project": ""}, "a"),
        ("<!-- importance: 1 --> <!-- importance: 2 -->", {"importance": "2"}, ""),
        ("a <!-- trigger: b <!-- importance: 3 -->", {"importance": "3"}, "a <!-- trigger: b"),
        ("a <!-- importance: 8", None, "a <!-- importance: 8"),
        ("a <!-- important: 8 -->", None, "a <!-- important: 8 -->"),
    ],
)
def test_inline_metadata_of_one_line(line: str, found: dict[str, str] | None, left: str) -> None:
    note = parse(f"{line}\nlast\n", "a.md")
    assert note.annotations == ({1: found} if found else {})
    assert note.lines == (left, "last")


@pytest.mark.parametrize(
    "unit", ["<!--", "<!-- importance:", "<!-- importance: 3 <!--", "<!-- importance: " + " " * 9999]
)
def test_comments_without_end_end(unit: str) -> None:
    assert len(parse(unit * (400_000 // len(unit)), "a.md").lines) == 1


def test_private_parts_and_secrets_leave_the_lines_where_they_were() -> None:
    note = parse("a\n<private>\nsecret\n</private>\nkey AKIAIOSFODNN7SAMPLE2\nlast\n", "a.md")
    assert len(note.lines) == 6
    assert note.lines[5] == "last"
    assert "secret" not in "".join(note.lines)
    assert "[REDACTED:" in note.lines[4]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"\xef\xbb\xbfa\r\nb\rc\n", "a\nb\nc\n"),
        ("北京\n".encode("utf-16"), "北京\n"),
        (b"bad \xff byte", "bad \ufffd byte"),
        (b"nul \x00 byte", "nul \ufffd byte"),
    ],
)
def test_decoding(data: bytes, text: str) -> None:
    assert decode(data) == text


@given(st.one_of(st.text(max_size=300), st.binary(max_size=300).map(decode)))
def test_any_text_parses(text: str) -> None:
    note = parse(text, "a.md", redacted=False)
    lines = text.split("\n")
    assert len(note.lines) == len(lines) - (not lines[-1])
    assert all(1 <= h.line <= len(note.lines) for h in note.headings)
    assert all(1 <= a <= b <= len(note.lines) for a, b in note.fences)


def test_a_line_of_a_megabyte() -> None:
    assert len(parse("word " * 200_000, "a.md").lines) == 1


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


@pytest.mark.parametrize("path", UNSTRUCK, ids=lambda path: path.stem)
def test_it_reads_back_struck(path: Path) -> None:
    text = path.read_bytes().decode()
    before, after = read(text), read(struck_all(text))
    assert [s.first for s in before] == [s.first for s in after]
    assert all(s.struck for s in after)
    assert [plain(s.text) for s in before] == [plain(s.text) for s in after]


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
    assert "".join(raw) == text
    assert len(after) == len(raw)
    for number, (old, new) in enumerate(zip(raw, after, strict=True), 1):
        if not one.first <= number <= one.end:
            assert new == old
        assert new[len(new.rstrip("\r\n")) :] == old[len(old.rstrip("\r\n")) :]
        assert hidden(new) == hidden(old)


def hidden(line: str) -> str:
    """What stands in the private part of a line."""
    _, found, rest = line.partition("<private>")
    return found + rest.partition("</private>")[0]


PLAIN = st.text(st.sampled_from("ab ~\\.x部署``*"), min_size=1, max_size=16)


@given(st.lists(PLAIN, min_size=1, max_size=3), st.sampled_from(["- ", "  - ", "- 14:05 ", "* [x] ", "2. "]))
def test_it_reads_back_with_the_same_words(words: list[str], mark: str) -> None:
    text = f"{mark}a{words[0]}\n" + "".join(f"     b{more}\n" for more in words[1:])
    (one, *rest) = read(text)
    if rest or one.struck:
        return
    (back,) = read("".join(strike(list(Document.of(text).lines), one, until="2026-03-02")))
    assert back.struck
    assert plain(back.text) == plain(one.text)
    assert (back.item, back.hour) == (one.item, one.hour)
    assert back.said["until"] == "2026-03-02"


def test_who_struck_it_and_what_stands_instead() -> None:
    (one,) = read("- Old.\n")
    (line,) = strike(["- Old."], one, until="2026-03-02", by="agent", agent="nano", to="MEMORY.md#L4")
    assert line == "- ~~Old.~~ <!-- cp: until=2026-03-02 by=agent agent=nano to=MEMORY.md#L4 -->"


@pytest.mark.parametrize(
    "secret",
    [
        "the password: hunter2Xx91a",
        "key sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD",
        "Authorization: Bearer abcdef0123456789abcdef",
        "postgres://ann:s3cretPass9@host/db",
    ],
)
def test_a_secret_stays_in_the_file_and_out_of_sight(secret: str) -> None:
    text = f"- {secret}\n"
    (one,) = read(text)
    assert "REDACTED" in one.text
    (line,) = strike([text], one, until="2026-03-02")
    assert secret in line
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
    assert statements.beside(one, new, since="2026-03-02") == wanted


def test_what_a_new_entry_rests_on() -> None:
    (one,) = read("- Old.\n")
    (line,) = statements.beside(one, "New.", since="2026-03-02", from_=["memory/a b.md#L1", "MEMORY.md#L2"])
    (back,) = read(line)
    assert back.said["from"] == "memory/a b.md#L1,MEMORY.md#L2"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("- a\n- <private>x</private>\n- b", ("- a", "", "- b")),
        ("1. <private>x\ny</private>\n2. b", ("", "", "2. b")),
        ("- <private>x</private>\n  - b", ("- ", "  - b")),
        ("- <private>x</private> c\n-\n", ("-  c", "-")),
    ],
)
def test_an_item_that_is_private_leaves_no_mark(text: str, lines: tuple[str, ...]) -> None:
    assert parse(text, "a.md").lines == lines
