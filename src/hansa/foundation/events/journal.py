"""Facts of the journal itself."""

from typing import ClassVar

import msgspec

from hansa.foundation.events.base import REGISTRY_ACCOUNT, Event


class EmissionRule(msgspec.Struct, frozen=True):
    """What the emission policy of one event type says; a null says nothing."""

    emit_from_teg: bool | None
    emit_from_registry: bool | None
    skip_in_projection: bool


class EventEmissionPolicyUpdated(Event, frozen=True):
    """An administrator changed which events of a type are recorded or folded."""

    aggregate_type: ClassVar[str] = "system_account"
    is_always_recorded: ClassVar[bool] = True

    event_type: str
    before: EmissionRule
    after: EmissionRule
    changed_by: str

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT


class HeldBalance(msgspec.Struct, frozen=True):
    """What one bucket of an account holds."""

    account: str
    bucket: str
    balance: str


class ProjectionSnapshot(Event, frozen=True):
    """Balances from which projections may begin; empty buckets are left out.

    A large baseline is several of these, numbered by `part`, written by one transaction. It holds what was visible in
    `position`, a PostgreSQL snapshot: a ledger event comes after it when its transaction is not visible there.
    """

    aggregate_type: ClassVar[str] = "system_account"
    withheld: ClassVar[tuple[str, ...]] = ("balances",)

    frame: str
    currency: str
    position: str
    part: int
    is_last: bool
    balances: list[HeldBalance]

    @property
    def aggregate_id(self) -> str:
        return REGISTRY_ACCOUNT
