"""Whatever goes wrong becomes one line that can be printed, and an exit code."""

from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base import errors, installation
from commonplace.cli import failures

OURS = [
    errors.ConfigError("search.limit", "too many"),
    errors.AccessDenied("scout", "may not read /notes"),
    errors.WorkspaceNotFound("/notes"),
    errors.NoteNotFound("a.md", ["b.md"]),
    errors.OutsideRoots("../a.md"),
    errors.UnknownCollection("x", []),
    errors.NoteUnreadable("a.md", "permission denied"),
    errors.TextLost("MEMORY.md", "a line would be lost"),
    errors.PreviewOutdated(["a.md"]),
    errors.IndexUnavailable("/i", "locked"),
    errors.ProviderError("openai", "busy", 3.0),
    errors.MissingExtra("the panel", "tui"),
    errors.BudgetExceeded("limits.max_tokens_a_day", "1,000 tokens a day are spent", cap=1000, spent=1000),
]


def test_an_error_of_ours_is_its_own_text() -> None:
    for error in OURS:
        assert failures.describe(error) == (str(error), 1)
    raised = {
        found for found in vars(errors).values() if isinstance(found, type) and found.__name__[0] != "_"
    }
    ours = {found for found in raised if issubclass(found, errors.CommonplaceError)}
    assert {type(error) for error in OURS} == ours - {errors.CommonplaceError, errors.NoModel}


def test_errors_carry_their_data() -> None:
    assert errors.ProviderError("openai", "busy", 3.0).retry_after_s == 3.0
    assert errors.MissingExtra("the panel", "tui").extra == "tui"
    assert str(errors.MissingExtra("a radio", "radio")) == "a radio needs an extra: radio"  # not one of ours
    assert str(errors.MissingExtra("a model", "fastembed")).endswith(installation.add_extra("fastembed"))
    assert errors.UnknownCollection("x", ["a", "b"]).known == ("a", "b")
    assert errors.NoteNotFound("a.md", ["b.md"]).suggestions == ("b.md",)
    assert errors.IndexUnavailable("/i", "locked").reason == "locked"


@pytest.mark.parametrize(
    ("error", "line", "code"),
    [
        (OSError(28, "No space left on device", "/a"), "/a: no space left on device", 1),
        (OSError(28, "No space left on device"), "no space left on device", 1),
        (OSError("odd"), "odd", 1),
        (OSError(), "oserror", 1),
        (
            ZeroDivisionError("a bug"),
            "unexpected ZeroDivisionError: a bug (run again with --debug to see where)",
            1,
        ),
        (KeyError(), "unexpected KeyError (run again with --debug to see where)", 1),
        (click.UsageError("Wrong."), "wrong (see `commonplace --help`)", 2),
        (click.ClickException("No."), "no (see `commonplace --help`)", 1),
    ],
)
def test_any_other_error_is_told_as_what_it_is(error: Exception, line: str, code: int) -> None:
    assert failures.describe(error) == (line, code)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (click.Abort(), 130, ""),
        (errors.ConfigError("a", "b"), 1, "commonplace: error: a: b\n"),
    ],
)
def test_how_a_command_ends(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, said: str
) -> None:
    assert failures.end(error) == code
    assert capsys.readouterr() == ("", said)


def test_debugging_shows_where(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError):
        failures.end(ZeroDivisionError(), debug=True)
    assert failures.end(KeyboardInterrupt(), debug=True) == 130
    assert capsys.readouterr().err == ""


@given(st.text())
def test_any_message_is_one_short_line_that_a_terminal_shows(
    capsys: pytest.CaptureFixture[str], message: str
) -> None:
    capsys.readouterr()
    failures.warn(message)
    line = capsys.readouterr().err
    assert line.startswith("commonplace: ")
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert len(line) < 520
    assert all(character.isprintable() or "\udc80" <= character <= "\udcff" for character in line[:-1])


def test_a_long_message_keeps_its_beginning_and_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    failures.warn("begin " + "x" * 5000 + " end")
    line = capsys.readouterr().err
    assert line.startswith("commonplace: begin x")
    assert "x…x" in line
    assert line.endswith(" end\n")
