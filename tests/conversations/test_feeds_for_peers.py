"""Feeds that a peer reads over mutual TLS: pages of signed cards from a place on, tombstones, acts, and digests."""

from typing import Any

import pytest

from hansa.foundation.plumbing.keys.authority import Svid
from tests.hostile.credentials import peer_of
from tests.registry import StartRegistry, TestRegistry

CARDS, ACTS = "/federation/agent-cards", "/federation/enforcement"


@pytest.fixture
async def registry(start_registry: StartRegistry) -> TestRegistry:
    return await start_registry(trusted_proxies=["127.0.0.1"])


@pytest.fixture
async def svid(registry: TestRegistry) -> Svid:
    return await peer_of(registry, "peer.example")


async def page(registry: TestRegistry, svid: Svid, path: str = CARDS, **query: Any) -> dict[str, Any]:
    await registry.transactions_ended()
    answer = await registry.get(path, params=query, headers=registry.forwarding(svid))
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_every_own_agent_is_read_once_page_by_page_and_the_last_next_goes_on_later(
    registry: TestRegistry, svid: Svid
):
    dids = [(await registry.agent()).did for _ in range(5)]
    read, place, more = [], None, True
    while more:
        one = await page(registry, svid, limit=2, **({"since": place} if place else {}))
        assert len(one["items"]) <= 2
        read += [item["did"] for item in one["items"]]
        place, more = one["next"], one["more"]
    assert read == dids
    assert (await page(registry, svid, since=place))["items"] == []
    later = await registry.agent()
    assert [item["did"] for item in (await page(registry, svid, since=place))["items"]] == [later.did]


async def test_since_takes_a_time_as_well(registry: TestRegistry, svid: Svid):
    agent = await registry.agent()
    begun = (await page(registry, svid))["as_of"]
    assert (await page(registry, svid, since="2020-01-01T00:00:00Z"))["items"][0]["did"] == agent.did
    assert (await page(registry, svid, since=begun))["items"] == []


async def test_an_item_names_its_version_home_and_status_and_a_change_raises_the_version(
    registry: TestRegistry, svid: Svid
):
    owner = await registry.developer()
    agent = await owner.agent(name="Versioned")
    (item,) = (await page(registry, svid))["items"]
    assert (item["did"], item["status"], item["source_registry"]) == (agent.did, "active", "hansa.local")
    assert item["card_data"]["name"] == "Versioned"
    assert item["card_data"]["did"] == agent.did
    answer = await registry.http.patch(
        f"/api/v1/agent-cards/{agent.did}/listing", json={"unlisted": True}, headers=owner.headers
    )
    assert answer.status_code == 200
    (stone,) = (await page(registry, svid))["items"]
    assert stone["version"] > item["version"]
    assert (stone["listing"], stone["card_data"], stone["digest"]) == ({"unlisted": True}, None, None)
    assert "Versioned" not in str(stone)


async def test_acts_are_read_in_their_order_without_cards(registry: TestRegistry, svid: Svid):
    first, second = await registry.agent(), await registry.agent()
    administrator = await registry.administrator("admin_enforcement")
    for act, did in (("suspend", second.did), ("suspend", first.did), ("reinstate", second.did)):
        answer = await registry.post(
            f"/admin/agents/bulk/{act}",
            json={"agent_dids": [did], "reason": "x"},
            headers=administrator.headers,
        )
        assert answer.status_code == 200, answer.text
    one = await page(registry, svid, ACTS, limit=1)
    assert [(item["did"], item["status"]) for item in one["items"]] == [(first.did, "suspended")]
    assert one["more"]
    rest = await page(registry, svid, ACTS, since=one["next"])
    assert [(item["did"], item["status"]) for item in rest["items"]] == [(second.did, "active")]
    assert {item["card_data"] for item in rest["items"]} == {None}


async def test_a_place_of_another_epoch_is_read_from_the_start(registry: TestRegistry, svid: Svid):
    agent = await registry.agent()
    place = (await page(registry, svid))["next"]
    await registry.database.transaction(
        lambda tx: tx.execute("UPDATE plumbing_cluster SET first_position = first_position + 1")
    )
    assert [item["did"] for item in (await page(registry, svid, since=place))["items"]] == [agent.did]


async def test_digests_add_up_and_narrow_down_to_the_cards_of_a_prefix(registry: TestRegistry, svid: Svid):
    dids = {(await registry.agent()).did for _ in range(6)}
    whole = await page(registry, svid, CARDS + "/digest")
    assert whole["cards"] == sum(part["cards"] for part in whole["ranges"]) == len(dids)
    read: set[str] = set()
    for part in whole["ranges"]:
        items = (await page(registry, svid, prefix=part["prefix"]))["items"]
        assert len(items) == part["cards"]
        read |= {item["did"] for item in items}
        below = await page(registry, svid, CARDS + "/digest", prefix=part["prefix"])
        assert below["cards"] == part["cards"]
    assert read == dids


@pytest.mark.parametrize(
    ("path", "query"),
    [
        (CARDS, {"since": "yesterday"}),
        (CARDS, {"since": "0001-01-01T00:00:00+14:00"}),
        (CARDS, {"limit": 0}),
        (CARDS, {"limit": 10_001}),
        (CARDS, {"prefix": "x"}),
        (CARDS, {"since": "x" * 513}),
        (ACTS, {"since": "2026-01-01T00:00:00Z"}),
        (CARDS + "/digest", {"prefix": "0123456789"}),
    ],
)
async def test_what_is_no_place_time_limit_or_prefix_is_refused(
    registry: TestRegistry, svid: Svid, path: str, query: dict[str, Any]
):
    answer = await registry.get(path, params=query, headers=registry.forwarding(svid))
    assert answer.status_code == 422, answer.text


@pytest.mark.parametrize("path", [CARDS, ACTS, CARDS + "/digest"])
async def test_without_the_certificate_of_a_peer_nothing_is_read(registry: TestRegistry, path: str):
    answer = await registry.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "CLIENT_CERTIFICATE_REQUIRED")


async def test_receipts_of_an_unknown_agent_are_404_and_of_one_without_acts_empty(registry: TestRegistry):
    agent = await registry.agent()
    answer = await registry.get(f"/agents/{agent.did}/enforcement-receipts")
    assert (answer.status_code, answer.json()["items"]) == (200, [])
    answer = await registry.get("/agents/did:hansa:hansa.local:nobody/enforcement-receipts")
    assert answer.status_code == 404
