"""Statements corrected, confirmed and forgotten, conflict copies merged, and changes taken back."""

from __future__ import annotations

from functools import partial
from typing import Any

from commonplace.actions.action import Action, Call, Param, Shown
from commonplace.actions.schema import Schema, flag, listed, record, text
from commonplace.base.errors import ConfigError
from commonplace.edit import merge as merging
from commonplace.edit.resolve import Corpus, located
from commonplace.render import count, reports, screen, some
from commonplace.storage.transaction import read
from commonplace.types import Confirmed, Corrected, Erasure, Undone, cite
from commonplace.types.changes import UNNAMED

MOST_WORDS, MOST_SEEN, MOST_SELECTIONS = 10_000, 100_000, 50
KINDS = ("text", "lines", "note", "person", "session")
SEEN = text(
    "The lines that were read there. Where others stand there by now, these are meant.", most=MOST_SEEN
)
_WHY = Param("why", text("The reason, for the record.", most=500))
_SEEN = Param("seen", SEEN)


def _statement(name: str, metavar: str, *, words: bool = False) -> Param:
    about = text("Its words, or a reference to it.", least=1, most=MOST_WORDS)
    return Param(name, about, True, metavar, words, "notes")


def _located(call: Call, named: str, seen: str) -> str:
    """Return what is named, or where lines that were seen there stand by now. Raises StatementNotFound."""
    workspace = call.memory.workspace
    corpus = Corpus(workspace, call.memory.settings, partial(read, workspace)) if seen else None
    found = located(corpus, named, seen) if corpus else None
    return cite(*found) if found else named


def _told(done: Any) -> list[str]:  # noqa: ANN401 - whatever was done
    """Return the warnings of an outcome, and what was redacted of it."""
    redacted = getattr(done, "redacted", ())
    return [*getattr(done, "warnings", ()), *[f"redacted {', '.join(redacted)}"] * bool(redacted)]


# --- corrected, confirmed -------------------------------------------------------------------------------


def _correct(call: Call) -> Shown:
    values = call.values
    old, new = _located(call, values["old"], values.get("seen", "")), values.get("new", "")
    why = screen.one_line(values.get("why", ""))
    change = partial(call.memory.correct, old, new, why=why, now=call.now, provenance=call.by)
    shown = change(dry_run=True)
    struck = count(len(shown.struck), "statement")
    question = f"Strike {struck}?" if len(shown.struck) > 1 else ""
    return Shown(shown, partial(change, preview=shown), f"Correct {struck}", question, shown.diff)


def _also(done: Corrected) -> list[str]:
    similar = reports.cited_text(done.similar)
    return [*_told(done), *[f"still said nearly so: {line}" for line in similar.splitlines()]]


def _confirm(call: Call) -> Shown:
    values = call.values
    named, reject = _located(call, values["statement"], values.get("seen", "")), values.get("reject", False)
    why = screen.one_line(values.get("why", ""))
    change = partial(call.memory.confirm, named, reject=reject, why=why, now=call.now, provenance=call.by)
    shown = change(dry_run=True)
    title = "Strike it: it turned out to be wrong" if shown.rejected else "It holds from now on"
    return Shown(shown, partial(change, preview=shown), title, "", shown.diff)


# --- forgotten ------------------------------------------------------------------------------------------


def _forget(call: Call) -> Shown:
    from commonplace.edit.forget import requests, selection
    from commonplace.types import Selection

    memory, values = call.memory, call.values
    if ("request" in values) == ("selections" in values):
        raise ConfigError("selections", "name selections, or the request of an agent")
    chosen = [
        selection.of_reference(_located(call, one["value"], one.get("seen", "")))
        if one["kind"] in ("lines", "note")
        else Selection(one["kind"], one["value"], tuple(one.get("also", ())))
        for one in values.get("selections", ())
    ]
    request = None if chosen else requests.find(memory.workspace, values["request"])
    shown = memory.forget(request.preview if request else chosen, dry_run=True)
    who: Any = {"agent": request.agent or UNNAMED, "session": request.session} if request else {}
    if call.by:
        who = {"agent": call.by.agent, "session": call.by.session}

    def carry() -> Erasure:
        done = memory.forget(shown, **who)
        if request:
            requests.remove(memory.workspace, request)
        return done

    listing = partial(reports.erasure_text, shown)
    if not shown.places:
        elsewhere = " in this workspace; what is named above is not ours to delete" * bool(shown.unreachable)
        return Shown(shown, None, f"nothing of it is found{elsewhere}", text=listing)
    title = f"Forget {reports.erasure_count(shown.places)} for good"
    return Shown(shown, carry, title, f"{title}? It cannot be undone.", text=listing)


def _forgotten(done: Erasure) -> str:
    if done.left:
        return f"still found in {count(len(done.left), 'file')}; the rest is forgotten"
    here = " here" if any(one.what.startswith("collection ") for one in done.unreachable) else ""
    return f"forgot {reports.erasure_count(done.places)}; nothing of it is found{here} any more"


def _selections() -> Schema:
    one = record(
        "kind value",
        kind={"enum": list(KINDS)},
        value=text("Words, a reference, a path, a name, the id of a session.", least=1, most=MOST_WORDS),
        seen=SEEN,
        also=listed(text(least=1, most=200), "Further names of a person.", 20),
    )
    return {**listed(one, most=MOST_SELECTIONS), "minItems": 1}


RUN = text("The id of a run, or the beginning of it.", most=100)
REQUEST = text("The code of what an agent asks for.", least=1, most=20)


# --- merged, taken back ---------------------------------------------------------------------------------


def _merge(call: Call) -> Shown:
    memory, copy = call.memory, call.values.get("copy", "")
    found = merging.find(memory.workspace, memory.settings)
    if not (found or copy):
        return Shown(merging.Merge("", ""), None, "there are no conflict copies")
    planned = merging.plan(memory.workspace, memory.settings, copy or next(iter(found)))

    def carry() -> merging.Merge:
        merging.apply(memory.workspace, memory.settings, planned)
        memory.store.written()
        return planned

    question = f"Merge {screen.name(planned.copy)} and delete it?"
    of_all = [f"the first of {len(found)} conflict copies"] if len(found) > 1 and not copy else []
    return Shown(planned, carry, _merged(planned), question, planned.diff, remarks=of_all)


def _merged(merge: merging.Merge) -> str:
    counts = (
        (merge.added, "new"), (merge.struck, "struck"),
        (merge.dropped, "left out that this machine took out"),
        (merge.differing, "changed on both machines: delete the version that does not hold"),
        (merge.uncertain, "deleted on the other machine or put in by hand"),
    )  # fmt: skip
    told = ", ".join(f"{number:,} {done}" for number, done in counts if number)
    return f"{screen.name(merge.copy)} into {screen.name(merge.note)}: {told or 'nothing new'}"


def _undo(call: Call) -> Shown:
    memory, run, since = call.memory, call.values.get("run", ""), call.values.get("since", False)
    if since and not run:
        raise ConfigError("since", "needs the run to begin with")
    shown = memory.undo(run, since=since, dry_run=True)
    agent = call.by.agent if call.by else ""
    carry = partial(memory.undo, shown.runs[-1].id, since=since, preview=shown, agent=agent)
    question = f"Take back {some([screen.one_line(one.about.title) for one in shown.runs])}?"
    return Shown(shown, carry, question.removesuffix("?"), question, shown.diff, remarks=shown.skipped)


def _undone(done: Undone) -> str:
    lines = []
    for one in done.runs:
        paths = ", ".join(screen.name(file.path) for file in one.files)
        lines.append(screen.one_line(f"{one.id}: {one.about.title}") + (f" ({paths})" if paths else ""))
    return "\n".join(lines)


def _beside_undone(done: Undone) -> list[str]:
    told = [one.uncommitted for one in done.runs if one.uncommitted]
    told += [f"{kind} {name or '(all)'} is removed; its files are untouched" for kind, name in done.withdrawn]
    if done.lacking:
        these = count(done.lacking, "collection or context", "collections and contexts")
        told.append(f"{these} of that import stay away: only notes come back; import it again to add them")
    return told


CORRECT = Action(
    "correct", "Strike a statement and put the right one beside.", _correct, Corrected,
    reports.corrected_text,
    (
        _statement("old", "OLD"),
        Param("new", text("Empty: only strike.", most=MOST_WORDS), metavar="NEW", without="nothing"),
        _WHY,
    ),
    (_SEEN,), "/api/corrections", preview="Show what a correction would change.", beside=_also,
)  # fmt: skip
CONFIRM = Action(
    "confirm", "Let a tentative statement hold, or strike it.", _confirm, Confirmed, reports.confirmed_text,
    (
        _statement("statement", "REF|WORDS", words=True),
        Param("reject", flag("Strike it instead: it turned out to be wrong.")),
        _WHY,
    ),
    (_SEEN,), "/api/confirmations",
)  # fmt: skip
FORGET = Action(
    "forget", "Erase what was shown, for good.", _forget, Erasure, _forgotten,
    hidden=(Param("selections", _selections()), Param("request", REQUEST)), path="/api/forget",
    beside=lambda done: [f"{screen.name(one.path)}: {one.remedy or 'look there'}" for one in done.left],
    preview="Show every place that would go.", final=True, owner=True, doors=frozenset({"http"}),
    fails=lambda done: bool(done.left),
)  # fmt: skip
MERGE = Action(
    "merge", "Merge a conflict copy of a sync program into its note, and delete it.", _merge, merging.Merge,
    _merged,
    (Param("copy", text("Its path; without it the first.", most=1000), metavar="COPY", completes="notes"),),
    path="/api/merge", owner=True, doors=frozenset({"cli", "http", "page", "panel"}),
)  # fmt: skip
UNDO = Action(
    "undo", "Take generated changes back.", _undo, Undone, _undone,
    (
        Param("run", RUN, metavar="RUN", completes="runs"),
        Param("since", flag("Take back all that was generated after it as well, newest first.")),
    ),
    path="/api/undo", preview="Show what undoing would change.", beside=_beside_undone, owner=True,
    reopens=lambda done: bool(done.withdrawn),
)  # fmt: skip
ACTIONS = (CORRECT, CONFIRM, FORGET, MERGE, UNDO)
