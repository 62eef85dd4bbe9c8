"""Who reads the head of a ranking again: chosen as the settings say, made when first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from commonplace.base.errors import ConfigError
from commonplace.search import query
from commonplace.search.ranking import RankSettings
from commonplace.search.reranking import MODEL_HEAD, Kind, Read, Reranker

if TYPE_CHECKING:
    from commonplace.config.settings import Settings
    from commonplace.index.base import Candidate
    from commonplace.providers.costs import Accounts
    from commonplace.providers.embedding.base import Embedder
    from commonplace.providers.reranking.remote import GuardedReranker
    from commonplace.search.late_interaction import LateInteraction


class Readers:
    """The readers of one memory; not for two threads at once."""

    def __init__(self, settings: Settings, accounts: Callable[[], Accounts]) -> None:
        """Read as these settings say; nothing is loaded yet."""
        self._settings = settings
        self._accounts = accounts
        self._late: LateInteraction | None = None
        self._models: dict[Kind, GuardedReranker] = {}

    def choose(self, wanted: str, model: Embedder | None, ranking: RankSettings) -> Reranker | None:
        """The reader for one question, or None: `wanted` is a choice of `search.rerank`.

        `model` is the one that embeds the question. Unless told otherwise a reranker that is set reads, or
        late interaction where it was measured: beside the bundled model, and over calibrated scores. One
        that cannot read, or is not set, fails when it is to read; the search then goes on without it.
        """
        if wanted == "auto":
            wanted = self._by_itself(model, ranking)
        if wanted == "local":
            return Reranker("local", self._read_locally)
        if wanted == "model":
            return self._by_model("model")
        return self._by_model("llm") if wanted == "llm" else None

    def first(self, model: Embedder | None, ranking: RankSettings) -> LateInteraction | None:
        """What reads for a question that does not choose, where that runs in this process."""
        wanted = self._settings.search.rerank
        wanted = self._by_itself(model, ranking) if wanted == "auto" else wanted
        return self._locally() if wanted == "local" else None

    def close(self) -> None:
        """Close what models keep open."""
        for model in self._models.values():
            model.close()
        self._models.clear()

    def _by_itself(self, model: Embedder | None, ranking: RankSettings) -> str:
        if ranking.fusion != "calibrated":
            return "off"
        if self._settings.reranking.provider != "none":
            return "model"
        return "local" if _is_bundled(model) else "off"

    def _by_model(self, kind: Literal["model", "llm"]) -> Reranker:
        return Reranker(kind, self._reader(kind), MODEL_HEAD, self._settings.search.blend)

    def _reader(self, kind: Kind) -> Read:
        def read(question: str, candidates: Sequence[Candidate]) -> list[float]:
            if kind not in self._models:
                self._models[kind] = self._open(kind)
            return self._models[kind].score(question, [candidate.text for candidate in candidates])

        return read

    def _open(self, kind: Kind) -> GuardedReranker:
        from commonplace.providers.opening import LLM, open_reranker

        settings = self._settings
        if kind == "llm":
            settings = settings._replace(reranking=settings.reranking._replace(provider=LLM))
        found = open_reranker(settings, self._accounts())
        if found is None:
            told = "no reranker is set; set reranking.provider, or take --rerank local"
            raise ConfigError("search.rerank", told)
        return found

    def _read_locally(self, question: str, candidates: Sequence[Candidate]) -> list[float]:
        return self._locally().similarities(query.latin(question), candidates)

    def _locally(self) -> LateInteraction:
        if self._late is None:
            from commonplace.providers.embedding.builtin import TokenEmbedder
            from commonplace.search.late_interaction import LateInteraction

            self._late = LateInteraction(TokenEmbedder())
        return self._late


def _is_bundled(model: Embedder | None) -> bool:
    if model is None:
        return False
    from commonplace.providers.embedding.builtin import BuiltinEmbedder

    return model.fingerprint == BuiltinEmbedder.fingerprint
