"""What serves other text is no hit of its own: front matter, headings without text, rules, images."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.markdown import structure

TRIP = """---
aliases: [Tokyo adventure, 东京之行]
---
# Japan

We land on 3 May and stay near the river.

## Hotels

The Blue Lantern, two nights.
"""
HOUSE = "# Chores\n\n## Gratitude\n\n## Plants\n\n![ficus](y.png)\n\n---\n\nWater them on Sundays.\n"
BARE = "---\naliases: [Zanzibar]\n---\n"


@pytest.fixture
def memory(root: Path) -> Iterator[Memory]:
    for name, text in {"trip": TRIP, "house": HOUSE, "bare": BARE}.items():
        (root / "memory" / f"{name}.md").write_text(text, "utf-8")
    with Memory.open(root) as memory:
        yield memory


@pytest.mark.parametrize("question", ["Tokyo adventure", "东京之行", "東京之行"])
def test_front_matter_finds_the_first_passage_of_its_note(memory: Memory, question: str) -> None:
    hit, *rest = memory.search(question, min_score=0).hits
    front, passage = "aliases: [Tokyo adventure, 东京之行]", "We land on 3 May and stay near the river."
    assert (hit.citation, hit.text) == ("memory/trip.md#L6", f"{front}\n\n{passage}")
    assert [factor.name for factor in hit.factors] == ["front matter"]
    assert sum(factor.value for factor in hit.factors) == pytest.approx(hit.score)
    assert all("aliases: [Tokyo" not in other.text for other in rest)
    assert "land on 3 May" in memory.recall(question).text


def test_what_front_matter_serves_keeps_to_the_question(memory: Memory) -> None:
    assert memory.search('"Tokyo adventure"').hits[0].start_line == 1  # what follows does not hold the phrase
    excluding = memory.search("Tokyo adventure -river", min_score=0).hits
    assert all(not hit.text.startswith("We land") for hit in excluding)
    assert all("aliases: [Tokyo" not in hit.text for hit in excluding)


def test_what_says_nothing_stands_behind_what_does(memory: Memory) -> None:
    hits = memory.search("gratitude plants zanzibar river", min_score=0).hits
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert BARE.strip() in [hit.text for hit in hits]
    assert "## Gratitude" not in [hit.text for hit in hits]
    for hit in hits:
        assert sum(factor.value for factor in hit.factors) == pytest.approx(hit.score, abs=1e-3)


def test_a_heading_that_alone_answers_is_first(root: Path) -> None:
    texts = {f"filler-{count}": f"- filler number {count} about gardens\n" for count in range(8)}
    for name, text in {**texts, "elbonia": "# Projects\n\n## Capital of Elbonia is Mudville\n"}.items():
        (root / "memory" / f"{name}.md").write_text(text, "utf-8")
    with Memory.open(root) as memory:
        for limit in (3, 12):
            assert "Mudville" in memory.search("what is the capital of Elbonia?", limit=limit).hits[0].text
        assert "Mudville" in memory.recall("what is the capital of Elbonia?", budget=100).text


def test_what_only_front_matter_says_is_shown_with_what_it_serves(root: Path) -> None:
    front = "---\ntitle: Guest network\nssid: Heronfield\n---\n"
    (root / "memory" / "guests.md").write_text(f"{front}- the sun shines in the garden\n", "utf-8")
    with Memory.open(root) as memory:
        hit = memory.search("what is the ssid Heronfield?").hits[0]
        assert hit.text == "ssid: Heronfield\n\n- the sun shines in the garden"
        assert (hit.start_line, hit.lead) == (5, 2)
        assert "ssid: Heronfield" in memory.recall("what is the ssid Heronfield?").text


def test_what_an_export_leaves_out_is_no_answer(root: Path) -> None:
    said = [
        "The keys of the new house!",
        "Which village?",
        "Den Hoorn, with a green door",
        "When can we visit?",
    ]
    chat = [
        f"[0{at}/08/2026, 09:0{at}:00] {'Femke' if at % 2 else 'Lin'}: {text}"
        for at, text in enumerate(said, 1)
    ]
    chat += ["", "# Later", "", "[09/08/2026, 10:00:00] Femke: <Media omitted>"]
    (root / "memory" / "chat.md").write_text("\n".join(chat), "utf-8")
    with Memory.open(root) as memory:
        assert "omitted" not in memory.search("where does Femke live now?").hits[0].text


def test_it_is_found_where_it_is_all_there_is(memory: Memory) -> None:
    assert [hit.text for hit in memory.search("Zanzibar").hits] == [BARE.strip()]


def test_a_heading_finds_what_stands_below_it(memory: Memory) -> None:
    assert "Blue Lantern" in memory.search("hotels").hits[0].text
    assert "Sundays" in memory.search("plants").hits[0].text
    assert "chores" not in " ".join(hit.text.lower() for hit in memory.search("chores").hits)


def test_what_says_nothing() -> None:
    for text in [
        "---",
        "* * *",
        "![a](b.png)",
        "[![a](b)](c) ![d][e]",
        "<img src=x>",
        "Ann: <Media omitted>",
    ]:
        assert structure.is_silent(text), text
    for text in ["a", "- a", "![a](b) and more", "# A", "| - |"]:
        assert not structure.is_silent(text), text


def test_a_heading_that_no_word_leads_to_is_no_hit_beside_an_answer(root: Path) -> None:
    (root / "MEMORY.md").write_text("# Memory\n\n## Wifi password: ask Lin\n\n## Tea\n", "utf-8")
    (root / "memory" / "day.md").write_text("- Anna drinks green tea in the morning\n", "utf-8")
    with Memory.open(root, overrides={"embedding.provider": "builtin"}) as memory:
        memory.sync()
        asked = "What does Anna drink in the morning?"
        assert [hit.start_line for hit in memory.search(asked).hits if hit.path == "MEMORY.md"] == []
        assert any("## Tea" in hit.text for hit in memory.search(asked, min_score=0).hits)
        assert "ask Lin" in memory.search("what is the wifi password").hits[0].text
        assert any("## Tea" in hit.text for hit in memory.search("tea").hits)
