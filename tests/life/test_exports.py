"""Exports of chats where they lie: one file, one collection; one conversation, one session."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.life.conftest import Owner


def chatgpt(title: str, said: str, at: float = 1_714_000_000) -> dict[str, Any]:
    """A conversation of ChatGPT's export: a question and its answer."""

    def message(role: str, text: str, number: int) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [text]}
        return {"author": {"role": role}, "create_time": at + number, "content": content}

    mapping = {
        "a": {"id": "a", "parent": None, "message": message("user", f"What of the {said}?", 0)},
        "b": {"id": "b", "parent": "a", "message": message("assistant", f"The {said} is blue.", 1)},
    }
    return {"title": title, "create_time": at, "mapping": mapping, "current_node": "b"}


def claude(title: str, said: str, **more: Any) -> dict[str, Any]:
    """A conversation of Claude's export."""
    at = "2026-01-05T10:00:00Z"
    messages = [
        {"sender": "human", "text": f"What of the {said}?", "created_at": at},
        {"sender": "assistant", "text": f"The {said} is blue.", "created_at": at},
    ]
    return {"uuid": title, "name": title, "created_at": at, "chat_messages": messages, **more}


def export(folder: Path, files: dict[str, list[dict[str, Any]]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, conversations in files.items():
        (folder / name).write_text(json.dumps(conversations))
    return folder


NAMES = {
    "numbered from nought": [f"conversations-{n:03}.json" for n in range(52)],
    "with a low line": [f"conversations_{n}.json" for n in range(1, 4)],
    "the first without a number": ["conversations.json", "conversations-1.json", "conversations-2.json"],
    "copied by a browser": ["conversations.json", "conversations (1).json"],
    "one": ["conversations.json"],
    "one with a number": ["conversations-000.json"],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES.keys())
@pytest.mark.parametrize("service", [chatgpt, claude])
def test_an_unpacked_export_is_one_collection(
    owner: Owner, tmp_path: Path, names: list[str], service: Any
) -> None:
    words = [f"kite{number}" for number in range(len(names))]
    files = {name: [service(f"About {word}", word)] for name, word in zip(names, words, strict=True)}
    folder = export(tmp_path / "export", files)
    (folder / "user.json").write_text('{"id": "u"}')
    done = owner.run("import", "chats", folder)
    assert done.code == 0, done
    memory = owner.memory()
    memory.sync()
    beside = [one for one in memory.status().collections if one.name != "memory"]
    assert [(one.notes, one.weight) for one in beside] == [(len(names), "own")]
    for word in (words[0], words[-1]):
        assert any(word in hit.text for hit in memory.search(word).hits), word
    again = owner.run("import", "chats", folder)
    assert (again.code, "nothing new" in again.err) == (0, True), again


def test_conversations_that_come_later_belong_to_it(owner: Owner, tmp_path: Path) -> None:
    folder = export(tmp_path / "export", {f"conversations-{n}.json": [chatgpt("A", "kite")] for n in "01"})
    owner.ok("import", "chats", folder)
    export(folder, {"conversations-2.json": [chatgpt("B", "barge")]})
    assert owner.memory().search("barge").hits


def test_an_export_in_the_home_folder_makes_nothing_else_of_it_notes(owner: Owner, tmp_path: Path) -> None:
    home = tmp_path  # the folder that the export lies in, with the workspace and everything else
    export(home, {"conversations.json": [chatgpt("Boats", "kite")]})
    (home / "diary.md").write_text("The kite is a secret.\n")
    (home / "elsewhere").mkdir()
    owner.ok("import", "chats", home / "conversations.json")
    owner.ok("export", "--to", home / "elsewhere" / "all.json")
    memory = owner.memory()
    memory.sync()
    (chats,) = [one for one in memory.status().collections if one.name != "memory"]
    assert chats.root == str(home / "conversations.json")
    assert {hit.path for hit in memory.search("kite").hits} == {f"{chats.name}/conversations.json"}
    found = memory.get_many([f"{chats.name}/diary.md", str(home / "diary.md")])
    assert not found.excerpts
    assert "is blue" in "\n".join(memory.get(f"{chats.name}/conversations.json").lines)


@pytest.mark.parametrize("name", ["conversations.json", "export.zip", "log.jsonl", "page.md"])
def test_a_file_is_a_collection_of_one_file(owner: Owner, tmp_path: Path, name: str) -> None:
    file = tmp_path / "elsewhere" / name
    file.parent.mkdir()
    conversation = chatgpt("Boats", "kite")
    if name.endswith(".zip"):
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("conversations.json", json.dumps([conversation]))
    elif name.endswith(".md"):
        file.write_text("The kite is blue.\n")
    elif name.endswith(".jsonl"):
        file.write_text('{"role": "user", "content": "What of the kite?"}\n')
    else:
        file.write_text(json.dumps([conversation]))
    (file.parent / "other.md").write_text("The kite is red.\n")
    added = ("collection", "add", file) if name.endswith(".md") else ("sessions", "follow", file)
    owner.ok(*added)
    memory = owner.memory()
    memory.sync()
    (one,) = [one for one in memory.status().collections if one.name != "memory"]
    assert (one.root, one.notes) == (str(file), 1)
    (hit, *others) = memory.search("kite").hits
    assert (hit.path, others) == (f"{one.name}/{name}", [])
    assert "kite" in "\n".join(memory.get(hit.path).lines)
    file.rename(file.with_name("moved"))
    found = memory.search("kite")
    assert found.hits
    assert any(str(file) in line and "is missing" in line for line in found.warnings)
