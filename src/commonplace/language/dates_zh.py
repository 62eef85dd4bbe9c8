"""How dates are written in Chinese; numbers in Chinese or Arabic digits."""

from __future__ import annotations

import re
from datetime import date, timedelta

from commonplace.language import holidays, periods
from commonplace.language.periods import Beside, Period, Rule
from commonplace.language.values import FIGURES, wide_number

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.language.periods import Unit

_WEEKDAYS = FIGURES | {"日": 7, "天": 7}
_YEARS = {"大前年": -3, "前年": -2, "去年": -1, "上一年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
_DAYS = {
    "大前天": -3, "前天": -2, "前晚": -2, "前日": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "昨夜": -1,
    "今天": 0, "今日": 0, "今早": 0, "今晚": 0, "今晨": 0, "明天": 1, "明日": 1, "明早": 1,
    "明晚": 1, "后天": 2, "大后天": 3,
}  # fmt: skip
_STEPS = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_UNITS: dict[str, Unit] = {
    "天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month",
    "季度": "quarter", "年": "year",
}  # fmt: skip
_LUNAR_MONTHS = {"正": 1, "冬": 11, "腊": 12}
_LUNAR_YEARS = 20  # how many are looked through for an inserted month
_PARTS = {"上旬": 1, "初": 1, "中旬": 2, "下旬": 3, "底": 3, "末": 3}

_SMALL = r"(?:\d{1,3}|[一二两三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九])"
_ALONE = r"(?<![\d一二三四五六七八九十百两几.])"
_SAID_YEAR = (
    r"(?:(?P<year>(?<!\d)(?:19|20|21)\d\d)|(?P<written>[一二][〇零一二三四五六七八九]{3}))\s?年"
    rf"|(?P<which_year>{'|'.join(_YEARS)})"
)
_YEAR = rf"(?:(?:{_SAID_YEAR})\s?的?\s?)"
_MONTH = rf"{_ALONE}(?P<month>{_SMALL})\s?月"
_DAY = rf"(?P<day>{_SMALL})\s?[日号]"
_WHICH = r"(?P<which>上上|上|这|本|下下|下)一?个?"
_WEEK = r"(?:周|星期|礼拜)"
_WEEKDAY = r"(?P<weekday>[一二三四五六日天])"
_LUNAR = r"(?:农历|阴历|旧历)"  # of the Chinese calendar
_LUNAR_MONTH = rf"{_ALONE}(?P<lunar_month>{_SMALL})\s?月"
_FIRST_DAYS = r"初[一二三四五六七八九十]"
_LATER_DAYS = (
    r"(?:廿[一二三四五六七八九]?|二?十[一二三四五六七八九]|二十|三十)(?![个多几余一二三四五六七八九])"
)
_LUNAR_DAYS = rf"(?:{_FIRST_DAYS}|{_LATER_DAYS})"
_LUNAR_DAY = rf"(?P<lunar_day>{_LUNAR_DAYS})日?(?:[到至~～—-](?P<until>{_LUNAR_DAYS})日?)?"
_COUNTED = (
    rf"(?P<number>{_SMALL}|半)\s?个?(?P<half>半)?(?P<unit>天|日|周|星期|礼拜|月|季度|年)(?P<and_half>半)?"
)


def months(number: int) -> tuple[str, ...]:
    """Return how a month is written: 12月, 十二月."""
    return f"{number}月", f"{_small(number)}月"


def spellings(day: date) -> tuple[str, ...]:
    """Return how a day of a year is written: 7月8日, 七月八号."""
    written = [(f"{day.month}", f"{day.day}"), (_small(day.month), _small(day.day))]
    return tuple(f"{month}月{number}{sign}" for month, number in written for sign in "日号")


def _small(number: int) -> str:
    """A number up to 99 in characters."""
    tens, ones = divmod(number, 10)
    figures = "〇一二三四五六七八九"
    return ("" if tens < 2 else figures[tens]) + "十" * (tens > 0) + figures[ones] * (ones > 0)


def _number(said: str) -> int:
    return int(said) if said.isdecimal() else wide_number(said)


def _year_of(match: re.Match[str], now: date) -> int | None:
    if match["year"]:
        return int(match["year"])
    if match["written"]:
        return int("".join(str(FIGURES[c]) for c in match["written"]))
    return now.year + _YEARS[match["which_year"]] if match["which_year"] else None


def _day_of_month(match: re.Match[str], now: date) -> Period | None:
    return periods.day_of(now, _year_of(match, now), _number(match["month"]), _number(match["day"]))


def _days_of_month(match: re.Match[str], now: date) -> Period | None:
    start, until = _day_of_month(match, now), _number(match["until"])
    if start is None or until < start.first.day:
        return None
    return Period(start.first, start.first.replace(day=until))


def _lunar(match: re.Match[str], now: date) -> Period | None:
    """A month of the Chinese calendar or days of it; without a year the latest that has begun."""
    named = match["lunar_month"] or "正"  # 大年初二
    number = _LUNAR_MONTHS.get(named) or _number(named)
    said = _year_of(match, now)
    if match["which_year"] and number > 10:  # the last months lie in the next year of the other calendar
        said = holidays.lunar_year(now) + _YEARS[match["which_year"]]
    written = filter(None, (match["lunar_day"], match["until"] or match["lunar_day"]))
    days = [wide_number(day.replace("初", "").replace("廿", "二十")) for day in written]
    for year in (said,) if said else range(now.year, now.year - _LUNAR_YEARS, -1):
        period = holidays.lunar_month(year, number, days, inserted=bool(match["inserted"]))
        if period is not None and (said or period.first <= now):
            return period
    return None


def _of_year(
    period: Callable[[int, re.Match[str]], Period],
) -> Callable[[re.Match[str], date], Period | None]:
    """Resolve what is a date only where it names a year."""
    return lambda match, now: period(said, match) if (said := _year_of(match, now)) else None


def _quarter(match: re.Match[str], now: date) -> Period:
    return periods.months_of(now, _year_of(match, now), 3, _number(match["quarter"]))


def _week(match: re.Match[str], now: date) -> Period:
    """A week, a day of it, or its end."""
    period = periods.away(now, "week", _STEPS[match["which"]])
    if match["end"]:
        return periods.weekend(period.first)
    return (
        periods.day(period.first + timedelta(_WEEKDAYS[match["weekday"]] - 1)) if match["weekday"] else period
    )


def _month_away(match: re.Match[str], now: date) -> Period:
    period = periods.away(now, "month", _STEPS[match["which"]])
    if match["day"]:
        return periods.day(period.first.replace(day=_number(match["day"])))
    return periods.month(period.first.year, period.first.month, _PARTS.get(match["part"] or "", 0))


def _counted(match: re.Match[str], now: date) -> Period | None:
    """Some units ago or ahead, or the time since or until then.

    Halves of months and years are counted in the next smaller unit; others are no dates.
    """
    unit = _UNITS[match["unit"]]
    whole = 0 if match["number"] == "半" else _number(match["number"])
    if match["number"] == "半" or match["half"] or match["and_half"]:
        if unit not in ("month", "year"):
            return None
        unit, whole = ("month", 12 * whole + 6) if unit == "year" else ("day", 30 * whole + 15)
    groups = match.groupdict()
    if "ahead" in groups:
        return periods.ahead(now, unit, whole)
    if "ago" in groups or "later" in groups:
        return periods.away(now, unit, whole if "later" in groups else -whole)
    return periods.rolling(now, unit, whole)


def _beside(match: re.Match[str], period: Period) -> Period:
    """The period some units before or after a date in front: two days before are both of them."""
    unit, count = _UNITS[match["unit"]], _number(match["number"])
    steps = 1 if match["direction"] == "后" else -1
    end = period.last if steps > 0 else period.first
    next_to, other = end + timedelta(steps), periods.shifted(end, unit, steps * count)
    return Period(min(next_to, other), max(next_to, other))


_UNIT_HINTS = ("天", "日", "周", "星期", "礼拜", "月", "年")
_PART = rf"份?(?P<part>{'|'.join(_PARTS)})?"
# Expressions behind a date for a neighbouring period.
BESIDE = (
    Beside(rf"\s?的?(?:之|以)?(?P<direction>前|后)的?那?(?P<number>{_SMALL})\s?个?(?P<unit>天|周|星期|礼拜|月)",
           _beside, behind=True),
    Beside(rf"\s?(?:所在)?的?[那这]?一?{_WEEK}(?![{''.join(_WEEKDAYS)}末])",
           lambda _, period: periods.week(period.first), behind=True),
)  # fmt: skip
RULES = (
    Rule(rf"{_YEAR}?(?P<holiday>{'|'.join(holidays.names('zh'))})", tuple(holidays.names("zh")),
         lambda match, now: holidays.nearest(
             holidays.names("zh")[match["holiday"]], now, _year_of(match, now), None
         ), "nearest"),
    Rule(rf"{_YEAR}?(?P<inserted>){_LUNAR}?(?:大年(?={_FIRST_DAYS})|(?P<lunar_month>[正冬腊])月)(?:{_LUNAR_DAY})?",
         ("大年初", "月"), _lunar, "nearest"),
    Rule(rf"{_YEAR}?(?:{_LUNAR}|(?=闰))(?P<inserted>闰)?{_LUNAR_MONTH}(?:{_LUNAR_DAY})?",
         ("历", "闰"), _lunar, "nearest"),
    # 五月初五 is a day of the Chinese calendar, 五月初一起去 the beginning of May.
    Rule(rf"{_YEAR}?(?P<inserted>){_LUNAR_MONTH}(?={_FIRST_DAYS}){_LUNAR_DAY}(?![个人位名次起同直样定些块])",
         ("初",), _lunar, "nearest"),
    Rule(rf"(?<![以晚早]){_YEAR}?(?P<which_half>[上下])半年", ("半年",),
         lambda match, now: periods.months_of(
             now, _year_of(match, now), 6, "上下".index(match["which_half"]) + 1
         ), "nearest"),
    Rule(r"(?<![\d一二三四五六七八九十两几个上下每])(?P<this>这个?|本)?月(?P<part>初|底|末|中旬|上旬|下旬)",
         ("月",), lambda match, now: periods.part_of(
             now, "month", _PARTS[match["part"]], 0 if match["this"] else None
         ), "nearest", "month"),
    Rule(rf"{_YEAR}年?(?P<part>初|底|末)", ("年",),
         _of_year(lambda year, match: periods.part_of_year(year, _PARTS[match["part"]]))),
    Rule(r"(?<![\d〇零一二三四五六七八九十两几个每去今明前后本同年])年(?P<part>初|底|末)", ("年",),
         lambda match, now: periods.part_of(now, "year", _PARTS[match["part"]], None), "nearest"),
    Rule(rf"{_YEAR}(?P<season>[春夏秋冬])[天季]", ("天", "季"),
         _of_year(lambda year, match: periods.season(year, "春夏秋冬".index(match["season"]) + 1))),
    Rule(r"(?:(?<=[在从到自等，。,\s])|^)(?P<season>[春夏秋冬])[天季](?!来|的(?!时候)|天)", ("天", "季"),
         lambda match, now: periods.recurring(
             lambda year: periods.season(year, "春夏秋冬".index(match["season"]) + 1), now, None, None
         ), "nearest"),
    Rule(rf"{_YEAR}?第?(?P<week>(?<=第)(?:[1-4]\d|5[0-3]|[二三四五]?十[一二三四五六七八九]?))\s?(?:周|星期)(?!年|岁)",
         ("周", "星期"), lambda match, now: periods.week_of(
             now, _year_of(match, now), _number(match["week"])), "nearest"),
    Rule(r"(?<![每个上下这本双单])周末", ("周末",),
         lambda match, now: periods.weekend(now if now.weekday() > 4 else now - timedelta(7)), "nearest",
         "week"),
    Rule(rf"{_YEAR}?{_MONTH}\s?{_DAY}", ("月",), _day_of_month, "nearest"),
    Rule(rf"{_YEAR}?{_MONTH}\s?{_DAY}?\s?[到至~～—-]\s?(?P<until>{_SMALL})\s?[日号]", ("月",), _days_of_month,
         "nearest"),
    Rule(rf"{_YEAR}?{_MONTH}(?!\s?{_SMALL}[日号]){_PART}", ("月",), lambda match, now: periods.month_of(
        now, _year_of(match, now), _number(match["month"]), _PARTS.get(match["part"] or "", 0)
    ), "nearest"),
    Rule(rf"{_SAID_YEAR}", ("年",), _of_year(lambda year, _: periods.year(year))),
    # 三季度 is the third one, 前三季度 three of them.
    Rule(rf"{_YEAR}?(?:第|(?<![每这那本上下前后连续个近去几数第\d一二两三四十]))"
         r"(?P<quarter>[一二三四1-4])季度", ("季度",), _quarter, "nearest"),
    Rule(rf"(?:{_YEAR}|(?<![A-Za-z\d]))Q(?P<quarter>[1-4])(?=\s?[\u4e00-\u9fff])", ("q",), _quarter,
         "nearest"),
    Rule("|".join(sorted(_DAYS, key=len, reverse=True)), tuple("昨今明前后"),
         lambda match, now: periods.day(now + timedelta(_DAYS[match[0]]))),
    Rule(rf"{_WHICH}{_WEEK}(?:(?P<end>末)|{_WEEKDAY}(?!天))?", ("周", "星期", "礼拜"), _week),
    Rule(rf"(?<![每上下这本单双个\d一二三四五六七八九十两几]){_WEEK}{_WEEKDAY}(?![天次回个])",
         ("周", "星期", "礼拜"),
         lambda match, now: periods.nearest_weekday(now, _WEEKDAYS[match["weekday"]] - 1), "nearest",
         "week"),
    Rule(rf"{_WHICH}月\s?(?:{_DAY}|{_PART})", ("月",), _month_away),
    Rule(rf"{_WHICH}季度", ("季度",),
         lambda match, now: periods.away(now, "quarter", _STEPS[match["which"]])),
    Rule(rf"{_ALONE}{_COUNTED}(?P<ago>之前|以前|前)(?!后)", ("前",), _counted),
    Rule(rf"(?:(?<=[，。,；;\s])|^){_COUNTED}(?P<later>之后|以后|后)(?!来)", ("后",), _counted),
    Rule(rf"(?P<ahead>未来|接下来)的?{_COUNTED}", ("未来", "接下来"), _counted),
    Rule("(?:未来|接下来)(?:的?几天)", ("几天",), lambda _, now: periods.ahead(now, "week", 1)),
    Rule(rf"(?:最近|近|过去|过去的|这)(?:这)?{_COUNTED}(?:以来|之内|里|内|来)?(?!前)", _UNIT_HINTS,
         _counted),
)  # fmt: skip
