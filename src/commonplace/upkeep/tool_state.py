"""What ran in a session, kept on disk for hooks that are a process each: hashes and counts, no text.

`observing/` of the state has a small record a session, for a week.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from commonplace.base import locks, paths, records
from commonplace.base.errors import CommonplaceError

KIND = "observing"
KEPT_S = 7 * 86_400.0  # after which the record of a session is deleted
MOST = 500  # failures of a session that are remembered, of either sort
_LOCK_WAIT_S = 1.0
_LARGEST = 200_000  # bytes of a record
_HEX = 16


@dataclass(slots=True)
class State:
    """What was observed in a session, as hashes: the last call, kinds of failure, and what failed how often.

    `marked` says that an entry tells of strangers' words in it.
    """

    last: str = ""
    marked: bool = False
    kinds: dict[str, None] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)


def digest(*parts: str) -> str:
    """Return a hash of texts, as a state holds it."""
    data = "".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=_HEX // 2).hexdigest()


@contextmanager
def kept(workspace: paths.Workspace, session: str) -> Iterator[State]:
    """Yield the state of a session as it stands on disk, and write it back, under a lock.

    Where it cannot be read or written, the session begins anew: an observation may be made twice.
    """
    path, files = records.of_session(workspace.state / KIND, session), workspace.kept
    with ExitStack() as held:
        try:
            paths.prepare_state(workspace)
            held.enter_context(locks.locked(paths.lock_file(workspace, KIND), _LOCK_WAIT_S))
        except CommonplaceError:
            yield State()
            return
        state = State()
        with suppress(OSError, ValueError, CommonplaceError):
            state = _parsed(records.read(files, path, limit=_LARGEST))
        yield state
        written = {**asdict(state), "kinds": list(state.kinds)}
        with suppress(CommonplaceError):
            records.update(files, path, lambda _: written, limit=_LARGEST)
    records.drop_old(files, path.parent, KEPT_S)


def _parsed(record: Mapping[str, Any]) -> State:
    """The state of a record; what is none is passed over."""
    kinds, failed = record.get("kinds"), record.get("failed")
    return State(
        str(record.get("last", "")),
        record.get("marked") is True,
        dict.fromkeys(filter(_is_hash, kinds if isinstance(kinds, list) else ())),
        {
            key: count
            for key, count in (failed if isinstance(failed, dict) else {}).items()
            if _is_hash(key) and isinstance(count, int)
        },
    )


def _is_hash(text: object) -> bool:
    return isinstance(text, str) and len(text) == _HEX and set(text) <= set("0123456789abcdef")
