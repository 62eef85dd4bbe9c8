"""What is still to be summed up outlives its program: real processes, killed wherever it hurts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from commonplace import Memory
from commonplace.base.errors import NoteUnreadable
from commonplace.storage import state
from commonplace.upkeep.summaries import Summarizer
from commonplace.upkeep.watermarks import InUse, Pending
from tests.cli.conftest import environment
from tests.upkeep.conversations import ANSWER, ENGLISH, asked, model, note, talk, turns

# A program that has a session open and says so, then does what is asked of it until it is killed.
LIVING = """
import os, signal, sys, time
from commonplace import Memory
from commonplace.upkeep.summaries import Summarizer
from tests.upkeep.conversations import ANSWER, ENGLISH, model, talk, turns

memory = Memory.open(sys.argv[1])
summarizer = Summarizer(memory, model(ANSWER, ANSWER))
assert summarizer.pending.open("s1", "kestrel")
talk(memory, "s1", turns(ENGLISH))
"""
DIE = "os.kill(os.getpid(), signal.SIGKILL)\n"
WAIT = "print('ready', flush=True)\ntime.sleep(60)\n"
AFTER_THE_NOTE = f"""
from commonplace.storage import transaction
rewrite = transaction.rewrite
def dying(*given, **named):
    rewrite(*given, **named)
    {DIE}
transaction.rewrite = dying
summarizer.summarize("s1")
"""
BEFORE_THE_NOTE = f"""
from commonplace.storage import transaction
def dying(*given, **named):
    {DIE}
transaction.rewrite = dying
summarizer.summarize("s1")
"""


@contextmanager
def living(memory: Memory, program: str) -> Iterator[subprocess.Popen[str]]:
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    given = environment()
    given["PYTHONPATH"] = os.pathsep.join([given["PYTHONPATH"], root])
    command = [sys.executable, "-c", LIVING + program, str(memory.workspace.root)]
    with subprocess.Popen(command, env=given, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def killed(memory: Memory, program: str) -> None:
    with living(memory, program) as process:
        assert process.wait(60) == -signal.SIGKILL


@pytest.mark.parametrize("program", [DIE, BEFORE_THE_NOTE, AFTER_THE_NOTE])
def test_killed_anywhere_a_summary_is_written_once(memory: Memory, program: str) -> None:
    killed(memory, program)
    before = note(memory).count("Asked – ")
    assert before == (1 if program == AFTER_THE_NOTE else 0)
    outcomes = Summarizer(memory, model(ANSWER)).run_pending()
    assert note(memory).count("Asked – ") == 1
    assert [outcome.written is not None for outcome in outcomes] == ([] if before else [True])
    assert "agent: kestrel" in note(memory)
    llm = model(ANSWER)
    assert Summarizer(memory, llm).run_pending() == []
    assert asked(llm) == []


def test_killed_after_the_note_and_gone_on_with(memory: Memory) -> None:
    killed(memory, AFTER_THE_NOTE)
    # In the same second as the last message that is summed up, which must not be taken for one of them.
    talk(memory, "s1", [replace(turn, at="2026-02-13T14:02:30") for turn in turns(ENGLISH)])
    llm = model(ANSWER | {"request": "Push the token for kestrel."})
    assert len(Summarizer(memory, llm).run_pending()) == 1
    assert note(memory).count("Asked – ") == 1
    assert "Asked – Push the token for kestrel." in note(memory)
    assert len(asked(llm)) == 1


def test_a_session_that_lives_is_left_alone(memory: Memory) -> None:
    with living(memory, WAIT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        summarizer = Summarizer(memory, model(ANSWER))
        assert summarizer.run_pending() == []
        with pytest.raises(InUse, match="session s1: another process has it open"):
            summarizer.summarize("s1", by_hand=True)
        assert not summarizer.pending.open("s1")
        assert note(memory) == ""
        process.kill()
        process.wait(60)
        assert len(summarizer.run_pending()) == 1
    assert note(memory).count("Asked – ") == 1


def test_two_programs_at_the_next_start_write_one(memory: Memory) -> None:
    killed(memory, DIE)
    program = (
        "import sys\nfrom commonplace import Memory\nfrom commonplace.upkeep.summaries import Summarizer\n"
        "from tests.upkeep.conversations import ANSWER, model\n"
        "Summarizer(Memory.open(sys.argv[1]), model(ANSWER)).run_pending()\n"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    given = environment()
    given["PYTHONPATH"] = os.pathsep.join([given["PYTHONPATH"], root])
    command = [sys.executable, "-c", program, str(memory.workspace.root)]
    started = [subprocess.Popen(command, env=given) for _ in range(2)]
    assert [process.wait(60) for process in started] == [0] * 2
    assert note(memory).count("Asked – ") == 1


def test_a_session_that_ended_before_its_summary_is_done_at_the_next_start(memory: Memory) -> None:
    first = Summarizer(memory, model(ANSWER))
    assert first.pending.open("s1", "kestrel")
    talk(memory, "s1", turns(ENGLISH))
    first.pending.close("s1")
    (outcome,) = Summarizer(memory, model(ANSWER)).run_pending()
    assert outcome.written is not None


def test_one_that_no_program_opens_is_done_when_it_rests(memory: Memory) -> None:
    talk(memory, "s1", turns(ENGLISH))
    summarizer = Summarizer(memory, model(ANSWER))
    summarizer.pending.update("s1", lambda mark: mark)
    assert summarizer.run_pending() == []
    file = memory.workspace.root / "sessions" / "s1.jsonl"
    long_ago = time.time() - 601
    os.utime(file, (long_ago, long_ago))
    assert len(summarizer.run_pending()) == 1


def test_too_little_is_looked_at_once(memory: Memory) -> None:
    first = Summarizer(memory)
    first.pending.open("s1")
    talk(memory, "s1", turns(ENGLISH[:1]))
    first.pending.close("s1")
    assert Summarizer(memory).run_pending() == []
    mark = first.pending.read("s1")
    assert mark is not None
    assert (mark.done, mark.size) == (0, (memory.workspace.root / "sessions" / "s1.jsonl").stat().st_size)


def test_what_fails_stays_and_is_told(memory: Memory) -> None:
    killed(memory, DIE)
    blocked = memory.workspace.memory_dir / "2026-02-13.md"
    blocked.mkdir()
    (outcome,) = Summarizer(memory, model(ANSWER)).run_pending()
    assert "2026-02-13" in outcome.error
    blocked.rmdir()
    (outcome,) = Summarizer(memory, model(ANSWER)).run_pending()
    assert outcome.written is not None


def test_it_stops_between_sessions(memory: Memory) -> None:
    killed(memory, DIE)
    summarizer = Summarizer(memory, model(ANSWER))
    assert summarizer.run_pending(lambda: True) == []
    assert len(summarizer.run_pending()) == 1


def test_a_session_goes_on_while_it_is_summed_up(memory: Memory) -> None:
    pending = Pending(memory.workspace)
    with pending.claim("s1"):
        assert pending.open("s1")
    assert not Pending(memory.workspace).open("s1")  # still held, though the work is done
    pending.close("s1")
    other = Pending(memory.workspace)
    assert other.open("s1")
    other.close("s1")


def test_no_lock_is_left_behind(memory: Memory) -> None:
    pending = Pending(memory.workspace)
    for session in ("s1", "telegram:42", "a.b"):
        assert pending.open(session)
        pending.close(session)
    assert list(memory.workspace.locks.glob("session-*")) == []
    assert {mark.session for mark in pending.marks()} == {"s1", "telegram:42", "a.b"}


def test_a_mark_that_cannot_be_written_is_an_error(memory: Memory) -> None:
    state.path(memory.workspace).mkdir(parents=True)
    pending = Pending(memory.workspace)
    with pytest.raises(NoteUnreadable):
        pending.open("s1")
    assert not pending.is_open("s1")
    state.path(memory.workspace).rmdir()
    assert pending.open("s1")
    pending.close("s1")
