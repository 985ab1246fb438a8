"""Circuits and attestations in a browser: an administrator registers and retires a circuit, everybody reads, and each page says what a circuit means."""

import json
import re
from collections.abc import AsyncIterator
from html import unescape

import pytest

from tests.attesting import ALONE, Attesting
from tests.browsing import BrowserOf, browser_of
from tests.founded import open_copy
from tests.registry import DatabaseFarm

UNKNOWN = "11111111-1111-4111-8111-111111111111"
REGISTRAR = "The meaning of a circuit rests on its registrar."
CIRCUIT = {
    "circuit_id": "factors-1",
    "title": "Two <b>factors</b>",
    "statement": "The holder knows two factors.",
    "source_uri": "https://circuits.example.org/factors.circom",
    "holder_input": "0",
    "setup_note": "Made for tests.",
    "verification_key": json.dumps(ALONE.key),
}


@pytest.fixture(scope="module")
async def attesting(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Attesting]:
    directory = tmp_path_factory.mktemp("attested-pages")
    async with open_copy(database_farm, directory, zkp_phases=["1", "2"], rate_limit_reads="off") as registry:
        yield await Attesting.at(registry)


def words(browser: BrowserOf) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", browser.text)).split())


async def test_an_administrator_registers_and_retires_a_circuit_and_everybody_reads_it(
    attesting: Attesting,
) -> None:
    administrator = await browser_of(attesting.registry, attesting.platform)
    anyone = BrowserOf(attesting.registry)
    path = "/administration/circuits"
    await administrator.open(path)
    assert "The meaning of a circuit rests on you who register it" in words(administrator)
    wrong = [
        {"verification_key": "{"},
        {"verification_key": json.dumps({**ALONE.key, "vk_delta_2": ALONE.key["vk_gamma_2"]})},
        {"holder_input": "two"},
        {"source_uri": "http://circuits.example.org/"},
    ]
    for changed in wrong:
        refused = await administrator.send(path, **{**CIRCUIT, **changed})
        assert (refused.status_code, 'role="alert"' in administrator.text) == (422, True)
        assert 'value="factors-1"' in administrator.text
    await administrator.send(path, **CIRCUIT)
    assert "The circuit is registered" in words(administrator)
    await anyone.open("/circuits")
    assert REGISTRAR in words(anyone)
    await anyone.open("/circuits/factors-1")
    assert REGISTRAR in words(anyone)
    assert "Two <b>factors</b>" in unescape(anyone.text)
    assert "<b>factors" not in anyone.text
    await administrator.open(path)
    await administrator.send(f"{path}/factors-1/retire")
    assert "The circuit is retired." in words(administrator)
    await anyone.open("/circuits/factors-1")
    assert "no proof is accepted any more" in words(anyone)


async def test_a_party_cites_an_attestation_in_its_browser(attesting: Attesting) -> None:
    registry = attesting.registry
    circuit, owner = await attesting.circuit(ALONE), await registry.developer()
    defendant, complainant = await owner.agent(), await registry.agent()
    made = await attesting.attest(defendant, circuit, None)
    body = {"defendant_did": defendant.did, "reason_code": "OTHER", "description": "Nothing came."}
    filed = (await registry.post("/disputes/", json=body, headers=complainant.headers)).json()
    browser = await browser_of(registry, owner)
    page = f"/account/agents/{defendant.did}/disputes/{filed['id']}"
    await browser.open(page)
    refused = await browser.send(f"{page}/evidence", attestation_ids="unknown")
    assert (refused.status_code, 'role="alert"' in browser.text) == (422, True)
    await browser.send(f"{page}/evidence", attestation_ids=made)
    assert f'href="/attestations/{made}"' in browser.text


async def test_everybody_reads_the_attestations_of_an_agent(attesting: Attesting) -> None:
    circuit = await attesting.circuit(ALONE)
    agent = await attesting.registry.agent()
    made = await attesting.attest(agent, circuit, None)
    anyone = BrowserOf(attesting.registry)
    await anyone.open("/attestations")
    await anyone.open(f"/attestations?agent={agent.did}")
    assert f'href="/attestations/{made}"' in anyone.text
    await anyone.open(f"/attestations/{made}")
    assert REGISTRAR in words(anyone)
    assert "Verified" in words(anyone)
    await attesting.revoke(made, agent)
    await anyone.open(f"/attestations/{made}")
    assert "Revoked" in words(anyone)
    unknown = await anyone.open(f"/attestations/{UNKNOWN}")
    assert unknown.status_code == 404
    assert (await anyone.open("/circuits/none")).status_code == 404


async def test_an_administrator_of_enforcement_revokes_an_attestation_in_a_browser(
    attesting: Attesting,
) -> None:
    registry = attesting.registry
    agent, circuit = await registry.agent(), await attesting.circuit(ALONE)
    made = await attesting.attest(agent, circuit, None)
    desk = await browser_of(registry, attesting.enforcement)
    await desk.open("/administration/attestations")
    await desk.open(f"/administration/attestations?agent={agent.did}")
    revoke = f"/administration/attestations/{made}/revoke"
    fields = desk.form(revoke).fields
    await desk.send(revoke)
    assert "The attestation is revoked." in words(desk)
    assert f'action="{revoke}"' not in desk.text
    assert (await attesting.read(made))["status"] == "revoked"
    log = await registry.get("/admin/audit-log?limit=50", headers=attesting.platform.headers)
    assert ("attestation.revoke", made) in [(one["act"], one["subject"]) for one in log.json()["items"]]
    unknown = await desk.post(revoke.replace(made, UNKNOWN), fields)
    assert unknown.status_code == 404
    platform = await browser_of(registry, attesting.platform)
    assert (await platform.open("/administration/attestations")).status_code == 403


async def test_an_owner_revokes_an_attestation_of_its_agent_and_no_other_in_a_browser(
    attesting: Attesting,
) -> None:
    owner, circuit = await attesting.registry.developer(), await attesting.circuit(ALONE)
    agent, stranger = await owner.agent(), await attesting.registry.agent()
    made, other = [await attesting.attest(one, circuit, None) for one in (agent, stranger)]
    browser = await browser_of(attesting.registry, owner)
    page = f"/account/agents/{agent.did}/attestations"
    await browser.open(page)
    assert REGISTRAR in words(browser)
    fields = browser.form(f"{page}/{made}/revoke").fields
    foreign = await browser.post(f"{page}/{other}/revoke", fields)
    assert (foreign.status_code, 'role="alert"' in foreign.text) == (403, True)
    assert (await attesting.read(other))["status"] == "verified"
    await browser.open(page)
    await browser.send(f"{page}/{made}/revoke")
    assert "The attestation is revoked." in words(browser)
    assert (await attesting.read(made))["status"] == "revoked"
