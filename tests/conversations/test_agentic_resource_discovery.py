"""Agentic Resource Discovery v0.91: the rules that its conformance holds a publisher and a registry to, and our own."""

import re
from typing import Any
from urllib.parse import quote

import pytest
from a2a.client.card_resolver import parse_agent_card
from a2a.utils.proto_utils import validate_proto_required_fields

from hansa.rooms.catalogue.publication.resource_discovery import store
from tests.registry import TestRegistry
from tests.rooms.catalogue.catalogue_cards import change, publish

BASE = "https://registry.example.org"
IDENTIFIER = re.compile(r"urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+")
AGENT = "application/a2a-agent-card+json"
KNOWN_TYPES = {AGENT, "application/ai-registry+json", "application/ai-catalog+json"}
SEARCH_ONLY = {"score", "source"}
EXAMPLES = ["Translate this text into French", "What does this contract say in German?"]
SKILLS = [
    {"id": "messages", "name": "Messages", "description": "Messages.", "tags": ["mail"], "examples": EXAMPLES}
]


@pytest.fixture
async def registry(start_registry) -> TestRegistry:
    return await start_registry(public_base_url=BASE, trust_domain="agents.example.org")


def faults_of(entry: dict[str, Any]) -> list[str]:
    """Return the faults of an entry of a catalogue."""
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


def is_refused_in_both_forms(answer, status: int, code: str) -> bool:
    body = answer.json()
    return (
        (answer.status_code, body["errorCode"]) == (status, code)
        and body["message"] == body["detail"] == body["error"]["detail"]
        and bool(body["message"])
    )


async def read(registry: TestRegistry, identifier: str):
    return await registry.get(f"/ard/agents/{quote(identifier, safe='')}")


async def of_domain(registry: TestRegistry, card: Any, trust_domain: str) -> None:
    """Move a mirrored card to another trust domain."""
    sql = "UPDATE catalogue_card SET trust_domain = $2 WHERE id = $1"
    await registry.database.transaction(lambda tx: tx.execute(sql, card.card_id, trust_domain))


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


async def test_an_entry_shows_the_card_in_its_owners_words_under_an_identifier_made_from_the_did(registry):
    card = await publish(registry, "Translator", tags=["language"], skills=SKILLS, version="2.1")
    entry = (await registry.get("/ard/agents")).json()["items"][0]
    assert faults_of(entry) == []
    assert entry["identifier"] == f"urn:air:agents.example.org:{card.did}"
    assert entry["@context"] == "https://agenticresourcediscovery.org/context/v1"
    assert (entry["displayName"], entry["type"], entry["version"]) == ("Translator", AGENT, "2.1")
    assert entry["url"] == f"{BASE}/api/v1/agents/{card.did}/card-export"
    assert (entry["tags"], entry["capabilities"]) == (["language", "mail"], ["messages"])
    assert entry["representativeQueries"][:2] == EXAMPLES
    assert entry["metadata"]["did"] == card.did
    assert (await read(registry, entry["identifier"])).json() == entry
    signed = (await registry.http.get(entry["url"].removeprefix(BASE))).json()
    validate_proto_required_fields(parse_agent_card(signed))
    assert signed["name"] == "Translator"
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
        assert is_refused_in_both_forms(answer, 404, "NOT_FOUND"), answer.text
        assert "no-store" in answer.headers["cache-control"]
    for malformed in (
        *("not-a-urn", "urn:air:a", "urn:air::x", "urn:air:a:", "urn:air:a b:c", "URN:AIR:a.b:c", "a/b"),
        *("", "urn:air:a:b\u2028", "urn:air:ä:b", "urn%3Aair%3Aa%3Ab", "urn:air:a:" + "b" * 2000, "%zz"),
    ):
        answer = await read(registry, malformed)
        assert is_refused_in_both_forms(answer, 400, "INVALID_ARGUMENT"), (malformed, answer.text)


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
    returned = [entry["displayName"] for entry in first["items"]]
    while "pageToken" in first:
        first = (await registry.get("/ard/agents", params={"pageToken": first["pageToken"]})).json()
        returned += [entry["displayName"] for entry in first["items"]]
    assert returned == [f"Agent {number}" for number in (3, 2, 1, 0)]


async def test_a_filter_joins_its_conditions_with_and_and_its_values_with_or(registry):
    await publish(registry, "French translator")
    later = await publish(registry, "German Translator")
    weather = await publish(registry, "Weather 100%_'")
    await change(registry, weather, source_registry="peer", developer_id=None)
    await of_domain(registry, weather, "peer.example")
    timestamp = (await registry.get(f"/agent-cards/{later.id}")).json()["created_at"]
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
        "publisherId = 'agents.example.org,other'": every[1:],
        "publisherId = 'agents.example.org,peer.example'": every,
        "publisherId = 'peer.example'": every[:1],
        "publisherId = 'other'": [],
        f"createdAfter > '{timestamp}'": every[:1],
        f"createdAfter >= {timestamp} and updatedAfter = 2020-01-01": every[:1],
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
        assert is_refused_in_both_forms(answer, 400, "INVALID_ARGUMENT"), (query, answer.text)
        assert "\n" not in answer.json()["message"]


async def test_a_reader_beyond_its_limit_is_refused_in_both_forms(start_registry):
    registry = await start_registry(rate_limit_reads=2)
    answers = [await registry.get("/ard/agents") for _ in range(4)]
    assert is_refused_in_both_forms(answers[-1], 429, "RATE_LIMIT_EXCEEDED")
    assert int(answers[-1].headers["retry-after"]) > 0


async def search(registry: TestRegistry, text: str, *, filter: Any = None, **more: Any) -> dict[str, Any]:  # noqa: A002
    query = {"text": text, **({"filter": filter} if filter is not None else {})}
    answer = await registry.post("/ard/search", json={"query": query, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def found(registry: TestRegistry, text: str, **more: Any) -> list[str]:
    return [result["displayName"] for result in (await search(registry, text, **more))["results"]]


async def explore(registry: TestRegistry, *fields: Any, **query: Any) -> dict[str, Any]:
    facets = [{"field": field} if isinstance(field, str) else field for field in fields]
    body = {"resultType": {"facets": facets}, **({"query": query} if query else {})}
    answer = await registry.post("/ard/explore", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["resultType"] == "facets"
    return {
        field: {bucket["value"]: bucket["count"] for bucket in facet["buckets"]}
        | ({"others": facet["otherCount"]} if facet.get("otherCount") else {})
        for field, facet in answer.json()["facets"].items()
    }


@pytest.fixture
async def market(registry) -> TestRegistry:
    """Three translators, one of them mirrored from another domain, and a weather agent."""
    await publish(registry, "French translator", tags=["language", "legal"])
    await publish(registry, "German translator", tags=["language"])
    abroad = await publish(registry, "Dutch translator", tags=["legal"])
    await change(registry, abroad, source_registry="peer", developer_id=None)
    await of_domain(registry, abroad, "peer.example")
    await publish(registry, "Weather", tags=["sky"])
    await registry.indexed()
    return registry


async def test_a_search_answers_entries_with_score_and_source_that_lead_to_whole_entries(market):
    answer = await search(market, "find me a translator", federation="none")
    assert set(answer) == {"results"}
    scores = [result["score"] for result in answer["results"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert all(isinstance(score, int) and 0 <= score <= 100 for score in scores)
    for result in answer["results"]:
        assert IDENTIFIER.fullmatch(result["identifier"])
        assert result["source"] == f"{BASE}/api/v1/ard/"
        assert (result["type"], "representativeQueries" in result) == (AGENT, False)
        whole = (await read(market, result["identifier"])).json()
        assert faults_of(whole) == []
        assert {name: whole.get(name) for name in result if name not in SEARCH_ONLY} == {
            name: value for name, value in result.items() if name not in SEARCH_ONLY
        }


async def test_a_filter_of_a_search_means_or_within_a_key_and_and_between_keys(market):
    every = {"French translator", "German translator", "Dutch translator"}
    ns = "https://agenticresourcediscovery.org/ns#"
    for filter_, expected in (
        ({}, every),
        ({"type": [AGENT, "application/mcp-server-card+json"]}, every),
        ({"type": "application/mcp-server-card+json"}, set()),
        ({"tags": ["legal"]}, {"French translator", "Dutch translator"}),
        ({"tags": "language", "publisher": ["agents.example.org", "x"]}, every - {"Dutch translator"}),
        ({"tags": ["legal", "language"], "publisher": "peer.example"}, {"Dutch translator"}),
        ({"publisher": "elsewhere.example"}, set()),
        ({"metadata.origin": ["peer"]}, {"Dutch translator"}),
        ({"metadata.origin": "local", "publisher": "peer.example"}, set()),
        ({"tags": []}, set()),
        ({f"{ns}tags": ["language"]}, every - {"Dutch translator"}),
        ({"ard:mediaType": AGENT}, every),
    ):
        assert set(await found(market, "translator", filter=filter_)) == expected, filter_
    bound = {"@context": [{"other": {"@id": ns}}], "text": "translator", "filter": {"other:tags": "legal"}}
    answer = await market.post("/ard/search", json={"query": bound})
    assert len(answer.json()["results"]) == 2


async def test_counts_are_over_everything_that_the_same_search_finds(market):
    assert await explore(market, "type", "publisher", "metadata.origin") == {
        "type": {AGENT: 4},
        "publisher": {"agents.example.org": 3, "peer.example": 1},
        "metadata.origin": {"local": 3, "peer": 1},
    }
    assert await explore(market, "tags", text="translator") == {
        "tags": {"test": 3, "language": 2, "legal": 2}
    }
    assert await explore(
        market,
        {"field": "publisher", "limit": 1},
        {"field": "metadata.origin", "minCount": 2},
        {"field": "ard:tags", "limit": 1},
        text="translator",
        filter={"tags": ["language", "legal"]},
    ) == {
        "publisher": {"agents.example.org": 2, "others": 1},
        "metadata.origin": {"local": 2},
        "ard:tags": {"test": 3},
    }
    assert await explore(market, "type", "tags", filter={"publisher": "nobody"}) == {"type": {}, "tags": {}}


async def test_a_search_is_paged_to_its_end_and_a_token_is_good_for_its_own_search_only(market):
    first = await search(market, "translator", pageSize=2)
    rest = await search(market, "translator", pageSize=2, pageToken=first["pageToken"])
    names = [result["displayName"] for page in (first, rest) for result in page["results"]]
    assert (len(names), len(set(names)), "pageToken" in rest) == (3, 3, False)
    for query in ({"text": "weather"}, {"text": "translator", "filter": {"tags": "test"}}):
        answer = await market.post("/ard/search", json={"query": query, "pageToken": first["pageToken"]})
        assert is_refused_in_both_forms(answer, 400, "INVALID_ARGUMENT")


async def test_referrals_are_returned_only_to_who_asks_for_them(market):
    assert (await search(market, "translator", federation="referrals"))["referrals"] == []
    for mode in ("auto", "none"):
        assert "referrals" not in await search(market, "translator", federation=mode)
        assert len(await found(market, "translator", federation=mode)) == 3


async def test_what_may_not_be_shown_is_neither_found_nor_counted(market):
    hidden = await publish(market, "Hidden translator", tags=["secret"])
    await market.indexed()
    assert "Hidden translator" in await found(market, "hidden")
    for members in (
        {"status": "suspended"},
        {"status": "revoked"},
        {"unlisted": True},
        {"is_active": False},
        {"did": None},
    ):
        await change(market, hidden, **members)
        await market.indexed()
        assert "Hidden translator" not in await found(market, "hidden translator")
        assert await explore(market, "tags", filter={"tags": "secret"}) == {"tags": {}}, members
        await change(market, hidden, status="active", unlisted=False, is_active=True)


async def test_a_search_that_is_malformed_is_refused_in_one_sentence_and_none_crashes(market):
    queries = [
        *(
            {},
            {"text": ""},
            {"text": None},
            {"text": ["a"]},
            {"text": "x" * 1001},
            {"filter": {}},
            "text",
            None,
        ),
        *(
            {"text": "a", "filter": bad}
            for bad in ([], "x", {"tags": 1}, {"tags": [1]}, {"tags": {"a": "b"}})
        ),
        *(
            {"text": "a", "filter": {key: "x"}}
            for key in ("capabilities", "", ".", "a:b", "metadata", "\u202e\n")
        ),
        *({"text": "a", "filter": {"tags": "x", "ard:tags": "y"}}, {"text": "a", "more": 1}),
        *(
            {"text": "a", "@context": bad}
            for bad in ("https://x.example/c", 1, {"p": 1}, [[{}]], {"p": {"@id": []}})
        ),
        {"text": "a", "@context": {f"p{number}": "x" for number in range(65)}},
        {"text": "a", "@context": {"tags": "https://x.example/tags"}, "filter": {"tags": "x"}},
        {"text": "a", "filter": {f"k{number}": "x" for number in range(17)}},
        {"text": "a", "filter": {"tags": ["x"] * 65}},
    ]
    bodies = [
        *({"query": query} for query in queries),
        *({"query": {"text": "a"}, "federation": mode} for mode in ("all", 1)),
        *({"query": {"text": "a"}, "pageSize": size} for size in (0, 101, -1, "x", 1.5)),
        *({"query": {"text": "a"}, "pageToken": token} for token in ("", "x", "WyJhIiwxXQ", 1, "[" * 400)),
        *([], "x", None, {"query": {"text": "a"}, "limit": 5}),
    ]
    for body in bodies:
        answer = await market.post("/ard/search", json=body)
        assert is_refused_in_both_forms(answer, 400, "INVALID_ARGUMENT"), (body, answer.text)
        assert "\n" not in answer.json()["message"]
    explored = [
        *({}, {"resultType": {}}, {"resultType": {"facets": []}}, {"resultType": "facets"}),
        *(
            {"resultType": {"facets": [{"field": name}]}}
            for name in ("displayName", "", "trustManifest.identity")
        ),
        {"resultType": {"facets": [{"field": "type", "limit": 0}]}},
        {"resultType": {"facets": [{"field": "type"}] * 17}},
    ]
    for body in explored:
        answer = await market.post("/ard/explore", json=body)
        assert is_refused_in_both_forms(answer, 400, "INVALID_ARGUMENT"), (body, answer.text)
    raw = {
        "content": b'{"query": {"text": "a", "text": "b"}}',
        "headers": {"Content-Type": "application/json"},
    }
    assert is_refused_in_both_forms(await market.post("/ard/search", **raw), 400, "INVALID_ARGUMENT")
    for hostile in ('" OR 1=1 --', "name:(", "+-!*?^~\\", "\u202e\u0000"[:1], "%' _", "🜁", "a " * 400):
        answer = await market.post("/ard/search", json={"query": {"text": hostile}})
        assert answer.status_code == 200, (hostile, answer.text)
