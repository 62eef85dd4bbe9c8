"""Keys of former versions: files with them load, and each is named once with its successor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace import Memory, config
from commonplace.base.errors import ConfigError
from commonplace.config.settings import GONE
from tests.places import settings_file

CAPS = [name for name in GONE if ".max_" in name and "_a_" in name]
IGNORED = [name for name in GONE if name not in CAPS]


def write(text: str) -> None:
    file = config.user_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_a_file_with_every_former_key_loads_and_names_each_once(tmp_path: Path) -> None:
    write("\n".join(f"{name} = 510" for name in IGNORED) + "\nsearch.limit = 3\n")
    settings = config.load(tmp_path)
    assert settings.search.limit == 3
    for name in IGNORED:
        assert len([one for one in settings.warnings if one.startswith(f"{name} in ")]) == 1, name
    assert len(settings.warnings) == len(IGNORED)
    assert all("\n" not in one for one in settings.warnings)


def test_a_former_key_does_no_harm_in_a_workspaces_file(tmp_path: Path) -> None:
    settings_file(tmp_path).write_text("\n".join(f"{name} = 1" for name in GONE))
    assert len(config.load(tmp_path).warnings) == len(GONE)


@pytest.mark.parametrize("name", CAPS)
def test_a_cap_that_nothing_would_keep_is_an_error(tmp_path: Path, name: str) -> None:
    told = rf"^{name}: .* is gone: use limits\.{name.partition('.')[2].replace('run', 'day')}"
    write(f"{name} = {json.dumps(5)}\n")
    with pytest.raises(ConfigError, match=told):
        config.load(tmp_path)
    write(f"[agents.scout]\n{name} = 5\n")
    with pytest.raises(ConfigError, match=told):
        config.load(tmp_path)
    write("")
    with pytest.raises(ConfigError, match=told):
        config.load(tmp_path, environ={f"COMMONPLACE_{name.upper().replace('.', '_')}": "5"})


def test_fields_follow_the_setting(tmp_path: Path) -> None:
    settings = config.load(
        tmp_path, overrides={"limits.wait_s": 2, "limits.deadline_s": 9, "llm.input_tokens": 700}
    )
    assert settings.embedding.query_deadline_s == 2
    assert (settings.reranking.timeout_s, settings.chat.recall_wait_s) == (2, 2)
    assert {settings.embedding.deadline_s, settings.summary.deadline_s, settings.compaction.deadline_s,
            settings.chat.deadline_s, settings.chat.tools_deadline_s, settings.consolidate.deadline_s} == {9}  # fmt: skip
    assert (settings.summary.max_tokens, settings.consolidate.max_tokens) == (700, 700)


def test_one_that_is_gone_cannot_be_set_and_says_what_to_do() -> None:
    for name, told in (
        ("summary.deadline_s", r"use limits\.deadline_s"),
        ("server.structured", "use `commonplace mcp --structured`"),
    ):
        with pytest.raises(ConfigError, match=f"it is gone: .*{told}"):
            config.set_values({name: "9"})


def test_a_memory_shows_the_warning(tmp_path: Path) -> None:
    write("[watch]\ninterval_s = 9\n")
    with Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as memory:
        assert [one for one in memory.status().warnings if one.startswith("watch.interval_s")] != []


def test_tables_of_agents_in_a_workspaces_file_are_ignored(tmp_path: Path) -> None:
    settings_file(tmp_path).write_text(
        "[search]\nlimit = 4\n[agents.scout.search]\nlimit = 3\n[workspaces]\n"
    )
    settings = config.load(tmp_path, agent="scout")
    assert settings.search.limit == 4
    assert [one.split()[0] for one in settings.warnings] == ["[agents]", "[workspaces]"]
    assert all("it comes with the folder; set it in your own config.toml" in one for one in settings.warnings)
