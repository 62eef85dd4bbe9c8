"""What comes in from another memory, shown first; and all own notes as one file to take away."""

from __future__ import annotations

import base64
import os
from datetime import datetime
from typing import TYPE_CHECKING, Any

from commonplace.base.errors import PreviewOutdated
from commonplace.base.messages import message
from commonplace.servers.api import schema
from commonplace.servers.api.collections import PATH, place
from commonplace.servers.api.errors import Refused
from commonplace.servers.api.operations import PREVIEW_AGAIN, Call, Operation
from commonplace.servers.api.schema import answer, flag, listed, record, text
from commonplace.types import FileFailure
from commonplace.types.imports import Import

if TYPE_CHECKING:
    from commonplace.imports.kinds import Kind

_IMPORT, _EXPORT = "commonplace import PATH", "commonplace export --to FILE"
_FORMS = ("md", "json", "zip")


# --- in -------------------------------------------------------------------------------------------------


def _preview(call: Call) -> object:
    from commonplace.imports import kinds
    from commonplace.types.data import to_data
    from commonplace.upkeep import intake

    path = place(call, call.values["path"]) if "path" in call.values else ""
    kind, found = kinds.chosen(call.values.get("kind", ""), path)
    origin, now = os.fspath(found), datetime.now().astimezone()
    shown = intake.carry_out(
        call.memory, kind.name, origin, kind.read(found), dry_run=True, show=True, now=now
    )
    does = any(one.outcome in ("new", "changed") or one.added for one in shown.files) or any(
        one.outcome == "new" for one in shown.settings
    )
    code = call.offer("import", (kind, origin, now, intake.digest(shown))) if does else ""
    told: dict[str, Any] = to_data(shown)
    return {**told, "preview": code}


def _import(call: Call) -> object:
    from pathlib import Path

    from commonplace.upkeep import intake

    offered: tuple[Kind, str, datetime, str] = call.redeem("import")
    kind, origin, now, digest = offered
    try:
        done = intake.carry_out_shown(
            call.memory, kind.name, origin, kind.read(Path(origin)), digest, now=now
        )
    except PreviewOutdated as error:
        reason = message(
            "import.other", "what would be imported is not what was shown, so nothing was written"
        )
        raise Refused(409, reason, PREVIEW_AGAIN) from error
    if done.settings:
        assert call.reopen is not None
        call.reopen()
    return done


def _kinds(call: Call) -> object:
    from commonplace.imports import kinds

    return [{"name": one.name, "title": one.title, "what": one.what} for one in kinds.KINDS]


# --- out ------------------------------------------------------------------------------------------------


def _export(call: Call) -> object:
    from commonplace.upkeep import export as exporting

    form, private = call.values["form"], call.values.get("private", False)
    if form == "zip" and private:
        raise Refused(400, "private: a zip always holds the files as they are")
    if form == "zip" or private:  # what nobody else is shown over HTTP
        call.check_reach(_EXPORT)
    done = exporting.export(call.memory, form, private=private)
    encoding = "base64" if form == "zip" else "utf-8"
    data = base64.b64encode(done.data).decode() if form == "zip" else done.data.decode()
    return {
        "encoding": encoding, "data": data, "files": done.files, "failures": done.failures,
    }  # fmt: skip


OPERATIONS = (
    Operation(
        "GET", "/api/import", "import_kinds", "List the kinds of memories that can be imported.", _kinds,
        listed(answer(name=text(), title=text(), what=text("What it is recognised by."))), lane="light",
    ),
    Operation(
        "POST", "/api/import/preview", "preview_import", "Show what would be written, and where.", _preview,
        answer(
            **schema.parts(Import),
            preview=text("Carries out just what is shown, once; empty where nothing would be written."),
        ),
        body=record(
            path={**PATH, "description": "Of a file or folder on this machine; the usual one if missing."},
            kind=text("Its name; recognised by the path if missing.", least=1, most=50),
        ),
        refusals=(409, 503), lane="reading", owner=True, beyond=_IMPORT,
    ),
    Operation(
        "POST", "/api/import", "import", "Write it into the notes, as one change that undo takes back.",
        _import, schema.of(Import),
        body=record("preview", preview=text("The code of a preview.", least=1, most=100)),
        refusals=(409, 503), lane="reading", owner=True, beyond=_IMPORT,
    ),
    Operation(
        "GET", "/api/export", "export", "Return all own notes as one file; nothing is written.", _export,
        answer(
            encoding={"enum": ["utf-8", "base64"]}, data=text("The file."), files={"type": "integer"},
            failures=listed(schema.of(FileFailure)),
        ),
        {
            "form": {"enum": [*_FORMS]},
            "private": flag("Keep private parts and secrets in, as a zip does; for who may reach so far."),
        },
        required=("form",), refusals=(409, 503), lane="reading", owner=True,
    ),
)  # fmt: skip
