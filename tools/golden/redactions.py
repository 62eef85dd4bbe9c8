"""What is redacted in every file of the corpora and of the tests' fixtures."""

from __future__ import annotations

import re
from pathlib import Path

import corpora
from section import Section
from shell import digest, door, row

# Bytes of a set's files that are read; in all some 25 MB, or a minute.
MOST_OF_SET = 1_500_000
_MARK = re.compile(r"\[REDACTED:[^\]]*\]")


def record(section: Section) -> None:
    """Record an item for each set, one for the fixtures and one for documentation."""
    own = section.inputs
    section.dump.write("demo", _lines(own, sorted((own / "src/commonplace/demo/workspace").rglob("*.md"))))
    section.dump.write("docs", _lines(own, sorted((own / "docs").rglob("*.md"))))
    fixtures = sorted(
        path
        for path in (own / "tests").rglob("*")
        if path.suffix in (".py", ".md", ".txt", ".jsonl", ".json")
    )
    section.dump.write("tests", _lines(own, fixtures))
    section.dump.write("tests-by-line", _by_line(fixtures))
    for name in corpora.sets(section.bench) if section.bench else ():
        root = section.bench / name / "dev/workspaces"
        chosen, left = [], MOST_OF_SET
        files = sorted(root.rglob("*.md"))
        for path in corpora.spread(files, 2000):
            if left > 0:
                chosen.append(path)
                left -= path.stat().st_size
        section.dump.write(f"bench-{name}", _lines(root, chosen))


def _lines(root: Path, files: list[Path]) -> list[str]:
    redact, personal = door("redact"), door("redact_personal")
    lines = []
    for path in files:
        text = path.read_bytes().decode("utf-8", "replace")
        cells: list[object] = [path.relative_to(root).as_posix(), digest(text)]
        for function in filter(None, (redact, personal)):
            after, kinds = function(text)
            cells += [digest(after), list(kinds), _marks(text, after)]
        lines.append(row(*cells))
    return lines


def _marks(before: str, after: str) -> list[str]:
    """The redacted lines: the number of each, and what stands in it now."""
    if before == after:
        return []
    pairs = zip(before.split("\n"), after.split("\n"), strict=False)
    return [
        f"{number}: {' '.join(_MARK.findall(new))}"
        for number, (old, new) in enumerate(pairs, 1)
        if old != new
    ]


def _by_line(files: list[Path]) -> list[str]:
    """Each line of the fixtures by itself, without what surrounds it, that has something to redact."""
    redact = door("redact")
    known = dict.fromkeys(
        line.strip() for path in files for line in path.read_text("utf-8", "replace").split("\n")
    )
    told = ((line, *redact(line)) for line in known if 8 <= len(line) <= 2000)
    return [row(digest(line), digest(after), list(kinds)) for line, after, kinds in told if kinds]
