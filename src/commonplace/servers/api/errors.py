"""The errors of `/api`, all of one shape: `{"error": {"code", "message", "remedy"}}`, with a status."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from commonplace.base import paths
from commonplace.base.errors import (
    AccessDenied,
    BudgetExceeded,
    CommonplaceError,
    ConfigError,
    IndexUnavailable,
    MissingExtra,
    NoteNotFound,
    NoteUnreadable,
    OutsideRoots,
    PreviewOutdated,
    ProviderError,
    UnknownCollection,
    WorkspaceNotFound,
)
from commonplace.base.messages import Message
from commonplace.servers.api.schema import coded
from commonplace.servers.protocol import encode

PREFIX, DOCUMENT = "/api/", "/api/openapi.json"
SCHEMA: Mapping[str, object] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string", "description": "A word that stays the same, such as not_found."},
                "message": {"type": "string"},
                "remedy": {"type": "string", "description": "What helps, where that is known."},
                "near": {
                    "type": "array",
                    "description": "What may have been meant.",
                    "items": {"$ref": "#/components/schemas/Cited"},
                },
                "current": {"$ref": "#/components/schemas/Source"},
                "said": {
                    "type": "object",
                    "description": "Codes that stay the same, and values, of message and remedy.",
                },
            },
        }
    },
}
CODES = {
    400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed",
    406: "not_acceptable", 409: "conflict", 412: "changed", 413: "too_large", 415: "unsupported_media_type",
    421: "misdirected", 428: "precondition_required", 500: "internal", 503: "unavailable",
}  # fmt: skip
# The first that fits; what stands nowhere is a request that cannot be served as it is.
_STATUS: Sequence[tuple[type[CommonplaceError], int]] = (
    (AccessDenied, 403),
    (OutsideRoots, 403),
    (UnknownCollection, 404),
    (NoteNotFound, 404),
    (PreviewOutdated, 409),
    (NoteUnreadable, 409),
    (IndexUnavailable, 503),
    (ProviderError, 503),
    (BudgetExceeded, 503),
    (MissingExtra, 503),
    (WorkspaceNotFound, 503),
    (ConfigError, 400),
)


class Refused(CommonplaceError):
    """A request that is not served: HTTP status, a line, what helps, and headers or parts of the answer."""

    def __init__(
        self,
        status: int,
        message: str,
        remedy: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        **more: object,
    ) -> None:
        super().__init__(message)
        self.status, self.remedy, self.headers, self.more = status, remedy, headers or {}, more


def response(refused: Refused) -> Response:
    """Return the answer that says why a request is not served."""
    remedy = {"remedy": refused.remedy} if refused.remedy else {}
    about = {"code": CODES.get(refused.status, "error"), "message": refused.args[0], **remedy, **refused.more}
    headers = {"cache-control": "no-store", **refused.headers}
    return Response(encode({"error": coded(about)}), refused.status, headers, media_type="application/json")


async def handle(request: Request, error: Exception) -> Response:
    """Answer a request that is not served, in the form of its part of the server."""
    if isinstance(error, Refused):
        return response(error)
    assert isinstance(error, HTTPException)
    return refusal(request.scope["path"], request.method, error)


def refusal(path: str, method: str, error: HTTPException) -> Response:
    """Return the answer that refuses a request, in the form of its part of the server."""
    status, reason, headers = error.status_code, error.detail, error.headers or {}
    if not f"{path}/".startswith(PREFIX):
        return JSONResponse({"error": reason}, status, headers)
    remedy = ""
    if status == 404:
        reason, remedy = "there is nothing here", f"{DOCUMENT} lists what there is"
    elif status == 405:
        reason = f"{method[:20]} does not go here; {headers.get('allow', '')} do"
    return response(Refused(status, reason, remedy, headers=headers))


def translated(error: CommonplaceError, root: os.PathLike[str] | str) -> Refused:
    """Return the refusal that a client gets for an error: no secret, and no folder around the workspace."""
    if isinstance(error, Refused):
        return error
    from commonplace.storage.undo import NotUndone
    from commonplace.upkeep.schedule.due import Running

    conflicts = isinstance(error, NotUndone | Running)
    known = (status for kind, status in _STATUS if isinstance(error, kind))
    status = 409 if conflicts else next(known, 400)
    told = error.args[0] if error.args else ""
    message = _hidden(told if isinstance(told, Message) else str(error), [*_folders(root)])
    near = [{"citation": one.citation, "text": one.text} for one in getattr(error, "near", ())]
    more: dict[str, Any] = {"near": near} if near else {}
    return Refused(status, message, error.remedy if isinstance(error, IndexUnavailable) else "", **more)


def shown(text: str) -> str:
    """Return a message on one line, without secrets and private parts."""
    from commonplace.redaction.redact import public
    from commonplace.render import screen

    return public(screen.one_line(text))


def _hidden(value: Any, folders: Sequence[str]) -> Any:  # noqa: ANN401 - whatever is a value of a message
    """Return a text or a value fit for a client: no secret, of paths what lies in a folder, or from `~`."""
    if isinstance(value, Message):
        values = {name: _hidden(one, folders) for name, one in value.values.items()}
        return Message(_hidden(str(value), folders), value.code, values)
    if isinstance(value, list | tuple):
        return [_hidden(one, folders) for one in value]
    if not isinstance(value, str):
        return value
    text = shown(value)
    for folder in folders:
        text = text.replace(folder + os.sep, "")
    return text.replace(f"{paths.home()}{os.sep}", f"~{os.sep}")


def _folders(root: os.PathLike[str] | str) -> Iterator[str]:
    """Yield the folders whose paths stay hidden from clients, the innermost first."""
    yield from dict.fromkeys((os.path.realpath(root), os.fspath(root)))
    for folder in (paths.user_cache_dir(), paths.user_config_dir()):
        yield os.fspath(folder)
