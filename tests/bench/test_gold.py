"""`eval init`: questions from notes that a search can be asked, without what is private."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commonplace import config
from commonplace.base import paths
from commonplace.bench import gold
from commonplace.bench import questions as sets_of
from commonplace.bench.metrics import Span
from commonplace.markdown import structure
from commonplace.markdown.document import parse

from . import conftest

SECRET = "ghp_" + "a1B2" * 9
NOTES = {
    "MEMORY.md": "# Memory\n\n## People at work\n\n- Lena keeps the brass key in drawer 14.\n"
    "- Her brother Tomas moved to Utrecht in the spring.\n"
    "<private>\n- The alarm code at the cottage is 5512 these days.\n</private>\n"
    f"- The deploy token of the gateway is {SECRET} until 3 May.\n",
    "memory/2026-01-05.md": "# 2026-01-05\n\n- Moved the Kestrel gateway to port 8443.\n"
    "- The same sentence stands twice on 7 June.\n\n```\nport of the example server = 9999\n```\n",
    "memory/2026-01-06.md": "# 2026-01-06\n\n- The same sentence stands twice on 7 June.\n"
    "- 妈妈的生日是三月十二日，要买蛋糕。\n- 张伟在北京大学教物理课。\n",
    "draft.md": "- The draft is not indexed before 9 June at all.\n",
}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    root = tmp_path / "notes"
    for name, text in NOTES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def run(workspace: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return conftest.run("-w", workspace, "eval", *arguments)


def made(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_questions_are_exact_spread_and_marked_for_review(workspace: Path) -> None:
    done = run(workspace, "init")
    assert done.returncode == 0, done.stderr
    records = made(workspace / "gold.jsonl")
    assert done.stdout.startswith(f"{workspace / 'gold.jsonl'}: {len(records)} questions about 3 notes\n")
    for record in records:
        (span,) = record["evidence"]
        lines = NOTES[span["path"]].split("\n")[span["start_line"] - 1 : span["end_line"]]
        assert record["answer"] in "\n".join(lines)
        assert (record["review"], record["workspace"]) == (True, ".")
        assert len(record["question"].split()) == 2
        assert all(word in record["answer"].lower() for word in record["question"].split())
        assert not record["answer"].startswith("- The same sentence")


def test_the_rarest_words_of_a_line_are_not_asked_by() -> None:
    lines = [
        f"- The harbour office closes at noon because of the {word} storm." for word in ("first", "second")
    ]
    lines.append("- The zebrafish harbour office closes at noon today.")
    (made,) = [
        draft for draft in gold.drafts([parse("\n".join(lines), "a.md")]) if "zebrafish" in draft.answer
    ]
    assert "zebrafish" not in made.question
    assert made.evidence == Span("a.md", 3, 3)


def test_private_parts_secrets_code_duplicates_and_drafts_are_left_out(workspace: Path) -> None:
    run(workspace, "init")
    text = (workspace / "gold.jsonl").read_text("utf-8")
    for absent in ("5512", "alarm", SECRET, "deploy token", "REDACTED", "9999", "7 June", "draft"):
        assert absent not in text


def test_the_set_runs_and_says_that_it_waits_for_review(workspace: Path, tmp_path: Path) -> None:
    out = tmp_path / "elsewhere" / "mine.jsonl"
    out.parent.mkdir()
    assert run(workspace, "init", "--out", out, "--questions", 3).returncode == 0
    assert run(workspace, "init", "--questions", 4).returncode == 0
    for path in (out, workspace / "gold.jsonl"):
        done = run(workspace, path, "--json", "--mode", "lexical")
        assert done.returncode == 0, done.stderr
        number = len(made(path))
        assert f"{number} of {number} questions wait" in done.stderr
        assert json.loads(done.stdout)["figures"]["(all)"]["hit@10"] == 1.0
    seen = [record | {"review": False} for record in made(out)]
    out.write_text("".join(json.dumps(record) + "\n" for record in seen), encoding="utf-8")
    assert "wait" not in run(workspace, out, "--mode", "lexical").stderr


def test_the_same_seed_chooses_the_same_and_nothing_is_overwritten(workspace: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.jsonl" for name in "abc"]
    for path, seed in zip(paths, (0, 0, 5), strict=True):
        run(workspace, "init", "--out", path, "--seed", seed, "--questions", 3)
    one, again, other = (path.read_text("utf-8") for path in paths)
    assert one == again != other
    assert {record["evidence"][0]["path"] for record in made(paths[0])} == NOTES.keys() - {"draft.md"}
    done = run(workspace, "init", "--out", paths[0])
    assert (done.returncode, "is there already" in done.stderr) == (1, True)
    assert paths[0].read_text("utf-8") == one


def test_notes_without_a_fact_give_no_file(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("nothing to see\n")
    done = run(tmp_path, "init")
    assert (done.returncode, done.stdout) == (3, "")
    assert not (tmp_path / "gold.jsonl").exists()


def test_a_collection_is_asked_about_by_its_shown_paths(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "docs"
    other.mkdir()
    (other / "ferry.md").write_text("- The ferry to Harwich leaves at 21:15 from the east quay.\n")
    home = paths.user_config_dir()
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(f'[workspaces."{workspace}".collections.docs]\npath = "{other}"\n')
    found = gold.drafts(list(gold.read_notes(workspace, config.load(workspace))))
    assert "docs/ferry.md" in {draft.evidence.path for draft in found}


def test_what_a_search_leaves_out_is_not_asked_about(workspace: Path, tmp_path: Path) -> None:
    (workspace / "memory" / "2026-01-07.md").write_text(
        "# 2026-01-07\n\n- ~~The violet ferry leaves the northern quay at nine.~~ <!-- cp: until=2026-01-08 -->\n"
        "- ~~Grandma lives in Rotterdam.~~\n- Uncle Joris sells antique clocks near the market.\n"
    )
    other = tmp_path / "old"
    other.mkdir()
    (other / "ferry.md").write_text("- The ferry to Harwich leaves in the evening from the east quay.\n")
    home = paths.user_config_dir()
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(
        f'[workspaces."{workspace}".collections.old]\npath = "{other}"\ninclude_by_default = false\n'
    )
    notes = list(gold.read_notes(workspace, config.load(workspace)))
    answers = "\n".join(draft.answer for draft in gold.drafts(notes))
    assert "antique clocks" in answers
    assert not any(absent in answers for absent in ("violet", "Grandma", "Harwich", "~~"))


class Counted(tuple[tuple[int, int], ...]):
    """Fences that count how many of them are looked at."""

    looked_at = 0

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for one in super().__iter__():
            Counted.looked_at += 1
            yield one

    def __getitem__(self, place: Any) -> Any:
        Counted.looked_at += 1
        return super().__getitem__(place)


def test_a_line_is_not_compared_with_every_fence_of_its_note() -> None:
    note = parse("- Moved the Kestrel gateway to another port.\n\n```\nx\n```\n\n" * 500, "a.md")
    note = replace(note, fences=Counted(note.fences))
    (section,) = structure.sections(note)
    assert gold.usable_lines(note, section) == [*range(1, len(note.lines) - 1, 6)]
    assert Counted.looked_at < 30 * len(note.lines)


def test_ids_and_spans_are_read_back(workspace: Path) -> None:
    run(workspace, "init")
    questions = sets_of.read_questions(workspace / "gold.jsonl")
    assert all(question.review and question.evidence for question in questions)
