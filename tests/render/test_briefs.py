"""Rows of the index layer: short whatever they name, the same in every form, usable as references."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base import tokens
from commonplace.markdown.references import parse_reference
from commonplace.render import hits as rendered
from commonplace.types import Hit


def hit(heading: str = "Deploy", **changed: object) -> Hit:
    values: dict[str, object] = {
        "path": "memory/2026-02-13.md", "start_line": 12, "end_line": 18, "text": "text", "score": 0.82349,
        "title": "2026-02-13", "headings": ("2026-02-13", heading), "date": "2026-02-13",
        "collection": "memory", "docid": "a1b2c3",
    }  # fmt: skip
    return Hit(**{**values, **changed})  # type: ignore[arg-type]


TEXT = st.text(st.characters(blacklist_categories=("Cs",)), max_size=200)
HITS = st.builds(
    hit,
    TEXT | st.text("周五下午不部署", max_size=80),
    path=TEXT,
    title=TEXT,
    date=st.none() | st.just("2026-02-13"),
    start_line=st.integers(1, 10**6),
    score=st.floats(0, 1),
)


@given(HITS)
def test_a_row_is_twenty_tokens_at_most(one: Hit) -> None:
    row = rendered.row(one)
    assert tokens.about(row.text) == row.tokens <= 20
    assert row.score == ("" if one.is_listed else f"{one.score:.2f}")
    wanted = parse_reference(row.ref)
    assert (wanted.docid, wanted.first) == (one.docid, one.start_line)
    assert (wanted.last or wanted.first) == one.end_line


@pytest.mark.parametrize("heading", ["a heading of many words " * 9, "周五下午不部署" * 9])
def test_a_long_heading_is_cut_with_an_ellipsis_where_the_tokens_end(heading: str) -> None:
    row = rendered.row(hit(heading))
    assert row.heading.endswith("…")
    assert heading.startswith(row.heading[:-1])
    assert row.tokens in (19, 20)


def test_every_form_says_the_same() -> None:
    hits = [hit(), hit("Tea")]
    texts = [rendered.row(one).text for one in hits]
    assert rendered.rows(hits, "text").split("\n") == texts
    assert [one["ref"] for one in json.loads(rendered.rows(hits, "json"))] == ["#a1b2c3:12-18"] * 2
    assert rendered.rows(hits, "md").split("\n")[1] == "- `#a1b2c3:12-18` 2026-02-13 Tea 0.82"
    assert rendered.rows(hits, "files") == rendered.in_form(hits, "files") == hits[0].path


def test_the_heading_is_the_innermost_that_says_more_than_the_day() -> None:
    assert rendered.row(hit()).text == "#a1b2c3:12-18 2026-02-13 Deploy 0.82"
    assert rendered.row(hit(headings=("2026-02-13",))).heading == "2026-02-13.md"
    assert rendered.row(hit(headings=(), title="Plan", date=None)).text == "#a1b2c3:12-18 Plan 0.82"
    assert rendered.row(hit(end_line=12)).ref == "#a1b2c3:12"
