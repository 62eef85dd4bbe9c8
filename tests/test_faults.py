"""The promises under fire: many writers, sudden death, secrets."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base.paths import Workspace, user_cache_dir, user_state_dir
from commonplace.index.sqlite import schema
from commonplace.memory import Lab
from commonplace.types import Entry, Provenance
from tests.index.test_sync import dump

WRITE = """
import sys
from commonplace import Memory
memory = Memory.open(sys.argv[1], overrides={"embedding.provider": "none"})
for number in range(int(sys.argv[3])):
    memory.remember(f"entry {sys.argv[2]}-{number} walnut")
"""
SYNC = """
import sys
from commonplace import Memory
while True:
    with Memory.open(sys.argv[1], overrides={"embedding.provider": "fake"}) as memory:
        memory.sync()
        memory.search("walnut")
"""


CAPTURE = """
import sys
from datetime import datetime, timedelta
from commonplace import Memory
from commonplace.types import Entry, Provenance
memory = Memory.open(sys.argv[1], overrides={"embedding.provider": "none"})
name, batches, size = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
at = datetime(2026, 2, 13, 12)
for batch in range(batches):
    memory.capture([
        Entry(f"entry {name}-{batch * size + place} walnut\\n```\\nits code\\n```", at + timedelta(days=place % 2),
              "Observations", Provenance("tool", "nanobot", name))
        for place in range(size)
    ])
"""


_started: list[subprocess.Popen[bytes]] = []


def start(program: str, *arguments: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    _started.append(subprocess.Popen(command, stderr=subprocess.PIPE))
    return _started[-1]


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """End the programs of a test that fails, which would burden all that follow."""
    yield
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    return tmp_path


def several(few: int, many: int) -> pytest.MarkDecorator:
    """Repeat a test a few times, and many times with --slow."""
    return pytest.mark.parametrize("number", [few, pytest.param(many, marks=pytest.mark.slow)])


def entries(root: Path) -> list[str]:
    text = "".join(file.read_text("utf-8") for file in sorted((root / "memory").glob("*.md")))
    return [line.split("entry ")[1].split()[0] for line in text.splitlines() if "entry " in line]


@several(12, 40)
def test_eight_writers_lose_nothing_while_another_syncs(root: Path, number: int) -> None:
    reader = start(SYNC, root)
    writers = [start(WRITE, root, name, number) for name in range(8)]
    for writer in writers:
        _, trouble = writer.communicate(timeout=200)
        assert writer.returncode == 0, trouble.decode()
    reader.kill()
    reader.communicate()
    assert sorted(entries(root)) == sorted(f"{name}-{place}" for name in range(8) for place in range(number))
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        memory.sync()
        assert memory.search("walnut", min_score=0.0, limit=1000).hits


def kill_after(process: subprocess.Popen[bytes], seconds: float) -> None:
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate()


@several(4, 16)
def test_killed_while_remembering(root: Path, number: int) -> None:
    rng = random.Random(1)
    for name in range(number):
        writer, until = start(WRITE, root, name, 10_000), time.monotonic() + 60
        while not any(entry.startswith(f"{name}-") for entry in entries(root)):
            assert writer.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        kill_after(writer, rng.random() * 0.3)
    found = entries(root)
    for name in range(number):  # what was written is there from the first entry on, without a gap
        numbers = [int(entry.split("-")[1]) for entry in found if entry.startswith(f"{name}-")]
        assert numbers == list(range(len(numbers)))
    for file in (root / "memory").glob("*.md"):
        assert file.read_bytes().endswith(b"walnut\n")
    with Memory.open(root) as memory:
        memory.remember("the next entry still works")


@several(4, 16)
def test_killed_while_syncing(root: Path, number: int) -> None:
    for note in range(400):
        lines = "\n".join(f"- walnut {note} {place} desk" for place in range(30))
        (root / "memory" / f"n{note}.md").write_text(f"# N{note}\n\n{lines}\n", "utf-8")
    rng = random.Random(2)
    for _ in range(number):
        kill_after(start(SYNC, root), 0.2 + rng.random() * 0.6)
        with Memory.open(
            root, overrides={"embedding.provider": "fake", "index.sync_on_search": False}
        ) as memory:
            memory.search("walnut desk")
    with Memory.open(root, overrides={"embedding.provider": "fake"}) as memory:
        memory.sync()
        status = memory.status()
        check = memory.store.index.connection.execute("PRAGMA integrity_check").get
    assert (status.notes, status.pending, status.stale) == (400, 0, 0)
    assert check == "ok"


SECRETS = {
    "aws": "AKIAIOSFODNN7SAMPLE2",
    "github": "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8",
    "password": "hunter2-Tr0ub4dor",
    "private": "my-therapist-said",
}


def files_of_ours(root: Path) -> list[Path]:
    """Notes that we wrote, the state and all caches."""
    folders = (root, user_state_dir(), user_cache_dir())
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    return [file for file in files if file.name != "2026-01-01.md"]


def test_secrets_reach_no_file_of_ours(root: Path) -> None:
    text = (
        f"key {SECRETS['aws']} and token {SECRETS['github']}\npassword = {SECRETS['password']}\n"
        f"<private>{SECRETS['private']}</private> the walnut desk"
    )
    with Memory.open(root, overrides={"embedding.provider": "fake"}) as memory:
        written = memory.remember(text)
        assert len(written.redacted) == 3
        (root / "memory" / "2026-01-01.md").write_text(f"# Mine\n\n{text} too\n", "utf-8")
        memory.sync()
        assert memory.search("walnut desk").hits
        ours = files_of_ours(root)
        assert any(file.name.startswith("index.sqlite") for file in ours)
        for file in ours:
            data = file.read_bytes()
            for name, secret in SECRETS.items():
                assert secret.encode() not in data, f"{name} in {file.name}"
        shown = "".join(hit.text for hit in memory.search("walnut key token password").hits)
        assert not any(secret in shown for secret in SECRETS.values())


def test_a_locked_index_still_answers(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "BUSY_TIMEOUT_MS", 100)
    (root / "memory" / "a.md").write_text("# A\n\nthe walnut desk\n", "utf-8")
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        memory.sync()
    lock = (
        "import apsw, sys, time; c = apsw.Connection(sys.argv[1]); c.execute('PRAGMA locking_mode=exclusive');"
        "c.execute('BEGIN EXCLUSIVE'); print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", lock, str(Workspace(root).index)], stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
            assert memory.search("walnut desk").hits
    finally:
        holder.kill()
        holder.communicate()


def test_a_full_disk_keeps_what_is_indexed(root: Path) -> None:
    (root / "memory" / "a.md").write_text("# A\n\nthe walnut desk\n", "utf-8")
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        memory.sync()
        pages = memory.store.index.connection.execute("PRAGMA page_count").get
        memory.store.index.connection.execute(f"PRAGMA max_page_count={pages}").fetchall()
        for number in range(60):
            (root / "memory" / f"b{number}.md").write_text(f"# B\n\nword{number} " * 900, "utf-8")
        result = memory.search("walnut desk")
        assert result.hits[0].path == "memory/a.md"
        assert result.stale == 60


REBUILD = """
import sys
from commonplace.memory import Lab, Memory
from commonplace.chunking.settings import ChunkSettings
target = 60
while True:
    target = 140 - target
    with Memory.open(
        sys.argv[1], overrides={"embedding.provider": "fake"}, lab=Lab(chunks=ChunkSettings(target=target))
    ) as memory:
        memory.sync()
"""


@several(3, 16)
@pytest.mark.parametrize("program", [SYNC, REBUILD], ids=["sync", "rebuild"])
def test_killed_amid_changes_the_index_ends_as_a_rebuild(root: Path, program: str, number: int) -> None:
    rng = random.Random(3)

    def edit() -> None:
        for note in rng.sample(range(150), 60):
            lines = "\n\n".join(f"- walnut {note} {rng.randrange(99)} desk" for _ in range(20))
            (root / "memory" / f"n{note}.md").write_text(f"# N{note}\n\n{lines}\n", "utf-8")
        for file in rng.sample(sorted((root / "memory").glob("*.md")), 5):
            file.rename(root / "memory" / f"moved{rng.randrange(1000)}.md")

    for _ in range(number):
        edit()
        kill_after(start(program, root), 0.2 + rng.random() * 0.4)
    with Memory.open(root, overrides={"embedding.provider": "fake"}) as memory:
        assert memory.search("walnut desk", min_score=0.0).hits
        memory.sync()
        grown = dump(memory.store.index)
    with Memory.open(
        root, overrides={"embedding.provider": "fake"}, lab=Lab(root / "fresh.sqlite")
    ) as memory:
        memory.sync()
        assert dump(memory.store.index) == grown


KEY = "MIIEowIBAAKCAQEA7c8Wm0xq3Vf9yG2tS5rK1uN4oP6aB8dE"
MORE_SECRETS = {
    "a private key": f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\n{KEY[::-1]}\n-----END RSA PRIVATE KEY-----",
    "a bearer token": "Authorization: Bearer abcDEF123456ghiJKL789012mnoPQR345678",
    "a password in a URL": "postgres://admin:s3cr3t-Pa55w0rd@db.example.com/main",
    "a private part": "<private>\nthe safe opens with 7714-2209\n</private>",
}
PARTS = [KEY, KEY[::-1], "abcDEF123456ghiJKL789012mnoPQR345678", "s3cr3t-Pa55w0rd", "7714-2209"]


@pytest.mark.parametrize("long_term", [False, True])
def test_longer_secrets_reach_no_file_of_ours(root: Path, long_term: bool) -> None:
    with Memory.open(root, overrides={"embedding.provider": "fake"}) as memory:
        for name, secret in MORE_SECRETS.items():
            memory.remember(f"walnut: {name}\n{secret}\nends here", long_term=long_term)
        mine = "\n\n".join(f"## {name}\n\nwalnut\n\n{secret}\n" for name, secret in MORE_SECRETS.items())
        (root / "memory" / "2026-01-01.md").write_text(f"# Mine\n\n{mine}", "utf-8")
        memory.search(
            "walnut"
        )  # whose connection stays open, so that the log is not copied into the file yet
        memory.sync()
        said = [hit.text for hit in memory.search("walnut", min_score=0.0, limit=100).hits]
        said += [memory.recall("walnut").text, "\n".join(memory.get("memory/2026-01-01.md").lines)]
        assert Path(f"{Workspace(root).index}-wal").stat().st_size > 0
        ours = files_of_ours(root)
        for secret in PARTS:
            assert not any(secret in text for text in said), secret
            assert [file.name for file in ours if secret.encode() in file.read_bytes()] == []
    for secret in PARTS:  # and when it is closed, the log being copied into the file
        index = Workspace(root).index.read_bytes()
        assert secret.encode() not in index


def notes(root: Path) -> str:
    return "".join(file.read_text("utf-8") for file in (root / "memory").glob("2*.md"))


def captured(root: Path) -> dict[str, list[int]]:
    """The numbers of captured entries by writer, in order, of entries that are whole."""
    found: dict[str, list[int]] = {}
    for file in sorted((root / "memory").glob("*.md")):
        blocks = file.read_text("utf-8").split("\n- ")
        assert file.read_text("utf-8").endswith("  ```\n")
        for block in blocks[1:]:
            first, *rest = block.rstrip("\n").split("\n")
            name, number = first.split("entry ")[1].split()[0].split("-")
            assert f"<!-- by: tool; agent: nanobot; session: {name}; at: 2026-02-1" in first
            assert rest == ["  ```", "  its code", "  ```"]
            found.setdefault(name, []).append(int(number))
    return found


@several(4, 12)
def test_many_capture_at_once_and_nothing_is_lost(root: Path, number: int) -> None:
    writers = [start(CAPTURE, root, name, number, 8) for name in range(6)]
    for writer in writers:
        _, trouble = writer.communicate(timeout=200)
        assert writer.returncode == 0, trouble.decode()
    found = captured(root)
    assert {name: sorted(numbers) for name, numbers in found.items()} == {
        str(name): list(range(8 * number)) for name in range(6)
    }
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        memory.sync()
        assert {hit.labels for hit in memory.search("session:3", min_score=0.0, limit=500).hits} == {
            ("untrusted",)
        }


@several(3, 12)
def test_killed_while_capturing(root: Path, number: int) -> None:
    rng = random.Random(5)
    for name in range(number):
        writer = start(CAPTURE, root, name, 10_000, 10)
        until = time.monotonic() + 60
        while f" {name}-0 " not in notes(root) and time.monotonic() < until:
            time.sleep(0.01)
        kill_after(writer, rng.random() * 0.2)
    found = captured(root)
    assert found, "no writer came to write before it was killed"
    for numbers in found.values():
        for days in (0, 1):  # a day's part of a batch is there or not, as a whole and without a gap
            part = sorted(number for number in numbers if number % 2 == days)
            assert part == list(range(days, 2 * len(part) + days, 2))
            assert len(part) % 5 == 0
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        before = captured(root)
        again = [Entry(f"entry {name}-{number} walnut\n```\nits code\n```", datetime(2026, 2, 13 + number % 2, 12),
                       "Observations", Provenance("tool", "nanobot", name))
                 for name, numbers in before.items() for number in numbers]  # fmt: skip
        assert len(memory.capture(again)) == len(again)
        assert captured(root) == before
