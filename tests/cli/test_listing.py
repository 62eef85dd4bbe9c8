"""timeline, ls, multi-get, and what `collection` and `context` say of what is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.render.screen import cells
from tests.cli.conftest import Program, Run
from tests.cli.test_terminal import on_a_terminal

DAY = "memory/2026-02-13.md"


@pytest.fixture
def days(workspace: Path) -> Path:
    """Further dated notes around those of the workspace, with a private part and a secret."""
    for day, text in {
        "11": "one",
        "12": "two <private>hidden</private>",
        "15": "token ghp_" + "a1B2" * 9,
    }.items():
        (workspace / "memory" / f"2026-02-{day}.md").write_text(f"# 2026-02-{day}\n\n- {text}\n")
    return workspace


def moments(run: Run, *arguments: str) -> list[tuple[str, bool]]:
    data = json.loads(run("timeline", *arguments, "--format", "json").stdout)
    return [(one["citation"], one["is_anchor"]) for one in data["moments"]]


def test_a_timeline_shows_what_was_before_and_after_a_line(days: Path, run: Run) -> None:
    assert moments(run, f"{DAY}:5", "--before", "2", "--after", "1") == [
        ("memory/2026-02-11.md#L3", False),
        ("memory/2026-02-12.md#L3", False),
        (f"{DAY}#L5-L6", True),
        (f"{DAY}#L10", False),
    ]
    assert moments(run, f"{DAY}:10", "--before", "1", "--after", "1") == [
        (f"{DAY}#L5-L6", False),
        (f"{DAY}#L10", True),
        ("memory/2026-02-14.md#L3", False),
    ]


def test_a_timeline_takes_a_day_a_note_and_a_docid(days: Path, run: Run) -> None:
    whole = [(f"{DAY}#L5-L6", True), (f"{DAY}#L10", True)]
    docid = json.loads(run("get", DAY, "--format", "json").stdout)["docid"]
    for anchor in ("2026-02-13", DAY, f"#{docid}"):
        assert moments(run, anchor, "--before", "0", "--after", "0") == whole
    assert moments(run, f"#{docid}:10-10", "--before", "0", "--after", "0") == whole[1:]


def test_a_timeline_says_what_is_a_guess_or_holds_no_more(days: Path, run: Run) -> None:
    (days / "memory" / "2026-02-16.md").write_text(
        "# 2026-02-16\n\n## Move\n\n- 暂定：三月搬家。\n- The flat is ours.\n- By tram. <!-- superseded -->\n",
        "utf-8",
    )
    data = json.loads(run("timeline", "2026-02-16", "--before", "0", "--format", "json").stdout)
    assert [one["labels"] for one in data["moments"]] == [["tentative"], [], ["superseded"]]
    shown = run("timeline", "2026-02-16", "--before", "0").stdout
    assert "memory/2026-02-16.md:5  tentative · Move\n" in shown
    assert "memory/2026-02-16.md:6  Move\n" in shown


def test_a_timeline_marks_its_anchor_and_hides_what_get_hides(days: Path, run: Run) -> None:
    text = run("timeline", "2026-02-13", "--before", "9", "--after", "9").stdout
    assert f"\n2026-02-13\n▶ {DAY}:5-6  Deploy\n    - The deploy moved to Thursday.\n" in text
    assert f"  {DAY.replace('13', '14')}:3\n" in text
    assert "hidden" not in text
    assert "ghp_" not in text
    assert "[REDACTED:github-token]" in text
    assert "Aged white tea" not in text  # of a note without a date


@pytest.mark.parametrize(
    ("anchor", "reason"),
    [
        ("MEMORY.md", "MEMORY.md: has no date"),
        ("MEMORY.md:5", "MEMORY.md: has no date"),
        ("memory/2026-02-31.md", "no such note"),
        ("../MEMORY.md", "is not indexed"),
        ("#abcdef", "no such note"),
    ],
)
def test_an_anchor_without_a_place_in_time_is_one_line(run: Run, anchor: str, reason: str) -> None:
    result = run("timeline", anchor)
    assert (result.exit_code, result.stdout) == (1, "")
    assert reason in result.stderr
    assert result.stderr.count("\n") == 1


def test_ls_lists_notes_with_date_size_and_title(run: Run, workspace: Path, tmp_path: Path) -> None:
    lines = run("ls").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["MEMORY.md", DAY, "memory/2026-02-14.md"]
    assert lines[0].split()[1:] == [str((workspace / "MEMORY.md").stat().st_size), "bytes", "Memory"]
    assert lines[1].split()[1] == "2026-02-13"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A title\n")
    run("collection", "add", str(tmp_path / "docs"), "--name", "docs")

    def paths(under: str) -> list[str]:
        return [one["path"] for one in json.loads(run("ls", under, "--format", "json").stdout)]

    assert paths("docs") == ["docs/a.md"]
    assert paths("memory/") == paths("memory") == ["MEMORY.md", DAY, "memory/2026-02-14.md"]
    assert paths("./MEMORY.md") == ["MEMORY.md"]
    assert paths("**/*14.md") == ["memory/2026-02-14.md"]
    assert paths(".") == ["MEMORY.md", "docs/a.md", DAY, "memory/2026-02-14.md"]
    assert (run("ls", "nowhere").exit_code, run("ls", "nowhere").stdout) == (3, "")


def test_multi_get_takes_globs_lists_and_docids(run: Run) -> None:
    docid = json.loads(run("get", "MEMORY.md", "--format", "json").stdout)["docid"]
    data = json.loads(run("multi-get", "memory/*.md", f"#{docid}:3-3,{DAY}:10-10", "--format", "json").stdout)
    assert [(one["path"], one["start_line"], one["end_line"]) for one in data["excerpts"]] == [
        (DAY, 1, 10), ("memory/2026-02-14.md", 1, 3), ("MEMORY.md", 3, 3), (DAY, 10, 10),
    ]  # fmt: skip
    text = run("multi-get", f"#{docid}:3-3", f"{DAY}:10-10", "--no-numbers").stdout
    assert text == f"==> MEMORY.md:3-3 <==\n## Tea\n\n==> {DAY}:10-10 <==\n- 周五下午不部署。\n"


def test_multi_get_names_what_it_leaves_out(run: Run) -> None:
    result = run(
        "multi-get", "nothing.md", "MEMORY.md", "none/*.md", DAY, "memory/2026-02-14.md", "--max-bytes", "90"
    )
    assert result.exit_code == 1
    assert [line for line in result.stdout.splitlines() if line.startswith("==>")] == [
        "==> MEMORY.md:1-5 <==", "==> memory/2026-02-14.md:1-3 <==",
    ]  # fmt: skip
    told = result.stderr.splitlines()
    assert len(told) == 3
    assert all(name in line for name, line in zip(("nothing.md", "none/*.md", "bytes"), told, strict=True))


def test_a_collection_is_shown_with_what_it_holds(run: Run, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A title\n")
    run("collection", "add", str(tmp_path / "docs"), "--name", "docs", "--ignore", "drafts/")
    run("context", "add", "docs", "papers", "to", "read")
    data = json.loads(run("collection", "show", "docs", "--format", "json").stdout)
    assert (data["root"], data["notes"], data["bytes"]) == (str(tmp_path / "docs"), 1, 10)
    assert (data["ignore"], data["contexts"]) == (["drafts/"], ["papers to read"])
    lines = dict(line.split(maxsplit=1) for line in run("collection", "show", "docs").stdout.splitlines())
    assert lines["files"] == "**/*.md !drafts/"
    assert lines["holds"] == "1 note, 1 passage, 10 bytes"
    assert lines["context"] == "papers to read"
    assert lines["searched"] == "by default"
    result = run("collection", "show", "nothing")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)


def test_context_check_names_what_nothing_describes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "docs" / "api").mkdir(parents=True)
    (tmp_path / "docs" / "api" / "a.md").write_text("# A title\n")
    run("collection", "add", str(tmp_path / "docs"), "--name", "docs")

    def bare() -> list[tuple[str, int]]:
        data = json.loads(run("context", "check", "--format", "json").stdout)
        return [(one["prefix"], one["notes"]) for one in data]

    assert bare() == [("docs", 1), ("docs/api", 1), ("memory", 2)]
    run("context", "add", "/", "everything")  # what is said of all says nothing of one
    run("context", "add", "docs/api", "reference")
    assert bare() == [("docs", 1), ("memory", 2)]
    result = run("context", "check")
    assert result.stdout == "docs    1 note\nmemory  2 notes\n".replace("1 note\n", " 1 note\n")
    assert "context add" in result.stderr
    run("context", "add", "docs", "papers")
    run("context", "add", "memory", "daily")
    result = run("context", "check")
    assert (result.exit_code, result.stdout, bare()) == (0, "", [])


@pytest.mark.parametrize(
    ("notes", "last"), [(5, "05.md"), (6, "… and 1 more does not fit"), (42, "… and 37 more do not fit")]
)
def test_many_notes_that_do_not_fit_are_summed_up(run: Run, workspace: Path, notes: int, last: str) -> None:
    for number in range(1, notes + 1):
        (workspace / "memory" / f"x-{number:02}.md").write_text("words " * 50)
    result = run("multi-get", "memory/x-*.md", "none.md", "--max-bytes", "100")
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert sum("300 bytes" in line or "301 bytes" in line for line in lines) == 5
    assert sum("none.md: no such note" in line for line in lines) == 1
    assert last in (lines[-1] if notes > 5 else result.stderr)
    assert len(lines) == 5 + 1 + (notes > 5)
    assert (
        len(
            json.loads(run("multi-get", "memory/x-*.md", "--max-bytes", "100", "--format", "json").stdout)[
                "left_out"
            ]
        )
        == notes
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_listing_is_as_wide_as_the_terminal(workspace: Path, program: Program, width: int) -> None:
    folder = workspace / "memory" / "某个很长很长的文件夹名字" / "and-another-with-a-long-name"
    folder.mkdir(parents=True)
    title = "A title that fits beside no path, 一个放不下的标题" * 3
    (folder / "the minutes of a meeting about the migration.md").write_text(f"# {title}\n")
    shown = on_a_terminal(workspace, "ls", COLUMNS=str(width), NO_COLOR="1").splitlines()
    assert max(map(cells, shown)) <= width
    assert sum("…" in line for line in shown) == 1 or width < 80
    assert any(line[2:].startswith("MEMORY.md  ") and line.endswith("  Memory") for line in shown)
    assert "…" not in program("ls").stdout.decode()
