"""A clock that stands still, so that two runs on different days say the same.

Install it before anything else is imported: it replaces the wall clock of `time` and `datetime`, and
`time.perf_counter`, with which the product measures durations. `time.monotonic` goes on: waiting needs it.
"""

from __future__ import annotations

import datetime as _datetime
import functools
import time as _time

_real_date, _real_datetime = _datetime.date, _datetime.datetime
_localtime, _gmtime, _strftime, _ctime = _time.localtime, _time.gmtime, _time.strftime, _time.ctime
_now_s = 0.0


class _OfDate(type):
    def __instancecheck__(cls, value):
        return isinstance(value, _real_date)


class _OfDatetime(type):
    def __instancecheck__(cls, value):
        return isinstance(value, _real_datetime)


class _Date(_real_date, metaclass=_OfDate):
    @classmethod
    def today(cls):
        return cls.fromtimestamp(_now_s)


class _Datetime(_real_datetime, metaclass=_OfDatetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(_now_s, tz)

    @classmethod
    def today(cls):
        return cls.fromtimestamp(_now_s)

    @classmethod
    def utcnow(cls):
        return cls.fromtimestamp(_now_s, _datetime.UTC).replace(tzinfo=None)


def _moment(convert, seconds=None):
    return convert(_now_s if seconds is None else seconds)


def install(now_s: float) -> None:
    """Put this clock in place of the machine's, at a moment in seconds."""
    put(now_s)
    for real, ours in ((_real_date, _Date), (_real_datetime, _Datetime)):
        ours.__name__ = ours.__qualname__ = real.__name__
        ours.__module__ = "datetime"
    _datetime.date, _datetime.datetime = _Date, _Datetime
    _time.time = lambda: _now_s
    _time.time_ns = lambda: int(_now_s * 1e9)
    _time.perf_counter = lambda: 1000.0
    _time.perf_counter_ns = lambda: 10**12
    # Not a function: `logging.Formatter` holds it as an attribute of its class, and would pass itself.
    _time.localtime = functools.partial(_moment, _localtime)
    _time.gmtime = lambda seconds=None: _gmtime(_now_s if seconds is None else seconds)
    _time.ctime = lambda seconds=None: _ctime(_now_s if seconds is None else seconds)
    _time.strftime = lambda form, at=None: _strftime(form, _localtime(_now_s) if at is None else at)


def put(now_s: float) -> None:
    """Set the clock to a moment."""
    global _now_s
    _now_s = now_s
