"""A listing of few cards searches once; its later pages are read by number, and show only the cards that are public then."""

from typing import Any

import pytest

from hansa.rooms.catalogue import listing_store
from hansa.rooms.catalogue.card_conditions import EVERY_CARD
from hansa.rooms.catalogue.findings import (
    KEPT_LISTINGS,
    KEPT_SECONDS,
    LIST_FINDINGS,
    CardFindings,
    older_than,
)
from tests.registry import TestRegistry
from tests.rooms.catalogue.catalogue_cards import change, publish

TEA = EVERY_CARD.having("tags @> {0}::text[]", ("tea",))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every search for cards, as it is made."""
    made, find_cards = [], listing_store.find_cards

    async def noted(tx, conditions):
        made.append(conditions)
        return await find_cards(tx, conditions)

    monkeypatch.setattr(listing_store, "find_cards", noted)
    return made


async def teas(registry: TestRegistry, count: int) -> list[Any]:
    return [await publish(registry, f"Tea {number}", tags=["tea"]) for number in range(count)]


async def page(registry: TestRegistry, cursor: str | None = None, **query: Any) -> dict[str, Any]:
    asked = {"tags": "tea", "limit": 2, **query, **({"next": cursor} if cursor else {})}
    answer = await registry.get("/agent-cards/", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def names_on(shown: dict[str, Any]) -> list[str]:
    return [item["name"] for item in shown["items"]]


async def test_the_later_pages_of_a_listing_do_not_search_again(registry: TestRegistry, searches: list[Any]):
    await teas(registry, 5)
    shown = await page(registry)
    seen = names_on(shown)
    while shown["next"]:
        shown = await page(registry, shown["next"])
        assert shown["pagination"]["total_items"] == 5
        seen += names_on(shown)
    assert seen == [f"Tea {number}" for number in (4, 3, 2, 1, 0)]
    assert len(searches) == 1


async def test_every_first_page_searches_and_returns_the_newest(registry: TestRegistry, searches: list[Any]):
    await teas(registry, 3)
    assert names_on(await page(registry, limit=9)) == ["Tea 2", "Tea 1", "Tea 0"]
    await publish(registry, "Tea of today", tags=["tea"])
    assert names_on(await page(registry, limit=9)) == ["Tea of today", "Tea 2", "Tea 1", "Tea 0"]
    assert names_on(await page(registry, skip=3)) == ["Tea 0"]
    assert len(searches) == 3


async def test_what_was_hidden_or_changed_since_the_first_page_is_on_no_later_one(registry: TestRegistry):
    cards = await teas(registry, 8)
    shown = await page(registry)
    await change(registry, cards[5], unlisted=True)
    await change(registry, cards[4], status="suspended")
    await change(registry, cards[3], tags=["coffee"])
    shown = await page(registry, shown["next"])
    # The page after the two that are gone, and what is left of the next.
    assert names_on(shown) == ["Tea 2"]
    assert names_on(await page(registry, shown["next"])) == ["Tea 1", "Tea 0"]


async def test_who_comes_back_after_a_while_or_to_another_process_searches_again(
    registry: TestRegistry, searches: list[Any]
):
    await teas(registry, 5)
    shown = await page(registry)
    LIST_FINDINGS.put(registry.runtime, CardFindings())
    assert names_on(await page(registry, shown["next"])) == ["Tea 2", "Tea 1"]
    assert len(searches) == 2


async def test_a_listing_with_other_filters_finds_its_own(registry: TestRegistry):
    await teas(registry, 4)
    await publish(registry, "Tea and toast", tags=["tea", "toast"])
    one, other = await page(registry, limit=1), await page(registry, limit=1, tags=["tea", "toast"])
    assert names_on(await page(registry, one["next"], limit=1)) == ["Tea 3"]
    assert other["next"] is None


def test_findings_are_kept_for_a_while_and_of_so_many_listings():
    clock = Clock()
    findings = CardFindings(clock)
    findings.keep(TEA, [3, 2, 1])
    clock.now = KEPT_SECONDS - 0.1
    assert list(findings.of(TEA) or ()) == [3, 2, 1]
    clock.now = KEPT_SECONDS
    assert findings.of(TEA) is None
    findings.keep(TEA, [4])
    for number in range(KEPT_LISTINGS):
        findings.keep(EVERY_CARD.having("c.id > {0}", number), [])
    assert findings.of(TEA) is None


@pytest.mark.parametrize(
    ("below", "left"), [(10, [9, 7, 4]), (9, [7, 4]), (8, [7, 4]), (5, [4]), (4, []), (0, [])]
)
def test_a_later_page_begins_below_the_last_card_returned(below: int, left: list[int]):
    assert older_than([9, 7, 4], below) == left
