"""Statements of a peer registry about its agents, applied a page at a time."""

import asyncio
import json
from typing import Any
from uuid import UUID, uuid4

from hansa.rooms.catalogue import MirrorResult, mirror_cards
from tests.registry import TestRegistry, card_of
from tests.rooms.catalogue.catalogue_cards import change, names, publish

PEER = "north.example.org"
OTHER = "south.example.org"


def did_of(number: int, issuer: str = PEER) -> str:
    return f"did:hansa:{issuer}:{UUID(int=number, version=4)}"


def entry(
    number: int, version: int = 1, *, issuer: str = PEER, name: str | None = None, **more: Any
) -> dict[str, Any]:
    """An item as a peer sends it."""
    card = card_of(name or f"Mirror {number}", humanReadableId=f"north/agent-{number}")
    return {"did": did_of(number, issuer), "version": version, "card_data": card, **more}


async def page(
    registry: TestRegistry, items: list[Any], *, peer: str = PEER, domain: str | None = None, **more: Any
):
    return await registry.database.transaction(
        lambda tx: mirror_cards(
            tx,
            source_registry=peer,
            trust_domain=domain or peer,
            settlement_currency="NRD",
            items=items,
            **more,
        )
    )


async def read(registry: TestRegistry, did: str) -> dict[str, Any]:
    answer = await registry.get(f"/agent-cards/{did}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def rows(registry: TestRegistry) -> dict[str, Any]:
    """Everything of every card that a page could change, by DID."""
    found = await registry.database.query(
        lambda tx: tx.fetch(
            "SELECT did, to_jsonb(c) - 'peer_version' AS row FROM catalogue_card c ORDER BY did"
        )
    )
    return {row["did"]: json.loads(row["row"]) for row in found}


async def test_a_mirrored_card_is_read_listed_and_says_where_it_is_at_home(registry: TestRegistry):
    result = await page(registry, [entry(1), entry(2, name="Übersetzer 翻訳")])
    assert result == MirrorResult(written=2)
    card = await read(registry, did_of(1))
    assert (card["source_registry"], card["settlement_currency"]) == (PEER, "NRD")
    assert card["developer_id"] is None
    assert card["human_readable_id"] == "north/agent-1"
    assert card["card_data"]["federation_metadata"] == {"source_registry": PEER, "first_synced_from": PEER}
    assert card["card_data"]["url"] == "https://agent.example.org/a2a", "the half for old clients is there"
    assert await names(registry) == []
    assert sorted(await names(registry, include_federated=True)) == ["Mirror 1", "Übersetzer 翻訳"]
    assert await names(registry, include_federated=True, search="ÜBERSETZER") == ["Übersetzer 翻訳"]
    assert await names(
        registry, include_federated=True, tags="test", foreign_only=True, search="mirror 1"
    ) == ["Mirror 1"]


async def test_an_unchanged_card_writes_nothing_and_a_newer_one_replaces_it(registry: TestRegistry):
    await page(registry, [entry(1), entry(2)])
    before = await rows(registry)
    assert await page(registry, [entry(1), entry(2)]) == MirrorResult(unchanged=2)
    assert await page(registry, [entry(1, 2), entry(2, 2)]) == MirrorResult(unchanged=2), (
        "a version alone is no change"
    )
    assert await rows(registry) == before
    assert await page(registry, [entry(1, 3, name="Renamed"), entry(2, 3)]) == MirrorResult(
        written=1, unchanged=1
    )
    after = await rows(registry)
    assert after[did_of(1)]["name"] == "Renamed"
    assert after[did_of(1)]["uuid"] == before[did_of(1)]["uuid"]
    assert after[did_of(1)]["changed_xid"] > before[did_of(1)]["changed_xid"]
    assert after[did_of(2)] == before[did_of(2)]


async def test_an_older_version_never_overwrites_a_newer_one(registry: TestRegistry):
    await page(registry, [entry(1, 5, name="New"), entry(2, 5), entry(3, 5)])
    await page(registry, [entry(2, 7)])
    before = await rows(registry)
    late = [
        entry(1, 4, name="Old"),
        entry(2, 6, name="Between two that say the same"),
        {"did": did_of(3), "version": 4, "listing": {"unlisted": True}},
    ]
    result = await page(registry, late)
    assert dict(result.skipped) == {"version_older": 3}
    assert await rows(registry) == before


async def test_of_one_agent_named_twice_in_a_page_the_newest_counts(registry: TestRegistry):
    result = await page(
        registry, [entry(1, 2, name="New"), entry(1, 1, name="Old"), entry(1, 2, name="Same")]
    )
    assert result.written == 1
    assert dict(result.skipped) == {"repeated": 2}
    assert (await read(registry, did_of(1)))["name"] == "New"


async def test_tombstones_and_unlistings_hide_the_mirror_until_it_is_listed_again(registry: TestRegistry):
    await page(registry, [entry(number) for number in range(5)])
    hiding = [
        {"did": did_of(0), "version": 2, "listing": {"unlisted": True}},
        {"did": did_of(1), "version": 2, "deleted_at": "2026-11-01T00:00:00Z"},
        entry(2, 2, listing={"unlisted": True}),
        entry(3, 2, is_active=False),
        {"did": did_of(9), "version": 2, "deleted_at": "2026-11-01T00:00:00Z"},
    ]
    result = await page(registry, hiding)
    assert (result.hidden, result.written) == (2, 2)
    assert dict(result.skipped) == {"card_unknown": 1}
    assert await names(registry, include_federated=True) == ["Mirror 4"]
    assert (await read(registry, did_of(0)))["listing"] == {"unlisted": True}, "by its key it can be read"
    again = [{**item, "version": 3} for item in hiding[:2]]
    assert await page(registry, again) == MirrorResult(unchanged=2)
    assert await page(registry, [entry(number, 4) for number in range(4)]) == MirrorResult(written=4)
    assert len(await names(registry, include_federated=True)) == 5


async def test_a_peer_speaks_for_the_namespace_proved_and_touches_nobody_elses_cards(registry: TestRegistry):
    native = await publish(registry, "Native")
    assert native.did is not None
    await page(registry, [entry(1, issuer=OTHER, name="Theirs")], peer=OTHER)
    before = await rows(registry)
    own_domain = registry.settings.trust_domain
    foreign = [
        {**entry(1, 9), "did": did}
        for did in (native.did, did_of(1, OTHER), f"did:hansa:{PEER}.org:x", "did:hansa:1")
    ]
    result = await page(registry, foreign)
    assert dict(result.skipped) == {"did_namespace_mismatch": 3, "did_invalid": 1}
    same_domain = [{**entry(1, 9), "did": native.did}, {"did": native.did, "version": 9, "deleted_at": "now"}]
    for item in same_domain:
        result = await page(registry, [item], peer="operator.example.org", domain=own_domain)
        assert dict(result.skipped) == {"did_held_elsewhere": 1}
    result = await page(registry, [entry(1, 9, issuer=OTHER)], peer="second.example.org", domain=OTHER)
    assert dict(result.skipped) == {"did_held_elsewhere": 1}
    assert await rows(registry) == before


async def test_what_cannot_be_applied_is_counted_and_the_rest_is_applied(registry: TestRegistry):
    card = card_of("Poisoned")
    poison: list[Any] = [
        None, 7, "x", [], {}, {"did": 5}, {"did": did_of(90)}, {"did": did_of(91), "version": "1"},
        {"did": did_of(92), "version": True, "card_data": card}, {"did": did_of(93), "version": -1, "card_data": card},
        {"did": did_of(94), "version": 2**63, "card_data": card}, {"did": did_of(95), "version": 1, "card_data": []},
        entry(96, listing=[1]), entry(97, listing={"unlisted": "yes"}), entry(98, is_active=1), entry(99, card_data=None),
        {"did": "did:hansa:" + "x" * 600, "version": 1}, {"did": did_of(1) + "\x00", "version": 1, "card_data": card},
    ]  # fmt: skip
    bad = [
        {}, card | {"name": ""}, card | {"name": "a\x00b"}, card | {"name": "\ud800"}, card | {"skills": 5},
        card | {"description": "x" * 9000}, card | {"extensions": {}}, card | {"url": "javascript:alert(1)"},
        card | {"pricing": 5}, card | {"tags": ["x" * 61]}, card | {"x": float("nan")}, card | {"x": [[]] * 21_000},
        card | {"x": json.loads("[" * 100 + "]" * 100)}, card | {"humanReadableId": "UPPER/CASE"},
    ]  # fmt: skip
    items = [
        entry(1),
        *poison,
        *({"did": did_of(200 + n), "version": 1, "card_data": c} for n, c in enumerate(bad)),
        entry(2),
    ]
    result = await page(registry, items)
    assert result.written == 2
    assert result.skipped["card_invalid"] == len(bad)
    assert result.skipped.total() == len(bad) + len(poison)
    assert sorted(await names(registry, include_federated=True, include_card_data=True)) == [
        "Mirror 1",
        "Mirror 2",
    ]


async def test_only_the_registry_says_what_is_its_own_to_say(registry: TestRegistry):
    enforced = {
        "uri": "https://north.example.org/extensions/v1/enforcement",
        "params": {"status": "suspended"},
    }
    card = card_of(
        "Boaster",
        did="did:hansa:x",
        status="revoked",
        federation_metadata={"source_registry": "us"},
        extensions=[enforced],
    )
    del card["supportedInterfaces"]
    card["url"] = "https://agent.example.org/a2a"
    await page(registry, [{"did": did_of(1), "version": 1, "card_data": card}])
    answer = await read(registry, did_of(1))
    document = answer["card_data"]
    assert answer["status"] == "active"
    assert "did" not in document
    assert "status" not in document
    assert document["federation_metadata"]["source_registry"] == PEER
    assert document["extensions"] == [enforced], "what the peer's platform says of its agent stays"
    assert document["humanReadableId"] == answer["human_readable_id"], "a name was made for it"


async def test_a_peer_has_a_quota_and_what_it_has_already_goes_on(registry: TestRegistry):
    result = await page(registry, [entry(number) for number in range(5)], quota=3)
    assert result.written == 3
    assert dict(result.skipped) == {"quota_reached": 2}
    result = await page(registry, [entry(number, 2, name="Renamed") for number in range(5)], quota=3)
    assert result.written == 3
    assert dict(result.skipped) == {"quota_reached": 2}
    assert (await page(registry, [entry(1, issuer=OTHER)], peer=OTHER, quota=3)).written == 1


async def test_pages_of_one_peer_at_the_same_moment_end_with_the_newest_of_each_card(registry: TestRegistry):
    pages = [
        [entry(number, version, name=f"{number} of {version}") for number in range(40)]
        for version in range(1, 7)
    ]
    pages = [items if at % 2 else items[::-1] for at, items in enumerate(pages)]
    await asyncio.gather(*(page(registry, items, quota=40) for items in pages))
    assert set(await names(registry, include_federated=True)) == {f"{number} of 6" for number in range(40)}


async def test_a_reader_who_follows_changes_hears_of_every_mirrored_change_and_of_nothing_else(
    registry: TestRegistry,
):
    await page(registry, [entry(number) for number in range(700)])
    query = {"include_federated": True, "limit": 1000, "updated_since": "2020-01-01T00:00:00Z"}
    first = (await registry.get("/agent-cards/", params=query)).json()
    assert len(first["items"]) == 700
    assert first["next"] is None
    await page(registry, [entry(number, 2, name="Renamed" if number == 3 else None) for number in range(700)])
    later = (await registry.get("/agent-cards/", params={**query, "resume": first["resume"]})).json()
    assert [item["name"] for item in later["items"]] == ["Renamed"]


async def test_a_mirror_keeps_its_place_when_an_own_agent_has_the_same_name(registry: TestRegistry):
    await page(registry, [entry(1)])
    native = await publish(registry, "Native", humanReadableId="north/agent-1")
    answer = (await registry.get("/agent-cards/id/north/agent-1")).json()
    assert answer["did"] == native.did
    await change(registry, native, did=f"did:hansa:{PEER}:{uuid4()}")
    assert (await page(registry, [entry(1, 2, name="Renamed")])).written == 1
