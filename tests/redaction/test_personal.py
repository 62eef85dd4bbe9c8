"""E-mail addresses and phone numbers: what is one, what only looks like one, in time linear in the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.redaction.redact import redact_personal

ADDRESSES = [
    "ann@example.com", "ann.b+list@mail.example.co.uk", "o'brien@example.org", "user@163.com", "a%40example.com",
    '"john doe"@example.com', "x_y-z@sub.example.travel", "ann\\u0040example.com", "li@例子.com", "wang＠example.cn",
]  # fmt: skip
NUMBERS = [
    "+49 170 1234567", "+491701234567", "+1 (212) 555-0134", "+44 20 7946 0958", "(212) 555-0134", "212-555-0134",
    "212.555.0134", "1-800-555-0134", "13812345678", "138 1234 5678", "138-1234-5678", "+86 138 1234 5678",
    "8613812345678", "0086 13812345678", "010-12345678", "0755-1234567", "400-810-1234", "+86-10-1234-5678",
]  # fmt: skip
INNOCENT = [
    "1.2.3", "v10.20.30-rc.1", "react@18.2.0", "pkg@1.2.3-beta.com", "icon@2x.png", "git@github.com:owner/repo.git",
    "192.168.100.200", "+192.168.100.200", "10.0.0.1:8080", "2001:db8::8a2e:370:7334", "2026-02-13", "2026-02-13T10:22:05+08:00",
    "+2026-02-13 10:22", "20260213102205", "1700000000", "1700000000123", "$1,234,567.89", "1234567890", "0x1234567890",
    "3f2a1b9c8d7e6f5a4b3c2d1e0f", "13812345678901234567", "0.13812345678", "a13812345678", "123e4567-e89b-12d3-a456-426614174000",
    "1.0.0+20130313144700", "line 212, column 555", "4111 1111 1111 1111", "10 20 30 40 50 60", "+0800", "@decorator",
    "user@localhost", "12:30:45.678901", "100-200-300", "#13812", "1e+10", "ISBN 978-3-16-148410-0", "size 2125550134",
]  # fmt: skip


@pytest.mark.parametrize(
    "around", ["{}", "to {}, please", "联系{}谢谢", "<{}>", "mailto:{}", '{{"to": "{}"}}', "a={} b=1"]
)
def test_addresses_are_found(around: str) -> None:
    for address in ADDRESSES:
        text, kinds = redact_personal(around.format(address))
        assert "email" in kinds, address
        assert "[REDACTED:email]" in text, address
        assert not [part for part in (address, "example", "163") if part in text], address


@pytest.mark.parametrize(
    "around", ["{}", "call {} now", "电话{}，谢谢", "tel:{}", '"{}"', "1,{},x", "({})", "{}."]
)
def test_numbers_are_found(around: str) -> None:
    for number in NUMBERS:
        text, kinds = redact_personal(around.format(number))
        assert kinds == ("phone",), number
        assert text.count("[REDACTED:phone]") == 1, number
        assert sum(character.isdigit() for character in text) <= around.count("1"), number


@pytest.mark.parametrize(
    "text", ["phone: 2125550134", "Tel. 030 1234567", "手机号码：23812345678", '"mobile": "070 123 45 67"', "fax no. 5550134"]
)  # fmt: skip
def test_a_word_before_it_makes_a_number_of_digits(text: str) -> None:
    redacted, kinds = redact_personal(text)
    assert kinds == ("phone",)
    assert not any(map(str.isdigit, redacted))


@pytest.mark.parametrize("around", ["{}", "a {} b", "{}\n", '"{}"'])
def test_what_only_looks_like_one_stays(around: str) -> None:
    texts = [around.format(text) for text in INNOCENT]
    assert [redact_personal(text) for text in texts] == [(text, ()) for text in texts]


PIECES = st.one_of(
    st.text(max_size=8),
    st.sampled_from([*ADDRESSES, *NUMBERS, *INNOCENT]),
    st.sampled_from([*"@+-.:() \n\"'1205%", "phone", "电话", "[REDACTED:", "86", "\u00a0"]),
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_redacting_is_done_once_and_keeps_lines(text: str) -> None:
    redacted, _ = redact_personal(text)
    assert redact_personal(redacted) == (redacted, ())
    assert redacted.count("\n") == text.count("\n")


UNITS = [
    *"a1@+(.- \"%", "1 ", "12-", "a@", "@a.", "a.b@", "+1", "1.", "phone: ", "phone 1", "00 1 ", "(1) ", "1\u00a0",
    "@a-", "138", "212-555-", "a@b.c", "+1 2", "86 ", "电话：1", "%40a.",
]  # fmt: skip


@pytest.mark.parametrize("size", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_long_texts_of_one_unit_end(size: int) -> None:
    for unit in UNITS:
        assert redact_personal(unit * (size // len(unit)))[0], unit
