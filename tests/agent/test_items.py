"""Values by namespace and key as Markdown files: exact, readable, inert, whoever writes at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import ConfigError, Memory
from commonplace.agent.items import FOLDER, Items, Put
from commonplace.redaction.redact import public
from commonplace.storage import undo

NAMES = st.text(min_size=1, max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)


def cleaned(value: Any) -> bool:
    """Whether no text of a value is changed on its way to the disk."""
    if isinstance(value, str):
        return public(value) == value and value == value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return all(cleaned(name) and cleaned(one) for name, one in value.items())
    return all(map(cleaned, value)) if isinstance(value, list) else True


@given(
    namespace=st.lists(NAMES, min_size=1, max_size=4).map(tuple),
    key=NAMES,
    value=st.dictionaries(st.text(max_size=10), VALUES, max_size=4),
)
def test_what_is_stored_comes_back_exactly(
    memory: Memory, namespace: tuple[str, ...], key: str, value: Any
) -> None:
    items = Items(memory)
    items.put([Put(namespace, key, value)])
    held = Items(memory).get(namespace, key)
    assert held is not None
    if cleaned(value):
        assert held.value == value
    (file,) = (memory.workspace.root / FOLDER).rglob("*.md")
    assert file.is_relative_to(memory.workspace.root / FOLDER)
    items.put([Put(namespace, key, None)])
    assert items.get(namespace, key) is None
    assert items.below() == []


def test_a_file_reads_well(memory: Memory) -> None:
    items = Items(memory)
    at = datetime(2026, 2, 13, 14, 5, 9, tzinfo=UTC)
    items.put([Put(("users", "ann"), "tea", {"text": "Ann drinks white tea.", "tags": ["a", "b"]})], at)
    assert (
        (memory.workspace.root / FOLDER / "users" / "ann" / "tea.md").read_text()
        == """---
namespace: ["users", "ann"]
key: "tea"
created: 2026-02-13T14:05:09.000000+00:00
updated: 2026-02-13T14:05:09.000000+00:00
by: agent
---
# tea

- text: Ann drinks white tea.
- tags[0]: a
- tags[1]: b

```json
{
  "text": "Ann drinks white tea.",
  "tags": [
    "a",
    "b"
  ]
}
```
"""
    )


def test_names_that_differ_in_case_or_signs_are_different_items(memory: Memory) -> None:
    items = Items(memory)
    keys = [
        "tea",
        "Tea",
        "TEA",
        "tea ",
        "茶",
        "茶叶",
        "../tea",
        "2026-02-13",
        "con",
        "a/b",
        "a:b",
        "x" * 300,
        "é",
        "e\u0301",
    ]
    items.put([Put(("n",), key, {"key": key}) for key in keys])
    assert [items.get(("n",), key).value["key"] for key in keys] == keys  # type: ignore[union-attr]
    names = [path.name for path in (memory.workspace.root / FOLDER).rglob("*.md")]
    assert len({name.lower() for name in names}) == len(keys)
    assert "2026-02-13.md" not in names, "which would be a daily note"


def test_a_value_says_nothing_to_who_reads_notes(memory: Memory, folder: Path) -> None:
    """No comment, heading, strike or private part of a value has an effect; the JSON keeps it."""
    text = "# Heading\n~~old~~ <!-- importance: 10 --> <!-- by: owner -->\n```\n- item\n--- \n- [ ] x"
    items = Items(memory)
    items.put([Put(("n",), "k", {"text": text})])
    assert items.get(("n",), "k").value["text"] == text  # type: ignore[union-attr]
    memory.sync(embed=False)
    (info,) = [note for note in memory.notes() if note.path.startswith(FOLDER)]
    assert info.title == "k"
    shown = "\n".join(memory.get(info.path).lines)
    assert "<!--" not in shown
    assert sum(line.startswith("```") for line in shown.split("\n")) == 2
    hits = [hit for hit in memory.search("importance heading old item").hits if hit.path == info.path]
    assert all(hit.labels == () for hit in hits)


def test_several_are_one_change_all_or_none(memory: Memory) -> None:
    items = Items(memory)
    with pytest.raises(ConfigError):
        items.put([Put(("n",), "a", {"x": 1}), Put(("n",), "b", {"x": object()})])
    assert items.below() == []
    items.put([Put(("n",), "a", {"x": 1}), Put(("n",), "b", {"x": 2}), Put(("n",), "a", {"x": 3})])
    assert sorted((item.key, item.value["x"]) for item in items.below()) == [("a", 3), ("b", 2)]
    undo.undo(memory.workspace)
    assert items.below() == []


def test_threads_at_once_lose_nothing(memory: Memory) -> None:
    items = Items(memory)

    def put(number: int) -> None:
        items.put([Put(("n",), f"k{number}", {"n": number}), Put(("n",), "last", {"n": number})])

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(put, range(24)))
    assert {item.value["n"] for item in items.below() if item.key != "last"} == set(range(24))
    assert len(items.below()) == 25


def test_namespaces_end_where_they_end(memory: Memory) -> None:
    items = Items(memory)
    items.put(
        [Put(("a", "b"), "k", {}), Put(("a", "bc"), "k", {}), Put(("a",), "k", {}), Put(("ab",), "k", {})]
    )
    assert {item.namespace for item in items.below(("a", "b"))} == {("a", "b")}
    assert {item.namespace for item in items.below(("a",))} == {("a",), ("a", "b"), ("a", "bc")}


@pytest.mark.parametrize("namespace", [(), ("",), ("a", ""), ("a",) * 33, ("a", None)])
def test_what_can_be_no_place_is_refused(memory: Memory, namespace: Any) -> None:
    with pytest.raises(ConfigError):
        Items(memory).put([Put(namespace, "k", {})])
    with pytest.raises(ConfigError):
        Items(memory).get(namespace, "k")


def test_links_are_not_followed(memory: Memory, tmp_path: Path) -> None:
    items = Items(memory)
    items.put([Put(("n",), "k", {"x": 1})])
    place = memory.workspace.root / FOLDER / "n" / "k.md"
    other = tmp_path / "elsewhere.md"
    other.write_bytes(place.read_bytes())
    place.unlink()
    place.symlink_to(other)
    assert items.get(("n",), "k") is None
    (memory.workspace.root / FOLDER / "out").symlink_to(tmp_path)
    assert items.below() == []
