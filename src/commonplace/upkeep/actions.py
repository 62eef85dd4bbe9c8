"""What a tool did, from its name and arguments: wrote, ran or read, which files, which command.

Hosts call the same thing by many names, so names are compared without case and without the server that a
tool belongs to (`mcp__files__write_file` is `write_file`), and arguments by the keys that are usual.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Literal, NamedTuple

Kind = Literal["write", "run", "read", "other"]

_OWN = ("memory", "memory_*", "commonplace*")
_READING = (
    "read", "read_*", "*_read", "view", "view_*", "open_file", "cat", "get_file*", "notebookread", "fetch*",
    "webfetch", "web_fetch", "*_fetch", "browse*", "http*",
)  # fmt: skip
_COMMANDS = ("command", "cmd", "script", "code", "commandline")
_PATHS = (
    "file_path", "path", "notebook_path", "filepath", "filename", "file", "target_file", "paths", "files",
    "old_path", "new_path", "source", "destination",
)  # fmt: skip
_PATCHES = ("patch", "input", "diff", "patch_text")
_IN_PATCH = re.compile(
    r"^(?:\*\*\* (?:Update|Add|Delete) File: |\*\*\* Move to: |\+\+\+ (?:b/)?|--- (?:a/))"
    r"(?P<path>[^\t\n]{1,400})",
    re.MULTILINE,
)
_SUBCOMMANDS = {
    "view": "read",
    "create": "write",
    "str_replace": "write",
    "insert": "write",
    "undo_edit": "write",
}
_CONTENT = (
    "content",
    "file_text",
    "new_string",
    "new_str",
    "new_source",
    "edits",
    "insert_text",
    "insert_line",
)
# Programs that only look: a command made of them alone is a read.
_LOOKING = frozenset(
    """ls ll dir pwd cd cat bat less more head tail wc echo printf which whereis type file stat du df tree
    find fd grep egrep fgrep rg ag ack sort uniq cut awk jq nl diff cmp env printenv date whoami id uname ps
    top history true sleep""".split()
)
_LOOKING_AT = re.compile(
    r"git (?:-C \S+ )?(?:status|log|diff|show|branch|remote|rev-parse|ls-files|blame)\b(?! -[dDmM])"
)
_FETCHING = frozenset(
    "aria2c curl elinks gh glab http https httpie lftp links lynx scp sftp w3m wget xh".split()
)
_ADDRESS = re.compile(r"\b(?:https?|ftp)://(?!localhost\b|127\.|\[::1\])", re.IGNORECASE)  # elsewhere
_SPLIT = re.compile(r"\|\||&&|[|;\n&]")
_STARTING = re.compile(rf"{_SPLIT.pattern}|[`(]")  # a command within another one, too
_QUOTED = re.compile(r"'[^']*+'|\"(?:[^\"\\]|\\.)*+\"")
_SILENCED = re.compile(r"[12&]?>(?:&[12]|\s?/dev/null)")
_WRITING_SHELL = re.compile(r">|\bsed\b[^|;\n]{0,200}\s-\w*i|\b(?:tee|xargs)\b|\s-(?:exec|delete)\b")
_MOST_FILES = 50


class Action(NamedTuple):
    """What a tool did: which kind of thing, with which command, on which files, as they were named."""

    kind: Kind
    command: str = ""
    read: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    network: bool = False

    @property
    def target(self) -> str:
        """What a later call is compared with: the command, or the files."""
        return self.command or "\n".join((*self.modified, *self.read))


def bare(tool: str) -> str:
    """The name of a tool without that of its server."""
    return re.split(r"__|[./:]", tool.strip())[-1]


def is_named(tool: str, globs: Iterable[str]) -> bool:
    """Whether a tool has one of these names, whole or without that of its server."""
    names = {tool.strip().lower(), bare(tool).lower()}
    return any(fnmatchcase(name, glob.lower()) for name in names for glob in globs)


def is_own(tool: str) -> bool:
    """Whether a tool is one of ours, whose results are memory already."""
    return is_named(tool, _OWN) or any(part == "commonplace" for part in re.split(r"__|[./:]", tool.lower()))


def is_of_a_server(tool: str) -> bool:
    """Whether a tool belongs to a server that the host is connected to: `mcp__mail__search`."""
    return "__" in tool.strip()


def of(tool: str, arguments: Mapping[str, object]) -> Action:
    """Tell what a tool did."""
    command = next((text for key in _COMMANDS if (text := _text(arguments.get(key))).strip()), "")
    files = tuple(dict.fromkeys(_files(arguments)))[:_MOST_FILES]
    kind = _kind(tool, command, arguments, files)
    if kind == "run":
        network = bool(_programs(command) & _FETCHING or _ADDRESS.search(command))
        return Action(_run(command), command, network=network)
    network = any(isinstance(value, str) and _ADDRESS.match(value) for value in arguments.values())
    if kind == "read":
        return Action("read", read=files, network=network)
    if kind == "other":
        return Action("other", read=files, network=network)
    return Action(kind, modified=files)


def shown(path: str, root: Path | None) -> str:
    """A path relative to the workspace where it lies inside, with forward slashes."""
    plain = path.strip().replace("\n", " ")
    if root is None or not os.path.isabs(plain):
        return plain.removeprefix("./")
    for base in (str(root), os.path.realpath(root)):
        within = os.path.relpath(os.path.normpath(plain), base)
        if within != os.curdir and within.split(os.sep, 1)[0] != os.pardir:
            return PurePath(within).as_posix()
    return plain


def without_folder(command: str) -> str:
    """A command without the change of folder that it may begin with."""
    return re.sub(r"\A\s*cd [^&;|\n]{1,400}(?:&&|;)\s*(?=\S)", "", command)


def _kind(tool: str, command: str, arguments: Mapping[str, object], files: tuple[str, ...]) -> Kind:
    if command in _SUBCOMMANDS and files:
        return "read" if _SUBCOMMANDS[command] == "read" else "write"
    if command and not is_named(tool, ("write*", "edit*")):
        return "run"
    if is_named(tool, _READING):
        return "read"
    if files and (any(key in arguments for key in (*_CONTENT, *_PATCHES)) or _is_writing(tool)):
        return "write"
    return "other"


def _is_writing(tool: str) -> bool:
    return is_named(tool, ("write*", "edit*", "*edit", "create*", "delete*", "move*", "append*", "*patch*"))


def _run(command: str) -> Kind:
    """A command that only looks is a read."""
    plain = _SILENCED.sub("", _QUOTED.sub("''", command[:4000]))
    if len(command) > 4000 or _WRITING_SHELL.search(plain) or "$(" in plain or "`" in plain:
        return "run"
    parts = [part.strip() for part in _SPLIT.split(plain) if part.strip()]
    looks = all(_program(part) in _LOOKING or _LOOKING_AT.match(part) for part in parts)
    return "read" if parts and looks else "run"


def _programs(command: str) -> set[str]:
    return {_program(part) for part in _STARTING.split(command[:4000])}


def _program(part: str) -> str:
    """The name of the program that a part of a command line starts; settings before it are passed over."""
    words = [
        word for word in part.split() if not re.match(r"[A-Za-z_]\w*=", word) and word not in ("sudo", "time")
    ]
    return words[0].rsplit("/", 1)[-1].lower() if words else ""


def _files(arguments: Mapping[str, object]) -> Iterator[str]:
    for key in _PATHS:
        value = arguments.get(key)
        for one in value if isinstance(value, list | tuple) else [value]:
            path = one.get("path") or one.get("file_path") if isinstance(one, Mapping) else one
            if isinstance(path, str) and path.strip() and "://" not in path:
                yield path
    for key in _PATCHES:
        text = arguments.get(key)
        if isinstance(text, str):
            yield from (
                found["path"].strip() for found in _IN_PATCH.finditer(text) if found["path"] != "/dev/null"
            )


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        parts = [part for part in value if isinstance(part, str)]
        if (
            len(parts) == 3
            and parts[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh")
            and parts[1].startswith("-")
        ):
            return parts[2]
        return " ".join(parts)
    return value if isinstance(value, str) else ""
