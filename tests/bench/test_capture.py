"""The bench of capture: every entry is written, every figure is there, nothing of it is left."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import click.testing
import pytest

from commonplace.bench import capture
from commonplace.cli.application import cli


def test_entries_are_submitted_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = capture.measure(40, "none")
    assert (found.count, found.written) == (40, 80)
    assert len(found.rows) == 6
    assert all(row.p50 <= row.p99 <= row.max for row in found.rows)
    assert list(tmp_path.iterdir()) == []


def test_the_command() -> None:
    for more in [(), ("--json",)]:
        done = click.testing.CliRunner().invoke(
            cli, ["bench", "capture", "--count", "5", "--model", "none", *more]
        )
        assert done.exit_code == 0, done.output
        if more:
            assert json.loads(done.output)["written"] == 10, more
        else:
            assert done.output.startswith("10 entries submitted"), more
            assert "submit, at once" in done.output, more
