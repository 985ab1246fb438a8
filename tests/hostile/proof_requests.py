"""Circuits and attestations for requests, and the bodies of requests about them."""

import json
from collections.abc import Awaitable, Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from hansa.rooms.proofs.rules import digest_of
from tests.attesting import ALONE, inputs_of, proof_of

if TYPE_CHECKING:
    from tests.hostile.well_formed import Stage

_numbers = count(1)

_CIRCUIT = """
INSERT INTO proofs_circuit (circuit_id, title, statement, source_uri, verification_key, holder_input, setup_note, registered_by)
VALUES ($1, $2, 'The holder knows two factors.', 'https://circuits.example.org/', $3, 0, 'Made for tests.', 1)
ON CONFLICT DO NOTHING
"""
_ATTESTATION = """
INSERT INTO proofs_attestation (circuit_id, inputs_sha256, agent_did, context, public_inputs, proof, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, now() + interval '90 days') RETURNING attestation_id::text
"""
STAGED = "staged-circuit"


async def circuit(stage: "Stage", circuit_id: str | None = None, title: str = "Staged") -> str:
    """The id of a new circuit."""
    made = circuit_id or f"staged-{next(_numbers)}"
    await stage.registry.database.transaction(
        lambda tx: tx.execute(_CIRCUIT, made, title, json.dumps(ALONE.key))
    )
    return made


async def attestation(stage: "Stage", context: str | None = None) -> str:
    """The id of a new attestation of the staged agent."""
    await circuit(stage, STAGED)
    inputs = inputs_of(stage.agent, None, str(next(_numbers)))
    members = (STAGED, digest_of(tuple(inputs)), stage.agent.did, context, inputs, "{}")
    made = await stage.registry.database.transaction(lambda tx: tx.fetchval(_ATTESTATION, *members))
    return str(made)


async def furnish(stage: "Stage") -> None:
    """A circuit with a long title, and attestations of the staged agent."""
    await circuit(stage, STAGED, "W" * 150)
    await attestation(stage, "token:11111111-1111-4111-8111-111111111111")


def _act_on(made: Callable[["Stage"], Awaitable[str]], act: str) -> Callable[["Stage"], Awaitable[str]]:
    async def path(stage: "Stage") -> str:
        return f"{await made(stage)}/{act}"

    return path


async def _submission(stage: "Stage") -> dict[str, Any]:
    await stage.registry.database.transaction(lambda tx: tx.execute("DELETE FROM proofs_submitted"))
    await circuit(stage, STAGED)
    return {"circuit_id": STAGED, **proof_of(stage.agent, None, str(next(_numbers)))}


async def _registration(_: "Stage") -> dict[str, Any]:
    return {
        "circuit_id": f"registered-{next(_numbers)}",
        "title": "Two factors",
        "statement": "The holder knows two factors.",
        "source_uri": "https://circuits.example.org/",
        "verification_key": ALONE.key,
        "holder_input": 0,
        "setup_note": "Made for tests.",
    }


async def registration_form(stage: "Stage") -> dict[str, str]:
    """The fields of the page that registers a circuit."""
    members = await _registration(stage)
    key = json.dumps(members.pop("verification_key"))
    return {name: str(value) for name, value in members.items()} | {"verification_key": key}


MADE_ANEW: dict[str, Callable[["Stage"], Awaitable[str]]] = {
    "{circuit_id}/retire": _act_on(circuit, "retire"),
    "{circuit_id}": circuit,
    "{attestation}/revoke": _act_on(attestation, "revoke"),
    "{attestation}": attestation,
}
"""Objects named by a path, the longest first."""

BODIES: dict[str, Callable[["Stage"], Awaitable[dict[str, Any]]]] = {
    "POST /api/v1/attestations/submit": _submission,
    "POST /api/v1/admin/zkp/circuits": _registration,
}
