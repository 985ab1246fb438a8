"""Specification 2, "Jurisdiction declarations"; decisions T: authorizations, parked acts, proofs of contracts, compliance."""

import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from hansa.foundation.values.canonical import canonical_json
from hansa.rooms import federation
from hansa_verify import read_keys, verify_registry_card
from tests.registry import DatabaseFarm, TestDeveloper, TestRegistry, at_once
from tests.rooms.commerce.agreements import Agreements, open_agreements

PROFILE = {
    "name": "Example law",
    "version": "2026-1",
    "declared_at": "2026-01-31T12:00:00+00:00",
    "denied_features": ["staking"],
    "regulated_actions": ["exchange.listing", "fiat.lane", "registry.operation"],
}
REFERENCE = {"tier": "reference", "reference": "Register no. 42"}
ADMIN = "/admin/jurisdiction/authorizations"


@pytest.fixture(scope="module")
async def agreements(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Agreements]:
    directory = tmp_path_factory.mktemp("jurisdiction")
    profile = directory / "profile.json"
    profile.write_text(json.dumps(PROFILE))
    async with open_agreements(database_farm, directory, jurisdiction_profile=profile) as opened:
        yield opened


@pytest.fixture(scope="module")
async def registry(agreements: Agreements) -> TestRegistry:
    return agreements.registry


@pytest.fixture(scope="module")
async def admin(registry: TestRegistry) -> TestDeveloper:
    return await registry.administrator("admin_platform")


class ProfileFile:
    """The file of JURISDICTION_PROFILE."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, content: bytes) -> None:
        self._path.write_bytes(content)

    def remove(self) -> None:
        self._path.unlink()


@pytest.fixture
def profile_file(registry: TestRegistry) -> Iterator[ProfileFile]:
    """The profile, whole again after the test."""
    assert registry.settings.jurisdiction_profile is not None
    file = ProfileFile(registry.settings.jurisdiction_profile)
    yield file
    file.write(json.dumps(PROFILE).encode())


async def record(
    registry: TestRegistry, admin: TestDeveloper, status: int = 201, **changed: Any
) -> dict[str, Any]:
    body = {
        "action": "fiat.lane",
        "authority": "Example authority",
        "subject": "hansa.local",
        "evidence": REFERENCE,
    }
    answer = await registry.post(ADMIN, json={**body, **changed}, headers=admin.headers)
    assert answer.status_code == status, answer.text
    recorded: dict[str, Any] = answer.json()
    return recorded


async def withdraw(registry: TestRegistry, admin: TestDeveloper, recorded: dict[str, Any]) -> int:
    answer = await registry.http.delete(f"/api/v1{ADMIN}/{recorded['id']}", headers=admin.headers)
    return answer.status_code


async def act(registry: TestRegistry, action: str, subject: str = "hansa.local") -> Any:
    return await registry.get(f"/jurisdiction/acts/{action}", params={"subject": subject})


async def card_of(registry: TestRegistry) -> dict[str, Any]:
    card: dict[str, Any] = (await registry.http.get("/.well-known/registry-card.json")).json()
    return card


def digest_of(value: Any) -> str:
    return "sha256:" + sha256(canonical_json(value)).hexdigest()


async def test_a_declared_act_without_an_authorization_is_parked_with_a_checklist(registry: TestRegistry):
    answer = await act(registry, "fiat.lane")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "JURISDICTION_ACT_PARKED")
    assert answer.json()["action"] == "fiat.lane"
    assert answer.json()["checklist"] == [
        {
            "authority": "Example law",
            "subject": "hansa.local",
            "call": "POST /api/v1/admin/jurisdiction/authorizations",
        }
    ]


async def test_the_call_of_the_checklist_clears_the_act_until_it_is_withdrawn(
    registry: TestRegistry, admin: TestDeveloper
):
    missing = (await act(registry, "fiat.lane")).json()["checklist"][0]
    method, path = missing["call"].split()
    body = {"action": "fiat.lane", "authority": "A", "subject": missing["subject"], "evidence": REFERENCE}
    answer = await registry.http.request(method, path, json=body, headers=admin.headers)
    assert answer.status_code == 201
    cleared = (await act(registry, "fiat.lane")).json()
    assert (cleared["declared"], cleared["gated"]) == (True, True)
    assert cleared["authorization"]["id"] == answer.json()["id"]
    assert (await act(registry, "fiat.lane", "elsewhere.example")).status_code == 409
    assert await at_once(*(withdraw(registry, admin, answer.json()) for _ in range(3))) in [
        [200, 404, 404], [404, 200, 404], [404, 404, 200]
    ]  # fmt: skip
    assert (await act(registry, "fiat.lane")).status_code == 409


async def test_an_act_that_is_not_declared_and_the_operation_of_the_registry_are_never_gated(
    registry: TestRegistry,
):
    undeclared = (await act(registry, "exchange.ipo")).json()
    assert (undeclared["declared"], undeclared["gated"], undeclared["authorization"]) == (False, False, None)
    operation = (await act(registry, "registry.operation")).json()
    assert (operation["declared"], operation["gated"]) == (True, False)


async def test_an_unknown_key_is_rejected_at_save(registry: TestRegistry, admin: TestDeveloper):
    refused = await record(registry, admin, 422, action="exchange.delisting")
    assert refused["error"]["field"] == "action"
    assert (await act(registry, "exchange.delisting")).status_code == 422


@pytest.mark.parametrize("subject", ["\x00", "x" * 513, "", "\ud800"])
async def test_a_subject_that_cannot_be_stored_is_refused(registry: TestRegistry, subject: str):
    query = quote(subject, errors="surrogatepass")
    answer = await registry.get(f"/jurisdiction/acts/fiat.lane?subject={query}")
    assert answer.status_code in {400, 422}, answer.text


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"evidence": {"tier": "reference"}}, "evidence"),
        ({"evidence": {"tier": "hash", "reference": "A document"}}, "evidence"),
        ({"evidence": {"tier": "hash", "sha256": "0" * 63}}, "evidence.sha256"),
        ({"evidence": {"tier": "hash", "sha256": "0" * 64, "contract_id": 1}}, "evidence"),
        ({"evidence": {"tier": "contract", "contract_id": 999_999}}, "evidence.contract_id"),
        ({"evidence": {"tier": "sworn", "reference": "x"}}, "evidence.tier"),
        ({"valid_until": "2020-01-01T00:00:00Z"}, "valid_until"),
        ({"authority": "\u200b"}, "authority"),
        ({"subject": "x" * 513}, "subject"),
        ({"surplus": 1}, "surplus"),
    ],
)
async def test_an_authorization_without_the_evidence_of_its_tier_is_refused_and_nothing_is_recorded(
    registry: TestRegistry, admin: TestDeveloper, changed: dict[str, Any], field: str
):
    before = (await registry.get("/jurisdiction/authorizations")).json()
    refused = await record(registry, admin, 422, **changed)
    assert refused["error"]["field"] == field
    assert (await registry.get("/jurisdiction/authorizations")).json() == before


async def test_an_authorization_ends_with_its_validity(registry: TestRegistry, admin: TestDeveloper):
    ends = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    recorded = await record(registry, admin, action="exchange.listing", subject="ENDS", valid_until=ends)
    assert (await act(registry, "exchange.listing", "ENDS")).status_code == 200
    past = (
        "UPDATE federation_authorization SET valid_until = clock_timestamp() - interval '1 s' WHERE id = $1"
    )
    await registry.database.transaction(lambda tx: tx.execute(past, recorded["id"]))
    assert (await act(registry, "exchange.listing", "ENDS")).status_code == 409
    assert await withdraw(registry, admin, recorded) == 404


async def test_the_card_has_profile_and_live_authorizations_under_a_signed_digest(
    registry: TestRegistry, admin: TestDeveloper
):
    document = sha256(b"permit").hexdigest()
    recorded = await record(
        registry, admin, action="registry.operation", evidence={"tier": "hash", "sha256": document}
    )
    card = await card_of(registry)
    block = card["compliance"]
    assert recorded in block["authorizations"]
    assert recorded["evidence"] == {"tier": "hash", "sha256": document}
    assert (block["profile"], block["version"], block["denied_features"]) == (
        "Example law",
        "2026-1",
        ["staking"],
    )
    assert block["regulated_actions"] == PROFILE["regulated_actions"]
    assert block["profile_hash"] == digest_of(PROFILE)
    assert block["digest"] == digest_of({name: block[name] for name in block if name != "digest"})
    assert "compliance.digest" in card["signature"]["signed_canonical"]
    keys = read_keys((await registry.http.get("/.well-known/registry-jwks.json")).json())
    assert verify_registry_card(json.dumps(card), keys).code == "verified"
    altered = {**card, "compliance": {**block, "digest": digest_of("other")}}
    assert verify_registry_card(json.dumps(altered), keys).code == "bad_signature"
    assert await withdraw(registry, admin, recorded) == 200
    after = await card_of(registry)
    assert recorded not in after["compliance"]["authorizations"]
    assert after["lifecycle"]["card_etag"] != card["lifecycle"]["card_etag"]


async def test_the_public_list_has_the_live_authorizations(registry: TestRegistry, admin: TestDeveloper):
    recorded = await record(registry, admin, action="exchange.listing", subject="LIST")
    listed = (await registry.get("/jurisdiction/authorizations")).json()
    assert recorded in listed["authorizations"]
    assert listed["count"] == len(listed["authorizations"])
    assert listed["authorizations"] == (await card_of(registry))["compliance"]["authorizations"]
    assert await withdraw(registry, admin, recorded) == 200
    assert recorded not in (await registry.get("/jurisdiction/authorizations")).json()["authorizations"]


async def test_a_contract_proof_is_404_without_an_authorization_200_with_one_and_409_once_it_is_disputed(
    agreements: Agreements, registry: TestRegistry, admin: TestDeveloper
):
    alice, bob = await agreements.contractor(), await agreements.provider()
    contract = await agreements.accepted(
        alice, bob, contract_type="attestation", title="Zulassung für Köln", terms={"b": "ü", "a": [1, None]}
    )
    path = f"/jurisdiction/contracts/{contract['id']}"
    assert (await registry.get(path)).status_code == 404
    evidence = {"tier": "contract", "contract_id": contract["id"]}
    recorded = await record(registry, admin, action="exchange.listing", subject="PROOF", evidence=evidence)
    proof = (await registry.get(path)).json()
    assert (proof["authorization_id"], proof["verdict"]) == (recorded["id"], "attestation-grade")
    assert (proof["subset"]["terms"], proof["subset"]["provider_did"]) == (contract["terms"], bob.did)
    assert "status" not in proof["subset"]
    text = json.dumps(proof["subset"], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert proof["digest"] == sha256(text.encode()).hexdigest() == recorded["evidence"]["contract_digest"]
    assert (await act(registry, "exchange.listing", "PROOF")).status_code == 200
    await agreements.act(bob, contract, "submit")
    assert (await registry.get(path)).json() == proof
    await agreements.act(alice, contract, "mark-failed", reason="Not done.")
    refused = await registry.get(path)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "CONTRACT_NOT_ATTESTATION_GRADE")
    assert refused.json()["error"]["context"]["problem"] == "It is FAILED."
    assert (await act(registry, "exchange.listing", "PROOF")).status_code == 409
    assert await withdraw(registry, admin, recorded) == 200
    assert (await registry.get(path)).status_code == 404


async def test_a_contract_that_is_not_countersigned_or_is_for_its_parties_alone_is_no_evidence(
    agreements: Agreements, registry: TestRegistry, admin: TestDeveloper
):
    alice, bob = await agreements.contractor(), await agreements.provider()
    proposed = await agreements.propose(alice, bob, contract_type="attestation")
    private = await agreements.accepted(alice, bob)
    for contract in (proposed, private):
        evidence = {"tier": "contract", "contract_id": contract["id"]}
        refused = await record(registry, admin, 422, evidence=evidence)
        assert refused["error"]["code"] == "EVIDENCE_REFUSED"


async def test_a_corrupt_profile_fails_open(registry: TestRegistry, profile_file: ProfileFile):
    assert (await act(registry, "fiat.lane")).status_code == 409
    for content in (b"{", b"[]", b"\xff" * 70_000):
        profile_file.write(content)
        answer = await act(registry, "fiat.lane")
        assert (answer.status_code, answer.json()["declared"]) == (200, False)
    profile_file.remove()
    assert (await act(registry, "fiat.lane")).status_code == 200


async def test_a_failed_lookup_of_authorizations_fails_closed_with_503(registry: TestRegistry):
    rename = "ALTER TABLE federation_authorization RENAME TO {}"
    await registry.database.transaction(lambda tx: tx.execute(rename.format("away")))
    try:
        answer = await act(registry, "fiat.lane")
    finally:
        await registry.database.transaction(
            lambda tx: tx.execute("ALTER TABLE away RENAME TO federation_authorization")
        )
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "JURISDICTION_LOOKUP_FAILED")
    assert "retry-after" in answer.headers


async def test_without_profile_and_authorizations_there_is_no_compliance_block_and_with_one_the_profile_is_null(
    registry: TestRegistry, admin: TestDeveloper, profile_file: ProfileFile
):
    profile_file.remove()
    for listed in (await registry.get("/jurisdiction/authorizations")).json()["authorizations"]:
        assert await withdraw(registry, admin, listed) == 200
    runtime = registry.runtime
    await registry.database.transaction(
        lambda tx: federation.publish_card(tx, runtime.settings, runtime.seal)
    )
    assert "compliance" not in await card_of(registry)
    recorded = await record(registry, admin)
    block = (await card_of(registry))["compliance"]
    assert (block["profile"], block["regulated_actions"]) == (None, [])
    assert block["authorizations"] == [recorded]
    assert await withdraw(registry, admin, recorded) == 200


async def test_a_registry_has_at_most_100_live_authorizations(registry: TestRegistry, admin: TestDeveloper):
    fill = """
    INSERT INTO federation_authorization (action, authority, subject, tier, reference)
    SELECT 'exchange.ipo', 'A', 'FULL', 'reference', 'R' FROM generate_series(1, 99 - $1)
    """
    count = (await registry.get("/jurisdiction/authorizations")).json()["count"]
    await registry.database.transaction(lambda tx: tx.execute(fill, count))
    try:
        answers = await at_once(
            *(
                registry.post(
                    ADMIN,
                    json={"action": "fiat.lane", "authority": "A", "subject": "LAST", "evidence": REFERENCE},
                    headers=admin.headers,
                )
                for _ in range(3)
            )
        )
        assert sorted(answer.status_code for answer in answers) == [201, 409, 409]
    finally:
        await registry.database.transaction(
            lambda tx: tx.execute("DELETE FROM federation_authorization WHERE subject IN ('FULL', 'LAST')")
        )
