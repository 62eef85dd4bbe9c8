"""commonplace: long-term memory for AI agents, in plain Markdown, found again in milliseconds."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.base.errors import (
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
    "NoteNotFound",
    "NoteUnreadable",
    "OutsideRoots",
    "PreviewOutdated",
    "ProviderError",
    "Recall",
    "SearchResult",
    "Selection",
    "Status",
    "SyncReport",
    "UnknownCollection",
    "WorkspaceNotFound",
    "Written",
]
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
    home = "memory" if name == "Memory" else "types" if name in _VALUES else "base.errors"
    return getattr(import_module(f"commonplace.{home}"), name)
