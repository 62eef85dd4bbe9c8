"""Requests answered from the index of a workspace: with which model and reranker, what is shown of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from commonplace import config
from commonplace.base import remedies
from commonplace.base.errors import BudgetExceeded, IndexUnavailable, ProviderError
from commonplace.base.messages import Message, message
from commonplace.index import facts
from commonplace.language.scripts import HAN, MOST, has_han, legible, script_of, serves, wide_script
from commonplace.markdown import conflicts
from commonplace.providers.embedding.base import gives_words
from commonplace.render import count
from commonplace.search import candidates, confidence, pipeline, query, ranking, references
from commonplace.search.ranking import RankSettings
from commonplace.search.reranking import Readers, comparing
from commonplace.types.progress import check
from commonplace.types.results import WEAK, SearchResult

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    from commonplace.base.paths import Workspace
    from commonplace.index.store import Store
    from commonplace.providers.embedding.base import Embedder, Floats, Kind
    from commonplace.providers.embedding.selector import CurrentModel
    from commonplace.providers.llm.client import Client
    from commonplace.search.candidates import Means
    from commonplace.search.request import Outcome, Request
    from commonplace.types import Hit, Level, Status

    # The vector of a question, (d,) float32, and those of its words, (n, d), by the model and the text.
    Known = dict[tuple[str, str], tuple[Floats, Floats | None]]

REPEATED = 64  # questions whose vectors are kept: who asks asks again, with a filter or another limit


class Answerer:
    """Answers the questions to one workspace, from any thread, one after the other.

    Widening a question is awaited without the lock; embedding and reranking it hold the lock.
    """

    def __init__(
        self,
        workspace: Workspace,
        settings: config.Settings,
        ranking: RankSettings,
        store: Store,
        current: CurrentModel,
        lock: threading.RLock,
    ) -> None:
        """Answer from a store, under the lock of its owner; `current` is the model that embeds now."""
        self.store, self._current, self._lock = store, current, lock
        self._workspace, self._settings, self._ranking = workspace, settings, ranking
        self._reference = config.reference(settings)
        self._readers = Readers(settings, current.ledger)
        self._levels = confidence.Levels(self._reference)
        self._known: Known = {}
        self._llm: Client | None = None

    def close(self) -> None:
        """Close what rerankers keep open; they are opened again when they are needed."""
        self._readers.close()

    def warm(self) -> None:
        """Load the index and the local models, for which the first question would wait.

        Models behind a server are not called, since a call may cost money. Raises IndexUnavailable,
        ProviderError.
        """
        with self._lock:
            import numpy  # noqa: F401 - under the lock: two threads that import it at once break it

            self.store.settle()
            model = self._model()
        if model is not None and not _is_remote(model):
            model.embed(["warm"], "query")

    def llm(self) -> Client:
        """Return the language model of the settings, opened once; one must be set. Raises as it is opened."""
        from commonplace.providers import opening

        with self._lock:
            self._llm = self._llm or opening.open_llm(self._workspace, self._settings)
            assert self._llm is not None
            return self._llm

    # --- questions ----------------------------------------------------------------------------------

    def answer(self, request: Request) -> SearchResult:
        """Answer one question from the parts that work; the caller records it.

        Raises UnknownCollection, ConfigError for a value outside its limits and a filter without meaning;
        IndexUnavailable.
        """
        self._workspace.check_there()
        request.check([source.name for source in self.store.sources])
        search = self._settings.search
        request = request._replace(
            limit=search.limit if request.limit is None else request.limit,
            min_score=search.min_score if request.min_score is None else request.min_score,
        )
        expand = search.expand if request.expand is None else "on" if request.expand else "off"
        if expand == "off":
            return self._search(request)[0]
        from commonplace.search import expansion

        # Other questions do not wait while a language model widens this one.
        expander = expansion.Expander(self._settings, self._languages, self.llm)
        return expansion.search(expander, request, self._search, always=expand == "on")

    def _search(self, request: Request, *, again: bool = True) -> tuple[SearchResult, Outcome]:
        """Search an index that was compared with the files; `again` where it turns out to be unusable."""
        store = self.store
        with self._lock:
            store.settle()
            try:
                stale = store.freshen() if self._settings.index.sync_on_search or store.empty else 0
                check()
                parsed, own, means = self._prepared(request)
                with store.index.transaction(write=False):
                    outcome = pipeline.search(store.index, means, parsed, own)
                return self._result(parsed, own, means, outcome, stale), outcome
            except IndexUnavailable as error:
                if not again:
                    raise
                store.recover(error)
            return self._search(request, again=False)

    def _prepared(self, request: Request) -> tuple[query.Query, Request, Means]:
        """Read a question; return it, the request with the time and collections it says, and the means.

        Raises as `filters.check` does.
        """
        index = self.store.index
        parsed = query.parse(request.text, partial(facts.keys, index), partial(pipeline.is_option, index))
        if parsed.filters:
            from datetime import date

            from commonplace.search import filters

            now = request.now or date.today()
            filters.check(parsed.filters, [source.name for source in self.store.sources], now)
            request = request._replace(as_of=filters.as_of(parsed.filters, now) or request.as_of)
        chosen = bool(request.collections) or any(f.key == "in" and not f.negative for f in parsed.filters)
        if not chosen:
            request = request._replace(collections=config.by_default(self._settings))
        model = self._serving(parsed, request)
        deadline_s = self._settings.embedding.query_deadline_s if _is_remote(model) else None
        embed = QuestionEmbedder(model, self._known, deadline_s) if model is not None else None
        means = self._means(model, embed)
        if self._ranking.gated:
            language = "zh" if parsed.wide > MOST else "en"
            level = self._levels.get(index, language, _scorer(model))
            if level is None and not _is_remote(model):
                level = self._measure(language, model)
            means = means._replace(level=level)
        if self._reference and not chosen:
            means = means._replace(behind=ranking.REFERENCE + (means.level.apart if means.level else 0.0))
        similar = comparing(index.vectors, embed.words) if embed and embed.gives_words else None
        reader, similar = self._readers.choose(request.rerank, similar, self._ranking)
        return parsed, request, means._replace(reranker=reader, similar=similar)

    def _means(self, model: Embedder | None, embed: QuestionEmbedder | None) -> Means:
        served = model.scripts if model is not None else frozenset()
        return candidates.Means(embed, ranking=self._ranking, served=served, reference=self._reference)

    def _result(
        self, parsed: query.Query, request: Request, means: Means, outcome: Outcome, stale: int
    ) -> SearchResult:
        """Return an outcome as it is shown: paths as people write them, contexts, warnings."""
        store, model, warnings = self.store, self._current.model, list(outcome.warnings)
        if model and request.mode != "lexical" and not request.lines and not reads(model, parsed.words):
            unread = "the model does not read this script: found by the words alone"
            warnings.append(message("search.script", unread))
        if request.mode == "semantic" and means.embed is None:
            nobody = "no vectors can answer this question, and a semantic search asks nothing else"
            warnings.append(message("search.no_vectors", nobody))
        weak = outcome.confidence is not None and outcome.confidence < confidence.CLEAR
        return SearchResult(
            request.text, tuple(self._shown(hit, (WEAK,) * weak) for hit in outcome.hits),
            3 if store.in_memory else outcome.level, stale,
            (*store.opened.warnings, *store.unread(), *self._of_vectors(request), *warnings),
            outcome.timings_ms, store.index.tokens, confidence=outcome.confidence, weak=weak,
            listing=outcome.listing, mode=request.mode,
        )  # fmt: skip

    def _shown(self, hit: Hit, marks: tuple[str, ...]) -> Hit:
        path = references.shown(hit.collection, hit.path)
        contexts = config.contexts_for(self._settings.contexts, path, hit.collection)
        return replace(hit, path=path, contexts=contexts, labels=(*hit.labels, *marks))

    def _languages(self) -> tuple[str, ...]:
        from commonplace.index import scripts

        with self._lock:
            return scripts.named(self.store)

    # --- the model of questions -----------------------------------------------------------------------

    def _model(self) -> Embedder | None:
        """Return the model for questions: the index's own, while the vectors of another are not complete."""
        model = self._current.load()
        if model is not None and not self.store.vectors.serves(model):
            model = self._current.former(str(self.store.index.meta.get("model")))
        return model

    def _serving(self, parsed: query.Query, request: Request) -> Embedder | None:
        """Return the model that embeds a question, or None where vectors cannot help.

        It embeds the few passages that lack a vector first.
        """
        if request.mode == "lexical" or (self._current.model is None and not self._current.wanted):
            return None  # before the extension for vectors is loaded
        store = self.store
        few = store.few_pending
        model = None if store.index.vectors.level() == 2 and not few else self._model()
        if model is None:
            return None
        if few and not _is_remote(model):
            store.catch_up(model)
        foreign = not request.lines and not reads(model, parsed.words)
        return None if store.index.vectors.level() == 2 or foreign else model

    def _of_vectors(self, request: Request) -> list[str]:
        """Say what kept vectors from answering a question, or from answering it whole."""
        current, store = self._current, self.store
        if request.mode == "lexical" or not current.wanted or store.in_memory:
            return []
        if current.trouble or (current.model is not None and not store.vectors.serves(current.model)):
            return [current.trouble or self._other_vectors()]
        if not (pending := store.index.vectors.pending()):
            return []
        waiting = f"{count(pending, 'passage')} {'has' if pending == 1 else 'have'} no vector yet: {{sync}}"
        return [message("vectors.pending", waiting, pending=pending, sync=self._sync())]

    def _other_vectors(self) -> Message:
        return message("vectors.other", "the index holds another model's vectors: {sync}", sync=self._sync())

    def _sync(self) -> Message:
        """Return the remedy for missing vectors: the running sync, or a new one."""
        running = message("sync.running", "a sync is running")
        return running if self.store.syncing else remedies.say("sync")

    # --- null questions -------------------------------------------------------------------------------

    def measure(self) -> None:
        """Ask null questions where the memory has changed much (`confidence`); who calls holds the lock.

        By words alone as well: who asks that way, such as a hook without a server, has no time for it.
        """
        model = self._model() if self.store.index.vectors.level() < 2 else None
        for language, served in self._due(model):
            self._measure(language, served)
            if served is not None:
                self._measure(language, None)

    def null_questions(self, model: Embedder) -> list[str]:
        """Return what `measure` would have this model embed; who calls holds the lock."""
        languages = [language for language, served in self._due(model) if served is not None]
        texts = [text for name in languages for text in confidence.questions(name)]
        return [query.with_mark(query.parse(text).words) for text in texts]

    def _due(self, model: Embedder | None) -> list[tuple[str, Embedder | None]]:
        """Return the languages whose null questions are due, with the model if it serves them."""
        from commonplace.index import scripts

        index = self.store.index
        if not self._ranking.gated or not self._levels.is_due(index):
            return []
        shares = scripts.shares(index)
        amounts = {"en": shares.get("latin", 0), "zh": shares.get("han", 0) + shares.get("cjk", 0)}
        held = [name for name, share in amounts.items() if share >= scripts.SHARE_NAMED]
        is_served = {"en": model is not None, "zh": model is not None and serves(model.scripts, HAN)}
        return [(name, model if is_served[name] else None) for name in held]

    def _measure(self, language: str, model: Embedder | None) -> confidence.Level | None:
        """Ask the null questions of a language with a model, or by words alone; None where it fails."""
        embed = None
        if model is not None:
            embed = QuestionEmbedder(model, {})
            try:
                embed.learn([query.parse(text).words for text in confidence.questions(language)])
            except (ProviderError, BudgetExceeded):
                return None
        score = partial(pipeline.score, self.store.index, self._means(model, embed))
        return self._levels.measure(self.store.index, language, _scorer(model), score)

    # --- status ---------------------------------------------------------------------------------------

    def status(self) -> Status:
        """Describe the workspace and its index, without changing either; who calls holds the lock."""
        from commonplace.notes import layout
        from commonplace.providers import opening
        from commonplace.types import CollectionInfo, Status

        store, settings = self.store, self._settings
        counts, stale = store.index.statistics(), store.stale()
        noted = settings.collections
        level: Level = 2
        if store.in_memory:
            level = 3
        elif self._current.wanted and self._model() is not None:
            level = store.index.vectors.level()
        return Status(
            workspace=os.fspath(self._workspace.root),
            index=store.index.path,
            level=level,
            collections=tuple(
                CollectionInfo(
                    s.name, s.place, s.globs, s.ignore, *counts.collections.get(s.name, (0, 0)),
                    weight=noted[s.name].weight if s.name in noted else "own",
                    by_default=noted[s.name].by_default if s.name in noted else True,
                )
                for s in store.sources
            ),
            stale=stale,
            index_bytes=counts.stored_bytes,
            model="/".join(filter(None, opening.choose(settings.embedding))),
            warnings=(
                *settings.warnings, *store.opened.warnings, *store.unread(), *store.notices,
                *_copies(store), *map(str, opening.SHARED.opened()), *self._advice(),
            ),
            notes=counts.notes, sections=counts.sections, passages=counts.passages,
            vectors=counts.vectors, pending=counts.pending, syncing=store.syncing,
            long_term=layout.long_term_tokens(self._workspace),
            long_term_budget=settings.prompt.long_term,
        )  # fmt: skip

    def _advice(self) -> list[str]:
        """Return remedies for the model: it is missing, another made the vectors, a script is not served."""
        if not self._current.wanted:
            return []
        from commonplace.index import scripts

        model, index = self._current.load(), self.store.index
        messages = [self._current.trouble] if self._current.trouble else []
        if model is None:
            return messages
        if not self.store.vectors.serves(model):
            messages.append(self._other_vectors())
        if advice := scripts.advise(scripts.shares(index), model.scripts):
            remedy = remedies.say("models.use", advice.provider)
            messages.append(message("vectors.foreign", "{told}: {remedy}", told=advice.told, remedy=remedy))
        return messages


def _copies(store: Store) -> Iterator[Message]:
    """Say which notes are copies that a sync program left, and what to do."""
    index = store.index
    keys = {references.shown(*key): key for key in index.manifest()}

    def read(name: str) -> str:
        (note,) = index.notes(keys=[keys[name]])
        return "\n".join(p.text for p in index.passages(range(note.first_passage, note.last_passage + 1)))

    if copies := conflicts.copies(keys, read):
        first = next(iter(copies))
        named = "{n:conflict copy|conflict copies} of a sync program, such as {first}"
        more = f"{named}; {{remedy}}"
        yield message("notes.conflicts", more, n=len(copies), first=first, remedy=remedies.say("merge"))


def _is_remote(model: Embedder | None) -> bool:
    """Return whether a model is behind a server, so that questions wait only for their own vectors."""
    if model is None:
        return False
    from commonplace.providers import opening

    return opening.is_remote(model)


def _scorer(model: Embedder | None) -> str:
    """Name what scores a question: its model, or words alone."""
    return model.fingerprint if model is not None else "words"


def reads(model: Embedder, text: str) -> bool:
    """Tell whether a model serves the script of a question."""
    return serves(model.scripts, wide_script(text) if query.wide_share(text) > MOST else script_of(text))


class QuestionEmbedder:
    """Embeds one question, its lines, and where the model gives them its words."""

    def __init__(self, model: Embedder, known: Known, deadline_s: float | None = None) -> None:
        """Embed with a model; `known` keeps what is embedded for the next questions.

        `deadline_s` bounds a passage too, which a model behind a server may otherwise take minutes for.
        """
        self._model, self._known, self._deadline_s = model, known, deadline_s
        self.gives_words = gives_words(model)

    def learn(self, texts: Sequence[str]) -> None:
        """Embed many questions in one batch, for later searches. Raises ProviderError, BudgetExceeded."""
        rows = self._model.embed([*map(query.with_mark, texts)], "query")
        for text, row in zip(texts, rows, strict=False):
            self._known[self._model.fingerprint, text] = row, None

    def gloss(self, text: str) -> str:
        """Return a Chinese text word by word in English; empty where the model has no lexicon."""
        gloss = getattr(self._model, "gloss", None)
        return gloss(text) if gloss is not None else ""

    def __call__(self, text: str, kind: Kind = "query") -> Any:  # noqa: ANN401
        """Return the vector of a text, (d,) float32, or None for a script that the model does not serve.

        Raises ProviderError, BudgetExceeded.
        """
        model = self._model
        if not reads(model, text):
            return None
        if kind == "query":
            return self._question(text)[0]
        text = self._legible(text)
        if self._deadline_s is None:
            return model.embed([text], kind)[0]
        from commonplace.base.deadline import Deadline
        from commonplace.providers import attempts

        return attempts.within(model.name, lambda: model.embed([text], kind)[0], Deadline(self._deadline_s))

    def words(self, text: str) -> Floats | None:
        """Return the vectors of a question's words, (n, d) float32; None for Chinese.

        Raises ProviderError.
        """
        return None if has_han(text) else self._question(text)[1]

    def _question(self, text: str) -> tuple[Floats, Floats | None]:
        """The vector of a question, and those of its words, where the model gives them."""
        model, key = self._model, (self._model.fingerprint, text)
        if key not in self._known:
            if len(self._known) >= REPEATED:
                del self._known[next(iter(self._known))]
            text = self._legible(query.with_mark(text))
            if gives_words(model) and not has_han(text):
                rows, (words,) = model.embed_words([text], [0])
                self._known[key] = rows[0], words
            else:
                self._known[key] = model.embed([text], "query")[0], None
        return self._known[key]

    def _legible(self, text: str) -> str:
        """Return the part of a text that the model can read; the rest would be noise."""
        return text if legible(text, self._model.scripts) == 1.0 else query.latin(text)
