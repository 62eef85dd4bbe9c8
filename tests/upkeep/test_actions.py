"""What tools did, by the names and arguments that hosts give them."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.upkeep import observations
from commonplace.upkeep.observations import Action


@pytest.mark.parametrize(
    ("tool", "arguments", "action"),
    [
        ("Write", {"file_path": "a.md", "content": ""}, Action("write", modified=("a.md",))),
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, Action("write", modified=("a",))),
        ("MultiEdit", {"file_path": "a", "edits": []}, Action("write", modified=("a",))),
        ("NotebookEdit", {"notebook_path": "n.ipynb", "new_source": "x"}, Action("write", modified=("n.ipynb",))),
        ("mcp__fs__write_file", {"path": "a", "content": "x"}, Action("write", modified=("a",))),
        ("edit_file", {"path": "a"}, Action("write", modified=("a",))),
        ("str_replace_based_edit_tool", {"command": "str_replace", "path": "a"}, Action("write", modified=("a",))),
        ("str_replace_based_edit_tool", {"command": "view", "path": "a"}, Action("read", read=("a",))),
        ("move_file", {"source": "a", "destination": "b"}, Action("write", modified=("a", "b"))),
        ("Bash", {"command": "pytest -q"}, Action("run", "pytest -q")),
        ("exec", {"command": ["bash", "-lc", "make test"]}, Action("run", "make test")),
        ("shell", {"command": ["make", "test"]}, Action("run", "make test")),
        ("python", {"code": "print(1)"}, Action("run", "print(1)")),
        ("Bash", {"command": "curl -s https://x.example | jq ."}, Action("run", "curl -s https://x.example | jq .", network=True)),
        ("Read", {"file_path": "a"}, Action("read", read=("a",))),
        ("read_file", {"path": "a", "paths": ["b", "a"]}, Action("read", read=("a", "b"))),
        ("WebFetch", {"url": "https://x.example"}, Action("read", network=True)),
        ("WebFetch", {"url": "http://localhost:3000"}, Action("read")),
        ("Bash", {"command": "a=`wget -q x.example`"}, Action("run", "a=`wget -q x.example`", network=True)),
        ("deploy", {"env": "prod"}, Action("other")),
        ("Bash", {}, Action("other")),
        ("Write", {"file_path": 5, "content": None}, Action("other")),
    ],
)  # fmt: skip
def test_what_a_tool_did(tool: str, arguments: dict[str, object], action: Action) -> None:
    assert observations.action_of(tool, arguments) == action


@pytest.mark.parametrize(
    "command",
    [
        "ls -la", "cat a | grep b | head -3", "cd src && ls; pwd", "git status", "git -C x log --oneline", "rg 'a > b' src",
        "find . -name '*.py'", "LANG=C sort a | uniq -c", "/usr/bin/head a 2>/dev/null", "grep -rn x . 2>&1 | wc -l",
    ],
)  # fmt: skip
def test_commands_that_only_look_are_reads(command: str) -> None:
    assert observations.action_of("Bash", {"command": command}).kind == "read"


@pytest.mark.parametrize(
    "command",
    [
        "make", "cat a > b", "ls && make", "find . -delete", "find . -exec rm {} +", "echo $(rm x)", "echo `rm x`", "ls | xargs rm",
        "cat a | tee b", "git commit -m x", "git branch -D x", "sed -i s/a/b/ x", "head x; rm x", "echo a >> b", "sudo make",
    ],
)  # fmt: skip
def test_commands_that_do_something_are_not(command: str) -> None:
    assert observations.action_of("Bash", {"command": command}).kind == "run"


def test_files_of_a_patch() -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** Delete File: c.py\n"
    assert observations.action_of("apply_patch", {"input": patch}).modified == ("src/a.py", "b.py", "c.py")
    diff = "--- a/src/a.py\t2026\n+++ b/src/a.py\t2026\n@@ -1 +1 @@\n-x\n+y\n--- /dev/null\n+++ b/n.py\n"
    assert observations.action_of("patch", {"diff": diff}).modified == ("src/a.py", "n.py")


@pytest.mark.parametrize(
    "tool", ["memory_search", "memory_write", "mcp__commonplace__memory_get", "mcp__commonplace__anything", "memory", "commonplace.x"]
)  # fmt: skip
def test_our_own_tools(tool: str) -> None:
    assert observations.is_own(tool)


@pytest.mark.parametrize("tool", ["Bash", "remember_me", "my_memory_profiler", "mcp__other__read"])
def test_tools_of_others(tool: str) -> None:
    assert not observations.is_own(tool)


def test_paths_are_shown_from_the_workspace(tmp_path: Path) -> None:
    assert observations.shown(str(tmp_path / "src" / "a.py"), tmp_path) == "src/a.py"
    assert observations.shown(str(tmp_path.parent / "b.py"), tmp_path) == str(tmp_path.parent / "b.py")
    assert observations.shown("./src/a.py", tmp_path) == "src/a.py"
    assert observations.shown("/x/../y", None) == "/x/../y"


@pytest.mark.parametrize(
    ("command", "short"),
    [("cd /a/b && make", "make"), ("  cd /a; make", "make"), ("cd /a", "cd /a"), ("make", "make")],
)
def test_a_change_of_folder_says_nothing(command: str, short: str) -> None:
    assert observations.without_folder(command) == short
