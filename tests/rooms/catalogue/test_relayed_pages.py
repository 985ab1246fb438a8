"""A page of relayed items, judged without a network: its statements about homes, and the items that are left out."""

import json
from typing import Any

import pytest

from hansa.rooms.catalogue.exports import page_digest
from hansa.rooms.catalogue.peer_reading.records import Origin, PageRefused
from hansa.rooms.catalogue.peer_reading.relayed_judging import judge_items, judge_relayed_page
from hansa.rooms.federation.peers.self_hosted_card import is_own_address

OWN = "own.example"
HOME = {"ledger_id": "home.example", "registry_url": "https://home.example/", "hop_distance": 1}


def page(*items: Any, homes: Any = (HOME,), **more: Any) -> bytes:
    body = {
        "items": list(items),
        "homes": list(homes) if isinstance(homes, tuple) else homes,
        "next": "place",
        "more": False,
        "epoch": 1,
        "export_version": 1,
        "digest": page_digest(items),
        **more,
    }
    return json.dumps(body).encode()


def item(source_registry: Any = "home.example", **more: Any) -> dict[str, Any]:
    return {"did": "did:hansa:home.example:a", "version": 1, "source_registry": source_registry, **more}


def test_a_home_is_one_hop_farther_than_from_the_relay():
    judged = judge_relayed_page(page(item()), 10, OWN)
    (home,) = judged.homes.values()
    assert (home.registry_url, home.hop_distance) == ("https://home.example", 2)
    assert list(judged.items) == ["home.example"]
    assert not judged.refused


@pytest.mark.parametrize(
    ("source_registry", "reason"),
    [
        ("nobody.example", "home_unnamed"),
        (None, "home_unnamed"),
        ([], "home_unnamed"),
        (OWN, "relay_of_own"),
        (f"{OWN}/registry/x", "relay_of_own"),
    ],
)
def test_a_relay_speaks_neither_for_the_reader_nor_for_a_home_that_it_does_not_name(
    source_registry: Any, reason: str
):
    named = [HOME, {**HOME, "ledger_id": OWN}, {**HOME, "ledger_id": f"{OWN}/registry/x"}]
    judged = judge_relayed_page(page(item(source_registry), homes=named), 10, OWN)
    assert (judged.items, dict(judged.refused)) == ({}, {reason: 1})


@pytest.mark.parametrize(
    "homes",
    [
        None,
        {},
        [None],
        [{**HOME, "hop_distance": 0}],
        [{**HOME, "hop_distance": 5}],
        [{**HOME, "hop_distance": True}],
        [{**HOME, "ledger_id": "HOME.example"}],
        [{**HOME, "ledger_id": "home.example/agent/x"}],
        [{**HOME, "registry_url": "https://home.example/" + "x" * 500}],
        [{**HOME, "registry_url": "https://home.example/\n"}],
        [{**HOME, "registry_url": 1}],
        [HOME] * 201,
    ],
)
def test_a_page_with_a_malformed_home_is_refused_whole(homes: Any):
    with pytest.raises(PageRefused, match="page_unreadable"):
        judge_relayed_page(page(item(), homes=homes), 10, OWN)


@pytest.mark.parametrize("epoch", [None, "1", -1, 2**63, True, 1.0, [1]])
def test_an_item_without_an_epoch_is_refused(epoch: Any):
    judged = judge_items([item(epoch=epoch)], Origin("home.example", "home.example", {}), None)
    assert (judged.items, dict(judged.refused)) == ([], {"item_invalid": 1})
    assert judged.refused_card == "did:hansa:home.example:a 1"


@pytest.mark.parametrize(
    ("url", "is_own"),
    [
        ("https://home.example", True),
        ("https://registry.home.example:8443/x", True),
        ("https://HOME.example.", True),
        ("https://nothome.example", False),
        ("https://home.example.evil.example", False),
        ("https://home.example@evil.example", False),
        ("https://[", False),
        ("", False),
    ],
)
def test_the_own_address_of_a_home_is_its_trust_domain_or_below_it(url: str, is_own: bool):
    assert is_own_address(url, "home.example") is is_own
