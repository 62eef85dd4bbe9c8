"""The parts of a summary, and how they stand in a note: in the conversation's language, inside a length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from commonplace.upkeep.prose import Language, joined, sentences, within, words

HEADINGS: dict[Language, str] = {"en": "Session summaries", "zh": "会话小结"}
# A colon would read as somebody speaking (`chunking.turns`), so a dash stands between label and text.
DASH = " – "
_LABELS: dict[Language, tuple[str, ...]] = {
    "en": ("Asked", "Done", "Decided", "Learned", "Open", "Last answer"),
    "zh": ("请求", "完成", "决定", "了解", "待办", "最后的回答"),
}
_MARKED: dict[Language, str] = {
    "en": "Extract of a session, put together without a language model",
    "zh": "会话摘录，未经语言模型整理",
}
# What goes last when a summary is too long, and what first.
_WEIGHTS = ("request", "decisions", "open", "done", "learned", "answer")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a summary says; each part is a text of one line, empty where there is nothing to say.

    `answer` is the last answer, which only an extract has; `extractive` says that no model wrote it.
    """

    request: str = ""
    done: str = ""
    decisions: str = ""
    learned: str = ""
    open: str = ""
    answer: str = ""
    extractive: bool = False

    def __bool__(self) -> bool:
        """Whether there is anything to say."""
        return any(self.texts())

    def texts(self) -> tuple[str, ...]:
        """The parts in their order."""
        return tuple(getattr(self, name) for name in NAMES)


NAMES = tuple(field.name for field in fields(Parts) if field.name != "extractive")


def compose(parts: Parts, language: Language, most_words: int) -> str:
    """Write the parts as an entry of a note, each on a line with its label, in so many words at most."""
    return _written(_fit(parts, language, most_words), language)


def _written(parts: Parts, language: Language) -> str:
    told = zip(_LABELS[language], parts.texts(), strict=True)
    lines = [f"{label}{DASH}{text}" for label, text in told if text]
    if parts.extractive:
        lines.insert(0, _MARKED[language])
    return "\n- ".join(lines)


def _fit(parts: Parts, language: Language, most: int) -> Parts:
    """Cut last sentences off the longest part until all fit; then what matters least is left out."""
    while words(_written(parts, language)) > most:
        texts = {name: getattr(parts, name) for name in NAMES}
        longest = max(NAMES, key=lambda name: words(texts[name]) if len(sentences(texts[name])) > 1 else 0)
        cut = sentences(texts[longest])
        if len(cut) > 1:
            parts = _with(parts, longest, joined(cut[:-1]))
            continue
        present = [name for name in _WEIGHTS if texts[name]]
        longest = max(present, key=lambda name: words(texts[name]))
        share = max(1, most // (2 * len(present)))
        if words(texts[longest]) > share:
            parts = _with(parts, longest, within(texts[longest], share))
        elif len(present) > 1:
            parts = _with(parts, present[-1], "")
        else:
            break
    return parts


def _with(parts: Parts, name: str, text: str) -> Parts:
    told = {known: getattr(parts, known) for known in NAMES} | {name: text}
    return of(told, extractive=parts.extractive)


def of(texts: Mapping[str, str], *, extractive: bool = False) -> Parts:
    """Make parts of texts by their names."""
    said = {name: texts.get(name, "") for name in NAMES}
    return replace(Parts(extractive=extractive), **said)  # type: ignore[arg-type]  # all these are texts
