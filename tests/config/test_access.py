"""What the user's settings let an agent read and write: read to the letter, and closed in doubt."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import AccessDenied, ConfigError
from commonplace.config import access, files
from commonplace.config.access import HERE, NOWHERE, Access


@pytest.fixture
def team(tmp_path: Path) -> Path:
    (tmp_path / "team" / "memory").mkdir(parents=True)
    return tmp_path / "team"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    (tmp_path / "other" / "memory").mkdir(parents=True)
    return tmp_path / "other"


def write(text: str) -> None:
    path = files.user_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def of(agent: str) -> Access:
    path = files.user_file()
    return access.access_of(files.File(path, True, files.read(path)), agent)


@pytest.mark.parametrize(
    ("reads", "writes", "readable", "here", "named", "writable"),
    [
        (None, "", (HERE,), True, True, True),  # limited to nothing
        (("/a",), "", ("/a",), False, True, True),
        ((), "", (), False, False, False),
        ((), "/a", ("/a",), False, True, True),
        (None, "/a", ("/a",), False, True, True),
        (("/b",), "/a", ("/a", "/b"), False, True, True),
        (("/a",), NOWHERE, ("/a",), False, True, False),
        (None, NOWHERE, (HERE,), True, False, False),
        ((HERE,), NOWHERE, (HERE,), True, False, False),
        (("/a",), HERE, (HERE, "/a"), True, True, True),
        ((HERE, "/a"), "", (HERE, "/a"), True, True, True),
    ],
)
def test_what_is_said_and_nothing_else(
    reads: tuple[str, ...] | None,
    writes: str,
    readable: tuple[str, ...],
    here: bool,
    named: bool,
    writable: bool,
) -> None:
    allowed = Access("x", reads, writes)
    assert allowed.readable == readable
    assert allowed.may_read("/elsewhere") == here  # where it is started
    assert allowed.may_read("/a", is_here=False) == named
    assert allowed.may_write("/a") == writable
    if allowed.is_limited:
        assert not allowed.may_read("/elsewhere", is_here=False)
        with pytest.raises(AccessDenied, match="may not read /elsewhere"):
            allowed.check("/elsewhere", is_here=False)


@pytest.mark.parametrize("key", ["reads", "writes"])
@pytest.mark.parametrize(
    "value", ["5", "true", "1979-05-27", "{a = 1}", '""', '["relative"]', '"relative"', '["a\\u0000"]', "[5]", '[["/a"]]', '[""]']
)  # fmt: skip
def test_what_is_no_workspace_is_a_mistake(team: Path, key: str, value: str) -> None:
    write(f"[agents.x]\n{key} = {value}\n")
    with pytest.raises(ConfigError, match=f"agents.x.{key}"):
        of("x")
    with pytest.raises(ConfigError):
        config.load(team, agent="x")


def test_names_and_paths_are_the_same(team: Path, other: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(team)
    write(
        f'[workspaces."{team}"]\nname = "crew"\n[agents.x]\nreads = ["crew", "{tmp_path}/link", "{team}/"]\n'
        f'writes = "{other}/../other"\n'
    )
    assert of("x") == Access("x", (os.path.realpath(team),), os.path.realpath(other))
    write(f'[workspaces."{team}"]\nname = "one"\n[workspaces."{other}"]\nname = "one"\n')
    with pytest.raises(ConfigError, match="the name of two workspaces"):
        config.reach([str(team)])


@pytest.mark.parametrize(
    "name", ["", "here", "none", "memory", "a b", "a:b", "-a", "_a", "a/b", "a" * 65, "."]
)
def test_names_that_mean_something_else_are_refused(team: Path, name: str) -> None:
    write(f'[workspaces."{team}"]\nname = "{name}"\n')
    with pytest.raises(ConfigError, match="is no name for a workspace"):
        config.reach([str(team)])


@pytest.mark.parametrize(
    ("agent", "hint"), [("cladue", "claude"), ("CLAUDE", "claude"), ("geust", "guest"), ("zzz", "")]
)
def test_who_has_no_table_beside_those_of_others_is_refused(team: Path, agent: str, hint: str) -> None:
    """By a misspelt name nobody gets more than by the right one."""
    tables = '[agents.claude]\nreads = ["here"]\n[agents.guest]\nwrites = "none"\n[agents.open]\n'
    write(tables)
    for ask in (
        partial(config.load, team),
        partial(config.reach, [str(team)]),
        partial(config.limited, None),
    ):
        with pytest.raises(AccessDenied, match="has no table in your config") as error:
            ask(agent=agent)
        assert (f"did you mean {hint}?" in str(error.value)) == bool(hint)
        ask(agent="open")
        ask(agent="")
    write(tables + f"[agents.{agent}]\n")
    assert not of(agent).is_limited
    write("[agents.open]\n[agents.other.search]\nlimit = 3\n")  # nobody is limited
    assert not of(agent).is_limited


@pytest.mark.parametrize(
    "mistake",
    [
        '[agents.bob]\nreads = "secretword"', "[agents.bob.secretword]\nx = 1", '[agents."secret word"]\nreads = []',
        '[agents.bob.search]\nlimit = "secretword"', '[workspaces."/secretword"]\nname = "crew"', '"secretword',
        '[workspaces."/secretword"]\nnonsense = 1', "secretword", 'a = "\\s"',
    ],
)  # fmt: skip
def test_mistakes_are_shown_to_the_owner_alone(team: Path, mistake: str) -> None:
    write(f'[workspaces."{team}"]\nname = "crew"\n[agents.x]\nreads = ["crew"]\n{mistake}\n')

    def told(agent: str) -> str:
        """What is said to whoever opens the workspace as an agent."""
        messages = []
        for ask in (
            partial(config.load, team),
            partial(config.reach, [str(team)]),
            partial(config.limited, None),
        ):
            with suppress(AccessDenied):
                try:
                    ask(agent=agent)
                except ConfigError as error:
                    messages.append(f"{error} {error.__cause__}")
        return "\n".join(messages)

    assert "secret" in told("") or "not valid TOML" in told("")
    for agent in ("x", "anybody"):
        assert "secret" not in told(agent)
    assert "a mistake, which is shown to its owner alone" in told("x")


# --- workspaces that overlap ----------------------------------------------------------------------------


@pytest.mark.parametrize("closed", ["memory/inner", "..", "memory"])
@pytest.mark.parametrize("whose", ['[agents.bob]\nwrites = "{}"', '[workspaces."{}"]\nname = "inner"'])
def test_a_workspace_around_or_in_a_closed_one_is_refused(team: Path, closed: str, whose: str) -> None:
    folder = team / closed
    folder.mkdir(exist_ok=True)
    write(f'[agents.x]\nreads = ["{team}"]\n{whose.format(folder)}\n')
    with pytest.raises(AccessDenied, match="keep them side by side") as error:
        config.load(team, agent="x")
    assert "inner" not in str(error.value)
    config.load(team)


@pytest.mark.parametrize("leads", ["{other}", "{other}/memory", "{other}/..", "{link}"])
def test_a_collection_that_leads_into_a_closed_one_is_refused(
    team: Path, other: Path, tmp_path: Path, leads: str
) -> None:
    (tmp_path / "link").symlink_to(other / "memory")
    path = leads.format(other=other, link=tmp_path / "link")
    write(
        f'[workspaces."{team}".collections.docs]\npath = "{path}"\n[agents.x]\nreads = ["{team}"]\n'
        f'[agents.bob]\nwrites = "{other}"\n[agents.both]\nreads = ["{team}", "{other}"]\n'
    )
    with pytest.raises(AccessDenied, match="keep them side by side"):
        config.load(team, agent="x")
    config.load(team, agent="both")
    (tmp_path / "team-2").mkdir()  # a name that only begins alike, and a folder that is gone
    write(f'[agents.x]\nreads = ["{team}"]\n[agents.bob]\nreads = ["{team}-2"]\nwrites = "{team}/gone"\n')
    config.load(team, agent="x")


@pytest.mark.parametrize(
    "folder", ["a", "a b", "--", "中文", "a" * 200, "here", "none", "memory", "x:y", "_", "é", "\udcff"]
)
def test_a_label_is_a_name(folder: str) -> None:
    called = access.label(f"/tmp/{folder}")
    assert access.check_name(called, "name", Path("x")) == called
