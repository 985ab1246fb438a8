"""Evidence of settled payments on an agent of this registry, as its page shows it."""

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import format_amount
from hansa.rooms import reputation

_COMPONENTS = {
    "paid_work": "Payments received",
    "payments_made": "Payments made",
    "disputes_won": "Disputes won as defendant",
    "disputes_lost": "Disputes lost (lowers the score)",
}


class ReputationPanel(msgspec.Struct, frozen=True):
    """Score, record and history; amounts are decimal strings in units."""

    found: reputation.Reputation
    record: reputation.TrackRecord
    history: list[reputation.GradeChange]

    @property
    def volume(self) -> str:
        """All payments received that count."""
        return format_amount(self.record.volume)

    @property
    def components(self) -> list[tuple[str, str]]:
        """The parts of the score that are not zero, by name."""
        return [
            (_COMPONENTS[name], format_amount(amount))
            for name, amount in self.found.score.components.items()
            if amount
        ]


async def panel_of(
    tx: Tx, did: str, *, has_record: bool = True, has_grades: bool = True
) -> ReputationPanel | None:
    """The panel of an agent; None where this registry has no agent of that DID.

    Without `has_record` the track record is known to be empty, without `has_grades` the history of the grade.
    """
    try:
        found = await reputation.reputation_of(tx, did)
    except reputation.AgentUnknown:
        return None
    return ReputationPanel(
        found,
        await reputation.track_record_of(tx, did) if has_record else reputation.TrackRecord(),
        await reputation.grade_history_of(tx, did) if has_grades else [],
    )
