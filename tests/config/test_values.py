"""Setting keys: checked first, written at once, comments kept, nothing lost among several writers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import config
from commonplace.config.keys import KEYS, Key
from commonplace.errors import ConfigError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    return tmp_path / "notes"


def test_several_keys_are_set_at_once_and_the_rest_stays(root: Path) -> None:
    file = config.user_file()
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n[search]\nlimit = 3 # few\n\n[embedding]\nmodel = 'old'\npath = '/x'\n", "utf-8")
    found = config.set_values(
        {
            "embedding.provider": "ollama",
            "embedding.model": "bge-m3",
            "embedding.path": None,
            "search.limit": "7",
        }
    )
    assert found == file
    text = file.read_text("utf-8")
    assert "# mine" in text
    assert "limit = 7 # few" in text
    assert "path" not in text
    settings = config.load(root)
    assert (settings.embedding.provider, settings.embedding.model) == ("ollama", "bge-m3")
    config.set_values({"embedding.provider": None, "embedding.model": None})
    assert "embedding" not in file.read_text("utf-8")


def test_a_workspace_file_takes_harmless_keys_alone(root: Path) -> None:
    assert config.set_values({"search.limit": 4}, workspace=root) == root / "commonplace.toml"
    assert config.load(root).search.limit == 4
    for key, value in (
        ("embedding.base_url", "http://x"),
        ("llm.command", ["x"]),
        ("remember.redact", False),
    ):
        with pytest.raises(ConfigError, match="may not stand in a workspace's file"):
            config.set_values({"search.limit": 5, key: value}, workspace=root)
    assert config.load(root).search.limit == 4


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"search.limit": "many"}, "must be an integer from 1 to 1000"),
        ({"search.limt": 3}, "did you mean search.limit"),
        ({"embedding.provider": "opena"}, "one of"),
        ({"index.include": ["../x"]}, "must be relative"),
    ],
)
def test_what_is_not_allowed_changes_nothing(values: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        config.set_values({"recall.budget": 500, **values})
    assert not config.user_file().exists()


@pytest.mark.parametrize("broken", ["[search\n", "[serch]\nlimit = 3\n", "search.limit = 3\n[x]\n"])
def test_a_file_that_cannot_be_loaded_is_left_as_it_is(broken: str) -> None:
    file = config.user_file()
    file.parent.mkdir(parents=True)
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


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
@given(data=st.data())
def test_what_is_set_comes_back(key: Key, data: st.DataObject) -> None:
    value = data.draw(values_of(key))
    config.set_values({key.name: value})
    loaded = config.trace(Path(os.sep))
    group, _, name = key.name.partition(".")
    assert getattr(getattr(loaded.settings, group), name) == value
    assert loaded.origins[key.name] == str(config.user_file())
    config.set_values({key.name: None})


def test_processes_that_set_at_the_same_time_lose_nothing(root: Path) -> None:
    program = "import sys; from commonplace import config; config.set_values({sys.argv[1]: sys.argv[2]})"
    wanted = {"search.limit": "7", "recall.budget": "700", "watch.debounce_s": "2", "llm.model": "m",
              "embedding.model": "e", "output.color": "never"}  # fmt: skip
    running = [subprocess.Popen([sys.executable, "-c", program, *pair]) for pair in wanted.items()]
    assert [process.wait(60) for process in running] == [0] * len(wanted)
    settings = config.load(root)
    assert (settings.search.limit, settings.recall.budget, settings.llm.model) == (7, 700, "m")
    assert (settings.watch.debounce_s, settings.embedding.model, settings.output.color) == (2, "e", "never")


class TestAgents:
    @pytest.fixture(autouse=True)
    def files(self, root: Path) -> None:
        config.user_file().parent.mkdir(parents=True)
        config.user_file().write_text(
            "[search]\nlimit = 2\n[recall]\nbudget = 200\n"
            "[agents.scout.search]\nlimit = 20\n[agents.scout.embedding]\nprovider = 'none'\n"
            "[agents.scout.recall]\nbudget = 300\n"
        )
        (root / "commonplace.toml").write_text("[search]\nlimit = 3\n[agents.scout.recall]\nbudget = 400\n")

    def test_an_agents_tables_win_over_the_rest_of_the_files(self, root: Path) -> None:
        assert config.load(root).search.limit == 3
        loaded = config.trace(root, agent="scout")
        assert (loaded.settings.search.limit, loaded.settings.recall.budget) == (20, 400)
        assert loaded.settings.embedding.provider == "none"
        assert loaded.origins["search.limit"] == f"{config.user_file()} [agents.scout]"
        assert loaded.origins["recall.budget"] == f"{root / 'commonplace.toml'} [agents.scout]"
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

    @pytest.mark.parametrize("table", ["[agents.x.embedding]\nprovider = 'none'", "[agents.x.remember]\nredact = false",
                                       "[agents.x.llm]\ncommand = ['rm']"])  # fmt: skip
    def test_one_in_a_workspace_may_set_what_the_workspace_may(self, root: Path, table: str) -> None:
        (root / "commonplace.toml").write_text(table)
        with pytest.raises(ConfigError, match="comes with the folder and may not set it"):
            config.load(root)

    @pytest.mark.parametrize(
        ("table", "told"),
        [
            ("[agents.x.serch]\nlimit = 3", "did you mean search"),
            ("[agents.x.search]\nlimit = 0", "must be an integer from 1"),
            ("[agents.x]\nsearch = 3", "must be a table"),
            ("[agents.'../x'.search]\nlimit = 3", "is no name for one"),
            ("agents = 3", "must be a table"),
            ("[agents.x.collections.y]\npath = '/'", "unknown table"),
        ],
    )
    def test_mistakes_are_told_whoever_is_asking(self, root: Path, table: str, told: str) -> None:
        (root / "commonplace.toml").write_text(table)
        with pytest.raises(ConfigError, match=told):
            config.load(root, agent="somebody")

    @pytest.mark.parametrize("name", ["a b", "../x", "-x", "x" * 65, "\x1b[31m"])
    def test_a_name_that_is_none_is_refused(self, root: Path, name: str) -> None:
        with pytest.raises(ConfigError, match="is no name for one"):
            config.load(root, agent=name)
