"""A dash before a word excludes it, unless a note holds it as an option of a command."""

from __future__ import annotations

import pytest

from tests.life.conftest import Owner

NOTE = "# Chores\n\n- Sync the NAS: rsync -avz photos nas\n"
WRITTEN = [
    "`rsync -avz`", "'rsync -avz'", "rsync -avz?", "rsync -avz,", "rsync -avz!", "rsync -avz:", "rsync -avz/",
    "rsync -avz...", "rsync -avz…", "rsync -avz。", "rsync -avz；", "rsync -avz; ls", "（rsync -avz）", "(rsync -avz)",
    "[rsync -avz]", "<rsync -avz>", "用rsync -avz", "用rsync -avz同步", "rsync -AVZ", "how do I sync: rsync -avz?",
]  # fmt: skip


def test_an_option_is_found_whatever_stands_around_it(owner: Owner) -> None:
    owner.note("memory/chores.md", NOTE)
    owner.note("memory/other.md", "# Boat\n\nThe sails are red.\n")
    memory = owner.memory()
    for question in WRITTEN:
        found = memory.search(question)
        assert [hit.path for hit in found.hits][:1] == ["memory/chores.md"], question
        assert not [one for one in found.warnings if "exclusion" in one], question
    assert "photos" in owner.mcp().call("memory_search", query="how do I sync the NAS: rsync -avz?")


HELD = {
    "continued lines": ("```sh\nrsync \\\n  -avz \\\n  photos nas\n```", "rsync -avz"),
    "nested item": ("- rsync flags\n  - `-avz` archive", "rsync -avz"),
    "beginning of a line": ("rsync knows\n-avz and more", "rsync -avz"),
    "in a heading": ("## rsync -avz\n\nCopies photos.", "rsync -avz"),
    "JSON": ('CMD ["tar", "-xzf", "b.tgz"]', "tar -xzf"),
    "quoted": ("kite '-serve'", "kite -serve"),
    "behind an equals sign": ("Start it with kite=-serve", "kite -serve"),
    "en dash": ("rsync –avz photos", "rsync -avz"),
    "hyphen that does not break": ("rsync \u2011avz photos", "rsync -avz"),
    "minus": ("rsync −avz photos", "rsync -avz"),
    "in Chinese": ("用ls -la看文件", "ls -la"),
    "other case": ("Set-Item -Force path", "Set-Item -force"),
    "in brackets": ("ls [-la] path", "ls -la"),
    "alternatives": ("ls |-la|-lh| path", "ls -lh"),
}  # fmt: skip


@pytest.mark.parametrize("name", HELD)
def test_an_option_counts_wherever_a_note_holds_it(owner: Owner, name: str) -> None:
    text, question = HELD[name]
    owner.note("memory/a.md", f"# Commands\n\n{text}\n")
    found = owner.memory().search(question)
    assert [hit.path for hit in found.hits] == ["memory/a.md"]
    assert not found.warnings


def test_what_no_note_holds_as_an_option_is_excluded_and_named(owner: Owner) -> None:
    owner.note("memory/red.md", "# Kite\n\nThe kite is well-red and red-hot, pre-red.\n")
    owner.note("memory/blue.md", "# Kite\n\nThe kite is blue.\n")
    memory = owner.memory()
    for question in ("kite -red", "kite -red?", "`kite -red`", "kite -Red, please"):
        found = memory.search(question)
        assert [hit.path for hit in found.hits] == ["memory/blue.md"], question
        assert any("exclusion" in one and "-red" in one.lower() for one in found.warnings), question
