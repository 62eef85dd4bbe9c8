"""What can be proposed without a model: entries that say the same made one, and what is over ended."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import accumulate, islice

from commonplace.lifecycle.consolidation import checks, sameness
from commonplace.lifecycle.consolidation.plan import Operation
from commonplace.lifecycle.consolidation.standing import Entry, Page
from commonplace.search import wording

# Characters of entries that are compared at most: all that a page of some hundreds holds, each with each.
_MOST_COMPARED = 5_000_000
_MOST_CHARS = 1 << 18  # of the entries that are compared: no page that somebody reads has more
_GLANCE = 10  # what it counts to see that two cannot be the same


def of(page: Page, today: date) -> list[Operation]:
    """Propose merges of near-duplicates and the ends of what is over, in the order of the entries."""
    free = [entry for entry in page.labelled if entry.may_be_touched]
    found = [_expiry(entry, today) for entry in free]
    operations = [operation for operation in found if operation]
    over = {operation.targets[0] for operation in operations}
    merged: set[str] = set()
    alike = _Alike(_compared([entry for entry in free if entry.label not in over]))
    for number, entry in enumerate(alike.entries):
        if entry.label in merged:
            continue
        same = [other for other in alike.behind(number) if other.label not in merged]
        if not same:
            continue
        group = [entry, *same]
        merged |= {one.label for one in group}
        text = max(group, key=lambda one: len(one.text)).text
        operations.append(
            Operation("merge", tuple(one.label for one in group), text=text, reason="say the same")
        )
    return operations


def uncompared(page: Page) -> int:
    """How many entries, the last ones of a page that is too long, are not compared with the others."""
    free = [entry for entry in page.labelled if entry.may_be_touched]
    return len(free) - len(_compared(free))


def _compared(entries: Sequence[Entry]) -> Sequence[Entry]:
    sizes = list(accumulate(len(entry.text) for entry in entries))
    return entries[: bisect_right(sizes, _MOST_CHARS)]


def _expiry(entry: Entry, today: date) -> Operation | None:
    if entry.statement.said.get("valid-until", "9999-12-31") < today.isoformat():
        return Operation("expire", (entry.label,), reason="valid-until has passed")
    if checks.is_long_over(entry, today):
        return Operation("expire", (entry.label,), reason=checks.OVER)
    return None


class _Alike:
    """Entries of a page by what is the same in any two that say the same, so that few are compared."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        texts = {entry.text for entry in entries}
        said = {text: wording.read(text) for text in texts}
        says = {text: sameness.keys(text) for text in texts}
        self._said = [said[entry.text] for entry in entries]
        self._says = [says[entry.text] for entry in entries]
        self._sizes = [len(one.tokens) for one in self._said]
        # A bit for each word: at least as many words differ as bits, and bits are counted ten times as fast.
        self._bits = [_bits(one.words) for one in self._said]
        self._left = _MOST_COMPARED
        self._turned: dict[object, list[int]] = {}  # entries of a section by what turns them,
        self._keys: dict[object, list[int]] = {}  # and by all that they say
        for number, entry in enumerate(entries):
            self._turned.setdefault((entry.section, self._said[number].signs), []).append(number)
            if self._says[number]:
                self._keys.setdefault((entry.section, self._says[number]), []).append(number)

    def behind(self, number: int) -> list[Entry]:
        """The entries behind one that say the same, in nearly the same words or in another order."""
        entry, said = self.entries[number], self._said[number]
        keys = self._keys.get((entry.section, self._says[number]), [])
        found = set(keys[bisect_right(keys, number) :])
        turned, bits, size = self._turned[entry.section, said.signs], self._bits[number], self._sizes[number]
        for other in islice(turned, bisect_right(turned, number), None):
            if self._left < 0:
                break
            self._left -= _GLANCE
            if 2 * (bits ^ self._bits[other]).bit_count() > max(size, self._sizes[other]):
                continue
            if wording.may_be_same(said, self._said[other]):
                self._left -= len(entry.text) + len(self.entries[other].text)
                if wording.same(said, self._said[other]):
                    found.add(other)
        return [self.entries[other] for other in sorted(found)]


def _bits(words: Iterable[str]) -> int:
    bits = 0
    for word in words:
        bits |= 1 << (hash(word) & 255)
    return bits
