"""The list of cards, read whole by those who mirror it."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from hansa.rooms.catalogue import pages
from hansa.rooms.catalogue.findings import CardFindings
from hansa.rooms.catalogue.list_pieces import list_pieces
from hansa.rooms.catalogue.listing import Filters, list_cards
from hansa.rooms.catalogue.pages import PageRequest
from tests.registry import TestRegistry
from tests.rooms.catalogue.catalogue_cards import change, copy, publish

ROOM_OF_AN_ADDRESS = 16 << 20
SINCE = "2020-01-01T00:00:00Z"


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page has at most a few cards with their documents, which are read two at a time."""
    monkeypatch.setattr(pages, "PAGE_MAX_BYTES", 2500)
    monkeypatch.setattr(pages, "BATCH_MAX_CARDS", 2)


async def test_five_thousand_ordinary_cards_with_their_documents_are_one_answer(registry: TestRegistry):
    card = await publish(registry, description="Translates documents. " * 200)
    await copy(registry, card, 4999)
    query = {"include_card_data": True, "limit": 5000}
    async with registry.listening() as place, httpx2.AsyncClient(timeout=300) as http:
        answer = await http.get(f"http://{place}/api/v1/agent-cards/", params=query)
    assert answer.status_code == 200
    assert len(answer.content) > ROOM_OF_AN_ADDRESS
    page = answer.json()
    assert len({item["card_data"] and item["did"] for item in page["items"]}) == 5000
    assert page["pagination"]["total_items"] == page["pagination"]["limit"] == 5000
    assert page["next"] is None


async def test_a_page_that_is_sent_in_pieces_is_the_page_that_is_sent_whole(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    for number in range(5):
        await publish(registry, f"Agent {number}")
    for query in ({}, {"include_card_data": True}, {"updated_since": SINCE}):
        whole = (await registry.get("/agent-cards/", params=query)).json()
        with monkeypatch.context() as narrowed:
            narrowed.setattr(pages, "BATCH_MAX_CARDS", 2)
            in_pieces = await registry.get("/agent-cards/", params=query)
        assert "content-length" not in in_pieces.headers
        # The cursors of changes name transactions, and those go on.
        for page in (sent := in_pieces.json(), whole):
            page.pop("resume")
        assert sent == whole


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("since", [{}, {"updated_since": SINCE}])
@pytest.mark.parametrize("search", [{}, {"search": "agent"}])
async def test_a_page_cut_by_its_size_says_so_in_next_and_in_pagination(
    registry: TestRegistry, since: dict[str, str], search: dict[str, str]
):
    for number in range(9):
        await publish(registry, f"Agent {number}")
    query = {"include_card_data": True, "limit": 8, **since, **search}
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await registry.get("/agent-cards/", params={**query, **cursor})).json()
        names = [item["card_data"]["name"] for item in page["items"]]
        pagination = page["pagination"]
        assert pagination["offset"] == len(seen)
        seen += names
        if page["next"] is None:
            assert pagination["limit"] == 8
            break
        assert 1 < len(names) < 8
        assert pagination["limit"] == len(names)
        assert pagination["total_pages"] > pagination["current_page"]
        cursor = {"next": page["next"]}
    assert sorted(seen) == [f"Agent {number}" for number in range(9)]


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("since", [{}, {"updated_since": SINCE}])
@pytest.mark.parametrize("search", [{}, {"search": "agent"}])
async def test_a_reader_who_goes_on_with_skip_loses_no_card_of_a_page_cut_by_its_size(
    registry: TestRegistry, since: dict[str, str], search: dict[str, str]
):
    for number in range(9):
        await publish(registry, f"Agent {number}")
    query: dict[str, Any] = {"include_card_data": True, "limit": 8, "skip": 0, **since, **search}
    seen: list[str] = []
    while True:
        page = (await registry.get("/agent-cards/", params=query)).json()
        seen += [item["card_data"]["name"] for item in page["items"]]
        pagination = page["pagination"]
        if pagination["current_page"] >= pagination["total_pages"]:
            break
        query["skip"] = pagination["offset"] + pagination["limit"]
    assert sorted(seen) == [f"Agent {number}" for number in range(9)]


async def test_a_card_that_is_hidden_while_a_page_is_sent_is_not_in_the_rest_of_it(
    registry: TestRegistry, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pages, "BATCH_MAX_CARDS", 2)
    cards = [await publish(registry, f"Agent {number}") for number in range(5)]
    asked = PageRequest(10, 0, updated_since=None, next=None, with_data=True)
    filters = Filters(registry.settings.settlement_currency)
    page = await registry.database.read(lambda tx: list_cards(tx, filters, asked, CardFindings()))
    await change(registry, cards[0], unlisted=True)
    pieces = list_pieces(registry.database, page, asked, registry.settings.extension_base)
    sent = json.loads(b"".join([piece async for piece in pieces]))
    assert [item["name"] for item in sent["items"]] == ["Agent 4", "Agent 3", "Agent 2", "Agent 1"]


async def test_readers_of_the_whole_catalogue_at_one_address_all_get_it(registry: TestRegistry):
    card = await publish(registry, description="Translates documents. " * 200)
    await copy(registry, card, 1999)
    query = {"include_card_data": True, "limit": 2000}
    async with registry.listening() as place, httpx2.AsyncClient(timeout=300) as http:
        answers = await asyncio.gather(
            *(http.get(f"http://{place}/api/v1/agent-cards/", params=query) for _ in range(4))
        )
    assert [len(answer.json()["items"]) for answer in answers] == [2000] * 4
