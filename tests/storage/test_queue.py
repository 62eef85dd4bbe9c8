"""The queue: appended to by many, written down once, whoever is killed when."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base import paths
from commonplace.base.errors import ConfigError, NoteUnreadable
from commonplace.base.locks import locked
from commonplace.storage import state
from commonplace.storage.queue import Drained, Queue, Waiting, decode, encode
from commonplace.types import Entry, Provenance

SOURCE = Path(__file__).parents[2] / "src"
AT = datetime(2026, 2, 13, 9, 30)
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> paths.Workspace:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    (tmp_path / "notes" / "memory").mkdir(parents=True)
    return paths.Workspace(tmp_path / "notes")


@pytest.fixture
def queue(workspace: paths.Workspace) -> Queue:
    return Queue(workspace)


def entry(text: str, at: datetime = AT, **more: object) -> Entry:
    return Entry(text, at, **more)  # type: ignore[arg-type]


def taken(queue: Queue) -> list[str]:
    """Drain a queue into a list."""
    texts: list[str] = []
    queue.drain(lambda entries: texts.extend(entry.text for entry in entries))
    return texts


def test_entries_come_out_as_they_went_in(queue: Queue) -> None:
    wanted = [
        entry("plain"),
        entry("两行\nwith a \u2028 in it", heading="A heading"),
        entry("who", provenance=Provenance("tool", "nanobot", "s1", "2026-02-13T09:30:00")),
    ]
    queue.extend(wanted)
    assert queue.waiting() == Waiting(3, 0)
    found: list[Entry] = []
    assert queue.drain(found.extend) == Drained(written=3)
    assert found == wanted
    assert queue.waiting() == Waiting(0, 0)
    assert queue.empty


def test_nothing_is_made_before_there_is_something_to_keep(queue: Queue) -> None:
    assert queue.empty
    assert queue.waiting() == Waiting(0, 0)
    assert queue.drain(lambda entries: None) == Drained()
    assert not queue.workspace.state.exists()


def test_what_is_secret_or_private_reaches_no_file(queue: Queue) -> None:
    queue.append(entry(f"token {SECRET} <private>the diagnosis</private> kept", heading=f"with {SECRET}"))
    raw = b"".join(path.read_bytes() for path in queue.workspace.state.rglob("*") if path.is_file())
    assert SECRET.encode() not in raw
    assert b"diagnosis" not in raw
    assert b"kept" in raw


def test_batches_hold_entries_of_one_day_in_order(queue: Queue) -> None:
    later = AT + timedelta(days=1)
    queue.extend([entry("a"), entry("b"), entry("c", later), entry("d"), entry("e")])
    batches: list[list[str]] = []
    queue.drain(lambda entries: batches.append([e.text for e in entries]), batch=2)
    assert batches == [["a", "b"], ["c"], ["d"], ["e"]]


@pytest.mark.parametrize(
    "data", ["[1]", '{"text": 3, "at": "2026-02-13"}', '{"text": "x", "at": "soon"}', '{"text": "x", "heading": 1}']
)  # fmt: skip
def test_what_is_no_entry_is_set_aside(queue: Queue, data: str) -> None:
    queue.append(entry("before"))
    with state.writing(queue.workspace) as connection:
        connection.execute("INSERT INTO queue(data) VALUES (?)", (data,))
    queue.append(entry("after"))
    found: list[str] = []
    report = queue.drain(lambda entries: found.extend(e.text for e in entries))
    assert (report.written, report.set_aside, report.trouble) == (2, 1, "")
    assert found == ["before", "after"]
    assert queue.set_aside.read_text("utf-8") == f"{data}\n"
    assert queue.waiting() == Waiting(0, 1)


def test_a_writer_that_nobody_knows_is_not_trusted(queue: Queue) -> None:
    line = encode(entry("x", provenance=Provenance("owner"))).replace('"owner"', '"king"')
    read = decode(line).provenance
    assert read is not None
    assert read.by == "untrusted"


def test_no_entry_passes_an_earlier_one_of_its_day(queue: Queue) -> None:
    queue.extend([entry("a"), entry("b")])
    found: list[str] = []

    def write(entries: Sequence[Entry]) -> None:
        if entries[0].text == "a":
            raise NoteUnreadable("memory/2026-02-13.md", "still locked")
        found.extend(e.text for e in entries)

    assert queue.drain(write, batch=1).trouble
    assert found == []
    assert taken(queue) == ["a", "b"]


def test_an_entry_that_no_note_will_ever_take_is_set_aside(queue: Queue) -> None:
    found: list[str] = []

    def write(entries: Sequence[Entry]) -> None:
        if any(e.text == "odd" for e in entries):
            raise ConfigError("heading", "no")
        found.extend(e.text for e in entries)

    queue.extend([entry("a"), entry("odd"), entry("b")])
    assert queue.drain(write) == Drained(written=2, set_aside=1)
    assert found == ["a", "b"]
    assert decode(queue.set_aside.read_bytes()).text == "odd"


def test_who_dies_while_writing_leaves_the_rest_to_the_next(queue: Queue) -> None:
    queue.extend([entry(str(number)) for number in range(6)])
    found: list[str] = []

    def dying(entries: Sequence[Entry]) -> None:
        if len(found) == 4:
            raise KeyboardInterrupt
        found.extend(e.text for e in entries)

    with pytest.raises(KeyboardInterrupt):
        queue.drain(dying, batch=2)
    assert queue.waiting().entries == 2
    queue.append(entry("6"))
    assert found + taken(queue) == [str(number) for number in range(7)]


def test_one_drains_at_a_time(queue: Queue) -> None:
    queue.append(entry("a"))
    with locked(paths.lock_file(queue.workspace, "drain")):
        assert queue.drain(lambda entries: None) == Drained(busy=True)
    assert taken(queue) == ["a"]


def test_appending_imports_nothing_heavy() -> None:
    program = (
        "import sys, datetime, pathlib, tempfile\n"
        "from commonplace.storage.queue import Queue\n"
        "from commonplace.base.paths import Workspace\n"
        "from commonplace.types import Entry\n"
        "before = set(sys.modules)\n"
        "Queue(Workspace(pathlib.Path(tempfile.mkdtemp()))).append(Entry('x', datetime.datetime.now()))\n"
        "engine = {'commonplace.memory', 'commonplace.index', 'commonplace.search', 'commonplace.providers.embedding',"
        " 'commonplace.config', 'numpy', 'yaml', 'asyncio', 'click', 'httpx', 'tomllib', 'threading'}\n"
        "print(sorted(engine & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=_environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


# --- many processes, and some that are killed -------------------------------------------------------

APPENDER = """
import sys
from datetime import datetime
from pathlib import Path
from commonplace.storage.queue import Queue
from commonplace.base.paths import Workspace
from commonplace.types import Entry

queue, name = Queue(Workspace(Path(sys.argv[1]))), sys.argv[2]
for number in range(int(sys.argv[3])):
    queue.append(Entry(f"<{name}.{number}>\\nsecond line", datetime(2026, 2, 13 + number % 2, 9, 30)))
    print(number, flush=True)
"""
DRAINER = """
import sys
from pathlib import Path
from commonplace import Memory
from commonplace.storage.queue import Queue

with Memory.open(Path(sys.argv[1])) as memory:
    print("ready", flush=True)
    while True:
        Queue(memory.workspace).drain(memory.capture, wait_s=0.01, batch=3)
"""


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE)}


def _start(program: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )


def _written(workspace: paths.Workspace) -> Counter[str]:
    """Count the names of entries in all notes."""
    import re

    text = "".join(path.read_text("utf-8") for path in workspace.memory_dir.glob("*.md"))
    return Counter(re.findall(r"<([\w.]+)>", text))


def test_nothing_is_lost_and_nothing_twice_when_drainers_are_killed(workspace: paths.Workspace) -> None:
    writers = 3
    appenders = [_start(APPENDER, workspace.root, f"w{number}", 30) for number in range(writers)]
    chance = random.Random(5)
    for _ in range(3):
        drainers = [_start(DRAINER, workspace.root) for _ in range(2)]
        for drainer in drainers:
            assert drainer.stdout is not None
            drainer.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.25))
        for drainer in drainers:
            drainer.send_signal(signal.SIGKILL)
            drainer.communicate()
    assert [len(appender.communicate()[0].split()) for appender in appenders] == [30] * writers
    with Memory.open(workspace.root) as memory:
        report = Queue(workspace).drain(memory.capture)
    assert report.trouble == ""
    found = _written(workspace)
    assert len(found) == writers * 30
    assert set(found.values()) == {1}
    assert Queue(workspace).empty


def test_what_a_killed_process_said_it_appended_is_there(workspace: paths.Workspace) -> None:
    told: dict[str, int] = {}
    chance = random.Random(7)
    for turn in range(3):
        appender = _start(APPENDER, workspace.root, f"k{turn}", 100_000)
        assert appender.stdout is not None
        appender.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.1))
        appender.send_signal(signal.SIGKILL)
        lines = appender.communicate()[0].split("\n")
        told[f"k{turn}"] = int(lines[-2]) if len(lines) > 1 else 0
    with Memory.open(workspace.root) as memory:
        report = Queue(workspace).drain(memory.capture)
    assert report.trouble == ""
    found = _written(workspace)
    assert set(found.values()) == {1}
    for name, last in told.items():
        assert {f"{name}.{number}" for number in range(last + 1)} <= set(found)
