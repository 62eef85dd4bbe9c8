"""Collections that are left out by default, and the commands that bring them up to date."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commonplace import config
from commonplace.base.errors import ConfigError, UnknownCollection
from commonplace.config import editing
from commonplace.config.files import user_file
from tests.places import settings_file

PULL = ("git", "pull", "-q")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    (root / "inner").mkdir(parents=True)
    (tmp_path / "outer").mkdir()
    config.add_collection(root, "inner", str(root / "inner"))
    config.add_collection(root, "outer", str(tmp_path / "outer"))
    return root


def of_workspace(root: Path) -> dict[str, object]:
    return tomllib.loads(settings_file(root).read_text("utf-8"))


@pytest.mark.parametrize("name", ["inner", "outer"])
def test_a_collection_is_left_out_and_taken_in_again(root: Path, name: str) -> None:
    before = config.load(root).collections
    assert not config.set_collection(root, name, by_default=False).by_default
    assert not config.load(root).collections[name].by_default
    assert config.set_collection(root, name, by_default=True).by_default
    assert config.load(root).collections == before
    assert "include_by_default" not in user_file().read_text() + settings_file(root).read_text()
    with pytest.raises(UnknownCollection):
        config.set_collection(root, "none", by_default=False)


@pytest.mark.parametrize(
    ("name", "usual", "other"), [("inner", "own", "reference"), ("outer", "reference", "own")]
)
def test_what_lies_outside_is_reference_unless_it_is_said(
    root: Path, tmp_path: Path, name: str, usual: str, other: str
) -> None:
    assert config.load(root).collections[name].weight == usual
    assert (
        config.set_collection(root, name, weight=other).weight
        == config.load(root).collections[name].weight
        == other
    )
    assert config.reference(config.load(root)) == {
        each for each, found in config.load(root).collections.items() if found.weight == "reference"
    }
    assert config.set_collection(root, name, weight=usual).weight == usual
    with pytest.raises(ConfigError, match=r"weight.*own, reference"):
        config.set_collection(root, name, weight="heavy")
    with pytest.raises(UnknownCollection):
        config.set_collection(root, "none", weight="own")


def test_a_weight_is_said_when_a_folder_is_added(root: Path, tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    assert config.add_collection(root, "vault", str(tmp_path / "vault"), weight="own").weight == "own"
    with pytest.raises(ConfigError, match=r"weight.*own, reference"):
        config.add_collection(root, "other", str(tmp_path / "vault"), weight="heavy")
    assert config.add_collection(root, "logs", str(tmp_path / "vault"), format="auto").weight == "own"


def test_by_default_is_true_or_false(root: Path) -> None:
    file = settings_file(root)
    file.write_text('[collections.inner]\npath = "inner"\ninclude_by_default = "no"\n')
    with pytest.raises(ConfigError, match=r"collections.inner.include_by_default.*true or false"):
        config.load(root)


@pytest.mark.parametrize("name", ["inner", "outer"])
def test_a_command_stands_in_the_users_file_alone(root: Path, name: str) -> None:
    workspace = of_workspace(root)
    assert config.set_update(root, name, PULL).update == PULL
    assert {n: c.update for n, c in config.load(root).collections.items() if c.update} == {name: PULL}
    assert of_workspace(root) == workspace
    assert config.set_update(root, name, ("true",)).update == ("true",)
    config.rename_collection(root, name, "new")
    assert config.load(root).collections["new"].update == ("true",)
    config.remove_collection(root, "new")
    assert "updates" not in user_file().read_text()


def test_a_command_is_cleared(root: Path) -> None:
    config.set_update(root, "inner", PULL)
    assert config.set_update(root, "inner", ()).update == ()
    assert "updates" not in user_file().read_text()


@pytest.mark.parametrize(
    "text",
    ['[updates]\n"/tmp" = ["sh"]\n', '[collections.inner]\npath = "inner"\nupdate = ["sh"]\n',
    ],
    ids=["updates", "in the collection"],
)  # fmt: skip
def test_a_workspaces_file_sets_no_command(root: Path, text: str) -> None:
    settings_file(root).write_text(text)
    with pytest.raises(ConfigError):
        config.load(root)


def test_a_workspaces_file_sets_no_command_for_another(root: Path) -> None:
    settings_file(root).write_text(
        f'[collections.inner]\npath = "inner"\n[workspaces."{root}".updates]\n"{root}/inner" = ["sh"]\n'
    )
    assert config.load(root).collections["inner"].update == ()
    assert "[workspaces] in" in config.load(root).warnings[0]


def test_a_name_that_is_led_elsewhere_has_no_command(root: Path) -> None:
    config.set_update(root, "inner", PULL)
    (root / "other").mkdir()
    settings_file(root).write_text('[collections.inner]\npath = "other"\n')
    assert config.load(root).collections["inner"].update == ()
    (root / "inner").rename(root / "moved")
    (root / "inner").symlink_to(root / "other")
    settings_file(root).write_text('[collections.inner]\npath = "inner"\n')
    assert config.load(root).collections["inner"].update == ()


@pytest.mark.parametrize(
    "value", ['"/x" = "git pull"', '"/x" = []', '"/x" = [""]', '"/x" = ["git", 1]', '"x" = ["git"]']
)
def test_a_command_is_a_list_of_texts_for_an_absolute_folder(root: Path, value: str) -> None:
    user_file().write_text(f'[workspaces."{root}".updates]\n{value}\n')
    with pytest.raises(ConfigError, match="updates"):
        config.load(root)


def test_what_another_did_meanwhile_to_a_name_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that add a folder under one name one is told so; what is gone is not made again by a setting."""
    root, one, other = tmp_path / "root", tmp_path / "one", tmp_path / "other"
    for folder in (root, one, other):
        folder.mkdir()
    edit = editing.edit

    def meanwhile(change: Callable[[], object]) -> None:
        """Let another process do something before the next change is written."""

        def raced(*arguments: Any) -> None:
            monkeypatch.setattr(editing, "edit", edit)
            change()
            edit(*arguments)

        monkeypatch.setattr(editing, "edit", raced)

    meanwhile(lambda: config.add_collection(root, "z", str(other)))
    with pytest.raises(ConfigError, match=r"'z' is .*other already"):
        config.add_collection(root, "z", str(one))
    assert config.load(root).collections["z"].path == str(other)
    for change in (
        lambda: config.set_collection(root, "z", by_default=False),
        lambda: config.set_collection(root, "z", weight="own"),
        lambda: config.rename_collection(root, "z", "y"),
    ):
        meanwhile(lambda: config.remove_collection(root, "z"))
        with pytest.raises(UnknownCollection):
            change()
        assert config.load(root).collections == {}
        config.add_collection(root, "z", str(other))


@pytest.mark.parametrize("ending", "md txt py pyi js mjs cjs jsx ts mts cts tsx go rs".split())
def test_a_folder_may_name_notes_text_and_code(ending: str) -> None:
    assert config.collections.may_name(f"docs/a.{ending}", config.collections.OF_COLLECTIONS)  # type: ignore[attr-defined]
