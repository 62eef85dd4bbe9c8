"""A note keeps what its owner gave it beside its text: permissions, extended attributes, access lists."""

from __future__ import annotations

import os
import stat
import struct
import sys
from pathlib import Path

import pytest

from tests.life.conftest import Owner

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="extended attributes of Linux")
# An access list in the form of the kernel: owner rw, user 65534 r, group r, mask r, others none.
ACL = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", tag, mode, who)
    for tag, mode, who in [(1, 6, 2**32 - 1), (2, 4, 65534), (4, 4, 2**32 - 1), (16, 4, 2**32 - 1), (32, 0, 2**32 - 1)]
)  # fmt: skip
GIVEN = {
    "user.xdg.tags": b"harbour,boats",
    "user.empty": b"",
    "user.bytes": bytes(range(256)),
    "user.com.apple.metadata": "茶".encode(),
    "user.long": b"x" * 2_000,
    "system.posix_acl_access": ACL,
}


def give(note: Path) -> dict[str, bytes]:
    """Set what the disk of this machine takes; return it."""
    for name, value in GIVEN.items():
        try:
            os.setxattr(note, name, value)
        except OSError:
            continue
    return attributes(note)


def attributes(note: Path) -> dict[str, bytes]:
    return {name: os.getxattr(note, name) for name in os.listxattr(note)}


def test_attributes_and_access_lists_stay(owner: Owner) -> None:
    memory = owner.memory()
    note = owner.note("MEMORY.md", "# Memory\n\n- The gate is red.\n- Bo is tall.\n")
    note.chmod(0o640)
    given = give(note)
    if not given:
        pytest.skip("the disk takes no extended attributes")
    mode = stat.S_IMODE(note.stat().st_mode)
    for change in (
        lambda: memory.remember("Rain.", long_term=True),
        lambda: memory.correct("The gate is red.", "The gate is blue."),
        lambda: memory.undo(),
        lambda: owner.ok("forget", "--text", "Bo is tall", "--yes"),
    ):
        change()
        assert attributes(note) == given
        assert stat.S_IMODE(note.stat().st_mode) == mode
