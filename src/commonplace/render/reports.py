"""Recalls, notes, changes, the state of a workspace and its use as text.

As JSON they are what `commonplace.types.data.to_data` makes of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from commonplace.base import remedies
from commonplace.render import count, screen
from commonplace.render.hits import INDENT, numbers, passage, stale, to_data, undated
from commonplace.render.screen import PLAIN, Look
from commonplace.types.results import LEVEL_NAMES, WEAKLY, answered_by

if TYPE_CHECKING:
    from commonplace import types

NEVER_SHOWN = 10  # notes that are never found; all of them are a listing of their own
_LONGEST_QUESTION = 100  # cells, where no terminal says how wide it is
_STAMP = 15  # characters of a run's id that say when it was made
_LEFT = {
    "edited": "edited here, and another at the source by now: left as it is",
    "gone": "gone from here, and another at the source by now: not written again",
    "taken": "a note of yours is there already",
}
_COLORS = {"+": "green", "-": "red", "@": "cyan", "#": "dim"}
_STORES = {
    "notes": "notes", "transcripts": "transcripts", "spool": "entries that wait",
    "history": "the record of changes", "usage": "the record of use", "answers": "answers of language models",
    "vectors": "vectors of models", "index": "the index", "marks": "marks of sessions", "logs": "logs",
    "leftovers": "temporary files", "requests": "what agents asked for",
    "copies": "what is kept of the last writes",
}  # fmt: skip
_READ = ("notes", "transcripts", "spool")
_ERASED_CELLS = 100  # cells of a line of a note
_MOST_ERASED = 200  # places of notes that are shown one by one
# The meaning of the weights of a collection.
WEIGHTS = {"own": "ranked as your own notes are", "reference": "your own notes go before it"}


# --- recalls and notes ----------------------------------------------------------------------------------


def recall_data(recall: types.Recall) -> dict[str, Any]:
    """Return a recall as plain data."""
    names = "query text tokens all_tokens budget level left_out repeated tentative stale weak listing"
    return {name: getattr(recall, name) for name in names.split()} | {
        "warnings": list(recall.warnings),
        "hits": [to_data(hit) for hit in recall.hits],
    }


def recall_footer(recall: types.Recall) -> str:
    """Return how much of the budget a recall took, from how many passages, and which level answered."""
    left_out = f", {recall.left_out:,} more did not fit" if recall.left_out else ""
    repeated = f", {recall.repeated:,} said already" if recall.repeated else ""
    parts = [
        f"{recall.tokens:,} of {count(recall.budget, 'token')}",
        f"{count(len(recall.hits), 'passage')}{left_out}{repeated}",
        f"all notes: {count(recall.all_tokens, 'token')}" if recall.all_tokens else "",
        WEAKLY if recall.weak and recall.hits else "",
        answered_by(recall.level, listing=recall.listing),
        stale(recall.stale),
    ]
    return " · ".join(filter(None, parts))


def answer_data(answer: types.Answer) -> dict[str, Any]:
    """Return an answer as plain data, each citation with its number."""
    names = "query text model given weak stale tokens_in tokens_out".split()
    return {name: getattr(answer, name) for name in names} | {
        "invented": list(answer.invented),
        "warnings": list(answer.warnings),
        "citations": [{"number": n, **to_data(hit)} for n, hit in enumerate(answer.citations, 1)],
    }


def answer_text(
    answer: types.Answer, look: Look = PLAIN, locate: Callable[[types.Hit], str] | None = None
) -> str:
    """Render an answer, and below it the place and the date of each citation."""
    lines = [row for _, row in screen.laid_out(answer.text.split("\n"), look.width)]
    lines += [""] if answer.citations else []
    for number, hit in enumerate(answer.citations, 1):
        place = screen.place(hit.path, hit.start_line, hit.end_line)
        linked = look.link(look.style(place, "cyan"), locate(hit) if locate else "", hit.start_line)
        about = " · ".join(filter(None, [hit.date, *hit.standing]))
        lines.append(" ".join(filter(None, [f"[{number}]", linked, screen.one_line(about)])))
    return "\n".join(lines)


def answer_footer(answer: types.Answer) -> str:
    """Return which model answered from how many passages, and what that took."""
    took = f"{count(answer.tokens_in, 'token')} in, {answer.tokens_out:,} out"
    return " · ".join([answer.model, count(answer.given, "passage"), took, *[WEAKLY] * answer.weak])


def excerpt_text(excerpt: types.Excerpt, *, numbers: bool = True, look: Look = PLAIN) -> str:
    """Render lines of a note, with their numbers if wanted; on a terminal they are wrapped."""
    width = len(str(excerpt.end_line))
    beside = width + 2 if numbers else 0
    rows = screen.laid_out(excerpt.lines, None if look.width is None else look.width - beside)
    if not numbers:
        return "\n".join(row for _, row in rows)
    leads = (("" if at is None else str(excerpt.start_line + at), row) for at, row in rows)
    return "\n".join(f"{look.style(lead.rjust(width), 'dim')}  {row}" for lead, row in leads)


def written_text(written: types.Written) -> str:
    """Say where an entry went: `path:12-18`; the path alone where it waits."""
    if not written.start_line:
        return screen.name(written.path)
    return screen.place(written.path, written.start_line, written.end_line)


def extent(size: int, turns: int) -> str:
    """Say how large a note is: a conversation by its turns, any other by its bytes."""
    return count(turns, "turn") if turns else screen.size(size)


def notes_text(notes: Sequence[types.NoteInfo], look: Look = PLAIN, *, numbered: int = 0) -> str:
    """List notes: path, date, size, title; on a terminal paths and titles that are too long are cut.

    There the first ones, `numbered` of them, have their numbers. A conversation has its turns for a size.
    """
    fields = ((note.path, note.date or "", extent(note.size, note.turns), note.title) for note in notes)
    rows = [tuple(map(screen.one_line, row)) for row in fields]
    lead = numbers(min(len(rows), numbered), look)
    beside = len(str(len(lead))) + 1 if any(lead) else 0
    if look.width is not None and rows:
        path, *others, title = (max(map(screen.cells, column)) for column in zip(*rows, strict=True))
        # Cells for a path and a title, with two before each further one.
        room = look.width - beside - sum(others) - 2 * 3
        path = min(path, max(room - title, room * 3 // 5))
        rows = [(screen.middle(row[0], path), *row[1:3], screen.shorten(row[3], room - path)) for row in rows]
    table = screen.table(rows, right=(2,))
    return "\n".join(map("".join, zip_longest(lead, table, fillvalue=" " * beside)))


def gathered_text(gathered: types.Gathered, *, numbers: bool = True, look: Look = PLAIN) -> str:
    """Render several notes, each below a line with its path and its first and last line."""
    blocks = []
    for one in gathered.excerpts:
        head = f"==> {screen.name(one.path)}:{one.start_line}-{one.end_line} <=="
        text = excerpt_text(one, numbers=numbers, look=look)
        blocks.append(f"{look.style(head, 'cyan')}\n{text}".rstrip())
    return "\n\n".join(blocks)


def timeline_text(timeline: types.Timeline, look: Look = PLAIN) -> str:
    """Render the passages around an anchor in order, below a line for each day; the anchor is marked.

    On a terminal each passage has its number.
    """
    lines: list[str] = []
    day = ""
    for moment, number in zip(timeline.moments, numbers(len(timeline.moments), look), strict=True):
        if moment.date != day:
            lines += [*[""] * bool(day), look.style(day := moment.date, "bold")]
        where = look.style(screen.place(moment.path, moment.start_line, moment.end_line), "cyan")
        headings = undated(moment.headings, moment.date, moment.path)
        below = " · ".join([*moment.labels, *([" › ".join(headings)] if headings else [])])
        mark = look.style("▶ ", "match") if moment.is_anchor else INDENT
        rows = passage(moment.text, look, None, None)
        lines.append(f"{number}{mark}{where}{'  ' * bool(below)}{below}")
        lines += [INDENT + row for row in rows if row.strip()]
    return "\n".join(lines)


# --- the index ------------------------------------------------------------------------------------------


def sync_text(report: types.SyncReport) -> str:
    """Say on one line what a sync did; on more what went wrong with it."""
    changes = ("added", "changed", "moved", "removed")
    parts = [f"{getattr(report, name):,} {name}" for name in changes if getattr(report, name)]
    parts += [f"{report.unchanged:,} unchanged"] * bool(report.unchanged)
    vectors = f"{count(report.embedded, 'vector')} computed, {report.reused:,} reused"
    shown = [
        f"synced in {report.seconds:.1f} s",
        f"rebuilt: {report.rebuilt}" if report.rebuilt else "",
        *(parts or ["no notes"]),
        vectors if report.embedded or report.reused else "",
        f"{report.pending:,} still without a vector" if report.pending else "",
    ]
    return " · ".join(filter(None, shown))


def estimate_text(estimate: types.Estimate) -> str:
    """Say on one line what a sync would take."""
    fresh, model = estimate.texts - estimate.known, screen.one_line(estimate.model)
    if not fresh:
        return f"nothing to embed with {model}"
    price = "price unknown" if estimate.dollars is None else f"about ${estimate.dollars:.4f}"
    tokens = f"about {count(estimate.tokens, 'token')}, {price}"
    parts = [
        f"{count(fresh, 'text')} to embed with {model}",
        f"{estimate.known:,} more are known from the cache" if estimate.known else "",
        "on this machine, at no cost" if estimate.local else tokens,
        "by batches" if estimate.batched and not estimate.local else "",
    ]
    return " · ".join(filter(None, parts))


def status_text(status: types.Status, look: Look = PLAIN) -> str:
    """Render the state of a workspace as a short table."""
    fresh = f"stale: {count(status.stale, 'file')}" if status.stale else "up to date"
    fresh = "a sync is running" if status.syncing else fresh
    pending = f", {status.pending:,} to come" if status.pending and status.model != "none" else ""
    size = f"about {count(status.long_term, 'token')}; a session begins with {status.long_term_budget:,}"
    over = ", newest and most used first" * (0 < status.long_term_budget < status.long_term)
    rows = [
        ("workspace", screen.one_line(status.workspace)),
        ("index", f"{screen.one_line(status.index)}  {status.index_bytes / 1e6:,.1f} MB, {fresh}"),
        ("answers", f"{LEVEL_NAMES[status.level]}  (level {status.level})"),
        ("model", screen.one_line(status.model)),
        ("holds", f"{count(status.notes, 'note')} · {count(status.sections, 'section')} · "
                  f"{count(status.passages, 'passage')} · {count(status.vectors, 'vector')}{pending}"),
        ("MEMORY.md", size + over if status.long_term else ""),
        ("asks also", ", ".join(map(screen.one_line, status.others))),
    ]  # fmt: skip
    return "\n".join([_labelled(rows, look), "", collections_text(status.collections, look)])


def _labelled(rows: Iterable[tuple[str, str]], look: Look) -> str:
    """Put labels before lines; a line without text is left out."""
    return "\n".join(f"{look.style(name.ljust(11), 'bold')}{text}" for name, text in rows if text)


def collections_text(collections: Sequence[types.CollectionInfo], look: Look = PLAIN) -> str:
    """Render collections as a table: name, weight, notes, passages, patterns, folder."""
    rows = [("collection", "weight", "notes", "passages", "files", "folder")]
    for one in collections:
        patterns = screen.one_line(" ".join([*one.globs, *(f"!{name}" for name in one.ignore)]))
        numbers = (f"{one.notes:,}", f"{one.passages:,}")
        rows.append((one.name, one.weight, *numbers, patterns, screen.one_line(one.root)))
    return screen.headed(rows, (2, 3), look)


# --- changes --------------------------------------------------------------------------------------------


def log_text(runs: Sequence[types.Run], look: Look = PLAIN) -> str:
    """List runs, a row for each: its id, kind, author, lines, files, what it is and became.

    An id is cut to its time where that names no other run.
    """
    if not runs:
        return ""
    stamps = Counter(run.id[:_STAMP] for run in runs)
    rows = [("run", "kind", "by", "lines", "files", "what")]
    for run in runs:
        name = run.id if stamps[run.id[:_STAMP]] > 1 else run.id[:_STAMP]
        who = screen.shorten(screen.one_line(run.about.agent or run.about.by), 12)
        added, removed = (sum(getattr(file, side) for file in run.files) for side in ("added", "removed"))
        flags = ((run.state != "done", run.state), (run.undone, "undone"), (not run.kept, "cannot be undone"))
        marks = ", ".join(mark for flag, mark in flags if flag)
        what = (f"({marks}) " if marks else "") + screen.one_line(run.about.title)
        changes = (f"+{added} -{removed}", str(len(run.files)))
        rows.append((name, screen.one_line(run.about.kind), who, *changes, what))
    return "\n".join(map(look.fit, screen.table(rows, (3, 4))))


def run_text(run: types.Run, look: Look = PLAIN) -> str:
    """Tell all that is known of a run but its diff."""
    about = run.about
    author = " ".join(filter(None, [about.by, about.agent]))
    author += f", session {about.session}" if about.session else ""
    state = run.state if run.kept else f"{run.state}; what was there before is not kept"
    rows = [
        ("run", run.id), ("when", run.at.replace("T", " ", 1)), ("what", about.title), ("kind", about.kind),
        ("by", author), ("why", about.why), ("state", state), ("undoes", about.undoes),
        ("undone", run.undone and f"by {run.undone}"), ("commit", run.commit), ("git", run.uncommitted),
    ]  # fmt: skip
    for at, file in enumerate(run.files):
        made = "made by it" if not file.before else "removed by it" if not file.after else ""
        lines = f"{screen.name(file.path)}  +{file.added} -{file.removed}"
        rows.append(("" if at else "file", ", ".join(filter(None, (lines, made, file.left)))))
    shown = [(name, screen.one_line(text)) for name, text in rows if text]
    return "\n".join(f"{look.style(name.ljust(6), 'bold')}  {text}" for name, text in shown)


def diff_text(diff: str, look: Look = PLAIN) -> str:
    """Colour a unified diff."""
    colors = {"--- ": "bold", "+++ ": "bold"}
    lines = ((line, colors.get(line[:4]) or _COLORS.get(line[:1])) for line in diff.split("\n"))
    return "\n".join(look.style(line, color) if color else line for line, color in lines)


def import_text(done: types.Import, look: Look = PLAIN) -> str:
    """List what an import wrote, or would write: notes, collections and contexts that are not as before."""
    rows = []
    for file in done.files:
        counts = (("new", file.added), ("updated", file.updated), ("removed", file.removed))
        told = ", ".join(f"{number:,} {what}" for what, number in counts if number)
        rows.append((file.path, file.outcome, told or _LEFT.get(file.outcome, "")))
    for setting in done.settings:
        text = "described otherwise here, left as it is" if setting.outcome == "edited" else setting.value
        rows.append((f"{setting.kind} {setting.name or '(all)'}", setting.outcome, text))
    lines = screen.table([tuple(map(screen.one_line, row)) for row in rows if row[1] != "same"])
    return "\n".join(map(look.fit, lines))


def import_outcome(done: types.Import) -> str:
    """Say in one line what an import came to, or would come to."""
    names = ("added", "updated", "removed", "differs")
    entries, updated, removed, differs = (sum(getattr(file, name) for file in done.files) for name in names)
    written = sum(file.outcome in ("new", "changed") or bool(file.added) for file in done.files)
    kinds = Counter(setting.kind for setting in done.settings if setting.outcome == "new")
    told = [
        f"{count(entries, 'entry', 'entries')} in {count(written, 'note')}" if entries else "",
        f"{updated:,} updated" if updated else "",
        f"{removed:,} removed" if removed else "",
        *(count(number, kind) for kind in ("collection", "context") if (number := kinds[kind])),
        f"{differs:,} differ and were left" if differs else "",
    ]
    return f"{done.source}: {', '.join(filter(None, told)) or 'nothing new'}"


def corrected_text(done: types.Corrected) -> str:
    """Say what was struck, and where the new statement stands."""
    struck = f"struck {', '.join(map(screen.one_line, done.struck))}"
    return f"{struck}; {screen.one_line(done.written)} stands instead" if done.written else struck


def confirmed_text(done: types.Confirmed) -> str:
    """Say what holds from now on, or was struck."""
    places = ", ".join(map(screen.one_line, done.statements))
    return f"{'rejected' if done.rejected else 'confirmed'} {places}"


def cited_text(statements: Sequence[types.Cited], look: Look = PLAIN, *, numbered: bool = False) -> str:
    """List statements with where they stand, a line each; `numbered` from 1, to choose by."""
    lines = (f"{screen.name(one.citation)}  {screen.one_line(one.text)}" for one in statements)
    return "\n".join(look.fit(f"{n:>3}  {line}" if numbered else line) for n, line in enumerate(lines, 1))


def erasure_text(erasure: types.Erasure, look: Look = PLAIN) -> str:
    """Return what goes or went: notes line by line, other stores by their counts, then what is left to do."""
    stores: Counter[str] = Counter()
    for place in erasure.places:
        if place.where != "notes":
            stores[f"{_STORES[place.where]} ({screen.name(place.path)})"] += place.count
    lines = [*_erased_notes(erasure.places, look), *(f"{name}: {number}" for name, number in stores.items())]
    beyond = [f"{one.what}: {one.remedy}" for one in erasure.unreachable]
    left = [f"{screen.name(trace.path)}: {trace.remedy or 'look there'}" for trace in erasure.left]
    for title, texts in (("cannot be reached from here:", beyond), ("still found:", left)):
        lines += ["", look.style(title, "bold")] if texts else []
        lines += [row for text in texts for row in screen.wrapped(text, look, "  ", 2, hang=2)]
    return "\n".join(lines)


def _erased_notes(places: Sequence[types.Erased], look: Look) -> Iterator[str]:
    notes = [place for place in places if place.where == "notes"]
    width = _ERASED_CELLS if look.width is None else min(_ERASED_CELLS, look.width - 2)
    for place in notes[:_MOST_ERASED]:
        yield look.style(screen.name(place.citation), "bold")
        for line in place.text.splitlines():
            if line.strip():
                yield f"  {screen.shorten(screen.one_line(line), width)}"
        if place.rest:
            yield f"  → {screen.shorten(screen.one_line(place.rest), width - 2)}"
    if len(notes) > _MOST_ERASED:
        yield f"and {len(notes) - _MOST_ERASED} more places in notes"


def erasure_count(places: Sequence[types.Erased]) -> str:
    """How much it is as a person counts: what notes, transcripts and entries say; the rest is made of it."""
    read = sum(place.count for place in places if place.where in _READ)
    made = any(place.where not in _READ for place in places)
    from_it = f"what was made from {'them' if read > 1 else 'it'}"
    return " and ".join([*[count(read, "place")] * bool(read), *[from_it] * (made or not read)])


# --- use ------------------------------------------------------------------------------------------------


def usage_text(usage: types.Usage, look: Look = PLAIN) -> str:
    """Render questions and their results as short tables."""
    blocks = [_labelled(_usage_rows(usage), look)]
    days = [(d.date, f"{d.searches:,}", f"{d.recalls:,}", f"{d.gets:,}") for d in usage.days[-14:]]
    found = [(f"{use.found:,}", f"{use.opened:,}", screen.name(use.path)) for use in usage.most_found]
    width = _LONGEST_QUESTION if look.width is None else max(10, look.width - 20)
    unanswered = [
        (f"{one.times:,}", one.last, screen.shorten(screen.one_line(one.question), width) or "-")
        for one in usage.unanswered
    ]
    never, notes = usage.never_found, usage.never_found[:NEVER_SHOWN]
    unread = [(one.date or "", screen.size(one.size), screen.name(one.path)) for one in notes]
    title = f"never found ({len(never):,}, {screen.size(sum(one.size for one in never))})"
    for head, right, rows in (
        (("day", "searches", "recalls", "gets"), (1, 2, 3), days if usage.questions else []),
        (("found", "opened", "most often found"), (0, 1), found),
        (("times", "last", "found nothing"), (0,), unanswered),
        (("date", "size", title), (1,), unread),
    ):
        if rows:
            blocks.append(screen.headed([head, *rows], right, look))
    if len(never) > len(notes):
        blocks[-1] += f"\n… and {len(never) - len(notes):,} more: {remedies.say('usage.never')}"
    return "\n\n".join(blocks)


def _usage_rows(usage: types.Usage) -> Iterable[tuple[str, str]]:
    if not usage.recording:
        yield "off", "usage.record is false: nothing is recorded"
    yield "record", screen.one_line(usage.store) + (f", since {usage.since}" if usage.since else ", empty")
    if usage.questions:
        nouns = (("searches", "search"), ("recalls", "recall"), ("gets", "get"))
        asked = [count(sum(getattr(day, name) for day in usage.days), noun, name) for name, noun in nouns]
        yield "asked", f"{' · '.join(asked)} · median {usage.median_ms:.0f} ms"
        yield "answered", _share(usage.answered, usage.questions)
        if usage.answered:
            yield "opened", _share(usage.opened, usage.answered)
        yield "tokens", f"{usage.tokens:,} given, of {usage.all_tokens:,} with all notes each time"
    if usage.given:
        yield "used", f"{_share(usage.used, usage.given)} of the blocks that prompts were given"
    if usage.late:
        yield "too late", f"{count(usage.late, 'answer')} of hooks came after their deadline"


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({part / max(1, whole):.0%})"
