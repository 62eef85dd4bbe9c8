"""Statements corrected, confirmed and forgotten, conflict copies merged, and changes taken back."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import cache, partial
from typing import Any

from commonplace.actions.action import Action, Call, Param, Shown
from commonplace.actions.schema import flag, listed, record, text
from commonplace.base.errors import ConfigError
from commonplace.edit import correct as correcting
from commonplace.edit import merge as merging
from commonplace.edit.resolve import Corpus, located
from commonplace.markdown import metadata
from commonplace.memory import Memory, reviewed
from commonplace.render import count, reports, screen, some
from commonplace.storage import keyvalue, transaction
from commonplace.types import Confirmed, Corrected, Erasure, Provenance, Statement, Undone, cite
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
    found = located(_corpus(call.memory), named, seen) if seen else None
    return cite(*found) if found else named


def _corpus(memory: Memory) -> Corpus:
    return Corpus(memory.workspace, memory.settings, partial(transaction.read, memory.workspace))


def _told(done: Any) -> list[str]:  # noqa: ANN401 - whatever was done
    """Return the warnings of an outcome, and what was redacted of it."""
    redacted = getattr(done, "redacted", ())
    return [*getattr(done, "warnings", ()), *[f"redacted {', '.join(redacted)}"] * bool(redacted)]


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


def waiting(memory: Memory, corpus: Corpus, before: str = "~", *, own: bool = False) -> list[Statement]:
    """Return what agents wrote before a day and what waits; `own`: only statements with a mark themselves."""
    waits = cache(lambda agent: reviewed(memory, Provenance("agent", agent)))
    found = [
        one for path in corpus.paths if b"tentative" in corpus.glance(path).lower()
        for one in corpus.statements(path)
        if (one.struck, one.said.get("status"), one.said.get("by")) == (False, "tentative", "agent")
        and waits(one.said.get("agent", "")) and _day(one) < before
    ]  # fmt: skip
    return [*filter(partial(correcting.is_marked, corpus), found)] if own else found


def _day(statement: Statement) -> str:
    return statement.said.get("at", "")[:10] or metadata.date_of(statement.path) or f"{date.today()}"


def settle(memory: Memory) -> list[Statement]:
    """Count again what waits, as notes are edited by hand; return it."""
    memory.store.written()
    found = waiting(memory, _corpus(memory), own=True)
    value = {"waiting": len(found), "since": min(map(_day, found))} if found else None
    keyvalue.update(memory.workspace, "review", "", lambda _: value)
    return found


def expire(memory: Memory, now: datetime) -> str:
    """Strike what has waited for longer than `remember.review_days`; return what to say of it."""
    days = memory.settings.remember.review_days
    pick = partial(waiting, memory, before=f"{now - timedelta(days):%Y-%m-%d}")
    if not (settle(memory) and days):
        return ""
    why = f"not confirmed within {count(days, 'day')}"
    done = correcting.confirm(memory.workspace, memory.settings, pick, reject=True, why=why, now=now)
    settle(memory)
    return f"{count(len(done.statements), 'statement')} of agents struck: {why}" * bool(done.statements)


def notice(memory: Memory) -> str:
    """Say how many entries of agents wait, and after which day they are struck; empty for none."""
    if (known := keyvalue.read(memory.workspace, "review")) is None:
        return ""
    last = date.fromisoformat(known["since"]) + timedelta(days := memory.settings.remember.review_days)
    waits = count(known["waiting"], "entry of agents waits", "entries of agents wait")
    return f"{waits} for you{f' (struck after {last})' * bool(days)}"


def _confirm(call: Call) -> Shown:
    values, memory, by = call.values, call.memory, call.by
    named, reject = values.get("statement", ""), values.get("reject", False)
    if bool(named) == values.get("all", False):
        raise ConfigError("statement", "name one, or `all` that agents wrote and that waits for you")
    named = named and _located(call, named, values.get("seen", ""))

    def pick(corpus: Corpus) -> list[Statement]:
        if named:
            return correcting.tentative(corpus, named, owner=not by)
        return waiting(memory, corpus, own=not reject)

    why = screen.one_line(values.get("why", ""))
    change = partial(memory.confirm, pick, reject=reject, why=why, now=call.now, provenance=by)
    shown = change(dry_run=True)

    def carry() -> Confirmed:
        done = change(preview=shown)
        settle(memory)
        return done

    if not shown.statements:
        settle(memory)
        return Shown(shown, None, "nothing that agents wrote waits for you")
    title = "Strike it: it turned out to be wrong" if reject else "It holds from now on"
    of_all = f"{'Strike' if reject else 'Confirm'} {count(len(shown.statements), 'statement')} of agents"
    return Shown(shown, carry, *((title, "") if named else (of_all, f"{of_all}?")), shown.diff)


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
    who = {"agent": call.by.agent, "session": call.by.session} if call.by else who

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


_SELECTION = record(
    "kind value", kind={"enum": list(KINDS)}, seen=SEEN,
    value=text("Words, a reference, a path, a name, the id of a session.", least=1, most=MOST_WORDS),
    also=listed(text(least=1, most=200), "Further names of a person.", 20),
)  # fmt: skip
_SELECTIONS = {**listed(_SELECTION, most=MOST_SELECTIONS), "minItems": 1}
RUN = text("The id of a run, or the beginning of it.", most=100)
REQUEST = text("The code of what an agent asks for.", least=1, most=20)


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
    titles = [screen.one_line(f"{one.id}: {one.about.title}") for one in done.runs]
    paths = [", ".join(screen.name(file.path) for file in one.files) for one in done.runs]
    return "\n".join(title + f" ({named})" * bool(named) for title, named in zip(titles, paths, strict=True))


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
        _statement("statement", "REF|WORDS", words=True)._replace(required=False),
        Param("all", flag("All that agents wrote and that waits for you (remember.writes).")),
        Param("reject", flag("Strike it instead: it turned out to be wrong.")),
        _WHY,
    ),
    (_SEEN,), "/api/confirmations", doors=frozenset({"cli", "http", "page", "panel"}),
)  # fmt: skip
FORGET = Action(
    "forget", "Erase what was shown, for good.", _forget, Erasure, _forgotten,
    hidden=(Param("selections", _SELECTIONS), Param("request", REQUEST)), path="/api/forget",
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
