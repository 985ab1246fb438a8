"""The judges in the browser as of a time of the past: each frozen document gets the verdict of `hansa_verify`, and the page takes the time."""

import json
from datetime import datetime, timedelta

from playwright.async_api import Page, expect

from hansa.rooms import auditor
from hansa.rooms.auditor.cycle import audit_on_request
from hansa_verify import read_amount
from tests.registry import TestRegistry
from tests.verifier.past import FROZEN
from tests.verifier.served import vectors_in

JUDGES = """async vectors => {
  const { auditorKeys } = await import("/static/verify_attestations.js");
  const { verifyAchievement } = await import("/static/verify_achievement.js");
  const { verifyLiabilitiesAsOf } = await import("/static/verify_balance_as_of.js");
  const { readKeys, verifyCard } = await import("/static/verify_card.js");
  const { verifyLicenceAsOf } = await import("/static/verify_licence_as_of.js");
  const { verifyExport } = await import("/static/reputation.js");
  const { read } = await import("/static/canonical.js");
  const { momentOf } = await import("/static/verdict.js");
  const judges = {
    card: ({ document, keys, at }) => verifyCard(document, readKeys(keys), { at }),
    achievement: ({ document, keys, at }) => verifyAchievement(document, readKeys(keys), { at }),
    licence: ({ certificate, chain, lists, root, at }) => verifyLicenceAsOf(certificate, chain, at, { root, lists }),
    reputation: ({ document, stated, day }) => verifyExport([document], { at: day, stated }),
    balance: ({ document, keys, at, records, balance, log_proof: logProof, checkpoint }) =>
      verifyLiabilitiesAsOf(read(document), auditorKeys(read(keys)), {
        at,
        records: read(records),
        balance: balance && BigInt(balance),
        logProof: logProof && read(logProof),
        checkpoint,
      }),
  };
  const codes = {};
  for (const vector of vectors) {
    const given = { ...vector, at: momentOf(vector.at), day: vector.at.slice(0, 10) };
    codes[vector.name] = (await judges[vector.kind](given)).code;
  }
  return codes;
}"""
AS_TEXT = ("keys", "records", "log_proof")
"""Members that the judges of the browser read from JSON."""


async def test_each_frozen_document_gets_the_verdict_of_its_time_in_the_browser(script_page: Page):
    vectors = [one for one in vectors_in(FROZEN) if one["kind"] != "agent_key"]
    given = []
    for vector in vectors:
        texts = {name: vector.get(name) and json.dumps(vector[name]) for name in AS_TEXT}
        texts["records"] = json.dumps(vector.get("records", []))
        expected = vector.get("balance")
        given.append({**vector, **texts, "balance": expected and str(read_amount(expected))})
    assert await script_page.evaluate(JUDGES, given) == {one["name"]: one["expect"] for one in vectors}


async def test_the_page_judges_a_balance_and_a_card_as_of_the_time_that_a_reader_enters(
    visit, registry: TestRegistry
):
    agent = await registry.agent()
    await auditor.run_cycle(registry.runtime)
    proof = (await registry.get("/teg/balance/proof", headers=agent.headers)).json()
    await registry.database.transaction(audit_on_request, one_snapshot=True)
    await auditor.run_cycle(registry.runtime)
    newer = (await registry.get("/teg/balance/proof", headers=agent.headers)).json()
    signed_at = datetime.fromisoformat(proof["attestation"]["ts"])
    page = (await visit("/verify")).page
    verdict, kind = page.locator("[data-verdict]"), page.locator("[data-kind]")

    async def judged(document: object, at: str) -> None:
        await page.get_by_label("Text", exact=True).fill(json.dumps(document))
        await page.get_by_label("Time to judge").fill(at)
        await page.get_by_role("button", name="Verify", exact=True).click()

    await judged(proof, signed_at.isoformat())
    await expect(verdict).to_have_text("Verified")
    await expect(kind).to_have_text(f"Balance proof, as of {signed_at.isoformat()}")
    await judged(proof, (signed_at - timedelta(seconds=1)).isoformat())
    await expect(verdict).to_have_text("Not verified: not_yet_published")
    await judged(newer, (signed_at + timedelta(hours=1)).isoformat())
    await expect(verdict).to_have_text("Not verified: unverified")
    await judged(proof, "yesterday")
    await expect(verdict).to_have_text("Cannot be verified")

    card = (await registry.get(f"/agents/{agent.did}/card-export")).json()
    await judged(card, (signed_at + timedelta(days=1)).isoformat())
    await expect(verdict).to_have_text("Verified")
    await judged(card, "2026-01-01T00:00:00Z")
    await expect(verdict).to_have_text("Not verified: from_the_future")
    leaf = (await registry.http.get("/log/proof?index=0")).json()
    await judged(leaf, signed_at.isoformat())
    await expect(verdict).to_have_text("Cannot be verified")
