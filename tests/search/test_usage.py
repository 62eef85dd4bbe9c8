"""Figures out of the record: what was opened and where it stood, what found nothing, what is never found."""

from __future__ import annotations

import os
import time
from datetime import date, timedelta
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base.paths import Workspace
from commonplace.types import NoteUse, Usage, UsageDay
from tests.search.conftest import Rows

DEPLOY = "memory/2026-02-13.md"


def usage(root: Path, days: int | None = None) -> Usage:
    """The figures as another process sees them."""
    with Memory.open(root) as memory:
        return memory.usage(days)


def test_an_empty_record_is_no_error_and_stays_unwritten(root: Path) -> None:
    found = usage(root)
    assert (found.questions, found.since, found.never_found) == (0, None, ())
    assert not Workspace(root).usage.exists()


def test_what_was_asked_is_summed_up(root: Path) -> None:
    with Memory.open(root) as memory:
        first = memory.search("deploy")
        second = memory.recall("rain")
        memory.search("zeppelin")
        memory.search("zeppelin")
        memory.get(DEPLOY)
    found = usage(root)
    today = date.today().isoformat()
    assert found.days == (UsageDay(today, 3, 1, 1, found.tokens, found.all_tokens),)
    assert (found.questions, found.answered, found.since) == (4, 2, today)
    assert found.tokens == first.tokens + second.tokens
    assert found.all_tokens == 4 * first.all_tokens
    assert [(one.question, one.times, one.last) for one in found.unanswered] == [("zeppelin", 2, today)]
    assert found.median_ms > 0


def test_a_note_is_opened_for_the_last_question_that_found_it(root: Path) -> None:
    with Memory.open(root) as memory:
        earlier = memory.search("the deploy moved to Thursday").hits
        memory.search("who signs the deploy off")
        memory.search("rain")  # which does not find it
        memory.get(DEPLOY)
    assert earlier[0].path == DEPLOY
    found = usage(root)
    assert (found.answered, found.opened) == (3, 1)
    assert NoteUse(DEPLOY, 2, 1) in found.most_found
    with Memory.open(root) as memory:
        memory.search("the deploy moved to Thursday")
        memory.get(DEPLOY)
    assert usage(root).opened == 2


@pytest.mark.parametrize(("seconds", "opened"), [(1700, 1), (1900, 0), (-60, 0)])
def test_only_what_is_read_within_half_an_hour_counts(
    root: Path, rows: Rows, seconds: int, opened: int
) -> None:
    with Memory.open(root) as memory:
        memory.search("deploy")
        memory.get(DEPLOY)
    rows(f"UPDATE questions SET at = (SELECT at FROM openings) - {seconds}")
    assert usage(root).opened == opened


def test_what_another_agent_reads_was_not_opened_by_this_one(root: Path) -> None:
    with Memory.open(root, agent="scribe") as memory:
        memory.search("deploy")
    with Memory.open(root, agent="other") as memory:
        memory.get(DEPLOY)
    assert usage(root).opened == 0


def test_days_narrow_all_but_what_is_never_found(root: Path, rows: Rows) -> None:
    with Memory.open(root) as memory:
        memory.search("deploy")
        memory.get(DEPLOY)
    rows("UPDATE questions SET at = at - 3 * 86400")
    rows("UPDATE openings SET at = at - 3 * 86400")
    with Memory.open(root) as memory:
        memory.search("tea")
    day = (date.today() - timedelta(days=3)).isoformat()
    found = usage(root)
    assert [one.date for one in found.days] == [day, date.today().isoformat()]
    assert (found.opened, found.since) == (1, day)
    recent = usage(root, 3)
    assert (recent.questions, recent.opened, recent.since) == (1, 0, day)
    assert [use.path for use in recent.most_found] == ["MEMORY.md"]
    assert [note.path for note in recent.never_found] == ["memory/2026-02-14.md"]


def test_notes_never_found_have_not_changed_since_the_record_began(root: Path) -> None:
    with Memory.open(root) as memory:
        memory.search("deploy")
    (root / "memory" / "2026-02-15.md").write_text("# 2026-02-15\n\n- New.\n")
    later = time.time() + 60
    os.utime(root / "memory" / "2026-02-15.md", (later, later))
    (never, also) = usage(root).never_found
    assert (never.path, also.path) == ("MEMORY.md", "memory/2026-02-14.md")
    assert (also.date, also.size) == ("2026-02-14", 34)


def test_a_note_that_was_moved_has_been_found(root: Path) -> None:
    with Memory.open(root) as memory:
        memory.search("deploy")
        memory.get(DEPLOY)
    (root / DEPLOY).rename(root / "memory" / "moved.md")
    found = usage(root)
    assert found.most_found == (NoteUse("memory/moved.md", 1, 1),)
    assert "memory/moved.md" not in [note.path for note in found.never_found]
