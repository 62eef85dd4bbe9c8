"""Questions answered from the index of a workspace: what is asked for, who helps, what is shown of it."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace import config
from commonplace.base.errors import ConfigError, IndexUnavailable, UnknownCollection
from commonplace.config.settings import READERS
from commonplace.index import facts
from commonplace.index.base import DOCID
from commonplace.search import pipeline, query, references
from commonplace.search.question_model import QuestionModel
from commonplace.search.ranking import RankSettings
from commonplace.search.readers import Readers
from commonplace.types.results import SearchResult

if TYPE_CHECKING:
    from datetime import date

    from commonplace.base.paths import Workspace
    from commonplace.index.store import Store
    from commonplace.providers.embedding.selector import CurrentModel
    from commonplace.search.expansion import Expander
    from commonplace.types import Hit, Level, Mode

MODES = ("hybrid", "lexical", "semantic")
LONG_DOCID = 2 * DOCID  # digits that name a note whose first six name another as well
BYTES_A_TOKEN = 4  # of all notes together, which nobody counts for one answer; Chinese has rather three


class Answerer:
    """Answers the questions to one workspace, from any thread, one after the other.

    What widens a question is waited for without the lock; embedding and reranking it are not.
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
        self.model = QuestionModel(store, current, settings.embedding)
        self._workspace, self._settings, self._ranking = workspace, settings, ranking
        self._store, self._lock = store, lock
        self._readers = Readers(settings, current.accounts)
        self._expander: Expander | None = None

    def close(self) -> None:
        """Close what rerankers keep open; they are opened again when they are needed."""
        self._readers.close()

    def warm(self) -> None:
        """Load what the first question would wait for: the index, and the models that run in this process.

        No other is asked for anything: a model behind a server may cost money. Raises IndexUnavailable,
        ProviderError.
        """
        from commonplace.providers import opening

        with self._lock:
            import numpy  # noqa: F401 - under the lock: two threads that import it at once break it

            self._store.settle()
            model = self.model.asked()
            late = self._readers.first(model, self._ranking)
            if late is not None:
                from commonplace.providers import runtime

                runtime.library("builtin")  # for the same reason
        if late is not None:
            threading.Thread(target=late.warm, name="commonplace-warm-tokens", daemon=True).start()
        if model is not None and not opening.is_remote(model):
            model.embed(["warm"], "query")

    def request(
        self,
        limit: int | None = None,
        mode: Mode = "hybrid",
        collections: Sequence[str] = (),
        min_score: float | None = None,
        now: date | None = None,
        rerank: str | None = None,
        expand: bool | None = None,
    ) -> pipeline.Request:
        """What is asked for, with the settings where nothing is said. Raises as `Memory.search` does."""
        self._check_collections(collections)
        if limit is not None and limit < 0:
            raise ConfigError("limit", f"{limit!r} is not allowed; it must be a number from 0")
        if mode not in MODES:
            raise ConfigError("mode", f"{mode!r} is not allowed; it must be one of {', '.join(MODES)}")
        if min_score is not None and not min_score <= 1:
            raise ConfigError("min_score", f"{min_score!r} is not allowed; it must be a number up to 1")
        if rerank is not None and rerank not in READERS:
            raise ConfigError("rerank", f"{rerank!r} is not allowed; it must be one of {', '.join(READERS)}")
        chosen = self._settings.search
        return pipeline.Request(
            limit=chosen.limit if limit is None else limit,
            mode=mode,
            collections=tuple(collections),
            min_score=chosen.min_score if min_score is None else min_score,
            ranking=self._ranking,
            now=now,
            rerank=rerank or chosen.rerank,
            expand=chosen.expand if expand is None else ("on" if expand else "off"),
            diversity=chosen.diversity,
        )

    def answer(self, text: str, request: pipeline.Request) -> SearchResult:
        """Answer one question from what works; it is for the caller to record it.

        Raises as `Memory.search` does.
        """
        if request.expand != "off":
            return self._widened(text, request)
        with self._lock:
            return self._recovering(text, request)[0]

    def _widened(self, text: str, request: pipeline.Request) -> SearchResult:
        """Search with what a language model makes of the question; other questions do not wait for it."""
        from commonplace.index import scripts
        from commonplace.search import expansion

        def answer(request: pipeline.Request) -> tuple[SearchResult, pipeline.Outcome]:
            with self._lock:
                return self._recovering(text, request)

        def languages() -> tuple[str, ...]:
            with self._lock:
                return scripts.named(self._store)

        with self._lock:
            if self._expander is None:
                self._expander = expansion.Expander(self._workspace, self._settings, languages)
        return expansion.search(self._expander, text, request, answer, always=request.expand == "on")

    def _recovering(self, text: str, request: pipeline.Request) -> tuple[SearchResult, pipeline.Outcome]:
        """Search, recovering once from an index that fails in use."""
        for last in (False, True):
            self._store.settle()
            try:
                outcome, stale = self._ask(text, request)
                break
            except IndexUnavailable as error:
                if last:
                    raise
                self._store.recover(error)
        index = self._store.index
        hashes: dict[str, set[str]] = {}
        for note in index.notes(docids=[hit.docid for hit in outcome.hits]):
            hashes.setdefault(note.hash[:DOCID], set()).add(note.hash)
        shared = {docid for docid, several in hashes.items() if len(several) > 1}
        hits = tuple(self._shown(hit, shared) for hit in outcome.hits)
        level: Level = 3 if self._store.in_memory else outcome.level
        warnings = [
            *self._store.opened.warnings, *self._store.unread(), *self.model.warnings(request),
            *outcome.warnings,
        ]  # fmt: skip
        everything = -(-index.text_bytes // BYTES_A_TOKEN)
        result = SearchResult(text, hits, level, stale, tuple(warnings), outcome.timings_ms, everything)
        return result, outcome

    def _ask(self, text: str, request: pipeline.Request) -> tuple[pipeline.Outcome, int]:
        """Search an index that was compared with the files; return how many are stale as well.

        While a scout is out to the files the index is searched as it stands, which nearly always is as it
        should be; otherwise it is searched again.
        """
        store = self._store
        wanted = self._settings.index.sync_on_search or store.empty
        if wanted and store.scouted:
            index, version = store.index, store.index.version
            outcome = self._search(text, request)
            stale = store.freshen()
            if store.index is index and index.version == version:
                return outcome, stale
        else:
            stale = store.freshen() if wanted else 0
        return self._search(text, request), stale

    def _search(self, text: str, request: pipeline.Request) -> pipeline.Outcome:
        index = self._store.index
        parsed, request = self._parsed(text, request)
        if parsed.filters:
            request = self._filtered(parsed, request)
        named = request.collections or any(f.key == "in" and not f.negative for f in parsed.filters)
        if not named:
            request = request._replace(collections=config.by_default(self._settings))
        model, gather = self.model.serving(parsed, request), None
        if request.lines:
            from commonplace.search import lines

            gather = lines.candidates
        embed = self.model.embedder(model, request)
        means = pipeline.Means(embed, gather, self._readers.choose(request.rerank, model, request.ranking))
        with index.transaction(write=False):
            outcome = pipeline.search(index, index.vectors, means, parsed, request)
        if request.mode == "semantic" and embed is None:
            told = "no vectors can answer this question, and a semantic search asks nothing else"
            outcome.warnings.append(told)
        return outcome

    def _parsed(self, text: str, request: pipeline.Request) -> tuple[query.Query, pipeline.Request]:
        """The question, and the request with the lines that it is made of and those that it was given."""
        index = self._store.index
        may_be = text.lstrip()[:6].lower().startswith(query.DOCUMENT)
        if not may_be and not request.lines:
            return query.parse(text, lambda: facts.keys(index)), request
        from commonplace.search import query_document

        def keys() -> frozenset[str]:
            return facts.keys(index)

        parsed, own = query_document.read_any(text, keys, as_lines=bool(request.lines))
        return parsed, request._replace(lines=(*own, *request.lines))

    def _shown(self, hit: Hit, shared: Collection[str]) -> Hit:
        """A hit with its path as people write it, the contexts that apply to it, a docid of its own."""
        path = references.shown(hit.collection, hit.path)
        docid = hit.docid
        if docid in shared:
            notes = self._store.index.notes(keys=[(hit.collection, hit.path)])
            docid = notes[0].hash[:LONG_DOCID] if notes else docid
        contexts = config.contexts_for(self._settings, path, hit.collection)
        return replace(hit, path=path, docid=docid, contexts=contexts)

    def _check_collections(self, names: Sequence[str]) -> None:
        if isinstance(names, str):
            raise ConfigError("collections", f"{names!r} is a text; it must be a list of names")
        known = [source.name for source in self._store.sources]
        for name in names:
            if name not in known:
                raise UnknownCollection(name, known)

    def _filtered(self, parsed: query.Query, request: pipeline.Request) -> pipeline.Request:
        """Check the filters of a question; one of them may ask for another day."""
        from datetime import date

        from commonplace.search import filters

        names = [source.name for source in self._store.sources]
        now = request.now or date.today()
        filters.check(parsed.filters, names, now)
        return request._replace(as_of=filters.as_of(parsed.filters, now) or request.as_of)
