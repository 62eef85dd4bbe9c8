"""Failures: what is one, what teaches something, and when two are the same."""

from __future__ import annotations

import pytest

from commonplace.upkeep import observations


@pytest.mark.parametrize(
    ("error", "result", "told"),
    [
        ("boom", "", "boom"),
        ("boom", "out", "boom\nout"),
        ("Exit code 2\nout", "out", "Exit code 2\nout"),
        ("", "Exit code 1\nTraceback", "Exit code 1\nTraceback"),
        ("", "Error: exit status 127: command not found", "Error: exit status 127: command not found"),
        ("", "Exit code: 0\nfine", ""),
        ("", "codes 12 of them", ""),
        ("", "all fine", ""),
    ],
)
def test_what_a_tool_failed_with(error: str, result: str, told: str) -> None:
    assert observations.failure(error, result) == told


@pytest.mark.parametrize(
    "told",
    [
        "Exit code 1\nModuleNotFoundError: No module named 'yaml'",
        "fatal: refusing to merge unrelated histories",
        "Exit code 2\nsrc/a.py:3: error: Incompatible types",
        "psql: error: role \"ann\" does not exist",
        "错误：找不到文件 schema.sql",
        "Exit code 1\ntest_timeout_is_kept PASSED\ntest_b FAILED\n\nassert 1 == 2\n1 failed, 1 passed",
    ],
)  # fmt: skip
def test_what_teaches(told: str) -> None:
    assert observations.teaches(told)


@pytest.mark.parametrize(
    "told",
    [
        "", "Exit code 1", "Exit code 1\n", "Command failed with exit code 1\n  \n", "Exit code: 1\n---",
        "[Request interrupted by user for tool use]", "The user doesn't want to proceed", "Permission denied by user",
        "Exit code 130\nKeyboardInterrupt", "Command timed out after 2m 0s", "httpx.ReadTimeout: timed out",
        "requests.exceptions.ConnectionError: Connection reset by peer", "HTTP 503 Service Unavailable", "status code: 429",
        "No matches found", "No files found", "File has not been read yet. Read it first before writing to it.",
        "String to replace not found in file.", "Error: Multiple occurrences of old_str in lines 2, 4",
        "InputValidationError: missing required parameter", "Could not resolve: Temporary failure in name resolution",
    ],
)  # fmt: skip
def test_what_is_noise(told: str) -> None:
    assert not observations.teaches(told)


def test_the_same_failure_has_the_same_name() -> None:
    one = observations.failure_kind(
        "Exit code 1\n/a/b/x.py:12: in f\nModuleNotFoundError: No module named 'yaml'"
    )
    other = observations.failure_kind(
        "Exit code 1\n/c/x.py:99: in g\nModuleNotFoundError: No module named 'yaml'\n"
    )
    assert one == other != observations.failure_kind("ModuleNotFoundError: No module named 'numpy'")
    assert observations.failure_kind("at 0x7f3a22: segfault in /tmp/a17/x") == observations.failure_kind(
        "at 0x11aa22: segfault in /tmp/b/x"
    )


@pytest.mark.parametrize("unit", ["a/", "Error ", "exit code 1 ", "0", "\n", "timeout", "old_str ", " "])
def test_a_megabyte_of_anything_ends(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    assert isinstance(observations.teaches(text), bool)
    assert len(observations.failure_kind(text)) <= 160
