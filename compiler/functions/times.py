"""Fields of timestamps and durations (CEL definition, "Date/Time Functions")."""

from __future__ import annotations

from ..celtypes import DURATION, INT, STRING, TIMESTAMP
from .model import Difference, Literal, Overload, Steps, in_cel_expr

_T = "timestamp('2021-03-04T05:06:07.089Z')"
_D = "duration('3723.004s')"


def _timestamp(function: str, stem: str, doc: str, utc: int, plus_hour: int) -> tuple[Overload, Overload]:
    zoned = f"{_T}.{function}('+01:00')"
    return (
        Overload(
            f"timestamp_to_{stem}",
            function,
            (TIMESTAMP,),
            INT,
            f"{doc}, in UTC.",
            ((f"{_T}.{function}()", utc),),
            member=True,
        ),
        Overload(
            f"timestamp_to_{stem}_with_tz",
            function,
            (TIMESTAMP, STRING),
            INT,
            f"{doc}, in the time zone.",
            ((zoned, plus_hour),),
            member=True,
            steps=Steps.ONE,
            cel_expr=(Difference("it reads texts that are no time zone", Literal.ZONE),),
        ),
    )


def _duration(function: str, stem: str, doc: str, value: int) -> Overload:
    return Overload(
        f"duration_to_{stem}", function, (DURATION,), INT, doc, ((f"{_D}.{function}()", value),), member=True
    )


_ROWS = (
    *_timestamp("getFullYear", "year", "The year", 2021, 2021),
    *_timestamp("getMonth", "month", "The month from 0", 2, 2),
    *_timestamp("getDate", "day_of_month_1_based", "The day of the month from 1", 4, 4),
    *_timestamp("getDayOfMonth", "day_of_month", "The day of the month from 0", 3, 3),
    *_timestamp("getDayOfWeek", "day_of_week", "The day of the week, Sunday is 0", 4, 4),
    *_timestamp("getDayOfYear", "day_of_year", "The day of the year from 0", 62, 62),
    *_timestamp("getHours", "hours", "The hour of the day", 5, 6),
    *_timestamp("getMinutes", "minutes", "The minute of the hour", 6, 6),
    *_timestamp("getSeconds", "seconds", "The second of the minute", 7, 7),
    *_timestamp("getMilliseconds", "milliseconds", "The milliseconds of the second", 89, 89),
    _duration("getHours", "hours", "The whole hours.", 1),
    _duration("getMinutes", "minutes", "The whole minutes.", 62),
    _duration("getSeconds", "seconds", "The whole seconds.", 3723),
    _duration("getMilliseconds", "milliseconds", "The milliseconds of the second.", 4),
)

TIME = in_cel_expr(_ROWS)
