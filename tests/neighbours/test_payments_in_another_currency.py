"""Specification 5 J and 6 V: payment tokens and contracts whose payee is at a registry of another currency."""

from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

from tests.neighbours.agreeing_scene import WORK, AgreementAbroad
from tests.neighbours.crossing_scene import refusal
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


async def swapped(abroad: AgreementAbroad, amount: str) -> Decimal:
    """Return the units that the provider gets for an amount at the present price."""
    answer = await abroad.contractor.registry.post(
        "/teg/fx/quote",
        json={"receiver_did": abroad.provider.did, "amount": amount},
        headers=abroad.contractor.headers,
    )
    assert answer.status_code == 200, answer.text
    return Decimal(answer.json()["amount_out"])


async def test_a_contract_is_paid_by_a_swap_within_its_approval(scene: Currencies):
    agreed = await AgreementAbroad.between(scene.pair)
    parts = [{"title": "First", "amount": "4"}, {"title": "Second", "amount": "6"}]
    contract_id = await agreed.accepted(milestones=parts)
    received = Decimal(100)
    for index, part in enumerate(parts):
        submitted = await agreed.abroad("submit-federated", contract_id, milestone=index, deliverable=WORK)
        assert submitted.status_code == 200, submitted.text
        received += await swapped(agreed, part["amount"])
        approved = await agreed.at_home("approve-completion", contract_id, milestone=index)
        assert approved.status_code == 200, approved.text
    assert (approved.json()["status"], approved.json()["amount_paid"]) == ("COMPLETED", "10")
    assert approved.json()["currency"] == "ARA"
    await scene.settle()
    paid, got = await agreed.balances()
    assert (paid, Decimal(got)) == ("90", received)
    await scene.prove()


async def test_without_a_pool_a_provider_of_another_currency_is_refused_at_every_act(scene: Currencies):
    agreed = await AgreementAbroad.between(scene.pair)
    proposed, accepted = await agreed.proposed(), await agreed.accepted()
    closed = await scene.admin(scene.a, "/pools/BOB/close", {})
    assert closed.status_code == 200, closed.text
    await scene.follow()
    for answer in (
        await agreed.propose(),
        await agreed.abroad("accept-federated", proposed),
        await agreed.abroad("submit-federated", accepted, deliverable=WORK),
    ):
        assert await refusal(answer) == (409, "CURRENCY_DIFFERS"), answer.text
    assert [(await agreed.read(one))["status"] for one in (proposed, accepted)] == ["PROPOSED", "ACCEPTED"]
