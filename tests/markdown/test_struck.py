"""What is struck out of a text, and what only looks like it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.chunking import passages
from commonplace.markdown import struck
from commonplace.markdown.document import parse


def struck_lines(text: str) -> set[int]:
    return set(struck.of_note(parse(text, "a.md")))


def test_a_line_is_struck_as_a_whole() -> None:
    for line in [
        "- ~~a~~", "~~a~~", "- 14:05 ~~a~~", "  1. ~~a~~ ~~b~~", "- [x] ~~a~~", "> ~~a~~", "- Ann: ~~a~~", "**~~a~~**",
        "~~it is a ` tick~~", "~~a~~.", "~~周二发布。~~", "> [!note] ~~a~~", "~~a~~ ^block", "- ~~a~~ <!-- ~~x~~ -->",
        "~~a \\~\\~ b~~", "~~C:\\~~",
    ]:  # fmt: skip
        assert struck_lines(f"one\n{line}\n\nother `") == {2}, line


def test_any_other_tildes_are_text() -> None:
    for text in [
        "- 14:05 ~~Deploys go out on Tuesdays.~~ Mira owns them.", "- ~~周二发布。~~米拉负责。", "x ~~a~~ y ~~b~~ z", "~~a~~b~~c~~",
        "| ~~a~~ | ~~b~~ |", "`~~x~~`", "`` a ` ~~x~~ `` y", "~~~~ a", "~~~ a ~~~ b", "~a~",
        "a ~~b", "a~~ b ~~c", "a ~~ b ~~ c", "好的~~ 明天见~~", "\\~~a~~", "```\n~~x~~\n```", "~~~\n~~x~~\n~~~", "# ~~A~~",
        "<https://a/~~x~~>", "https://a/~~x~~/b", "<!-- ~~x~~ --> y", "a ~~b\nc~~ d", "- a ~~b\n- c~~ d",
        "Ann: a ~~b\nBob: c~~ d", "~~a\n# H\nb~~",
    ]:  # fmt: skip
        assert not struck_lines(text), text


def test_marks_are_taken_off_what_once_stood() -> None:
    assert [struck.plain(line) for line in ("- a ~~b~~", "- ~~a ~ b~~ <!-- c -->", "Ann: ~~a~~", "a")] == [
        None, "- a ~ b <!-- c -->", "Ann: a", None,
    ]  # fmt: skip


PIECES = st.lists(
    st.sampled_from(
        ["~~", "~", "~~~", "`", "``", "\\", " ", "\n", "\n\n", "- ", "14:05 ", "a", "词", ".", "http://x/", "<", ">",
         "](", ")", "<!--", "-->", "# ", "```\n", "| ", "Ann: ", "~~a~~", "~~词。~~"]
    ),
    max_size=30,
)  # fmt: skip


@given(PIECES)
def test_any_text_keeps_its_lines_and_loses_nothing_but_what_is_struck(parts: list[str]) -> None:
    note = parse("text\n\n" + "".join(parts), "a.md")
    found = struck.of_note(note)
    left = struck.rest(note, found)
    assert len(left.lines) == len(note.lines)
    for number, line in enumerate(note.lines, 1):
        assert left.lines[number - 1] == ("" if number in found else line)
    cut = passages.split(note)[1]
    told = [(p.start_line, p.end_line, p.text) for p in cut if "struck" not in (p.annotations or {})]
    assert told == [(p.start_line, p.end_line, p.text) for p in passages.split(left)[1]]
    gone = [range(p.start_line, p.end_line + 1) for p in cut if "struck" in (p.annotations or {})]
    assert {n for lines in gone for n in lines} == set(found)


def test_tildes_are_escaped_where_they_would_end_a_strike() -> None:
    assert "".join(struck.escaped("~a ~ b~~c~")) == "\\~a ~ b\\~\\~c\\~"
    assert [struck.says_something(line) for line in ("- [ ] 14:05 x", "- 14:05 **Ann:**", "Ann:", "1. ", "> Ann: x")] == [
        True, False, False, False, True,
    ]  # fmt: skip


def test_nothing_takes_a_time_that_grows_with_the_square() -> None:
    for text in ["~~a " * 20_000, "`" * 3 + "a``b`" * 20_000, "<!-- ~~" * 20_000, "](" * 20_000 + "~~a~~"]:
        assert 2 in struck_lines(f"{text}\n~~b~~\n")  # or this would take hours


def told(text: str, path: str = "MEMORY.md") -> list[tuple[int, int, str, dict[str, str]]]:
    return [
        (p.start_line, p.end_line, p.text, dict(p.annotations or {}))
        for p in passages.split(parse(text, path))[1]
    ]


def test_what_once_stood_has_passages_of_its_own_behind_all_others() -> None:
    text = (
        "# M\n\n- ~~Old.~~ <!-- cp: until=2026-03-02 by=owner --> <!-- trigger: old -->\n"
        "- New. <!-- cp: since=2026-03-02 -->\n- Other.\n"
    )
    found, cut = passages.split(parse(text, "MEMORY.md"))
    assert told(text) == [
        (4, 4, "- New.", {"since": "2026-03-02"}),
        (5, 5, "- Other.", {}),
        (3, 3, "- ~~Old.~~", {"until": "2026-03-02", "struck-by": "owner", "struck": "true", "replaced-by": "4-4"}),
    ]  # fmt: skip
    assert [p.section for p in cut] == [0, 0, 1]
    assert found[1].headings == found[0].headings
    assert found[1].turns == 0


def test_where_what_replaced_it_stands() -> None:
    for text, where in [
        ("- ~~a~~\n- b\n", {"beside": "2-2"}), ("- ~~a~~ <!-- cp: until=2026-03-02 -->\n- b\n", {"beside": "2-2"}),
        ("- ~~a~~ <!-- cp: until=2026-03-02 -->\n- b <!-- cp: since=2026-02-01 -->\n", {"beside": "2-2"}),
        ("- ~~a~~ <!-- cp: until=2026-03-02 -->\n- b <!-- cp: since=2026-03-02 -->\n", {"replaced-by": "2-2"}),
        ("- ~~a~~ <!-- cp: until=2026-03-02 to=MEMORY.md#L9 -->\n- b\n", {}),
        ("- ~~a~~\n  - ~~b~~\n- c\n  d\n", {"beside": "3-4"}), ("- a\n  - ~~b~~\n- c\n", {}), ("- ~~a~~\n\nb\n", {}),
        ("- ~~a~~\n\n# H\n\n- b\n", {}), ("~~a~~\n\nb\n", {"beside": "3-3"}),
    ]:  # fmt: skip
        of_struck = [said for *_, said in told(text) if "struck" in said]
        for said in of_struck:
            assert {key: said[key] for key in ("beside", "replaced-by") if key in said} == where


def test_what_is_said_of_struck_text_is_not_said_of_what_is_nested() -> None:
    text = "- ~~A.~~ <!-- cp: until=2026-03-02 by=agent to=MEMORY.md#L9 -->\n  - c\n"
    assert told(text)[0] == (2, 2, "  - c", {})


def test_facts_that_say_since_when_they_hold_stand_alone_but_with_those_of_their_heading() -> None:
    mark = "<!-- cp: since=2026-03-02 -->"
    text = f"- a {mark}\n  - more\n- b {mark}\n- c\n- d\n\n## 2026-03-02 {mark}\n\n- e {mark}\n- f {mark}\n"
    assert [told for _, _, told, _ in told(text)] == ["- a\n  - more", "- b", "- c\n- d", "- e\n- f"]
