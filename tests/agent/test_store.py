"""The two texts of a host: today's note and MEMORY.md, read and written without loss."""

from __future__ import annotations

import threading
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.agent import MemoryStore
from commonplace.base.errors import ConfigError, OutsideRoots, TextLost
from commonplace.storage import journal, undo
from tests.agent.conftest import NOTES, TODAY

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def plain(memory: Memory) -> MemoryStore:
    return MemoryStore(memory)


def long_term(plain: MemoryStore) -> Path:
    return plain.memory.workspace.memory_file


# --- notes ----------------------------------------------------------------------------------------------


def test_today_is_read_as_it_may_be_shown_and_appended_to(plain: MemoryStore) -> None:
    now = datetime(2026, 5, 30, 9, 5)
    assert plain.read_today(now) == ""
    written = plain.append_today(f"Token {SECRET} <private>not this</private>", heading="Access", now=now)
    assert (written.path, written.redacted) == ("memory/2026-05-30.md", ("github-token",))
    assert plain.read_today(now) == "# 2026-05-30\n\n## Access\n\n- 09:05 Token [REDACTED:github-token]\n"
    assert plain.read_today(TODAY) == NOTES["memory/2026-05-29.md"]
    with pytest.raises(ConfigError):
        plain.append_today("  ")


def test_long_term_memory_is_read_with_its_comments_and_rewritten(plain: MemoryStore) -> None:
    text = plain.read_long_term()
    assert text == NOTES["MEMORY.md"]
    plain.write_long_term("# Memory\n\n- short now.")
    assert long_term(plain).read_text() == "# Memory\n\n- short now.\n"
    plain.write_long_term("# Memory\n")  # as it was written a moment ago
    assert plain.read_long_term() == "# Memory\n"


def test_a_file_that_was_not_read_is_not_shortened(plain: MemoryStore) -> None:
    with pytest.raises(TextLost, match="read it again"):
        plain.write_long_term("# Memory\n")
    assert long_term(plain).read_text() == NOTES["MEMORY.md"]
    plain.write_long_term(NOTES["MEMORY.md"] + "\n## New\n\n- added.\n")  # all that was there still is
    assert long_term(plain).read_text().endswith("- added.\n")


def test_what_somebody_wrote_since_the_reading_is_not_lost(plain: MemoryStore) -> None:
    text = plain.read_long_term()
    plain.memory.remember("The owner's own line.", long_term=True)
    with pytest.raises(TextLost):
        plain.write_long_term(text.replace("Aged white", "Green"))
    assert "The owner's own line." in long_term(plain).read_text()


def test_what_is_hidden_from_the_reader_stays_in_the_file(plain: MemoryStore) -> None:
    raw = f"# M\n\n- open <private>a\nb</private> end\n- token {SECRET}\n- last\n"
    long_term(plain).write_text(raw)
    text = plain.read_long_term()
    assert SECRET not in text
    assert "a\nb" not in text
    plain.write_long_term(text.replace("- last", "- changed"))
    assert long_term(plain).read_text() == raw.replace("- last", "- changed")


@pytest.mark.parametrize("lost", ["<private>…</private>", "- token [REDACTED:github-token]\n"])
def test_a_text_without_a_mark_is_refused(plain: MemoryStore, lost: str) -> None:
    raw = f"# M\n\n- open <private>a</private> end\n- token {SECRET}\n"
    long_term(plain).write_text(raw)
    text = plain.read_long_term()
    assert lost in text
    with pytest.raises(TextLost, match="leave its mark"):
        plain.write_long_term(text.replace(lost, ""))
    assert long_term(plain).read_text() == raw


def test_new_secrets_and_private_parts_are_not_written(plain: MemoryStore) -> None:
    plain.read_long_term()
    plain.write_long_term(f"- key {SECRET}\n- a <private>b</private>c\0\n")
    assert long_term(plain).read_text() == "- key [REDACTED:github-token]\n- a c\N{REPLACEMENT CHARACTER}\n"


def test_newlines_marks_and_damaged_bytes_of_the_file_stay(plain: MemoryStore) -> None:
    raw = b"\xef\xbb\xbf# M\r\n\r\n- damaged \xff here\r\n"
    long_term(plain).write_bytes(raw)
    text = plain.read_long_term()
    assert text == "# M\n\n- damaged \N{REPLACEMENT CHARACTER} here\n"
    plain.write_long_term(text + "- new\n")
    assert long_term(plain).read_bytes() == raw + b"- new\r\n"


def test_memory_that_is_missing_reads_as_empty_and_can_be_written(tmp_path: Path) -> None:
    with Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as memory:
        plain = MemoryStore(memory)
        assert plain.read_long_term() == ""
        plain.write_long_term("# Memory\n")
        assert (tmp_path / "MEMORY.md").read_text() == "# Memory\n"


def test_long_term_memory_behind_a_link_that_leaves_is_refused(plain: MemoryStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("theirs\n")
    long_term(plain).unlink()
    long_term(plain).symlink_to(outside)
    with pytest.raises(OutsideRoots):
        plain.read_long_term()
    with pytest.raises(OutsideRoots):
        plain.write_long_term("theirs\nours\n")
    assert outside.read_text() == "theirs\n"


def test_writers_at_the_same_time_lose_nothing(plain: MemoryStore) -> None:
    """Each reads, adds its line and writes; who comes too late is told so, reads again and adds it then."""

    def add(number: int) -> None:
        own = MemoryStore(plain.memory)
        while True:
            text = own.read_long_term()
            try:
                own.write_long_term(f"{text}- line {number}\n")
            except TextLost:
                continue
            return

    threads = [threading.Thread(target=add, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    text = long_term(plain).read_text()
    assert sorted(line for line in text.split("\n") if line.startswith("- line")) == [
        f"- line {n}" for n in range(8)
    ]
    assert text.startswith(NOTES["MEMORY.md"])


LINES = st.lists(
    st.sampled_from(["- a", "- b", "", "## h", "<private>x</private>", f"k {SECRET}"]), max_size=8
)


@given(LINES, LINES)
def test_no_write_loses_a_line_that_was_not_read(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], after: list[str]
) -> None:
    root = tmp_path_factory.mktemp("any")
    file = root / "MEMORY.md"
    file.write_text("\n".join(before))
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        try:
            MemoryStore(memory).write_long_term("\n".join(after))
        except TextLost:
            assert file.read_text() == "\n".join(before)
    rest = iter(file.read_text().split("\n"))
    assert all(any(line == other for other in rest) for line in before if line.strip())


def test_a_rewrite_is_a_run_that_can_be_undone(plain: MemoryStore) -> None:
    text = plain.read_long_term()
    plain.write_long_term(text.replace("Aged white", "Green"), agent="nanobot", session="8f3a")
    plain.memory.remember("The owner's own line.", long_term=True)
    workspace = plain.memory.workspace
    entry, run = journal.listed(workspace)
    assert (entry.about.by, run.about.kind, run.about.by, run.about.agent) == (
        "owner",
        "write",
        "agent",
        "nanobot",
    )
    undo.undo(workspace, run.id)
    assert "Aged white" in long_term(plain).read_text()
    assert "The owner's own line." in long_term(plain).read_text()
