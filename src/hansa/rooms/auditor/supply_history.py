"""The supply over time, from the verdicts of the audit cycles."""

from datetime import datetime

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor

from . import store


class SupplyPoint(msgspec.Struct, frozen=True):
    """Result of one audit cycle; amounts in minor units."""

    checked_at: datetime
    issued: Minor
    destroyed: Minor
    circulating: Minor
    agent_count: int


async def supply_over_time(tx: Tx, points: int) -> list[SupplyPoint]:
    """At most so many cycles from the first to the newest, about evenly spaced, oldest first."""
    return [
        SupplyPoint(
            checked_at=row["checked_at"],
            issued=Minor(int(row["issued"])),
            destroyed=Minor(int(row["destroyed"])),
            circulating=Minor(int(row["circulating"])),
            agent_count=row["agent_count"],
        )
        for row in await store.sample_verdicts(tx, points)
    ]
