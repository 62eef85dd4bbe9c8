"""What is said of which lines, and which lines may share a passage."""

from __future__ import annotations

from commonplace.chunking import passages
from commonplace.markdown.comments import Annotations
from commonplace.markdown.document import parse


def told(text: str) -> list[tuple[str, dict[str, str] | None]]:
    cut = passages.split(parse(text, "a.md"))[1]
    return [(p.text, dict(p.annotations) if p.annotations else None) for p in cut]


def lines_said(text: str) -> list[int]:
    """The lines that something is said of."""
    note = parse(text, "a.md")
    said = Annotations(note)
    return [n for n in range(1, len(note.lines) + 1) if said.of(n, n) and note.lines[n - 1].strip()]


def test_an_entry_that_calls_itself_a_guess_is_one_as_far_as_it_goes() -> None:
    text = (
        "- 14:05 tentative: a\n  more\n  - inside\n- known\n\nTentative: wrapped\nover lines\n\nafter\n"
        "```\ntentative: code\n```\n- 暂定：周三\nlazy\n"
    )
    assert lines_said(text) == [1, 2, 3, 6, 7, 13, 14]
    assert lines_said("- tentative: a <!-- superseded -->\n") == [1]
    assert told("- tentative: a <!-- superseded -->\n")[0][1] == {"status": "superseded"}


def test_nothing_is_said_of_nearly_all_notes() -> None:
    assert told("# A\n\n- a fact\n") == [("- a fact", None)]
    assert told("---\ntitle: A\n---\n\n- a fact\n")[1:] == [("- a fact", None)]


def test_front_matter_is_about_the_whole_note() -> None:
    found = told("---\nproject: kestrel\n---\n# A\n\none\n\n# B\n\ntwo\n")
    assert [said for _, said in found] == [{"project": "kestrel"}] * 3


def test_a_heading_is_about_all_that_stands_under_it() -> None:
    for text in [
        "# A <!-- tentative -->\n\none\n\n## B\n\ntwo\n\n# C\n\nthree\n",
        "# A\n<!-- tentative -->\n\none\n\n## B\n\ntwo\n\n# C\n\nthree\n",
        "A\n=\n<!-- tentative -->\none\n\nB\n-\n\ntwo\n\nC\n=\n\nthree\n",
        "# A\n<!-- importance: 5 -->\n<!-- tentative -->\n\none\n\n## B\n\ntwo\n\n# C\n\nthree\n",
    ]:
        status = {body: (said or {}).get("status") for body, said in told(text)}
        assert status == {"one": "tentative", "two": "tentative", "three": None}, text


def test_any_other_comment_is_about_its_entry() -> None:
    for text, expected in [
        ("- a\n- b <!-- tentative -->\n  more\n  - inside\n- c\n", [2, 3, 4]),
        ("- a\n- b\n  more <!-- tentative -->\n- c\n", [2, 3]),
        ("- a\n  <!-- tentative -->\n- b\n", [1]),
        ("- a\n\n<!-- tentative -->\n- b\n", [4]),
        ("one\ntwo <!-- tentative -->\nthree\n", [1, 2]),
        ("one <!-- importance: 3 -->\ntwo <!-- tentative -->\nthree\n", [1, 2]),
        ("Ann: hello\nBob: hi <!-- tentative -->\nAnn: bye\n", [2]),
        ("- a\n\n<!-- tentative -->\n", []),
        ("- a <!-- tentative -->\n\n  more\n\n\n  ```\n  x\n  ```\n\n- c\n", [1, 3, 6, 7, 8]),
        ("- <!-- tentative -->\n  ```\n  x\n  ```\n- c\n", [1, 2, 3, 4]),
        ("- a <!-- tentative -->\n" + "  more\n" * 700 + "- c\n", [*range(1, 702)]),
        ("- a <!-- tentative -->\n\nparagraph\n", [1]),
    ]:
        assert lines_said(text) == expected


def test_what_stands_nearer_wins() -> None:
    found = told(
        "---\nproject: a\n---\n# A <!-- project: b -->\n\n- x <!-- project: c -->\n- y\n\n# B\n\nz\n"
    )
    assert [said for _, said in found] == [{"project": p} for p in ("a", "c", "b", "a")]


def test_what_no_longer_holds_stands_apart() -> None:
    found = told("- old <!-- superseded -->\n- new\n- other <!-- importance: 8 -->\n")
    assert found == [("- old", {"status": "superseded"}), ("- new\n- other", {"importance": "8"})]


def test_triggers_of_a_passage_are_put_together() -> None:
    assert told("- a <!-- trigger: x -->\n- b <!-- trigger: y, z -->\n") == [
        ("- a\n- b", {"trigger": "x, y, z"})
    ]


def test_what_means_nothing_is_left_out() -> None:
    for comment in [
        "importance: much",
        "importance:",
        "valid-until: soon",
        "valid-until: 2026-02-30",
        "trigger:",
    ]:
        assert told(f"- a <!-- {comment} -->\n") == [("- a", None)]


def test_secrets_and_private_parts_say_nothing() -> None:
    found = told(
        "- a <private><!-- trigger: x --></private>\n- b <!-- trigger: password: hunter2-Tr0ub4dor -->\n"
    )
    assert "hunter2" not in str(found)
    assert "x" not in str(found[0][1])


def test_entries_of_two_sessions_share_no_passage() -> None:
    found = told(
        "- a <!-- by: tool; session: x; at: 1 -->\n- b <!-- by: tool; session: x; at: 2 -->\n- c <!-- by: tool; session: y -->\n"
    )
    assert found == [
        ("- a\n- b", {"by": "tool", "session": "x", "at": "1"}), ("- c", {"by": "tool", "session": "y"})
    ]  # fmt: skip
