"""A track record as answers and cards show it."""

from typing import Any

from hansa.foundation.values.money import format_amount
from hansa.rooms import catalogue

from .records import TrackRecord


def members_of(record: TrackRecord) -> dict[str, Any]:
    """The JSON members; without a job that counts, `since` and `mark` are null."""
    return {
        "jobs_verified": record.jobs_verified,
        "jobs_foreign": record.jobs_foreign,
        "volume": format_amount(record.volume),
        "disputes_won": record.disputes_won,
        "disputes_lost": record.disputes_lost,
        "contracts_completed": record.contracts_completed,
        "since": record.first_job_at.isoformat() if record.first_job_at else None,
        "mark": catalogue.grade_of(record.jobs_verified).mark,
    }
