"""Pages of peers are judged by pure functions: whatever bytes come, a page is taken, or refused with a reason."""

import json
import random
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.values.jwk import jwk_of
from hansa.rooms.catalogue.errors import CursorInvalid
from hansa.rooms.catalogue.exports import EXPORT_VERSION, ITEM_TYPE, page_digest, signed_part
from hansa.rooms.catalogue.exports.place import Place, decode, encode, moment_in
from hansa.rooms.catalogue.exports.records import Range
from hansa.rooms.catalogue.exports.serving import digest_of
from hansa.rooms.catalogue.peer_reading import rules
from hansa.rooms.catalogue.peer_reading.judging import judge_page, origin_of
from hansa.rooms.catalogue.peer_reading.records import Origin, PageRefused
from hansa.rooms.federation import SigningKey, detached_signature
from tests.registry import card_of

ROUNDS = 400
PRIVATE = Ed25519PrivateKey.generate()
KEY = SigningKey("spiffe://b.example/registry/b#1", 1, datetime.now(UTC), PRIVATE, datetime.now(UTC))
JWK = {**jwk_of(PRIVATE.public_key().public_bytes_raw()), "kid": KEY.kid}


def origin() -> Origin:
    return origin_of("b.example", "b.example", {"keys": [JWK]})


def page_of(count: int) -> dict[str, Any]:
    items = []
    for number in range(count):
        card = card_of(f"Agent {number}")
        item = {
            "did": f"did:hansa:b.example:{number}",
            "epoch": 7,
            "version": number,
            "export_version": EXPORT_VERSION,
            "status": "active",
            "is_active": True,
            "listing": {"unlisted": False},
            "deleted_at": None,
            "source_registry": "b.example",
            "digest": digest_of(card),
            "card_data": card,
        }
        items.append({**item, "signature": detached_signature(KEY, signed_part(item), {"typ": ITEM_TYPE})})
    envelope = {"next": "place", "more": False, "epoch": 7, "export_version": EXPORT_VERSION}
    return {"items": items, **envelope, "digest": page_digest(items)}


def test_a_sound_page_is_taken_whole():
    judged = judge_page(json.dumps(page_of(3)).encode(), 3, origin())
    assert (len(judged.items), dict(judged.refused), judged.next, judged.more) == (3, {}, "place", False)


def test_whatever_bytes_come_a_page_is_taken_or_refused_with_a_word():
    chance = random.Random(20_260_101)
    good = json.dumps(page_of(3)).encode()
    forged, reasons = 0, set[str]()
    for _ in range(ROUNDS):
        body = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(body))
            body[at : at + chance.randint(0, 6)] = chance.randbytes(chance.randint(0, 6))
        try:
            judged = judge_page(bytes(body), 3, origin())
        except PageRefused as refusal:
            reasons.add(refusal.reason)
            forged += 1
        else:
            assert len(judged.items) + judged.refused.total() == judged.size
            forged += judged.refused.total() > 0
    assert forged > ROUNDS / 2
    assert all(reason.replace("_", "").isalpha() for reason in reasons)


def test_no_changed_item_passes_for_what_was_signed():
    chance = random.Random(20_260_102)
    for _ in range(ROUNDS):
        page = page_of(1)
        item = page["items"][0]
        name = chance.choice(
            ["version", "status", "is_active", "listing", "deleted_at", "digest", "epoch", "card_data"]
        )
        changed: dict[str, Any] = {
            "version": item["version"] + chance.randint(1, 9),
            "status": chance.choice(["suspended", "revoked"]),
            "is_active": False,
            "listing": {"unlisted": True},
            "deleted_at": "2026-01-01T00:00:00Z",
            "digest": digest_of({"name": "x"}),
            "epoch": 8,
            "card_data": {**item["card_data"], "name": "Another"},
        }
        item[name] = changed[name]
        page["digest"] = page_digest(page["items"])
        judged = judge_page(json.dumps(page).encode(), 1, origin())
        assert (judged.items, judged.refused.total()) == ([], 1), name


def test_keys_that_are_no_key_set_are_refused():
    with pytest.raises(PageRefused, match="keys_unreadable"):
        origin_of("b.example", "b.example", {"keys": [{}]})


def test_a_place_is_read_back_and_anything_else_is_refused():
    place = Place(5, 2**40, 17)
    assert decode(encode(place)) == place
    for text in (
        "",
        "x",
        "é",
        "AAAA",
        "bnVsbA",
        encode(place)[:-3],
        "WyJwIiwxLDJd",
        "WyJwIiwtMSwyLDNd",
        "MQ",
    ):
        with pytest.raises(CursorInvalid):
            decode(text)
    assert moment_in("2026-01-01T00:00:00Z") == datetime(2026, 1, 1, tzinfo=UTC)
    assert moment_in("2026-01-01T01:00:00 01:00") == datetime(2026, 1, 1, tzinfo=UTC), (
        "a plus in a query is a blank"
    )
    assert moment_in(encode(place)) is None
    with pytest.raises(CursorInvalid):
        moment_in("0001-01-01T00:00:00+14:00")


def test_the_size_of_pages_follows_the_time_that_they_take():
    assert rules.next_page_size(1000, 0.1) == 2000
    assert rules.next_page_size(10_000, 0.1) == 10_000
    assert rules.next_page_size(1000, 4.0) == 1000
    assert rules.next_page_size(1000, 9.0) == 500
    assert rules.next_page_size(300, 9.0) == 200


def test_ranges_differ_where_either_side_has_other_cards():
    theirs = [Range("0", 2, "x"), Range("1", 5, "y"), Range("3", 1, "z")]
    ours = [Range("0", 2, "x"), Range("1", 4, "w"), Range("2", 700, "v")]
    found = [(part.prefix, part.cards) for part in rules.differing(theirs, ours)]
    assert found == [("1", 5), ("2", 700), ("3", 1)]
    assert [rules.is_read_whole(part) for part in rules.differing(theirs, ours)] == [True, False, True]
    assert rules.is_read_whole(Range("12345678", 9_000, ""))
