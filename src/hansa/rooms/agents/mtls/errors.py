"""Why an agent gets no workload identity."""

from hansa.foundation.values.errors import Forbidden, Unavailable


class IdentityIssuerMissing(Unavailable):
    """Nobody issues workload identities here."""

    code = "IDENTITY_ISSUER_MISSING"
    sentence = "This registry issues no workload identities; its operator has not set an issuer."


class IdentityRevoked(Forbidden):
    """An administrator revoked the agent's workload identity."""

    code = "IDENTITY_REVOKED"
    sentence = "This agent's workload identity is revoked; only an administrator can give it back."
