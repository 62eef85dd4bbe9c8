"""What is corrected, confirmed, forgotten or undone over HTTP is what was shown, once, or nothing."""

from __future__ import annotations

from functools import partial

import pytest

from commonplace.edit.forget import journal, requests
from commonplace.servers.api import schema
from commonplace.types import Selection
from tests.copies import files_of
from tests.servers.api.conftest import Api

NOTE = "memory/2026-02-13.md"
OLD, NEW = "The deploy moved to Thursday.", "The deploy moved to Friday."


def test_a_correction_does_what_it_showed(api: Api) -> None:
    before = (api.root / NOTE).read_text()
    shown = api.post("/api/corrections/preview", old=OLD, new=NEW, why="Lin said so")
    assert (api.root / NOTE).read_text() == before
    assert shown["run"] == ""
    done = api.post("/api/corrections", preview=shown["preview"])
    assert done["diff"] == shown["diff"]
    assert f"~~{OLD}~~" in (api.root / NOTE).read_text()
    (run,) = api.get("/api/runs")
    assert (run["id"], run["about"]["why"]) == (done["run"], "Lin said so")
    assert NEW in api.get("/api/run", id=done["run"])["diff"]
    assert api.refused("POST", "/api/corrections", {"preview": shown["preview"]})[0] == 409


def test_a_code_carries_out_its_own_kind_alone(api: Api) -> None:
    shown = api.post("/api/corrections/preview", old=OLD, new=NEW)
    for path in ("/api/forget", "/api/undo", "/api/confirmations", "/api/consolidation/reject"):
        assert api.refused("POST", path, {"preview": shown["preview"]})[0] == 409
    assert OLD in (api.root / NOTE).read_text()
    assert "~~" not in (api.root / NOTE).read_text()


def test_what_changed_since_it_was_shown_is_refused(api: Api) -> None:
    shown = api.post("/api/corrections/preview", old=OLD, new=NEW)
    erased = api.post("/api/forget/preview", selections=[{"kind": "text", "value": "Lin signs it off."}])
    text = (api.root / NOTE).read_text()
    (api.root / NOTE).write_text(
        text.replace("## Deploy", f"## Deploy\n\n- {OLD}") + "- Lin signs it off. Yes.\n"
    )
    assert api.refused("POST", "/api/corrections", {"preview": shown["preview"]})[0] == 409
    status, message = api.refused("POST", "/api/forget", {"preview": erased["preview"]})
    assert status == 409, message
    assert "~~" not in (api.root / NOTE).read_text()


def test_what_was_seen_at_a_place_is_meant_wherever_it_stands_by_now(api: Api) -> None:
    seen, text = f"- {OLD}", (api.root / NOTE).read_text()
    asked = {"old": f"{NOTE}#L5", "seen": seen, "new": NEW}
    selected = [{"kind": "lines", "value": f"{NOTE}#L5", "seen": seen}]
    guess = {"statement": f"{NOTE}#L5", "seen": f"- {OLD} <!-- tentative -->"}

    def meant() -> list[str]:
        (struck,) = api.post("/api/corrections/preview", **asked)["struck"]
        places = api.post("/api/forget/preview", selections=selected)["places"]
        return [struck, *(one["citation"] for one in places if one["where"] == "notes")]

    assert meant() == [f"{NOTE}#L5"] * 2
    (api.root / NOTE).write_text(text.replace(seen, f"- Added.\n{seen}"))
    assert meant() == [f"{NOTE}#L6"] * 2
    for other in ("- Lin likes tea.", f"- Added.\n{seen}\n\n## Again\n\n{seen}"):  # gone; in two places
        (api.root / NOTE).write_text(text.replace(seen, other))
        for path, body in (
            ("/api/corrections/preview", asked),
            ("/api/forget/preview", {"selections": selected}),
            ("/api/confirmations/preview", guess),
        ):
            status, answer, _ = api.raw("POST", path, body)
            assert status == 404
            said = answer["error"]["said"]["message"]["values"]
            assert said["reason"]["code"] == "statement.changed"
    assert api.post("/api/corrections/preview", old=f"{NOTE}#L5", new=NEW)["struck"] == [f"{NOTE}#L5"]


def test_what_is_not_found_names_what_is_near(api: Api) -> None:
    status, answer, _ = api.raw(
        "POST", "/api/corrections/preview", {"old": "The deploy moved to Thurs", "new": "x"}
    )
    assert status == 404
    assert answer["error"]["near"][0]["citation"] == f"{NOTE}#L5"


def test_a_guess_is_confirmed_or_struck(api: Api) -> None:
    for text in ("Mira likes oolong.", "Mira likes coffee."):
        api.post("/api/entries", text=text, tentative=True)
    shown = api.post("/api/confirmations/preview", statement="Mira likes oolong.")
    assert api.post("/api/confirmations", preview=shown["preview"])["diff"] == shown["diff"]
    shown = api.post("/api/confirmations/preview", statement="Mira likes coffee.", reject=True)
    assert api.post("/api/confirmations", preview=shown["preview"])["rejected"] is True
    written = next((api.root / "memory").glob("20[!2]*.md"), None) or max((api.root / "memory").iterdir())
    assert "tentative" not in written.read_text().replace("~~", "").split("coffee")[0]


def test_forgetting_shows_every_place_and_leaves_nothing(api: Api) -> None:
    api.get("/api/search", q="who is Lin")
    shown = api.post("/api/forget/preview", selections=[{"kind": "person", "value": "Lin"}])
    assert {place["where"] for place in shown["places"]} >= {"notes", "usage"}
    assert shown["dry_run"] is True
    assert "Lin" in (api.root / NOTE).read_text()
    waiting = api.post("/api/corrections/preview", old=OLD, new=NEW)
    done = api.post("/api/forget", preview=shown["preview"])
    assert done["complete"] is True
    assert not [path for path in files_of(api.root) if b"Lin signs" in path.read_bytes()]
    assert (
        api.refused("POST", "/api/corrections", {"preview": waiting["preview"]})[0] == 409
    )  # it may hold the words
    assert (
        api.post("/api/forget/preview", selections=[{"kind": "text", "value": "no such words"}])["preview"]
        == ""
    )


def test_what_agents_ask_to_have_forgotten_the_owner_decides(api: Api) -> None:
    memory = api.server.service.memory
    for what in ("Lin signs it off.", "The deploy moved to Thursday."):
        selection = Selection("text", what)
        requests.keep(
            memory.workspace, selection, memory.forget(selection, dry_run=True), agent="codex", session="s"
        )
    signs, moved = sorted(api.get("/api/forget")["requests"], key=lambda one: one["value"])
    assert (signs["kind"], signs["value"], signs["agent"]) == ("text", "Lin signs it off.", "codex")
    assert api.post("/api/forget/refuse", request=moved["code"]) == {"refused": True}
    assert api.refused("POST", "/api/forget/preview", {"request": moved["code"]})[0] == 400
    assert api.refused("POST", "/api/forget/preview", {})[0] == 400
    shown = api.post("/api/forget/preview", request=signs["code"])
    assert api.get("/api/forget")["requests"] == [signs]
    done = api.post("/api/forget", preview=shown["preview"])
    assert (done["complete"], api.get("/api/runs")[0]["about"]["agent"]) == (True, "codex")
    assert "Lin" not in (api.root / NOTE).read_text()
    assert api.get("/api/forget") == {"requests": [], "unfinished": [], "entries": []}


def test_what_was_killed_is_carried_on(api: Api) -> None:
    assert api.refused("POST", "/api/forget/resume", {})[0] == 409
    memory = api.server.service.memory
    shown = memory.forget(Selection("text", "Lin signs it off."), dry_run=True)
    journal.add(memory.workspace, journal.previewed(shown))
    assert len(api.get("/api/forget")["unfinished"]) == 1
    assert api.post("/api/forget/resume")["complete"] is True
    assert "Lin" not in (api.root / NOTE).read_text()
    assert api.get("/api/forget")["unfinished"] == []


def test_changes_are_undone_one_by_one_or_since_one(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (api.root / NOTE).read_bytes()
    runs = []
    for old, new in ((OLD, NEW), ("Lin signs it off.", "Mira signs it off.")):
        shown = api.post("/api/corrections/preview", old=old, new=new)
        runs.append(api.post("/api/corrections", preview=shown["preview"])["run"])
    shown = api.post("/api/undo/preview", run=runs[0], since=True)
    assert [run["id"] for run in shown["runs"]] == runs[::-1]
    done = api.post("/api/undo", preview=shown["preview"])
    assert [run["about"]["undoes"] for run in done["runs"]] == runs[::-1]
    assert shown.keys() - done.keys() == {"preview"}
    assert (shown["dry_run"], done["dry_run"], shown["diff"]) == (True, False, done["diff"])
    ask = partial(api.post, "/api/corrections/preview", old=OLD, new=NEW)
    whole = ask()["diff"]
    monkeypatch.setattr(schema, "MOST_DIFF", len(whole) - 1)
    assert ask()["diff"] == whole[: whole.rstrip("\n").rfind("\n") + 1]
    assert (api.root / NOTE).read_bytes() == before
    assert api.refused("POST", "/api/undo/preview", {"since": True})[0] == 400
    assert api.refused("POST", "/api/undo/preview", {})[0] == 409
    assert api.refused("GET", "/api/run", id="19990101")[0] == 404
