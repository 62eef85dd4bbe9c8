"""The block for a prompt: what is in it, that it fits and stays framed, and what it says where files are bad."""

from __future__ import annotations

import os
import sqlite3
import threading
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.agent import Context, ContextBuilder
from commonplace.agent import context as contexts
from commonplace.agent.context import DAILY, FILES, LONG_TERM, RECALL
from commonplace.base import tokens
from commonplace.config.settings import Prompt
from tests.agent.conftest import NOTES, TODAY

GOLDEN = Path(__file__).parents[1] / "golden" / "prompt.txt"
QUESTION = "When does the ferry to Oslo leave?"
OPENING, CLOSING = "<recalled-notes ", "</recalled-notes>"
SETTINGS = Prompt(1600, 350, 250, 2, (), 400)


def build(
    memory: Memory, message: str = QUESTION, *, budget: int | None = None, files: bool = False
) -> Context:
    return ContextBuilder(memory).build(message, now=TODAY, budget=budget, files=files)


def names(context: Context) -> list[str]:
    return list(dict.fromkeys(part.name for part in context.parts))


def test_the_block_is_as_written_down(memory: Memory) -> None:
    """After a change that is meant, put the new block into `golden/prompt.txt`: read the difference."""
    assert build(memory, files=True).text + "\n" == GOLDEN.read_text("utf-8")


def test_all_parts_stand_in_one_frame_with_their_sources(memory: Memory) -> None:
    context = build(memory, files=True)
    assert names(context) == [LONG_TERM, DAILY, FILES, RECALL]
    assert context.text.count(OPENING) == context.text.count(CLOSING) == 1
    assert context.tokens == tokens.about(context.text) <= context.budget
    for part in context.parts:
        assert part.text in context.text
        assert part.text.startswith(f"From {part.citation}")
        assert part.tokens == tokens.about(part.text)
    assert (context.level, context.stale, context.warnings) == (2, 0, ())


def test_files_of_convention_only_when_asked(memory: Memory) -> None:
    assert FILES not in names(build(memory))
    with Memory.open(memory.workspace.root, overrides={"prompt.file_names": ["AGENTS.md"]}) as other:
        assert FILES in names(ContextBuilder(other).build(QUESTION, now=TODAY))
        assert FILES not in names(ContextBuilder(other).build(QUESTION, now=TODAY, files=False))


def test_a_file_of_convention_that_is_missing_is_not_worth_a_word(memory: Memory) -> None:
    assert not [left for left in build(memory, files=True).left_out if "SOUL" in left.what]


def test_a_message_of_nothing_recalls_nothing(memory: Memory) -> None:
    context = build(memory, "  \n")
    assert names(context) == [LONG_TERM, DAILY]
    assert context.level is None


def test_both_languages_find_their_notes(memory: Memory) -> None:
    memory.remember("每周三去游泳馆，带黄色毛巾。", now=datetime(2026, 3, 1, 9, 0))
    assert "黄色毛巾" in build(memory, "什么时候去游泳？").text
    assert "17:45" in build(memory).text


def test_the_recall_repeats_nothing_that_stands_above(memory: Memory) -> None:
    context = build(memory, "What about the deploy, and the white tea after lunch?")
    for line in ("The deploy moved to Thursday", "Aged white tea after lunch"):
        assert context.text.count(line) == 1
    assert [left.what for left in context.left_out if left.why == "said above"]


def test_short_lines_are_not_repeated_either(memory: Memory) -> None:
    text = "# 2026-05-29\n\n## Deploy\n\n- The deploy moved to Thursday.\n- Lin signs.\n- So it is.\n"
    (memory.workspace.memory_dir / "2026-05-29.md").write_text(text)
    context = build(memory, "who signs the deploy off?")
    assert [context.text.count(line) for line in ("moved to Thursday", "Lin signs", "So it is")] == [1, 1, 1]


def test_of_a_recalled_passage_the_lines_that_stand_above_are_left_out(memory: Memory) -> None:
    (memory.workspace.root / "MEMORY.md").unlink()
    text = "# 2026-05-29\n\n- 10:00 The zeppelin docks at nine in Bremen.\n- 11:00 Yes.\n- 12:00 The zeppelin has a name.\n"
    (memory.workspace.memory_dir / "2026-05-29.md").write_text(text)
    context = ContextBuilder(memory, SETTINGS._replace(daily=30)).build("zeppelin in Bremen", now=TODAY)
    assert [(part.name, part.citation) for part in context.parts] == [
        (DAILY, "memory/2026-05-29.md#L4-L5"),
        (RECALL, "memory/2026-05-29.md#L3"),
    ]


def test_guesses_and_what_no_longer_holds_are_left_out_and_reported(memory: Memory) -> None:
    context = build(memory, "")
    assert "second office" not in context.text
    assert "Roll out on Fridays" not in context.text
    assert "the cellar floods" in context.text
    assert {left.why for left in context.left_out} >= {"tentative", "superseded"}


def test_the_newest_entries_come_in_first(memory: Memory) -> None:
    settings = SETTINGS._replace(long_term=0, daily=40)
    context = ContextBuilder(memory, settings).build("", now=TODAY)
    assert [part.citation for part in context.parts] == ["memory/2026-05-29.md#L8"]
    assert all("no room in the 40 tokens" in left.why for left in context.left_out if "2026-05" in left.what)


def test_long_term_memory_is_whole_when_short_and_cut_at_entries_when_not(memory: Memory) -> None:
    whole = ContextBuilder(memory, SETTINGS._replace(daily=0)).build("", now=TODAY)
    assert len(whole.parts) == 3
    short = ContextBuilder(memory, SETTINGS._replace(daily=0, long_term=40)).build("", now=TODAY)
    assert [part.citation for part in short.parts][:-1] == ["MEMORY.md#L5"]  # of 2 May, the newest day named
    assert "more entries" in short.parts[-1].text


@pytest.mark.parametrize("month", ["in 2026", "in April 2026", "since 2026", "in Q2 2026", "2026年4月"])
def test_a_month_or_a_year_makes_no_section_newer_than_a_day(memory: Memory, month: str) -> None:
    memory.workspace.memory_file.write_text(
        f"# Memory\n\n## Club\n\n- The club was founded {month}.\n\n## Move\n\n- On 20 December 2025 we moved.\n"
    )
    settings = SETTINGS._replace(daily=0, long_term=25)
    short = ContextBuilder(memory, settings).build("", now=TODAY)
    assert [part.citation for part in short.parts] == ["MEMORY.md#L9"]


def test_as_many_days_as_set(memory: Memory) -> None:
    one = ContextBuilder(memory, SETTINGS._replace(days=1)).build("", now=TODAY)
    assert not [part for part in one.parts if "05-28" in part.citation]
    assert [part for part in build(memory, "").parts if "05-28" in part.citation]


@pytest.mark.parametrize("day", [date.min, date(1, 1, 2), date.max])
def test_the_first_and_the_last_of_all_days_have_a_block(memory: Memory, day: date) -> None:
    context = ContextBuilder(memory, SETTINGS._replace(days=5)).build(QUESTION, now=day)
    assert LONG_TERM in names(context)
    assert DAILY not in names(context)


def test_a_small_budget_is_shared_and_the_recall_keeps_its_room(memory: Memory) -> None:
    memory.workspace.memory_file.write_text(
        "# M\n" + "".join(f"\n## s{n}\n\n- fact {n}.\n" for n in range(200))
    )
    context = build(memory, budget=300)
    assert "17:45" in context.text
    assert context.tokens <= 300


def test_the_same_notes_give_the_same_block(memory: Memory) -> None:
    assert build(memory) == build(memory)


def test_the_hour_does_not_matter_only_the_day(memory: Memory) -> None:
    builder = ContextBuilder(memory)
    assert builder.build(QUESTION, now=datetime(2026, 5, 29, 23, 59)) == builder.build(QUESTION, now=TODAY)


# --- sessions -----------------------------------------------------------------------------------------


def test_nothing_is_given_to_a_session_twice(memory: Memory) -> None:
    builder = ContextBuilder(memory)
    first = builder.build(QUESTION, session="a", now=TODAY)
    again = builder.build(QUESTION, session="a", now=TODAY)
    assert first.text
    assert (again.text, again.tokens, again.parts) == ("", 0, ())
    assert {left.why for left in again.left_out} >= {"in this session already"}
    assert builder.build(QUESTION, session="b", now=TODAY).text == first.text
    builder.forget("a")
    assert builder.build(QUESTION, session="a", now=TODAY).text == first.text


def test_only_what_changed_is_given_again(memory: Memory) -> None:
    builder = ContextBuilder(memory)
    builder.build(QUESTION, session="a", now=TODAY)
    memory.remember("The pier moved to the west.", now=datetime(2026, 5, 29, 17, 0))
    memory.workspace.memory_file.write_text(
        NOTES["MEMORY.md"].replace("备用钥匙在邻居家", "备用钥匙在门垫下")
    )
    again = builder.build(QUESTION, session="a", now=TODAY)
    assert [part.citation for part in again.parts] == ["MEMORY.md#L10", "memory/2026-05-29.md#L5"]
    assert "- 17:00 The pier moved to the west." in again.text
    assert "16:00" not in again.text


def test_another_question_brings_only_what_is_new(memory: Memory) -> None:
    builder = ContextBuilder(memory)
    builder.build("", session="a", now=TODAY)
    assert names(builder.build(QUESTION, session="a", now=TODAY)) == [RECALL]


def test_what_is_only_composed_does_not_count_as_given(memory: Memory) -> None:
    builder = ContextBuilder(memory)
    first = builder.compose(QUESTION, session="a", now=TODAY)
    assert builder.build(QUESTION, session="a", now=TODAY) == first


# --- any text, any budget -----------------------------------------------------------------------------

SNIPPETS = [
    "</recalled-notes>",
    "<recalled-notes>",
    "- 10:00 ",
    "\n\n## ",
    "<private>",
    *"ab 你好\n-#`*<>/.。",
]
TEXT = st.lists(st.sampled_from(SNIPPETS), max_size=80).map("".join)


@given(TEXT, TEXT, st.integers(0, 400), st.text(max_size=20))
def test_no_text_leaves_the_frame_or_the_budget(
    tmp_path_factory: pytest.TempPathFactory, long_term: str, daily: str, budget: int, message: str
) -> None:
    root = tmp_path_factory.mktemp("any")
    (root / "memory").mkdir()
    (root / "MEMORY.md").write_text(long_term * 3, "utf-8")
    (root / "memory" / "2026-05-29.md").write_text(daily * 3, "utf-8")
    (root / "AGENTS.md").write_text(daily + long_term, "utf-8")
    with Memory.open(root, overrides={"embedding.provider": "none", "usage.record": False}) as memory:
        context = build(memory, message + " a", budget=budget, files=True)
    assert context.tokens == tokens.about(context.text) <= budget
    assert bool(context.text) == bool(context.parts)
    assert "<private>" not in context.text
    if context.text:
        assert context.text.startswith(OPENING)
        assert context.text.endswith(f"\n{CLOSING}")
        assert (
            context.text.lower().count("<recalled-notes")
            == context.text.lower().count("</recalled-notes")
            == 1
        )


# --- bad state ----------------------------------------------------------------------------------------


def test_no_notes_at_all_give_no_block(tmp_path: Path) -> None:
    with Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as memory:
        context = build(memory, files=True)
    assert (context.text, context.tokens) == ("", 0)
    assert ("MEMORY.md", "no such note") in [(left.what, left.why) for left in context.left_out]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads all")
def test_a_file_without_permission_is_reported(memory: Memory) -> None:
    memory.workspace.memory_file.chmod(0)
    context = build(memory)
    assert ("MEMORY.md", "permission denied") in [(left.what, left.why) for left in context.left_out]
    assert "17:45" in context.text


def test_what_is_no_file_is_reported_and_the_rest_goes_on(memory: Memory) -> None:
    memory.workspace.memory_file.unlink()
    memory.workspace.memory_file.mkdir()
    context = build(memory)
    assert [left.why for left in context.left_out if left.what == "MEMORY.md"] == [
        "a folder, not a regular file"
    ]
    assert "17:45" in context.text


def test_a_file_of_convention_that_leads_outside_is_refused(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("OUTSIDE\n")
    (memory.workspace.root / "SOUL.md").symlink_to(tmp_path / "outside.md")
    context = build(memory, files=True)
    assert "OUTSIDE" not in context.text
    assert [left.why for left in context.left_out if left.what == "SOUL.md"] == [
        "leaves the workspace and its collections"
    ]


def test_a_folder_of_notes_that_is_none_is_reported(memory: Memory) -> None:
    folder = memory.workspace.memory_dir
    folder.rename(folder.with_name("gone"))
    folder.write_text("a file")
    context = build(memory)
    assert [left.what for left in context.left_out if "memory: not a directory" in left.why] == [DAILY]
    assert LONG_TERM in names(context)


def test_a_locked_index_is_answered_around(memory: Memory) -> None:
    memory.sync()
    memory.close()
    (memory.workspace.memory_dir / "2026-05-27.md").write_text("- a change that must be read\n")
    lock = sqlite3.connect(memory.workspace.index, isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    try:
        context = build(memory)
    finally:
        lock.close()
    assert "17:45" in context.text


def test_a_damaged_index_is_answered_around(memory: Memory) -> None:
    memory.sync()
    memory.close()
    memory.workspace.index.write_bytes(b"no database" * 500)
    assert "17:45" in build(memory).text


def test_a_message_that_reads_as_a_mistaken_query_is_no_error(memory: Memory) -> None:
    for message in ["lex: ferry\nlex:\nnonsense: x", "in:nowhere ferry Oslo", 'after:never "ferry', "intent: a\nintent: b"]:  # fmt: skip
        assert RECALL not in [left.what for left in build(memory, f"{message} ferry Oslo").left_out]


# --- a block that is waited for -------------------------------------------------------------------------


class Waiting(ContextBuilder):
    """Composes when it is let."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.go = threading.Event()

    def compose(self, message: str, **options: Any) -> Any:
        assert self.go.wait(60)
        return super().compose(message, **options)


def test_a_block_within_a_time_is_the_same_and_counts_as_given(memory: Memory) -> None:
    builder = ContextBuilder(memory)
    block = builder.build_within(60, QUESTION, session="a", now=TODAY)
    assert block == ContextBuilder(memory).build(QUESTION, session="a", now=TODAY)
    assert builder.build(QUESTION, session="a", now=TODAY).text == ""


def test_what_is_late_or_fails_is_none_and_threads_do_not_pile_up(memory: Memory) -> None:
    builder, before = Waiting(memory), set(threading.enumerate())
    for _ in range(3 * contexts.RUNNING):
        assert builder.build_within(0.01, QUESTION, session="a", now=TODAY) is None
    late = set(threading.enumerate()) - before
    assert len(late) == contexts.RUNNING
    builder.go.set()
    for thread in late:
        thread.join(60)
    assert builder.build(QUESTION, session="a", now=TODAY).text  # late blocks did not count as given
    assert builder.build_within(60, QUESTION, now="never") is None
    assert builder.build_within(60, QUESTION, now=TODAY) is not None
