"""A wrong statement struck wherever the notes say it, the right one beside it; guesses confirmed."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace import Memory, config
from commonplace.base.errors import ConfigError, NoteUnreadable
from commonplace.edit.correct import Correction, correct
from commonplace.edit.resolve import StatementNotFound
from commonplace.storage import journal, undo
from commonplace.types import Cited, Provenance
from tests.edit.conftest import DAY, LONG_TERM, NOW, notes

OLD, NEW = "Deploys go out on Tuesdays.", "Deploys go out on Thursdays."


def test_every_copy_is_struck_and_one_replacement_stands(memory: Memory, root: Path) -> None:
    done = memory.correct(OLD, NEW, now=NOW, why="moved")
    struck, to = "~~Deploys go out on Tuesdays.~~", "to=MEMORY.md#L6 -->"
    assert (root / "MEMORY.md").read_text() == LONG_TERM.replace(
        "- Deploys go out on Tuesdays. <!-- cp: from=memory/2026-02-13.md#L3 since=2026-02-13 -->\n",
        f"- {struck} <!-- cp: from=memory/2026-02-13.md#L3 since=2026-02-13 --> <!-- cp: until=2026-03-02 by=owner -->\n"
        f"- {NEW} <!-- cp: since=2026-03-02 -->\n",
    )
    assert (root / "memory/2026-02-13.md").read_text() == DAY.replace(
        f"- 14:05 {OLD}\n", f"- 14:05 {struck} <!-- cp: until=2026-03-02 by=owner {to}\n"
    ).replace(
        f"16:00 We met. {OLD} Mira owns them.",
        f"16:00 ~~We met. {OLD} Mira owns them.~~ <!-- cp: until=2026-03-02 by=owner {to}\n"
        "- 16:00 We met. Mira owns them.",
    )
    assert (root / "memory/2026-02-14.md").read_bytes().endswith(b"<!-- cp: from=MEMORY.md#L7 -->")
    assert done.struck == ("MEMORY.md#L5", "memory/2026-02-13.md#L3", "memory/2026-02-13.md#L5")
    assert (done.written, done.similar, done.redacted) == ("MEMORY.md#L6", (), ())
    run = journal.load(memory.workspace, done.run)
    assert run is not None
    assert (run.about.kind, run.about.title, run.about.why) == ("correct", "correct MEMORY.md#L5", "moved")


def test_an_undo_restores_the_bytes(memory: Memory, root: Path) -> None:
    before = notes(root)
    memory.correct(OLD, NEW, now=NOW)
    assert notes(root) != before
    undo.undo(memory.workspace)
    assert notes(root) == before


def test_a_dry_run_writes_nothing(memory: Memory, root: Path) -> None:
    before = notes(root)
    planned = memory.correct(OLD, NEW, now=NOW, dry_run=True)
    assert notes(root) == before
    assert not journal.names(memory.workspace)
    done = memory.correct(OLD, NEW, now=NOW)
    assert (planned.run, planned.struck, planned.written, planned.diff) == (
        "",
        done.struck,
        done.written,
        done.diff,
    )
    assert f"+- {NEW}" in done.diff


def test_struck_alone(memory: Memory, root: Path) -> None:
    done = memory.correct("MEMORY.md#L6", "", now=NOW)
    assert done.written == ""
    assert "- ~~Rollback takes two steps.~~ <!-- cp: from=" in (root / "MEMORY.md").read_text()
    assert (
        "two steps.~~ <!-- cp: until=2026-03-02 by=owner -->" in (root / "memory/2026-02-13.md").read_text()
    )


def test_an_agent_says_who_it_is(memory: Memory, root: Path) -> None:
    given = Provenance("agent", "nano", "s1")
    recalled = '<recalled-notes note="Reference data">old</recalled-notes>'
    memory.correct(OLD, f"{NEW}\nReally. <!-- by: owner -->{recalled}", now=NOW, provenance=given)
    text = (root / "MEMORY.md").read_text()
    assert "<!-- cp: until=2026-03-02 by=agent agent=nano -->" in text
    assert (
        f"- {NEW} <!-- cp: since=2026-03-02 --> <!-- by: agent; agent: nano; session: s1; at: 2026-03-02T09:30:00 -->\n"
        "  Really. <! -- by: owner -->\n"
    ) in text
    assert "recalled" not in text
    (run,) = journal.listed(memory.workspace)
    assert (run.about.by, run.about.agent, run.about.session) == ("agent", "nano", "s1")


@pytest.mark.parametrize("by", ["tool", "untrusted"])
def test_what_strangers_say_corrects_nothing(memory: Memory, root: Path, by: str) -> None:
    before = notes(root)
    with pytest.raises(ConfigError, match="corrects nothing"):
        memory.correct(OLD, NEW, provenance=Provenance(by))  # type: ignore[arg-type]
    assert notes(root) == before


def test_secrets_and_private_parts_of_the_new_one(memory: Memory, root: Path) -> None:
    done = memory.correct(OLD, "The password: hunter2Xx91a <private>mine</private>", now=NOW)
    assert done.redacted == ("password",)
    assert "- The password: [REDACTED:password] <!-- cp" in (root / "MEMORY.md").read_text()
    with pytest.raises(ConfigError, match="empty"):
        memory.correct("Rollback takes two steps.", "<private>mine</private>")


@pytest.mark.parametrize("new", [OLD, "deploys go out on tuesdays"])
@pytest.mark.parametrize("named", ["MEMORY.md#L5", "memory/2026-02-13.md#L3", OLD])
def test_what_says_the_same_is_no_correction(memory: Memory, root: Path, named: str, new: str) -> None:
    before = notes(root)
    with pytest.raises(ConfigError, match="says the same as the old one"):
        memory.correct(named, new)
    assert notes(root) == before


def test_the_same_sentence_of_a_line_is_no_correction_either(memory: Memory, root: Path) -> None:
    (root / "memory/2026-02-20.md").write_text("Nobody works on Sundays. Tea is at four.\n")
    before = notes(root)
    for named, new in (
        ("Nobody works on Sundays.", "nobody works on Sundays"),
        ("memory/2026-02-20.md#L1", "Nobody works on Sundays. Tea is at four."),
    ):
        with pytest.raises(ConfigError, match="says the same as the old one"):
            memory.correct(named, new)
    assert notes(root) == before


@pytest.mark.parametrize("new", ["<!-- hidden -->", "~~gone~~", "...", "——", "<!-- pinned --> …"])
def test_what_says_nothing_takes_no_place(memory: Memory, root: Path, new: str) -> None:
    before = notes(root)
    with pytest.raises(ConfigError, match="states nothing"):
        memory.correct(OLD, new)
    assert notes(root) == before


def test_a_private_part_that_is_never_closed_is_refused(memory: Memory, root: Path) -> None:
    before = notes(root)
    with pytest.raises(ConfigError, match="never closes it"):
        memory.correct(OLD, "Prefers <private> coffee and cake, decided with Ann.")
    assert notes(root) == before


def test_what_stands_already_is_not_written_twice(memory: Memory, root: Path) -> None:
    (root / "MEMORY.md").write_text("# Memory\n")
    (root / "memory/2026-02-19.md").write_text(f"- 10:00 {OLD}\n")
    (root / "memory/2026-02-20.md").write_text(f"- 10:00 {NEW}\n")
    done = memory.correct(OLD, NEW, now=NOW)
    assert done.written == "memory/2026-02-20.md#L1"
    assert (root / "memory/2026-02-19.md").read_text().count("Thursdays") == 0
    assert "by=owner to=memory/2026-02-20.md#L1 -->" in (root / "memory/2026-02-19.md").read_text()


def test_long_term_memory_says_itself_what_is_right(memory: Memory, root: Path) -> None:
    (root / "memory/2026-02-20.md").write_text(f"- 10:00 {NEW}\n")
    done = memory.correct(OLD, NEW, now=NOW)
    assert done.written.startswith("MEMORY.md#L")
    assert f"- {NEW} <!-- cp: since=" in (root / "MEMORY.md").read_text()


def test_beside_the_newest_where_memory_md_says_nothing(memory: Memory, root: Path) -> None:
    (root / "MEMORY.md").write_text("# Memory\n")
    (root / "memory/2026-02-20.md").write_text(f"- 10:00 {OLD}")
    done = memory.correct(OLD, NEW, now=NOW)
    assert done.written == "memory/2026-02-20.md#L2"
    assert (root / "memory/2026-02-20.md").read_text() == (
        f"- 10:00 ~~{OLD}~~ <!-- cp: until=2026-03-02 by=owner -->\n- {NEW} <!-- cp: since=2026-03-02 -->"
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_encodings_and_newlines_stay(memory: Memory, root: Path, encoding: str, newline: str) -> None:
    text = f"# Tag\n\n- ä {OLD}\n  <private>x\n  y</private> 尾\n\n- other".replace("\n", newline)
    (root / "MEMORY.md").write_bytes(text.encode(encoding))
    memory.correct("MEMORY.md#L3", "Neu\nzwei", now=NOW)
    done = (root / "MEMORY.md").read_bytes()
    assert done.decode(encoding).replace(newline, "\n") == (
        f"# Tag\n\n- ~~ä {OLD}~~ <!-- cp: until=2026-03-02 by=owner -->\n- Neu <!-- cp: since=2026-03-02 -->\n"
        "  zwei\n  <private>x\n  y</private> 尾\n\n- other"
    )
    assert done[:2] == text.encode(encoding)[:2]


def test_damaged_bytes_stay(memory: Memory, root: Path) -> None:
    (root / "MEMORY.md").write_bytes(b"- gone \xff\xfe too\n- Deploys go out on Tuesdays.\n")
    memory.correct(OLD, NEW, now=NOW)
    assert (root / "MEMORY.md").read_bytes().startswith(b"- gone \xff\xfe too\n- ~~Deploys")


def test_a_paragraph_and_a_turn(memory: Memory, root: Path) -> None:
    (root / "MEMORY.md").write_text(
        "The office is in Porto.\n\nAnn: I live in Porto these days.\nBob: me too\n"
    )
    memory.correct("The office is in Porto.", "The office is in Lisbon.", now=NOW)
    memory.correct("I live in Porto these days.", "Ann lives in Braga.", now=NOW)
    assert (root / "MEMORY.md").read_text() == (
        "~~The office is in Porto.~~ <!-- cp: until=2026-03-02 by=owner -->\n\n"
        "The office is in Lisbon. <!-- cp: since=2026-03-02 -->\n\n"
        "Ann: ~~I live in Porto these days.~~ <!-- cp: until=2026-03-02 by=owner -->\n\n"
        "Ann lives in Braga. <!-- cp: since=2026-03-02 -->\n\nBob: me too\n"
    )


def test_the_sentences_that_hold_are_restated(memory: Memory, root: Path) -> None:
    text = "# M\n\n- 14:05 Deploys are slow. Mira owns them. <!-- by: tool --> <!-- importance: 7 --> ^d\n  - more\n"
    (root / "MEMORY.md").write_text(text + "- Deploys are slow.\n- 9:00 We met. Deploys are slow.\n")
    done = memory.correct(
        "Deploys are slow.", "Deploys are fast", now=NOW, provenance=Provenance("agent", "nano")
    )
    by = "<!-- cp: until=2026-03-02 by=agent agent=nano"
    assert (root / "MEMORY.md").read_text() == (
        f"# M\n\n- 14:05 ~~Deploys are slow. Mira owns them.~~ <!-- by: tool --> <!-- importance: 7 --> {by} -->\n"
        "- 14:05 Deploys are fast. Mira owns them. <!-- cp: since=2026-03-02 --> <!-- by: tool --> <!-- importance: 7 --> ^d\n"
        f"  - more\n- ~~Deploys are slow.~~ {by} to=MEMORY.md#L4 -->\n"
        f"- ~~9:00 We met. Deploys are slow.~~ {by} to=MEMORY.md#L4 -->\n- 9:00 We met.\n"
    )
    assert done.written == "MEMORY.md#L4"
    assert done.struck == ("MEMORY.md#L3", "MEMORY.md#L6", "MEMORY.md#L7")
    memory.correct("Mira owns them.", "", now=NOW)
    assert (
        "\n- 14:05 Deploys are fast. <!-- cp: since=2026-03-02 --> <!-- by: tool"
        in (root / "MEMORY.md").read_text()
    )


def test_what_says_nearly_so_and_what_was_made_of_it(memory: Memory, root: Path) -> None:
    text = "- 9:00 The deploys on Tuesdays are slow.\n- Weekday rule. <!-- cp: from=memory/2026-02-13.md#L3 -->\n"
    (root / "MEMORY.md").write_text(text)
    done = memory.correct(OLD, NEW, now=NOW)
    assert [one.citation for one in done.similar] == ["MEMORY.md#L1", "MEMORY.md#L2"]


def test_near_misses_of_the_index_are_statements(memory: Memory, root: Path) -> None:
    (root / "MEMORY.md").write_text("# Memory\n\n- Lin hikes.\n- ~~Ann sails.~~\n- Bob cooks rice.\n")
    passage = Cited("MEMORY.md#L1-L5", "- Lin hikes. - ~~Ann sails.~~ - Bob cooks rice.")
    outside = Cited("team/team.md#L1", "Mira hikes too.")
    with pytest.raises(StatementNotFound) as raised:
        correct(
            memory.workspace, memory.settings, Correction("food at home", "", NOW),
            ask=lambda text, own: [outside, passage] if own else [],
        )  # fmt: skip
    assert [(one.citation, one.text) for one in raised.value.near] == [
        ("MEMORY.md#L3", "Lin hikes."),
        ("MEMORY.md#L5", "Bob cooks rice."),
        (outside.citation, outside.text),
    ]


def test_the_rest_of_a_line_with_a_private_part(memory: Memory, root: Path) -> None:
    (root / "MEMORY.md").write_text("- 10:00 <private>x</private> The flat is by the river.\n")
    memory.correct("The flat is by the river.", "The flat is by the sea.", now=NOW)
    first, second = (root / "MEMORY.md").read_text().splitlines()
    assert first.startswith("- 10:00 <private>x</private> ~~The flat is by the river.~~ <!--")
    assert second.startswith("- The flat is by the sea. <!--")


def test_nothing_is_written_into_a_private_part_that_is_never_closed(memory: Memory, root: Path) -> None:
    (root / "MEMORY.md").write_text("The flat is by the river. <private>x\n")
    before = notes(root)
    with pytest.raises(NoteUnreadable, match="by hand"):
        memory.correct("The flat is by the river.", "The flat is by the sea.", now=NOW)
    assert notes(root) == before


def test_collections_are_named_and_left(root: Path) -> None:
    other = root / "elsewhere"
    other.mkdir()
    (other / "team.md").write_text(f"- {OLD}\n")
    config.add_collection(root, "team", str(other))
    with Memory.open(root, overrides={"embedding.provider": "none"}) as memory:
        done = memory.correct(OLD, NEW, now=NOW)
        assert "team/team.md#L1" in [one.citation for one in done.similar]
        with pytest.raises(StatementNotFound, match="own notes"):
            memory.correct("team/team.md#L1", NEW)
        (other / "the plan.md").write_text("- Runs the boatyard in Kiel.\n")
        (root / "MEMORY.md").write_text("- Runs the dairy in Kiel.\n")
        for named in ("team/the plan.md:1", "team/the plan.md#L1", "team/the plan.md"):
            with pytest.raises(StatementNotFound, match=r"own notes; .* edit team/the plan.md by hand"):
                memory.correct(named, "Buy chain.")
        with pytest.raises(StatementNotFound, match=r"own notes; nothing else is ever changed$"):
            memory.correct("team/no such plan.md:1", "Buy chain.")
        memory.sync()
        with pytest.raises(StatementNotFound, match=r"stands in team/the plan.md#L1, .* by hand") as raised:
            memory.correct("Runs the boatyard in Kiel.", "Runs the boatyard in Bremen.")
        assert [one.citation for one in raised.value.near] == ["MEMORY.md#L1"]
    assert (other / "team.md").read_text() == f"- {OLD}\n"


def test_a_secret_of_several_lines_is_left_to_its_owner(memory: Memory, root: Path) -> None:
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
    key = f"- key -----BEGIN PRIVATE KEY-----\n  {body}\n  {body}\n  -----END PRIVATE KEY-----\n"
    (root / "MEMORY.md").write_text(key)
    before = notes(root)
    with pytest.raises(NoteUnreadable, match="by hand"):
        memory.correct("MEMORY.md#L1", "no key")
    assert notes(root) == before


def test_an_empty_workspace(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_bytes(b"")
    with (
        Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as memory,
        pytest.raises(StatementNotFound),
    ):
        memory.correct(OLD, NEW)


# --- guesses ----------------------------------------------------------------------------------------------

GUESSES = """# M

- Maybe rust. <!-- tentative --> <!-- by: agent -->
- tentative: use go for this
- 暂定：周二发布新版本
- plain

a paragraph <!-- x -->
<!-- status: tentative -->

## H <!-- tentative -->

- under a heading
"""


@pytest.mark.parametrize(
    ("named", "line", "wanted"),
    [
        ("Maybe rust.", 3, "- Maybe rust. <!-- by: agent -->"),
        ("use go for this", 4, "- use go for this"),
        ("tentative: use go for this", 4, "- use go for this"),
        ("MEMORY.md#L5", 5, "- 周二发布新版本"),
        ("a paragraph", 9, ""),
    ],
)
def test_a_guess_is_confirmed(memory: Memory, root: Path, named: str, line: int, wanted: str) -> None:
    (root / "MEMORY.md").write_text(GUESSES)
    done = memory.confirm(named, now=NOW)
    lines = GUESSES.splitlines()
    lines[line - 1] = wanted
    assert (root / "MEMORY.md").read_text().splitlines() == lines
    assert not done.rejected
    undo.undo(memory.workspace)
    assert (root / "MEMORY.md").read_text() == GUESSES


def test_a_guess_is_rejected(memory: Memory, root: Path) -> None:
    (root / "MEMORY.md").write_text(GUESSES)
    done = memory.confirm("Maybe rust.", reject=True, now=NOW)
    assert done.statements == ("MEMORY.md#L3",)
    assert (
        "- ~~Maybe rust.~~ <!-- tentative --> <!-- by: agent --> <!-- cp: until"
        in (root / "MEMORY.md").read_text()
    )


@pytest.mark.parametrize(
    ("line", "named", "wanted"),
    [
        ("tentative: Globex moves to Rome.", "Globex moves to Rome.", "Globex moves to Rome."),
        ("tentative: Globex moves to Rome.", "MEMORY.md#L3", "Globex moves to Rome."),
        ("> tentative: Quoted thing.", "Quoted thing.", "> Quoted thing."),
        ("- **tentative:** Globex bold.", "Globex bold.", "- Globex bold."),
        ("- **tentative**: Globex bold.", "Globex bold.", "- Globex bold."),
        ("- [ ] tentative: Boxed thing.", "Boxed thing.", "- [ ] Boxed thing."),
        ("- 14:05 暂定：周二发布", "周二发布", "- 14:05 周二发布"),
        ("- tea\n  - tentative: Inner thing.", "Inner thing.", "- tea\n  - Inner thing."),
        ("- tentative: tea\n  - tentative: Inner.", "Inner.", "- tentative: tea\n  - Inner."),
    ],
)
def test_a_guess_is_confirmed_however_it_is_written(
    memory: Memory, root: Path, line: str, named: str, wanted: str
) -> None:
    (root / "MEMORY.md").write_text(f"# M\n\n{line}\n")
    memory.confirm(named, now=NOW)
    assert (root / "MEMORY.md").read_text() == f"# M\n\n{wanted}\n"


@pytest.mark.parametrize(
    ("named", "reason"),
    [("plain", "not tentative"), ("under a heading", "as its heading"), ("nothing", "no statement")],
)
def test_what_cannot_be_confirmed(memory: Memory, root: Path, named: str, reason: str) -> None:
    (root / "MEMORY.md").write_text(GUESSES)
    with pytest.raises(StatementNotFound, match=reason):
        memory.confirm(named)
    assert (root / "MEMORY.md").read_text() == GUESSES


def test_remembered_as_a_guess(memory: Memory, root: Path) -> None:
    memory.remember("A hunch\nor two.", now=NOW, tentative=True, provenance=Provenance("agent", "nano"))
    text = (root / "memory/2026-03-02.md").read_text()
    assert (
        "- 09:30 A hunch <!-- tentative --> <!-- by: agent; agent: nano; at: 2026-03-02T09:30:00 -->\n  or two."
        in text
    )


# --- what stands near what is remembered ----------------------------------------------------------------------


def test_what_is_remembered_names_the_nearest_that_stand(memory: Memory, root: Path) -> None:
    before = (root / "MEMORY.md").read_bytes()
    memory.sync()
    written = memory.remember("Deploys go out on Fridays.", now=NOW)
    assert {(one.citation, one.text) for one in written.near} >= {
        ("MEMORY.md#L5", OLD),
        ("memory/2026-02-13.md#L3", OLD),
    }
    assert (root / "MEMORY.md").read_bytes() == before
    assert memory.remember("Zebras graze at dawn.", now=NOW).near == ()


def test_what_a_heading_names_is_said_of_it(memory: Memory, root: Path) -> None:
    (root / "memory/femke.md").write_text(
        "# Femke Hoekstra\n\n- vegetarian\n- 2025: left teaching\n"
        "- 2026-01: moved to Texel, works at Ecomare with the seals\n- Knows the museum of trains in Utrecht\n"
    )
    memory.sync()
    written = memory.remember("Femke now works at the Wadden museum; she left Ecomare.", now=NOW)
    assert [one.citation for one in written.near] == ["memory/femke.md#L5", "memory/femke.md#L4"]


def test_what_others_say_in_a_chat_is_not_near(memory: Memory, root: Path) -> None:
    stamp = "[19/11/2025, 18:30:00]"
    (root / "memory/chat.md").write_text(
        f"{stamp} Femke: Can Moos stay?\n{stamp} Lin: Sure\n{stamp} Femke: Zebras scare him\n"
        f"{stamp} Lin: Here are none\n{stamp} Femke: Good\n"
    )
    (root / "memory/own.md").write_text("user: Zebras graze\nann: Oh\nuser: Yes\nann: Zebras sleep\n")
    memory.sync()
    written = memory.remember("Zebras graze and scare.", now=NOW)
    assert [one.citation for one in written.near] == ["memory/own.md#L1"]


def test_of_those_that_are_as_near_the_newest_come_first(memory: Memory, root: Path) -> None:
    for month in range(1, 6):
        (root / f"memory/2025-0{month}-01.md").write_text(f"- Cat weighs {month}.3 kg\n")
    memory.sync()
    written = memory.remember("The cat now weighs 4.6 kg.", now=NOW)
    assert [one.text for one in written.near] == [f"Cat weighs {month}.3 kg" for month in (5, 4, 3)]


def test_what_no_longer_stands_is_not_near(memory: Memory, root: Path) -> None:
    (root / "MEMORY.md").write_text(
        "- Standup is at 9:30. <!-- valid-until: 2026-02-28 -->\n- Standup is at 9:45. <!-- superseded -->\n"
        "- Standup is at 9:50. <!-- tentative -->\n- ~~Standup is at 9:55.~~\n"
    )
    memory.sync()
    assert memory.remember("Standup is at 10:00.", now=NOW).near == ()
    assert memory.remember("Standup is at 10:20.", now=NOW, tentative=True).near == ()
    near = memory.remember("Standup is at 10:30.", now=NOW).near
    assert [one.text for one in near] == ["Standup is at 10:00."]


def test_no_index_is_made_for_a_write(memory: Memory) -> None:
    near = memory.remember("Deploys go out on Fridays.", now=NOW).near
    assert [one.text for one in near] == ["Deploys go out on Tuesdays."]  # of the newest lines of MEMORY.md
    assert not memory.workspace.index.exists()
