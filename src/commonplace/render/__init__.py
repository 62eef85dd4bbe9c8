"""Results at every edge: text, JSON, CSV, Markdown, XML, lists of files.

A search loads the module that it prints with and no other; names are imported from here as if they all
stood in one module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# fmt: off
if TYPE_CHECKING:
    from commonplace.render.briefs import (
        ROW_TOKENS,
        Row,
        row,
        row_data,
        rows,
    )
    from commonplace.render.corrections import (
        cited_data,
        cited_text,
        confirmed_data,
        confirmed_text,
        corrected_data,
        corrected_text,
    )
    from commonplace.render.listings import (
        ANCHOR,
        gathered_data,
        gathered_text,
        notes_data,
        notes_text,
        timeline_data,
        timeline_text,
    )
    from commonplace.render.reports import (
        collections_text,
        estimate_data,
        estimate_text,
        excerpt_data,
        excerpt_text,
        recall_data,
        recall_footer,
        status_data,
        status_text,
        sync_data,
        sync_text,
        written_text,
    )
    from commonplace.render.results import (
        INDENT,
        NOT_XML,
        PASSAGE_ROWS,
        SEARCH_FORMATS,
        XML_ATTRIBUTE,
        Locate,
        about,
        count,
        explanation,
        footer,
        headline,
        hit_data,
        hits,
        hits_csv,
        hits_files,
        hits_markdown,
        hits_text,
        hits_xml,
        nowhere,
        passage,
        place,
        shares,
        timings,
        to_json,
        xml_text,
    )
    from commonplace.render.revisions import (
        diff_text,
        log_text,
        run_data,
        run_text,
        short_names,
    )
    from commonplace.render.usage import (
        NEVER_SHOWN,
        usage_data,
        usage_text,
    )

__all__ = [
    "ANCHOR",
    "INDENT",
    "NEVER_SHOWN",
    "NOT_XML",
    "PASSAGE_ROWS",
    "ROW_TOKENS",
    "SEARCH_FORMATS",
    "XML_ATTRIBUTE",
    "Locate",
    "Row",
    "about",
    "cited_data",
    "cited_text",
    "collections_text",
    "confirmed_data",
    "confirmed_text",
    "corrected_data",
    "corrected_text",
    "count",
    "diff_text",
    "estimate_data",
    "estimate_text",
    "excerpt_data",
    "excerpt_text",
    "explanation",
    "footer",
    "gathered_data",
    "gathered_text",
    "headline",
    "hit_data",
    "hits",
    "hits_csv",
    "hits_files",
    "hits_markdown",
    "hits_text",
    "hits_xml",
    "log_text",
    "notes_data",
    "notes_text",
    "nowhere",
    "passage",
    "place",
    "recall_data",
    "recall_footer",
    "row",
    "row_data",
    "rows",
    "run_data",
    "run_text",
    "shares",
    "short_names",
    "status_data",
    "status_text",
    "sync_data",
    "sync_text",
    "timeline_data",
    "timeline_text",
    "timings",
    "to_json",
    "usage_data",
    "usage_text",
    "written_text",
    "xml_text",
]

_MODULES = {
    "briefs": {
        "ROW_TOKENS", "Row", "row", "row_data", "rows",
    },
    "corrections": {
        "cited_data", "cited_text", "confirmed_data", "confirmed_text", "corrected_data", "corrected_text",
    },
    "listings": {
        "ANCHOR", "gathered_data", "gathered_text", "notes_data", "notes_text", "timeline_data",
        "timeline_text",
    },
    "reports": {
        "collections_text", "estimate_data", "estimate_text", "excerpt_data", "excerpt_text",
        "recall_data", "recall_footer", "status_data", "status_text", "sync_data", "sync_text",
        "written_text",
    },
    "results": {
        "INDENT", "Locate", "NOT_XML", "PASSAGE_ROWS", "SEARCH_FORMATS", "XML_ATTRIBUTE",
        "about", "count", "explanation", "footer", "headline", "hit_data", "hits", "hits_csv",
        "hits_files", "hits_markdown", "hits_text", "hits_xml", "nowhere", "passage", "place",
        "shares", "timings", "to_json", "xml_text",
    },
    "revisions": {
        "diff_text", "log_text", "run_data", "run_text", "short_names",
    },
    "usage": {
        "NEVER_SHOWN", "usage_data", "usage_text",
    },
}
# fmt: on


def __getattr__(name: str) -> object:
    """Import a name's module when the name is first used."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"commonplace.render.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
