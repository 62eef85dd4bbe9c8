"""What the documentation says is so: links lead somewhere, examples run and print what they show, tables are whole."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

import commonplace
from commonplace import Memory, types
from commonplace.base import errors, installation
from commonplace.cli.application import cli
from commonplace.config import KEYS, keys
from commonplace.search import confidence, expansion, filters, query, ranking, terms
from commonplace.types import changes

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
PAGES = sorted([*READMES, ROOT / "CHANGELOG.md", *DOCS.rglob("*.md")])
TRANSCRIPTS = [page for page in PAGES if "```console\n$ " in page.read_text("utf-8")]
AS_PROGRAM = [DOCS / "agents.md", DOCS / "tutorials" / "operator.md"]
PIPE = re.compile(r""" \| (?=(?:[^"']|"[^"]*"|'[^']*')*$)""")  # not between quotation marks
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
# What differs from run to run: days, times, durations, sizes, scores, content hashes.
PASSING = (
    (r"\d{4}-\d{2}-\d{2}", "DAY"),
    (r"\b\d{2}:\d{2}\b", "TIME"),
    (r"\b[\d.]+ (ms|s|MB)\b", r"N \1"),
    (r"\b[01]\.\d{2,4}\b", "N"),
    (r'#[0-9a-f]{6}\b|"docid": "\w+"', "DOCID"),
    (r"\ncommonplace: another program saved MEMORY\.md[^\n]*", ""),  # the test writes what a reader edits
    (r"\n?vectors: \d+ of \d+(?=\n|$)", ""),  # progress, where a sync takes seconds
    (r"\b\d{8}-\d{6}(-[0-9a-f]{6})?\b", "RUN"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"\bprocess \d+", "PROCESS"),
    (r"TIME:\d\d\b", "TIME"),
    (r"[0-9a-f]{20}\.token", "FILE"),
    (r"(?<=/)[0-9a-f]{20}(?=/)", "HASH"),
)


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def shell(tmp_path: Path, private_home: Path) -> dict[str, str]:
    """An environment in which `commonplace` and `python` run this code, at home."""
    program = tmp_path / "bin" / "commonplace"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m commonplace "$@"\n')
    program.chmod(0o755)
    no_server = "XDG_RUNTIME_DIR"  # as `no_sockets` has it
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("XDG_") or name == no_server
    }
    path = os.pathsep.join([str(program.parent), os.path.dirname(sys.executable), os.environ["PATH"]])
    return kept | {"PYTHONPATH": str(ROOT / "src"), "PATH": path}


# --- links and tables -----------------------------------------------------------------------------------


def test_links_lead_somewhere() -> None:
    broken = []
    for page in PAGES:
        for target, anchor in LINK.findall(prose(page)):
            file = page.parent / target if target else page
            if "://" not in target and not (file.exists() and (not anchor or anchor in anchors(file))):
                broken.append(f"{named(page)}: {target}#{anchor}")
    assert broken == []


@cache
def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text("utf-8"))


@cache
def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_page_can_be_reached() -> None:
    linked = {(page.parent / target).resolve() for page in PAGES for target, _ in LINK.findall(prose(page))}
    assert [named(page) for page in PAGES if page.parent != ROOT and page not in linked] == []


def test_every_package_is_on_the_map() -> None:
    text = (DOCS / "architecture.md").read_text("utf-8")
    source = ROOT / "src" / "commonplace"
    packages = {p.parent.relative_to(source).parts[0] for p in source.glob("*/__init__.py")}
    assert [name for name in sorted(packages) if f"`{name}`" not in text] == []


def test_files_that_pages_name_exist() -> None:
    """Modules on the map, tests anywhere, and whatever lies below `src/`."""
    missing = []
    for page in PAGES:
        text = page.read_text("utf-8") if page.parent == DOCS or page in READMES else ""
        named_files = re.findall(
            r"`(src/commonplace/[\w/.]+|tests/[\w/.]+|tools/\w+\.py)`|`([\w/]*test_\w+\.py)`", text
        )
        if page.stem == "architecture":
            named_files += [(path, "") for path in re.findall(r"`([a-z_]+/[\w/]+\.py)`", text)]
        for path in {one or other for one, other in named_files}:
            if not any(
                (base / path).exists() for base in (ROOT, ROOT / "tests", ROOT / "src" / "commonplace")
            ):
                missing.append(f"{named(page)}: {path}")
    assert missing == []


def test_the_table_of_settings_is_current() -> None:
    tool = [sys.executable, str(ROOT / "tools" / "make_config_docs.py"), "--check"]
    done = subprocess.run(tool, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, check=False)
    assert done.returncode == 0, "run python tools/make_config_docs.py"


def test_every_setting_is_described() -> None:
    text = (DOCS / "configuration.md").read_text("utf-8")
    for key in KEYS:
        row = next((line for line in text.splitlines() if line.startswith(f"| `{key.name}` |")), "")
        assert key.doc in row, key.name
        assert f"| {'yes' if key.harmless else 'no'} |" in row


def test_every_weight_is_described() -> None:
    text = (DOCS / "search.md").read_text("utf-8")
    weights = [f"{abs(value):g}" for value in (*ranking.fitted().values(), ranking.DEFAULT.header)]
    weights += [f"{terms.POSTINGS:,}", f"{terms.POSTINGS_WIDE:,}"]
    weights += [f"{confidence.CLEAR:g}", f"{confidence.NOISE:g}"]
    assert [weight for weight in weights if weight not in text] == []


def test_the_grammar_on_the_page_is_the_grammar() -> None:
    text = (
        (DOCS / "search.md")
        .read_text("utf-8")
        .split("## Query syntax")[1]
        .split("\nA query of exclusions")[0]
    )
    rows = [row.split("|")[1] for row in text.splitlines() if row.startswith("| `")]
    typed = [code for row in rows for code in re.findall(r"`([^`]+)`", row)]
    known = frozenset({"tags", "status", "project", "priority", "rating", "by", "agent", "session"})
    found = {code: query.parse(code, lambda: known).filters for code in typed}
    assert {item.key for items in found.values() for item in items} >= filters.BUILT_IN | known - {"tags"} | {
        "tag"
    }
    for code in typed[typed.index("in:work") : typed.index("NOT tag:travel") + 1]:
        if ":" in code or ">" in code or "<" in code:
            assert found[code] or code in filters.TYPES, code
        filters.check(found[code], ["memory", "work"], date(2026, 2, 13))
    assert {code for code, items in found.items() if any(item.negative for item in items)} == {
        "-in:work",
        "NOT tag:travel",
    }
    assert all(f"`{name}`" in text for name in filters.TYPES)


def test_the_numbers_of_an_expansion_are_on_the_page() -> None:
    text = (DOCS / "search.md").read_text("utf-8").split("### Questions widened")[1].split("\n## ")[0]
    assert f"a relevance of {expansion.CLEAR}, and {expansion.LEAD} more" in text
    assert f"counts {query.TYPED:g}, each further line {query.EXPANDED}" in text
    assert keys.find("limits.wait_s").default == 5
    assert "A search waits five seconds (`limits.wait_s`)" in text
    assert [most for most, _ in expansion.MOST.values()] == [4, 2, 1]


# --- the Python page ------------------------------------------------------------------------------------


def test_every_public_method_is_described() -> None:
    text = (DOCS / "python-api.md").read_text("utf-8")
    methods = {name: getattr(Memory, name) for name in dir(Memory) if not name.startswith("_")}
    assert len(methods) <= 26
    for name, value in methods.items():
        assert f"`{name}(" in text or f"Memory.{name}(" in text, name
        function = getattr(value, "__func__", value)
        parameters = [one for one in inspect.signature(function).parameters if one not in ("self", "cls")]
        (shown,) = re.findall(
            rf"^\| `(?:Memory\.)?{name}\((.*?)\)` \|", text.split("## Agents")[0], re.MULTILINE
        )
        assert re.findall(r"(?:^|, )(\w+)", shown) == parameters, name


def test_what_methods_raise_can_be_imported_from_the_package() -> None:
    rows = re.findall(r"^\| `.*\)` \|.*\|(.*)\|$", (DOCS / "python-api.md").read_text("utf-8"), re.MULTILINE)
    raised = {name for row in rows for name in re.findall(r"`([A-Z]\w+)`", row)}
    assert {"StatementNotFound", "NotUndone", "TextLost"} <= raised <= set(commonplace.__all__)


def test_every_field_and_error_is_described() -> None:
    text = (DOCS / "python-api.md").read_text("utf-8")
    results = ["SearchResult", "Hit", "Factor", "Recall", "Excerpt", "Written", "SyncReport", "FileFailure"]
    results += [
        "Status",
        "CollectionInfo",
        "Answer",
        "Gathered",
        "NoteInfo",
        "Timeline",
        "Usage",
        "Corrected",
    ]
    results += ["Run", "Undone", "Entry", "Provenance", "Confirmed", "Statement"]
    for name in results:
        # Of a type that the page has a paragraph for, there; of one that stands in another's, anywhere.
        told = re.search(rf"^\*\*{name}\*\*.*?(?=^\*\*[A-Z]|^#)", text, re.MULTILINE | re.DOTALL)
        for field in dataclasses.fields(getattr(types, name, None) or getattr(changes, name)):
            assert f"`{field.name}`" in (told[0] if told else text), f"{name}.{field.name}"
    tree = [
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, Exception) and name[0] != "_"
    ]
    assert [name for name in tree if f"`{name}`" not in text] == []
    assert [name for name in commonplace.__all__ if f"`{name}`" not in text] == []


# --- examples -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page",
    [
        *(
            DOCS / f"{name}.md"
            for name in ("python-api", "guide", "models", "agents", "tutorials/agent-developer", "zh/guide")
        ),
    ],
    ids=named,
)
def test_python_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes").mkdir()
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, named(page), "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", READMES, ids=named)
def test_the_commands_of_the_readme_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, use = re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.DOTALL)[:2]
    usage = subprocess.run([ROOT / "run", "help"], capture_output=True, text=True, check=True).stdout
    assert [line for line in first.splitlines() if line.split("#")[0].strip() not in usage] == []
    folder = tmp_path / "notes"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for line in use.splitlines():
        program, *words = shlex.split(line, comments=True)
        done = CliRunner().invoke(cli, words)
        assert (program, done.exit_code) == ("commonplace", 0), (line, done.stderr)
        assert done.stdout, line


@pytest.mark.parametrize("page", TRANSCRIPTS, ids=named)
def test_transcripts_are_what_is_printed(
    page: Path, private_home: Path, shell: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run a page's commands from first to last at home, and compare what they print, days and times aside.

    Pages show what a terminal shows, which is without the frame that marks notes as data.

    Some pages run the program, and so does what only a shell can spell; the others call it in this process, which saves its start.
    """
    for name in os.environ.keys() - shell.keys():
        monkeypatch.delenv(name)
    monkeypatch.setenv("COMMONPLACE_OUTPUT_FRAME", "never")
    shell |= {"COMMONPLACE_OUTPUT_FRAME": "never", "COMMONPLACE_SERVER_PORT": "0"}
    monkeypatch.chdir(private_home)
    for command, shown in transcript(page.read_text("utf-8")):
        run = printed if page in AS_PROGRAM or "$(" in command or "2>&1" in command else called
        assert passing(run(command, private_home, shell)) == passing(shown), command


def test_the_guide_shows_one_day() -> None:
    shown = " ".join(shown for _, shown in transcript((DOCS / "guide.md").read_text("utf-8")))
    assert set(re.findall(r"\d{4}-\d{2}-\d{2}", shown)) == {
        "2026-02-13",
        "2020-01-01",
    }  # and that of a question
    assert set(re.findall(r"\b\d{2}:\d{2}\b", shown)) == {"14:05"}


def transcript(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a page's ```console blocks, each with what it is said to print."""
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown


def called(command: str, home: Path, env: dict[str, str]) -> str:
    """What a command prints at home, where each `commonplace` of its pipe is called in this process.

    What it says beside a pipe, on standard error, comes first.
    """
    output, beside = "", ""
    if loop := re.fullmatch(r"for (\w+) in (.*); do (.*); done", command.strip()):
        name, values, body = loop.groups()
        each = [body.replace(f'"${name}"', shlex.quote(value)) for value in shlex.split(values)]
        return "".join(called(one, home, env) for one in each)
    *_, last = parts = PIPE.split(command)
    for part in parts:
        words = [os.path.expanduser(word) for word in shlex.split(part)]
        if words[0] == "commonplace":
            done = CliRunner().invoke(cli, words[1:], input=output)
            output = done.output if part is last else done.stdout
            beside += "" if part is last else done.stderr
        else:
            output = subprocess.run(
                part, shell=True, cwd=home, env=env, input=output, capture_output=True, text=True, check=True
            ).stdout
    program = shlex.join(installation.program())
    shown = beside + output
    return shown.replace(program, "/home/you/.venv/bin/commonplace").replace(str(home), "/home/you")


def printed(command: str, home: Path, env: dict[str, str]) -> str:
    """What a command prints at home, as the pages show it."""
    done = subprocess.run(
        command, shell=True, cwd=home, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.stdout.decode().replace(str(home), "/home/you")


def passing(text: str) -> str:
    for pattern, name in PASSING:
        text = re.sub(pattern, name, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
