"""Speakers of the lines of chats, in many notations.

In a conversation a line leans on the one before it ("Yes, last May"); in a list of facts it does not. Ranking
uses this to let neighbours speak for each other in the one and not in the other. The notations are those of
WhatsApp, Slack, Discord, Telegram, WeChat and QQ; docs/note-format.md lists them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from commonplace.base.expressions import lazy
from commonplace.base.lines import remembered
from commonplace.base.tuples import NamedTuple

CLOCK = (
    r"(?:上午|下午|晚上|早上|中午|凌晨)?\d{1,2}[:：]\d\d(?:[:：]\d\d)?(?:[ \u00a0\u202f]?[AaPp]\.?[Mm]\.?)?"
)
DATE = (
    r"(?:\d{1,4}[-/.年]\d{1,2}[-/.月]\d{1,4}日?|(?:[Tt]oday|[Yy]esterday)(?: at)?|今天|昨天"
    r"|(?:星期|周)[一二三四五六日天])"
)
_STAMP = rf"(?:{DATE},?\s{{0,2}})?{CLOCK}"
_LABEL_WITHIN = 64  # characters in which the colon of a label must stand
_UNSEEN = "[\u200e\u200f\u202a-\u202e\u2066-\u2069]*+"  # marks of direction, which exports put before names
_PICTURES = r"\u2600-\u27bf\ufe0f\U0001f000-\U0001faff"
_NAME = rf"[~+]?[\w{_PICTURES}][\w .'’\-{_PICTURES}]{{0,30}}?"
# Parts of every time of day: most texts lack them, and the expressions below take 2 to 6 ms to compile. The
# literal comes first, which `re` finds fast.
_TIMED, _ANY_TIMED = lazy(r":(?<=\d:)\d"), lazy(r"[:：](?<=\d.)\d")
# The words follow in the same line.
_WHO = rf"(?:\*\*|__)?({_NAME[:-1]}+)(?:\*\*|__)?"
_SAYS = rf"{_WHO}\s?(?::(?:\*\*|__)?(?:\s|$)|：)"
_LABEL = lazy(rf"\s*{_UNSEEN}(?:[-*+]\s+)?{_SAYS}")
_LABELS = lazy(rf"\n[ \t]*+{_UNSEEN}(?:[-*+][ \t]++)?{_WHO}[ \t]?(?::(?:\*\*|__)?(?=\s|\Z)|：)")
_STAMPED_LABEL = lazy(
    rf"\s*{_UNSEEN}(?:[-*+]\s+)?(?:(?:\[{_STAMP}\]|{_STAMP}(?:\s?[-–—])?)\s+{_UNSEEN})?{_SAYS}"
)
# The words follow in the lines below.
_BOLD_OPENING = lazy(rf"(?:[-*+]\s+)?(?:\*\*|__)({_NAME}):?(?:\*\*|__),?\s*[(\[—–·|]?\s*{_STAMP}\s?[)\]]?")
_OPENING = lazy(
    rf"({_NAME}),?\s+(?:[(\[]{_STAMP}[)\]]|[—–]\s?{_STAMP})"
    rf"|({_NAME})\s+{DATE},?\s{{0,2}}{CLOCK}"
    rf"|{DATE}\s+{CLOCK}\s+({_NAME})\s*(?:[(（][\w.@-]{{3,40}}[)）]|<[^<>\s]{{3,60}}>)"
)
# The same in a chat alone: elsewhere it is an appointment.
_BRIEF_OPENING = lazy(rf"(\w[\w.'’\-]{{0,30}}(?:\s[A-Z][\w.'’\-]{{0,30}}){{0,2}})\s+{CLOCK}")
# WhatsApp puts a mark of direction before what it says itself; a picture is [图片] in WeChat and QQ.
_REMARK = lazy(r"\s*(?:<[^<>]{1,60}>|\[[^\[\]\s]{1,12}\]|\u200e.{1,200})\s*")
_LAST_OF_OPENING = frozenset("0123456789mM.)]）>")
_NO_NAME = frozenset("#-*>|([`")  # what begins lines in notes, and neither a name nor a date
_LONGEST_OPENING = 80  # characters
# Prefixes of guesses and levels of logs, not names.
_NOBODY = frozenset(
    {"tentative", "暂定", "待证", "trace", "debug", "info", "warn", "warning", "error", "fatal"}
)
# Names under which an assistant's transcript keeps what its owner said.
OWNER = frozenset({"user", "human", "me", "用户", "用戶", "使用者", "我"})
_LEAST = 4  # fewer labels are a list of keys and values
_HALF = 0.5  # from this share of labelled lines on, a section counts as a conversation in part


def speaker(line: str, *, chat: bool = False) -> str | None:
    """Return who says a line, or the first line of a text, in lower case; None where it does not say.

    `chat` tells that it is one of a conversation.
    """
    if match := _label(line):
        return _name(match)
    return opening(line.partition("\n")[0], chat=chat)


def behind(line: str, start: int = 0) -> int:
    """Return the place behind the label of a line; `start` for a line without a label."""
    match = _label(line[start:])
    return start + match.end() if match else start


def opening(line: str, *, chat: bool = False) -> str | None:
    """Return the speaker in lower case of a line that only says who speaks and when; None for others."""
    match = _opening(line.strip(), chat=chat)
    return match[match.lastindex or 0].lower() if match else None


def stamped(line: str) -> tuple[str, str] | None:
    """Return who says a line of a chat, in lower case, and all that stands around the name: when, in signs.

    None for a line without a speaker; without a time there are no digits in what stands around.
    """
    if match := _label(line):
        return _name(match), line[: match.start(1)]
    if match := _opening(bare := line.strip(), chat=True):
        start, end = match.span(match.lastindex or 0)
        return bare[start:end].lower(), bare[:start] + bare[end:]
    return None


def is_remark(line: str) -> bool:
    """Tell whether a turn is what an export writes for what it leaves out: `Ann: <Media omitted>`."""
    at = behind(line)
    return at > 0 and _REMARK.fullmatch(line, at) is not None


def asks(text: str) -> bool:
    """Tell whether a text ends in a question: it rarely says the answer."""
    return text.rstrip().endswith(("?", "？"))


def is_nobody(name: str) -> bool:
    """Tell whether a label names no person: the level of a log, or what opens a guess."""
    return name.split()[0] in _NOBODY


class Turns(NamedTuple):
    """The speakers of the lines of a text, in lower case by line from 1.

    `openings` only say who speaks and when; those in `brief` are appointments outside of a chat.
    """

    lines: Sequence[str]
    names: Mapping[int, str]
    openings: Set[int] = frozenset()
    brief: Set[int] = frozenset()

    def of(self, first: int, last: int, *, chat: bool) -> tuple[str, ...]:
        """Return the speakers of the lines from `first` to `last` that say it, in order."""
        names, brief = self.names, () if chat else self.brief
        return (
            ()
            if not names
            else tuple([names[n] for n in range(first, last + 1) if n in names and n not in brief])
        )

    def share(self, lines: Iterable[int]) -> float:
        """Return how much some lines, by number, are a conversation, 0..1.

        The share of non-blank lines said by somebody who speaks again in it, rescaled so that half of them
        is 0 and all of them 1; 0 with fewer than four such turns.
        """
        lines = dict.fromkeys(lines if len(self.names) >= _LEAST else ())
        if sum(map(self.names.__contains__, lines)) < _LEAST:
            return 0.0
        turns, said = Counter[str](), Counter[str | None]()  # below an opening lines are its speaker's
        current: str | None = None
        for line in filter(lambda line: self.lines[line - 1].strip(), lines):
            if own := self.names.get(line):
                turns[own] += 1
                current = own if line in self.openings else None
            said[own or current] += 1
        recurring = [who for who, count in turns.items() if count > 1 and not is_nobody(who)]
        if sum(turns[who] for who in recurring) < _LEAST:
            return 0.0
        return max(0.0, (sum(said[who] for who in recurring) / said.total() - _HALF) / (1 - _HALF))

    @property
    def chat_openings(self) -> Set[int]:
        """The openings, if four of them are of people who speak again; else they are appointments."""
        counts = Counter(self.names[line] for line in self.openings)
        recurring = sum(count for count in counts.values() if count > 1)
        return self.openings if recurring >= _LEAST else frozenset()


def read(lines: Sequence[str]) -> Turns:
    """Return who says some lines."""
    text = "\n".join(lines)
    if ":" not in text and "：" not in text:
        return Turns(lines, {})
    labels = list(_LABELS.finditer(f"\n{text}"))
    numbered = zip(line_numbers(text, map(re.Match.start, labels)), labels, strict=True)
    names = {number: _name(label) for number, label in numbered}
    opened, brief = dict[int, str](), set[int]()
    for number, line in timed_lines(text):
        if number not in names and (label := _label(line)):
            names[number] = _name(label)
        elif who := opening(line, chat=True):
            opened[number] = who
            brief |= {number} if opening(line) is None else set()
    return Turns(lines, names | opened, opened.keys(), brief)


def times(text: str) -> Iterator[re.Match[str]]:
    """Yield where a text holds a time of day: its colon and the digit behind it."""
    return (_ANY_TIMED if "：" in text else _TIMED).finditer(text)


def timed_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text that hold a time of day, with their numbers from 1."""
    number, begin, end = 1, 0, -1
    for time in times(text):
        if time.start() > end:
            start, begin = begin, text.rfind("\n", 0, time.start()) + 1
            end = text.find("\n", begin) % (len(text) + 1)  # -1 becomes the end of the text
            number += text.count("\n", start, begin)
            yield number, text[begin:end]


def line_numbers(text: str, places: Iterable[int]) -> Iterator[int]:
    """Yield the number, from 1, of the line of each place of a text; the places are in order."""
    number, done = 1, 0
    for place in places:
        number += text.count("\n", done, place)
        done = place
        yield number


def _opening(bare: str, *, chat: bool) -> re.Match[str] | None:
    """Match a stripped line that is only a name and a time; the last group is the name."""
    if not 6 <= len(bare) <= _LONGEST_OPENING or bare[-1] not in _LAST_OF_OPENING or not _is_timed(bare):
        return None
    match = _BOLD_OPENING.fullmatch(bare) if "**" in bare or "__" in bare else None
    if match or bare[0] in _NO_NAME:
        return match
    return _OPENING.fullmatch(bare) or (_BRIEF_OPENING.fullmatch(bare) if chat else None)


@remembered
def _label(line: str) -> re.Match[str] | None:
    """Match the label of a line; the first group is the name."""
    head = line[: _LABEL_WITHIN + 1]
    if ":" not in head[1:] and "：" not in head[1:]:
        return None
    # The first colon of a line is that of the time, where it has one in front of the name.
    return (_STAMPED_LABEL if _is_timed(head) else _LABEL).match(line)


def _name(label: re.Match[str]) -> str:
    return str(label[1]).rstrip(" _").lower()


def _is_timed(text: str) -> bool:
    return next(times(text), None) is not None
