"""The judges of proofs in the browser: each frozen vector, and documents of a registry, get the verdict of `hansa_verify`."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from hansa.doors.verification.log import verify_log
from hansa.rooms import auditor
from hansa_verify import read_auditor_keys, verify_liabilities
from hansa_verify.schema import form_of
from tests.registry import TestRegistry
from tests.verifier.served import EDITED, SERVED, vectors_in
from tests.verifier.signed_anew import RESIGNED

AGED = "SET LOCAL session_replication_role = replica; UPDATE auditor_verdict SET checked_at = '2026-01-01'"
VECTORS = Path(__file__).parents[1] / "vectors"
CARDS = """async vectors => {
  const { readKeys, verifyCard } = await import("/static/verify_card.js");
  const { NotAKey } = await import("/static/ed25519.js");
  const { momentOf } = await import("/static/verdict.js");
  const codes = [];
  for (const { card, keys, at } of vectors) {
    try { codes.push((await verifyCard(card, readKeys(keys), { at: momentOf(at) })).code); }
    catch (trouble) { if (!(trouble instanceof NotAKey)) throw trouble; codes.push("keys_refused"); }
  }
  return codes;
}"""
CHAINS = """async vectors => {
  const { auditorKeys, readExport, verifyAttestations } = await import("/static/verify_attestations.js");
  const { NotAKey } = await import("/static/ed25519.js");
  const { Unreadable } = await import("/static/canonical.js");
  const { momentOf } = await import("/static/verdict.js");
  const found = [];
  for (const { export: text, at, exact, max_age } of vectors) {
    try {
      const { records, keySet } = readExport(text);
      const maxAge = max_age === undefined ? null : BigInt(max_age) * 1000000n;
      const { code, warnings } = await verifyAttestations(records, auditorKeys(keySet), { exact, maxAge, at: momentOf(at) });
      found.push([code, warnings.map(warning => warning.code)]);
    } catch (trouble) {
      if (trouble instanceof Unreadable) found.push(["unreadable", []]);
      else if (trouble instanceof NotAKey) found.push(["keys_refused", []]);
      else throw trouble;
    }
  }
  return found;
}"""
PROOFS = """async ([documents, keySet, judge]) => {
  const { auditorKeys } = await import("/static/verify_attestations.js");
  const { verifyLiabilities } = await import("/static/verify_balance_proof.js");
  const { verifyLogProof } = await import("/static/verify_log.js");
  const { read } = await import("/static/canonical.js");
  const keys = auditorKeys(read(keySet));
  const judges = { verifyLiabilities, verifyLogProof };
  return Promise.all(documents.map(async text => (await judges[judge](read(text), keys)).code));
}"""

SERVED_OBJECTS = """async ([vectors, schemaText]) => {
  const { auditorKeys, readExport, verifyAttestations } = await import("/static/verify_attestations.js");
  const { readKeys, verifyCard } = await import("/static/verify_card.js");
  const { verifyRegistryCard } = await import("/static/verify_registry_card.js");
  const { verifyLiabilities } = await import("/static/verify_balance_proof.js");
  const { verifyLogConsistency, verifyLogProof } = await import("/static/verify_log.js");
  const { NotAKey } = await import("/static/ed25519.js");
  const { read, Unreadable } = await import("/static/canonical.js");
  const { momentOf, readStrictly } = await import("/static/verdict.js");
  const schema = read(schemaText);
  const judges = {
    card: (text, keys, at) => verifyCard(text, keys, { at }),
    receipt: (text, keys, at) => verifyCard(text, keys, { typ: "payment-receipt+jws", at }),
    registry_card: (text, keys, at) => verifyRegistryCard(text, keys, { schema, at }),
    chain: (text, keys, at) => verifyAttestations(readExport(text).records, keys, { exact: true, at }),
    balance: (text, keys) => verifyLiabilities(readStrictly(text), keys),
    blocks: (text, keys) => verifyLiabilities(readStrictly(text), keys),
    leaf: (text, keys) => verifyLogProof(readStrictly(text), keys),
    consistency: (text, keys, at, old) => verifyLogConsistency(readStrictly(text), keys, old),
  };
  const codes = {};
  for (const { kind, name, document, keys, at, old } of vectors) {
    try {
      const isRegistrys = ["card", "receipt", "registry_card"].includes(kind);
      const found = isRegistrys ? readKeys(keys) : auditorKeys(readStrictly(keys));
      codes[name] = (await judges[kind](document, found, momentOf(at), old)).code;
    } catch (trouble) {
      if (trouble instanceof NotAKey) codes[name] = "keys_refused";
      else if (trouble instanceof Unreadable) codes[name] = "unreadable";
      else throw trouble;
    }
  }
  return codes;
}"""


def vectors_of(kind: str) -> dict[str, Any]:
    return {file.stem: json.loads(file.read_text()) for file in sorted((VECTORS / kind).glob("*.json"))}


async def test_each_frozen_card_gets_the_verdict_of_the_verifier_in_the_browser(script_page: Page):
    vectors = vectors_of("cards")
    asked = [
        {"card": one["card"], "keys": json.dumps(one["keys"]), "at": one["at"]} for one in vectors.values()
    ]
    found = dict(zip(vectors, await script_page.evaluate(CARDS, asked), strict=True))
    assert found == {name: one["expect"] for name, one in vectors.items()}


async def test_each_frozen_chain_gets_the_verdict_of_the_verifier_in_the_browser(script_page: Page):
    vectors = vectors_of("attestations")
    found = dict(zip(vectors, await script_page.evaluate(CHAINS, list(vectors.values())), strict=True))
    assert {name: code for name, (code, _) in found.items()} == {
        name: one["expect"] for name, one in vectors.items()
    }
    assert {name: warned for name, (_, warned) in found.items()} == {
        name: one["warnings"] for name, one in vectors.items()
    }


async def proofs_of(registry: TestRegistry) -> tuple[str, list[str], list[str]]:
    agent = await registry.agent()
    await auditor.run_cycle(registry.runtime)
    key_set = (await registry.http.get("/.well-known/auditor-jwks.json")).text
    balance = (await registry.get("/teg/balance/proof", headers=agent.headers)).text
    blocks = (await registry.http.get("/api/auditor/liabilities")).text
    leaves = [(await registry.http.get(f"/log/proof?index={index}")).text for index in range(5)]
    return key_set, [balance, blocks], leaves


def edited(text: str) -> list[str]:
    """The document with each text and number of it changed, one at a time."""
    document, found = json.loads(text), []

    def walk(value: Any, put: Any) -> None:
        if isinstance(value, dict):
            for name in value:
                walk(value[name], lambda new, name=name, value=value: value.__setitem__(name, new))
        elif isinstance(value, list):
            for place, one in enumerate(value):
                walk(one, lambda new, place=place, value=value: value.__setitem__(place, new))
        else:
            put(value + 1 if isinstance(value, int) else f"{value}0" if isinstance(value, str) else 1)
            found.append(json.dumps(document))
            put(value)

    walk(document, None)
    return found


async def test_proofs_of_balances_and_leaves_are_judged_as_the_verifier_judges_them(
    visit, registry, tmp_path
):
    key_set, liabilities, leaves = await proofs_of(registry)
    keys = read_auditor_keys(json.loads(key_set))
    page = (await visit("/verify")).page
    changed = [one for text in liabilities for one in edited(text)]
    assert len(changed) > 80
    documents = [*liabilities, *changed]
    expected = [verify_liabilities(json.loads(text), keys).code for text in documents]
    assert expected[:2] == ["verified", "verified"]
    assert await page.evaluate(PROOFS, [documents, key_set, "verifyLiabilities"]) == expected
    assert await page.evaluate(PROOFS, [leaves, key_set, "verifyLogProof"]) == ["verified"] * len(leaves)
    spoiled = [one for text in leaves for one in edited(text)]
    spoiled.append(leaves[0].replace("hansa.local/log", "other.local/log", 1))
    found = await page.evaluate(PROOFS, [spoiled, key_set, "verifyLogProof"])
    assert found == [judged_log(tmp_path, text, key_set) for text in spoiled]
    assert {*found} == {"checkpoint", "inclusion"}


def judged_log(directory: Path, proof: str, key_set: str) -> str:
    """The verdict of the command line."""
    for name, text in (("proof", proof), ("keys", key_set)):
        (directory / name).write_text(text)
    return verify_log(str(directory / "proof"), str(directory / "keys"), None).code


async def test_a_dropped_file_a_pasted_text_and_an_address_each_show_every_check(visit, registry, tmp_path):
    _, (balance, _), _ = await proofs_of(registry)
    visited = await visit("/verify")
    page = visited.page
    verdict, steps = page.locator("[data-verdict]"), page.locator("[data-steps] tr")
    await page.get_by_label("Text", exact=True).fill(balance)
    await page.get_by_role("button", name="Verify", exact=True).click()
    await expect(verdict).to_have_text("Verified")
    await expect(steps).to_have_count(6)
    spoiled = tmp_path / "proof.json"
    spoiled.write_text(balance.replace('"salt":"', '"salt":"A', 1))
    await page.get_by_label("Text", exact=True).fill("")
    await page.get_by_label("File (choose one, or drop it on the page)").set_input_files(spoiled)
    await page.get_by_role("button", name="Verify", exact=True).click()
    await expect(verdict).to_have_text("Not verified: proof")
    await expect(page.locator("[data-steps] .verdict.bad")).to_have_count(1)
    for name, count in (
        ("Attestations of this registry", 8),
        ("Sum of all balances", 4),
        ("First leaf of the log", 2),
    ):
        await page.get_by_role("button", name=name).click()
        await expect(verdict).to_have_text("Verified")
        await expect(steps).to_have_count(count)
    transfer = await page.evaluate_handle(
        "text => { const all = new DataTransfer(); all.items.add(new File([text], 'p.json')); return all; }",
        balance,
    )
    await page.dispatch_event("h1", "drop", {"dataTransfer": transfer})
    await expect(page.locator("[data-kind]")).to_have_text("Balance proof")
    await expect(verdict).to_have_text("Verified")
    await page.get_by_label("Address on this registry").fill("https://elsewhere.example/card")
    await page.get_by_label("File (choose one, or drop it on the page)").set_input_files([])
    await page.get_by_role("button", name="Verify", exact=True).click()
    await expect(verdict).to_have_text("Cannot be verified")
    assert visited.strangers == []


async def test_the_page_of_an_agent_leads_to_the_checks_of_its_card(visit, registry):
    agent = await registry.agent()
    page = (await visit(f"/agents/{agent.did}")).page
    await page.get_by_role("link", name="All checks").click()
    await expect(page.locator("[data-verdict]")).to_have_text("Verified")
    await expect(page.locator("[data-kind]")).to_have_text("Agent card")
    await expect(page.locator("[data-steps] tr")).to_have_count(5)


LICENCES = """async vectors => {
  const { verifyLicence } = await import("/static/verify_licence.js");
  const { momentOf } = await import("/static/verdict.js");
  const codes = [];
  for (const { certificate, chain, lists, root, at } of vectors) {
    codes.push((await verifyLicence(certificate, chain, { root, lists, at: momentOf(at) })).code);
  }
  return codes;
}"""


async def test_each_frozen_licence_gets_the_verdict_of_the_verifier_in_the_browser(script_page: Page):
    vectors = vectors_of("licences")
    found = dict(zip(vectors, await script_page.evaluate(LICENCES, list(vectors.values())), strict=True))
    assert found == {name: one["expect"] for name, one in vectors.items()}


LOG_PROOFS = """async vectors => {
  const { auditorKeys } = await import("/static/verify_attestations.js");
  const { verifyLogConsistency, verifyLogProof } = await import("/static/verify_log.js");
  const { read } = await import("/static/canonical.js");
  const codes = [];
  for (const { proof, keys: keySet, old } of vectors) {
    const keys = auditorKeys(read(keySet));
    const verdict = old === null ? verifyLogProof(read(proof), keys) : verifyLogConsistency(read(proof), keys, old);
    codes.push((await verdict).code);
  }
  return codes;
}"""


STATEMENTS = """async vectors => {
  const { verifyAchievement } = await import("/static/verify_achievement.js");
  const { readKeys } = await import("/static/verify_card.js");
  const { momentOf } = await import("/static/verdict.js");
  const codes = [];
  for (const { statement, keys, at } of vectors) {
    codes.push((await verifyAchievement(statement, readKeys(keys), { at: momentOf(at) })).code);
  }
  return codes;
}"""
SCRIPTS = {"certificate": LICENCES, "export": CHAINS, "proof": LOG_PROOFS, "statement": STATEMENTS}
"""The script for documents with a member of this name."""


@pytest.mark.parametrize("name", RESIGNED)
async def test_each_change_that_its_signer_signed_gets_the_verdict_of_the_verifier_in_the_browser(
    script_page: Page, name: str
):
    resigned = RESIGNED[name]()
    vectors = dict(resigned.vectors())
    [script] = [SCRIPTS[member] for member in SCRIPTS if member in vectors[""]]
    found = await script_page.evaluate(script, list(vectors.values()))
    if script == CHAINS:
        found = [code for code, _ in found]
    expected = {what: resigned.evaluate(vector) for what, vector in vectors.items()}
    assert dict(zip(vectors, found, strict=True)) == expected


async def test_each_served_object_and_each_edit_gets_the_verdict_of_the_verifier_in_the_browser(
    script_page: Page,
):
    vectors = [*vectors_in(SERVED), *vectors_in(EDITED)]
    asked = [{**one, "keys": json.dumps(one["keys"])} for one in vectors]
    schema = json.dumps(form_of("registry_card"))
    found = await script_page.evaluate(SERVED_OBJECTS, [asked, schema])
    expected = {one["name"]: one["expect"] for one in vectors}
    # A proof of another form is a step of its own in the browser, as it is on its page.
    shown = {
        name: "unreadable" if code == "proof" and expected[name] == "unreadable" else code
        for name, code in found.items()
    }
    assert shown == expected


async def test_the_registry_card_and_the_growth_of_the_log_are_verified_on_the_page(visit, registry):
    agent = await registry.agent()
    await auditor.run_cycle(registry.runtime)
    old = (await registry.http.get("/log/checkpoint")).text
    size = old.split("\n")[1]
    assert (await agent.transfer(await registry.agent(), "1")).status_code == 200
    await registry.database.transaction(lambda tx: tx.execute(AGED))
    await auditor.run_cycle(registry.runtime)
    page = (await visit("/verify")).page
    verdict, steps = page.locator("[data-verdict]"), page.locator("[data-steps] tr")
    await page.get_by_role("button", name="Registry card").click()
    await expect(verdict).to_have_text("Verified")
    await expect(steps).to_have_count(8)
    await page.get_by_label("Address on this registry").fill(f"/log/consistency?old_size={size}")
    await page.get_by_role("button", name="Verify", exact=True).click()
    await expect(verdict).to_have_text("Cannot be verified")
    await page.get_by_label("Older checkpoint, for proofs of consistency").fill(old)
    await page.get_by_role("button", name="Verify", exact=True).click()
    await expect(verdict).to_have_text("Verified")
    await expect(steps).to_have_count(3)
    await page.get_by_label("Older checkpoint, for proofs of consistency").fill(
        old.replace(f"\n{size}\n", f"\n{size}1\n")
    )
    await page.get_by_role("button", name="Verify", exact=True).click()
    await expect(verdict).to_have_text("Not verified: old checkpoint")
