"""Read operations: searches, notes, days, sessions, use, the state of all of it."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from commonplace.agent import receipts
from commonplace.base import clock
from commonplace.memory import draft, listing, picture, question_words
from commonplace.providers import costs
from commonplace.servers.api import schema
from commonplace.servers.api.operations import Operation, OperationCall
from commonplace.servers.api.schema import answer, flag, listed, number, text
from commonplace.types import Excerpt, Finding, NoteInfo, Recall, SearchResult, Status, Timeline, Turn, Usage
from commonplace.types.data import to_data
from commonplace.types.results import MODES, Hit
from commonplace.upkeep import activity, following

if TYPE_CHECKING:
    from commonplace.types import State

_LONGEST = 10_000  # characters of a question
_MOST_HITS, _MOST_NOTES, _MOST_AROUND, _MOST_ACTIVITIES = 100, 5000, 50, 200
_QUESTION = text("The question, as `commonplace search` takes it.", least=1, most=_LONGEST)
_COLLECTIONS = listed(text(most=200), "Only in these collections.", 50)
_AS_OF = text("What held at the end of that day, in any words for it.", most=100)
_REFERENCE = text("`path`, `path#L12-L18`, `#docid`, `[[Note#Part]]`.", least=1, most=1000)
_HIT = {**schema.parts(Hit), "workspace": text("Where several workspaces are asked: which one it is from.")}
_FACTOR = schema.record("name value", name=text(), value={"type": "number"}, note=text())
_RESULT = "query level stale warnings timings_ms all_tokens expanded confidence weak listing mode tokens"


def _hit(**more: schema.Schema) -> schema.Schema:
    needed = " ".join([*(name for name in _HIT if name != "workspace"), *more])
    return schema.record(needed, **_HIT, **more)


# --- searches -------------------------------------------------------------------------------------------


def _search(call: OperationCall) -> object:
    from commonplace.render.hits import to_data

    values = call.values
    search = partial(draft, call.memory) if values.get("draft") else call.memory.search
    result = search(
        values["q"],
        collections=values.get("collections", ()),
        **call.given("limit", "mode", "history", "as_of", "strict"),
    )
    shown = {name: getattr(result, name) for name in _RESULT.split()}
    words = list(dict.fromkeys(question_words(values["q"])))
    return {**shown, "words": words, "hits": [to_data(hit, explain=True) for hit in result.hits]}


def _recall(call: OperationCall) -> object:
    from commonplace.render.reports import recall_data

    return recall_data(
        call.memory.recall(
            call.values["q"],
            collections=call.values.get("collections", ()),
            **call.given("budget", "as_of", "strict"),
        )
    )


_RECALL = "query text tokens all_tokens budget level left_out repeated tentative stale weak listing warnings"
SEARCHES = (
    Operation(
        "GET", "/api/search", "search", "Find the passages that answer a question, best first.", _search,
        answer(
            **schema.parts(SearchResult, _RESULT),
            words=listed(text("Of the question, to be marked in passages.")),
            hits=listed(_hit(factors=listed(_FACTOR))),
        ),
        {
            "q": _QUESTION, "limit": number(1, _MOST_HITS), "mode": {"enum": list(MODES)},
            "collections": _COLLECTIONS, "history": flag("Struck statements too."), "as_of": _AS_OF,
            "strict": flag("Nothing rather than hits of which none clearly answers."),
            "draft": flag("It is still typed: not recorded; no other machine and no reranker is asked."),
        },
        required=("q",), refusals=(404, 503),
    ),
    Operation(
        "GET", "/api/recall", "recall", "Compose the block for a prompt, inside a budget of tokens.", _recall,
        answer(**schema.parts(Recall, _RECALL), hits=listed(_hit())),
        {
            "q": text("The message; it is words alone.", least=1, most=_LONGEST),
            "budget": number(1, 1_000_000, "Tokens."), "collections": _COLLECTIONS,
            "as_of": _AS_OF,
            "strict": flag("Nothing rather than passages of which none clearly answers."),
        },
        required=("q",), refusals=(404, 503),
    ),
)  # fmt: skip


# --- notes and days -------------------------------------------------------------------------------------


def _picture(call: OperationCall) -> object:
    import base64

    kind, data = picture(call.memory, call.values["note"], call.values["name"])
    return {"type": kind, "data": base64.b64encode(data).decode()}


def _notes(call: OperationCall) -> object:
    notes, warnings = listing(call.memory, call.values.get("under", ""))
    most = call.values.get("limit", _MOST_NOTES)
    newest = sorted(notes, key=lambda one: one.date or "", reverse=True) if "newest" in call.values else notes
    return {"notes": newest[:most], "total": len(notes), "warnings": warnings}


NOTES = (
    Operation(
        "GET", "/api/note", "get", "Read lines of a note, private parts blank and secrets redacted.",
        lambda call: call.memory.get(call.values["reference"]), schema.of(Excerpt),
        {"reference": _REFERENCE},
        required=("reference",), refusals=(404, 409), lane="light",
    ),
    Operation(
        "GET", "/api/picture", "picture", "Read a picture that a note shows.", _picture,
        answer(type=text("PNG, JPEG, GIF or WebP, by what the file holds."), data=text("Base64.")),
        {
            "note": text("The path of the note.", least=1, most=1000),
            "name": text("As the note names it, or the end of its path.", least=1, most=1000),
        },
        required=("note", "name"), refusals=(404, 409), lane="light",
    ),
    Operation(
        "GET", "/api/notes", "notes", "List notes, all or those below a folder or of a collection.", _notes,
        answer(notes=listed(schema.of(NoteInfo)), total={"type": "integer"}, warnings=listed(text())),
        {
            "under": text("A folder, a collection, or a glob.", most=1000),
            "limit": number(1, _MOST_NOTES), "newest": flag("In the order of their days, newest first."),
        },
        refusals=(503,), lane="light",
    ),
    Operation(
        "GET", "/api/timeline", "timeline", "Show what surrounds a day or a passage in time.",
        lambda call: call.memory.timeline(call.values["anchor"], **call.given("before", "after")),
        schema.of(Timeline),
        {
            "anchor": text("A day in any words for it, or a reference.", least=1, most=1000),
            "before": number(0, _MOST_AROUND), "after": number(0, _MOST_AROUND),
        },
        required=("anchor",), refusals=(404, 503), lane="light",
    ),
)  # fmt: skip


# --- sessions -------------------------------------------------------------------------------------------


def _sessions(call: OperationCall) -> object:
    most = call.values.get("limit", _MOST_NOTES)
    return [
        to_data(one) | {"written": datetime.fromtimestamp(one.written).isoformat(timespec="minutes")}
        for one in following.sessions(call.memory)[:most]
    ]


def _session(call: OperationCall) -> object:
    messages = following.read(call.memory, call.values["id"], call.values.get("last", 500))
    return [{"line": one.line, **to_data(one.turn)} for one in messages]


SESSIONS = (
    Operation(
        "GET", "/api/sessions", "sessions", "List transcripts, those written to last first.", _sessions,
        listed(answer(**{**schema.parts(following.Session), "written": text("To the minute, here.")})),
        {"limit": number(1, _MOST_NOTES)}, lane="light",
    ),
    Operation(
        "GET", "/api/session", "session", "Read the messages of a transcript, the last 500 unless said.",
        _session, listed(answer(line={"type": "integer"}, **schema.parts(Turn))),
        {"id": text("As the list names it.", least=1, most=1000), "last": number(1, 100_000)},
        required=("id",), refusals=(404, 409), lane="light",
    ),
)  # fmt: skip


# --- the state of it ------------------------------------------------------------------------------------


def _costs(call: OperationCall) -> object:
    from datetime import date, timedelta

    days = call.values.get("days")
    since = clock.began(date.today() - timedelta(days - 1)) if days else 0.0
    ledger = costs.Ledger(call.memory.workspace.ledger)
    return [row._asdict() for row in ledger.costs(call.values.get("by", "day"), since)]


def _health(call: OperationCall) -> object:
    findings = list(call.examine(call.values.get("online", False)))
    counts = {state: sum(one.state == state for one in findings) for state in _STATES}
    return {"ok": not counts["wrong"], "counts": counts, "findings": findings}


_STATES: tuple[State, ...] = ("ok", "warning", "wrong", "skipped")
_DAYS = number(1, 36_500, "The last days, today included.")


def _caller(call: OperationCall) -> object:
    writes = call.memory.workspace.reader is None
    return {"agent": call.agent, "owner": not call.agent, "writes": writes, "reaches": call.reaches}


STATE = (
    Operation(
        "GET", "/api/caller", "caller", "Say who asks here, and what that one may do.", _caller,
        answer(
            agent=text("Whose name is written beside entries; empty for the owner."),
            owner=flag("Whether what is the owner's is answered."),
            writes=flag("Whether notes of this workspace may be written."),
            reaches=flag("Whether what reaches beyond the workspace is done: folders, imports, clients."),
        ),
        lane="light",
    ),
    Operation(
        "GET", "/api/status", "status", "Describe the workspace and its index.",
        lambda call: call.memory.status(), schema.of(Status), refusals=(503,), lane="light",
    ),
    Operation(
        "GET", "/api/usage", "usage", "Sum up what was asked, found and opened.",
        lambda call: call.memory.usage(call.values.get("days")), schema.of(Usage), {"days": _DAYS},
        refusals=(409, 503), lane="light", owner=True,
    ),
    Operation(
        "GET", "/api/why", "why", "List what prompts were given, why, and whether it was used, newest first.",
        lambda call: receipts.listed(call.memory, call.values.get("which", "LAST")),
        listed(schema.of(receipts.Receipt)),
        {"which": text("LAST, a session, or how many of the last.", least=1, most=200)},
        refusals=(409, 503), lane="light", owner=True,
    ),
    Operation(
        "GET", "/api/activities", "activities", "List what was done last, newest first.",
        lambda call: activity.lately(call.memory, call.values.get("limit", _MOST_ACTIVITIES)),
        listed(schema.of(activity.Activity)), {"limit": number(1, _MOST_ACTIVITIES)}, owner=True,
    ),
    Operation(
        "GET", "/api/costs", "costs", "Sum up what calls to models took and cost.", _costs,
        listed(schema.of(costs.Costs)), {"days": _DAYS, "by": {"enum": ["day", "purpose", "model"]}},
        refusals=(409,), lane="light", owner=True,
    ),
    Operation(
        "GET", "/api/health", "health", "Examine everything that can be wrong, as `commonplace doctor` does.",
        _health,
        answer(
            ok=flag(), counts=answer(**{state: {"type": "integer"} for state in _STATES}),
            findings=listed(schema.of(Finding)),
        ),
        {"online": flag("Call providers that are reached over a network as well.")},
        lane="examination", owner=True,
    ),
)  # fmt: skip
OPERATIONS = (*SEARCHES, *NOTES, *SESSIONS, *STATE)
