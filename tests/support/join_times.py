"""Times that are counted from an epoch in one of CF's calendars, by exact arithmetic: what a joined file's
rebased times must be. Written from CF's text alone; cftime is held against it in tests."""
import math
import re
from fractions import Fraction

MICROSECONDS = {
    **dict.fromkeys("microsecond microseconds microsec microsecs".split(), 1),
    **dict.fromkeys("millisecond milliseconds millisec millisecs msec msecs ms".split(), 1000),
    **dict.fromkeys("second seconds sec secs s".split(), 10**6),
    **dict.fromkeys("minute minutes min mins".split(), 60 * 10**6),
    **dict.fromkeys("hour hours hr hrs h".split(), 3600 * 10**6),
    **dict.fromkeys("day days d".split(), 86400 * 10**6),
}
CALENDARS = {
    **dict.fromkeys(("", "standard", "gregorian"), "standard"),
    "proleptic_gregorian": "proleptic_gregorian",
    "julian": "julian",
    **dict.fromkeys(("noleap", "365_day"), "noleap"),
    **dict.fromkeys(("all_leap", "366_day"), "all_leap"),
    "360_day": "360_day",
}
SINCE = re.compile(
    r"\s*(\w+)\s+since\s+(\d+)-(\d+)-(\d+)(?:[T ]\s*(\d+):(\d+)(?::(\d+(?:\.\d*)?))?)?"
    r"\s*(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?\s*"
)
BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
BEFORE_MONTH_OF_LEAP = tuple(days + (month > 1) for month, days in enumerate(BEFORE_MONTH))


def julian_day_number(year, month, day, gregorian):
    """Of noon, after the formulas of the Explanatory Supplement to the Astronomical Almanac."""
    before_march = (14 - month) // 12
    y, m = year + 4800 - before_march, month + 12 * before_march - 3
    days = day + (153 * m + 2) // 5 + 365 * y + y // 4
    return days - y // 100 + y // 400 - 32045 if gregorian else days - 32083


def day_number(calendar, year, month, day):
    """Days from one day of that calendar on, always the same one."""
    if calendar == "360_day":
        return 360 * year + 30 * (month - 1) + day
    if calendar == "noleap":
        return 365 * year + BEFORE_MONTH[month - 1] + day
    if calendar == "all_leap":
        return 366 * year + BEFORE_MONTH_OF_LEAP[month - 1] + day
    gregorian = calendar == "proleptic_gregorian" or (
        calendar == "standard" and (year, month, day) >= (1582, 10, 15)
    )
    return julian_day_number(year, month, day, gregorian)


class TimeUnits:
    """`unit` and `epoch` are microseconds, as fractions."""

    def __init__(self, unit, epoch, calendar):
        self.unit, self.epoch, self.calendar = unit, epoch, calendar

    def moment(self, value):
        return Fraction(value) * self.unit + self.epoch

    def number(self, moment):
        return (moment - self.epoch) / self.unit


def is_since(units):
    return isinstance(units, str) and bool(re.search(r"\bsince\b", units))


def time_units(units, calendar=""):
    """None of what has no length that is always the same (months, years), or of what is no time."""
    match = SINCE.fullmatch(units)
    name = CALENDARS.get((calendar or "").lower())
    unit = match and MICROSECONDS.get(match[1].lower())
    if not unit or name is None:
        return None
    year, month, day, hour, minute = (int(part or 0) for part in match.groups()[1:6])
    second, zone = Fraction(match[7] or 0), match[8] or "Z"
    if zone[0] in "+-":
        digits = zone[1:].replace(":", "")
        hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, 0)
        away = (int(hours) * 60 + int(minutes)) * (-1 if zone[0] == "-" else 1)
        minute -= away
    of_day = ((hour * 60 + minute) * 60 + second) * 10**6
    return TimeUnits(Fraction(unit), day_number(name, year, month, day) * 86400 * 10**6 + of_day, name)


def double_of(fraction):
    """The nearest double, ties to even."""
    return fraction.numerator / fraction.denominator  # Python's division of whole numbers rounds once


def whole_steps(own, first):
    """Whether a whole number of `own` units is a whole number of the first's, wherever it is."""
    return own.unit % first.unit == 0 and (own.epoch - first.epoch) % first.unit == 0


def rebased(value, own, first):
    """Exactly; None of a value that is no number of a moment."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return first.number(own.moment(value))
