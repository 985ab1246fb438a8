"""Specification 5 M and P, 6 W 16: pools are opened, funded, drained, closed and read on both sides."""

from collections.abc import AsyncIterator

import pytest

from tests.neighbours.crossing_scene import across, refusal
from tests.neighbours.pool_scene import TERMS, Currencies, currencies, quote
from tests.registry import DatabaseFarm
from tests.running_jobs import run_scheduled_transactions


@pytest.fixture(scope="module")
async def scene(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Currencies]:
    async with currencies(database_farm, tmp_path_factory.mktemp("pools")) as scene:
        yield scene


PROPOSAL = {"currency": "BOB", "peer": "b.example", "reserve_own": "1000", "reserve_foreign": "2000"}


async def test_a_pool_is_proposed_by_its_home_and_funded_by_both(scene: Currencies):
    other_currency = {**PROPOSAL, "currency": "EVE"}
    assert await refusal(await scene.admin(scene.a, "/pools", other_currency)) == (
        422,
        "POOL_CURRENCY_DIFFERS",
    )
    too_much = {**PROPOSAL, "reserve_own": "2000000"}
    assert await refusal(await scene.admin(scene.a, "/pools", too_much)) == (409, "TREASURY_INSUFFICIENT")
    assert await refusal(await scene.a.registry.get("/teg/fx/rate?to=BOB")) == (404, "POOL_UNKNOWN")

    opened = await scene.admin(scene.a, "/pools", PROPOSAL)
    assert opened.status_code == 201, opened.text
    assert opened.json() == {
        "from": "ARA",
        "to": "BOB",
        "peer": "b.example",
        "home": "a.example",
        "mode": "pool",
        "reserve_from": "1000",
        "reserve_to": "0",
        "k": "0",
        "fee_pct": "0.5",
        "size_cap": "1000",
        "reserve_floor": "0.01",
        "proposed": "2000",
        "breaker": {"pct": "20", "open_until": None},
    }
    agent = await scene.a.registry.agent()
    assert await refusal(await quote(agent, to_currency="BOB", amount="10")) == (409, "POOL_EMPTY")
    wrong = await scene.admin(scene.b, "/pools/ARA/fund", {"amount": "1999"})
    assert await refusal(wrong) == (409, "POOL_PROPOSAL_DIFFERS")
    assert wrong.json()["error"]["context"] == {"proposed": "2000"}
    funded = await scene.admin(scene.b, "/pools/ARA/fund", {"amount": "2000"})
    assert funded.status_code == 200, funded.text
    await scene.follow()
    assert await scene.reserves() == ("1000", "2000")
    assert (await scene.pool(scene.b))["home"] == "a.example"
    # A refused act leaves no row.
    assert (await scene.logged(scene.a), await scene.logged(scene.b)) == (["pool.open"], ["pool.fund"])
    await scene.prove()


async def test_a_second_pool_is_409_on_either_side(scene: Currencies):
    assert await refusal(await scene.admin(scene.a, "/pools", PROPOSAL)) == (409, "POOL_EXISTS")
    mirrored = {"currency": "ARA", "peer": "a.example", "reserve_own": "10", "reserve_foreign": "10"}
    assert await refusal(await scene.admin(scene.b, "/pools", mirrored)) == (409, "POOL_EXISTS")
    assert await scene.reserves() == ("1000", "2000")


async def test_rates_are_public_and_each_side_states_its_own_direction(scene: Currencies):
    rate = (await scene.a.registry.get("/teg/fx/rate?to=BOB")).json()
    assert rate.pop("as_of")
    assert rate == {"from": "ARA", "to": "BOB", "rate": "2", "mode": "pool", "fee_pct": "0.5"}
    (listed,) = (await scene.b.registry.get("/teg/fx/rates")).json()["items"]
    assert (listed["from"], listed["to"], listed["rate"]) == ("BOB", "ARA", "0.5")
    assert (await scene.a.registry.get("/teg/fx/rate")).status_code == 422
    unknown = await scene.a.registry.get("/teg/fx/pool?to=BOB&peer=nobody")
    assert unknown.status_code == 404


async def test_a_quote_states_every_part_of_the_price(scene: Currencies):
    agent = await scene.a.registry.agent()
    answer = await quote(agent, to_currency="BOB", amount="10")
    assert answer.status_code == 200, answer.text
    returned = answer.json()
    assert returned.pop("quote_id")
    assert returned.pop("expires_at")
    # gross = floor(2000 * 10 / 1010) = 19.80198019, the fee is 0.5 % of it.
    assert returned == {
        "from": "ARA",
        "to": "BOB",
        "amount_in": "10",
        "amount_out": "19.70297029",
        "rate": "1.970297029",
        "fee": "0.0990099",
        "fee_currency": "BOB",
        "price_impact": "0.990099",
        "slippage_max": "2",
    }
    receiver = await scene.b.registry.agent()
    same = (await quote(agent, receiver_did=receiver.did, amount="10")).json()
    assert same["amount_out"] == "19.70297029"


async def test_an_exact_output_is_quoted_with_the_least_input_that_pays_it(scene: Currencies):
    agent = await scene.b.registry.agent()
    asked = (await quote(agent, to_currency="ARA", amount="5", direction="exact_out")).json()
    assert asked["amount_out"] == "5"
    paid = (await quote(agent, to_currency="ARA", amount=asked["amount_in"])).json()
    assert paid["amount_out"] == "5"
    less = f"{float(asked['amount_in']) - 0.00000002:.8f}"
    assert float((await quote(agent, to_currency="ARA", amount=less)).json()["amount_out"]) < 5


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"to_currency": "BOB", "amount": "0"}, 422, None),
        ({"amount": "1"}, 422, None),
        ({"to_currency": "BOB", "receiver_did": "did:hansa:b.example:x", "amount": "1"}, 422, None),
        ({"to_currency": "EVE", "amount": "1"}, 404, "POOL_UNKNOWN"),
        ({"receiver_did": "did:hansa:elsewhere:x", "amount": "1"}, 404, "POOL_UNKNOWN"),
        ({"to_currency": "BOB", "amount": "1001"}, 422, "SIZE_CAP"),
        ({"to_currency": "BOB", "amount": "0.00000001", "direction": "exact_out"}, 200, None),
        ({"to_currency": "BOB", "amount": "2000", "direction": "exact_out"}, 409, "POOL_EMPTY"),
        ({"to_currency": "BOB", "amount": "300"}, 409, "BREAKER_OPEN"),
    ],
)
async def test_a_quote_outside_of_the_limits_is_refused(
    scene: Currencies, body: dict[str, str], status: int, code: str | None
):
    agent = await scene.a.registry.agent()
    answer = await quote(agent, **body)
    assert answer.status_code == status, answer.text
    if code is not None:
        assert answer.json()["error"]["code"] == code


async def test_fund_and_drain_move_the_own_reserve_of_either_side(scene: Currencies):
    assert (await scene.admin(scene.a, "/pools/BOB/fund", {"amount": "500"})).status_code == 200
    assert (await scene.admin(scene.b, "/pools/ARA/fund", {"amount": "1000"})).status_code == 200
    await scene.follow()
    assert await scene.reserves() == ("1500", "3000")
    assert (await scene.admin(scene.b, "/pools/ARA/drain", {"amount": "1000"})).status_code == 200
    assert (await scene.admin(scene.a, "/pools/BOB/drain", {"amount": "500"})).status_code == 200
    await scene.follow()
    assert await scene.reserves() == ("1000", "2000")
    all_of_it = await scene.admin(scene.a, "/pools/BOB/drain", {"amount": "1000"})
    assert await refusal(all_of_it) == (409, "POOL_RESERVE_TOO_SMALL")
    assert (await scene.admin(scene.a, "/pools/BOB/drain", {"amount": "0"})).status_code == 422
    unknown = await scene.admin(scene.a, "/pools/EVE/fund", {"amount": "1"})
    assert await refusal(unknown) == (404, "POOL_UNKNOWN")
    assert (await scene.logged(scene.a))[1:] == ["pool.fund", "pool.drain"]
    await scene.prove()


async def test_a_repeated_act_of_a_peer_counts_once(scene: Currencies):
    body = {
        "act_id": "6e0c1a56-6f3c-4f0e-9d0f-1f2ab0f6f4aa",
        "kind": "fund",
        "currency": "BOB",
        "amount": "1",
        "asked": "0",
        "mode": "pool",
    }
    for _ in range(2):
        answer = await scene.b.call(scene.a, "POST", "/api/v1/federation/fx/acts", body)
        assert answer.status == 200, answer.body
    assert (await scene.pool(scene.a))["reserve_to"] == "2001"
    back = {**body, "act_id": "6e0c1a56-6f3c-4f0e-9d0f-1f2ab0f6f4ab", "kind": "drain"}
    assert (await scene.b.call(scene.a, "POST", "/api/v1/federation/fx/acts", back)).status == 200
    assert await scene.reserves() == ("1000", "2000")


async def test_a_rate_is_set_in_fixed_mode_only(scene: Currencies):
    answer = await scene.admin(scene.a, "/rates/BOB", {"rate": "2"}, "PUT")
    assert await refusal(answer) == (409, "FIXED_RATES_OFF")
    assert (await scene.admin(scene.a, "/rates/BOB", {"rate": "0"}, "PUT")).status_code == 422


async def test_only_administrators_of_the_treasury_change_pools(scene: Currencies):
    agent = await scene.a.registry.agent()
    headers = (await scene.a.registry.administrator("admin_federation")).headers
    for path in ("/admin/fx/pools/BOB/fund", "/admin/fx/pools/BOB/drain"):
        assert (
            await scene.a.registry.post(path, json={"amount": "1"}, headers=agent.headers)
        ).status_code == 401
        assert (await scene.a.registry.post(path, json={"amount": "1"}, headers=headers)).status_code == 403


async def test_the_registry_card_states_the_terms_of_swaps(scene: Currencies):
    for one, currency in ((scene.a, "ARA"), (scene.b, "BOB")):
        before = (await one.registry.http.get("/.well-known/registry-card.json")).json()["fees"]["fx"]
        assert before == {"enabled": False, "route_enabled": False}
        await run_scheduled_transactions(one.registry.runtime, TERMS)
        card = (await one.registry.http.get("/.well-known/registry-card.json")).json()
        note = card["fees"]["fx"].pop("note")
        assert note == f"Swaps into {scene.other(one)} ({'b' if one is scene.a else 'a'}.example)"
        assert card["fees"]["fx"] == {
            "enabled": True,
            "currency": currency,
            "rate_mode": "pool",
            "fee_pct": 0.5,
            "fee_split": {"pool_retained_pct": 100, "fee_collector_pct": 0},
            "size_cap": "1000",
            "reserve_floor": "0.01",
            "slippage_max": 2,
            "breaker_pct": 20,
        }
        etag = card["lifecycle"]["card_etag"]
        await run_scheduled_transactions(one.registry.runtime, TERMS)
        again = (await one.registry.http.get("/.well-known/registry-card.json")).json()
        assert again["lifecycle"]["card_etag"] == etag


async def test_where_several_pools_have_a_currency_the_peer_has_to_be_named(scene: Currencies):
    # A second peer with that currency, which nobody asks.
    await scene.a.registry.database.transaction(
        lambda tx: tx.execute(
            "INSERT INTO transfers_pool (peer, frame, currency, is_home, mode)"
            " SELECT 'spiffe://c.example/registry/c', 'c.example', currency, true, 'pool' FROM transfers_pool"
        )
    )
    try:
        for path in ("/teg/fx/pool?to=BOB", "/teg/fx/rate?to=BOB"):
            answer = await scene.a.registry.get(path)
            assert await refusal(answer) == (409, "CURRENCY_AMBIGUOUS")
            assert answer.json()["error"]["context"]["peers"] == ["b.example", "c.example"]
            assert (await scene.a.registry.get(f"{path}&peer=b.example")).status_code == 200
        answer = await scene.admin(scene.a, "/pools/BOB/fund", {"amount": "1"})
        assert await refusal(answer) == (409, "CURRENCY_AMBIGUOUS")
    finally:
        await scene.a.registry.database.transaction(
            lambda tx: tx.execute("DELETE FROM transfers_pool WHERE frame = 'c.example'")
        )


async def test_a_pool_without_pending_swaps_is_closed_on_both_sides_and_each_treasury_has_its_reserve(
    scene: Currencies,
):
    alice, bob = await scene.a.registry.agent(), await scene.b.registry.agent()
    locked = await across(alice, bob.did, "1", backend="async")
    assert locked.status_code == 200, locked.text
    assert await refusal(await scene.admin(scene.a, "/pools/BOB/close", None)) == (409, "POOL_BUSY")
    await scene.settle()
    reserves = await scene.reserves()
    closed = await scene.admin(scene.a, "/pools/BOB/close", None)
    assert closed.status_code == 200, closed.text
    assert (closed.json()["reserve_from"], closed.json()["reserve_to"]) == reserves
    # The other side has not heard of it, and funds its reserve.
    assert (await scene.admin(scene.b, "/pools/ARA/fund", {"amount": "5"})).status_code == 200
    await scene.follow()
    await scene.follow()
    for one in (scene.a, scene.b):
        answer = await one.registry.get(f"/teg/fx/pool?to={scene.other(one)}")
        assert await refusal(answer) == (404, "POOL_UNKNOWN")
        supply = await one.registry.supply()
        assert (supply["status"], supply["delta"]) == ("OK", "0")
        left = await one.registry.database.query(
            lambda tx: tx.fetchrow(
                "SELECT (SELECT liquid FROM ledger_account WHERE did LIKE '%:system:fx:%') AS leg,"
                " (SELECT count(*) FROM transfers_pool_act) AS acts"
            )
        )
        assert (left["leg"], left["acts"]) == (0, 0)
    assert (await scene.logged(scene.a))[-1] == "pool.close"
    assert await refusal(await across(alice, bob.did, "1")) == (409, "CURRENCY_DIFFERS")
    await scene.open_pool("100", "200")
    assert await scene.reserves() == ("100", "200")
    assert (await across(alice, bob.did, "1")).status_code == 200


async def test_a_pool_opens_with_the_reserve_floor_at_least_on_both_sides(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
):
    directory = tmp_path_factory.mktemp("floors")
    a, b = {"fx_reserve_floor": "10"}, {"fx_reserve_floor": "20"}
    async with currencies(database_farm, directory, a=a, b=b) as scene:
        for changed in ({"reserve_own": "9.99"}, {"reserve_foreign": "0.00999999"}):
            refused = await scene.admin(scene.a, "/pools", {**PROPOSAL, **changed})
            assert await refusal(refused) == (409, "POOL_RESERVE_TOO_SMALL")
        assert await refusal(await scene.a.registry.get("/teg/fx/rate?to=BOB")) == (404, "POOL_UNKNOWN")
        least = {**PROPOSAL, "reserve_own": "10", "reserve_foreign": "19"}
        assert (await scene.admin(scene.a, "/pools", least)).status_code == 201
        refused = await scene.admin(scene.b, "/pools/ARA/fund", {"amount": "19"})
        assert await refusal(refused) == (409, "POOL_RESERVE_TOO_SMALL")
        assert refused.json()["error"]["context"] == {"reserve_floor": "20"}
        assert (await scene.pool(scene.b))["reserve_from"] == "0"
