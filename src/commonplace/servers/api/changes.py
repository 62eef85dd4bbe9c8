"""What is corrected, confirmed, forgotten and undone: shown first, then done as shown or not at all."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from commonplace.base.messages import message
from commonplace.servers.api import schema
from commonplace.servers.api.errors import Refused
from commonplace.servers.api.operations import Call, Operation
from commonplace.servers.api.schema import answer, flag, listed, number, record, text
from commonplace.types import Confirmed, Corrected, Erasure, Run, Undone, cite

_MOST_WORDS, _MOST_SEEN, _MOST_RUNS, _MOST_SELECTIONS = 10_000, 100_000, 1000, 50
_KINDS = ("text", "lines", "note", "person", "session")
_CODE = text("Carries out just what is shown, once; nothing to carry out where it is missing.")
_PREVIEW = record("preview", preview=text("The code of a preview.", least=1, most=100))
_ALL = message("run.all", "/api/runs lists them")
_WHY = text("The reason, for the record.", most=500)
_STATEMENT = text("Its words, or a reference to it.", least=1, most=_MOST_WORDS)
_SEEN = text(
    "The lines that were read there. Where others stand there by now, these are meant.", most=_MOST_SEEN
)


def _shown(preview: Any, code: str) -> dict[str, Any]:  # noqa: ANN401 - whatever was previewed
    from commonplace.types.data import to_data

    shown: dict[str, Any] = to_data(preview)
    return {**shown, "preview": code}


def _located(call: Call, named: str, seen: str) -> str:
    """What is named, or where the lines stand by now that were seen there. Raises StatementNotFound."""
    from commonplace.edit.resolve import Corpus, located
    from commonplace.storage.transaction import read

    workspace = call.memory.workspace
    corpus = Corpus(workspace, call.memory.settings, partial(read, workspace)) if seen else None
    found = located(corpus, named, seen) if corpus else None
    return cite(*found) if found else named


# --- corrections ----------------------------------------------------------------------------------------


def _preview_correction(call: Call) -> object:
    from commonplace.render import screen

    old, new = _located(call, call.values["old"], call.values.get("seen", "")), call.values.get("new", "")
    named: dict[str, Any] = {"provenance": call.provenance}
    named["why"] = screen.one_line(call.values.get("why", ""))
    named["now"] = datetime.now().astimezone()  # of what is shown and of what is written
    shown = call.memory.correct(old, new, dry_run=True, **named)
    return _shown(shown, call.offer("correct", (old, new, named, shown)))


def _correct(call: Call) -> object:
    old, new, named, shown = call.redeem("correct")
    return call.memory.correct(old, new, preview=shown, **named)


def _preview_confirmation(call: Call) -> object:
    from commonplace.edit.correct import confirm
    from commonplace.render import screen

    by = call.provenance
    named: dict[str, Any] = {"by": by.by, "agent": by.agent, "session": by.session} if by else {}
    named |= {"reject": call.values.get("reject", False), "now": datetime.now().astimezone()}
    named["why"] = screen.one_line(call.values.get("why", ""))
    what = _located(call, call.values["statement"], call.values.get("seen", ""))
    shown = confirm(call.memory.workspace, call.memory.settings, what, dry_run=True, **named)
    return _shown(shown, call.offer("confirm", (what, named, shown)))


def _confirm(call: Call) -> object:
    from commonplace.edit.correct import confirm
    from commonplace.memory import written

    what, named, shown = call.redeem("confirm")
    done = confirm(call.memory.workspace, call.memory.settings, what, preview=shown, **named)
    written(call.memory)
    return done


CORRECTIONS = (
    Operation(
        "POST", "/api/corrections/preview", "preview_correction", "Show what a correction would change.",
        _preview_correction, answer(**schema.parts(Corrected), preview=_CODE),
        body=record(
            "old", old=_STATEMENT, seen=_SEEN, new=text("Empty: only strike.", most=_MOST_WORDS), why=_WHY
        ),
        refusals=(404, 409),
    ),
    Operation(
        "POST", "/api/corrections", "correct", "Strike a statement and put the right one beside.", _correct,
        schema.of(Corrected), body=_PREVIEW, refusals=(404, 409),
    ),
    Operation(
        "POST", "/api/confirmations/preview", "preview_confirmation", "Show what this would change.",
        _preview_confirmation, answer(**schema.parts(Confirmed), preview=_CODE),
        body=record(
            "statement", statement=_STATEMENT, seen=_SEEN, reject=flag("Strike it instead."), why=_WHY
        ),
        refusals=(404, 409),
    ),
    Operation(
        "POST", "/api/confirmations", "confirm", "Let a tentative statement hold, or strike it.", _confirm,
        schema.of(Confirmed), body=_PREVIEW, refusals=(404, 409),
    ),
)  # fmt: skip


# --- forgetting -----------------------------------------------------------------------------------------


def _waiting(call: Call) -> object:
    from commonplace.edit.forget import journal, requests
    from commonplace.redaction.redact import public

    workspace = call.memory.workspace
    unfinished = [public(words) for words in journal.describe(workspace)]
    return {"requests": requests.listed(workspace), "unfinished": unfinished}


def _preview_forgetting(call: Call) -> object:
    from commonplace.edit.forget import requests, selection
    from commonplace.types import Selection

    if ("request" in call.values) == ("selections" in call.values):
        raise Refused(400, "name selections, or the request of an agent")
    chosen = [
        selection.of_reference(_located(call, one["value"], one.get("seen", "")))
        if one["kind"] in ("lines", "note")
        else Selection(one["kind"], one["value"], tuple(one.get("also", ())))
        for one in call.values.get("selections", ())
    ]
    request = requests.find(call.memory.workspace, call.values["request"]) if not chosen else None
    shown = call.memory.forget(request.preview if request else chosen, dry_run=True)
    return _shown(shown, call.offer("forget", (shown, request)) if shown.places else "")


def _forget(call: Call) -> object:
    from commonplace.edit.forget import requests
    from commonplace.types.changes import UNNAMED

    shown, request = call.redeem("forget")
    asked = {"agent": request.agent or UNNAMED, "session": request.session} if request else {}
    done = call.memory.forget(shown, **asked)
    if request:
        requests.remove(call.memory.workspace, request)
    call.previews.clear()  # which may hold the words
    return done


def _refuse(call: Call) -> object:
    from commonplace.edit.forget import requests

    requests.remove(call.memory.workspace, requests.find(call.memory.workspace, call.values["request"]))
    return {"refused": True}


def _resume(call: Call) -> object:
    from commonplace.edit.forget import journal

    if not journal.pending(call.memory.workspace):
        raise Refused(409, message("forget.none", "no forgetting is under way"))
    return call.memory.forget([])


def _request_parts() -> schema.Schema:
    from commonplace.edit.forget.requests import Request

    return schema.of(Request)


_REQUEST = text("The code of what an agent asks for.", least=1, most=20)
_SELECTION = record(
    "kind value",
    kind={"enum": list(_KINDS)},
    value=text("Words, a reference, a path, a name, the id of a session.", least=1, most=_MOST_WORDS),
    seen=_SEEN,
    also=listed(text(least=1, most=200), "Further names of a person.", 20),
)
FORGETTING = (
    Operation(
        "GET", "/api/forget", "waiting_forgetting",
        "List what agents ask to have forgotten, and what was killed.",
        _waiting,
        answer(
            requests=listed(_request_parts()),
            unfinished=listed(text(), "What was begun and is not all forgotten, in the words of who asked."),
        ),
        refusals=(409,), lane="light", owner=True,
    ),
    Operation(
        "POST", "/api/forget/preview", "preview_forgetting", "Show every place that would go.",
        _preview_forgetting, answer(**schema.parts(Erasure), preview=_CODE),
        body=record(
            selections={**listed(_SELECTION, most=_MOST_SELECTIONS), "minItems": 1}, request=_REQUEST
        ),
        refusals=(404, 409), owner=True,
    ),
    Operation(
        "POST", "/api/forget", "forget", "Erase what was shown, for good.", _forget, schema.of(Erasure),
        body=_PREVIEW, refusals=(404, 409), owner=True,
    ),
    Operation(
        "POST", "/api/forget/refuse", "refuse_forgetting", "Refuse what an agent asks to have forgotten.",
        _refuse, answer(refused=flag()), body=record("request", request=_REQUEST), refusals=(409,),
        owner=True,
    ),
    Operation(
        "POST", "/api/forget/resume", "resume_forgetting", "Carry on what was killed before it was done.",
        _resume, schema.of(Erasure), body=record(), refusals=(409,), owner=True,
    ),
)  # fmt: skip


# --- the log of changes ---------------------------------------------------------------------------------


def _runs(call: Call) -> object:
    from commonplace.storage import journal as runs

    return [*islice(runs.newest_first(call.memory.workspace), call.values.get("limit", 50))]


def _run(call: Call) -> object:
    from commonplace.storage import journal as runs
    from commonplace.storage import undo as undoing
    from commonplace.types.data import to_data

    workspace = call.memory.workspace
    if not any(name.startswith(call.values["id"]) for name in runs.names(workspace)):
        raise Refused(404, message("run.unknown", "no run begins so"), _ALL)
    run = undoing.find(workspace, call.values["id"])
    return {**to_data(run), "diff": runs.diff(workspace, run)}


def _preview_undo(call: Call) -> object:
    run, since = call.values.get("run", ""), call.values.get("since", False)
    if since and not run:
        raise Refused(400, "since needs the run to begin with", _ALL)
    shown = call.memory.undo(run, since=since, dry_run=True)
    code = call.offer("undo", (shown, since))
    return _shown(shown, code)


def _undo(call: Call) -> object:
    shown, since = call.redeem("undo")
    return call.memory.undo(shown.runs[-1].id, since=since, preview=shown)


_ID = text("The id of a run, or the beginning of it.", most=100)
LOG = (
    Operation(
        "GET", "/api/runs", "runs", "List generated changes of notes, newest first.", _runs,
        listed(schema.of(Run)), {"limit": number(1, _MOST_RUNS)}, lane="light",
    ),
    Operation(
        "GET", "/api/run", "run", "Show a generated change with its diff.", _run,
        answer(**schema.parts(Run), diff=text()), {"id": {**_ID, "minLength": 1}}, required=("id",),
        refusals=(404, 409), lane="light",
    ),
    Operation(
        "POST", "/api/undo/preview", "preview_undo", "Show what undoing would change.", _preview_undo,
        answer(**schema.parts(Undone), preview=_CODE),
        body=record(run=_ID, since=flag("All that was generated after it as well.")),
        refusals=(404, 409), owner=True,
    ),
    Operation(
        "POST", "/api/undo", "undo", "Take generated changes back.", _undo,
        schema.of(Undone), body=_PREVIEW, refusals=(404, 409), owner=True,
    ),
)  # fmt: skip
OPERATIONS = (*CORRECTIONS, *FORGETTING, *LOG)
