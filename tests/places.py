"""Where files of a workspace lie."""

from __future__ import annotations

from pathlib import Path


def settings_file(root: Path) -> Path:
    """Return the settings file of a workspace, in a folder that is there."""
    (root / ".commonplace").mkdir(exist_ok=True)
    return root / ".commonplace" / "config.toml"
