"""Every rule that decides what an index holds has a version: who changes what a rule makes must raise it."""

from __future__ import annotations

import hashlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from commonplace.chunking import passages
from commonplace.chunking.settings import DEFAULT, ChunkSettings
from commonplace.index import rules
from commonplace.language import lexicon
from commonplace.markdown import visible, wiki
from commonplace.markdown.document import decode, parse
from commonplace.redaction.redact import redact, rules_digest
from commonplace.transcripts import formats, rendering
from commonplace.types import Note

GOLDEN = Path(__file__).parents[1] / "golden" / "rules"
RECORD = GOLDEN / "recorded.json"
# In the order in which a note goes through them: the first that differs is the one that was changed.
Rule = tuple[str, Callable[[], Iterator[object]], Callable[[], object]]


def notes() -> list[Note]:
    return [parse(decode(path.read_bytes()), f"memory/{path.name}") for path in sorted(GOLDEN.glob("*.md"))]


def _redaction() -> Iterator[object]:
    for path in sorted(GOLDEN.glob("*.md")):
        yield redact(path.read_text("utf-8"))


def _formats() -> Iterator[object]:
    for path in sorted(GOLDEN.glob("*.jsonl")):
        note = formats.note(
            io.BytesIO(path.read_bytes()), f"sessions/{path.name}", "auto", path.stat().st_size
        )
        yield note.title, note.date, note.lines, note.headings


def _markdown() -> Iterator[object]:
    for note in notes():
        metadata = json.dumps(dict(note.metadata), default=str, sort_keys=True)
        yield note.title, note.date, note.kind, metadata, note.lines, note.headings, note.days
        yield wiki.said(note)


def _cut() -> Iterator[object]:
    for note in notes():
        sections, found = passages.split(note, DEFAULT)
        yield [(one.headings, one.start_line, one.end_line) for one in sections]
        yield [(one.section, one.start_line, one.end_line, one.text) for one in found]


def _comments() -> Iterator[object]:
    for note in notes():
        yield [
            one.annotations and sorted(one.annotations.items()) for one in passages.split(note, DEFAULT)[1]
        ]


def _turns() -> Iterator[object]:
    for note in notes():
        yield [one.turns for one in passages.split(note, DEFAULT)[0]]


def _folding() -> Iterator[object]:
    for note in notes():
        yield lexicon.TOKENIZER, [lexicon.index_text(visible.text(line)) for line in note.lines]


RULES: tuple[Rule, ...] = (
    ("`redaction` in index.rules.VERSIONS", _redaction, lambda: rules.VERSIONS["redaction"]),
    ("VERSION of transcripts.rendering", _formats, lambda: rendering.VERSION),
    ("`markdown` in index.rules.VERSIONS", _markdown, lambda: rules.VERSIONS["markdown"]),
    ("`passages-N` of chunking.settings.ChunkSettings.fingerprint", _cut, lambda: DEFAULT.fingerprint),
    ("`comments` in index.rules.VERSIONS", _comments, lambda: rules.VERSIONS["comments"]),
    ("`turns` in index.rules.VERSIONS", _turns, lambda: rules.VERSIONS["turns"]),
    ("VERSION of index.lexicon", _folding, lambda: lexicon.VERSION),
)


def digest(output: Iterator[object]) -> str:
    return hashlib.sha256(repr(list(output)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def now() -> dict[str, list[object]]:
    return {name: [version(), digest(output())] for name, output, version in RULES}


def test_what_a_rule_makes_changes_with_its_version_alone() -> None:
    recorded = json.loads(RECORD.read_text("utf-8"))
    for name, (version, made) in now().items():
        before, earlier = recorded[name]
        assert (made == earlier) or (version != before), (
            f"the golden notes come out otherwise than recorded: raise {name},"
            " then record it: python -m tests.index.test_rules"
        )
        assert version == before, f"{name} was raised: record it: python -m tests.index.test_rules"


def test_a_change_is_told() -> None:
    noted = json.dumps({"redaction": "0", "markdown": 1, "comments": 0, "turns": 1})
    today = json.dumps({"redaction": "0", "markdown": 2, "comments": 0, "turns": 1, "new": 1})
    own = {"tokenizer": "1", "rules": today}
    assert rules.differences({"tokenizer": "1", "rules": noted}, own) == ["markdown", "new"]
    for damaged in ("", "[1]"):
        assert rules.differences({"rules": damaged}, own) == ["tokenizer", "rules"]
    assert rules.differences({**own, "model": "m"}, own) == []


def test_every_version_is_part_of_the_identity() -> None:
    identity = rules.identity(DEFAULT)
    assert json.loads(identity["rules"]) == rules.VERSIONS
    digest = rules_digest()
    assert rules.VERSIONS["redaction"] == digest, f"the rules of redaction have changed: note {digest} there"
    assert set(identity) == {"tokenizer", "chunking", "rules"}


if __name__ == "__main__":
    RECORD.write_text(json.dumps(now(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    sys.stdout.write(f"recorded in {RECORD}\n")


def test_every_setting_of_the_cut_is_part_of_the_identity() -> None:
    for name in ChunkSettings._fields:
        value = getattr(DEFAULT, name)
        other = DEFAULT._replace(**{name: not value if isinstance(value, bool) else value + 1})
        assert rules.identity(other) != rules.identity(DEFAULT), name
        assert rules.identity(DEFAULT._replace()) == rules.identity(DEFAULT), name
