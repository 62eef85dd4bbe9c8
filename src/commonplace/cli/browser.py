"""The page of a server in the user's browser, which a code lets in that works once."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import TYPE_CHECKING

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.cli import failures, session

if TYPE_CHECKING:
    from commonplace.config.credentials import Secret
    from commonplace.servers.daemon import Running

_WAIT_S = 10.0
_LEADS = '<!doctype html>\n<meta charset="utf-8">\n<meta http-equiv="refresh" content="0;url={0}">\n'
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def show_page(server: Running, token: Secret, *, opens: bool = True) -> None:
    """Open the page of a server, or print its address if `opens` is false or no browser can be started.

    The server's own key says that it is a program of the user that lets the browser in. Raises ConfigError
    where the server does not answer, or is not reached by loopback.
    """
    has_code = token or server.key
    address = f"{server.url}/#code={_code(server, token)}" if has_code else f"{server.url}/"
    if not (opens and _is_opened(address)):
        session.write(address)


def show_page_soon(server: Running, token: Secret) -> None:
    """Open it from a thread, since the server that must issue the code is about to serve in this one."""

    def show() -> None:
        try:
            show_page(server, token)
        except CommonplaceError as error:
            failures.warn(str(error))

    threading.Thread(target=show, name="commonplace-page", daemon=True).start()


def _code(server: Running, token: Secret) -> str:
    """Request a new code of a server, by loopback only. Raises ConfigError."""
    from http.client import HTTPConnection, HTTPException

    from commonplace.servers.access import is_loopback

    if not is_loopback(server.reached_at):
        wrong = f"the server listens at {server.reached_at} alone, and its token is sent to loopback alone"
        remedy = "serve it with --host 127.0.0.1, or 0.0.0.0 for others as well"
        raise ConfigError("web", f"{wrong}; {remedy}")
    connection = HTTPConnection(server.reached_at, server.port, timeout=_WAIT_S)
    headers = {"Host": f"localhost:{server.port}", "X-Commonplace-Key": server.key}
    if token:
        headers["Authorization"] = f"Bearer {token.reveal()}"
    try:
        connection.request("POST", "/api/codes", headers=headers)
        answer = connection.getresponse()
        told = json.loads(answer.read(65_536))
        if answer.status == 200:
            return str(told["code"])
        reason = str(told["error"]["message"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
        raise ConfigError("web", f"the server at {server.url} does not answer") from error
    finally:
        connection.close()
    raise ConfigError("web", f"the server at {server.url} lets nobody in: {reason}")


def _is_opened(address: str) -> bool:
    """Start the browser; whether that went well.

    It is given a file for its user's eyes that leads to the address: other users see what programs are
    started with, and could be faster with the code.
    """
    import webbrowser

    if sys.platform.startswith("linux") and not any(map(os.environ.get, _SCREENS)):
        return False
    page = paths.user_config_dir() / "servers" / "page.html"
    try:
        root = paths.root_of(page)
        root.make_folder(page.parent)
        root.exchange(page, _LEADS.format(address).encode())
    except OSError:
        return False
    return webbrowser.open(page.as_uri())
