"""What is forgotten taken out of a note, all other lines as they were."""

from __future__ import annotations

import re
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.edit.forget.targets import Block, Cut, CutNote, Targets, cut, decode

MIRA = Targets(people=("Mira",))


def after(text: str, wanted: Targets = MIRA, path: str = "memory/note.md") -> str | None:
    """A note without what is wanted; None for no note."""
    found = cut(CutNote.read(text.encode("utf-8", "surrogateescape"), path), decode(asdict(wanted)))
    if found is None:
        return text
    return None if found.data is None else found.data.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    ("before", "left"),
    [
        ("- a\n- Mira: b\n  more\n  - nested\n- c\n", "- a\n- c\n"),
        ("- a\n  - Mira\n  - b\n", "- a\n  - b\n"),
        ("one\nwith Mira\nthree\n\nnext\n", "\nnext\n"),
        ("# N\n\n## About Mira\n\n- x\n\n### deep\n\n## b\n\n- c\n", "# N\n\n## b\n\n- c\n"),
        ("| n |\n|---|\n| Mira |\n| b |\n", "| n |\n|---|\n| b |\n"),
        ("x\n\n| Mira |\n|---|\n| a |\n\ny\n", "x\n\n\ny\n"),
        ("- a\n  ```\n  Mira\n  ```\n- b\n", "- b\n"),
        ("x\n\n```\nMira\n```\n\ny\n", "x\n\n\ny\n"),
        ("**User:** hi Mira\n**Assistant:** hello\n", "**Assistant:** hello\n"),
        ("- ~~Mira left.~~ <!-- cp: until=2026-03-02 by=owner -->\n- b\n", "- b\n"),
        ("- b <!-- by: agent; agent: Mira -->\n- c\n", "- c\n"),
        ("---\ntitle: On Mira\ntags: [a]\n---\n- b\n", "---\ntags: [a]\n---\n- b\n"),
        ("---\npeople:\n  - Mira\n  - Bo\n---\n- b\n", "---\npeople:\n  - Bo\n---\n- b\n"),
        ("---\npeople: [Mira, Bo]\nby: [Mira]\n---\n- b\n", "---\npeople: [Bo]\n---\n- b\n"),
        ("- a\r\n- Mira\r\n- c", "- a\r\n- c"),
        ("- <private>x Mira\ny</private>\n- c\n", "- c\n"),
        ("a <private>\nMira\n</private> b\n\nc\n", "\nc\n"),
        ("# Mira\n\n- all hers\n", None),
        ("- a \udcff\n- Mira\n", "- a \udcff\n"),
    ],
)  # fmt: skip
def test_what_mentions_a_person_goes_whole(before: str, left: str | None) -> None:
    assert after(before) == left


def test_a_note_named_after_a_person_goes() -> None:
    assert after("- likes tea\n", path="people/mira.md") is None
    assert after("- likes tea\n", path="people/miranda.md") == "- likes tea\n"


@pytest.mark.parametrize(
    ("before", "left"),
    [
        ("- ring +49 123 now\n", "- ring … now\n"),
        ("- 14:05 +49 123\n- b\n", "- b\n"),
        ("- ~~+49 123~~ <!-- cp: until=2026-03-02 -->\n- b\n", "- b\n"),
        ("- **+49 123** is his\n", "- **…** is his\n"),
        ("- +49 123\n  - nested\n", "-\n  - nested\n"),
        ("- a\n  +49 123\n  b\n", "- a\n  …\n  b\n"),
        ("- a +49\n  123 b\n", "- a …\n  … b\n"),
        ("## +49 123\n\n- b\n", "\n- b\n"),
        ("+49 123\n=======\n\n- b\n", "\n- b\n"),
        ("| a | +49 123 |\n| +49 123 | |\n", "| a | … |\n"),
        ("```\n+49 123\n\nx = +49 123\n```\n", "```\n\nx = …\n```\n"),
        ("---\nphones: [1, +49 123, 2]\ntel: +49 123\n---\n- b\n", "---\nphones: [1, 2]\ntel: …\n---\n- b\n"),
        ("- 2+49 1234\n", "- 2+49 1234\n"),
        ("> ring +49\n> 123 now\n", "> ring …\n> … now\n"),
        ("> +49\n> 123\n\nb\n", "\nb\n"),
        ("- ring **+49** 123 now\n", "- ring **…** … now\n"),
        ("- **ring +49** 123 now\n", "- **ring …** … now\n"),
        ("- ring +49 **123 now**\n", "- ring … **… now**\n"),
        ("- ring **+49\n  123** now\n", "- ring **…\n  …** now\n"),
        ("- ring <b>+49</b> [123](a.md) now\n", "- ring <b>…</b> […](a.md) now\n"),
        ("- ~~ring +49~~ 123\n", "- ~~ring …~~ …\n"),
        ("- 孙老师，+49 123。\n", "- 孙老师，…。\n"),
        ("- 14:05 +49 123, Bo\n", "- 14:05 …, Bo\n"),
    ],
)
def test_words_are_cut_out(before: str, left: str) -> None:
    assert after(before, Targets(texts=("+49 123",))) == left


def test_lines_go_once_and_from_where_they_stand() -> None:
    block = Block("memory/note.md", 3, ("- same",), 2)
    assert after("- same\n- b\n- same\n- c\n", Targets(blocks=(block,))) == "- same\n- b\n- c\n"
    assert after("- same\n- b\n- c\n", Targets(blocks=(block,))) == "- same\n- b\n- c\n"  # done already
    assert after("- same\n- same\n", Targets(blocks=(block,)), "memory/other.md") == "- same\n- same\n"


def test_entries_of_a_session_go() -> None:
    text = "- a <!-- by: agent; session: s1 -->\n  more\n- b <!-- by: agent; session: s12 -->\n"
    assert after(text, Targets(sessions=("s1",))) == "- b <!-- by: agent; session: s12 -->\n"


def test_other_encodings_stay_what_they_are() -> None:
    data = "- a\n- Mira\n- 茶\n".encode("utf-16")
    found = cut(CutNote.read(data, "memory/note.md"), MIRA)
    assert found is not None
    assert found.data == "- a\n- 茶\n".encode("utf-16")


def test_lines_move_up_by_those_that_go() -> None:
    found = cut(CutNote.read(b"- a\n- Mira\n- c\n", "memory/note.md"), MIRA)
    assert isinstance(found, Cut)
    assert [found.edit.moved(line) for line in (1, 2, 3)] == [1, None, 2]


WORD = st.sampled_from(
    ["tea", "rain", "deploys", "茶", "Tuesday", "x", "Miranda", "admiral", "~~old~~", "`code`"]
)
LINE = st.lists(WORD, min_size=1, max_size=5).map(" ".join)
HOLDING = st.tuples(LINE, st.sampled_from(["Mira", "MIRA's", "mira"]), LINE).map(" ".join)
MARKS = st.sampled_from(["- ", "- 10:20 ", "1. ", "* "])
ITEMS = st.lists(st.tuples(MARKS, st.one_of(LINE, HOLDING)).map("".join), min_size=1, max_size=12)


@given(ITEMS, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_every_other_entry_stays_as_it_is(items: list[str], end: str, ended: bool) -> None:
    text = end.join(items) + (end if ended else "")
    kept = [
        item for item in items if "mira" not in item.lower().replace("miranda", "").replace("admiral", "")
    ]
    left = after(text)
    lines = [] if left is None else [line for line in left.split(end) if line]
    assert lines == kept


EMPHASISED = st.sampled_from(["{}", "**{}**", "_{}_", "~~{}~~", "`{}`"])
AROUND = st.sampled_from(
    [("- a {} b\n", "\n  "), ("- {}, b\n", "  "), ("- {}, b\n", "\n  "), ("> a {}\n", "\n> ")]
)


@given(EMPHASISED, EMPHASISED, EMPHASISED, AROUND)
def test_marks_of_emphasis_stay_as_they_are(
    first: str, second: str, both: str, place: tuple[str, str]
) -> None:
    around, between = place
    text = around.format(both.format(first.format("Mira") + between + second.format("Chen")))
    left = after(text, Targets(texts=("Mira Chen",)))
    gaps = text.replace("Mira", "…").replace("Chen", "…")
    assert left is not None
    assert re.sub("… +…", "…", left) == re.sub("… +…", "…", gaps)


@given(ITEMS)
def test_words_go_and_all_other_lines_stay(items: list[str]) -> None:
    wanted = Targets(texts=("Mira",))
    left = after("\n".join(items) + "\n", wanted)
    lines = [] if left is None else left.split("\n")[:-1]
    holding = [wanted.matches(item) for item in items]
    kept = [item for item, holds in zip(items, holding, strict=True) if not holds]
    rest = iter(lines)  # a line that lost its words may read as another one that stays
    assert all(item in rest for item in kept), lines
    assert not wanted.matches(left or "")


@pytest.mark.parametrize(
    "row",
    [
        "- 12:46 X", "- 12:46 ~~X~~", "- [ ] 12:46 ~~X~~", "- **12:46** ~~X~~", "- 12:46: X", "- 12:46:30 X",
        "> - 12:46 ~~X~~", "- 9:46 ~~X~~", "- ~~12:46 X~~", "- 12:46 **Tim:** X", "1. 12:46 X",
        "- 12:46 ~~X~~ <!-- cp: until=2026-11-22 -->", "- 12:46 ~~X~~\n  <!-- cp: until=2026-11-22 -->",
    ],
)  # fmt: skip
def test_a_row_goes_with_its_text(row: str) -> None:
    data = f"# N\n\n{row.replace('X', 'The vase is blue.')}\n- At 12:47 it fell.\n"
    wanted = Targets(texts=("The vase is blue.",))
    assert after(data, wanted) == "# N\n\n- At 12:47 it fell.\n"
    assert "- At 12:47" in (after(data, Targets(texts=("it fell",))) or "")
