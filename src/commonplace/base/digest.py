"""BLAKE2b (RFC 7693) without `hashlib`, which loads OpenSSL: some 4 ms of the start of a search."""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # another Python than CPython
    from hashlib import blake2b

__all__ = ["blake2b"]
