"""mem0's exports: JSON of several shapes, with dates, users, categories and metadata."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.base.errors import NoteUnreadable
from commonplace.imports import mem0
from commonplace.memory import Memory
from commonplace.types import Fact, FileFailure
from tests.imports.conftest import Bring, written

MEMORIES = [
    {"id": "1", "memory": "Prefers aged white tea", "user_id": "ann", "hash": "x",
     "created_at": "2025-03-04T08:00:00.123456-07:00", "categories": ["food", "daily life"],
     "metadata": {"source": "chat", "nested": {"a": 1}}, "expiration_date": "2030-01-01"},
    {"id": "2", "memory": "Key is ghp_a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8", "user_id": "ann", "created_at": None},
    {"id": "3", "memory": ""},
    7,
]  # fmt: skip


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: {"results": m}, lambda m: {"memories": m}])
def test_memories_stand_in_the_notes_of_their_days(
    root: Path, tmp_path: Path, bring: Bring, wrap: object
) -> None:
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps(wrap(MEMORIES)))  # type: ignore[operator]
    done = bring(path)
    notes = written(root)
    (dated,) = (name for name in notes if name.startswith("memory/2025-03-04-mem0"))
    assert "## ann" in notes[dated]
    assert "Prefers aged white tea #food #daily-life <!-- valid-until: 2030-01-01 -->" in notes[dated]
    assert "  - source: chat" in notes[dated]
    assert "[REDACTED:" in notes["memory/mem0.md"]
    assert "at:" not in notes["memory/mem0.md"]
    assert [left.path.rpartition(" ")[2] for left in done.left_out] == ["3", "4"]
    assert {file.outcome for file in bring(path).files} == {"same"}
    with Memory.open(root) as memory:
        memory.sync()
        assert memory.search("tag:food tea").hits[0].date == "2025-03-04"


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b'"text"'])
def test_what_is_no_export_is_one_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "mem0.json"
    path.write_bytes(data)
    with pytest.raises(NoteUnreadable):
        list(mem0.read(path))


@pytest.mark.parametrize("data", [b'{"a": 1}', b"[7]", b"[[]]", b'{"results": [{}]}', b"[" * 100_000, b"["])
def test_what_is_no_memory_is_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "mem0.json"
    path.write_bytes(data)
    (part,) = mem0.read(path)
    assert isinstance(part, FileFailure)


def test_an_export_that_is_cut_off_gives_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "mem0.json"
    path.write_bytes(b'[{"id": "1", "memory": "Likes tea"}, {"id": "2", "mem')
    fact, cut = mem0.read(path)
    assert isinstance(fact, Fact)
    assert "cut off" in getattr(cut, "reason", "")


KEPT, THIRD = '{"id": "1", "memory": "kept"}', '{"id": "3", "memory": "third"}'


@pytest.mark.parametrize(
    "damaged",
    [
        '{"memory": "a" "b"}', '{"memory": "x", "a": ' + "[" * 100_000 + "]" * 100_000 + "}", r'"\u00zz"',
        '{"memory": "5" tall"}', '{"memory": tru',
    ],
)  # fmt: skip
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_damaged_memory_is_named_and_those_before_it_are_read(
    tmp_path: Path, damaged: str, wrapped: bool
) -> None:
    path = tmp_path / "mem0.json"
    made = f"[{KEPT}, {damaged}, {THIRD}]"
    path.write_text('{"results": ' + made + ', "n": 1}' if wrapped else made)
    parts = list(mem0.read(path))
    assert [part.text for part in parts if isinstance(part, Fact)] == ["kept"]
    (failure,) = (part for part in parts if isinstance(part, FileFailure))
    assert failure.path == f"{path}, number 2"
    assert failure.reason == "is damaged or cut off; it is left out, and all that follows"


def test_line_breaks_in_a_memory_are_no_damage_and_nothing_is_lost_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "mem0.json"
    told = {
        f'[{KEPT}, {{"memory": "two\nlines"}}, {THIRD}]': ["kept", "two\nlines", "third"],
        f'{{"results": [{KEPT}], "memories": [{THIRD}]}}': ["kept", "third"],
        f"[{KEPT}] [{THIRD}]": ["kept", "stands behind the end of the list, and is left out"],
        f"[{KEPT},": ["kept", "is damaged or cut off; it is left out, and all that follows"],
    }
    for data, expected in told.items():
        path.write_text(data)
        parts = list(mem0.read(path))
        assert [
            part.text if isinstance(part, Fact) else getattr(part, "reason", "") for part in parts
        ] == expected
