"""Each kind of selection, in each kind of place; what stays, what is out of reach, what is still found."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import apsw
import pytest

from commonplace import Memory, config
from commonplace.base import database, paths
from commonplace.base.errors import ConfigError, NoteNotFound, OutsideRoots
from commonplace.edit.forget import residue as scan
from commonplace.edit.forget.targets import Targets
from commonplace.index.sqlite import forget as index_forget
from commonplace.index.sqlite import schema
from commonplace.providers.cache import AnswerCache, VectorCache, answer_key, vector_key
from commonplace.providers.costs import Ledger
from commonplace.providers.llm.base import Completion, Message, Request
from commonplace.storage import journal, keyvalue, transaction, undo
from commonplace.storage.queue import Queue
from commonplace.transcripts.session import Transcript
from commonplace.types import Entry, Erasure, Provenance, Selection
from commonplace.types.changes import About, Change
from commonplace.types.events import Call, Turn
from commonplace.upkeep.watermarks import Pending
from tests import applying
from tests.edit.forget.test_people import holding, write

NOW = datetime(2026, 2, 20, 9, 0)
VASE = "The blue vase on the window sill broke in two"
ABOUT = About("write", "write")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    root = tmp_path / "ws"
    (root / "memory").mkdir(parents=True)
    write(root / "MEMORY.md", "# Memory", "", "- Tea is at four every day.", f"- {VASE}. <!-- pinned -->")
    write(
        root / "memory" / "2026-02-13.md",
        "# 2026-02-13",
        "",
        "- Mira called.",
        "- It rained.",
        "- Bo called.",
    )
    with Memory.open(root, overrides={"embedding.provider": "none", "history.git": "auto"}) as opened:
        yield opened


def text(memory: Memory, path: str) -> str:
    return (memory.workspace.root / path).read_text("utf-8")


def forget(memory: Memory, kind: str, value: str, *also: str) -> Erasure:
    erasure = memory.forget(Selection(kind, value, also), now=NOW)  # type: ignore[arg-type]
    assert erasure.left == ()
    return erasure


# --- what is selected -----------------------------------------------------------------------------------


def test_a_dry_run_says_the_same_and_changes_nothing(memory: Memory) -> None:
    memory.sync()
    before = {p: p.read_bytes() for p in memory.workspace.root.rglob("*.md")}
    planned = memory.forget(Selection("person", "Mira"), dry_run=True)
    assert {p: p.read_bytes() for p in memory.workspace.root.rglob("*.md")} == before
    assert journal.names(memory.workspace) == []
    done = forget(memory, "person", "Mira")
    assert (planned.dry_run, done.dry_run) == (True, False)
    assert planned.places == done.places
    assert [place.citation for place in done.places] == [
        "memory/2026-02-13.md#L3",
        "INDEX/index.sqlite",
    ]


def test_of_lines_that_lose_words_the_rest_is_shown_as_notes_are(memory: Memory) -> None:
    path = memory.workspace.daily(NOW.date())
    path.write_text(
        "# N\n\n- zinc\n- Lin pays in zinc, <private>to Bo</private> too.\n- zinc: password = hunter2-Kestrel9\n"
    )
    planned = memory.forget(Selection("text", "zinc"), dry_run=True)
    rests = [(place.start_line, place.rest) for place in planned.places if place.where == "notes"]
    assert rests == [(3, ""), (4, "- Lin pays in …,  too."), (5, "- …: password = [REDACTED:password]")]
    assert planned.places == forget(memory, "text", "zinc").places


def test_lines_are_whole_statements(memory: Memory) -> None:
    write(
        memory.workspace.root / "memory" / "n.md",
        "# N",
        "",
        "- a",
        "  b",
        "  - c",
        "- d",
        "",
        "text",
        "more",
        "",
    )
    forget(memory, "lines", "memory/n.md#L4")
    assert text(memory, "memory/n.md") == "# N\n\n- d\n\ntext\nmore\n\n"
    forget(memory, "lines", "memory/n.md#L5")
    assert text(memory, "memory/n.md") == "# N\n\n- d\n\n\n"


@pytest.mark.parametrize("line", [":2", "#L2", ":2-2", ":2:1"])
def test_one_line_is_that_line_alone(memory: Memory, line: str) -> None:
    write(memory.workspace.root / "memory" / "n.md", "- a", "- b", "- c", "", "text")
    memory.sync()
    forget(memory, "lines", f"memory/n.md{line}")
    assert text(memory, "memory/n.md") == "- a\n- c\n\ntext\n"
    forget(memory, "lines", f"#{memory.get('memory/n.md').docid}{line}")
    assert text(memory, "memory/n.md") == "- a\n\ntext\n"


@pytest.mark.parametrize("line", [":1", "#L1", "#L1-L2"])
def test_a_line_of_a_transcript_takes_no_session_with_it(memory: Memory, line: str) -> None:
    path = memory.workspace.root / "sessions" / "s12.jsonl"
    path.parent.mkdir()
    path.write_text('{"role": "user", "content": "hello"}\n', "utf-8")
    with pytest.raises(ConfigError, match="a line of a transcript"):
        memory.forget(Selection("lines", f"sessions/s12.jsonl{line}"))
    assert path.exists()


def test_a_range_without_an_end_goes_to_the_end(memory: Memory) -> None:
    write(memory.workspace.root / "memory" / "n.md", "- a", "- b", "- c")
    forget(memory, "lines", "memory/n.md:2-")
    assert text(memory, "memory/n.md") == "- a\n"


def test_a_note_is_forgotten_by_its_content_or_its_path(memory: Memory) -> None:
    memory.sync()
    docid = memory.get("memory/2026-02-13.md").docid
    erasure = forget(memory, "note", f"#{docid}")
    assert not (memory.workspace.root / "memory" / "2026-02-13.md").exists()
    assert memory.search("rained").hits == ()
    assert erasure.run is not None
    assert "2026-02-13.md" not in repr(journal.load(memory.workspace, erasure.run.id))
    forget(memory, "note", "MEMORY.md")
    assert not memory.workspace.memory_file.exists()


@pytest.mark.parametrize("kind", ["bogus", "Text", "person ", ""])
def test_a_kind_that_does_not_exist_erases_nothing(memory: Memory, kind: str) -> None:
    write(memory.workspace.root / "MEMORY.md", "# Memory\n\n- The walnut desk is upstairs.\n")
    with pytest.raises(ConfigError, match="note, lines, text, person, session"):
        memory.forget(Selection(kind, "MEMORY.md"), now=NOW)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="does not say what it is"):
        memory.forget("MEMORY.md", now=NOW)  # type: ignore[arg-type]
    assert "upstairs" in text(memory, "MEMORY.md")


def test_pinned_statements_go_as_well(memory: Memory) -> None:
    forget(memory, "text", VASE)
    assert text(memory, "MEMORY.md") == "# Memory\n\n- Tea is at four every day.\n"


@pytest.mark.parametrize(
    ("selection", "error"),
    [
        (Selection("note", "memory/none.md"), NoteNotFound),
        (Selection("lines", "MEMORY.md#L40"), NoteNotFound),
        (Selection("note", "../outside.md"), (NoteNotFound, OutsideRoots)),
        (Selection("note", "#0123456789ab"), NoteNotFound),
        (Selection("text", " … "), ConfigError),
        (Selection("person", "Mira", ("",)), ConfigError),
        (Selection("session", "../../etc"), ConfigError),
    ],
)
def test_what_cannot_be_selected_is_refused(
    memory: Memory, selection: Selection, error: type[Exception]
) -> None:
    with pytest.raises(error):
        memory.forget(selection)
    assert keyvalue.each(memory.workspace, "erasing") == []


def test_a_note_of_a_collection_is_not_ours(memory: Memory, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    write(work / "w.md", "- Mira works here")
    root = memory.workspace.root
    config.add_collection(root, "other", str(work))
    with Memory.open(root, overrides={"embedding.provider": "none"}) as opened:
        opened.sync()
        with pytest.raises(OutsideRoots, match="not ours to change"):
            opened.forget(Selection("note", "other/w.md"))
        erasure = opened.forget(Selection("person", "Mira"))
        assert erasure.left == ()
        assert any("collection other: w.md" in one.what for one in erasure.unreachable)
        assert (work / "w.md").read_text() == "- Mira works here\n"


# --- where it stands ------------------------------------------------------------------------------------


def test_a_transcript_keeps_its_lines_and_its_calls(memory: Memory) -> None:
    transcript = Transcript.open(memory.workspace, "s1")
    call = Call("c1", "memory_search", '{"query": "\\u004dira", "n": 1}')
    turns = [Turn("user", "hi"), Turn("user", "Mira?"), Turn("assistant", "let me see", calls=(call,)),
             Turn("tool", "Mira called", answers="c1", tool="memory_search"), Turn("assistant", "She called.")]  # fmt: skip
    transcript.extend(turns)
    with open(transcript.path, "ab") as file:
        file.write(b'{"role": "user", "text": "Mira, cut o\n')
    first = transcript.path.read_bytes().splitlines()[0]
    forget(memory, "person", "Mira")
    lines = transcript.path.read_bytes().splitlines()
    assert (len(lines), lines[0], lines[-1]) == (6, first, b"{}")
    found = transcript.load()
    assert [turn.text for turn in found] == ["hi", "[forgotten]", "let me see", "[forgotten]", "She called."]
    assert json.loads(found[2].calls[0].arguments) == {"text": "[forgotten]"}
    assert (found[2].calls[0].id, found[3].answers) == ("c1", "c1")


def test_words_are_cut_out_of_messages(memory: Memory) -> None:
    transcript = Transcript.open(memory.workspace, "s1")
    transcript.append(Turn("user", "call +49 123 today"))
    forget(memory, "text", "+49 123")
    assert transcript.load()[0].text == "call [forgotten] today"


def test_of_entries_that_wait_only_what_is_forgotten_goes(memory: Memory) -> None:
    queue = Queue(memory.workspace)
    queue.extend([Entry("first", NOW), Entry("Mira waits", NOW), Entry("call +49 123 now", NOW)])
    memory.forget([Selection("person", "Mira"), Selection("text", "+49 123")])
    found: list[str] = []
    queue.drain(lambda entries: found.extend(entry.text for entry in entries))
    assert found == ["first", "call … now"]


def test_a_session_goes_with_all_that_it_left(memory: Memory) -> None:
    transcript = Transcript.open(memory.workspace, "s1")
    transcript.append(Turn("user", "The green kettle whistles at dawn every day"))
    Transcript.open(memory.workspace, "s12").append(Turn("user", "hello"))
    by = Provenance("agent", "a", "s1")
    memory.capture([Entry("The kettle is said to whistle", NOW, "Summaries", by), Entry("other", NOW)])
    Queue(memory.workspace).append(Entry("a kettle", NOW, provenance=by))
    pending = Pending(memory.workspace)
    pending.open("s1")
    pending.close("s1")
    cache = AnswerCache()
    request = Request((Message("user", "x"),), "ask")
    said = Completion("They said: the green kettle whistles at dawn every day!", model="m")
    cache.keep("m", {answer_key("m", request): said})
    cache.close()
    applying.apply(memory.workspace, [Change("x.md", None, b"- x\n")], About("write", "w", session="s1"))
    memory.search("The green kettle whistles at dawn every day.")
    forget(memory, "session", "s1")
    assert not transcript.path.exists()
    assert pending.marks() == []
    assert "kettle" not in text(memory, "memory/2026-02-20.md")
    assert "other" in text(memory, "memory/2026-02-20.md")
    assert (memory.workspace.root / "sessions" / "s12.jsonl").exists()
    assert holding(memory.workspace.root, ["kettle"]) == {}
    assert cache.find([answer_key("m", request)]) == {}


def test_what_names_a_forgotten_session_goes(memory: Memory) -> None:
    note = memory.workspace.root / "memory" / "2026-02-14.md"
    sources = "<!-- cp: from=sessions/s1.jsonl#L1,MEMORY.md#L3 since=2026-02-14 -->"
    write(
        note, "# 2026-02-14 <!-- session:s1 -->", "", "- The kettle whistles. <!-- session:s1 -->", "  - At four.",
        "- The cat sleeps. <!-- session: s12 -->", f"- It rained. {sources}", "", "| a | b | <!-- session=s1 -->",
    )  # fmt: skip
    Transcript.open(memory.workspace, "s1").append(Turn("user", "Hello"))
    other = Transcript.open(memory.workspace, "s2")
    other.append(Turn("user", "Look into session:s1 and session:s12"))
    memory.sync()
    for question in ("session:s1", "kettle session:s1", "session:s12", "what is in sessions/s1.jsonl?"):
        memory.search(question)
    planned = memory.forget(Selection("session", "s1"), dry_run=True)
    assert "usage" in {place.where for place in planned.places}
    forget(memory, "session", "s1")
    assert note.read_text() == (
        "# 2026-02-14\n\n- The cat sleeps. <!-- session: s12 -->\n"
        "- It rained. <!-- cp: from=MEMORY.md#L3 since=2026-02-14 -->\n\n| a | b |\n"
    )
    assert other.load()[0].text == "Look into [forgotten] and session:s12"
    with apsw.Connection(os.fspath(memory.workspace.usage)) as usage:
        assert list(usage.execute("SELECT question FROM questions")) == [("session:s12",)]


def test_what_a_session_stated_goes_from_other_transcripts(memory: Memory) -> None:
    by = Provenance("agent", "a", "s1")
    memory.capture([Entry("The green kettle whistles at dawn every day.", NOW, provenance=by)])
    greeting = "Let me know whether you need anything else today."
    Transcript.open(memory.workspace, "s1").append(Turn("assistant", greeting))
    other = Transcript.open(memory.workspace, "s2")
    recalled = "memory/2026-02-20.md: The green kettle whistles at dawn every day. It is old."
    other.append(Turn("tool", recalled, answers="c1", tool="memory_search"))
    other.append(Turn("assistant", greeting))
    erasure = forget(memory, "session", "s1")
    assert [turn.text for turn in other.load()] == [
        "memory/2026-02-20.md: [forgotten]. It is old.",
        greeting,
    ]
    (told,) = (one for one in erasure.unreachable if "said in the session" in one.what)
    assert told.what.startswith("sessions/s2.jsonl: ")
    assert holding(memory.workspace.root, ["green kettle"]) == {}


def test_what_a_session_and_a_note_state_stays_in_the_note(memory: Memory) -> None:
    by = Provenance("agent", "a", "s1")
    memory.capture([Entry(f"{VASE}.", NOW, provenance=by)])
    erasure = forget(memory, "session", "s1")
    assert VASE in text(memory, "MEMORY.md")
    assert any(one.remedy == "forget MEMORY.md#L4 as well" for one in erasure.unreachable)


def test_sentences_of_lines_go_from_where_they_were_said(memory: Memory) -> None:
    transcript = Transcript.open(memory.workspace, "s1")
    transcript.append(Turn("user", f"Did you hear? {VASE}!"))
    memory.search(VASE)
    forget(memory, "lines", "MEMORY.md#L4")
    assert transcript.load()[0].text == "Did you hear? [forgotten]!"
    assert holding(memory.workspace.root, ["blue vase"]) == {}


def test_what_another_note_says_as_well_stays_there(memory: Memory) -> None:
    write(memory.workspace.root / "memory" / "other.md", f"- {VASE}.")
    erasure = forget(memory, "lines", "MEMORY.md#L4")
    assert VASE in text(memory, "memory/other.md")
    (told,) = (one for one in erasure.unreachable if "says the same" in one.what)
    assert told.remedy == "forget memory/other.md#L1 as well"


def test_what_rests_on_it_is_told(memory: Memory) -> None:
    memory_file = memory.workspace.memory_file
    write(memory_file, "- Calls come. <!-- cp: from=memory/2026-02-13.md#L3 since=2026-02-13 -->",
          "- Weather. <!-- cp: from=memory/2026-02-13.md#L3,memory/2026-02-13.md#L4 -->")  # fmt: skip
    erasure = forget(memory, "lines", "memory/2026-02-13.md#L3")
    assert memory_file.read_text().splitlines() == [
        "- Calls come. <!-- cp: since=2026-02-13 -->",
        "- Weather. <!-- cp: from=memory/2026-02-13.md#L3 -->",
    ]
    assert [one.remedy for one in erasure.unreachable if "rests on" in one.what] == [
        "forget MEMORY.md#L1 as well"
    ]


# --- the record of changes ------------------------------------------------------------------------------


def test_earlier_runs_can_be_undone_without_it(memory: Memory) -> None:
    path = "memory/2026-02-13.md"
    before = transaction.read(memory.workspace, path)
    assert before
    run = applying.apply(memory.workspace, [Change(path, before, before + b"- More.\n")], ABOUT)
    assert run
    forget(memory, "person", "Mira")
    assert text(memory, path) == "# 2026-02-13\n\n- It rained.\n- Bo called.\n- More.\n"
    undo.undo(memory.workspace, run.id)
    assert text(memory, path) == "# 2026-02-13\n\n- It rained.\n- Bo called.\n"


def test_undoing_brings_no_forgotten_note_back(memory: Memory) -> None:
    path = "memory/2026-02-13.md"
    before, memory_before = (
        transaction.read(memory.workspace, path),
        transaction.read(memory.workspace, "MEMORY.md"),
    )
    changes = [Change(path, before, None), Change("MEMORY.md", memory_before, b"# Memory\n")]
    write(memory.workspace.root / "memory" / "mira.md", "- likes tea")
    changes.append(Change("memory/mira.md", b"- likes tea\n", b"- likes coffee\n"))
    run = applying.apply(memory.workspace, changes, ABOUT)
    assert run
    forget(memory, "person", "Mira")
    undo.undo(memory.workspace, run.id)
    assert text(memory, path) == "# 2026-02-13\n\n- It rained.\n- Bo called.\n"
    assert not (memory.workspace.root / "memory" / "mira.md").exists()


def test_the_record_says_who_and_how_much_and_never_what(memory: Memory) -> None:
    erasure = memory.forget(Selection("person", "Mira"), agent="nanobot", session="s9", now=NOW)
    run = erasure.run
    assert run is not None
    assert (run.about.kind, run.about.title, run.about.by) == ("forget", "forget 1 statement", "agent")
    assert (run.about.agent, run.about.session, run.at[:10]) == ("nanobot", "s9", "2026-02-20")
    with pytest.raises(undo.NotUndone, match="a forgetting cannot be undone"):
        undo.undo(memory.workspace, run.id)


# --- caches, logs, leftovers ----------------------------------------------------------------------------


def test_the_cache_of_vectors_is_emptied_where_anything_goes(memory: Memory) -> None:
    cache = VectorCache(paths.user_cache_dir() / "vectors.sqlite")
    cache.keep("m", {vector_key("m", "passage", "earlier wording"): b"v" * 8})
    forget(memory, "person", "Nobody There")
    assert cache.stats().entries == 1
    forget(memory, "person", "Mira")
    assert cache.stats().entries == 0
    assert b"v" * 8 not in cache.path.read_bytes()
    cache.close()


@pytest.mark.parametrize("name", ["server.log", "schedule.log"])
def test_a_log_that_holds_it_is_emptied(memory: Memory, name: str) -> None:
    memory.sync()
    log = memory.workspace.state / name
    log.write_bytes(b"started\nMira asked\nended\n")
    forget(memory, "person", "Mira")
    assert log.read_bytes() == b""


def test_temporary_files_of_the_dead_go(memory: Memory) -> None:
    left = memory.workspace.memory_dir / ".2026-02-13.0123456789ab.tmp"
    left.write_text("- Mira called.")
    forget(memory, "person", "Mira")
    assert not left.exists()


def test_what_sessions_were_given_goes(memory: Memory) -> None:
    from commonplace.agent.seen import Injected

    hits = memory.search("Mira called").hits
    Injected(memory.workspace).add("s1", hits)
    assert keyvalue.each(memory.workspace, "injected")
    forget(memory, "person", "Mira")
    assert keyvalue.each(memory.workspace, "injected") == []


def test_struck_statements_go_from_the_full_text(memory: Memory) -> None:
    memory.capture([Entry("The secretphrase of 张国荣 is Xanadutown.", NOW), Entry("The cat sleeps.", NOW)])
    memory.correct("The cat sleeps.", "The cat is awake now.")
    memory.correct("The secretphrase of 张国荣 is Xanadutown.", "The word of 张国荣 is Paris.")
    memory.sync()
    assert holding(memory.workspace.root, ["secretphras", "xanadutown"])
    forget(memory, "person", "张国荣")
    assert holding(memory.workspace.root, ["secretphras", "xanadutown"]) == {}


# --- what is left ---------------------------------------------------------------------------------------


def test_the_index_of_another_workspace_is_not_ours(memory: Memory, tmp_path: Path) -> None:
    other = paths.Workspace(tmp_path / "another").index
    own = memory.workspace.index
    for index in (other, own):
        index.parent.mkdir(parents=True, exist_ok=True)
        index.with_name("odd.txt").write_text("Mira called.\n")
    erasure = memory.forget(Selection("person", "Mira"))
    assert [trace.path for trace in erasure.left] == ["INDEX/odd.txt"]


def test_files_that_are_no_notes_are_named(memory: Memory) -> None:
    (memory.workspace.root / "letter.txt").write_text("Dear Mira")
    (memory.workspace.root / "MIRA.png").write_bytes(b"\x89PNG")
    (memory.workspace.root / "word.txt").write_text("admiral Miranda")
    erasure = memory.forget(Selection("person", "Mira"))
    assert {trace.path for trace in erasure.left} == {"letter.txt", "MIRA.png"}
    assert not erasure.complete
    assert all(trace.remedy for trace in erasure.left)


def test_an_index_that_is_read_all_the_time_is_told(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.sync()
    memory.close()
    monkeypatch.setattr(database, "PATIENCE_S", 0.2)
    reader = apsw.Connection(os.fspath(memory.workspace.index))
    reader.execute("BEGIN; SELECT count(*) FROM passages").fetchall()
    erasure = memory.forget(Selection("person", "Mira"))
    assert any("another program reads it" in trace.path for trace in erasure.left)
    assert len(keyvalue.each(memory.workspace, "erasing")) == 1
    reader.close()
    again = memory.forget([])
    assert again.left == ()
    assert keyvalue.each(memory.workspace, "erasing") == []


def test_git_and_providers_are_told(memory: Memory) -> None:
    root = memory.workspace.root
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@localhost"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "memory"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    ledger = Ledger(memory.workspace.ledger)
    paths.prepare_state(memory.workspace)
    ledger.record("summary", "openai", "some-model", 10, 10)
    ledger.close()
    erasure = forget(memory, "person", "Mira")
    told = [one.what for one in erasure.unreachable]
    assert any(what.startswith("commits, staged files and stashes of git") for what in told)
    assert any("openai/some-model" in what for what in told)
    assert forget(memory, "person", "Nobody").unreachable == ()  # there was nothing to send


def test_the_same_again_finds_nothing(memory: Memory, private_home: Path) -> None:
    forget(memory, "person", "Mira")
    count = len(journal.names(memory.workspace))
    erasure = forget(memory, "person", "Mira")
    assert (erasure.places, erasure.run) == ((), None)
    assert len(journal.names(memory.workspace)) == count


def test_short_names_are_not_found_by_chance(memory: Memory) -> None:
    memory.sync()
    memory.search("did Bo call, or the robot")
    memory.search("robots and hobos")
    forget(memory, "person", "Bo")
    assert text(memory, "memory/2026-02-13.md") == "# 2026-02-13\n\n- Mira called.\n- It rained.\n"
    asked = memory.usage().unanswered
    assert [one.question for one in asked if "hobos" not in one.question] == []


def test_git_is_told_of_no_name(memory: Memory) -> None:
    root = memory.workspace.root
    git = ["git", "-C", str(root)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "config", "user.name", "a"], check=True)
    subprocess.run([*git, "config", "user.email", "a@localhost"], check=True)
    subprocess.run([*git, "add", "memory"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    erasure = forget(memory, "person", "Mira")
    log = subprocess.run([*git, "log", "--format=%B"], check=True, capture_output=True, text=True).stdout
    assert "commonplace: forget 1 statement" in log
    assert "Mira" not in log
    now = subprocess.run(
        [*git, "show", "HEAD:memory/2026-02-13.md"], check=True, capture_output=True, text=True
    )
    assert "Mira" not in now.stdout
    assert erasure.run is not None
    assert erasure.run.commit


def test_of_a_file_that_holds_too_much_it_is_said(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_MOST", 1 << 10)
    (memory.workspace.root / "disk.img").write_bytes(b"x" * 2000)
    erasure = memory.forget(Selection("person", "Mira"), now=NOW)
    assert ("disk.img", "could not be looked into: it holds more than 1,024 bytes") in [
        (trace.path, trace.remedy) for trace in erasure.left
    ]


def test_a_file_that_cannot_be_read_is_not_taken_for_clean(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = memory.workspace.root / "closed.bin"
    closed.write_bytes(b"Mira")
    real = scan.of_file

    def of_file(path: Path, sought: scan.Forms) -> int:
        if path == closed:
            raise OSError(errno.EIO, "Input/output error")
        return real(path, sought)

    monkeypatch.setattr(scan, "of_file", of_file)
    erasure = memory.forget(Selection("person", "Mira"), now=NOW)
    assert [(left.path, left.count) for left in erasure.left] == [("closed.bin", 0)]
    assert "could not be looked into: input/output error" in erasure.left[0].remedy
    assert not erasure.complete


def test_a_note_that_cannot_be_written_keeps_no_other_from_it(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = memory.workspace.root
    write(root / "MEMORY.md", "# Memory", "", "- Mira likes tea.")
    (root / "letter.txt").write_text("Dear Mira")
    memory.sync()
    real = os.replace

    def refuse(source: str, target: str, **named: int) -> None:
        if target == "MEMORY.md":
            raise PermissionError(errno.EPERM, "Operation not permitted")
        real(source, target, **named)

    with monkeypatch.context() as patched:
        patched.setattr("commonplace.storage.files._exchange_names", lambda place: False)
        patched.setattr(os, "replace", refuse)
        erasure = memory.forget(Selection("person", "Mira"), now=NOW)
    assert text(memory, "memory/2026-02-13.md") == "# 2026-02-13\n\n- It rained.\n- Bo called.\n"
    assert [place.citation for place in erasure.places if place.where == "notes"] == [
        "memory/2026-02-13.md#L3"
    ]
    told = {trace.path: trace.remedy for trace in erasure.left}
    assert len(told) == len(erasure.left)
    assert told == {
        "MEMORY.md": "cannot be changed: operation not permitted; then: carry the forgetting on",
        "INDEX/index.sqlite": "it goes with what still says it: MEMORY.md",
        "letter.txt": "it is no note of ours: change it there",
    }
    (root / "letter.txt").unlink()
    assert memory.forget([], now=NOW).left == ()
    assert holding(root, ["Mira"]) == {}


@pytest.mark.parametrize("word", ["owner", "2026", "forget", "kind", "2026-02-20", "done", "committed"])
def test_words_of_our_own_records_are_no_trace(memory: Memory, word: str) -> None:
    os.rename(memory.workspace.memory_dir / "2026-02-13.md", memory.workspace.memory_dir / "calls.md")
    write(memory.workspace.memory_dir / "words.md", f"- About {word} here.", "- Some more of it.")
    memory.sync()
    memory.search("some more")
    forget(memory, "text", word)
    assert text(memory, "memory/words.md") == "- About … here.\n- Some more of it.\n"


def test_a_record_that_names_a_note_so_is_told(memory: Memory) -> None:
    memory.sync()
    forget(memory, "text", "It rained")
    erasure = memory.forget(Selection("text", "2026"), now=NOW)
    told = {trace.path: trace.remedy for trace in erasure.left}
    assert told["memory/2026-02-13.md"] == "its name says it: rename it"
    assert told["INDEX/index.sqlite"] == "it goes with what still says it: memory/2026-02-13.md"
    assert "STATE/state.sqlite" in told  # the history names a note so


# --- notes with several names ---------------------------------------------------------------------------


def test_a_note_is_forgotten_by_any_of_its_names_and_its_links_stay(memory: Memory, tmp_path: Path) -> None:
    root = memory.workspace.root
    (tmp_path / "outside.md").write_text("- Zed is out.\n")
    (root / "vase.txt").write_text("- Zed is in.\n- It rained.\n")
    (root / "memory" / "tall.md").symlink_to("../vase.txt")
    (root / "memory" / "out.md").symlink_to(tmp_path / "outside.md")
    (root / "memory" / "day.md").symlink_to("2026-02-13.md")
    memory.sync()
    forget(memory, "text", "Zed is in")
    assert text(memory, "vase.txt") == "- It rained.\n"
    forget(memory, "note", "memory/day.md")
    left = sorted(path.relative_to(root).as_posix() for path in (root / "memory").iterdir())
    assert left == ["memory/day.md", "memory/out.md", "memory/tall.md"]
    assert not (root / "memory" / "day.md").exists()
    assert (tmp_path / "outside.md").read_text() == "- Zed is out.\n"


def test_names_of_links_and_of_empty_folders_are_told(memory: Memory) -> None:
    folder = memory.workspace.memory_dir
    (folder / "zoe-quist").mkdir()
    (folder / "zoe-quist" / "a.md").write_text("- Zoe Quist likes tea.\n")
    (memory.workspace.root / "zoe-quist.txt").symlink_to("gone.txt")
    erasure = memory.forget(Selection("person", "Zoe Quist"), now=NOW)
    told = "its name says it: delete or rename it"
    assert {trace.path: trace.remedy for trace in erasure.left} == {
        "memory/zoe-quist": told, "zoe-quist.txt": told,
    }  # fmt: skip


@pytest.mark.parametrize("lines", ["3-1", "9", "0"])
def test_wrong_lines_are_refused_as_readers_refuse_them(memory: Memory, lines: str) -> None:
    write(memory.workspace.root / "memory" / "b.md", "- a", "- b", "- c")
    memory.sync()
    with pytest.raises(NoteNotFound) as reading:
        memory.get(f"memory/b.md:{lines}")
    with pytest.raises(NoteNotFound) as forgetting:
        memory.forget(Selection("lines", f"memory/b.md:{lines}"))
    assert str(forgetting.value) == str(reading.value)


def test_a_blank_line_is_named_as_well(memory: Memory) -> None:
    planned = memory.forget(Selection("lines", "MEMORY.md:2"), dry_run=True)
    assert [place.citation for place in planned.places if place.where == "notes"] == ["MEMORY.md#L2"]
    memory.forget(planned)
    assert text(memory, "MEMORY.md").startswith("# Memory\n- Tea")


def test_every_full_text_table_is_merged(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    connection = schema.connect(os.fspath(path))
    schema.create(connection, {})
    made = "CREATE VIRTUAL TABLE {} USING fts5(body, content='', contentless_delete=1)"
    connection.execute(made.format("new_fts"))
    planted = "x(x) VALUES(1); ATTACH 'planted.db' AS y; --"  # as in a folder of somebody else's
    connection.execute(made.format(database.quoted(planted)))
    tables = database.full_text(connection)
    assert {"passages_fts", "struck_fts", "new_fts", planted} == set(tables)
    for table in map(database.quoted, tables):
        connection.execute(f"INSERT INTO {table}(rowid, body) VALUES(1, 'zorblax')")
        connection.execute(f"INSERT INTO {table}(rowid, body) VALUES(2, 'other')")
        connection.execute(f"DELETE FROM {table} WHERE rowid = 1")
    assert b"zorblax" in path.read_bytes() + path.with_name("index.sqlite-wal").read_bytes()
    index_forget.rewrite(connection, path)
    connection.close()
    assert b"zorblax" not in path.read_bytes()
    assert scan.of_file(path, scan.Forms(Targets(people=("Zorblax",)))) == 0
    assert not Path("planted.db").exists()


# --- what is left ---------------------------------------------------------------------------------------


def test_names_of_our_tables_are_no_words_of_notes(memory: Memory) -> None:
    memory.remember("A note on walnuts.")
    for word in ("note", "entry"):
        erasure = memory.forget(Selection("text", word), now=NOW)
        assert erasure.left == (), word
