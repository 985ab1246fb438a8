"""A thief of a registry's retired key, who can also call as that registry, gains nothing at its peers."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import pytest
from msgspec.structs import replace

from hansa.rooms import federation
from hansa.rooms.catalogue.exports import EXPORT_VERSION, ITEM_TYPE, page_digest, serving, signed_part
from hansa.rooms.catalogue.exports.serving import digest_of
from hansa.rooms.transfers.crossing import store
from hansa.rooms.transfers.crossing.channel import PATH
from hansa.rooms.transfers.crossing.envelope import signed_text
from hansa.rooms.transfers.crossing.messages import Body, Message, MessageType
from tests.neighbours.crossing_scene import across, run
from tests.neighbours.reading_peers import names_found, read
from tests.neighbours.two_registries import Neighbours, neighbours
from tests.registry import DatabaseFarm, card_of


@pytest.fixture
async def pair(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Neighbours]:
    async with neighbours(database_farm, tmp_path_factory.mktemp("stolen")) as pair:
        yield pair


@pytest.fixture
async def stolen(pair: Neighbours) -> federation.SigningKey:
    """The key of a that was stolen; a rotated it two minutes ago, and b has heard from a since."""
    runtime = pair.a.registry.runtime
    key = await federation.SIGNATORY.of(runtime).present_key()
    await runtime.database.transaction(lambda tx: federation.rotate_key(tx, runtime.settings, runtime.seal))
    payer, payee = await pair.a.registry.agent(), await pair.b.registry.agent()
    assert (await across(payer, payee.did, "1")).status_code == 200
    await run(
        pair.b,
        "UPDATE federation_peer SET keys = jsonb_set(keys::jsonb, '{keys,1,retired_at}', to_jsonb("
        "(keys::jsonb #>> '{keys,1,retired_at}')::timestamptz - interval '2 minutes'))::text::json",
    )
    return key


@pytest.mark.parametrize("dated_back", [timedelta(0), timedelta(hours=1)])
async def test_no_units_arrive_under_a_stolen_key_whatever_date_the_thief_states(
    pair: Neighbours, stolen: federation.SigningKey, dated_back: timedelta
):
    accomplice = await pair.b.registry.agent()
    key = federation.SigningKey(
        stolen.kid, stolen.sequence, stolen.valid_from, stolen.private, stolen.now - dated_back
    )
    at = await pair.a.registry.database.query(
        lambda tx: store.find_pair(tx, "spiffe://b.example/registry/registry-b")
    )
    body = Body(str(uuid4()), f"did:hansa:a.example:{uuid4()}", accomplice.did, 10**9, "AVT")
    for kind in (MessageType.PREPARE, MessageType.COMMIT):
        text = signed_text(key, replace(Message(kind, body), own=at.own, seen=at.seen))
        answer = await pair.a.call(pair.b, "POST", PATH, {"messages": [text]})
        assert (answer.status, json.loads(answer.body)["messages"]) == (200, [])
    assert await accomplice.balance() == "100"
    assert await pair.b.refused(pair.a) == {"message_malformed": 2}


async def test_no_card_is_mirrored_under_a_stolen_key(
    pair: Neighbours, stolen: federation.SigningKey, monkeypatch: pytest.MonkeyPatch
):
    card = card_of("Planted by the thief")
    item = {
        "did": f"did:hansa:a.example:{uuid4()}",
        "epoch": 2**50,
        "version": 1,
        "export_version": EXPORT_VERSION,
        "status": "active",
        "is_active": True,
        "listing": {"unlisted": False},
        "deleted_at": None,
        "source_registry": "a.example",
        "digest": digest_of(card),
        "card_data": card,
    }
    items = [
        {**item, "signature": federation.detached_signature(stolen, signed_part(item), {"typ": ITEM_TYPE})}
    ]
    page = {
        "items": items,
        "next": "planted",
        "more": False,
        "as_of": "2026-01-01T00:00:00+00:00",
        "epoch": 2**50,
        "export_version": EXPORT_VERSION,
        "digest": page_digest(items),
    }

    async def planted(*_: object) -> bytes:
        return json.dumps(page).encode()

    monkeypatch.setattr(serving, "cards_page", planted)
    outcome = await read(pair.b, pair.a)
    assert dict(outcome.refused) == {"key_unknown": 1}
    assert await names_found(pair.b, "Planted by the thief") == []
