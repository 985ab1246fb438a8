"""Refusals of circuits and attestations."""

from hansa.foundation.values.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    QuotaReached,
    TooManyRequests,
    Unavailable,
)


class CircuitUnknown(NotFound):
    """No circuit has this id."""

    code = "CIRCUIT_UNKNOWN"
    sentence = "No circuit of this registry has this id."
    remedy = "Read GET /circuits/ for the circuits of this registry."


class CircuitExists(Conflict):
    """A circuit has, or had, this id."""

    code = "CIRCUIT_EXISTS"
    sentence = "A circuit has this id; none is used twice."
    remedy = "Choose another `circuit_id`: a verification key is never replaced."


class CircuitRetired(Conflict):
    """The circuit is retired: no proof of it is accepted any more."""

    code = "CIRCUIT_RETIRED"
    sentence = "The circuit is retired; no proof of it is accepted any more."


class KeyInvalid(Invalid):
    """The verification key of a circuit cannot be used safely."""

    code = "VERIFICATION_KEY_INVALID"


class ProofInvalid(Invalid):
    """The proof does not prove the statement of the circuit for these inputs."""

    code = "PROOF_INVALID"
    sentence = "The proof does not hold for this circuit and these inputs."
    remedy = "Make a proof with the proving key of the circuit for exactly these inputs, then send it."


class InputsInvalid(Invalid):
    """The public inputs are not bound to the caller and the context, or not as many as the circuit has."""

    code = "PUBLIC_INPUTS_INVALID"


class AttestationUnknown(NotFound):
    """No attestation has this id."""

    code = "ATTESTATION_UNKNOWN"
    sentence = "No attestation of this registry has this id."


class AttestationWasRevoked(Conflict):
    """The attestation of these inputs was revoked, and is not made again."""

    code = "ATTESTATION_REVOKED"
    sentence = "The attestation of these inputs was revoked; it is not made again."


class NotTheHolder(Forbidden):
    """The caller is neither the holder of the attestation nor an administrator of enforcement."""

    code = "NOT_THE_HOLDER"
    sentence = "An attestation is revoked by its holder or by an administrator of enforcement."


class SubmissionsTooMany(QuotaReached):
    """The agent has submitted as many proofs today (UTC) as one agent may, those that were refused included."""

    sentence = "You have submitted 20 proofs today; more are accepted from midnight UTC on."
    remedy = "Wait until the next day (UTC)."


class ProofsWaiting(TooManyRequests):
    """Proofs or keys of one developer and its agents wait in the queue already, as many as may."""

    code = "PROOFS_WAITING"
    sentence = (
        "Two proofs of your account are waiting to be verified; a third is accepted when one of them is done."
    )


class ProofsDisabled(Forbidden):
    """Attestations by proofs are off at this registry (ZKP_PHASES)."""

    code = "ZKP_DISABLED"
    sentence = "Attestations by zero-knowledge proofs are disabled at this registry."
    remedy = "Read `capabilities.zkp_phases_enabled` of the registry card; ask the operator."


class VerifierUnavailable(Unavailable):
    """The process that verifies proofs did not answer, or too many proofs wait for it."""

    code = "VERIFIER_UNAVAILABLE"
    sentence = "The proof could not be verified now; retry shortly."
