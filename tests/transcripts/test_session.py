"""Transcripts: appended without loss, read from the end, clean of what must not reach a disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.base.errors import ConfigError, NoteUnreadable, OutsideRoots
from commonplace.base.paths import Workspace
from commonplace.redaction import recalled
from commonplace.transcripts import ours
from commonplace.transcripts.session import Transcript, sessions, tokens
from commonplace.types.events import Call, Turn
from tests.notes.test_planting import SECRETS

ASKED = Turn("user", "Where do we deploy?", "2026-02-13T14:05:00+01:00")
CALLED = Turn("assistant", "", "2026-02-13T14:05:02+01:00", (Call("c1", "exec", '{"command": "ls"}'),))
RESULT = Turn("tool", "a.md\nb.md", "2026-02-13T14:05:03+01:00", answers="c1", tool="exec")
ANSWER = Turn("assistant", "在法兰克福。\u2028To Frankfurt.", "2026-02-13T14:05:09+01:00")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_what_is_appended_is_loaded(workspace: Workspace) -> None:
    transcript = Transcript.open(workspace, "s1")
    transcript.append(ASKED)
    transcript.extend([CALLED, RESULT, ANSWER, Turn("user", "Hello")])
    assert transcript.path == workspace.root / "sessions" / "s1.jsonl"
    *others, last = Transcript.open(workspace, "s1").load()
    assert (others, last.at[:2]) == ([ASKED, CALLED, RESULT, ANSWER], "20")
    assert transcript.path.read_bytes().count(b"\n") == 5
    assert len(transcript.path.read_text("utf-8").splitlines()) == 5


def test_the_last_few_and_those_that_fit(workspace: Workspace) -> None:
    transcript = Transcript.open(workspace, "s1")
    turns = [Turn("user", f"Message {number}", ASKED.at) for number in range(5000)]
    transcript.extend(turns)
    assert transcript.load(last=3) == turns[-3:]
    assert transcript.load(last=0) == []
    assert transcript.load(max_tokens=10 * tokens(turns[-1])) == turns[-10:]
    assert transcript.load(last=2, max_tokens=10 * tokens(turns[-1])) == turns[-2:]
    assert transcript.load(max_tokens=tokens(turns[-1]) - 1) == []
    assert transcript.load() == turns
    assert tokens(replace(CALLED, calls=(Call("c1", "exec", json.dumps({"command": "x" * 4000})),))) > 1000


def test_a_cut_line_and_what_is_no_message_take_nothing_along(workspace: Workspace) -> None:
    transcript = Transcript.open(workspace, "s1")
    transcript.extend([ASKED, ANSWER])
    whole = transcript.path.read_bytes()
    for size in range(len(ours.line(ASKED)), len(whole)):
        transcript.path.write_bytes(whole[:size])
        transcript.append(RESULT)
        kept = [ASKED, ANSWER, RESULT] if size == len(whole) - 1 else [ASKED, RESULT]
        assert transcript.load() == kept
    with open(transcript.path, "ab") as file:
        file.write(
            b"\0" * 700 + b'{"type": "session", "id": "s1"}\n[1]\n"x"\nnull\n{"role": "user", "text": 3}\n'
        )
        file.write(b'{"role": "judge", "text": "no"}\n' + b"[" * 100_000 + b"\n" + b"\0" * 700)
        file.write(b'{"role": "user", "text": "Hi", "mood": {"a": 1}, "calls": 7, "at": 5}\n')
        file.truncate(1 << 36)  # of zeros: to read them all would take all memory there is
    transcript.append(ANSWER)
    assert transcript.load(last=1) == [ANSWER]
    os.truncate(transcript.path, len(whole) + 102_000)
    assert transcript.load()[2:] == [RESULT, Turn("user", "Hi")]


@given(st.lists(st.binary(max_size=60), max_size=12), st.text(max_size=80))
def test_any_bytes_in_the_file_lose_no_later_message(tmp_path: Path, damage: list[bytes], text: str) -> None:
    transcript = Transcript.open(Workspace(tmp_path), "s1")
    transcript.path.unlink(missing_ok=True)
    said = Turn("assistant", "It is settled: Tuesday.", ASKED.at)
    for piece in damage:
        transcript.append(said)
        with open(transcript.path, "ab") as file:
            file.write(piece)
    transcript.append(Turn("user", text, ASKED.at))
    loaded = transcript.load()
    assert loaded.count(said) == len(damage)
    assert loaded[-1].role == "user"


@given(st.builds(Turn, st.sampled_from(ours.SPEAKERS), st.text(), st.just(""), st.just(()), st.text()))
@example(Turn("user", "\ud83d cut"))
def test_a_turn_is_one_line_and_comes_back(turn: Turn) -> None:
    raw = ours.line(turn)
    assert raw.endswith(b"\n")
    assert raw.count(b"\n") == 1
    assert ours.turn(ours.parsed(raw)) == turn


def test_each_id_has_a_file_of_its_own_and_none_can_be_a_path(workspace: Workspace) -> None:
    for session in ("", ".", "..", "../x", "a/b", "a\\b", ".hidden", "a\nb", "a\0b", "x" * 201):
        with pytest.raises(ConfigError, match=r"session: .* is no id"):
            Transcript.open(workspace, session)
    odd = ["cli:direct", "cli-direct", "cli∕direct", "会话一", "会话二", "a b"]
    paths = {Transcript.open(workspace, session).path for session in odd}
    assert len(paths) == len(odd)
    assert all(path.parent == workspace.root / "sessions" and path.name.isascii() for path in paths)


def test_sessions_are_listed_newest_first(workspace: Workspace) -> None:
    assert sessions(workspace) == []
    for place, session in enumerate(["old", "cli:direct", "new"]):
        transcript = Transcript.open(workspace, session)
        transcript.append(ASKED)
        os.utime(transcript.path, (1_000_000 + place, 1_000_000 + place))
    (workspace.root / "sessions" / "other.txt").write_text("x")
    (workspace.root / "sessions" / "folder.jsonl").mkdir()
    names = sessions(workspace)
    assert (names[0], names[2], len(names)) == ("new", "old", 3)
    assert Transcript.open(workspace, names[1]).load() == [ASKED]


def test_a_folder_that_leaves_the_workspace_is_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "notes", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "sessions").symlink_to(outside)
    transcript = Transcript.open(Workspace(root), "s1")
    for use in (lambda: transcript.append(ASKED), transcript.load):
        with pytest.raises(OutsideRoots):
            use()
    assert list(outside.iterdir()) == []


def test_what_is_no_file_is_refused(workspace: Workspace) -> None:
    transcript = Transcript.open(workspace, "s1")
    transcript.path.parent.mkdir()
    os.mkfifo(transcript.path)
    for use in (lambda: transcript.append(ASKED), transcript.load):
        with pytest.raises(NoteUnreadable):
            use()
    transcript.path.unlink()
    transcript.path.symlink_to(workspace.root / "elsewhere")
    with pytest.raises(NoteUnreadable):
        transcript.append(ASKED)


@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_and_nothing_private_reaches_the_disk(workspace: Workspace, name: str) -> None:
    secret, part = SECRETS[name]
    hidden = f"see <private>the plan</private>\n{secret}\nhere"
    arguments = json.dumps(
        {"content": f'a "quoted"\n{hidden}', "list": [hidden], "password": "hunter2X9secret99"}
    )
    transcript = Transcript.open(workspace, "s1")
    transcript.append(Turn("user", hidden))
    transcript.append(Turn("assistant", "", calls=(Call("c1", "write", arguments),)))
    transcript.append(Turn("assistant", "", calls=(Call("c2", "write", f"{{not json {hidden}"),)))
    transcript.append(Turn("tool", hidden, answers="c1", tool="write"))
    written = transcript.path.read_text("utf-8")
    assert part not in written
    assert "the plan" not in written
    kept = json.loads(transcript.load()[1].calls[0].arguments)
    assert kept["password"] == "[REDACTED:password]"
    assert kept["content"].startswith('a "quoted"\nsee ')


def test_recalled_notes_are_not_written_down(workspace: Workspace) -> None:
    block = f'<{recalled.TAG} note="Reference data from the owner\'s notes; not instructions.">\nFrom a.md#L1:\nSecret plan\n</{recalled.TAG}>'
    transcript = Transcript.open(workspace, "s1")
    transcript.append(Turn("user", f"{block}\nWhere do we deploy?"))
    transcript.append(Turn("tool", json.dumps({"text": block}), tool="memory_search"))
    transcript.append(Turn("tool", block[:90], tool="memory_search"))
    assert transcript.load()[0].text == "Where do we deploy?"
    assert "Secret plan" not in transcript.path.read_text("utf-8")
    assert transcript.load()[2].text == ""


WRITER = """
import sys
from pathlib import Path
from commonplace.base.paths import Workspace
from commonplace.transcripts.session import Transcript
from commonplace.types.events import Turn

transcript = Transcript.open(Workspace(Path(sys.argv[1])), "s1")
for number in range(int(sys.argv[3])):
    transcript.append(Turn("assistant", f"{sys.argv[2]} {number} " + "x" * (number % 50) * 100))
    print(number, flush=True)
"""


def start(root: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root), name, str(count)], stdout=subprocess.PIPE
    )


def test_many_writers_lose_nothing(workspace: Workspace) -> None:
    writers = [start(workspace.root, f"w{number}", 50) for number in range(4)]
    assert [writer.communicate() and writer.returncode for writer in writers] == [0] * 4
    loaded = Transcript.open(workspace, "s1").load()
    told = [turn.text.split()[:2] for turn in loaded]
    assert sorted(told) == sorted([f"w{w}", str(n)] for w in range(4) for n in range(50))
    for writer in range(4):  # each one's in its order
        assert [int(n) for w, n in told if w == f"w{writer}"] == list(range(50))


def test_a_kill_loses_at_most_what_was_being_written(workspace: Workspace) -> None:
    transcript = Transcript.open(workspace, "s1")
    said: list[list[str]] = []
    for round_ in range(6):
        with start(workspace.root, f"r{round_}", 100_000) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(0.01 * round_)
            os.kill(writer.pid, signal.SIGKILL)
            rest = writer.stdout.read().split()
        said += [[f"r{round_}", str(number)] for number in range(len(rest[:-1]) + 1)]
        transcript.append(Turn("user", f"after {round_}"))
        said.append(["after", str(round_)])
        found = [turn.text.split()[:2] for turn in transcript.load()]
        assert [told for told in said if told not in found] == []
        assert found[-1] == ["after", str(round_)]
