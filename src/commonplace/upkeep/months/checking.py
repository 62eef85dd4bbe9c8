"""Whether a month's note holds what its days held, found out from the notes alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from commonplace.markdown import comments, references, statements
from commonplace.markdown.document import parse
from commonplace.redaction.redact import private_parts
from commonplace.upkeep.months.blocks import Daily
from commonplace.upkeep.months.composing import Composed

Told = tuple[str, bool, str, bool]  # what is stated, whether struck, its status, whether pinned


def lost(path: str, dailies: Sequence[Daily], existing: str, composed: Composed) -> str:
    """Return what a month's note lost, or says that no line stands behind; empty where all is well."""
    plain = existing.replace("\r\n", "\n")
    left = {
        (item.block.path, n) for item in composed.left for n in range(item.block.first, item.block.last + 1)
    }
    text = composed.text.replace("\r\n", "\n")
    wanted = Counter(_told(path, plain))
    for daily in dailies:
        wanted += Counter(_told(daily.path, daily.text, left))
    if missing := wanted - Counter(_told(path, text)):
        return f"{next(iter(missing))[0].splitlines()[0][:80]!r} would not stand in it as it did"
    parts = Counter(_private([plain, *(daily.text for daily in dailies)]))
    if parts - Counter(_private([text])):
        return "a private part would not stand in it as it did"
    if _lines_lost(plain, text):
        return "a line that stood in it would be gone"
    return _dangling(path, dailies, text)


def _told(path: str, text: str, left: Iterable[tuple[str, int]] = ()) -> Iterator[Told]:
    gone = set(left)
    for found in statements.read(parse(text, path)):
        if (path, found.first) not in gone:
            yield found.text, found.struck, found.said.get("status", ""), statements.is_pinned(found.said)


def _private(texts: Iterable[str]) -> Iterator[str]:
    """Private parts; one that is left open may be closed, and blank lines at its end may go."""
    for text in texts:
        for start, end, _ in private_parts(text):
            yield text[start:end].removesuffix("</private>").rstrip()


def _lines_lost(before: str, after: str) -> bool:
    """Whether the lines of a text do not all stand in another one in their order."""
    rest = iter(after.split("\n"))
    return not all(line in rest for line in before.removesuffix("\n").split("\n")) if before else False


def _dangling(path: str, dailies: Sequence[Daily], text: str) -> str:
    sizes = {daily.archived: daily.text.count("\n") + 1 for daily in dailies}
    for said in parse(text, path).annotations.values():
        for told in comments.sources(said):
            reference = references.parse_reference(told)
            if reference.path in sizes and max(reference.first, reference.last or 0) > sizes[reference.path]:
                return f"{told} would be no line"
    return ""
