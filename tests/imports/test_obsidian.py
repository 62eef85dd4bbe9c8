"""An Obsidian vault: one collection, where it lies, with its tags, aliases, tasks and links."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace import config
from commonplace.agent import answers, tools
from commonplace.base.errors import NoteNotFound
from commonplace.memory import Memory
from tests.imports.conftest import Bring, written


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    made = tmp_path / "My Vault"
    for name in (".obsidian", ".trash", "Templates", "Projects/Sub"):
        (made / name).mkdir(parents=True)
    (made / ".obsidian" / "templates.json").write_text('{"folder": "Templates"}')
    (made / ".obsidian" / "app.json").write_text(json.dumps({"userIgnoreFilters": ["Private/", "/^x/"]}))
    (made / ".obsidian" / "notes.md").write_text("# Not kestrel\n")
    (made / ".trash" / "old.md").write_text("# Old kestrel\n")
    (made / "Templates" / "t.md").write_text("# Template kestrel\n")
    (made / "Projects" / "Kestrel plan.md").write_text(
        '---\ntags: [work/boats]\naliases: [KP, "The Plan"]\n---\n# Kestrel plan\n\n'
        "Intro #project/kestrel and [[Harbour|the port]].\n\n## Next steps\n\n- [ ] Buy rope\n"
        "- [x] Paint hull ^hull\n  - two coats\n\n## Risks\n\nThe harbour may close,\nso we leave early. ^risk\n"
    )
    (made / "Harbour.md").write_text("It closes at six. #sea\n")
    (made / "Projects" / "Sub" / "Harbour.md").write_text("# Another harbour\n")
    return made


@pytest.fixture
def memory(root: Path, vault: Path, bring: Bring) -> Memory:
    bring(vault)
    opened = Memory.open(root)
    opened.sync()
    return opened


def test_a_vault_is_one_collection_and_nothing_is_copied(root: Path, vault: Path, bring: Bring) -> None:
    before = written(root)
    done = bring(vault)
    found = config.load(root).collections["my-vault"]
    assert found.path == str(vault.resolve())
    assert found.weight == "own"
    assert {"Templates/**", "Private/**"} <= set(found.ignore)
    assert done.remarks[0].startswith("files that match /^x/ are searched here")
    assert written(root) == before
    assert {one.outcome for one in bring(vault).settings} == {"same"}


@pytest.mark.parametrize("name", ["Projects", "Projects/Sub", "link"])
def test_a_folder_of_a_vault_names_the_vault(root: Path, vault: Path, bring: Bring, name: str) -> None:
    (vault / "link").symlink_to(vault / "Projects")
    done = bring(vault / name, "obsidian")
    assert (done.settings, len(done.left_out)) == ((), 1)
    assert f"lies in the vault {vault}; import that" in done.left_out[0].reason
    assert config.load(root).collections == {}


def test_a_vault_in_a_vault_and_a_plain_folder_are_taken(vault: Path, tmp_path: Path, bring: Bring) -> None:
    (vault / "Projects" / ".obsidian").mkdir()
    (tmp_path / "plain").mkdir()
    for path in (vault / "Projects", tmp_path / "plain"):
        assert [one.outcome for one in bring(path, "obsidian").settings] == ["new"]


def test_settings_trash_and_templates_are_no_notes(memory: Memory) -> None:
    assert {note.path for note in memory.notes("my-vault")} == {
        "my-vault/Harbour.md", "my-vault/Projects/Kestrel plan.md", "my-vault/Projects/Sub/Harbour.md"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("tag:project", ["Kestrel plan"]),
        ("tag:project/kestrel", ["Kestrel plan"]),
        ("tag:#Work", ["Kestrel plan"]),
        ("tags:sea", ["Harbour"]),
        ("tag:proj", []),
        ("aliases:kp", ["Kestrel plan"]),
        ("task:open", ["Kestrel plan"]),
        ("task:done rope", ["Kestrel plan"]),
        ("task:other", []),
    ],
)
def test_tags_aliases_and_tasks_are_filters(memory: Memory, question: str, names: list[str]) -> None:
    paths = {hit.path.rpartition("/")[2].removesuffix(".md") for hit in memory.search(question).hits}
    assert paths == set(names)


def test_a_task_is_found_by_its_passage(memory: Memory, root: Path) -> None:
    (root / "MEMORY.md").write_text("---\ntask: open\n---\n\n- Said by front matter.\n")
    texts = [hit.text for hit in memory.search("task:open", min_score=0.0001).hits]
    assert len(texts) == 2
    assert all("Buy rope" in text or "front matter" in text for text in texts)
    assert not any("Buy rope" in hit.text for hit in memory.search("-task:open harbour").hits)
    assert any("harbour may close" in hit.text for hit in memory.search("-task:open harbour").hits)


@pytest.mark.parametrize(
    ("link", "path", "first", "last"),
    [
        ("[[Kestrel plan]]", "Projects/Kestrel plan.md", 1, 18),
        ("![[kestrel plan#next steps|x]]", "Projects/Kestrel plan.md", 9, 13),
        ("Kestrel plan#Next steps", "Projects/Kestrel plan.md", 9, 13),
        ("[[KP#Kestrel plan#Risks]]", "Projects/Kestrel plan.md", 15, 18),
        ("[[The Plan#^hull]]", "Projects/Kestrel plan.md", 12, 13),
        ("kp#^risk", "Projects/Kestrel plan.md", 17, 18),
        ("[[Harbour]]", "Harbour.md", 1, 1),
        ("[[Sub/Harbour]]", "Projects/Sub/Harbour.md", 1, 1),
        ("[[Another harbour]]", "Projects/Sub/Harbour.md", 1, 1),
        ("my-vault/Projects/Kestrel plan.md#Risks", "Projects/Kestrel plan.md", 15, 18),
    ],
)
def test_links_are_resolved(memory: Memory, link: str, path: str, first: int, last: int) -> None:
    excerpt = memory.get(link)
    assert (excerpt.path, excerpt.start_line, excerpt.end_line) == (f"my-vault/{path}", first, last)


@pytest.mark.parametrize(
    "link", ["[[Nothing]]", "KP#nowhere", "[[KP#^nothing]]", "Nothing#Heading", "[[ ]]", "[[#x]]"]
)
def test_what_leads_nowhere_is_one_clear_error(memory: Memory, link: str) -> None:
    with pytest.raises(NoteNotFound):
        memory.get(link)


def test_two_notes_of_one_name_are_told_apart(memory: Memory, vault: Path) -> None:
    (vault / "Other").mkdir()
    (vault / "Other" / "Kestrel plan.md").write_text("# Second\n")
    memory.sync()
    with pytest.raises(NoteNotFound, match="several notes"):
        memory.get("[[Kestrel plan]]")


def test_an_agent_opens_links_too(memory: Memory) -> None:
    tool = tools.find("memory_get")
    assert tool is not None
    answer = tool.run(memory, {"path": "[[KP#Next steps]]", "from": None, "lines": None}, answers.Caller())
    assert "Buy rope" in answer.text
    assert "Intro" not in answer.text
