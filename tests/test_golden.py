"""Golden Markdown: what notes are parsed and cut into, written down.

After a change that is meant, `python -m tests.test_golden` writes the expected files anew: read the difference.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.chunking import passages
from commonplace.markdown.document import decode, parse

FOLDER = Path(__file__).parent / "golden"
NOTES = sorted(FOLDER.glob("*.md"))


def told(path: Path) -> str:
    """A note's structure and passages as text that a person can compare."""
    note = parse(decode(path.read_bytes()), path.name)
    sections, cut = passages.split(note)
    facts = {
        "title": note.title,
        "date": note.date,
        "kind": note.kind,
        "metadata": dict(note.metadata),
        "front_matter": note.front_matter,
        "headings": [[h.level, h.text, h.line] for h in note.headings],
        "fences": note.fences,
        "annotations": {str(line): found for line, found in note.annotations.items()},
    }
    lines = [json.dumps(facts, ensure_ascii=False, indent=1)]
    for number, section in enumerate(sections):
        path_ = " › ".join(section.headings) or "(no heading)"
        lines.append(f"\n== {path_}  L{section.start_line}-L{section.end_line}  turns {section.turns:g}")
        for p in cut:
            if p.section == number:
                marked = f"  {json.dumps(p.annotations, ensure_ascii=False)}" if p.annotations else ""
                lines += [f"-- L{p.start_line}-L{p.end_line}{marked}", p.text]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", NOTES, ids=lambda path: path.name)
def test_as_written_down(path: Path) -> None:
    assert told(path) == path.with_suffix(".txt").read_text("utf-8")


if __name__ == "__main__":
    for note in NOTES:
        note.with_suffix(".txt").write_text(told(note), "utf-8")
