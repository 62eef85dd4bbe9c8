"""JSON as people write it in settings files, changed in place: every byte but that of a change stays.

Comments, commas behind the last member, and what JSON5 allows beside (single quotes, names without quotes,
other numbers) are read; what is written is plain JSON. A change is made on the text and read again, so that
places never go stale.

Sources: RFC 8259; https://spec.json5.org.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from commonplace.base.tuples import NamedTuple

Step = str | int  # into an object, into an array
DEEPEST = 100  # levels
_UNIT = "  "
_TRIVIA = re.compile(r"(?:[\s\ufeff]|//[^\n\r]*+|/\*(?:[^*]|\*(?!/)|(?!))*+\*/|(?!))*+")
_STRING = re.compile(
    r'"(?:[^"\\\n\r]|\\(?:\r\n|[\s\S])|(?!))*+"|\'(?:[^\'\\\n\r]|\\(?:\r\n|[\s\S])|(?!))*+\''
)
_NAME = re.compile(r"[\w$][\w$\u200c\u200d]*+")
_WORD = re.compile(r"[\w.+$-]++")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|[\s\S]))")
_MEANING = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_MEANING |= dict.fromkeys(("\n", "\r\n", "\r", "\u2028", "\u2029"), "")
_WORDS = {"true": True, "false": False, "null": None, "Infinity": float("inf"), "NaN": float("nan")}
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|Infinity|NaN)")
# Behind a member on its own line, what belongs to it.
_BESIDE = re.compile(r"(?:[ \t]|/\*[^\n\r*]*\*/|(?!))*+(?://[^\n\r]*+)?(?=[\r\n])")


class Broken(ValueError):
    """A text that is no JSON, or has another shape than it must: `line` and `column` count from 1."""

    def __init__(self, text: str, place: int, reason: str) -> None:
        self.line = text.count("\n", 0, place) + 1
        self.column = place - (text.rfind("\n", 0, place) + 1) + 1
        super().__init__(f"line {self.line}, column {self.column}: {reason}")


class Member(NamedTuple):
    """A member of an object, or of an array (without a key); `comma` is where the one behind it is, or -1."""

    key: str
    start: int
    node: Node
    comma: int


class Node(NamedTuple):
    """A value, and where it stands in the text: from `start` up to `end`."""

    start: int
    end: int
    value: Any
    members: tuple[Member, ...] = ()

    def at(self, step: Step) -> Member | None:
        """Return the member of a key, the last one where there are several, or of an index."""
        if isinstance(step, int):
            return self.members[step] if isinstance(self.value, list) and step < len(self.members) else None
        named = [member for member in self.members if isinstance(self.value, dict) and member.key == step]
        return named[-1] if named else None


# --- reading -------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)  # a change looks at the same text several times
def read(text: str) -> Node:
    """Read a text; a blank one counts as an empty object. Raises Broken."""
    reader = _Reader(text)
    start = reader.skip(0)
    if start == len(text):
        return Node(start, start, {})
    node = reader.value(start, 0)
    if (end := reader.skip(node.end)) < len(text):
        raise Broken(text, end, "more than one value")
    return node


def value(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return what a text says. Raises Broken."""
    return read(text).value


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def skip(self, place: int) -> int:
        match = _TRIVIA.match(self.text, place)
        return match.end() if match else place

    def value(self, place: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise Broken(self.text, place, f"nested more than {DEEPEST} levels deep")
        character = self.text[place : place + 1]
        if character in ("{", "["):
            return self._container(place, depth)
        if character in ('"', "'"):
            return self._string(place)
        match = _WORD.match(self.text, place)
        word = match[0] if match else ""
        if word in _WORDS:
            return Node(place, place + len(word), _WORDS[word])
        if not _NUMBER.fullmatch(word):
            raise Broken(self.text, place, f"unexpected {word or character or 'end'!r}")
        return Node(place, place + len(word), _number(word))

    def _string(self, place: int) -> Node:
        match = _STRING.match(self.text, place)
        if not match:
            raise Broken(self.text, place, "a text in quotes that does not end")
        string = _ESCAPE.sub(_meaning, match[0][1:-1])
        # Two escapes may stand for one character.
        string = string.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return Node(place, match.end(), string)

    def _container(self, start: int, depth: int) -> Node:
        is_object = self.text[start] == "{"
        closing, members = "}" if is_object else "]", []
        place = self.skip(start + 1)
        while not self.text.startswith(closing, place):
            first, key = place, ""
            if is_object:
                key, place = self._key(place)
            node = self.value(place, depth + 1)
            place = self.skip(node.end)
            comma = place if self.text.startswith(",", place) else -1
            members.append(Member(key, first, node, comma))
            if comma < 0:
                break
            place = self.skip(comma + 1)
        if not self.text.startswith(closing, place):
            unexpected = self.text[place : place + 1] or "the end"
            raise Broken(self.text, place, f"expected ',' or {closing!r}, not {unexpected!r}")
        value: Any = (
            {one.key: one.node.value for one in members} if is_object else [m.node.value for m in members]
        )
        return Node(start, place + 1, value, tuple(members))

    def _key(self, place: int) -> tuple[str, int]:
        """A key, and where its value begins."""
        if self.text[place : place + 1] in ('"', "'"):
            node = self._string(place)
            key, end = str(node.value), node.end
        elif match := _NAME.match(self.text, place):
            key, end = match[0], match.end()
        else:
            unexpected = self.text[place : place + 1] or "the end"
            raise Broken(self.text, place, f"expected a name, not {unexpected!r}")
        colon = self.skip(end)
        if not self.text.startswith(":", colon):
            raise Broken(self.text, colon, f"expected ':' behind {key!r}")
        return key, self.skip(colon + 1)


def _meaning(escape: re.Match[str]) -> str:
    if code := escape[1] or escape[2]:
        return chr(int(code, 16))
    return _MEANING.get(escape[3], escape[3])


def _number(word: str) -> float | int:
    sign, bare = (-1 if word.startswith("-") else 1), word.lstrip("+-")
    if bare[:2].lower() == "0x":
        return sign * int(bare, 16)
    try:
        return sign * (int(bare) if bare.isdigit() else float(bare))
    except ValueError:  # more digits than Python reads as an integer
        return sign * float(bare)


# --- changing ------------------------------------------------------------------------------------------


def get(text: str, path: Sequence[Step]) -> Node | None:
    """Return what stands at a path, None for nothing. Raises Broken."""
    node: Node | None = read(text)
    for step in path:
        member = node.at(step) if node else None
        node = member.node if member else None
    return node


def assign(text: str, path: Sequence[str], value: object) -> str:
    """Set a member, making the objects on the way; of an object each member is set, the rest of it stays.

    Raises Broken where something else than an object is on the way.
    """
    node = read(text)
    for depth, key in enumerate(path):
        if not isinstance(node.value, dict):
            raise Broken(text, node.start, f"{'.'.join(path[:depth]) or 'the whole'} is no object")
        member = node.at(key)
        if member is None:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            return _insert(text, node, value, key)
        node = member.node
    if node.value == value and type(node.value) is type(value):
        return text
    if isinstance(value, dict) and isinstance(node.value, dict):
        for key, inner in value.items():
            text = assign(text, (*path, key), inner)
        return text
    indent = _indent(text, node.start)
    return (
        text[: node.start]
        + _written(value, text, None if _is_flat(text, read(text)) else indent)
        + text[node.end :]
    )


def append(text: str, path: Sequence[str], value: object) -> str:
    """Put a value behind the last one of an array, which is made if it is missing. Raises Broken."""
    node = get(text, path)
    if node is None:
        return assign(text, path, [value])
    if not isinstance(node.value, list):
        raise Broken(text, node.start, f"{'.'.join(path)} is no array")
    return _insert(text, node, value)


def remove(text: str, path: Sequence[Step]) -> str:
    """Take out what stands at a path, with its comma; comments around it stay. Raises Broken, KeyError."""
    above = get(text, path[:-1])
    member = above.at(path[-1]) if above else None
    if above is None or member is None:
        raise KeyError(path)
    expected = repr(_dropped(value(text), path))
    start = len(text[: member.start].rstrip(" \t"))
    whole_line = start - text.endswith("\n", 0, start)
    whole_line -= whole_line < start and text.endswith("\r", 0, whole_line)
    # The end of the line above may be that of a comment, which would go on with what is behind the member.
    for first in (whole_line, start):
        changed = _cut(text, above, member, first)
        with suppress(Broken):
            if repr(value(changed)) == expected:
                break
    return changed


def _cut(text: str, above: Node, member: Member, start: int) -> str:
    """A text without what stands from a place to the end of a member, and without a comma."""
    place = above.members.index(member)
    cut = [(start, member.node.end)]
    if member.comma >= 0:
        cut.append((member.comma, member.comma + 1))
    elif place:
        former = above.members[place - 1].comma
        cut.insert(0, (former, former + 1))
    if len(above.members) == 1:
        inside = text[above.start + 1 : start] + text[cut[-1][1] : above.end - 1]
        if not inside.strip():
            cut = [(above.start + 1, above.end - 1)]
    elif not place and not text[above.start + 1 : member.start]:
        rest = text[cut[-1][1] :]
        cut[-1] = cut[-1][0], cut[-1][1] + len(rest) - len(rest.lstrip(" \t"))
    for first, last in reversed(cut):
        text = text[:first] + text[last:]
    return text


def _dropped(value: Any, path: Sequence[Step]) -> Any:  # noqa: ANN401 - whatever JSON holds
    """A value without what stands at a path."""
    step, below = path[0], path[1:]
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    members = [
        (key, _dropped(one, below) if key == step else one) for key, one in pairs if below or key != step
    ]
    return dict(members) if isinstance(value, dict) else [one for _, one in members]


def _insert(text: str, node: Node, value: object, key: str | None = None) -> str:
    """Put a member behind the last one of an object or an array, in the way of what stands there."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if node.start == node.end:  # a blank text
        text += newline if text.strip("\ufeff") and not text.endswith(("\n", "\r")) else ""
        node = read(text + "{}")
        text += "{}" + newline
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    inside = node.start + 1, node.end - 1
    if not node.members:
        line = _indent(text, node.start)
        indent = line + _unit(text)
        if _is_flat(text, read(text)):
            return f"{text[: inside[1]]}{name}{_written(value, text, None)}{text[inside[1] :]}"
        before = text[: inside[1]].rstrip(" \t\r\n")
        added = f"{newline}{indent}{name}{_written(value, text, indent)}{newline}{line}"
        return f"{before}{added}{text[inside[1] :]}"
    last = node.members[-1]
    end, comma = (last.node.end, ",") if last.comma < 0 else (last.comma + 1, "")
    trailing = "" if comma else ","
    if _is_flat(text, node):
        return f"{text[:end]}{comma} {name}{_written(value, text, None)}{trailing}{text[end:]}"
    indent = _indent(text, node.members[0].start)
    beside = _BESIDE.match(text, end)
    place = beside.end() if beside else end
    added = f"{newline}{indent}{name}{_written(value, text, indent)}{trailing}"
    return f"{text[:end]}{comma}{text[end:place]}{added}{text[place:]}"


def _is_flat(text: str, node: Node) -> bool:
    """Whether a container with members has its first one on the line where it begins."""
    return bool(node.members) and "\n" not in text[node.start : node.members[0].start]


def _written(value: object, text: str, indent: str | None) -> str:
    """A value as JSON: on one line, or on several, of which the first stands behind `indent`."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    newline = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(value, ensure_ascii=False, indent=_unit(text)).replace("\n", newline + indent)


def _unit(text: str) -> str:
    """By how much this text indents: as its first member."""
    node = read(text)
    if not node.members or _is_flat(text, node):
        return _UNIT
    outer, inner = _indent(text, node.start), _indent(text, node.members[0].start)
    return inner.removeprefix(outer) or _UNIT


def _indent(text: str, place: int) -> str:
    """The white space that the line of a place begins with."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]
