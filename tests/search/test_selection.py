"""Hits of a real index: what is said twice is found once, with the other places in every format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.render import hits, reports
from commonplace.types import Place

SAID = "The walnut desk comes from the joiner in Bremen and has a drawer on the left."
NOTES = {
    "memory/2026-01-12.md": f"# 2026-01-12\n\n- 09:10 {SAID}\n\n## Noon\n\n- Bought running shoes.\n",
    "memory/2026-02-03.md": f"# 2026-02-03\n\n- 14:05 {SAID.lower()}\n\n## Later\n\n- The desk was cheap.\n",
    "MEMORY.md": f"# Memory\n\n## Furniture\n\n- {SAID}\n",
    "memory/2026-02-20.md": "# 2026-02-20\n\n- The walnut desk does not fit through the door.\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    for path, text in NOTES.items():
        (tmp_path / path).write_text(text, "utf-8")
    return tmp_path


def opened(root: Path, **settings: object) -> Memory:
    return Memory.open(root, overrides={"embedding.provider": "none", **settings})


def test_what_is_said_three_times_is_one_hit_the_newest(root: Path) -> None:
    with opened(root) as memory:
        hits = memory.search("walnut desk joiner", min_score=0.0).hits
    (told,) = [hit for hit in hits if "joiner" in hit.text]
    assert told.path == "memory/2026-02-03.md"
    assert told.others == (
        Place("memory/2026-01-12.md", 3, 3, "2026-01-12"),
        Place("MEMORY.md", 5, 5, None),
    )
    assert told.score == max(hit.score for hit in hits)
    assert any("does not fit" in hit.text for hit in hits)
    assert sum(factor.value for factor in told.factors) == pytest.approx(told.score, abs=1e-3)


def test_of_a_day_that_is_named_it_is_shown_as_of_that_day(root: Path) -> None:
    with opened(root) as memory:
        told = memory.search("joiner of the walnut desk on 2026-01-12").hits[0]
    assert (told.date, told.others[0].date) == ("2026-01-12", "2026-02-03")


def test_filters_alone_list_passages_as_they_stand(root: Path) -> None:
    with opened(root) as memory:
        hits = memory.search("path:memory/*.md", limit=50).hits
    assert sum("joiner" in hit.text for hit in hits) == 2
    assert all(hit.others == () for hit in hits)


def test_a_limit_is_reached_however_many_copies_there_are(root: Path) -> None:
    for number in range(40):
        (root / "memory" / f"copy-{number}.md").write_text(f"# Copy\n\n- {SAID}\n", "utf-8")
    with opened(root) as memory:
        hits = memory.search("walnut desk joiner shoes", limit=3, min_score=0.0).hits
    assert len(hits) == 3
    assert sum("joiner" in hit.text for hit in hits) == 1


def test_scores_fall_and_what_is_merely_alike_stays(root: Path) -> None:
    with opened(root) as memory:
        hits = memory.search("walnut desk", min_score=0.0).hits
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_every_format_names_the_other_places(root: Path) -> None:
    with opened(root) as memory:
        result = memory.search("walnut desk joiner")
    places = ["memory/2026-01-12.md#L3", "MEMORY.md#L5"]
    assert "  also in memory/2026-01-12.md#L3, MEMORY.md#L5\n" in hits.as_text(result)
    assert "also in `memory/2026-01-12.md#L3`, `MEMORY.md#L5`\n" in hits.in_form(result.hits, "md")
    told = json.loads(hits.in_form(result.hits, "json"))[0]
    assert [other["citation"] for other in told["others"]] == places
    assert [other["date"] for other in told["others"]] == ["2026-01-12", None]
    assert hits.in_form(result.hits, "files").split("\n")[0] == "memory/2026-02-03.md"


def test_a_recall_counts_what_it_does_not_say_again(root: Path) -> None:
    with opened(root) as memory:
        found = memory.recall("walnut desk joiner")
    assert found.text.lower().count("joiner") == 1
    assert found.repeated == 2
    assert "2 said already" in reports.recall_footer(found)
    assert reports.recall_data(found)["repeated"] == 2
