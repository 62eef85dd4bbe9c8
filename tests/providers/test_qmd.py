"""QMD asked through its program: its hits, its failures, its silence. A stand-in prints what 2.8.3 printed."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

import pytest

from commonplace import config
from commonplace.base.errors import ProviderError
from commonplace.memory import Memory, ask_engine, create
from commonplace.providers import qmd

ROWS = [
    {
        "score": 0.42, "file": "{notes}/sub/harbour note.md", "line": 3, "title": "Harbour",
        "context": "Everything of mine\n\nSea things",
        "snippet": "@@ -2,3 @@ (1 before, 0 after)\n\nThe harbour closes at six on Tuesdays.\n",
    },
    {"score": 0, "file": "./deploy.md", "line": 3, "title": "Deploys",
     "snippet": "@@ -2,4 @@ (1 before, 3 after)\n\nDeploys go out on Tuesdays.\n\n## Rollback"},
    {"docid": "#9b42eb", "score": 7, "file": "qmd://gone/x.md", "line": 1, "title": "Gone", "snippet": "@@ -1,1 @@\nold"},
]  # fmt: skip


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    made = tmp_path / "sea"
    (made / "sub").mkdir(parents=True)
    (made / "sub" / "harbour note.md").write_text(
        "# Harbour\n\nThe harbour closes at six on Tuesdays. <private>Not for you.</private>\n"
    )
    (made / "deploy.md").write_text(
        "# Deploys\n\nDeploys go out on Tuesdays.\n\n## Rollback\n\nToken ghp_x\n"
    )
    return made


@pytest.fixture
def memory(tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    create(tmp_path / "notes")
    config.add_collection(tmp_path / "notes", "sea", str(notes))
    return Memory.open(tmp_path / "notes")


def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """A program `qmd` on the path that does what a shell script says."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    path = folder / "qmd"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return path


def printing(tmp_path: Path, rows: object, **more: str) -> str:
    place = tmp_path / "rows.json"
    place.write_text(json.dumps(rows).replace("{notes}", more.get("notes", "")))
    return f'echo "$@" > {tmp_path}/asked; echo warning >&2; cat {place}'


def test_hits_are_cited_as_ours_and_read_from_the_files(
    tmp_path: Path, notes: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notes)
    program(tmp_path, monkeypatch, printing(tmp_path, ROWS, notes=str(notes)))
    result = ask_engine(
        memory, "qmd", "-harbour tuesdays", mode="lexical", limit=5, collections=["n"], min_score=0.1
    )
    assert (tmp_path / "asked").read_text() == (
        "search --format json --full-path -n 5 -c n --min-score 0.1 -- -harbour tuesdays\n"
    )
    assert result.engine == "qmd"
    first, second, third = result.hits
    assert (first.citation, first.collection, first.score) == ("sea/sub/harbour note.md#L3", "sea", 0.42)
    assert first.text.rstrip() == "The harbour closes at six on Tuesdays."
    assert first.contexts == ("Everything of mine", "Sea things")
    assert memory.get(f"#{first.docid}").path == first.path
    assert (second.citation, second.is_listed) == ("sea/deploy.md#L3-L5", False)
    assert (third.path, third.collection, third.score, third.text) == ("qmd://gone/x.md", "qmd", 1.0, "old")


@pytest.mark.parametrize(
    ("mode", "command"), [("hybrid", "query"), ("semantic", "vsearch"), ("lexical", "search")]
)
def test_each_mode_is_a_command_of_its_own(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch, mode: str, command: str
) -> None:
    program(tmp_path, monkeypatch, printing(tmp_path, []))
    assert ask_engine(memory, "qmd", "x", mode=mode).hits == ()  # type: ignore[arg-type]
    assert (tmp_path / "asked").read_text().startswith(f"{command} ")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo no such thing >&2; exit 4", "exited with 4: no such thing"),
        ("echo '{}'", "printed no list"),
        ("echo '[{'", "printed no list"),
        ("kill -9 $$", "ended by signal 9"),
        ("head -c 20000000 /dev/zero", "printed more than 16 MiB"),
    ],
)
def test_what_fails_is_one_line(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch, script: str, told: str
) -> None:
    program(tmp_path, monkeypatch, script)
    with pytest.raises(ProviderError, match=told) as caught:
        ask_engine(memory, "qmd", "x")
    assert "\n" not in str(caught.value)


def test_what_hangs_is_ended_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, f"sleep 600 & echo $! > {tmp_path}/child; wait")
    with pytest.raises(ProviderError, match="--lexical"):
        qmd.search("x", timeout_s=1.0)
    child = int((tmp_path / "child").read_text())
    status = Path(f"/proc/{child}/stat")

    def is_gone() -> bool:
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z"

    until = time.monotonic() + 10  # a signal is taken when the process runs next
    while not is_gone() and time.monotonic() < until:
        time.sleep(0.02)
    assert is_gone()


@pytest.mark.parametrize("row", [7, None, {}, {"file": 3, "line": "x", "snippet": 9, "score": None}, []])
def test_rows_of_any_shape_are_hits_or_passed_over(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch, row: object
) -> None:
    program(tmp_path, monkeypatch, printing(tmp_path, [row]))
    assert len(ask_engine(memory, "qmd", "x").hits) <= 1
