"""The user's file is changed in place: however it is written, one thing changes and the rest stays."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from commonplace import config
from commonplace.base.errors import ConfigError, NoteUnreadable, UnknownCollection
from commonplace.config import editing
from tests.places import settings_file

PULL = ("git", "pull", "-q")
# One collection and one context in every way that TOML has for them; `W` is the table of the workspace.
FORMS = {
    "tables": '[W.collections.docs]\npath = "docs"\n\n[W.contexts]\ndocs = "papers"\n',
    "inline": '[W]\ncollections = {docs = {path = "docs"}}\ncontexts = {docs = "papers"}\n',
    "apart": '[W.collections.docs]\npath = "docs"\n[search]\nlimit = 3\n[W.contexts]\ndocs = "papers"\n'
    '[W.collections.more]\npath = "more"\n',
    "quoted": '[W."collections"."docs"]\n"path" = \'docs\'\n[W."contexts"]\n\'docs/\' = """papers"""\n',
    "no newline": '[W.contexts]\ndocs = "papers"\n[W.collections.docs]\npath = "docs"',
    "windows": '\ufeff[W.collections.docs]\r\npath = "docs"\r\n\r\n[W.contexts]\r\ndocs = "papers"\r\n',
}
DOTTED = '[W]\ncollections.docs.path = "docs"\ncontexts.docs = "papers"\n'


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("memory", "docs", "more", "new"):
        (tmp_path / "work" / name).mkdir(parents=True)
    (tmp_path / "vault").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def write(root: Path, text: str) -> Path:
    file = config.user_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.replace("W", f'workspaces."{root}"'), encoding="utf-8", newline="")
    return file


def known(root: Path) -> tuple[dict[str, str], dict[str, str]]:
    settings = config.load(root)
    return {c.name: Path(c.path).name for c in settings.collections.values()}, dict(settings.contexts)


def content() -> dict[str, Any]:
    return tomllib.loads(config.user_file().read_text("utf-8-sig"))


@pytest.mark.parametrize("form", FORMS)
def test_one_thing_changes_and_the_rest_stays(root: Path, form: str) -> None:
    write(root, FORMS[form])
    before, (collections, contexts) = content(), known(root)
    config.add_collection(root, "new", "new", glob=["*.md"], ignore=["x/"])
    config.add_context(root, "memory", "daily")
    config.add_context(root, "memory/", "nightly")
    assert known(root) == ({**collections, "new": "new"}, {**contexts, "memory": "nightly"})
    assert config.load(root).collections["new"].ignore == ("x/",)
    config.remove_context(root, "memory")
    config.remove_collection(root, "new")
    assert content() == before
    config.rename_collection(root, "docs", "papers")
    collections["papers"] = collections.pop("docs")
    assert known(root) == (collections, {"papers": "papers"})
    config.remove_collection(root, "papers")
    del collections["papers"]
    assert known(root) == (collections, {})
    assert not settings_file(root).exists()


def test_a_change_that_would_damage_the_file_is_refused(root: Path) -> None:
    file = write(root, DOTTED)
    before = file.read_text()
    for change in (
        lambda: config.add_collection(root, "new", "new"),
        lambda: config.rename_collection(root, "docs", "papers"),
    ):
        with pytest.raises(ConfigError, match="edit it by hand"):
            change()
        assert file.read_text() == before
    write(root, "[search\n")
    for change in (
        lambda: config.add_context(root, "", "all"),
        lambda: config.set_values({"search.limit": 3}),
    ):
        with pytest.raises(ConfigError, match="not valid TOML"):
            change()
    assert file.read_text() == "[search\n"


def test_comments_order_and_spacing_stay(root: Path) -> None:
    text = "# about this folder\n\n[search]   # how many\nlimit = 3  # few\n\n# the end\n"
    file = write(root, text)
    config.add_context(root, "docs", "papers")
    assert file.read_text().startswith(text.removesuffix("# the end\n"))
    config.remove_context(root, "docs")
    assert file.read_text().strip() == text.strip()


def test_a_description_comes_back_as_it_went_in_or_changes_nothing(root: Path) -> None:
    for prefix, text in (
        ("memory", ""),
        ("", " \n"),
        ("memory", "x" * 2001),
        ("nowhere", "x"),
        ("../x", "x"),
    ):
        with pytest.raises(ConfigError):
            config.add_context(root, prefix, text)
        assert not config.user_file().exists()
    for text in ("喜欢的茶", 'a "quoted" word', "back\\slash", "tab\there", "two\nlines", "'''", '"""', "#"):
        assert config.add_context(root, "./memory/", f"  {text} ") == "memory"
        assert config.load(root).contexts == {"memory": text}
    with pytest.raises(ConfigError, match="known: 'memory'"):
        config.remove_context(root, "docs")


def test_where_a_collection_lies(root: Path, tmp_path: Path) -> None:
    """Inside it is named from the workspace, and moves with it; a link is where it leads."""
    (root / "link").symlink_to(tmp_path / "vault")
    (tmp_path / "alias").symlink_to(root)
    config.add_collection(tmp_path / "alias", "all", ".")
    config.add_collection(root, "docs", "docs")
    config.add_collection(root, "vault", "link")
    (named,) = content()["workspaces"]
    paths = {name: one["path"] for name, one in content()["workspaces"][named]["collections"].items()}
    assert (named, paths) == (str(root), {"all": ".", "docs": "docs", "vault": str(tmp_path / "vault")})
    assert [one.weight for one in config.load(root).collections.values()] == ["own", "own", "reference"]
    root.rename(tmp_path / "moved")
    editing.move_own(root, tmp_path / "moved")
    assert list(content()["workspaces"]) == [str(tmp_path / "moved")]
    found = config.load(tmp_path / "moved").collections
    assert [one.path for one in found.values()][:2] == [str(tmp_path / "moved"), str(tmp_path / "moved/docs")]


def test_two_workspaces_of_one_user_do_not_see_each_other(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "memory").mkdir(parents=True)
    config.add_collection(root, "a", str(tmp_path / "vault"))
    config.add_collection(other, "b", str(tmp_path / "vault"))
    config.add_context(other, "b", "theirs")
    assert known(root) == ({"a": "vault"}, {})
    config.remove_collection(root, "a")
    assert known(other) == ({"b": "vault"}, {"b": "theirs"})


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
    config.add_collection(root, "vault", str(tmp_path / "vault"))
    assert os.path.islink(config.user_file())
    assert real.read_text().startswith("# mine\n")
    assert "vault" in real.read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8")
def test_a_folder_whose_name_is_not_utf8_is_told_and_changes_nothing(root: Path) -> None:
    (root / os.fsdecode(b"caf\xe9")).mkdir()
    with pytest.raises(ConfigError, match="not UTF-8"):
        config.add_collection(root, "cafe", os.fsdecode(b"caf\xe9"))
    assert config.load(root).collections == {}


def test_a_file_that_cannot_be_written_is_an_error_of_ours(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    file = write(root, "# mine\n")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(NoteUnreadable, match="no space left"):
        config.add_context(root, "", "text")
    assert file.read_text() == "# mine\n"
    assert [path.name for path in file.parent.iterdir() if path.name.endswith(".tmp")] == []


def test_collections_that_cannot_be_added(root: Path) -> None:
    config.add_collection(root, "a", "memory")
    for name, path, words in (
        ("a", ".", "already"), ("memory", ".", "is the workspace itself"), ("A b", ".", "no name for one"),
        ("x" * 65, ".", "at most 64"), ("b", "none", "not a folder"), ("b", " ", "say which folder"),
        (None, "memory", "as the folder is called"), ("b", str(config.user_file().parent), "which are no notes"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=words):
            config.add_collection(root, name, path)
    (root / "会").mkdir()
    assert [config.add_collection(root, None, "会").name for _ in "12"] == ["folder", "folder-2"]
    with pytest.raises(UnknownCollection, match="known: a"):
        config.remove_collection(root, "b")
    with pytest.raises(UnknownCollection):
        config.rename_collection(root, "b", "c")
    with pytest.raises(ConfigError, match="already"):
        config.rename_collection(root, "a", "a")


def test_a_collection_is_left_out_weighed_and_set_back(root: Path, tmp_path: Path) -> None:
    config.add_collection(root, "docs", "docs", ignore=["x"])
    config.add_collection(root, "vault", str(tmp_path / "vault"))
    before = content()
    assert not config.set_collection(root, "docs", by_default=False).by_default
    assert config.set_collection(root, "vault", weight="own").weight == "own"
    assert (config.by_default(config.load(root)), config.reference(config.load(root))) == (
        ("memory", "vault"), frozenset(),
    )  # fmt: skip
    config.set_collection(root, "docs", by_default=True)
    assert config.by_default(config.load(root)) == ()
    assert config.set_collection(root, "vault", weight="reference").weight == "reference"
    assert config.reference(config.load(root)) == {"vault"}
    content()["workspaces"][str(root)]["collections"]["vault"].pop("weight")
    assert content()["workspaces"][str(root)]["collections"]["docs"] == {"path": "docs", "ignore": ["x"]}
    assert before["workspaces"][str(root)]["collections"]["vault"] == {"path": str(tmp_path / "vault")}
    with pytest.raises(ConfigError, match=r"weight.*own, reference"):
        config.set_collection(root, "vault", weight="heavy")
    with pytest.raises(UnknownCollection):
        config.set_collection(root, "none", by_default=False)
    assert config.add_collection(root, "logs", str(tmp_path / "vault"), format="auto").weight == "own"


def test_a_command_belongs_to_its_folder(root: Path) -> None:
    config.add_collection(root, "docs", "docs")
    assert config.set_update(root, "docs", PULL).update == PULL
    assert config.set_update(root, "docs", ("true",)).update == ("true",)
    config.rename_collection(root, "docs", "papers")
    assert config.load(root).collections["papers"].update == ("true",)
    (root / "docs").rename(root / "moved")
    (root / "docs").symlink_to(root / "more")  # a name that is led elsewhere has no command
    assert config.load(root).collections["papers"].update == ()
    (root / "docs").unlink()
    (root / "moved").rename(root / "docs")
    assert config.set_update(root, "papers", ()).update == ()
    assert "updates" not in config.user_file().read_text()
    config.set_update(root, "papers", PULL)
    config.remove_collection(root, "papers")
    assert "updates" not in config.user_file().read_text()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[W.updates]\n"/x" = "git pull"', "updates"), ('[W.updates]\n"/x" = []', "updates"),
        ('[W.updates]\n"/x" = [""]', "updates"), ('[W.updates]\n"/x" = ["git", 1]', "updates"),
        ('[W.updates]\n"x" = ["git"]', "absolute folder"), ("[W.contexts]\nx = 3", "a text of at most 2000"),
        ("[W.collections.x]\nglob = ['a']", "None in .* must be a folder"),
        ("[W.collections.x]\npaht = 'a'", "did you mean path"), ("[W.collections.memory]\npath = 'a'", "itself"),
        ('[W.collections.x]\npath = "a"\ninclude_by_default = "no"', "true or false"),
        ('[collections.x]\npath = "/x"', r'\[workspaces."/path".collections.NAME\]'),
        ("[W]\ncolections = {}", "did you mean collections"),
    ],
)  # fmt: skip
def test_mistakes_of_the_named_tables(root: Path, text: str, told: str) -> None:
    write(root, text)
    with pytest.raises(ConfigError, match=told):
        config.load(root)
    with pytest.raises(ConfigError, match=told):  # nothing is written beside a mistake, wherever it is
        config.set_values({"search.limit": 5})


def test_a_text_of_the_owners_replaces_the_file(root: Path) -> None:
    file = write(root, "# a\n")
    assert config.rewrite(b"# a\n", b"# b\n") == file
    for before, after, workspace, told in (
        (b"# a\n", b"# c\n", None, "changed meanwhile"),
        (b"# b\n", b"[search]\nlimit = 0\n", None, "must be an integer"),
        (b"", b"[search]\nlimit = 0\n", root, "must be an integer"),
    ):
        with pytest.raises(ConfigError, match=told):
            config.rewrite(before, after, workspace=workspace)
    assert file.read_text() == "# b\n"
    config.rewrite(b"", b"[search]\nlimit = 4\n", workspace=root)
    assert config.load(root).search.limit == 4


def test_what_another_did_meanwhile_to_a_name_counts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit = editing.edit

    def raced(*arguments: Any) -> None:
        monkeypatch.setattr(editing, "edit", edit)
        config.add_collection(root, "z", "docs")
        edit(*arguments)

    monkeypatch.setattr(editing, "edit", raced)
    with pytest.raises(ConfigError, match=r"'z' is .*docs already"):
        config.add_collection(root, "z", "more")
    assert known(root) == ({"z": "docs"}, {})


# --- keys ----------------------------------------------------------------------------------------------


def test_several_keys_are_set_at_once_and_the_rest_stays(root: Path) -> None:
    file = write(root, "# mine\n[search]\nlimit = 3 # few\n\n[embedding]\nmodel = 'old'\nbase_url = '/x'\n")
    values = {
        "embedding.provider": "ollama",
        "embedding.model": "bge-m3",
        "embedding.base_url": None,
        "search.limit": "7",
    }
    assert config.set_values(values) == file
    assert file.read_text().startswith("# mine\n[search]\nlimit = 7 # few\n")
    settings = config.load(root)
    assert settings.embedding[:2] == ("ollama", "bge-m3")
    assert settings.embedding.base_url == ""
    config.set_values({"embedding.provider": None, "embedding.model": None})
    assert "embedding" not in file.read_text("utf-8")


def test_a_workspace_file_takes_harmless_keys_alone(root: Path) -> None:
    assert config.set_values({"search.limit": 4}, workspace=root) == settings_file(root)
    for key, value in (("embedding.base_url", "http://x"), ("remember.redact", False)):
        with pytest.raises(ConfigError, match="may not stand in a workspace's file"):
            config.set_values({"search.limit": 5, key: value}, workspace=root)
    with pytest.raises(ConfigError, match=r"may stand in your own config\.toml only"):
        config.set_values({"search.limit": 7}, workspace=root, agent="scout")
    assert config.load(root).search.limit == 4


def test_what_is_not_allowed_changes_nothing(root: Path) -> None:
    for values, told in (
        ({"search.limit": "many"}, "must be an integer from 1 to 1000"),
        ({"search.limt": 3}, "did you mean search.limit"),
        ({"index.include": ["../x"]}, "must be relative"),
    ):
        with pytest.raises(ConfigError, match=told):
            config.set_values({"recall.budget": 500, **values})
    with pytest.raises(ConfigError, match="is no name for one"):
        config.set_values({"search.limit": 7}, agent="../x")
    config.set_values({"search.limit": None})
    config.set_values({"search.limit": None}, workspace=root)
    assert not config.user_file().exists()
    assert not settings_file(root).exists()
    file = write(root, "[search]\nlimit = 0\n")
    with pytest.raises(ConfigError):
        config.set_values({"recall.budget": 500})
    config.set_values({"search.limit": 5})  # the mistake itself can be mended
    assert "limit = 5" in file.read_text()


def test_every_key_is_set_and_comes_back(root: Path) -> None:
    values: dict[str, Any] = {}
    for key in config.KEYS:
        wide: Any = {"texts": ("茶/*.md",), "names": ("ollama/bge-m3",), "boolean": not key.default}
        plain = "te\"x't\n" if key.low is None else int(key.high or 0) if key.kind == "integer" else key.high
        values[key.name] = key.choices[-1] if key.choices else wide.get(key.kind, plain)
    file = config.set_values(values)
    loaded = config.trace(root)
    for name, value in values.items():
        group, _, field = name.partition(".")
        assert getattr(getattr(loaded.settings, group), field) == value, name
        assert loaded.origins[name] == str(file)
    config.set_values(dict.fromkeys(values))
    assert file.read_text().strip() == ""


@pytest.mark.parametrize(
    "text",
    [
        "# mine\n[search] # everybody\nlimit = 2\n\n# last\n",
        "[agents.scout.recall]\nbudget = 300 # less\n[search]\nlimit = 2\n[agents.scout.usage]\nrecord = false\n",
        "agents = {scout = {recall = {budget = 300}}}\n",
    ],
)
def test_a_key_of_an_agent_is_set_and_removed_and_the_rest_stays(root: Path, text: str) -> None:
    write(root, text)
    everybody, before = config.load(root), config.load(root, agent="scout")
    config.set_values({"search.limit": "17", "recall.budget": 170}, agent="scout")
    after = config.load(root, agent="scout")
    assert after == before._replace(
        search=before.search._replace(limit=17), recall=before.recall._replace(budget=170)
    )
    assert config.load(root) == everybody
    config.set_values({"search.limit": None, "recall.budget": None}, agent="scout")
    emptied = config.load(root, agent="scout")
    assert (emptied.search, emptied.recall, emptied.usage) == (
        everybody.search,
        everybody.recall,
        before.usage,
    )
    assert text.count("#") == config.user_file().read_text().count("#") + text.count("# less")
