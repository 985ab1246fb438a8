"""Logs that are cosigned, and witnesses that cosign."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from hansa.rooms import federation
from hansa_verify import VerifierKey

from .forks import ForkKind


@dataclass(frozen=True)
class WitnessedLog:
    """The newest checkpoint of a log that was cosigned."""

    origin: str
    size: int
    root: bytes
    cosigned_at: datetime


@dataclass(frozen=True)
class LogWitness:
    """What a witness of the own log cosigned last; `trouble` is how the last request failed."""

    name: str
    size: int | None
    cosigned_at: datetime | None
    asked_at: datetime
    trouble: str | None


@dataclass(frozen=True)
class PeerLog:
    """The keys of a peer's log, and that of the peer as a witness."""

    ledger_id: str
    log_keys: list[VerifierKey]
    witness_key: VerifierKey | None


@dataclass(frozen=True)
class Fork:
    """Two checkpoints with the signature of one log; `other_witness` was shown the other one."""

    origin: str
    kind: ForkKind
    own_note: str
    other_note: str
    other_witness: str


@dataclass(frozen=True)
class KeptFork:
    """A fork as it was found."""

    fork: Fork
    found_at: datetime


class NewCheckpoint(NamedTuple):
    """A checkpoint that is cosigned at `timestamp`, in seconds since 1970."""

    origin: str
    size: int
    root: bytes
    note: str
    timestamp: int


class Cosigned(NamedTuple):
    """The line by which a witness cosigned so many leaves of the own log, at `timestamp` in seconds since 1970."""

    name: str
    size: int
    line: str
    timestamp: int


@dataclass(frozen=True)
class Witness:
    """A witness of the own log: its key, and the address below which it is asked; a peer is asked over mutual TLS."""

    key: VerifierKey
    address: str
    peer: federation.PeerRecord | None = None
