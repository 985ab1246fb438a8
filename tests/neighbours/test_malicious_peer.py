"""Forbidden messages of a peer: everything is refused and counted, and nothing but its own mirrors is written."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from hansa.rooms import federation
from hansa.rooms.catalogue.exports import (
    EXPORT_VERSION,
    ITEM_TYPE,
    page_digest,
    serving,
    signed_part,
)
from hansa.rooms.catalogue.exports.serving import digest_of
from hansa.rooms.catalogue.peer_reading import pages, reading
from hansa.rooms.federation import SigningKey, detached_signature
from tests.neighbours.reading_peers import card_at, read
from tests.neighbours.two_registries import Neighbours
from tests.registry import card_of

EPOCH = 2**50
"""Above that of the honest registry: the pages of this file begin anew."""


class Malicious:
    """Peer b with a feed of cards that the test states, signed with its real key."""

    def __init__(self, pair: Neighbours, key: SigningKey, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pair = pair
        self.key = key
        self.pages: Iterator[bytes] | Callable[[], bytes] = iter(())
        self.asked = 0
        monkeypatch.setattr(serving, "cards_page", self._cards_page)
        monkeypatch.setattr(serving, "acts_page", self._acts_page)

    async def _cards_page(self, *_: Any) -> bytes:
        self.asked += 1
        return self.pages() if callable(self.pages) else next(self.pages)

    async def _acts_page(self, *_: Any) -> bytes:
        return self.page()

    def item(self, version: int = 1, did: str | None = None, **more: Any) -> dict[str, Any]:
        """Return a signed item; the members in `more` are signed too."""
        card = more.pop("card_data", card_of("From b"))
        item = {
            "did": did or f"did:hansa:b.example:{uuid4()}",
            "epoch": EPOCH,
            "version": version,
            "export_version": EXPORT_VERSION,
            "status": "active",
            "is_active": True,
            "listing": {"unlisted": False},
            "deleted_at": None,
            "source_registry": "b.example",
            "digest": None if card is None else digest_of(card),
            "card_data": card,
            **more,
        }
        return {**item, "signature": detached_signature(self.key, signed_part(item), {"typ": ITEM_TYPE})}

    def page(self, *items: Any, **more: Any) -> bytes:
        """A page whose digest is right unless `more` says otherwise."""
        body = {
            "items": list(items),
            "next": f"place-{uuid4()}",
            "more": False,
            "as_of": "2026-01-01T00:00:00+00:00",
            "epoch": EPOCH,
            "export_version": EXPORT_VERSION,
            "digest": page_digest(items),
            **more,
        }
        return json.dumps(body).encode()

    async def refused(self, *served: bytes) -> dict[str, int]:
        """Return the number of refused items of these pages at a, by reason; after the first page a begins anew and requests it again."""
        self.pages = iter(served)
        outcome = await read(self.pair.a, self.pair.b)
        return dict(outcome.refused)


@pytest.fixture
async def malicious(pair: Neighbours, monkeypatch: pytest.MonkeyPatch) -> Malicious:
    runtime = pair.b.registry.runtime
    key = await federation.Signatory(runtime.database, runtime.seal).present_key()
    await pair.a.registry.database.transaction(lambda tx: tx.execute("DELETE FROM catalogue_peer_sync"))
    malicious = Malicious(pair, key, monkeypatch)
    # The comparison of mirrors asks the honest part of b.
    monkeypatch.setattr(reading, "reconcile", nothing)
    return malicious


async def nothing(_: Any) -> None:
    pass


async def test_a_peer_writes_neither_own_agents_here_nor_those_of_a_third_registry(malicious: Malicious):
    pair = malicious.pair
    own = await pair.a.registry.agent(name="Own")
    third = f"did:hansa:third.example:{uuid4()}"
    stealing = card_of("Stolen")
    items = [
        malicious.item(9, own.did, card_data=stealing),
        malicious.item(9, third, card_data=stealing),
        malicious.item(9, own.did, card_data=None, deleted_at="2026-01-01T00:00:00Z"),
        malicious.item(9, own.did, status="suspended"),
    ]
    assert await malicious.refused(malicious.page(*items)) == {"did_namespace_mismatch": 4}
    assert (await card_at(pair.a, own.did))["name"] == "Own"
    assert (await card_at(pair.a, own.did))["status"] == "active"
    assert (await pair.a.registry.get(f"/agents/by-did/{third}")).status_code == 404
    assert (await pair.a.refused(pair.b))["did_namespace_mismatch"] == 4


async def test_a_replayed_older_version_changes_nothing(malicious: Malicious):
    new = malicious.item(5, card_data=card_of("New"))
    old = malicious.item(4, new["did"], card_data=card_of("Old"), status="suspended")
    assert await malicious.refused(malicious.page(new)) == {}
    assert await malicious.refused(malicious.page(old)) == {"version_older": 1}
    card = await card_at(malicious.pair.a, new["did"])
    assert (card["name"], card["status"]) == ("New", "active")


async def test_each_forged_item_is_refused_by_itself_and_the_rest_of_the_page_is_applied(
    malicious: Malicious,
):
    good = malicious.item()
    forged = {
        "signature_invalid": [
            {**malicious.item(), "version": 2},
            {**malicious.item(), "status": "suspended"},
            {**malicious.item(), "listing": {"unlisted": True}},
            {**malicious.item(), "is_active": False},
            {**malicious.item(), "deleted_at": "2026-01-01T00:00:00Z"},
            {**malicious.item(), "signature": None},
            {**malicious.item(), "signature": good["signature"]},
            {**malicious.item(), "signature": {"protected": "e30", "signature": "AA"}},
        ],
        "digest_mismatch": [{**malicious.item(), "card_data": card_of("Another")}],
        "source_mismatch": [malicious.item(source_registry="a.example")],
        "epoch_mismatch": [malicious.item(epoch=EPOCH - 1)],
        "item_invalid": [malicious.item(status="frozen"), None, 7, "x", []],
        "did_invalid": [{}, {"did": 5}],
        "card_too_large": [malicious.item(card_data=card_of("Huge", description="x" * 10_000_000))],
        "card_invalid": [
            malicious.item(card_data={"name": ""}),
            malicious.item(card_data=card_of("x", skills=5)),
        ],
    }
    items = [item for group in forged.values() for item in group]
    refused = await malicious.refused(malicious.page(*items, good))
    assert refused == {reason: len(group) for reason, group in forged.items()}
    assert (await card_at(malicious.pair.a, good["did"]))["name"] == "From b"


async def test_a_page_that_cannot_be_read_is_refused_whole_and_the_cursor_stays(malicious: Malicious):
    item = malicious.item()
    unreadable = {
        "page_digest_mismatch": [malicious.page(item, digest="sha256:" + "0" * 64)],
        "page_too_long": [malicious.page(*[malicious.item() for _ in range(3)] * 400)],
        "key_unknown": [
            malicious.page(
                {**item, "signature": detached_signature(malicious.key, signed_part(item), {"kid": "x", "typ": ITEM_TYPE})}
            )
        ],
        "page_unreadable": [
            b"", b"{}", b"[]", b"\xff", b"[" * 100_000, malicious.page(item, next=""), malicious.page(item, next=5),
            malicious.page(item, next="x" * 513), malicious.page(item, next="a\x00b"), malicious.page(item, more=1),
            malicious.page(item, epoch=-1), malicious.page(item, epoch=2**63), malicious.page(item, epoch=True),
            malicious.page(item, export_version="1"), malicious.page(item, digest=None), malicious.page(item, items={}),
        ],
    }  # fmt: skip
    for reason, bodies in unreadable.items():
        for body in bodies:
            assert await malicious.refused(body) == {reason: 1}, body[:200]
    place = await malicious.pair.a.registry.database.query(
        lambda tx: tx.fetchval("SELECT cards_next FROM catalogue_peer_sync")
    )
    assert place is None


@pytest.mark.parametrize(
    ("reason", "more"),
    [
        ("cursor_stuck", {"next": "the same"}),
        ("more_without_items", {}),
        ("more_for_ever", {"with_item": True}),
        ("epoch_older", {"epochs": True}),
    ],
)
async def test_a_peer_that_reports_more_for_ever_is_left_and_counted(
    malicious: Malicious, monkeypatch: pytest.MonkeyPatch, reason: str, more: dict[str, Any]
):
    monkeypatch.setattr(reading, "PAGES_MAX", 20)
    item = malicious.item()

    def endless() -> bytes:
        if "epochs" in more:
            return malicious.page(epoch=EPOCH - malicious.asked, more=True)
        said = {name: value for name, value in more.items() if name == "next"}
        return malicious.page(*([item] if "with_item" in more else []), more=True, **said)

    malicious.pages = endless
    outcome = await read(malicious.pair.a, malicious.pair.b)
    assert outcome.refused[reason] == 1, outcome
    assert malicious.asked <= 20
    assert (await malicious.pair.a.refused(malicious.pair.b))[reason] >= 1


async def test_a_peer_has_a_quota_of_mirrors(malicious: Malicious, monkeypatch: pytest.MonkeyPatch):
    whole = pages.mirror_cards

    async def with_small_quota(*given: Any, **named: Any) -> Any:
        return await whole(*given, **named, quota=0)

    monkeypatch.setattr(pages, "mirror_cards", with_small_quota)
    items = [malicious.item() for _ in range(3)]
    assert await malicious.refused(malicious.page(*items)) == {"quota_reached": 3}
