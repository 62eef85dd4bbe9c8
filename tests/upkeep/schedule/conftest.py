"""Programs that start others at night, as scripts on the PATH that keep their state in a folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.base import paths

CRONTAB = """#!/bin/sh
[ -e "$STATE/broken" ] && { echo "you are not allowed to use this program" >&2; exit 1; }
case "$1" in
-l) [ -e "$STATE/crontab" ] || { echo "no crontab for you" >&2; exit 1; }; cat "$STATE/crontab" ;;
-r) rm "$STATE/crontab" ;;
-) cat > "$STATE/new"
   [ -e "$STATE/lenient" ] || [ -z "$(tail -c 1 "$STATE/new")" ] || { echo "missing newline before EOF" >&2; exit 1; }
   mv "$STATE/new" "$STATE/crontab" ;;
*) exit 2 ;;
esac
"""
SYSTEMCTL = """#!/bin/sh
[ "$1" = --user ] || exit 2
echo "$@" >> "$STATE/calls"
[ -e "$STATE/broken" ] && { echo "Failed to connect to bus: No medium found" >&2; exit 1; }
units="$XDG_CONFIG_HOME/systemd/user"
wants="$units/default.target.wants"
case "$2$3$4" in *.timer) wants="$units/timers.target.wants" ;; esac
case "$2" in
enable) [ -e "$STATE/refuses" ] && { echo "Access denied" >&2; exit 1; }
   mkdir -p "$wants" && ln -sf "$units/$3" "$wants/$3" ;;
restart) [ -e "$wants/$3" ] ;;
is-active) [ -e "$wants/$3" ] ;;
is-failed) [ -e "$STATE/failed" ] ;;
disable) rm -f "$wants/$4"; rmdir "$wants" 2> /dev/null; exit 0 ;;
esac
"""
LAUNCHCTL = """#!/bin/sh
echo "$@" >> "$STATE/calls"
[ -e "$STATE/broken" ] && { echo "Could not find domain" >&2; exit 1; }
case "$1" in
print) case "$2" in */*/*) [ -e "$STATE/$(basename "$2")" ] ;; esac ;;
bootstrap) [ -e "$STATE/refuses" ] && { echo "Input/output error" >&2; exit 5; }
   name="$(basename "$3" .plist)"
   [ -e "$STATE/$name" ] && { echo "already loaded" >&2; exit 37; }
   cp "$3" "$STATE/$name" ;;
bootout) rm "$STATE/$(basename "$2")" ;;
esac
"""
PROGRAMS = {"crontab": CRONTAB, "systemctl": SYSTEMCTL, "launchctl": LAUNCHCTL}
Programs = Callable[..., Path]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Put some of the programs on a PATH of their own; returns the folder of their state."""

    def build(*names: str) -> Path:
        folder, state = tmp_path / "programs", tmp_path / "state"
        folder.mkdir(exist_ok=True)
        state.mkdir(exist_ok=True)
        for name in names:
            (folder / name).write_text(PROGRAMS[name])
            (folder / name).chmod(0o755)
        for tool in ("sh", "cat", "rm", "mv", "cp", "ln", "mkdir", "rmdir", "tail", "basename", "nice"):
            found = next(p for p in ("/bin", "/usr/bin") if os.path.exists(f"{p}/{tool}"))
            if not (folder / tool).exists():
                (folder / tool).symlink_to(f"{found}/{tool}")
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setenv("STATE", str(state))
        return state

    return build


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> paths.Workspace:
    """A workspace whose path has everything in it that has to be quoted."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    root = tmp_path / 'my 100% "no\'tes" $HOME `x` \\ \\\\ \\% 笔记;#&'
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Memory\n")
    return paths.Workspace(root)
