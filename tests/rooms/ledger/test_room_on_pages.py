"""Pages of accounts keep room, so that an update does not have to clear its page first."""

import asyncpg

from tests.registry import TestRegistry

OPENED = 60
UPDATES = 6


async def test_pages_of_accounts_keep_room_for_many_updates(registry: TestRegistry):
    connection = await asyncpg.connect(registry.database.dsn)
    # Each connection fills pages of its own, and goes on with those that a vacuum finds.
    for number in range(OPENED):
        did = f"did:hansa:hansa.local:quiet-{number}"
        await connection.execute("INSERT INTO ledger_account (did, kind) VALUES ($1, 'agent')", did)
        if number % 10 == 0:
            await connection.execute("VACUUM ledger_account")
    await connection.close()
    pages = await registry.database.query(
        lambda tx: tx.fetch(
            "SELECT count(*) AS accounts, count(page_room) AS reserved, min(did) AS one FROM ledger_account"
            " GROUP BY (ctid::text::point)[0] ORDER BY 1"
        )
    )
    assert not any(page["reserved"] for page in pages)
    # A page that is full holds more than 50, and is cleared at each update.
    assert 4 <= pages[-1]["accounts"] <= 45
    places = [await place_after_update(registry, pages[-1]["one"]) for _ in range(UPDATES)]
    # A page that was cleared uses the place of an old version again.
    assert len({page for page, _ in places}) == 1
    assert len(set(places)) == UPDATES


async def place_after_update(registry: TestRegistry, did: str) -> tuple[int, int]:
    """Page and place of the new version of an account."""
    place: tuple[int, int] = await registry.database.transaction(
        lambda tx: tx.fetchval("UPDATE ledger_account SET liquid = liquid WHERE did = $1 RETURNING ctid", did)
    )
    return place
