"""What differs between disk and index: by hand, and against comparing everything with everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.chunking.settings import DEFAULT, ChunkSettings
from commonplace.index import changes, rules
from commonplace.index.base import Known
from commonplace.notes.scan import FileState

PATHS = st.sampled_from(["a.md", "b.md", "c.md", "memory/d.md", "记.md"])
KEYS = st.tuples(st.sampled_from(["memory", "docs"]), PATHS)
MARKS = st.tuples(st.integers(0, 2), st.integers(0, 2))


def on_disk(key: tuple[str, str], marks: tuple[int, int]) -> FileState:
    return FileState(*key, f"/notes/{key[1]}", *marks)


def known(number: int, marks: tuple[int, int]) -> Known:
    values = {"id": number, "hash": f"h{number}", "mtime_ns": marks[0], "size": marks[1]}
    return Known(*(values.get(name, 0) for name in Known._fields))  # type: ignore[arg-type]


def test_nothing_against_nothing() -> None:
    found = changes.compare([], {})
    assert (found.stale, found.unchanged) == (0, 0)


def test_each_kind_of_difference() -> None:
    key = {name: ("memory", f"{name}.md") for name in ("same", "newer", "larger", "gone", "fresh")}
    index = {key[n]: known(i, (1, 1)) for i, n in enumerate(("same", "newer", "larger", "gone"))}
    disk = [
        on_disk(key["same"], (1, 1)),
        on_disk(key["newer"], (2, 1)),
        on_disk(key["larger"], (1, 2)),
        on_disk(key["fresh"], (1, 1)),
    ]
    found = changes.compare(disk, index)
    assert [state.key for state in found.fresh] == [key["fresh"]]
    assert [state.key for state in found.suspect] == [key["newer"], key["larger"]]
    assert found.gone == [key["gone"]]
    assert (found.unchanged, found.stale) == (1, 4)


def test_an_older_time_counts_as_changed() -> None:
    found = changes.compare([on_disk(("memory", "a.md"), (1, 1))], {("memory", "a.md"): known(0, (2, 1))})
    assert len(found.suspect) == 1


def test_the_same_path_in_two_collections_is_two_files() -> None:
    found = changes.compare([on_disk(("docs", "a.md"), (1, 1))], {("memory", "a.md"): known(0, (1, 1))})
    assert (len(found.fresh), found.gone) == (1, [("memory", "a.md")])


@given(st.dictionaries(KEYS, MARKS), st.dictionaries(KEYS, MARKS))
def test_every_file_is_counted_once(
    disk: dict[tuple[str, str], tuple[int, int]], index: dict[tuple[str, str], tuple[int, int]]
) -> None:
    states = [on_disk(key, marks) for key, marks in disk.items()]
    found = changes.compare(states, {key: known(n, marks) for n, (key, marks) in enumerate(index.items())})
    assert {state.key for state in found.fresh} == disk.keys() - index.keys()
    assert {state.key for state in found.suspect} == {
        k for k in disk.keys() & index.keys() if disk[k] != index[k]
    }
    assert set(found.gone) == index.keys() - disk.keys()
    assert len(found.gone) == len(set(found.gone))
    assert found.unchanged == sum(index.get(key) == marks for key, marks in disk.items())


def test_every_setting_of_the_cut_is_part_of_the_identity() -> None:
    for name in ChunkSettings._fields:
        value = getattr(DEFAULT, name)
        other = DEFAULT._replace(**{name: not value if isinstance(value, bool) else value + 1})
        assert rules.identity(other) != rules.identity(DEFAULT), name
        assert rules.identity(DEFAULT._replace()) == rules.identity(DEFAULT), name
