"""The values that travel between layers: frozen, slotted, no behaviour beyond derived attributes.

Making a dataclass costs most of a millisecond, so a search loads only those it returns; names are imported
from here as if they all stood in one module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.types.conversation import (
        Call,
        CompactionEvent,
        MessageEvent,
        SessionEvent,
        Speaker,
        ToolExecution,
        Turn,
    )
    from commonplace.types.corrections import Confirmed, Corrected
    from commonplace.types.entries import Entry, Provenance, Writer
    from commonplace.types.erasure import Erased, Erasure, Selection, Trace, Unreachable
    from commonplace.types.findings import Finding, State
    from commonplace.types.listings import Gathered, Moment, NoteInfo, Timeline
    from commonplace.types.notes import Heading, Note, NoteKind, Passage, Section
    from commonplace.types.reports import (
        CollectionInfo,
        Estimate,
        Excerpt,
        FileFailure,
        Recall,
        Status,
        SyncReport,
        Written,
    )
    from commonplace.types.results import LEVEL_NAMES, Factor, Hit, Level, Mode, Place, SearchResult
    from commonplace.types.revisions import (
        About,
        Change,
        ChangedFile,
        Run,
        RunKind,
        RunState,
    )
    from commonplace.types.statements import Cited, Statement
    from commonplace.types.usage import NoteUse, Unanswered, Usage, UsageDay

__all__ = [
    "LEVEL_NAMES",
    "About",
    "Call",
    "Change",
    "ChangedFile",
    "Cited",
    "CollectionInfo",
    "CompactionEvent",
    "Confirmed",
    "Corrected",
    "Entry",
    "Erased",
    "Erasure",
    "Estimate",
    "Excerpt",
    "Factor",
    "FileFailure",
    "Finding",
    "Gathered",
    "Heading",
    "Hit",
    "Level",
    "MessageEvent",
    "Mode",
    "Moment",
    "Note",
    "NoteInfo",
    "NoteKind",
    "NoteUse",
    "Passage",
    "Place",
    "Provenance",
    "Recall",
    "Run",
    "RunKind",
    "RunState",
    "SearchResult",
    "Section",
    "Selection",
    "SessionEvent",
    "Speaker",
    "State",
    "Statement",
    "Status",
    "SyncReport",
    "Timeline",
    "ToolExecution",
    "Trace",
    "Turn",
    "Unanswered",
    "Unreachable",
    "Usage",
    "UsageDay",
    "Writer",
    "Written",
]

_MODULES = {
    "conversation": {
        "Call",
        "CompactionEvent",
        "MessageEvent",
        "SessionEvent",
        "Speaker",
        "ToolExecution",
        "Turn",
    },
    "corrections": {"Confirmed", "Corrected"},
    "entries": {"Entry", "Provenance", "Writer"},
    "erasure": {"Erased", "Erasure", "Selection", "Trace", "Unreachable"},
    "findings": {"Finding", "State"},
    "listings": {"Gathered", "Moment", "NoteInfo", "Timeline"},
    "notes": {"Heading", "Note", "NoteKind", "Passage", "Section"},
    "results": {"LEVEL_NAMES", "Factor", "Hit", "Level", "Mode", "Place", "SearchResult"},
    "reports": {
        "CollectionInfo",
        "Estimate",
        "Excerpt",
        "FileFailure",
        "Recall",
        "Status",
        "SyncReport",
        "Written",
    },
    "revisions": {"About", "Change", "ChangedFile", "Run", "RunKind", "RunState"},
    "statements": {"Cited", "Statement"},
    "usage": {"NoteUse", "Unanswered", "Usage", "UsageDay"},
}


def __getattr__(name: str) -> object:
    """Import a name's module when the name is first used."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"commonplace.types.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
