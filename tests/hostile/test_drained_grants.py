"""Many new developers take genesis grants from a treasury."""

import asyncio
from typing import Any

from hansa.rooms.agents.grants import forget_sites, pay_owed_grants
from tests.registry import StartRegistry, TestRegistry, card_of

PER_ADDRESS, PER_HOUR = 3, 5
LIMITED = {"genesis_grants_per_address": PER_ADDRESS, "genesis_grants_per_hour": PER_HOUR}


async def fundings(registry: TestRegistry, *addresses: str) -> list[str]:
    """How the first agents of new developers are funded, each created from one of these addresses."""
    return [(await create(registry, address))["initial_funding_status"] for address in addresses]


async def create(registry: TestRegistry, address: str) -> dict[str, Any]:
    developer = await registry.developer()
    headers = {"Bootstrap-Token": await developer.bootstrap_token(), "X-Forwarded-For": address}
    body = {"agent_did_method": "hansa", "agent_card": card_of()}
    answer = await registry.post("/onboard/create_agent", json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    created: dict[str, Any] = answer.json()
    return created


async def paid(registry: TestRegistry) -> int:
    """How many grants the treasury has paid."""
    for _ in range(3):
        await pay_owed_grants(registry.runtime)
    count: int = await registry.database.query(
        lambda tx: tx.fetchval("SELECT count(*) FROM ledger_transaction WHERE tx_type = 'grant'")
    )
    return count


async def hours_pass(registry: TestRegistry, hours: int) -> None:
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE agents_genesis_grant SET due_at = due_at - $1 * interval '1 hour',"
            " paid_at = paid_at - $1 * interval '1 hour'",
            hours,
        )
    )


async def test_of_many_new_developers_at_one_address_an_hour_pays_as_many_as_may_be_and_the_rest_later(
    start_registry: StartRegistry,
):
    registry = await start_registry(**LIMITED)
    found = await fundings(registry, *["198.51.100.7"] * 8)
    assert found == ["completed"] * PER_ADDRESS + ["due_later"] * 5
    assert await paid(registry) == PER_ADDRESS
    assert await fundings(registry, "198.51.100.8") == ["completed"]
    await hours_pass(registry, 1)
    assert await paid(registry) == 1 + 2 * PER_ADDRESS
    await hours_pass(registry, 1)
    assert await paid(registry) == 9
    assert (await registry.supply())["status"] == "OK"


async def test_the_networks_of_one_ipv6_site_are_one_address(start_registry: StartRegistry):
    registry = await start_registry(**LIMITED)
    addresses = [f"2001:db8:7:{network:x}::1" for network in range(4)]
    assert await fundings(registry, *addresses) == ["completed"] * PER_ADDRESS + ["due_later"]
    assert await fundings(registry, "2001:db8:8::1") == ["completed"]


async def test_from_many_addresses_an_hour_pays_no_more_than_it_may(start_registry: StartRegistry):
    registry = await start_registry(**LIMITED)
    addresses = [f"198.51.100.{number}" for number in range(7)]
    assert await fundings(registry, *addresses) == ["completed"] * PER_HOUR + ["due_later"] * 2
    await hours_pass(registry, 1)
    assert await paid(registry) == 7


async def test_requests_at_the_same_moment_get_no_more_grants(start_registry: StartRegistry):
    registry = await start_registry(**LIMITED)
    made = await asyncio.gather(*(create(registry, "198.51.100.7") for _ in range(8)))
    funded = [one for one in made if one["initial_funding_status"] == "completed"]
    assert len(funded) == await paid(registry) == PER_ADDRESS


async def test_the_address_of_a_grant_is_deleted_when_it_counts_no_more(start_registry: StartRegistry):
    registry = await start_registry(**LIMITED)
    await create(registry, "198.51.100.7")

    async def sites() -> list[str | None]:
        await registry.database.transaction(forget_sites)
        rows = await registry.database.query(lambda tx: tx.fetch("SELECT site FROM agents_genesis_grant"))
        return [row["site"] for row in rows]

    assert await sites() == ["198.51.100.7"]
    await hours_pass(registry, 2)
    assert await sites() == [None]
