"""The values that travel between layers: frozen, slotted, no behaviour beyond derived attributes.

Fields of public values are described in `docs/python-api.md`.

A dataclass takes most of a millisecond to make, so a search loads the module of its own results alone. Names
are imported from here; the table below says which module defines each.
"""

from __future__ import annotations

from commonplace.types.data import cite as cite

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.types.changes import *  # noqa: F403
    from commonplace.types.events import *  # noqa: F403
    from commonplace.types.imports import *  # noqa: F403
    from commonplace.types.notes import *  # noqa: F403
    from commonplace.types.recall import *  # noqa: F403
    from commonplace.types.reports import *  # noqa: F403
    from commonplace.types.results import *  # noqa: F403

_MODULES = {
    "results": "LEVEL_NAMES Factor Hit Level Mode Place SearchResult",
    "recall": "Recall",
    "notes": "CONVERSATIONS Cited ConversationInfo Excerpt Heading Note Passage Section Statement",
    "events": "Call CompactionEvent MessageEvent SessionEvent Speaker ToolExecution Turn",
    "changes": (
        "About Change ChangedFile Confirmed Corrected Entry Erased Erasure Provenance Run RunKind RunState"
        " Selection Trace Undone Unreachable Writer"
    ),
    "imports": "Description Fact Folder Import ImportedFile ImportedSetting Page Part",
    "reports": (
        "Answer CollectionInfo Estimate FileFailure Finding Gathered Moment NoteInfo NoteUse State"
        " Status SyncReport Timeline Unanswered Usage UsageDay Written"
    ),
}
__all__ = sorted(name for names in _MODULES.values() for name in names.split())


def __getattr__(name: str) -> object:
    """Import the module of a name when the name is first used."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names.split():
            value = globals()[name] = getattr(import_module(f"commonplace.types.{module}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
