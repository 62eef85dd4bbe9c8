"""What the other calls give as text and as plain data: recall, lines of notes, syncs, estimates, states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from commonplace import screen
from commonplace.render.results import count, hit_data
from commonplace.screen import PLAIN, Look
from commonplace.types.results import LEVEL_NAMES

if TYPE_CHECKING:
    from commonplace.types import CollectionInfo, Estimate, Excerpt, Hit, Recall, Status, SyncReport, Written


def recall_data(recall: Recall) -> dict[str, Any]:
    """Return a recall as plain data."""
    return {
        "query": recall.query,
        "text": recall.text,
        "tokens": recall.tokens,
        "all_tokens": recall.all_tokens,
        "budget": recall.budget,
        "level": recall.level,
        "left_out": recall.left_out,
        "repeated": recall.repeated,
        "stale": recall.stale,
        "warnings": list(recall.warnings),
        "hits": [{**hit_data(hit), "layer": layer} for hit, layer in _with_layers(recall)],
    }


def _with_layers(recall: Recall) -> list[tuple[Hit, str]]:
    return list(zip(recall.hits, recall.layers or ("full",) * len(recall.hits), strict=True))


def _by_layer(recall: Recall) -> str:
    """`3 passages, 5 snippets, 12 rows`; what there is none of is left out."""
    layers = [layer for _, layer in _with_layers(recall)]
    told = [
        (layers.count("full"), "passage"),
        (layers.count("snippet"), "snippet"),
        (layers.count("index"), "row"),
    ]
    return ", ".join(count(number, noun) for number, noun in told if number) or count(0, "passage")


def recall_footer(recall: Recall) -> str:
    """Return how much of the budget a recall took, from how many passages, and which level answered."""
    left_out = f", {recall.left_out:,} more did not fit" if recall.left_out else ""
    repeated = f", {recall.repeated:,} said already" if recall.repeated else ""
    parts = [
        f"{recall.tokens:,} of {count(recall.budget, 'token')}",
        f"{_by_layer(recall)}{left_out}{repeated}",
        *([f"all notes: {count(recall.all_tokens, 'token')}"] if recall.all_tokens else []),
        LEVEL_NAMES[recall.level],
    ]
    if recall.stale:
        parts.append(f"stale: {count(recall.stale, 'file')}, run `commonplace sync`")
    return " · ".join(parts)


def excerpt_text(excerpt: Excerpt, *, numbers: bool = True, look: Look = PLAIN) -> str:
    """Render lines of a note, numbered unless that is not wanted."""
    if not numbers:
        return "\n".join(map(screen.clean, excerpt.lines))
    width = len(str(excerpt.end_line))
    numbered = enumerate(excerpt.lines, excerpt.start_line)
    return "\n".join(f"{look.style(f'{n:>{width}}', 'dim')}  {screen.clean(line)}" for n, line in numbered)


def excerpt_data(excerpt: Excerpt) -> dict[str, Any]:
    """Return lines of a note as plain data."""
    return {
        "path": excerpt.path,
        "docid": excerpt.docid,
        "start_line": excerpt.start_line,
        "end_line": excerpt.end_line,
        "total_lines": excerpt.total_lines,
        "lines": list(excerpt.lines),
    }


def written_text(written: Written) -> str:
    """Say where an entry went: `path:12-18`."""
    last = f"-{written.end_line}" if written.end_line != written.start_line else ""
    return f"{screen.one_line(written.path)}:{written.start_line}{last}"


def sync_text(report: SyncReport) -> str:
    """Say on one line what a sync did; on more what went wrong with it."""
    changes = ("added", "changed", "moved", "removed")
    told = [f"{getattr(report, name):,} {name}" for name in changes if getattr(report, name)]
    told = [*told, f"{report.unchanged:,} unchanged"] if report.unchanged else told or ["no notes"]
    if report.embedded or report.reused:
        told.append(f"{count(report.embedded, 'vector')} computed, {report.reused:,} reused")
    if report.pending:
        told.append(f"{report.pending:,} still without a vector")
    why = [f"rebuilt: {report.rebuilt}"] if report.rebuilt else []
    return " · ".join([f"synced in {report.seconds:.1f} s", *why, *told])


def sync_data(report: SyncReport) -> dict[str, Any]:
    """Return what a sync did as plain data."""
    from dataclasses import asdict

    return {**asdict(report), "seconds": round(report.seconds, 3)}


def estimate_text(estimate: Estimate) -> str:
    """Say on one line what a sync would take."""
    fresh = estimate.texts - estimate.known
    if not fresh:
        return f"nothing to embed with {screen.one_line(estimate.model)}"
    told = [f"{count(fresh, 'passage')} to embed with {screen.one_line(estimate.model)}"]
    if estimate.known:
        told.append(f"{estimate.known:,} more are known from the cache")
    if estimate.local:
        told.append("on this machine, at no cost")
    else:
        price = "price unknown" if estimate.dollars is None else f"about ${estimate.dollars:.4f}"
        told.append(f"about {count(estimate.tokens, 'token')}, {price}")
        told += ["by batches"] if estimate.batched else []
    return " · ".join(told)


def estimate_data(estimate: Estimate) -> dict[str, Any]:
    """Return what a sync would take as plain data."""
    from dataclasses import asdict

    return asdict(estimate)


def status_data(status: Status) -> dict[str, Any]:
    """Return the state of a workspace as plain data."""
    from dataclasses import asdict

    return asdict(status)


def status_text(status: Status, look: Look = PLAIN) -> str:
    """Render the state of a workspace as a short table."""
    fresh = f"stale: {count(status.stale, 'file')}" if status.stale else "up to date"
    pending = f", {status.pending:,} to come" if status.pending and status.model != "none" else ""
    rows = [
        ("workspace", screen.one_line(status.workspace)),
        ("index", f"{screen.one_line(status.index)}  {status.index_bytes / 1e6:,.1f} MB, {fresh}"),
        ("answers", f"{LEVEL_NAMES[status.level]}  (level {status.level})"),
        ("model", screen.one_line(status.model)),
        ("holds", f"{count(status.notes, 'note')} · {count(status.sections, 'section')} · "
                  f"{count(status.passages, 'passage')} · {count(status.vectors, 'vector')}{pending}"),
    ]  # fmt: skip
    table = [f"{look.style(name.ljust(11), 'dim')}{value}" for name, value in rows]
    return "\n".join([*table, "", collections_text(status.collections, look)])


def collections_text(collections: Sequence[CollectionInfo], look: Look = PLAIN) -> str:
    """Render collections as a table: name, notes, passages, patterns, folder."""
    table = [("collection", "notes", "passages", "files", "folder")]
    for one in collections:
        patterns = screen.one_line(" ".join([*one.globs, *(f"!{name}" for name in one.ignore)]))
        table.append((one.name, f"{one.notes:,}", f"{one.passages:,}", patterns, screen.one_line(one.root)))
    widths = [max(screen.cells(row[column]) for row in table) for column in range(5)]
    lines = []
    for number, row in enumerate(table):
        fields = [
            cell.rjust(width) if column in (1, 2) else screen.pad(cell, width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "  ".join(fields).rstrip()
        lines.append(look.style(line, "dim") if number == 0 else line)
    return "\n".join(lines)
