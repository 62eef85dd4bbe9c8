"""Setting keys: checked first, written at once, comments kept, nothing lost among several writers."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import config
from commonplace.base.errors import ConfigError
from commonplace.config.settings import KEYS, Key
from tests.places import settings_file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    return tmp_path / "notes"


def test_several_keys_are_set_at_once_and_the_rest_stays(root: Path) -> None:
    file = config.user_file()
    file.parent.mkdir(parents=True)
    file.write_text(
        "# mine\n[search]\nlimit = 3 # few\n\n[embedding]\nmodel = 'old'\nbase_url = '/x'\n", "utf-8"
    )
    found = config.set_values(
        {
            "embedding.provider": "ollama",
            "embedding.model": "bge-m3",
            "embedding.base_url": None,
            "search.limit": "7",
        }
    )
    assert found == file
    text = file.read_text("utf-8")
    assert "# mine" in text
    assert "limit = 7 # few" in text
    assert "base_url" not in text
    settings = config.load(root)
    assert (settings.embedding.provider, settings.embedding.model) == ("ollama", "bge-m3")
    config.set_values({"embedding.provider": None, "embedding.model": None})
    assert "embedding" not in file.read_text("utf-8")


def test_a_workspace_file_takes_harmless_keys_alone(root: Path) -> None:
    assert config.set_values({"search.limit": 4}, workspace=root) == settings_file(root)
    assert config.load(root).search.limit == 4
    for key, value in (
        ("embedding.base_url", "http://x"),
        ("llm.model", "x"),
        ("remember.redact", False),
    ):
        with pytest.raises(ConfigError, match="may not stand in a workspace's file"):
            config.set_values({"search.limit": 5, key: value}, workspace=root)
    assert config.load(root).search.limit == 4


def test_what_is_not_allowed_changes_nothing() -> None:
    for values, told in (
        ({"search.limit": "many"}, "must be an integer from 1 to 1000"),
        ({"search.limt": 3}, "did you mean search.limit"),
        ({"embedding.provider": "opena"}, "one of"),
        ({"index.include": ["../x"]}, "must be relative"),
    ):
        with pytest.raises(ConfigError, match=told):
            config.set_values({"recall.budget": 500, **values})
        assert not config.user_file().exists()


def test_a_file_that_cannot_be_loaded_is_left_as_it_is() -> None:
    file = config.user_file()
    file.parent.mkdir(parents=True)
    for broken in ("[search\n", "[serch]\nlimit = 3\n", "search.limit = 3\n[x]\n"):
        file.write_text(broken, "utf-8")
        with pytest.raises(ConfigError):
            config.set_values({"recall.budget": 500})
        assert file.read_text("utf-8") == broken


def values_of(key: Key) -> st.SearchStrategy[object]:
    if key.choices:
        return st.sampled_from(key.choices)
    if key.kind == "integer":
        return st.integers(int(key.low or 0), int(key.high or 9))
    if key.kind == "number":
        return st.floats(key.low, key.high)
    if key.kind == "boolean":
        return st.booleans()
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
    if key.kind == "text":
        return text
    if key.kind == "command":
        return st.lists(text.filter(lambda part: "\0" not in part), max_size=3).map(tuple)
    if key.kind == "names":
        return st.lists(st.sampled_from(["ollama", "ollama/bge-m3", "builtin"]), max_size=3).map(tuple)
    return st.lists(st.sampled_from(["*.md", "memory/**/*.md", "茶/*.md"]), max_size=3).map(tuple)


def kind_of(key: Key) -> str:
    return "choice" if key.choices else key.kind


def check_set(values: dict[str, object]) -> None:
    """Set keys, see that they come back as they are, and remove them."""
    config.set_values(values)
    loaded = config.trace(Path(os.sep))
    for key, value in values.items():
        group, _, name = key.partition(".")
        assert getattr(getattr(loaded.settings, group), name) == value, key
        assert loaded.origins[key] == str(config.user_file())
    config.set_values(dict.fromkeys(values))


@pytest.mark.parametrize("kind", sorted({kind_of(key) for key in KEYS}))
@given(data=st.data())
def test_what_is_set_comes_back(kind: str, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from([key for key in KEYS if kind_of(key) == kind]))
    check_set({key.name: data.draw(values_of(key))})


def test_every_key_is_set_and_comes_back() -> None:
    lists = {"texts": ("茶/*.md",), "names": ("ollama/bge-m3",), "command": ("/bin/cat", "-u")}
    values: dict[str, object] = {}
    for key in KEYS:
        if key.choices:
            values[key.name] = key.choices[-1]
        elif key.kind == "boolean":
            values[key.name] = not key.default
        else:
            values[key.name] = lists.get(key.kind, "text" if key.low is None else key.high)
            if key.kind == "integer":
                values[key.name] = int(key.high or 0)
    check_set(values)


def test_removing_what_is_not_there_makes_no_file(root: Path) -> None:
    assert config.set_values({"search.limit": None}) == config.user_file()
    config.set_values({"search.limit": None}, workspace=root)
    assert not config.user_file().exists()
    assert not settings_file(root).exists()


def test_a_mistake_about_another_workspace_is_told_before_anything_is_written() -> None:
    file = config.user_file()
    file.parent.mkdir(parents=True)
    broken = '[workspaces."/elsewhere".collections.x]\npath = "relative"\n'
    file.write_text(broken)
    with pytest.raises(ConfigError, match="must be absolute"):
        config.set_values({"search.limit": 5})
    assert file.read_text() == broken


def test_a_mistake_can_be_mended_by_setting_the_key(root: Path) -> None:
    config.user_file().parent.mkdir(parents=True)
    config.user_file().write_text("[search]\nlimit = 0\n")
    config.set_values({"search.limit": 5})
    assert config.load(root).search.limit == 5


class TestValuesOfAnAgent:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "# mine\n[search] # everybody\nlimit = 2\n\n# last\n",
            "[agents.scout.recall]\nbudget = 300 # less\n[search]\nlimit = 2\n[agents.scout.usage]\nrecord = false\n",
            "[agents.scout]\nsearch = {limit = 4}\nrecall = {budget = 300}\n",
            "agents = {scout = {recall = {budget = 300}}}\n",
        ],
        ids=["none", "others", "apart", "inline", "all inline"],
    )
    def test_one_key_is_set_and_removed_and_the_rest_stays(self, root: Path, text: str) -> None:
        file = config.user_file()
        file.parent.mkdir(parents=True)
        file.write_text(text)
        everybody, before = config.load(root), config.load(root, agent="scout")
        assert config.set_values({"search.limit": "17", "recall.budget": 170}, agent="scout") == file
        after = config.load(root, agent="scout")
        assert after == before._replace(
            search=before.search._replace(limit=17), recall=before.recall._replace(budget=170)
        )
        assert config.load(root) == everybody
        for comment in re.findall(r"#.*", text):
            assert comment in file.read_text()
        config.set_values({"search.limit": None, "recall.budget": None}, agent="scout")
        assert config.load(root) == everybody
        emptied = config.load(root, agent="scout")
        assert (emptied.search, emptied.recall, emptied.usage) == (
            everybody.search,
            everybody.recall,
            before.usage,
        )

    def test_dotted_keys_are_left_to_their_owner(self) -> None:
        text = "[agents]\nscout.recall.budget = 300\n"
        config.user_file().parent.mkdir(parents=True)
        config.user_file().write_text(text)
        with pytest.raises(ConfigError, match="edit it by hand"):
            config.set_values({"search.limit": 7}, agent="scout")
        assert config.user_file().read_text() == text

    def test_a_table_that_is_empty_goes_with_its_last_key(self) -> None:
        config.set_values({"search.limit": 7})
        before = config.user_file().read_text()
        config.set_values({"recall.budget": 70, "limits.wait_s": 7}, agent="scout")
        config.set_values({"recall.budget": None, "limits.wait_s": None}, agent="scout")
        assert config.user_file().read_text().strip() == before.strip()

    def test_an_empty_table_of_the_owners_stays(self) -> None:
        config.user_file().parent.mkdir(parents=True)
        config.user_file().write_text("[agents.scout]\n")
        config.set_values({"search.limit": None}, agent="scout")
        config.set_values({"search.limit": None, "recall.budget": 70}, agent="other")
        config.set_values({"recall.budget": None}, agent="other")
        assert config.user_file().read_text().strip() == "[agents.scout]"

    def test_one_in_a_workspace_stays_harmless(self, root: Path) -> None:
        for values in ({"llm.key": "x"}, {"search.limit": 7}):
            with pytest.raises(ConfigError, match=r"may stand in your own config\.toml only"):
                config.set_values(values, workspace=root, agent="scout")

    @pytest.mark.parametrize("name", ["a b", "../x", "x" * 65])
    def test_a_name_that_is_none_writes_nothing(self, name: str) -> None:
        with pytest.raises(ConfigError, match="is no name for one"):
            config.set_values({"search.limit": 7}, agent=name)
        assert not config.user_file().exists()


class TestAgents:
    @pytest.fixture(autouse=True)
    def files(self, root: Path) -> None:
        config.user_file().parent.mkdir(parents=True)
        config.user_file().write_text(
            "[search]\nlimit = 2\n[recall]\nbudget = 200\n"
            "[agents.scout.search]\nlimit = 20\n[agents.scout.embedding]\nprovider = 'none'\n"
            "[agents.scout.recall]\nbudget = 300\n"
        )
        settings_file(root).write_text("[search]\nlimit = 3\n[recall]\nbudget = 400\n")

    def test_an_agents_tables_win_over_the_rest_of_the_files(self, root: Path) -> None:
        assert config.load(root).search.limit == 3
        loaded = config.trace(root, agent="scout")
        assert (loaded.settings.search.limit, loaded.settings.recall.budget) == (20, 300)
        assert loaded.settings.embedding.provider == "none"
        assert loaded.origins["search.limit"] == f"{config.user_file()} [agents.scout]"
        assert loaded.origins["recall.budget"] == f"{config.user_file()} [agents.scout]"
        assert config.load(root, agent="nobody").search.limit == 3

    def test_the_environment_names_one_and_wins_over_it(self, root: Path) -> None:
        environ = {**os.environ, "COMMONPLACE_AGENT": "scout"}
        assert config.load(root, environ).search.limit == 20
        assert config.load(root, environ, agent="").search.limit == 3
        loaded = config.trace(root, environ | {"COMMONPLACE_SEARCH_LIMIT": "9"})
        assert (loaded.settings.search.limit, loaded.origins["search.limit"]) == (
            9,
            "COMMONPLACE_SEARCH_LIMIT",
        )
        assert config.load(root, environ, {"search.limit": 8}).search.limit == 8

    def test_a_workspaces_file_has_none(self, root: Path) -> None:
        before = config.load(root, agent="scout")
        for text in ("[agents.scout.search]\nlimit = 4\n", "[agents.scout]\n", "agents = {}\n"):
            settings_file(root).write_text(text)
            settings = config.load(root, agent="scout")
            assert settings.search == before.search
            assert "is ignored: it comes with the folder" in settings.warnings[0]

    def test_mistakes_are_told_whoever_is_asking(self, root: Path) -> None:
        for table, told in (
            ("[agents.x.serch]\nlimit = 3", "did you mean search"),
            ("[agents.x.search]\nlimit = 0", "must be an integer from 1"),
            ("[agents.x]\nsearch = 3", "must be a table"),
            ("[agents.'../x'.search]\nlimit = 3", "is no name for one"),
            ("agents = 3", "must be a table"),
            ("[agents.x.collections.y]\npath = '/'", "unknown table"),
        ):
            config.user_file().write_text(table)
            with pytest.raises(ConfigError, match=told):
                config.load(root, agent="somebody")

    def test_a_name_that_is_none_is_refused(self, root: Path) -> None:
        for name in ("a b", "../x", "-x", "x" * 65, "\x1b[31m"):
            with pytest.raises(ConfigError, match="is no name for one"):
                config.load(root, agent=name)
