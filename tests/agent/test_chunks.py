"""Notes in pieces: which is newest, where entries end, what is not told."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.agent import chunks, pieces
from commonplace.base.errors import NoteNotFound, NoteUnreadable, OutsideRoots
from commonplace.markdown.document import parse
from tests.agent.conftest import TODAY

NOTE_LINES = st.lists(
    st.sampled_from(
        ["# Title", "## 家里", "- 10:00 tea", "- 茶", "  indented", "", "```", "a sentence.", "| a | b |",
         "- guess <!-- tentative -->", "- old <!-- superseded -->", "2026-05-02", "<!-- by: untrusted -->"]
    ),
    max_size=25,
)  # fmt: skip


def entries(text: str, path: str = "memory/2026-05-29.md") -> list[str]:
    return [
        hit.text
        for piece in chunks.of_entries(parse(text, path), TODAY, tentative=False)
        for hit in piece.hits
    ]


def facts(text: str) -> list[pieces.Piece]:
    return chunks.of_facts(parse(text, "MEMORY.md"), TODAY, tentative=False)


def test_facts_come_by_their_newest_full_date_up_to_today_then_by_section() -> None:
    text = (
        "# M\n\n## a\n\n- 2026-01-02\n\n## b\n\n- on 20 May 2026\n\n## c\n\nno date\n\n## d\n\n2026年3月1日\n\n"
        "## e\n\n- planned for 2027-01-01, decided 5 January 2026\n\n## f\n\nyesterday\n"
    )
    assert [piece.hits[0].headings[-1] for piece in facts(text)] == ["b", "d", "e", "a", "f", "c"]


def test_a_heading_names_a_piece_and_is_not_told_by_it() -> None:
    assert [(p.hits[0].headings, p.hits[0].text, p.citation) for p in facts("# M\n\n## Tea\n\n- white\n- green\n\n\n")] == [
        (("M", "Tea"), "- green", "MEMORY.md#L6"), (("M", "Tea"), "- white", "MEMORY.md#L5"),
    ]  # fmt: skip


def test_front_matter_is_told_by_nobody() -> None:
    assert [p.hits[0].text for p in facts("---\ntags: [a]\n---\n\nlead\n")] == ["lead"]
    assert [p.why for p in facts("---\ntentative: true\n---\n\nlead\n")] == ["tentative"]


def test_entries_are_items_with_what_is_indented_and_paragraphs() -> None:
    text = "# d\n\n- 09:00 one\n  - below\n\n  more\n- 10:00 two\n\nA paragraph\nof two lines.\n\n```\n- code\n\nmore\n```\n"
    assert entries(text) == [
        "```\n- code\n\nmore\n```",
        "A paragraph\nof two lines.",
        "- 10:00 two",
        "- 09:00 one\n  - below\n\n  more",
    ]


def test_the_hour_decides_before_the_place_and_what_has_none_goes_with_what_is_above() -> None:
    text = "# d\n\n- 18:00 late\n\nalso late\n\n## other\n\n- 9:30 early\n- later in place\n"
    assert entries(text) == ["also late", "- 18:00 late", "- later in place", "- 9:30 early"]


def test_what_no_longer_holds_and_guesses_are_pieces_that_say_why_not() -> None:
    text = "- holds\n- old <!-- superseded -->\n- gone <!-- valid-until: 2026-05-28 -->\n- guess <!-- tentative -->\n- also\n"
    note = parse(text, "MEMORY.md")
    found = chunks.of_facts(note, TODAY, tentative=False)
    assert [(p.why, [hit.text for hit in p.hits]) for p in found if p.why] == [
        ("tentative", ["- guess"]), ("expired", ["- gone"]), ("superseded", ["- old"]),
    ]  # fmt: skip
    assert [hit.text for p in found if not p.why for hit in p.hits] == ["- also", "- holds"]
    told = [hit.text for p in chunks.of_facts(note, TODAY, tentative=True) if not p.why for hit in p.hits]
    assert told == ["- also", "- guess", "- holds"]


def test_what_came_from_outside_is_labelled() -> None:
    (piece,) = chunks.of_entries(
        parse("- page says so <!-- by: untrusted -->\n", "memory/2026-05-29.md"), TODAY, tentative=False
    )
    assert piece.hits[0].labels == ("untrusted",)


@given(NOTE_LINES)
def test_every_line_below_a_heading_is_in_one_piece(lines: list[str]) -> None:
    note = parse("\n".join(lines), "memory/2026-05-29.md")
    for cut in (chunks.of_facts, chunks.of_entries):
        found = [hit for piece in cut(note, TODAY, tentative=False) for hit in piece.hits]
        covered = [
            n for hit in found for n in range(hit.start_line, hit.end_line + 1) if note.lines[n - 1].strip()
        ]
        assert len(covered) == len(set(covered))
        headings = {heading.line for heading in note.headings}
        underlined = {
            number + 1 for number in headings if not note.lines[number - 1].lstrip().startswith("#")
        }
        front = set(range(1, note.front_matter[1] + 1)) if note.front_matter else set()
        wanted = {n for n, line in enumerate(note.lines, 1) if line.strip()} - headings - underlined - front
        assert wanted <= set(covered)


@given(NOTE_LINES)
def test_joined_pieces_keep_every_text_in_the_order_of_the_lines(lines: list[str]) -> None:
    note = parse("\n".join(lines), "memory/2026-05-29.md")
    found = [piece for piece in chunks.of_entries(note, TODAY, tentative=False) if not piece.why]
    joined = pieces.joined(found)
    assert [hit.start_line for hit in joined] == sorted(hit.start_line for hit in joined)
    said = [line for hit in joined for line in hit.text.split("\n") if line.strip()]
    parts = sorted((hit for piece in found for hit in piece.hits), key=lambda hit: hit.start_line)
    assert said == [line for hit in parts for line in hit.text.split("\n") if line.strip()]


def test_entries_that_only_blank_lines_part_become_one_hit() -> None:
    found = chunks.of_entries(
        parse("# d\n\none.\n\n\ntwo.\n\n- three\n", "memory/2026-05-29.md"), TODAY, tentative=False
    )
    assert [(hit.text, hit.citation) for hit in pieces.joined(found)] == [
        ("one.\n\ntwo.\n\n- three", "memory/2026-05-29.md#L3-L8")
    ]
    assert [hit.text for hit in pieces.joined(piece for piece in found if "two" not in piece.hits[0].text)] == [
        "one.", "- three",
    ]  # fmt: skip


# --- files --------------------------------------------------------------------------------------------


def test_the_notes_of_a_day_are_those_named_after_it(memory: Memory) -> None:
    folder = memory.workspace.memory_dir
    for name in ("2026-05-29-meeting.md", "2026-05-290.md", "2026-05-29.txt", "notes-2026-05-29.md"):
        (folder / name).write_text("- x\n")
    assert chunks.daily_notes(memory, TODAY) == ["memory/2026-05-29-meeting.md", "memory/2026-05-29.md"]
    assert chunks.daily_notes(memory, date(2026, 5, 30)) == []


def test_no_folder_of_notes_is_no_error_and_one_that_cannot_be_listed_is(memory: Memory) -> None:
    folder = memory.workspace.memory_dir
    folder.rename(folder.with_name("gone"))
    assert chunks.daily_notes(memory, TODAY) == []
    folder.write_text("a file")
    with pytest.raises(NoteUnreadable):
        chunks.daily_notes(memory, TODAY)


def test_private_parts_and_secrets_are_not_read(memory: Memory) -> None:
    secret = "ghp_" + "a1B2" * 9
    memory.workspace.memory_file.write_text(f"- open <private>hidden</private>\n- token {secret}\n")
    text = "\n".join(chunks.read(memory, "MEMORY.md").lines)
    assert "hidden" not in text
    assert secret not in text
    assert "open" in text


def test_a_link_that_leaves_the_workspace_is_refused(memory: Memory) -> None:
    outside = memory.workspace.root.parent / "outside.md"
    outside.write_text("not yours\n")
    memory.workspace.memory_file.unlink()
    memory.workspace.memory_file.symlink_to(outside)
    with pytest.raises(OutsideRoots):
        chunks.read(memory, "MEMORY.md")


def test_a_note_that_is_ignored_is_not_there(folder: object) -> None:
    with (
        Memory.open(str(folder), overrides={"index.ignore": ("USER.md",)}) as memory,
        pytest.raises(NoteNotFound),
    ):
        chunks.read(memory, "USER.md")
