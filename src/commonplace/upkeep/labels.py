"""The labels of a summary's parts, by language, for who writes them and who looks for them."""

from __future__ import annotations

from collections.abc import Mapping

# A colon would read as somebody speaking (`markdown.structure`), so a dash stands between label and text.
DASH = " – "
LABELS: Mapping[str, tuple[str, ...]] = {
    "en": ("Asked", "Done", "Decided", "Learned", "Open", "Last answer"),
    "zh": ("请求", "完成", "决定", "了解", "待办", "最后的回答"),
}
OPEN_LABELS = tuple(labels[4] for labels in LABELS.values())
