"""Faults from outside: the state deleted under every door, two users, a full disk, clocks, damage, kills."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner

from commonplace import Memory
from commonplace.agent.worker import IndexWorker
from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.cli.application import cli
from commonplace.servers import daemon
from commonplace.storage import undo
from commonplace.storage.undo import NothingToUndo
from commonplace.types import Entry, Provenance, Selection
from commonplace.upkeep import rollup
from tests.cli.conftest import command, environment
from tests.servers.conftest import Client

AT = datetime(2026, 2, 13, 12)
Call = Callable[[Memory], object]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a note, an entry and a correction in it, and an index."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    (tmp_path / "w" / "memory").mkdir(parents=True)
    prepare(tmp_path / "w")
    return tmp_path / "w"


def prepare(root: Path) -> None:
    (root / "memory" / "a.md").write_text(
        "# A\n\n- the walnut desk is upstairs\n- Deploys are on Tuesdays.\n"
    )
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        memory.remember("the first walnut entry", now=AT)
        memory.correct("Deploys are on Tuesdays.", "Deploys are on Thursdays.")
        memory.sync()
        memory.search("walnut")


def text(root: Path) -> str:
    return "".join(path.read_text("utf-8") for path in sorted((root / "memory").glob("*.md")))


def wait_for(root: Path, line: str) -> None:
    until = time.monotonic() + 30
    while line not in text(root):
        assert time.monotonic() < until
        time.sleep(0.01)


def lose_records(root: Path) -> None:
    """Delete all that is ours, as an owner may who wants to begin anew: again where others write meanwhile."""
    workspace = paths.Workspace(root)
    for folder in (workspace.state, workspace.index.parent):
        while folder.exists():
            with suppress(OSError):
                shutil.rmtree(folder)


# --- the state deleted while it is in use ----------------------------------------------------------------

CALLS: dict[str, tuple[Call, str]] = {
    "search": (lambda memory: memory.search("walnut desk"), "upstairs"),
    "recall": (lambda memory: memory.recall("walnut desk"), "upstairs"),
    "get": (lambda memory: memory.get("memory/a.md:3"), "upstairs"),
    "status": (lambda memory: memory.status(), "upstairs"),
    "usage": (lambda memory: memory.usage(), "upstairs"),
    "sync": (lambda memory: memory.sync(), "upstairs"),
    "remember": (lambda memory: memory.remember("a second one", now=AT), "a second one"),
    "capture": (
        lambda memory: memory.capture([Entry("it ran", AT, "Tools", Provenance("tool", "a", "b"))]), "it ran"
    ),
    "correct": (
        lambda memory: memory.correct("the walnut desk is upstairs", "the walnut desk is sold"), "is sold"
    ),
    "forget": (lambda memory: memory.forget(Selection("text", "the first walnut entry")), "upstairs"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_deleted_under_an_open_memory(root: Path, name: str) -> None:
    call, expected = CALLS[name]
    with Memory.open(root) as memory:
        memory.search("walnut desk")
        before = text(root)
        lose_records(root)
        call(memory)
        assert expected in text(root)
        lines = [line for line in before.splitlines() if "entry" not in line and "upstairs" not in line]
        assert set(lines) <= set(text(root).splitlines())
        memory.remember("and another walnut desk", now=AT)
        assert "another" in memory.search("another walnut desk").hits[0].text
        assert memory.status().level < 3
    assert paths.Workspace(root).index.exists()


def test_what_was_generated_before_can_not_be_taken_back_any_more(root: Path) -> None:
    before = text(root)
    lose_records(root)
    with Memory.open(root) as memory, pytest.raises(NothingToUndo):
        undo.undo(memory.workspace)
    assert text(root) == before


def test_deleted_amid_writers_and_searches(root: Path) -> None:
    """Whoever deletes it again and again takes locks away, and no acknowledged line."""
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(root), str(name), "40"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=environment())
        for name in range(2)
    ]  # fmt: skip
    while any(writer.poll() is None for writer in writers):
        for folder in (paths.Workspace(root).state, paths.Workspace(root).index.parent):
            shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.02)
    acknowledged, troubles = 0, []
    now = text(root)
    for writer in writers:
        out, err = writer.communicate()
        assert (writer.returncode, err) == (0, b"")
        said = json.loads(out)
        acknowledged += len(said["lines"])
        troubles += said["refused"]
        assert [line for line in said["lines"] if now.count(f"{line}\n") != 1] == []
    assert acknowledged > 10, troubles[:3]  # of 80; the others were refused with an error


# Remembers so many lines; says which were acknowledged, and what was refused in a line.
WRITER = """
import json, sys
from commonplace import Memory
from commonplace.cli.application import cli
from commonplace.base.errors import CommonplaceError
lines, refused = [], []
with Memory.open(sys.argv[1], overrides={"embedding.provider": "none"}) as memory:
    for number in range(int(sys.argv[3])):
        line = f"line {sys.argv[2]}-{number}."
        try:
            memory.remember(line)
            lines.append(line)
            if number % 10 == 9:
                memory.search("walnut")
        except CommonplaceError as error:
            refused.append(str(error))
print(json.dumps({"lines": lines, "refused": refused}))
"""


def test_deleted_under_mcp(root: Path) -> None:
    client = Client("-w", root)
    try:
        ask = {"name": "memory_search", "arguments": {"query": "walnut desk"}}
        client.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}})
        assert "upstairs" in json.dumps(client.ask("tools/call", ask))
        lose_records(root)
        assert "upstairs" in json.dumps(client.ask("tools/call", ask))
        lose_records(root)
        write = {"name": "memory_write", "arguments": {"text": "the lamp is green"}}
        assert not client.ask("tools/call", write)["result"].get("isError")
        ask["arguments"] = {"query": "green lamp"}
        assert "lamp is green" in json.dumps(client.ask("tools/call", ask))
    finally:
        _, err, _ = client.end()
    assert b"Traceback" not in err
    assert "lamp is green" in text(root)


def test_deleted_under_a_server(root: Path) -> None:
    workspace = paths.Workspace(root)
    serve = command("-w", root, "serve")
    subprocess.run([*serve, "--daemon", "--port", "0"], check=True, env=environment(), timeout=90,
                   capture_output=True)  # fmt: skip
    try:
        before = daemon.find(workspace)
        assert before is not None
        lose_records(root)
        assert daemon.is_well(before)
        assert daemon.find(workspace) == before
        done = subprocess.run([*serve, "stop"], capture_output=True, text=True, env=environment(), timeout=60)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    finally:
        daemon.stop(workspace)


def test_deleted_under_a_worker(root: Path) -> None:
    with Memory.open(root, overrides={"hooks.sync_after_s": 0.01}) as memory:
        worker = IndexWorker(memory)
        try:
            for number in range(20):
                worker.submit(Entry(f"seen {number}.", AT))
                if number in (5, 12):
                    wait_for(root, f"seen {number}.")
                    lose_records(root)
            wait_for(root, "seen 19.")
        finally:
            worker.stop(30)
        assert [number for number in range(20) if f"seen {number}." not in text(root)] == []
        assert memory.search("seen 19").hits


def test_deleted_under_watch(root: Path) -> None:
    watcher = subprocess.Popen(command("-w", root, "watch"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment())  # fmt: skip
    try:
        time.sleep(1.5)
        lose_records(root)
        (root / "memory" / "b.md").write_text("# B\n\n- the green lamp\n")
        until = time.monotonic() + 30
        while not paths.Workspace(root).index.exists() and time.monotonic() < until:
            assert watcher.poll() is None
            time.sleep(0.1)
        assert paths.Workspace(root).index.exists()
    finally:
        watcher.terminate()
        _, err = watcher.communicate(timeout=30)
    assert b"Traceback" not in err


# --- two users ------------------------------------------------------------------------------------------

OWNER, OTHER = 20001, 20002


def as_user(uid: int, home: Path, act: Callable[[], object]) -> int:
    """Begin an act in a process of another user, which has done it once as this one, so that all is loaded."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.environ.update(
            HOME=str(home),
            XDG_CONFIG_HOME=str(home / "config"),
            XDG_CACHE_HOME=str(home / "cache"),
            XDG_STATE_HOME=str(home / "state"),
        )
        (home / "warm" / "memory").mkdir(parents=True)
        prepare(home / "warm")
        with Memory.open(home / "warm") as memory:
            memory.status()
        for path in (home, *home.rglob("*")):
            os.chown(path, uid, uid)
        os.setgroups([OWNER])
        os.setgid(uid)
        os.setuid(uid)
        act()
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def said(child: int, path: Path) -> dict[str, list[str]]:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return dict(json.loads(path.read_text()))


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root may become another user")
def test_two_users_write_one_note(reachable_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The group may write in the folder, so both do; each has an index and a state of his own."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    root = reachable_path / "shared"
    (root / "memory").mkdir(parents=True)
    (root / "memory" / "a.md").write_text("# A\n\n- the walnut desk is upstairs\n")
    for path in (root, root / "memory", root / "memory" / "a.md"):
        os.chown(path, OWNER, OWNER)
        path.chmod(0o2775 if path.is_dir() else 0o664)

    def write(name: str, home: Path) -> None:
        lines, refused = [], []
        with Memory.open(root) as memory:
            for number in range(30):
                try:
                    memory.remember(f"line {name}-{number}.", now=AT)
                    lines.append(f"line {name}-{number}.")
                except CommonplaceError as error:
                    refused.append(str(error))
            report = memory.sync()
            hits = [hit.text for hit in memory.search("walnut desk").hits]
            level = memory.status().level
        warned = [*report.warnings, f"level {level}"]
        (home / "said").write_text(
            json.dumps({"lines": lines, "refused": refused, "hits": hits, "warned": warned})
        )

    homes = {uid: reachable_path / str(uid) for uid in (OWNER, OTHER)}
    for home in homes.values():
        home.mkdir()
    with_index = as_user(OWNER, homes[OWNER], lambda: Memory.open(root).sync())
    assert os.waitstatus_to_exitcode(os.waitpid(with_index, 0)[1]) == 0
    shutil.rmtree(homes[OWNER] / "warm")
    children = {
        uid: as_user(uid, home, lambda uid=uid, home=home: write(str(uid), home))  # type: ignore[misc]
        for uid, home in homes.items()
    }
    made = {uid: said(child, homes[uid] / "said") for uid, child in children.items()}
    now = text(root)
    for account in made.values():
        assert [line for line in account["lines"] if now.count(f"{line}\n") != 1] == []
        assert "upstairs" in account["hits"][0]
        assert (len(account["lines"]), account["refused"], account["warned"]) == (30, [], ["level 2"])
    assert not (root / ".commonplace").exists()


def test_a_pytest_that_starts_closes_no_folder_to_other_users(
    reachable_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """It sets the folder above all its temporary ones to 0700, also while another one runs."""
    assert tmp_path_factory.getbasetemp().parent not in reachable_path.parents
    assert reachable_path.stat().st_mode & 0o777 == 0o755


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root may become another user")
def test_a_note_that_cannot_be_read_holds_no_other_up(
    reachable_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forgetting and rolling up name it, do the rest, and go on with it once it can be read."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    root, home = reachable_path / "ws", reachable_path / "home"
    notes = root / "memory"
    notes.mkdir(parents=True)
    home.mkdir()
    for name, line in (
        ("a", "Zoe Quist likes tea."),
        ("closed", "Zoe Quist is here."),
        ("2025-01-03", "It rained."),
        ("2025-02-03", "It snowed."),
    ):
        (notes / f"{name}.md").write_text(f"- {line}\n- The walnut desk is upstairs.\n")
    for path in (root, *root.rglob("*")):
        os.chown(path, OWNER, OWNER)
    (notes / "closed.md").chmod(0)

    def act() -> None:
        told: dict[str, object] = {}
        with Memory.open(root) as memory:
            planned = memory.forget(Selection("person", "Zoe Quist"), dry_run=True)
            told["planned"] = [one.what for one in planned.unreachable]
            done = memory.forget(planned)
            told["left"] = [f"{trace.path}: {trace.remedy}" for trace in done.left]
            told["a"] = (notes / "a.md").read_text().splitlines()
            rolled = rollup.rollup(memory)
            told["refused"] = [month.refused for month in rolled.months]
            told["warnings"] = rolled.warnings
            (notes / "closed.md").chmod(0o600)
            told["resumed"] = [trace.path for trace in memory.forget([]).left]
            told["closed"] = (notes / "closed.md").read_text().splitlines()
        (home / "said").write_text(json.dumps(told))

    warm = reachable_path / "warm"  # or the other user would have to import what only root may read
    shutil.copytree(root, warm)
    with Memory.open(warm) as memory:
        memory.forget(Selection("text", "Zoe Quist"))
        rollup.rollup(memory)
    told = said(as_user(OWNER, home, act), home / "said")
    assert told["planned"][0].startswith("memory/closed.md: what it says is not known: permission denied")
    assert told["left"] == [
        "memory/closed.md: cannot be changed: permission denied; allow it (chmod u+rw memory/closed.md);"
        " then: carry the forgetting on"
    ]
    assert told["a"] == told["closed"] == ["- The walnut desk is upstairs."]
    assert told["refused"] == ["", ""]
    (line,) = (one for one in told["warnings"] if "outside memory/" not in one)
    assert line.startswith("memory/closed.md: permission denied; its references")
    assert told["resumed"] == []


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root may become another user")
def test_a_folder_of_notes_that_cannot_be_written_to_is_named(
    reachable_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the note alone, which may well be writable or not there yet."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    root, home = reachable_path / "ws", reachable_path / "home"
    (root / "memory").mkdir(parents=True)
    home.mkdir()
    (root / "memory" / "a.md").write_text("- The walnut desk is upstairs.\n")
    for path in (root, *root.rglob("*")):
        os.chown(path, OWNER, OWNER)

    def act() -> None:
        (root / "memory").chmod(0o555)
        told: list[str] = []
        with Memory.open(root) as memory:
            for write in (
                lambda: memory.remember("The kettle is red."),
                lambda: memory.correct("The walnut desk is upstairs.", "The walnut desk is down."),
            ):
                try:
                    write()
                except CommonplaceError as error:
                    told.append(str(error))
        (home / "said").write_text(json.dumps({"told": told}))

    warm = reachable_path / "warm"
    shutil.copytree(root, warm)
    with Memory.open(warm) as memory:
        memory.remember("The kettle is red.")
        memory.correct("The walnut desk is upstairs.", "The walnut desk is down.")
    told = said(as_user(OWNER, home, act), home / "said")["told"]
    assert len(told) == 2
    for line in told:
        assert f"its folder {root}/memory cannot be written to; chmod u+w {root}/memory" in line, line


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root may become another user")
def test_root_writes_into_the_workspace_of_a_user(
    reachable_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `sudo` made is the owner's: he writes, searches and takes back afterwards."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    root, home = reachable_path / "work", reachable_path / "home"
    home.mkdir()
    (root / "memory").mkdir(parents=True)
    for path in (root, root / "memory"):
        os.chown(path, OWNER, OWNER)
    with Memory.open(root) as memory:
        memory.remember("the walnut desk is upstairs.", now=AT)
        memory.correct("the walnut desk is upstairs.", "the walnut desk is downstairs.", now=AT.astimezone())
        memory.sync()
    foreign = [path for path in root.rglob("*") if path.stat().st_uid != OWNER]
    assert foreign == []

    def use() -> None:
        with Memory.open(root) as memory:
            memory.remember("written by its owner.", now=AT)
            memory.sync()
            (home / "said").write_text(json.dumps({"hits": [hit.text for hit in memory.search("desk").hits]}))

    assert "downstairs" in repr(said(as_user(OWNER, home, use), home / "said"))
    assert text(root).count("written by its owner.") == 1


# --- a full disk ----------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 3 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    made = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=3m", "tmpfs", place], capture_output=True, check=False
    )
    if not made or made.returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


COMMANDS = {
    "sync": (1, ["sync"]),
    "remember": (1, ["remember", "one more"]),
    "correct": (1, ["correct", "memory/a.md:3", "the walnut desk is sold"]),
    "forget": (1, ["forget", "memory/a.md:3", "--yes"]),
    "rollup": (1, ["rollup"]),
    "undo": (1, ["undo"]),
    "usage": (0, ["usage"]),
    "search": (0, ["search", "walnut desk"]),
    "status": (0, ["status"]),
}
FULL = ("the disk is full", "no space left on device")


def test_a_full_disk_is_called_so(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    monkeypatch.setenv("COMMONPLACE_STATE_DIR", str(small_disk / "state"))
    root = small_disk / "w"
    (root / "memory").mkdir(parents=True)
    (root / "memory" / "2025-03-10.md").write_text("# 2025-03-10\n\n- We moved a shelf to the cellar.\n")
    prepare(root)
    for number in range(30):  # what a sync would write down
        (root / "memory" / f"n{number}.md").write_text("# N\n\n" + f"- word{number} of larch\n" * 300)
    with open(small_disk / "filler", "wb", buffering=0) as filler:
        while True:
            try:
                filler.write(b"x" * 1024)
            except OSError:
                break
    before = {path: path.read_bytes() for path in (root / "memory").iterdir()}
    for name, (code, arguments) in COMMANDS.items():
        done = CliRunner().invoke(cli, ["-w", str(root), *arguments])
        assert done.exit_code == code, (name, done.stderr)
        assert isinstance(done.exception, SystemExit | None), name
        assert "Traceback" not in done.stderr
        if code:
            *_, line = done.stderr.splitlines()
            assert any(reason in line for reason in FULL), (name, line)
        assert "I/O" not in done.stderr, (name, done.stderr)
        assert {path: path.read_bytes() for path in (root / "memory").iterdir()} == before, name
    (small_disk / "filler").unlink()
    with Memory.open(root) as memory:
        memory.sync()
        assert memory.search("larch").hits
        memory.remember("there is room again", now=AT)


# --- the clock jumps ------------------------------------------------------------------------------------

CLOCK = """
import datetime, json, sys, time
shift = 0.0
real, real_ns, Real = time.time, time.time_ns, datetime.datetime
time.time = lambda: real() + shift
time.time_ns = lambda: real_ns() + int(shift * 1e9)

class Shifted(Real):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(real() + shift, tz)

datetime.datetime = Shifted
from pathlib import Path
from commonplace import Memory
from commonplace.edit.forget import requests
from commonplace.storage import undo as undoing
from commonplace.storage import journal
from commonplace.storage.queue import Queue
from commonplace.upkeep import rollup
from commonplace.types import Entry, Selection
DAY = 86400.0
kept, found = [], {}
with Memory.open(sys.argv[1], overrides={"embedding.provider": "none"}) as memory:
    for place, days in enumerate([0, 365, -3650, 0.5]):
        shift = days * DAY
        memory.remember(f"entry {place} walnut.")
        kept.append(f"entry {place} walnut.")
        memory.sync()
        hits = [hit.text for hit in memory.search(f"entry {place}", limit=100, min_score=0.0).hits]
        found[f"search {place}"] = any(f"entry {place} " in text for text in hits)
        memory.correct(f"rule {place} says one.", f"rule {place} says two.")
        undoing.undo(memory.workspace)
        text = (memory.workspace.root / "memory" / "rules.md").read_text()
        found[f"undo {place}"] = f"rule {place} says two" not in text
        memory.correct(f"rule {place} says one.", f"rule {place} says three.")
        waiting = Queue(memory.workspace)
        waiting.append(Entry(f"spooled {place}.", Shifted(2026, 2, 13, 12)))
        waiting.drain(memory.capture)
        rollup.rollup(memory)
        memory.forget(Selection("text", f"secret {place} larch."))
        memory.recall("walnut")
        memory.status(), memory.usage()
        found[f"runs {place}"] = len(journal.names(memory.workspace)) > 0
    shift = 0.0
    memory.sync()
text = "".join(path.read_text() for path in Path(sys.argv[1]).rglob("*.md"))
found |= {line: line in text for line in kept}
found |= {f"spooled {place}": text.count(f"spooled {place}.") >= 1 for place in range(4)}
found |= {f"rule {place}": f"rule {place} says three" in text for place in range(4)}
found |= {f"secret {place}": f"secret {place} " not in text for place in range(4)}
print(json.dumps([name for name, held in found.items() if not held]))
"""


def test_a_clock_that_jumps_loses_nothing(root: Path) -> None:
    (root / "memory" / "rules.md").write_text(
        "# R\n\n" + "".join(f"- rule {n} says one.\n" for n in range(6))
    )
    (root / "memory" / "keys.md").write_text("# K\n\n" + "".join(f"- secret {n} larch.\n" for n in range(6)))
    done = subprocess.run([sys.executable, "-W", "error", "-c", CLOCK, str(root)], capture_output=True,
                          text=True, env=environment(), timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


# --- damage and death -----------------------------------------------------------------------------------


def damaged(root: Path, rounds: int, seed: int) -> int:
    """Damage a file of the state or the index in each round, and call everything; return how many were damaged."""
    rng, count, messages = random.Random(seed), 0, []
    for number in range(rounds):
        files = [
            path
            for folder in (paths.Workspace(root).state, paths.Workspace(root).index.parent)
            for path in folder.rglob("*")
            if path.is_file() and path.stat().st_size
        ]
        path = rng.choice(sorted(files))
        data = bytearray(path.read_bytes())
        if rng.random() < 0.3:
            del data[rng.randrange(len(data)) :]
        for _ in range(rng.choice([1, 8, 200])):
            if data:
                data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data)
        count += 1
        calls: list[Call] = [
            *(call for name, (call, _) in CALLS.items() if name not in ("correct", "forget", "remember")),
            lambda memory, number=number: memory.remember(f"round {number}.", now=AT),  # type: ignore[misc]
            lambda memory: memory.correct("nobody says that", "nor that"),
            lambda memory: memory.forget([]),
            lambda memory: undo.planned(memory.workspace),
        ]
        with Memory.open(root) as memory:
            for call in calls:
                try:
                    call(memory)
                except CommonplaceError as error:
                    messages.append(str(error))
            assert "upstairs" in "".join(hit.text for hit in memory.search("walnut desk").hits), path
        now = text(root)
        assert "- the walnut desk is upstairs\n" in now
        assert "the first walnut entry" in now
        assert f"round {number}." in now
        if number % 8 == 7:
            lose_records(root)
            with Memory.open(root) as memory:
                memory.remember(f"Room {number} is free.", now=AT)
                memory.correct(f"Room {number} is free.", f"Room {number} is taken.")
                memory.sync()
    assert not [message for message in messages if "\n" in message]
    return count


def test_damage_of_the_state_loses_no_note(root: Path) -> None:
    assert damaged(root, 9, 1) == 9


def test_bytes_of_a_record_that_are_no_text_are_damage(root: Path) -> None:
    with Memory.open(root) as memory:
        memory.search("walnut desk")
        memory.usage()
    with closing(apsw.Connection(str(paths.Workspace(root).usage))) as connection:
        assert connection.execute("SELECT count(*) FROM hits").get
        connection.execute("UPDATE hits SET path = CAST(x'c9' AS TEXT)")
    with Memory.open(root) as memory, pytest.raises(CommonplaceError, match="damaged; delete it"):
        memory.usage()


@pytest.mark.slow
def test_much_damage_of_the_state_loses_no_note(root: Path) -> None:
    count = damaged(root, 100, 2)
    print(f"\n{count} files damaged, 0 lines of notes lost")


def killed(folder: Path, kills: int, seed: int) -> dict[str, dict[str, int]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.attacks.random_kills", str(folder / "w"), str(kills), str(seed)],
        capture_output=True, text=True, env=environment(), timeout=60 + 4 * kills, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    account = json.loads(done.stdout)
    assert account["lost"] == []
    assert account["refused"] == [], done.stderr
    assert sum(account["struck"].values()) == kills
    return dict(account)


def test_killed_by_chance_nothing_is_lost(tmp_path: Path) -> None:
    killed(tmp_path, 4, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_killed_by_chance_often_nothing_is_lost(tmp_path: Path, seed: int) -> None:
    account = killed(tmp_path, 200, seed)
    print(f"\n{sum(account['struck'].values())} kills struck {account['struck']}, 0 lines lost or torn")
