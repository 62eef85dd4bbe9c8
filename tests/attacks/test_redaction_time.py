"""Texts made to be slow to redact: twice the text may take about twice the time, whatever it repeats."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from commonplace.notes.redact import private_parts, redact, redact_personal, strip_private

KEY = "MIIEpAIBAAKCAQEA7bq0xJ3f9yqk2c1Zp0Hh8Yw5tR4sV6uX/+aB1cD2eF3gH4iJ"
BEGIN = "-----BEGIN PRIVATE KEY-----"
UNITS = [
    "a", "A1b2-", "a1 ", "sk-", "-sk-ab12", "_eyJ", ".eyJ", "eyJaaaaaaaaaa.", "eyJaaaaaaaaaaaaa.eyJ", "bearer a1",
    BEGIN, f"{BEGIN}\n", f"{BEGIN}\n{KEY}\n", f"Private-Lines: 2\n{KEY}\n", "password=", "password is ", "my password's ",
    "密码 ", "口令 a1", "pw=a1b2", "密码是(", "curl -u a:", "cookie: a=b; ", "cookie: session=", "authorization: token ",
    "sig=" + "a" * 50, "&signature=" + "a" * 40, '"auth":"aaaa', "login a password ", "sshpass -p a", "://a:", "://a@",
    "\u200b", "g\u200bh\u200bp\u200b_", "ｇｈｐ＿", "！a", "1\u200b\n", "glpat-", "glpat-xxxxxxxxxxxxxxxxxxxx-", "xoxb-1-",
    "-hf_" + "a" * 34, "1/1", ":AA11111111", ".atlasv1.", "8Q~aaaaaaaa", "aAZDO1", "-us1", "msh1p1jsn", "_mmk", "[REDACTED:",
    "algolia key is ", "pscale_tkn_" + "." * 20, "-p.eyJ" + "a" * 24, "SG." + "a" * 20 + ".", "dp.st.a.", "MT" + "a" * 24 + ".a",
    "name: password value: ", "value=password ", "4111 1111 1111 1", "pin is ", "x" * 40 + "\n",
]  # fmt: skip
PERSONAL = [
    "+1 ", "+1(", "+12345", "+1" + "1" * 45, "+12(3)4-", "1 ", "(1", "00 1 ", "12-", "phone 1", "phone: ", "a@", "@a.",
    "a.b@", "@a-", "138", "212-555-", "1" + "a" * 24, "电话：1", "%40a.", "+1" + "\u00a0", "１３８", "a\u200b@",
]  # fmt: skip
TAGS = ["<private>", "<private ", "</private>", "<private a", "<private/>", "<" * 9, "<private>\n</private>"]
CASES = [
    *((redact, unit) for unit in UNITS),
    *((redact_personal, unit) for unit in PERSONAL),
    *((strip_private, unit) for unit in TAGS),
    *((lambda text: list(private_parts(text)), unit) for unit in TAGS[:3]),
]
SIZES = (16_000, 128_000, 1_024_000)
LEAST, ENOUGH = 0.01, 0.06  # seconds: below the first nothing is told, above the second enough is
SLACK = 3  # times as long as the text grows; the square would be eight times


@pytest.mark.parametrize(("work", "unit"), CASES, ids=[f"{number}" for number in range(len(CASES))])
def test_time_grows_with_the_text_and_not_with_its_square(work: Callable[[str], object], unit: str) -> None:
    before = 0.0
    for smaller, size in pairwise((0, *SIZES)):
        text = unit * (size // len(unit))
        elapsed = measured(work, text)
        most = max(before, LEAST) * size / smaller * SLACK if smaller else 1.0
        if elapsed > most:  # once more: somebody else may have been running
            elapsed = measured(work, text)
        assert elapsed < most, f"{elapsed:.2f} s for {size} characters, {before:.2f} s for {smaller}"
        if elapsed > ENOUGH:
            return
        before = elapsed


def measured(work: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    work(text)
    return time.process_time() - start


def test_forty_eight_characters_take_no_time() -> None:
    text = "+" + "1" * 46 + "x"
    assert measured(redact_personal, text * 20) < 1
