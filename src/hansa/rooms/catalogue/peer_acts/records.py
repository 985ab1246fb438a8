"""Acts of enforcement across registries: own acts that peers have to apply, and receipts of applied ones."""

from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import msgspec

NoticeState = Literal["pending", "applied", "late"]

LATE_AFTER = timedelta(seconds=60)
"""A peer that is in reach reads acts within this time, also where it was not notified."""


class Notice(msgspec.Struct, frozen=True):
    """Notice that one peer has to apply. `receipt` is the signed one of the peer, None until it came."""

    agent_did: str
    version: int
    ledger_id: str
    peer_name: str
    act: str
    acted_at: datetime
    notified_at: datetime | None
    received_at: datetime | None
    receipt: str | None
    receipt_mode: str | None
    applied_at: datetime | None
    log_position: int | None

    def state(self, now: datetime) -> NoticeState:
        """`applied`, or `late` when the receipt came or stays out for more than LATE_AFTER, by this registry's clock."""
        since = self.notified_at or self.acted_at
        if (self.received_at or now) - since > LATE_AFTER:
            return "late"
        return "pending" if self.received_at is None else "applied"

    @property
    def seconds(self) -> float | None:
        """From the notification, or without one from the act, to the receipt."""
        if self.received_at is None:
            return None
        return max(0.0, (self.received_at - (self.notified_at or self.acted_at)).total_seconds())


class AppliedAct(NamedTuple):
    """An act of a peer that was applied here, to be receipted."""

    id: int
    agent_did: str
    version: int
    act: str
    mode: str
    applied_at: datetime
    position: int


class Receipt(NamedTuple):
    """Receipt with a valid signature: the act that a peer applied, the time by its clock, and the position of its database."""

    agent_did: str
    version: int
    act: str
    mode: str
    applied_at: datetime
    log_position: int
    jws: str
