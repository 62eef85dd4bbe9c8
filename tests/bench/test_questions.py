"""`commonplace eval`: questions made of notes, without what is private; their answers found or not; dropped ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base import paths
from commonplace.bench import questions
from commonplace.markdown.document import parse

from . import conftest

SECRET = "ghp_" + "a1B2" * 9
NOTES = {
    "MEMORY.md": "# Memory\n\n## People at work\n\n- Lena keeps the brass key in drawer 14.\n"
    "- Her brother Tomas moved to Utrecht in the spring.\n"
    "<private>\n- The alarm code at the cottage is 5512 these days.\n</private>\n"
    f"- The deploy token of the gateway is {SECRET} until 3 May.\n",
    "memory/2026-01-05.md": "# 2026-01-05\n\n- Moved the Kestrel gateway to port 8443.\n"
    "- The same sentence stands twice on 7 June.\n\n```\nport of the example gateway server = 9999\n```\n",
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


def run(workspace: Path, *arguments: object) -> conftest.Done:
    return conftest.run("-w", workspace, "eval", *arguments)


def test_questions_are_two_words_of_a_line_spread_over_notes(workspace: Path) -> None:
    done = run(workspace, "init")
    assert done.returncode == 0, done.stderr
    made = questions.read(workspace)
    assert done.stdout == f"{workspace / 'gold.jsonl'}: {len(made)} questions about 3 notes\n"
    for one in made:
        assert one.answer in NOTES[one.path]
        assert len(one.question.split()) == 2
        assert all(word in one.answer.lower() for word in one.question.split())
    text = (workspace / "gold.jsonl").read_text("utf-8")
    for absent in ("5512", "alarm", SECRET, "deploy token", "REDACTED", "9999", "7 June", "draft"):
        assert absent not in text
    few = questions.made(questions.read_notes(workspace, config.load(workspace)), 3)
    assert {one.path for one in few} == NOTES.keys() - {"draft.md"}


def test_the_same_seed_makes_the_same_and_nothing_is_overwritten(workspace: Path) -> None:
    file = workspace / "gold.jsonl"
    texts = []
    for seed in (0, 0, 5):
        run(workspace, "init", "--seed", seed, "--questions", 3)
        texts.append(file.read_text("utf-8"))
        assert "is there already" in run(workspace, "init").stderr
        assert file.read_text("utf-8") == texts[-1]
        file.unlink()
    assert texts[0] == texts[1] != texts[2]


def test_the_rarest_words_of_a_line_are_not_asked_by() -> None:
    lines = [
        f"- The harbour office closes at noon because of the {word} storm." for word in ("first", "last")
    ]
    lines.append("- The zebrafish harbour office closes at noon today.")
    (made,) = [one for one in questions.made([parse("\n".join(lines), "a.md")], 9) if "zebra" in one.answer]
    assert "zebrafish" not in made.question


def test_the_table_shows_what_is_not_found_first(workspace: Path) -> None:
    assert "eval init" in run(workspace).stderr
    run(workspace, "init")
    asked = questions.read(workspace)
    wrong = questions.GoldQuestion("zeppelin trombone", "- Nobody wrote this line.", "MEMORY.md")
    questions.drop(workspace, range(1, len(asked) + 1))
    (workspace / "gold.jsonl").write_bytes(questions._lines([*asked, wrong]))
    done = run(workspace)
    assert done.returncode == 0, done.stderr
    _, row, _, summary = done.stdout.splitlines()
    assert row.split()[:3] == [str(len(asked) + 1), "-", "zeppelin"]
    assert summary.startswith(
        f"{len(asked) + 1} questions · {len(asked)} first · {len(asked)} in the first five · 1 not"
    )
    record = json.loads(run(workspace, "show", "--format", "json").stdout)
    assert (record["first"], record["missed"], len(record["found"])) == (len(asked), 1, len(asked) + 1)
    assert not paths.Workspace(workspace).usage.exists()


def test_a_line_that_moved_is_found_and_one_that_changed_is_not(workspace: Path) -> None:
    run(workspace, "init")
    key = workspace / "MEMORY.md"
    text = key.read_text("utf-8").replace("# Memory\n", "# Memory\n\n- A new line stands above.\n")
    key.write_text(text.replace("brass key in drawer 14", "brass key in the hall"), "utf-8")
    record = json.loads(run(workspace, "show", "--format", "json").stdout)
    missed = {one["answer"] for one in record["found"] if one["rank"] is None}
    assert missed == {"- Lena keeps the brass key in drawer 14."}


def test_rejected_questions_are_dropped_by_their_numbers(workspace: Path) -> None:
    run(workspace, "init")
    asked = questions.read(workspace)
    done = run(workspace, "reject", 2, 1)
    assert done.stdout.splitlines() == [f"dropped: {one.question}" for one in asked[:2]]
    assert questions.read(workspace) == asked[2:]
    for wrong in (0, len(asked)):
        done = run(workspace, "reject", wrong)
        assert (done.returncode, f"there are {len(asked) - 2}" in done.stderr) == (1, True)
    assert questions.read(workspace) == asked[2:]


def test_a_bad_line_is_named(workspace: Path) -> None:
    for line in ("{", "[]", '{"question": "a", "answer": "b"}', "[" * 100_000):
        (workspace / "gold.jsonl").write_text(f'{{"question": "a", "answer": "b", "path": "c"}}\n{line}\n')
        done = run(workspace)
        assert done.returncode == 1
        assert "gold.jsonl:2: no JSON object with question, answer, path" in done.stderr


def test_notes_without_a_fact_give_no_file(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("nothing to see\n")
    done = run(tmp_path, "init")
    assert (done.returncode, done.stdout) == (3, "")
    assert not (tmp_path / "gold.jsonl").exists()


def test_what_a_search_leaves_out_is_not_asked_about(workspace: Path, tmp_path: Path) -> None:
    (workspace / "memory" / "2026-01-07.md").write_text(
        "# 2026-01-07\n\n- ~~The violet ferry leaves the northern quay at nine.~~ <!-- cp: until=2026-01-08 -->\n"
        "- ~~Grandma lives in Rotterdam.~~\n- Uncle Joris sells antique clocks near the market.\n"
    )
    for name, line in (
        ("docs", "The tram to Delft leaves from the west gate."),
        ("old", "The ferry to Harwich leaves late in the evening."),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"- {line}\n")
    home = paths.user_config_dir()
    home.mkdir(parents=True, exist_ok=True)
    of = f'[workspaces."{workspace}".collections.'
    (home / "config.toml").write_text(
        f'{of}docs]\npath = "{tmp_path}/docs"\n{of}old]\npath = "{tmp_path}/old"\ninclude_by_default = false\n'
    )
    made = questions.made(questions.read_notes(workspace, config.load(workspace)), 99)
    answers = "\n".join(one.answer for one in made)
    assert "antique clocks" in answers
    assert "docs/a.md" in {one.path for one in made}
    assert not any(absent in answers for absent in ("violet", "Grandma", "Harwich", "~~"))
