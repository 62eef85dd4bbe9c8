"""How dates are written in English, ISO and numbers."""

from __future__ import annotations

import re
from datetime import date, timedelta

from commonplace.language import holidays, periods, rules
from commonplace.language.periods import Beside, Period, Rule

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.language.periods import Unit

_NAMES_OF_MONTHS = rules.listed("en", "months")
_MONTHS = tuple(name[:3] for name in _NAMES_OF_MONTHS)
_WEEKDAYS = rules.listed("en", "week")
_MONTH = rf"(?P<month>{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in _NAMES_OF_MONTHS)}|sept)\b\.?"
_WEEKDAY = rf"(?P<weekday>{'|'.join(_WEEKDAYS)})\b"
_YEAR = r"(?P<year>(?:19|20|21)\d\d)"
_START, _END = r"(?<![A-Za-z0-9_./:+$€£#\-])", r"(?![A-Za-z0-9_/:%\-]|[.,]\d)"
_OF_YEAR = rf"(?:,?\s{{1,3}}(?:of\s{{1,3}})?(?:{_YEAR}{_END}|(?P<which_year>last|this|next)\s{{1,3}}year\b))?"
_DAY = r"(?P<day>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?![A-Za-z0-9:%]|\.\d|\s{0,3}(?:am|pm)\b)"
_DAY_BEFORE = r"(?P<day>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?![A-Za-z0-9])"
_UNTIL_DAY = _DAY.replace("<day>", "<until>")
_UNTIL_DAY_BEFORE = _DAY_BEFORE.replace("<day>", "<until>")
_TO = r"\s{0,3}(?:-|–|—|to\b|through\b|until\b|(?P<and>and\b))\s{0,3}"
_UNIT = r"(?P<unit>day|week|fortnight|month|quarter|year)s?\b"
_NUMBERS = ("a", *rules.listed("en", "cardinals")[1:13])
_NUMBER = rf"(?P<number>\d{{1,4}}|an|a\s{{1,3}}couple\s{{1,3}}of|(?:{'|'.join(_NUMBERS)}))\s{{1,3}}"
_S = r"\s{1,3}"

# Words before a date that show it to be one. Some months are names and verbs as well; written small, as
# verbs are, they need one of the first kind.
_SURE = frozenset({"in", "during", "since", "until", "till", "of", "by", "from", "between", "on"})
_BEFORE = _SURE | {"to", "and", "before", "after", "around", "through", "for", "year", "back"}
_NAMES = frozenset({"may", "march", "mar", "april", "june", "august"})
_VERBS = frozenset({"may", "march", "mar"})
_SPEAKS = r"(?i)\s+(?:i|we|you|he|she|it|they|be|have|not)\b"
_MARCHES = r"\s+(?:on|to|of|for|against)\b"

_STEPS = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0, "next": 1, "coming": 1}
_PARTS = {"early": 1, "beginning": 1, "mid": 2, "middle": 2, "late": 3, "end": 3}
_SEASONS = {"spring": 1, "summer": 2, "autumn": 3, "fall": 3, "winter": 4}
_QUARTERS, _QUARTER_HINTS = ("first", "second", "third", "fourth"), ("q1", "q2", "q3", "q4")
_UNITS: dict[str, tuple[Unit, int]] = {
    "day": ("day", 1), "week": ("week", 1), "fortnight": ("week", 2), "month": ("month", 1),
    "quarter": ("quarter", 1), "year": ("year", 1),
}  # fmt: skip
_CALENDAR: tuple[Unit, ...] = ("month", "year")
_DAYS = {
    "day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0,
    "this morning": 0, "this afternoon": 0, "this evening": 0, "day after tomorrow": 2, "tomorrow": 1,
}  # fmt: skip


def months(number: int) -> tuple[str, ...]:
    """Return how a month is written: september, sep."""
    name = _NAMES_OF_MONTHS[number - 1]
    return tuple(dict.fromkeys((name, name[:3], *("sept",) * (number == 9))))


def spellings(day: date) -> tuple[str, ...]:
    """Return how a day of a year is written: july 8, 8th of july."""
    number, name = day.day, _NAMES_OF_MONTHS[day.month - 1]
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number // 10 != 1 else 0, "th")
    ordinal = f"{number}{suffix}"
    pairs = [(month, count) for month in dict.fromkeys((name, name[:3])) for count in (number, ordinal)]
    both = [phrase for month, count in pairs for phrase in (f"{month} {count}", f"{count} {month}")]
    return (*both, f"{ordinal} of {name}")


def _before(match: re.Match[str]) -> str:
    """The word before a match, in lower case; empty for the second of two dates without a range."""
    before = match.string[max(0, match.start() - 30) : match.start()]
    last = re.search(r"([A-Za-z]+)(?:\s+the)?[\s(]*$", before)
    word = last[1].lower() if last else ""
    opened = {"and": "between", "to": "from"}.get(word, "")
    return word if opened in before.lower() else ""


def _month_number(match: re.Match[str]) -> int:
    return _MONTHS.index(match["month"][:3].lower()) + 1


def _year_of(match: re.Match[str], now: date) -> int | None:
    """The year next to a month, or None."""
    if match["year"]:
        return int(match["year"])
    return now.year + _STEPS[match["which_year"].lower()] if match["which_year"] else None


def _is_verb(match: re.Match[str]) -> bool:
    """Tell whether a month in small letters, without a year and no *of* before it, is more likely a verb."""
    doubtful = match["month"] in _VERBS and not match["year"] and not match["which_year"]
    is_of = re.search(r"(?i)\bof\s+$", match.string[match.start() : match.start("month")])
    return doubtful and not is_of and _before(match) not in _SURE


def _iso(match: re.Match[str], now: date) -> Period | None:
    if match.groupdict().get("mark") == "." and len(match[0]) < 10:
        return None  # a version
    return periods.day(date(int(match["year"]), int(match["month"]), int(match["day"])))


def _slashed(match: re.Match[str], now: date) -> Period | None:
    """13/02/2026 and 02/13/2026; 02/03/2026 is ambiguous."""
    one, two = int(match["one"]), int(match["two"])
    if one <= 12 and two <= 12 and one != two:
        return None
    return periods.day(date(int(match["year"]), min(one, two) if max(one, two) > 12 else one, max(one, two)))


def _day_without_year(match: re.Match[str], now: date) -> Period | None:
    """On 10/20, or on 20/10; 3/4 is ambiguous, and others are fractions and versions."""
    one, two = int(match["one"]), int(match["two"])
    if _before(match) not in _SURE - {"in", "of"} or (max(one, two) <= 12 and one != two):
        return None
    return periods.day_of(now, None, min(one, two), max(one, two))


def _day_of_month(match: re.Match[str], now: date) -> Period | None:
    if _is_verb(match):
        return None
    return periods.day_of(now, _year_of(match, now), _month_number(match), int(match["day"]))


def _days_of_month(match: re.Match[str], now: date) -> Period | None:
    if _is_verb(match) or (match["and"] and not match["between"]):
        return None
    until = periods.day_of(now, _year_of(match, now), _month_number(match), int(match["until"]))
    if until is None or int(match["day"]) > until.last.day:
        return None
    return Period(until.last.replace(day=int(match["day"])), until.last)


def _month(match: re.Match[str], now: date) -> Period | None:
    number, part = _month_number(match), _PARTS.get((match["part"] or "").lower(), 0)
    if said := _year_of(match, now):
        return periods.month(said, number, part)
    which = (match["which"] or "").lower()
    if not _is_month(match, which, part):
        return None
    if which == "this":
        return periods.month(now.year, number, part)
    if which == "next":
        return periods.month(now.year + (number <= now.month), number, part)
    if which:  # last March is not the one that goes on
        return periods.month(now.year - (number >= now.month), number, part)
    return periods.month_of(now, None, number, part)


def _is_month(match: re.Match[str], which: str, part: int) -> bool:
    """Tell whether a month without a year is meant, rather than a verb, a name, or three letters."""
    name, before = match["month"], _before(match)
    after = match.string[match.end() : match.end() + 10]
    speaks = name.lower() == "may" and re.match(_SPEAKS, after) is not None
    if name in _VERBS:
        is_chosen = bool(which) and name != "may" and not re.match(_MARCHES, after)
        return not speaks and (before in _SURE or bool(part) or is_chosen)
    if which or part:
        return True
    if speaks and before not in ("in", "since", "during"):
        return False
    return before in _BEFORE or (len(name) > 4 and name.lower() not in _NAMES)


def _quarter(match: re.Match[str], now: date) -> Period | None:
    said = _year_of(match, now)
    if not said and _before(match) not in _BEFORE | {"last", "this"}:
        return None
    return periods.months_of(now, said, 3, int(match["quarter"]))


def _week_of_year(match: re.Match[str], now: date) -> Period | None:
    said = _year_of(match, now)
    is_sure = said or match["calendar"] or _before(match) in _BEFORE - {"on"}
    return periods.week_of(now, said, int(match["week"])) if is_sure else None


def _count(match: re.Match[str]) -> int:
    said = match["number"].lower()
    if said.isdecimal():
        return int(said)
    return 2 if "couple" in said else max(1, _NUMBERS.index("a" if said == "an" else said))


def _calendar(match: re.Match[str], now: date) -> Period:
    """Last week, this month, the week before last; the last week is the seven days up to now."""
    which = match["which"].lower()
    if match["unit"].lower() == "weekend":
        return periods.weekend(now + timedelta(7 * _STEPS.get(which, -2)))
    unit, _ = _UNITS[match["unit"].lower()]
    if which == "past" or (which == "last" and match["the"]):
        return periods.rolling(now, unit, 1)
    return periods.away(now, unit, _STEPS.get(which, -2))


def _counted(match: re.Match[str], now: date) -> Period:
    """Two weeks ago, two weeks from now; the last two weeks are the time up to now."""
    (unit, size), direction = _UNITS[match["unit"].lower()], match["direction"].lower()
    if direction in ("last", "past", "previous"):
        return periods.rolling(now, unit, size * _count(match))
    if direction in ("next", "coming"):
        return periods.ahead(now, unit, size * _count(match))
    return periods.away(now, unit, size * _count(match) * (1 if direction[:4] in ("from", "in") else -1))


def _part_of(match: re.Match[str], now: date) -> Period:
    """The beginning, middle or end of a month or a year; of the latest that has begun if it is *the*."""
    unit, _ = _UNITS[match["unit"].lower()]
    return periods.part_of(now, unit, _PARTS[match["part"].lower()], _STEPS.get(match["which"].lower()))


def _season(match: re.Match[str], now: date) -> Period | None:
    number = _SEASONS[match["season"].lower()]
    which = _STEPS.get((match["which"] or "").lower())
    if which is None and _before(match) not in _SURE - {"on", "of"}:
        return None
    return periods.recurring(lambda year: periods.season(year, number), now, None, which)


def _holiday(match: re.Match[str], now: date) -> Period | None:
    name = re.sub(r"\s+", " ", match["holiday"].lower()).replace("’", "'")
    which = _STEPS.get((match["which"] or "").lower())
    return holidays.nearest(holidays.names("en")[name], now, _year_of(match, now), which)


def _beside(match: re.Match[str], period: Period) -> Period:
    """The period some units before or after a date that follows."""
    unit, size = _UNITS[match["unit"].lower()]
    steps = size * (_count(match) if match["number"] else 1)
    return periods.beside(period, unit, steps if match["direction"].lower() == "after" else -steps)


def _weekday_of_week(match: re.Match[str], now: date) -> Period:
    monday = periods.away(now, "week", _STEPS[match["which"].lower()]).first
    return periods.day(monday + timedelta(_WEEKDAYS.index(match["weekday"].lower())))


def _weekday(match: re.Match[str], now: date) -> Period | None:
    number, which = _WEEKDAYS.index(match["weekday"].lower()), (match["which"] or "").lower()
    if not which and _before(match) not in _BEFORE - {"for", "of", "in"}:
        return None
    if which == "this":
        return _weekday_of_week(match, now)
    if which in ("next", "coming"):
        return periods.day(now + timedelta((number - now.weekday() - 1) % 7 + 1))
    return periods.nearest_weekday(now - timedelta(1) if which else now, number)


_WHICH = r"(?P<which>last|this|past|previous|current|next|coming)"
_PART = rf"(?:(?:(?P<part>early|mid|late|beginning|middle|end)(?:{_S}of)?)(?:{_S}|-))?"
_BETWEEN = r"(?:(?P<between>between)\s{1,3}(?:the\s{1,3})?)?"

_SEASON = rf"(?P<season>{'|'.join(_SEASONS)})"
_HOLIDAY = "|".join(
    re.escape(name).replace(r"\ ", r"\s{1,3}").replace("'", "['’]") for name in holidays.names("en")
)
# Expressions before a date for a neighbouring period.
BESIDE = (
    Beside(rf"\b(?:the{_S})?(?:{_NUMBER})?{_UNIT}{_S}(?P<direction>before|after){_S}(?:the{_S})?$", _beside),
    # The week that a date lies in, or begins.
    Beside(rf"\b(?:the{_S})?week{_S}(?:of|(?P<begins>beginning|starting|from)){_S}(?:the{_S})?(?:{_WEEKDAY},?{_S})?$",
           lambda match, period: Period(period.first, period.first + timedelta(6)) if match["begins"]
           else periods.week(period.first)),
)  # fmt: skip

RULES = (
    Rule(rf"\b(?:{_WHICH}{_S})?(?P<holiday>{_HOLIDAY})(?!\w){_OF_YEAR}",
         tuple(name.split()[0].split("'")[0] for name in holidays.names("en")), _holiday, "nearest"),
    Rule(rf"\bthe{_S}(?P<unit>week|weekend|month|year){_S}(?P<which>before){_S}last\b", ("before",),
         _calendar),
    Rule(rf"\b{_NUMBER}weekends?{_S}ago\b", ("weekend",),
         lambda match, now: periods.weekend(now - timedelta(7 * _count(match)))),
    Rule(rf"\b(?:at|on|over|during){_S}the{_S}weekend\b", ("weekend",),
         lambda match, now: periods.weekend(now if now.weekday() > 4 else now - timedelta(7)), "nearest",
         "week"),
    *(Rule(rf"\b(?P<part>early|mid|late|beginning|middle|end)(?:{_S}of)?"
           rf"{_S}(?P<which>the|last|this|next){_S}(?P<unit>{unit})\b", (unit,), _part_of, every=unit)
      for unit in _CALENDAR),
    Rule(rf"\b(?:{_WHICH}{_S})?{_SEASON}\b(?!['’-]|{_S}of{_S}[^\d])", tuple(_SEASONS), _season, "nearest"),
    Rule(rf"\b{_SEASON}{_S}(?:of{_S})?{_YEAR}{_END}", tuple(_SEASONS),
         lambda match, _: periods.season(int(match["year"]), _SEASONS[match["season"].lower()]), "absolute"),
    Rule(rf"{_START}{_YEAR}(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})"
         r"(?:T\d\d:\d\d[\d:.Z+]{0,16})?(?![A-Za-z0-9_/\-]|[.:]\d)", ("-", "/", "."), _iso, "absolute"),
    Rule(rf"{_START}{_YEAR}[-/](?P<month>0[1-9]|1[0-2]){_END}", ("-", "/"),
         lambda match, _: periods.month(int(match["year"]), int(match["month"])), "absolute"),
    Rule(rf"{_START}(?P<one>\d{{1,2}})/(?P<two>\d{{1,2}})/{_YEAR}{_END}", ("/",), _slashed, "absolute"),
    # With full stops the day is always first.
    Rule(rf"{_START}(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.\s?{_YEAR}{_END}", (".",), _iso, "absolute"),
    Rule(rf"{_START}(?P<one>\d{{1,2}})/(?P<two>\d{{1,2}})(?=\s{{0,3}}(?:[?!.,;)]|$))", ("/",),
         _day_without_year, "nearest"),
    Rule(rf"\b{_MONTH}\s{{1,3}}(?:the\s{{1,3}})?{_DAY}{_OF_YEAR}", _MONTHS, _day_of_month, "nearest"),
    Rule(rf"{_START}{_DAY_BEFORE}\s{{0,3}}(?:of\s{{1,3}})?{_MONTH}{_OF_YEAR}", _MONTHS,
         _day_of_month, "nearest"),
    Rule(rf"\b{_BETWEEN}{_MONTH}\s{{1,3}}{_DAY_BEFORE}{_TO}{_UNTIL_DAY}(?!\s{{0,3}}[A-Z]?[a-z]{{2}}\w*\s{{1,3}}\d)"
         rf"{_OF_YEAR}", _MONTHS, _days_of_month, "nearest"),
    Rule(rf"{_START}{_BETWEEN}{_DAY_BEFORE}{_TO}{_UNTIL_DAY_BEFORE}\s{{0,3}}(?:of\s{{1,3}})?{_MONTH}{_OF_YEAR}",
         _MONTHS, _days_of_month, "nearest"),
    Rule(rf"(?<!\d\s)(?<!\d(?:st|nd|rd|th)\s)\b(?:{_WHICH}{_S})?{_PART}{_MONTH}(?!\s{{0,3}}\d{{1,2}}(?:st|nd|rd|th)?\b)"
         rf"{_OF_YEAR}", _MONTHS, _month, "nearest"),
    Rule(rf"{_START}{_YEAR}{_END}", ("19", "20", "21"), lambda match, _: (
        periods.year(int(match["year"])) if _before(match) in _BEFORE - {"for", "on", "of"} else None
    ), "absolute"),
    Rule(rf"\bQ(?P<quarter>[1-4])\b{_OF_YEAR}", _QUARTER_HINTS, _quarter, "nearest"),
    Rule(rf"\bthe{_S}(?P<ordinal>{'|'.join(_QUARTERS)}){_S}quarter\b(?!{_S}of{_S}(?!(?:19|20|21)\d\d\b))"
         rf"{_OF_YEAR}", ("quarter",), lambda match, now: periods.months_of(
             now, _year_of(match, now), 3, _QUARTERS.index(match["ordinal"].lower()) + 1
         ), "nearest"),
    Rule(rf"\b(?P<calendar>calendar{_S})?week{_S}(?P<week>[1-4]\d|5[0-3]|[1-9])\b{_OF_YEAR}", ("week",),
         _week_of_year, "nearest"),
    Rule(rf"{_START}{_YEAR}-?W(?P<week>[0-4]\d|5[0-3]){_END}", tuple(f"w{n}" for n in range(6)),
         lambda match, now: periods.week_of(now, int(match["year"]), int(match["week"])), "absolute"),
    Rule(rf"{_START}{_YEAR}[\s-]?Q(?P<quarter>[1-4])\b", _QUARTER_HINTS,
         lambda match, now: periods.months_of(now, int(match["year"]), 3, int(match["quarter"])), "absolute"),
    Rule(rf"\b(?:{'|'.join(_DAYS).replace(' ', _S)})\b", ("day", "night", "this", "tomorrow"),
         lambda match, now: periods.day(now + timedelta(_DAYS[" ".join(match[0].lower().split())]))),
    Rule(rf"\b(?P<the>the{_S})?{_WHICH}{_S}(?P<unit>week|weekend|month|quarter|year)\b",
         ("week", "month", "quarter", "year"), _calendar),
    Rule(rf"\b{_NUMBER}{_UNIT}{_S}(?P<direction>ago|back|from{_S}now)\b", ("ago", "back", "from"), _counted),
    Rule(rf"\b(?P<direction>last|past|previous|next|coming){_S}{_NUMBER}{_UNIT}",
         ("last", "past", "previous", "next", "coming"), _counted),
    Rule(rf"\b(?P<direction>in){_S}{_NUMBER}{_UNIT}(?=\s{{0,3}}(?:[?!.,;)]|$))", ("in",), _counted),
    Rule(rf"\b(?:next|coming){_S}(?:few{_S})?days\b", ("days",),
         lambda _, now: periods.ahead(now, "week", 1)),
    Rule(rf"\b{_WEEKDAY}(?:{_S}of)?{_S}(?P<which>last|this|next){_S}week\b", ("week",), _weekday_of_week),
    Rule(rf"\b(?P<which>last|this|next){_S}week(?:['’]s)?(?:{_S}on)?{_S}{_WEEKDAY}", ("week",),
         _weekday_of_week),
    Rule(rf"\b(?:{_WHICH}{_S})?{_WEEKDAY}", _WEEKDAYS, _weekday, "nearest", "week"),
)  # fmt: skip
