"""Transcripts followed where they lie: found by a search, one hit for one event, listed and read."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import ConfigError, NoteNotFound, UnknownCollection
from commonplace.memory import Memory
from commonplace.transcripts.session import Transcript
from commonplace.types.events import Turn
from commonplace.upkeep import following
from tests.copies import files_of
from tests.notes.test_planting import SECRETS
from tests.transcripts import conversations

EVENT = "Dana takes the orange cat with her and moves to Lisbon in April"
AT = "2026-02-13T12:00:00"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    made = tmp_path / "notes"
    (made / "memory").mkdir(parents=True)
    (made / "MEMORY.md").write_text("# Memory\n\n- Aged white tea after lunch.\n")
    return made


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder of somebody else's transcripts, one of each format."""
    folder = tmp_path / "Their Logs"
    for name, made in conversations.SAMPLES.items():
        sample = made()
        file = folder / name / f"{name}{sample.ending}"
        file.parent.mkdir(parents=True)
        file.write_bytes(sample.data)
    return folder


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


def test_damaged_lines_of_a_transcript_are_named(root: Path, logs: Path) -> None:
    following.follow(root, str(logs), name="logs")
    file = next(logs.rglob("codex.jsonl"))
    with open(file, "ab") as opened:
        opened.write(b'{"type": "user", "mess\n{"type": "us')  # the last one is still being written
    lines = file.read_bytes().count(b"\n")
    with Memory.open(root) as memory:
        report = memory.sync()
        assert not report.failed
        assert report.warnings == (f"logs/codex/codex.jsonl: line {lines} is damaged and left out",)


def test_a_folder_is_followed_without_copying(root: Path, logs: Path) -> None:
    before = tree(logs)
    added = following.follow(root, str(logs))
    assert (added.name, added.format) == ("their-logs", "auto")
    with Memory.open(root) as memory:
        memory.sync()
        result = memory.search("kestrel service run", limit=20)
        assert {hit.collection for hit in result.hits} == {"their-logs"}
        hit = result.hits[0]
        assert hit.date == "2026-02-13"
        assert "frankfurt" not in hit.text.lower()
        lines = memory.get(hit.citation).lines
        assert "\n".join(lines) == hit.text
        assert memory.search("type:session kestrel").hits
        assert not memory.search("-type:session kestrel").hits
        assert not memory.search("type:session tea").hits
    assert tree(logs) == before
    assert not (root / "sessions").exists()


@pytest.mark.parametrize("name", ["chatgpt", "claude", "openai_list"])
def test_one_archive_is_followed(root: Path, logs: Path, name: str) -> None:
    added = following.follow(root, str(logs / name / f"{name}.json"), name="export")
    assert added.glob == (f"{name}.json",)
    with Memory.open(root) as memory:
        memory.sync()
        (hit,) = memory.search("Where does the kestrel service run", limit=1).hits
        assert hit.path == f"export/{name}.json"
        assert "kestrel" in "\n".join(memory.get(hit.citation).lines)


def test_a_packed_archive_with_an_odd_name_is_followed(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "data [1]*.zip"
    file.write_bytes(conversations.packed(conversations.chatgpt().data))
    (tmp_path / "other.zip").write_bytes(b"")
    following.follow(root, str(file), kind="chatgpt")
    with Memory.open(root) as memory:
        assert memory.sync().added == 2  # with MEMORY.md
        (hit,) = memory.search("kestrel service").hits
        assert hit.headings == ("2026-02-13 Kestrel's region",)
        assert [note.path for note in memory.notes("data-1")] == ["data-1/data [1]*.zip#1"]


def test_what_is_no_transcript_is_refused(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "measured.jsonl").write_text('{"x": 1}\n{"x": 2}\n')
    for path, wrong in [
        (folder, "nothing in .* is a transcript of Claude Code, Codex"),
        (folder / "measured.jsonl", "nothing in"),
        (tmp_path / "gone", "neither a file nor a folder"),
        (root / "MEMORY.md", "ends in none of .jsonl"),
    ]:
        with pytest.raises(ConfigError, match=wrong):
            following.follow(root, str(path))
    with pytest.raises(ConfigError, match="it must be one of auto, claude-code"):
        following.follow(root, str(folder), kind="word")
    assert config.load(root).collections == {}


def test_a_folder_may_still_be_empty_and_a_name_is_taken_once(root: Path, tmp_path: Path, logs: Path) -> None:
    folder = tmp_path / "later"
    folder.mkdir()
    following.follow(root, str(folder))
    with pytest.raises(ConfigError, match="'later' is"):
        following.follow(root, str(folder))
    with Memory.open(root) as memory:
        memory.sync()
        (folder / "s1.jsonl").write_bytes(conversations.codex().data)
        assert memory.search("kestrel").hits


def test_unfollowing_forgets_and_touches_nothing(root: Path, logs: Path) -> None:
    config.add_collection(root, "plain", str(logs.parent))
    following.follow(root, str(logs), name="theirs")
    before = tree(logs)
    with pytest.raises(UnknownCollection, match="known: theirs"):
        following.unfollow(root, "plain")
    following.unfollow(root, "theirs")
    assert tree(logs) == before
    assert list(config.load(root).collections) == ["plain"]


def test_an_unknown_format_in_the_settings_is_refused(root: Path) -> None:
    (root / "logs").mkdir()
    config.add_collection(root, "logs", str(root / "logs"), format="auto")
    config.user_file().write_text(config.user_file().read_text().replace('"auto"', '"word"'))
    with pytest.raises(ConfigError, match=r"collections.logs.format: 'word' .* must be one of auto"):
        config.load(root)


def test_own_sessions_are_searched_when_wanted(root: Path) -> None:
    memory = Memory.open(root)
    transcript = Transcript.open(memory.workspace, "s1")
    transcript.append(Turn("user", "Where is the brass lamp?", AT))
    transcript.append(Turn("assistant", "In the attic.", AT))
    assert not memory.search("brass lamp").hits
    memory.close()
    with Memory.open(root, overrides={"sessions.index": True}) as memory:
        (hit,) = memory.search("brass lamp").hits
        assert hit.citation == "sessions/s1.jsonl#L1-L2"
        assert "\n".join(memory.get(hit.citation).lines) == hit.text
        (moment, *_) = memory.timeline("sessions/s1.jsonl").moments
        assert moment.date == "2026-02-13"
    with Memory.open(root) as memory:
        assert not memory.search("brass lamp").hits


@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_of_theirs_reaches_a_file_of_ours(root: Path, logs: Path, name: str) -> None:
    secret, part = SECRETS[name]
    for file in logs.rglob("*.jsonl"):
        import json

        hidden = json.dumps(f"I forgot.\n\n{secret}\n\n", ensure_ascii=False)[1:-1]
        file.write_text(file.read_text("utf-8").replace("I forgot.", hidden), "utf-8")
    following.follow(root, str(logs))
    with Memory.open(root) as memory:
        memory.sync()
        assert memory.search("kestrel").hits
        assert part not in str(
            [place for one in following.sessions(memory) for place in following.read(memory, one.id)]
        )
    written = b"".join(file.read_bytes() for file in files_of(root))
    assert b"kestrel" in written
    assert part.encode() not in written


def test_sessions_are_listed_with_their_formats(root: Path, logs: Path) -> None:
    following.follow(root, str(logs), name="theirs")
    memory = Memory.open(root)
    Transcript.open(memory.workspace, "s1").append(Turn("user", "Hello", AT))
    found = following.sessions(memory)
    assert found[0].id == "sessions/s1.jsonl"
    kinds = {one.id.split("/")[1]: one.format for one in found[1:]}
    lines = {name: made() for name, made in conversations.SAMPLES.items() if not made().archive}
    assert kinds == {name: sample.format for name, sample in lines.items()}
    os.utime(logs / "codex" / "codex.jsonl", (4_000_000_000, 4_000_000_000))
    assert following.sessions(memory)[0].id == "theirs/codex/codex.jsonl"
    memory.close()


def test_a_session_is_read_by_the_end_of_its_id(root: Path, logs: Path) -> None:
    following.follow(root, str(logs), name="theirs")
    memory = Memory.open(root)
    Transcript.open(memory.workspace, "mine").append(Turn("user", "Hello", AT))
    assert [place.turn.text for place in following.read(memory, "mine")] == ["Hello"]
    whole = following.read(memory, "theirs/openclaw/openclaw.jsonl")
    assert following.read(memory, "openclaw") == whole
    assert following.read(memory, "openclaw", last=2) == whole[-2:]
    assert [place.line for place in whole] == [4, 5, 6, 7, 8]
    with pytest.raises(NoteNotFound, match="no such session; did you mean"):
        following.read(memory, "theirs/openclaw/openclaw.json")
    (logs / "codex" / "openclaw.jsonl").write_bytes(b"")
    with pytest.raises(NoteNotFound, match="several sessions end so"):
        following.read(memory, "openclaw")
    memory.close()


def test_a_link_that_leaves_the_folder_is_not_followed(root: Path, logs: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.jsonl").write_bytes(conversations.codex().data)
    (logs / "link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    following.follow(root, str(logs), name="theirs")
    memory = Memory.open(root)
    assert "theirs/link.jsonl" not in {one.id for one in following.sessions(memory)}
    with pytest.raises(NoteNotFound):
        following.read(memory, "link")
    memory.close()


def test_days_of_a_session_are_found_by_date(root: Path, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    following.follow(root, str(tmp_path / "logs"))
    (tmp_path / "logs" / "a.jsonl").write_bytes(conversations.openai().data)
    with Memory.open(root) as memory:
        memory.sync()
        now = date(2026, 2, 20)
        assert memory.search("on:2026-02-13 kestrel", now=now).hits
        assert not memory.search("after:2026-02-14 kestrel", now=now).hits
