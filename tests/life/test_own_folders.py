"""The folders of the program itself are no notes, whoever names them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.life.conftest import Owner


@pytest.mark.parametrize(
    "place", ["config/commonplace", "config", "cache/commonplace", "cache/commonplace/deep", "link"]
)
def test_settings_and_caches_are_made_no_collection(owner: Owner, tmp_path: Path, place: str) -> None:
    for kind in ("config", "cache"):
        folder = tmp_path / kind / "commonplace" / "deep"
        folder.mkdir(parents=True)
        (folder / "secret.md").write_text("The kite token is k1.\n")
        owner.environment[f"XDG_{kind.upper()}_HOME"] = str(tmp_path / kind)
    (tmp_path / "link").symlink_to(tmp_path / "config" / "commonplace")
    owner.environment["HOME"] = os.environ["HOME"]
    done = owner.run("collection", "add", tmp_path / place, "--name", "ours")
    assert (done.code, "no notes" in done.err) == (1, True), done
    index = tmp_path / "qmd" / "index.yml"
    index.parent.mkdir()
    index.write_text(f"collections:\n  ours:\n    path: {tmp_path / place}\n")
    done = owner.run("import", "qmd", index)
    assert (done.code, "no notes" in done.err) == (1, True), done
    assert owner.run("search", "kite").code == 3


def test_an_index_of_qmd_adds_no_folder_that_holds_no_notes_of_a_person(owner: Owner, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for folder in ("notes", ".config", ".ssh"):
        (home / folder).mkdir(parents=True)
        (home / folder / "a.md").write_text(f"The kite of {folder} is red.\n")
    (home / "link").symlink_to("/etc")
    owner.environment["HOME"] = str(home)
    places = ["/etc", "/", "/usr/share", "~", "~/.config", "~/.ssh", "~/link", "~/notes/../.config"]
    rows = "".join(
        f"  c{number}: {{path: '{place}', pattern: '**/*'}}\n" for number, place in enumerate(places)
    )
    (home / "index.yml").write_text(f"collections:\n  mine: {{path: ~/notes}}\n{rows}")
    done = owner.run("import", "qmd", home / "index.yml")
    assert done.code == 1
    for number, place in enumerate(places):
        assert f"--name c{number}" in done.err, place
    listed = owner.ok("collection", "list")
    assert "mine" in listed
    assert not [number for number in range(len(places)) if f"c{number}" in listed.split()]
