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
        ("importance: 8", {"importance": "8"}),
        ("Trigger: deploy, 发布", {"trigger": "deploy, 发布"}),
        ("project:kestrel", {"project": "kestrel"}),
        ("tentative", {"status": "tentative"}),
        ("Superseded", {"status": "superseded"}),
        ("status: tentative", {"status": "tentative"}),
        ("superseded-by: #a1b2c3", {"superseded-by": "#a1b2c3"}),
        ("valid-until: 2026-03-01", {"valid-until": "2026-03-01"}),
        ("by: tool", {"by": "tool"}),
        ("source: untrusted", {"by": "untrusted"}),
        ("provenance: Owner", {"by": "owner"}),
    ],
)
def test_metadata_is_taken_out(comment: str, said: dict[str, str]) -> None:
    lines = [f"- a fact <!-- {comment} -->"]
    assert comments.take(lines) == {1: said}
    assert lines == ["- a fact"]


@pytest.mark.parametrize(
    "comment", ["status: done", "source: a book", "by: Ann", "superseded twice", "todo", "tentatively"]
)
def test_other_comments_are_text(comment: str) -> None:
    lines = [f"- a fact <!-- {comment} -->"]
    assert comments.take(lines) == {}
    assert lines == [f"- a fact <!-- {comment} -->"]


def test_a_line_may_hold_several() -> None:
    lines = ["- a <!-- importance: 8 --> b <!-- tentative -->"]
    assert comments.take(lines) == {1: {"importance": "8", "status": "tentative"}}


def test_front_matter_has_the_same_keys() -> None:
    metadata = {
        "importance": 9, "triggers": ["deploy", "release"], "Project": "kestrel", "valid_until": "2026-03-01",
        "superseded-by": "#a1b2c3", "source": "agent", "tentative": True, "title": "A", "tags": ["x"],
    }  # fmt: skip
    assert comments.of_front_matter(metadata) == {
        "importance": "9", "trigger": "deploy, release", "project": "kestrel", "valid-until": "2026-03-01",
        "superseded-by": "#a1b2c3", "by": "agent", "status": "tentative",
    }  # fmt: skip


def test_front_matter_of_others_says_nothing() -> None:
    metadata = {
        "status": "done",
        "source": "https://a.example",
        "by": None,
        "superseded": False,
        "trigger": "",
    }
    assert comments.of_front_matter(metadata) == {}


def test_a_line_full_of_openings_takes_no_time() -> None:
    lines = ["<!-- trigger: " * 20_000]
    assert comments.take(lines) == {}


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("by: agent; agent: nanobot; session: 8f3a; at: 2026-02-13T10:22:05",
         {"by": "agent", "agent": "nanobot", "session": "8f3a", "at": "2026-02-13T10:22:05"}),
        ("By: Tool;session:a b/c ;", {"by": "tool", "session": "a b/c"}),
        ("source: untrusted; agent: 小助手", {"by": "untrusted", "agent": "小助手"}),
        ("by: owner; agent:", {"by": "owner"}),
    ],
)  # fmt: skip
def test_provenance_is_taken_out(comment: str, said: dict[str, str]) -> None:
    lines = [f"- a fact <!-- {comment} -->"]
    assert comments.take(lines) == {1: said}
    assert lines == ["- a fact"]


@pytest.mark.parametrize(
    "comment", ["by: agent; mood: good", "by: Ann; agent: x", "agent: x", "session: x", "by: agent, agent: x"]
)
def test_other_keys_make_it_an_ordinary_comment(comment: str) -> None:
    lines = [f"- a fact <!-- {comment} -->"]
    assert comments.take(lines) == {}


VALUES = st.text(max_size=150) | st.lists(
    st.sampled_from(["--", "-->", ";", "<", ">", "\n", "a", " ", "-", "by: owner"])
).map("".join)


@given(st.sampled_from(comments.WRITERS), VALUES, VALUES, VALUES)
def test_provenance_of_any_values_is_read_back(by: Writer, agent: str, session: str, at: str) -> None:
    written = comments.of_provenance(Provenance(by, agent, session, at))
    lines = [f"- a fact {written}"]
    assert "\n" not in written
    (said,) = comments.take(lines).values()
    assert lines == ["- a fact"]
    assert said["by"] == by
    assert (
        comments.of_provenance(
            Provenance(by, said.get("agent", ""), said.get("session", ""), said.get("at", ""))
        )
        == written
    )


def test_plain_values_come_back_as_they_were() -> None:
    written = comments.of_provenance(Provenance("agent", "nanobot", "tg:12/34_5", "2026-02-13T10:22:05"))
    assert written == "<!-- by: agent; agent: nanobot; session: tg:12/34_5; at: 2026-02-13T10:22:05 -->"
    assert comments.of_provenance(Provenance("owner")) == "<!-- by: owner -->"


def test_values_hold_no_secret() -> None:
    written = comments.of_provenance(Provenance("agent", "ghp_" + "a1B2" * 9, "<private>mine</private>x"))
    assert written == "<!-- by: agent; agent: [REDACTED:github-token]; session: x -->"


def test_a_writer_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="must be one of"):
        comments.of_provenance(Provenance("nobody"))  # type: ignore[arg-type]


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


@pytest.mark.parametrize(
    "line",
    ["tentative: x", "- 14:05 tentative: x", "  - Tentative: x", "1. **tentative:** x", "- **Tentative**: x", "- [ ] tentative: x",
     "TENTATIVE: x", "- **TENTATIVE:** x",
     "> tentative: x", "- 14:05 暂定：周三", "待证:漏水", "tentative："],
)  # fmt: skip
def test_words_that_open_a_guess(line: str) -> None:
    assert comments.guessed(line, [line]) == [1]


@pytest.mark.parametrize(
    "line",
    [
        "the plan is tentative: x",
        "tentatively: x",
        "tentative",
        "tentative:x",
        "暂定方案",
        "- a tentative: x",
    ],
)
def test_words_that_open_none(line: str) -> None:
    assert comments.guessed(line, [line]) == []


@pytest.mark.parametrize(
    "unit",
    ["<!-- by: agent; ", "<!-- by: agent; agent: ", ";agent:", "<!--", "<!-- by: agent" + ";agent:a" * 9],
)
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


def test_nothing_is_said_of_nearly_all_notes() -> None:
    assert told("# A\n\n- a fact\n") == [("- a fact", None)]
    assert told("---\ntitle: A\n---\n\n- a fact\n")[1:] == [("- a fact", None)]


def test_front_matter_is_about_the_whole_note() -> None:
    found = told("---\nproject: kestrel\n---\n# A\n\none\n\n# B\n\ntwo\n")
    assert [said for _, said in found] == [
        {"project": "kestrel", "role": "front"},
        *[{"project": "kestrel"}] * 2,
    ]


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
        ("one\ntwo <!-- tentative -->\nthree\n", [1, 2, 3]),
        ("one <!-- importance: 3 -->\ntwo <!-- tentative -->\nthree\n", [1, 2, 3]),
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
    assert [said for _, said in found[1:]] == [{"project": p} for p in ("c", "b", "a")]


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
