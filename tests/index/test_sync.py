"""Files to index: what is counted, what is embedded again, and that the way there makes no difference."""

from __future__ import annotations

import os
import random
from io import BufferedReader
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.errors import ProviderError
from commonplace.base.root import Root
from commonplace.chunking.settings import DEFAULT, ChunkSettings
from commonplace.index import rules, sync
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.index.vectors import Vectors
from commonplace.notes.scan import CollectionFiles, FileState, scan
from commonplace.providers.fake import FakeEmbedder

WORDS = (
    "deploy rollback 数据库 迁移 kestrel latency tea 周三 review invoice 会议 gpt-4.1 src/store.ts".split()
)


class Workspace:
    """A folder, its index and a model that counts what it embeds."""

    def __init__(self, root: Path, index: str = ":memory:", chunks: ChunkSettings = DEFAULT) -> None:
        self.root, self.chunks = root, chunks
        self.sources = [CollectionFiles("memory", str(root))]
        self.index = SqliteIndex(index, rules.identity(chunks))
        self.vectors = Vectors(self.index)
        self.model = FakeEmbedder()

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        os.utime(file, ns=(1, file.stat().st_mtime_ns - 10_000_000_000))  # long before it is read
        return file

    def sync(self):
        return sync.sync_text(self.index, scan(self.sources), self.chunks)

    def embed(self, **how):
        return sync.sync_vectors(self.vectors, self.model, **how)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def dump(index: SqliteIndex) -> list[object]:
    """All that an index says, without the numbers it gave things."""
    ask = index.connection.execute
    words = (
        "SELECT w.term, w.col, w.offset, n.path, w.doc - n.first_passage FROM temp.{}_words w"
        " LEFT JOIN passages p ON p.id = w.doc LEFT JOIN notes n ON n.id = p.note_id ORDER BY 1, 2, 3, 4, 5"
    )
    for table in ("passages", "struck"):
        made = f"fts5vocab(main, '{table}_fts', 'instance')"
        ask(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_words USING {made}")
    columns = "collection, path, title, date, kind, hash, size, lines, metadata"
    return [
        ask(f"SELECT {columns} FROM notes ORDER BY collection, path").fetchall(),
        ask(
            "SELECT n.path, s.headings, s.start_line, s.end_line, s.turns FROM sections s"
            " JOIN notes n ON n.id = s.note_id ORDER BY n.path, s.start_line"
        ).fetchall(),
        ask(
            "SELECT n.path, p.start_line, p.end_line, p.text, p.annotations, p.day, p.until, v.key, v.vector,"
            " p.speakers, p.wide, p.script, p.shown, p.section_id - n.first_section FROM passages p"
            " JOIN notes n ON n.id = p.note_id LEFT JOIN vectors v ON v.id = p.vector_id"
            " ORDER BY n.path, p.id - n.first_passage"
        ).fetchall(),
        ask("SELECT key, vector FROM vectors ORDER BY key").fetchall(),
        ask(words.format("passages")).fetchall(),
        ask(words.format("struck")).fetchall(),
    ]


def prose(rng: random.Random) -> str:
    lines = [f"# {rng.choice(WORDS)} notes", ""]
    for _ in range(rng.randrange(1, 30)):
        lines.append(
            rng.choice(
                ["", "## " + rng.choice(WORDS), "- " + " ".join(rng.choices(WORDS, k=rng.randrange(1, 20))),
                 f"- ~~{rng.choice(WORDS)} {rng.choice(WORDS)}~~ <!-- cp: until=2026-03-0{rng.randrange(1, 9)} -->",
                 f"- {rng.choice(WORDS)} ~~{rng.choice(WORDS)}~~", f"- {rng.choice(WORDS)} <!-- cp: since=2026-03-02 -->"]
            )
        )  # fmt: skip
    return "\n".join(lines) + "\n"


def test_an_edit_under_the_same_time_and_size_is_seen(workspace: Workspace) -> None:
    file = workspace.root / "a.md"
    file.write_text("# A\n\nalpha\n", "utf-8")
    stamp = file.stat().st_mtime_ns
    workspace.sync()
    file.write_text("# A\n\nomega\n", "utf-8")
    os.utime(file, ns=(stamp, stamp))
    assert workspace.sync().changed == 1
    assert workspace.index.match('"omega"', 5)


def test_an_unreadable_file_is_reported_and_the_others_are_indexed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write("good.md", "alpha\n")
    workspace.write("bad.md", "beta\n")
    real = FileState.open

    def refuse(state: FileState) -> BufferedReader:
        if state.path == "bad.md":
            raise PermissionError(13, "Permission denied")
        return real(state)

    monkeypatch.setattr(FileState, "open", refuse)
    monkeypatch.setattr(Root, "each_read", lambda _, paths: ((path, None) for path in paths))
    report = workspace.sync()
    assert report.added == 1
    assert [(f.path, f.reason) for f in report.failed] == [
        ("bad.md", "permission denied; `chmod u+r` makes it readable")
    ]


def test_nothing_is_embedded_twice(workspace: Workspace) -> None:
    workspace.write("a.md", "# Plan\n\nalpha beta gamma\n\n## Later\n\ndelta epsilon\n")
    workspace.sync()
    assert workspace.embed().embedded == 2
    (workspace.root / "a.md").rename(workspace.root / "renamed.md")
    assert workspace.sync().reused == 2
    report = workspace.embed()
    assert (report.embedded, report.reused) == (0, 0)
    workspace.write("renamed.md", "\n\n# Plan\n\nalpha beta gamma\n\n## Later\n\ndelta epsilon\n")
    workspace.sync()
    assert workspace.embed().embedded == 0
    workspace.sync()
    assert workspace.embed().embedded == 0


@pytest.mark.parametrize("seed", range(6))
def test_step_by_step_equals_all_at_once(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    grown = Workspace(tmp_path / "notes")
    grown.root.mkdir()
    for _ in range(12):
        for _ in range(rng.randrange(1, 5)):
            _edit(rng, grown)
        grown.sync()
        if rng.random() < 0.5:
            grown.embed()
    grown.embed()
    built = Workspace(grown.root)
    built.sync()
    built.embed()
    assert dump(grown.index) == dump(built.index)


def _edit(rng: random.Random, workspace: Workspace) -> None:
    files = sorted(workspace.root.rglob("*.md"))
    what = rng.choice(["new", "new", "change", "move", "remove", "touch"])
    name = f"{rng.choice('abc')}/{rng.randrange(20)}.md"
    if what == "new" or not files:
        workspace.write(name, prose(rng))
    elif what == "change":
        file = rng.choice(files)
        workspace.write(str(file.relative_to(workspace.root)), file.read_text("utf-8") + prose(rng))
    elif what == "move":
        target = workspace.root / name
        target.parent.mkdir(exist_ok=True)
        rng.choice(files).replace(target)
    elif what == "remove":
        rng.choice(files).unlink()
    else:
        os.utime(rng.choice(files), ns=(7, 7))


LINES = st.sampled_from(
    ["", "# Plan", "## Later", "- the lamp is green", "- 10:00 the desk is by the window <!-- by: agent -->",
     "- ~~the lamp is red~~ <!-- cp: until=2026-03-02 -->", "- Ann: tea at five", "- Bob: not for me",
     "some words that follow each other", "- 北京大学 <!-- cp: since=2026-03-02 -->", "- trigger <!-- trigger: x -->"]
)  # fmt: skip
EDITS = st.tuples(
    st.sampled_from(["append", "append", "insert", "edit", "strike", "delete", "other"]),
    st.integers(0, 30),
    st.lists(LINES, min_size=1, max_size=3),
)


@given(st.lists(LINES, max_size=12), st.lists(EDITS, max_size=8))
def test_a_note_that_is_edited_is_indexed_as_one_that_is_new(
    lines: list[str], edits: list[tuple[str, int, list[str]]]
) -> None:
    with TemporaryDirectory() as folder:
        grown, built = Workspace(Path(folder)), Workspace(Path(folder))
        grown.write("a.md", "- alpha\n")
        for what, place, more in [("append", 0, []), *edits]:
            at = place % (len(lines) + 1)
            if what == "append":
                lines += more
            elif what == "insert":
                lines[at:at] = more
            elif what == "delete":
                del lines[at : at + len(more)]
            elif what == "other":
                grown.write("a.md", "\n".join(more))
            elif what == "strike":
                lines[at : at + 1] = [f"~~{line}~~" if line else "" for line in lines[at : at + 1]]
            else:
                lines[at : at + 1] = more
            grown.write("memory/2026-03-02.md", "\n".join(lines) + "\n")
            grown.sync()
            grown.embed()
        built.sync()
        built.embed()
        assert dump(grown.index) == dump(built.index)


def test_other_settings_rebuild_while_the_old_index_answers(tmp_path: Path) -> None:
    file = str(tmp_path / "index.sqlite")
    notes = tmp_path / "notes"
    old = Workspace(notes, file)
    old.write("a.md", "# A\n\n" + "\n".join(f"- alpha {n}" for n in range(50)) + "\n")
    old.sync()
    old.embed()
    before = old.index.statistics().passages
    new = Workspace(notes, file, ChunkSettings(target=80))
    assert new.index.rebuild_reason
    assert new.index.match('"alpha"', 100)
    with new.index.transaction():
        new.sync()
        assert len(old.index.match('"alpha"', 1000)) == before  # another connection: nothing is committed yet
    assert new.index.rebuild_reason is None
    assert new.index.statistics().passages > before
    fresh = Workspace(notes, chunks=ChunkSettings(target=80))
    fresh.sync()
    fresh.embed()
    new.embed()
    assert dump(new.index) == dump(fresh.index)


class Interrupting(FakeEmbedder):
    """Stops the work as Ctrl-C does, at its second batch."""

    def embed(self, texts, kind):
        if len(self.calls) == 1:
            self.calls.append(0)
            raise KeyboardInterrupt
        return super().embed(texts, kind)


def test_interrupted_embedding_goes_on_where_it_stopped(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "EMBED_BATCH", 5)
    for n in range(20):
        workspace.write(f"{n}.md", f"# N{n}\n\nword{n} alpha\n")
    workspace.sync()
    workspace.model = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        workspace.embed()
    assert workspace.index.vectors.pending() == 15
    report = workspace.embed()
    assert (report.embedded, report.pending) == (15, 0)


def test_interrupted_reading_loses_nothing(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    from commonplace.index import reading

    monkeypatch.setattr(reading, "BATCH_BYTES", 50)
    for n in range(20):
        workspace.write(f"{n:02}.md", f"# N{n}\n\nword{n} alpha beta\n")

    def stop(stage: str, done: int, total: int) -> None:
        if done == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sync.sync_text(workspace.index, scan(workspace.sources), DEFAULT, stop)
    assert 0 < workspace.index.statistics().notes < 20
    workspace.sync()
    fresh = Workspace(workspace.root)
    fresh.sync()
    assert dump(workspace.index) == dump(fresh.index)


def test_a_moved_file_and_a_line_above_embed_nothing(workspace: Workspace) -> None:
    body = "".join(f"\n## Part {n}\n\n- alpha {n} beta\n" for n in range(12))
    workspace.write("a.md", f"# Plan\n{body}")
    workspace.sync()
    workspace.embed()
    called = sum(workspace.model.calls)
    assert called == 12  # the parts: nothing but their headings stands under the title
    (workspace.root / "deep").mkdir()
    (workspace.root / "a.md").rename(workspace.root / "deep" / "b.md")
    workspace.sync()
    workspace.embed()
    workspace.write("deep/b.md", f"# Plan\n\n## New\n\none line more\n{body}")
    assert workspace.sync().reused == 12
    assert workspace.embed().embedded == 1
    assert sum(workspace.model.calls) == called + 1  # the new line
    assert workspace.index.statistics().vectors == 13


def test_embedding_can_be_told_to_stop(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "EMBED_BATCH", 2)
    for n in range(20):
        workspace.write(f"{n}.md", f"# N{n}\n\nword{n} alpha\n")
    workspace.sync()
    report = workspace.embed(stop=lambda: bool(workspace.model.calls))
    assert 0 < report.embedded < 20
    assert report.pending == 20 - report.embedded
    assert workspace.embed().embedded == report.pending
    assert sum(workspace.model.calls) == 20


def test_progress_counts_passages_and_never_falls(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "EMBED_BATCH", 2)  # rounds of 8 passages
    for n in range(21):
        workspace.write(f"{n:02}.md", f"# Same\n\nword{n % 19} alpha\n")  # two texts twice
    workspace.sync()
    for model in (workspace.model, FakeEmbedder(32)):  # the first vectors, and those of another model
        steps: list[tuple[int, int]] = []
        workspace.model = model
        workspace.embed(progress=lambda _stage, done, total, steps=steps: steps.append((done, total)))
        assert steps == sorted(steps)
        assert steps[-1] == (21, 21)
        assert len({done for done, _ in steps}) > 8


def test_a_model_that_fails_midway_keeps_what_is_done(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "EMBED_BATCH", 4)
    for n in range(10):
        workspace.write(f"{n}.md", f"# N{n}\n\nword{n} alpha\n")
    workspace.sync()
    embed = workspace.model.embed

    def fail(texts, kind):
        if len(workspace.model.calls) == 2:
            raise ProviderError("fake", "quota")
        return embed(texts, kind)

    monkeypatch.setattr(workspace.model, "embed", fail)
    with pytest.raises(ProviderError):
        workspace.embed()
    assert workspace.index.statistics().vectors == 8
    assert workspace.index.vectors.pending() == 2
    assert not workspace.index.connection.in_transaction


def test_a_name_that_no_index_can_hold_is_reported(workspace: Workspace) -> None:
    workspace.write("a.md", "alpha\n")
    with open(os.fsencode(workspace.root) + b"/\xff.md", "w") as file:
        file.write("beta\n")
    report = workspace.sync()
    assert report.added == 1
    assert "UTF-8" in report.failed[0].reason


def test_a_rebuild_that_is_interrupted_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from commonplace.index import reading

    monkeypatch.setattr(reading, "BATCH_BYTES", 50)
    file, notes = str(tmp_path / "index.sqlite"), tmp_path / "notes"
    old = Workspace(notes, file)
    for n in range(20):
        old.write(f"{n:02}.md", f"# N{n}\n\nword{n} alpha beta\n")
    old.sync()
    old.embed()
    before = dump(old.index)

    def stop(stage: str, done: int, total: int) -> None:
        if done == 12:
            raise KeyboardInterrupt

    new = Workspace(notes, file, ChunkSettings(target=80))
    with pytest.raises(KeyboardInterrupt):
        sync.sync_text(new.index, scan(new.sources), new.chunks, stop)
    assert dump(old.index) == before
    again = Workspace(notes, file, ChunkSettings(target=80))
    assert again.index.rebuild_reason
    again.sync()
    again.embed()
    assert again.index.statistics().notes == 20
