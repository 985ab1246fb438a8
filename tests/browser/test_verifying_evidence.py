"""Proofs of contracts, bundles of disputes and scores on the page /verify: the browser judges as `hansa_verify` does."""

import json
from datetime import UTC, datetime

from playwright.async_api import Page, expect

from hansa_verify import propose, reduce_slash, states_reduction
from hansa_verify.canonical import read_moment
from hansa_verify.schema import form_of
from tests.rooms.commerce.agreements import proposal
from tests.verifier.achievements import FROZEN as ACHIEVEMENTS_FROZEN
from tests.verifier.contract_proofs import FROZEN
from tests.verifier.dispute_bundles import Setting, bundle_of
from tests.verifier.served import VECTORS, vectors_in
from tests.verifier.settlements import FROZEN as SETTLEMENTS_FROZEN
from tests.verifier.slash_reductions import drawn_bundles

CONTRACT_PROOFS = """async ([vectors, schemaText]) => {
  const { verifyContractProof } = await import("/static/verify_contract_proof.js");
  const { readKeys } = await import("/static/verify_card.js");
  const { read } = await import("/static/canonical.js");
  const { momentOf } = await import("/static/verdict.js");
  const schema = read(schemaText), codes = {};
  for (const { name, document, card, keys, at } of vectors) {
    codes[name] = (await verifyContractProof(document, card, readKeys(keys), { schema, at: momentOf(at) })).code;
  }
  return codes;
}"""
SETTLEMENTS = """async vectors => {
  const { verifySettlement } = await import("/static/verify_settlement.js");
  const { readKeys } = await import("/static/verify_card.js");
  const { momentOf } = await import("/static/verdict.js");
  const codes = {};
  for (const { name, document, keys, at } of vectors) {
    codes[name] = (await verifySettlement(document, readKeys(keys), { at: momentOf(at) })).code;
  }
  return codes;
}"""
ACHIEVEMENTS = """async vectors => {
  const { verifyAchievement } = await import("/static/verify_achievement.js");
  const { readKeys } = await import("/static/verify_card.js");
  const { momentOf } = await import("/static/verdict.js");
  const codes = {};
  for (const { name, document, keys, at } of vectors) {
    codes[name] = (await verifyAchievement(document, readKeys(keys), { at: momentOf(at) })).code;
  }
  return codes;
}"""
PROPOSALS = """async texts => {
  const { propose } = await import("/static/dispute.js");
  const { read } = await import("/static/canonical.js");
  const found = [];
  for (const text of texts) {
    const { ruling, rule } = await propose(read(text));
    found.push([ruling, rule]);
  }
  return found;
}"""
REDUCTIONS = """async texts => {
  const { reduction } = await import("/static/slash_reduction.js");
  const { read } = await import("/static/canonical.js");
  return texts.map((text) => reduction(read(text)).isStated);
}"""
MOMENTS = """async texts => {
  const { momentOf } = await import("/static/verdict.js");
  return texts.map(text => momentOf(text)?.toString() ?? null);
}"""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = (
    *("2026-01-31T12:00:00Z", "2026-01-31 12:00:00.5+01:00", "2026-01-31T12:00:00.123456789-23:59", "1969-12-31T23:59:59.000001Z"),
    *("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999999-23:59", "2024-02-29T00:00:00Z", "2026-02-29T00:00:00Z"),
    *("0000-01-01T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T12:60:00Z", "2026-01-31T12:00:60Z"),
    *("2026-01-31T12:00:00", "2026-01-31T12:00:00z", "20260131T120000Z", "2026-01-31T12:00Z", "2026-01-31", "2026-W05-6T12:00:00Z"),
    *("2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00+0100", "2026-01-31T12:00:00.Z", "2026-01-31T12:00:00Z\n", "٢٠٢٦-01-31T12:00:00Z"),
)  # fmt: skip


async def test_frozen_proofs_of_contracts_settlements_achievements_labelled_disputes_and_times_are_judged_as_the_verifier_judges_them(
    script_page: Page,
):
    vectors = vectors_in(FROZEN)
    asked = [{**one, "keys": json.dumps(one["keys"])} for one in vectors]
    found = await script_page.evaluate(CONTRACT_PROOFS, [asked, json.dumps(form_of("registry_card"))])
    assert found == {one["name"]: one["expect"] for one in vectors}

    settlements = vectors_in(SETTLEMENTS_FROZEN)
    asked = [{**one, "keys": json.dumps(one["keys"])} for one in settlements]
    found = await script_page.evaluate(SETTLEMENTS, asked)
    assert found == {one["name"]: one["expect"] for one in settlements}

    achievements = vectors_in(ACHIEVEMENTS_FROZEN)
    asked = [{**one, "keys": json.dumps(one["keys"])} for one in achievements]
    found = await script_page.evaluate(ACHIEVEMENTS, asked)
    assert found == {one["name"]: one["expect"] for one in achievements}

    cases = vectors_in(VECTORS / "verdicts" / "cases.jsonl")
    bundles = [bundle_of(case, Setting(factor=factor, has_noise=True)) for case in cases for factor in (1, 7)]
    expected = [[found.ruling, found.rule] for found in map(propose, bundles)]
    assert len({rule for _, rule in expected}) > 6
    assert await script_page.evaluate(PROPOSALS, [json.dumps(one) for one in bundles]) == expected

    reduced = list(drawn_bundles(1, 300))
    expected = [states_reduction(one, reduce_slash(one)) for one in reduced]
    assert {True, False} == set(expected)
    assert await script_page.evaluate(REDUCTIONS, [json.dumps(one) for one in reduced]) == expected

    moments = [microseconds(text) for text in TIMES]
    assert moments.count(None) == len(TIMES) - 7
    assert await script_page.evaluate(MOMENTS, list(TIMES)) == moments


def microseconds(text: str) -> str | None:
    """The time since 1970 as the verifier reads it."""
    timestamp = read_moment(text)
    if timestamp is None:
        return None
    since = timestamp - EPOCH
    return str((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds)


async def test_a_contract_that_is_evidence_and_all_scores_are_verified_on_the_page(visit, registry):
    contractor, provider = await registry.agent(), await registry.agent()
    body = proposal(provider, contract_type="attestation", amount="1")
    contract = (await registry.post("/contracts", json=body, headers=contractor.headers)).json()
    accepted = await registry.post(f"/contracts/{contract['id']}/accept", json={}, headers=provider.headers)
    assert accepted.status_code == 200, accepted.text
    admin = await registry.administrator("admin_platform")
    body = {"action": "fiat.lane", "authority": "Behörde", "subject": "hansa.local"}
    body["evidence"] = {"tier": "contract", "contract_id": contract["id"]}
    recorded = await registry.post("/admin/jurisdiction/authorizations", json=body, headers=admin.headers)
    assert recorded.status_code == 201, recorded.text

    page = (await visit(f"/contracts/{contract['id']}")).page
    await page.get_by_role("link", name="Verify the proof").click()
    verdict, steps = page.locator("[data-verdict]"), page.locator("[data-steps] tr")
    await expect(verdict).to_have_text("Verified")
    await expect(page.locator("[data-kind]")).to_have_text("Proof of a contract")
    await expect(steps).to_have_count(5)
    path = f"/jurisdiction/contracts/{contract['id']}"
    proof = (await registry.get(path)).json()
    proof["subset"]["amount"] = "999"
    await page.get_by_label("Text", exact=True).fill(json.dumps(proof))
    await page.get_by_role("button", name="Verify", exact=True).click()
    await expect(verdict).to_have_text("Not verified: digest")
    await page.get_by_role("button", name="Reputation scores").click()
    await expect(verdict).to_have_text("Verified")
    await expect(steps).to_have_count(1)
    await page.get_by_label("Registry card, for proofs of contracts").fill(vectors_in(FROZEN)[0]["card"])
    await page.get_by_label("Text", exact=True).fill((await registry.get(path)).text)
    await page.get_by_role("button", name="Verify", exact=True).click()
    await expect(verdict).to_have_text("Not verified: card")


async def test_the_ruling_that_the_facts_of_a_dispute_give_is_computed_on_the_page(visit, registry):
    contractor, provider = await registry.agent(), await registry.agent()
    answer = await registry.post(
        "/contracts", json=proposal(provider, amount="1"), headers=contractor.headers
    )
    contract = answer.json()
    accepted = await registry.post(f"/contracts/{contract['id']}/accept", json={}, headers=provider.headers)
    assert accepted.status_code == 200, accepted.text
    body = {
        "reason_code": "POOR_QUALITY",
        "description": "Half of it is missing.",
        "defendant_did": provider.did,
    }
    filed = await registry.post(
        "/disputes/", json={**body, "contract_id": contract["id"]}, headers=contractor.headers
    )
    assert filed.status_code == 201, filed.text
    bundle = (await registry.get(f"/disputes/{filed.json()['id']}/bundle", headers=contractor.headers)).text
    page = (await visit("/verify")).page
    verdict, steps = page.locator("[data-verdict]"), page.locator("[data-steps] tr")
    await page.get_by_label("Text", exact=True).fill(bundle)
    await page.get_by_role("button", name="Verify", exact=True).click()
    await expect(verdict).to_have_text("Verified")
    await expect(steps).to_have_count(6)
    evidence = vectors_in(SETTLEMENTS_FROZEN)[0]
    await page.get_by_label("Text", exact=True).fill(evidence["document"])
    await page.get_by_role("button", name="Verify", exact=True).click()
    await expect(verdict).to_have_text("Cannot be verified")
    await page.get_by_label("Keys, if not those of this registry").fill(json.dumps(evidence["keys"]))
    await page.get_by_role("button", name="Verify", exact=True).click()
    await expect(page.locator("[data-kind]")).to_have_text("Evidence of a slash across registries")
    await expect(steps).to_have_count(7)
    await page.get_by_label("Keys, if not those of this registry").fill("")
    await page.get_by_label("Text", exact=True).fill(bundle.replace("Half of it", "None of it", 1))
    await page.get_by_role("button", name="Verify", exact=True).click()
    await expect(verdict).to_have_text("Not verified: bad_signature")
