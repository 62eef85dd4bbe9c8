"""Settings that come with a folder: where they are, and that version 0.1's are moved there once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.life.conftest import Owner

LIMIT = "[search]\nlimit = 3\n"


def limit(owner: Owner) -> list[str]:
    return owner.ok("config", "get", "search.limit", "--origin").split()


def test_settings_of_the_first_version_move_once_and_say_so(owner: Owner) -> None:
    owner.note("commonplace.toml", LIMIT)
    assert limit(owner)[0] == "3"
    said = owner.run("search", "kettle").err
    new = owner.folder / ".commonplace" / "config.toml"
    assert said.count(f"the settings of this workspace are in {new} now") == 1
    assert not (owner.folder / "commonplace.toml").exists()
    assert new.read_text() == LIMIT
    assert limit(owner) == ["3", str(new)]
    assert "settings of this workspace" not in owner.run("search", "kettle").err


def test_a_file_that_comes_later_is_left_alone_and_named(owner: Owner) -> None:
    owner.ok("config", "set", "--in-workspace", "search.limit", "3")
    owner.note("commonplace.toml", "[search]\nlimit = 9\n")
    assert limit(owner)[0] == "3"
    assert "commonplace.toml is not read: the settings are in" in owner.run("sync").err
    assert owner.read("commonplace.toml") == "[search]\nlimit = 9\n"


def test_a_link_is_read_where_it_is(owner: Owner, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text(LIMIT)
    (owner.folder / "commonplace.toml").symlink_to(tmp_path / "dotfiles.toml")
    owner.ok("sync")
    assert limit(owner)[0] == "3"
    assert (owner.folder / "commonplace.toml").is_symlink()


def test_a_folder_that_may_only_be_read_keeps_its_settings(owner: Owner) -> None:
    owner.note("commonplace.toml", LIMIT)
    owner.folder.chmod(0o500)
    try:
        assert limit(owner)[0] == "3"
        owner.run("search", "kettle")
        assert limit(owner)[0] == "3"
    finally:
        owner.folder.chmod(0o700)


@pytest.mark.parametrize("link", [".commonplace", ".commonplace/config.toml"])
def test_no_link_leads_a_folders_settings_out_of_it(owner: Owner, tmp_path: Path, link: str) -> None:
    """Neither is a file outside read, nor is one written: not even the owner's own settings."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "config.toml").write_text(LIMIT)
    place = owner.folder / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(outside if link == ".commonplace" else outside / "config.toml")
    refused = owner.run("config", "get", "search.limit")
    assert refused.code == 1
    assert "leaves the workspace" in refused.err
    assert owner.run("config", "set", "--in-workspace", "search.limit", "4").code == 1
    assert (outside / "config.toml").read_text() == LIMIT


@pytest.mark.parametrize("place", ["commonplace.toml", ".commonplace/config.toml"])
def test_neither_place_may_set_more_than_ranking_and_notes(owner: Owner, place: str) -> None:
    """Each command goes on, names what it left out, and does as if it were not there."""
    harmful = '[llm]\nkey = "/etc/hostname"\n[remember]\nredact = false\n[collections.etc]\npath = "/etc"\n'
    owner.note(place, f"{harmful}[search]\nlimit = 4\n")
    owner.ok("remember", "the key is sk-proj-abcdefghijklmnopqrstuvwx0123456789ABCD")
    assert "left out: settings that come with a folder" in owner.run("sync").err
    assert limit(owner)[0] == "4"
    assert owner.ok("config", "get", "llm.key").strip() == ""
    assert "abcdefghijklmnop" not in "".join(
        note.read_text() for note in (owner.folder / "memory").glob("*.md")
    )
