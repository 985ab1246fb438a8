"""A registry that holds the corpus, asked over HTTP like any other."""

from collections.abc import Iterable
from uuid import uuid4

from hansa.rooms.catalogue import publish_card
from tests.registry import TestRegistry

from .corpus import JudgedQuery, cards

DEVELOPER = 1


async def publish_corpus(registry: TestRegistry) -> None:
    """Publish every card, each for an agent of its own, and let search know them."""

    async def publish_all(tx):
        for card in cards():
            did = f"did:hansa:{registry.settings.trust_domain}:{uuid4()}"
            await publish_card(
                tx, did=did, developer_id=DEVELOPER, card_data=card, settings=registry.settings
            )

    await registry.database.transaction(publish_all)
    await registry.indexed()


async def ask(registry: TestRegistry, q: str, limit: int = 10) -> list[str]:
    """Return the humanReadableIds of the found agents, the best first."""
    answer = await registry.get("/agent-cards/discover", params={"q": q, "limit": limit})
    assert answer.status_code == 200, answer.text
    return [result["human_readable_id"] for result in answer.json()["results"]]


async def rankings(registry: TestRegistry, asked: Iterable[JudgedQuery]) -> dict[str, list[str]]:
    """Return the findings of each query, by its id."""
    return {query.id: await ask(registry, query.q) for query in asked}
