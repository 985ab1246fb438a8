"""The index of a process: its inputs, its rebuilds, and its acts when something fails."""

import itertools
import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import asyncpg
import pytest

from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms.catalogue import Searcher, SearchNotReady, SearchQuery, discover
from hansa.rooms.catalogue.search import SEARCHER
from tests.operation.registry_process import until_async
from tests.quickest import assert_within
from tests.registry import TestRegistry
from tests.rooms.catalogue.catalogue_cards import change, publish

Open = Callable[..., Awaitable[Searcher]]


@pytest.fixture
async def open_search(registry: TestRegistry) -> AsyncIterator[Open]:
    """Open a search of its own in a directory, as another process would."""
    opened: list[Searcher] = []

    async def open_(directory: Path | None = None, currency: str = "AVT") -> Searcher:
        searcher = Searcher(registry.database, directory or registry.settings.data_dir / "other", currency)
        opened.append(searcher)
        await searcher.catch_up()
        return searcher

    yield open_
    for searcher in opened:
        await searcher.close()


async def names(registry: TestRegistry, searcher: Searcher, **search_query: object) -> list[str]:
    found = await discover(searcher, registry.database, SearchQuery(**search_query))  # type: ignore[arg-type]
    return [card.name for card in found.results]


def place_of(registry: TestRegistry) -> Path:
    return registry.settings.data_dir / "other" / "0" / "place.json"


async def test_changes_while_the_process_was_stopped_are_indexed_after_a_restart(
    registry: TestRegistry, open_search: Open
):
    kept, hidden, _ = [await publish(registry, name) for name in ("Kept", "Hidden", "Left")]
    first = await open_search()
    assert len(await names(registry, first)) == 3
    await first.close()
    await change(registry, hidden, unlisted=True)
    await change(registry, kept, status="suspended")
    await publish(registry, "Added")
    again = await open_search()
    assert set(await names(registry, again)) == {"Left", "Added"}
    assert (await discover(again, registry.database, SearchQuery())).total == 2
    await change(registry, kept, status="active")
    await again.catch_up()
    assert set(await names(registry, again)) == {"Kept", "Left", "Added"}


@pytest.mark.parametrize(
    "harm", ["no place", "other form", "another database", "too old", "ahead", "damaged", "no documents"]
)
async def test_an_index_that_cannot_be_trusted_is_built_anew(
    registry: TestRegistry, open_search: Open, harm: str
):
    await publish(registry, "First")
    searcher = await open_search()
    await searcher.close()
    place = place_of(registry)
    # Nothing is notified: only an index that is built anew holds this card.
    await registry.database.transaction(
        lambda tx: tx.execute("ALTER TABLE catalogue_card DISABLE TRIGGER catalogue_card_search")
    )
    await publish(registry, "Second")
    written = json.loads(place.read_text())
    harmed = {
        "other form": {"form": "0/AVT"},
        "another database": {"database": "1/1/1"},
        "too old": {"at": written["at"] - 8 * 24 * 3600},
        "ahead": {"cursor": written["cursor"] + 10**9},
    }
    if harm == "no place":
        place.unlink()
    elif harm == "damaged":
        for file in (place.parent / "documents").iterdir():
            file.write_bytes(b"\0" * 100)
    elif harm == "no documents":
        shutil.rmtree(place.parent / "documents")
    else:
        place.write_text(json.dumps(written | harmed[harm]))
    again = await open_search()
    assert set(await names(registry, again)) == {"First", "Second"}


async def in_replica_role(registry: TestRegistry, *statements: tuple[str, object]) -> None:
    """Change rows as a failover does: no trigger notes the change."""

    async def change_rows(tx: Tx) -> None:
        await tx.execute("SET LOCAL session_replication_role = replica")
        for statement, card in statements:
            await tx.execute(statement, card)

    await registry.database.transaction(change_rows)


def promote(place: Path, cursor_ahead: int) -> None:
    """Let the index be that of the timeline before a failover, and its last changes be lost."""
    written = json.loads(place.read_text())
    place.write_text(json.dumps(written | {"timeline": 0, "cursor": written["cursor"] + cursor_ahead}))


async def test_after_a_failover_the_index_takes_the_differences_and_is_not_built_anew(
    registry: TestRegistry, open_search: Open
):
    published = {
        name: await publish(registry, name)
        for name in ("Same", "Changed", "Hidden", "Deleted", "Back", "Lost")
    }
    numbers = {name: card.card_id for name, card in published.items()}
    await change(registry, published["Back"], unlisted=True)
    searcher = await open_search()
    assert len(await names(registry, searcher)) == 5
    await searcher.close()
    await publish(registry, "Added")
    await change(registry, published["Hidden"], unlisted=True)
    await change(registry, published["Changed"], bonded=True)
    await in_replica_role(
        registry,
        # The document of this one would be another one, if it were made anew.
        ("UPDATE catalogue_card SET name = 'Untouched' WHERE id = $1", numbers["Same"]),
        ("DELETE FROM catalogue_card WHERE id = $1", numbers["Deleted"]),
        ("UPDATE catalogue_card SET unlisted = false, search_xid = 3 WHERE id = $1", numbers["Back"]),
        ("UPDATE catalogue_card SET name = 'Before', search_xid = 3 WHERE id = $1", numbers["Lost"]),
    )
    promote(place_of(registry), 10**9)
    again = await open_search()
    assert set(await names(registry, again)) == {"Untouched", "Changed", "Back", "Before", "Added"}
    assert await names(registry, again, q="Untouched") == []
    assert await names(registry, again, q="Before") == ["Before"]
    assert await names(registry, again, bonded_only=True) == ["Changed"]
    await publish(registry, "Later")
    await again.catch_up()
    assert "Later" in await names(registry, again)


async def test_a_transaction_whose_number_was_used_again_after_a_failover_is_indexed(
    registry: TestRegistry, open_search: Open
):
    card = await publish(registry, "Lost")
    await (await open_search()).close()
    await in_replica_role(registry, ("UPDATE catalogue_card SET name = 'Again' WHERE id = $1", card.card_id))
    promote(place_of(registry), 0)
    again = await open_search()
    assert await names(registry, again, q="Again") == ["Again"]


async def test_a_change_that_commits_late_is_indexed_and_what_committed_before_it_is_found_at_once(
    registry: TestRegistry, open_search: Open
):
    late, early = await publish(registry, "Late"), await publish(registry, "Early")
    searcher = await open_search()
    connection = await asyncpg.connect(registry.database.dsn)
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("UPDATE catalogue_card SET unlisted = true WHERE id = $1", late.card_id)
    await change(registry, early, unlisted=True)
    await publish(registry, "New")
    for _ in range(3):
        await searcher.catch_up()
        assert set(await names(registry, searcher)) == {"Late", "New"}
        assert (await discover(searcher, registry.database, SearchQuery())).total == 2
    await transaction.commit()
    await connection.close()
    await searcher.catch_up()
    assert (await discover(searcher, registry.database, SearchQuery())).total == 1
    assert await names(registry, searcher) == ["New"]


async def test_each_process_has_an_index_of_its_own(registry: TestRegistry, open_search: Open):
    await publish(registry, "Shared")
    first, second = await open_search(), await open_search()
    await publish(registry, "Newer")
    await second.catch_up()
    assert (await discover(first, registry.database, SearchQuery())).total == 1
    assert (await discover(second, registry.database, SearchQuery())).total == 2
    assert sorted(path.name for path in (registry.settings.data_dir / "other").iterdir()) == ["0", "1"]


async def test_nobody_is_answered_before_every_card_was_indexed(registry: TestRegistry):
    searcher = Searcher(registry.database, registry.settings.data_dir / "unopened", "AVT")
    with pytest.raises(SearchNotReady):
        await discover(searcher, registry.database, SearchQuery())
    answer = await registry.get("/agent-cards/discover")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SEARCH_NOT_READY")
    assert answer.headers["Retry-After"] == "1"
    await searcher.close()


async def test_a_change_is_found_within_a_second_while_the_changes_are_followed(registry: TestRegistry):
    searcher: Searcher = SEARCHER.of(registry.runtime)
    async with searcher.following():
        numbers = itertools.count()

        async def publish_another() -> Callable[[], Awaitable[object]]:
            word = f"sudden{next(numbers)}"
            await publish(registry, word)
            return partial(until_async, partial(names, registry, searcher, q=word))

        await assert_within(1, publish_another)


async def test_an_index_that_cannot_be_written_answers_as_it_is_and_catches_up_later(
    registry: TestRegistry, open_search: Open
):
    await publish(registry, "Before")
    searcher = await open_search()
    documents = place_of(registry).parent / "documents"
    await publish(registry, "Meanwhile")
    elsewhere = documents.with_name("elsewhere")
    documents.rename(elsewhere)
    with pytest.raises((ValueError, OSError)):
        await searcher.catch_up()
    assert await names(registry, searcher) == ["Before"]
    elsewhere.rename(documents)
    await searcher.catch_up()
    assert set(await names(registry, searcher)) == {"Before", "Meanwhile"}


async def test_counts_are_exact_with_more_tags_than_are_returned_and_than_are_counted_at_first(
    registry: TestRegistry, open_search: Open, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hansa.rooms.catalogue.search.execution.TAGS_COUNTED", 3)
    for number in range(40):
        await publish(
            registry,
            f"Number {number}",
            tags=[f"only-{number:02}", f"half-{number // 2:02}", "all"],
        )
    searcher = await open_search()
    tags = (await discover(searcher, registry.database, SearchQuery())).facets.tags
    assert len(tags) == 30
    assert set(list(tags)[:2]) == {"all", "test"}
    assert list(tags.values()) == [40] * 2 + [2] * 20 + [1] * 8


async def test_the_same_search_is_answered_from_the_database_as_it_is_now(registry: TestRegistry):
    card = await publish(registry, "Same")
    await registry.indexed()
    first = (await registry.get("/discover?query=same")).json()
    assert (await registry.get("/discover?query=same")).json() == first
    # The index is not notified of this.
    sql = "UPDATE catalogue_card SET liveness_checked_at = now() WHERE id = $1"
    await registry.database.transaction(lambda tx: tx.execute(sql, card.card_id))
    again = (await registry.get("/discover?query=same")).json()
    assert again["results"][0]["liveness"]["checked_at"] is not None
    await change(registry, card, status="suspended")
    assert (await registry.get("/discover?query=same")).json()["results"] == []


@pytest.mark.parametrize(
    ("words", "sort"), [("teapot", "relevance"), ("", "relevance"), ("teapot", "proven")]
)
async def test_equals_stand_in_the_order_of_their_publication_in_every_index_and_on_every_page(
    registry: TestRegistry, open_search: Open, words: str, sort: str
):
    cards = [
        await publish(registry, f"Teapot {number:02}", description="Keeps tea hot.") for number in range(12)
    ]
    expected = [card.name for card in cards]
    grown = await open_search(registry.settings.data_dir / "grown")
    for card in reversed(cards):
        # Notified one by one, the last first: the pieces of this index lie the other way round.
        await change(registry, card, bonded=False)
        await grown.catch_up()
    for searcher in (grown, await open_search()):
        pages = [await names(registry, searcher, q=words, sort=sort, limit=5, offset=at) for at in (0, 5, 10)]
        assert [name for page in pages for name in page] == expected


async def test_the_index_is_readable_by_the_service_alone(registry: TestRegistry, open_search: Open):
    left_open = registry.settings.data_dir / "left-open"
    left_open.mkdir(mode=0o755)
    await publish(registry, "Unlisted", unlisted=True)
    await open_search(left_open)
    folders = [left_open, *(path for path in left_open.rglob("*") if path.is_dir())]
    assert len(folders) > 1
    assert {oct(folder.stat().st_mode & 0o777) for folder in folders} == {"0o700"}
