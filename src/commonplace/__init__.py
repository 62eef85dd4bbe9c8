"""commonplace: long-term memory for AI agents, in plain Markdown, found again in milliseconds.

`Memory` is one workspace: `help(commonplace.Memory)` says how to ask it and write to it. What its methods
take and give is here or in `commonplace.types`; every error derives from `CommonplaceError`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.base.errors import (
        AccessDenied,
        BudgetExceeded,
        CommonplaceError,
        ConfigError,
        IndexUnavailable,
        MissingExtra,
        NoModel,
        NoteNotFound,
        NoteUnreadable,
        OutsideRoots,
        PreviewOutdated,
        ProviderError,
        TextLost,
        UnknownCollection,
        WorkspaceNotFound,
    )
    from commonplace.edit.resolve import StatementNotFound
    from commonplace.library import AsyncMemory, Memory
    from commonplace.storage.undo import NothingToUndo, NotUndone
    from commonplace.types import (
        Answer,
        Excerpt,
        Hit,
        Recall,
        SearchResult,
        Selection,
        Status,
        SyncReport,
        Written,
    )
    from commonplace.upkeep.schedule.due import Running
    from commonplace.upkeep.watermarks import InUse

__version__ = "0.1.0"
__all__ = [
    "AccessDenied",
    "Answer",
    "AsyncMemory",
    "BudgetExceeded",
    "CommonplaceError",
    "ConfigError",
    "Excerpt",
    "Hit",
    "InUse",
    "IndexUnavailable",
    "Memory",
    "MissingExtra",
    "NoModel",
    "NotUndone",
    "NoteNotFound",
    "NoteUnreadable",
    "NothingToUndo",
    "OutsideRoots",
    "PreviewOutdated",
    "ProviderError",
    "Recall",
    "Running",
    "SearchResult",
    "Selection",
    "StatementNotFound",
    "Status",
    "SyncReport",
    "TextLost",
    "UnknownCollection",
    "WorkspaceNotFound",
    "Written",
]
_VALUES = "Answer Excerpt Hit Recall SearchResult Selection Status SyncReport Written".split()
# The module of each name that is no error of `base.errors`.
_HOMES = {
    **dict.fromkeys(_VALUES, "types"),
    **dict.fromkeys(("AsyncMemory", "Memory"), "library"),
    **dict.fromkeys(("NotUndone", "NothingToUndo"), "storage.undo"),
    "StatementNotFound": "edit.resolve",
    "Running": "upkeep.schedule.due",
    "InUse": "upkeep.watermarks",
}


def __dir__() -> list[str]:
    """Name what is public, loaded or not."""
    return [*__all__, "__version__"]


def __getattr__(name: str) -> object:
    """Import public names on first use, so that `import commonplace` costs nothing."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"commonplace.{_HOMES.get(name, 'base.errors')}"), name)
