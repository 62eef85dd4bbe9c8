"""A question of several lines: what each one finds, and both lists of candidates made of all of them.

A passage's words and meaning are those of the line that it answers best, each line by its weight. BM25 is
first measured against its own line's ideal, so that a line of three words and one of ten can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from commonplace.base.errors import BudgetExceeded, CommonplaceError, ProviderError
from commonplace.index.vectors import FOREIGN_SHARE
from commonplace.language import lexicon
from commonplace.search import fusion, pipeline, query, ranking, terms
from commonplace.search.query import Query
from commonplace.search.terms import Terms

if TYPE_CHECKING:
    from commonplace.index.base import Index, Nearest, VectorStore
    from commonplace.providers.embedding.base import Embedder
    from commonplace.providers.embedding.base import Kind as EmbedKind

Kind = Literal["lex", "vec", "hyde"]
# What a person typed counts twice as much as what a language model made of it: a wider question finds more,
# and its best hit must not displace what answers the question as it was asked.
TYPED, EXPANDED = 1.0, 0.5

_Found = tuple["Line", Any, dict[int, float]]  # a line, its vector, cosine by passage


class Line(NamedTuple):
    """One way to ask: `lex` full text, `vec` the vectors as a question, `hyde` the vectors as a passage.

    Of the last two, `query.words` is what is embedded.
    """

    kind: Kind
    query: Query
    weight: float = TYPED

    @property
    def exact(self) -> bool:
        """Whether it says exactly what must be found."""
        return self.kind == "lex" and bool(self.query.required or self.query.prefixes)


def of_question(asked: Query) -> tuple[Line, ...]:
    """An ordinary question as lines: its words, and its meaning."""
    return Line("lex", asked), *([Line("vec", asked)] if asked.words.strip() else [])


def asked_by_meaning(lines: Sequence[Line]) -> list[Line]:
    """The lines that ask the vectors."""
    return [line for line in lines if line.kind != "lex"]


def embedder(model: Embedder, deadline_s: float | None) -> pipeline.Embed:
    """Return what embeds the text of a line; None comes of a text in a script that the model does not serve.

    `deadline_s` bounds a passage too, which a model behind a server may otherwise take minutes for.
    """

    def embed(text: str, kind: EmbedKind = "query") -> Any:  # noqa: ANN401
        if "cjk" not in model.scripts:
            if lexicon.cjk_share(text) > FOREIGN_SHARE:
                return None
            text = query.latin(text)  # the rest would be noise
        if kind == "query" or deadline_s is None:
            return model.embed([text], kind)[0]
        from commonplace.base.deadline import Deadline
        from commonplace.providers import attempts

        return attempts.within(model.name, lambda: model.embed([text], kind)[0], Deadline(deadline_s))

    return embed


def candidates(
    index: Index,
    vectors: VectorStore,
    embed: pipeline.Embed | None,
    asked: pipeline._Asked,
    request: pipeline.Request,
    outcome: pipeline.Outcome,
) -> tuple[dict[int, float], dict[int, float], Terms]:
    """Both lists: words relative to a full match and cosine by passage; and what is known of the terms."""
    by_meaning = asked_by_meaning(request.lines)
    if request.mode == "lexical" and len(by_meaning) == len(request.lines):
        outcome.warnings.append("no line asks full text, and a lexical search asks nothing else")
    if embed is None or request.mode == "lexical" or not by_meaning:
        lexical, weighed = _lexical(index, asked, request, outcome)
        return lexical, {}, weighed
    nearest, level = vectors.ready(asked.covered, struck=request.past)
    asking = _Asking(embed, nearest, by_meaning, request.ranking.candidates)
    if vectors.in_memory:
        asking.start()
    lexical, weighed = _lexical(index, asked, request, outcome)
    with outcome.timed("vectors"):
        trouble = asking.wait()
        if trouble is not None:
            alone = "some lines were not asked by meaning" if asking.found else "full text answered alone"
            outcome.warnings.append(f"{trouble}; {alone}")
        if asking.found:
            outcome.level = level
        lists = _semantic(index, vectors, asked.query, asking.found, lexical)
        outcome.lists.extend(lists)
    return lexical, fusion.by_maximum(lists), weighed


def _lexical(
    index: Index, asked: pipeline._Asked, request: pipeline.Request, outcome: pipeline.Outcome
) -> tuple[dict[int, float], Terms]:
    """The best passages by the words of each line, 1 for a full match of it; what is known of its terms."""
    with outcome.timed("full text"):
        weighed = {asked.query: asked.terms}
        for line in request.lines:
            if line.query not in weighed:
                weighed[line.query] = terms.weigh(index, line.query, struck=request.past)
        found = []
        for line in request.lines:
            own = weighed[line.query]
            expression = line.query.expression(own.wanted)
            if line.kind != "lex" or not expression or request.mode == "semantic":
                continue
            settings = request.ranking
            matched = index.match(expression, settings.candidates, asked.covered, header=settings.header)
            scores = terms.score(index, own, dict(matched))
            scores |= pipeline.struck(index, expression, own, asked.covered, request)
            found.append((_relative(scores, own), line.weight))
        best = fusion.by_maximum(found)
        allowed = pipeline._allowed(index, asked.query, list(best))
        outcome.lists.extend((_kept(scores, allowed), weight) for scores, weight in found)
        typed = [weighed[line.query] for line in request.lines if line.weight >= TYPED]
        return _kept(best, allowed), _known(typed)


def _kept(scores: dict[int, float], allowed: set[int] | None) -> dict[int, float]:
    return {p: score for p, score in scores.items() if allowed is None or p in allowed}


def _relative(scores: dict[int, float], own: Terms) -> dict[int, float]:
    """BM25 against its line's ideal; where the line is an expression, against its best hit."""
    ideal = own.ideal or max(scores.values(), default=0.0)
    return {p: min(ranking.WORDS_MAX, score / ideal) for p, score in scores.items()} if ideal > 0 else {}


def _known(typed: Sequence[Terms]) -> Terms:
    """What the gate is to go by: the most that is known of any line. A full match is 1 already."""
    told = [own for own in typed if own.asked]
    if not told:
        return Terms(ideal=1.0)
    best = max(told, key=lambda own: (own.known, own.content))
    return Terms({}, 1.0, max(own.asked for own in told), best.known, best.content, best.passages)


def _semantic(
    index: Index, vectors: VectorStore, query: Query, found: Sequence[_Found], lexical: Iterable[int]
) -> list[tuple[dict[int, float], float]]:
    """For each line the cosine of each passage that any line found, by words too, and its weight."""
    union = {passage for _, _, cosines in found for passage in cosines}
    allowed = pipeline._allowed(index, query, sorted(union))
    wanted = {*(union if allowed is None else allowed), *lexical}
    lists = []
    for line, vector, cosines in found:
        near = {passage: cosine for passage, cosine in cosines.items() if passage in wanted}
        missing = sorted(wanted - near.keys())
        lists.append((near | vectors.cosines(vector, missing), line.weight))
    return lists


class _Asking(Thread):
    """Lines on their way through the model and the vectors, one after the other, beside full text."""

    def __init__(self, embed: pipeline.Embed, nearest: Nearest, lines: Sequence[Line], limit: int) -> None:
        super().__init__(name="commonplace-vectors", daemon=True)
        self._ask = (embed, nearest, lines, limit)
        self.found: list[_Found] = []
        self._error: Exception | None = None

    def wait(self) -> CommonplaceError | None:
        """Wait for the answers, or work them out now; return what the model failed with."""
        if self.ident is None:
            self.run()
        else:
            self.join()
        if self._error is None or isinstance(self._error, ProviderError | BudgetExceeded):
            return self._error
        raise self._error

    def run(self) -> None:
        """Embed each line and find what is nearest, until the model fails: it would fail for the next too."""
        embed, nearest, lines, limit = self._ask
        try:
            for line in lines:
                vector = embed(line.query.words, "passage" if line.kind == "hyde" else "query")
                if vector is not None:
                    self.found.append((line, vector, dict(nearest(vector, limit))))
        except Exception as error:  # noqa: BLE001 - raised again where the answers are waited for
            self._error = error
