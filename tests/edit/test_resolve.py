"""Which statements are meant: by place or by words, never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.edit import resolve
from commonplace.edit.resolve import Corpus, StatementNotFound
from commonplace.language import sentences
from commonplace.storage import transaction
from tests.edit.conftest import notes


def find(memory: Memory, named: str, *, owner: bool = True) -> list[tuple[str, str]]:
    corpus = Corpus(memory.workspace, memory.settings, lambda path: transaction.read(memory.workspace, path))
    return [(m.statement.citation, m.part) for m in resolve.find(corpus, named, owner=owner)]


EVERYWHERE = [
    ("MEMORY.md#L5", ""),
    ("memory/2026-02-13.md#L3", ""),
    ("memory/2026-02-13.md#L5", "Deploys go out on Tuesdays."),
]


@pytest.mark.parametrize(
    "named",
    ["Deploys go out on Tuesdays.", "deploys go out on tuesdays", "- Deploys go out on Tuesdays.", "MEMORY.md#L5",
     "MEMORY.md:5", "./MEMORY.md:5-5"],
)  # fmt: skip
def test_by_words_and_by_place(memory: Memory, named: str) -> None:
    assert find(memory, named) == EVERYWHERE


def test_by_content_hash(memory: Memory) -> None:
    docid = memory.get("MEMORY.md").docid
    assert find(memory, f"#{docid}:5") == EVERYWHERE


def test_in_chinese(memory: Memory) -> None:
    assert find(memory, "生产环境每周二下午部署") == [("MEMORY.md#L10", ""), ("memory/2026-02-13.md#L6", "")]


@pytest.mark.parametrize(
    ("named", "reason", "near"),
    [
        ("Tuesdays", "less than a sentence", True),
        ("Deploys go out on Tuesday", "no statement of the notes says that", True),
        ("Nobody ever said this", "no statement of the notes says that", False),
        ("", "say which statement", False),
        ("MEMORY.md", "names a whole note", False),
        ("MEMORY.md#L3", "states nothing", False),
        ("MEMORY.md#L99", "states nothing", False),
        ("MEMORY.md#L5-L6", "more than one statement", True),
        ("work/notes.md#L5", "none of the workspace's own notes", False),
        ("sessions/a.jsonl:4", "none of the workspace's own notes", False),
        ("../outside.md#L1", "none of the workspace's own notes", False),
        ("#123456:3", "none of the workspace's own notes", False),
        ("memory/2026-02-12.md:3", "none of the workspace's own notes", True),
    ],
)
def test_what_is_refused(memory: Memory, named: str, reason: str, near: bool) -> None:
    with pytest.raises(StatementNotFound, match=reason) as raised:
        memory.correct(named, "New.")
    assert bool(raised.value.near) == near


def test_the_same_words_of_different_things(memory: Memory, root: Path) -> None:
    (root / "MEMORY.md").write_text("## Mira\n\n- prefers tea\n\n## Ann\n\n- prefers tea\n")
    before = notes(root)
    with pytest.raises(StatementNotFound, match="more than one thing") as raised:
        memory.correct("prefers tea", "prefers coffee")
    assert [one.citation for one in raised.value.near] == ["MEMORY.md#L3", "MEMORY.md#L7"]
    assert notes(root) == before
    assert memory.correct("MEMORY.md#L7", "prefers coffee").struck == ("MEMORY.md#L7",)


def test_what_is_struck_is_not_struck_again(memory: Memory) -> None:
    memory.correct("Rollback takes two steps.", "Rollback takes three steps.")
    with pytest.raises(StatementNotFound, match="struck already"):
        memory.correct("Rollback takes two steps.", "Rollback takes four steps.")
    with pytest.raises(StatementNotFound, match="struck already"):
        memory.correct("MEMORY.md#L6", "Rollback takes four steps.")


def test_what_is_pinned_is_the_owners(memory: Memory, root: Path) -> None:
    (root / "MEMORY.md").write_text("- Deploys go out on Tuesdays. <!-- pinned -->\n")
    assert find(memory, "Deploys go out on Tuesdays.", owner=False) == EVERYWHERE[1:]
    assert find(memory, "Deploys go out on Tuesdays.")[0] == ("MEMORY.md#L1", "")
    with pytest.raises(StatementNotFound, match="pinned"):
        find(memory, "MEMORY.md#L1", owner=False)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Smith met Mr. Ng. They talked.", ["Dr. Smith met Mr. Ng.", "They talked."]),
        ("Use v1.2.3 e.g. on Linux. Done", ["Use v1.2.3 e.g. on Linux.", "Done"]),
        ("周二部署。米拉负责！好吗？", ["周二部署。", "米拉负责！", "好吗？"]),
        ("He said “no.” Then he left.", ["He said “no.”", "Then he left."]),
        ("~~Old.~~ New.", ["~~Old.~~", "New."]),
        ("The room is 12. The key is red.", ["The room is 12.", "The key is red."]),
        ("It rained. 2. Open it. (3. Close it.)", ["It rained.", "2. Open it.", "(3. Close it.)"]),
        ("Steps: 1. Open it.\n2. Close it.", ["Steps: 1. Open it.", "2. Close it."]),
        ("", []),
    ],
)
def test_sentences(text: str, wanted: list[str]) -> None:
    assert [text[start:end] for start, end in sentences.spans(text)] == wanted


def test_a_sentence_may_end_in_a_short_number(memory: Memory, root: Path) -> None:
    (root / "MEMORY.md").write_text("- We met Ann there. The room is 12. The key is red.\n")
    assert memory.correct("The room is 12.", "The room is 14.").struck == ("MEMORY.md#L1",)
    assert "- We met Ann there. The room is 14. The key is red. <!--" in (root / "MEMORY.md").read_text()


def test_a_note_under_two_names_is_changed_once(memory: Memory, root: Path) -> None:
    (root / "memory" / "also.md").symlink_to(root / "memory" / "2026-02-13.md")
    assert find(memory, "Deploys go out on Tuesdays.") == EVERYWHERE
    memory.correct("Deploys go out on Tuesdays.", "Deploys go out on Thursdays.")
    assert (root / "memory" / "also.md").is_symlink()


def test_a_note_that_cannot_be_read_is_named(memory: Memory, root: Path) -> None:
    (root / "memory" / "2026-02-20.md").write_bytes(b"\xff\xfe\x00")
    done = memory.correct("Deploys go out on Tuesdays.", "Deploys go out on Thursdays.")
    assert (root / "memory" / "2026-02-20.md").read_bytes() == b"\xff\xfe\x00"
    assert done.warnings == ("memory/2026-02-20.md: neither UTF-8 nor utf-16-le",)
