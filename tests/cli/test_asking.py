"""search, recall, get: what they print, in every form, found or not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from commonplace.base import tokens
from commonplace.render import FORMS
from tests.cli.conftest import Program, Run

NONSENSE = "zzyzx qwrtp"


def test_search_prints_place_heading_score_and_passage(run: Run) -> None:
    result = run("search", "deploy", "Thursday")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("memory/2026-02-13.md:5  2026-02-13 · Deploy  ")
    assert lines[1] == "  - The deploy moved to Thursday."
    assert "full text only" in result.stderr


def test_what_answered_stands_below_the_hits(run: Run) -> None:
    assert " · listing · " in run("search", "type:daily").stderr
    assert "0.00" not in run("search", "type:daily").stdout
    result = run("search", "")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "the question holds no word to look for" in result.stderr


def test_guesses_that_a_recall_leaves_out_are_told_in_a_line(run: Run, workspace: Path) -> None:
    note = workspace / "memory" / "2026-02-15.md"
    note.write_text(
        "- The ferry may be late. <!-- tentative -->\n- The quay is wet.\n- The ferry may be cancelled. <!-- tentative -->\n"
    )
    result = run("recall", "ferry")
    assert result.exit_code == 3
    assert result.stderr.endswith(
        "\n2 tentative passages left out (`commonplace search` shows all, recall.tentative lets all in)\n"
    )
    assert json.loads(run("recall", "ferry", "--format", "json").stdout)["tentative"] == 2
    assert "left out" not in run("recall", "deploy").stderr


@pytest.mark.parametrize("form", FORMS)
def test_every_form_exits_0_when_found_and_3_when_not(run: Run, form: str) -> None:
    found, nothing = run("search", "deploy", "--format", form), run("search", NONSENSE, "--format", form)
    assert (found.exit_code, nothing.exit_code) == (0, 3)
    assert "2026-02-13.md" in found.stdout


def test_empty_forms_are_well_formed(run: Run) -> None:
    def empty(form: str) -> str:
        return run("search", NONSENSE, "--format", form).stdout

    assert json.loads(empty("json")) == []
    assert empty("files") == ""
    assert empty("text") == empty("md") == ""
    assert "0 hits" in run("search", NONSENSE).stderr
    assert "0 hits" in run("search", NONSENSE, "--format", "md").stderr


def test_forms_that_programs_read_parse(run: Run) -> None:
    def shown(form: str) -> str:
        return run("search", "deploy", "--format", form, "--explain").stdout

    hit = json.loads(shown("json"))[0]
    assert hit["citation"] == "memory/2026-02-13.md#L5-L6"
    assert round(sum(f["value"] for f in hit["factors"]), 4) == hit["score"]
    assert shown("files") == "memory/2026-02-13.md\n"


def test_explain_shows_the_sum_and_the_stages(run: Run) -> None:
    result = run("search", "deploy", "--explain")
    assert " words" in result.stdout
    assert "full text" in result.stderr.splitlines()[-1]
    assert " ms" in result.stderr.splitlines()[-1]


def test_limit_and_min_score(run: Run) -> None:
    assert len(json.loads(run("search", "deploy rain tea", "-n", "1", "--format", "json").stdout)) == 1
    hits = json.loads(run("search", "deploy rain tea", "--min-score", "0.4", "--format", "json").stdout)
    assert all(hit["score"] >= 0.4 for hit in hits)


def test_an_exclusion_stands_after_two_dashes(run: Run) -> None:
    assert run("search", "--", "deploy", "-lin").exit_code == 3
    assert run("search", "--", "-lin", "rain").exit_code == 0


def test_a_dash_reads_the_question_from_standard_input(run: Run) -> None:
    assert run("search", "-", input="deploy\0 Thursday\n").exit_code == 0


def test_recall_prints_the_block_and_what_it_took(run: Run) -> None:
    result = run("recall", "deploy", "--budget", "200")
    assert "From memory/2026-02-13.md#L5-L6" in result.stdout
    assert "of 200 tokens" in result.stderr
    data = json.loads(run("recall", "deploy", "--format", "json").stdout)
    assert data["hits"][0]["path"] == "memory/2026-02-13.md"
    assert run("recall", NONSENSE).exit_code == 3


def test_get_shows_numbered_lines(run: Run) -> None:
    result = run("get", "memory/2026-02-13.md:5-6")
    assert result.stdout == "5  - The deploy moved to Thursday.\n6  - Lin signs it off.\n"
    assert "lines 5-6 of 10" in result.stderr
    assert (
        run("get", "memory/2026-02-13.md:5:1", "--no-numbers").stdout == "- The deploy moved to Thursday.\n"
    )
    data = json.loads(run("get", "MEMORY.md", "--format", "json").stdout)
    assert (data["path"], data["total_lines"], data["lines"][0]) == ("MEMORY.md", 5, "# Memory")


@pytest.mark.parametrize(
    ("reference", "found", "near"),
    [
        ("heron", "2026-03-05-heron.md", ()), ("heron:3", "2026-03-05-heron.md", ()),
        ("Heron release", "2026-03-05-heron.md", ()), ("复盘", "2026-03-07-heron-review.md", ()),
        ("review", "2026-03-07-heron-review.md", ()), ("2026-03-05", "2026-03-05-heron.md", ()),
        ("herron", "", ("2026-03-05-heron.md", "2026-03-07-heron-review.md")),
        ("heron relase", "", ("2026-03-05-heron.md",)), ("苍路复盘", "", ("2026-03-07-heron-review.md",)),
        ("heron.md", "", ("2026-03-05-heron.md",)), ("[[herron]]", "", ("2026-03-05-heron.md",)),
        ("her", "", ("2026-03-05-heron.md", "2026-03-07-heron-review.md")),
    ],
)  # fmt: skip
def test_get_takes_a_part_of_a_name_and_suggests_the_nearest(
    run: Run, workspace: Path, reference: str, found: str, near: tuple[str, ...]
) -> None:
    notes = {
        "2026-03-05-heron.md": "# Heron release\n\n- Ships.\n",
        "2026-03-07-heron-review.md": "# 苍鹭复盘\n\n- 推迟。\n",
    }
    for name, text in notes.items():
        (workspace / "memory" / name).write_text(text)
    run("sync")
    result = run("get", reference, "--no-numbers")
    if found:
        assert result.stdout in (notes[found], "- Ships.\n")
        return
    assert (result.exit_code, result.stdout) == (1, "")
    said, _, suggested = result.stderr.partition("; did you mean ")
    assert said.startswith("commonplace: error: ")
    assert all(f"memory/{name}" in suggested for name in near)


@pytest.mark.parametrize("reference", ["../outside.md", "/etc/passwd", "memory/../../outside.md", "memory"])
def test_get_stays_inside(run: Run, workspace: Path, reference: str) -> None:
    (workspace.parent / "outside.md").write_text("secret\n")
    result = run("get", reference)
    assert result.exit_code == 1
    assert result.stderr.startswith("commonplace: error: ")
    assert "secret" not in result.output


def test_stale_files_are_told(run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("sync")
    monkeypatch.setattr("commonplace.index.store.CHEAP_FILES", -1)
    (workspace / "memory" / "2026-02-15.md").write_text("# 2026-02-15\n\nA new deploy.\n")
    assert "stale: 1 file" in run("search", "deploy").stderr
    assert "stale: 1 file" in run("search", "deploy", "--format", "json").stderr


def test_output_is_utf8_whatever_the_locale(process: Program) -> None:
    result = process("search", "部署")
    assert "周五下午不部署".encode() in result.stdout


# --- layers -------------------------------------------------------------------------------------------


def test_a_row_of_the_index_layer_leads_to_its_lines(run: Run) -> None:
    result = run("search", "deploy", "Thursday", "--layer", "index")
    reference, day, heading, _ = result.stdout.splitlines()[0].split()
    assert (day, heading) == ("2026-02-13", "Deploy")
    said = json.loads(run("get", reference, "--format", "json").stdout)["lines"]
    assert said[:2] == ["- The deploy moved to Thursday.", "- Lin signs it off."]
    asked = run("search", "deploy", "Thursday", "--layer", "index", "--format", "json")
    (row, *_) = json.loads(asked.stdout)
    assert (row["ref"], row["date"]) == (reference, "2026-02-13")


def test_the_full_layer_shows_what_the_snippet_cuts(run: Run, workspace: Path) -> None:
    (workspace / "memory" / "2026-03-01.md").write_text("".join(f"- walnut {n}\n" for n in range(9)))
    shown = {layer: run("search", "walnut", "--layer", layer).stdout for layer in ("snippet", "full")}
    assert run("search", "walnut").stdout == shown["snippet"]
    assert run("search", "walnut", "--full").stdout == shown["full"]
    assert "…" in shown["snippet"]
    assert "walnut 8" in shown["full"]


def test_an_answer_says_what_it_costs_and_what_all_notes_would(run: Run, workspace: Path) -> None:
    everything = tokens.about("".join(note.read_text("utf-8") for note in workspace.rglob("*.md")))
    assert f"tokens of {everything:,} in all notes" in run("search", "deploy").stderr
    assert f"all notes: {everything:,} tokens" in run("recall", "deploy").stderr
    assert json.loads(run("recall", "deploy", "--format", "json").stdout)["all_tokens"] == everything
    assert "tokens" not in run("search", NONSENSE).stderr
    (workspace / "memory" / "2026-03-01.md").write_text("".join(f"- walnut {n}\n" for n in range(30)))
    few, all_ = (
        int(re.findall(r"(\d+) tokens of", run("search", "walnut", "-n", "1", *full).stderr)[0])
        for full in ([], ["--full"])
    )
    assert few < all_
    (hit, *_) = json.loads(run("search", "deploy", "--format", "json").stdout)
    assert hit["tokens"] == -(-len(hit["text"]) // 4)


def struck(home: Path) -> None:
    (home / "MEMORY.md").write_text(
        "# Memory\n\n- ~~The kiln is fired on Mondays.~~ <!-- cp: until=2026-03-02 by=owner -->\n"
        "- The kiln is fired on Fridays. <!-- cp: since=2026-03-02 -->\n",
        "utf-8",
    )


@pytest.mark.parametrize("separate", [True, False])
def test_history_and_a_day(run: Run, workspace: Path, separate: bool) -> None:
    """Through the shortcut and through click alike."""
    struck(workspace)
    ask = ("search", "when is the kiln fired", "--now", "2026-03-10")
    now = run(*ask, *([] if separate else ["--limit=9"]))
    assert "Fridays" in now.stdout
    assert "Mondays" not in now.stdout
    before = run(*ask, "--history").stdout
    assert before.index("Fridays") < before.index("Mondays")
    assert "struck 2026-03-02" in before
    for told in ("2026-03-01", "2026-02", "last month", "上个月"):
        then = run(*ask, "--as-of", told) if separate else run(*ask, f"--as-of={told}")
        assert "Mondays" in then.stdout
        assert "Fridays" not in then.stdout
        assert "~~" not in then.stdout
    recalled = run("recall", "when is the kiln fired", "--as-of", "yesterday", "--now", "2026-03-02")
    assert "Mondays" in recalled.stdout
    assert "Fridays" not in recalled.stdout


def test_a_day_that_is_none(run: Run) -> None:
    for command in ("search", "recall"):
        result = run(command, "deploy", "--as-of", "never")
        assert (result.exit_code, "as-of: 'never' is no date" in result.stderr) == (1, True)


def test_data_says_until_when_struck_text_held(run: Run, workspace: Path) -> None:
    struck(workspace)
    hits = json.loads(run("search", "kiln fired", "--history", "--format", "json").stdout)
    assert [(hit["labels"], hit["until"]) for hit in hits[:2]] == [([], None), (["struck"], "2026-03-02")]
