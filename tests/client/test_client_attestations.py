"""Circuits and attestations by the client, and as its user types them."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hansa_client import DeveloperTokens
from hansa_client.errors import Conflict, Forbidden, Invalid, NotFound
from hansa_client.records.attestations import CircuitRegistration, ProofContext
from hansa_client.records.disputes import Citation, Complaint, Evidence
from tests.attesting import BOUND, Attesting, proof_of
from tests.client.conftest import Open
from tests.client.faults import Faults
from tests.client.terminal import Typed, logged_in
from tests.client.test_client_contracts import credentials_of
from tests.proving import signal
from tests.registry import PASSWORD, StartRegistry, TestDeveloper, TestRegistry

REGISTRATION = CircuitRegistration(
    circuit_id="factors-1",
    title="Two factors",
    statement="The holder knows two factors of the value.",
    source_uri="https://circuits.example.org/factors.circom",
    verification_key=BOUND.key,
    holder_input=0,
    context_input=1,
    setup_note="Made for tests by one contributor.",
)


@pytest.fixture
async def registry(start_registry: StartRegistry) -> TestRegistry:
    """A registry that takes proofs."""
    return await start_registry(zkp_phases=["1"])


@pytest.fixture
async def attesting(registry: TestRegistry) -> Attesting:
    return await Attesting.at(registry)


def tokens_of(developer: TestDeveloper) -> DeveloperTokens:
    return DeveloperTokens(developer.token, "", datetime.now(UTC) + timedelta(hours=1))


async def test_a_circuit_is_registered_and_an_agent_proves_cites_and_revokes(
    connect: Open, attesting: Attesting, faults: Faults
):
    platform = connect(developer=tokens_of(attesting.platform))
    enforcement = connect(developer=tokens_of(attesting.enforcement))
    anyone = connect()
    made = await platform.attestations.register_circuit(REGISTRATION)
    with pytest.raises(Conflict):
        await platform.attestations.register_circuit(REGISTRATION)
    with pytest.raises(Forbidden):
        await enforcement.attestations.retire_circuit(made.circuit_id)
    assert await anyone.attestations.circuit("factors-1") == made
    assert (await anyone.attestations.circuits()).circuits == [made]
    holder, other = await attesting.registry.agent(), await attesting.registry.agent()
    own, another = connect(agent=credentials_of(holder)), connect(agent=credentials_of(other))
    proof = proof_of(holder, {"contract_id": 7})
    given = (made.circuit_id, proof["proof_data"], proof["public_inputs"])
    faults.next("/api/v1/attestations/submit", "answer lost")
    submitted = await own.attestations.submit(*given, context=ProofContext(contract_id=7))
    assert len(set(faults.keys("/api/v1/attestations/submit"))) == 1
    with pytest.raises(Invalid):
        await another.attestations.submit(*given, context=ProofContext(contract_id=7))
    shown = await anyone.attestations.read(submitted.attestation_id)
    assert (shown.agent_did, shown.status, shown.expires_at) == (
        holder.did,
        "verified",
        submitted.expires_at,
    )
    assert (await anyone.attestations.list(holder.did)).attestations == [shown]
    complaint = Complaint(holder.did, "OTHER", "Nothing came.", attestation_ids=(shown.attestation_id,))
    filed = await another.disputes.file(complaint)
    cited = await own.disputes.add_evidence(filed.id, Citation((shown.attestation_id,)))
    assert (cited.attestation_ids, cited.evidence) == ([shown.attestation_id], [])
    note = Evidence.of_note("See the attestation.")
    assert len((await own.disputes.add_evidence(filed.id, note)).evidence) == 1
    with pytest.raises(Forbidden):
        await another.attestations.revoke(shown.attestation_id)
    assert (await own.attestations.revoke(shown.attestation_id)).status == "revoked"
    again = await enforcement.attestations.revoke_as_administrator(shown.attestation_id)
    assert again.status == "revoked"
    assert (await platform.attestations.retire_circuit(made.circuit_id)).status == "retired"
    with pytest.raises(NotFound):
        await anyone.attestations.circuit("none")


async def test_attestations_as_their_user_types_them(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attesting: Attesting
):
    monkeypatch.setenv("HANSA_CLIENT_DIR", str(tmp_path / "client"))
    monkeypatch.setenv("HANSA_CLIENT_PASSWORD", PASSWORD)
    at = Typed(tmp_path)
    await logged_in(at, address)
    assert "No circuits." in await at.run("attestation", "circuits")
    circuit = await attesting.circuit(BOUND)
    assert circuit in await at.run("attestation", "circuits")
    assert "The meaning of a circuit rests on its registrar." in await at.run(
        "attestation", "circuit", circuit
    )
    await at.run("agent", "create", "--name", "Prover")
    did = (await at.json("agent", "show", "Prover"))["did"]
    inputs = [signal(did), signal("contract:7"), "15"]
    proof, public = tmp_path / "proof.json", tmp_path / "public.json"
    proof.write_text(json.dumps(BOUND.prove(inputs)))
    public.write_text(json.dumps(inputs))
    submitted = await at.json(
        "attestation", "submit", circuit, str(proof), str(public), "--contract", "7", "--key", "once"
    )
    attestation = submitted["attestation_id"]
    assert f"{attestation}  verified  {circuit}  contract 7" in await at.run("attestation", "list", did)
    other = await attesting.registry.agent()
    filed = await attesting.registry.post(
        "/disputes/",
        json={"defendant_did": did, "reason_code": "OTHER", "description": "Nothing came."},
        headers=other.headers,
    )
    dispute = str(filed.json()["id"])
    cited = await at.json("dispute", "evidence", dispute, "--attestation", attestation)
    assert cited["attestation_ids"] == [attestation]
    assert "state one" in await at.run(
        *("attestation", "submit", circuit, str(proof), str(public), "--contract", "7", "--token", "x"),
        code=1,
    )
    assert "revoked" in await at.run("attestation", "revoke", attestation)
    assert f"holder {did}" in await at.run("attestation", "show", attestation)
    file = tmp_path / "circuit.json"
    file.write_text(json.dumps({"circuit_id": "mine"}))
    assert "title" in await at.run("attestation", "register", str(file), code=1)
    for refused in (("retire", circuit), ("revoke-any", attestation)):
        await at.run("attestation", *refused, code=1)
