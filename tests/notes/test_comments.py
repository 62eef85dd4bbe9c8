"""Inline metadata: what is taken out of a line, and what is an ordinary comment."""

from __future__ import annotations

import pytest

from commonplace.notes import comments


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("importance: 8", {"importance": "8"}),
        ("Trigger: deploy, 发布", {"trigger": "deploy, 发布"}),
        ("project:kestrel", {"project": "kestrel"}),
        ("tentative", {"status": "tentative"}),
        ("Superseded", {"status": "superseded"}),
        ("status: tentative", {"status": "tentative"}),
        ("superseded-by: #a1b2c3", {"superseded-by": "#a1b2c3"}),
        ("valid-until: 2026-03-01", {"valid-until": "2026-03-01"}),
        ("by: tool", {"by": "tool"}),
        ("source: untrusted", {"by": "untrusted"}),
        ("provenance: Owner", {"by": "owner"}),
    ],
)
def test_metadata_is_taken_out(comment: str, said: dict[str, str]) -> None:
    lines = [f"- a fact <!-- {comment} -->"]
    assert comments.take(lines) == {1: said}
    assert lines == ["- a fact"]


@pytest.mark.parametrize(
    "comment", ["status: done", "source: a book", "by: Ann", "superseded twice", "todo", "tentatively"]
)
def test_other_comments_are_text(comment: str) -> None:
    lines = [f"- a fact <!-- {comment} -->"]
    assert comments.take(lines) == {}
    assert lines == [f"- a fact <!-- {comment} -->"]


def test_a_line_may_hold_several() -> None:
    lines = ["- a <!-- importance: 8 --> b <!-- tentative -->"]
    assert comments.take(lines) == {1: {"importance": "8", "status": "tentative"}}


def test_front_matter_has_the_same_keys() -> None:
    metadata = {
        "importance": 9, "triggers": ["deploy", "release"], "Project": "kestrel", "valid_until": "2026-03-01",
        "superseded-by": "#a1b2c3", "source": "agent", "tentative": True, "title": "A", "tags": ["x"],
    }  # fmt: skip
    assert comments.of_front_matter(metadata) == {
        "importance": "9", "trigger": "deploy, release", "project": "kestrel", "valid-until": "2026-03-01",
        "superseded-by": "#a1b2c3", "by": "agent", "status": "tentative",
    }  # fmt: skip


def test_front_matter_of_others_says_nothing() -> None:
    metadata = {
        "status": "done",
        "source": "https://a.example",
        "by": None,
        "superseded": False,
        "trigger": "",
    }
    assert comments.of_front_matter(metadata) == {}


def test_a_line_full_of_openings_takes_no_time() -> None:
    lines = ["<!-- trigger: " * 20_000]
    assert comments.take(lines) == {}
