"""The programs that this memory can be entered into: one row each."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from commonplace.agent import tools

Scope = Literal["user", "project"]
SCOPES: tuple[Scope, ...] = ("user", "project")
NAME = "memory"  # of the entry, unless another is chosen


@dataclass(frozen=True, slots=True)
class Place:
    """Where something lies: below the user's home, and below a project; empty where there is no such place.

    A variable of the environment, where it is set, names the folder in which `below` lies instead. Of several
    spellings the first that exists is meant, else the first.
    """

    user: tuple[str, ...]
    project: tuple[str, ...] = ()
    variable: str = ""
    below: str = ""

    def path(self, scope: Scope, folder: Path, environ: Mapping[str, str]) -> Path | None:
        """Return the place in a scope; `folder` is the home, or the project."""
        if (root := self.root(scope, folder, environ)) != folder:
            return root / self.below
        candidates = [folder / _spelled(name, environ) for name in getattr(self, scope)]
        return next(filter(os.path.exists, candidates), candidates[0] if candidates else None)

    def root(self, scope: Scope, folder: Path, environ: Mapping[str, str]) -> Path:
        """Return the folder that it lies below: that of the scope, unless a variable names another."""
        named = environ.get(self.variable) if scope == "user" and self.variable else ""
        return Path(os.path.abspath(os.path.expanduser(named))) if named else folder


def _spelled(name: str, environ: Mapping[str, str]) -> Path:
    """A place as this system has it: `{config}` is the folder of applications' settings."""
    if not name.startswith("{config}"):
        return Path(name)
    if sys.platform == "darwin":
        base = "Library/Application Support"
    else:
        base = environ.get("XDG_CONFIG_HOME") or ".config"
    return Path(base, name.removeprefix("{config}/"))


@dataclass(frozen=True, slots=True)
class ClientFolders:
    """Where files of clients lie: the user's home, the project at hand, variables that name others."""

    home: Path
    project: Path
    environ: Mapping[str, str]

    def folder(self, scope: Scope) -> Path:
        """Return the folder of a scope."""
        return self.home if scope == "user" else self.project

    def path(self, place: Place | None, scope: Scope) -> Path | None:
        """Return where something lies, None where a client has no such place in that scope."""
        return place.path(scope, self.folder(scope), self.environ) if place else None


@dataclass(frozen=True, slots=True)
class Hook:
    """A client's hook of an event: `timeout_s` in seconds; `matcher` selects tools, left out if empty."""

    event: str
    timeout_s: int
    matcher: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """A client. `keys` lead to the table of its MCP servers; `fields` are further fields of our entry.

    `form` is that of the file; with `one_list` the command and its arguments are one list. `programs` are
    names on PATH by which it is known to be on this machine, `by_hand` is what its user has to do.
    """

    name: str
    title: str
    programs: tuple[str, ...]
    servers: Place
    keys: tuple[str, ...] = ("mcpServers",)
    fields: Mapping[str, object] | None = None
    form: Literal["json", "toml"] = "json"
    one_list: bool = False
    hooks: Place | None = None
    events: tuple[Hook, ...] = ()
    skills: Place | None = None
    by_hand: Mapping[Scope, str] | None = None


_ALL = "*"  # every tool
# Seconds are those after which the client gives up; a hook takes a tenth of one, or one where it recalls.
_CLAUDE = (
    Hook("SessionStart", 15),
    Hook("UserPromptSubmit", 15),
    Hook("PostToolUse", 10, _ALL),
    Hook("PostToolUseFailure", 10, _ALL),
    Hook("PreCompact", 30),
    Hook("Stop", 30),
    Hook("SessionEnd", 30),
)
# Codex has no event of its own for a tool that failed, and stops a hook at the end of a session after 3 s.
_CODEX = (
    Hook("SessionStart", 15),
    Hook("UserPromptSubmit", 15),
    Hook("PostToolUse", 10, _ALL),
    Hook("PreCompact", 30),
    Hook("Stop", 30),
    Hook("SessionEnd", 3),
)

_CLAUDE_SETTINGS = (".claude/settings.json",)
TARGETS = (
    Target(
        "claude-code", "Claude Code", ("claude",),
        Place((".claude.json",), (".mcp.json",), "CLAUDE_CONFIG_DIR", ".claude.json"),
        fields={"type": "stdio"},
        hooks=Place(_CLAUDE_SETTINGS, _CLAUDE_SETTINGS, "CLAUDE_CONFIG_DIR", "settings.json"),
        events=_CLAUDE,
        skills=Place((".claude/skills",), (".claude/skills",), "CLAUDE_CONFIG_DIR", "skills"),
        by_hand={
            "user": "start a new session; /mcp and /hooks show what it has",
            "project": "start Claude Code in this folder and approve the server of .mcp.json when it asks",
        },
    ),
    Target(
        "codex", "Codex", ("codex",),
        Place((".codex/config.toml",), (".codex/config.toml",), "CODEX_HOME", "config.toml"),
        keys=("mcp_servers",),
        fields={"default_tools_approval_mode": "approve"},
        form="toml",
        hooks=Place((".codex/hooks.json",), (".codex/hooks.json",), "CODEX_HOME", "hooks.json"),
        events=_CODEX,
        skills=Place((".codex/skills",), (".codex/skills",), "CODEX_HOME", "skills"),
        by_hand={
            "user": "start codex and trust the new hooks when it asks (or in /hooks); before, none runs",
            "project": "start codex here, trust the folder, then the new hooks when it asks (or in /hooks);"
            " before, neither is read",
        },
    ),
    Target(
        "cursor", "Cursor", ("cursor", "cursor-agent"),
        Place((".cursor/mcp.json",), (".cursor/mcp.json",)),
        by_hand={
            "user": "open Customize > MCPs in Cursor and see that the server is switched on",
            "project": "open Customize > MCPs in Cursor and switch the server of this project on",
        },
    ),
    Target(
        "vscode", "Visual Studio Code", ("code",),
        Place(("{config}/Code/User/mcp.json",), (".vscode/mcp.json",)),
        keys=("servers",),
        fields={"type": "stdio"},
        by_hand={
            "user": "run the command `MCP: List Servers`, start the server and trust it",
            "project": "run the command `MCP: List Servers`, start the server of this folder and trust it",
        },
    ),
    Target(
        "gemini", "Gemini CLI", ("gemini",),
        Place((".gemini/settings.json",), (".gemini/settings.json",)),
        skills=Place((".gemini/skills",), (".gemini/skills",)),
        by_hand={
            "user": "trust the folders you work in (/permissions): elsewhere Gemini CLI starts no server",
            "project": "trust this folder in Gemini CLI (/permissions): until then it starts no server",
        },
    ),
    Target(
        "opencode", "OpenCode", ("opencode",),
        Place(
            ("{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"),
            ("opencode.json", "opencode.jsonc"),
        ),
        keys=("mcp",),
        fields={"type": "local", "enabled": True},
        one_list=True,
        skills=Place(("{config}/opencode/skills",), (".opencode/skills",)),
        by_hand={"user": "", "project": ""},
    ),
    Target(
        "openclaw", "OpenClaw", ("openclaw",),
        Place((".openclaw/openclaw.json",), (), "OPENCLAW_STATE_DIR", "openclaw.json"),
        keys=("mcp", "servers"),
        skills=Place((".openclaw/skills",), (), "OPENCLAW_STATE_DIR", "skills"),
        by_hand={"user": "restart the gateway: openclaw gateway restart"},
    ),
    Target(
        "nanobot", "nanobot", ("nanobot",),
        Place((".nanobot/config.json",)),
        keys=("tools", "mcpServers"),
        # Without a star: with it, every note that is listed becomes a tool.
        fields={"enabledTools": tools.known()},
        skills=Place((".nanobot/workspace/skills",)),
        by_hand={"user": "restart the gateway, if one runs: nanobot gateway"},
    ),
)  # fmt: skip
