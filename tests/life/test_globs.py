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


def test_braces_stand_for_either_where_notes_are_named(owner: Owner) -> None:
    for name in ("a", "b", "c"):
        owner.note(f"memory/{name}.md", f"# {name}\n\nThe gull {name} sits.\n")
        owner.note(f"memory/deep/{name}.md", f"# {name}\n\nThe gull {name} flies.\n")
    memory = owner.memory()
    memory.sync()
    for glob, names in {
        "memory/{a,b}.md": {"a.md", "b.md"}, "memory/{a,c}.md": {"a.md", "c.md"}, "memory/{a}.md": {"a.md"},
        "memory/deep/{b,c}.md": {"deep/b.md", "deep/c.md"}, "memory/{deep/a,b}.md": {"deep/a.md", "b.md"},
        "memory/{deep,x}/{a,b}.md": {"deep/a.md", "deep/b.md"}, "memory/**/{a,b}.md": {"a.md", "b.md", "deep/a.md", "deep/b.md"},
    }.items():  # fmt: skip
        paths = {f"memory/{name}" for name in names}
        assert {note.path for note in memory.notes(glob)} == paths, glob
        assert {one.path for one in memory.get_many([glob]).excerpts} == paths, glob
        assert {hit.path for hit in memory.search(f"gull path:{glob}").hits} == paths, glob
    listed = memory.get_many(["memory/{a,b}.md, memory/c.md"])
    assert [one.path for one in listed.excerpts] == ["memory/a.md", "memory/b.md", "memory/c.md"]
    assert not listed.left_out
    assert owner.ok("ls", "memory/{a,b}.md").count("memory/") == 2
    assert "The gull b sits." in owner.ok("multi-get", "memory/{a,b}.md")


LITERAL = [
    "memory/[draft] e.md",
    "memory/f(1).md",
    "memory/{x}.md",
    "memory/{x,y}.md",
    "memory/[a]/b.md",
    "memory/w?.md",
]


def test_the_path_of_a_file_is_the_file_itself(owner: Owner) -> None:
    for number, path in enumerate((*LITERAL, "memory/d e.md", "memory/x.md", "memory/a/b.md")):
        owner.note(path, f"# Gull\n\nThe gull sits for {number} hours.\n")
    memory = owner.memory()
    for path in LITERAL:
        found = memory.search(f'gull path:"{path}"')
        assert path in {hit.path for hit in found.hits}, path
        assert not found.warnings, path
        assert path in {note.path for note in memory.notes(path)}, path
    assert [hit.path for hit in memory.search("gull path:memory/f(1).md").hits] == ["memory/f(1).md"]
    assert {note.path for note in memory.notes("memory/[a]")} >= {"memory/[a]/b.md"}


def test_a_path_under_which_no_note_lies_is_named(owner: Owner) -> None:
    owner.note("memory/a.md", "# Gull\n\nThe gull sits.\n")
    memory = owner.memory()
    for path in (
        "memory/nowhere",
        "memory/nowhere/",
        "memory/*.txt",
        "a.md/b",
        "memroy/a.md",
        "memory/{x,y}.md",
    ):
        assert f"no note lies under path:{path}" in memory.search(f"gull path:{path}").warnings, path
    for path in ("memory", "memory/", "memory/*.md", "./memory/a.md", "memory/{a,b}.md", "**/a.md"):
        assert not memory.search(f"gull path:{path}").warnings, path
