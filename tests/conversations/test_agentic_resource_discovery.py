"""Agentic Resource Discovery v0.91: the rules that its conformance holds a publisher and a registry to, and our own."""

import re
from typing import Any
from urllib.parse import quote

import pytest

from hansa.rooms.catalogue.front_doors.resource_discovery import store
from tests.registry import TestRegistry
from tests.rooms.catalogue.catalogue_cards import change, publish

BASE = "https://registry.example.org"
IDENTIFIER = re.compile(r"urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+")
AGENT = "application/a2a-agent-card+json"
KNOWN_TYPES = {AGENT, "application/ai-registry+json", "application/ai-catalog+json"}
SEARCH_ONLY = {"score", "source"}
EXAMPLES = ["Translate this letter into French", "What does this contract say in German?"]
SKILLS = [
    {"id": "letters", "name": "Letters", "description": "Letters.", "tags": ["mail"], "examples": EXAMPLES}
]


@pytest.fixture
async def registry(start_registry) -> TestRegistry:
    return await start_registry(public_base_url=BASE, trust_domain="agents.example.org")


def faults_of(entry: dict[str, Any]) -> list[str]:
    """What keeps a whole entry from being one."""
    kinds = {"identifier": str, "displayName": str, "type": str, "tags": list, "capabilities": list}
    faults = [f"no {name}" for name in ("identifier", "displayName", "type") if not entry.get(name)]
    faults += [name for name, kind in kinds.items() if not isinstance(entry.get(name, kind()), kind)]
    if not IDENTIFIER.fullmatch(entry.get("identifier", "")):
        faults.append("identifier")
    if ("url" in entry) == ("data" in entry):
        faults.append("exactly one of url and data")
    if entry.get("type") not in KNOWN_TYPES:
        faults.append("type")
    if not 2 <= len(entry.get("representativeQueries", ())) <= 5:
        faults.append("two to five queries")
    if (
        "trustManifest" in entry
        and entry["identifier"].split(":")[2] not in entry["trustManifest"]["identity"]
    ):
        faults.append("the identity is not of the publisher's domain")
    return faults + [f"{name} belongs to a search" for name in SEARCH_ONLY & set(entry)]


def is_told_in_both_forms(answer, status: int, code: str) -> bool:
    body = answer.json()
    return (
        (answer.status_code, body["errorCode"]) == (status, code)
        and body["message"] == body["detail"] == body["error"]["detail"]
        and bool(body["message"])
    )


async def read(registry: TestRegistry, identifier: str):
    return await registry.get(f"/ard/agents/{quote(identifier, safe='')}")


async def listed(registry: TestRegistry, **query: Any) -> list[str]:
    answer = await registry.get("/ard/agents", params=query)
    assert answer.status_code == 200, answer.text
    return [entry["displayName"] for entry in answer.json()["items"]]


async def test_the_manifest_is_found_at_both_paths_and_by_its_link_and_leads_to_every_agent(registry):
    names = [f"Agent {number}" for number in range(3)]
    for name in names:
        await publish(registry, name)
    answers = [await registry.http.get(f"/.well-known/{name}.json") for name in ("ard", "ai-catalog")]
    manifest, predecessor = [answer.json() for answer in answers]
    assert manifest == predecessor
    assert set(manifest) == {"specVersion", "host", "entries"}
    assert [faults_of(entry) for entry in manifest["entries"]] == [[], [], []]
    by_type = {entry["type"]: entry["url"].removeprefix(BASE) for entry in manifest["entries"]}
    assert by_type["application/ai-registry+json"] == "/api/v1/ard/"
    card = (await registry.http.get(by_type[AGENT])).json()
    assert card["supportedInterfaces"]
    catalogue = (await registry.http.get(by_type["application/ai-catalog+json"])).json()
    assert [entry["displayName"] for entry in catalogue["entries"]] == names
    front = await registry.http.get("/")
    assert front.headers["link"] == '</.well-known/ard.json>; rel="ard"'
    assert '<link rel="ard" href="/.well-known/ard.json">' in front.text
    assert f"Agentmap: {BASE}/.well-known/ard.json" in (await registry.http.get("/robots.txt")).text


async def test_catalogues_of_a_hundred_form_a_chain_through_every_agent_of_this_registry(registry):
    for number in range(103):
        await publish(registry, f"Agent {number}")
    mirror = await publish(registry, "Mirrored")
    await change(registry, mirror, source_registry="peer", developer_id=None)
    seen, address = [], "/api/v1/ard/catalogue"
    while address:
        entries = (await registry.http.get(address)).json()["entries"]
        assert not any(faults_of(entry) for entry in entries)
        onward = [entry["url"] for entry in entries if entry["type"] == "application/ai-catalog+json"]
        seen += [entry["displayName"] for entry in entries if entry["type"] == AGENT]
        address = onward[0].removeprefix(BASE) if onward else None
    assert seen == [f"Agent {number}" for number in range(103)]


async def test_an_entry_tells_the_card_in_its_owners_words_under_an_identifier_made_from_the_did(registry):
    card = await publish(registry, "Translator", tags=["language"], skills=SKILLS, version="2.1")
    entry = (await registry.get("/ard/agents")).json()["items"][0]
    assert faults_of(entry) == []
    assert entry["identifier"] == f"urn:air:agents.example.org:{card.did}"
    assert entry["@context"] == "https://agenticresourcediscovery.org/context/v1"
    assert (entry["displayName"], entry["type"], entry["version"]) == ("Translator", AGENT, "2.1")
    assert entry["url"] == f"{BASE}/api/v1/agents/{card.did}/card-export"
    assert (entry["tags"], entry["capabilities"]) == (["language", "mail"], ["letters"])
    assert entry["representativeQueries"][:2] == EXAMPLES
    assert entry["metadata"]["did"] == card.did
    assert (await read(registry, entry["identifier"])).json() == entry
    for own in (await registry.http.get("/.well-known/ard.json")).json()["entries"]:
        assert (await read(registry, own["identifier"])).json() == own


async def test_an_identity_is_claimed_only_where_the_did_names_the_publishers_domain(registry):
    card = await publish(registry)
    did = "did:hansa:1b4e28ba-2fa1-41d2-883f-0016d3cca427"
    (entry,) = (await registry.get("/ard/agents")).json()["items"]
    assert "trustManifest" not in entry
    await change(registry, card, did=did.replace("hansa:", "hansa:agents.example.org:"))
    (entry,) = (await registry.get("/ard/agents")).json()["items"]
    assert entry["trustManifest"] == {"identity": entry["metadata"]["did"], "identityType": "did"}


async def test_a_mirrored_card_stands_inside_its_entry_word_for_word(registry):
    card = await publish(registry, "Abroad", remark=None, weight=1e300)
    await change(registry, card, source_registry="peer", developer_id=None)
    (entry,) = (await registry.get("/ard/agents")).json()["items"]
    assert faults_of(entry) == []
    assert entry["metadata"]["origin"] == "peer"
    stored = (await registry.get(f"/agent-cards/{card.id}")).json()["card_data"]
    assert entry["data"] == stored


async def test_what_is_not_there_is_not_found_and_what_is_no_identifier_is_malformed(registry):
    card = await publish(registry)
    for unknown in (
        "urn:air:nobody.invalid:probe:not-found",
        f"urn:air:elsewhere.example.org:{card.did}",
        f"urn:air:agents.example.org:{card.did.upper()}",
        "urn:air:agents.example.org:catalogue:after-7",
    ):
        answer = await read(registry, unknown)
        assert is_told_in_both_forms(answer, 404, "NOT_FOUND"), answer.text
        assert "no-store" in answer.headers["cache-control"]
    for malformed in (
        *("not-a-urn", "urn:air:a", "urn:air::x", "urn:air:a:", "urn:air:a b:c", "URN:AIR:a.b:c", "a/b"),
        *("", "urn:air:a:b\u2028", "urn:air:ä:b", "urn%3Aair%3Aa%3Ab", "urn:air:a:" + "b" * 2000, "%zz"),
    ):
        answer = await read(registry, malformed)
        assert is_told_in_both_forms(answer, 400, "INVALID_ARGUMENT"), (malformed, answer.text)


async def test_an_entry_is_read_again_only_when_it_changed(registry):
    card = await publish(registry)
    address = f"/ard/agents/urn:air:agents.example.org:{card.did}"
    first = await registry.get(address)
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "public, no-cache"
    for named in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = await registry.get(address, headers={"If-None-Match": named})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    await change(registry, card, settlement_currency="EUR")
    assert (await registry.get(address, headers={"If-None-Match": tag})).status_code == 200


async def test_what_may_not_be_shown_is_in_no_list_and_no_catalogue_and_under_no_identifier(registry):
    card = await publish(registry, "Hidden")
    identifier = f"urn:air:agents.example.org:{card.did}"
    assert (await read(registry, identifier)).status_code == 200
    for members in ({"status": "suspended"}, {"status": "revoked"}, {"unlisted": True}, {"is_active": False}):
        await change(registry, card, **members)
        assert await listed(registry) == []
        assert (await registry.get("/ard/catalogue")).json()["entries"] == []
        assert (await read(registry, identifier)).status_code == 404
        await change(registry, card, status="active", unlisted=False, is_active=True)
    assert await listed(registry) == ["Hidden"]


async def test_the_list_is_walked_in_any_of_its_orders_and_meets_everyone_once(registry):
    cards = [await publish(registry, f"Agent {number}") for number in range(7)]
    await change(registry, cards[2], settlement_currency="EUR")
    by_age = [f"Agent {number}" for number in range(7)]
    by_change = [*by_age[:2], *by_age[3:], by_age[2]]
    for order, expected in {
        None: by_age[::-1],
        "createdAt": by_age,
        "createdAt DESC": by_age[::-1],
        "updatedAt asc": by_change,
        "updatedAt DESC": by_change[::-1],
    }.items():
        seen, query = [], {"pageSize": 3, **({"orderBy": order} if order else {})}
        while True:
            page = (await registry.get("/ard/agents", params=query)).json()
            seen += [entry["displayName"] for entry in page["items"]]
            if "pageToken" not in page:
                break
            query["pageToken"] = page["pageToken"]
        assert seen == expected, order


async def test_a_page_of_large_cards_ends_early_and_loses_none(registry, monkeypatch):
    for number in range(4):
        await publish(registry, f"Agent {number}", remark="x" * 2000)
    monkeypatch.setattr(store, "_PAGE", store._PAGE.replace(str(store.PAGE_MAX_BYTES), "4000"))
    first = (await registry.get("/ard/agents")).json()
    assert 0 < len(first["items"]) < 4
    told = [entry["displayName"] for entry in first["items"]]
    while "pageToken" in first:
        first = (await registry.get("/ard/agents", params={"pageToken": first["pageToken"]})).json()
        told += [entry["displayName"] for entry in first["items"]]
    assert told == [f"Agent {number}" for number in (3, 2, 1, 0)]


async def test_a_filter_joins_its_conditions_with_and_and_its_values_with_or(registry):
    await publish(registry, "French translator")
    later = await publish(registry, "German Translator")
    weather = await publish(registry, "Weather 100%_'")
    await change(registry, weather, source_registry="peer", developer_id=None)
    moment = (await registry.get(f"/agent-cards/{later.id}")).json()["created_at"]
    every = ["Weather 100%_'", "German Translator", "French translator"]
    for filter_, expected in {
        "": every,
        "displayName = 'TRANSLATOR'": every[1:],
        "displayName='french,weather'": [every[0], every[2]],
        'displayName = "100%_\'"': every[:1],
        "displayName = '%'": every[:1],
        f"type = '{AGENT}'": every,
        f"type = 'application/mcp-server-card+json,{AGENT}' AND displayName = weather": every[:1],
        "type = 'application/mcp-server-card+json'": [],
        "publisherId = 'agents.example.org,other'": every,
        "publisherId = 'other'": [],
        f"createdAfter > '{moment}'": every[:1],
        f"createdAfter >= {moment} and updatedAfter = 2020-01-01": every[:1],
    }.items():
        assert await listed(registry, filter=filter_) == expected, filter_


async def test_a_query_that_is_not_understood_is_refused_in_one_sentence(registry):
    await publish(registry)
    await publish(registry)
    token = (await registry.get("/ard/agents", params={"pageSize": 1})).json()["pageToken"]
    filters = [
        *("displayName", "displayName = ", "displayName > 'x'", "name = 'x'", "type = 'a' OR type = 'b'"),
        *("type = 'a' AND", "AND type = 'a'", "type = 'a' type = 'b'", "type = 'a' AND type = 'b'"),
        *("createdAfter > 'soon'", "createdAfter > '0001-01-01T00:00:00+14:00'", "'", "(" * 900),
        *("createdAfter > '2026-01-01' ANDupdatedAfter > '2026-01-01'", "displayName = 'it's'"),
    ]
    queries = [
        *({"filter": filter_} for filter_ in filters),
        *(
            {"orderBy": order}
            for order in ("displayName", "createdAt SIDEWAYS", "id; DROP TABLE", "createdAt,")
        ),
        *({"pageSize": size} for size in ("0", "101", "x", "-1", "9" * 40)),
        *({"pageToken": wrong} for wrong in ("x", "", "e30", "W10", token + "A", token[:-2], "é", "[" * 400)),
        {"pageToken": token, "orderBy": "updatedAt"},
        {"filter": "x" * 1001},
    ]
    for query in queries:
        answer = await registry.get("/ard/agents", params=query)
        assert is_told_in_both_forms(answer, 400, "INVALID_ARGUMENT"), (query, answer.text)
        assert "\n" not in answer.json()["message"]


async def test_a_reader_beyond_its_limit_is_told_in_both_forms(start_registry):
    registry = await start_registry(rate_limit_reads=2)
    answers = [await registry.get("/ard/agents") for _ in range(4)]
    assert is_told_in_both_forms(answers[-1], 429, "RATE_LIMIT_EXCEEDED")
    assert int(answers[-1].headers["retry-after"]) > 0
