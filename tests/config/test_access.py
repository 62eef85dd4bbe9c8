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
from tests.places import settings_file


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
    with pytest.raises(AccessDenied, match="agent 'y' has no table"):
        of("y")


@pytest.mark.parametrize(
    "name", ["", "here", "none", "memory", "a b", "a:b", "-a", "_a", "a/b", "a" * 65, "."]
)
def test_names_that_mean_something_else_are_refused(team: Path, name: str) -> None:
    write(f'[workspaces."{team}"]\nname = "{name}"\n')
    with pytest.raises(ConfigError, match="is no name for a workspace"):
        config.reach([str(team)])


def test_a_name_of_two_workspaces_is_a_mistake(team: Path, other: Path) -> None:
    write(f'[workspaces."{team}"]\nname = "one"\n[workspaces."{other}"]\nname = "one"\n')
    with pytest.raises(ConfigError, match="the name of two workspaces"):
        config.reach([str(team)])


@pytest.mark.parametrize("key", ['reads = ["/"]', 'writes = "here"'])
def test_what_comes_with_a_folder_opens_nothing(team: Path, key: str) -> None:
    settings_file(team).write_text(f"[agents.x]\n{key}\n")
    before = config.reach([str(team)], agent="x"), config.limited()
    assert config.load(team, agent="x").warnings[0].startswith(f"agents in {settings_file(team)} left out")
    assert (config.reach([str(team)], agent="x"), config.limited()) == before


def test_a_name_in_another_case_is_refused(team: Path) -> None:
    write('[agents.Claude-Code]\nreads = ["/a"]\n[agents.free.search]\nlimit = 5\n')
    with pytest.raises(AccessDenied, match=r"did you mean Claude-Code\?"):
        config.load(team, agent="claude-code")
    with pytest.raises(AccessDenied, match="has no table"):
        config.load(team, agent="FREE")
    assert config.load(team, agent="free").search.limit == 5


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


@pytest.mark.parametrize("mistake", ['[workspaces."/secretword"]', '"secretword', "secretword", 'a = "\\s"'])
def test_what_keeps_the_settings_from_being_read_is_shown_to_the_owner_alone(
    team: Path, mistake: str
) -> None:
    write(f'[agents.x]\nreads = ["here"]\n[workspaces."/secretword"]\n{mistake}\n')
    for ask in (
        partial(config.load, team),
        partial(config.reach, [str(team)]),
        partial(config.limited, None),
    ):
        with pytest.raises(ConfigError, match="not valid TOML"):
            ask(agent="")
        for agent in ("x", "anybody"):
            with pytest.raises(ConfigError, match="is shown to its owner alone") as error:
                ask(agent=agent)
            assert "secretword" not in str(error.value)
            assert error.value.__cause__ is None


@pytest.mark.parametrize(
    "mistake",
    [
        '[agents.bob]\nreads = "secretword"', '[agents.bob]\nwrites = ["secretword"]', "[agents.bob.secretword]\nx = 1",
        '[agents.bob.search]\nlimit = "secretword"', '[agents."secret word"]\nreads = []',
        '[workspaces."/secretword"]\nname = "crew"', '[workspaces."/secretword"]\nnonsense = 1',
        '[workspaces."/x"]\nname = "secret word"',
    ],
)  # fmt: skip
def test_mistakes_about_others_are_shown_to_the_owner_alone(team: Path, mistake: str) -> None:
    write(f'[workspaces."{team}"]\nname = "crew"\n[agents.x]\nreads = ["crew"]\n{mistake}\n')

    def told(agent: str) -> str:
        """What is said to whoever opens the workspace as an agent."""
        messages = []
        for ask in (partial(config.load, team), partial(config.reach, [str(team)])):
            try:
                ask(agent=agent)
            except ConfigError as error:
                messages.append(str(error))
        return "\n".join(messages)

    with suppress(ConfigError):
        config.limited()
        assert "secret" in told("")
    assert "a mistake, which is shown to its owner alone" in told("x")
    assert "secret" not in told("x")


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


def test_a_workspace_that_is_gone_closes_no_other(team: Path) -> None:
    folder = team / "inner"
    folder.mkdir()
    write(f'[agents.x]\nreads = ["{team}"]\n[agents.bob]\nwrites = "{folder}"\n')
    with pytest.raises(AccessDenied):
        config.load(team, agent="x")
    folder.rmdir()
    config.load(team, agent="x")


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


def test_names_that_only_begin_alike_do_not_overlap(team: Path, tmp_path: Path) -> None:
    (tmp_path / "team-2").mkdir()
    write(f'[agents.x]\nreads = ["{team}"]\n[agents.bob]\nwrites = "{tmp_path}/team-2"\n')
    config.load(team, agent="x")


@pytest.mark.parametrize(
    "folder", ["a", "a b", "--", "中文", "a" * 200, "here", "none", "memory", "x:y", "_", "é", "\udcff"]
)
def test_a_label_is_a_name(folder: str) -> None:
    called = access.label(f"/tmp/{folder}")
    assert access.check_name(called, "name", Path("x")) == called
