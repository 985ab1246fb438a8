"""Why an agent gets no workload identity."""

from hansa.foundation.values.errors import Forbidden, Unavailable


class IdentityIssuerMissing(Unavailable):
    """No issuer of workload identities is configured."""

    code = "IDENTITY_ISSUER_MISSING"
    sentence = "This registry does not issue workload identities; the operator has not configured an issuer."


class IdentityRevoked(Forbidden):
    """An administrator revoked the agent's workload identity."""

    code = "IDENTITY_REVOKED"
    sentence = "This agent's workload identity is revoked; only an administrator can restore it."
