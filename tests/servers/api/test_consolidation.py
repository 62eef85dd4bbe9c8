"""A consolidation is proposed, looked through line by line, and written in part, or not."""

from __future__ import annotations

from tests.servers.api.conftest import Api

MEMORY = """# Memory

## Facts

- The NAS has four disks.
- NAS has the four disks.
- The old router is in the cellar. <!-- valid-until: 2026-01-01 -->
""" + "".join(
    f"- Line {word} stands alone.\n"
    for word in "alder ash beech birch cedar elder elm hazel larch lime maple oak pine rowan spruce willow".split()
)


def test_chosen_lines_are_written_and_the_others_not(api: Api) -> None:
    (api.root / "MEMORY.md").write_text(MEMORY)
    shown = api.post("/api/consolidation/preview")
    lines = {line["op"]: line for line in shown["lines"]}
    assert lines.keys() == {"merge", "expire"}
    assert [target["citation"] for target in lines["merge"]["targets"]] == ["MEMORY.md#L5", "MEMORY.md#L6"]
    assert shown["planned"] is False
    assert (api.root / "MEMORY.md").read_text() == MEMORY
    code, number = shown["preview"], lines["expire"]["number"]
    done = api.post("/api/consolidation", preview=code, lines=[number])
    assert [line["op"] for line in done["lines"]] == ["expire"]
    text = (api.root / "MEMORY.md").read_text()
    assert "~~The old router" in text
    assert "- NAS has the four disks.\n" in text
    assert api.get("/api/runs")[0]["id"] == done["run"]


def test_what_is_rejected_or_outdated_is_not_written(api: Api) -> None:
    (api.root / "MEMORY.md").write_text(MEMORY)
    code = api.post("/api/consolidation/preview")["preview"]
    assert api.post("/api/consolidation/reject", preview=code) == {"rejected": True}
    assert api.refused("POST", "/api/consolidation", {"preview": code, "lines": [1]})[0] == 409
    code = api.post("/api/consolidation/preview")["preview"]
    assert api.refused("POST", "/api/consolidation", {"preview": code, "lines": [9]})[0] == 400
    code = api.post("/api/consolidation/preview")["preview"]
    (api.root / "MEMORY.md").write_text(MEMORY + "- Written by hand.\n")
    assert api.refused("POST", "/api/consolidation", {"preview": code, "lines": [1]})[0] == 409
    assert (api.root / "MEMORY.md").read_text() == MEMORY + "- Written by hand.\n"
    assert api.get("/api/runs") == []
