"""The events of an agent, read by the agent itself from a position on."""

import asyncio
from typing import Any

import pytest

from tests.registry import TestAgent, TestRegistry

PATH = "/agents/me/events"


@pytest.fixture(scope="module")
def registry(registry_of_file: TestRegistry) -> TestRegistry:
    return registry_of_file


async def page(agent: TestAgent, **query: object) -> dict[str, Any]:
    answer = await agent.registry.get(PATH, params=query, headers=agent.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def everything(agent: TestAgent, position: str | None = None, limit: int = 2) -> list[dict[str, Any]]:
    """Every event from a position on, page by page."""
    found: list[dict[str, Any]] = []
    while True:
        query = {"limit": limit} if position is None else {"limit": limit, "next": position}
        read = await page(agent, **query)
        found += read["items"]
        position = read["position"]
        if read["is_last"]:
            return found


async def of_the_event_store(agent: TestAgent) -> list[str]:
    path = f"/events/aggregate/{agent.did}"
    answer = await agent.registry.get(path, params={"limit": 1000}, headers=agent.registry.internal)
    return [event["id"] for event in answer.json()["items"]]


def ids(events: list[dict[str, Any]]) -> list[str]:
    return [event["id"] for event in events]


async def test_an_agent_reads_each_event_in_which_it_takes_part_once_and_in_order(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    for amount in ("1", "2", "3"):
        assert (await payer.transfer(payee, amount)).status_code == 200
    for limit in (1, 2, 1000):
        assert ids(await everything(payer, limit=limit)) == await of_the_event_store(payer)


async def test_the_position_of_an_event_leads_to_what_follows_it(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    assert (await payer.transfer(payee, "1")).status_code == 200
    events = await everything(payer)
    for place, event in enumerate(events):
        assert ids(await everything(payer, event["position"])) == ids(events[place + 1 :])


async def test_from_the_end_there_is_only_what_happens_later(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    assert (await payer.transfer(payee, "1")).status_code == 200
    await registry.transactions_ended()
    end = await page(payer, start="end")
    assert (end["items"], end["is_last"]) == ([], True)
    assert (await page(payer, next=end["position"]))["items"] == []
    assert (await payer.transfer(payee, "2")).status_code == 200
    amounts = [event["data"].get("amount") for event in await everything(payer, end["position"])]
    assert "2" in amounts
    assert "1" not in amounts


async def test_from_the_end_of_an_agent_without_units_the_first_ones_are_seen(registry: TestRegistry):
    owner = await registry.developer()
    payer, payee = await owner.agent(), await owner.agent()
    await registry.transactions_ended()
    end = await page(payee, start="end")
    assert (await payer.transfer(payee, "2")).status_code == 200
    types = [event["event_type"] for event in await everything(payee, end["position"])]
    assert types == ["LedgerBalanceChanged", "TokensTransferred"]


async def test_of_the_balances_after_a_transaction_an_agent_sees_its_own_alone(registry: TestRegistry):
    payer, payee = await registry.agent(), await registry.agent()
    assert (await payer.transfer(payee, "1")).status_code == 200
    for event in await everything(payee):
        for entry in event["data"].get("entries", []):
            assert ("balance_after" in entry) == (entry["account"] == payee.did)


async def test_a_reader_that_follows_positions_misses_nothing_that_is_written_meanwhile(
    registry: TestRegistry,
):
    payer, payees = await registry.agent(), [await registry.agent() for _ in range(3)]
    written = asyncio.gather(*(payer.transfer(payee, "0.1") for payee in payees * 20))
    found: list[str] = []
    position: str | None = None
    while not written.done() or not found:
        read = await page(payer, limit=7, **({"next": position} if position else {}))
        found += ids(read["items"])
        position = read["position"]
    assert {answer.status_code for answer in await written} == {200}
    await registry.transactions_ended()
    found += ids(await everything(payer, position, limit=7))
    assert found == list(dict.fromkeys(found))
    assert set(found) == set(await of_the_event_store(payer))


@pytest.mark.parametrize("query", [{"next": "no-cursor"}, {"limit": 0}, {"limit": 1001}, {"start": "middle"}])
async def test_a_query_of_another_form_is_refused(query: dict[str, object], registry: TestRegistry):
    agent = await registry.agent()
    answer = await registry.get(PATH, params=query, headers=agent.headers)
    assert answer.status_code == 422
