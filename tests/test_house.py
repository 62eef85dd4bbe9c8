"""The house: imports point one way, names are the field's, the public surface is what it says."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from operator import sub
from pathlib import Path

import pytest

import commonplace
from commonplace.agent import remedies as agent_remedies
from commonplace.base import errors, remedies
from commonplace.cli import application
from commonplace.cli import remedies as cli_remedies

SOURCE = Path(commonplace.__file__).parent
# The floors. Imports point downwards, and on one floor to the left.
FLOORS = [
    ["base", "types"],
    ["language", "config", "render"],
    ["redaction", "markdown", "providers"],
    ["storage", "notes", "chunking", "transcripts"],
    ["index"],
    ["search"],
    ["edit", "memory"],
    ["upkeep", "agent"],
    ["clients", "imports", "actions"],
    ["library"],
    ["diagnosis", "demo", "bench", "servers", "integrations", "panel", "cli"],
    ["__main__"],
]
RANK = {name: rank for rank, name in enumerate(name for floor in FLOORS for name in floor)}
EDGES = frozenset(FLOORS[-2])
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.stem != "__init__")


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("commonplace"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    return found & RANK.keys()


# What still points upwards; the list may only become shorter.
UPWARDS: set[tuple[str, str]] = set()


def test_imports_point_one_way() -> None:
    wrong = set()
    for path in MODULES:
        part = part_of(path)
        for name in imports(path) - {part}:
            # Edges do not see each other, but for the command line, which loads them when they are asked for.
            if RANK[name] >= RANK[part] or (part in EDGES - {"cli"} and name in EDGES):
                wrong.add((str(path.relative_to(SOURCE)), name))
    assert wrong == UPWARDS


# What lies behind the waists `Memory`, `edit` and `upkeep`; `diagnosis` and `bench` look inside by nature.
_INSIDE = frozenset({"language", "markdown", "notes", "chunking", "transcripts", "index", "search"})
_LOOK_INSIDE = {
    "cli/offers.py": {"notes"},  # a shell completes names of files, without an index
}


def test_edges_see_nothing_behind_the_waists() -> None:
    seen = {
        path.relative_to(SOURCE).as_posix(): inside
        for path in MODULES
        if part_of(path) in EDGES - {"diagnosis", "bench"} and (inside := imports(path) & _INSIDE)
    }
    assert seen == _LOOK_INSIDE


def test_no_module_leads_back_to_itself() -> None:
    """Imports inside functions and for type checkers count: two modules that need each other are one thought."""
    names = {name_of(path): path for path in MODULES}
    leads = {name: set[str]() for name in names}
    for name, path in names.items():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("commonplace"):
                module = (node.module or "").removeprefix("commonplace").removeprefix(".")
                targets = {f"{module}.{alias.name}".lstrip(".") for alias in node.names}
                leads[name] |= (targets & names.keys() or {module} & names.keys()) - {name}
    reached = {name: _reached(name, leads) for name in names}
    circles = {
        min({name, *(other for other in reached[name] if name in reached[other])})
        for name in names
        if name in reached[name]
    }
    assert not circles


def _reached(start: str, leads: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(leads[start])
    while waiting:
        if (name := waiting.pop()) not in reached:
            reached.add(name)
            waiting.extend(leads[name])
    return reached


def test_every_part_has_its_place() -> None:
    assert {part_of(path) for path in MODULES} <= RANK.keys()


def test_no_module_is_a_drawer() -> None:
    assert not {path.stem for path in MODULES} & {"utils", "util", "helpers", "manager", "misc", "common"}


def test_every_slow_test_that_is_listed_is_there() -> None:
    tests = Path(__file__).parent
    listed = [line for line in (tests / "slow.txt").read_text("utf-8").splitlines() if line[:1] != "#"]
    missing = []
    for name in listed:
        file, _, test = name.partition("::")
        path = tests / file
        if not path.is_file() or f"def {test.rpartition('::')[2]}(" not in path.read_text("utf-8"):
            missing.append(name)
    assert missing == []
    assert listed == sorted(set(listed))


# Lines and statements of each package. A number may only be lowered: a feature that needs room in a package
# finds it by removing something there, or in another whose numbers are lowered by as much in the same commit.
MOST = {
    "__init__": (102, 24),
    "__main__": (5, 3),
    "actions": (602, 370),
    "agent": (5_162, 3_348),
    "base": (2_512, 1_590),
    "bench": (242, 159),
    "chunking": (548, 354),
    "cli": (6_647, 4_119),
    "clients": (1_269, 791),
    "config": (2_123, 1_338),
    "demo": (128, 78),
    "diagnosis": (1_180, 891),
    "edit": (3_996, 2_803),
    "imports": (1_168, 814),
    "index": (4_838, 3_238),
    "integrations": (989, 616),
    "language": (2_443, 1_455),
    "library": (245, 113),
    "markdown": (3_161, 2_162),
    "memory": (1_136, 622),
    "notes": (1_328, 876),
    "panel": (2_670, 1_869),
    "providers": (4_700, 3_083),
    "redaction": (1_722, 1_171),
    "render": (1_119, 721),
    "search": (5_986, 3_932),
    "servers": (5_226, 3_128),
    "storage": (3_034, 2_042),
    "transcripts": (1_352, 914),
    "types": (1_308, 776),
    "upkeep": (6_087, 4_056),
}


def test_no_package_grows() -> None:
    sizes = dict.fromkeys(MOST, (0, 0))
    for path in SOURCE.rglob("*.py"):
        lines, statements = sizes.get(part_of(path), (0, 0))
        statements += sum(isinstance(node, ast.stmt) for node in ast.walk(tree_of(path)))
        sizes[part_of(path)] = lines + len(path.read_bytes().splitlines()), statements
    assert {
        name: size for name, size in sizes.items() if max(map(sub, size, MOST.get(name, (0, 0)))) > 0
    } == {}


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
        if inspect.isclass(value) and issubclass(value, Exception) and name[0] != "_"
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


# Modules that may start a program: what clients would start, git, a collection's own command, a model's, a download,
# an import tried apart, a server, the starters of a schedule, another search, the user's browser.
STARTERS = {
    "cli/browser.py",
    "clients/doors.py", "storage/git.py",
    "providers/program.py", "servers/daemon.py",
    "servers/local.py", "base/editors.py",
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
    trees = {path.relative_to(SOURCE).as_posix(): tree_of(path) for path in MODULES}
    assert {name for name, tree in trees.items() if starts_programs(tree)} == STARTERS
    naming = {
        name
        for name in STARTERS
        for node in ast.walk(trees[name])
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.split()[:1] == ["git"]
    }
    assert naming == {"storage/git.py"}


# --- one door to files (commonplace.base) ------------------------------------------------------------------

_METHODS = frozenset(
    "open read_text read_bytes write_text write_bytes unlink rename replace mkdir rmdir touch chmod symlink_to"
    " hardlink_to".split()
)
_OF_OS = frozenset(
    "open replace rename renames unlink remove rmdir removedirs mkdir makedirs link symlink truncate chmod"
    " mkfifo".split()
)
_HARMLESS = frozenset({"shutil.which", "shutil.disk_usage", "shutil.get_terminal_size"})
# The door itself.
DOOR = {"base.database", "base.root"}
# Module -> what it uses, and why that is no path from a foreign folder.
EXCEPTIONS = {
    "storage.files": (
        {"open", "os.replace", "os.unlink"},
        "calls relative to a folder that a root holds open",
    ),
    "servers.local": ({"os.mkdir"}, "the folder of the user's sockets, which is looked at afterwards"),
    "providers.program": ({"tempfile.TemporaryFile"}, "files without a name"),
    "cli.browser": ({"open"}, "a browser, which is no file"),
    "cli.measurements": ({"tempfile.TemporaryDirectory"}, "a temporary workspace of its own"),
    "cli.failures": ({"os.open"}, "the null device"),
    "cli.hook": ({"os.open"}, "the null device"),
    "cli.main": ({"open"}, "the null device"),
    "base.snapshot": (
        {"open", "shutil.copyfileobj", "tempfile.TemporaryDirectory"},
        "copies in a temporary folder of its own",
    ),
    "storage.git": (
        {"read_text", "tempfile.TemporaryDirectory", "tempfile.TemporaryFile"},
        "an index of its own; HEAD of a git folder, of which no part is a link",
    ),
    "base.locks": ({"os.open"}, "the folder of notes itself, which is held and not read"),
    "base.paths": ({"os.rename"}, "folders of the user's own state"),
    "base.installation": ({"read_text"}, "what describes this very installation"),
    "servers.daemon": ({"read_text"}, "/proc"),
    "servers.relay": ({"os.open"}, "the null device"),
}


def doors(path: Path) -> set[str]:
    """What a module uses to reach files by itself, as its syntax shows it."""
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and (name := _called(node)):
            found.add(name)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found |= {f"{node.value.id}.{node.attr}"} if _is_door(node.value.id, node.attr) else set()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name == "sqlite3"}
        if isinstance(node, ast.ImportFrom) and node.module in ("os", "io", "shutil", "tempfile", "sqlite3"):
            found |= {f"{node.module}.{a.name}" for a in node.names if _is_door(node.module, a.name)}
    return found


def _called(node: ast.Call) -> str:
    """A call of `open`, or of a method that only paths have, with as many arguments as paths take."""
    if isinstance(node.func, ast.Name):
        return "open" if node.func.id == "open" else ""
    if not isinstance(node.func, ast.Attribute):
        return ""
    owner, name = ast.unparse(node.func.value), node.func.attr
    if (owner, name) == ("apsw", "Connection"):
        return "apsw.Connection"
    if name not in _METHODS or _OWNERS.fullmatch(owner):
        return ""
    if name == "replace":  # of strings it takes two, of dates and dataclasses names
        return name if len(node.args) == 1 and not node.keywords else ""
    return name


# Roots; modules, whose functions are looked at by themselves; classes of ours with methods of these names.
_OWNERS = re.compile(
    r"Root\(.*\)|(paths\.)?root_of\(.*\)|(.*\.)?_?(files|root|kept)|door|_PACKAGE"
    r"|os|files|documents|config|self|state|self\._files\[path\]"
    r"|Memory|Transcript|self\._idle|self\._summarizer\.pending|index|archive",
    re.DOTALL,
)


def _is_door(module: str, name: str) -> bool:
    if module == "os":
        return name in _OF_OS
    if module in ("shutil", "tempfile", "sqlite3"):
        return f"{module}.{name}" not in _HARMLESS
    return (module, name) == ("io", "open")


def test_files_are_opened_by_one_door_and_no_exception_outlives_its_use() -> None:
    used = {name_of(path): doors(path) for path in MODULES if name_of(path) not in DOOR}
    allowed = {name: calls for name, (calls, _) in EXCEPTIONS.items()}
    wrong = {name: extra for name, calls in used.items() if (extra := calls - allowed.get(name, set()))}
    assert wrong == {}, "open files by a Root"
    assert [name for name, calls in allowed.items() if not calls or calls - used[name]] == []


# The first line of files that the owner's schedulers keep, and what to do instead of a command that is gone.
_NAMED_IN_FILES = {"upkeep/schedule/templates.py", "config/gone.py"}
# What a model asks its user to type, whichever edge the model is called from.
_ASKED_OF_USERS = {"agent/remedies.py"}
_SPEAKS_TO_OWNERS = EDGES | {"clients", "imports"}  # what these find is set up in a shell alone


# Who opens an index, repairs it, looks into its file or wipes it knows which backend it is.
_BACKEND_KNOWN = ("index/store.py", "index/opening.py", "diagnosis/", "edit/forget/")
_INDEX_SQL = re.compile(r"\b(?:FROM|INTO|JOIN|UPDATE|TABLE)\s+(?:notes|passages|sections|\w+_fts)\b")


def test_nobody_else_knows_which_index_it_is() -> None:
    """SQL on notes and passages stands in the package of the backend; others see the protocol."""
    wrong = []
    for path in MODULES:
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith(("index/sql.py", "index/sqlite/", "index/postgres/", "index/milvus/")):
            continue
        texts = [node.value for node in ast.walk(tree_of(path)) if isinstance(node, ast.Constant)]
        sql = any(isinstance(text, str) and _INDEX_SQL.search(text) for text in texts)
        backend = re.search(r"commonplace\.index(\.| import )sqlite", path.read_text("utf-8"))
        if sql or (backend and not name.startswith(_BACKEND_KNOWN)):
            wrong.append(name)
    assert wrong == []


def test_no_command_line_is_named_below_the_edges() -> None:
    """Who reads a message may have no shell: `base.remedies` names remedies by a key, edges say the words."""
    commands = "|".join(name for group in application.COMMANDS.values() for name in group)
    pattern = re.compile(rf"\bcommonplace (?:{commands})\b")
    named = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name.partition("/")[0] in _SPEAKS_TO_OWNERS or name in _NAMED_IN_FILES | _ASKED_OF_USERS:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        # A text that stands alone is a docstring.
        alone = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        named += [
            f"{name}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and node not in alone
            and isinstance(node.value, str) and pattern.search(node.value)
        ]  # fmt: skip
    assert named == []


def test_edges_say_every_remedy() -> None:
    assert set(cli_remedies.WORDS) == set(remedies.WORDS)
    assert set(agent_remedies.WORDS) <= set(remedies.WORDS)
    with remedies.spoken(cli_remedies.WORDS):
        assert remedies.say("sync") == "run `commonplace sync`"
        with remedies.spoken(agent_remedies.WORDS):
            assert remedies.say("restore", "a", "it").startswith("ask the user")
        assert remedies.say("undo") == "`commonplace undo` would take it back"
    assert remedies.say("sync") == "sync the index"


def test_no_name_for_type_checkers_alone_is_used_at_run_time() -> None:
    """Linters see that of imports; these are names that are assigned, such as type variables."""
    used = []
    for path in MODULES:
        tree, names = ast.parse(path.read_text("utf-8")), set[str]()
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                names |= _stored(node.body) - _stored(node.orelse)
                node.body = [ast.Pass()]
        if not names:
            continue
        runs = ast.parse(ast.unparse(_Plain().visit(tree)))
        loads = (one for one in ast.walk(runs) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))
        used += [f"{path.relative_to(SOURCE)}: {one.id}" for one in loads if one.id in names]
    assert used == []


def _stored(body: Iterable[ast.stmt]) -> set[str]:
    nodes = (node for statement in body for node in ast.walk(statement))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


class _Plain(ast.NodeTransformer):
    """Takes out annotations, which nothing reads at run time."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        value = node.value and ast.Assign([node.target], node.value, lineno=node.lineno)
        return self.generic_visit(value) if value else ast.Pass()  # type: ignore[return-value]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node
