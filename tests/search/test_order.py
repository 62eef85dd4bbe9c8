"""Rankings without answers that come twice: groups of passages that say the same."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.index.base import Candidate, Source
from commonplace.language import compare
from commonplace.search import order
from commonplace.search.ranking import Ranked

DANA = "Dana moves to Lisbon in April and takes the cat with her"
SAID = "Ann: so Dana moves to Lisbon in April and takes the cat"


def made(
    number: int,
    text: str,
    day: str | None = "2026-02-13",
    *,
    kind: str = "note",
    score: float | None = None,
    path: str = "",
    parts: dict[str, float] | None = None,
) -> Ranked:
    own = 1 - number / 1000 if score is None else score
    source = Source("memory", path or f"memory/{number}.md", "", day, kind, f"{number:06}", ())
    candidate = Candidate(number, number, number, 1, 1, text, 0.0, source=source)
    return Ranked(candidate, own, parts or {"words": own})


def source(item: Ranked) -> Source:
    return item.candidate.source


def groups(*items: Ranked, limit: int = 10) -> list[list[int]]:
    gathered = order.gather(items, limit)
    return [sorted(one.candidate.id for one in (shown, *others)) for shown, others in gathered]


STATEMENTS = (
    "Tea at noon",
    "tea, at noon.",
    "No tea at noon",
    "Tea at 12",
    DANA,
    f"{DANA}.",
    "喝茶",
    "不喝茶",
    SAID,
)
ENTRIES = st.lists(
    st.tuples(
        st.sampled_from(STATEMENTS),
        st.sampled_from(["2026-02-13", "2026-02-14", "2026-03-01", None]),
        st.sampled_from(["note", "session"]),
    ),
    max_size=30,
).map(lambda rows: [made(n, text, day, kind=kind) for n, (text, day, kind) in enumerate(rows)])


@given(ENTRIES, st.integers(0, 12))
def test_nothing_that_says_something_else_is_lost(entries: list[Ranked], limit: int) -> None:
    """What is not shown says the same as what is; what was not reached is not needed."""
    found = order.gather(entries, limit)
    reached = sum(1 + len(others) for _, others in found)
    assert sorted(one.candidate.id for shown, others in found for one in (shown, *others)) == list(
        range(reached)
    )
    assert reached == len(entries) or len(found) >= limit
    for shown, others in found:
        read = compare.read(shown.candidate.text)
        assert all(compare.same(read, compare.read(other.candidate.text)) for other in others)


@given(ENTRIES, st.integers(1, 12))
def test_scores_never_rise_and_add_up(entries: list[Ranked], limit: int) -> None:
    items = [shown for shown, _ in order.gather(entries, limit)]
    assert all(a.score >= b.score for a, b in pairwise(items))
    assert all(sum(item.parts.values()) == pytest.approx(item.score) for item in items)


def test_the_newest_is_shown_with_the_score_of_the_best() -> None:
    old, new = made(1, DANA, "2026-01-02", score=0.9), made(2, DANA, "2026-02-03", score=0.5)
    ((shown, others),) = order.gather([old, new], 10)
    assert (source(shown).date, shown.score) == ("2026-02-03", 0.9)
    assert shown.parts == {"words": 0.5, "said again": pytest.approx(0.4)}
    assert others == [old]


def test_within_a_day_the_file_changed_last_is_the_newest() -> None:
    first, second = made(1, DANA, path="a.md"), made(2, DANA, path="b.md")
    for times in ((2, 1), (1, 2)):
        both = [
            one._replace(candidate=one.candidate._replace(source=source(one)._replace(mtime_ns=changed)))
            for one, changed in zip((first, second), times, strict=True)
        ]
        ((shown, _),) = order.gather(both, 10)
        assert source(shown) == source(both[times.index(2)])


def test_of_the_day_asked_for_a_statement_is_shown_as_of_that_day() -> None:
    asked = made(1, DANA, "2026-01-02", parts={"words": 0.8, "date": 0.1})
    later = made(2, DANA, "2026-02-03")
    ((shown, _),) = order.gather([asked, later], 10)
    assert source(shown).date == "2026-01-02"


def test_a_note_is_shown_before_a_transcript_and_before_a_copy() -> None:
    heard = made(1, DANA, "2026-02-13", kind="session")
    note, copy = (
        made(2, DANA, "2026-02-12"),
        made(3, DANA, "2026-02-14", path="memory/2.sync-conflict-20260214-101112-ABCDEFG.md"),
    )
    for arrived in ([heard, note, copy], [copy, heard, note], [note, heard, copy]):
        ((shown, others),) = order.gather(arrived, 10)
        assert source(shown) == source(note)
        assert {source(one).path for one in others} == {source(heard).path, source(copy).path}


def test_two_passages_of_the_same_lines_are_one_hit_and_not_another_place() -> None:
    first = made(1, "one half of a long line")
    twin = first._replace(candidate=first.candidate._replace(id=2, text="rest"))
    assert groups(first, twin) == [[1]]


def test_copies_beyond_the_head_do_not_take_the_place_of_hits() -> None:
    copies = [made(n, DANA) for n in range(50)]
    others = [made(n, f"statement {n}") for n in range(50, 60)]
    assert [group[0] for group in groups(*copies, *others, limit=3)] == [0, 50, 51]
    assert groups(*others, limit=3) == [[n] for n in range(50, 56)]  # no more than the head is compared


def test_a_program_is_the_same_only_to_the_letter() -> None:
    code = [
        made(n, text, path=f"{n}.py") for n, text in enumerate(["x = 1  # a", "x = 1  # b", "x = 1  # a"])
    ]
    assert groups(*code) == [[0, 2], [1]]
