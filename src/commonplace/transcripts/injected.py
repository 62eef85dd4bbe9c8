"""What was put into a conversation by programs and said by nobody: recalled notes, reminders, contexts."""

from __future__ import annotations

import re

RECALL_TAG = "recalled-notes"  # `search.disclose.TAG`, which this may not import; a test compares them
_OPENING = rf"<\s*{RECALL_TAG}\b[^<>]*>"
# A block cut off in the middle is ours all the same if it opens as ours do, also inside of JSON.
_OURS = rf"<\s*{RECALL_TAG} note=\\*\"Reference data[^<>]*>"
_RECALLED = re.compile(rf"(?is){_OPENING}.*?<\s*/\s*{RECALL_TAG}\s*>\n?|{_OURS}.*\Z")


def without_recalled(text: str) -> str:
    """Return a text without the blocks of recalled notes in it, closed or cut off."""
    return _RECALLED.sub("", text) if RECALL_TAG in text.lower() else text
