"""Basic Memory: notes taken whole, with their dates, tags, observations and relations."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.memory import Memory
from tests.imports.conftest import Bring, written


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "basic-memory"
    (made / "people").mkdir(parents=True)
    (made / "people" / "Mira.md").write_text(
        "---\ntitle: Mira\ntype: person\npermalink: people/mira\ntags: [work]\ncreated: 2025-03-04T10:00:00\n---\n"
        "# Mira\n\n## Observations\n- [role] Maintains the billing service #billing (since 2024)\n"
        "\n## Relations\n- works_on [[Kestrel]]\n"
    )
    (made / "Kestrel.md").write_text(
        "---\ntitle: Kestrel\npermalink: kestrel\n---\n# Kestrel\n\n- [fact] It flies\n"
    )
    os.utime(made / "Kestrel.md", (1_741_083_725, 1_741_083_725))
    return made


def test_notes_keep_their_paths_dates_tags_and_links(root: Path, project: Path, bring: Bring) -> None:
    done = bring(project)
    assert sorted(file.path for file in done.files) == [
        "memory/basic-memory/Kestrel.md", "memory/basic-memory/people/Mira.md"
    ]  # fmt: skip
    note = written(root)["memory/basic-memory/people/Mira.md"]
    assert (
        note.index("permalink: people/mira")
        < note.index("imported_from: basic-memory")
        < note.index("# Mira")
    )
    assert "- [role] Maintains the billing service #billing (since 2024)" in note
    with Memory.open(root) as memory:
        memory.sync()
        (hit,) = memory.search("tag:billing maintains billing", limit=1).hits
        assert (hit.path, hit.date) == ("memory/basic-memory/people/Mira.md", "2025-03-04")
        assert memory.search("tag:work").hits
        assert memory.search("it flies").hits[0].date == "2025-03-04"
        assert memory.get("[[Kestrel]]").path == "memory/basic-memory/Kestrel.md"
        assert memory.search("permalink:people/mira").hits


def test_a_touched_file_is_no_change(root: Path, project: Path, bring: Bring) -> None:
    bring(project)
    before = written(root)
    os.utime(project / "Kestrel.md", (1_771_083_725, 1_771_083_725))
    assert {file.outcome for file in bring(project).files} == {"same"}
    assert written(root) == before
