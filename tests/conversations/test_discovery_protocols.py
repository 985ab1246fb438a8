"""Discovery by a stranger who has only the address of the registry."""

import json
import re
from datetime import datetime
from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest
from a2a.client.card_resolver import parse_agent_card
from a2a.utils.proto_utils import validate_proto_required_fields
from msgspec.structs import replace

from hansa.foundation.values.visible_text import seen
from hansa.rooms.catalogue import agent_json_ld
from hansa.rooms.catalogue.publication import crawling, descriptions
from hansa.rooms.catalogue.reading import card_of_agent
from tests.registry import TestRegistry
from tests.rooms.catalogue.catalogue_cards import change, publish

BASE = "https://registry.example.org"
SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
HOSTILE = "</script><script>alert(1)</script><!-- \u202e ]]> & \u2028 <"


@pytest.fixture
async def registry(start_registry) -> TestRegistry:
    return await start_registry(public_base_url=BASE)


async def fetch(registry: TestRegistry, address: str):
    answer = await registry.http.get(address.removeprefix(BASE))
    assert answer.status_code == 200, answer.text
    return answer


async def locations(registry: TestRegistry, address: str) -> list[str]:
    answer = await fetch(registry, address)
    assert answer.headers["content-type"].startswith("application/xml")
    return [element.text for element in ET.fromstring(answer.content).iter(f"{SITEMAP}loc")]


async def json_ld(registry: TestRegistry, did: str) -> dict:
    card = await registry.database.read(lambda tx: card_of_agent(tx, did))
    return agent_json_ld(card, f"{BASE}/agents/{card.id}")


async def test_the_registrys_own_card_is_an_a2a_card_in_both_forms_and_names_an_interface_that_is_there(
    registry,
):
    card = (await fetch(registry, "/.well-known/agent-card.json")).json()
    validate_proto_required_fields(parse_agent_card(json.loads(json.dumps(card))))
    (interface,) = card["supportedInterfaces"]
    assert interface["url"] == card["url"] == f"{BASE}/api/v1"
    assert card["preferredTransport"] == interface["protocolBinding"]
    assert interface["protocolBinding"] not in {"JSONRPC", "GRPC", "HTTP+JSON"}
    described = (await fetch(registry, f"{card['url']}/openapi.json")).json()["paths"]
    named = {
        (method.lower(), f"/api/v1{path.rstrip(',')}")
        for skill in card["skills"]
        for method, path in re.findall(r"(GET|POST) (\S+)", skill["description"])
    }
    assert len(named) >= 6
    assert [one for one in named if one[0] not in described.get(one[1], {})] == []
    assert {next(iter(scheme)) for scheme in card["securitySchemes"].values()} >= {"httpAuthSecurityScheme"}


async def test_agent_descriptions_form_a_chain_of_pages_through_every_agent(registry, monkeypatch):
    monkeypatch.setattr(descriptions, "AGENTS_OF_A_PAGE", 2)
    developer = await registry.developer()
    agents = [await developer.agent(name=f"Agent {number}") for number in range(5)]
    hidden = [await publish(registry, "Hidden") for _ in range(4)]
    for card, members in zip(
        hidden,
        ({"unlisted": True}, {"did": None}, {"status": "suspended"}, {"is_active": False}),
        strict=True,
    ):
        await change(registry, card, **members)
    address, pages = f"{BASE}/.well-known/agent-descriptions", []
    while address:
        answer = await fetch(registry, address)
        assert answer.headers["content-type"] == "application/ld+json"
        pages.append(page := answer.json())
        assert (page["@type"], page["url"]) == ("CollectionPage", address)
        assert page["@context"]["ad"] == "https://agent-network-protocol.com/ad#"
        address = page.get("next")
    items = [item for page in pages for item in page["items"]]
    assert [len(page["items"]) for page in pages] == [2, 2, 1]
    assert {item["@type"] for item in items} == {"ad:AgentDescription"}
    assert [item["name"] for item in items] == [f"Agent {number}" for number in range(5)]
    returned = [(await fetch(registry, item["@id"])).json() for item in items]
    assert [description["did"] for description in returned] == [agent.did for agent in agents]


async def test_the_sitemap_lists_every_page_of_an_own_agent_that_may_be_shown_and_no_other(
    registry, monkeypatch
):
    monkeypatch.setattr(crawling, "READ_AT_ONCE", 2)
    monkeypatch.setattr(crawling, "ADDRESSES_OF_A_PAGE", 4)
    assert await locations(registry, "/sitemap.xml") == [f"{BASE}/sitemap/pages.xml"]
    cards = [await publish(registry, f"Agent {number}") for number in range(14)]
    for number, members in {
        1: {"unlisted": True},
        4: {"status": "suspended"},
        5: {"is_active": False},
        6: {"source_registry": "peer", "developer_id": None},
        7: {"status": "revoked"},
        8: {"did": None},
    }.items():
        await change(registry, cards[number], **members)
    index = await locations(registry, "/sitemap.xml")
    assert index == [
        f"{BASE}/sitemap/pages.xml",
        *(f"{BASE}/sitemap/agents-{number}.xml" for number in (0, 2, 3)),
    ]
    listed = [place for page in index[1:] for place in await locations(registry, page)]
    cards[8] = replace(cards[8], did=None)
    shown = [card for number, card in enumerate(cards) if number not in {1, 4, 5, 6, 7}]
    assert listed == [f"{BASE}/agents/{card.did or card.card_id}" for card in shown]
    for page in listed:
        assert f'rel="canonical" href="{page}"' in (await fetch(registry, page)).text
    await registry.indexed()
    for page in await locations(registry, index[0]):
        await fetch(registry, page)
    written = ET.fromstring((await fetch(registry, index[1])).content)
    changed = [datetime.fromisoformat(element.text) for element in written.iter(f"{SITEMAP}lastmod")]
    assert len(changed) == 3
    assert all(timestamp.tzinfo for timestamp in changed)
    for nowhere in ("1", "9", str(10**9)):
        answer = await registry.http.get(f"/sitemap/agents-{nowhere}.xml")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "SITEMAP_PAGE_UNKNOWN")
    for wrong in ("-1", "x", str(10**30), "0.xml"):
        assert (await registry.http.get(f"/sitemap/agents-{wrong}.xml")).status_code == 422


async def test_documents_that_only_settings_decide_are_kept_for_minutes_and_not_sent_twice(registry):
    for path in (
        "/.well-known/agent-card.json",
        "/.well-known/ard.json",
        "/robots.txt",
        "/sitemap/pages.xml",
    ):
        answer = await fetch(registry, path)
        assert answer.headers["cache-control"] == "public, max-age=300"
        again = await registry.http.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    returned = (await fetch(registry, "/robots.txt")).text.splitlines()
    assert returned[0] == "User-agent: *"
    assert f"Sitemap: {BASE}/sitemap.xml" in returned


async def test_an_agents_data_block_holds_its_card_and_its_price(registry):
    card = await publish(
        registry,
        "Translator",
        version="2.0",
        tags=["language"],
        provider={"organization": "Acme", "url": "https://acme.example.org"},
        documentationUrl="https://acme.example.org/docs",
        pricing={"model": "per-request", "base_rate": 1.5},
    )
    returned = await json_ld(registry, card.did)
    assert (returned["@context"], returned["@type"]) == ("https://schema.org", "SoftwareApplication")
    assert (returned["@id"], returned["url"]) == (card.did, f"{BASE}/agents/{card.id}")
    assert (returned["name"], returned["softwareVersion"], returned["keywords"]) == (
        "Translator",
        "2.0",
        ["language"],
    )
    assert returned["featureList"] == ["Translator"]
    assert returned["provider"] == {
        "@type": "Organization",
        "name": "Acme",
        "url": "https://acme.example.org",
    }
    assert returned["offers"] == {"@type": "Offer", "price": "1.5", "priceCurrency": "AVT"}


async def price_at(registry, card, rate):
    """Store a rate that an owner is refused; older and mirrored cards may still have one."""
    document = (await registry.get(f"/agent-cards/{card.id}")).json()["card_data"]
    stored = json.dumps({**document, "pricing": {"base_rate": rate}})
    statement = "UPDATE catalogue_card SET card_data = $2 WHERE id = $1"
    await registry.database.transaction(lambda tx: tx.execute(statement, card.card_id, stored))


async def test_only_a_plain_number_becomes_a_price(registry):
    for rate, price in (
        *((0, "0"), ("2.50", "2.50"), (1e-7, "0.0000001"), (1e30, "1" + "0" * 30)),
        *(
            (-1, None),
            (True, None),
            ("NaN", None),
            ("free", None),
            ([1], None),
            (None, None),
            ("9" * 99, None),
        ),
        *((HOSTILE[:20], None), ("1e999999999999", None), ("1e-999999999", None)),
    ):
        card = await publish(registry)
        await price_at(registry, card, rate)
        returned = (await json_ld(registry, card.did)).get("offers", {}).get("price")
        assert returned == price, rate
        assert price is None or Decimal(returned) >= 0


async def test_the_offer_names_the_currency_that_the_owner_stated_and_none_is_guessed(registry):
    payment = {"uri": "https://cards.example/extensions/v1/auth/a2a-payment"}
    for members, offer in [
        ({"pricing": {"base_rate": 2, "currency": "eur"}}, ("2", "EUR")),
        ({"pricing": {"base_rate": 2, "currency": "</script>"}}, None),
        ({"pricing": {"base_rate": 2, "currency": 7}}, None),
        ({"extensions": [{**payment, "params": {"base_rate": "0.25", "currency": "NRD"}}]}, ("0.25", "NRD")),
        ({"extensions": [{**payment, "params": {}}]}, None),
    ]:
        card = await publish(registry, f"Priced {members}"[:60], **members)
        returned = (await json_ld(registry, card.did)).get("offers")
        assert returned == (offer and {"@type": "Offer", "price": offer[0], "priceCurrency": offer[1]}), (
            members
        )


async def test_hostile_texts_of_a_card_stay_data_in_every_document(registry):
    card = await publish(
        registry,
        HOSTILE,
        description=HOSTILE,
        tags=[HOSTILE[:40]],
        provider={"organization": HOSTILE, "url": "https://acme.example.org"},
    )
    returned = await json_ld(registry, card.did)
    assert (returned["name"], returned["description"]) == (seen(HOSTILE), seen(HOSTILE))
    entry = (await registry.get("/ard/agents")).json()["items"][0]
    assert entry["displayName"] == HOSTILE
    items = (await fetch(registry, "/.well-known/agent-descriptions")).json()["items"]
    assert [item["name"] for item in items] == [HOSTILE]
    assert len(await locations(registry, "/sitemap/agents-0.xml")) == 1
