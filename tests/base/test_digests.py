"""Digests are those of `hashlib`."""

from __future__ import annotations

import hashlib

from commonplace.base import digests


def test_digests_are_those_of_hashlib() -> None:
    for data in (b"", b"deploys", b"\0" * 1000):
        assert digests.sha256(data).hexdigest() == hashlib.sha256(data).hexdigest()
        own, theirs = (one(data, digest_size=16, key=b"k") for one in (digests.blake2b, hashlib.blake2b))
        assert own.hexdigest() == theirs.hexdigest()
