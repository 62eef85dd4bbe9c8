"""What other programs call things: words that are no command here, and the line that is meant by each.

They are answered with that line and not obeyed, so that there is one word for one thing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

_NEAR = 0.78  # of 1: how alike a word must be to stand for another; "note" is not "nope"
_SEARCH = ("search {QUERY}",)
_SYNC = ("sync",)
_REMEMBER = ("remember {TEXT}",)
_FORGET = ("forget {REFERENCE}",)
# By the group ("" for the program itself) and the word, one line or several; a name in braces is where what
# was typed after the word goes.
SYNONYMS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "": {
        **dict.fromkeys(("query", "find", "grep", "lookup", "vsearch", "搜索", "查找"), _SEARCH),
        **dict.fromkeys(("index", "reindex", "embed", "refresh", "rebuild", "索引"), _SYNC),
        **dict.fromkeys(("note", "save", "store", "write", "append", "记住"), _REMEMBER),
        **dict.fromkeys(("delete", "remove", "rm", "erase", "purge", "忘记"), _FORGET),
        "add": ("remember {TEXT}", "collection add {FOLDER}"),
        "update": ("sync", "sync --pull"),
        "pull": ("sync --pull", "models pull {MODEL}"),
        **dict.fromkeys(("list", "notes", "files", "dir"), ("ls",)),
        **dict.fromkeys(("show", "cat", "read", "view"), ("get {REF}",)),
        **dict.fromkeys(("mget", "get-many"), ("multi-get {REF}",)),
        "context-for": ("recall {QUERY}",),
        **dict.fromkeys(("history", "changes"), ("log", "timeline {ANCHOR}")),
        **dict.fromkeys(("revert", "rollback"), ("undo",)),
        **dict.fromkeys(("fix", "replace"), ("correct {OLD}",)),
        **dict.fromkeys(("setup", "new", "create"), ("init",)),
        **dict.fromkeys(("check", "diagnose", "health"), ("doctor",)),
        **dict.fromkeys(("info", "stats"), ("status",)),
        **dict.fromkeys(("settings", "configure", "set"), ("config",)),
        **dict.fromkeys(("model", "download"), ("models",)),
        **dict.fromkeys(("collections", "folders"), ("collection list",)),
        **dict.fromkeys(("server", "start", "daemon", "http"), ("serve",)),
        "stop": ("serve stop",),
        **dict.fromkeys(("dream", "reflect", "refine"), ("consolidate",)),
        "summarise": ("summarize",),
        **dict.fromkeys(("cron", "nightly"), ("schedule install",)),
        "workspace": ("workspaces",),
        "session": ("sessions",),
        **dict.fromkeys(("transcripts", "conversations"), ("sessions list",)),
        **dict.fromkeys(("cost", "spend"), ("costs",)),
        "benchmark": ("bench prompt", "eval run {QUERIES}"),
        "version": ("--version",),
    },
    "collection": {
        **dict.fromkeys(("ls", "all"), ("collection list",)),
        **dict.fromkeys(("rm", "delete", "forget"), ("collection remove {NAME}",)),
        **dict.fromkeys(("mv", "move"), ("collection rename {OLD}",)),
        **dict.fromkeys(("new", "create"), ("collection add {FOLDER}",)),
        **dict.fromkeys(("get", "info"), ("collection show {NAME}",)),
        **dict.fromkeys(("sync", "update", "index"), _SYNC),
    },
    "context": {
        "ls": ("context list",),
        **dict.fromkeys(("rm", "delete"), ("context remove {PREFIX}",)),
        "set": ("context add {PREFIX}",),
    },
    "config": {
        **dict.fromkeys(("show", "ls", "all"), ("config list",)),
        **dict.fromkeys(("remove", "delete", "reset"), ("config unset {KEY}",)),
        **dict.fromkeys(("file", "where"), ("config path",)),
        "open": ("config edit",),
    },
    "models": {
        "ls": ("models list",),
        **dict.fromkeys(("download", "fetch", "get"), ("models pull {MODEL}",)),
        **dict.fromkeys(("set", "choose", "switch"), ("models use {MODEL}",)),
        **dict.fromkeys(("try", "check"), ("models test",)),
    },
    "sessions": {
        "ls": ("sessions list",),
        **dict.fromkeys(("add", "import"), ("sessions follow {PATH}",)),
        **dict.fromkeys(("get", "cat"), ("sessions show {ID}",)),
        **dict.fromkeys(("remove", "rm"), ("sessions unfollow {NAME}",)),
    },
    "workspaces": {
        "ls": ("workspaces list",),
        **dict.fromkeys(("rm", "delete", "forget"), ("workspaces remove {DIR}",)),
        **dict.fromkeys(("new", "create"), ("init {DIR}",)),
    },
    "schedule": {
        **dict.fromkeys(("add", "enable", "on"), ("schedule install",)),
        **dict.fromkeys(("uninstall", "disable", "off"), ("schedule remove",)),
        **dict.fromkeys(("show", "list"), ("schedule status",)),
    },
    "cache": {
        **dict.fromkeys(("show", "list", "status"), ("cache stats",)),
        **dict.fromkeys(("delete", "purge", "reset"), ("cache clear",)),
    },
    "serve": {**dict.fromkeys(("kill", "end"), ("serve stop",)), "start": ("serve",)},
}


def answer(program: str, group: str, typed: Sequence[str], names: Collection[str]) -> str:
    """Say which line is meant by a word that is no command of a group, and what was typed after it.

    `names` are the commands of the group. A word that is nearly a command or a synonym is taken for it.
    """
    from difflib import get_close_matches

    word, *rest = typed
    synonyms = SYNONYMS.get(group, {})
    known = [*names, "help"]
    near = [word] if word in synonyms else get_close_matches(word, [*known, *synonyms], 1, _NEAR)
    near = near or get_close_matches(word, known, 1)
    if not near:
        return f"there are {', '.join(names)}"
    if near[0] in known:
        return f"did you mean {near[0]!r}?"
    lines = [f"`{program} {_filled(line, rest)}`" for line in synonyms[near[0]]]
    return f"type {' or '.join(lines)}"


def _filled(line: str, rest: Sequence[str]) -> str:
    """A line with what was typed in the place of the name in braces, or with that name."""
    from shlex import join

    return re.sub(r"\{(\w+)\}", lambda place: join(rest) if rest else place[1], line)
