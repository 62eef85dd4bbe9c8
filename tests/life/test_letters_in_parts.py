"""A name, a tag, a heading is the same in NFD, as macOS writes it, and in NFC, as people type it."""

from __future__ import annotations

from unicodedata import normalize

import pytest

from tests.life.conftest import Owner


def _nfd(text: str) -> str:
    return normalize("NFD", text)


def _nfc(text: str) -> str:
    return normalize("NFC", text)


NOTE = """---
Gerät: Müllschlucker
tags: [Küche]
aliases: [Ölkännchen]
---

# Haus

## Größe

Die Wohnung hat siebzig Meter. #Möbel/Stühle ^größe

- Die Bücher stehen im Flur.
"""


@pytest.mark.parametrize(("written", "asked"), [(_nfd, _nfc), (_nfc, _nfd)])
def test_both_forms_meet_everywhere(owner: Owner, written: object, asked: object) -> None:
    assert callable(written)
    assert callable(asked)
    owner.note(written("memory/Räume/Übersicht.md"), written(NOTE))
    owner.note("memory/other.md", "Nothing of it. #Kuche")
    memory = owner.memory()
    path = written("memory/Räume/Übersicht.md")

    def found(question: str) -> set[str]:
        return {hit.path for hit in memory.search(asked(question)).hits}

    for question in (
        "Bücher", "Übersicht", '"Bücher stehen"', "tag:Küche", "tag:Möbel", "tag:möbel/stühle", "Gerät:Müllschlucker",
        "gerät:müllschlucker", "path:memory/Räume/", "path:memory/*/Über*.md", "path:memory/Räume/Übersicht.md", "Bü*",
    ):  # fmt: skip
        assert found(question) == {path}, question
    for reference in (
        "memory/Räume/Übersicht.md", "memory/Räume/Übersicht.md:7-9", "[[Übersicht]]", "[[Übersicht#Größe]]",
        "memory/Räume/Übersicht.md#Größe", "[[Ölkännchen]]", "[[Räume/Übersicht]]",
    ):  # fmt: skip
        assert memory.get(asked(reference)).path == path, reference
    assert [note.path for note in memory.notes(asked("memory/Räume"))] == [path]
    assert [note.path for note in memory.notes(asked("memory/R*/Ü*.md"))] == [path]
    assert [one.path for one in memory.get_many([asked("memory/Räume/Über*.md")]).excerpts] == [path]
    memory.correct(asked("Die Bücher stehen im Flur."), "Die Bücher stehen im Büro.")
    assert "~~" in owner.read(path)
    memory.remember("Der Tisch ist neu.", long_term=True, section=asked("Größe"))
    memory.remember("Der Stuhl ist neu.", long_term=True, section=written("Größe"))
    assert _nfc(owner.read("MEMORY.md")).count("## Größe") == 1


def test_a_tag_in_parts_is_one_tag(owner: Owner) -> None:
    owner.note("memory/a.md", _nfd("Der Herd ist an. #Küche #naïve-idee #Ärzte\n"))
    memory = owner.memory()
    for tag in ("Ku", "Kü", "nai", "A", "A\u0308"):
        assert not memory.search(f"tag:{tag}").hits, tag
    for tag in ("Küche", "naïve-idee", "Ärzte", "ärzte"):
        assert memory.search(f"tag:{tag}").hits, tag


def test_a_collection_in_parts_is_found(owner: Owner) -> None:
    shelf = owner.folder.parent / _nfd("Bücherei")
    shelf.mkdir()
    (shelf / _nfd("Märchen.md")).write_text(_nfd("# Regal\n\nDie Frösche sitzen am Brunnen.\n"))
    owner.ok("collection", "add", "--name", "shelf", shelf)
    assert "Brunnen" in owner.ok("search", _nfc("in:shelf Frösche"))
    assert "Brunnen" in owner.ok("get", _nfc("shelf/Märchen.md"))
    owner.note(_nfd("memory/Größe.md"), "Der Igel schläft.\n")
    owner.note("commonplace.toml", '[index]\nignore = ["memory/Größe.md"]\n')
    assert "Igel" not in owner.run("search", "Igel").out
