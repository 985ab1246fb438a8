"""Cards and discovery by the client."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from hansa_client.errors import NotFound, Unauthorized
from tests.client.conftest import Open
from tests.client.test_client_accounts import registered
from tests.registry import TestRegistry, card_of

PRICED = {"pricing": {"model": "per_request", "base_rate": 0.05, "currency": "AVT"}}


async def test_a_card_is_found_by_its_words_with_its_price(connect: Open, registry: TestRegistry):
    developer = await registered(connect)
    painter = await developer.agents.create(card=card_of("Painter of portraits", **PRICED))
    await developer.agents.create(card=card_of("Bookkeeper"))
    await registry.indexed()
    anyone = connect()
    found = await anyone.discovery.find("portraits", pricing="paid", origins=["local"], limit=5)
    assert [(agent.did, agent.price) for agent in found.results] == [(painter.agent_did, Decimal("0.05"))]
    assert found.facets.origins == {"local": 1}
    free = (await anyone.discovery.find("bookkeeper")).results
    assert [agent.price for agent in free] == [None]
    known = await anyone.discovery.agent(painter.agent_did)
    assert (known.name, known.origin) == ("Painter of portraits", "local")


async def test_a_card_is_written_read_listed_hidden_and_withdrawn(connect: Open):
    developer = await registered(connect)
    anyone = connect()
    made = await developer.cards.create(card_of("Library"))
    changed = await developer.cards.update(made.id, card_data=card_of("Archive"))
    assert (changed.name, (await anyone.cards.read(made.id)).name) == ("Archive", "Archive")
    assert [card.name for card in (await anyone.cards.list(search="archive")).items] == ["Archive"]
    await developer.cards.set_unlisted(made.id, unlisted=True)
    assert (await anyone.cards.list(search="archive")).items == []
    own = (await developer.cards.list(owned_only=True, include_card_data=True)).items
    assert [(card.listing.unlisted, card.card_data["name"]) for card in own] == [(True, "Archive")]
    await developer.cards.delete(made.id)
    assert (await anyone.cards.read(made.id)).is_active is False
    with pytest.raises(Unauthorized):
        await connect(developer=await _ended(developer)).cards.create(card_of())


async def test_a_reading_of_changes_resumes(connect: Open):
    developer = await registered(connect)
    first = await developer.cards.create(card_of("First"))
    page = await developer.cards.list(updated_since=datetime(2020, 1, 1, tzinfo=UTC), limit=1)
    assert [card.id for card in page.items] == [first.id]
    second = await developer.cards.create(card_of("Second"))
    later = await developer.cards.list(updated_since=datetime(2020, 1, 1, tzinfo=UTC), next_page=page.resume)
    assert [card.id for card in later.items] == [second.id]


async def test_a_card_is_validated_without_being_stored(connect: Open):
    client = connect()
    assert (await client.cards.validate(card_of())).is_valid
    verdict = await client.cards.validate({"name": "No more than a name"})
    assert not verdict.is_valid
    assert verdict.errors


async def test_an_exported_card_is_verified_with_the_keys_of_its_registry(connect: Open):
    developer = await registered(connect)
    created = await developer.agents.create(card=card_of("Painter", **PRICED))
    verdict = await connect().cards.verified(created.agent_did)
    assert verdict.is_valid, verdict
    assert verdict.card["pricing"]["base_rate"] == 0.05
    now = datetime.now(UTC)
    then = [
        await connect().cards.verified(created.agent_did, at=now + age)
        for age in (-timedelta(days=1), timedelta(days=1))
    ]
    assert [one.code for one in then] == ["from_the_future", "verified"]
    with pytest.raises(NotFound):
        await connect().cards.verified("did:hansa:hansa.local:00000000-0000-4000-8000-000000000000")


async def _ended(developer):
    tokens = await developer.accounts.login("ada@example.org", "Correct-Horse-7-Battery")
    await developer.accounts.logout()
    return tokens
