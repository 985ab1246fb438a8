"""Attestations as the specification has them: circuits of administrators, proofs of agents about themselves."""

import asyncio
from collections.abc import AsyncIterator
from copy import deepcopy
from typing import Any

import pytest

from hansa.rooms import proofs
from hansa.rooms.proofs.worker import Verifier
from tests import proving
from tests.all_events import require_schemas_kept
from tests.attesting import ALONE, BOUND, Attesting, proof_of
from tests.founded import open_copy
from tests.registry import DatabaseFarm, StartRegistry, TestAgent, at_once
from tests.rooms.commerce.agreements import refused

TOKEN = {"token_id": "11111111-1111-4111-8111-111111111111"}


@pytest.fixture(scope="module")
async def attesting(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Attesting]:
    directory = tmp_path_factory.mktemp("attestations")
    async with open_copy(database_farm, directory, zkp_phases=["1"], rate_limit_reads="off") as registry:
        yield await Attesting.at(registry)


@pytest.fixture(scope="module")
async def alice(attesting: Attesting) -> TestAgent:
    return await (await attesting.registry.developer()).agent()


@pytest.fixture(scope="module")
async def bob(attesting: Attesting) -> TestAgent:
    return await (await attesting.registry.developer()).agent()


@pytest.fixture(scope="module")
async def bound(attesting: Attesting) -> str:
    """A circuit that binds a holder and a subject."""
    return await attesting.circuit(BOUND)


@pytest.fixture(scope="module")
async def alone(attesting: Attesting) -> str:
    """A circuit that binds a holder alone."""
    return await attesting.circuit(ALONE)


@pytest.fixture(autouse=True)
async def _unspent(attesting: Attesting) -> None:
    await attesting.registry.database.transaction(lambda tx: tx.execute("DELETE FROM proofs_submitted"))


# Circuits


async def test_a_circuit_is_registered_and_everybody_reads_it(attesting: Attesting) -> None:
    key = {**ALONE.key, "vk_alphabeta_12": [[["1", "2"]] * 3] * 2}
    answer = await attesting.try_register(ALONE, circuit_id="solvency-1", verification_key=key)
    assert answer.status_code == 201, answer.text
    registered = answer.json()
    assert (registered["status"], registered["retired_at"], registered["context_input"]) == (
        "active",
        None,
        None,
    )
    assert registered["verification_key"] == ALONE.key
    assert (await attesting.registry.get("/circuits/solvency-1")).json() == registered
    assert (await attesting.registry.get("/circuits/")).json()["circuits"][0] == registered
    assert refused(await attesting.registry.get("/circuits/none")) == (404, "CIRCUIT_UNKNOWN")
    assert refused(await attesting.try_register(ALONE, circuit_id="solvency-1")) == (409, "CIRCUIT_EXISTS")


async def test_circuits_are_listed_page_by_page(attesting: Attesting, bound: str, alone: str) -> None:
    seen: list[str] = []
    path = "/circuits/?limit=1"
    while path:
        page = (await attesting.registry.get(path)).json()
        seen += [one["circuit_id"] for one in page["circuits"]]
        path = f"/circuits/?limit=1&next={page['next']}" if page["next"] else ""
    assert {bound, alone} <= set(seen)
    assert len(seen) == len(set(seen))


async def test_an_administrator_of_another_area_registers_no_circuit(attesting: Attesting) -> None:
    other = Attesting(attesting.registry, attesting.enforcement, attesting.enforcement)
    assert (await other.try_register(ALONE)).status_code == 403


def _with(key: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {**deepcopy(key), **members}


async def test_a_key_that_is_unsafe_or_malformed_is_refused(attesting: Attesting) -> None:
    key = ALONE.key
    infinite, outside = ["0", "1", "0"], proving.outside_subgroup()
    unreduced = [str(int(key["vk_alpha_1"][0]) + proving.FIELD_ORDER), *key["vk_alpha_1"][1:]]
    cases = [
        {"verification_key": _with(key, vk_alpha_1=infinite)},
        {"verification_key": _with(key, vk_alpha_1=unreduced)},
        {"verification_key": _with(key, vk_alpha_1=["1", "3", "1"])},
        {"verification_key": _with(key, vk_delta_2=outside)},
        {"verification_key": _with(key, vk_delta_2=key["vk_gamma_2"])},
        {"verification_key": _with(key, IC=[*key["IC"][:2], infinite])},
        {"verification_key": _with(key, IC=key["IC"][:2])},
        {"holder_input": 2},
        {"context_input": 0},
    ]
    for members in cases:
        assert refused(await attesting.try_register(ALONE, **members)) == (422, "VERIFICATION_KEY_INVALID")
    malformed = [
        {"verification_key": _with(key, curve="bls12381")},
        {"verification_key": _with(key, protocol="plonk")},
        {"verification_key": _with(key, nPublic=33)},
        {"verification_key": _with(key, more=1)},
        {"source_uri": "http://circuits.example.org/"},
        {"holder_input": -1},
        {"circuit_id": "Upper"},
        {"statement": "Turns \u202e round."},
    ]
    for members in malformed:
        assert (await attesting.try_register(ALONE, **members)).status_code == 422


async def test_no_proof_of_a_retired_circuit_is_accepted_and_its_attestations_stay(
    attesting: Attesting, alice: TestAgent
) -> None:
    circuit = await attesting.circuit(ALONE)
    attestation = await attesting.attest(alice, circuit, None)
    path = f"/admin/zkp/circuits/{circuit}/retire"
    retired = [
        await attesting.registry.post(path, json={}, headers=attesting.platform.headers) for _ in range(2)
    ]
    assert [one.json()["status"] for one in retired] == ["retired"] * 2
    assert retired[0].json() == retired[1].json()
    answer = await attesting.try_submit(alice, circuit, **proof_of(alice, None, "21"))
    assert refused(answer) == (409, "CIRCUIT_RETIRED")
    assert (await attesting.read(attestation))["status"] == "verified"


# Submissions


async def test_a_proof_is_answered_as_published_and_everybody_reads_the_attestation(
    attesting: Attesting, bound: str
) -> None:
    carol = await (await attesting.registry.developer()).agent()
    members = proof_of(carol, TOKEN)
    answer = await attesting.try_submit(carol, bound, **members)
    assert answer.status_code == 201, answer.text
    submitted = answer.json()
    assert set(submitted) == {"attestation_id", "status", "circuit_id", "public_inputs", "expires_at"}
    assert (submitted["status"], submitted["public_inputs"]) == ("verified", members["public_inputs"])
    shown = await attesting.read(submitted["attestation_id"])
    assert shown["proof_data"] == members["proof_data"]
    assert (shown["agent_did"], shown["context"]) == (carol.did, {**TOKEN, "contract_id": None})
    held = await attesting.attest(carol, bound, {"contract_id": 7})
    listed = (await attesting.registry.get(f"/attestations?agent={carol.did}&limit=1")).json()
    assert [one["attestation_id"] for one in listed["attestations"]] == [held]
    following = f"/attestations?agent={carol.did}&limit=1&next={listed['next']}"
    second = (await attesting.registry.get(following)).json()
    assert (second["attestations"], second["next"]) == ([shown], None)
    await require_schemas_kept(attesting.registry.database, "AttestationVerified")


async def test_another_proof_of_the_same_inputs_renews_the_attestation_and_makes_no_other(
    attesting: Attesting, alice: TestAgent, bound: str
) -> None:
    members = proof_of(alice, TOKEN, "33")
    first = (await attesting.try_submit(alice, bound, **members)).json()
    others = proving.again(BOUND.key, members["proof_data"])
    for proof in (members["proof_data"], others["negated"], others["shifted"]):
        answer = await attesting.try_submit(alice, bound, **{**members, "proof_data": proof})
        assert answer.status_code == 200, answer.text
        assert answer.json()["attestation_id"] == first["attestation_id"]
        assert answer.json()["expires_at"] > first["expires_at"]


async def test_a_proof_about_another_holder_or_subject_is_refused(
    attesting: Attesting, alice: TestAgent, bob: TestAgent, bound: str, alone: str
) -> None:
    stolen = proof_of(alice, TOKEN)
    inputs = stolen["public_inputs"]
    unreduced = [str(int(inputs[0]) + proving.GROUP_ORDER), *inputs[1:]]
    cases = [
        (bob, bound, stolen),
        (alice, bound, {**stolen, "context": {"token_id": "22222222-2222-4222-8222-222222222222"}}),
        (alice, bound, {**stolen, "context": {"contract_id": 1}}),
        (alice, bound, {**stolen, "context": None}),
        (alice, bound, {**stolen, "public_inputs": inputs[:2]}),
        (alice, bound, {**stolen, "public_inputs": [*inputs, "1"]}),
        (alice, bound, {**stolen, "public_inputs": unreduced}),
        (alice, bound, {**stolen, "public_inputs": [*inputs[:2], "015"]}),
        (alice, alone, {**proof_of(alice, None), "context": TOKEN}),
    ]
    for agent, circuit, members in cases:
        assert refused(await attesting.try_submit(agent, circuit, **members)) == (
            422,
            "PUBLIC_INPUTS_INVALID",
        )
    for context in ({}, {**TOKEN, "contract_id": 1}, {"contract_id": 0}):
        answer = await attesting.try_submit(alice, bound, **{**stolen, "context": context})
        assert answer.status_code == 422
    assert refused(await attesting.try_submit(alice, "none", **stolen)) == (404, "CIRCUIT_UNKNOWN")


async def test_a_bad_proof_is_refused_and_has_used_a_submission(
    attesting: Attesting, alice: TestAgent, bound: str
) -> None:
    good, other = proof_of(alice, TOKEN, "55"), proof_of(alice, TOKEN, "77")
    proof = good["proof_data"]
    cases = [
        {**good, "proof_data": other["proof_data"]},
        {**good, "proof_data": {**proof, "pi_b": proving.outside_subgroup()}},
        {**good, "proof_data": {**proof, "pi_a": ["0", "1", "0"]}},
        {**good, "proof_data": {**proof, "pi_a": ["1", "3", "1"]}},
    ]
    for members in cases:
        assert refused(await attesting.try_submit(alice, bound, **members)) == (422, "PROOF_INVALID")
    assert await _submitted(attesting, alice) == len(cases)
    padded = {**proof, "pi_a": [f"0{proof['pi_a'][0]}", *proof["pi_a"][1:]]}
    for changed in (padded, {**proof, "pi_c": ["-1", "2", "1"]}):
        answer = await attesting.try_submit(alice, bound, **{**good, "proof_data": changed})
        assert refused(answer) == (422, "PROOF_INVALID")


async def _submitted(attesting: Attesting, agent: TestAgent) -> int:
    counted = "SELECT coalesce(max(count), 0) FROM proofs_submitted WHERE agent_did = $1"
    found: int = await attesting.registry.database.read(lambda tx: tx.fetchval(counted, agent.did))
    return found


async def test_an_agent_submits_20_proofs_a_day_at_once_included(
    attesting: Attesting, alice: TestAgent, bound: str
) -> None:
    database = attesting.registry.database
    count_19 = "INSERT INTO proofs_submitted SELECT $1, (clock_timestamp() AT TIME ZONE 'UTC')::date, 19"
    await database.transaction(lambda tx: tx.execute(count_19, alice.did))
    bad = {**proof_of(alice, TOKEN, "55"), "proof_data": proof_of(alice, TOKEN, "77")["proof_data"]}
    answers = await at_once(*(attesting.try_submit(alice, bound, **bad) for _ in range(2)))
    assert sorted(refused(one) for one in answers) == [(422, "PROOF_INVALID"), (429, "QUOTA_REACHED")]
    await database.transaction(lambda tx: tx.execute("UPDATE proofs_submitted SET day = day - 1"))
    assert refused(await attesting.try_submit(alice, bound, **bad)) == (422, "PROOF_INVALID")
    assert await _submitted(attesting, alice) == 1


async def test_the_same_submission_at_once_makes_one_attestation(
    attesting: Attesting, alice: TestAgent, alone: str
) -> None:
    members = proof_of(alice, None, "91")
    answers = await at_once(*(attesting.try_submit(alice, alone, **members) for _ in range(2)))
    assert sorted(one.status_code for one in answers) == [200, 201]
    assert len({one.json()["attestation_id"] for one in answers}) == 1


async def test_a_repeated_submission_gets_the_first_answer_and_counts_once(
    attesting: Attesting, alice: TestAgent, alone: str
) -> None:
    members = proof_of(alice, None, "93")
    first, second = [await attesting.try_submit(alice, alone, key="once", **members) for _ in range(2)]
    assert (first.status_code, second.status_code, first.json()) == (201, 201, second.json())
    assert second.headers["idempotent-replayed"] == "true"
    assert await _submitted(attesting, alice) == 1
    other = await attesting.try_submit(alice, alone, key="once", **proof_of(alice, None, "95"))
    assert refused(other) == (422, "IDEMPOTENCY_KEY_REUSED")


# Ends


async def test_the_holder_and_administrators_of_enforcement_revoke_for_good(
    attesting: Attesting, alice: TestAgent, bob: TestAgent, alone: str
) -> None:
    for value, by in (("3", alice), ("5", attesting.enforcement)):
        members = proof_of(alice, None, value)
        made = (await attesting.try_submit(alice, alone, **members)).json()["attestation_id"]
        for stranger in (bob, attesting.platform):
            assert refused(await attesting.revoke(made, stranger)) == (403, "NOT_THE_HOLDER")
        revoked, again = await attesting.revoke(made, by), await attesting.revoke(made, by)
        assert (revoked.status_code, revoked.json()) == (200, again.json())
        assert (await attesting.read(made))["status"] == "revoked"
        answer = await attesting.try_submit(alice, alone, **members)
        assert refused(answer) == (409, "ATTESTATION_REVOKED")
    unknown = TOKEN["token_id"]
    assert refused(await attesting.revoke(unknown, alice)) == (404, "ATTESTATION_UNKNOWN")
    assert refused(await attesting.registry.get(f"/attestations/{unknown}")) == (404, "ATTESTATION_UNKNOWN")
    await require_schemas_kept(attesting.registry.database, "AttestationRevoked")


async def test_an_attestation_ends_after_90_days_until_it_is_submitted_again(
    attesting: Attesting, alice: TestAgent, alone: str
) -> None:
    made = await attesting.attest(alice, alone, None)
    database = attesting.registry.database
    lasts = "SELECT expires_at - now() > interval '89 days 23 hours' FROM proofs_attestation WHERE attestation_id = $1::text::uuid"
    assert await database.read(lambda tx: tx.fetchval(lasts, made))
    pass_90_days = """UPDATE proofs_attestation SET verified_at = verified_at - interval '90 days',
    expires_at = expires_at - interval '90 days' WHERE attestation_id = $1::text::uuid"""
    await database.transaction(lambda tx: tx.execute(pass_90_days, made))
    assert (await attesting.read(made))["status"] == "expired"
    assert await attesting.attest(alice, alone, None) == made
    assert (await attesting.read(made))["status"] == "verified"


# The process that verifies


async def test_a_process_that_fails_refuses_with_503_and_changes_nothing(
    attesting: Attesting, alice: TestAgent, alone: str
) -> None:
    runtime, members = attesting.registry.runtime, proof_of(alice, None, "123457")
    usual = proofs.VERIFIER.of(runtime)
    for program, seconds in ((("false",), 20.0), (("sleep", "60"), 0.2), (("echo", "{}"), 20.0)):
        proofs.VERIFIER.put(runtime, Verifier(program, seconds))
        try:
            answer = await attesting.try_submit(alice, alone, **members)
        finally:
            proofs.VERIFIER.put(runtime, usual)
        assert refused(answer) == (503, "VERIFIER_UNAVAILABLE")
        assert int(answer.headers["retry-after"]) > 0
    assert (await attesting.try_submit(alice, alone, **members)).status_code == 201


async def test_one_developer_has_two_places_in_the_queue_and_another_is_served_beside_them(
    attesting: Attesting, bob: TestAgent, alone: str
) -> None:
    runtime, owner = attesting.registry.runtime, await attesting.registry.developer()
    *waiting, third = [await owner.agent() for _ in range(3)]
    usual = proofs.VERIFIER.of(runtime)
    proofs.VERIFIER.put(runtime, Verifier(("sleep", "60"), 30.0))
    sent = []
    try:
        for one in (*waiting, bob):
            members = proof_of(one, None, "123463")
            sent.append(asyncio.create_task(attesting.try_submit(one, alone, **members)))
            while not await _submitted(attesting, one):
                assert (await attesting.registry.get("/circuits/")).status_code == 200
        answer = await attesting.try_submit(third, alone, **proof_of(third, None))
        assert refused(answer) == (429, "PROOFS_WAITING")
        assert int(answer.headers["retry-after"]) > 0
        assert not await _submitted(attesting, third)
    finally:
        proofs.VERIFIER.put(runtime, usual)
        for one in sent:
            one.cancel()
        await asyncio.gather(*sent, return_exceptions=True)


async def test_other_requests_are_served_while_a_proof_is_verified(
    attesting: Attesting, alice: TestAgent, alone: str
) -> None:
    runtime = attesting.registry.runtime
    usual = proofs.VERIFIER.of(runtime)
    proofs.VERIFIER.put(runtime, Verifier(("sleep", "60"), 30.0))
    try:
        waiting = asyncio.create_task(attesting.try_submit(alice, alone, **proof_of(alice, None, "123461")))
        while not await _submitted(attesting, alice):
            assert (await attesting.registry.get("/circuits/")).status_code == 200
        assert (await attesting.registry.get("/circuits/")).status_code == 200
        assert not waiting.done()
        waiting.cancel()
    finally:
        proofs.VERIFIER.put(runtime, usual)


async def test_proofs_are_off_unless_the_operator_turns_them_on(
    start_registry: StartRegistry, attesting: Attesting
) -> None:
    registry = await start_registry()
    agent = await (await registry.developer()).agent()
    body = {"circuit_id": "none", **proof_of(agent, None)}
    answer = await registry.post("/attestations/submit", json=body, headers=agent.headers)
    assert refused(answer) == (403, "ZKP_DISABLED")
    for one, phases in ((registry, []), (attesting.registry, [1])):
        card = (await one.http.get("/.well-known/registry-card.json")).json()
        assert card["capabilities"]["zkp_phases_enabled"] == phases
