"""Another program saves a note without our lines: it is said once, nothing is lost, `restore` merges both."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from commonplace import Memory
from tests.life.conftest import Owner

NOW = datetime(2026, 2, 1, 12)
FENCE = "```sh\nmake harbour\n```"
LONG = "\n".join(f"step {n} of the boiler list" for n in range(300))


@dataclass(frozen=True)
class Case:
    """What is remembered, and what another program makes of the note; `first` is what stood before.

    `save` gets the note as it was at first, as it is now, and as it was after each entry.
    """

    entries: tuple[str, ...]
    save: Callable[[str, str, list[str]], str]
    first: str = ""
    heading: str = ""


def title_and(line: str) -> Callable[[str, str, list[str]], str]:
    return lambda first, now, steps: "".join(now.splitlines(keepends=True)[:2]) + f"{line}\n"


def stale(more: str = "") -> Callable[[str, str, list[str]], str]:
    return lambda first, now, steps: (first or "# A day\n") + more


def fence_alone(first: str, now: str, steps: list[str]) -> str:
    return "# A day\n\n- another thing:\n  ```sh\n  make tea\n  ```\n"


MIRA, TEA = "Mira is allergic to nuts.", "Bo drinks green tea."
FIRST = "# A day\n\n- what stood there first\n- and what followed\n"
CASES = {
    "210 entries": Case(tuple(f"entry {n} of many" for n in range(210)), stale("- of the owner\n"), FIRST),
    "the same title": Case((MIRA,), title_and("- another line")),
    "the same title, entries apart": Case((MIRA, TEA, "Rain."), title_and("- another line")),
    "a heading of ours stays": Case(
        (MIRA,), lambda first, now, steps: "# A day\n\n## Decisions\n\n- other\n", "", "Decisions"
    ),
    "a fence like ours stays": Case((f"build:\n{FENCE}",), fence_alone, FIRST),
    "a line like ours": Case(
        (MIRA,), lambda first, now, steps: first + "- Mira is allergic to nuts, says Bo.\n", FIRST
    ),
    "a line like ours at its time": Case(
        (MIRA,), lambda first, now, steps: first + "- 12:00 Mira is allergic to dust.\n", FIRST
    ),
    "35 KB": Case(("walnut " * 5_000,), stale(), FIRST),
    "300 lines": Case((LONG,), stale("- of the owner\n"), FIRST),
    "as it was read": Case((MIRA, TEA), stale(), FIRST),
    "with a line of the owner": Case((MIRA, TEA), stale("- of the owner\n"), FIRST),
    "with a line changed": Case(
        (MIRA, TEA), lambda first, now, steps: first.replace("followed", "came next"), FIRST
    ),
    "with a line taken out": Case(
        (MIRA,), lambda first, now, steps: first.replace("- and what followed\n", ""), FIRST
    ),
    "an older version of six": Case(
        ("one", "two", "three", "four", "five", "six"), lambda first, now, steps: steps[2]
    ),
    "with CRLF": Case((MIRA,), lambda first, now, steps: first.replace("\n", "\r\n") + "- x\r\n", FIRST),
    "without a last newline": Case((MIRA,), lambda first, now, steps: first.rstrip("\n"), FIRST),
    "emptied": Case((MIRA, TEA), lambda first, now, steps: "", FIRST),
    "one line deleted": Case(
        (MIRA, TEA), lambda first, now, steps: "".join(
            line for line in now.splitlines(keepends=True) if "Mira" not in line
        ), FIRST,
    ),
    "the middle one of three": Case(
        ("one", "two", "three"), lambda first, now, steps: now.replace("- 12:00 two\n", ""), FIRST
    ),
    "in Chinese": Case(("水表在地下室。",), stale("- 主人写的一行。\n"), FIRST),
    "a line that stands twice": Case(("Tea.", "Tea."), stale(), FIRST),
    "further lines of an entry": Case(("first\nsecond\nthird",), stale("- x\n"), FIRST),
}  # fmt: skip


def in_place(note: Path, text: str) -> None:
    note.write_bytes(text.encode())


def by_rename(note: Path, text: str) -> None:
    """Save as vim and `sed -i` do."""
    beside = note.with_suffix(".swp")
    beside.write_bytes(text.encode())
    os.replace(beside, note)


def in_pieces(note: Path, text: str) -> None:
    with open(note, "wb") as file:
        for place in range(0, len(text), 7):
            file.write(text[place : place + 7].encode())
            file.flush()


def names(owner: Owner) -> list[str]:
    """What `restore` lists."""
    done = owner.run("restore")
    return [line.partition(":")[0] for line in done.out.splitlines() if line[:1].isdigit()]


def lines_of(text: str) -> Iterator[str]:
    yield from filter(None, map(str.strip, text.splitlines()))


def test_what_a_save_overwrote_is_said_once_and_restored(owner: Owner) -> None:
    memory = owner.memory()
    saves = (in_place, by_rename, in_pieces)
    lost: dict[str, tuple[str, str, str]] = {}
    for number, (name, case) in enumerate(CASES.items()):
        day = NOW + timedelta(days=number)
        note = owner.folder / f"memory/{day:%Y-%m-%d}.md"
        if case.first:
            owner.note(f"memory/{note.name}", case.first)
        steps = []
        for entry in case.entries:
            memory.remember(entry, now=day, heading=case.heading or None)
            steps.append(note.read_text())
        theirs = case.save(case.first, steps[-1], steps)
        saves[number % len(saves)](note, theirs)
        os.utime(note, (0, 0))  # long ago, so that nobody seems to be writing it
        lost[name] = (f"memory/{note.name}", steps[-1], theirs)
        if number % 5 == 4:  # before the oldest record goes
            said = memory.sync().warnings
            assert len(said) == 5, said
    said = memory.sync().warnings
    assert len(said) == len(CASES) % 5
    assert memory.sync().warnings == ()
    owner.ok("restore", *names(owner))
    assert names(owner) == []
    for name, (path, ours, theirs) in lost.items():
        first = CASES[name].first
        text = [line.strip() for line in owner.read(path).splitlines()]
        for line in lines_of(theirs):
            assert line in text, (name, line)
        for line in lines_of(ours):
            if line not in lines_of(first):
                most = max(list(lines_of(side)).count(line) for side in (ours, theirs))
                assert text.count(line) == most or "```" in line, (name, line, text)
        if name == "with CRLF":
            assert owner.read(path).count("\r\n") == owner.read(path).count("\n")


def test_what_the_owner_changed_of_their_own_stays_changed_after_a_restore(owner: Owner) -> None:
    memory = owner.memory()
    note = owner.note("memory/2026-02-01.md", FIRST)
    memory.remember(MIRA, now=NOW)
    note.write_text("# A day\n\n- what stands there now\n- new\n")
    assert len(memory.sync().warnings) == 1
    owner.ok("restore", *names(owner))
    assert owner.read("memory/2026-02-01.md") == (
        f"# A day\n\n- what stands there now\n- new\n- 12:00 {MIRA}\n"
    )


def test_restore_agrees_with_git(owner: Owner, tmp_path: Path) -> None:
    memory = owner.memory()
    base = "# A day\n\n## Morning\n\n- tea\n- bread\n\n## Evening\n\n- soup\n- rain\n"
    merged: dict[Path, str] = {}
    (tmp_path / "base").write_text(base)
    for number, (old, new) in enumerate([
        ("- tea\n", "- tea with milk\n"), ("# A day\n", "# A fine day\n"), ("- bread\n", ""),
        ("- tea\n", "- tea\n- jam\n"), ("## Morning\n", "## At dawn\n"), ("\n- soup", "\n\n- figs\n- soup"),
    ]):  # fmt: skip
        note = owner.note(f"memory/{NOW + timedelta(days=number):%Y-%m-%d}.md", base)
        memory.remember("the lamp is lit", heading="Evening", now=NOW + timedelta(days=number))
        (tmp_path / "ours").write_text(note.read_text())
        note.write_text(base.replace(old, new))
        judge = ["git", "merge-file", "-p", note, tmp_path / "base", tmp_path / "ours"]
        merged[note] = subprocess.run(judge, capture_output=True, text=True, check=True).stdout
    assert len(memory.sync().warnings) == len(merged)
    owner.ok("restore", *names(owner))
    for note, text in merged.items():
        assert note.read_text() == text


def test_nothing_is_said_where_nothing_of_ours_is_gone(owner: Owner) -> None:
    memory = owner.memory()
    note = owner.note("memory/2026-02-01.md", FIRST)
    memory.remember(MIRA, now=NOW)
    for change in (
        lambda text: text + "- appended\n",
        lambda text: text.replace("stood there first", "stood here first"),
        lambda text: text.replace("- and what followed\n", ""),
        lambda text: text.replace("- appended\n", "") + "- another\n",
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("- 12:00", "  - 12:00"),
    ):
        note.write_bytes(change(note.read_bytes().decode()).encode())
        assert memory.sync().warnings == ()
        assert memory.remember("more", now=NOW).warnings == ()
    assert names(owner) == []


def test_what_was_seen_by_one_program_is_not_lost_to_another(owner: Owner) -> None:
    memory = owner.memory()
    note = owner.note("memory/2026-02-01.md", FIRST)
    memory.remember(MIRA, now=NOW)
    note.write_text(note.read_text() + "- saved with the line\n")
    assert memory.sync().warnings == ()
    memory.remember(TEA, now=NOW)
    note.write_text(FIRST + "- of an old buffer\n")
    (said,) = memory.sync().warnings
    assert "2 lines" in said
    owner.ok("restore", *names(owner))
    text = owner.read("memory/2026-02-01.md")
    assert all(one in text for one in (MIRA, TEA, "saved with the line", "of an old buffer"))


def test_two_old_buffers_one_after_the_other_and_two_writers(owner: Owner) -> None:
    memory = owner.memory()
    day = f"memory/{datetime.now():%Y-%m-%d}.md"
    note = owner.note(day, FIRST)
    memory.remember(MIRA)
    note.write_text(FIRST + "- of one\n")
    said = list(memory.remember(TEA).warnings)
    owner.ok("remember", "The lamp is lit.")
    note.write_text(FIRST + "- of the other\n")
    done = owner.run("status")
    assert done.code == 0
    assert f"another program saved {day} without" in done.err
    assert owner.run("status").err.count("another program saved") == 0
    assert len(said) == 1
    owner.ok("restore", *names(owner))
    text = owner.read(day)
    assert all(one in text for one in (MIRA, TEA, "The lamp is lit.", "- of one", "- of the other"))


def test_a_correction_that_an_old_buffer_takes_back_is_said_and_restored(owner: Owner) -> None:
    memory = owner.memory()
    note = owner.note("MEMORY.md", "# Memory\n\n- The gate is red.\n- White tea after lunch.\n")
    buffer = note.read_text()
    memory.correct("The gate is red.", "The gate is blue.")
    note.write_text(buffer.replace("White", "Green"))
    (said,) = memory.sync().warnings
    assert "without 2 lines" in said
    assert "a line again that was corrected or forgotten" in said
    assert memory.sync().warnings == ()
    owner.ok("restore", *names(owner))
    text = owner.read("MEMORY.md")
    assert "- ~~The gate is red.~~" in text
    assert "- The gate is blue." in text
    assert "\n- The gate is red." not in text
    assert "Green tea" in text
    assert "White" not in text


def test_a_forgotten_line_that_an_old_buffer_brings_back_is_said_and_goes(owner: Owner) -> None:
    memory = owner.memory()
    note = owner.note("memory/2026-02-01.md", FIRST)
    memory.remember("Quuxley lives at the harbour.", now=NOW)
    memory.remember(TEA, now=NOW)
    buffer = note.read_text()
    owner.ok("forget", "--person", "Quuxley", "--yes")
    assert "Quuxley" not in everything(owner)
    note.write_text(buffer + "- of the owner\n")
    memory = owner.memory()
    (said,) = memory.sync().warnings
    assert "a line again that was corrected or forgotten" in said
    assert "Quuxley" not in said
    owner.ok("restore", *names(owner))
    text = owner.read("memory/2026-02-01.md")
    assert "Quuxley" not in text
    assert "- of the owner" in text
    assert TEA in text


def test_what_is_forgotten_goes_from_every_version_that_is_kept(owner: Owner) -> None:
    memory = owner.memory()
    note = owner.note("memory/2026-02-01.md", FIRST)
    for number in range(12):
        memory.remember(f"Quuxley was here for the {number}th time, said Bo.", now=NOW)
        memory.remember(f"rain {number}", now=NOW)
    note.write_text(FIRST + "- Quuxley again\n")
    assert len(memory.sync().warnings) == 1
    memory.remember("last", now=NOW)
    memory.close()
    assert "Quuxley" in everything(owner)
    done = owner.ok("forget", "--person", "Quuxley", "--yes")
    assert "Quuxley" not in everything(owner), done
    owner.ok("restore", *names(owner))
    text = owner.read("memory/2026-02-01.md")
    assert all(f"rain {number}\n" in text for number in range(12))
    assert "Quuxley" not in text


def everything(owner: Owner) -> str:
    """All that the files of a memory say, compressed ones and its history too, but for other databases."""
    texts = []
    for path in (*owner.folder.rglob("*"), *owner.place("state").rglob("*")):
        if path.is_file() and ".sqlite" not in path.name:
            data = path.read_bytes()
            with suppress(zlib.error):
                data = zlib.decompress(data)
            texts.append(f"{path} {data.decode('utf-8', 'replace')}")
    with closing(sqlite3.connect(owner.place("state") / "state.sqlite")) as connection:
        for (data,) in connection.execute(
            "SELECT bytes FROM blob UNION ALL SELECT data FROM change UNION ALL SELECT bytes FROM note"
            " UNION ALL SELECT bytes FROM overwritten UNION ALL SELECT data FROM overwritten"
        ):
            with suppress(zlib.error, TypeError):
                data = zlib.decompress(data)
            texts.append(data if isinstance(data, str) else data.decode("utf-8", "replace"))
    return "\n".join(texts)


def test_a_formatter_that_rewrites_every_bullet_holds_nobody_up(owner: Owner) -> None:
    memory = owner.memory()
    text = "\n".join(f"statement {n} about the harbour of {n % 7}" for n in range(1_500))
    memory.remember("first", now=NOW)
    for start in range(0, 1_500, 300):
        memory.remember("\n".join(text.splitlines()[start : start + 300]), now=NOW)
    note = owner.folder / "memory/2026-02-01.md"
    note.write_text(note.read_text().replace("statement", "* statement"))
    assert len(memory.remember("after the formatter", now=NOW).warnings) == 1
    owner.ok("restore", *names(owner))
    restored = owner.read("memory/2026-02-01.md")
    assert restored.count("* statement") == 1_500
    assert restored.count("statement") == 3_000


def test_a_copy_is_discarded(owner: Owner) -> None:
    memory: Memory = owner.memory()
    note = owner.note("memory/2026-02-01.md", FIRST)
    memory.remember(MIRA, now=NOW)
    note.write_text(FIRST)
    memory.sync()
    owner.ok("restore", "--discard")
    assert owner.run("restore").code == 3


def git(owner: Owner, *arguments: str) -> None:
    named = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *named, *arguments], cwd=owner.folder, check=True, capture_output=True)


def stashed(owner: Owner, note: Path) -> None:
    git(owner, "init", "-q")
    git(owner, "add", "MEMORY.md")
    git(owner, "commit", "-qm", "first")
    git(owner, "stash", "-qu")


def renamed_stale(owner: Owner, note: Path) -> None:
    kept = note.read_text().replace(MIRA, "of the owner")
    (owner.folder / "memory/harbour.md").write_text(kept)
    note.unlink()


VANISHING: dict[str, Callable[[Owner, Path], object]] = {
    "rm": lambda owner, note: note.unlink(),
    "moved out": lambda owner, note: note.rename(owner.folder.parent / "gone.md"),
    "hidden": lambda owner, note: note.rename(note.with_name(".trash.md")),
    "folder": lambda owner, note: shutil.rmtree(note.parent),
    "git stash -u": stashed,
    "renamed and stale": renamed_stale,
}


@pytest.mark.parametrize("how", VANISHING)
@pytest.mark.parametrize("by", ["write", "sync", "status"])
def test_a_note_that_vanished_is_said_once_and_restored(owner: Owner, how: str, by: str) -> None:
    memory = owner.memory()
    day = f"memory/{datetime.now():%Y-%m-%d}.md"
    for entry in (MIRA, TEA):
        memory.remember(entry)
    VANISHING[how](owner, owner.folder / day)
    done = {
        "write": lambda: owner.run("remember", "The lamp is lit."),
        "sync": lambda: owner.run("sync"),
        "status": lambda: owner.run("status"),
    }[by]()
    assert done.code == 0
    assert f"{day} is gone" in done.err
    assert MIRA in done.err or "lines" in done.err
    assert "is gone" not in owner.run("sync").err
    assert "lines put back" in owner.ok("restore", day) or how == "renamed and stale"
    text = owner.read(day)
    assert text.count(MIRA) == 1
    assert text.count(TEA) == (how != "renamed and stale")
    assert ("The lamp is lit." in text) == (by == "write")
    assert text.count("# 2") <= 1
    assert names(owner) == []


def test_a_memory_that_vanished_whole_and_came_back(owner: Owner) -> None:
    owner.ok("remember", "--long-term", MIRA)
    note = owner.folder / "MEMORY.md"
    before = note.read_bytes()
    note.unlink()
    assert "MEMORY.md is gone, and" in owner.run("sync").err
    note.write_bytes(before)
    os.utime(note, (0, 0))
    assert owner.run("sync").err.count("MEMORY.md") == 0
    note.write_text("# Memory\n")  # its lines are still ours
    os.utime(note, (0, 0))
    assert "without" in owner.run("sync").err


RENAMING: dict[str, Callable[[Owner, str], object]] = {
    "renamed": lambda owner, day: (owner.folder / day).rename(owner.folder / "memory/harbour.md"),
    "moved to a folder": lambda owner, day: os.renames(owner.folder / day, owner.folder / "memory/old/a.md"),
    "joined": lambda owner, day: (
        (owner.folder / "memory/all.md").write_text("# All\n\n" + owner.read(day)),
        (owner.folder / day).unlink(),
    ),
    "forgotten": lambda owner, day: owner.ok("forget", day, "--yes"),
    "undone": lambda owner, day: [owner.ok("undo", "--yes") for _ in range(2)],
    "only lines of the owner": lambda owner, day: (
        owner.ok("undo", "--yes"),
        owner.ok("undo", "--yes"),
        (owner.folder / day).unlink(missing_ok=True),
    ),
}


@pytest.mark.parametrize("how", RENAMING)
def test_a_note_that_moved_or_that_we_deleted_is_no_loss(owner: Owner, how: str) -> None:
    day = f"memory/{datetime.now():%Y-%m-%d}.md"
    for entry in (MIRA, TEA):
        owner.ok("remember", entry)
    RENAMING[how](owner, day)
    for command in (("sync",), ("remember", "The lamp is lit."), ("status",)):
        assert "gone" not in owner.run(*command).err
    assert names(owner) == []


REWRITTEN: dict[str, Callable[[str], bytes]] = {
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16 big-endian": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "stars": lambda text: text.replace("\n- ", "\n* ").encode(),
    "plus": lambda text: text.replace("\n- ", "\n+   ").encode(),
    "numbers": lambda text: text.replace("\n- ", "\n1. ").encode(),
    "wrapped": lambda text: text.replace(" of the", "\n  of the").encode(),
    "stars and wrapped": lambda text: text.replace("\n- ", "\n* ").replace(" of the", "\n  of the").encode(),
    "blank lines between": lambda text: text.replace("\n- ", "\n\n*  ").encode(),
}
HARBOUR = "The keys of the harbour of the town hang\nbehind the door of the boat house."


@pytest.mark.parametrize("how", REWRITTEN)
def test_text_that_is_written_in_another_way_is_no_loss(owner: Owner, how: str) -> None:
    memory = owner.memory()
    note = owner.folder / "memory/2026-02-01.md"
    for entry in (MIRA, HARBOUR, TEA):
        memory.remember(entry, now=NOW)
    rewritten = REWRITTEN[how](note.read_text())
    note.write_bytes(rewritten)
    os.utime(note, (0, 0))
    assert memory.sync().warnings == ()
    assert memory.remember("more", now=NOW).warnings == ()
    assert names(owner) == []
    note.write_bytes(REWRITTEN[how](Path(note).read_bytes().decode("utf-16" if "16" in how else "utf-8-sig")
        .replace("- 12:00 Bo drinks green tea.\n", "").replace("* 12:00 Bo drinks green tea.\n", "")
        .replace("+   12:00 Bo drinks green tea.\n", "").replace("1. 12:00 Bo drinks green tea.\n", "")
        .replace("*  12:00 Bo drinks green tea.\n", "")))  # fmt: skip
    os.utime(note, (0, 0))
    (said,) = memory.sync().warnings
    assert "without a line" in said
    assert TEA in said
    owner.ok("restore", "memory/2026-02-01.md")
    data = note.read_bytes()
    text = " ".join(data.decode("utf-16" if "16" in how else "utf-8-sig").split())
    for entry in (MIRA, "The keys of the", "behind the door", TEA, "more"):
        assert text.count(entry) == 1, text
