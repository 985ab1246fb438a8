"""Why something of a peer is refused."""

from typing import Self

from hansa.foundation.values.errors import Conflict, Invalid, NotFound, Unavailable


class PeerUnknown(NotFound):
    """No peer has this name, trust domain or ledger id."""

    code = "PEER_UNKNOWN"
    sentence = "No peer has this name, trust domain or ledger id."


class PeerAmbiguous(Conflict):
    """Several peers have this name; their ledger ids distinguish them."""

    code = "PEER_AMBIGUOUS"
    sentence = "Several peers have this name; use the trust domain or the ledger id."
    remedy = "Use one of the ledger ids in error.context."


class PeerExists(Conflict):
    """The registry is a peer already."""

    code = "PEER_EXISTS"
    sentence = "This registry is a peer already."


class RootCollision(Conflict):
    """The trust bundle has a root that takes the place of another registry's in a certificate chain."""

    code = "ROOT_COLLISION"
    sentence = "A root of this trust bundle has the subject and key identifier of another registry's root."
    remedy = "Ask the operator of the registry for a bundle with roots of its own."


class PeerUnreachable(Unavailable):
    """The other registry does not answer, or not with its documents."""

    code = "PEER_UNREACHABLE"
    sentence = "The other registry could not be read."
    remedy = "Check its address and that it runs, then send the request again."
    reason = "unreachable"

    @classmethod
    def at(cls, address: str, reason: str) -> Self:
        """The registry at that address; `reason` is a stable word."""
        refused = cls(f"The registry at {address} could not be read: {reason}.", context={"reason": reason})
        refused.reason = reason
        return refused


class PeerDocumentRefused(Conflict):
    """The registry card, key set or trust bundle of the other registry is refused; nothing of it was taken over."""

    code = "PEER_DOCUMENT_REFUSED"
    sentence = "A document of the other registry is refused."
    remedy = "Read error.context.reason, and ask the operator of the other registry."
    reason = "refused"

    @classmethod
    def of(cls, reason: str, said: str) -> Self:
        """The registry card is refused; `reason` is a stable word."""
        refused = cls(f"The registry card is refused ({reason}): {said}.", context={"reason": reason})
        refused.reason = reason
        return refused


class PeerNameRefused(Invalid):
    """A peer is not kept under this name: it is empty, a bare infrastructure label, or not the registry's own."""

    code = "PEER_NAME_REFUSED"
    sentence = "No peer is kept under this name."


class BundleRefused(Invalid):
    """The text is no usable trust bundle."""

    code = "BUNDLE_REFUSED"
    sentence = "The trust bundle cannot be used."


class PeerStateRefused(Conflict):
    """The state of the peer does not allow this."""

    code = "PEER_STATE"
    sentence = "The state of the peer does not allow this."


class PeerRemoving(Conflict):
    """The peer is being removed; what is under way with it is still decided."""

    code = "PEER_REMOVING"
    sentence = "This peer is being removed."
