"""Progress of a slow request: once a second its client is notified how far the work has come.

https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress. The number is of seconds,
since their total is unknown; the message names the current work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from commonplace.servers.protocol import mapping
from commonplace.types.progress import listening

if TYPE_CHECKING:
    from commonplace.servers.protocol import ProtocolRequest

METHOD = "notifications/progress"
EVERY_S = 1.0
_STAGES = {"files": "reading files", "vectors": "embedding passages"}


def token(params: object) -> int | str | None:
    """Return the token of a client's progress notifications; None if it wants no progress."""
    found = mapping(params, "_meta").get("progressToken")
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


@contextmanager
def reported(request: ProtocolRequest) -> Iterator[None]:
    """Tell the client what is done for its request, and let that end where it is cancelled."""
    said = "working"

    def hear(stage: str, done: int, total: int) -> None:
        nonlocal said
        said = f"{_STAGES.get(stage, stage)}: {done:,} of {total:,}"

    exchange, name = request.exchange, token(request.params)
    with listening(hear, exchange.wanted):
        if name is None or exchange.notify is None:
            yield
            return
        notify, over, started = exchange.notify, threading.Event(), time.monotonic()

        def tell() -> None:
            while not over.wait(EVERY_S):
                took_s = round(time.monotonic() - started, 1)
                params = {"progressToken": name, "progress": took_s, "message": said}
                notify({"jsonrpc": "2.0", "method": METHOD, "params": params})

        telling = threading.Thread(target=tell, name="commonplace-progress", daemon=True)
        telling.start()
        try:
            yield
        finally:
            over.set()
            telling.join()  # the answer must come last
