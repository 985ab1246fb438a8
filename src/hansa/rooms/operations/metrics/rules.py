"""Rules of metrics, without I/O: ranges, their points, and times in buckets."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from math import ceil, log2

from .records import NOTHING, Figures, Point, RangeName, SettleTimes, TimeRange

HOUR = 3600
RANGES: dict[RangeName, TimeRange] = {
    "1h": TimeRange("minute", 60, 60),
    "24h": TimeRange("minute", HOUR // 2, 48),
    "7d": TimeRange("hour", 3 * HOUR, 56),
    "30d": TimeRange("hour", 12 * HOUR, 60),
}
MINUTES_KEPT = timedelta(hours=48)
HOURS_KEPT = timedelta(days=400)
BUCKETS_PER_DOUBLING = 8


def begin_of(wanted: TimeRange, now: datetime) -> datetime:
    """Return the beginning of a range: its last point holds `now`, and points begin at multiples of their length (UTC)."""
    last = int(now.timestamp()) // wanted.seconds
    return datetime.fromtimestamp((last - wanted.points + 1) * wanted.seconds, UTC)


def points_of(
    wanted: TimeRange,
    begins_at: datetime,
    figures: Mapping[datetime, Figures],
    times: Mapping[datetime, SettleTimes],
) -> list[Point]:
    """The points of a range; one without figures has zeros."""
    beginnings = (begins_at + timedelta(seconds=wanted.seconds * place) for place in range(wanted.points))
    return [Point(at, figures.get(at, NOTHING), times.get(at, {})) for at in beginnings]


def bucket_of(milliseconds: float) -> int:
    """Return the bucket of a time: the nearest power of 2^(1/8), at most 4.5 % away; a millisecond and less are bucket 0."""
    return max(round(BUCKETS_PER_DOUBLING * log2(max(milliseconds, 1))), 0)


def milliseconds_of(bucket: int) -> int:
    """Return the time in the middle of a bucket, in whole milliseconds."""
    return round(2 ** (bucket / BUCKETS_PER_DOUBLING))


def quantile(times: SettleTimes, share: float) -> int | None:
    """The time that this share of payments did not exceed (nearest rank), within 4.5 %; None without payments."""
    rank, reached = ceil(share * sum(times.values())), 0
    for bucket in sorted(times):
        reached += times[bucket]
        if reached >= rank:
            return milliseconds_of(bucket)
    return None


def ratio(part: int, whole: int) -> float | None:
    """The part of the whole with four digits; None where there is no whole."""
    return round(part / whole, 4) if whole else None
