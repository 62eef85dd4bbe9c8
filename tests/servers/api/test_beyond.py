"""What reaches beyond the workspace: folders that are searched, clients, imports; and what is taken away."""

from __future__ import annotations

import base64
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commonplace import config
from commonplace.config import Reach
from commonplace.memory import reaching
from commonplace.servers.access import Access
from commonplace.servers.api import routes
from commonplace.servers.methods import Service
from tests.servers.api.conftest import BEYOND, TOKEN, Api
from tests.servers.api.test_visits import browser
from tests.servers.conftest import Served


@pytest.fixture
def owner(api: Api, private_home: Path, monkeypatch: pytest.MonkeyPatch) -> Api:
    """The browser of the owner, in a home of its own."""
    monkeypatch.setenv("PATH", "")
    api.headers = api.own()
    return api


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    folder = tmp_path / "Recipes\u3000<b>"
    folder.mkdir()
    (folder / "soup.md").write_text("# Soup\n\n- Ginger, and no shrimp.\n")
    (folder / "latin.md").write_bytes("# Café\n".encode("latin-1"))
    return folder


# --- who may --------------------------------------------------------------------------------------------


def refuses(api: Api, **headers: Any) -> None:
    """Whoever asks so is refused all of it, and told what to do instead."""
    assert api.raw("GET", "/api/caller", **headers)[1]["reaches"] is False
    for one in (one for one in routes.operations() if one.beyond):
        body = None if one.method == "GET" else BEYOND[one.path]
        status, answer, _ = api.raw(one.method, one.path, body, **headers)
        assert (status, one.beyond in answer["error"]["remedy"]) == (403, True), one.path
    for query in ({"form": "zip"}, {"form": "md", "private": "true"}):
        assert api.raw("GET", "/api/export", query=query, **headers)[0] == 403


def test_only_a_browser_that_the_users_own_program_let_in_reaches_beyond(
    api: Api, serve: Callable[..., Served], workspace: Path
) -> None:
    refuses(api)
    refuses(api, **browser(api))  # who has the token makes codes, and is no more than that
    own = api.own()
    assert api.raw("GET", "/api/caller", **own)[1]["reaches"] is True
    for wrong in (
        {"cookie": None},
        {"x_commonplace_key": "x"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": None},
    ):
        assert api.raw("POST", "/api/collections", {"path": ".."}, **{**own, **wrong})[0] == 401
    named = {"host": f"notes.example:{api.server.port}", "origin": f"http://notes.example:{api.server.port}"}
    assert api.raw("POST", "/api/collections", {"path": ".."}, **{**own, **named})[0] == 421
    elsewhere = Api(serve(Access(TOKEN, frozenset({"notes.example"}), True)), workspace)
    refuses(elsewhere, **elsewhere.own())
    behind = Api(serve(Access(TOKEN, frozenset({"notes.example"}))), workspace)
    there = {"host": "notes.example", "origin": "http://notes.example"}
    refuses(behind, **{**behind.own(), **there})
    reach = Reach(workspace, "", {}, "reader")
    reading = Service(lambda: reaching(reach, "reader", settings=config.load(workspace)))
    reader = Api(serve(Access(TOKEN), reading), workspace)
    assert reader.raw("GET", "/api/caller", **reader.own())[1]["reaches"] is False
    assert reader.raw("POST", "/api/collections", {"path": ".."}, **reader.own())[0] == 403
    open_to_all = Api(serve(Access()), workspace)
    refuses(open_to_all, authorization=None)
    assert config.load(workspace).collections == {}


def test_every_operation_that_reaches_beyond_is_the_owners() -> None:
    reaching = {one.path for one in routes.operations() if one.beyond}
    assert reaching == {*BEYOND, "/api/clients"}
    assert all(one.owner for one in routes.operations() if one.beyond)


# --- folders --------------------------------------------------------------------------------------------


def test_a_folder_is_added_read_left_out_and_removed(owner: Api, recipes: Path) -> None:
    added = owner.post("/api/collections", path="../Recipes\u3000<b>", name="recipes", weight="own")
    assert (added["root"], added["weight"], added["notes"]) == (os.fspath(recipes), "own", 0)
    with (recipes / "huge.md").open("wb") as huge:
        huge.truncate(100 << 20)
    read = owner.post("/api/sync")
    assert (read["added"], [one["path"] for one in read["failed"]]) == (5, ["recipes/huge.md"])
    assert read["failed"][0]["said"]["reason"]["code"] == "file.large"
    assert [one["code"] for one in read["said"]["warnings"]] == ["note.encoding"]
    assert read["warnings"][0].startswith("recipes/latin.md: not in UTF-8")
    assert {one["name"]: one["notes"] for one in owner.get("/api/collections")} == {"memory": 3, "recipes": 2}
    assert owner.get("/api/search", q="shrimp")["hits"]
    left = owner.post("/api/collections/include", name="recipes", include_by_default=False)
    assert left["include_by_default"] is False
    assert not owner.get("/api/search", q="shrimp")["hits"]
    gone = owner.post("/api/collections/remove", name="recipes")
    assert [one["name"] for one in gone] == ["memory"]
    assert (recipes / "soup.md").exists()
    for path, status in {
        "../none": 400, "MEMORY.md": 400, "/dev/null": 400, "a\0b": 400, "a\nb": 400, "~nobody/x": 400, "../Recipes\u3000<b>": 201, "\ud800": 400,
    }.items():  # fmt: skip
        assert owner.raw("POST", "/api/collections", {"path": path}, **owner.headers)[0] == status, path
    assert "~/none is not a folder" in owner.refused("POST", "/api/collections", {"path": "~/none"})[1]
    for folder, name in (("菜谱", "folder"), ("汤谱", "folder-2")):  # no letter of theirs may stand in a name
        (recipes.parent / folder).mkdir()
        assert owner.post("/api/collections", path=f"../{folder}")["name"] == name
    assert (
        "'菜谱' is no name for one"
        in owner.refused("POST", "/api/collections", {"path": "../菜谱", "name": "菜谱"})[1]
    )
    said = owner.raw("POST", "/api/import/preview", {"path": "../菜谱", "kind": "mem0"}, **owner.headers)[1]
    assert "unsafe.irregular" in str(said), said
    assert "ELOOP" not in str(said)
    assert owner.refused("POST", "/api/collections", {"path": "..", "name": "../x"})[0] == 400
    assert owner.refused("POST", "/api/collections/remove", {"name": "memory"})[0] == 404


# --- clients --------------------------------------------------------------------------------------------


def test_a_client_is_entered_and_taken_out_as_shown(owner: Api, private_home: Path) -> None:
    codex = private_home / ".codex"
    codex.mkdir()
    kept = (
        '# mine\n[mcp_servers.other]\ncommand = "other"\nenv = { KEY = "sk-ant-api03-' + "a" * 93 + 'AA" }\n'
    )
    (codex / "config.toml").write_text(kept)
    rows = {one["name"]: one for one in owner.get("/api/clients")["clients"]}
    assert [name for name, one in rows.items() if one["is_here"]] == ["codex"]
    shown = owner.post("/api/clients/preview", client="codex")
    assert "+[mcp_servers.memory]" in shown["diff"]
    assert "sk-ant-api03" not in shown["diff"]
    assert os.fspath(owner.root) in shown["starts"]
    again = owner.post("/api/clients/preview", client="codex")
    assert (codex / "config.toml").read_text() == kept
    done = owner.post("/api/clients", preview=shown["preview"])
    assert {one["what"] for one in done["changed"]} == {"server", "hooks", "skill"}
    assert "trust the new hooks" in done["by_hand"]
    assert owner.refused("POST", "/api/clients", {"preview": shown["preview"]})[0] == 409
    assert (
        "changed since the preview" in owner.refused("POST", "/api/clients", {"preview": again["preview"]})[1]
    )
    assert owner.post("/api/clients/preview", client="codex")["preview"] == ""
    (row,) = [one for one in owner.get("/api/clients")["clients"] if one["installed"]]
    assert [one["what"] for one in row["installed"]] == ["server", "hooks", "skill"]
    taken = owner.post("/api/clients/preview", client="codex", remove=True)
    owner.post("/api/clients", preview=taken["preview"])
    assert (codex / "config.toml").read_text() == kept
    assert sorted(path.name for path in codex.iterdir()) == ["config.toml"]
    any_other = owner.refused("POST", "/api/clients/preview", {"client": "generic"})
    assert (any_other[0], "generic stands for any other client" in any_other[1]) == (400, True)
    for client in ("nobody", "../codex"):
        assert owner.refused("POST", "/api/clients/preview", {"client": client})[0] == 400
    (codex / "config.toml").write_text("[broken")
    assert owner.refused("POST", "/api/clients/preview", {"client": "codex"})[0] == 400


# --- in and out -----------------------------------------------------------------------------------------


def test_an_import_writes_what_it_showed_and_is_undone(owner: Api, tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    facts = [{"memory": "The ferry takes an hour.", "id": "1", "created_at": "2026-01-05T10:00:00"}]
    old.write_text(json.dumps({"results": facts}))
    assert "mem0" in {one["name"] for one in owner.get("/api/import")}
    shown = owner.post("/api/import/preview", path="../old.json")
    assert (shown["source"], shown["dry_run"], [one["added"] for one in shown["files"]]) == (
        "mem0",
        True,
        [1],
    )
    assert "+" in shown["diff"]
    assert not list((owner.root / "memory").glob("*mem0*"))
    other = owner.post("/api/import/preview", path=os.fspath(old), kind="mem0")
    assert "kind" in owner.refused("POST", "/api/import/preview", {"path": "../old.json", "kind": "x"})[1]
    for preview in ("x", owner.post("/api/undo/preview")["preview"] if owner.get("/api/runs") else "y"):
        assert owner.refused("POST", "/api/import", {"preview": preview})[0] == 409
    done = owner.post("/api/import", preview=shown["preview"])
    assert done["diff"] == shown["diff"]
    assert owner.refused("POST", "/api/import", {"preview": other["preview"]})[0] == 409  # the second tab
    assert owner.post("/api/import/preview", path="../old.json")["preview"] == ""
    undone = owner.post("/api/undo", preview=owner.post("/api/undo/preview", run=done["run"])["preview"])
    assert len(undone["runs"]) == 1
    notes = [{"path": f"memory/{name}.md", "text": "x"} for name in ("\ud800", "x" * 300, "a\nb", "fine")]
    (tmp_path / "all.json").write_text(
        json.dumps({"format": "commonplace-export", "version": 1, "notes": notes})
    )
    odd = owner.post("/api/import/preview", path="../all.json")
    assert [one["path"] for one in odd["files"]] == ["memory/fine.md"]
    assert len(odd["left_out"]) == 3
    shown = owner.post("/api/import/preview", path="../old.json")
    old.write_text(json.dumps({"results": [*facts, {**facts[0], "memory": "Another.", "id": "2"}]}))
    assert (
        "changed since the preview" in owner.refused("POST", "/api/import", {"preview": shown["preview"]})[1]
    )
    assert not list((owner.root / "memory").glob("*mem0*"))


def test_paths_that_no_memory_lies_at_are_refused_and_hold_nobody_up(owner: Api, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "export.zip").write_bytes(b"PK\x03\x04" + b"\0" * 100)
    paths = [
        "../pipe",
        "/dev/zero",
        "/dev/stdin",
        "../loop",
        "../none",
        "/proc/self/mem",
        "../export.zip",
        "/dev/null",
    ]
    for path in paths:
        for kind in ({}, *({"kind": one["name"]} for one in owner.get("/api/import"))):
            answer = owner.raw("POST", "/api/import/preview", {"path": path, **kind}, **owner.headers)
            assert answer[0] in (200, 400, 409), (path, kind, answer)
            assert not (answer[0] == 200 and answer[1]["preview"]), (path, kind)


def test_notes_are_taken_away_in_three_forms(api: Api) -> None:
    (api.root / "MEMORY.md").write_text("# Memory\n\n- Tea. <private>the safe</private>\n")
    (api.root / "memory" / "latin.md").write_bytes("# Café\n".encode("latin-1"))
    plain = api.get("/api/export", form="md")
    assert (plain["encoding"], plain["files"]) == ("utf-8", 4)
    assert "Tea." in plain["data"]
    assert "the safe" not in plain["data"] + api.get("/api/export", form="json")["data"]
    api.headers = api.own()
    assert "the safe" in api.get("/api/export", form="md", private="true")["data"]
    packed = api.get("/api/export", form="zip")
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(packed["data"]))) as archive:
        assert b"the safe" in archive.read("MEMORY.md")
    assert api.refused("GET", "/api/export", form="zip", private="true")[0] == 400
