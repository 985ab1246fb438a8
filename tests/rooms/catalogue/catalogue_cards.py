"""Cards put into the catalogue through its door, as the agents room does."""

from typing import Any
from uuid import uuid4

from hansa.rooms.catalogue import StoredCard, publish_card, publish_stub
from tests.registry import TestRegistry, card_of

DEVELOPER = 1
ALLOWED_CHANGES = {
    "tags",
    "is_active",
    "status",
    "unlisted",
    "source_registry",
    "developer_id",
    "settlement_currency",
    "did",
    "encircled",
    "bonded",
    "verified_jobs",
    "liveness",
    "last_alive_at",
    "host_verified_at",
}


def new_did() -> str:
    return f"did:hansa:hansa.local:{uuid4()}"


async def publish(
    registry: TestRegistry, name: str = "Translator", *, developer: int = DEVELOPER, **card: Any
) -> StoredCard:
    given = card_of(name, **card)
    return await registry.database.transaction(
        lambda tx: publish_card(
            tx, did=new_did(), developer_id=developer, card_data=given, settings=registry.settings
        )
    )


async def stub(registry: TestRegistry, host: str = "https://agent.example.org") -> StoredCard:
    return await registry.database.transaction(
        lambda tx: publish_stub(
            tx, did=new_did(), developer_id=DEVELOPER, host=host, settings=registry.settings
        )
    )


async def change(registry: TestRegistry, card: StoredCard, **members: Any) -> None:
    """Change a card as later rooms do: suspend it, unlist it, mirror it."""
    assert set(members) <= ALLOWED_CHANGES
    moments = [name for name, value in members.items() if value == "now()"]
    values = {name: value for name, value in members.items() if name not in moments}
    places = [f"{name} = ${number}" for number, name in enumerate(values, 2)]
    sql = f"UPDATE catalogue_card SET {', '.join([*places, *(f'{name} = now()' for name in moments)])} WHERE id = $1"
    await registry.database.transaction(lambda tx: tx.execute(sql, card.card_id, *values.values()))


async def names(registry: TestRegistry, **query: Any) -> list[str]:
    """The names in one page of the card list."""
    answer = await registry.get("/agent-cards/", params=query)
    assert answer.status_code == 200, answer.text
    return [item["name"] for item in answer.json()["items"]]


async def found(registry: TestRegistry, query: str, **more: Any) -> list[str]:
    """The names that a search finds, the best first."""
    await registry.indexed()
    answer = await registry.get("/discover", params={"query": query, **more})
    assert answer.status_code == 200, answer.text
    return [result["name"] for result in answer.json()["results"]]


_COPY = """
INSERT INTO catalogue_card ({columns}, uuid, did, human_readable_id)
SELECT {columns}, gen_random_uuid(), 'did:hansa:hansa.local:' || gen_random_uuid(), 'copies/' || number
FROM catalogue_card CROSS JOIN generate_series(1, $2) AS number WHERE id = $1
"""
_COLUMNS = """
SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
WHERE table_name = 'catalogue_card' AND is_generated = 'NEVER' AND is_identity = 'NO'
  AND column_name NOT IN ('uuid', 'did', 'human_readable_id')
"""


async def copy(registry: TestRegistry, card: StoredCard, times: int) -> None:
    """Make so many other agents with the same card."""
    columns = await registry.database.query(lambda tx: tx.fetchval(_COLUMNS))
    await registry.database.transaction(
        lambda tx: tx.execute(_COPY.format(columns=columns), card.card_id, times)
    )
