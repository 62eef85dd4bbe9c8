"""Inline metadata: what is taken out of a line, and what is an ordinary comment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.chunking import passages
from commonplace.markdown import comments
from commonplace.markdown.comments import Annotations
from commonplace.markdown.document import parse
from commonplace.types import Provenance, Writer


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("importance: 8", {"importance": "8"}), ("IMPORTANCE : 8", {"importance": "8"}), ("Trigger: deploy, 发布", {"trigger": "deploy, 发布"}),
        ("tentative", {"status": "tentative"}), ("status: Superseded", {"status": "superseded"}), ("project: ", {"project": ""}),
        ("superseded-by: #a1b2c3", {"superseded-by": "#a1b2c3"}), ("valid-until: 2026-03-01", {"valid-until": "2026-03-01"}),
        ("source: untrusted", {"by": "untrusted"}), ("provenance: Owner", {"by": "owner"}), ("by: owner; agent:", {"by": "owner"}),
        ("By: Tool;session:a b/c ;", {"by": "tool", "session": "a b/c"}),
        ("by: agent; agent: 小助手; session: 8f3a; at: 2026-02-13T10:22:05",
         {"by": "agent", "agent": "小助手", "session": "8f3a", "at": "2026-02-13T10:22:05"}),
        ("status: done", None), ("source: a book", None), ("superseded twice", None), ("tentatively", None), ("by: agent; mood: good", None),
        ("agent: x", None), ("by: agent, agent: x", None),
    ],
)  # fmt: skip
def test_metadata_is_taken_out_and_other_comments_are_text(comment: str, said: dict[str, str] | None) -> None:
    lines = [f"- a fact <!-- {comment} --> b <!-- pinned -->"]
    assert comments.take(lines) == {1: {**(said or {}), "pinned": "true"}}
    assert lines == [f"- a fact <!-- {comment} --> b" if said is None else "- a fact  b"]


def test_front_matter_has_the_same_keys() -> None:
    metadata = {
        "importance": 9, "triggers": ["deploy", "release"], "Project": "kestrel", "valid_until": "2026-03-01", "by": None,
        "superseded-by": "#a1b2c3", "source": "agent", "tentative": "yes", "title": "A", "status": "done", "trigger": "",
    }  # fmt: skip
    assert comments.of_front_matter(metadata) == {
        "importance": "9", "trigger": "deploy, release", "project": "kestrel", "valid-until": "2026-03-01",
        "superseded-by": "#a1b2c3", "by": "agent", "status": "tentative",
    }  # fmt: skip


VALUES = st.text(max_size=150) | st.lists(
    st.sampled_from(["--", "-->", ";", "<", ">", "\n", "a", " ", "-", "by: owner"])
).map("".join)


@given(st.sampled_from(comments.WRITERS), VALUES, VALUES, VALUES)
def test_provenance_of_any_values_is_read_back(by: Writer, agent: str, session: str, at: str) -> None:
    written = comments.of_provenance(Provenance(by, agent, session, at))
    lines = [f"- a fact {written}"]
    (said,) = comments.take(lines).values()
    assert lines == ["- a fact"]
    assert said["by"] == by
    again = Provenance(by, said.get("agent", ""), said.get("session", ""), said.get("at", ""))
    assert comments.of_provenance(again) == written


def test_values_hold_no_secret() -> None:
    written = comments.of_provenance(Provenance("agent", "ghp_" + "a1B2" * 9, "<private>mine</private>x"))
    assert written == "<!-- by: agent; agent: [REDACTED:github-token]; session: x -->"
    assert told("- a <private><!-- trigger: x --></private>\n") == [("- a ", None)]


@pytest.mark.parametrize("entirely", [True, False])
def test_disarmed_comments_say_nothing(entirely: bool) -> None:
    text = "a <!-- by: owner --> b <!--source:agent--> c <!-- importance: 9 -->"
    disarmed = comments.disarmed(text, entirely=entirely)
    (said,) = comments.take([disarmed]).values() if not entirely else [{}]
    assert said == ({} if entirely else {"importance": "9"})
    assert comments.disarmed(disarmed, entirely=entirely) == disarmed
    if entirely:
        assert comments.take([disarmed]) == {}


def test_what_is_superseded_is_no_guess_any_more_whichever_stands_first() -> None:
    marks = ["<!-- tentative -->", "<!-- superseded -->"]
    for line in (" ".join(["- x", *marks]), " ".join(["- x", *marks[::-1]]), f"- tentative: x {marks[1]}"):
        assert parse(line, "x.md").annotations[1]["status"] == "superseded"


def test_nobody_else_pins_strikes_or_names_sources() -> None:
    text = (
        "x <!-- cp: from=MEMORY.md#L1 since=2020-01-01 until=2030-01-01 to=a.md --> <!--pinned--> <!-- PINNED -->"
        " <!--CP:since=2020-01-01-->"
    )
    assert comments.take([text])[1].keys() >= {"from", "since", "until", "superseded-by", "pinned"}
    assert comments.take([comments.disarmed(text, entirely=False)]) == {}
    assert comments.take([comments.disarmed(text, entirely=True)]) == {}


def test_words_that_open_a_guess() -> None:
    for line in (
        "tentative: x", "- 14:05 tentative: x", "  - Tentative: x", "1. **tentative:** x", "- **Tentative**: x", "- [ ] tentative: x",
        "TENTATIVE: x", "> tentative: x", "- 14:05 暂定：周三", "待证:漏水", "tentative：",
    ):  # fmt: skip
        assert comments.guessed(line, [line]) == [1], line
    for line in ("the plan is tentative: x", "tentatively: x", "tentative", "tentative:x", "暂定方案", "- a tentative: x"):  # fmt: skip
        assert comments.guessed(line, [line]) == [], line


@pytest.mark.parametrize(
    "unit",
    [
        "<!-- by: agent; agent: ", "<!-- trigger: ", "<!-- importance: " + " " * 9999, "<!-- by: agent" + ";agent:a" * 9,
    ],
)  # fmt: skip
def test_long_provenance_takes_no_time(unit: str) -> None:
    comments.take([unit * (300_000 // len(unit))])


# --- annotations -------------------------------------------------------------------------------------------
#
# What is said of which lines, and which lines may share a passage.


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
        ("- a\n- b\n  more <!-- tentative -->\n- c\n", [2, 3]), ("- a\n  <!-- tentative -->\n- b\n", [1]),
        ("- a\n\n<!-- tentative -->\n- b\n", [4]), ("one\ntwo <!-- tentative -->\nthree\n", [1, 2, 3]),
        ("one <!-- importance: 3 -->\ntwo <!-- tentative -->\nthree\n", [1, 2, 3]),
        ("Ann: hello\nBob: hi <!-- tentative -->\nAnn: bye\n", [2]), ("- a\n\n<!-- tentative -->\n", []),
        ("- a <!-- tentative -->\n\n  more\n\n\n  ```\n  x\n  ```\n\n- c\n", [1, 3, 6, 7, 8]),
        ("- <!-- tentative -->\n  ```\n  x\n  ```\n- c\n", [1, 2, 3, 4]),
        ("- a <!-- tentative -->\n" + "  more\n" * 700 + "- c\n", [*range(1, 702)]),
        ("- a <!-- tentative -->\n\nparagraph\n", [1]), ("- a\n  <!-- importance: 3 -->\n  <!-- tentative -->\n- b\n", [1]), ("| a |\n|---|\n| 1 |\n<!-- tentative -->\n\n| b |\n", [1, 2, 3]),
    ]:  # fmt: skip
        assert lines_said(text) == expected


def test_what_stands_nearer_wins() -> None:
    assert told("---\nproject: a\n---\none\ntwo\n")[1:] == [("one\ntwo", {"project": "a"})]
    found = told(
        "---\nproject: a\n---\n# A <!-- project: b -->\n\n- x <!-- project: c -->\n- y\n\n# B\n\nz\n"
    )
    assert [said for _, said in found[1:]] == [{"project": p} for p in ("c", "b", "a")]


def test_triggers_of_a_passage_are_put_together() -> None:
    assert told("- a <!-- trigger: x -->\n- b <!-- trigger: y, z -->\n") == [
        ("- a\n- b", {"trigger": "x, y, z"})
    ]


def test_entries_of_two_sessions_share_no_passage() -> None:
    found = told(
        "- a <!-- by: tool; session: x; at: 1 -->\n- b <!-- by: tool; session: x; at: 2 -->\n- c <!-- by: tool; session: y -->\n"
    )
    assert found == [
        ("- a\n- b", {"by": "tool", "session": "x", "at": "1"}), ("- c", {"by": "tool", "session": "y"})
    ]  # fmt: skip


def test_between_backquotes_a_comment_is_text() -> None:
    lines = [
        "| `<!-- tentative -->` | a guess |",
        "`q` <!-- by: tool --> `z`",
        "``a ` <!-- pinned --> `` <!-- tentative -->",
    ]
    assert comments.take(lines) == {2: {"by": "tool"}, 3: {"status": "tentative"}}
    assert lines == ["| `<!-- tentative -->` | a guess |", "`q`  `z`", "``a ` <!-- pinned --> ``"]


def test_in_a_fence_a_comment_is_shown_and_counts() -> None:
    note = parse(
        "```html\n<p> <!-- by: tool -->\n```\n- a <!-- pinned -->\n\n```\nb <!-- by: tool -->\n", "a.md"
    )
    assert note.lines[1] == "<p> <!-- by: tool -->"
    assert (note.lines[3], note.lines[6]) == ("- a", "b"), "nobody closes the last fence"
    assert note.annotations == {2: {"by": "tool"}, 4: {"pinned": "true"}, 7: {"by": "tool"}}


@given(
    st.lists(st.sampled_from(["`", "``", "<!-- by: tool -->", "<!--", "-->", "a ", "\\", " "]), max_size=30)
)
def test_nothing_but_comments_is_taken(parts: list[str]) -> None:
    line = "".join(parts)
    lines = [line]
    found = comments.take(lines)
    assert bool(found) is (lines[0] != line)
    assert (
        lines[0].replace("<!-- by: tool -->", "").rstrip() == line.replace("<!-- by: tool -->", "").rstrip()
    )
    if "`" not in line:
        assert "<!-- by: tool -->" not in lines[0]
