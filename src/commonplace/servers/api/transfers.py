"""The kinds of memories that can be imported, and all own notes as one file to take away."""

from __future__ import annotations

import base64

from commonplace.imports import kinds
from commonplace.servers.api import schema
from commonplace.servers.api.errors import Refused
from commonplace.servers.api.operations import Operation, OperationCall
from commonplace.servers.api.schema import answer, flag, listed, text
from commonplace.types import FileFailure

_EXPORT = "commonplace export --to FILE"
_FORMS = ("md", "json", "zip")


def _export(call: OperationCall) -> object:
    from commonplace.upkeep import export as exporting

    form, private = call.values["form"], call.values.get("private", False)
    if form == "zip" and private:
        raise Refused(400, "private: a zip always holds the files as they are")
    if form == "zip" or private:  # only for callers who may reach beyond the workspace
        call.check_reach(_EXPORT)
    done = exporting.export(call.memory, form, private=private)
    encoding = "base64" if form == "zip" else "utf-8"
    data = base64.b64encode(done.data).decode() if form == "zip" else done.data.decode()
    return {
        "encoding": encoding, "data": data, "files": done.files, "failures": done.failures,
    }  # fmt: skip


OPERATIONS = (
    Operation(
        "GET", "/api/import", "import_kinds", "List the kinds of memories that can be imported.",
        lambda call: [{"name": one.name, "title": one.title, "what": one.what} for one in kinds.KINDS],
        listed(answer(name=text(), title=text(), what=text("What it is recognised by."))), lane="light",
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
