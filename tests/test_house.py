"""The house: imports point one way, names are the field's, the public surface is what it says."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import commonplace
from commonplace import errors

SOURCE = Path(commonplace.__file__).parent
ORDER = [
    {"base"},
    {"estimates", "installation"},
    {"types", "errors"},
    {"characters"},
    {"paths", "screen"},
    {"locks"},
    {"atomic", "database", "records"},
    {"config", "render"},
    {"addresses", "catalog", "deadline", "refusals"},
    {"transport", "costs"},
    {"notes", "embedding", "llm"},
    {"transcripts", "chunking", "reranking", "usage", "history"},
    {"index"},
    {"search"},
    {"revision", "erasure"},
    {"memory"},
    {"diagnosis", "sessions"},
    {"lifecycle"},
    {"agent"},
    {"cli", "bench", "demo", "servers"},
    {"__main__"},
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.stem != "__init__")


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path, *, eager: bool = False) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    nodes = tree.body if eager else ast.walk(tree)
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("commonplace"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    return found & RANK.keys()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    own = part_of(path)
    # The command line is the door to the other edges; it loads them only when they are asked for.
    allowed = {"bench", "demo", "servers"} if own == "cli" else set()
    wrong = [
        name for name in imports(path) if name != own and RANK[name] >= RANK[own] and name not in allowed
    ]
    assert wrong == []


def test_every_part_has_its_place() -> None:
    assert {part_of(path) for path in MODULES} <= RANK.keys()


def test_no_module_is_a_drawer() -> None:
    assert not {path.stem for path in MODULES} & {"utils", "util", "helpers", "manager", "misc", "common"}


def test_public_names_resolve() -> None:
    assert commonplace.__all__ == sorted(commonplace.__all__)
    for name in commonplace.__all__:
        assert getattr(commonplace, name).__name__ == name
    with pytest.raises(AttributeError):
        commonplace.nothing_of_this_name  # noqa: B018


def test_the_error_tree_is_drawn() -> None:
    classes = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, Exception)
    }
    drawn = {word for word in (errors.__doc__ or "").replace("──", " ").split() if word in classes}
    assert drawn == classes
    assert all(issubclass(getattr(errors, name), errors.CommonplaceError) for name in classes)


def test_importing_costs_nothing_heavy() -> None:
    program = (
        "import sys, commonplace, commonplace.memory;"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'sqlite_vec', 'yaml', 'rich', 'watchfiles', 'tomlkit', 'httpx', 'openai', 'tree_sitter'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


# Modules that may start a program: git, a collection's own command, a model's, a download, an import tried apart,
# a server, the starters of a schedule, measurements.
STARTERS = {
    "bench/bare.py", "bench/probes.py", "diagnosis/versions.py", "embedding/downloads.py", "history/git.py",
    "lifecycle/schedule/programs.py", "llm/command.py", "notes/updates.py", "servers/daemon.py",
}  # fmt: skip
_STARTING = {"subprocess", "multiprocessing", "pty", "webbrowser"}
_STARTS = ("exec", "spawn", "posix_spawn", "popen", "system", "startfile")


def starts_programs(tree: ast.AST) -> bool:
    """Whether a module imports what starts programs, or asks the system to."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Import)
            and {alias.name.partition(".")[0] for alias in node.names} & _STARTING
        ):
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in _STARTING:
            return True
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in ("os", "asyncio")
            and node.attr.startswith((*_STARTS, "create_subprocess"))
        ):
            return True
    return False


def test_few_modules_start_programs_and_one_starts_git() -> None:
    trees = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8")) for path in MODULES}
    assert {name for name, tree in trees.items() if starts_programs(tree)} == STARTERS
    naming = {
        name
        for name in STARTERS
        for node in ast.walk(trees[name])
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.split()[:1] == ["git"]
    }
    assert naming == {"history/git.py"}
