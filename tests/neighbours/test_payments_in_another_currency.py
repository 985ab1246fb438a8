"""Specification 5 J and 6 V: payment tokens whose payee is at a registry of another currency."""

from collections.abc import AsyncIterator

import pytest

from tests.neighbours.paying_scene import abroad
from tests.neighbours.pool_scene import Currencies, currencies
from tests.neighbours.reading_peers import read
from tests.registry import DatabaseFarm


@pytest.fixture(scope="module")
async def scene(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Currencies]:
    async with currencies(database_farm, tmp_path_factory.mktemp("paying")) as scene:
        await scene.open_pool("10000", "20000")
        yield scene


async def test_a_token_is_settled_by_a_swap_within_the_transfer(scene: Currencies):
    paying = await abroad(scene.pair)
    made = await paying.authorized("10")
    assert (made["amount"], made["currency"]) == ("10", "ARA")
    settled = (await paying.settle(made["token"], wait=20)).json()
    assert (settled["status"], settled["amount"], settled["currency"]) == ("settled", "10", "ARA")
    await scene.settle()
    assert await paying.balances() == ("90", "119.88011988")
    await scene.prove()
    state = await paying.service.registry.get(
        f"/teg/transfers/{made['token_id']}", headers=paying.service.headers
    )
    assert (state.json()["method"], state.json()["currency_received"]) == ("fx", "BOB")


async def test_a_quote_converts_the_price_with_the_pool(scene: Currencies):
    service = await scene.b.registry.agent(pricing={"base_rate": "19.88011988", "currency": "BOB"})
    await read(scene.a, scene.b)
    caller = await scene.a.registry.agent()

    async def quoted(**query: str) -> dict[str, str]:
        params = {"target_agent_did": service.did, **query}
        answer = await scene.a.registry.get("/a2a-payment/quote", params=params, headers=caller.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    body = {"receiver_did": service.did, "amount": "10"}
    swapped = (await scene.a.registry.post("/teg/fx/quote", json=body, headers=caller.headers)).json()
    named = await quoted(amount="10")
    assert (named["amount"], named["amount_received"]) == ("10", swapped["amount_out"])
    priced = await quoted()
    assert (priced["price"], priced["price_currency"]) == ("19.88011988", "BOB")
    assert priced["amount_received"] == "19.88011988"
    page = (await scene.a.registry.http.get(f"/agents/{service.did}")).text
    assert f'now <a href="/swaps">{priced["amount"]} ARA</a>' in page
    # One more unit of the pool has been given since the first token: the same price costs a little more.
    assert 10 < float(priced["amount"]) < 10.1
    assert abs(float(priced["rate"]) - float(priced["amount"]) / 19.88011988) < 1e-9
