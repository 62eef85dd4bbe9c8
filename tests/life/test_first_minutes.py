"""The demonstration, as somebody sees it who tries the program for the first time."""

from __future__ import annotations

import re

from tests.life.conftest import Owner


def test_the_demonstration_says_how_much_it_does_and_nothing_that_reads_like_a_failure(owner: Owner) -> None:
    done = owner.run("demo", timeout_s=600)
    assert done.code == 0, done
    shown = done.out.splitlines()
    assert any(re.fullmatch(r" +\d+ notes, \d+(\.\d)? [kKM]B: .*", line) for line in shown)
    assert not re.search(r"expected passage|not among", done.out)
    assert len(re.findall(r"answered by \[\d\]", done.out)) >= 6  # of eight, by words alone
    assert re.search(r"\d+ of \d+", done.err + done.out)  # how far it has come
