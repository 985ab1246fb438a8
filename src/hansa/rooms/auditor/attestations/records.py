"""A chain of attestations, its records, and the keys that sign them. Amounts in minor units."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.values.money import Minor


class AuditorKey(msgspec.Struct, frozen=True):
    """The public half of a key.

    Records after `retired_at_id` are not valid under it, nor are checkpoints of more than `retired_at_size` leaves.
    """

    kid: str
    public_key: bytes
    valid_from: datetime
    retired_at: datetime | None
    retired_at_id: int | None
    retired_at_size: int | None


@dataclass(frozen=True)
class SigningKey:
    """The current key, ready to sign."""

    kid: str
    private: Ed25519PrivateKey = field(repr=False)


class Chain(msgspec.Struct, frozen=True):
    """The locked head of a frame's chain, and the time of the next record."""

    frame: str
    head_id: int
    head_digest: str
    audited_ts: datetime | None
    audit_row_id: int
    native_baseline: Minor | None
    transit_baseline: Minor | None
    ts: datetime


class Reading(msgspec.Struct, frozen=True):
    """The verdict of one audit cycle.

    `typed_net` is None where the cycle did not sum the typed events, the liabilities where no tree adds up.
    """

    audit_row_id: int
    as_of_seq: int
    issued: Minor
    destroyed: Minor
    transit: Minor
    circulating: Minor
    delta: Minor
    typed_net: Minor | None
    live_status: str
    checks: Mapping[str, str]
    liabilities_root: bytes | None
    liabilities_accounts: int | None


class Attestation(msgspec.Struct, frozen=True):
    """One record of a chain; `payload` is the exact signed text."""

    id: int
    frame: str
    ts: datetime
    kind: str
    payload: str
    digest: str
    prev_hash: str
    signature: str
    kid: str
