"""Which workspaces are asked and written: by the options, by an agent's access, by what is known here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base import paths
from commonplace.base.errors import AccessDenied, WorkspaceNotFound
from commonplace.config import files, workspaces

NAMES = ("alice", "bob", "team", "here")


@pytest.fixture
def roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    found = {name: tmp_path / f"{name}-notes" for name in NAMES}
    for root in found.values():
        (root / "memory").mkdir(parents=True)
        (root / "MEMORY.md").write_text("# Memory\n")
    monkeypatch.chdir(found["here"])
    path = files.user_file()
    path.parent.mkdir(parents=True)
    path.write_text(
        "\n".join(f'[workspaces."{found[name]}"]\nname = "{name}"' for name in NAMES)
        + '\n[agents.alice]\nreads = ["team"]\nwrites = "alice"\n[agents.mira]\nreads = ["here", "team"]\n'
        '[agents.nora]\nreads = ["here"]\nwrites = "alice"\n[agents.guest]\nreads = ["team"]\nwrites = "none"\n'
    )
    # A workspace called as the word for where an agent is started would be none: it has another name.
    path.write_text(path.read_text().replace('name = "here"', 'name = "place"'))
    return found


def asked(reach: config.Reach) -> tuple[str, list[str], bool]:
    """The home, the others and whether the home may be written."""
    return reach.name, list(reach.others), reach.reader is None


@pytest.mark.parametrize(
    ("agent", "folders", "more", "expected"),
    [
        ("", [], {}, ("place", [], True)),
        ("", ["team"], {}, ("team", [], True)),
        ("", ["team", "bob"], {}, ("team", ["bob"], True)),
        ("", ["team", "bob", "team"], {}, ("team", ["bob"], True)),
        ("", [], {"everything": True}, ("place", ["alice", "bob", "team"], True)),
        ("alice", [], {}, ("alice", ["team"], True)),
        ("alice", ["team"], {}, ("alice", ["team"], True)),
        ("alice", ["team"], {"alone": True}, ("team", [], False)),
        ("alice", ["alice"], {"alone": True}, ("alice", [], True)),
        ("alice", ["team", "alice"], {}, ("team", ["alice"], False)),
        ("alice", [], {"everything": True}, ("alice", ["team"], True)),
        ("mira", [], {}, ("place", ["team"], True)),
        ("mira", [], {"everything": True}, ("place", ["team"], True)),
        ("mira", ["bob"], {}, ("bob", ["team"], True)),  # where it is said to be started
        ("nora", [], {}, ("alice", ["place"], True)),
        ("nora", [], {"everything": True}, ("alice", ["place"], True)),
        ("nora", [], {"alone": True}, ("alice", [], True)),
        ("guest", [], {}, ("team", [], False)),
        ("guest", [], {"everything": True}, ("team", [], False)),
    ],
)
def test_who_is_asked(
    roots: dict[str, Path], agent: str, folders: list[str], more: dict[str, bool], expected: object
) -> None:
    named = [str(roots[one]) if one in roots else one for one in folders]
    assert asked(config.reach(named, agent, **more)) == expected
    assert asked(config.reach(folders, agent, **more)) == expected  # by name as well


@pytest.mark.parametrize(
    ("agent", "folders"),
    [("alice", ["bob"]), ("alice", ["alice", "bob"]), ("alice", ["bob", "alice"]), ("guest", ["alice"]),
     ("guest", ["team", "alice"]), ("mira", ["here", "bob"]), ("nora", ["here", "team"])],
)  # fmt: skip
def test_what_an_agent_may_not_read_is_refused(
    roots: dict[str, Path], agent: str, folders: list[str]
) -> None:
    for more in ({}, {"alone": True}, {"everything": True}):
        with pytest.raises(AccessDenied):
            config.reach([str(roots[one]) for one in folders], agent, **more)


def test_a_name_that_is_closed_is_as_unknown_as_any(roots: dict[str, Path]) -> None:
    messages = []
    for name in ("bob", "bxb"):
        with pytest.raises(WorkspaceNotFound) as error:
            config.reach([name], "alice")
        messages.append(str(error.value).replace(name, "?"))
    assert messages[0] == messages[1]
    assert "bob-notes" not in messages[0]


def test_the_variable_names_one_as_well(roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_WORKSPACE", str(roots["bob"]))
    assert config.reach().home == roots["bob"]
    with pytest.raises(AccessDenied):
        config.reach(agent="alice")
    monkeypatch.setenv("COMMONPLACE_AGENT", "alice")
    with pytest.raises(AccessDenied):
        config.reach()
    assert config.reach(agent="").home == roots["bob"]


def test_a_link_is_where_it_leads(roots: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(roots["bob"])
    with pytest.raises(AccessDenied):
        config.reach([str(tmp_path / "link")], "alice")
    (tmp_path / "again").symlink_to(roots["alice"])
    for number in (1, 2):  # two of one name
        (tmp_path / str(number) / "notes").mkdir(parents=True)
    both = config.reach([str(tmp_path / "1" / "notes"), str(tmp_path / "2" / "notes")])
    assert (both.name, *both.others) == ("notes", "2-notes")
    reach = config.reach([str(tmp_path / "again"), str(roots["alice"]), str(roots["team"])], "alice")
    assert asked(reach) == ("alice", ["team"], True)


def test_a_home_that_is_gone_is_said(roots: dict[str, Path]) -> None:
    roots["alice"].rename(roots["alice"].with_name("moved"))
    with pytest.raises(WorkspaceNotFound):
        config.reach(agent="alice")
    roots["team"].rename(roots["team"].with_name("moved-too"))
    assert list(config.reach(agent="mira").others) == ["team"]  # a question says that it is gone


# --- the list of this machine ---------------------------------------------------------------------------


def test_the_list_holds_each_once_and_what_is_there(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for name in ("a", "b", "link", "a"):
        workspaces.note(tmp_path / name)
    assert workspaces.known() == [os.path.realpath(tmp_path / name) for name in ("a", "b")]
    (tmp_path / "a").rmdir()
    assert workspaces.known() == [os.path.realpath(tmp_path / "b")]
    assert workspaces.drop(tmp_path / "b")
    assert not workspaces.drop(tmp_path / "b")
    assert workspaces.known() == []


def test_a_state_of_anything_is_no_workspace(tmp_path: Path) -> None:
    paths.prepare_state(paths.Workspace(tmp_path))  # written to, and not noted
    assert workspaces.known() == []
    assert not workspaces.drop(tmp_path)
    workspaces.note(tmp_path)
    (state,) = paths.user_state_dir().iterdir()
    for name, path in (("a", b""), ("b", b"\xff\0"), ("c", b"/nowhere")):
        (state.parent / name).mkdir()
        (state.parent / name / "path").write_bytes(path)
        (state.parent / name / "noted").touch()
    (state.parent / "d").touch()
    assert workspaces.known() == [os.path.realpath(tmp_path)]
