"""The peer whose messages are taken in and sent to, and the book that they concern.

Actions of rooms above in the commit that decides a transfer of theirs: a payment token ends, a contract is paid.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

import msgspec

from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.did import namespace_of
from hansa.rooms import federation, ledger

from .reopening import PAIR_REOPENED, PairReopened


class CrossingDecision(msgspec.Struct, frozen=True):
    """Decision on a transfer that leaves this registry.

    `tx_id` is the ledger transaction by which the units left, where COMMIT is recorded; `code` says why it is ABORT. `purpose` is
    that of `Body`.
    """

    transfer_id: UUID
    tx_id: int | None
    code: str | None
    purpose: str | None = None

    @property
    def is_paid(self) -> bool:
        """Return whether COMMIT is recorded."""
        return self.tx_id is not None


PaymentDecided: TypeAlias = Callable[[Tx, Sequence[CrossingDecision], Settings], Awaitable[None]]
PAYMENT_DECIDED: Slot[PaymentDecided] = Slot(
    "transfers: transfers are decided, which may pay something of a room above"
)


@dataclass(frozen=True)
class Corridor:
    """The peer whose messages are taken in, and the book that they concern."""

    peer: federation.PeerRecord
    book: ledger.Book
    settings: Settings = field(repr=False)
    decided: PaymentDecided = field(repr=False)
    reopened: PairReopened = field(repr=False)

    @classmethod
    def to(cls, peer: federation.PeerRecord, runtime: Runtime) -> "Corridor":
        """The corridor between this registry and a verified peer."""
        settings = runtime.settings
        return cls(
            peer, ledger.Book.of(settings), settings, PAYMENT_DECIDED.of(runtime), PAIR_REOPENED.of(runtime)
        )

    @property
    def key(self) -> str:
        """Name of the peer in every row: its SPIFFE id."""
        assert self.peer.spiffe_id is not None
        return self.peer.spiffe_id

    @property
    def frame(self) -> str:
        """The other registry's ledger id."""
        assert self.peer.ledger_id is not None
        return self.peer.ledger_id

    @property
    def currency_received(self) -> str | None:
        """The other registry's currency, where it is another than the own one: then units are swapped."""
        theirs = self.peer.settlement_currency
        return None if theirs == self.book.currency else theirs

    @property
    def is_within_frame(self) -> bool:
        """Return whether the other registry has the trust domain of this one: then both mint DIDs of one namespace."""
        return self.peer.trust_domain == self.settings.trust_domain

    def is_between(self, own: str, other: str, elsewhere: Mapping[str, str | None]) -> bool:
        """Return whether `own` is an agent of this registry and `other` one for which the peer speaks.

        `elsewhere`: the DIDs of the own namespace that other registries hold, as `federation.held_elsewhere` has them.
        """
        if namespace_of(own) != self.settings.issuer or own in elsewhere:
            return False
        if federation.is_shared(other, self.settings):
            return elsewhere.get(other) == self.key
        return namespace_of(other) == self.peer.did_namespace
