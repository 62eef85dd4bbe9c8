"""Query documents: which texts are some, what their mistakes are, what each line finds; any text is answered."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.base.errors import ConfigError
from commonplace.providers.embedding.base import Kind
from commonplace.providers.fake import FakeEmbedder
from commonplace.search import query, query_document
from commonplace.search.query_document import Document
from commonplace.types import SearchResult

NOTES = {
    "memory/2026-02-13.md": "# A\n\n- The deploy moved to Thursday.\n\n## B\n\n- Roll back from the release page.\n",
    "memory/2026-02-14.md": "# C\n\n- Nothing but rain on Thursday.\n\n## D\n\n- 周五下午不部署。\n",
    "work/plan.md": "# Plan\n\n- The staging deploy runs at night.\n",
}


class Watched(FakeEmbedder):
    """The fake, and what it was asked to embed as what."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, Kind]] = []

    def embed(self, texts, kind):
        self.asked += [(text, kind) for text in texts]
        return super().embed(texts, kind)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("documents")
    for path, text in NOTES.items():
        file = made / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
        os.utime(file, (1_770_000_000, 1_770_000_000))
    return made


@pytest.fixture
def model() -> Watched:
    return Watched()


@pytest.fixture
def memory(root: Path, model: Watched) -> Iterator[Memory]:
    overrides = {"index.include": ["memory/**/*.md", "work/*.md"]}
    with Memory.open(root, overrides=overrides, embedder=model) as made:
        made.sync()
        model.asked.clear()
        yield made


def texts(found: SearchResult) -> list[str]:
    return [hit.text for hit in found.hits]


# --- what is a document ---------------------------------------------------------------------------------


def test_documents() -> None:
    for text, lines, intent in [
        ("lex: a", [("lex", "a")], ""),
        ("\n\n  VEC :  what is a?\r\n\r\nhyde:b: c\n", [("vec", "what is a?"), ("hyde", "b: c")], ""),
        ("intent: c\nLex: a\nlex: b", [("lex", "a"), ("lex", "b")], "c"),
        ("lex：部署\rintent：生产", [("lex", "部署")], "生产"),
        ("Lex: a\nHyde: b", [("lex", "a"), ("hyde", "b")], ""),
        ("lex: http://host:80/x\nvec: 12:30", [("lex", "http://host:80/x"), ("vec", "12:30")], ""),
    ]:
        assert query_document.parse(text) == Document(tuple(lines), intent)  # type: ignore[arg-type]


def test_what_is_no_document_is_a_text_as_any_other(memory: Memory) -> None:
    for text in [
        "",
        "\n",
        "deploy",
        "lexical: a",
        "lex a\nvec: b",
        "when?\nlex: a",
        "lex:",
        "  lex:  \n ",
        "Lex: Hi, how are you?\nAnn: Fine.\nLex: Good.",
        "lex: hi\nann: hello",
        "Lex: I went home\nand slept.",
        "Hyde: Where is he?\nHyde:\nHyde: Gone.",
        "Intent: to sell the house",
        "Intent: to sell\nIntent: to buy",
        "lex: a\n**Lin:** b",
        "lex: a\n小王：你好",
        "Lex: x\n" * 50,
    ]:
        assert query_document.parse(text) is None
        assert memory.search(text).query == text


def test_a_mistake_is_told_with_its_line(memory: Memory) -> None:
    for text, told in [
        ("lex: a\nb", "line 2: each line of a query document begins with lex:, vec:, hyde: or intent:"),
        ("\nlex: a\n\n  vec:  \n", "line 4: nothing stands behind vec:"),
        ("lex:\nvec: b", "line 1: nothing stands behind lex:"),
        ("intent: a\nlex: b\nintent: c", "line 3: a second intent:"),
        ("intent: a", "line 1: an intent: alone finds nothing"),
        ("lex: a\nhttp://host/x", "line 2: "),
        ("lex: x\n" * 17, "line 17: more than 16 lines"),
    ]:
        with pytest.raises(ConfigError) as caught:
            memory.search(text)
        assert str(caught.value).startswith(told)
        assert "\n" not in str(caught.value), (text, told)


PIECES = st.sampled_from(
    ["lex:", "vec:", "HYDE:", "intent:", "Lex:", "Ann:", "\n", "\r\n", " ", '"', "(", "-", "in:", "in:memory", "path:*",
     "after:", "on:2026-02-13", "OR", "NEAR(", "*", "\0", "\ud800", "部署", "deploy", "：", "#", "a" * 300]
)  # fmt: skip


@given(st.lists(PIECES, max_size=24).map("".join) | st.text(max_size=40).map(lambda text: f"lex: {text}"))
def test_nothing_but_a_config_error_comes_of_any_text(text: str) -> None:
    try:
        document = query_document.parse(text)
    except ConfigError as caught:
        told = str(caught)
        document, text = None, ""
    else:
        told = "line 1"
    assert told.startswith("line ")
    if document is not None:
        whole, lines = query_document.read(document, lambda: frozenset({"project"}))
        assert len(lines) <= len(document.lines)
        assert whole.required is None
    assert isinstance(query_document.subject(text)[0], str)
    assert all(query_document.words(text))


@given(text=st.lists(PIECES, max_size=16).map(lambda pieces: "lex: deploy" + "".join(pieces)))
def test_every_document_is_answered_or_refused(text: str, root: Path) -> None:
    with Memory.open(root, overrides={"embedding.provider": "fake"}) as memory:
        try:
            found = memory.search(text, min_score=0.0)
        except ConfigError:
            return
        for hit in found.hits:
            assert sum(factor.value for factor in hit.factors) == pytest.approx(hit.score, abs=1e-3)


# --- what it finds --------------------------------------------------------------------------------------


def test_each_line_is_asked_in_its_own_way(memory: Memory, model: Watched) -> None:
    found = memory.search("lex: rain\nvec: how do we undo?\nhyde: We undo by the page.\nintent: the tool")
    assert sorted(model.asked) == [("We undo by the page.", "passage"), ("how do we undo?", "query")]
    assert "Nothing but rain" in found.hits[0].text
    assert found.level in (0, 1)
    assert "vectors" in found.timings_ms


def test_a_line_alone_finds_what_the_question_finds(memory: Memory) -> None:
    for mode, kind in (("lexical", "lex"), ("semantic", "vec")):
        plain = memory.search("deploy Thursday", mode=mode, min_score=0.001)  # type: ignore[arg-type]
        lined = memory.search(f"{kind}: deploy Thursday", mode=mode, min_score=0.001)  # type: ignore[arg-type]
        assert [(h.citation, pytest.approx(h.score, abs=1e-6)) for h in plain.hits] == [
            (h.citation, h.score) for h in lined.hits
        ]
        assert plain.hits


def test_words_alone_load_no_model(memory: Memory, model: Watched) -> None:
    assert memory.search("lex: deploy\nlex: rain").level == 2
    assert model.asked == []


def test_a_passage_counts_by_the_line_that_it_answers_best(memory: Memory) -> None:
    asked = "lex: rain\nlex: deploy moved Thursday zeppelin quagmire"
    both = {hit.text: hit.score for hit in memory.search(asked, mode="lexical", min_score=0.001).hits}
    for line in asked.split("\n"):
        for hit in memory.search(line, mode="lexical", min_score=0.001).hits:
            assert both[hit.text] >= hit.score - 1e-9
    alone = memory.search("lex: rain", mode="lexical").hits[0]
    assert both[alone.text] == pytest.approx(alone.score)


def test_what_a_line_demands_it_demands_of_itself(memory: Memory) -> None:
    found = memory.search('lex: "moved to" -rain\nlex: 部署', mode="lexical")
    assert sorted(text.strip("- ") for text in texts(found)) == [
        "The deploy moved to Thursday.",
        "周五下午不部署。",
    ]
    absent = memory.search('lex: "moved from"', mode="lexical")
    assert texts(absent) == ["- The deploy moved to Thursday."]
    assert absent.warnings == ('nothing holds "moved from": found by the words',)


def test_a_demand_is_never_refused(memory: Memory) -> None:
    common = "lex: deploy zeppelin quagmire walrus trombone gazebo"
    assert memory.search(common, mode="lexical").hits == ()
    assert memory.search(f"{common}\nlex: deplo*", mode="lexical").hits


def test_filters_anywhere_hold_for_all(memory: Memory) -> None:
    for line in ["lex: deploy", "vec: deploy", "hyde: deploy"]:
        for where in ["lex: Thursday {}", "vec: Thursday {}", "hyde: Thursday {}", "lex: {}"]:
            asked = f"{line}\n{where.format('path:work/*')}"
            assert {hit.path for hit in memory.search(asked, min_score=0.0).hits} == {"work/plan.md"}, (
                line,
                where,
            )


def test_filters_of_two_lines_must_both_hold(memory: Memory) -> None:
    asked = "lex: deploy path:memory/*\nvec: Thursday on:2026-02-14"
    assert {hit.path for hit in memory.search(asked, min_score=0.0).hits} == {"memory/2026-02-14.md"}
    with pytest.raises(ConfigError, match="unknown collection 'nope'"):
        memory.search("lex: deploy\nvec: rain in:nope")


def test_filters_alone_list_what_they_cover(memory: Memory) -> None:
    found = memory.search("lex: on:2026-02-13 -release")
    assert [hit.path for hit in found.hits] == ["memory/2026-02-13.md"] * len(found.hits)
    assert texts(found)
    assert not any("release" in text for text in texts(found))


def test_a_mode_that_no_line_asks_finds_nothing_and_says_so(memory: Memory) -> None:
    lexical = memory.search("vec: deploy", mode="lexical")
    assert (lexical.hits, lexical.warnings) == (
        (),
        ("no line asks full text, and a lexical search asks nothing else",),
    )
    semantic = memory.search("lex: deploy", mode="semantic")
    assert semantic.hits == ()
    assert "semantic" in semantic.warnings[0]


def test_a_day_in_a_line_counts_as_in_a_question(memory: Memory) -> None:
    found = memory.search("lex: Thursday\nvec: what was on 2026-02-14?", min_score=0.0)
    assert found.hits[0].path == "memory/2026-02-14.md"
    assert "date" in {factor.name for factor in found.hits[0].factors}


def test_intent_steers_what_is_shown_and_is_not_searched(memory: Memory, model: Watched) -> None:
    asked = "lex: Thursday"
    with_intent = memory.search(f"{asked}\nintent: release page")
    assert texts(with_intent) == texts(memory.search(asked))
    assert [hit.score for hit in with_intent.hits] == [hit.score for hit in memory.search(asked).hits]
    assert {"thursday", "release", "page"} == set(query_document.words(f"{asked}\nintent: release page"))
    assert model.asked == []


def test_intent_chooses_the_sentence_of_a_snippet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commonplace.search.pack.FULL_COUNT", 0)
    monkeypatch.setattr("commonplace.search.pack.SNIPPET_SCORE", 0.0)
    (tmp_path / "memory").mkdir()
    far = "It took a good while until everybody was done with the talking about it that day, as it always does. "
    said = (
        f"The plan of the house came on Monday. {far}{far}The plan of the sprint came on Tuesday. {far}{far}"
    )
    (tmp_path / "memory" / "a.md").write_text(f"# A\n\n{said}\n", "utf-8")
    with Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as memory:
        house, sprint = (
            memory.recall(f"lex: plan\nintent: {what}", layer="mixed").text for what in ("house", "sprint")
        )
    assert "house" in house
    assert "sprint" not in house
    assert "sprint" in sprint


def test_plain_texts_are_parsed_as_ever() -> None:
    asked, lines = query_document.read_any("deploy -rain in:memory")
    assert (asked, lines) == (query.parse("deploy -rain in:memory"), ())


def test_what_every_line_excludes_is_never_shown(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    note = "# Log\n\n- The wexol is painted.\n\n## B\n\n- Tom owns the krint.\n\n## C\n\n- wexol and krint: a boat.\n"
    (tmp_path / "memory" / "2026-02-13.md").write_text(note, "utf-8")
    trigger = "# Boats\n\n- The krint lies at the quay. <!-- trigger: wexol -->\n"
    (tmp_path / "memory" / "boats.md").write_text(trigger, "utf-8")
    with Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as memory:
        memory.sync()
        for question in (
            "lex: wexol -krint",
            "lex: wexol NOT krint",
            "lex: wexol -krint\nlex: painted -krint",
            "lex: wexol on February 13, 2026 -krint",
        ):
            for least in (None, 0.0):
                found = texts(memory.search(question, limit=9, min_score=least))
                assert any("wexol is painted" in text for text in found), (question, least)
                assert not any("krint" in text for text in found), (question, least, found)
        both = texts(memory.search("lex: wexol -krint\nlex: krint -wexol", limit=9, min_score=0.0))
        assert any("Tom" in text for text in both)
        assert not any("wexol and krint" in text for text in both)
