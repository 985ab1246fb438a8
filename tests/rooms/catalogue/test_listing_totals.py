"""How many cards a list has: known by class without looking at cards, or counted up to a bound."""

import random
from typing import Any

import pytest
from msgspec.structs import replace

from hansa.rooms.catalogue import listing
from hansa.rooms.catalogue.card_conditions import EVERY_CARD, LOOKED_AT_MAX, READ_MAX
from hansa.rooms.catalogue.listing import Filters, conditions_of
from hansa.rooms.catalogue.listing_store import count_cards
from hansa.rooms.catalogue.maintenance import CLASS_ROWS_MAX, keep_lists_quick
from tests.properties.scale import by_tier, printed_seed
from tests.registry import TestRegistry
from tests.rooms.catalogue.catalogue_cards import change, names, publish, stub
from tests.rooms.catalogue.test_mirror import entry, page

FILTERS = [
    Filters("AVT", **filters)
    for filters in (
        {},
        {"include_federated": True},
        {"include_federated": True, "active_only": False},
        {"has_tee": True},
        {"has_tee": False, "include_federated": True},
        {"foreign_only": True, "include_federated": True},
        {"bearing_encirclement": True, "natives_only": True},
    )
]

_MANY = """
INSERT INTO catalogue_card (uuid, did, human_readable_id, developer_id, settlement_currency, trust_domain, name,
  description, card_data, card_bytes, tags, name_text, description_text, tags_text, skills_text)
SELECT gen_random_uuid(), 'did:hansa:hansa.local:many-' || n, 'many/' || n, 1, 'AVT', 'hansa.local', 'Many ' || n, '',
  '{}', 2, '{many}', 'many ' || n, '', '', '' FROM generate_series($1::int, $2::int) n
"""

_TO_AND_FRO = f"""
DO $$ BEGIN
  FOR turn IN 0..{CLASS_ROWS_MAX} LOOP UPDATE catalogue_card SET unlisted = NOT unlisted; END LOOP;
END $$
"""


async def totals_agree(registry: TestRegistry) -> None:
    for filters in FILTERS:
        conditions = conditions_of(filters)
        assert conditions.by_class
        statement = f"SELECT count(*) FROM catalogue_card c WHERE {conditions.sql}"
        counted, known = await registry.database.read(lambda tx, c=conditions, s=statement: _both(tx, c, s))
        assert counted == known, filters


async def _both(tx: Any, conditions: Any, statement: str) -> tuple[int, int]:
    return await tx.fetchval(statement, *conditions.values), await count_cards(tx, conditions)


async def test_totals_by_class_follow_whatever_happens_to_cards(registry: TestRegistry):
    lot = random.Random(printed_seed())
    cards = [
        await publish(registry, f"Card {number}", capabilities={"teeDetails": {"type": "t"}})
        for number in range(4)
    ]
    cards += [await publish(registry, "Plain"), await stub(registry)]
    version = 1
    for step in range(by_tier(25, 300, 3000)):
        version += 1
        act = lot.randrange(6)
        if act == 0:
            await page(
                registry,
                [entry(n, version, is_active=lot.random() < 0.7) for n in range(lot.randint(1, 9))],
            )
        elif act == 1:
            hidden = [
                {"did": entry(n)["did"], "version": version, "listing": {"unlisted": True}} for n in range(3)
            ]
            await page(registry, hidden)
        elif act == 2 and step % 5 == 0:
            await registry.database.transaction(
                lambda tx: tx.execute("DELETE FROM catalogue_card WHERE source_registry IS NOT NULL")
            )
        else:
            given = lot.choice(
                [
                    {"is_active": lot.random() < 0.5},
                    {"unlisted": lot.random() < 0.5},
                    {"status": lot.choice(("active", "suspended"))},
                    {"settlement_currency": lot.choice(("AVT", "NRD"))},
                ]
            )
            await change(registry, lot.choice(cards), **given)
        if lot.random() < 0.2:
            await registry.database.transaction(keep_lists_quick)
    await totals_agree(registry)
    await registry.database.transaction(lambda tx: tx.execute(_TO_AND_FRO))
    await registry.database.transaction(keep_lists_quick)
    rows = await registry.database.query(lambda tx: tx.fetchval("SELECT count(*) FROM catalogue_card_class"))
    assert rows < 20, "the classes were summed up"
    await totals_agree(registry)


async def test_a_total_is_exact_by_class_and_up_to_a_bound_where_cards_must_be_looked_at(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    # Tens of thousands of cards take seconds to write; the bounds are the same ones, lower.
    looked_at_max, read_max = LOOKED_AT_MAX // 50, READ_MAX // 50
    monkeypatch.setattr(listing, "EVERY_CARD", replace(EVERY_CARD, counted_max=looked_at_max))
    monkeypatch.setattr(listing, "READ_MAX", read_max)
    count = looked_at_max + 50
    await registry.database.transaction(lambda tx: tx.execute(_MANY, 1, count))
    await publish(registry, "Single")

    async def first(**query: Any) -> dict[str, Any]:
        answer = await registry.get("/agent-cards/", params={"limit": 100, **query})
        assert answer.status_code == 200, answer.text
        return answer.json()

    everything = await first(limit=1)
    assert (everything["pagination"]["total_items"], everything["total_is_exact"]) == (
        looked_at_max + 51,
        True,
    )
    single = await first(search="single")
    assert (single["pagination"]["total_items"], single["total_is_exact"]) == (1, True)
    for query, bound in (({"search": "MANY"}, read_max), ({"tags": "many"}, looked_at_max)):
        shown, read_so_far = await first(**query), 0
        assert (shown["pagination"]["total_items"], shown["total_is_exact"]) == (bound, False)
        while shown["next"]:
            read_so_far += len(shown["items"])
            shown = await first(**query, next=shown["next"])
        assert read_so_far + len(shown["items"]) == looked_at_max + 50, "the cursor leads beyond the bound"
    assert await names(registry, skip=looked_at_max + 60) == []
    assert await names(registry, search="single\x1fsingle") == []
