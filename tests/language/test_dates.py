"""Dates in questions: what they say from a reference date, what is none, and that no text takes long."""

from __future__ import annotations

import re
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from commonplace.language import dates

NOW = date(2026, 3, 18)  # a Wednesday

# A text and its days as seen from NOW, between bars.
ABSOLUTE = """
what did we decide on 2026-02-13? = 2026-02-13 | on 2026/2/13 = 2026-02-13
the log of 2026.02.13 = 2026-02-13 | at 2026-02-13T12:30:00Z = 2026-02-13 | 13 Feb 2026 = 2026-02-13
February 13th, 2026 = 2026-02-13 | 13/02/2026 = 2026-02-13 | 02/13/2026 = 2026-02-13
02/02/2026 = 2026-02-02 | in February 2026 = 2026-02-01 2026-02-28
late March 2024 = 2024-03-21 2024-03-31 | at the end of May 2025 = 2025-05-21 2025-05-31
2025 Q4 = 2025-10-01 2025-12-31 | 2025年Q4做了什么 = 2025-10-01 2025-12-31
who joined in 2025? = 2025-01-01 2025-12-31 | between May 3 and May 10, 2024 = 2024-05-03 2024-05-10
3-10 May 2025 = 2025-05-03 2025-05-10 | from 2023 to 2025 = 2023-01-01 2025-12-31
since 2025 until 2024 = 2024-01-01 2025-12-31 | from May 2025 to 3 February 2024 = 2024-02-03 2025-05-31
from November 2024 to February 2025 = 2024-11-01 2025-02-28 | 2026年2月13日我们说了什么 = 2026-02-13
２０２６年２月１３日 = 2026-02-13 | 二〇二五年五月 = 2025-05-01 2025-05-31
二零二五年十二月二十三日 = 2025-12-23 | 2025年第三季度 = 2025-07-01 2025-09-30
2025年10月底 = 2025-10-21 2025-10-31 | 在2026-02-13那天 = 2026-02-13 | Christmas 2023 = 2023-12-25
Easter of 2025 = 2025-04-18 2025-04-21 | the week before 2026-02-13 = 2026-02-06 2026-02-12
2024年春节 = 2024-02-09 2024-02-16 | 2024年年底 = 2024-12-01 2024-12-31 | 2025年腊月十八 = 2026-02-05
2024年大年初二 = 2024-02-11 | 2024年小年 = 2024-02-02 2024-02-03 | 2025年上半年 = 2025-01-01 2025-06-30
2025年闰六月初三 = 2025-07-27 | 2027-W03 = 2027-01-18 2027-01-24 | 2025年第46周 = 2025-11-10 2025-11-16
"""
RELATIVE = """
Feb 13 = 2026-02-13 | what did I eat the 4th of march = 2026-03-04 | notes the 3rd Of may = 2025-05-03
did we walk 3 to 5 of march = 2026-03-03 2026-03-05 | Sept 3 = 2025-09-03 | Feb 29 = 2024-02-29
in March = 2026-03-01 2026-03-31 | In May I went to Rome = 2025-05-01 2025-05-31
last March = 2025-03-01 2025-03-31 | next March = 2027-03-01 2027-03-31
March last year = 2025-03-01 2025-03-31 | in mid-January = 2026-01-11 2026-01-20
what did I do yesterday? = 2026-03-17 | the day before yesterday = 2026-03-16 | last night = 2026-03-17
tomorrow = 2026-03-19 | last Tuesday = 2026-03-17 | last Wednesday = 2026-03-11
on Wednesday = 2026-03-18 | next Monday = 2026-03-23 | Tuesday last week = 2026-03-10
last week on Tuesday = 2026-03-10 | last week's meeting = 2026-03-09 2026-03-15
last quarter = 2025-10-01 2025-12-31 | in the last week = 2026-03-11 2026-03-18
in the past month = 2026-02-18 2026-03-18 | the past 3 days = 2026-03-15 2026-03-18
two weeks ago = 2026-03-02 2026-03-08 | from 2 weeks ago to 3 weeks ago = 2026-02-23 2026-03-08
from last month to last year = 2025-01-01 2026-02-28 | 从上周到上上周 = 2026-03-02 2026-03-15
a couple of months ago = 2026-01-01 2026-01-31 | a year ago = 2025-01-01 2025-12-31
between 3 May and 10 May = 2025-05-03 2025-05-10 | between 3 and 10 May = 2025-05-03 2025-05-10
May 3-10 = 2025-05-03 2025-05-10 | from November to February = 2025-11-01 2026-02-28
from Monday to Friday = 2026-03-09 2026-03-13 | since last Friday = 2026-03-13 2026-03-18
昨天我做了什么 = 2026-03-17 | 大前天 = 2026-03-15 | 昨晚吃了什么 = 2026-03-17 | 上周三 = 2026-03-11
上个星期天 = 2026-03-15 | 上上周 = 2026-03-02 2026-03-08 | 本周五 = 2026-03-20
上周末 = 2026-03-14 2026-03-15 | 周一 = 2026-03-16 | 上个月13号 = 2026-02-13
去年十月 = 2025-10-01 2025-10-31 | 去年的十月底 = 2025-10-21 2025-10-31 | 两周前 = 2026-03-02 2026-03-08
半年前 = 2025-09-01 2025-09-30 | 最近一周 = 2026-03-11 2026-03-18 | 过去两年 = 2024-03-18 2026-03-18
这两天 = 2026-03-16 2026-03-18 | 从三月一日到三月五日 = 2026-03-01 2026-03-05
3月1日到5日 = 2026-03-01 2026-03-05 | 2月13日和2月20日之间 = 2026-02-13 2026-02-20
去年五月以来 = 2025-05-01 2026-03-18 | 第二季度做了什么 = 2025-04-01 2025-06-30
一季度做了什么 = 2026-01-01 2026-03-31 | 三季度前 = 2025-04-01 2025-06-30
Q1做了什么 = 2026-01-01 2026-03-31 | 去年Q2的目标 = 2025-04-01 2025-06-30 | at Christmas = 2025-12-25
what did I cook last Thanksgiving = 2025-11-27 | on New Year’s Eve = 2025-12-31
Chinese New Year = 2026-02-16 2026-02-23 | the week before Christmas = 2025-12-18 2025-12-24
two weeks before Christmas = 2025-12-08 2025-12-14 | three days after the 3rd of March = 2026-03-06
the day before last Monday = 2026-03-15 | the month after February = 2026-03-01 2026-03-31
the week before last = 2026-03-02 2026-03-08 | two weekends ago = 2026-03-07 2026-03-08
over the weekend = 2026-03-14 2026-03-15 | at the end of the month = 2026-02-21 2026-02-28
the beginning of this year = 2026-01-01 2026-01-31 | end of last year = 2025-12-01 2025-12-31
in spring = 2026-03-01 2026-05-31 | since the summer = 2025-06-01 2026-03-18
in the first quarter = 2026-01-01 2026-03-31 | in week 46 = 2025-11-10 2025-11-16 | 春天做了什么 = 2026-03-01 2026-05-31
第46周 = 2025-11-10 2025-11-16 | the next two weeks = 2026-03-18 2026-04-01 | in three days = 2026-03-21
the coming week = 2026-03-23 2026-03-29 | in the coming days = 2026-03-18 2026-03-25
接下来两周 = 2026-03-18 2026-04-01 | 三天后复查 = 2026-03-21 | 未来几天 = 2026-03-18 2026-03-25
last summer = 2025-06-01 2025-08-31 | last winter = 2025-12-01 2026-02-28
去年春节去了哪里 = 2025-01-28 2025-02-04 | 国庆节 = 2025-10-01 2025-10-07
聖誕節前一週 = 2025-12-18 2025-12-24 | 元宵 = 2026-03-03 | 端午节后两天 = 2025-06-01 2025-06-02
上周三前两天 = 2026-03-09 2026-03-10 | 月底 = 2026-02-21 2026-02-28 | 这个月底 = 2026-03-21 2026-03-31
年初 = 2026-01-01 2026-01-31 | 周末做了什么 = 2026-03-14 2026-03-15 | 大年初二去了谁家 = 2026-02-18
大年初一到初三 = 2026-02-17 2026-02-19 | 大年初一个人在家 = 2026-02-17
腊月二十三个人 = 2026-01-19 2026-02-16 | 腊月三十 = 2026-02-16 | 臘月十八 = 2026-02-05
去年腊月十八 = 2026-02-05 | 前年腊月 = 2024-12-31 2025-01-28 | 正月十五 = 2026-03-03
正月初一到十五 = 2026-02-17 2026-03-03 | 正月廿三 = 2026-03-11 | 今年正月 = 2026-02-17 2026-03-18
農曆八月 = 2025-09-22 2025-10-20 | 五月初五 = 2025-05-31 | 五月初一起去 = 2025-05-01 2025-05-10
八月十五 = 2025-10-06 | 八月十五日 = 2025-08-15 | 小年那天 = 2026-02-10 2026-02-11
冬至多吃饺子 = 2025-12-21 | 大雪节气 = 2025-12-07 | 十一假期去哪了 = 2025-10-01 2025-10-07
前年十一长假 = 2024-10-01 2024-10-07 | 上半年 = 2026-01-01 2026-06-30 | 下半年 = 2025-07-01 2025-12-31
这个周五 = 2026-03-20 | 大后天 = 2026-03-21 | 反正月底 = 2026-02-21 2026-02-28
what did we do on 10/20? = 2025-10-20
"""
NONE = """
May I go? | we may 5 times a day march on Rome | the 4th may be late | it may be
this may happen in a second | on the second floor | version 1.2.3 and 10.15 | call 555-2026-02-13
+49 30 2026-02-1355 | src/2026-02-13/notes.md | 02/03/2026 | never on Fridays | every Tuesday
a sale of 2025 items | Mark and Sept said no | 31 February 2026 | 2月30日 | 每周三开会 | 一周一次
三个月 | 十几天前 | 二手车 | 周到的服务 | 999999 years ago | what do I do on Sundays
a summer house by the sea | in the fall of Rome | 每个周末都跑步 | 三个月初学者 | 小年轻
从小年纪轻轻就会 | 清明上河图 | 政治清明 | 十一个人 | 十一 | 第十一期间 | 二十一假期 | 冬至线 | 从冬至春
建立春天般的友谊 | 青春分享会 | 秋分手了 | 大雪 | 雨水很多 | 小满和谷雨都来了 | 腊八粥 | 大寒潮
初二的学生 | 大年夜饭 | 真正月薪 | 以上半年份 | 晚上 | 初五一起去 | 成立夏令营 | 10/20 of them
the first quarter of the game | week 3 of the training | 第一周训练 | 听春天的故事 | spring water
in two weeks I read it | on 10/20 hosts | on 3/4 | 前三季度 | 两三季度 | FAQ1的回答 | Q1: 你好
"""


def rows(table: str) -> list[tuple[str, str, str]]:
    """The texts of a table with their first and last days."""
    split = (one.rpartition(" = ") for one in re.split(r" \| |\n", table.strip()))
    return [(text, days.split()[0], days.split()[-1]) for text, _, days in split]


def test_what_is_said_whether_from_now_or_not() -> None:
    for table, relative in ((ABSOLUTE, False), (RELATIVE, True)):
        for text, first, last in rows(table):
            (span,) = dates.spans(text, NOW)
            assert (str(span.first), str(span.last), span.relative) == (first, last, relative), text
            assert span.text in text


def test_what_is_no_date() -> None:
    for text in re.split(r" \| |\n", NONE.strip()):
        assert dates.spans(text, NOW) == (), text


def test_what_lies_outside_all_calendars_is_no_date() -> None:
    for text, now in [
        ("2100 years before Christmas", NOW),
        ("9999 years before 3 May", NOW),
        ("the week before 3 January", date(1, 1, 9)),
        ("12月31日后三天", date.max),
        ("this week to 3 March", date.max),
    ]:
        assert all(span.first <= span.last for span in dates.spans(text, now)), text
    assert dates.spans("2100 years before Christmas", NOW) == ()
    assert dates.read("3000 years before Easter", NOW) is None


def test_sundays_and_mondays() -> None:
    for now, table in (
        (
            22,
            "last Sunday = 15 | on Sunday = 22 | this Monday = 16 | next Monday = 23 | 上周日 = 15 | 下周一 = 23",
        ),
        (
            23,
            "last Sunday = 22 | last Monday = 16 | on Monday = 23 | next Monday = 30 | 上周一 = 16 | 周日 = 22",
        ),
    ):
        for text, day, _ in rows(table):
            (span,) = dates.spans(text, date(2026, 3, now))
            assert span[:2] == (date(2026, 3, int(day)),) * 2, (text, now)


def test_several_dates_in_their_order() -> None:
    found = dates.spans("from Berlin on 13 Feb 2026, then last week, then 昨天", NOW)
    assert [span.text for span in found] == ["13 Feb 2026", "last week", "昨天"]


ONE = """
2025 = 2025-01-01 2025-12-31 | 2026-02-13 = 2026-02-13 | 9999-12-31 = 9999-12-31
0001-01-01 = 0001-01-01 | march = 2026-03-01 2026-03-31 | tuesday = 2026-03-17
last Monday = 2026-03-16 | the end of last month = 2026-02-21 2026-02-28
the week before Christmas = 2025-12-18 2025-12-24 | the 3rd of March = 2026-03-03
上周 = 2026-03-09 2026-03-15 | now = 2026-03-18 | 10/20 = 2025-10-20 | 20/10 = 2025-10-20
yesterday evening = 2026-03-17 | Friday night = 2026-03-13 | 前天晚上 = 2026-03-16
大年初二早上 = 2026-02-18 | 冬至 = 2025-12-21
"""


def test_a_text_that_is_one_date_or_none() -> None:
    for text, first, last in rows(ONE):
        span = dates.read(f" {text} ", NOW)
        assert span is not None, text
        assert (str(span.first), str(span.last)) == (first, last)
    for (
        text
    ) in "|soon|2026-02-30|0000-01-01|last Monday and more|13|today or yesterday|3/4|evening|晚上".split("|"):
        assert dates.read(text, NOW) is None, text


WORDS = (
    "last next this past two 3 13 31 99 2026 1999 week weeks month may March Feb on in since between and to "
    "Tuesday ago yesterday the of - / . : before after days Christmas Easter winter weekend end 春节 国庆 底 初 后 周末 夏天 年 月 日 号 上 下 周 三 十 二 天 前 大年 正 腊 初五 廿 农历 闰 冬至 半年 晚上 最近 去年 到 从 半 个 第 季度 Q3 2026-02-30"
).split()


@given(st.lists(st.sampled_from(WORDS), max_size=30), st.sampled_from(["", " "]))
def test_spans_lie_in_the_text_in_order(words: list[str], blank: str) -> None:
    text, place = blank.join(words), 0
    for span in dates.spans(text, NOW):
        assert span.first <= span.last
        assert span.text
        place = text.index(span.text, place) + len(span.text)


def test_a_span_says_whether_it_names_a_day() -> None:
    named, wide = ("on 3 May 2026 | since 3 May 2026 | from 3 to 10 May 2026 | 2026年5月3日",
                   "in May 2026 | since 2026 | in summer 2026 | from March to May 2026")  # fmt: skip
    for texts, expected in ((named, True), (wide, False)):
        for text in texts.split(" | "):
            assert [span.names_a_day for span in dates.spans(text, NOW)] == [expected], text


@given(st.text(), st.dates())
def test_no_text_and_no_day_is_an_error(text: str, now: date) -> None:
    dates.spans(f"{text} last year, 3 months ago, 上周三", now)
    dates.read(text, now)


LIKE = {"s": "sſ", "i": "iıİ", "k": "k\N{KELVIN SIGN}"}  # what an expression in any case takes for a letter


@given(
    st.data(), st.lists(st.sampled_from([text for text, *_ in rows(ABSOLUTE) + rows(RELATIVE)]), max_size=3)
)
def test_letters_that_are_like_others_only_in_expressions_are_no_error(
    data: st.DataObject, texts: list[str]
) -> None:
    plain = ". ".join(texts)
    text = "".join(data.draw(st.sampled_from(LIKE.get(letter, letter))) for letter in plain)
    dates.read(text, NOW)
    expected = [(span.first, span.last) for span in dates.spans(plain, NOW)]
    assert [(span.first, span.last) for span in dates.spans(text, NOW)] == expected


def test_a_date_in_such_letters_keeps_its_place() -> None:
    for text, of_text in [
        ("what happened laſt week", "laſt week"),
        ("We saw walnut X thİs week.", "thİs week"),
        ("2 wee\N{KELVIN SIGN}s ago", "2 wee\N{KELVIN SIGN}s ago"),
    ]:
        assert [span.text for span in dates.spans(text, NOW)] == [of_text]
    assert dates.read("thıs week", NOW) == dates.spans("thıs week", NOW)[0]


def test_a_long_text_of_beginnings_ends() -> None:
    """An expression that tries all ways through these would not come back."""
    for piece in (
        "1",
        "12 ",
        "a ",
        "last ",
        "二",
        "十",
        "年",
        "上",
        "2026-",
        "Feb ",
        " ",
        "to ",
        "between 3 ",
    ):
        text = piece * ((dates.MAX_CHARACTERS - 20) // len(piece))
        assert [span.text for span in dates.spans(f"{text}. Yesterday?", NOW)] == ["Yesterday"], piece


@given(day=st.dates(date(2000, 1, 1), date(2099, 12, 31)))
def test_every_spelling_of_a_day_is_read_as_that_day(day: date) -> None:
    for spelling in dates.spellings(day):
        written = spelling.replace(" ", "-") if spelling[:4].isdigit() else spelling
        span = dates.read(written, day)
        assert span is not None, spelling
        assert (span.first, span.last) == (day, day), spelling


COMING = """
dentist on 9 April at 10 = 2026-04-09 | 12月3日去看牙 = 2025-12-03
on Friday = 2026-03-20 | by Monday = 2026-03-23 | 周二家长会 = 2026-03-24 | last Friday = 2026-03-13
at the weekend = 2026-03-21 2026-03-22 | at the end of the month = 2026-03-21 2026-03-31
in January = 2026-01-01 2026-01-31 | from 28 March to 3 April = 2026-03-28 2026-04-03
at Christmas = 2025-12-25 | 月底 = 2026-03-21 2026-03-31 | in summer = 2026-06-01 2026-08-31
"""


def test_what_a_plan_says_may_lie_ahead() -> None:
    for text, first, last in rows(COMING):
        (span,) = dates.spans(text, NOW, coming=True)
        assert (str(span.first), str(span.last)) == (first, last), text
    for day, of in {
        "2026-11-12": "2027-01-10",
        "2026-02-01": "2026-01-10",
        "2026-06-30": "2026-01-10",
    }.items():
        assert str(dates.spans("10 January", date.fromisoformat(day), coming=True)[0].first) == of


def test_what_a_text_names_within_some_days() -> None:
    (sought,) = dates.spans("October 2026", NOW)
    for text, day in {
        "- 2026-10-10 A film": "2026-10-10",
        "x\n\nSaturday, October 10th, or on 3 Oct.": "2026-10-03",
        "10月10日看电影": "2026-10-10",
        "in October": "2026-10-01 to 2026-10-31",
    }.items():
        named = dates.named(text, sought, date(2026, 9, 26))
        assert named is not None
        assert named.written == day
    for text in ("in 2026", "10 October 2025", "tomorrow", "2026-11-11", ""):
        assert dates.named(text, sought, date(2026, 9, 26)) is None


def test_with_full_stops_the_day_is_first() -> None:
    for text, day in {"on 21.01.2024?": date(2024, 1, 21), "am 1. 3. 2024": date(2024, 3, 1)}.items():
        (span,) = dates.spans(text, date(2026, 2, 13))
        assert (span.first, span.last) == (day, day)
    for text in ("1.10.2026.3", "v1.2.2024", "31.02.2024", "1.5.20245"):
        assert dates.spans(f"what changed in {text}", date(2026, 2, 13)) == ()


def test_the_week_of_a_day_is_its_week() -> None:
    for text, first in {
        "the week of 11 November": "2025-11-10",
        "in the week of Tuesday, 11 November": "2025-11-10",
        "the week beginning 11 November": "2025-11-11",
        "11月11日那一周": "2025-11-10",
        "2025年11月11日所在的那周": "2025-11-10",
    }.items():
        (span,) = dates.spans(text, date(2026, 2, 13))
        assert (span.first.isoformat(), (span.last - span.first).days) == (first, 6), text
    assert [span.text for span in dates.spans("11月11日周二", date(2026, 2, 13))] == ["11月11日", "周二"]
