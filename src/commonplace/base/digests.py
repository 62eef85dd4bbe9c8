"""Digests without `hashlib`, which loads OpenSSL: some 4 ms of the start of a search."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from hashlib import blake2b, sha256
else:
    try:
        from _blake2 import blake2b

        if sys.version_info >= (3, 12):
            from _sha2 import sha256
        else:
            from _sha256 import sha256
    except ImportError:  # another Python than CPython
        from hashlib import blake2b, sha256

__all__ = ["blake2b", "sha256"]
