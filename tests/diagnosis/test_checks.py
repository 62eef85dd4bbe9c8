"""Checks: what they stumble over is a finding, and the next ones go on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.base.messages import Message, message
from commonplace.base.root import Unsafe
from commonplace.diagnosis import examination
from commonplace.types import Finding


def test_what_was_found_before_an_error_stays() -> None:
    def check() -> Iterator[Finding]:
        yield Finding("a.first", "ok", "fine")
        raise ZeroDivisionError("division\nby \x1b[31mzero")

    first, second = examination.guarded("a.check", check)
    assert first == Finding("a.first", "ok", "fine")
    assert (second.check, second.state, second.group) == ("a.check", "wrong", "a")
    assert second.told == "the check itself failed (ZeroDivisionError: division by \ufffd[31mzero)"
    assert second.remedy


def test_a_long_error_is_cut() -> None:
    def check() -> Iterator[Finding]:
        raise ValueError("x" * 5000)
        yield

    assert len(examination.guarded("a.check", check)[0].told) < 400


def test_an_interrupt_ends_an_examination() -> None:
    def check() -> Iterator[Finding]:
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        examination.guarded("a.check", check)


def test_listed() -> None:
    assert examination.listed(["a", "b"]) == "a, b"
    assert examination.listed([str(n) for n in range(1005)]) == "0, 1, 2, 3, 4 and 1,000 more"
    assert examination.listed(["a\x1b[2J"]) == "a\ufffd[2J"


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1500, "1.5 KB"),
        (250_000, "250 KB"),
        (3.2e9, "3.2 GB"),
        (5e15, "5000 TB"),
    ],
)
def test_size(count: float, told: str) -> None:
    assert examination.size(count) == told


def test_a_link_in_the_way_is_a_finding_with_its_remedy() -> None:
    def check() -> Iterator[Finding]:
        raise Unsafe(message("unsafe.link", "a symlink, which is not followed here"), "/notes/.commonplace")
        yield

    (finding,) = examination.guarded("stores.spool", check)
    assert finding.state == "wrong"
    assert isinstance(finding.told, Message)
    assert finding.told.values["what"].code == "unsafe.link"
    assert finding.told == "/notes/.commonplace is a symlink, which is not followed here"
    assert finding.remedy == "delete /notes/.commonplace: nothing is read or written through it"
