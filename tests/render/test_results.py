"""Rendering: every format is well-formed for any text, and says what it should."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from commonplace import render
from commonplace.base.tokens import about
from commonplace.render import hits as rendered
from commonplace.render import reports, screen
from commonplace.render.screen import Look
from commonplace.types import (
    CollectionInfo,
    Excerpt,
    Factor,
    Hit,
    Recall,
    SearchResult,
    Status,
    SyncReport,
)
from commonplace.types.data import to_data

TERMINAL = Look(color=True, links=True, width=80)


def hit(**changed: object) -> Hit:
    values: dict[str, object] = {
        "path": "memory/2026-02-13.md", "start_line": 12, "end_line": 18, "score": 0.82349, "title": "2026-02-13",
        "text": "- The deploy moved to Thursday.\n- Lin signs it off.", "date": "2026-02-13", "collection": "memory",
        "headings": ("2026-02-13 Friday", "Deploy"), "docid": "a1b2c3",
    }  # fmt: skip
    return Hit(**{**values, **changed})  # type: ignore[arg-type]


def found(*hits: Hit, **changed: object) -> SearchResult:
    return SearchResult("deploy", hits, 0, timings_ms={"full text": 2.0, "vectors": 10.0}, **changed)  # type: ignore[arg-type]


TEXT = st.text(st.characters(blacklist_categories=("Cs",)))
HITS = st.builds(
    hit,
    path=TEXT,
    text=TEXT,
    title=TEXT,
    headings=st.lists(TEXT, max_size=3).map(tuple),
    date=st.none() | TEXT,
    collection=TEXT,
    contexts=st.lists(TEXT, max_size=2).map(tuple),
    score=st.floats(0, 1),
    start_line=st.integers(1, 10**6),
)


# --- any text ---------------------------------------------------------------------------------------


@given(st.lists(HITS, max_size=4))
def test_json_gives_back_what_went_in(hits: list[Hit]) -> None:
    data = json.loads(rendered.in_form(found(*hits).hits, "json", explain=True))
    assert [one["text"] for one in data] == [one.text for one in hits]
    assert [one["headings"] for one in data] == [list(one.headings) for one in hits]


@given(HITS)
def test_markdown_keeps_the_passage_inside_its_quotation(one: Hit) -> None:
    lines = rendered.in_form(found(one).hits, "md").split("\n")
    passage = screen.clean(one.text).split("\n")
    assert lines[-len(passage) :] == [f"> {line}" for line in passage]
    assert lines[0].startswith("### `")


@given(HITS, st.integers(40, 140))
def test_text_holds_nothing_a_terminal_would_obey(one: Hit, width: int) -> None:
    shown = rendered.as_text(found(one), Look(width=width), words=("a", "中文"), explain=True)
    assert not any(ord(c) < 32 and c != "\n" for c in shown)
    assert "\x1b" not in rendered.as_text(found(one), rows=None)


def test_names_of_files_that_are_not_utf8_survive_in_json() -> None:
    text = render.to_json(["caf\udce9.md"])
    assert text.encode().decode() == text
    assert json.loads(text) == ["caf\udce9.md"]


# --- the forms --------------------------------------------------------------------------------------


def test_json_has_the_documented_keys() -> None:
    data = json.loads(rendered.in_form(found(hit()).hits, "json"))[0]
    assert list(data) == [
        "path", "start_line", "end_line", "score", "title", "headings", "date", "collection", "docid",
        "citation", "contexts", "labels", "until", "tokens", "text", "others",
    ]  # fmt: skip
    assert data["score"] == 0.8235
    assert data["citation"] == "memory/2026-02-13.md#L12-L18"


def test_a_heading_that_repeats_the_date_is_left_out_but_others_stay() -> None:
    assert rendered.about(hit()) == ["2026-02-13", "Deploy"]
    assert rendered.about(hit(date=None, headings=("Memory", "Family"))) == ["Memory › Family"]
    chat = hit(date="2025-03-04", headings=("2025-03-04 Tea",), path="chatgpt/conversations.json")
    assert rendered.about(chat) == ["2025-03-04", "Tea"]
    assert rendered.undated(["2025-03-04 Tea", "2025-03, rain"], "2025-03", "a.md") == [
        "2025-03-04 Tea",
        "rain",
    ]


def test_on_a_terminal_the_score_stands_at_the_right_edge_and_the_path_is_a_link() -> None:
    line = rendered.headline(hit(), TERMINAL, lambda one: "/notes/memory/2026-02-13.md")
    assert "\x1b]8;;file:///notes/memory/2026-02-13.md\x1b\\" in line
    assert screen.cells(rendered.headline(hit(), Look(width=80))) == 80
    long = hit(headings=("A heading that goes on and on " * 9,))
    assert screen.cells(rendered.headline(long, Look(width=80))) == 80


def test_metadata_comments_show_only_in_full() -> None:
    text = "Tea after lunch. <!-- importance: 6 -->"
    assert rendered.passage(text, Look(), None, 4) == ["  Tea after lunch."]
    assert rendered.passage(text, Look(), None, None) == [f"  {text}"]


def test_footer_names_the_level_and_what_is_stale() -> None:
    assert rendered.footer(found(hit())) == "1 hit · vectors + full text · 12 ms"
    told = "1 hit · 13 tokens of 1,234 in all notes · vectors + full text · 12 ms"
    assert rendered.footer(found(hit(), all_tokens=1234)) == told
    assert rendered.footer(found(stale=3)).endswith("stale: 3 files, sync the index")
    assert rendered.timings(found()) == "full text 2.0 ms · vectors 10.0 ms"


def test_tokens_are_those_of_the_rows_that_are_shown() -> None:
    result = found(hit(text="deploy on Tuesdays <!-- since: 2026 -->\n" + "rest of the line\n" * 40))
    shown = rendered.passage(result.hits[0].text, Look(), None, 2)
    plain = rendered.shown_tokens(result, rows=2)
    assert plain == about("\n".join(shown).replace("  ", "")) < result.tokens / 10
    colours = Look(color=True, links=True)
    assert rendered.shown_tokens(result, colours, words=("deploy",), rows=2) == plain
    assert rendered.shown_tokens(result, rows=None) == about(result.hits[0].text.rstrip("\n"))
    assert rendered.footer(found(all_tokens=1234), 0).startswith("0 hits")


# --- explanations -----------------------------------------------------------------------------------


@given(st.lists(st.floats(-0.2, 0.6), min_size=1, max_size=6))
def test_factors_add_up_to_the_score(values: list[float]) -> None:
    score = min(1.0, max(0.0, sum(values)))
    factors = [Factor(f"f{n}", value) for n, value in enumerate(values)]
    shares = rendered.shares(score, factors)
    assert round(sum(value for _, value, _ in shares), 4) == round(score, 4)
    assert [name for name, _, _ in shares if name != "limit"] == [f.name for f in factors]


def test_an_explanation_reads_as_a_sum() -> None:
    factors = (Factor("meaning", 0.60004), Factor("words", 0.25, "2 of 3"), Factor("age", -0.02655))
    text = rendered.explanation(hit(factors=factors))
    assert text == "0.8235 = 0.6000 meaning + 0.2500 words (2 of 3) - 0.0265 age"


# --- everything else --------------------------------------------------------------------------------


def test_an_excerpt_is_numbered_unless_told_otherwise() -> None:
    excerpt = Excerpt("a.md", 9, ("nine", "ten"), 12, "a1")
    assert reports.excerpt_text(excerpt) == " 9  nine\n10  ten"
    assert reports.excerpt_text(excerpt, numbers=False) == "nine\nten"
    assert to_data(excerpt)["end_line"] == 10


def test_a_sync_is_told_on_one_line() -> None:
    report = SyncReport(added=2, unchanged=1200, embedded=1, pending=4, seconds=0.25, rebuilt="model changed")
    assert reports.sync_text(report) == (
        "synced in 0.2 s · rebuilt: model changed · 2 added · 1,200 unchanged · "
        "1 vector computed, 0 reused · 4 still without a vector"
    )
    assert reports.sync_text(SyncReport()) == "synced in 0.0 s · no notes"
    assert json.loads(render.to_json(report))["added"] == 2


def test_a_recall_is_told_beside_its_block() -> None:
    recall = Recall("q", "block", 480, 500, (hit(),), 2, left_out=3, stale=1)
    assert reports.recall_footer(recall) == (
        "480 of 500 tokens · 1 passage, 3 more did not fit · full text only · stale: 1 file, sync the index"
    )
    assert reports.recall_data(recall)["hits"][0]["path"] == "memory/2026-02-13.md"


def test_status_is_a_table() -> None:
    own = CollectionInfo("memory", "/notes", ("**/*.md",), ("drafts/**",), 3, 1200)
    status = Status("/notes", "/notes/i", 0, (own,), 3, 9, 1200, 1100, 100, 2, 2_500_000, "builtin")
    text = reports.status_text(status)
    assert "2.5 MB, stale: 2 files" in text
    assert "1,100 vectors, 100 to come" in text
    assert text.splitlines()[-1].split() == ["memory", "own", "3", "1,200", "**/*.md", "!drafts/**", "/notes"]
    assert json.loads(render.to_json(status))["collections"][0]["notes"] == 3


def test_a_listing_has_no_scores() -> None:
    one = hit(score=0.0)
    listed = found(one, listing=True, all_tokens=1234)
    assert rendered.footer(listed) == "1 hit · 13 tokens of 1,234 in all notes · listing · 12 ms"
    for text in (
        rendered.as_text(listed),
        rendered.as_text(listed, TERMINAL, explain=True),
        rendered.rows([one], "text"),
        rendered.rows([one], "md"),
        rendered.in_form([one], "md"),
    ):
        assert "0.0" not in text
        assert text.split("\n")[0].rstrip() == text.split("\n")[0]
    assert rendered.row(one).data()["score"] == rendered.to_data(one)["score"] == 0
    assert "0.00" in rendered.as_text(found(hit(score=0.0, factors=(Factor("words", 0.0),))))


def test_the_footer_says_what_answered() -> None:
    told = {(0, "hybrid"): "vectors + full text", (1, "semantic"): "vectors (numpy)", (2, "semantic"): "no vectors",
            (2, "lexical"): "full text only", (3, "semantic"): "files scanned, no index"}  # fmt: skip
    for (level, mode), parts in told.items():
        assert rendered.footer(SearchResult("tea", (hit(),), level, mode=mode)) == f"1 hit · {parts}"  # type: ignore[arg-type]
