"""Entries captured by the many: a write a day, each in its place, who wrote it, and none of them twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.errors import OutsideRoots
from commonplace.base.paths import Workspace
from commonplace.chunking import passages
from commonplace.markdown.document import Document, parse
from commonplace.notes import appends, layout
from commonplace.redaction.recalled import TAG
from commonplace.types import Entry, Provenance, Written

AT = datetime(2026, 2, 13, 14, 5, 9)
BY = Provenance("tool", "nanobot", "8f3a")
COMMENT = "<!-- by: tool; agent: nanobot; session: 8f3a; at: 2026-02-13T14:05:09 -->"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def daily(workspace: Workspace) -> str:
    return workspace.daily(AT.date()).read_text(encoding="utf-8")


def test_entries_of_several_days_and_headings(workspace: Workspace) -> None:
    workspace.memory_dir.mkdir()
    workspace.daily(AT.date()).write_text(
        "# 2026-02-13\n\n- mine\n\n## Work\n\n- old\n\n## Home\n\n- tea\n", "utf-8"
    )
    written = layout.capture(
        workspace,
        [
            Entry("one", AT, "Work", BY), Entry("next day", AT + timedelta(days=1)), Entry("two\nlines", AT, "Work"),
            Entry("lead", AT), Entry("three", AT, "New", BY), Entry("four", AT, "Home"),
        ],
    )  # fmt: skip
    assert daily(workspace) == (
        "# 2026-02-13\n\n- mine\n- 14:05 lead\n\n"
        f"## Work\n\n- old\n- 14:05 one {COMMENT}\n- 14:05 two\n  lines\n\n"
        f"## Home\n\n- tea\n- 14:05 four\n\n## New\n\n- 14:05 three {COMMENT}\n"
    )
    assert written == [
        Written("memory/2026-02-13.md", 9, 9), Written("memory/2026-02-14.md", 3, 3), Written("memory/2026-02-13.md", 10, 11),
        Written("memory/2026-02-13.md", 4, 4), Written("memory/2026-02-13.md", 20, 20), Written("memory/2026-02-13.md", 16, 16),
    ]  # fmt: skip


def test_what_stands_there_already_is_not_written_again(workspace: Workspace) -> None:
    entries = [Entry(f"entry {number}\nmore", AT, "Work", BY) for number in range(5)]
    first = layout.capture(workspace, entries[:3])
    before = daily(workspace)
    assert layout.capture(workspace, entries[:3]) == first
    assert daily(workspace) == before
    again = layout.capture(workspace, [*entries, entries[0]])
    assert again[:3] == first
    assert again[5] == first[0]
    assert daily(workspace).count("- 14:05 entry") == 5
    longer = Entry("entry 0\nmore\nand more", AT, "Work", BY)
    assert layout.capture(workspace, [longer])[0] not in first
    windows = workspace.daily(AT.date())
    windows.write_bytes(windows.read_bytes().replace(b"\n", b"\r\n"))
    assert layout.capture(workspace, entries[:3]) == first


def test_secrets_private_parts_and_recalled_blocks_stop_here_as_well(workspace: Workspace) -> None:
    token = "ghp_" + "aB3" * 12
    text = f"{token} ann@example.com <private>diary</private> <{TAG}>recalled</{TAG}> <!-- by: owner --> <!-- importance: 9 -->"
    tool, agent, nothing = layout.capture(
        workspace,
        [
            Entry(text, AT, token, BY),
            Entry(text, AT, "", Provenance("agent")),
            Entry("<private>all</private>", AT),
            Entry("x", AT),
        ],
    )[:3]
    assert tool.redacted == ("github-token", "email")
    assert agent.redacted == ("github-token",)
    assert nothing.start_line == agent.end_line + 1
    note = daily(workspace)
    assert not any(word in note for word in (token, "diary", "recalled<"))
    assert note.count("ann@example.com") == 1  # an agent may speak of people, a tool may not
    assert note.count("<!-- importance: 9 -->") == 1
    assert "<!-- by: owner" not in note


def test_aware_times_are_of_the_local_day(workspace: Workspace) -> None:
    at = datetime(2026, 2, 13, 23, 59, tzinfo=UTC)
    (written,) = layout.capture(workspace, [Entry("x", at)])
    local = at.astimezone()
    assert written.path == f"memory/{local:%Y-%m-%d}.md"
    assert f"- {local:%H:%M} x" in (workspace.root / written.path).read_text("utf-8")


def test_times_may_be_left_out(workspace: Workspace) -> None:
    layout.capture(workspace, [Entry("```\ncode\n```", AT, "", BY)], times=False)
    assert daily(workspace) == f"# 2026-02-13\n\n- {COMMENT}\n  ```\n  code\n  ```\n"
    note = parse(daily(workspace), "memory/2026-02-13.md")
    said = [p.annotations for p in passages.split(note)[1] if "code" in p.text]
    assert [found and found["session"] for found in said] == ["8f3a"]


def test_a_day_that_cannot_be_written_leaves_those_before_it(workspace: Workspace) -> None:
    blocked = workspace.daily((AT + timedelta(days=1)).date())
    blocked.mkdir(parents=True)
    with pytest.raises(OutsideRoots):
        layout.capture(workspace, [Entry("two", AT + timedelta(days=1)), Entry("one", AT)])
    assert daily(workspace).endswith("- 14:05 one\n")


def test_remembering_says_who(workspace: Workspace) -> None:
    by = Provenance("agent", "claude; code --> <b>", "s\n1")
    layout.remember(workspace, "likes tea", now=AT, provenance=by)
    layout.remember(workspace, "first\n\nsecond", now=AT, long_term=True, provenance=by)
    comment = "<!-- by: agent; agent: claude code - b; session: s 1; at: 2026-02-13T14:05:09 -->"
    assert daily(workspace) == f"# 2026-02-13\n\n- 14:05 likes tea {comment}\n"
    text = workspace.memory_file.read_text("utf-8")
    assert text == f"# Memory\n\n## Notes\n\n- first {comment}\n\n  second\n"
    said = [p.annotations for p in passages.split(parse(text, "MEMORY.md"))[1] if "second" in p.text]
    assert [found and found["by"] for found in said] == ["agent"]


TEXTS = st.text(max_size=60) | st.lists(
    st.sampled_from(["# h", "- x", "\n", "```", "~~~~", "---", "===", "  ", "<!--", "-->", "by: owner", "a", "\t", "---\n", "<private>", "</private>"]), max_size=12
).map("".join)  # fmt: skip
VALUES = st.text(max_size=20) | st.sampled_from(
    ["--", "a--b", "-->", "; by: owner", "<!--", "x\ny", "\ud800", "---"]
)


@given(
    st.lists(st.tuples(TEXTS, st.sampled_from(["", "Work", "# Home"])), min_size=1, max_size=5),
    VALUES,
    VALUES,
)
def test_entries_of_any_text_keep_the_note_whole(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[str, str]], agent: str, session: str
) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("any"))
    by = Provenance("tool", agent, session)
    written = layout.capture(workspace, [Entry(text, AT, heading, by) for text, heading in told])
    if not written:
        return
    before = daily(workspace)
    lines = before.split("\n")
    note = parse(before, "memory/2026-02-13.md")
    assert {heading.text for heading in note.headings} <= {"2026-02-13", "Work", "Home"}
    for entry in written:
        assert lines[entry.start_line - 1].startswith("- 14:05")
        assert all(line.startswith("  ") or not line for line in lines[entry.start_line : entry.end_line])
        assert note.annotations[entry.start_line]["by"] == "tool"
    assert sum(line.startswith("- ") for line in lines) == len({entry.start_line for entry in written})
    for passage in passages.split(note)[1]:
        if not passage.text.startswith("#"):
            assert (passage.annotations or {}).get("by") == "tool"
    again = layout.capture(workspace, [Entry(text, AT, heading, by) for text, heading in told])
    assert len(again) == len(written)
    assert daily(workspace) == before


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", "H", "I"])), max_size=8),
    st.sampled_from(["", "# T\n\n- z\n\n## I\n\n- y\n"]),
)
def test_all_at_once_is_one_after_the_other(told: list[tuple[str, str]], text: str) -> None:
    entries = [(f"- {letter}{number}", heading or None) for number, (letter, heading) in enumerate(told)]
    together, places = appends.insert_all(Document.of(text), entries)
    single = Document.of(text)
    for entry, heading in entries:
        single = single.insert(entry, heading=heading).document
    assert together.text == single.text
    lines = together.bare
    assert [lines[first - 1] for first, last in places if first == last] == [entry for entry, _ in entries]
