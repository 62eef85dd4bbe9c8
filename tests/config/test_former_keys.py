"""Keys of former versions: files with them load, values of moved ones are read, each is named once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace import Memory, config
from commonplace.base.errors import ConfigError
from commonplace.config import gone
from commonplace.config.settings import CONVENTION, MOVED
from tests.places import settings_file


def write(text: str) -> None:
    file = config.user_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def lines(names: list[str], value: str) -> str:
    return "\n".join(f"{name} = {value}" for name in names)


# A value of a former key, and what its successor is then: in seconds, tokens, places of keys.
VALUES = {
    "output.links": (False, ""),
    "hooks.load": (False, ("*",)),
    "prompt.files": (True, CONVENTION),
    **{f"{group}.keyring": ("work", "keyring:work") for group in ("embedding", "reranking", "llm")},
    **{f"{group}.key_file": ("/key", "/key") for group in ("embedding", "reranking", "llm")},
}


def test_a_file_with_every_former_key_loads_and_names_each_once(tmp_path: Path) -> None:
    former = {name: json.dumps(VALUES.get(name, (510,))[0]) for name in (*gone.SETTINGS, *MOVED)}
    write("\n".join(f"{name} = {value}" for name, value in former.items()) + "\nsearch.limit = 3\n")
    settings = config.load(tmp_path)
    assert settings.search.limit == 3
    for name in former:
        assert len([one for one in settings.warnings if one.startswith(f"{name} in ")]) == 1, name
    assert len(settings.warnings) == len(former)
    assert all("\n" not in one for one in settings.warnings)


def test_one_that_is_gone_does_no_harm_in_a_workspaces_file(tmp_path: Path) -> None:
    settings_file(tmp_path).write_text(lines([*gone.SETTINGS], "1"))
    assert len(config.load(tmp_path).warnings) == len(gone.SETTINGS)


@pytest.mark.parametrize("name", MOVED)
def test_one_that_moved_is_read_as_its_successor(tmp_path: Path, name: str) -> None:
    former, meant = VALUES.get(name, (510, 510))
    new = MOVED[name].name
    group, _, field = new.partition(".")
    other = {str: "other", tuple: ("x.md",)}.get(type(meant), 600)

    def value(**places: object) -> object:
        return getattr(getattr(config.load(tmp_path, **places), group), field)  # type: ignore[arg-type]

    old_line, new_line = f"{name} = {json.dumps(former)}\n", f"{new} = {json.dumps(other)}\n"
    write(old_line)
    assert value() == meant
    for both in (old_line + new_line, new_line + old_line):
        write(both)
        assert value() == other  # the new key wins
    write(f"[agents.scout]\n{old_line}")
    assert value(agent="scout") == meant
    write("")
    assert value(overrides={name: former}) == meant
    variable = {f"COMMONPLACE_{name.upper().replace('.', '_')}": str(former)}
    assert value(environ=variable) == meant
    assert value(environ=variable | {f"COMMONPLACE_{new.upper().replace('.', '_')}": str(other)}) == (
        meant if isinstance(meant, tuple) else other  # lists have no variable
    )


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("keyring = 'work'\nkey_file = '/key'", "/key"),  # the file counted
        ("key_file = '/key'\nkeyring = 'work'", "/key"),
        ("key_file = ''\nkeyring = 'work'", "keyring:work"),
        ("keyring = ''\nkey_file = '/key'", "/key"),
        ("keyring = ''\nkey_file = ''", ""),
    ],
)
def test_of_a_file_and_an_entry_one_is_the_key(tmp_path: Path, text: str, key: str) -> None:
    write(f"[llm]\n{text}\n")
    assert config.load(tmp_path).llm.key == key


def test_of_several_former_limits_the_smallest_counts(tmp_path: Path) -> None:
    for caps, cap in (((5, 0.5, 2), 0.5), ((0.5, 2, 5), 0.5), ((0, 2, 5), 0), ((2, 5, 0), 0)):
        groups = zip(("embedding", "llm", "reranking"), caps, strict=True)
        write("".join(f"[{group}]\nmax_dollars_a_day = {value}\n" for group, value in groups))
        assert config.load(tmp_path).limits.max_dollars_a_day == cap, caps


@pytest.mark.parametrize("name", [name for name in MOVED if name != "prompt.files"])
def test_one_that_moved_stays_out_of_a_workspaces_file(tmp_path: Path, name: str) -> None:
    settings_file(tmp_path).write_text(f"{name} = {json.dumps(VALUES.get(name, (600,))[0])}\n")
    with pytest.raises(ConfigError, match="comes with the folder and may not set it"):
        config.load(tmp_path)


@pytest.mark.parametrize("name", ["summary.deadline_s"])
@pytest.mark.parametrize("value", ['"soon"', "true", "-1", "[1]"])
def test_a_wrong_value_of_one_that_moved_is_a_mistake(tmp_path: Path, name: str, value: str) -> None:
    write(f"{name} = {value}\n")
    with pytest.raises(ConfigError, match=rf"^{MOVED[name].name}: .* must be a number"):
        config.load(tmp_path)


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
