"""What is to be forgotten or corrected is found as it is read, whatever the note has within its words."""

from __future__ import annotations

from typing import Literal

import pytest

from commonplace import Selection
from tests.life.conftest import Owner

# What a note has, and what somebody wants forgotten. Behind each stands something that stays.
WRITTEN: dict[str, tuple[str, str]] = {
    "bold end": ("Kai knows Zebu**lon** well.", "Zebulon"),
    "italic middle": ("Kai knows Qua*drif*oy well.", "Quadrifoy"),
    "bold and italic": ("Kai knows ***M***arvolet well.", "Marvolet"),
    "tag": ("Kai knows <b>Hip</b>polyte well.", "Hippolyte"),
    "coloured tag": ('Kai knows <span style="color:red">Bar</span>tholo well.', "Bartholo"),
    "tag and bold": ("Kai knows <i>**Gas**</i>pardo well.", "Gaspardo"),
    "break that may be": ("Kai knows Wolde<wbr>marius well.", "Woldemarius"),
    "zero width": ("Kai knows Eus\u200btachy well.", "Eustachy"),
    "soft hyphen": ("Kai knows Theo\u00addolind well.", "Theodolind"),
    "link": ("Kai knows [Cleo](people/c.md)patrick well.", "Cleopatrick"),
    "link to a note": ("Kai knows [[c|Fer]]dinando well.", "Ferdinando"),
    "reference link": ("Kai knows [Isi][x]dorus well.", "Isidorus"),
    "hyphenated": ("Kai knows Nepo-\n  muceno well.", "Nepomuceno"),
    "hyphenated in a quotation": ("> Kai knows Hilde-\n> gunda well.", "Hildegunda"),
    "highlight": ("Kai knows Ap==ollin==ar well.", "Apollinar"),
    "struck": ("Kai knows Vale~~ntinu~~ well.", "Valentinu"),
    "code": ("Kai knows `Xav`erinus well.", "Xaverinus"),
    "entity": ("Frau M&uuml;llerin rief an, well.", "Müllerin"),
    "numbered entity": ("Herr K&#246;nigsdorf rief an, well.", "Königsdorf"),
    "blank as an entity": ("Kai knows Lou&nbsp;Salome well.", "Lou Salome"),
    "comment between": ("Kai knows Rosa <!-- who? --> Parkins well.", "Rosa Parkins"),
    "line break of HTML": ("Kai knows Ada<br>Lovelane well.", "Ada Lovelane"),
    "backslash at the end": ("Kai knows Grace\\\n  Hoppern well.", "Grace Hoppern"),
    "footnote between": ("Kai knows Emmy[^1] Noethern well.", "Emmy Noethern"),
    "linked half": ("Kai knows [Alan](a.md) Turinge well.", "Alan Turinge"),
    "Chinese link": ("今天[林](a.md)徽因来了，well。", "林徽因"),
    "Chinese tag": ("今天梁<u>思</u>成来了，well。", "梁思成"),
    "full width figures": ("稿费１８，６００元，well。", "18,600"),
    "half width figures": ("房租 27,400 元，well。", "２７，４００"),
    "full width signs": ("暗号是（甲）：乙！well。", "(甲):乙!"),
    "full width mail": ("写给ｋａｉ＠ｅｘａｍｐｌｅ．ｏｒｇ，well。", "kai@example.org"),
}  # fmt: skip
# Wrapped text that a correction strikes line by line.
WRAPPED = {
    "Kai saw Mira\nChen very well.": "Mira Chen",
    "Kai asked about the old\nboat house again.": "old boat house",
    "第七章写完，码头\n那一场大火要改。": "码头那一场大火",
    "昨天遇见欧阳\n修远先生一次。": "欧阳修远",
    "Kai will meet **Bo\nLindqvist** at nine.": "Bo Lindqvist",
    "Kai wrote to [Ann\nPetrova](p.md) today.": "Ann Petrova",
}


def bare(text: str) -> str:
    """A text without anything but letters and digits."""
    return "".join(filter(str.isalnum, text)).lower()


@pytest.fixture
def notes(owner: Owner) -> Owner:
    """A note for each way of writing, among entries that stay."""
    for number, (text, _) in enumerate(WRITTEN.values()):
        first, *rest = text.split("\n")
        lines = "\n".join([first if first[0] == ">" else f"- {first}", *rest])
        owner.note(f"memory/n{number:02}.md", f"# Notebook\n\n- stays\n\n{lines}\n\n- stays too\n")
    return owner


def test_words_go_and_all_else_stays(notes: Owner) -> None:
    done = notes.memory().forget([Selection("text", words) for _, words in WRITTEN.values()])
    assert not done.left
    for number, (name, (_, words)) in enumerate(WRITTEN.items()):
        text = notes.read(f"memory/n{number:02}.md")
        said = bare(text.partition("- stays\n")[2].rpartition("- stays too")[0])
        assert bare(words) not in said, (name, text)
        assert "well" in said, (name, text)
        for mark in ("****", "<b></b>", "<u></u>", "[](", "`` ", "[[c|]]", "> </span>"):
            assert mark not in text, (name, text)
        assert text.count("<b>") == text.count("</b>"), (name, text)
        assert text.count("[") == text.count("]"), (name, text)


def test_people_are_found_in_every_way_of_writing(notes: Owner) -> None:
    memory = notes.memory()
    for number, (name, (_, words)) in enumerate(WRITTEN.items()):
        seen = memory.forget([Selection("person", words)], dry_run=True)
        assert f"memory/n{number:02}.md" in {place.path for place in seen.places}, name
    assert not memory.forget([Selection("person", words) for _, words in WRITTEN.values()]).left
    for number, name in enumerate(WRITTEN):
        text = notes.read(f"memory/n{number:02}.md")
        assert "well" not in text, (name, text)
        assert text.count("stays") == 2, name


@pytest.mark.parametrize("kind", ["text", "person"])
def test_struck_lines_of_one_entry_are_read_as_one(owner: Owner, kind: Literal["text", "person"]) -> None:
    memory = owner.memory()
    for number, text in enumerate(WRAPPED):
        note = f"memory/n{number}.md"
        owner.note(note, "# Notebook\n\n- stays\n- " + text.replace("\n", "\n  ") + "\n- stays too\n")
        memory.correct(f"{note}:4", f"Entry {number} of another kind.")
        assert "~~ <!-- cp:" in owner.read(note)
    done = memory.forget([Selection(kind, words) for words in WRAPPED.values()])
    assert not done.left
    for number, words in enumerate(WRAPPED.values()):
        text = owner.read(f"memory/n{number}.md")
        visible = "".join(line.partition("<!--")[0] for line in text.splitlines())
        assert bare(words) not in bare(visible), text
        assert text.count("stays") == 2
        assert f"Entry {number} of another kind." in text
        assert ("until=" in text) == (kind == "text"), text  # what is left of the entry stays struck


def test_a_correction_finds_what_is_read(owner: Owner) -> None:
    entries = {
        "稿费１８，６００元已到账。": "稿费18,600元已到账。",
        "电费 3,250 元已付。": "电费３，２５０元已付。",
        "会议在１４：３０开始。": "会议在14:30开始。",
        "折扣是２５％左右。": "折扣是25%左右。",
    }
    owner.note("memory/a.md", "# Notebook\n\n" + "".join(f"- {entry}\n" for entry in entries))
    memory = owner.memory()
    for number, (written, asked) in enumerate(entries.items()):
        memory.correct(asked, f"Number {number} is another thing now.")
        assert f"- ~~{written}~~" in owner.read("memory/a.md"), asked
    owner.note("memory/b.md", "# Notebook\n\n- 第35章要改。\n- 第3，5章要改。\n")
    memory.correct("第35章要改。", "第36章要改。")
    assert "\n- 第3，5章要改。" in owner.read("memory/b.md")


def test_what_only_looks_alike_stays(owner: Owner) -> None:
    owner.note("memory/a.md", "# A\n\n- The area is 2*3*4.\n- Mira, Chen and Bo.\n- a well-\n  known cat\n")
    memory = owner.memory()
    for words in ("234", "Mira Chen", "wellknow", "area is 234"):
        assert not memory.forget([Selection("text", words)], dry_run=True).places, words


def test_a_comment_that_is_asked_for_goes(owner: Owner) -> None:
    owner.note("memory/a.md", "# A\n\n- Tea <!-- from Bo --> and milk.\n- <b>loud</b> music\n")
    assert not owner.memory().forget([Selection("text", "<!-- from Bo -->"), Selection("text", "loud")]).left
    assert owner.read("memory/a.md") == "# A\n\n- Tea … and milk.\n- <b>…</b> music\n"


def test_the_command_line_forgets_a_struck_wrapped_name(owner: Owner) -> None:
    place = owner.ok("remember", "Kai knows Mira\nChen very well.").split()[0].rpartition("-")[0]
    owner.ok("correct", place, "Kai knows Bob.", "--yes")
    owner.ok("forget", "--person", "Mira Chen", "--yes")
    for note in (owner.folder / "memory").glob("*.md"):
        assert "Chen" not in note.read_text()
    owner.note(
        "memory/zh.md",
        "# A\n\n- ~~第七章写完，码头~~ <!-- cp: until=2026-01-01 by=owner -->\n  ~~那一场大火要改。~~\n",
    )
    owner.ok("forget", "--text", "码头那一场大火", "--yes")
    assert "大火" not in owner.read("memory/zh.md")


def test_a_report_names_few_of_many_and_counts_the_rest(owner: Owner) -> None:
    entries = "".join(f"- entry {number} about the harbour\n" for number in range(400))
    owner.note("MEMORY.md", f"# Memory\n\n{entries}")
    done = owner.run("prompt", "harbour", "--report", "--budget", "300")
    assert done.err.count("\n") < 60, done.err
    assert "more (--json names them)" in done.err
