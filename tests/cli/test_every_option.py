"""Every command with every option it has: what it does, what it prints, with what it ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import click
import pytest

from commonplace import __version__
from commonplace.base.paths import Workspace
from commonplace.cli.application import COMMANDS, FIRST, cli
from commonplace.cli.options import Group
from commonplace.storage import transaction
from commonplace.types.changes import About, Change
from tests import applying
from tests.cli.conftest import Run
from tests.places import settings_file


def commands(
    group: click.Group = cli, before: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that can be typed, groups included."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield (*before, name), found
        if isinstance(found, Group):
            yield from commands(found, (*before, name))


ALL = dict(commands())


# --- what all commands share ------------------------------------------------------------------------


def test_help_names_every_option_with_a_sentence(run: Run) -> None:
    for words, found in ALL.items():
        result = run(*words, "--help")
        assert (result.exit_code, result.stderr) == (0, ""), words
        assert result.stdout.startswith(f"Usage: commonplace {' '.join(words)} ")
        for parameter in found.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert all(name in result.stdout for name in parameter.opts), (words, parameter.opts)
                assert (parameter.help or "").endswith("."), (words, parameter.opts)
        assert "--help" in result.stdout, words
        assert max(map(len, result.stdout.splitlines())) <= 100, words
        names = {name for parameter in found.params for name in parameter.opts}
        assert {"-w", "--workspace", "--agent", "--debug"} <= names, words


def test_what_works_on_one_workspace_offers_no_others(run: Run) -> None:
    for words in ("search", "ls", "web"):
        assert "--all-workspaces" in run(words, "--help").stdout
    for words in (("remember", "x"), ("correct", "x", "y"), ("sync",)):
        told = run(words[0], "--help").stdout
        assert "--all-workspaces" not in told
        assert "Questions may be put" not in told
        assert "works on one workspace" in run(*words, "--all-workspaces").stderr


def test_an_unknown_option_and_a_missing_argument_are_wrong_usage(run: Run) -> None:
    for words, found in ALL.items():
        result = run(*words, "--no-such-option")
        assert (result.exit_code, result.stdout) == (2, ""), words
        assert "no such option" in result.stderr.lower(), words
        assert f"see `commonplace {' '.join(words)}" in result.stderr  # a group may run one of its commands
        assert "--help`)" in result.stderr, words
        if any(isinstance(one, click.Argument) and one.required for one in found.params):
            result = run(*words)
            assert result.exit_code == 2, words
            assert "missing argument" in result.stderr, words


def test_a_group_alone_shows_its_help_or_lists(run: Run) -> None:
    for words, group in ALL.items():
        if isinstance(group, Group) and words != ("serve",):  # it serves
            instead = (group.alone.name or "",) if group.alone else ("--help",)
            assert run(*words).stdout == run(*words, *instead).stdout, words


def test_the_help_page_lists_the_first_commands_with_their_lines_and_names_the_others(run: Run) -> None:
    first, _, further = run("--help").stdout.partition("Further")
    for rows in COMMANDS.values():
        for name in rows:
            if name in FIRST:
                assert re.search(rf"^  {name} +{re.escape(FIRST[name])}$", first, re.MULTILINE)
            else:
                assert re.search(rf"[ ,]{name}(,|$)", further, re.MULTILINE)
    assert len(run("--help").stdout.splitlines()) < 45


def test_the_version_is_that_of_the_package(run: Run) -> None:
    assert run("--version").stdout == f"commonplace {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [
        w
        for w, c in ALL.items()
        if w != ("sessions", "follow") and any("--format" in p.opts for p in c.params)
    ],
    ids=" ".join,
)
def test_every_format_that_is_named_is_answered_in(run: Run, workspace: Path, words: tuple[str, ...]) -> None:
    (workspace / "sessions").mkdir()
    (workspace / "sessions" / "s1.jsonl").write_text('{"role": "user", "text": "Which tea?"}\n')
    for line in (b"- Rain.\n", b"- Snow.\n"):  # one to take back for each format
        change = Change(
            "memory/weather.md", transaction.read(Workspace(workspace), "memory/weather.md"), line
        )
        applying.apply(Workspace(workspace), [change], About("write", "weather"))
    (workspace / "memory" / "2026-02-15.md").write_text("- A guess about tea. <!-- tentative -->\n")
    for number in (1, 2) if words == ("merge",) else ():  # one for each format
        copy = workspace / "memory" / f"2026-02-14.sync-conflict-2026021{number}-101010-ABCDEFG.md"
        copy.write_text(f"# 2026-02-14\n\n- Nothing but rain.\n- Lamp {number}.\n")
    if words == ("eval", "show"):
        assert run("eval", "init").exit_code == 0
    if words == ("why",):
        assert run("prompt", "--session", "s1", "Who signs off?").exit_code == 0
    memories = workspace / "mem0.json"
    memories.write_text('[{"id": "1", "memory": "Tea is at four.", "created_at": "2026-01-05T10:00:00Z"}]')
    (option,) = (parameter for parameter in ALL[words].params if "--format" in parameter.opts)
    assert isinstance(option.type, click.Choice)
    arguments = {
        "search": ["tea"],
        "recall": ["tea"],
        "ask": ["tea", "--model", "fake/m"],
        "get": ["MEMORY.md"],
        "multi-get": ["MEMORY.md"],
        "timeline": ["2026-02-13"],
        "collection show": ["memory"],
        "config get": ["search.limit"],
        "forget": ["MEMORY.md", "--dry-run"],
        "sessions show": ["s1"],
        "correct": ["Lin signs it off.", "Mira signs it off.", "--dry-run"],
        "confirm": ["A guess about tea.", "--dry-run"],
        "prompt": ["tea"],
        "import": ["mem0", str(memories), "--dry-run"],
    }.get(" ".join(words), [])
    for form in option.type.choices:
        result = run(*words, *arguments, "--format", form)
        assert result.exit_code == 0, result.stderr
        if form == "json":
            json.loads(result.stdout)


# --- search -----------------------------------------------------------------------------------------


TEXT = '- walnut, "quoted" <b>&amp;</b> ]]> \\ | `code` *x*\n  second; line\ttab'


def test_files_are_listed_once_and_can_be_opened(run: Run, workspace: Path) -> None:
    names = run("search", "deploy 部署 tea", "--format", "files").stdout.splitlines()
    assert len(names) == len(set(names)) > 1
    assert all((workspace / name).is_file() for name in names)


def test_collections_narrow_the_search_and_may_be_several(run: Run, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "n.md").write_text(f"# N\n\nthe walnut of {name}\n")
        run("collection", "add", str(tmp_path / name), "--name", name)

    def found(*names: str) -> set[str]:
        options = [word for name in names for word in ("-c", name)]
        return {
            hit["collection"]
            for hit in json.loads(run("search", "walnut", *options, "--format", "json").stdout)
        }

    assert found() == {"one", "two"}
    assert found("one") == {"one"}
    assert found("one", "two") == {"one", "two"}
    assert found("memory") == set()


def test_min_score_leaves_out_what_is_below(run: Run) -> None:
    hits = json.loads(run("search", "deploy tea", "--min-score", "0", "--format", "json").stdout)
    assert len(hits) > 1
    least = sorted(hit["score"] for hit in hits)[-1]
    kept = json.loads(
        run("search", "deploy tea", "--min-score", str(least - 0.0001), "--format", "json").stdout
    )
    assert [hit["path"] for hit in kept] == [hits[0]["path"]]


# --- recall, get ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "lines"),
    [
        ("MEMORY.md:3", ["## Tea", "", "- Aged white tea after lunch."]),
        ("MEMORY.md:3-4", ["## Tea", ""]),
        ("MEMORY.md:3:1", ["## Tea"]),
        ("MEMORY.md#L5", ["- Aged white tea after lunch."]),
        ("MEMORY.md#L3-L5", ["## Tea", "", "- Aged white tea after lunch."]),
        ("./MEMORY.md:1:1", ["# Memory"]),
    ],
)
def test_get_takes_every_way_to_name_lines(run: Run, reference: str, lines: list[str]) -> None:
    assert json.loads(run("get", reference, "--format", "json").stdout)["lines"] == lines


# --- init, remember ---------------------------------------------------------------------------------


def test_remember_puts_an_entry_under_a_heading_of_today(run: Run, workspace: Path) -> None:
    path, _, line = run("remember", "one", "--heading", "Work").stdout.strip().partition(":")
    assert path == f"memory/{datetime.now():%Y-%m-%d}.md"
    assert run("remember", "two", "--heading", "work").stdout == f"{path}:{int(line) + 1}\n"
    text = (workspace / path).read_text()
    assert re.search(r"\n## Work\n\n- \d\d:\d\d one\n- \d\d:\d\d two\n$", text)


@pytest.mark.parametrize(
    ("options", "code"), [(["--section", "S"], 2), (["--heading", "H", "--long-term"], 1)]
)
def test_options_of_the_other_kind_of_note_are_refused(run: Run, options: list[str], code: int) -> None:
    result = run("remember", "x", *options)
    assert result.exit_code == code
    assert result.stderr.count("\n") == 1


# --- sync, status, collection, context, config ------------------------------------------------------


def test_sync_json_counts_every_file_once(run: Run, workspace: Path) -> None:
    first = json.loads(run("sync", "--format", "json").stdout)
    assert (first["added"], first["unchanged"], first["failed"]) == (3, 0, [])
    (workspace / "MEMORY.md").write_text("# Memory\n\n- changed\n")
    (workspace / "memory" / "2026-02-14.md").rename(workspace / "memory" / "2026-02-15.md")
    second = json.loads(run("sync", "--format", "json").stdout)
    assert {name: second[name] for name in ("added", "changed", "moved", "removed", "unchanged")} == {
        "added": 0, "changed": 1, "moved": 1, "removed": 0, "unchanged": 1,
    }  # fmt: skip


def test_sync_without_embedding_leaves_the_vectors_for_later(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "fake")
    first = json.loads(run("sync", "--no-embed", "--format", "json").stdout)
    state = json.loads(run("status", "--format", "json").stdout)
    assert (first["embedded"], state["vectors"], state["pending"]) == (0, 0, state["passages"])
    second = json.loads(run("sync", "--format", "json").stdout)
    assert second["embedded"] > 0
    assert json.loads(run("status", "--format", "json").stdout)["pending"] == second["pending"] == 0


def test_a_collection_takes_the_globs_it_is_given(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    (folder / "drafts").mkdir(parents=True)
    for name in ("a.md", "b.txt", "c.rst", "drafts/d.md"):
        (folder / name).write_text(f"the walnut {name}\n")
    options = ["--glob", "**/*.md", "--glob", "*.txt", "--ignore", "drafts/"]
    assert run("collection", "add", str(folder), "--name", "docs", *options).exit_code == 0
    assert sorted(run("search", "walnut", "--format", "files").stdout.split()) == ["docs/a.md", "docs/b.txt"]
    listed = json.loads(run("collection", "list", "--format", "json").stdout)[1]
    assert (listed["globs"], listed["ignore"]) == (["**/*.md", "*.txt"], ["drafts/"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--name", "memory"], "is the workspace itself"),
        (["--name", "A B"], "no name for one"),
        (["--name", "ok", "--glob", "../*.md"], "must be relative"),
        (["--name", "ok", "--ignore", "/x"], "must be relative"),
    ],
)
def test_a_collection_that_cannot_be_is_one_line(
    run: Run, workspace: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    result = run("collection", "add", str(tmp_path), *options)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert [c["name"] for c in json.loads(run("collection", "list", "--format", "json").stdout)] == ["memory"]


def test_config_path_names_both_files_though_they_are_broken(run: Run, workspace: Path) -> None:
    settings_file(workspace).write_text("[broken\n")
    data = json.loads(run("config", "path", "--format", "json").stdout)
    assert set(data) == {"user", "workspace"}
    lines = run("config", "path").stdout.splitlines()
    assert [line.split() for line in lines] == [
        ["user", data["user"], "missing"],
        ["workspace", str(settings_file(workspace))],
    ]
    assert run("config", "list").exit_code == 1
    assert run("config", "elsewhere").exit_code == 2
