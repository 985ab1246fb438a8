"""Logs that are cosigned, and witnesses that cosign."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from hansa.rooms import federation
from hansa_verify import VerifierKey
from hansa_verify.log import ALGORITHMS, Algorithm

from .forks import ForkKind


class WitnessedLog(msgspec.Struct, frozen=True):
    """The newest checkpoint of a log that was cosigned."""

    origin: str
    size: int
    root: bytes
    cosigned_at: datetime


class LogWitness(msgspec.Struct, frozen=True):
    """Last cosignature of a witness of the own log, a line by each of its keys; `trouble` is how the last request failed."""

    name: str
    size: int | None
    lines: list[str]
    cosigned_at: datetime | None
    asked_at: datetime
    trouble: str | None


class PeerLog(msgspec.Struct, frozen=True):
    """The keys of a peer's log, and those of the peer as a witness."""

    ledger_id: str
    log_keys: list[VerifierKey]
    witness_keys: list[VerifierKey]


class Fork(msgspec.Struct, frozen=True):
    """Two checkpoints with the signature of one log; `other_witness` was shown the other one."""

    origin: str
    kind: ForkKind
    own_note: str
    other_note: str
    other_witness: str


class StoredFork(msgspec.Struct, frozen=True):
    """A fork as it was found."""

    fork: Fork
    found_at: datetime


class NewCheckpoint(NamedTuple):
    """A checkpoint that is to be cosigned."""

    origin: str
    size: int
    root: bytes
    note: str


class BeforeCosigning(NamedTuple):
    """Last cosigned checkpoint of a log, and the keys of the log of its peer as they are stored.

    `sealed_keys` are those that cosign, public half and sealed private half.
    """

    log: WitnessedLog | None
    log_key_texts: list[str] | None
    sealed_keys: list[tuple[bytes, bytes]]

    @property
    def size(self) -> int:
        """How many leaves were cosigned."""
        return self.log.size if self.log is not None else 0


class Cosigned(NamedTuple):
    """The lines, one by each of its keys, by which a witness cosigned so many leaves of the own log, at `timestamp` in seconds since 1970."""

    name: str
    size: int
    lines: list[str]
    timestamp: int


class Witness(msgspec.Struct, frozen=True):
    """A witness of the own log: one name, at most one key of each kind, and the address below which it is asked.

    A peer is asked over mutual TLS.
    """

    keys: tuple[VerifierKey, ...]
    address: str
    peer: federation.PeerRecord | None = None

    @property
    def name(self) -> str:
        """Return the name in its cosignatures."""
        return self.keys[0].name

    def key_of(self, kind: bytes) -> VerifierKey | None:
        """Its key of this kind."""
        return next((key for key in self.keys if key.kind == kind), None)

    def algorithms_in(self, lines: Sequence[str]) -> list[Algorithm]:
        """With which of its keys it made these cosignatures, which were verified when they were kept."""
        return [ALGORITHMS[key.kind] for key in self.keys if any(key.signatures_in("\n".join(lines)))]
