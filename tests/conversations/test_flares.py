"""Flares: bought from the treasury by one payment, shown on the card, found by searches; reputation ignores them."""

import asyncio
import json
from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest

from hansa.foundation.plumbing.settings import BadSetting, read_settings
from tests.achieving import buy, select
from tests.all_events import require_schemas_kept
from tests.organizations import code
from tests.registry import card_of


@pytest.fixture
def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def owner(registry):
    return await registry.developer()


@pytest.fixture
async def agent(owner):
    return await owner.agent(name="Bearer")


async def card_json(registry, did):
    return (await registry.get(f"/agent-cards/{did}")).json()["card_data"]


async def treasury(registry):
    return (
        Decimal(
            await registry.database.query(
                lambda tx: tx.fetchval(
                    "SELECT sum(liquid)::text FROM ledger_account WHERE did LIKE '%:system:treasury'"
                )
            )
        )
        / 10**8
    )


async def events(registry, did):
    rows = await registry.database.query(
        lambda tx: tx.fetch(
            "SELECT data FROM journal_event WHERE aggregate_id = $1 AND event_type = 'FlarePurchased'", did
        )
    )
    return [json.loads(row["data"]) for row in rows]


async def govern(owner, agent, **policy):
    path = f"/api/v1/agents/{agent.did}/authz"
    answer = await owner.registry.http.put(path, json={"spend_policy": policy}, headers=owner.headers)
    assert answer.status_code == 200, answer.text


async def test_the_catalogue_is_public_and_says_slot_and_price(registry):
    flares = (await registry.get("/achievements/flares")).json()
    assert {"variant": "laurel", "slot": "corner", "price": "5"} in flares
    assert {one["slot"] for one in flares} == {"corner", "encirclement", "overlay"}
    assert all(one.keys() == {"variant", "slot", "price"} for one in flares)


async def test_a_purchase_is_one_payment_to_the_treasury_and_one_event(registry, agent):
    before = await treasury(registry)
    answer = await buy(agent, "laurel", "5")
    assert answer.status_code == 200, answer.text
    made = answer.json()
    assert (made["variant"], made["slot"], made["price"], made["fee"]) == ("laurel", "corner", "5", "0.025")
    assert await agent.balance() == made["balance_after"] == "94.975"
    assert await treasury(registry) - before == 5
    (event,) = await events(registry, agent.did)
    assert (event["variant"], event["price"], event["tx_id"]) == ("laurel", "5", made["tx_id"])
    await require_schemas_kept(registry.database, "FlarePurchased")
    assert (await registry.supply())["delta"] == "0"


async def test_an_owned_flare_another_price_and_an_unknown_flare_are_refused_without_a_payment(
    registry, agent
):
    assert (await buy(agent, "anchor", "2.00")).status_code == 200
    left = await agent.balance()
    assert code(await buy(agent, "anchor", "2")) == (409, "FLARE_OWNED")
    assert code(await buy(agent, "laurel", "4.99")) == (409, "FLARE_PRICE_CHANGED")
    assert code(await buy(agent, "crown", "5")) == (404, "FLARE_UNKNOWN")
    assert await agent.balance() == left
    assert len(await events(registry, agent.did)) == 1


@pytest.mark.parametrize(
    "body",
    [{"price": "0"}, {"price": "-5"}, {"price": 5}, {"price": "5", "gift": True}, {"variant": "x" * 65}],
)
async def test_a_body_of_another_form_is_refused(agent, body):
    assert (await buy(agent, **{"variant": "laurel", "price": "5", **body})).status_code == 422


async def test_a_price_beyond_the_balance_is_refused(agent, registry):
    await agent.transfer(await registry.agent(), "95")
    assert code(await buy(agent, "rope", "20")) == (402, "INSUFFICIENT_BALANCE")
    assert (await select(agent, encirclement="rope")).status_code == 409


async def test_a_repeated_purchase_pays_once(agent):
    first = await buy(agent, "compass", "2", key="once")
    again = await buy(agent, "compass", "2", key="once")
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (first.json(), "true")
    assert code(await buy(agent, "anchor", "2", key="once")) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert await agent.balance() == "97.99"


async def test_of_purchases_at_the_same_moment_one_pays(registry, agent):
    answers = await asyncio.gather(*(buy(agent, "ring", "10") for _ in range(6)))
    assert sorted(one.status_code for one in answers) == [200, *[409] * 5]
    assert await agent.balance() == "89.95"
    assert len(await events(registry, agent.did)) == 1


async def test_a_spend_policy_judges_the_purchase_and_its_owner_approves(registry, owner, agent):
    await govern(owner, agent, per_tx_max="9")
    assert code(await buy(agent, "ring", "10")) == (403, "SPEND_OVER_PER_TX_MAX")
    await govern(owner, agent, approval_over="1")
    asked = await buy(agent, "laurel", "5")
    assert asked.status_code == 202, asked.text
    assert await agent.balance() == "100"
    approval = asked.json()["approval_id"]
    path = f"/agents/{agent.did}/spend-approvals/{approval}/approve"
    assert (await registry.post(path, headers=owner.headers)).status_code == 200
    assert code(await buy(agent, "ring", "10", approval_id=approval)) == (403, "SPEND_APPROVAL_FOR_ANOTHER")
    assert (await buy(agent, "laurel", "5", approval_id=approval)).status_code == 200
    assert await agent.balance() == "94.975"


async def test_nobody_is_asked_about_what_could_not_be_paid(owner, agent, registry):
    await agent.transfer(await registry.agent(), "95")
    await govern(owner, agent, approval_over="1")
    assert code(await buy(agent, "rope", "20")) == (402, "INSUFFICIENT_BALANCE")


async def test_an_agent_without_teg_transfer_buys_nothing(owner, agent):
    path = f"/api/v1/agents/{agent.did}/authz"
    await owner.registry.http.put(path, json={"roles": ["staker"]}, headers=owner.headers)
    assert code(await buy(agent, "laurel", "5")) == (403, "PERMISSION_MISSING")


async def test_only_owned_flares_are_selected_each_in_its_slot(agent):
    for variant, price in (("ring", "10"), ("stars", "10")):
        assert (await buy(agent, variant, price)).status_code == 200
    assert code(await select(agent, corner="laurel")) == (409, "FLARE_NOT_OWNED")
    assert code(await select(agent, corner="ring")) == (422, "FLARE_SELECTION_INVALID")
    assert code(await select(agent, overlay="stars")) == (422, "FLARE_SELECTION_INVALID")
    assert (await select(agent, ring="ring")).status_code == 422
    shown = await select(agent, encirclement="ring", overlay="stars")
    assert shown.json() == {
        "corner": None,
        "encirclement": "ring",
        "overlay": "stars",
        "owned": ["ring", "stars"],
    }
    path = "/achievements/flares/selection"
    assert (await agent.registry.get(path, headers=agent.headers)).json() == shown.json()


async def test_the_card_states_the_flare_and_searches_find_it_while_an_encirclement_is_selected(
    registry, owner
):
    agent = await owner.agent(name="Encircled lighthouse")
    card = await card_json(registry, agent.did)
    assert card["flare"] == {
        "mark": None,
        "grade": 0,
        "foreign": False,
        "corner": None,
        "encirclement": None,
        "overlay": None,
    }
    assert (await buy(agent, "rope", "20")).status_code == 200
    assert agent.did not in await _found(registry)
    assert (await select(agent, encirclement="rope")).status_code == 200
    assert (await card_json(registry, agent.did))["flare"]["encirclement"] == "rope"
    assert agent.did in await _found(registry)
    listed = (await registry.get("/agent-cards", params={"bearing_encirclement": True})).json()
    assert agent.did in [one["did"] for one in listed["items"]]
    assert (await select(agent)).status_code == 200
    assert agent.did not in await _found(registry)


async def _found(registry):
    await registry.indexed()
    query = {"query": "lighthouse", "encircled_only": True}
    results = (await registry.get("/agent-cards/discover", params=query)).json()["results"]
    assert all(one["marks"]["encircled"] for one in results)
    return [one["did"] for one in results]


async def test_an_owner_cannot_write_a_flare_into_the_card(registry, owner):
    agent = await owner.agent(**card_of("Boastful", flare={"encirclement": "rope", "grade": 7}))
    assert (await card_json(registry, agent.did))["flare"]["encirclement"] is None


async def test_the_exported_card_has_no_flare(registry, agent):
    assert "flare" not in (await registry.get(f"/agents/{agent.did}/card-export")).json()


async def test_reputation_ignores_flares(registry, agent):
    async def known():
        return [
            (await registry.get(f"/agents/{agent.did}/{route}")).json()
            for route in ("reputation", "track-record")
        ]

    before = await known()
    assert (await buy(agent, "ring", "10")).status_code == 200
    assert (await select(agent, encirclement="ring")).status_code == 200
    assert await known() == before


@pytest.mark.parametrize(
    "prices", ["laurel", "laurel=0", "laurel=1,laurel=2", "crown=5", "laurel=-1", "laurel=1e3"]
)
def test_prices_of_another_form_stop_the_start(monkeypatch, prices):
    monkeypatch.setenv("FLARE_PRICES", prices)
    with pytest.raises(BadSetting, match="FLARE_PRICES"):
        read_settings()


@pytest.mark.parametrize(
    "name",
    ['<script>alert(1)</script>"&', "a\u202egnp.exe", "x" * 120, "\u0007bell", "https://evil.example/x"],
)
async def test_a_badge_is_harmless_whatever_the_agent_is_called(registry, owner, name):
    agent = await owner.agent(name=name.replace("\u0007", ""))
    answer = await registry.get(f"/achievements/agents/{agent.did}/badge.svg")
    assert answer.headers["Content-Type"] == "image/svg+xml"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    drawn = ET.fromstring(answer.text)
    names = {one.tag.partition("}")[2] for one in drawn.iter()}
    assert names <= {"svg", "title", "rect", "g", "path", "text", "circle", "line"}
    attributes = {attribute for one in drawn.iter() for attribute in one.attrib}
    assert not attributes & {"href", "style", "onload", "class"}
    assert not any("url(" in value for one in drawn.iter() for value in one.attrib.values())
    assert not {"\u202e", "\u0007"} & set(answer.text)


async def test_a_badge_shows_flares_and_is_read_again_only_when_it_changed(registry, owner):
    agent = await owner.agent(name="Badge")
    path = f"/achievements/agents/{agent.did}/badge.svg"
    plain = await registry.get(path)
    same = await registry.get(path, headers={"If-None-Match": plain.headers["ETag"]})
    assert (same.status_code, plain.headers["Cache-Control"]) == (304, "public, max-age=300")
    assert "Badge: No mark yet" in plain.text
    await buy(agent, "laurel", "5")
    await select(agent, corner="laurel")
    changed = await registry.get(path, headers={"If-None-Match": plain.headers["ETag"]})
    assert (changed.status_code, "#2e7d32" in changed.text) == (200, True)
    assert (
        await registry.get("/achievements/agents/did:hansa:hansa.local:nobody/badge.svg")
    ).status_code == 404
