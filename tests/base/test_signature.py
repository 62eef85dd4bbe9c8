"""Signatures: made by whoever holds the user's key, and by nobody else."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base import signature
from commonplace.base.signature import KEY_FILE, is_kept, load_keys, sign, verify


@pytest.fixture(autouse=True)
def no_key_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signature, "_keys", {})


def test_one_key_is_made_and_kept_for_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [tmp_path / "config", tmp_path / "cache"]
    (key,) = load_keys(folders)
    file = folders[0] / KEY_FILE
    assert bytes.fromhex(file.read_text()) == key
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in folders[0].iterdir()] == [KEY_FILE]
    file.chmod(0o644)
    monkeypatch.setattr(signature, "_keys", {})
    assert load_keys(folders) == (key,)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_key_where_it_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").write_text("a file where the folder should be")
    (key,) = load_keys([tmp_path / "config", tmp_path / "cache"])
    assert bytes.fromhex((tmp_path / "cache" / KEY_FILE).read_text()) == key
    (tmp_path / "none").write_text("")
    assert load_keys([tmp_path / "none"]) == load_keys([tmp_path / "none"]) != (key,)


def test_a_link_or_a_broken_file_is_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = tmp_path / "known"
    known.write_bytes(bytes(32))
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / KEY_FILE).symlink_to(known)
    assert load_keys([folder]) != (bytes(32),)
    assert known.read_bytes() == bytes(32)
    (folder / KEY_FILE).unlink()
    for broken in (b"short", b"ab" * 33, b"\xff" * 32, b"ab" * 32 + b"\nand a note"):
        (folder / KEY_FILE).write_bytes(broken)
        monkeypatch.setattr(signature, "_keys", {})
        assert [len(key) for key in load_keys([folder])] == [32]
        assert not is_kept([folder])
        assert (folder / KEY_FILE).read_bytes() == broken  # it may be mended by hand
    (folder / KEY_FILE).write_bytes(b"AB" * 32 + b"\r\n")
    monkeypatch.setattr(signature, "_keys", {})
    assert load_keys([folder]) == (b"\xab" * 32,)
    assert is_kept([folder])


def test_keys_of_other_machines_are_known_and_never_signed_with(tmp_path: Path) -> None:
    own, other = bytes(32), b"\xab" * 32
    (tmp_path / KEY_FILE).write_text(f"{own.hex()}\n{other.hex()}\n\n")
    keys = load_keys([tmp_path])
    assert keys == (own, other)
    assert verify(keys, "run", b"x", sign(other, "run", b"x"))
    assert not verify(keys[:1], "run", b"x", sign(other, "run", b"x"))


def test_processes_that_begin_at_once_share_a_key(tmp_path: Path) -> None:
    program = "import sys; from commonplace.base.signature import load_keys; print(load_keys([sys.argv[1]])[0].hex())"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, tmp_path / "config"], stdout=subprocess.PIPE, text=True
        )
        for _ in range(6)
    ]
    assert len({process.communicate()[0] for process in started}) == 1


@given(st.binary(max_size=40), st.binary(max_size=40), st.sampled_from(["run", "spool", ""]))
def test_a_signature_holds_for_these_bytes_this_kind_and_this_key(one: bytes, two: bytes, kind: str) -> None:
    key, other = bytes(32), bytes(31) + b"\1"
    mark = sign(key, kind, one)
    assert verify([key], kind, one, mark)
    assert verify([key], kind, two, mark) == (one == two)
    assert not verify([key], kind + "s", one, mark)
    assert not verify([other], kind, one, mark)
    assert not any(verify([key], kind, one, wrong) for wrong in (None, 1, "", "é" * 32, mark[:-1], [mark]))
