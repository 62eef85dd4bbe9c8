"""Notes written over HTTP: entries appended, notes edited by those alone who have read what they replace."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.servers.api.conftest import Api

NOTE = "memory/2026-02-13.md"


def edit(api: Api, path: str, text: str, **headers: str) -> tuple[int, dict, dict[str, str]]:  # type: ignore[type-arg]
    return api.raw("PUT", "/api/source", {"path": path, "text": text}, **headers)


def read(api: Api, path: str) -> tuple[str, str]:
    """The text of a note and its version."""
    status, answer, headers = api.raw("GET", "/api/source", query={"path": path})
    assert status == 200
    assert headers["etag"] == f'"{answer["digest"]}"'
    return answer["text"], headers["etag"]


def test_an_entry_is_appended_redacted_as_the_owners(api: Api) -> None:
    written = api.post("/api/entries", text="password: hunter2-correct-horse", heading="Keys")
    text = (api.root / written["path"]).read_text()
    assert "hunter2" not in text
    assert "by:" not in text
    assert written["redacted"]
    assert api.post("/api/entries", text="Tea.", long_term=True, section="Tea")["path"] == "MEMORY.md"
    assert (
        "<!-- tentative -->"
        in (api.root / api.post("/api/entries", text="A guess.", tentative=True)["path"]).read_text()
    )
    assert api.refused("POST", "/api/entries", {"text": " "})[0] == 400
    assert api.refused("POST", "/api/entries", {"text": "a", "section": "b"})[0] == 400


def test_a_note_is_edited_and_the_edit_taken_back(api: Api) -> None:
    before = (api.root / NOTE).read_bytes()
    text, version = read(api, NOTE)
    status, answer, headers = edit(api, NOTE, text.replace("Thursday", "Friday"), if_match=version)
    assert status == 200
    assert b"moved to Friday" in (api.root / NOTE).read_bytes()
    assert headers["etag"] == read(api, NOTE)[1]
    assert api.get("/api/search", q="deploy friday")["hits"][0]["path"] == NOTE
    (run,) = api.get("/api/runs")
    assert (run["id"], run["about"]["kind"], run["about"]["by"]) == (answer["run"], "write", "owner")
    preview = api.post("/api/undo/preview")
    assert "+- The deploy moved to Thursday." in preview["diff"]
    api.post("/api/undo", preview=preview["preview"])
    assert (api.root / NOTE).read_bytes() == before


def test_an_edit_of_an_older_version_is_refused_with_the_current_one(api: Api) -> None:
    text, version = read(api, NOTE)
    (api.root / NOTE).write_text(text + "- An agent wrote this.\n")
    status, answer, _ = edit(api, NOTE, "# Mine\n", if_match=version)
    assert (status, answer["error"]["code"]) == (412, "changed")
    current = answer["error"]["current"]
    assert current["text"] == (api.root / NOTE).read_text()
    assert edit(api, NOTE, current["text"] + "- Mine.\n", if_match=f'"{current["digest"]}"')[0] == 200
    assert "An agent wrote this.\n- Mine." in (api.root / NOTE).read_text()


def test_of_two_edits_at_once_one_is_made(api: Api) -> None:
    text, version = read(api, NOTE)
    statuses: list[int] = []

    def change(number: int) -> None:
        statuses.append(edit(api, NOTE, f"{text}- Edit {number}.\n", if_match=version)[0])

    threads = [threading.Thread(target=change, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, *[412] * 5]
    assert (api.root / NOTE).read_text().count("- Edit") == 1


@pytest.mark.parametrize("header", ["", "*", 'W/"abc"', '"abc", "def"'])
def test_who_has_not_read_a_note_does_not_replace_it(api: Api, header: str) -> None:
    before = (api.root / NOTE).read_bytes()
    status = edit(api, NOTE, "x", if_match=header)[0]
    assert status == (428 if header in ("", "*") else 412)
    assert edit(api, NOTE, "x", if_none_match="*")[0] == 412
    assert (api.root / NOTE).read_bytes() == before


def test_a_new_note_is_made_where_none_is(api: Api) -> None:
    assert edit(api, "memory/people.md", "# People\n\n- Lin.", if_none_match="*")[0] == 200
    assert (api.root / "memory/people.md").read_text() == "# People\n\n- Lin.\n"
    assert edit(api, "memory/gone.md", "x", if_match='"abc"')[0] == 412


def test_what_is_hidden_stays_hidden_and_stays(api: Api) -> None:
    hidden = "# A\n\n<private>nobody reads this</private>\n\n- password: hunter2-correct-horse\n- Tea.\n"
    (api.root / "memory/a.md").write_text(hidden)
    text, version = read(api, "memory/a.md")
    assert "nobody" not in text
    assert "hunter2" not in text
    assert edit(api, "memory/a.md", text.replace("Tea", "Coffee"), if_match=version)[0] == 200
    assert (api.root / "memory/a.md").read_text() == hidden.replace("Tea", "Coffee")
    status, answer, _ = edit(api, "memory/a.md", "# A\n", if_match=read(api, "memory/a.md")[1])
    assert status == 409
    assert "would be lost" in answer["error"]["message"]


NO_NOTES = [
    "../outside.md", "/etc/passwd.md", "memory/../../outside.md", ".commonplace/a.md", "memory/.a.md", "a.toml",
    "memory//a.md", "memory\\..\\a.md", "./MEMORY.md", "commonplace.toml", "a\0.md", "memory/a.md/..", "link.md",
    "folder/a.md", "\ud800.md", "memory/\ud800.md", "memory/" + "a" * 300 + ".md", "MEMORY.md/a.md",
]  # fmt: skip


def test_nothing_but_notes_of_the_workspace_is_read_or_written(api: Api) -> None:
    outside = api.root.parent / "outside.md"
    outside.write_text("outside")
    os.symlink(outside, api.root / "link.md")
    os.symlink(api.root.parent, api.root / "folder")
    for path in NO_NOTES:
        for status in (
            api.raw("GET", f"/api/source?path={quote(path, errors='replace')}")[0],
            edit(api, path, "x", if_none_match="*")[0],
            edit(api, path, "x", if_match='"abc"')[0],
        ):
            assert status in (403, 404, 409, 412), (path, status)
        assert outside.read_text() == "outside"
        assert [one.name for one in api.root.parent.glob("*.md")] == ["outside.md"]


def test_a_new_note_stands_where_notes_are(api: Api) -> None:
    assert edit(api, "plans.md", "x", if_none_match="*")[0] == 404
    (api.root / "plans.md").write_text("# Plans\n")
    assert edit(api, "plans.md", "x", if_match=read(api, "plans.md")[1])[0] == 200


def test_windows_line_ends_stay(api: Api) -> None:
    Path(api.root / "memory/w.md").write_bytes(b"# W\r\n\r\n- One.\r\n")
    text, version = read(api, "memory/w.md")
    assert edit(api, "memory/w.md", f"{text}- Two.\n", if_match=version)[0] == 200
    assert (api.root / "memory/w.md").read_bytes() == b"# W\r\n\r\n- One.\r\n- Two.\r\n"


def test_the_lines_that_link_to_a_note_are_listed(api: Api) -> None:
    notes = {
        "memory/A b.md": "# A b\n\n[[A b]]\n",
        "memory/c.md": "# C\n\n- [[a b]]\n- [[x/A b#Part|so]] and [it](A%20b.md)\n- [[A bc]] [no](xA b.md) A b\n",
        "memory/d.md": "[d](<../memory/A b.md>)\n\n![[A b]]\n",
    }
    for path, text in notes.items():
        (api.root / path).write_text(text)
    places = ["memory/c.md#L3", "memory/c.md#L4", "memory/d.md#L1", "memory/d.md#L3"]
    assert api.get("/api/links", path="memory/A b.md")["links"] == places
    assert api.get("/api/links", path="nothing.md")["links"] == []
