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


SECRET = "The kite token is k1.\n"


@pytest.mark.parametrize(
    ("place", "glob"),
    [
        ("config/commonplace", "**/*.md"), ("config/commonplace/deep", "**/*.md"), ("cache/commonplace", "**/*"), ("link", "**/*.md"),
        ("config", "**/*.md"), (".", "**/*.md"), (".", "config/**/*.md"), ("notes/.commonplace", "**/*.md"),
        ("notes", ".commonplace/**/*.md"), ("config/commonplace", "a.md"),
    ],
)  # fmt: skip
def test_settings_of_before_that_name_them_are_told_and_not_read(
    owner: Owner, tmp_path: Path, place: str, glob: str
) -> None:
    for kind in ("config", "cache"):
        owner.environment[f"XDG_{kind.upper()}_HOME"] = str(tmp_path / kind)
        for folder in ("", "deep"):
            (tmp_path / kind / "commonplace" / folder).mkdir(parents=True, exist_ok=True)
            (tmp_path / kind / "commonplace" / folder / "a.md").write_text(SECRET)
    owner.note(".commonplace/a.md", SECRET)
    owner.note("memory/sea.md", "# Sea\n\nThe boat is red.\n")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "b.md").write_text("The harbour is grey.\n")
    (tmp_path / "link").symlink_to(tmp_path / "config" / "commonplace")
    table = f'[workspaces."{owner.folder}".collections'
    rows = f"{table}.ours]\npath = '{tmp_path / place}'\nglob = ['{glob}']\n"
    rows += f"{table}.fine]\npath = '{tmp_path / 'beside'}'\n"
    (tmp_path / "config" / "commonplace" / "config.toml").write_text(rows)
    owner.run("sync")
    assert owner.run("search", "kite token").code == 3
    assert "harbour" in owner.ok("search", "harbour")
    inner = {"config": "commonplace/a.md", ".": "config/commonplace/a.md", "notes": ".commonplace/a.md"}
    done = owner.run("get", f"ours/{inner.get(place, 'a.md')}")
    assert (done.code, "k1" in done.out + done.err) == (1, False), done
    if place not in inner:  # the whole folder is ours
        for command in ("status", "doctor"):
            done = owner.run(command)
            assert (done.out + done.err).count("collection ours is not read") == 1, done
            assert "commonplace collection remove" in done.out + done.err
        owner.ok("collection", "remove", "ours")
        done = owner.run("status")
        assert "is not read" not in done.out + done.err
