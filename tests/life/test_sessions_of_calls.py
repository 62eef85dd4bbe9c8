"""What an agent writes notes its session, and a search names what a hook just gave instead of repeating it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import count

import pytest

from tests.life.conftest import Mcp, Owner, until

FERRY = "The Halvorsen ferry leaves Oslo at 17:45 from the east pier."
NOTE = f"# Trips\n\n## Oslo\n\n{FERRY}\n\n## Bergen\n\nThe Halvorsen ferry to Bergen was sold in spring.\n"
ASKED = "When does the Halvorsen ferry leave Oslo?"


@pytest.fixture
def trips(owner: Owner) -> Owner:
    owner.note("memory/trips.md", NOTE)
    owner.ok("sync")
    return owner


def write(client: Mcp, text: str, **meta: object) -> None:
    params = {"name": "memory_write", "arguments": {"text": text}, **({"_meta": meta} if meta else {})}
    assert not client.request("tools/call", params)["result"]["isError"]


def line(owner: Owner, words: str) -> str:
    notes = "\n".join(path.read_text("utf-8") for path in (owner.folder / "memory").glob("*.md"))
    return next(found for found in notes.splitlines() if words in found)


def test_an_entry_notes_the_session_that_the_client_names(trips: Owner) -> None:
    client = trips.mcp("--agent", "codex")
    for name in ("threadId", "sessionId", "session_id"):
        write(client, f"The {name} boat is blue.", **{name: f"thread-{name}"})
        assert f"session: thread-{name}" in line(trips, f"The {name} boat")
    for number, wrong in enumerate(({"threadId": 7}, {"threadId": "x" * 5000}, {"threadId": "a\nb"}, {})):
        write(client, f"Boat {number} has no thread.", **wrong)
        assert "session:" not in line(trips, f"Boat {number} has")


def test_an_entry_notes_the_only_session_of_the_agent_that_hooks_heard_of(trips: Owner) -> None:
    client, other = trips.mcp("--agent", "claude-code"), trips.mcp("--agent", "cursor")
    write(client, "Before any hook there is none.")
    assert "session:" not in line(trips, "Before any hook")
    trips.hook("UserPromptSubmit", session_id="s1", prompt="thanks!")  # to which nothing is recalled
    write(client, "The harbour is closed in June.")
    assert "session: s1" in line(trips, "harbour is closed")
    write(other, "Another agent is not this session.")
    assert "session:" not in line(trips, "Another agent is")
    trips.hook("PreCompact", session_id="s1", trigger="auto")
    write(client, "The quay is closed in July.")
    assert "session: s1" in line(trips, "quay is closed")
    trips.hook("SessionStart", session_id="s2", source="startup")  # a second window: no one can tell
    write(client, "The crane is closed in August.")
    assert "session:" not in line(trips, "crane is closed")
    trips.hook("SessionEnd", session_id="s1", reason="other")
    docks = count()

    def is_noted() -> bool:  # the end of a session is handed over, and nobody waits for it
        write(client, text := f"Dock {next(docks)} is closed in May.")
        return "session: s2" in line(trips, text)

    until(is_noted)
    with closing(sqlite3.connect(trips.place("state") / "state.sqlite")) as state:
        state.execute("UPDATE value SET at = at - 86400")  # as of a session that was killed yesterday
        state.commit()
    write(client, "The lock is closed in April.")
    assert "session:" not in line(trips, "lock is closed")


def test_a_search_names_what_the_hook_just_gave(trips: Owner) -> None:
    client = trips.mcp("--agent", "claude-code")
    assert FERRY in client.call("memory_search", query=ASKED)
    assert FERRY in trips.hook("UserPromptSubmit", session_id="s1", prompt=ASKED)
    found = client.call("memory_search", query=ASKED)
    assert FERRY not in found
    assert "given before: memory/trips.md#L" in found
    assert "Nothing in memory" not in found
    assert "sold in spring" in client.call("memory_search", query="Who sold the Halvorsen ferry to Bergen?")
    assert FERRY in client.call("memory_get", path="memory/trips.md")
    assert FERRY in trips.mcp("--agent", "cursor").call("memory_search", query=ASKED)
    trips.hook("PreCompact", session_id="s1", trigger="auto")  # the conversation may have lost it
    until(lambda: FERRY in client.call("memory_search", query=ASKED))


def test_a_subagent_of_codex_writes_for_its_parent_and_searches_for_itself(trips: Owner) -> None:
    client = trips.mcp("--agent", "codex")
    meta = {"threadId": "thread-of-subagent", "sessionId": "s1"}
    write(client, "The pilot boat is green.", **meta)
    assert "session: s1;" in line(trips, "pilot boat")
    assert FERRY in trips.hook("UserPromptSubmit", session_id="s1", prompt=ASKED, agent="codex")
    search = {"name": "memory_search", "arguments": {"query": ASKED}}
    for thread, is_whole in (("thread-of-subagent", True), ("s1", False)):
        named = {"_meta": {"threadId": thread, "sessionId": "s1"}}
        (part,) = client.request("tools/call", search | named)["result"]["content"]
        assert (FERRY in part["text"]) is is_whole
