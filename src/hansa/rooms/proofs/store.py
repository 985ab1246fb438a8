"""Every SQL statement of proofs."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg

from hansa.foundation.plumbing.storage.database import Tx

from .records import Attestation, Circuit, NewCircuit, Submission
from .rules import SUBMISSIONS_PER_DAY, digest_of

_CIRCUIT = ", ".join(Circuit.__struct_fields__)

_INSERT_CIRCUIT = f"""
INSERT INTO proofs_circuit (circuit_id, title, statement, source_uri, verification_key, holder_input, context_input, setup_note,
  registered_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (circuit_id) DO NOTHING RETURNING {_CIRCUIT}
"""  # noqa: S608

_FIND_CIRCUIT = f"SELECT {_CIRCUIT} FROM proofs_circuit WHERE circuit_id = $1"  # noqa: S608

_CIRCUITS = f"""
SELECT {_CIRCUIT} FROM proofs_circuit WHERE $1::bigint IS NULL OR seq < $1 ORDER BY seq DESC LIMIT $2
"""  # noqa: S608

_RETIRE = f"""
UPDATE proofs_circuit SET retired_at = clock_timestamp() WHERE circuit_id = $1 AND retired_at IS NULL RETURNING {_CIRCUIT}
"""  # noqa: S608

# The row of the agent stays locked until the count is committed.
_COUNT = """
INSERT INTO proofs_submitted AS s (agent_did, day, count)
SELECT $1, (clock_timestamp() AT TIME ZONE 'UTC')::date, 1
ON CONFLICT (agent_did) DO UPDATE SET
  day = greatest(s.day, excluded.day), count = CASE WHEN s.day >= excluded.day THEN s.count + 1 ELSE 1 END
WHERE s.day < excluded.day OR s.count < $2
RETURNING count
"""

_ATTESTATION = ", ".join(name for name in Attestation.__struct_fields__ if name != "now")

_ATTESTATIONS = f"SELECT {_ATTESTATION}, clock_timestamp() AS now FROM proofs_attestation"  # noqa: S608

_INSERT = f"""
INSERT INTO proofs_attestation (circuit_id, inputs_sha256, agent_did, context, public_inputs, proof, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp() + $7)
ON CONFLICT (circuit_id, inputs_sha256) DO NOTHING RETURNING {_ATTESTATION}, clock_timestamp() AS now
"""  # noqa: S608

_RENEW = f"""
UPDATE proofs_attestation SET proof = $3, expires_at = clock_timestamp() + $4
WHERE circuit_id = $1 AND inputs_sha256 = $2 AND revoked_at IS NULL RETURNING {_ATTESTATION}, clock_timestamp() AS now
"""  # noqa: S608

_REVOKE = f"""
UPDATE proofs_attestation SET revoked_at = clock_timestamp(), revoked_by = $2
WHERE attestation_id = $1 AND revoked_at IS NULL RETURNING {_ATTESTATION}, clock_timestamp() AS now
"""  # noqa: S608

_IS_REVOKED = """
SELECT revoked_at IS NOT NULL FROM proofs_attestation WHERE circuit_id = $1 AND inputs_sha256 = $2
"""

_PAGE = (
    f"{_ATTESTATIONS} WHERE agent_did = $1 AND ($2::bigint IS NULL OR seq < $2) ORDER BY seq DESC LIMIT $3"
)

# In one order, so that two rulings do not wait for each other.
_CITED = f"{_ATTESTATIONS} WHERE attestation_id = ANY($1) ORDER BY attestation_id"


async def insert_circuit(tx: Tx, new: NewCircuit, registered_by: int) -> Circuit | None:
    """A new circuit; None where one has its id."""
    key = json.dumps(new.verification_key)
    members = (new.circuit_id, new.title, new.statement, new.source_uri, key)
    places = (new.holder_input, new.context_input)
    row = await tx.fetchrow(_INSERT_CIRCUIT, *members, *places, new.setup_note, registered_by)
    return _circuit(row) if row else None


async def find_circuit(tx: Tx, circuit_id: str, *, share: bool = False) -> Circuit | None:
    """A circuit, which is not retired until the transaction ends where it is shared."""
    row = await tx.fetchrow(_FIND_CIRCUIT + (" FOR SHARE" if share else ""), circuit_id)
    return _circuit(row) if row else None


async def circuits(tx: Tx, before: int | None, limit: int) -> list[Circuit]:
    """Circuits, the newest first."""
    return [_circuit(row) for row in await tx.fetch(_CIRCUITS, before, limit)]


async def retire(tx: Tx, circuit_id: str) -> Circuit | None:
    """The circuit, retired by this call; None where it was before, or is none."""
    row = await tx.fetchrow(_RETIRE, circuit_id)
    return _circuit(row) if row else None


async def count_submission(tx: Tx, did: str) -> bool:
    """Count a submission of an agent; False where it has made as many today as it may."""
    return await tx.fetchval(_COUNT, did, SUBMISSIONS_PER_DAY) is not None


async def is_revoked(tx: Tx, submission: Submission) -> bool:
    """Return whether the attestation of these inputs was revoked."""
    found = await tx.fetchval(_IS_REVOKED, submission.circuit_id, digest_of(submission.public_inputs))
    return bool(found)


async def insert(tx: Tx, submission: Submission, validity: timedelta) -> Attestation | None:
    """A new attestation; None where the circuit has one of these inputs."""
    row = await tx.fetchrow(
        _INSERT,
        submission.circuit_id,
        digest_of(submission.public_inputs),
        submission.agent_did,
        submission.context,
        list(submission.public_inputs),
        json.dumps(submission.proof),
        validity,
    )
    return _attestation(row) if row else None


async def renew(tx: Tx, submission: Submission, validity: timedelta) -> Attestation | None:
    """The attestation of these inputs with a new end; None where it was revoked."""
    digest, proof = digest_of(submission.public_inputs), json.dumps(submission.proof)
    row = await tx.fetchrow(_RENEW, submission.circuit_id, digest, proof, validity)
    return _attestation(row) if row else None


async def revoke(tx: Tx, attestation_id: UUID, by: str) -> Attestation | None:
    """The attestation, revoked by this call; None where it was before, or is none."""
    row = await tx.fetchrow(_REVOKE, attestation_id, by)
    return _attestation(row) if row else None


async def find(tx: Tx, attestation_id: UUID) -> Attestation | None:
    """One attestation."""
    row = await tx.fetchrow(f"{_ATTESTATIONS} WHERE attestation_id = $1", attestation_id)
    return _attestation(row) if row else None


async def page(tx: Tx, did: str, before: int | None, limit: int) -> list[Attestation]:
    """Attestations of an agent, the newest first."""
    return [_attestation(row) for row in await tx.fetch(_PAGE, did, before, limit)]


async def cited(tx: Tx, attestation_ids: Sequence[UUID], *, share: bool) -> list[Attestation]:
    """Those attestations that there are; a shared one changes only after the transaction."""
    rows = await tx.fetch(_CITED + (" FOR SHARE" if share else ""), list(attestation_ids))
    return [_attestation(row) for row in rows]


def _circuit(row: asyncpg.Record) -> Circuit:
    members: dict[str, Any] = dict(row)
    return Circuit(**members | {"verification_key": json.loads(members["verification_key"])})


def _attestation(row: asyncpg.Record) -> Attestation:
    members: dict[str, Any] = dict(row)
    read = {"public_inputs": tuple(members["public_inputs"]), "proof": json.loads(members["proof"])}
    return Attestation(**members | read)
