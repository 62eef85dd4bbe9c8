"""What is asked and read as JSON is what the command line prints as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from commonplace.base.messages import message
from commonplace.base.paths import Workspace
from commonplace.memory import Memory, draft
from commonplace.providers import costs
from commonplace.servers.access import Access
from commonplace.servers.methods import Service
from commonplace.types import Finding
from tests.cli.conftest import Run
from tests.cli.conftest import run as run
from tests.servers.api.conftest import TOKEN, Api
from tests.servers.conftest import Served


def test_a_search_answers_with_hits_and_what_made_their_scores(api: Api) -> None:
    found = api.get("/api/search", q="deploy", limit=1)
    (hit,) = found["hits"]
    assert hit["citation"] == "memory/2026-02-13.md#L5-L6"
    assert "Thursday" in hit["text"]
    assert sum(factor["value"] for factor in hit["factors"]) > 0
    assert found["level"] == 2
    assert api.get("/api/search", q="deploy", collections=["memory"])["hits"][0]["docid"] == hit["docid"]
    assert api.get("/api/search", q="zebra crossing", strict="true")["hits"] == []


def test_a_draft_asks_no_other_machine(workspace: Path) -> None:
    overrides = {"embedding.provider": "ollama", "embedding.model": "nomic-embed-text"}
    with Memory.open(workspace, overrides=overrides) as memory:
        assert draft(memory, "deploy").mode == "lexical"
        assert not memory.usage().questions


def test_one_thing_is_called_the_same_everywhere(api: Api, run: Run) -> None:
    printed = json.loads(run("search", "deploy", "--format", "json").output)
    hits = api.get("/api/search", q="deploy")["hits"]
    assert [{k: v for k, v in hit.items() if k != "factors"} for hit in hits] == printed
    for path, arguments in {
        "/api/recall?q=tea": ["recall", "tea"],
        "/api/note?reference=MEMORY.md": ["get", "MEMORY.md"],
        "/api/timeline?anchor=2026-02-13": ["timeline", "2026-02-13"],
        "/api/collections": ["collection", "list"],
    }.items():
        answered = api.raw("GET", path)[1]
        assert answered == json.loads(run(*arguments, "--format", "json").output), path


def test_notes_are_listed_and_read(api: Api) -> None:
    listed = api.get("/api/notes")
    assert [note["path"] for note in listed["notes"]] == [
        "MEMORY.md",
        "memory/2026-02-13.md",
        "memory/2026-02-14.md",
    ]
    assert api.get("/api/notes", under="memory/*.md", limit=1) == {
        **listed,
        "notes": listed["notes"][1:2],
        "total": 2,
    }
    docid = listed["notes"][0]["docid"]
    assert api.get("/api/note", reference=f"#{docid}")["path"] == "MEMORY.md"
    assert api.get("/api/note", reference="memory/2026-02-13.md#L5")["lines"] == [
        "- The deploy moved to Thursday."
    ]


def test_the_state_of_all_of_it_is_told(api: Api, workspace: Path) -> None:
    found = api.get("/api/search", q="deploy")
    drafted = api.get("/api/search", q="deploy", draft="true")
    assert drafted["hits"] == found["hits"]
    api.get("/api/note", reference="memory/2026-02-13.md")
    assert api.get("/api/status")["notes"] == 3
    done = api.get("/api/activities", limit=2)
    assert [one["kind"] for one in done] == ["get", "search"]
    assert "entries" not in done[0]
    usage = api.get("/api/usage", days=1)
    assert (usage["questions"], usage["opened"]) == (1, 1)
    (day,) = usage["days"]
    assert 0 < day["tokens"] < day["all_tokens"]
    assert api.get("/api/costs") == []
    with costs.Ledger.of(Workspace(workspace)).database.transaction():
        pass
    assert api.get("/api/costs", days=7, by="model") == []


def test_sessions_are_listed_and_read(api: Api, workspace: Path) -> None:
    folder = workspace / "sessions"
    folder.mkdir()
    turns = [
        {"role": "user", "content": "When is the deploy?"},
        {"role": "assistant", "content": "On Thursday."},
    ]
    (folder / "s1.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    (listed,) = api.get("/api/sessions")
    assert (listed["id"], listed["collection"]) == ("sessions/s1.jsonl", "memory")
    messages = api.get("/api/session", id="s1")
    assert [(one["line"], one["role"], one["text"]) for one in messages] == [
        (1, "user", "When is the deploy?"), (2, "assistant", "On Thursday."),
    ]  # fmt: skip
    assert [one["line"] for one in api.get("/api/session", id=listed["id"], last=1)] == [2]
    assert api.refused("GET", "/api/session", id="s2")[0] == 404


def test_health_is_what_an_examination_finds(service: Service, workspace: Path) -> None:
    asked = []

    def examine(online: bool) -> list[Finding]:
        asked.append(online)
        damaged = message("index.damaged", "the file is damaged: {what}", what=["page 3"])
        return [Finding("index.file", "wrong", damaged, "sync it"), Finding("a.b", "ok", "fine")]

    server = Served(service, Access(TOKEN), examine=examine)
    try:
        health = Api(server, workspace).get("/api/health", online="true")
    finally:
        server.end()
    assert (health["ok"], health["counts"]["wrong"], health["counts"]["ok"], asked) == (False, 1, 1, [True])
    damaged, fine = health["findings"]
    assert (damaged["told"], damaged["remedy"]) == ("the file is damaged: page 3", "sync it")
    assert damaged["said"] == {"told": {"code": "index.damaged", "values": {"what": ["page 3"]}}}
    assert "said" not in fine


def test_errors_and_warnings_have_codes_and_values_that_tell_nothing_around_the_workspace(api: Api) -> None:
    error = api.raw("GET", "/api/note", query={"reference": f"{api.root}/none.md"})[1]["error"]
    assert error["said"]["message"]["code"].startswith("place")
    assert error["said"]["message"]["values"]["reason"]["code"] == "note.missing"
    assert str(api.root) not in str(error)
    found = api.get("/api/search", q="-deploy")
    assert [one and one["code"] for one in found["said"]["warnings"]] == ["search.exclusions"]
