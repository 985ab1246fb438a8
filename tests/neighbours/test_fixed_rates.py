"""Specification 5 M: with FX_RATE_MODE=fixed the operator of the home sets the rate, with the same limits."""

from collections.abc import AsyncIterator

import pytest

from tests.neighbours.crossing_scene import refusal
from tests.neighbours.pool_scene import Currencies, currencies, quote
from tests.registry import DatabaseFarm


@pytest.fixture(scope="module")
async def scene(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Currencies]:
    settings: dict[str, object] = {"fx_rate_mode": "fixed", "fx_size_cap": "50", "fx_reserve_floor": "10"}
    async with currencies(database_farm, tmp_path_factory.mktemp("fixed"), a=settings) as scene:
        await scene.open_pool("1000", "2000")
        yield scene


async def test_the_operators_rate_holds_whatever_the_reserves_are(scene: Currencies):
    alice, bob = await scene.a.registry.agent(), await scene.b.registry.agent()
    assert await refusal(await quote(alice, to_currency="BOB", amount="1")) == (409, "RATE_MISSING")
    assert (await scene.a.registry.get("/teg/fx/rate?to=BOB")).json()["rate"] is None
    at_the_other_side = await scene.admin(scene.b, "/rates/ARA", {"rate": "3"}, "PUT")
    assert await refusal(at_the_other_side) == (409, "FIXED_RATES_OFF")

    assert (await scene.admin(scene.a, "/rates/BOB", {"rate": "3"}, "PUT")).status_code == 200
    assert (await scene.logged(scene.a))[-1] == "pool.rate"
    assert "pool.rate" not in await scene.logged(scene.b)
    await scene.follow()
    for one, rate in ((scene.a, "3"), (scene.b, "0.333333333333333333")):
        read = (await one.registry.get(f"/teg/fx/rate?to={scene.other(one)}")).json()
        assert (read["mode"], read["rate"]) == ("fixed", rate)

    quoted = (await quote(alice, to_currency="BOB", amount="10")).json()
    assert (quoted["amount_out"], quoted["fee"], quoted["price_impact"]) == ("29.85", "0.15", "0")
    for payer, payee, received in ((alice, bob, "29.85"), (bob, alice, "3.31666666")):
        body = {"receiver_did": payee.did, "amount": "10"}
        sent = await payer.registry.post("/teg/send", json=body, headers=payer.headers)
        assert sent.status_code == 200, sent.text
        assert sent.json()["amount_received"] == received
        await scene.settle()
    assert await scene.reserves() == ("1006.68333334", "1980.15")
    await scene.prove()


async def test_the_limits_hold_in_fixed_mode(scene: Currencies):
    alice = await scene.a.registry.agent()
    assert await refusal(await quote(alice, to_currency="BOB", amount="51")) == (422, "SIZE_CAP")
    drained = await scene.admin(scene.a, "/pools/BOB/drain", {"amount": "1000"})
    assert await refusal(drained) == (409, "POOL_RESERVE_TOO_SMALL")
