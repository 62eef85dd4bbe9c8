"""Braces in a glob stand for either, wherever a glob is taken."""

from __future__ import annotations

from tests.life.conftest import Owner


def test_braces_stand_for_either(owner: Owner) -> None:
    for name in ("a.md", "deep/b.txt", "c.rst", "d.org", "x/e.md", "y/f.md", "z/g.md"):
        owner.note(f"shelf/{name}", f"A gull named {name.replace('/', ' ').replace('.', ' ')} sits.\n")
    for number, (glob, files) in enumerate(
        [
            ("**/*.{md,txt}", {"a.md", "deep/b.txt", "x/e.md", "y/f.md", "z/g.md"}),
            ("*.{md,rst,org}", {"a.md", "c.rst", "d.org"}),
            ("{x,y}/*.md", {"x/e.md", "y/f.md"}),
            ("{x,deep}/**/*.{md,txt}", {"x/e.md", "deep/b.txt"}),
            ("{a,c}.{md,rst}", {"a.md", "c.rst"}),
            ("*.{md}", {"a.md"}),
            ("{x/e,z/g}.md", {"x/e.md", "z/g.md"}),
        ]
    ):
        name = f"shelf{number}"
        owner.ok("collection", "add", owner.folder / "shelf", "--name", name, "--glob", glob)
        owner.ok("sync")
        with_name = {note.path for note in owner.memory().notes(name)}
        assert {path.removeprefix(f"{name}/").removeprefix("shelf/") for path in with_name} == files, glob
        owner.ok("collection", "remove", name)
    owner.note("memory/2026-01-02.md", "# D\n\n- The gull is early.\n")
    owner.note("memory/2026-02-02.md", "# D\n\n- The gull is late.\n")
    hits = owner.memory().search("gull path:memory/2026-{01,03}-*.md").hits
    assert [hit.path for hit in hits] == ["memory/2026-01-02.md"]
    assert len(owner.memory().notes("memory/2026-{01,02}-*.md")) == 2
