"""Members of a card that a pull and an owner may replace, and those that stay."""

import json
from typing import Any

import pytest

from hansa.foundation.values.canonical import digest
from hansa.rooms.catalogue import (
    CardInvalid,
    CardRevoked,
    CardUnknown,
    HumanReadableIdTaken,
    Replaced,
    StoredCard,
    replace_document,
    retire_card,
)
from tests.registry import TestRegistry, card_of
from tests.rooms.catalogue.catalogue_cards import change, publish, stub


async def replaced(
    registry: TestRegistry, card: StoredCard, document: Any, source: str = "pull"
) -> Replaced | None:
    return await registry.database.transaction(
        lambda tx: replace_document(tx, card.card_id, document, source=source)  # type: ignore[arg-type]
    )


async def kept(registry: TestRegistry, card: StoredCard) -> list[tuple[int, str, str]]:
    """The versions before the one that stands: number, name and who brought them."""
    rows = await registry.database.query(
        lambda tx: tx.fetch(
            "SELECT version, card_data->>'name' AS name, source, card_hash, card_data, valid_from < valid_until"
            " AS in_order FROM catalogue_card_version WHERE card_id = $1 ORDER BY version",
            card.card_id,
        )
    )
    assert all(row["card_hash"] == digest(json.loads(row["card_data"])) and row["in_order"] for row in rows)
    return [(row["version"], row["name"], row["source"]) for row in rows]


async def test_a_pull_replaces_a_stub_and_publishes_what_changed(registry: TestRegistry):
    card = await stub(registry)
    returned = await replaced(registry, card, card_of("Real", tags=["real"]))
    assert returned is not None
    assert (returned.card_id, returned.version) == (card.card_id, 2)
    assert {"description", "name", "skills", "tags"} <= set(returned.changed_keys)
    assert "humanReadableId" not in returned.changed_keys
    read = (await registry.get(f"/agent-cards/{card.id}")).json()
    assert (read["name"], read["human_readable_id"]) == ("Real", card.human_readable_id)
    del read["card_data"]["flare"]  # It is derived at each reading.
    assert returned.new_hash == digest(read["card_data"]).hex() != returned.old_hash
    assert await kept(registry, card) == [(1, "agent.example.org", "owner")]


async def test_what_changes_nothing_writes_nothing(registry: TestRegistry):
    card = await publish(registry)
    before = (await registry.get(f"/agent-cards/{card.id}")).json()
    for source in ("pull", "owner", "pull"):
        assert await replaced(registry, card, card_of(), source) is None
    assert (await registry.get(f"/agent-cards/{card.id}")).json() == before
    assert await kept(registry, card) == []


async def test_an_owners_word_stands_until_the_agents_own_card_changes(registry: TestRegistry):
    card = await publish(registry, "Onboarded")
    assert await replaced(registry, card, card_of("Served")) is not None
    assert await replaced(registry, card, card_of("Owner's word"), "owner") is not None
    assert await replaced(registry, card, card_of("Served")) is None
    assert (await registry.get(f"/agent-cards/{card.id}")).json()["name"] == "Owner's word"
    assert await replaced(registry, card, card_of("Served anew")) is not None
    assert [name for _, name, _ in await kept(registry, card)] == ["Onboarded", "Served", "Owner's word"]
    assert [source for _, _, source in await kept(registry, card)] == ["owner", "pull", "owner"]


async def test_a_pull_undoes_neither_the_listing_nor_the_status_nor_what_the_platform_says(
    registry: TestRegistry,
):
    card = await publish(registry)
    await change(registry, card, is_active=False, unlisted=True, status="suspended")
    said = '{"trackRecord": {"mark": "Proven"}, "extensions": [{"uri": "https://hansa.dev/extensions/v1/track-record"}]}'
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE catalogue_card SET card_data = (card_data::jsonb || $2::jsonb)::json WHERE id = $1",
            card.card_id,
            said,
        )
    )
    mine = {"uri": "urn:mine"}
    assert await replaced(
        registry, card, card_of("Served", trackRecord={"mark": "Sovereign"}, extensions=[mine])
    )
    read = (await registry.get(f"/agent-cards/{card.id}")).json()
    assert (read["is_active"], read["listing"]["unlisted"], read["status"]) == (False, True, "suspended")
    assert read["card_data"]["trackRecord"] == {"mark": "Proven"}
    assert mine in read["card_data"]["extensions"]
    assert json.loads(said)["extensions"][0] in read["card_data"]["extensions"]


async def test_a_name_that_another_card_has_is_refused_and_the_transaction_goes_on(registry: TestRegistry):
    await publish(registry, humanReadableId="acme/one")
    card = await publish(registry, humanReadableId="acme/two")

    async def note_the_failure(tx: Any) -> None:
        with pytest.raises(HumanReadableIdTaken):
            await replace_document(
                tx, card.card_id, card_of("Other", humanReadableId="acme/one"), source="pull"
            )
        await tx.execute("UPDATE catalogue_card SET pull_failures = 1 WHERE id = $1", card.card_id)

    await registry.database.transaction(note_the_failure)
    read = (await registry.get(f"/agent-cards/{card.id}")).json()
    assert (read["human_readable_id"], read["name"], read["pull_failures"]) == ("acme/two", "Translator", 1)
    assert await kept(registry, card) == []
    assert await replaced(registry, card, card_of(humanReadableId="acme/three")) is not None
    assert (await registry.get("/agent-cards/id/acme/three")).json()["id"] == str(card.id)


async def test_no_document_of_a_revoked_unknown_or_mirrored_card_is_replaced(registry: TestRegistry):
    card, mirror = await publish(registry), await publish(registry, "Mirror")
    await registry.database.transaction(lambda tx: retire_card(tx, str(card.did)))
    await change(registry, mirror, source_registry="peer", developer_id=None)
    for refusal, number in ((CardRevoked, card.card_id), (CardUnknown, mirror.card_id), (CardUnknown, 10**6)):
        with pytest.raises(refusal):
            await registry.database.transaction(
                lambda tx, number=number: replace_document(tx, number, card_of("New"), source="pull")
            )


async def test_an_invalid_document_replaces_nothing(registry: TestRegistry):
    card = await publish(registry)
    for document in (None, [], {}, {**card_of(), "name": ""}, {**card_of(), "x": float("nan")}):
        with pytest.raises(CardInvalid):
            await replaced(registry, card, document)
    assert await kept(registry, card) == []


async def test_of_a_card_the_last_hundred_documents_are_kept(registry: TestRegistry):
    card = await publish(registry)

    async def write_often(tx: Any) -> None:
        for number in range(103):
            await replace_document(tx, card.card_id, card_of(f"Name {number}"), source="owner")

    await registry.database.transaction(write_often)
    assert [version for version, *_ in await kept(registry, card)] == list(range(4, 104))
