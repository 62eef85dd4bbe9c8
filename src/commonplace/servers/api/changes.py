"""Requests of agents to forget, a forgetting that was killed, further actions, the log of changes."""

from __future__ import annotations

from commonplace.actions.statements import REQUEST, RUN, notice, settle
from commonplace.actions.table import every
from commonplace.base.messages import message
from commonplace.edit.forget import requests
from commonplace.redaction.redact import public
from commonplace.servers.api import schema
from commonplace.servers.api.errors import Refused
from commonplace.servers.api.operations import Operation, OperationCall
from commonplace.servers.api.schema import answer, flag, listed, number, record, text
from commonplace.storage import journal as runs
from commonplace.types import Cited, Erasure, Run
from commonplace.types.data import to_data

_MOST_RUNS = 1000
_ALL = message("run.all", "/api/runs lists them")


# --- forgetting -----------------------------------------------------------------------------------------


def _waiting(call: OperationCall) -> object:
    from commonplace.edit.forget import journal, requests

    workspace = call.memory.workspace
    unfinished = [public(words) for words in journal.describe(workspace)]
    found = settle(call.memory) if notice(call.memory) else ()  # reads all notes
    entries = [Cited(one.citation, one.text) for one in found]
    return {"requests": requests.listed(workspace), "unfinished": unfinished, "entries": entries}


def _refuse(call: OperationCall) -> object:
    requests.remove(call.memory.workspace, requests.find(call.memory.workspace, call.values["request"]))
    return {"refused": True}


def _resume(call: OperationCall) -> object:
    from commonplace.edit.forget import journal

    if not journal.pending(call.memory.workspace):
        raise Refused(409, message("forget.none", "no forgetting is under way"))
    return call.memory.forget([])


FORGETTING = (
    Operation(
        "GET", "/api/forget", "waiting_forgetting",
        "List what agents ask to have forgotten, what they wrote that waits, and what was killed.",
        _waiting,
        answer(
            requests=listed(schema.of(requests.ForgetRequest)),
            entries=listed(schema.of(Cited), "What agents wrote and what waits for the owner."),
            unfinished=listed(text(), "What was begun and is not all forgotten, in the words of who asked."),
        ),
        refusals=(409,), lane="light", owner=True,
    ),
    Operation(
        "POST", "/api/forget/refuse", "refuse_forgetting", "Refuse what an agent asks to have forgotten.",
        _refuse, answer(refused=flag()), body=record("request", request=REQUEST), refusals=(409,),
        owner=True,
    ),
    Operation(
        "POST", "/api/forget/resume", "resume_forgetting", "Carry on what was killed before it was done.",
        _resume, schema.of(Erasure), body=record(), refusals=(409,), owner=True,
    ),
)  # fmt: skip


# --- the log of changes ---------------------------------------------------------------------------------


def _actions(call: OperationCall) -> object:
    found = [one for one in every() if "page" in one.doors and not (call.agent and one.owner)]
    return [
        {name: getattr(one, name) for name in ("name", "about", "path", "final", "body")} for one in found
    ]


def _run(call: OperationCall) -> object:
    from commonplace.storage import undo as undoing

    workspace = call.memory.workspace
    if not any(name.startswith(call.values["id"]) for name in runs.names(workspace)):
        raise Refused(404, message("run.unknown", "no run begins so"), _ALL)
    run = undoing.find(workspace, call.values["id"])
    return {**to_data(run), "diff": runs.diff(workspace, run)}


LOG = (
    Operation(
        "GET", "/api/actions", "actions", "List further actions, each with what it takes.", _actions,
        listed(answer(name=text(), about=text(), path=text(), final=flag("Cannot be undone."), body={})),
        lane="light",
    ),
    Operation(
        "GET", "/api/runs", "runs", "List generated changes of notes, newest first.",
        lambda call: call.memory.log(call.values.get("limit", 50)), listed(schema.of(Run)),
        {"limit": number(1, _MOST_RUNS)}, lane="light",
    ),
    Operation(
        "GET", "/api/run", "run", "Show a generated change with its diff.", _run,
        answer(**schema.parts(Run), diff=text()), {"id": {**RUN, "minLength": 1}}, required=("id",),
        refusals=(404, 409), lane="light",
    ),
)  # fmt: skip
OPERATIONS = (*FORGETTING, *LOG)
