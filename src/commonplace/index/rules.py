"""The rules that decide what an index holds, as its identity names them, each with a version.

They are apart from the rules themselves, so that a search without changed files need not load these.
A change in the results of a rule raises its number here: the index is then made anew, and the
vectors of texts that stay are kept. `tests/index/test_rules.py` tells which number a change calls for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from commonplace.chunking.settings import ChunkSettings
from commonplace.language import lexicon

# Notes in `meta` about the vectors, which outlive a rebuild: whose they are (fingerprint, scripts served),
# which model's are being made, which contexts are embedded with the passages.
KEPT_META = ("model", "scripts", "staging", "contexts")
RULES = "rules"  # the part of the identity that names these rules with their versions
# Chat formats have `transcripts.rendering.VERSION`.
REDACTION = "redaction"
VERSIONS: dict[str, int | str] = {
    REDACTION: "c8a21edc11a0",  # redaction.redact.rules_digest(), which takes 40 ms to work out
    # markdown.document, .structure, .encoded, .fences, .stamps, .visible, .wiki, index.base: title, headings,
    # days, kind, front matter, tags and tasks in the text
    "markdown": 19,
    "comments": 9,  # markdown.comments, markdown.struck: annotations of a passage
    "turns": 2,  # markdown.turns.Turns.share: how much of a section is conversation
}


def identity(chunk: ChunkSettings) -> dict[str, str]:
    """Return the inputs of an index besides the notes; any difference means a rebuild."""
    return {
        "tokenizer": f"{lexicon.VERSION}:{lexicon.TOKENIZER}",
        "chunking": chunk.fingerprint,
        RULES: json.dumps(VERSIONS),
    }


def differences(noted: Mapping[str, str | None], now: Mapping[str, str]) -> list[str]:
    """Name the parts of an identity, and of its rules, that differ from those that an index notes."""
    changed = [name for name, value in now.items() if noted.get(name) != value]
    if RULES in changed:
        changed.remove(RULES)
        after = json.loads(now[RULES])
        try:
            before = dict(json.loads(noted.get(RULES) or ""))
            changed += [name for name in after if before.get(name) != after[name]]
        except (ValueError, TypeError):
            changed.append(RULES)
    return changed
