"""Why a registry shows no certificate to peers."""

from hansa.foundation.values.errors import Unavailable


class FederationOff(Unavailable):
    """The registry has no identity of its own for mutual TLS."""

    code = "FEDERATION_OFF"
    sentence = "This registry has no certificate authority for mutual TLS: AGENT_IDENTITY_ISSUER is none."
    remedy = "Set AGENT_IDENTITY_ISSUER=embedded, then restart the registry."


class NotEnrolled(FederationOff):
    """An operator registry has no certificate of its frame that is in force."""

    code = "OPERATOR_NOT_ENROLLED"
    sentence = "This operator registry has no certificate of its frame that is in force."
    remedy = "Run `hansa peer invite --operator NAME` at the frame, and `hansa peer accept` here."


class CertificatesRefused(Exception):
    """A request for certificates, or what was issued for it, cannot be used; the message is one line."""
