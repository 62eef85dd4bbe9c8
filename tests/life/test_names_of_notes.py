"""What a note and its folders are called finds it, and is what it is called."""

from __future__ import annotations

from tests.life.conftest import Owner

# A note, the first lines of it, and what it is called.
NOTES = {
    "memory/Project Osprey.md": ("## Status\n\nLaunch moves to spring.", "Project Osprey"),
    "memory/Harbour survey.md": ("### Depth\n\nFour metres at low tide.", "Harbour survey"),
    "memory/garden_plan.md": ("Beans go beside the wall.", "garden_plan"),
    "memory/Uncle-Bertram.md": ("Wrote a letter in June.\n\n# Letters\n\nThe second one came in July.", "Uncle-Bertram"),
    "memory/vault/Kiln.md": ("---\ntags: [clay]\n---\n\n## Firing\n\nNine hours at cone six.", "Kiln"),
    "memory/vault/Loom.md": ("---\ntitle: The big loom\n---\n\n## Warp\n\nTwo hundred threads.", "The big loom"),
    "memory/vault/Quilt.md": ("# Blue quilt\n\n## Pattern\n\nTriangles.", "Blue quilt"),
    "memory/vault/Sledge.md": ("<!-- pinned -->\n# Red sledge\n\nIn the attic.", "Red sledge"),
    "memory/vault/Canoe.md": ("---\nstatus: sold\n---\n\nGreen canoe\n===========\n\nAt the lake.", "Green canoe"),
    "memory/vault/Tandem.md": ("![](a.png)\n\n# Old tandem\n\nIn the shed.", "Old tandem"),
    "memory/锅炉维修.md": ("## 状态\n\n下周换零件。", "锅炉维修"),
    "memory/Ärztehaus.md": ("- Termin am Montag.", "Ärztehaus"),
    "memory/Household/Boiler/log.md": ("## March\n\nPressure was topped up.", "log"),
    "memory/Household/Roof/log.md": ("## March\n\nTiles were replaced.", "log"),
    "memory/People/Ines Okafor/notes.md": ("- Likes sailing.", "notes"),
    "memory/2026-02-13-trip-to-oslo.md": ("## Morning\n\nTook the ferry.", "2026-02-13-trip-to-oslo"),
}  # fmt: skip
# A question that only the name of a note or of a folder answers, and the first hit.
ASKED = {
    "When does Osprey launch?": "memory/Project Osprey.md",
    "osprey": "memory/Project Osprey.md",
    "harbour survey": "memory/Harbour survey.md",
    "garden plan beans": "memory/garden_plan.md",
    "letter bertram": "memory/Uncle-Bertram.md",
    "kiln firing": "memory/vault/Kiln.md",
    "loom": "memory/vault/Loom.md",
    "quilt": "memory/vault/Quilt.md",
    "canoe": "memory/vault/Canoe.md",
    "锅炉": "memory/锅炉维修.md",
    "锅炉什么时候换零件": "memory/锅炉维修.md",
    "Ärztehaus": "memory/Ärztehaus.md",
    "arztehaus termin": "memory/Ärztehaus.md",
    "boiler pressure": "memory/Household/Boiler/log.md",
    "boiler": "memory/Household/Boiler/log.md",
    "roof log": "memory/Household/Roof/log.md",
    "Okafor sailing": "memory/People/Ines Okafor/notes.md",
    "Oslo": "memory/2026-02-13-trip-to-oslo.md",
}


def test_the_name_finds_the_note(owner: Owner) -> None:
    for path, (text, _) in NOTES.items():
        owner.note(path, text + "\n")
    memory = owner.memory()
    for question, path in ASKED.items():
        assert [hit.path for hit in memory.search(question).hits][:1] == [path], question
    assert "topped up" in owner.ok("prompt", "What about the boiler?")


def test_a_note_is_called_by_its_name(owner: Owner) -> None:
    for path, (text, _) in NOTES.items():
        owner.note(path, text + "\n")
    titles = {note.path: note.title for note in owner.memory().notes()}
    assert {path: titles[path] for path in NOTES} == {path: title for path, (_, title) in NOTES.items()}
    listed = owner.ok("ls")
    assert "Project Osprey" in listed
    assert "Status" not in listed


def test_a_name_counts_more_than_a_folder(owner: Owner) -> None:
    owner.note("memory/Boiler/log.md", "- Pressure was topped up.\n")
    owner.note("memory/Boiler/visits.md", "- Somebody came by.\n")
    owner.note("memory/Boiler.md", "- Made in Ulm.\n")
    assert owner.memory().search("boiler").hits[0].path == "memory/Boiler.md"


def test_a_day_is_not_found_by_the_folder_of_all_notes(owner: Owner) -> None:
    owner.note("memory/2026-02-13.md", "- The kettle is new.\n")
    owner.note("memory/2026-01.md", "- The kettle was old.\n")
    assert not [hit for hit in owner.memory().search("memory").hits if "kettle" in hit.text]


# Lines that apps write above the heading that opens a note.
OPENINGS = [
    "![[banner.png]]", "#tag1 #tag2", "---", "***", "#", "##", "![[banner.png]] ![[other.png|200]]", "#area/home",
    "![](a.png)", "#标签 #boat", "![[a b.png]]\n#tag", "#\n\n---", "#tag1\n\n![[banner.png]]", "![[sheet.pdf#page=2]]",
]  # fmt: skip


def test_a_heading_below_embedded_files_tags_and_rules_opens_a_note(owner: Owner) -> None:
    for number, opening in enumerate(OPENINGS):
        owner.note(f"memory/note{number}.md", f"{opening}\n\n# Real {number}\n\nIn the attic.\n")
    spoken = ["Tagged #boat", "See ![[a.png]] first", "#tag and a word", "![[a.png]] is old"]
    for number, opening in enumerate(spoken):
        owner.note(f"memory/text{number}.md", f"{opening}\n\n# Letters\n\nIn the attic.\n")
    titles = {note.path: note.title for note in owner.memory().notes()}
    for number, opening in enumerate(OPENINGS):
        assert titles[f"memory/note{number}.md"] == f"Real {number}", opening
    for number, opening in enumerate(spoken):
        assert titles[f"memory/text{number}.md"] == f"text{number}", opening


def test_the_anchor_of_a_heading_is_no_part_of_it(owner: Owner) -> None:
    headings = {
        "# Real {#anchor}": "Real", "# Real boat {#real-boat}": "Real boat", "# 船 {#chuan}": "船",
        "# Real {#a.b:c} #": "Real", "Real {#anchor}\n====": "Real", "# Real {x}": "Real {x}", "# Real{#x}": "Real{#x}",
        "# {#x}": "{#x}",
    }  # fmt: skip
    for number, heading in enumerate(headings):
        owner.note(f"memory/{number}.md", f"{heading}\n\nIn the attic.\n")
    titles = {note.path: note.title for note in owner.memory().notes()}
    for number, (heading, title) in enumerate(headings.items()):
        assert titles[f"memory/{number}.md"] == title, heading
