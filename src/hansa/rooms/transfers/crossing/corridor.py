"""The peer whose messages are taken in and sent to, and the book that they concern."""

from dataclasses import dataclass, field

from hansa.foundation.plumbing.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.rooms import federation, ledger

from . import protocol
from .messages import Message
from .payment_slot import PAYMENT_DECIDED, PaymentDecided


@dataclass(frozen=True)
class Corridor:
    """The peer whose messages are taken in, and the book that they concern."""

    peer: federation.PeerRecord
    book: ledger.Book
    settings: Settings = field(repr=False)
    decided: PaymentDecided = field(repr=False)

    @classmethod
    def to(cls, peer: federation.PeerRecord, runtime: Runtime) -> "Corridor":
        """The corridor between this registry and a verified peer."""
        settings = runtime.settings
        return cls(peer, ledger.Book.of(settings), settings, PAYMENT_DECIDED.of(runtime))

    @property
    def key(self) -> str:
        """What names the peer in every row: its SPIFFE id."""
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

    def lies_in_namespaces(self, message: Message) -> bool:
        """Whether payer and payee belong to the registries that the message says."""
        assert message.body is not None
        own, other = message.body.receiver_did, message.body.sender_did
        if protocol.concerns_sent(message):
            own, other = other, own
        return namespace_of(own) == self.settings.issuer and namespace_of(other) == self.peer.did_namespace


def namespace_of(did: str) -> str | None:
    """The issuer part of a DID; None where it has none."""
    match did.split(":"):
        case ["did", _, issuer, _]:
            return issuer
    return None
