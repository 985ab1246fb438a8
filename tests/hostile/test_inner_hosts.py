"""A host that the operator opened for peers, mail and logs is closed to addresses that users name."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from hansa.foundation.plumbing.outgoing import AddressRefused, NamedBy, Outgoing
from hansa.rooms.catalogue.pulls import CARD_PULLS
from tests.outside import Host, host
from tests.registry import StartRegistry, TestRegistry
from tests.running_jobs import run_due


@pytest.fixture
async def inner() -> AsyncIterator[Host]:
    async with host() as found:
        yield found


@pytest.fixture
async def registry(start_registry: StartRegistry, inner: Host) -> TestRegistry:
    return await start_registry(outgoing_allow_hosts=f"127.0.0.1:{inner.port}")


async def test_no_webhook_leads_to_it(registry: TestRegistry, inner: Host):
    owner = await registry.developer()
    url = f"http://127.0.0.1:{inner.port}/"
    body: dict[str, Any] = {"url": url, "event_types": ["*"]}
    answer = await registry.post("/developers/webhooks", json=body, headers=owner.headers)
    assert answer.status_code == 422, answer.text
    body["url"] = "https://hooks.example.com/"
    made = (await registry.post("/developers/webhooks", json=body, headers=owner.headers)).json()
    path = f"/api/v1/developers/webhooks/{made['id']}"
    changed = await registry.http.put(path, json={"url": url}, headers=owner.headers)
    assert changed.status_code == 422, changed.text


async def test_no_card_is_read_from_it(registry: TestRegistry, inner: Host):
    token = await (await registry.developer()).bootstrap_token()
    body = {"agent_did_method": "hansa", "agent_host": f"http://127.0.0.1:{inner.port}"}
    headers = {"Bootstrap-Token": token, **registry.elsewhere()}
    answer = await registry.post("/onboard/create_agent", json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    await run_due(registry.runtime, CARD_PULLS)
    assert inner.connections == 0


async def test_no_purchase_is_made_at_it(registry: TestRegistry, inner: Host):
    interface = {
        "url": f"http://127.0.0.1:{inner.port}/",
        "protocolBinding": "JSONRPC",
        "protocolVersion": "1.0",
    }
    pricing = {"base_rate": "2.5"}
    payee = await registry.agent(name="Inner", pricing=pricing, supportedInterfaces=[interface])
    payer = await registry.agent()
    body = {"target_agent_did": payee.did, "message": "good morning", "max_amount": "5"}
    answer = await registry.post("/a2a-payment/buy", json=body, headers=payer.headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "SERVICE_NOT_CALLABLE"), answer.text
    assert inner.connections == 0


async def test_the_client_connects_for_the_origin_that_the_list_names_alone(inner: Host):
    place, url = f"127.0.0.1:{inner.port}", f"http://127.0.0.1:{inner.port}/"
    for client, opened, closed in (
        (Outgoing({place}), NamedBy.OPERATOR, NamedBy.USER),
        (Outgoing((), {place}), NamedBy.USER, NamedBy.OPERATOR),
    ):
        with pytest.raises(AddressRefused):
            await client.get(url, named_by=closed)
        assert (await client.get(url, named_by=opened)).status == 200
