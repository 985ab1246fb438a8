"""Why a registry shows no certificate to peers."""

from hansa.foundation.values.errors import Unavailable


class FederationOff(Unavailable):
    """The registry has no identity of its own for mutual TLS."""

    code = "FEDERATION_OFF"
    sentence = "This registry has no certificate authority for mutual TLS: AGENT_IDENTITY_ISSUER is none."
    remedy = "Set AGENT_IDENTITY_ISSUER to embedded or spire, then restart the registry."


class IdentityMissing(FederationOff):
    """What certifies this registry has given it no certificate that is in force."""


class WorkloadIdentityMissing(IdentityMissing):
    """The SPIRE agent has sent no certificate of this registry that is in force."""

    code = "WORKLOAD_IDENTITY_MISSING"
    sentence = "The SPIRE agent has sent no certificate of this registry that is in force."
    remedy = "See `hansa doctor`: the agent has to run, with an entry for the SPIFFE id of this registry."


class NotEnrolled(IdentityMissing):
    """An operator registry has no certificate of its frame that is in force."""

    code = "OPERATOR_NOT_ENROLLED"
    sentence = "This operator registry has no certificate of its frame that is in force."
    remedy = "Run `hansa peer invite --operator NAME` at the frame, and `hansa peer accept` here."


class CertificatesRefused(Exception):
    """Request for certificates, or certificate issued for it, that cannot be used; the message is one line."""
