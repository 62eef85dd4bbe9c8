"""What a person confirmed is what is done, whatever others write between the look and the yes."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.agent.tools import call
from commonplace.base import paths
from commonplace.base.errors import ConfigError, PreviewOutdated
from commonplace.edit.forget import journal, requests, targets
from commonplace.storage import files
from commonplace.storage import journal as changes
from commonplace.storage.queue import Queue
from commonplace.types import Entry, Selection
from commonplace.types.changes import Change
from tests.attacks.person import SOURCE, Person
from tests.places import settings_file

pytest.importorskip("pty")

DAY = "memory/2026-02-13.md"
LINES = [
    "Mira called about the vase.",
    "Bo waters the ferns.",
    "The kiln fires on Monday.",
    "Ada took the keys.",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Memory\n\n- Tea is at four.\n")
    (root / DAY).write_text("# 2026-02-13\n\n" + "".join(f"- {line}\n" for line in LINES))
    return root


@pytest.fixture
def memory(root: Path) -> Iterator[Memory]:
    with Memory.open(root, overrides={"embedding.provider": "none"}) as opened:
        yield opened


def above(root: Path, *lines: str) -> None:
    """Somebody writes lines above all others, as an editor or a sync program does."""
    note = root / DAY
    head, _, rest = note.read_text().partition("\n\n")
    note.write_text(f"{head}\n\n" + "".join(f"- {line}\n" for line in lines) + rest)


def said(root: Path) -> list[str]:
    return [
        line.removeprefix("- ") for line in (root / DAY).read_text().splitlines() if line.startswith("- ")
    ]


# --- at a terminal --------------------------------------------------------------------------------------


def test_a_line_that_moved_is_erased_where_it_stands_now(root: Path) -> None:
    with Person(root, "forget", f"{DAY}:4") as person:
        assert "Bo waters the ferns." in person.until("cannot be undone.")
        above(root, "Zed was here.", "Yan was, too.")
        assert person.types("y") == 0, person.shown
    assert said(root) == ["Zed was here.", "Yan was, too.", LINES[0], *LINES[2:]]


def test_a_line_that_says_something_else_by_now_is_kept(root: Path) -> None:
    with Person(root, "forget", f"{DAY}:4") as person:
        person.until("cannot be undone.")
        note = root / DAY
        note.write_text(
            note.read_text().replace("Bo waters the ferns.", "Bo waters the ferns and the roses.")
        )
        before = note.read_bytes()
        assert person.types("y") == 1
    assert "changed since the preview, so nothing was done; look again" in person.shown
    assert note.read_bytes() == before
    assert journal.pending(paths.Workspace(root)) == []


def test_what_came_to_match_is_not_erased_unseen(root: Path) -> None:
    with Person(root, "forget", "--person", "Mira") as person:
        person.until("cannot be undone.")
        above(root, "Mira paints the shed.")
        before = (root / DAY).read_bytes()
        assert person.types("y") == 1
    assert f"{DAY}: changed since the preview" in person.shown
    assert (root / DAY).read_bytes() == before


@pytest.mark.parametrize("yes", [(), ("--yes",)])
def test_what_is_picked_is_what_was_listed(root: Path, yes: tuple[str, ...]) -> None:
    with Person(root, "forget", "--query", "kiln", *yes) as person:
        person.until("nothing: none")
        above(root, "Zed was here.")
        if not yes:
            os.write(person._ours, b"1\n")
            person.until("cannot be undone.")
            above(root, "Yan was, too.")
        assert person.types("1" if yes else "y") == 0, person.shown
    assert LINES[2] not in said(root)
    assert set(said(root)) >= {"Zed was here.", *LINES[:2], LINES[3]}


def test_a_pick_that_is_no_longer_there_erases_nothing(root: Path) -> None:
    with Person(root, "forget", "--query", "kiln", "--yes") as person:
        person.until("nothing: none")
        note = root / DAY
        note.write_text(note.read_text().replace("on Monday", "on Tuesday"))
        before = note.read_bytes()
        assert person.types("1") == 1
    assert (root / DAY).read_bytes() == before


def test_writers_beside_neither_stop_a_person_nor_lose_a_line(root: Path) -> None:
    """Two processes remember all the time; what is shown goes, and nothing else ever does."""
    writer = (
        "import sys\nfrom commonplace import Memory\n"
        "with Memory.open(sys.argv[1], overrides={'embedding.provider': 'none'}) as memory:\n"
        "    for n in range(int(sys.argv[3])):\n"
        "        print(memory.remember(f'Writer {sys.argv[2]} wrote {n}.').path, flush=True)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", writer, str(root), str(n), "20"],
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        for n in range(2)
    ]
    assert writers[0].stdout
    today = writers[0].stdout.readline().strip()
    reference = next(
        f"{today}:{number}"
        for number, line in enumerate((root / today).read_text().splitlines(), 1)
        if "Writer 0 wrote 0." in line
    )
    try:
        with Person(root, "forget", reference) as person:
            assert "Writer 0 wrote 0." in person.until("cannot be undone.")
            assert person.types("y") == 0, person.shown
    finally:
        for one in writers:
            one.communicate(timeout=120)
    assert [one.returncode for one in writers] == [0] * 2
    note = (root / today).read_text()
    missing = [(w, n) for w in range(2) for n in range(20) if f"Writer {w} wrote {n}." not in note]
    assert missing == [(0, 0)]


def test_a_correction_strikes_what_was_shown(root: Path) -> None:
    with Person(root, "correct", "ferns are watered by Bo", "Cy waters the ferns.") as person:
        listed = person.until("Which one?")
        number = next(line.split()[0].rstrip(".") for line in listed.splitlines() if "Bo waters" in line)
        above(root, "Zed was here.")
        before = (root / DAY).read_bytes()
        assert person.types(number) == 1, person.shown
    assert "look again" in person.shown
    assert (root / DAY).read_bytes() == before


def test_a_correction_of_more_than_was_shown_is_refused(root: Path) -> None:
    (root / "memory" / "2026-02-14.md").write_text("# 2026-02-14\n\n- Bo waters the ferns.\n")
    with Person(root, "correct", "Bo waters the ferns.", "Cy waters the ferns.") as person:
        person.until("Strike 2 statements?")
        (root / "memory" / "2026-02-15.md").write_text("# 2026-02-15\n\n- Bo waters the ferns.\n")
        assert person.types("y") == 1
    assert "changed since the preview" in person.shown
    assert "~~" not in (root / DAY).read_text()
    with Person(root, "correct", "Bo waters the ferns.", "Cy waters the ferns.") as person:
        person.until("Strike 3 statements?")
        above(root, "Zed was here.")  # which has nothing to do with it
        assert person.types("y") == 0, person.shown
    assert "Zed was here." in said(root)


def test_an_undo_takes_back_what_was_shown(root: Path, memory: Memory) -> None:
    memory.correct("Bo waters the ferns.", "Cy waters the ferns.")
    with Person(root, "undo") as person:
        assert "Cy waters the ferns." in person.until("Take back")
        above(root, "Zed was here.")
        memory.correct("The kiln fires on Monday.", "The kiln fires on Friday.")  # a newer one, not shown
        assert person.types("y") == 0, person.shown
    assert "Zed was here." in said(root)
    assert LINES[1] in said(root)
    assert "~~The kiln fires on Monday.~~" in (root / DAY).read_text()


def test_an_undo_since_takes_back_no_more_than_was_shown(root: Path, memory: Memory) -> None:
    first = memory.correct("Bo waters the ferns.", "Cy waters the ferns.").run
    with Person(root, "undo", first, "--since") as person:
        person.until("Take back")
        memory.correct("The kiln fires on Monday.", "The kiln fires on Friday.")
        before = (root / DAY).read_bytes()
        assert person.types("y") == 1
    assert "look again" in person.shown
    assert (root / DAY).read_bytes() == before
    assert not any(run.about.kind == "undo" for run in changes.listed(memory.workspace))


def test_what_is_proposed_is_what_is_written(root: Path) -> None:
    (root / "MEMORY.md").write_text(
        "# Memory\n\n## Tea\n\n- Tea is at four every day.\n- Tea is at four every day.\n"
        + "".join(f"- Shelf {n} of the pantry holds jar {n}.\n" for n in range(12))
    )
    with Person(root, "consolidate") as person:
        shown = person.until("Write this?")
        (root / "MEMORY.md").write_text((root / "MEMORY.md").read_text().replace("four", "five"))
        before = (root / "MEMORY.md").read_bytes()
        assert person.types("y") == 1, shown
    assert "look again" in person.shown
    assert (root / "MEMORY.md").read_bytes() == before


# --- in a program ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [8, pytest.param(20, marks=pytest.mark.slow)])
def test_the_preview_itself_is_what_is_forgotten_beside_writers(
    rounds: int, root: Path, memory: Memory
) -> None:
    """Lines come above and below all the time; each round erases what it was shown, or nothing."""
    note, lock = root / DAY, paths.lock_file(memory.workspace, "notes")
    over, chance = threading.Event(), random.Random(7)
    outdated = begun = 0

    def write() -> None:
        count = 0
        while not over.is_set():
            if count >= 20 * begun:  # or a slow machine's note grows faster than it is read
                over.wait(0.002)
                continue
            count += 1
            line = f"- Line {count} came meanwhile.\n".encode()
            top = count % 2

            def compose(data: bytes, line: bytes = line, top: int = top) -> bytes:
                head, _, rest = data.partition(b"\n\n")
                return head + b"\n\n" + line + rest if top else data + line

            files.replace(note, compose, lock=lock)
            over.wait(0.002)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for round_ in range(rounds):
            begun = round_ + 1
            files.replace(note, lambda data, n=round_: data + b"- Round %d is meant.\n" % n, lock=lock)  # type: ignore[misc]
            total = len(note.read_text().splitlines())
            preview = memory.forget(Selection("lines", f"{DAY}:{chance.randint(3, total)}"), dry_run=True)
            shown = Counter(
                line for place in preview.places for line in place.text.splitlines() if place.where == "notes"
            )
            over.wait(0.005)
            before = Counter(note.read_text().splitlines())
            try:
                memory.forget(preview)
            except PreviewOutdated:
                outdated += 1
                shown = Counter()
            gone = before - Counter(note.read_text().splitlines())
            assert gone == shown
    finally:
        over.set()
        writer.join()
    assert outdated == 0  # what is written around a line does not keep it from going


def test_a_preview_is_no_longer_good_once_it_was_carried_out(memory: Memory) -> None:
    preview = memory.forget(Selection("text", "ferns"), dry_run=True)
    assert "ferns" not in repr(preview.basis) or preview.basis not in repr(preview).encode()
    memory.forget(preview)
    with pytest.raises(PreviewOutdated):
        memory.forget(preview)


def test_only_a_preview_can_be_carried_out(memory: Memory) -> None:
    preview = memory.forget(Selection("text", "ferns"), dry_run=True)
    done = memory.forget(preview)
    with pytest.raises(ConfigError, match="no preview"):
        memory.forget(done)


def test_which_of_two_equal_lines_is_meant(root: Path, memory: Memory) -> None:
    note = root / DAY
    note.write_text("# D\n\n## One\n\n- Same words here.\n\n## Two\n\n- Same words here.\n")
    preview = memory.forget(Selection("lines", f"{DAY}:9"), dry_run=True)
    note.write_text(
        note.read_text().replace("# D\n", "# D\n\n- a\n- b\n- c\n- d\n")
    )  # 9 is nearer to the first
    memory.forget(preview)
    assert note.read_text().endswith("## One\n\n- Same words here.\n\n## Two\n\n")
    preview = memory.forget(Selection("lines", f"{DAY}:10"), dry_run=True)
    note.write_text(note.read_text() + "- Same words here.\n")
    with pytest.raises(PreviewOutdated):
        memory.forget(preview)


def test_an_entry_that_waits_counts_as_a_note(root: Path, memory: Memory) -> None:
    queue = Queue(memory.workspace)
    queue.append(Entry("Mira sold the boat.", datetime(2026, 2, 13, 9)))
    preview = memory.forget(Selection("person", "Mira"), dry_run=True)
    queue.append(Entry("Mira bought a kite.", datetime(2026, 2, 13, 10)))
    with pytest.raises(PreviewOutdated):
        memory.forget(preview)
    assert LINES[0] in said(root)


def test_who_is_killed_before_anything_went_is_carried_on_only_as_it_was_shown(
    root: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from commonplace.edit.forget import erase

    preview = memory.forget(Selection("person", "Mira"), dry_run=True)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(erase._Work, "entries_and_notes", die)
        with pytest.raises(KeyboardInterrupt):
            memory.forget(preview)
    assert journal.pending(paths.Workspace(root))
    above(root, "Mira paints the shed.")
    done = memory.forget(())
    assert "changed since the preview" in done.unreachable[0].what
    assert LINES[0] in said(root)
    assert "Mira paints the shed." in said(root)
    assert journal.pending(paths.Workspace(root)) == []


def test_a_note_that_cannot_be_changed_keeps_no_other_from_it(root: Path, memory: Memory) -> None:
    """As without a preview: it is named, and the others are changed."""
    from commonplace.base.errors import NoteUnreadable
    from commonplace.storage import transaction

    (root / "memory" / "2026-02-14.md").write_text("# D\n\n- Mira rests.\n")
    preview = memory.forget(Selection("person", "Mira"), dry_run=True)
    true = transaction._exchange

    def refuse(workspace: paths.Workspace, change: Change, *about: object) -> bool:
        if change.path == DAY and b"Mira" in (change.before or b""):
            raise NoteUnreadable(DAY, "permission denied")
        return true(workspace, change, *about)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(transaction, "_exchange", refuse)
        done = memory.forget(preview)
    assert any(trace.path == DAY for trace in done.left)
    assert LINES[0] in said(root)
    assert (
        not (root / "memory" / "2026-02-14.md").exists()
        or "Mira" not in (root / "memory" / "2026-02-14.md").read_text()
    )


@given(
    st.lists(st.sampled_from(["Ann", "Bo", "Cy", "Ann and Bo"]), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["Ann", "Cy", "Dee", ""])), max_size=3),
    st.sampled_from(["Ann", "Bo"]),
)
def test_whatever_happens_in_between_only_what_was_shown_goes(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], edits: list[tuple[int, str]], name: str
) -> None:
    root = tmp_path_factory.mktemp("ws")
    (root / "memory").mkdir()
    note = root / DAY
    note.write_text("".join(f"- {one} did {n}.\n" for n, one in enumerate(names)))
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        preview = memory.forget(Selection("person", name), dry_run=True)
        lines = note.read_text().splitlines()
        for at, what in edits:
            lines.insert(min(at, len(lines)), f"- {what} came.") if what else lines[at : at + 1].clear()
        note.write_text("\n".join(lines) + "\n")
        shown = Counter(
            line for place in preview.places if place.where == "notes" for line in place.text.splitlines()
        )
        try:
            memory.forget(preview)
        except PreviewOutdated:
            shown = Counter()
        left = note.read_text().splitlines() if note.exists() else []
    assert Counter(lines) - Counter(left) == shown


def test_a_basis_is_read_back_as_it_was() -> None:
    told = targets.Targets(people=("Mira",), blocks=(targets.Block("a.md", 3, ("- a",), 2, 1),))
    basis = journal.basis(told, [])
    assert targets.decode(json.loads(basis)) == dataclasses.replace(told, shown=())
    former = basis.replace(b', "shown": []', b"").replace(b", 2, 1]", b", 2]")
    assert targets.decode(json.loads(former)) == dataclasses.replace(
        told, blocks=(targets.Block("a.md", 3, ("- a",), 2),)
    )


# --- what agents ask for --------------------------------------------------------------------------------


def test_a_person_approves_of_what_an_agent_asks_for(root: Path, memory: Memory) -> None:
    code = call(memory, "memory_forget", {"what": f"{DAY}:4"}, agent="helper").data["approve"]
    above(root, "Zed was here.")
    with Person(root, "forget", "--approve", code) as person:
        shown = person.until("cannot be undone.")
        assert f"helper asks to forget by lines: {DAY}:4" in shown
        assert "Bo waters the ferns." in shown
        above(root, "Yan was, too.")
        assert person.types("y") == 0, person.shown
    assert said(root) == ["Yan was, too.", "Zed was here.", LINES[0], *LINES[2:]]
    assert requests.kept(paths.Workspace(root)) == []


def test_nothing_is_approved_without_a_person(root: Path, memory: Memory) -> None:
    code = call(memory, "memory_forget", {"what": "ferns"}, agent="helper").data["approve"]
    before = (root / DAY).read_bytes()
    for further in ((), ("--yes",)):
        done = subprocess.run(
            [sys.executable, "-m", "commonplace", "-w", str(root), "forget", "--approve", code, *further],
            input=b"y\n", capture_output=True, env={**os.environ, "PYTHONPATH": str(SOURCE)}, timeout=60,
        )  # fmt: skip
        assert done.returncode == 2, done.stderr
    with Person(root, "forget", "--approve", "1") as person:
        person.until("cannot be undone.")
        assert person.types("n") == 130
    assert (root / DAY).read_bytes() == before
    with Person(root, "forget", "--pending") as person:
        assert "helper asks to forget by text: ferns" in person.until(code)
    with Person(root, "forget", "--reject", code) as person:
        person.until("refused; nothing was changed")
    assert requests.kept(paths.Workspace(root)) == []
    assert (root / DAY).read_bytes() == before


def test_no_setting_of_a_workspace_lets_agents_erase(root: Path) -> None:
    settings_file(root).write_text('[forget]\nby_agents = "allow"\n')
    with Memory.open(root) as memory:
        assert memory.settings.forget.by_agents == "ask"
