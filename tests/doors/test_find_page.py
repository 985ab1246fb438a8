"""The search of every page: it leads to what is named, shows a choice of what may be meant, or searches the catalogue."""

import pytest

from hansa.rooms import auditor
from tests.browsing import browser_of
from tests.registry import TestRegistry


async def leads_to(registry: TestRegistry, text: str) -> str:
    answer = await registry.http.get("/find", params={"q": text})
    assert answer.status_code == 303, (text, answer.text)
    return answer.headers["location"]


async def test_each_name_of_a_thing_leads_to_its_page(registry: TestRegistry):
    payer, payee = await registry.agent(name="Lingua"), await registry.agent(name="Redpen")
    done = (await payer.transfer(payee, "10")).json()["transaction_id"]
    await registry.indexed()
    card = (await registry.http.get(f"/api/v1/agent-cards/{payer.did}")).json()
    for text in (payer.did, f" {payer.did} ", "Lingua", "lingua", card["human_readable_id"], card["id"]):
        assert await leads_to(registry, text) == f"/agents/{payer.did}", text
    for text in (done, done.upper(), done.replace("-", " "), f"transaction {done.removeprefix('tx-')}"):
        assert await leads_to(registry, text) == f"/transactions/{done}", text
    for text in ("event 1", "event:1", "Event #1"):
        assert await leads_to(registry, text) == "/events/1", text
    assert (
        await leads_to(registry, "did:hansa:system:treasury") == "/events?did=did%3Ahansa%3Asystem%3Atreasury"
    )
    token = "00000000-0000-4000-8000-000000000000"
    assert await leads_to(registry, token) == f"/pay/{token}"


async def test_a_position_of_the_log_leads_to_its_proof(registry: TestRegistry):
    await registry.agent()
    assert (await registry.http.get("/find", params={"q": "block 0"})).status_code == 404
    await auditor.run_cycle(registry.runtime)
    for text in ("block 0", "log 0", "leaf 0"):
        address = await leads_to(registry, text)
        assert address == "/verify?document=/log/proof%3Findex%3D0"
    assert (await registry.http.get("/log/proof?index=0")).status_code == 200


async def test_a_number_that_several_things_have_is_a_choice(registry: TestRegistry):
    await registry.agent()
    answer = await registry.http.get("/find", params={"q": "1"})
    assert answer.status_code == 200
    for address in ("/transactions/tx-1", "/events/1"):
        assert f'<a href="{address}">' in answer.text
    assert "Several things have this number." in answer.text


@pytest.mark.parametrize(
    "text", ["tx-999999", "event 999999999", "contract 1", "999999999999999999", "did:hansa:x:y"]
)
async def test_a_number_or_did_without_a_thing_is_said_to_have_none(registry: TestRegistry, text: str):
    answer = await registry.http.get("/find", params={"q": text})
    assert (answer.status_code, "Nothing has this number or DID here." in answer.text) == (404, True)


async def test_any_other_text_searches_the_catalogue(registry: TestRegistry):
    developer = await registry.developer()
    for text in ("translation & more", "agent 7", "<script>", "nobody/nothing"):
        assert (await leads_to(registry, text)).startswith("/catalogue?q="), text
    # A name that two agents have leads to both.
    await developer.agent(name="Twin")
    await developer.agent(name="Twin")
    await registry.indexed()
    assert await leads_to(registry, "twin") == "/catalogue?q=twin"


async def test_a_contract_is_found_by_its_parties_and_by_everybody_if_it_is_public(registry: TestRegistry):
    owner, other = await registry.developer(), await registry.agent()
    agent = await owner.agent()
    agreed = {
        "provider_did": other.did,
        "title": "T",
        "amount": "1",
        "terms": "T",
        "acceptance_criteria": "C",
    }

    async def proposed(kind: str) -> int:
        body = {**agreed, "contract_type": kind}
        return (await registry.post("/contracts", json=body, headers=agent.headers)).json()["id"]

    private, public = await proposed("service"), await proposed("attestation")
    assert (await registry.http.get("/find", params={"q": f"contract {private}"})).status_code == 404
    assert await leads_to(registry, f"contract {public}") == f"/contracts/{public}"
    browser = await browser_of(registry, owner)
    await browser.open(f"/find?q=contract+{private}")
    assert browser.page.url.path == f"/account/agents/{agent.did}/contracts/{private}"
    assert browser.page.history[0].headers["cache-control"] == "no-store"
    stranger = await browser_of(registry)
    assert (await stranger.open(f"/find?q=contract+{private}")).status_code == 404


async def test_without_a_text_the_page_says_what_can_be_found(registry: TestRegistry):
    answer = await registry.http.get("/find")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert "tx-42" in answer.text


async def test_every_page_has_the_search_in_its_header(registry: TestRegistry):
    browser = await browser_of(registry)
    for path in ("/", "/events", "/account", "/guides"):
        assert 'action="/find"' in (await browser.open(path)).text, path
