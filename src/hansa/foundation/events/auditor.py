"""Facts of the auditor."""

from typing import ClassVar

from hansa.foundation.events.base import REGISTRY_ACCOUNT, Event


class SupplyInvariantBreach(Event, frozen=True):
    """Log and balances disagree. Recorded once for each distinct breach; `findings` names what differs, minor units."""

    aggregate_type: ClassVar[str] = "system_account"
    source: ClassVar[str] = "auditor"
    is_always_recorded: ClassVar[bool] = True
    withheld: ClassVar[tuple[str, ...]] = ("findings",)

    verdict_id: int
    as_of_event_seq: int
    delta: str
    net_supply: str
    total_circulating: str
    checks: dict[str, str]
    findings: dict[str, list[str]]

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT

    @property
    def unique_key(self) -> str:
        return f"supply-breach-{self.verdict_id}"
