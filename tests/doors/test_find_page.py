"""The search of every page: it leads to what is named, shows a choice of what may be meant, or searches the catalogue."""

import pytest

from hansa.rooms import auditor
from tests.browsing import browser_of
from tests.hostile.credentials import peer_of
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


async def test_each_event_that_is_public_is_found_by_its_id_and_its_type(registry: TestRegistry):
    payer, payee = await registry.agent(name="Lingua"), await registry.agent(name="Redpen")
    await payer.transfer(payee, "10")
    listed = (await registry.http.get("/events.json?entries=true")).json()["events"]
    assert len({event["id"] for event in listed}) == len(listed) > 10
    assert {"TransactionFeeCollected", "TokensTransferred", "AgentOnboarded"} <= {
        event["event_type"] for event in listed
    }
    for event in listed:
        assert await leads_to(registry, event["id"]) == f"/events/{event['sequence']}", event
    assert await leads_to(registry, "TokensTransferred") == "/events?type=TokensTransferred"


async def test_a_private_event_is_not_found_by_its_id(registry: TestRegistry):
    agent = await registry.agent()
    own = (await registry.get("/agents/me/events", headers=agent.headers)).json()["items"]
    public = {
        event["id"] for event in (await registry.http.get("/events.json?entries=true")).json()["events"]
    }
    for event in own:
        found = await leads_to(registry, event["id"])
        assert (found == f"/events/{event['sequence']}") is (event["id"] in public), event


async def test_a_code_of_an_error_leads_to_its_page(registry: TestRegistry):
    assert await leads_to(registry, "INSUFFICIENT_BALANCE") == "/docs/problems/INSUFFICIENT_BALANCE"
    assert (await registry.http.get("/docs/problems/INSUFFICIENT_BALANCE")).status_code == 200


async def test_a_peer_leads_to_its_page_by_each_of_its_names(registry: TestRegistry):
    await peer_of(registry, "peer.example")
    for text in ("peer.example", "unknown.example"):
        found = await leads_to(registry, text)
        assert found == (
            "/federation/peers/peer.example" if text == "peer.example" else f"/catalogue?q={text}"
        )


async def test_what_belongs_to_own_agents_is_found_by_its_id_for_its_owner_alone(registry: TestRegistry):
    owner, payee = await registry.developer(), await registry.agent()
    agent = await owner.agent()
    policy = {"spend_policy": {"approval_over": "5"}}
    done = await registry.http.put(f"/api/v1/agents/{agent.did}/authz", json=policy, headers=owner.headers)
    assert done.status_code == 200, done.text
    order = {"receiver_agent_id": payee.did, "amount": "10"}
    headers = {**agent.headers, "X-Request-Id": "request-of-mine", "Idempotency-Key": "order-of-mine"}
    asked = (await registry.post("/teg/transfer", json=order, headers=headers)).json()
    order = {"target_agent_did": payee.did, "amount": "1"}
    token = (await registry.post("/a2a-payment/authorize", json=order, headers=agent.headers)).json()
    caveats = {"caveats": {"permissions": ["teg.transfer"]}}
    lent = (await registry.post("/agents/capabilities", json=caveats, headers=agent.headers)).json()
    complaint = {"defendant_did": payee.did, "reason_code": "OTHER", "description": "D"}
    dispute = (await registry.post("/disputes/", json=complaint, headers=agent.headers)).json()
    own = f"/account/agents/{agent.did}"
    expected = {
        asked["approval_id"]: f"/account/approvals/{asked['approval_id']}",
        token["token_id"]: f"{own}/wallet/tokens",
        lent["id"]: f"{own}/capabilities",
        f"dispute {dispute['id']}": f"{own}/disputes/{dispute['id']}",
        "request-of-mine": "/account/requests?route=request-of-mine",
        "order-of-mine": "/account/requests?route=order-of-mine",
    }
    browser, stranger = await browser_of(registry, owner), await browser_of(registry)
    for text, address in expected.items():
        found = await browser.http.get("/find", params={"q": text})
        assert found.headers["location"] == address, text
        assert (await browser.open(address)).status_code == 200, address
        hidden = await stranger.http.get("/find", params={"q": text})
        assert hidden.headers.get("location") != address, text
    assert "order-of-mine" in (await browser.open(expected["request-of-mine"])).text


async def test_an_administrator_of_enforcement_finds_every_dispute(registry: TestRegistry):
    agent, other = await registry.agent(), await registry.agent()
    complaint = {"defendant_did": other.did, "reason_code": "OTHER", "description": "D"}
    dispute = (await registry.post("/disputes/", json=complaint, headers=agent.headers)).json()["id"]
    browser = await browser_of(registry, await registry.administrator("admin_enforcement"))
    found = await browser.http.get("/find", params={"q": f"dispute {dispute}"})
    assert found.headers["location"] == f"/administration/disputes/{dispute}"


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
    assert "Several things have this number or name." in answer.text


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


async def test_a_public_organization_is_found_by_everybody_and_a_private_one_by_its_members(
    registry: TestRegistry,
):
    owner = await registry.developer()
    made = {}
    for slug, visibility in (("harbour", "public"), ("cellar", "private")):
        body = {"name": slug.capitalize(), "slug": slug, "visibility": visibility}
        answer = await registry.post("/organizations", json=body, headers=owner.headers)
        assert answer.status_code == 201, answer.text
        made[slug] = answer.json()["id"]
    browser, stranger = await browser_of(registry, owner), await browser_of(registry)
    for slug, organization_id in made.items():
        for text in (f"organization {slug}", organization_id):
            found = await browser.http.get("/find", params={"q": text})
            assert found.headers["location"] == f"/account/organizations/{slug}"
            assert (await browser.open(found.headers["location"])).status_code == 200
            seen = (await stranger.http.get("/find", params={"q": text})).headers.get("location")
            assert (seen == f"/organizations/{slug}") is (slug == "harbour"), (text, seen)
