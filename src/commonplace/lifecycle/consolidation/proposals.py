"""What can be proposed without a model: entries that say the same made one, and what is over ended."""

from __future__ import annotations

from datetime import date

from commonplace.lifecycle.consolidation import checks, sameness
from commonplace.lifecycle.consolidation.plan import Operation
from commonplace.lifecycle.consolidation.standing import Entry, Page
from commonplace.search import wording


def of(page: Page, today: date) -> list[Operation]:
    """Propose merges of near-duplicates and the ends of what is over, in the order of the entries."""
    free = [entry for entry in page.labelled if entry.may_be_touched]
    found = [_expiry(entry, today) for entry in free]
    operations = [operation for operation in found if operation]
    over = {operation.targets[0] for operation in operations}
    merged: set[str] = set()
    rest = [entry for entry in free if entry.label not in over]
    for number, entry in enumerate(rest):
        same = [other for other in rest[number + 1 :] if other.label not in merged and _same(entry, other)]
        if entry.label in merged or not same:
            continue
        group = [entry, *same]
        merged |= {one.label for one in group}
        text = max(group, key=lambda one: len(one.text)).text
        operations.append(
            Operation("merge", tuple(one.label for one in group), text=text, reason="say the same")
        )
    return operations


def _expiry(entry: Entry, today: date) -> Operation | None:
    if entry.statement.said.get("valid-until", "9999-12-31") < today.isoformat():
        return Operation("expire", (entry.label,), reason="valid-until has passed")
    if checks.is_long_over(entry, today):
        return Operation("expire", (entry.label,), reason=checks.OVER)
    return None


def _same(entry: Entry, other: Entry) -> bool:
    """Whether two entries say the same, in nearly the same words or in another order."""
    if entry.section != other.section:
        return False
    if wording.same(wording.read(entry.text), wording.read(other.text)):
        return True
    return sameness.says(entry.text, other.text) and sameness.says(other.text, entry.text)
