"""What the documentation says is so: links lead somewhere, examples run, settings are listed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace import Memory, errors
from commonplace.config import KEYS

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text("utf-8")) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_setting_is_described() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    for key in KEYS:
        row = next((line for line in text.splitlines() if line.startswith(f"| `{key.name}` |")), "")
        assert key.doc in row, key.name
        assert f"| {'yes' if key.harmless else 'no'} |" in row


def test_every_public_method_and_error_is_described() -> None:
    text = (ROOT / "docs" / "python-api.md").read_text("utf-8")
    methods = [
        name
        for name, value in vars(Memory).items()
        if not name.startswith("_") and callable(getattr(Memory, name))
    ]
    assert len(methods) <= 15
    assert [name for name in methods if f"`{name}(" not in text and f"Memory.{name}(" not in text] == []
    raised = {
        "WorkspaceNotFound",
        "ConfigError",
        "UnknownCollection",
        "NoteNotFound",
        "OutsideRoots",
        "IndexUnavailable",
    }
    assert all(hasattr(errors, name) and name in text for name in raised)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "docs" / "python-api.md"], ids=["readme", "python-api"]
)
def test_python_examples_run(page: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    blocks = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        program = f"{block}"
        subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True)


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    block = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[1]
    commands = [line.split("#")[0].strip() for line in block.splitlines()]
    for line in commands:
        if " get " in line:
            (tmp_path / "memory" / "2026-02-13.md").write_text("line\n" * 20, "utf-8")
        shell = line.replace("commonplace", f"{sys.executable} -m commonplace", 1)
        done = subprocess.run(shell, shell=True, cwd=tmp_path, env=os.environ, capture_output=True, text=True)
        assert done.returncode == 0, (line, done.stderr)
        assert done.stdout or "sync" in line, line
