"""Records: what this user has signed is acted upon, all else is set aside as it is and can be taken back."""

from __future__ import annotations

import json
import os
import time
from datetime import datetime
from pathlib import Path

import click.testing
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.agent.seen import Injected
from commonplace.base import paths, records, signature
from commonplace.base.errors import NoteUnreadable
from commonplace.base.root import Root
from commonplace.changes.spool import Spool, decode, encode
from commonplace.cli.application import cli
from commonplace.edit.forget import stores
from commonplace.types import Entry
from commonplace.upkeep.watermarks import Pending
from tests.attacks import folders

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    (tmp_path / ".commonplace").mkdir()
    return paths.Workspace(tmp_path).files


def own(root: Root, name: str) -> Path:
    return Path(root.path, ".commonplace", name)


@given(st.dictionaries(st.text().filter(lambda name: name != records.MEMBER), VALUES, max_size=5))
def test_a_record_comes_back_as_it_was_signed_however_it_is_laid_out(value: dict[str, object]) -> None:
    sealed = records.seal("kind", value)
    assert records.unseal("kind", sealed) == value
    assert (
        records.unseal("kind", json.dumps(json.loads(sealed), indent=3, ensure_ascii=True).encode()) == value
    )
    assert sealed.count(b"\n") == 1


def test_nothing_but_the_whole_record_of_its_kind_is_ours() -> None:
    sealed = records.seal("pending", {"session": "s1", "done": 3})
    told = json.loads(sealed)
    for changed in (
        told | {"done": 4}, told | {"more": 1}, told | {"signature": None}, told | {"signature": "é"},
        {name: one for name, one in told.items() if name != "done"},
        {name: one for name, one in told.items() if name != "signature"},
    ):  # fmt: skip
        with pytest.raises(records.Unsigned):
            records.unseal("pending", json.dumps(changed).encode())
    with pytest.raises(records.Unsigned):
        records.unseal("erasing", sealed)
    for damage in (b"", b"{", b"[]", b"3", b"\xff", b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5000):
        with pytest.raises(ValueError, match=r".*"):
            records.unseal("pending", damage)


def test_the_record_of_another_user_is_foreign(
    root: Root, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root.exchange(own(root, "consolidated.json"), records.seal("consolidated", {"at": ""}))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "another"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another-cache"))
    with pytest.raises(records.Foreign, match="its owner can look at it"):
        records.read(root, own(root, "consolidated.json"), "consolidated")


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_what_is_no_file_or_too_large_is_foreign_and_set_aside_unread(root: Root, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    own(root, "a.json").symlink_to(victim)
    os.mkfifo(own(root, "b.json"))
    own(root, "c.json").write_bytes(b" " * 2000)
    for name in ("a.json", "b.json", "c.json"):
        with pytest.raises(records.Foreign) as caught:
            records.read(root, own(root, name), "kind", limit=1000)
        records.set_aside(root, own(root, name), caught.value.reason)
        records.set_aside(root, own(root, name))  # by another process already
    assert records.foreign(root) == ["a.json", "b.json", "c.json"]
    assert own(root, "foreign/a.json").is_symlink()
    assert victim.read_text() == "mine"


def test_what_is_set_aside_takes_no_others_place(root: Root) -> None:
    for number in range(3):
        own(root, "consolidated.json").write_text(str(number))
        records.set_aside(root, own(root, "consolidated.json"))
    assert records.foreign(root) == ["consolidated.json", "consolidated.json~1", "consolidated.json~2"]
    assert own(root, "foreign/consolidated.json~2").read_text() == "2"


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_where_nothing_can_be_set_aside_it_is_said_and_stays(
    root: Root, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "outside").mkdir()
    own(root, "foreign").symlink_to(tmp_path / "outside")
    own(root, "consolidated.json").write_text("{}")
    records.set_aside(root, own(root, "consolidated.json"))
    assert own(root, "consolidated.json").exists()
    assert list((tmp_path / "outside").iterdir()) == []
    assert "cannot be set aside" in caplog.messages[0]


def test_an_update_keeps_what_was_there_aside_and_passes_over_what_is_damaged(root: Root) -> None:
    path = own(root, "consolidated.json")
    for before, known in ((None, None), (b"{", None), (b'{"at": "x"}', None), (b"", {"n": 1})):
        if before:
            path.write_bytes(before)
        given_to = []

        def change(told: dict[str, object] | None, given_to: list[object] = given_to) -> dict[str, object]:
            given_to.append(told)
            return {"n": 1}

        records.update(root, path, "consolidated", change)
        assert given_to == [known]
        assert records.read(root, path, "consolidated") == {"n": 1}
    assert own(root, "foreign/consolidated.json").read_bytes() == b'{"at": "x"}'
    assert root.names(".commonplace") == ["consolidated.json", "foreign"]


def test_what_is_adopted_is_ours(root: Root) -> None:
    own(root, "pending").mkdir()
    own(root, "pending/s1.json").write_text('{"session": "s1", "signature": "00"}')
    assert records.unsigned(root) == ["pending/s1.json"]
    records.set_aside(root, own(root, "pending/s1.json"))
    assert records.unsigned(root) == []
    aside = records.inspect(root, "pending/s1.json")
    assert (aside.kind, aside.values, aside.is_signed) == ("pending", ({"session": "s1"},), False)
    own(root, "foreign/pending/s1.json").write_text('{"session": "s2"}')
    with pytest.raises(NoteUnreadable, match="changed after it was shown"):
        records.adopt(root, aside)
    records.adopt(root, records.inspect(root, "pending/s1.json"))
    assert records.read(root, own(root, "pending/s1.json"), "pending") == {"session": "s2"}
    assert records.foreign(root) == []
    own(root, "pending/s1.json").replace(own(root, "foreign/pending/s1.json"))
    own(root, "pending/s1.json").write_text("{}")
    own(root, "foreign/odd.txt").write_text("{}")
    own(root, "foreign/batches.json").write_text("{cut")
    for name, told in (
        ("pending/s1.json", "remove one"),
        ("odd.txt", "no record"),
        ("batches.json", "damaged"),
    ):
        with pytest.raises(NoteUnreadable, match=told):
            records.adopt(root, records.inspect(root, name))


def test_what_a_machine_of_yours_has_signed_is_yours(
    root: Root, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "other"))
    sealed = records.seal("consolidated", {"at": "now"})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "one"))
    with pytest.raises(records.Unsigned):
        records.unseal("consolidated", sealed)
    keys = [paths.user_config_dir({"XDG_CONFIG_HOME": str(tmp_path / name)}) for name in ("one", "other")]
    both = "".join((folder / "signing.key").read_text() for folder in keys)
    (keys[0] / "signing.key").write_text(both)
    monkeypatch.setattr(signature, "_keys", {})
    assert records.unseal("consolidated", sealed) == {"at": "now"}
    own(root, "foreign").mkdir()
    own(root, "foreign/consolidated.json").write_bytes(sealed)
    assert records.inspect(root, "consolidated.json").is_signed
    assert records.seal("consolidated", {}) != sealed


def test_every_file_of_ours_is_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    root = folders.workspace(tmp_path / "notes")
    workspace = paths.Workspace(root)
    now = datetime(2026, 2, 14, 9)
    Spool(workspace).append(Entry("An entry.", now))
    Spool(workspace, max_bytes=10).append(Entry("Refused.", now))
    with Memory.open(root) as memory:
        memory.search("deploy")
        memory.get("MEMORY.md")
        memory.remember("Green tea.", now=now)
        memory.correct("Nothing but rain.", "Sun at last.")
        hits = memory.search("deploy").hits
    pending = Pending(workspace)
    assert pending.open("s1")
    for line in (
        "sync",
        "consolidate --accept",
        "log",
        "undo --yes",
        "forget --text rain --yes",
        "usage",
        "costs",
    ):
        click.testing.CliRunner().invoke(cli, ["-w", str(root), *line.split()])
    Spool(workspace).append(Entry("Another.", now))
    Injected(workspace).add("s1", hits)
    names = {
        path.relative_to(workspace.derived).as_posix()
        for path in workspace.derived.rglob("*")
        if path.is_file()
    }
    assert [name for name in sorted(names) if records.place_of(name) is None] == []
    met = {place.kind for name in names if (place := records.place_of(name))}
    assert met >= {"history", "spool", "pending", "injected", "consolidated", "database", "lock", "ignore"}
    assert records.unsigned(workspace.files) == []
    pending.close("s1")


def test_whatever_holds_words_has_a_store_that_forgets_them() -> None:
    named = {place.store for place in records.PLACES if place.store}
    # Transcripts lie beside the notes; the caches of models and of vectors in the user's own folder.
    assert named | {"transcripts", "answers", "vectors"} == {*stores.STORES, *stores.MODULES}
    # A lock, a counter, a number: what has no store says nothing, and is scanned all the same.
    without = {(place.kind, place.pattern) for place in records.PLACES if not place.store}
    assert {kind for kind, _ in without} == {
        "claim", "spool", "consolidated", "imports", "batches", "redaction", "usage", "database",
        "lock", "ignore",
    }  # fmt: skip
    assert len(without) == 10


def test_a_signature_costs_an_entry_next_to_nothing() -> None:
    entry = Entry("What was done. " * 30, datetime(2026, 2, 14, 9))
    encode(entry)
    times = []
    for _ in range(300):
        started = time.perf_counter()
        decode(encode(entry))
        times.append(time.perf_counter() - started)
    assert sorted(times)[len(times) // 2] < 0.001


def test_what_stands_for_a_record_may_be_removed(tmp_path: Path) -> None:
    root = Root(str(tmp_path))
    path = tmp_path / ".commonplace" / "spool"
    path.mkdir(parents=True)
    with pytest.raises(NoteUnreadable, match="; remove "):
        records.load(root, path)
