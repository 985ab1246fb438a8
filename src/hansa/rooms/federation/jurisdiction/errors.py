"""Why an act is parked, and why an authorization or a proof is refused."""

from hansa.foundation.values.errors import Conflict, Invalid, NotFound, Unavailable


class ActParked(Conflict):
    """The operator declared that the act needs an authorization, and none that is recorded covers it."""

    code = "JURISDICTION_ACT_PARKED"
    sentence = (
        "This act needs a recorded authorization of its jurisdiction; `checklist` names what is missing."
    )
    remedy = "Ask an administrator of the registry to record the authorization as `checklist` says, then send the request again."


class AuthorizationsUnreadable(Unavailable):
    """The recorded authorizations cannot be read, so the act is refused."""

    code = "JURISDICTION_LOOKUP_FAILED"
    sentence = "The recorded authorizations cannot be read, so the act is refused; retry shortly."


class AuthorizationUnknown(NotFound):
    """No live authorization has this id."""

    code = "AUTHORIZATION_UNKNOWN"
    sentence = "No live authorization has this id."


class EvidenceRefused(Invalid):
    """The evidence does not support the tier that it claims."""

    code = "EVIDENCE_REFUSED"
    sentence = "The evidence does not support its tier."


class TooManyAuthorizations(Conflict):
    """The registry card has room for 100 live authorizations."""

    code = "AUTHORIZATIONS_FULL"
    sentence = "This registry has 100 live authorizations, the maximum; withdraw one first."


class NoContractProof(NotFound):
    """No live authorization references the contract."""

    code = "CONTRACT_PROOF_UNKNOWN"
    sentence = "No live authorization references this contract."


class ContractNoProof(Conflict):
    """The contract is referenced by a live authorization but is no longer attestation-grade."""

    code = "CONTRACT_NOT_ATTESTATION_GRADE"
    sentence = "The contract is no longer attestation-grade."
    remedy = "Ask the operator of the registry for other evidence of the authorization."
