"""A mark on what this user's own programs have written, which a folder from elsewhere cannot carry.

The key is made once for each user and lies in the user's own folder. A signature is a keyed BLAKE2b digest
(RFC 7693) over the kind of a record and its bytes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from commonplace.base.digest import blake2b
from commonplace.base.root import Root

KEY_FILE = "signing.key"
_KEY_BYTES, _SIGNATURE_BYTES = 32, 16
_keys: dict[tuple[str, ...], bytes] = {}


def load_key(folders: Sequence[str | os.PathLike[str]]) -> bytes:
    """Return the user's key from the first of some folders that holds one; make it where none does.

    Where none of them can be written to, a key of this process serves: what it signs is unsigned to the next.
    """
    names = tuple(map(os.path.abspath, folders))
    if names not in _keys:
        roots = [Root(name) for name in names]
        _keys[names] = _read(roots) or _make(roots) or os.urandom(_KEY_BYTES)
    return _keys[names]


def sign(key: bytes, kind: str, data: bytes) -> str:
    """Return the signature of a record's bytes: 32 hex digits."""
    digest = blake2b(f"{kind}\0".encode(), key=key, digest_size=_SIGNATURE_BYTES)
    digest.update(data)
    return digest.hexdigest()


def verify(key: bytes, kind: str, data: bytes, signature: object) -> bool:
    """Tell whether a signature is the one that `sign` gives; any value may be asked about."""
    text = signature if isinstance(signature, str) and signature.isascii() else ""
    # Digests of the two are compared, so that the time it takes says nothing of the one that is due.
    return sign(key, kind, sign(key, kind, data).encode()) == sign(key, kind, text.encode())


def _read(roots: Sequence[Root]) -> bytes | None:
    for root in roots:
        with suppress(OSError):
            data = root.read(KEY_FILE, limit=1024)
            if len(data) == _KEY_BYTES:
                if root.stat(KEY_FILE).st_mode & 0o077:
                    root.tighten(KEY_FILE)
                return data
    return None


def _make(roots: Sequence[Root]) -> bytes | None:
    for root in roots:
        # Written aside and linked: who reads it while it is made finds the whole key or none.
        beside = f"{KEY_FILE}.{os.urandom(4).hex()}"
        with suppress(OSError):
            root.create(beside, os.urandom(_KEY_BYTES))
            try:
                root.link(beside, KEY_FILE)
            except FileExistsError:
                if _read([root]) is None:  # cut short by a full disk, or not a key
                    root.rename(beside, KEY_FILE)
            finally:
                root.unlink(beside, missing_ok=True)
            return _read([root])
    return None
