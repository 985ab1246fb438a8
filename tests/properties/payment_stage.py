"""Stage for acts on payments: a registry with a caller and a service, a director of two sides, and the owner of the caller."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hansa.foundation.plumbing.web.caller import Developer
from tests.faults.payment_acts import PaymentWorld
from tests.founded import open_copy
from tests.properties.interleaving import Director, directing
from tests.registry import DatabaseFarm, TestRegistry


@asynccontextmanager
async def payment_stage(
    database_farm: DatabaseFarm, directory: Path
) -> AsyncIterator[tuple[PaymentWorld, Director, Developer]]:
    """The agents, the director of their transactions, and their owner."""
    settings = {
        "genesis_supply": "1000000000",
        "genesis_grant_amount": "100000",
        "rate_limit_reads": "off",
        "firm_quotes_per_caller": 100,
    }
    async with (
        open_copy(database_farm, directory, **settings) as registry,
        directing(registry.database.dsn, 2) as director,
    ):
        world = await PaymentWorld.of(registry)
        card = (await registry.get(f"/agent-cards/{world.payments.caller.did}")).json()
        owner = Developer(
            id=card["developer_id"],
            email="owner@example.org",
            session="test",
            is_verified=True,
            areas=frozenset(),
            is_admin=True,
        )
        world.administrator = await _administrator(registry)
        yield world, director, owner


async def _administrator(registry: TestRegistry) -> Developer:
    """An administrator who owns none of the agents."""
    email = (await registry.administrator("admin_enforcement")).email
    developer_id = await registry.database.read(
        lambda tx: tx.fetchval("SELECT id FROM people_developer WHERE email = $1", email)
    )
    areas = frozenset({"admin_enforcement"})
    return Developer(developer_id, email, "test", is_verified=True, areas=areas, is_admin=False)
