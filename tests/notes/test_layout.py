"""Today's note, long-term memory, dates in file names, and what never gets written."""

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.base.errors import ConfigError, OutsideRoots
from commonplace.base.paths import Workspace
from commonplace.markdown.metadata import date_of, kind_of
from commonplace.markdown.statements import bullet
from commonplace.notes.layout import init, remember
from commonplace.types import Written

NOW = datetime(2026, 2, 13, 14, 5)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def daily(workspace: Workspace) -> str:
    return workspace.daily(NOW.date()).read_text(encoding="utf-8")


def test_new_day_gets_its_heading(workspace: Workspace) -> None:
    written = remember(workspace, "met Anna", now=NOW)
    assert written == Written("memory/2026-02-13.md", 3, 3)
    assert daily(workspace) == "# 2026-02-13\n\n- 14:05 met Anna\n"


def test_entries_follow_each_other(workspace: Workspace) -> None:
    remember(workspace, "one", now=NOW)
    remember(workspace, "two", now=NOW, times=False)
    remember(workspace, "three", now=NOW, heading="## Work")
    written = remember(workspace, "four", now=NOW, heading="work")
    assert daily(workspace) == (
        "# 2026-02-13\n\n- 14:05 one\n- two\n\n## Work\n\n- 14:05 three\n- 14:05 four\n"
    )
    assert (written.start_line, written.end_line) == (9, 9)


def test_long_term(workspace: Workspace) -> None:
    assert remember(workspace, "likes tea", now=NOW, long_term=True).path == "MEMORY.md"
    remember(workspace, "works at night", now=NOW, long_term=True, section="Habits")
    remember(workspace, "喜欢茶", now=NOW, long_term=True, section="notes")
    assert workspace.memory_file.read_text(encoding="utf-8") == (
        "# Memory\n\n## Notes\n\n- likes tea\n- 喜欢茶\n\n## Habits\n\n- works at night\n"
    )


def test_long_term_in_the_other_layout(workspace: Workspace) -> None:
    workspace.memory_dir.mkdir()
    (workspace.memory_dir / "MEMORY.md").write_text("# Mine\n")
    assert remember(workspace, "x", now=NOW, long_term=True).path == "memory/MEMORY.md"
    assert (workspace.memory_dir / "MEMORY.md").read_text() == "# Mine\n\n## Notes\n\n- x\n"


def test_several_lines_stay_one_entry(workspace: Workspace) -> None:
    written = remember(workspace, "\nfirst\n\n```py\n# not a heading\n```\r\nlast\n\n", now=NOW)
    assert daily(workspace) == (
        "# 2026-02-13\n\n- 14:05 first\n\n  ```py\n  # not a heading\n  ```\n  last\n"
    )
    assert (written.start_line, written.end_line) == (3, 8)


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("one", "- one"),
        ("  one  \n  two", "- one\n    two"),
        ("```\ncode\n```", "-\n  ```\n  code\n  ```"),
        ("see\n```\nleft open", "- see\n  ```\n  left open\n  ```"),
        ("see\n~~~~\n~~~\n```", "- see\n  ~~~~\n  ~~~\n  ```\n  ~~~~"),
    ],
)
def test_bullet(text: str, entry: str) -> None:
    assert bullet(text) == entry


def test_secrets_and_private_parts_are_not_written(workspace: Workspace) -> None:
    text = "key\n<private>\nmy diary\n</private>\npassword: hunter2 <PRIVATE>to the end</PRIVATE>"
    written = remember(workspace, text, now=NOW, heading="token ghp_" + "aB3" * 12)
    assert written.redacted == ("password", "github-token")
    for file in workspace.root.rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        assert not any(secret in content for secret in (b"hunter2", b"diary", b"to the end", b"aB3aB3"))
    assert "- 14:05 key\n\n  password: [REDACTED:password]\n" in daily(workspace)


@pytest.mark.parametrize("text", ["", " \n\t", "<private>all of it</private>"])
def test_nothing_to_remember(workspace: Workspace, text: str) -> None:
    with pytest.raises(ConfigError, match="nothing to remember"):
        remember(workspace, text, now=NOW)
    assert list(workspace.root.iterdir()) == []


def test_a_private_part_that_is_never_closed_is_refused(workspace: Workspace) -> None:
    with pytest.raises(ConfigError, match="never closes it"):
        remember(workspace, "said <private>never closed", now=NOW)
    assert list(workspace.root.iterdir()) == []


def test_section_and_heading_are_told_apart(workspace: Workspace) -> None:
    with pytest.raises(ConfigError, match="section"):
        remember(workspace, "x", now=NOW, section="s")
    with pytest.raises(ConfigError, match="heading"):
        remember(workspace, "x", now=NOW, heading="h", long_term=True)


HEADINGS = st.text() | st.text("ab# \t\u3000`<>!-=", min_size=1, max_size=12)


@given(HEADINGS, st.booleans())
@example("C #", False)
@example("x # ##", True)
def test_a_heading_is_made_once(
    tmp_path_factory: pytest.TempPathFactory, heading: str, long_term: bool
) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("once"))
    where: dict[str, str] = {"section" if long_term else "heading": heading}
    remember(workspace, "one", now=NOW, long_term=long_term, **where)  # type: ignore[arg-type]
    remember(workspace, "two", now=NOW, long_term=long_term, **where)  # type: ignore[arg-type]
    (note,) = (path for path in workspace.root.rglob("*.md"))
    lines = note.read_text(encoding="utf-8").split("\n")
    assert sum(line.startswith("## ") for line in lines) <= 1
    assert [line.split()[-1] for line in lines if line.startswith("- ")] == ["one", "two"]


def test_links_that_leave_are_not_written_through(
    workspace: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "rc").write_text("mine\n")
    workspace.memory_file.symlink_to(outside / "rc")
    workspace.memory_dir.symlink_to(outside)
    for long_term in (True, False):
        with pytest.raises(OutsideRoots):
            remember(workspace, "x", now=NOW, long_term=long_term)
    assert [path.name for path in outside.iterdir()] == ["rc"]
    assert (outside / "rc").read_text() == "mine\n"


def test_init_makes_what_is_missing_and_touches_nothing(workspace: Workspace) -> None:
    made = init(workspace.root)
    assert {path.relative_to(workspace.root).as_posix() for path in made} == {"MEMORY.md", "memory"}
    workspace.memory_file.write_text("mine")
    assert init(workspace.root) == []
    assert workspace.memory_file.read_text() == "mine"


@pytest.mark.parametrize(
    ("path", "kind", "day"),
    [
        ("MEMORY.md", "long-term", None),
        ("docs/MEMORY.md", "note", None),
        ("memory/2026-02-13.md", "daily", "2026-02-13"),
        ("memory/2026-02-30.md", "note", None),
        ("memory/2026-02-13x.md", "note", "2026-02-13"),
        ("2026-02-13.md", "note", "2026-02-13"),
        ("meeting 2024_12_31.md", "note", "2024-12-31"),
        ("202602131405 thought.md", "note", "2026-02-13"),
        ("2026-02-13T14-05.md", "note", "2026-02-13"),
        ("2026年2月3日 周会.md", "note", "2026-02-03"),
        ("12345678.md", "note", None),
        ("2026-0213.md", "note", None),
        ("2024-02-29.md", "note", "2024-02-29"),
        ("v2026.02.131.md", "note", None),
        ("2026-02-13/index.md", "note", None),
    ],
)
def test_kind_and_day(path: str, kind: str, day: str | None) -> None:
    assert kind_of(path) == kind
    assert date_of(path) == day
