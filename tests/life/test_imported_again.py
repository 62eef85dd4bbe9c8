"""A second import of a memory that has changed meanwhile: each entry for itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.life.conftest import Owner

AT = "2026-01-05T10:00:00+00:00"


def mem0(path: Path, facts: dict[str, str], **more: Any) -> None:
    """Write an export of mem0: facts by their ids."""
    listed = [{"id": key, "memory": text, "created_at": AT, "user_id": "lena"} for key, text in facts.items()]
    path.write_text(json.dumps({"results": [{**one, **more.get(one["id"], {})} for one in listed]}))


BEFORE = {"1": "The kite is blue.", "2": "The barge is red.", "3": "The punt is green."}
CHANGES: dict[str, tuple[dict[str, str], set[str], set[str]]] = {  # after, what stands, what is gone
    "one changed and one deleted": (
        {"1": "The kite is white.", "3": BEFORE["3"]}, {"kite is white", "punt"}, {"kite is blue", "barge"},
    ),
    "one added": ({**BEFORE, "4": "The raft is new."}, {"kite", "barge", "punt", "raft"}, set()),
    "all three": (
        {"1": "The kite is white.", "3": BEFORE["3"], "4": "The raft is new."},
        {"kite is white", "punt", "raft"}, {"kite is blue", "barge"},
    ),
    "in another order": (dict(reversed(BEFORE.items())), {"kite", "barge", "punt"}, set()),
    "one of several lines": ({**BEFORE, "2": "The barge:\n- red\n- long"}, {"barge:", "long"}, {"barge is red"}),
    "all changed": (
        {key: text.replace("is", "was") for key, text in BEFORE.items()}, {"kite was", "punt was"}, {"kite is"},
    ),
}  # fmt: skip
EDITS = ["nothing", "a line of their own", "another entry", "the title", "a blank line"]


@pytest.mark.parametrize("change", CHANGES)
def test_changes_and_deletions_of_the_source_arrive(owner: Owner, tmp_path: Path, change: str) -> None:
    after, stands, gone = CHANGES[change]
    for number, edit in enumerate(EDITS):
        person = owner if not number else Owner(tmp_path / f"notes{number}")
        source = tmp_path / f"mem0-{number}.json"
        mem0(source, BEFORE)
        person.ok("import", "mem0", source)
        note = "memory/2026-01-05-mem0.md"
        text = person.read(note)
        if edit == "a line of their own":
            person.note(note, text + "- The ferry is mine.\n")
        elif edit == "another entry":
            person.note(note, text.replace("punt is green", "punt is dark green"))
        elif edit == "the title":
            person.note(note, text.replace("# 2026-01-05", "# What mem0 said"))
        elif edit == "a blank line":
            person.note(note, text.replace("\n- ", "\n\n- "))
        kept = person.read(note).splitlines()
        mem0(source, after)
        person.ok("import", "mem0", source)
        text = person.read(note)
        if edit == "nothing":
            assert all(one in text for one in stands), text
            assert not any(one in text for one in gone), text
        else:  # a note that somebody edited keeps its lines, and gets what is new
            assert set(text.splitlines()) >= set(kept), (edit, text)
            assert all(after[key] in text for key in after.keys() - BEFORE.keys()), (edit, text)
        again = person.run("import", "mem0", source).err
        assert "nothing new" in again or (edit != "nothing" and "differ" in again)
        assert person.read(note) == text


def test_an_entry_that_somebody_edited_is_theirs(owner: Owner, tmp_path: Path) -> None:
    source, note = tmp_path / "mem0.json", "memory/2026-01-05-mem0.md"
    mem0(source, BEFORE)
    owner.ok("import", "mem0", source)
    owner.note(note, owner.read(note).replace("kite is blue", "kite is light blue"))
    mem0(source, {**BEFORE, "1": "The kite is white.", "2": "The barge is black."})
    said = owner.run("import", "mem0", source)
    text = owner.read(note)
    assert ("kite is light blue" in text, "kite is white" in text, "barge is black" in text) == (
        True,
        False,
        False,
    )
    assert "differ" in said.err
    assert "barge is red" in text


@pytest.mark.parametrize("state", [{"state": "deleted"}, {"deleted_at": AT}])
def test_what_is_marked_deleted_at_the_source_is_no_memory(
    owner: Owner, tmp_path: Path, state: dict[str, str]
) -> None:
    source, note = tmp_path / "mem0.json", "memory/2026-01-05-mem0.md"
    mem0(source, BEFORE, **{"2": state})
    owner.ok("import", "mem0", source)
    assert ("barge" in owner.read(note), "kite" in owner.read(note)) == (False, True)
    mem0(source, BEFORE, **{"1": state, "2": state, "3": state})
    owner.run("import", "mem0", source)


def test_another_export_takes_nothing_of_the_first_out(owner: Owner, tmp_path: Path) -> None:
    mem0(tmp_path / "lena.json", BEFORE)
    mem0(tmp_path / "jonas.json", {"9": "The raft is new."})
    for name in ("lena", "jonas", "lena"):
        owner.ok("import", "mem0", tmp_path / f"{name}.json")
    text = owner.read("memory/2026-01-05-mem0.md")
    assert all(word in text for word in ("kite", "barge", "punt", "raft"))


def test_a_source_that_is_damaged_takes_nothing_out(owner: Owner, tmp_path: Path) -> None:
    source = tmp_path / "mem0.json"
    mem0(source, BEFORE)
    owner.ok("import", "mem0", source)
    source.write_text(source.read_text()[:150])
    owner.run("import", "mem0", source)
    text = owner.read("memory/2026-01-05-mem0.md")
    assert all(word in text for word in ("kite", "barge", "punt"))


def claude(folder: Path, memory: str, *conversations: dict[str, Any]) -> Path:
    """Write an export of Claude: what it remembers, and conversations."""
    folder.mkdir(exist_ok=True)
    held = conversations or ({"name": "A", "created_at": AT, "chat_messages": []},)
    (folder / "conversations.json").write_text(json.dumps(held))
    (folder / "memories.json").write_text(json.dumps([{"conversations_memory": memory}]))
    return folder


def test_what_claude_remembers_is_brought_up_to_date_in_place(owner: Owner, tmp_path: Path) -> None:
    owner.ok("import", "chats", claude(tmp_path / "export", "Lena sails a kite.\n\nShe lives in Bern."))
    owner.ok("import", "chats", claude(tmp_path / "export", "Lena sails a barge.\n\nShe lives in Bern."))
    text = owner.read("memory/chats.md")
    assert ("kite" in text, text.count("barge"), text.count("Bern")) == (False, 1, 1)
    moved = claude(tmp_path / "newer", "Lena sails a punt.\n\nShe lives in Bern.")
    owner.ok("import", "chats", moved)
    text = owner.read("memory/chats.md")
    assert ("barge" in text, text.count("punt"), text.count("Bern")) == (False, 1, 1)


def said(text: str, day: str, **more: Any) -> dict[str, Any]:
    message = {"sender": "human", "text": text, "created_at": f"{day}T10:00:00Z", **more}
    return {"uuid": text, "name": "", "chat_messages": [message]}


def test_conversations_without_a_title_have_a_heading_and_a_day(owner: Owner, tmp_path: Path) -> None:
    export = claude(
        tmp_path / "export",
        "Lena sails.",
        said("Where is the kite?", "2026-01-05"),
        said("Where is the barge?", "2026-01-07"),
    )
    owner.ok("import", "chats", export)
    memory = owner.memory()
    for word, day in (("kite", "2026-01-05"), ("barge", "2026-01-07")):
        hit = memory.search(word).hits[0]
        assert day in " ".join(hit.headings), hit
        assert "kite" not in hit.text or "barge" not in hit.text


def test_what_was_attached_to_a_message_is_read(owner: Owner, tmp_path: Path) -> None:
    attached = [{"file_name": "boat.txt", "extracted_content": "The kite engine takes oil."}]
    export = claude(
        tmp_path / "export", "Lena sails.",
        said("See the file.", "2026-01-05", attachments=attached), said("", "2026-01-06", attachments=attached),
    )  # fmt: skip
    owner.ok("import", "chats", export)
    hits = owner.memory().search("kite engine oil").hits
    assert len(hits) == 2
    assert "boat.txt" in hits[0].text


def test_notes_of_a_folder_in_the_workspace_are_brought_in_or_are_there(owner: Owner) -> None:
    owner.note("old/MEMORY.md", "# Memory\n\n- The kite is blue.\n")
    owner.note("old/memory/2026-01-05.md", "# 2026-01-05\n\n- The barge is red.\n")
    done = owner.run("import", "openclaw", owner.folder / "old")
    assert done.code == 0, done
    memory = owner.memory()
    assert memory.search("kite blue").hits
    assert memory.search("barge red").hits
