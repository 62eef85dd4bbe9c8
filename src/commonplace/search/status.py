"""How a workspace and its index stand: what is indexed, what answers, what is to be done."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from commonplace.base.paths import closed
from commonplace.providers import opening
from commonplace.types import CollectionInfo, Status

if TYPE_CHECKING:
    from commonplace.base.paths import Workspace
    from commonplace.config.settings import Settings
    from commonplace.index.store import Store
    from commonplace.search.answering import QuestionModel
    from commonplace.types import Level


def status(workspace: Workspace, settings: Settings, store: Store, model: QuestionModel) -> Status:
    """Describe a workspace and its index, without changing either."""
    index = store.index
    counts = index.statistics()
    stale = store.stale()
    collections = tuple(
        CollectionInfo(s.name, s.root, s.globs, s.ignore, *counts.collections.get(s.name, (0, 0)))
        for s in store.sources
    )
    return Status(
        workspace=os.fspath(workspace.root),
        index=index.path,
        level=_level(settings, store, model),
        collections=collections,
        stale=stale,
        index_bytes=counts.stored_bytes,
        model=opening.choose(settings.embedding).shown,
        warnings=(
            *settings.warnings,
            *store.opened.warnings,
            *store.unread(),
            *opening.left_alone(),
            *model.advice(),
            *filter(None, [closed(workspace)]),
        ),
        notes=counts.notes,
        sections=counts.sections,
        passages=counts.passages,
        vectors=counts.vectors,
        pending=counts.pending,
    )


def _level(settings: Settings, store: Store, model: QuestionModel) -> Level:
    """What answers a question now."""
    if store.in_memory:
        return 3
    wanted = settings.embedding.provider != "none"
    return store.index.vectors.level() if wanted and model.asked() is not None else 2
