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
        UnknownCollection,
        WorkspaceNotFound,
    )
    from commonplace.changes.undo import NotUndone
    from commonplace.edit.resolve import StatementNotFound
    from commonplace.memory import Memory
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

__version__ = "0.1.0"
__all__ = [
    "AccessDenied",
    "Answer",
    "BudgetExceeded",
    "CommonplaceError",
    "ConfigError",
    "Excerpt",
    "Hit",
    "IndexUnavailable",
    "Memory",
    "MissingExtra",
    "NoModel",
    "NotUndone",
    "NoteNotFound",
    "NoteUnreadable",
    "OutsideRoots",
    "PreviewOutdated",
    "ProviderError",
    "Recall",
    "SearchResult",
    "Selection",
    "StatementNotFound",
    "Status",
    "SyncReport",
    "UnknownCollection",
    "WorkspaceNotFound",
    "Written",
]
_HOMES = {"Memory": "memory", "NotUndone": "changes.undo", "StatementNotFound": "edit.resolve"}
_VALUES = {
    "Answer",
    "Excerpt",
    "Hit",
    "Recall",
    "SearchResult",
    "Selection",
    "Status",
    "SyncReport",
    "Written",
}


def __dir__() -> list[str]:
    """Name what is public, loaded or not."""
    return [*__all__, "__version__"]


def __getattr__(name: str) -> object:
    """Import public names on first use, so that `import commonplace` costs nothing."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES.get(name, "types" if name in _VALUES else "base.errors")
    return getattr(import_module(f"commonplace.{home}"), name)
