"""The spool: appended to by many, written down once, whoever is killed when."""

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
from commonplace.changes.spool import Drained, Spool, Waiting, decode, encode
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
def spool(workspace: paths.Workspace) -> Spool:
    return Spool(workspace)


def entry(text: str, at: datetime = AT, **more: object) -> Entry:
    return Entry(text, at, **more)  # type: ignore[arg-type]


def taken(spool: Spool) -> list[str]:
    """Drain a spool into a list."""
    texts: list[str] = []
    spool.drain(lambda entries: texts.extend(entry.text for entry in entries))
    return texts


def test_entries_come_out_as_they_went_in(spool: Spool) -> None:
    wanted = [
        entry("plain"),
        entry("两行\nwith a \u2028 in it", heading="A heading"),
        entry("who", provenance=Provenance("tool", "nanobot", "s1", "2026-02-13T09:30:00")),
    ]
    assert spool.extend(wanted) == 3
    assert spool.waiting() == Waiting(3, 0, 0)
    found: list[Entry] = []
    assert spool.drain(found.extend) == Drained(written=3)
    assert found == wanted
    assert spool.waiting() == Waiting(0, 0, 0)
    assert spool.empty
    assert list(spool.workspace.spool.iterdir()) == []


def test_nothing_is_made_before_there_is_something_to_keep(spool: Spool) -> None:
    assert spool.empty
    assert spool.waiting() == Waiting(0, 0, 0)
    assert spool.drain(lambda entries: None) == Drained()
    assert not spool.workspace.state.exists()


def test_what_is_secret_or_private_reaches_no_file(spool: Spool) -> None:
    spool.append(entry(f"token {SECRET} <private>the diagnosis</private> kept", heading=f"with {SECRET}"))
    raw = b"".join(path.read_bytes() for path in spool.workspace.state.rglob("*") if path.is_file())
    assert SECRET.encode() not in raw
    assert b"diagnosis" not in raw
    assert b"kept" in raw


def test_an_entry_is_readable_by_its_owner_alone(spool: Spool) -> None:
    spool.append(entry("x"))
    if os.name == "posix":
        assert spool.path.stat().st_mode & 0o077 == 0
        assert spool.workspace.spool.stat().st_mode & 0o077 == 0


def test_batches_hold_entries_of_one_day_in_order(spool: Spool) -> None:
    later = AT + timedelta(days=1)
    spool.extend([entry("a"), entry("b"), entry("c", later), entry("d"), entry("e")])
    batches: list[list[str]] = []
    spool.drain(lambda entries: batches.append([e.text for e in entries]), batch=2)
    assert batches == [["a", "b"], ["c"], ["d", "e"]]


@pytest.mark.parametrize(
    "damage",
    [b"{\n", b"[1]\n", b'{"text": 3, "at": "2026-02-13"}\n', b'{"text": "x", "at": "soon"}\n', b"\xff\xfe\n",
     b'{"text": "x", "at": "2026-02-13", "heading": 1}\n', b'{"text": " ", "at": "2026-02-13"}\n'],
)  # fmt: skip
def test_damaged_lines_are_set_aside(spool: Spool, damage: bytes) -> None:
    spool.append(entry("before"))
    with open(spool.path, "ab") as file:
        file.write(damage)
    spool.append(entry("after"))
    found: list[str] = []
    report = spool.drain(lambda entries: found.extend(e.text for e in entries))
    assert (report.written, report.damaged) == (2, 1)
    assert found == ["before", "after"]
    assert spool.aside.read_bytes() == damage
    assert spool.empty
    assert spool.waiting() == Waiting(0, 1, 0)


def test_a_cut_last_line_spoils_no_other(spool: Spool) -> None:
    spool.append(entry("whole"))
    with open(spool.path, "ab") as file:
        file.write(encode(entry("cut"))[:-9])
    spool.append(entry("next"))
    assert taken(spool) == ["whole", "next"]
    assert spool.waiting().damaged == 1


def test_a_writer_that_nobody_knows_is_not_trusted(spool: Spool) -> None:
    line = encode(entry("x", provenance=Provenance("owner"))).replace(b'"owner"', b'"king"')
    read = decode(line).provenance
    assert read is not None
    assert read.by == "untrusted"


def test_nothing_says_how_far_a_claim_is_but_a_mark_of_ours(spool: Spool) -> None:
    spool.extend([entry("a"), entry("b")])

    def dying(entries: Sequence[Entry]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spool.drain(dying)
    (claim,) = spool.workspace.spool.glob("claimed-*.jsonl")
    claim.with_suffix(".done").write_bytes(b"%d" % claim.stat().st_size)
    assert taken(spool) == ["a", "b"]


def test_what_is_larger_than_a_spool_is_no_claim(spool: Spool) -> None:
    spool.append(entry("x"))
    with open(spool.workspace.spool / "claimed-0.jsonl", "wb") as file:
        file.truncate(1 << 40)
    assert taken(spool) == ["x"]
    assert spool.waiting() == Waiting(0, 0, 0)
    assert (spool.workspace.spool / "aside-claimed-0.jsonl").stat().st_size == 1 << 40


def test_a_full_spool_refuses_and_says_so_once(workspace: paths.Workspace) -> None:
    spool = Spool(workspace, max_bytes=260)
    taken = [spool.append(entry("x" * 60)) for _ in range(5)]
    assert taken == [True, True, False, False, False]
    assert spool.waiting() == Waiting(2, 0, 3)
    assert spool.drain(lambda entries: None) == Drained(written=2, refused=3)
    assert spool.drain(lambda entries: None) == Drained()
    assert spool.append(entry("room again"))


def test_what_no_note_takes_for_now_waits_on(spool: Spool) -> None:
    spool.extend([entry("a"), entry("b")])

    def locked_note(entries: Sequence[Entry]) -> None:
        raise NoteUnreadable("memory/2026-02-13.md", "still locked")

    for _ in range(3):
        assert spool.drain(locked_note) == Drained(trouble="memory/2026-02-13.md: still locked")
        spool.append(entry("more"))
    assert spool.waiting().entries == 5
    assert taken(spool) == ["a", "b", "more", "more", "more"]


def test_a_note_that_takes_nothing_does_not_hold_up_other_days(spool: Spool) -> None:
    later = AT + timedelta(days=1)
    found: list[str] = []

    def write(entries: Sequence[Entry]) -> None:
        if entries[0].at == AT:
            raise NoteUnreadable("memory/2026-02-13.md", "not a regular file")
        found.extend(e.text for e in entries)

    spool.append(entry("held"))
    spool.drain(write)
    spool.append(entry("also held"))
    spool.drain(write)
    spool.append(entry("free", later))
    assert "not a regular file" in spool.drain(write).trouble
    assert found == ["free"]
    assert taken(spool) == ["held", "also held"]


def test_files_do_not_grow_in_number_while_nothing_is_taken(spool: Spool) -> None:
    def refuse(entries: Sequence[Entry]) -> None:
        raise NoteUnreadable("x", "no")

    for number in range(40):
        spool.append(entry(str(number)))
        spool.drain(refuse)
    assert len(list(spool.workspace.spool.iterdir())) <= 17
    assert taken(spool) + taken(spool) == [str(number) for number in range(40)]


def test_an_entry_that_no_note_will_ever_take_is_set_aside(spool: Spool) -> None:
    found: list[str] = []

    def write(entries: Sequence[Entry]) -> None:
        if any(e.text == "odd" for e in entries):
            raise ConfigError("heading", "no")
        found.extend(e.text for e in entries)

    spool.extend([entry("a"), entry("odd"), entry("b")])
    assert spool.drain(write) == Drained(written=2, damaged=1)
    assert found == ["a", "b"]
    assert decode(spool.aside.read_bytes()).text == "odd"


def test_who_dies_while_writing_leaves_the_rest_to_the_next(spool: Spool) -> None:
    spool.extend([entry(str(number)) for number in range(6)])
    found: list[str] = []

    def dying(entries: Sequence[Entry]) -> None:
        if len(found) == 4:
            raise KeyboardInterrupt
        found.extend(e.text for e in entries)

    with pytest.raises(KeyboardInterrupt):
        spool.drain(dying, batch=2)
    assert spool.waiting().entries == 2
    spool.append(entry("6"))
    assert found + taken(spool) == [str(number) for number in range(7)]


def test_one_drains_at_a_time(spool: Spool) -> None:
    spool.append(entry("a"))
    with locked(paths.lock_file(spool.workspace, "drain")):
        assert spool.drain(lambda entries: None) == Drained(busy=True)
    assert taken(spool) == ["a"]


def test_a_spool_that_leads_out_of_the_state_is_refused(spool: Spool, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    paths.prepare_state(spool.workspace)
    spool.workspace.spool.symlink_to(outside)
    with pytest.raises(NoteUnreadable, match="symlink"):
        spool.append(entry("x"))
    assert list(outside.iterdir()) == []


def test_a_file_that_leads_out_is_refused(spool: Spool, tmp_path: Path) -> None:
    spool.append(entry("x"))
    spool.path.unlink()
    target = tmp_path / "target"
    target.write_bytes(b"")
    spool.path.symlink_to(target)
    with pytest.raises(NoteUnreadable):
        spool.append(entry("x"))
    assert target.read_bytes() == b""


def test_a_link_among_its_files_brings_nothing_in_and_lets_nothing_out(spool: Spool, tmp_path: Path) -> None:
    spool.append(entry("x"))
    target = tmp_path / "key"
    target.write_bytes(b"a key of somebody\n")
    claim = spool.workspace.spool / "claimed-0.jsonl"
    claim.symlink_to(target)
    spool.aside.symlink_to(target)
    report = spool.drain(lambda entries: None)
    assert (report.written, report.trouble) == (1, "")
    assert claim.with_name("aside-claimed-0.jsonl").is_symlink()
    with open(spool.path, "wb") as file:
        file.write(b"{cut\n")
    assert "remove" in spool.drain(lambda entries: None).trouble
    assert target.read_bytes() == b"a key of somebody\n"
    spool.aside.unlink()
    assert spool.drain(lambda entries: None).damaged == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no fifos here")
def test_a_fifo_among_its_files_is_not_waited_for(spool: Spool) -> None:
    spool.append(entry("x"))
    os.mkfifo(spool.workspace.spool / "claimed-0.jsonl")
    os.mkfifo(spool.workspace.spool / "damaged.jsonl")
    assert spool.waiting().entries == 1
    assert spool.drain(lambda entries: None).written == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_leaves_no_half_of_an_entry(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    spool.append(entry("a"))
    real, left = os.write, [30]

    def filling(descriptor: int, data: bytes) -> int:
        if left[0] == 0:
            with open("/dev/full", "wb", buffering=0) as full:
                full.write(data)
        size = real(descriptor, bytes(data)[: left[0]])
        left[0] -= size
        return size

    with monkeypatch.context() as patched:
        patched.setattr("commonplace.changes.spool.os.write", filling)
        with pytest.raises(NoteUnreadable, match="no space left"):
            spool.extend([entry("b"), entry("c")])
    assert taken(spool) == ["a"]
    assert spool.waiting().damaged == 0


def test_appending_imports_nothing_heavy() -> None:
    program = (
        "import sys, datetime, pathlib, tempfile\n"
        "from commonplace.changes.spool import Spool\n"
        "from commonplace.base.paths import Workspace\n"
        "from commonplace.types import Entry\n"
        "before = set(sys.modules)\n"
        "Spool(Workspace(pathlib.Path(tempfile.mkdtemp()))).append(Entry('x', datetime.datetime.now()))\n"
        "engine = {'commonplace.memory', 'commonplace.index', 'commonplace.search', 'commonplace.providers.embedding',"
        " 'commonplace.config', 'apsw', 'numpy', 'yaml', 'asyncio', 'click', 'httpx', 'tomllib', 'threading'}\n"
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
from commonplace.changes.spool import Spool
from commonplace.base.paths import Workspace
from commonplace.types import Entry

spool, name = Spool(Workspace(Path(sys.argv[1]))), sys.argv[2]
for number in range(int(sys.argv[3])):
    spool.append(Entry(f"<{name}.{number}>\\nsecond line", datetime(2026, 2, 13 + number % 2, 9, 30)))
    print(number, flush=True)
"""
DRAINER = """
import sys
from pathlib import Path
from commonplace import Memory
from commonplace.changes.spool import Spool

with Memory.open(Path(sys.argv[1])) as memory:
    print("ready", flush=True)
    while True:
        Spool(memory.workspace).drain(memory.capture, wait_s=0.01, batch=3)
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
        report = Spool(workspace).drain(memory.capture)
    assert report.trouble == ""
    found = _written(workspace)
    assert len(found) == writers * 30
    assert set(found.values()) == {1}
    assert Spool(workspace).empty


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
        report = Spool(workspace).drain(memory.capture)
    assert report.trouble == ""
    found = _written(workspace)
    assert set(found.values()) == {1}
    for name, last in told.items():
        assert {f"{name}.{number}" for number in range(last + 1)} <= set(found)
