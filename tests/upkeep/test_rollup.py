"""Daily notes made monthly ones: what is kept, what is left out, what points where, and taken back."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import measure_prompts as prompts
import pytest

from commonplace import Memory
from commonplace.demo import unpack
from commonplace.markdown import comments, references
from commonplace.markdown.document import parse
from commonplace.storage import journal, undo
from commonplace.types.changes import Change
from commonplace.upkeep import rollup
from commonplace.upkeep.schedule import due

SPRING = datetime.fromisoformat("2026-05-01T12:00:00+02:00")
DAY = "# 2026-01-13\n\n- 14:05 Deploys go out on Tuesdays.\n"
Make = Callable[..., Memory]

KILLED = """
import os, shutil, sys
from datetime import datetime
from pathlib import Path
from commonplace import Memory
from commonplace.upkeep import rollup
from tests.kills import deadly

template, folder, stride = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
now = datetime.fromisoformat("2026-05-01T12:00:00+02:00")

def work(root):
    with Memory.open(root) as memory:
        rollup.rollup(memory, now=now)

for n in range(1, 200, stride):
    root = folder / str(n)
    shutil.copytree(template, root)
    child = os.fork()
    if not child:
        deadly(n)
        work(root)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        print(n)
        break
else:
    print("never done")
"""


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Open a workspace with notes of these names; what is in them, as text or bytes."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    opened: list[Memory] = []

    def build(notes: dict[str, str | bytes], **overrides: object) -> Memory:
        root = tmp_path / "notes"
        (root / "memory").mkdir(parents=True, exist_ok=True)
        for name, told in {"MEMORY.md": "# Memory\n", **notes}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(told if isinstance(told, bytes) else told.encode())
        opened.append(Memory.open(root, overrides=overrides or None))
        return opened[-1]

    yield build
    for memory in opened:
        memory.close()


def roll(memory: Memory, **named: object) -> rollup.RolledUp:
    return rollup.rollup(memory, now=SPRING, **named)  # type: ignore[arg-type]


def month(memory: Memory, name: str = "2026-01") -> str:
    return (memory.workspace.memory_dir / f"{name}.md").read_text()


def files(memory: Memory) -> dict[str, bytes]:
    """Every file of a workspace that is somebody's, by path."""
    root = memory.workspace.root
    found = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def bare(text: str) -> list[str]:
    """The lines of a text without comments and blank ones."""
    lines = text.splitlines()
    comments.take(lines)
    return [line for line in lines if line.strip()]


# --- which months ---------------------------------------------------------------------------------------


def test_a_month_is_rolled_up_when_all_of_it_is_old_enough(make: Make) -> None:
    memory = make({f"memory/2026-0{n}-01.md": f"# 2026-0{n}-01\n\n- entry of {n}\n" for n in (1, 2, 3)})
    assert [found.month for found in roll(memory, older_than_days=60).months] == ["2026-01", "2026-02"]
    assert sorted(files(memory)) == [
        "MEMORY.md", "memory/2026-01.md", "memory/2026-02.md", "memory/2026-03-01.md",
    ]  # fmt: skip
    assert roll(memory, older_than_days=60).months == ()


def test_the_setting_says_how_old(make: Make) -> None:
    memory = make({"memory/2026-01-13.md": DAY}, **{"rollup.older_than_days": 200})
    assert roll(memory).months == ()
    assert len(roll(memory, older_than_days=30).months) == 1


def test_notes_that_are_no_daily_ones_stay(make: Make) -> None:
    notes: dict[str, str | bytes] = {
        "memory/plans.md": "- 2026\n",
        "memory/2026-01.md": "# January\n\n- my own\n",
    }
    memory = make(notes)
    before = files(memory)
    assert roll(memory).months == ()
    assert files(memory) == before


# --- what stands in the month ---------------------------------------------------------------------------


def test_a_month_holds_its_days_verbatim(make: Make) -> None:
    memory = make(
        {
            "memory/2026-01-13.md": "# 2026-01-13 Tuesday\n\n- 14:05 Deploys go out. <!-- by: assistant; session: s1 -->\n"
            "- 14:09 Deploys go out.\n\n## Deploy\n\n- 15:00 Rollback:\n  1. stop\n  2. deploy\n"
            "- Edited x <!-- by: tool -->\n",
            "memory/2026-01-02.md": "# 2026-01-02\n\nA paragraph of\ntwo lines.\n\n| a |\n|---|\n\n```sh\n\n# make\n```\n",
        }
    )
    done = roll(memory).months[0]
    assert month(memory) == (
        "# 2026-01-02\n\nA paragraph of\ntwo lines.\n\n| a |\n|---|\n\n```sh\n\n# make\n```\n\n"
        "# 2026-01-13 Tuesday\n\n- 14:05 Deploys go out. <!-- by: assistant; session: s1 -->\n"
        "- 14:09 Deploys go out.\n\n## Deploy\n\n- 15:00 Rollback:\n  1. stop\n  2. deploy\n"
        "- Edited x <!-- by: tool -->\n"
    )
    assert done.run is not None
    assert (done.run.about.title, done.run.about.kind) == ("rollup 2026-01", "rollup")
    assert "+- 14:05 Deploys go out." in done.diff
    note = parse(month(memory), "memory/2026-01.md")
    assert note.title == "2026-01"
    assert note.annotations[14]["since"] == "2026-01-13"


def test_what_two_notes_of_a_day_say_alike_stands_twice(make: Make) -> None:
    memory = make({"memory/2026-01-13.md": DAY, "memory/2026-01-13-b.md": DAY + "- more\n"})
    roll(memory)
    assert bare(month(memory)) == bare(DAY) + bare(DAY) + ["- more"]


def test_only_the_heading_of_a_day_is_of_the_first_level(make: Make) -> None:
    memory = make({"memory/2026-01-13.md": DAY + "\n# Other\n\n- x\n\nUnder\n---\n\n- y\n"})
    roll(memory)
    assert month(memory).splitlines()[2:] == [
        "- 14:05 Deploys go out on Tuesdays.", "", "## Other", "", "- x", "", "### Under", "", "", "- y",
    ]  # fmt: skip


def test_blank_lines_that_say_something_stay(make: Make) -> None:
    text = "# 2026-01-13\n\n<!-- pinned -->\n\n- a\n\nb\n\n- c\n\n<!-- tentative -->\n\n## D\n\n- d\n"
    memory = make({"memory/2026-01-13.md": text})
    assert roll(memory).months[0].refused == ""
    old, new = parse(text, "memory/2026-01-13.md"), parse(month(memory), "memory/2026-01.md")
    said = [
        [{k: v for k, v in one.items() if k != "since"} for one in note.annotations.values()]
        for note in (old, new)
    ]
    assert [one for one in said[0] if one] == [one for one in said[1] if one]


def test_private_parts_stay_in_their_tags(make: Make) -> None:
    day = "# 2026-01-03\n\n- <private>a\n- b</private>\n- after it\n"
    memory = make({"memory/2026-01-03.md": day})
    roll(memory)
    assert month(memory) == day
    assert "b" not in "\n".join(parse(month(memory), "memory/2026-01.md").lines).split()


@pytest.mark.parametrize(
    "open_",
    [
        "- code\n\n  ~~~\n  left open\n", "<private>\n\n```\nboth open\n", "- open <private>mine\n\n- alone\n",
        "~~~\nleft open\n", "- a <private>b <private>c</private>\n", "<!-- a\n\n- b\n",
    ],
)  # fmt: skip
def test_what_a_day_leaves_open_keeps_its_month(make: Make, open_: str) -> None:
    memory = make(
        {
            "memory/2026-01-02.md": f"# 2026-01-02\n\n{open_}",
            "memory/2026-01-03.md": "# 2026-01-03\n\n- after it\n",
        }
    )
    before = files(memory)
    (refused,) = roll(memory).months
    assert "memory/2026-01-02.md leaves a" in refused.refused
    assert files(memory) == before


def test_a_month_that_leaves_something_open_says_so(make: Make) -> None:
    memory = make(
        {"memory/2026-01.md": "# January\n\n~~~\nopen\n", "memory/2026-01-03.md": "# 2026-01-03\n\n- a\n"}
    )
    (refused,) = roll(memory).months
    told = "memory/2026-01.md leaves a code fence or a private part open; close it"
    assert refused.refused == f"2026-01: {told}; its notes stay as they are"
    memory = make(
        {"memory/2026-01.md": "# January\n", "memory/2026-01-03.md": "# 2026-01-03\n\n<!-- a\n\n- b\n"}
    )
    assert "memory/2026-01-03.md leaves a comment open" in roll(memory).months[0].refused


def test_who_wrote_a_note_by_its_front_matter_is_known_in_the_month(make: Make) -> None:
    head = "---\nby: agent\nagent: nanobot\nsession: 8f3a\n---\n"
    memory = make({"memory/2026-01-20.md": f"{head}# 2026-01-20\n\n- Tea is in the tin.\n"})
    assert [hit.start_line for hit in memory.search("tea session:8f3a").hits]
    roll(memory)
    assert [hit.path for hit in memory.search("tea session:8f3a agent:nanobot").hits] == ["memory/2026-01.md"]


def test_what_a_note_says_of_itself_goes_with_its_heading(make: Make) -> None:
    head = "---\ntags: [rome]\nimportance: 8\npinned: true\n---\n# Trip to Rome <!-- project: kestrel -->\n"
    memory = make({"memory/2026-01-20-trip.md": f"{head}\nFlight at nine.\n"})
    roll(memory)
    note = parse(month(memory), "memory/2026-01.md")
    assert note.headings[0].text == "2026-01-20 Trip to Rome"
    said = note.annotations[note.headings[0].line]
    assert (said["importance"], said["pinned"], said["project"]) == ("8", "true", "kestrel")
    assert "tags: [rome]" in month(memory)


def test_what_stands_between_rules_stays(make: Make) -> None:
    """A block that is no front matter, a comment, a title that the heading does not say: nothing is left out."""
    notes: dict[str, str | bytes] = {
        "memory/2026-01-02.md": "---\nI promised Ann the blue boat.\n---\n\n# 2026-01-02\n\n- day two\n",
        "memory/2026-01-03.md": "---\n# lemurs\ntitle: Trip\ndate: 2026-01-03\n---\n\n# 2026-01-03 Trip\n\n- day three\n",
        "memory/2026-01-04.md": "---\ntitle: Otters\n---\n\n# 2026-01-04\n\n- day four\n",
        "memory/2026-01-05.md": "---\ntitle: Trip\ndate: 2026-01-05\n---\n\n# 2026-01-05 Trip\n\n- day five\n",
    }
    memory = make(notes)
    roll(memory)
    text = month(memory)
    assert all(word in text for word in ("blue boat", "lemurs", "title: Otters"))
    assert text.count("```yaml") == 4


def test_slugs_folders_and_other_encodings(make: Make) -> None:
    notes: dict[str, str | bytes] = {
        "memory/2026-01-01-dentist.md": "- at nine\n",
        "memory/work/2026-01-01.md": "# 2026-01-01\r\n\r\n- met [Lin](../people/lin.md)\r\n",
        "memory/2026-01-02.md": "# 2026-01-02\n\n- 下午开会\n".encode("utf-16"),
        "memory/2026-01-03.md": b"\xef\xbb\xbf# 2026-01-03\r- old line ends\r- and \xff bytes\r",
        "memory/2026-01-04.md": "\n\n",
        "memory/people/lin.md": "# Lin\n",
    }
    memory = make(notes)
    roll(memory)
    text = (memory.workspace.memory_dir / "2026-01.md").read_bytes()
    assert b"\r" not in text
    assert b"\xff bytes" in text
    assert bare(text.decode("utf-8", "replace")) == [
        "# 2026-01-01", "- met [Lin](../people/lin.md)", "# 2026-01-01 dentist", "- at nine",
        "# 2026-01-02", "- 下午开会", "# 2026-01-03", "- old line ends", "- and \ufffd bytes", "# 2026-01-04",
    ]  # fmt: skip
    undo.undo(memory.workspace)
    back = files(memory)
    assert {name: back[name] for name in notes} == {
        name: told if isinstance(told, bytes) else told.encode() for name, told in notes.items()
    }


def test_a_monthly_note_that_exists_is_added_to(make: Make) -> None:
    own = "# January\r\n\r\nMy summary.\r\n\r\n## 2026-01-13\r\n\r\n- my line\r\n\r\n### Mine\r\n\r\n- deep\r\n\r\n## Later\r\n"
    memory = make(
        {
            "memory/2026-01.md": own,
            "memory/2026-01-13.md": DAY + "- my line\n",
            "memory/2026-01-02.md": "# 2026-01-02\n\n- early\n",
            "MEMORY.md": "# Memory\n\n- deep <!-- cp: from=memory/2026-01.md#L11 since=2026-01-13 -->\n",
        }
    )
    roll(memory)
    text = (memory.workspace.memory_dir / "2026-01.md").read_bytes().decode()
    assert bare(text) == [
        "# January", "My summary.", "## 2026-01-13", "- my line", "### Mine", "- deep", "## Later",
        "# 2026-01-02", "- early", "# 2026-01-13", "- 14:05 Deploys go out on Tuesdays.", "- my line",
    ]  # fmt: skip
    assert text.count("\n") == text.count("\r\n")
    rest = iter(text.splitlines())
    assert all(line in rest for line in own.splitlines())
    told = comments.sources(parse(memory.workspace.memory_file.read_text(), "MEMORY.md").annotations[3])
    line = references.parse_reference(told[0]).first
    assert text.splitlines()[line - 1] == "- deep"


def test_a_day_that_is_written_again_is_added_again_unless_it_stands_there(make: Make) -> None:
    days = {f"memory/2026-01-1{n}.md": f"---\ntags: [x]\n---\n# 2026-01-1{n}\n\n- Rain.\n" for n in (3, 4)}
    memory = make(days | {"memory/2026-01-15.md": "# 2026-01-15\n\n- Sun.\n"})
    roll(memory)
    before = month(memory)
    assert before.count("```yaml\ntags: [x]\n```\n\n- Rain.\n") == 2
    (memory.workspace.memory_dir / "2026-01-14.md").write_text(days["memory/2026-01-14.md"])
    (memory.workspace.memory_dir / "2026-01-15.md").write_text("# 2026-01-15\n\n- Sun.\n- Rain.\n")
    memory.workspace.memory_file.write_text("- Rain <!-- cp: from=memory/2026-01-14.md#L6 -->\n")
    roll(memory)
    assert month(memory) == f"{before}\n# 2026-01-15\n\n- Sun.\n- Rain.\n"
    assert "from=memory/2026-01.md#L15 -->" in memory.workspace.memory_file.read_text()
    assert before.splitlines()[14] == "- Rain."
    assert not list(memory.workspace.memory_dir.glob("*-1?.md"))


# --- what points at it ----------------------------------------------------------------------------------


def test_references_follow_and_links_stay(make: Make) -> None:
    memory = make(
        {
            "memory/2026-01-13.md": DAY + "- 15:00 Edited x <!-- by: tool -->\n- seen on the\n  second\n",
            "memory/2026-01-14.md": "# 2026-01-14\n\n- as on [the 13th](2026-01-13.md#L3)\n",
            "MEMORY.md": (
                "# Memory\n\n- Tuesdays. <!-- cp: from=memory/2026-01-13.md#L3,memory/2026-01-13.md#L5-L6 -->\n"
                "- by a tool <!-- cp: from=memory/2026-01-13.md#L4 since=2026-01-13 -->\n"
                "- old <!-- superseded-by: memory/2026-01-13.md -->\n"
                "- [all](memory/2026-01-13.md), [line](<memory/2026-01-13.md#L3>), [[2026-01-13|that day]]\n"
                "- <private>[x](memory/2026-01-13.md)</private>, memory/2026-01-13.md\n"
            ),
            "memory/plans.md": "- ~~a~~ <!-- cp: until=2026-02-01 by=owner to=memory/2026-01-13.md#L3 -->\n",
        }
    )
    roll(memory)
    lines = month(memory).splitlines()
    place = lines.index(next(line for line in lines if line.startswith("- 14:05"))) + 1
    assert memory.workspace.memory_file.read_text().splitlines()[2:] == [
        f"- Tuesdays. <!-- cp: from=memory/2026-01.md#L{place},memory/2026-01.md#L{place + 2}-L{place + 3} -->",
        f"- by a tool <!-- cp: from=memory/2026-01.md#L{place + 1} since=2026-01-13 -->",
        f"- old <!-- superseded-by: memory/2026-01.md#L1-L{place + 3} -->",
        "- [all](memory/2026-01-13.md), [line](<memory/2026-01-13.md#L3>), [[2026-01-13|that day]]",
        "- <private>[x](memory/2026-01-13.md)</private>, memory/2026-01-13.md",
    ]
    assert f"to=memory/2026-01.md#L{place} " in (memory.workspace.memory_dir / "plans.md").read_text()


def test_what_a_whole_day_replaces_stays_below_it(make: Make) -> None:
    old = "- The zebra office is in Bern <!-- superseded-by: memory/2026-01-14.md --> <!-- valid-until: 2026-01-20 -->\n"
    memory = make(
        {
            "memory/2026-01-13.md": f"# 2026-01-13\n\n{old}",
            "memory/2026-01-14.md": "# 2026-01-14\n\n- The zebra moved to Basel\n",
        }
    )

    def found() -> list[bool]:
        return ["Bern" in hit.text for hit in memory.search("zebra office Bern").hits]

    assert found() == [False, True]
    roll(memory)
    assert found() == [False, True]


# --- whole, or not at all -------------------------------------------------------------------------------


def test_a_dry_run_changes_nothing_and_shows_everything(make: Make) -> None:
    memory = make({"memory/2026-01-13.md": DAY + "- <private>mine</private>\n"})
    before = files(memory)
    done = roll(memory, dry_run=True).months[0]
    assert files(memory) == before
    assert done.run is None
    assert "memory/2026-01.md" in done.diff
    assert "mine" not in done.diff


def test_undoing_puts_every_byte_back(make: Make) -> None:
    memory = make(
        {
            "memory/2026-01-13.md": DAY.replace("\n", "\r\n"),
            "memory/2026-02-13.md": DAY.replace("-01-", "-02-"),
            "MEMORY.md": "- Tuesdays <!-- cp: from=memory/2026-01-13.md#L3 -->\n",
        }
    )
    before = files(memory)
    roll(memory)
    for _ in range(2):
        undo.undo(memory.workspace)
    assert files(memory) == before
    roll(memory)
    assert len(files(memory)) == len(before)


def test_a_note_changed_meanwhile_keeps_its_month(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = make({"memory/2026-01-13.md": DAY})
    note = memory.workspace.memory_dir / "2026-01-13.md"
    begin, late = journal.begin, ["- written while it ran\n"]

    def meanwhile(workspace: object, changes: list[Change], *rest: object, **named: object) -> object:
        if late:
            with open(note, "a") as file:
                file.write(late.pop())
        return begin(workspace, changes, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(journal, "begin", meanwhile)
    assert "was changed meanwhile" in roll(memory).months[0].refused
    assert "- written while it ran" in note.read_text()
    assert roll(memory).months[0].refused == ""
    assert "- written while it ran" in month(memory)
    assert not note.exists()
    assert len(journal.listed(memory.workspace)) == 1


def test_a_note_that_cannot_be_read_leaves_its_month_alone(make: Make) -> None:
    memory = make(
        {"memory/2026-01-13.md": b"\xff\xfe\x00\xd8\x41", "memory/2026-02-13.md": DAY.replace("-01-", "-02-")}
    )
    first, second = roll(memory).months
    assert "utf-16" in first.refused
    assert second.run is not None
    assert {"memory/2026-01-13.md", "memory/2026-02.md"} <= files(memory).keys()


def test_nobody_reads_what_was_closed_before(make: Make) -> None:
    memory = make({"memory/2026-01-13.md": DAY})
    (memory.workspace.memory_dir / "2026-01-13.md").chmod(0o600)
    roll(memory)
    assert stat.S_IMODE((memory.workspace.memory_dir / "2026-01.md").stat().st_mode) == 0o600


def test_a_closed_day_closes_the_month_that_it_is_added_to(make: Make) -> None:
    memory = make({"memory/2026-01-13.md": DAY, "memory/2026-01.md": "# January\n"})
    (memory.workspace.memory_dir / "2026-01.md").chmod(0o644)
    (memory.workspace.memory_dir / "2026-01-13.md").chmod(0o600)
    roll(memory)
    assert stat.S_IMODE((memory.workspace.memory_dir / "2026-01.md").stat().st_mode) == 0o600


def test_it_does_not_run_beside_a_consolidation(make: Make) -> None:
    memory = make({"memory/2026-01-13.md": DAY})
    with due.held(memory.workspace), pytest.raises(due.Running):
        roll(memory)
    assert "memory/2026-01-13.md" in files(memory)


@pytest.mark.parametrize("stride", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_at_any_step_the_next_one_carries_on(make: Make, stride: int, tmp_path: Path) -> None:
    memory = make(
        {
            "memory/2026-01-13.md": DAY,
            "memory/2026-01-14.md": DAY.replace("13", "14"),
            "MEMORY.md": "# Memory\n\n- Tuesdays <!-- cp: from=memory/2026-01-13.md#L3 since=2026-01-13 -->\n",
        }
    )
    old = files(memory)
    memory.close()
    folder = tmp_path / "killed"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(memory.workspace.root), str(folder), str(stride)],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    steps = int(done.stdout)
    assert steps > 10
    with Memory.open(folder / str(steps)) as whole:
        new = files(whole)
    assert new.keys() != old.keys()
    for step in range(1, steps, stride):
        with Memory.open(folder / str(step)) as killed:
            for name, data in files(killed).items():
                if not name.endswith(".tmp"):
                    assert data in (old.get(name), new.get(name)), (step, name)
            roll(killed)
            assert files(killed) == new, step
            assert journal.listed(killed.workspace)[0].state == "done"


# --- found as before ------------------------------------------------------------------------------------


def test_what_was_found_is_found_and_dated(make: Make) -> None:
    days: dict[str, str | bytes] = {
        f"memory/2026-01-{day:02}.md": f"# 2026-01-{day:02}\n\n- 10:00 {told}\n"
        for day, told in [
            (3, "The parcel locker code changed to the blue tag."),
            (19, "Lin adopted a grey cat named Fog."),
        ]
    }
    memory = make(days)
    questions = {
        "Which cat did Lin adopt?": "2026-01-19",
        "What changed with the parcel locker?": "2026-01-03",
    }
    before = {question: memory.search(question).hits[0] for question in questions}
    roll(memory)
    for question, day in questions.items():
        hit = memory.search(question).hits[0]
        assert hit.path == "memory/2026-01.md"
        assert before[question].text.strip() in hit.text
        assert day in " ".join(hit.headings)


def monthly(path: str) -> str:
    return re.sub(r"^memory/(\d{4}-\d{2})-\d{2}\.md$", r"memory/\1.md", path)


@pytest.mark.parametrize("stride", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_the_questions_of_the_demo_find_their_evidence_with_its_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stride: int
) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    root = tmp_path / "demo"
    unpack(root)
    asked = prompts.read(prompts.QUESTIONS)
    asked = replace(asked, questions=asked.questions[::stride])
    moved = [
        replace(question, expected=tuple(replace(e, path=monthly(e.path)) for e in question.expected))
        for question in asked.questions
    ]

    def days(memory: Memory, question: prompts.Question) -> set[str]:
        hits = memory.search(question.text, now=asked.today, limit=40).hits
        found = {(hit.date, e.contains) for hit in hits for e in question.expected if e.contains in hit.text}
        return {f"{day} {words}" for day, words in found if day}

    with Memory.open(root) as memory:
        before = prompts.measure(memory, asked)
        dated = [days(memory, question) for question in asked.questions]
        done = rollup.rollup(memory, now=SPRING.replace(month=9))
        assert not any(month.refused for month in done.months)
        assert sum(len(month.notes) for month in done.months) > 60
        after = prompts.measure(memory, replace(asked, questions=tuple(moved)))
        assert [days(memory, question) for question in moved] == dated
    found = {answer.question.text for answer in before.answers if answer.found}
    assert found <= {answer.question.text for answer in after.answers if answer.found}
    assert len(found) >= 0.9 * len(asked.questions)
    assert any(dated)
