"""Lines that are forgotten are gone although references stand in them, which follow while other lines go."""

from __future__ import annotations

import pytest

from commonplace import Selection
from tests.life.conftest import Owner

# What of a note is forgotten: its lines, those asked for (from 1), and the lines that are left.
CASES = {
    "struck, with what replaced it below": (
        ["- ~~Tea at four~~ <!-- cp: until=2026-03-02 by=owner to={me}#L4 -->", "- Tea", "- Milk", "- Tea at five"],
        ["1"],
        ["- Tea", "- Milk", "- Tea at five"],
    ),
    "what replaced it goes as well": (
        ["- ~~Tea at four~~ <!-- cp: until=2026-03-02 by=owner to={me}#L2 -->", "- Tea at five", "- Milk"],
        ["1-2"],
        ["- Milk"],
    ),
    "superseded by a line that goes": (
        ["- Rent 900 <!-- superseded-by: {me}#L3 -->", "- Milk", "- Rent 950"],
        ["1", "3"],
        ["- Milk"],
    ),
    "superseded by a line that moves": (
        ["- Milk", "- Rent 900 <!-- superseded-by: {me}#L4 -->", "- Gas 30", "- Rent 950"],
        ["2-3"],
        ["- Milk", "- Rent 950"],
    ),
    "sources, one goes and one moves": (
        ["- Cats", "- Ann likes cats <!-- cp: from={me}#L1,{me}#L4 -->", "- Dogs", "- Birds"],
        ["1-2"],
        ["- Dogs", "- Birds"],
    ),
    "all of its sources go": (
        ["- Cats", "- Dogs", "- Ann likes both <!-- cp: from={me}#L1-L2 -->", "- Birds"],
        ["1-3"],
        ["- Birds"],
    ),
    "three lines that refer to each other": (
        ["- A1 <!-- cp: to={me}#L2 -->", "- A2 <!-- cp: to={me}#L3 -->", "- A3 <!-- cp: to={me}#L1 -->", "- B"],
        ["1-3"],
        ["- B"],
    ),
    "by itself": (["- Loop <!-- superseded-by: {me}#L1 -->", "- B"], ["1"], ["- B"]),
    "a source in another note, which moves": (
        ["- Pip is a dog <!-- cp: from={other}#L3 -->", "- B"],
        ["1", "{other}:1"],
        ["- B"],
    ),
    "the comment below it": (
        ["- Rent 900", "  <!-- superseded-by: {me}#L4 -->", "- Milk", "- Rent 950"],
        ["1"],
        ["- Milk", "- Rent 950"],
    ),
    "nested": (
        ["- Rent", "  - 900 <!-- superseded-by: {me}#L3 -->", "  - 950", "- Milk"],
        ["1"],
        ["- Milk"],
    ),
    "one of two that differ by their references": (
        ["- Rent <!-- superseded-by: {me}#L4 -->", "- Gas", "- Rent <!-- superseded-by: {me}#L5 -->", "- A", "- B"],
        ["2-3"],
        ["- Rent <!-- superseded-by: {me}#L2 -->", "- A", "- B"],
    ),
    "a range of lines": (
        ["- Sum 5 <!-- cp: from={me}#L3-L5 -->", "- x", "- two", "- two more", "- one"],
        ["1-2"],
        ["- two", "- two more", "- one"],
    ),
    "a paragraph": (
        ["The rent is 900. <!-- superseded-by: {me}#L3 -->", "", "The rent is 950.", "", "Milk."],
        ["1"],
        ["", "The rent is 950.", "", "Milk."],
    ),
    "with the line ends of Windows": (
        ["- Rent 900 <!-- superseded-by: {me}#L3 -->\r", "- Gas 30\r", "- Rent 950\r"],
        ["1-2"],
        ["- Rent 950\r"],
    ),
}  # fmt: skip


@pytest.fixture
def notes(owner: Owner) -> Owner:
    for place, (lines, *_) in enumerate(CASES.values()):
        names = {"me": f"memory/case-{place}.md", "other": f"memory/other-{place}.md"}
        owner.note(names["me"], "".join(f"{line.format(**names)}\n" for line in lines))
        owner.note(names["other"], "- Food\n- Bed\n- Pip barks\n")
    return owner


def test_a_line_is_gone_whatever_it_refers_to(notes: Owner) -> None:
    memory = notes.memory()
    for place, (name, (_, asked, left)) in enumerate(CASES.items()):
        names = {"me": f"memory/case-{place}.md", "other": f"memory/other-{place}.md"}
        places = [one.format(**names) if "{" in one else f"{names['me']}:{one}" for one in asked]
        planned = memory.forget([Selection("lines", one) for one in places], dry_run=True)
        done = memory.forget(planned)
        expected = "".join(f"{line.format(**names)}\n" for line in left)
        assert (name, notes.read(names["me"])) == (name, expected)
        assert (name, done.left) == (name, ())
        assert {one.text for one in planned.places if one.where == "notes"}


def test_the_command_says_so(owner: Owner) -> None:
    rows = [
        "# Memory", "", "- ~~Tea at four~~ <!-- cp: until=2026-03-02 by=owner to=MEMORY.md#L8 -->", "- Gas 30",
        "- Sum 8 <!-- cp: from=MEMORY.md#L4,MEMORY.md#L9 -->", "- Rent 900 <!-- superseded-by: MEMORY.md#L9 -->",
        "- Milk", "- Tea at five", "- Rent 950", "",
    ]  # fmt: skip
    owner.note("MEMORY.md", "\n".join(rows))
    done = owner.run("forget", "MEMORY.md:3-6", "--yes")
    assert done.code == 0, done
    assert owner.read("MEMORY.md") == "# Memory\n\n- Milk\n- Tea at five\n- Rent 950\n"
    assert "Tea at four" not in owner.ok("log", "--format", "json")
