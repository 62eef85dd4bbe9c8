"""Consolidation of a workspace: what is written, kept, moved, proposed, and what it never touches."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.base.errors import NoteUnreadable, PreviewOutdated, ProviderError
from commonplace.markdown.document import Document, Edit
from commonplace.memory import Memory
from commonplace.providers.fake import FakeModel
from commonplace.providers.llm.client import Client
from commonplace.storage import journal, transaction, undo
from commonplace.upkeep.consolidation import Consolidation, consolidate, run, sources
from commonplace.upkeep.consolidation import page as standing
from commonplace.upkeep.schedule import due
from tests.upkeep.consolidation import plans, verifier

NOW = plans.NOW
DAY = "memory/2026-02-13.md"
Open = Callable[..., Memory]


@pytest.fixture
def opened(tmp_path: Path):  # type: ignore[no-untyped-def]
    made: list[Memory] = []

    def make(long_term: str | bytes | None, notes: dict[str, str], **overrides: object) -> Memory:
        root = tmp_path / "notes"
        (root / "memory").mkdir(parents=True, exist_ok=True)
        if long_term is not None:
            data = long_term if isinstance(long_term, bytes) else long_term.encode()
            (root / "MEMORY.md").write_bytes(data)
        for path, text in notes.items():
            (root / path).write_text(text, "utf-8")
        named = {key.replace("__", "."): value for key, value in overrides.items()}
        memory = Memory.open(root, overrides={"embedding.provider": "none", "history.git": "off", **named})
        made.append(memory)
        return memory

    yield make
    for memory in made:
        memory.close()


def planned(memory: Memory, *operations: dict[str, object], **named: object) -> Consolidation:
    llm = Client(FakeModel(verifier.scripted(plans.answer([*operations]))))
    return consolidate(memory, llm, now=NOW, **named)  # type: ignore[arg-type]


def long_term(memory: Memory) -> str:
    return memory.workspace.memory_file.read_bytes().decode()


def add(number: int, text: str, section: str = "") -> dict[str, object]:
    return plans.op("add", [], [f"{DAY}#L{number}"], text, section)


NOTE = "# 2026-02-13\n\n- 09:00 Priya is vegetarian.\n- 10:00 We decided that deploys go out on Thursdays.\n"
OLD = "# Memory\n\n## Decisions\n\n- Deploys go out on Tuesdays.\n- Backups run at 04:00.\n- The NAS has four disks.\n- Standup is at 10:15.\n"


def test_a_line_is_added_with_its_source(opened: Open) -> None:
    memory = opened(OLD, {DAY: NOTE})
    done = planned(memory, add(3, "Priya is vegetarian."))
    assert done.run is not None
    assert done.run.about.title == "consolidate 2026-02-07..13"
    assert (
        long_term(memory)
        == OLD + f"\n## Facts\n\n- Priya is vegetarian. <!-- cp: from={DAY}#L3 since=2026-02-13 -->\n"
    )
    undo.undo(memory.workspace)
    assert long_term(memory) == OLD


def test_what_is_replaced_is_struck_beside_the_new_one(opened: Open) -> None:
    memory = opened(OLD, {DAY: NOTE})
    planned(memory, plans.op("supersede", ["M1"], [f"{DAY}#L4"], "Deploys go out on Thursdays."))
    assert long_term(memory).split("\n")[4:6] == [
        "- ~~Deploys go out on Tuesdays.~~ <!-- cp: until=2026-02-13 by=agent agent=consolidate -->",
        f"- Deploys go out on Thursdays. <!-- cp: from={DAY}#L4 since=2026-02-13 -->",
    ]


@pytest.mark.parametrize(("until", "holds"), [("2026-02-12", True), ("2026-02-13", False)])
def test_who_changes_their_mind_twice_is_believed(opened: Open, until: str, holds: bool) -> None:
    struck = f"- ~~Priya is vegetarian.~~ <!-- cp: until={until} by=owner -->\n"
    memory = opened(OLD + struck, {DAY: NOTE})
    done = planned(memory, add(3, "Priya is vegetarian."))
    assert (done.run is not None) is holds
    assert ("- Priya is vegetarian. <!--" in long_term(memory)) is holds


def test_merged_entries_point_to_the_new_one(opened: Open) -> None:
    text = "# Memory\n\n## A\n\n- The NAS has four disks.\n- x one\n- x two\n- x three\n- x four\n- x five\n- x six\n- Four disks has the NAS.\n"
    memory = opened(text, {DAY: NOTE})
    planned(
        memory,
        plans.op("merge", ["M1", "M8"], [], "The NAS has four disks."),
        add(3, "Priya is vegetarian.", "A"),
    )
    lines = long_term(memory).split("\n")
    assert lines[5].startswith("- The NAS has four disks. <!-- cp: from=MEMORY.md#L5,MEMORY.md#L13")
    assert lines[12].startswith("- ~~Four disks has the NAS.~~")
    assert "to=MEMORY.md#L6" in lines[12]
    assert lines[13].startswith("- Priya is vegetarian.")
    again = planned(memory)
    assert (again.orphans, again.diff) == ((), "")


def test_everything_else_stays_byte_for_byte(opened: Open) -> None:
    text = "\ufeff---\ntitle: Ours\n---\r\n# Memory\r\n\r\n## Keys\r\n\r\n- api_key = sk-proj-4f9aQ7LmZ2xW8vB3nT6yR1cK5dH0jP\r\n- <private>4711</private> safe\r\n## Preferences\r\n\r\n* Tea.\t \r\n"
    memory = opened(text.encode(), {DAY: NOTE})
    done = planned(memory, add(3, "Priya is vegetarian.", "Preferences"))
    assert (
        long_term(memory) == text + f"- Priya is vegetarian. <!-- cp: from={DAY}#L3 since=2026-02-13 -->\r\n"
    )
    assert "sk-proj" not in done.diff
    assert "4711" not in done.diff


def test_a_dry_run_writes_nothing(opened: Open) -> None:
    memory = opened(OLD, {DAY: NOTE})
    done = planned(memory, add(3, "Priya is vegetarian."), add(3, "Priya eats steak."), dry_run=True)
    assert long_term(memory) == OLD
    assert "+- Priya is vegetarian." in done.diff
    assert [r.reason for r in done.rejected] == [
        "not supported: has too many words that are not in the source"
    ]
    assert journal.names(memory.workspace) == []


def test_what_does_not_fit_goes_to_the_archive(opened: Open) -> None:
    old = "".join(
        f"- ~~Fact {n} was of no use to anybody at all.~~ <!-- cp: until=2026-01-{n:02} -->\n"
        for n in range(10, 20)
    )
    made = "".join(
        f"- Made {n}, which is long enough to count. <!-- cp: from={DAY}#L3 since=2026-01-{n} -->\n"
        for n in range(10, 13)
    )
    memory = opened(
        f"# Memory\n\n## Facts\n\n{old}{made}- Mine <!-- pinned -->\n- My own.\n",
        {DAY: NOTE},
        consolidate__max_chars=500,
    )
    done = planned(memory, add(3, "Priya is vegetarian.", "Facts"))
    assert len(long_term(memory)) <= 500
    archive = (memory.workspace.root / "memory" / "archive.md").read_text()
    assert archive.startswith("# Archive\n\n## Facts\n\n- ~~Fact 10")
    assert "until=2026-01-10 -->" in archive
    assert "- Mine <!-- pinned -->\n- My own.\n" in long_term(memory)
    assert "- Priya is vegetarian." in long_term(memory)
    assert len(done.archived) >= 10
    files = [file.path for file in done.run.files] if done.run else []
    assert files == ["memory/archive.md", "MEMORY.md"]


def test_what_the_owner_made_too_long_is_told_and_kept(opened: Open) -> None:
    text = "# Memory\n\n" + "".join(f"- My own line number {n}.\n" for n in range(40))
    memory = opened(text, {DAY: NOTE}, consolidate__max_chars=500)
    done = planned(memory, add(3, "Priya is vegetarian."))
    assert long_term(memory) == text
    assert [r.reason for r in done.rejected] == ["does not fit into 500 characters"]
    assert any("shorten it by hand" in warning for warning in done.warnings)


def test_moved_sources_are_found_again_and_lost_ones_told(opened: Open) -> None:
    memory = opened(OLD, {DAY: NOTE})
    planned(memory, add(3, "Priya is vegetarian."))
    note = memory.workspace.root / DAY
    note.write_text(NOTE.replace("\n- 09:00", "\n- 08:00 Rain.\n- 09:00"))
    planned(memory)
    assert f"from={DAY}#L4 " in long_term(memory)
    note.write_text(NOTE.replace("Priya is vegetarian", "Priya eats meat"))
    done = planned(memory)
    assert [(o.reference, o.reason) for o in done.orphans] == [(f"{DAY}#L4", "says something else")]
    assert "Priya is vegetarian" in long_term(memory)


def test_of_a_plan_the_chosen_lines_are_written_without_asking_again(opened: Open) -> None:
    note = NOTE + "- Noor lives in Bergen.\n"
    memory = opened(OLD, {DAY: note})
    number = note[: note.index("- Noor")].count("\n") + 1
    proposed = planned(
        memory, add(3, "Priya is vegetarian."), add(number, "Noor lives in Bergen."), dry_run=True
    )
    assert [item.text for item in proposed.accepted] == ["Priya is vegetarian.", "Noor lives in Bergen."]
    assert long_term(memory) == OLD
    (memory.workspace.root / DAY).write_text(f"# Rain\n\n{note}")  # where sources stand has changed since
    done = run.accept(memory, proposed, [1, 1], now=NOW)
    assert done.run is not None
    assert "1 of 2 proposed lines" in done.run.about.why
    assert "Noor lives in Bergen." in long_term(memory)
    assert "Priya" not in long_term(memory)
    assert f"from={DAY}#L{number + 2} " in long_term(memory)
    with pytest.raises(PreviewOutdated):
        run.accept(memory, proposed, [0], now=NOW)


def test_a_source_that_is_gone_keeps_its_line_out(opened: Open) -> None:
    memory = opened(OLD, {DAY: NOTE})
    proposed = planned(memory, add(3, "Priya is vegetarian."), dry_run=True)
    (memory.workspace.root / DAY).write_text(NOTE.replace("Priya", "Nobody"))
    done = run.accept(memory, proposed, [0], now=NOW)
    assert (done.run, done.accepted, len(done.rejected)) == (None, (), 1)
    assert long_term(memory) == OLD


def test_without_a_model_things_are_proposed(opened: Open) -> None:
    text = (
        "# Memory\n\n## A\n\n"
        + "".join(f"- Line {n} of mine is here.\n" for n in range(7))
        + "- The NAS has four disks.\n- The NAS has the four disks.\n- Old thing <!-- valid-until: 2026-01-01 -->\n- Appointment on 2025-11-03 at 09:00.\n- a b c d\n- e f g h\n- i j k l\n- m n o p\n- q r s t\n- u v w x\n"
    )
    memory = opened(text, {DAY: NOTE})
    done = consolidate(memory, None, now=NOW)
    assert done.run is None
    assert long_term(memory) == text
    assert {o.op for o in done.proposals} == {"merge", "expire"}
    assert consolidate(memory, None, now=NOW, accept=True).run is not None
    assert long_term(memory).count("~~") == 6


@pytest.mark.parametrize("failure", [ProviderError("fake", "is out"), "no json at all", "{}"])
def test_a_failing_model_is_none(opened: Open, failure: str | Exception) -> None:
    memory = opened(OLD, {DAY: NOTE})
    done = consolidate(memory, Client(FakeModel([failure, failure])), now=NOW)
    assert done.run is None
    assert "no language model planned this" in done.warnings[0]
    assert long_term(memory) == OLD


def test_an_interrupted_call_leaves_all_as_it_was(opened: Open) -> None:
    memory = opened(OLD, {DAY: NOTE})

    def interrupt(request: object) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        consolidate(memory, Client(FakeModel(interrupt)), now=NOW)
    assert long_term(memory) == OLD
    assert planned(memory, add(3, "Priya is vegetarian.")).run is not None


def test_what_changed_meanwhile_is_looked_up_again(opened: Open) -> None:
    memory = opened(OLD, {DAY: NOTE})

    def edit(request: object) -> str:
        (memory.workspace.root / DAY).write_text(
            NOTE.replace("- 09:00 Priya", "- 08:00 Rain.\n- 09:00 Priya").replace("Thursdays", "Fridays")
        )
        (memory.workspace.root / "MEMORY.md").write_text(
            OLD.replace("- Backups", "- New of mine.\n- Backups")
        )
        return plans.answer([add(3, "Priya is vegetarian."), add(4, "Deploys go out on Thursdays.")])  # type: ignore[list-item]

    done = consolidate(memory, Client(FakeModel(verifier.scripted(edit))), now=NOW)
    assert [r.reason for r in done.rejected] == [f"no such source: {DAY}#L4"]
    assert f"from={DAY}#L4 " in long_term(memory)
    assert "- New of mine." in long_term(memory)


OPEN = [
    ("<private>\n- x\n", "`<private>` of line 10 is never closed; close it first"),
    ("```\n- x\n", "the code fence of line 10 is never closed; close it first"),
    (
        "<<<<<<< HEAD\n- x\n=======\n- y\n>>>>>>> other\n",
        "has conflict markers (line 10); resolve them first",
    ),
]


@pytest.mark.parametrize(("tail", "reason"), OPEN)
def test_what_is_left_open_is_refused_before_the_model_is_asked(opened: Open, tail: str, reason: str) -> None:
    memory = opened(f"{OLD}\n{tail}", {DAY: NOTE, "memory/archive.md": f"# Archive\n{tail}"})
    with pytest.raises(NoteUnreadable, match=re.escape(reason.replace("10", "2"))):
        planned(memory)
    (memory.workspace.root / "memory" / "archive.md").unlink()
    with pytest.raises(NoteUnreadable) as refused:
        consolidate(memory, Client(FakeModel([])), now=NOW)
    assert str(refused.value) == f"MEMORY.md: {reason}"
    assert long_term(memory) == f"{OLD}\n{tail}"


def test_what_would_be_no_entry_is_not_written(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = opened(OLD, {DAY: NOTE})

    def insert(document: Document, entry: str, heading: str) -> Edit:
        return Edit(document.with_text(f"{document.text}  {entry}\n"), range(1, len(document.lines) + 1))

    monkeypatch.setattr(Document, "insert", insert)
    done = planned(memory, add(3, "Priya is vegetarian."))
    assert [r.reason for r in done.rejected] == ["would not stand as an entry of Facts"]
    assert (done.run, long_term(memory)) == (None, OLD)


def test_a_paragraph_is_replaced_by_one_of_its_own(opened: Open) -> None:
    memory = opened(OLD.replace("- Deploys", "Deploys").replace("- Back", "\n- Back"), {DAY: NOTE})
    planned(memory, plans.op("supersede", ["M1"], [f"{DAY}#L4"], "Deploys go out on Thursdays."))
    page = standing.read(long_term(memory), "MEMORY.md")
    assert [(e.label, e.text) for e in page.entries][:2] == [
        ("", "Deploys go out on Tuesdays."), ("M1", "Deploys go out on Thursdays."),
    ]  # fmt: skip


def test_never_two_at_once(opened: Open) -> None:
    memory = opened(OLD, {DAY: NOTE})
    with due.held(memory.workspace), pytest.raises(due.Running):
        consolidate(memory, None, now=NOW)


def test_contradictions_are_told(opened: Open) -> None:
    memory = opened(OLD, {DAY: NOTE})
    against = plans.op("conflict", ["M1"], [f"{DAY}#L4"])
    done = planned(memory, against, plans.op("conflict", ["M2"], [f"{DAY}#L4"]))
    assert [(c.source.label, c.entry.text) for c in done.contradictions] == [
        (f"{DAY}#L4", "Deploys go out on Tuesdays.")
    ]
    assert [r.reason for r in done.rejected] == ["no source speaks of it"]
    assert (done.run, long_term(memory)) == (None, OLD)
    again = planned(memory, add(4, "Deploys go out on Thursdays."), days=8)
    assert [r.reason for r in again.rejected] == ["takes the place of M1: supersede it"]


@pytest.mark.parametrize("text", [None, "", "# Memory\n"])
def test_a_workspace_without_entries(opened: Open, text: str | None) -> None:
    memory = opened(text, {DAY: NOTE})
    planned(memory, add(3, "Priya is vegetarian."))
    assert long_term(memory).startswith("# Memory\n\n## Facts\n\n- Priya is vegetarian.")
    assert consolidate(opened(text, {}), None, now=NOW).candidates >= 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_workspace_that_cannot_be_written(opened: Open) -> None:
    memory = opened(OLD, {DAY: NOTE})
    root = memory.workspace.root
    root.chmod(0o555)
    try:
        with pytest.raises(NoteUnreadable):
            planned(memory, add(3, "Priya is vegetarian."))
        assert planned(memory, add(3, "Priya is vegetarian."), dry_run=True).diff
    finally:
        root.chmod(0o755)


def test_the_prompt_keeps_to_its_tokens(opened: Open) -> None:
    note = "# 2026-02-13\n\n" + "".join(
        f"- Person{n} Smith is the owner of service number {n}.\n" for n in range(300)
    )
    memory = opened(OLD, {DAY: note}, llm__input_tokens=3000)
    asked = run.estimate(memory, now=NOW)
    assert asked.left_out > 0
    assert asked.left_out + len(asked.shown) == 300
    from commonplace.base.tokens import about

    assert sum(about(m.content) for m in asked.messages) <= 3000


def test_which_statements_are_never_candidates(opened: Open) -> None:
    note = (
        "# 2026-02-13\n\n- Mira owns billing.\n- ~~Lin owns billing.~~ <!-- cp: until=2026-02-13 by=owner -->\n"
        "- Zed owns billing. <!-- tentative -->\n- Ann owns billing. <!-- valid-until: 2026-01-01 -->\n"
        "- Vendor owns billing. <!-- by: untrusted -->\n- Tool owns billing. <!-- by: tool -->\n"
        "- Old owns billing. <!-- superseded -->\n- Gen owns billing. <!-- cp: from=memory/a.md#L1 since=2026-01-01 -->\n"
        "- <private>Eve owns billing.</private>\n- password = hunter2Xq9zz owns billing\n"
        "- strange purple machine <!-- importance: 9 -->\n\n## Observations\n\n- Bob owns billing.\n\n"
        "## Session summaries\n\n- Asked – Who owns billing here?\n- Done – Mira owns billing now.\n- Decided – Mira owns billing alone.\n"
    )  # fmt: skip
    memory = opened(OLD, {DAY: note})
    assert [c.text for c in sources.read(memory, 7, NOW)] == [
        "Mira owns billing.",
        "strange purple machine",
        "Mira owns billing alone.",
    ]


def test_an_answer_lasts_over_headings_of_its_own(opened: Open) -> None:
    note = (
        "# 2026-02-13\n\n## Chat\n\n**User:** I prefer tea to coffee.\n\n**Assistant:** Sure, this one.\n\n"
        "### Why\n\n- You always want dark mode.\n\nYours\n---\n\n- Ann owns mail.\n\n**User:** I live in Porto.\n\n**Assistant:** Good.\n\n"
        "## Mine\n\n- Mira owns billing.\n"
    )
    memory = opened(OLD, {DAY: note})
    told = [c.text for c in sources.read(memory, 7, NOW)]
    assert told == ["I prefer tea to coffee.", "I live in Porto.", "Mira owns billing."]


def test_an_answer_begins_behind_code_that_is_left_open(opened: Open) -> None:
    note = "# 2026-02-13\n\n**User:** Look here ```py\nlook(1)\n```\n\n**Assistant:** Sure.\n```py\ny\n```\n- Mira owns billing.\n"
    memory = opened(OLD, {DAY: note})
    assert [c.text for c in sources.read(memory, 7, NOW)] == ["Look here ```py look(1)"]


def test_what_the_user_says_comes_without_the_label(opened: Open) -> None:
    note = "# 2026-02-13\n\n**User:** Thanks, bye.\n\n- **User:** Good morning Bob.\n\nMe: I live in Porto.\n"
    memory = opened(OLD, {DAY: note})
    assert [c.text for c in sources.read(memory, 7, NOW)] == [
        "Thanks, bye.",
        "Good morning Bob.",
        "I live in Porto.",
    ]


def test_what_three_questions_led_to_comes_first(opened: Open) -> None:
    memory = opened(OLD, {DAY: "# 2026-02-13\n\n- zebra stripes quagga\n"})
    for question in ("zebra", "stripes", "quagga"):
        assert memory.search(question).hits
        assert [c.asked for c in sources.read(memory, 7, NOW)] == [0]
        memory.get(f"{DAY}#L3")
    assert [c.asked for c in sources.read(memory, 7, NOW)] == [3]


# Forks a child for each so many steps, which is killed there, in a workspace of its own; the last comes through.
KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from commonplace.memory import Memory
from commonplace.upkeep.consolidation import consolidate
from commonplace.providers.llm.client import Client
from commonplace.providers.fake import FakeModel
from tests.upkeep.consolidation import plans, verifier
os.fsync = lambda descriptor: None  # a kill cuts no power
template, folder, stride, left = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), 0
def counted(name):
    real = getattr(os, name)
    def call(*a, **k):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*a, **k)
    setattr(os, name, call)
settings = {"embedding.provider": "none", "history.git": "off", "consolidate.max_chars": 500}
answer = plans.answer([plans.op("add", [], ["memory/2026-02-13.md#L3"], "Priya is vegetarian.", "Facts")])
for step in range(1, 200, stride):
    root = folder / f"{step:03}"
    shutil.copytree(template, root)
    child = os.fork()
    if not child:
        memory = Memory.open(root, overrides=settings)
        for name in ("fsync", "replace", "rename"):
            counted(name)
        left = step
        consolidate(memory, Client(FakeModel(verifier.scripted(answer))), now=plans.NOW)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.parametrize("stride", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_at_any_step_the_files_are_old_or_new(tmp_path: Path, stride: int) -> None:
    struck = "".join(
        f"- ~~Fact {n} was of no use to anybody at all.~~ <!-- cp: until=2026-01-{n:02} -->\n"
        for n in range(10, 20)
    )
    old = f"# Memory\n\n## Facts\n\n{struck}- My own.\n"
    template, folder = tmp_path / "template", tmp_path / "killed"
    (template / "memory").mkdir(parents=True)
    folder.mkdir()
    (template / "MEMORY.md").write_text(old)
    (template / DAY).write_text(NOTE)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parents[3])])}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(template), str(folder), str(stride)],
        capture_output=True, env=environment, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    roots = sorted(folder.iterdir())
    assert len(roots) * stride > 5
    settled = []
    for root in roots:
        with Memory.open(root, overrides={"embedding.provider": "none", "history.git": "off"}) as memory:
            archive = root / "memory" / "archive.md"
            kept = archive.read_text() if archive.exists() else ""
            for line in old.split("\n"):
                assert line in (root / "MEMORY.md").read_text() + kept, (root, line)
            transaction.recover(memory.workspace)
            settled.append((root / "MEMORY.md").read_text())
            assert settled[-1] == old or ("Priya is vegetarian." in settled[-1] and archive.exists()), root
    assert settled[-1] != old


def test_what_else_an_entry_says_keeps_it(opened: Open) -> None:
    filler = "".join(f"- Line {n} of mine is here.\n" for n in range(8))
    text = f"# Memory\n\n## A\n\n{filler}- Tomas left on 17 April 2025. The meeting was short.\n- Ann left on 2025-04-17.\n"
    assert consolidate(opened(text, {}), None, now=NOW).proposals == ()


def test_what_belongs_to_an_entry_is_never_struck_with_it(opened: Open) -> None:
    text = OLD.replace("Tuesdays.\n", "Tuesdays.\n  - Zed watches them.\n")
    memory = opened(text, {DAY: NOTE})
    done = planned(memory, plans.op("supersede", ["M1"], [f"{DAY}#L4"], "Deploys go out on Thursdays."))
    assert [r.reason for r in done.rejected] == ["M1 has entries of its own below it"]
    assert long_term(memory) == text


def test_a_conflict_that_a_fence_shows_is_none(opened: Open) -> None:
    memory = opened(f"{OLD}\n```\n<<<<<<< HEAD\n```\n", {DAY: NOTE})
    assert planned(memory, add(3, "Priya is vegetarian.")).run is not None


def test_a_byte_that_is_no_text_stays_and_is_shown_to_no_model(opened: Open) -> None:
    before = OLD.encode().replace(b"The NAS", b"Caf\xe9").replace(b"Decisions", b"D\xe9cisions")
    memory = opened(before, {DAY: NOTE})
    asked = "".join(message.content for message in run.estimate(memory, now=NOW).messages)
    assert "M3 (fixed): Caf\ufffd has four disks." in asked
    assert not re.search("[\ud800-\udfff]", asked)
    done = planned(
        memory, plans.op("expire", ["M3"], [f"{DAY}#L3"]), add(3, "Priya is vegetarian.", "D\ufffdcisions")
    )
    assert [r.reason for r in done.rejected] == ["M3 holds bytes that are no text"]
    assert memory.workspace.memory_file.read_bytes().startswith(before + b"- Priya is vegetarian. <!--")


@pytest.mark.parametrize(
    "error", [NoteUnreadable("consolidated.json", "no space left"), OSError("no space left")]
)
def test_what_is_done_is_told_where_it_cannot_be_written_down(
    opened: Open, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def full(*_: object, **__: object) -> None:
        raise error

    memory = opened(OLD, {DAY: NOTE})
    monkeypatch.setattr(due, "note_run", full)
    done = planned(memory, add(3, "Priya is vegetarian."))
    assert done.run is not None
    assert "+- Priya is vegetarian." in done.diff
    assert done.warnings == (f"what this came to was not written down ({error})",)
