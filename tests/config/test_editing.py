"""Settings files are changed in place: whatever way they are written, one thing changes and the rest stays."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import ConfigError
from tests.places import settings_file

# One collection and one context in every way that TOML has for them.
FORMS = {
    "tables": '[collections.docs]\npath = "docs"\n\n[contexts]\ndocs = "papers"\n',
    "inline": 'collections = {docs = {path = "docs"}}\ncontexts = {docs = "papers"}\n',
    "half inline": '[collections]\ndocs = {path = "docs"}\n[contexts]\n"docs" = "papers"\n',
    "apart": '[collections.docs]\npath = "docs"\n[search]\nlimit = 3\n[contexts]\ndocs = "papers"\n'
    '[collections.more]\npath = "more"\n',
    "quoted": '["collections"."docs"]\n"path" = \'docs\'\n["contexts"]\n\'docs/\' = """papers"""\n',
    "no newline": '[contexts]\ndocs = "papers"\n[collections.docs]\npath = "docs"',
    "windows": '\ufeff[collections.docs]\r\npath = "docs"\r\n\r\n[contexts]\r\ndocs = "papers"\r\n',
}
EVERY_FORM = pytest.mark.parametrize("form", FORMS)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("memory", "docs", "more", "new"):
        (tmp_path / "work" / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def write(root: Path, form: str) -> Path:
    file = settings_file(root)
    file.write_text(FORMS[form], encoding="utf-8", newline="")
    return file


def known(root: Path) -> tuple[dict[str, str], dict[str, str]]:
    settings = config.load(root)
    return {c.name: Path(c.path).name for c in settings.collections.values()}, dict(settings.contexts)


@EVERY_FORM
def test_a_collection_is_added_to_what_is_there(root: Path, form: str) -> None:
    file = write(root, form)
    collections, contexts = known(root)
    config.add_collection(root, "new", "new", glob=["*.md"], ignore=["x/"])
    assert known(root) == ({**collections, "new": "new"}, contexts)
    assert config.load(root).collections["new"].ignore == ("x/",)
    assert tomllib.loads(file.read_text("utf-8-sig"))["collections"]["docs"] == {"path": "docs"}


@EVERY_FORM
def test_a_collection_goes_with_its_contexts_alone(root: Path, form: str) -> None:
    write(root, form)
    collections, _ = known(root)
    config.remove_collection(root, "docs")
    assert known(root) == ({name: path for name, path in collections.items() if name != "docs"}, {})


@EVERY_FORM
def test_a_renamed_collection_keeps_all_but_its_name(root: Path, form: str) -> None:
    write(root, form)
    collections, _ = known(root)
    config.rename_collection(root, "docs", "papers")
    collections["papers"] = collections.pop("docs")
    assert known(root) == (collections, {"papers": "papers"})


@EVERY_FORM
def test_a_context_is_added_replaced_and_removed(root: Path, form: str) -> None:
    write(root, form)
    collections, contexts = known(root)
    config.add_context(root, "memory", "daily")
    assert known(root) == (collections, {**contexts, "memory": "daily"})
    config.add_context(root, "memory/", "nightly")
    assert known(root) == (collections, {**contexts, "memory": "nightly"})
    config.remove_context(root, "memory")
    assert known(root) == (collections, contexts)


@EVERY_FORM
def test_adding_and_removing_again_leaves_the_settings_as_they_were(root: Path, form: str) -> None:
    file = write(root, form)
    before = tomllib.loads(file.read_text("utf-8-sig"))
    config.add_collection(root, "new", "new")
    config.add_context(root, "", "everything")
    config.remove_context(root, "/")
    config.remove_collection(root, "new")
    assert tomllib.loads(file.read_text("utf-8-sig")) == before


DOTTED = 'collections.docs.path = "docs"\ncontexts.docs = "papers"\n'


def test_dotted_keys_are_changed_where_that_can_be_done(root: Path) -> None:
    settings_file(root).write_text(DOTTED)
    config.add_context(root, "memory", "daily")
    config.remove_context(root, "docs")
    assert known(root) == ({"docs": "docs"}, {"memory": "daily"})
    config.remove_collection(root, "docs")
    assert known(root) == ({}, {"memory": "daily"})


def test_a_change_that_would_damage_the_file_is_refused(root: Path) -> None:
    file = settings_file(root)
    file.write_text(DOTTED)
    for change in (
        lambda: config.add_collection(root, "new", "new"),
        lambda: config.rename_collection(root, "docs", "papers"),
    ):
        with pytest.raises(ConfigError, match="edit it by hand"):
            change()
        assert file.read_text() == DOTTED


def test_comments_order_and_spacing_stay(root: Path) -> None:
    text = (
        "# about this folder\n\n[search]   # how many\nlimit = 3  # few\n\n"
        "[collections.docs]  # papers\npath = 'docs' # here\n\n# the end\n"
    )
    settings_file(root).write_text(text)
    config.add_context(root, "docs", "papers")
    changed = settings_file(root).read_text()
    assert changed.startswith(text.rstrip().removesuffix("# the end").rstrip())
    assert "# the end" in changed
    config.remove_context(root, "docs")
    assert settings_file(root).read_text().strip() == text.strip()


def test_a_description_comes_back_as_it_went_in_or_changes_nothing(root: Path) -> None:
    for text in ("", " \n", "x" * 2001):
        with pytest.raises(ConfigError, match="at most 2000 characters"):
            config.add_context(root, "memory", text)
        assert not settings_file(root).exists()
    for text in ("喜欢的茶", 'a "quoted" word', "back\\slash", "tab\there", "two\nlines", "'''", '"""', "#"):
        config.add_context(root, "memory", f"  {text} ")
        assert config.load(root).contexts == {"memory": text}


def test_a_folder_inside_is_noted_by_its_path_from_the_workspace(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "docs" / "深").mkdir()
    monkeypatch.chdir(root / "docs")
    config.add_collection(root, "deep", "深")
    assert tomllib.loads(settings_file(root).read_text("utf-8")) == {
        "collections": {"deep": {"path": "docs/深"}}
    }


def test_the_workspace_itself_may_be_a_collection(root: Path) -> None:
    config.add_collection(root, "all", ".")
    assert Path(config.load(root).collections["all"].path) == root


def test_a_link_that_leaves_is_noted_with_the_user(root: Path, tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (root / "link").symlink_to(tmp_path / "vault")
    assert config.add_collection(root, "vault", "link").outside
    assert config.load(root).collections["vault"].path == str(tmp_path / "vault")
    assert not settings_file(root).exists()


def test_two_workspaces_of_one_user_do_not_see_each_other(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "memory").mkdir(parents=True)
    (tmp_path / "vault").mkdir()
    config.add_collection(root, "a", str(tmp_path / "vault"))
    config.add_collection(other, "b", str(tmp_path / "vault"))
    config.add_context(other, "b", "theirs")
    assert (list(config.load(root).collections), config.load(root).contexts) == (["a"], {})
    config.remove_collection(root, "a")
    assert list(config.load(other).collections) == ["b"]


def test_a_workspace_is_found_under_another_spelling_of_its_folder(root: Path, tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "alias").symlink_to(root)
    config.add_collection(tmp_path / "alias", "a", str(tmp_path / "vault"))
    config.add_collection(root, "b", str(tmp_path / "vault"))
    content = tomllib.loads(config.user_file().read_text("utf-8"))
    assert list(content["workspaces"]) == [str(root)]
    assert list(config.load(tmp_path / "alias").collections) == ["a", "b"]


def test_a_broken_file_is_told_and_left_alone(root: Path) -> None:
    file = settings_file(root)
    file.write_text("[search\n")
    for change in (
        lambda: config.add_collection(root, "docs", "docs"),
        lambda: config.add_context(root, "", "all"),
        lambda: config.remove_context(root, ""),
        lambda: config.remove_collection(root, "docs"),
    ):
        with pytest.raises(ConfigError, match="not valid TOML"):
            change()
    assert file.read_text() == "[search\n"


def test_many_hands_add_at_once_and_none_is_lost(root: Path) -> None:
    code = "import sys; from pathlib import Path; from commonplace import config; config.add_context(Path(sys.argv[1]), sys.argv[2], 'x')"
    for number in range(6):
        (root / f"f{number}").mkdir()
    running = [subprocess.Popen([sys.executable, "-c", code, str(root), f"f{number}"]) for number in range(6)]
    assert [process.wait(60) for process in running] == [0] * 6
    assert sorted(config.load(root).contexts) == [f"f{number}" for number in range(6)]


def test_a_file_that_is_a_link_stays_one(root: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("# mine\n")
    config.user_file().parent.mkdir(parents=True)
    config.user_file().symlink_to(real)
    (tmp_path / "vault").mkdir()
    config.add_collection(root, "vault", str(tmp_path / "vault"))
    assert os.path.islink(config.user_file())
    assert real.read_text().startswith("# mine\n")
    assert "vault" in real.read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8")
@pytest.mark.parametrize("folder", ["work", "."])
def test_a_folder_whose_name_is_not_utf8_is_told_and_changes_nothing(
    root: Path, tmp_path: Path, folder: str
) -> None:
    named = tmp_path / folder / os.fsdecode(b"caf\xe9")
    named.mkdir()
    with pytest.raises(ConfigError, match="not UTF-8"):
        config.add_collection(root, "cafe", str(named))
    assert config.load(root).collections == {}
