"""The model that questions go to: which one it is, whether it can help with one, what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.base import remedies
from commonplace.index.vectors import FOREIGN_SHARE
from commonplace.search import query

if TYPE_CHECKING:
    from commonplace.config.settings import Embedding
    from commonplace.index.store import Store
    from commonplace.providers.embedding.base import Embedder
    from commonplace.providers.embedding.selector import CurrentModel
    from commonplace.search.pipeline import Embed, Request

OTHER_VECTORS = "the index holds another model's vectors"


class QuestionModel:
    """Chooses what embeds the questions to one index; whoever asks holds the lock of its store."""

    def __init__(self, store: Store, current: CurrentModel, settings: Embedding) -> None:
        """Bind to an index and to the model that the settings choose; nothing is loaded yet."""
        self._store, self._current, self._settings = store, current, settings

    def asked(self) -> Embedder | None:
        """The model that a question goes to: the index's own, while those of another are not complete."""
        model = self._current.load()
        if model is not None and not self._store.vectors.serves(model):
            model = self._current.former(str(self._store.index.meta.get("model")))
        return model

    def serving(self, parsed: query.Query, request: Request) -> Embedder | None:
        """The model that embeds a question, or None where vectors cannot help."""
        by_words = request.lines and all(line.kind == "lex" for line in request.lines)
        model = None if by_words or request.mode == "lexical" else self._caught_up()
        if model is None or request.lines:
            return model
        return None if parsed.wide > FOREIGN_SHARE and "cjk" not in model.scripts else model

    def _caught_up(self) -> Embedder | None:
        """The model for questions, once it has embedded the few passages that lack a vector."""
        store = self._store
        few = store.few_pending
        model = None if store.index.vectors.level() == 2 and not few else self.asked()
        if model is None:
            return None
        from commonplace.providers import opening

        if few and not opening.is_remote(model):  # a question may wait for its own vector alone
            store.catch_up(model)
        return None if store.index.vectors.level() == 2 else model

    def embedder(self, model: Embedder | None, request: Request) -> Embed | None:
        """The function that embeds a question and its lines."""
        if model is None:
            return None
        if request.lines:
            from commonplace.providers import opening
            from commonplace.search import lines

            patience_s = self._settings.query_deadline_s if opening.is_remote(model) else None
            return lines.embedder(model, patience_s)
        if "cjk" in model.scripts:
            return lambda text, kind="query": model.embed([text], kind)[0]
        return lambda text, kind="query": model.embed([query.latin(text)], kind)[0]  # the rest would be noise

    def warnings(self, request: Request) -> list[str]:
        """What kept vectors from answering a question, or from answering it whole."""
        if request.mode == "lexical" or self._settings.provider == "none" or self._store.in_memory:
            return []
        current = self._current
        if current.trouble:
            return [current.trouble]
        if current.model is not None and not self._store.vectors.serves(current.model):
            return [f"{OTHER_VECTORS}: {remedies.say('sync')}"]
        pending = self._store.index.vectors.pending()
        return [f"{pending} passages have no vector yet: {remedies.say('sync')}"] if pending else []

    def advice(self) -> list[str]:
        """What to do about the model: what is missing, vectors of another one, a script it does not serve."""
        if not self._current.wanted:
            return []
        from commonplace.index import scripts

        model = self._current.load()
        told = [self._current.trouble] if self._current.trouble else []
        if model is None:
            return told
        if not self._store.vectors.serves(model):
            told.append(f"{OTHER_VECTORS}: {remedies.say('sync')}")
        advice = scripts.advise(scripts.shares(self._store.index), model.scripts)
        return [*told, f"{advice.told}: {remedies.say('models.use', advice.provider)}"] if advice else told
