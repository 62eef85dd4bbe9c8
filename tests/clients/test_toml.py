"""TOML settings: a server put in and taken out, with nothing else touched."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from commonplace.clients import entries, installing, toml

CODEX = installing.find("codex")
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=6)
VALUES = st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), WORDS, st.lists(WORDS, max_size=2))
TABLES = st.dictionaries(
    WORDS.filter(lambda key: key != "mcp_servers"), st.one_of(VALUES, st.dictionaries(WORDS, VALUES))
)


def door(program: str = "/bin/commonplace", name: str = "memory") -> entries.Door:
    return entries.door([program], Path("/home/you/notes"), "codex", name)


@st.composite
def settings(draw: st.DrawFn) -> str:
    """Settings of Codex: tables in any order, other servers among them, comments, either line end."""
    parts = [
        tomlkit.dumps({key: value})
        for key, value in sorted(draw(TABLES).items(), key=lambda pair: isinstance(pair[1], dict))
    ]
    servers = draw(st.lists(st.sampled_from(["other", '"a b"', "x"]), unique=True, max_size=2))
    parts += [f"[mcp_servers.{name}]\ncommand = 'npx' # c\n" for name in servers]
    parts += ['[mcp_servers.x.env]\nA = "1"\n'] if "x" in servers else []
    text = draw(st.sampled_from(["", "\n", "# [mcp_servers.memory]\n"])).join(parts)
    text += draw(st.sampled_from(["", "\n", "\n\n", "# end", "  "]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@given(settings())
def test_a_server_is_the_only_difference(text: str) -> None:
    before = tomllib.loads(text)
    after = toml.add_server(text, CODEX, door())
    servers = {**before.get("mcp_servers", {}), "memory": entries.server(CODEX, door())}
    assert tomllib.loads(after) == {**before, "mcp_servers": servers}
    assert after.startswith(text)
    assert toml.add_server(after, CODEX, door()) == after
    assert tomllib.loads(toml.remove_server(after, CODEX)) == before


@given(settings())
def test_an_upgrade_replaces_the_former_server(text: str) -> None:
    old = toml.add_server(text, CODEX, door("/old/bin/commonplace"))
    new = toml.add_server(old, CODEX, door("/new/bin/commonplace"))
    assert tomllib.loads(new) == tomllib.loads(toml.add_server(text, CODEX, door("/new/bin/commonplace")))
    named = toml.add_server(new, CODEX, door(name="notes"))
    assert tomllib.loads(named) == tomllib.loads(toml.add_server(text, CODEX, door(name="notes")))


def test_what_stands_before_and_behind_stays() -> None:
    text = "model = 'o3' # mine\n\n[mcp_servers.other]\ncommand = 'x'\n"
    after = toml.add_server(text, CODEX, door())
    assert after == (
        text + '\n[mcp_servers.memory]\ncommand = "/bin/commonplace"\n'
        'args = ["-w", "/home/you/notes", "--agent", "codex", "mcp"]\ndefault_tools_approval_mode = "approve"\n'
    )
    grown = after + '\n# of the project\n[projects."/home/you"]\ntrust_level = "trusted"\n'
    assert toml.remove_server(grown, CODEX) == text + grown[len(after) :]
    assert toml.remove_server(after, CODEX) == text


def test_keys_and_comments_of_the_owner_stay_in_the_table() -> None:
    old = toml.add_server("", CODEX, door("/old/commonplace"))
    edited = (
        old.replace("\ndefault", "\nstartup_timeout_sec = 20 # slow disk\ndefault")
        + "\n[mcp_servers.memory.env]\nA = '1'\n"
    )
    new = toml.add_server(edited, CODEX, door("/new/commonplace"))
    assert new == edited.replace("/old/", "/new/")
    assert toml.remove_server(new, CODEX) == ""


@pytest.mark.parametrize(
    "text",
    ["mcp_servers = {other = {command = 'x'}}\n", "mcp_servers = 3\n", "[[mcp_servers]]\na = 1\n"],
)
def test_what_cannot_be_changed_is_left_alone(text: str) -> None:
    with pytest.raises(toml.Broken, match=r"by hand|no table"):
        toml.add_server(text, CODEX, door())


def test_what_is_broken_is_named_with_its_place() -> None:
    with pytest.raises(toml.Broken, match="line 2, column 4"):
        toml.add_server("a = 1\nb =\n", CODEX, door())


def test_a_server_of_somebody_else_is_not_replaced() -> None:
    with pytest.raises(entries.Taken, match="'memory'"):
        toml.add_server("[mcp_servers.memory]\ncommand = 'npx'\n", CODEX, door())


def test_lines_in_texts_are_no_tables() -> None:
    text = "a = '''\n[mcp_servers.memory]\n'''\n"
    assert toml.remove_server(toml.add_server(text, CODEX, door()), CODEX).rstrip("\n") == text.rstrip("\n")
