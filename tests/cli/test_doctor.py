"""`doctor`: what it prints, as text and JSON, with what it ends, and that no key is in it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from commonplace.cli import hook
from commonplace.config import user_file
from commonplace.diagnosis import examination
from tests.cli.conftest import Program, Run, called
from tests.providers.server import Reply, serving

KEY = "sk-test-0123456789abcdefghij"


@pytest.fixture
def fine(workspace: Path, run: Run) -> Path:
    """The workspace with an index that is up to date, where all is fine."""
    run("init")
    assert run("sync").exit_code == 0
    return workspace


def settle(text: str) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(text)


def test_all_is_fine(run: Run, fine: Path) -> None:
    result = run("doctor")
    assert (result.exit_code, result.stderr) == (0, "")
    *groups, blank, last = result.stdout.splitlines()
    named = dict.fromkeys(check.partition(".")[0] for check in examination.CHECKS)
    assert [line.split()[1] for line in groups] == [*named, "clients"]
    assert {line[0] for line in groups} <= set("✓-")
    assert blank == ""
    assert re.fullmatch(r"all fine, \d+ checks", last)


def test_verbose_shows_every_finding(run: Run, fine: Path) -> None:
    result = run("doctor", "--verbose")
    lines = result.stdout.splitlines()
    assert len(run("doctor", "-v").stdout.splitlines()) == len(lines)  # figures pass: what is free on a disk
    assert "  - no embedding model is wanted: full text answers alone" in lines
    assert "  ✓ disk.space" in lines
    counted = int(re.findall(r"\d+", lines[-1])[0])
    assert len([line for line in lines if line.startswith("  ✓")]) == counted


def test_what_is_not_fine_comes_with_its_remedy(run: Run, fine: Path) -> None:
    (fine / "MEMORY.md").write_text(f"token {KEY}-and-more-0123\n")
    result = run("doctor")
    assert result.exit_code == 0  # warnings alone
    lines = result.stdout.splitlines()
    place = next(at for at, line in enumerate(lines) if line.startswith("! notes        1 to look at"))
    assert lines[place + 1] == "  ! 1 line with what looks like a secret: MEMORY.md:1"
    assert lines[place + 2].startswith("    → ")
    assert "    → commonplace sync" in lines
    assert re.fullmatch(r"nothing wrong, 2 warnings, of \d+ checks", lines[-1])
    assert KEY not in result.output


def test_the_last_hook_that_went_wrong_is_told(run: Run, fine: Path) -> None:
    hook.note_trouble(f"no such option '--nonsense' {KEY}")
    result = run("doctor")
    assert result.exit_code == 0
    [told] = [line for line in result.stdout.splitlines() if "a hook went wrong" in line]
    assert "no such option '--nonsense'" in told
    assert KEY not in result.output
    assert "a hook went wrong" not in run("--agent", "guest", "doctor").stdout
    os.utime(hook.trouble_file(), (1_770_000_000, 1_770_000_000))
    assert "a hook went wrong" not in run("doctor").stdout


def test_json(run: Run, fine: Path) -> None:
    result = run("doctor", "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == 0
    assert list(data) == ["ok", "workspace", "counts", "findings"]
    assert (data["ok"], data["workspace"]) == (True, str(fine))
    assert sum(data["counts"].values()) == len(data["findings"])
    assert all(list(finding) == ["check", "state", "told", "remedy"] for finding in data["findings"])
    settle("[search]\nlimit = 0\n")
    broken = run("doctor", "--format", "json")
    assert broken.exit_code == 1
    data = json.loads(broken.stdout)
    assert (data["ok"], data["counts"]["wrong"]) == (False, 1)
    (wrong,) = [finding for finding in data["findings"] if finding["state"] == "wrong"]
    assert wrong["check"] == "settings.user"
    assert wrong["told"].startswith("search.limit: 0 in ")


def test_settings_that_do_not_load_stop_nothing_else(run: Run, fine: Path) -> None:
    settle("[search\n")
    assert run("status").exit_code == 1
    result = run("doctor")
    assert result.exit_code == 1
    assert "✓ disk" in result.stdout


def test_without_a_workspace(tmp_path: Path) -> None:
    done = called("doctor", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    data = json.loads(done.stdout)
    assert data["workspace"] is None
    assert "commonplace init" in [finding["remedy"] for finding in data["findings"]]


def test_a_named_workspace_that_is_missing(run: Run, fine: Path, tmp_path: Path) -> None:
    result = run("doctor", "-w", str(tmp_path / "gone"))
    assert result.exit_code == 1
    assert f"    → commonplace init {tmp_path / 'gone'}" in result.stdout.splitlines()


def test_no_key_is_shown_whatever_its_provider_says(
    run: Run, fine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COMMONPLACE_EMBEDDING_PROVIDER")
    monkeypatch.setenv("COMMONPLACE_LLM_KEY", KEY)
    (tmp_path / "key").write_text(KEY)
    with serving(
        lambda request: Reply({"error": {"message": f"no: {dict(request.headers)}"}}, 401)
    ) as server:
        for table in ("embedding", "llm"):
            model = f"[{table}]\nprovider = 'compatible'\nmodel = 'm'\nbase_url = '{server.url}/v1'\n"
            settle(model + (f"key = '{tmp_path / 'key'}'\n" if table == "embedding" else ""))
            for arguments in (("-v",), ("--json",)):  # called, then left alone
                result = run("doctor", *arguments)
                assert result.exit_code == 1
                assert "401" in result.output
                assert KEY not in result.output


def test_offline(run: Run, fine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "openai")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    result = run("doctor", "--offline", "-v")
    assert "  - openai/text-embedding-3-small was not called (--offline)" in result.stdout.splitlines()
    assert KEY not in result.output


def test_colours_and_wrapping(run: Run, fine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from commonplace.cli import doctor
    from commonplace.render.screen import Look, cells
    from commonplace.types import Finding

    findings = [
        Finding("notes.text", "warning", "names 部署 " * 20, "commonplace sync"),
        Finding("notes.other", "ok", ""),
    ]
    lines = list(doctor._group("notes", findings, Look(width=60), verbose=True))
    assert lines[0] == "! notes        1 to look at, 1 fine"
    assert max(map(cells, lines)) <= 60
    assert all(line.startswith(("  ! ", "    ", "  ✓ ")) for line in lines[1:])
    assert lines[-2:] == ["    → commonplace sync", "  ✓ notes.other"]
    coloured = list(doctor._group("notes", findings, Look(color=True, width=60), verbose=True))
    assert coloured[0].startswith("\x1b[38;5;130m!\x1b[0m \x1b[1mnotes")
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in coloured]
    assert plain == lines


def test_as_a_process(process: Program, fine: Path) -> None:
    done = process("doctor")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines()[-1].startswith("all fine, ")


def test_an_agents_settings_are_examined(run: Run, fine: Path) -> None:
    settle("[agents.scout.llm]\nprovider = 'ollama'\nmodel = 'm'\nbase_url = 'http://127.0.0.1:9/v1'\n")
    assert "ollama" in run("--agent", "scout", "doctor", "--json", "--offline").stdout
    assert "ollama" not in run("doctor", "--json", "--offline").stdout
