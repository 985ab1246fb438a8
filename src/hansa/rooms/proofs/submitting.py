"""Agents submit proofs about themselves.

- Cheap checks come first, then the submission is counted and committed, then it is verified in a process, then it is stored: no
  transaction is open while a proof is verified, and a refused proof has used one of the submissions of the day.
- The submission has a place in the queue before it is counted: one that finds no place uses none of the submissions of the day.
- The circuit and the end of an earlier attestation are judged again in the commit that stores the attestation.
"""

import msgspec

from hansa.foundation.events import AttestationVerified
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.idempotency import Repeatable, recall, remember
from hansa.rooms import journal

from . import rules, store
from .errors import AttestationWasRevoked, CircuitRetired, CircuitUnknown, ProofInvalid, SubmissionsTooMany
from .records import Attestation, Circuit, Submission
from .registering import points_of
from .schemas import AttestationSubmittedOut
from .worker import VERIFIER


class Answer(msgspec.Struct, frozen=True):
    """The answer to a submission, as it is stored for a repetition: `is_new` where no attestation had these inputs."""

    is_new: bool
    text: str


async def submit(
    runtime: Runtime, submission: Submission, developer_id: int, sent: Repeatable | None
) -> tuple[Answer, bool]:
    """Verify and store a proof of an agent of this developer; returns the answer, and whether the request was a repetition.

    Raises: ProofsDisabled, CircuitUnknown, CircuitRetired, InputsInvalid, AttestationWasRevoked, SubmissionsTooMany, ProofInvalid,
    ProofsWaiting, VerifierUnavailable, KeyReused, KeyInProgress.
    """
    rules.require_enabled(runtime.settings.zkp_phases_enabled)
    proof = points_of(submission.proof)
    rules.require_canonical_inputs(submission.public_inputs)
    rules.require_canonical_points(proof, ProofInvalid, "proof_data")

    async def counted(tx: Tx) -> Answer | Circuit:
        if (known := await _known(tx, sent)) is not None:
            return known
        circuit = await _open_circuit(tx, submission)
        rules.require_bound(circuit, submission)
        if await store.is_revoked(tx, submission):
            raise AttestationWasRevoked
        if not await store.count_submission(tx, submission.agent_did):
            raise SubmissionsTooMany
        return circuit

    verifier = VERIFIER.of(runtime)
    with verifier.place(developer_id):
        found = await runtime.database.transaction(counted)
        if isinstance(found, Answer):
            return found, True
        key = points_of(found.verification_key)
        task = {"key": key, "proof": proof, "inputs": submission.public_inputs}
        refusal = await verifier.refusal_of(task)
    if refusal is not None:
        raise ProofInvalid(f"The proof is refused: {refusal}.", field="proof_data")

    async def stored(tx: Tx) -> tuple[Answer, bool]:
        if (known := await _known(tx, sent)) is not None:
            return known, True
        await _open_circuit(tx, submission)
        answer = await _stored(tx, submission)
        if sent is not None:
            await remember(tx, sent, msgspec.json.encode(answer).decode())
        return answer, False

    return await runtime.database.transaction(stored)


async def _known(tx: Tx, sent: Repeatable | None) -> Answer | None:
    known = None if sent is None else await recall(tx, sent)
    return None if known is None else msgspec.json.decode(known, type=Answer)


async def _open_circuit(tx: Tx, submission: Submission) -> Circuit:
    """The circuit, which is not retired until the transaction ends. Raises: CircuitUnknown, CircuitRetired."""
    circuit = await store.find_circuit(tx, submission.circuit_id, share=True)
    if circuit is None:
        raise CircuitUnknown
    if circuit.retired_at is not None:
        raise CircuitRetired
    return circuit


async def _stored(tx: Tx, submission: Submission) -> Answer:
    """Store the attestation, or give the one of these inputs a new end, with its event. Raises: AttestationWasRevoked."""
    attestation = await store.insert(tx, submission, rules.VALIDITY)
    is_new = attestation is not None
    if attestation is None:
        attestation = await store.renew(tx, submission, rules.VALIDITY)
    if attestation is None:
        raise AttestationWasRevoked
    await journal.append(tx, _verified(attestation))
    return Answer(is_new, AttestationSubmittedOut.of(attestation).model_dump_json())


def _verified(attestation: Attestation) -> AttestationVerified:
    return AttestationVerified(
        attestation.agent_did,
        attestation_id=str(attestation.attestation_id),
        circuit_id=attestation.circuit_id,
        context=attestation.context,
        expires_at=attestation.expires_at.isoformat(),
    )
