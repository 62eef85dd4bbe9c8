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
