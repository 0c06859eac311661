"""Lines of cron as intervals: ``0 2 * * *`` is every day at two, in UTC."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from itertools import pairwise

_MIDNIGHT = datetime(2024, 1, 1, tzinfo=timezone.utc)  # of a leap year
_YEARS = 5 * 366  # days in which the longest pause is searched: 29 February occurs in them
FIELDS = 5


class CronLine(timedelta):
    """A line of cron; as a duration it is the longest time between two of its moments.

    Attributes:
        text: The line as written, with single blanks.
    """

    text: str

    @classmethod
    def parse(cls, text: str) -> CronLine:
        """Parse the five fields of a line.

        Raises:
            ValueError: The text is not such a line, or names no moment.
        """
        fields = text.split()
        if len(fields) != FIELDS:
            raise ValueError("not five fields")
        line = cls(seconds=_longest_pause(" ".join(fields)).total_seconds())
        line.text = " ".join(fields)
        return line

    def next_after(self, moment: float) -> float:
        """Return the line's next moment, both in seconds since 1970."""
        return next(_moments(self.text, datetime.fromtimestamp(moment, timezone.utc))).timestamp()


def _moments(line: str, after: datetime) -> Iterator[datetime]:
    from cronsim import CronSim, CronSimError  # only for those who write cron lines

    try:
        yield from CronSim(line, after)
    except CronSimError as error:
        raise ValueError(str(error)) from None


@lru_cache(maxsize=256)
def _longest_pause(line: str) -> timedelta:
    """Return the longest time between two moments of a line.

    In UTC all days of a line have the same moments. So the longest pause is within a day, or between two days.
    """
    minute, hour, *days = line.split()
    one_day = _between(f"{minute} {hour} * * *", 1)
    all_days = _between(" ".join(("0", "0", *days)), _YEARS)
    if not one_day or not all_days:
        raise ValueError("no moment")
    within = [later - earlier for earlier, later in pairwise(one_day)]
    over_days = max((later - earlier for earlier, later in pairwise(all_days)), default=timedelta(days=_YEARS))
    return max((*within, over_days - (one_day[-1] - one_day[0])))


def _between(line: str, days: int) -> list[datetime]:
    found: list[datetime] = []
    for moment in _moments(line, _MIDNIGHT - timedelta(minutes=1)):
        if moment >= _MIDNIGHT + timedelta(days=days):
            break
        found.append(moment)
    return found
