"""Attestations in disputes as the specification has them: parties cite them, and those of the defendant reduce a slash."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hansa.doors.commands.program import app
from hansa_verify import reduction_of, states_reduction
from tests.attesting import ALONE, BOUND, Attesting, proof_of
from tests.paying import Payments
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.commerce.agreements import refused
from tests.rooms.commerce.disputing import EVIDENCE, FOR_COMPLAINANT, FOR_DEFENDANT, Disputing, open_disputing

UNKNOWN = "11111111-1111-4111-8111-111111111111"
PHASES = {"zkp_phases": ["1", "2"], "zkp_dispute_slash_reduction": "0.15"}


@pytest.fixture(scope="module")
async def open_here(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Disputing]:
    directory = tmp_path_factory.mktemp("attested")
    async with open_disputing(database_farm, directory, **PHASES) as disputing:
        yield disputing


@pytest.fixture
async def disputes(open_here: Disputing) -> AsyncIterator[Disputing]:
    """No unit is made or lost in any conversation."""
    yield open_here
    await open_here.agreements.prove()


@pytest.fixture(scope="module")
async def attesting(open_here: Disputing) -> Attesting:
    return await Attesting.at(open_here.registry)


@pytest.fixture(scope="module")
async def circuits(attesting: Attesting) -> list[str]:
    """Four circuits that bind a subject."""
    return [await attesting.circuit(BOUND) for _ in range(4)]


@pytest.fixture
async def alice(disputes: Disputing) -> TestAgent:
    return await disputes.agreements.contractor()


@pytest.fixture
async def bob(disputes: Disputing) -> TestAgent:
    return await disputes.agreements.provider()


@pytest.fixture
def parties(alice: TestAgent, bob: TestAgent) -> tuple[TestAgent, TestAgent]:
    return alice, bob


async def paid_token(disputes: Disputing, alice: TestAgent, bob: TestAgent, amount: str = "100") -> str:
    """The id of a payment token of Alice that paid Bob."""
    payments = Payments(disputes.registry, alice, bob)
    token = await payments.authorized(amount)
    await payments.settle(token["token"], wait=20)
    token_id: str = token["token_id"]
    return token_id


async def cite(disputes: Disputing, by: TestAgent, dispute: Any, *attestations: str) -> Any:
    answer = await disputes.post(by, f"{dispute['id']}/evidence", attestation_ids=attestations)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def bundle_of(disputes: Disputing, by: TestAgent, dispute: Any) -> Any:
    answer = await disputes.registry.get(f"/disputes/{dispute['id']}/bundle", headers=by.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def verified(disputes: Disputing, document: Any, directory: Path) -> tuple[int, str]:
    """The exit code and the output of `hansa verify verdict` for a bundle."""
    keys, file = directory / "keys.json", directory / "bundle.json"
    keys.write_text((await disputes.registry.http.get("/.well-known/registry-jwks.json")).text)
    file.write_text(json.dumps(document))
    arguments = ["verify", "verdict", str(file), "--keys", str(keys)]
    ended = await asyncio.to_thread(CliRunner().invoke, app, arguments)
    return ended.exit_code, ended.output


async def test_a_citation_names_an_attestation_that_exists(
    disputes: Disputing, attesting: Attesting, circuits: list[str], alice: TestAgent, bob: TestAgent
) -> None:
    held = await attesting.attest(bob, circuits[0], {"contract_id": 1})
    for given in (["zkp-1"], [UNKNOWN], [held, UNKNOWN], [held.upper()]):
        answer = await disputes.try_file(alice, bob, attestation_ids=given)
        assert refused(answer) == (422, "ATTESTATION_UNKNOWN")
    filed = await disputes.file(alice, bob, attestation_ids=[held, held])
    assert filed["attestation_ids"] == [held]
    path = f"{filed['id']}/evidence"
    answer = await disputes.post(bob, path, **EVIDENCE, attestation_ids=[UNKNOWN])
    assert refused(answer) == (422, "ATTESTATION_UNKNOWN")
    assert (await disputes.read(alice, filed)).json()["evidence"] == []


async def test_either_party_cites_beside_evidence_or_alone_and_each_at_most_20(
    disputes: Disputing, attesting: Attesting, circuits: list[str], alice: TestAgent, bob: TestAgent
) -> None:
    first, second, third = [
        await attesting.attest(agent, circuit, {"contract_id": 1})
        for agent, circuit in ((alice, circuits[0]), (bob, circuits[0]), (bob, circuits[1]))
    ]
    filed = await disputes.file(alice, bob, attestation_ids=[first])
    path = f"{filed['id']}/evidence"
    both = await disputes.post(bob, path, **EVIDENCE, attestation_ids=[second])
    assert (both.status_code, len(both.json()["evidence"])) == (201, 1)
    alone = await cite(disputes, bob, filed, third, second)
    assert (alone["attestation_ids"], len(alone["evidence"])) == ([first, second, third], 1)
    for malformed in ({}, {"note": "No digest."}, {"attestation_ids": [first], "uri": "https://x.example/"}):
        assert (await disputes.post(bob, path, **malformed)).status_code == 422
    assert (await disputes.post(bob, path, attestation_ids=[first] * 21)).status_code == 422
    # The first nineteen are cited already, as rows of the table.
    cited = "INSERT INTO commerce_dispute_citation (dispute_id, by_did, attestation_id) SELECT $1, $2, n::text FROM generate_series(1, 18) n"
    database = disputes.registry.database
    await database.transaction(lambda tx: tx.execute(cited, filed["id"], bob.did))
    more = await attesting.attest(bob, circuits[2], {"contract_id": 1})
    answer = await disputes.post(bob, path, attestation_ids=[more])
    assert refused(answer) == (409, "TOO_MANY_ATTESTATIONS")
    assert (await disputes.post(alice, path, attestation_ids=[more])).status_code == 201


async def test_attestations_of_the_defendant_about_the_subject_reduce_the_slash_one_for_each_circuit(
    disputes: Disputing,
    attesting: Attesting,
    circuits: list[str],
    parties: tuple[TestAgent, TestAgent],
    tmp_path: Path,
) -> None:
    alice, bob = parties
    token = {"token_id": await paid_token(disputes, alice, bob)}
    alone = await attesting.circuit(ALONE)
    counted = [await attesting.attest(bob, circuit, token) for circuit in circuits[:2]]
    more = await attesting.try_submit(bob, circuits[0], **proof_of(bob, token, "21"))
    others = [
        more.json()["attestation_id"],
        await attesting.attest(alice, circuits[2], token),
        await attesting.attest(bob, circuits[2], {"token_id": UNKNOWN}),
        await attesting.attest(bob, circuits[3], {"contract_id": 1}),
        await attesting.attest(bob, alone, None),
    ]
    filed = await disputes.file(alice, bob, **token, attestation_ids=[others[1]])
    await cite(disputes, bob, filed, *counted, *others)
    await disputes.open_voting(filed)
    before = await bundle_of(disputes, alice, filed)
    assert before["slash"] == {
        "as_of": before["slash"]["as_of"],
        "share_each": "0.15",
        "share": "0.30",
        "attestation_ids": counted,
        "requested": None,
        "reduction": None,
    }
    ruling = {"slash_amount": "0.00000005", "compensation_amount": "0", "note": "Half of it is missing."}
    ruled = await disputes.rule(filed, FOR_COMPLAINANT, **ruling)
    # 0.3 of 5 smallest units are 1.5: half to even.
    assert (ruled["slash_requested"], ruled["slash_reduction"]) == ("0.00000005", "0.00000002")
    assert ruled["slash_applied"] == "0.00000003"
    assert await disputes.rule(filed, FOR_COMPLAINANT, **ruling) == ruled
    event = (await disputes.events(filed))[-1]
    assert event[0] == "DisputeRuled"
    assert (event[1]["slash_reduction"], event[1]["attestation_ids"]) == ("0.00000002", counted)
    after = await bundle_of(disputes, alice, filed)
    assert (await verified(disputes, after, tmp_path))[0] == 0
    # A later end of an attestation changes no ruling.
    await attesting.revoke(counted[0], bob)
    later = await bundle_of(disputes, alice, filed)
    assert (later["slash"], later["attestations"]) == (after["slash"], after["attestations"])
    code, output = await verified(disputes, later, tmp_path)
    assert (code, "2 attestations take 0.30 of it" in output) == (0, True)


async def test_all_together_take_at_most_a_half_and_a_compensation_beyond_the_slash_waits(
    disputes: Disputing, attesting: Attesting, circuits: list[str], alice: TestAgent, bob: TestAgent
) -> None:
    token = {"token_id": await paid_token(disputes, alice, bob)}
    held = [await attesting.attest(bob, circuit, token) for circuit in circuits]
    filed = await disputes.file(alice, bob, **token)
    await cite(disputes, bob, filed, *held)
    await disputes.open_voting(filed)
    issued, destroyed = await disputes.supply()
    ruled = await disputes.rule(
        filed, FOR_COMPLAINANT, slash_amount="60", compensation_amount="60", note="Half is missing."
    )
    assert (ruled["slash_reduction"], ruled["slash_applied"], ruled["award_amount"]) == ("30", "30", "30")
    assert await disputes.supply() == (issued + 30, destroyed + 30)


async def test_revoked_and_ended_attestations_and_rulings_without_a_slash_reduce_nothing(
    disputes: Disputing, attesting: Attesting, circuits: list[str], alice: TestAgent, bob: TestAgent
) -> None:
    token = {"token_id": await paid_token(disputes, alice, bob)}
    revoked, ended = [await attesting.attest(bob, circuit, token) for circuit in circuits[:2]]
    filed = await disputes.file(alice, bob, **token)
    await cite(disputes, bob, filed, revoked, ended)
    await attesting.revoke(revoked, bob)
    pass_90_days = """UPDATE proofs_attestation SET verified_at = verified_at - interval '90 days',
    expires_at = expires_at - interval '90 days' WHERE attestation_id = $1::text::uuid"""
    await disputes.registry.database.transaction(lambda tx: tx.execute(pass_90_days, ended))
    await disputes.open_voting(filed)
    ruled = await disputes.rule(filed, FOR_COMPLAINANT, slash_amount="10", note="As it was agreed.")
    assert (ruled["slash_reduction"], ruled["slash_applied"]) == ("0", "10")
    other = {"token_id": await paid_token(disputes, alice, bob)}
    won = await disputes.file(alice, bob, **other)
    await cite(disputes, bob, won, await attesting.attest(bob, circuits[2], other))
    await disputes.open_voting(won)
    decided = await disputes.rule(won, FOR_DEFENDANT, note="It came.")
    assert (decided["slash_reduction"], decided["slash_requested"]) == ("0", "0")


async def test_a_contract_is_the_subject_of_an_attestation_as_well(
    disputes: Disputing, attesting: Attesting, circuits: list[str], alice: TestAgent, bob: TestAgent
) -> None:
    contract = await disputes.agreements.submitted(alice, bob)
    subject = {"contract_id": contract["id"]}
    filed = await disputes.file(alice, bob, **subject)
    await cite(disputes, bob, filed, await attesting.attest(bob, circuits[0], subject))
    await disputes.open_voting(filed)
    ruled = await disputes.rule(filed, FOR_COMPLAINANT, slash_amount="10", note="As it was agreed.")
    assert ruled["slash_reduction"] == "1.5"


async def test_a_bundle_that_states_another_reduction_is_not_verified(
    disputes: Disputing,
    attesting: Attesting,
    circuits: list[str],
    parties: tuple[TestAgent, TestAgent],
    tmp_path: Path,
) -> None:
    alice, bob = parties
    token = {"token_id": await paid_token(disputes, alice, bob)}
    filed = await disputes.file(alice, bob, **token)
    await cite(disputes, bob, filed, await attesting.attest(bob, circuits[0], token))
    await disputes.open_voting(filed)
    await disputes.rule(filed, FOR_COMPLAINANT, slash_amount="10", note="As it was agreed.")
    stated = await bundle_of(disputes, alice, filed)
    reduction = reduction_of(stated)
    assert reduction is not None
    assert states_reduction(stated, reduction)
    for member, changed in (
        ("share", "0.3"),
        ("reduction", "1.6"),
        ("attestation_ids", []),
        ("requested", "9"),
    ):
        other = {**stated, "slash": {**stated["slash"], member: changed}}
        assert not states_reduction(other, reduction), member
        assert (await verified(disputes, other, tmp_path))[0] == 1
