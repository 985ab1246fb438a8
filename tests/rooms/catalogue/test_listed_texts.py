"""Lists find a card by its texts the moment it is written, and a sweep lets the index of texts have it."""

from typing import Any

import pytest

from hansa.rooms.catalogue import maintenance
from tests.registry import TestRegistry
from tests.rooms.catalogue.catalogue_cards import change, names, publish
from tests.rooms.catalogue.test_mirror import entry, page


async def unsorted(registry: TestRegistry) -> int:
    count: int = await registry.database.query(
        lambda tx: tx.fetchval("SELECT count(*) FROM catalogue_card WHERE NOT texts_sorted")
    )
    return count


async def swept(registry: TestRegistry) -> None:
    await registry.database.transaction(maintenance.index_texts)
    await registry.database.transaction(maintenance.keep_lists_quick)


async def found(registry: TestRegistry, words: str) -> list[str]:
    return sorted(await names(registry, search=words, include_federated=True))


async def test_a_list_finds_what_was_written_before_and_after_the_sweep(registry: TestRegistry):
    await publish(registry, "Teahouse")
    assert await found(registry, "eaho") == ["Teahouse"]
    await swept(registry)
    assert await unsorted(registry) == 0
    await publish(registry, "Teahouse at night")
    assert await unsorted(registry) == 1
    assert await found(registry, "eaho") == ["Teahouse", "Teahouse at night"]
    assert await found(registry, "eahoX") == []


async def test_a_changed_text_is_found_by_its_new_words_alone(registry: TestRegistry):
    await page(registry, [entry(1, 1, name="Old name")])
    await swept(registry)
    await page(registry, [entry(1, 2, name="New name")])
    for _ in range(2):
        assert await found(registry, "old name") == []
        assert await found(registry, "new name") == ["New name"]
        await swept(registry)


async def test_the_sweep_takes_so_many_at_once_and_changes_nothing_that_readers_see(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(maintenance, "TEXTS_AT_ONCE", 2)
    for number in range(3):
        await publish(registry, f"Card {number}")
    seen = "SELECT json_agg((id, updated_at, changed_xid, search_xid, version) ORDER BY id)::text FROM catalogue_card"
    before: Any = await registry.database.query(lambda tx: tx.fetchval(seen))
    left = []
    for _ in range(3):
        await registry.database.transaction(maintenance.index_texts)
        left.append(await unsorted(registry))
    assert left == [1, 0, 0]
    assert await registry.database.query(lambda tx: tx.fetchval(seen)) == before


async def test_the_sweep_leaves_a_card_that_somebody_is_writing(registry: TestRegistry):
    card, _ = await publish(registry, "Busy"), await publish(registry, "Idle")
    async with registry.database.pinned() as pinned:
        await pinned.execute(lambda tx: tx.execute("BEGIN"))
        await pinned.execute(
            lambda tx: tx.execute("SELECT FROM catalogue_card WHERE id = $1 FOR UPDATE", card.card_id)
        )
        await registry.database.transaction(maintenance.index_texts)
        assert await unsorted(registry) == 1
        await pinned.execute(lambda tx: tx.execute("ROLLBACK"))
    await registry.database.transaction(maintenance.index_texts)
    assert await unsorted(registry) == 0


@pytest.mark.parametrize("members", [{"unlisted": True}, {"status": "suspended"}, {"encircled": True}])
async def test_whatever_changes_a_card_takes_its_mark_away(registry: TestRegistry, members: dict[str, Any]):
    card = await publish(registry, "Marked")
    await swept(registry)
    await change(registry, card, **members)
    assert await unsorted(registry) == 1
