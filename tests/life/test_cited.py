"""What an answer cites can be read, by every door."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.life.conftest import Owner

CODE = '"""The boat."""\n\n\ndef kite(oil: int) -> int:\n    """Fill the kite engine."""\n    return oil\n'
TALK = '{"role": "user", "content": "What of the kite?"}\n{"role": "assistant", "content": "It is blue."}\n'
NOTE = "# Boat\n\nThe kite engine takes oil.\n"

# The folder of a collection, its name, its globs, the format of its transcripts, the file in it, its text.
KINDS = {
    "code in the workspace": ("src", "src", "**/*.py", "", "boat.py", CODE),
    "code further down": ("src", "src", "**/*.py", "", "deep/boat.py", CODE),
    "code under another name": ("src/app", "app", "**/*.py", "", "boat.py", CODE),
    "code below a folder of that name": ("src/src", "src", "**/*.py", "", "boat.py", CODE),
    "text in the workspace": ("papers", "papers", "**/*.txt", "", "boat.txt", NOTE),
    "notes in the workspace": ("docs", "docs", "**/*.md", "", "boat.md", NOTE),
    "one file of the workspace": ("docs", "docs", "boat.md", "", "boat.md", NOTE),
    "transcripts in the workspace": ("logs", "logs", "**/*.jsonl", "auto", "boat.jsonl", TALK),
    "transcripts of a folder in a folder": ("logs/2026", "logs", "**/*.jsonl", "auto", "boat.jsonl", TALK),
    "an export in the workspace": ("talks", "talks", "**/*.json", "openai", "boat.json", f"[{TALK.strip()}]"),
    "code outside": ("../out", "out", "**/*.py", "", "boat.py", CODE),
    "a name with a blank": ("my code", "my-code", "**/*.py", "", "my boat.py", CODE),
    "a name in Chinese": ("kuaidi", "kuaidi", "**/*.md", "", "船 笔记.md", NOTE),
    "a folder of memory": ("memory/talks", "talks", "**/*.jsonl", "auto", "boat.jsonl", TALK),
    "beside a note of the same name": ("src", "src", "**/*.py", "", "memory/boat.py", CODE),
    "a hidden folder outside": ("../.agents", "agents", "**/*.jsonl", "auto", "boat.jsonl", TALK),
}


def settle(owner: Owner, kind: str) -> str:
    """Put a collection of a kind in place; return the path that its file is cited by."""
    folder, name, glob, form, file, text = KINDS[kind]
    text = text if not text.startswith("[") else json.dumps([json.loads(one) for one in TALK.splitlines()])
    owner.note(f"{folder}/{file}", text)
    where = Path(owner.folder / folder) / (file if form == "openai" else "")
    if form:
        owner.ok("sessions", "follow", where, "--name", name, "--format", form)
    else:
        owner.ok("collection", "add", where, "--name", name, "--glob", glob)
    return f"{name}/{file}"


@pytest.mark.parametrize("kind", KINDS)
def test_a_hit_of_a_collection_can_be_read(owner: Owner, kind: str) -> None:
    path = settle(owner, kind)
    memory = owner.memory()
    memory.sync()
    hits = [hit for hit in memory.search("kite").hits if hit.path == path]
    assert hits, memory.search("kite")
    found = memory.get(hits[0].citation)
    assert "kite" in "\n".join(found.lines).lower()
    assert found.path == path
    many = memory.get_many([hits[0].citation, f"{path.rpartition('/')[0]}/*"])
    assert (len(many.excerpts), many.left_out) == (2, ())
    assert memory.get(f"#{hits[0].docid}").path == path


def test_every_door_reads_what_it_cites(owner: Owner) -> None:
    paths = [settle(owner, "code in the workspace"), settle(owner, "transcripts in the workspace")]
    owner.ok("sync")
    mcp, http = owner.mcp(), owner.serve()
    for path in paths:
        assert "kite" in owner.ok("get", f"{path}:1-4").lower()
        assert "kite" in owner.ok("multi-get", path).lower()
        assert "kite" in mcp.call("memory_get", path=f"{path}:1-4").lower()
        listed = mcp.request("resources/list", {})["result"]["resources"]
        scheme = listed[0]["uri"].partition("://")[0]
        (content,) = mcp.request("resources/read", {"uri": f"{scheme}://{path}"})["result"]["contents"]
        assert "kite" in content["text"].lower()
        assert "kite" in json.dumps(http.get(f"/api/note?reference={path}")).lower()
