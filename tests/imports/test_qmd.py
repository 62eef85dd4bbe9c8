"""QMD's configuration: collections, patterns and contexts become ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import NoteUnreadable
from commonplace.imports import qmd
from commonplace.memory import Memory
from commonplace.notes import scan
from tests.imports.conftest import Bring


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """A file as QMD 2.8 writes it, with what else it reads."""
    for name in ("notes/sub", "notes/drafts", "code"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "notes" / "sub" / "harbour note.md").write_text("# Harbour\n\nIt closes at six.\n")
    (tmp_path / "notes" / "drafts" / "x.md").write_text("# Draft\n\nIt closes at six.\n")
    path = tmp_path / "qmd" / "index.yml"
    path.parent.mkdir()
    path.write_text(f"""\
global_context: Everything of mine
editor_uri: "vscode://file/{{path}}"
collections:
  notes:
    path: {tmp_path}/notes
    pattern: "**/*.md"
    ignore:
      - "drafts/**"
    context:
      "": Work notes
      /sub: Sea things
  Code Base:
    path: {tmp_path}/code
    pattern: "**/*.{{py,ts}}"
    includeByDefault: false
    update: git pull
  gone:
    path: {tmp_path}/nowhere
  broken: 7
models:
  embed: hf:x
""")
    return path


def test_collections_and_contexts_are_taken_over(root: Path, settings: Path, bring: Bring) -> None:
    done = bring(settings)
    loaded = config.load(root)
    assert loaded.collections["notes"].ignore == ("drafts/**",)
    assert loaded.collections["code-base"].glob == ("**/*.py", "**/*.ts")
    assert not loaded.collections["code-base"].by_default
    assert loaded.collections["code-base"].update == ()
    assert loaded.contexts == {"": "Everything of mine", "notes": "Work notes", "notes/sub": "Sea things"}
    assert [left.path.rpartition(" ")[2] for left in done.left_out] == ["broken", "gone"]
    assert "git pull" in done.remarks[0]
    with Memory.open(root) as memory:
        memory.sync()
        (hit,) = memory.search("closes at six").hits
        assert (hit.path, hit.contexts[1:]) == ("notes/sub/harbour note.md", ("Work notes", "Sea things"))


def test_a_second_time_adds_nothing_and_changes_nothing_of_the_owner(
    root: Path, settings: Path, bring: Bring
) -> None:
    bring(settings, dry_run=True)
    assert config.load(root).collections == {}
    bring(settings)
    config.add_context(root, "notes", "My own words")
    before = config.user_file().read_bytes()
    again = bring(settings)
    assert {one.outcome for one in again.settings} == {"same", "edited"}
    assert config.user_file().read_bytes() == before


def test_a_name_that_is_taken_gets_the_source_beside_it(
    root: Path, tmp_path: Path, settings: Path, bring: Bring
) -> None:
    config.add_collection(root, "notes", str(tmp_path / "code"))
    bring(settings)
    assert "notes-qmd" in config.load(root).collections
    assert config.load(root).contexts["notes-qmd/sub"] == "Sea things"


@pytest.mark.parametrize(
    "text",
    [
        "- a list\n", "collections: []\n", "a: [" * 50_000, "a: &a [x]\nb: *a\ncollections: 7", "\0", "!!python/none x",
    ],
)  # fmt: skip
def test_what_is_no_configuration_is_one_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "index.yml"
    path.write_text(text)
    with pytest.raises(NoteUnreadable):
        list(qmd.read(path))


@pytest.mark.parametrize(
    ("glob", "globs"),
    [
        ("**/*.md", ["**/*.md"]),
        ("**/*.{md,txt}", ["**/*.md", "**/*.txt"]),
        ("{a,b}/*.{c,d}", ["a/*.c", "a/*.d", "b/*.c", "b/*.d"]),
        ("{a,b", ["{a,b"]),
        ("{" + ",".join("x" * 100) + "}", ["{" + ",".join("x" * 100) + "}"]),
    ],
)
def test_braces_are_taken_apart(glob: str, globs: list[str]) -> None:
    assert scan.unbraced(glob) == globs
