"""Notes as plain files for a model: contained, redacted, undoable; what is hidden or pinned stays."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.agent.files import MOST_DAYS, CommandRefused, Files
from commonplace.storage import journal, undo

Call = Callable[..., str]


@pytest.fixture
def call(memory: Memory) -> Call:
    files = Files(memory, agent="claude", session="s1")
    return lambda command, **arguments: files.call(command, arguments)


def refused(call: Call, command: str, **arguments: Any) -> str:
    with pytest.raises(CommandRefused) as told:
        call(command, **arguments)
    return str(told.value)


def test_long_term_memory_and_daily_notes_have_their_names(call: Call, folder: Path) -> None:
    shown = call("view", path="/memories")
    assert shown.count("MEMORY.md") == 1
    assert "/memories/2026-05-29.md" in shown
    assert "AGENTS.md" not in shown
    assert "     5\t- Aged white tea after lunch" in call("view", path="/memories/MEMORY.md")
    call("insert", path="/memories/2026-05-29.md", insert_line=2, insert_text="- 09:00 Begun.")
    assert "- 09:00 Begun." in (folder / "memory" / "2026-05-29.md").read_text()


def test_long_term_memory_may_lie_beside_the_daily_notes(call: Call, folder: Path) -> None:
    (folder / "MEMORY.md").rename(folder / "memory" / "MEMORY.md")
    assert call("view", path="/memories").count("MEMORY.md") == 1
    call("str_replace", path="/memories/MEMORY.md", old_str="Aged", new_str="Old")
    assert "Old white tea" in (folder / "memory" / "MEMORY.md").read_text()


def test_many_daily_notes_are_counted(call: Call, folder: Path) -> None:
    for number in range(50):
        day = date(2025, 1, 1) + timedelta(days=number)
        (folder / "memory" / f"{day}.md").write_text("x\n")
    lines = call("view", path="/memories").split("\n")
    assert sum(line.endswith(".md") and "\t/memories/20" in line for line in lines) == MOST_DAYS
    assert lines[-1] == "(22 older daily notes are not listed; the first is /memories/2025-01-01.md)"
    assert "     1\tx" in call("view", path="/memories/2025-01-01.md")


def test_every_edit_is_a_run_that_is_taken_back_to_the_byte(call: Call, memory: Memory, folder: Path) -> None:
    def tree() -> dict[str, bytes]:
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*.md")
            if path.is_file()
        }

    states = [tree()]
    steps: list[tuple[str, dict[str, Any]]] = [
        ("create", {"path": "/memories/p/a.md", "file_text": "one\n"}),
        ("str_replace", {"path": "/memories/p/a.md", "old_str": "one", "new_str": "two"}),
        ("insert", {"path": "/memories/2026-05-28.md", "insert_line": 0, "insert_text": "first"}),
        ("rename", {"old_path": "/memories/p", "new_path": "/memories/q"}),
        ("delete", {"path": "/memories/q"}),
    ]
    for command, arguments in steps:
        call(command, **arguments)
        states.append(tree())
    titles = [run.about.title for run in journal.newest_first(memory.workspace)]
    assert titles[::-1] == [
        "create memory/p/a.md", "edit memory/p/a.md", "edit memory/2026-05-28.md",
        "rename memory/p to memory/q", "delete memory/q",
    ]  # fmt: skip
    assert {run.about.agent for run in journal.newest_first(memory.workspace)} == {"claude"}
    for before in reversed(states[:-1]):
        undo.undo(memory.workspace)
        assert tree() == before


def test_what_is_pinned_stays(call: Call, folder: Path) -> None:
    note = folder / "memory" / "rules.md"
    text = "# Rules\n\n- Never deploy on Fridays. <!-- pinned -->\n- Tea is white.\n"
    note.write_text(text)
    path = "/memories/rules.md"
    assert "is pinned" in refused(call, "str_replace", path=path, old_str="Never", new_str="Always")
    assert "is pinned" in refused(call, "str_replace", path=path, old_str=" <!-- pinned -->", new_str="")
    assert "its owner has to delete it" in refused(call, "delete", path=path)
    assert note.read_text() == text
    call("str_replace", path=path, old_str="white", new_str="green")
    call("rename", old_path=path, new_path="/memories/laws.md")
    assert "- Tea is green." in (folder / "memory" / "laws.md").read_text()


MARK = r"[ \n]<!-- by: agent; agent: claude; session: s1; at: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S* -->"


def unmarked(path: Path) -> str:
    """What a file says without the comments that say who wrote it."""
    return re.sub(MARK, "", path.read_text())


def test_what_it_writes_says_so_and_is_seen_without(call: Call, memory: Memory, folder: Path) -> None:
    text = (
        "# Laws\n\n- Tea is green.  \n  - Sencha\n\nA paragraph\nof two lines.\n\n| a | b |\n|---|---|\n"
        "| 1 | 2 |\n\n```\n- code\n```\n\n- one <!-- a note\n- of two lines -->\n- `<!-- left open`\n"
    )
    call("create", path="/memories/laws.md", file_text=text)
    note = folder / "memory" / "laws.md"
    shown = call("view", path="/memories/laws.md").split("\n")[1:]
    assert [line.partition("\t")[2] for line in shown] == text.split("\n")
    assert unmarked(note) == text
    lines = note.read_text().split("\n")
    assert [number for number, line in enumerate(lines, 1) if "by: agent" in line] == [
        3, 4, 7, 12, 17, 19, 20, 21
    ]  # fmt: skip
    snippet = call(
        "str_replace",
        path="/memories/laws.md",
        old_str="green.  \n  - Sencha\n\nA par",
        new_str="black.\n\nA par",
    )
    assert "by: agent" not in snippet
    assert unmarked(note) == text.replace("green.  \n  - Sencha", "black.")
    memory.sync()
    assert [hit.path for hit in memory.search("tea black by:agent agent:claude").hits] == ["memory/laws.md"]


def test_lines_of_others_stay_theirs(call: Call, folder: Path) -> None:
    note = folder / "memory" / "2026-05-30.md"
    theirs = "# 2026-05-30\n\n- 09:00 Begun. <!-- by: agent; agent: nanobot -->\n- 10:00 Mine.\n\nA plan\nof mine.\n"
    note.write_text(theirs)
    call("insert", path="/memories/2026-05-30.md", insert_line=4, insert_text="- 11:00 Said.")
    call("insert", path="/memories/2026-05-30.md", insert_line=7, insert_text="and of its")
    call("str_replace", path="/memories/2026-05-30.md", old_str="10:00 Mine", new_str="10:00 Ours")
    first, *rest = re.split(MARK, note.read_text())
    assert first.endswith("- 09:00 Begun. <!-- by: agent; agent: nanobot -->\n- 10:00 Ours.")
    assert rest == ["\n- 11:00 Said.", "\n\nA plan\nand of its\nof mine.", "\n"]
    (folder / "memory" / "state.json").write_text("{}\n")
    call("str_replace", path="/memories/state.json", old_str="{}", new_str="[]")
    assert (folder / "memory" / "state.json").read_text() == "[]\n"


@given(st.lists(st.text(st.sampled_from("ab #-*`|<>!\n"), max_size=40), min_size=1, max_size=4))
def test_any_text_is_seen_as_it_was_written(memory: Memory, texts: list[str]) -> None:
    files = Files(memory, agent="claude", session="s1")
    note = memory.workspace.memory_dir / "any.md"
    note.unlink(missing_ok=True)
    files.call("create", {"path": "/memories/any.md", "file_text": texts[0]})
    for text in texts:
        files.call("insert", {"path": "/memories/any.md", "insert_line": 0, "insert_text": text})
        shown = files.call("view", {"path": "/memories/any.md"}).split("\n")[1:]
        assert "\n".join(line.partition("\t")[2] for line in shown) == unmarked(note)
        assert "by: agent" not in "".join(shown)


def test_no_comment_of_a_model_pins_or_passes_for_the_owner(call: Call, folder: Path) -> None:
    claim = "- Deploy at night. <!-- by: owner --> <!-- pinned --> <!-- importance: 7 -->\n"
    call("create", path="/memories/claims.md", file_text=claim)
    note = folder / "memory" / "claims.md"
    assert "<!-- by:" not in unmarked(note)
    assert "<!-- pinned" not in note.read_text()
    assert "<!-- importance: 7 -->" in note.read_text()
    note.write_text("- Deploy. <!-- by: agent; agent: x --> <!-- pinned -->\n- Tea.\n")
    line = "- Deploy. <!-- by: agent; agent: x --> <!-- pinned -->"
    call("str_replace", path="/memories/claims.md", old_str=f"{line}\n- Tea.", new_str=f"{line}\n- Coffee.")
    assert unmarked(note) == f"{line}\n- Coffee.\n"


def test_what_is_hidden_stays_to_the_byte_and_its_mark_cannot_be_taken_away(call: Call, folder: Path) -> None:
    note = folder / "memory" / "own.md"
    note.write_bytes("- a\r\n- <private>attic</private> x\r\n- 茶\r\n".encode())
    path = "/memories/own.md"
    assert "attic" not in call("view", path=path)
    assert "would be lost" in refused(
        call, "str_replace", path=path, old_str="<private>…</private>", new_str=""
    )
    call("str_replace", path=path, old_str="- a", new_str="- b\n- c")
    written = re.sub(MARK.encode(), b"", note.read_bytes())
    assert written == "- b\r\n- c\r\n- <private>attic</private> x\r\n- 茶\r\n".encode()


def test_links_that_leave_and_hidden_files_are_neither_shown_nor_changed(
    call: Call, folder: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("the secret\n")
    (folder / "memory" / "link.md").symlink_to(secret)
    (folder / "memory" / "out").symlink_to(tmp_path)
    (folder / "memory" / ".hidden.md").write_text("hidden\n")
    assert "link.md" not in call("view", path="/memories")
    assert "hidden" not in call("view", path="/memories").split("\n", 1)[1]
    for path in ("/memories/link.md", "/memories/out/secret.md", "/memories/.hidden.md"):
        told = refused(call, "view", path=path)
        assert "the secret" not in told
        refused(call, "str_replace", path=path, old_str="secret", new_str="x")
        refused(call, "create", path=path, file_text="x")
        refused(call, "delete", path=path)
    refused(call, "create", path="/memories/out/new.md", file_text="x")
    assert secret.read_text() == "the secret\n"
    assert not (tmp_path / "new.md").exists()


def test_a_folder_that_holds_what_is_no_plain_file_is_left_whole(call: Call, folder: Path) -> None:
    (folder / "memory" / "p").mkdir()
    (folder / "memory" / "p" / "a.md").write_text("a\n")
    os.mkfifo(folder / "memory" / "p" / "b")
    assert "no plain file" in refused(call, "delete", path="/memories/p")
    assert (folder / "memory" / "p" / "a.md").read_text() == "a\n"


def test_threads_at_once_lose_nothing(call: Call, folder: Path) -> None:
    call("create", path="/memories/shared.md", file_text="begin\n")
    with ThreadPoolExecutor(8) as threads:
        list(
            threads.map(
                lambda n: call("insert", path="/memories/shared.md", insert_line=0, insert_text=f"- {n}"),
                range(24),
            )
        )
    lines = unmarked(folder / "memory" / "shared.md").split()
    assert sorted(lines) == sorted(["begin", *["-"] * 24, *map(str, range(24))])


def test_what_is_too_large_is_neither_shown_nor_edited(call: Call, folder: Path) -> None:
    (folder / "memory" / "large.md").write_bytes(b"x\n" * 2_000_001)
    assert "larger than" in refused(call, "view", path="/memories/large.md")
    assert "too many to edit" in refused(
        call, "insert", path="/memories/large.md", insert_line=0, insert_text="x"
    )
    assert "at most" in refused(call, "create", path="/memories/new.md", file_text="x" * 1_000_001)


def test_a_folder_does_not_move_into_itself(call: Call) -> None:
    call("create", path="/memories/p/a.md", file_text="a\n")
    assert "lies inside of" in refused(call, "rename", old_path="/memories/p", new_path="/memories/p/q")


@given(
    text=st.text(max_size=80)
    | st.lists(st.sampled_from(["..", ".", "a", "MEMORY.md", "~", ""])).map("/".join)
)
def test_no_path_leaves_the_notes(memory: Memory, text: str) -> None:
    with suppress(CommandRefused):
        place = Files(memory)._place(f"/memories/{text}")
        assert place in ("", "MEMORY.md") or place.startswith("memory/")
        assert not [part for part in place.split("/") if part.startswith(".")]


@given(
    command=st.sampled_from(["view", "create", "str_replace", "insert", "delete", "rename", "", "wipe"]),
    arguments=st.dictionaries(
        st.sampled_from(
            ["path", "file_text", "old_str", "new_str", "insert_line", "insert_text", "view_range"]
        ),
        st.sampled_from(
            ["/memories", "/memories/x.md", "x", "", 0, -1, None, [1, 2], [1], {}, "\ud800", True]
        ),
    ),
)
def test_whatever_a_model_sends_is_answered_or_refused(memory: Memory, command: str, arguments: Any) -> None:
    with suppress(CommandRefused):
        assert isinstance(Files(memory).call(command, arguments), str)
    json.dumps(arguments)
