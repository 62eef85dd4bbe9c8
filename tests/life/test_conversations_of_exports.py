"""Each conversation of an export is a session of its own: listed with title, day and turns, read alone."""

from __future__ import annotations

import json
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.life.conftest import Owner

DAY = "2025-03-01"


def chatgpt(title: str | None, *said: str, day: str = DAY) -> dict[str, Any]:
    """A conversation of ChatGPT's export; the user and the model take turns."""
    began = datetime.fromisoformat(f"{day}T10:00:00").timestamp() if day else None
    nodes: dict[str, Any] = {}
    for number, text in enumerate(said):
        message = {
            "author": {"role": "assistant" if number % 2 else "user"},
            "content": {"content_type": "text", "parts": [text]},
            "create_time": began + number if began else None,
        }
        nodes[f"n{number}"] = {"message": message, "parent": f"n{number - 1}" if number else None}
    last = f"n{len(said) - 1}" if said else None
    return {"title": title, "create_time": began, "mapping": nodes, "current_node": last}


def claude(title: str | None, *said: str, day: str = DAY) -> dict[str, Any]:
    """A conversation of Claude's export."""
    at = f"{day}T10:00:00" if day else None
    senders = ("human", "assistant")
    messages = [
        {"sender": senders[number % 2], "text": text, "created_at": at} for number, text in enumerate(said)
    ]
    return {"name": title, "created_at": at, "chat_messages": messages}


def follow(owner: Owner, folder: Path, files: dict[str, list[dict[str, Any]]]) -> None:
    folder.mkdir(exist_ok=True)
    for name, conversations in files.items():
        (folder / name).write_text(json.dumps(conversations), "utf-8")
    owner.ok("import", "chats", folder)


def listed(owner: Owner) -> dict[str, tuple[str, str, int]]:
    """The sessions: title, day and turns by the end of their ids."""
    sessions = json.loads(owner.ok("sessions", "list", "--format", "json"))
    return {one["id"].partition("/")[2]: (one["title"], one["day"], one["turns"]) for one in sessions}


@pytest.mark.parametrize("service", [chatgpt, claude])
def test_conversations_are_sessions_with_title_day_and_turns(
    owner: Owner, tmp_path: Path, service: Any
) -> None:
    conversations = [
        service("Boat varnish", "Which varnish?", "Epifanes, five coats."),
        service("# Plans [a](b)", "Plans?", "A regatta.", "When?", day="2025-03-02"),
        service("划船计划", "什么时候划船？", "星期六早上。", day="2025-03-03"),
        service(None, "Are kayaks light?", "Kayaks are light.", day=""),
        service("Nobody spoke", day="2025-03-04"),
        service("Boat varnish", "And the deck?", "Teak oil."),
        service("password: hunter2secret9", "Is it safe?", "No.", day="2025-03-05"),
        service("<private>Affair</private> Trip", "Where to?", "The lake.", day="2025-03-06"),
    ]
    follow(owner, tmp_path / "export", {"conversations.json": conversations})
    found = listed(owner)
    password = found.pop("conversations.json#6")
    assert found == {
        "conversations.json#1": ("Boat varnish", DAY, 2),
        "conversations.json#2": ("# Plans [a](b)", "2025-03-02", 3),
        "conversations.json#3": ("划船计划", "2025-03-03", 2),
        "conversations.json#4": ("Are kayaks light?", "", 2),
        "conversations.json#5": ("Boat varnish", DAY, 2),
        "conversations.json#7": ("Trip", "2025-03-06", 2),
    }
    assert "hunter2" not in password[0]
    notes = {note.path.partition("/")[2]: note for note in owner.memory().notes() if note.turns}
    assert {name: (one.title, one.date or "", one.turns) for name, one in notes.items()} == found | {
        "conversations.json#6": password
    }
    rows = [line for line in owner.ok("ls").splitlines() if "Boat varnish" in line]
    assert [(DAY in row, "2 turns" in row) for row in rows] == [(True, True)] * 2
    assert "hunter2" not in owner.ok("ls") + owner.ok("sessions", "list")
    assert "Affair" not in owner.ok("ls") + owner.ok("sessions", "list")


def test_one_conversation_is_read_alone(owner: Owner, tmp_path: Path) -> None:
    kites = [
        chatgpt(f"Kite {n}", f"What of kite{n}?", f"kite{n} is blue.", day=f"2025-03-0{n}") for n in "123"
    ]
    follow(owner, tmp_path / "export", {"conversations.json": kites})
    memory = owner.memory()
    path = next(note.path for note in memory.notes() if note.title == "Kite 2")
    for reference in (path, "conversations.json#2", f"[[{path}]]"):
        excerpt = memory.get(reference)
        assert [line.split("**")[-1].strip() for line in excerpt.lines if line.startswith("**")] == [
            "What of kite2?",
            "kite2 is blue.",
        ], reference
        again = memory.get(f"{excerpt.path}:{excerpt.start_line}:{len(excerpt.lines)}")
        assert again.lines == excerpt.lines
    shown = json.loads(owner.ok("sessions", "show", "conversations.json#2", "--format", "json"))
    assert [one["text"] for one in shown] == ["What of kite2?", "kite2 is blue."]
    whole = json.loads(owner.ok("sessions", "show", "conversations.json", "--format", "json"))
    assert [one["text"] for one in whole if one["role"] == "system"] == ["Kite 1", "Kite 2", "Kite 3"]
    for missing in ("conversations.json#4", "conversations.json#0", "conversations.json#" + "9" * 5000):
        assert owner.run("get", missing).code == 1, missing[:30]
        assert owner.run("sessions", "show", missing).code == 1, missing[:30]
    assert [note.title for note in memory.notes(path.partition("#")[0])] == ["Kite 1", "Kite 2", "Kite 3"]
    assert [note.title for note in memory.notes(path)] == ["Kite 2"]
    (read,) = memory.get_many(["*/conversations.json"]).excerpts  # the file, once
    assert "kite1" in read.lines[2]


def test_hits_have_title_and_day_of_their_conversation(owner: Owner, tmp_path: Path) -> None:
    kites = [
        chatgpt(f"Kite {n}", f"What of kite{n}?", f"kite{n} is blue.", day=f"2025-03-0{n}") for n in "123"
    ]
    follow(owner, tmp_path / "export", {"conversations.json": kites})
    memory = owner.memory()
    (hit, *_) = memory.search("kite3").hits
    assert (hit.headings, hit.date) == (("2025-03-03 Kite 3",), "2025-03-03")
    assert "\n".join(memory.get(hit.citation).lines) == hit.text
    (hit, *others) = memory.search("on:2025-03-02").hits
    assert (hit.headings, others) == (("2025-03-02 Kite 2",), [])
    assert "Kite 3" in owner.ok("search", "kite3")
    assert "Kite 3" in owner.mcp().call("memory_search", query="kite3")


@pytest.mark.parametrize("files", [1, 3, 52])
def test_files_of_an_export_hold_conversations_each(owner: Owner, tmp_path: Path, files: int) -> None:
    made = {
        f"conversations-{number:03}.json": [chatgpt(f"Kite {number}", "a?"), chatgpt("Barge", "b?")]
        for number in range(files)
    }
    follow(owner, tmp_path / "export", made)
    found = listed(owner)
    assert len(found) == 2 * files
    assert found[f"conversations-{files - 1:03}.json#1"] == (f"Kite {files - 1}", DAY, 1)


def test_an_archive_and_a_renamed_file(owner: Owner, tmp_path: Path) -> None:
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for number in (1, 2):
            told = json.dumps([chatgpt(f"Kite {number}", f"kite{number}?")])
            opened.writestr(f"conversations-{number}.json", told)
    owner.ok("sessions", "follow", archive, "--name", "old")
    assert {name: one[0] for name, one in listed(owner).items()} == {
        "export.zip#1": "Kite 1",
        "export.zip#2": "Kite 2",
    }
    owner.ok("sessions", "unfollow", "old")
    owner.ok("sessions", "follow", archive.rename(tmp_path / "a (3).zip"), "--name", "new")
    assert {name: one[0] for name, one in listed(owner).items()} == {
        "a (3).zip#1": "Kite 1",
        "a (3).zip#2": "Kite 2",
    }
    assert "kite2" in owner.ok("get", "new/a (3).zip#2")


def test_a_conversation_of_many_turns_and_one_that_grows(owner: Owner, tmp_path: Path) -> None:
    long = chatgpt("Long", *(f"message {number}" for number in range(2000)))
    follow(owner, tmp_path / "export", {"conversations.json": [chatgpt("Kite", "a?"), long]})
    assert listed(owner)["conversations.json#2"] == ("Long", DAY, 2000)
    follow(
        owner,
        tmp_path / "export",
        {"conversations.json": [chatgpt("Barge", "b?"), chatgpt("Kite", "a?"), long]},
    )
    found = listed(owner)
    assert [found[f"conversations.json#{n}"][0] for n in (1, 2, 3)] == ["Barge", "Kite", "Long"]
    shown = json.loads(
        owner.ok("sessions", "show", "conversations.json#3", "--last", "1", "--format", "json")
    )
    assert [one["text"] for one in shown] == ["message 1999"]


def test_transcripts_of_one_conversation_stay_files(owner: Owner, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "ann.jsonl").write_text('{"role": "user", "content": "What of the kite?"}\n')
    (folder / "list.json").write_text('[{"role": "user", "content": "What of the barge?"}]')
    owner.ok("sessions", "follow", folder / "ann.jsonl", "--name", "ann")
    owner.ok("sessions", "follow", folder / "list.json", "--name", "list")
    assert listed(owner) == {
        "ann.jsonl": ("What of the kite?", "", 1),
        "list.json": ("What of the barge?", "", 1),
    }
    with open(folder / "ann.jsonl", "a") as file:
        file.write('{"role": "assistant", "content": "It is blue."}\n')
    owner.ok("sync")
    assert listed(owner)["ann.jsonl"][2] == 2


def test_the_interface_for_programs_lists_and_reads_them(owner: Owner, tmp_path: Path) -> None:
    follow(
        owner, tmp_path / "export", {"conversations.json": [chatgpt("Kite", "a?"), chatgpt("Barge", "b?")]}
    )
    owner.ok("sync")
    http = owner.serve()
    sessions = {one["title"]: one for one in http.get("/api/sessions")}
    assert (sessions["Barge"]["day"], sessions["Barge"]["turns"]) == (DAY, 1)
    name = sessions["Barge"]["id"].replace("#", "%23")
    assert [one["text"] for one in http.get(f"/api/session?id={name}")] == ["b?"]
    notes = {one["title"]: one for one in http.get("/api/notes")["notes"]}
    assert notes["Kite"]["turns"] == 1
    reference = notes["Kite"]["path"].replace("#", "%23")
    assert "a?" in "\n".join(http.get(f"/api/note?reference={reference}")["lines"])


def test_what_is_to_be_forgotten_in_a_title_is_told(owner: Owner, tmp_path: Path) -> None:
    owner.note(
        "memory/2026-02-13.md", "# 2026-02-13\n\n- Quillfeather sails the kite.\n- The barge is red.\n"
    )
    follow(
        owner,
        tmp_path / "export",
        {"conversations.json": [chatgpt("Quillfeather", "a?"), chatgpt("Barge", "b?")]},
    )
    owner.ok("sync")
    done = owner.run("forget", "--text", "Quillfeather", "--yes")
    assert done.code == 0, done
    assert "Quillfeather" not in owner.read("memory/2026-02-13.md")
    assert "conversations.json" in done.out + done.err  # which is another program's, and not changed
    follow(
        owner, tmp_path / "export", {"conversations.json": [chatgpt("Kite", "a?"), chatgpt("Barge", "b?")]}
    )
    owner.ok("sync")
    assert [one[0] for _, one in sorted(listed(owner).items())] == ["Kite", "Barge"]
    assert "Quillfeather" not in owner.ok("ls")
