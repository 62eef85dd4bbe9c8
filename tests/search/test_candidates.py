"""What several lines find as one, bounds on waiting, how sure they are; phrases of triggers in questions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from commonplace import Memory
from commonplace.base.errors import ProviderError
from commonplace.search import answering, candidates
from commonplace.search.query import EXPANDED, Line, plain
from commonplace.search.request import Request as Asked
from commonplace.types import SearchResult
from tests.providers.embedding import apis
from tests.providers.server import Reply, Request, Server, serving

NOTES = "# A\n\n- The deploy moved to Thursday.\n\n## B\n\n- Nothing but rain in Lisbon.\n\n## C\n\n- 金曜の午後はデプロイしない。\n"
HYDE = "It was moved to Thursday."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-02-13.md").write_text(NOTES, "utf-8")
    os.utime(tmp_path / "memory" / "2026-02-13.md", (1_770_000_000, 1_770_000_000))
    return tmp_path


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(apis.compatible) as running:
        yield running


@pytest.fixture
def memory(root: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setattr("commonplace.providers.cache.VectorCache.find", lambda *_: {})
    overrides = {
        "embedding.provider": "compatible",
        "embedding.model": "m",
        "embedding.base_url": f"{server.url}/v1",
        "limits.wait_s": 0.3,
    }
    with Memory.open(root, overrides=overrides) as made:
        made.sync()
        server.requests.clear()
        yield made


def ask(
    memory: Memory, text: str, *lines: str, min_score: float | None = None, weight: float = EXPANDED
) -> SearchResult:
    """A question with further lines, as an expansion adds them: `vec: …`."""
    parts = [line.split(": ", 1) for line in lines]
    further = tuple(Line(kind, plain(said), weight) for kind, said in parts)  # type: ignore[arg-type]
    return memory._answerer.answer(Asked(text, lines=further, min_score=min_score))


def asked(server: Server) -> list[str]:
    return [text for request in server.requests for text in request.json["input"]]


def test_a_passage_is_waited_for_no_longer_than_a_question(memory: Memory, server: Server) -> None:
    def slow(request: Request) -> Reply:
        reply = apis.compatible(request)
        reply.delay_s = 30 if HYDE in request.json["input"] else 0
        return reply

    server.answer = slow
    for _ in range(2):  # from the file, and from memory
        result = ask(memory, "deploy", f"hyde: {HYDE}", "vec: rain", min_score=0.0)
        assert result.hits
        assert result.level in (0, 1)
        (warning,) = result.warnings
        assert "did not answer within 0.3 s" in warning
        assert warning.endswith("some lines were not asked by meaning")
    assert "rain" not in asked(server)


def test_where_no_line_is_embedded_full_text_answers(memory: Memory, server: Server) -> None:
    server.answer = lambda request: Reply({"error": "no"}, 400)
    result = ask(memory, "deploy", "vec: rain", f"hyde: {HYDE}")
    assert [hit.text for hit in result.hits] == ["- The deploy moved to Thursday."]
    assert result.level == 2
    assert result.warnings[0].endswith("full text answered alone")
    assert asked(server) == ["deploy"]


def test_what_breaks_in_an_embedder_of_somebody_is_not_hidden(root: Path) -> None:
    from commonplace.providers.fake import FakeEmbedder

    class Broken(FakeEmbedder):
        def embed(self, texts, kind):
            if "deploy" in texts:
                raise ZeroDivisionError("a bug")
            return super().embed(texts, kind)

    with Memory.open(root, embedder=Broken()) as memory:
        memory.sync()
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                ask(memory, "deploy", "vec: rain")


def test_a_line_in_a_script_that_the_model_does_not_serve_is_left_to_the_others(root: Path) -> None:
    with Memory.open(root) as memory:  # the bundled model, which reads English and Chinese
        memory.sync()
        result = ask(
            memory, "デプロイ", "vec: デプロイはいつですか？", "vec: When is the deploy?", min_score=0.001
        )
        assert result.level in (0, 1)
        found = {hit.text: {factor.name for factor in hit.factors} for hit in result.hits}
        assert found["- 金曜の午後はデプロイしない。"] == {"words", "length"}
        assert "meaning" in found["- The deploy moved to Thursday."]


def test_a_question_is_as_sure_as_its_surest_line(root: Path) -> None:
    with Memory.open(root) as memory:
        memory.sync()
        nonsense = "florbatz quizzle vum"
        assert ask(memory, nonsense, f"vec: {nonsense}").weak
        assert not ask(memory, nonsense, "vec: When is the deploy?", weight=1.0).weak


def test_embedding_a_passage_in_time_raises_what_the_model_raises() -> None:
    from commonplace.providers.fake import FakeEmbedder

    class Failing(FakeEmbedder):
        def embed(self, texts, kind):
            raise ProviderError("mine", "gone")

    for kind in ("query", "passage"):
        for deadline_s in (None, 5.0):
            with pytest.raises(ProviderError, match="mine: gone"):
                answering.QuestionEmbedder(Failing(), {}, deadline_s)("text", kind)  # type: ignore[arg-type]


def test_a_question_that_is_asked_again_is_embedded_once() -> None:
    class Counting:
        name, fingerprint, scripts = "counting", "counting-1", frozenset({"latin"})
        asked = 0

        def embed_words(self, texts, starts):
            self.asked += 1
            return np.eye(1, 4, dtype=np.float32), [np.eye(2, 4, dtype=np.float32)]

    model, known = Counting(), {}
    for _ in range(3):
        embed = answering.QuestionEmbedder(model, known)  # type: ignore[arg-type]
        assert embed("which desk", "query").tolist() == [1, 0, 0, 0]
        assert embed.words("which desk").shape == (2, 4)
    assert model.asked == 1
    for number in range(2 * answering.REPEATED):
        answering.QuestionEmbedder(model, known)(f"which desk {number}")  # type: ignore[arg-type]
    assert len(known) == answering.REPEATED


# --- triggers: whole words, any script --------------------------------------------------------------------


def test_a_phrase_stands_in_a_question() -> None:
    for question, phrase in [
        ("When do we DEPLOY?", "deploy"),
        ("deploy", "deploy"),
        ("用Python写的", "python"),
        ("我想喝茶了", "茶"),
        ("台灣的計畫", "计划"),
        ("ＧＰＴ４ 怎么样", "gpt4"),
        ("re-deploy now", "deploy"),
    ]:
        assert candidates._holds(candidates._folded(question), candidates._folded(phrase))


def test_a_part_of_a_word_is_no_phrase() -> None:
    for question, phrase in [
        ("redeploy", "deploy"),
        ("deployed", "deploy"),
        ("my_deploy", "deploy"),
        ("", "deploy"),
        ("NBA股票", "a股"),
    ]:
        assert not candidates._holds(candidates._folded(question), candidates._folded(phrase))


def test_phrases_are_parted_by_commas_of_both_scripts() -> None:
    said = '{"trigger": "Ship it, 发佈，茶、 ;[REDACTED:password], "}'
    assert list(candidates.phrases(said)) == ["ship it", "发布", "茶"]
