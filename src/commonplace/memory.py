"""The façade: one workspace's memory; the command line, servers and agents all come through here."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from commonplace import config, paths
from commonplace.chunking.settings import DEFAULT as DEFAULT_CHUNKS
from commonplace.chunking.settings import ChunkSettings
from commonplace.config.keys import READERS
from commonplace.embedding.current import CurrentModel
from commonplace.errors import (
    ConfigError,
    IndexUnavailable,
    UnknownCollection,
)
from commonplace.index import scope
from commonplace.index.progress import Progress, silent
from commonplace.index.sqlite import DOCID, SqliteIndex
from commonplace.index.store import Store
from commonplace.index.vectors import FOREIGN_SHARE, Vectors
from commonplace.notes.scan import Source, sources
from commonplace.search import pipeline, places, query
from commonplace.search.ranking import DEFAULT as DEFAULT_RANKING
from commonplace.search.ranking import RankSettings, chosen
from commonplace.search.readers import Readers
from commonplace.types.results import SearchResult
from commonplace.usage.journal import Journal

if TYPE_CHECKING:
    from datetime import date, datetime

    from commonplace.embedding.base import Embedder
    from commonplace.notes.scout import Scout
    from commonplace.search.expansion import Expander
    from commonplace.types import (
        Estimate,
        Excerpt,
        Gathered,
        Hit,
        Level,
        Mode,
        NoteInfo,
        Recall,
        Status,
        SyncReport,
        Timeline,
        Usage,
        Written,
    )

OTHER_VECTORS = "the index holds another model's vectors: run `commonplace sync`"
MODES = ("hybrid", "lexical", "semantic")
LONG_DOCID = 2 * DOCID  # digits that name a note whose first six name another as well
BYTES_A_TOKEN = 4  # of all notes together, which nobody counts for one answer; Chinese has rather three
RECALL_CANDIDATES = 60  # hits a recall chooses from; more never fitted a budget of 4,000 tokens


class Memory:
    """The memory of one workspace; open it with `Memory.open`, use it from any thread, close it."""

    def __init__(
        self,
        root: Path,
        settings: config.Settings,
        *,
        index_path: Path | None = None,
        chunks: ChunkSettings = DEFAULT_CHUNKS,
        ranking: RankSettings = DEFAULT_RANKING,
        embedder: Embedder | None = None,
        scout: Scout | None = None,
        agent: str = "",
    ) -> None:
        """Bind to a workspace folder; nothing is read or written until it is needed.

        A scout that was sent to the files of the workspace saves the first search from looking itself;
        `agent` is who asks, for the record of use.
        """
        self.workspace = paths.Workspace(root)
        self.settings = settings
        self.ranking = chosen(settings.search, ranking)
        self._index_path, self._chunks = index_path, chunks
        self._store = self._make_store(scout)
        folder = index_path.parent if index_path else None
        self._current = CurrentModel(self.workspace, settings.embedding, folder, embedder)
        self._readers = Readers(settings, self._current.accounts)
        self._expander: Expander | None = None
        self._journal = Journal(self.workspace, settings.usage, folder, agent)
        self._lock, self._syncing = threading.RLock(), threading.Lock()

    def _make_store(self, scout: Scout | None = None) -> Store:
        """An index of its own connection: a sync has one, so that questions need not wait for it."""
        path = self._index_path or self.workspace.index
        lock = (
            paths.lock_file(self.workspace, "sync") if self._index_path is None else path.with_suffix(".lock")
        )
        return Store(
            os.fspath(path),
            lambda: os.fspath(paths.fallback_index(self.workspace.root)),
            os.fspath(lock),
            self.sources(),
            self._chunks,
            scout,
            self.settings.contexts if self.settings.embedding.contexts else {},
        )

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        overrides: Mapping[str, object] | None = None,
        agent: str | None = None,
        index_path: Path | None = None,
        chunks: ChunkSettings = DEFAULT_CHUNKS,
        ranking: RankSettings = DEFAULT_RANKING,
        embedder: Embedder | None = None,
    ) -> Self:
        """Open the workspace at `path`, or find one: environment, upward from here, the user's own.

        `overrides` are settings by dotted key, such as `{"search.limit": 5}`; they win over files and
        environment. `agent` names the one whose own settings apply (otherwise COMMONPLACE_AGENT does);
        `embedder` replaces the configured model. Raises WorkspaceNotFound, ConfigError.
        """
        root = paths.resolve_workspace(os.fspath(path) if path is not None else None, os.environ)
        settings = config.load(root, os.environ, overrides, agent)
        return cls(
            root,
            settings,
            index_path=index_path,
            chunks=chunks,
            ranking=ranking,
            embedder=embedder,
            agent=os.environ.get(config.AGENT_VARIABLE, "") if agent is None else agent,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the index; the object can be used again, it then opens anew."""
        with self._lock:
            self._store.dismiss()
            self._store.close()
            self._readers.close()
            self._current.close()
            self._journal.close()

    # --- writing ------------------------------------------------------------------------------------

    def remember(
        self,
        text: str,
        *,
        section: str | None = None,
        heading: str | None = None,
        long_term: bool = False,
        redact: bool | None = None,
        now: datetime | None = None,
    ) -> Written:
        """Append an entry to today's note, or to a section of MEMORY.md if `long_term`.

        Secrets are redacted and private parts dropped before anything touches the disk. Raises
        ConfigError for empty text, NoteUnreadable if the file cannot be written.
        """
        from datetime import datetime

        from commonplace.notes import layout

        self._store.written()
        return layout.remember(
            self.workspace,
            text,
            now=now or datetime.now(),
            section=section,
            heading=heading,
            long_term=long_term,
            redact=self.settings.remember.redact if redact is None else redact,
            times=self.settings.remember.times,
        )

    # --- asking -------------------------------------------------------------------------------------

    def search(
        self,
        text: str,
        *,
        limit: int | None = None,
        mode: Mode = "hybrid",
        collections: Sequence[str] = (),
        min_score: float | None = None,
        now: date | None = None,
        rerank: str | None = None,
        expand: bool | None = None,
    ) -> SearchResult:
        """Find the passages that answer a question, best first.

        `collections` keeps to some (default: all that are not excluded); `min_score` (0..1) replaces the
        calibrated threshold; `now` is the day that dates are told from (default: today); `rerank` says who
        reads the best hits again, and `expand` lets a language model widen the question (default:
        `search.rerank`, `search.expand`). Always answers from what works; `level` and `warnings` say what
        did. Raises UnknownCollection, ConfigError for a mode, threshold, filter or reranker that there is
        not, and for a query document with a mistake.
        """
        started = time.perf_counter()
        request = self._request(limit, mode, collections, min_score, now, rerank, expand)
        result = self._find(text, request)
        self._journal.asked("search", result, started)
        return result

    def _request(
        self,
        limit: int | None = None,
        mode: Mode = "hybrid",
        collections: Sequence[str] = (),
        min_score: float | None = None,
        now: date | None = None,
        rerank: str | None = None,
        expand: bool | None = None,
    ) -> pipeline.Request:
        """What is asked for, with the settings where nothing is said. Raises as `search` does."""
        self._check_collections(collections)
        if mode not in MODES:
            raise ConfigError("mode", f"{mode!r} is not allowed; it must be one of {', '.join(MODES)}")
        if min_score is not None and not min_score <= 1:
            raise ConfigError("min_score", f"{min_score!r} is not allowed; it must be a number up to 1")
        if rerank is not None and rerank not in READERS:
            raise ConfigError("rerank", f"{rerank!r} is not allowed; it must be one of {', '.join(READERS)}")
        own = self.settings.search
        return pipeline.Request(
            limit=own.limit if limit is None else limit,
            mode=mode,
            collections=tuple(collections),
            min_score=own.min_score if min_score is None else min_score,
            ranking=self.ranking,
            now=now,
            rerank=rerank or own.rerank,
            expand=own.expand if expand is None else ("on" if expand else "off"),
            diversity=own.diversity,
        )

    def _find(self, text: str, request: pipeline.Request) -> SearchResult:
        """Search, and leave it to the caller to record it."""
        if request.expand != "off":
            return self._widened(text, request)
        with self._lock:
            return self._answer(text, request)[0]

    def recall(
        self,
        text: str,
        *,
        budget: int | None = None,
        collections: Sequence[str] = (),
        layer: str | None = None,
        now: date | None = None,
        rerank: str | None = None,
        expand: bool | None = None,
    ) -> Recall:
        """Compose the block for a prompt: the best passages for `text`, cited, inside `budget` tokens.

        `layer` is `full` (passages whole) or `mixed` (whole, then snippets, then rows, by score); `now` and
        `rerank` and `expand` as in `search`. Raises UnknownCollection, ConfigError as `search` does, and for
        a layer.
        """
        from commonplace.search import layers

        started = time.perf_counter()
        budget = self.settings.recall.budget if budget is None else budget
        compose = layers.composer(self.settings.recall, layer)
        request = self._request(
            RECALL_CANDIDATES, collections=collections, now=now, rerank=rerank, expand=expand
        )
        result = self._find(text, request)
        recall = layers.recalled(result, budget, compose(result.hits, budget, text))
        self._journal.asked("recall", recall, started)
        return recall

    def get(self, reference: str) -> Excerpt:
        """Read lines of a note: `PATH[:from[-to|:count]]` or `#docid`; see `notes.excerpt`.

        The file itself is read, private parts blanked and secrets redacted. Raises NoteNotFound (with
        near misses), OutsideRoots, NoteUnreadable.
        """
        found = self._read(reference)
        self._journal.opened([found])
        return found

    def _read(self, reference: str) -> Excerpt:
        from commonplace.index.reading import content_hash
        from commonplace.notes import excerpt
        from commonplace.notes.parse import decode, parse

        wanted = excerpt.parse_reference(reference)
        with self._lock:
            shown, absolute = places.find(self._store, wanted)
        data = paths.read_contained(Path(absolute), [Path(source.root) for source in self.sources()])
        return excerpt.cut(parse(decode(data), shown), shown, content_hash(data)[:DOCID], wanted)

    def get_many(self, references: Sequence[str], *, max_bytes: int | None = None) -> Gathered:
        """Read several references, lists of them with commas, and globs such as `memory/2026-*.md`.

        What cannot be read, and what does not fit `max_bytes` any more, is named with the reason.
        """
        from commonplace.search import listing

        with self._lock:
            wanted = listing.expand(references, listing.notes(self._fresh()))
        found = listing.gather(wanted, self._read, max_bytes)
        self._journal.opened(found.excerpts)
        return found

    def notes(self, under: str = "") -> tuple[NoteInfo, ...]:
        """List the notes: all, or those of a collection, below a folder, or that a glob matches."""
        from commonplace.search import listing

        with self._lock:
            return tuple(listing.below(listing.notes(self._fresh()), under))

    def timeline(self, anchor: str, *, before: int = 3, after: int = 3) -> Timeline:
        """Show what surrounds an anchor in time: a reference as `get` takes it, or a day.

        Only dated notes have a place in it. Raises NoteNotFound, with what the anchor lacks.
        """
        from commonplace.search import timeline

        with self._lock:
            return timeline.around(self._store, anchor, before, after)

    # --- keeping up ---------------------------------------------------------------------------------

    def sync(
        self,
        *,
        embed: bool = True,
        pull: bool = False,
        progress: Progress = silent,
        stop: Callable[[], bool] = lambda: False,
    ) -> SyncReport:
        """Bring the index up to the files, then embed what lacks a vector.

        With `pull` the owner's commands for collections are run first; what they fail with is a warning.
        Questions of other threads are answered meanwhile, from what is committed. Embedding can be stopped
        (`stop`, Ctrl-C) and goes on at the next call. Two syncs never run at once. Raises IndexUnavailable,
        and what a model behind a server may fail with: ProviderError, BudgetExceeded.
        """
        started = time.perf_counter()
        pulled: list[str] = []
        with self._syncing, self._store_to_sync() as store:
            if pull:
                from commonplace.notes import updates

                pulled = updates.run_all(self.settings.collections.values())
            report = store.sync(self._model_for_sync if embed else lambda _: None, progress, stop)
        if self.settings.embedding.provider == "none":
            report = replace(report, pending=0)  # none is wanted
        warnings = [*pulled, *report.warnings, *filter(None, [self._current.trouble])]
        return replace(report, seconds=time.perf_counter() - started, warnings=tuple(warnings))

    def estimate(self, questions: Sequence[str] = (), *, progress: Progress = silent) -> Estimate:
        """Bring the text up to date, and say what embedding the rest would take, and these questions.

        Raises as `sync` does, but for what a model may fail with.
        """
        from commonplace.embedding import configured
        from commonplace.types import Estimate

        with self._syncing, self._store_to_sync() as store:
            model, texts = store.estimate(self._model_for_sync, progress)
        warnings = tuple(filter(None, [self._current.trouble]))
        if model is None:
            return Estimate("none", 0, warnings=warnings)
        return configured.estimate(model, texts, questions, warnings)

    def status(self) -> Status:
        """Describe the workspace and its index, without changing either."""
        with self._lock:
            self._store.settle()
            return self._status()

    def usage(self, days: int | None = None) -> Usage:
        """Sum up what was asked, found and opened: as far back as the record goes, or the last `days`.

        The record is kept on this machine alone, while `usage.record` is on. Raises NoteUnreadable for one
        that is damaged.
        """
        from commonplace.search import listing
        from commonplace.usage import summary

        with self._lock:
            index = self._fresh()
            times = {places.shown(*key): known.mtime_ns / 1e9 for key, known in index.manifest().items()}
            notes = listing.notes(index)
        now = time.time()  # of what was read in the moment it was written no time is noted
        return summary.of(self._journal, [(note, times[note.path] or now) for note in notes], days)

    def sources(self) -> list[Source]:
        """The workspace's own notes and every collection, as they stand on disk."""
        return sources(os.fspath(self.workspace.root), self.settings)

    # --- inside -------------------------------------------------------------------------------------

    def _fresh(self) -> SqliteIndex:
        self._store.freshen()
        return self._store.index

    @contextmanager
    def _store_to_sync(self) -> Iterator[Store]:
        store = self._make_store()
        try:
            yield store
        finally:
            store.close()
            with self._lock:
                self._store.written()
                self._store.settle(retry_s=0)

    def _widened(self, text: str, request: pipeline.Request) -> SearchResult:
        """Search with what a language model makes of the question; other questions do not wait for it."""
        from commonplace.index import scripts
        from commonplace.search import expansion

        def answer(request: pipeline.Request) -> tuple[SearchResult, pipeline.Outcome]:
            with self._lock:
                return self._answer(text, request)

        def languages() -> tuple[str, ...]:
            with self._lock:
                return scripts.named(self._store)

        with self._lock:
            if self._expander is None:
                self._expander = expansion.Expander(self.workspace, self.settings, languages)
        return expansion.search(self._expander, text, request, answer, always=request.expand == "on")

    def _answer(self, text: str, request: pipeline.Request) -> tuple[SearchResult, pipeline.Outcome]:
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
        shared = index.shared_docids(hit.docid for hit in outcome.hits)
        hits = tuple(self._shown(hit, shared) for hit in outcome.hits)
        level: Level = 3 if self._store.in_memory else outcome.level
        warnings = [*self._store.opened.warnings, *self._vector_warnings(request), *outcome.warnings]
        everything = -(-index.text_bytes() // BYTES_A_TOKEN)
        result = SearchResult(text, hits, level, stale, tuple(warnings), outcome.timings_ms, everything)
        return result, outcome

    def _ask(self, text: str, request: pipeline.Request) -> tuple[pipeline.Outcome, int]:
        """Search an index that was compared with the files; return how many are stale as well.

        While a scout is out to the files the index is searched as it stands, which nearly always is as it
        should be; otherwise it is searched again.
        """
        store = self._store
        wanted = self.settings.index.sync_on_search or store.empty
        if wanted and store.scouted:
            index, version = store.index, store.index.version()
            outcome = self._search(text, request)
            stale = store.freshen()
            if store.index is index and index.version() == version:
                return outcome, stale
        else:
            stale = store.freshen() if wanted else 0
        return self._search(text, request), stale

    def _search(self, text: str, request: pipeline.Request) -> pipeline.Outcome:
        index, vectors = self._store.index, self._store.vectors
        parsed, request = self._parsed(text, request)
        if parsed.filters:
            self._check_filters(parsed, request)
        named = request.collections or any(f.key == "in" and not f.negative for f in parsed.filters)
        if not named:
            request = request._replace(collections=config.by_default(self.settings))
        model, gather = self._model_for(parsed, request), None
        if request.lines:
            from commonplace.search import lines

            gather = lines.candidates
        embed = self._question_embedder(model, request)
        means = pipeline.Means(embed, gather, self._readers.choose(request.rerank, model, request.ranking))
        with index.reading():
            outcome = pipeline.search(index, vectors, means, parsed, request)
        if request.mode == "semantic" and embed is None:
            told = "no vectors can answer this question, and a semantic search asks nothing else"
            outcome.warnings.append(told)
        return outcome

    def _parsed(self, text: str, request: pipeline.Request) -> tuple[query.Query, pipeline.Request]:
        """The question, and the request with the lines that it is made of and those that it was given."""
        index = self._store.index
        may_be = text.lstrip()[:6].lower().startswith(query.DOCUMENT)
        if not may_be and not request.lines:
            return query.parse(text, lambda: scope.keys(index)), request
        from commonplace.search import documents

        parsed, own = documents.read_any(text, lambda: scope.keys(index), as_lines=bool(request.lines))
        return parsed, request._replace(lines=(*own, *request.lines))

    def _model_for(self, parsed: query.Query, request: pipeline.Request) -> Embedder | None:
        """The model that embeds a question, or None where vectors cannot help."""
        by_words = request.lines and all(line.kind == "lex" for line in request.lines)
        model = None if by_words or request.mode == "lexical" else self._question_model()
        if model is None or request.lines:
            return model
        return None if parsed.wide > FOREIGN_SHARE and "cjk" not in model.scripts else model

    def _question_embedder(self, model: Embedder | None, request: pipeline.Request) -> pipeline.Embed | None:
        """The function that embeds a question and its lines."""
        if model is None:
            return None
        if request.lines:
            from commonplace.embedding import configured
            from commonplace.search import lines

            patience_s = self.settings.embedding.query_deadline_s if configured.is_remote(model) else None
            return lines.embedder(model, patience_s)
        if "cjk" in model.scripts:
            return lambda text, kind="query": model.embed([text], kind)[0]
        return lambda text, kind="query": model.embed([query.latin(text)], kind)[0]  # the rest would be noise

    def _question_model(self) -> Embedder | None:
        """The model for questions, once it has embedded the few passages that lack a vector."""
        store = self._store
        few = store.few_pending
        model = None if store.vectors.level() == 2 and not few else self._asked_model()
        if model is None:
            return None
        from commonplace.embedding import configured

        if few and not configured.is_remote(model):  # a question may wait for its own vector alone
            store.catch_up(model)
        return None if store.vectors.level() == 2 else model

    def _asked_model(self) -> Embedder | None:
        """The model that a question goes to: the index's own, while those of another are not complete."""
        model = self._current.load()
        if model is not None and not self._store.vectors.serves(model):
            model = self._current.former(str(self._store.index.meta("model")))
        return model

    def _vector_warnings(self, request: pipeline.Request) -> list[str]:
        if request.mode == "lexical" or self.settings.embedding.provider == "none" or self._store.in_memory:
            return []
        current = self._current
        if current.trouble:
            return [current.trouble]
        if current.model is not None and not self._store.vectors.serves(current.model):
            return [OTHER_VECTORS]
        pending = self._store.index.pending()
        return [f"{pending} passages have no vector yet: run `commonplace sync`"] if pending else []

    def _model_for_sync(self, vectors: Vectors) -> Embedder | None:
        return self._current.for_filling(vectors.holds)

    def _shown(self, hit: Hit, shared: Collection[str]) -> Hit:
        """A hit with its path as people write it, the contexts that apply to it, a docid of its own."""
        path = places.shown(hit.collection, hit.path)
        docid = hit.docid
        if docid in shared:
            docid = self._store.index.hash_of((hit.collection, hit.path))[:LONG_DOCID] or docid
        contexts = config.contexts_for(self.settings, path, hit.collection)
        return replace(hit, path=path, docid=docid, contexts=contexts)

    def _check_collections(self, names: Sequence[str]) -> None:
        known = [source.name for source in self._store.sources]
        for name in names:
            if name not in known:
                raise UnknownCollection(name, known)

    def _check_filters(self, parsed: query.Query, request: pipeline.Request) -> None:
        from datetime import date

        from commonplace.search import filters

        names = [source.name for source in self._store.sources]
        filters.check(parsed.filters, names, request.now or date.today())

    def _left_alone(self) -> list[str]:
        from commonplace.embedding import configured

        return configured.left_alone()

    def _model_warnings(self) -> list[str]:
        """What to do about the model: what is missing, vectors of another one, a script it does not serve."""
        if not self._current.wanted:
            return []
        from commonplace.index import scripts

        model = self._current.load()
        told = [self._current.trouble] if self._current.trouble else []
        if model is None:
            return told
        if not self._store.vectors.serves(model):
            told.append(OTHER_VECTORS)
        advice = scripts.advise(scripts.shares(self._store.index), model.scripts)
        return [*told, f"{advice.told}: run `{advice.command}`"] if advice else told

    def _status(self) -> Status:
        from commonplace.embedding import automatic
        from commonplace.types import CollectionInfo, Status

        store = self._store
        index = store.index
        counts, by_collection = index.counts(), index.collections()
        stale = store.stale()
        collections = tuple(
            CollectionInfo(s.name, s.root, s.globs, s.ignore, *by_collection.get(s.name, (0, 0)))
            for s in store.sources
        )
        level: Level = 3 if store.in_memory else 2
        if level == 2 and self._current.wanted and self._asked_model() is not None:
            level = store.vectors.level()
        return Status(
            workspace=os.fspath(self.workspace.root),
            index=index.path,
            level=level,
            collections=collections,
            stale=stale,
            index_bytes=index.size_bytes(),
            model=automatic.choose(self.settings.embedding).shown,
            warnings=(*store.opened.warnings, *self._left_alone(), *self._model_warnings()),
            **counts,
        )
