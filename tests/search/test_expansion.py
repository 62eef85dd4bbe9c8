"""Questions widened by a language model over real HTTP: what is sent, what is taken of the answer, what may fail."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.providers import attempts
from commonplace.providers.embedding.base import Kind
from commonplace.providers.fake import FakeEmbedder
from commonplace.search import expansion
from commonplace.search.query import EXPANDED
from commonplace.types import SearchResult
from tests.providers.conftest import server  # noqa: F401
from tests.providers.llm.conftest import KEY, answer
from tests.providers.server import Reply, Request, Server

SECRET = "ghp_" + "a1B2" * 9
NOTES = {
    "memory/2026-02-13.md": f"# A\n\n- The release moved to Thursday.\n\n## B\n\n- Key of the robot: {SECRET}\n",
    "memory/2026-02-14.md": "# C\n\n- Rollback: put the former tag back.\n\n## D\n\n- Nothing but rain in Lisbon.\n",
}
QUESTION = "undo a release"
WIDER = "lex: rollback release\nvec: how is a release put back?\nhyde: To undo a release, put the former tag back."
Open = Callable[..., Memory]


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "FIRST_PAUSE_S", 0.01)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    for path, text in NOTES.items():
        (tmp_path / path).write_text(text, "utf-8")
        os.utime(tmp_path / path, (1_770_000_000, 1_770_000_000))
    return tmp_path


@pytest.fixture
def opened(root: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:  # noqa: F811
    """Open the workspace with the scripted server as its language model, and without vectors."""
    monkeypatch.setenv("COMMONPLACE_LLM_KEY", KEY)
    memories: list[Memory] = []

    def opened(**settings: object) -> Memory:
        named = {name.replace("__", "."): value for name, value in settings.items()}
        model = {"llm.provider": "compatible", "llm.model": "m", "llm.base_url": f"{server.url}/v1"}
        embedder = named.pop("embedder", None)
        without = {} if embedder else {"embedding.provider": "none"}
        overrides = {**model, **without, "limits.wait_s": 20, **named}
        memories.append(Memory.open(root, overrides=overrides, embedder=embedder))  # type: ignore[arg-type]
        return memories[-1]

    yield opened
    for memory in memories:
        memory.close()


def saying(text: str) -> Callable[[Request], Reply]:
    return lambda request: Reply(answer(text))


def sent(server: Server) -> list[str]:  # noqa: F811
    return ["\n".join(m["content"] for m in request.json["messages"]) for request in server.requests]


def found(result: SearchResult) -> set[str]:
    return {hit.text.strip("- ") for hit in result.hits}


# --- what is asked, and what comes of it ----------------------------------------------------------------


def test_further_lines_find_what_the_question_does_not(opened: Open, server: Server) -> None:  # noqa: F811
    server.answer = saying(WIDER)
    memory = opened()
    plain, wider = memory.search(QUESTION), memory.search(QUESTION, expand=True)
    assert found(plain) == {"The release moved to Thursday."}
    assert found(wider) == {"The release moved to Thursday.", "Rollback: put the former tag back."}
    assert (plain.expanded, wider.expanded) == ((), tuple(WIDER.split("\n")))
    assert wider.warnings == plain.warnings == ()
    assert "expansion" in wider.timings_ms
    assert "expansion" not in plain.timings_ms


def test_only_the_question_is_sent(opened: Open, server: Server) -> None:  # noqa: F811
    server.answer = saying(WIDER)
    memory = opened()
    memory.search('"release" undo -rain in:memory', expand=True)
    (text,) = sent(server)
    assert "<question>\nrelease undo\n</question>" in text
    assert "English" in text
    assert not any(word in text for word in ("Thursday", "Lisbon", "Rollback", SECRET, "memory"))


def test_a_day_and_nothing_else_is_not_widened(opened: Open, server: Server) -> None:  # noqa: F811
    server.answer = saying(WIDER)
    memory = opened()
    assert found(memory.search("what did I do on 14 February 2026?", expand=True)) >= {
        "Rollback: put the former tag back."
    }
    assert memory.search("what did I do yesterday?", expand=True).hits == ()
    assert server.requests == []
    assert memory.search("what was put back on 14 February 2026?", expand=True).expanded
    assert len(server.requests) == 1


def test_what_a_model_adds_counts_half(opened: Open, server: Server) -> None:  # noqa: F811
    memory = opened()
    alone = memory.search("rollback release", mode="lexical", min_score=0.001)
    server.answer = saying("lex: rollback release")
    wider = memory.search(QUESTION, expand=True, min_score=0.001)
    (typed,) = [hit.score for hit in alone.hits if "Rollback" in hit.text]
    (added,) = [hit.score for hit in wider.hits if "Rollback" in hit.text]
    factors = {
        factor.name: factor.value for hit in alone.hits if "Rollback" in hit.text for factor in hit.factors
    }
    assert EXPANDED == 0.5
    assert added == pytest.approx(min(1.0, factors["words"] / 2 + factors["length"]))
    assert typed > added


class Watched(FakeEmbedder):
    """The fake, and what it was asked to embed as what."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, Kind]] = []

    def embed(self, texts, kind):
        self.asked += [(text, kind) for text in texts]
        return super().embed(texts, kind)


def test_a_hypothetical_passage_is_embedded_as_one(opened: Open, server: Server) -> None:  # noqa: F811
    server.answer = saying(WIDER)
    model = Watched()
    memory = opened(embedder=model)
    memory.sync()
    model.asked.clear()
    memory.search(QUESTION, expand=True)
    assert model.asked == [
        (f"{QUESTION}?", "query"),
        ("how is a release put back?", "query"),
        ("To undo a release, put the former tag back.", "passage"),
    ]


def test_a_question_is_embedded_where_the_further_lines_are_words_alone(
    opened: Open,
    server: Server,  # noqa: F811
) -> None:
    server.answer = saying("lex: rollback release")
    model = Watched()
    memory = opened(embedder=model)
    memory.sync()
    model.asked.clear()
    assert memory.search(QUESTION, expand=True).expanded
    assert model.asked == [(f"{QUESTION}?", "query")]


def test_what_the_question_demands_holds_for_further_lines(opened: Open, server: Server) -> None:  # noqa: F811
    server.answer = saying("lex: release rollback Lisbon rain\nhyde: The release brought nothing but rain.")
    memory = opened(embedder=FakeEmbedder())
    memory.sync()
    assert "Nothing but rain in Lisbon." in found(memory.search("release", expand=True, min_score=0.0))
    for question in ("release -Lisbon", '"release"', "release on:2026-02-13"):
        result = memory.search(question, expand=True, min_score=0.0)
        assert result.expanded
        assert "Nothing but rain in Lisbon." not in found(result)


# --- when it is asked -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        (QUESTION, True),  # the best hit holds one word of two
        ("zeppelin trombone", True),  # nothing is found
        ("The release moved to Thursday", False),  # clear
        ('undo "release"', False),  # says exactly what
        ("moved AND release", False),
        ("releas*", False),
        ("on:2026-02-13", False),  # asks nothing
    ],
)
def test_auto_asks_where_no_hit_is_clear(
    opened: Open,
    server: Server,  # noqa: F811
    question: str,
    asked: bool,
) -> None:
    server.answer = saying("lex: zeppelin release undo back")
    result = opened(search__expand="auto").search(question, limit=1)
    assert bool(server.requests) is asked
    assert not [one for one in result.warnings if not one.startswith("read as operators")]
    if not asked:
        assert result.hits


def test_two_that_answer_alike_are_not_clear(opened: Open, server: Server, root: Path) -> None:  # noqa: F811
    (root / "memory" / "b.md").write_text("# E\n\n- The release moved to Thursday, too.\n", "utf-8")
    server.answer = saying(WIDER)
    assert opened(search__expand="auto").search("The release moved to Thursday", limit=1).expanded


def test_without_a_language_model(opened: Open, server: Server) -> None:  # noqa: F811
    memory = opened(llm__provider="none", search__expand="auto")
    assert memory.search(QUESTION).warnings == ()
    (warning,) = memory.search(QUESTION, expand=True).warnings
    assert "no language model is set" in warning
    assert "set llm.provider" in warning


@pytest.mark.parametrize("question", ["", "???", "in:memory"])
def test_what_asks_nothing_is_not_sent(opened: Open, server: Server, question: str) -> None:  # noqa: F811
    result = opened().search(question, expand=True)
    assert server.requests == []
    # Filters alone are a listing, and what holds no word either is told so.
    assert result.warnings == (() if result.listing else ("the question holds no word to look for",))


def test_other_questions_do_not_wait_for_the_model(opened: Open, server: Server) -> None:  # noqa: F811
    asked, answered = threading.Event(), threading.Event()
    results: list[SearchResult] = []

    def patient(request: Request) -> Reply:
        asked.set()
        answered.wait(15)
        return Reply(answer(WIDER))

    server.answer = patient
    memory = opened()
    thread = threading.Thread(target=lambda: results.append(memory.search(QUESTION, expand=True)))
    thread.start()
    assert asked.wait(15)
    assert memory.search(QUESTION).hits
    assert results == []  # the other one still waits
    answered.set()
    thread.join()
    assert results[0].expanded


# --- what may fail --------------------------------------------------------------------------------------


def searched_anyway(memory: Memory, question: str = QUESTION) -> str:
    """Search, and return the one warning."""
    for how in (True, None):
        result = memory.search(question, expand=how)
        assert found(result) == found(memory.search(question, expand=False))
        assert result.hits
        assert result.expanded == ()
        (warning,) = (one for one in result.warnings if not one.startswith("read as"))
        assert warning.startswith("the question was not expanded")
        assert KEY not in warning
        assert "\n" not in warning
    return warning


@pytest.mark.parametrize(
    "text",
    [
        "I am sorry, but I cannot help with that.",
        "lex:\nvec:   \nhyde:",
        '{"lex": 5, "vec": {"a": null}}',
        '{"type": ["lex"], "text": ["undo release"]}',
        "[" * 50_000,
        "lex: zeppelin\nvec: Where is the trombone?\nhyde: The walrus plays it.",  # about something else
        "lex: Undo release\nvec: undo a release",  # the question again
    ],
)
def test_an_answer_of_no_use_is_a_warning(opened: Open, server: Server, text: str) -> None:  # noqa: F811
    server.answer = saying(text)
    assert searched_anyway(opened(search__expand="auto")).endswith("gave nothing of use")


@pytest.mark.parametrize(
    "question",
    [f"release {SECRET}", f'"{SECRET}" release'],
)
def test_a_secret_is_sent_to_nobody(opened: Open, server: Server, question: str) -> None:  # noqa: F811
    warning = searched_anyway(opened(search__expand="on"), question)
    assert "secret" in warning
    assert SECRET not in warning
    assert server.requests == []


# --- what is taken of an answer -------------------------------------------------------------------------

LINES = [("lex", "a b"), ("vec", "is it c?"), ("hyde", "It is c: d.")]


def test_lines_are_found_in_what_models_write() -> None:
    for text in [
        "lex: a b\nvec: is it c?\nhyde: It is c: d.",
        "<think>lex: no</think>\nLEX: a b\n\n  Vec : is it c?\nHyde:It is c: d.\n",
        "Here you are:\n```\nlex: a b\nvec: is it c?\nhyde: It is c: d.\n```\nAnything else?",
        '- lex: "a b"\n* **vec:** is it c?\n3. `hyde`: It is c: d.',
        "[lex: a b\n[vec: is it c?\n[hyde: It is c: d.",
    ]:
        assert expansion.read(text) == LINES


def test_nothing_of_an_answer_is_taken_for_grammar(opened: Open, server: Server) -> None:  # noqa: F811
    server.answer = saying(
        'lex: release in:nope -Thursday "no such phrase" AND (NEAR( on:never\nlex: releas*'
    )
    result = opened().search(QUESTION, expand=True)
    assert result.expanded
    assert "The release moved to Thursday." in found(result)
    nonsense = opened().search("release zeppelin trombone walrus quagmire gazebo florbatz", expand=True)
    assert nonsense.expanded
    assert nonsense.weak  # a demand would make it sure


def test_no_more_lines_are_taken_than_help(opened: Open, server: Server) -> None:  # noqa: F811
    kinds = [f"{kind}: release {kind} {n} " + "x" * 900 for kind in ("lex", "vec", "hyde") for n in range(9)]
    server.answer = saying("\n".join(kinds))
    expanded = opened().search(QUESTION, expand=True).expanded
    assert [line.partition(":")[0] for line in expanded] == ["lex"] * 4 + ["vec"] * 2 + ["hyde"]
    assert max(map(len, expanded)) < 620


@pytest.mark.parametrize(
    ("question", "line", "taken"),
    [
        ("when do we deploy", "lex: deployed deploys", True),
        ("when did we deploy it", "lex: deploying zeppelin", True),
        ("planned work", "lex: plan", True),
        ("when do we deploy", "lex: when do they", False),
        ("什么时候部署", "lex: 部署窗口", True),
        ("什么时候部署", "lex: 发布窗口", False),
        ("what do I like", "vec: what do I hate", False),
    ],
)
def test_a_line_shares_a_word_with_the_question(
    opened: Open,
    server: Server,  # noqa: F811
    question: str,
    line: str,
    taken: bool,
) -> None:
    server.answer = saying(line)
    assert bool(opened().search(question, expand=True).expanded) is taken


def test_one_line_may_be_in_the_other_script_of_the_notes(opened: Open, server: Server, root: Path) -> None:  # noqa: F811
    answered = "lex: 护照\nlex: 签证\nvec: 护照什么时候到期？"
    server.answer = saying(answered)
    assert opened().search("passport", expand=True).expanded == ()
    (root / "memory" / "c.md").write_text("# 证件\n\n- 护照二〇三六年到期。\n", "utf-8")
    memory = opened(llm__cache=False)
    memory.sync()
    wider = memory.search("passport", expand=True)
    assert "English" in sent(server)[-1]
    assert "Chinese" in sent(server)[-1]
    assert "Chinese" not in sent(server)[0]
    assert wider.expanded == ("lex: 护照",)
    assert "护照二〇三六年到期。" in found(wider)
