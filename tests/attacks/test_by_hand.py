"""What broke when it was tried by hand: each small fault once, on real files and processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from datetime import datetime
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.agent.tools import call
from commonplace.base import locks, paths
from commonplace.base.errors import ConfigError
from commonplace.edit.forget import selection
from commonplace.index import store
from commonplace.storage import files
from commonplace.types import Selection
from commonplace.upkeep import rollup

SOURCE = Path(__file__).parents[2] / "src"
NONE = {"embedding.provider": "none"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Memory\n\n- Tea is at four.\n")
    (root / "memory" / "2026-02-13.md").write_text("# D\n\n- Mira Chen called.\n- Bo waters the ferns.\n")
    return root


def program(root: Path, *arguments: str | bytes, **named: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "commonplace", "-w", str(root), *arguments],
        stderr=subprocess.PIPE, timeout=60,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "COMMONPLACE_EMBEDDING_PROVIDER": "none"},
        **{"stdout": subprocess.PIPE, **named},
    )  # fmt: skip


# --- hidden files ---------------------------------------------------------------------------------------


def test_hidden_files_are_no_notes_to_anybody(root: Path) -> None:
    """As macOS leaves beside each file on a foreign disk."""
    for name in ("2025-01-03.md", "2025-01-04.md"):
        (root / "memory" / name).write_text(f"# D\n\n- Mira Chen wrote on {name}.\n")
    hidden = [root / "memory" / "._2026-02-13.md", root / "memory" / "._2025-01-03.md", root / "._MEMORY.md"]
    for path in hidden:
        path.write_text("- Mira Chen hides.\n")
    with Memory.open(root, overrides={**NONE, "index.include": ("**/*.md",)}) as memory:
        assert all("/." not in f"/{note.path}" for note in memory.notes())
        assert not any("hides" in hit.text for hit in memory.search("Mira Chen hides").hits)
        done = rollup.rollup(memory, now=datetime(2026, 2, 20).astimezone())
        assert [month.refused for month in done.months] == [""]
        forgotten = memory.forget(Selection("person", "Mira Chen"))
        assert [
            place.path for place in forgotten.places if "/." in place.path and place.where == "notes"
        ] == []
    assert "Mira" not in (root / "memory" / "2026-02-13.md").read_text()
    assert all(path.read_text() == "- Mira Chen hides.\n" for path in hidden)
    assert {trace.path for trace in forgotten.left} == {path.relative_to(root).as_posix() for path in hidden}


# --- beside others --------------------------------------------------------------------------------------


def test_a_look_beside_writers_fails_on_no_file_that_is_gone(root: Path) -> None:
    note, over = root / "memory" / "2026-02-14.md", threading.Event()
    with Memory.open(root, overrides=NONE) as memory:
        lock = paths.lock_file(memory.workspace, "notes")

        def write() -> None:
            while not over.is_set():
                files.replace(note, lambda data: (data + b"- x\n")[-4000:], lock=lock)

        thread = threading.Thread(target=write)
        thread.start()
        try:
            for _ in range(40):
                memory.forget(Selection("text", "ferns"), dry_run=True)
        finally:
            over.set()
            thread.join()


WRITER = """
import sys
from commonplace import Memory
with Memory.open(sys.argv[1], overrides={"embedding.provider": "none"}) as memory:
    for number in range(int(sys.argv[3])):
        memory.remember(f"Writer {sys.argv[2]} wrote {number}.")
"""


@pytest.mark.parametrize(("count", "entries"), [(6, 12), pytest.param(16, 30, marks=pytest.mark.slow)])
def test_many_writers_each_get_their_turn(root: Path, count: int, entries: int) -> None:
    """Entries of many processes; nobody waits for more than the ten seconds that a lock is waited for."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(root), f"{n}", str(entries)], env=env, stderr=subprocess.PIPE
        )
        for n in range(count)
    ]
    errors = [writer.communicate(timeout=240)[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * count, b"\n".join(errors).decode()
    notes = "".join(path.read_text() for path in (root / "memory").glob("*.md"))
    written = [(n, k) for n in range(count) for k in range(entries)]
    assert [(n, k) for n, k in written if notes.count(f"Writer {n} wrote {k}.") != 1] == []


def test_an_index_that_another_process_has_just_begun_does_not_hide_the_notes(root: Path) -> None:
    with (
        Memory.open(root, overrides=NONE) as memory,
        locks.locked(paths.lock_file(memory.workspace, "sync")),
    ):
        found = memory.search("ferns")
        assert [hit.path for hit in found.hits] == ["memory/2026-02-13.md"]
        assert store.BEGUN in found.warnings


# --- what is told ---------------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_an_entry_that_is_written_is_told_to_be(root: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = program(root, "remember", "The kiln is on.", stdout=full)
    assert done.returncode == 1
    assert b"written to memory/" in done.stderr
    assert b"standard output cannot be written" in done.stderr
    assert sum("The kiln is on." in path.read_text() for path in (root / "memory").glob("*.md")) == 1


@pytest.mark.parametrize(
    "arguments", [("remember", b"caf\xe9 is open"), ("correct", "Bo waters the ferns.", b"\xe9")]
)
def test_an_argument_that_is_no_text_is_not_changed_into_one(
    root: Path, arguments: tuple[str | bytes, ...]
) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*.md")}
    done = program(root, *arguments)
    assert (done.returncode, b"is not UTF-8" in done.stderr) == (1, True)
    assert {path: path.read_bytes() for path in root.rglob("*.md")} == before


@pytest.mark.parametrize("text", ["a <private> b", "<private>", "a <private>b</private> <PRIVATE x> c"])
def test_what_opens_a_private_part_closes_it(root: Path, text: str) -> None:
    with Memory.open(root, overrides=NONE) as memory:
        with pytest.raises(ConfigError, match="never closes it"):
            memory.remember(text)
        assert "never closes it" in call(memory, "memory_write", {"text": text}).text
        memory.remember("An entry with <private>b</private> in it, and </private> too.")


def test_a_correction_says_which_notes_it_did_not_look_through(root: Path) -> None:
    (root / "memory" / "large.md").write_text("- Bo waters the ferns.\n" + "- x\n" * 1_100_000)
    with Memory.open(root, overrides=NONE) as memory:
        done = memory.correct("Bo waters the ferns.", "Cy waters the ferns.")
    assert any("large.md" in told and "not looked through" in told for told in done.warnings)


def test_a_part_of_a_name_alone_is_told(root: Path) -> None:
    (root / "memory" / "2026-02-14.md").write_text(
        "# D\n\n- Chen paints.\n- Mira rests.\n- Mira and Bo rest.\n"
    )
    with Memory.open(root, overrides=NONE) as memory:
        done = memory.forget(Selection("person", "Mira Chen"))
    (told,) = [one for one in done.unreachable if "may mean the same person" in one.what]
    assert told.what.startswith("memory/2026-02-14.md#L3 says Chen")
    assert "#L3" in told.remedy
    assert (root / "memory" / "2026-02-14.md").read_text().count("Mira") == 2
    assert selection.LEAST_WORDS


def test_a_rollup_that_could_write_nothing_is_no_success(root: Path) -> None:
    (root / "memory" / "2026-02.md").mkdir()
    done = program(root, "rollup")
    assert done.returncode == 1, done
