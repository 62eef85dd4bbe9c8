"""How a check is run: whatever goes wrong in it becomes a finding, and the next one goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from commonplace import screen
from commonplace.base.root import Unsafe
from commonplace.types import Finding

Check = Callable[[], Iterable[Finding]]
LONGEST = 300  # characters of an error that nobody foresaw
LISTED = 5  # places that a finding names; of more the number is told


def guarded(name: str, check: Check) -> list[Finding]:
    """Run a check, and add what it stumbled over to what it had found before."""
    found: list[Finding] = []
    try:
        found.extend(check())
    except Unsafe as error:
        place = screen.one_line(os.fspath(error.filename))
        told = f"{place} is {screen.one_line(str(error.strerror))}"
        found.append(Finding(name, "wrong", told, f"delete {place}: nothing is read or written through it"))
    except Exception as error:  # noqa: BLE001 - an examination must not end at what it is there to find
        told = screen.shorten(screen.one_line(f"{type(error).__name__}: {error}"), LONGEST)
        remedy = "report it, with this line and the output of `commonplace doctor --json`"
        found.append(Finding(name, "wrong", f"the check itself failed ({told})", remedy))
    return found


def listed(names: Sequence[str]) -> str:
    """Return a few of some names, and how many more there are."""
    from commonplace import paths

    shown = ", ".join(paths.shown(name) for name in names[:LISTED])
    more = len(names) - LISTED
    return f"{shown} and {more:,} more" if more > 0 else shown


def size(count: float) -> str:
    """Return bytes as people write them."""
    units = ["bytes", "KB", "MB", "GB", "TB"]
    while count >= 1000 and len(units) > 1:
        count /= 1000
        units.pop(0)
    return f"{count:.0f} {units[0]}" if units[0] == "bytes" or count >= 100 else f"{count:.1f} {units[0]}"
