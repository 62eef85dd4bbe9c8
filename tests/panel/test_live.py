"""The live feed: what agents write and recall is seen, whoever writes it, newest first, bounded."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from commonplace.memory import Memory
from commonplace.panel import events
from commonplace.panel.events import Events
from commonplace.types import Provenance
from commonplace.types.changes import Selection
from tests.panel.conftest import NOW, Person, Play


def test_what_others_write_and_recall_is_seen(play: Play, workspace: Path) -> None:
    async def scene(person: Person) -> None:
        await person.press("escape", "4")
        await person.sees("Moved the queue to PostgreSQL.")
        assert "scout" in person.screen
        await person.until(lambda: person.panel.pane._is_begun)  # type: ignore[attr-defined]
        with Memory.open(workspace, overrides={"embedding.provider": "none"}, agent="kestrel") as other:
            other.recall("which tea after lunch")
            await person.sees("recalled")
            newest = str(person.rows("events").rows[0].shown)
            assert "kestrel" in newest
            assert "“which tea after lunch”" in newest
            other.remember("The kettle is new.")
        await person.sees("The kettle is new.")

    play(scene)


def test_events_tell_who_what_and_where(memory: Memory, workspace: Path) -> None:
    found = Events(memory)
    found.begin()
    before = len(found.newest())
    written = memory.remember("Tea is out.", now=NOW, provenance=Provenance("agent", "scout", "s2"))
    found.look([str(workspace / written.path)], NOW)
    memory.correct(
        "Lin signs it off.", "Mira signs it off.", provenance=Provenance("agent", "scout"), now=NOW
    )
    assert found.look()
    assert not found.look()
    newest = found.newest()
    assert len(newest) == before + 2
    assert {(one.who, one.what) for one in newest} >= {("scout", "wrote"), ("scout", "correct")}
    entry = next(one for one in newest if one.said == "Tea is out.")
    assert entry.place is not None
    assert (entry.place.path, entry.place.first) == (written.path, written.start_line)
    (workspace / written.path).unlink()
    found.look([str(workspace / written.path), str(workspace / "x.txt"), "/etc/passwd.md"], NOW)
    assert "removed" in {one.what for one in found.newest()}


def test_no_event_holds_what_was_forgotten(memory: Memory) -> None:
    found = Events(memory)
    found.begin()
    assert any("Lin signs" in one.said for one in found.newest())
    memory.forget(Selection("person", "Lin"))
    assert found.look()
    assert "forget" in {one.what for one in found.newest()}
    assert not any("Lin" in one.said for one in found.newest())


def test_a_statement_that_moved_is_not_written_again(memory: Memory, workspace: Path) -> None:
    found = Events(memory)
    found.begin()
    note = workspace / "memory" / "2026-02-13.md"
    note.write_text(note.read_text("utf-8").replace("## Deploy", "A line.\n\n## Deploy"), "utf-8")
    found.look([str(note)], NOW)
    assert [one.said for one in found.newest() if one.at == NOW.timestamp()] == ["A line."]


def test_events_are_bounded(memory: Memory, workspace: Path) -> None:
    found = Events(memory)
    found.begin()
    for number in range(8):
        note = workspace / "memory" / f"2026-01-{number + 10}.md"
        note.write_text("".join(f"- Entry {number}.{line}.\n\n" for line in range(60)), "utf-8")
        found.look([str(note)], NOW + timedelta(seconds=number))
        note.write_text("".join(f"- Later {number}.{line}.\n\n" for line in range(60)), "utf-8")
        found.look([str(note)], NOW + timedelta(seconds=number))
    assert len(found.newest()) == events.MOST
    assert "Later 7" in found.newest()[0].said


def test_no_event_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "empty" / "memory").mkdir(parents=True)
    with Memory.open(tmp_path / "empty", overrides={"embedding.provider": "none"}) as memory:
        found = Events(memory)
        found.begin()
        assert not found.newest()
