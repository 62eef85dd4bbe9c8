"""A mark on what this user's own programs have written, which a folder from elsewhere cannot carry.

The key is made once for each user and lies in the user's own folder, on the first line of a file; further
lines are keys of the user's other machines, whose records are known as well. A signature is a keyed BLAKE2b
digest (RFC 7693) over the kind of a record and its bytes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from commonplace.base.digests import blake2b
from commonplace.base.root import Root

KEY_FILE = "signing.key"
_KEY_BYTES, _SIGNATURE_BYTES = 32, 16
_MOST_BYTES = 16_384  # of the file
_keys: dict[tuple[str, ...], tuple[tuple[bytes, ...], bool]] = {}  # and whether they are kept


def load_keys(folders: Sequence[str | os.PathLike[str]]) -> tuple[bytes, ...]:
    """Return the user's keys from the first of some folders that holds any; make one where none does.

    The first is what this machine signs with; all of them are known. Where none can be kept, a key of this
    process serves: what it signs is unsigned to the next (`is_kept`). A file of that name with anything in it
    but keys is left as it is, and no other is made.
    """
    names = tuple(map(os.path.abspath, folders))
    if names not in _keys:
        roots = [Root(name) for name in names]
        found = _read(roots)
        kept = _make(roots) if found is None else found
        _keys[names] = kept or (os.urandom(_KEY_BYTES),), bool(kept)
    return _keys[names][0]


def is_kept(folders: Sequence[str | os.PathLike[str]]) -> bool:
    """Tell whether the keys that `load_keys` returns lie on disk, for other processes as well."""
    load_keys(folders)
    return _keys[tuple(map(os.path.abspath, folders))][1]


def sign(key: bytes, kind: str, data: bytes) -> str:
    """Return the signature of a record's bytes: 32 hex digits."""
    digest = blake2b(f"{kind}\0".encode(), key=key, digest_size=_SIGNATURE_BYTES)
    digest.update(data)
    return digest.hexdigest()


def verify(keys: Sequence[bytes], kind: str, data: bytes, signature: object) -> bool:
    """Tell whether a signature is what `sign` gives with one of some keys; any value may be asked about."""
    text = signature if isinstance(signature, str) and signature.isascii() else ""
    # Digests of the two are compared, so that the time it takes says nothing of the one that is due.
    given = text.encode()
    return any(sign(key, kind, sign(key, kind, data).encode()) == sign(key, kind, given) for key in keys)


def _read(roots: Sequence[Root]) -> tuple[bytes, ...] | None:
    """The keys in the first folder with a file of its name: none if that is damaged; None without a file."""
    for root in roots:
        try:
            data = root.read(KEY_FILE, limit=_MOST_BYTES)
            if root.stat(KEY_FILE).st_mode & 0o077:
                root.tighten(KEY_FILE)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return ()
        try:
            keys = tuple(map(bytes.fromhex, data.decode("ascii").split()))
        except ValueError:
            return ()
        return keys if all(len(key) == _KEY_BYTES for key in keys) else ()
    return None


def _make(roots: Sequence[Root]) -> tuple[bytes, ...] | None:
    for root in roots:
        # Written aside and linked: a reader finds the whole key or none.
        beside = f"{KEY_FILE}.{os.urandom(4).hex()}"
        with suppress(OSError):
            root.create(beside, os.urandom(_KEY_BYTES).hex().encode() + b"\n")
            try:
                with suppress(FileExistsError):
                    root.link(beside, KEY_FILE)
            finally:
                root.unlink(beside, missing_ok=True)
            return _read([root])
    return None
