"""Why something of a peer is refused."""

from hansa.foundation.values.errors import Conflict, NotFound, Unavailable


class PeerUnknown(NotFound):
    """No peer has this name, trust domain or ledger id."""

    code = "PEER_UNKNOWN"
    sentence = "No peer has this name, trust domain or ledger id."


class PeerAmbiguous(Conflict):
    """Several peers have this name; their ledger ids tell them apart."""

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


class FederationOff(Unavailable):
    """The registry has no identity of its own for mutual TLS."""

    code = "FEDERATION_OFF"
    sentence = "This registry has no certificate authority for mutual TLS: AGENT_IDENTITY_ISSUER is none."
    remedy = "Set AGENT_IDENTITY_ISSUER=embedded, then restart the registry."
