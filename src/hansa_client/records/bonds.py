"""Answers about reputation bonds."""

from datetime import datetime
from decimal import Decimal

from .record import Record


class BondBlocker(Record, frozen=True):
    """Why a bond is not released yet; `kind` is `maturity`, `open_contract` or `open_dispute`."""

    kind: str
    detail: str


class Bond(Record, frozen=True):
    """The bond of an agent. `state` is `none`, `active`, `releasing`, `released` or `slashed`; only an active one counts."""

    agent_did: str
    state: str
    amount: Decimal
    minimum: Decimal
    matures_at: datetime | None
    releasable_at: datetime | None
    blockers: list[BondBlocker]


class BondConfig(Record, frozen=True):
    """The rules of bonds at the registry; `mode` is `off`, `observe` or `enforce`."""

    mode: str
    minimum: Decimal
    maturity_days: int
    currency: str
