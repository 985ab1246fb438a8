import pytest

from tests.rooms.catalogue.catalogue_cards import change, found, publish, stub

RESULT_MEMBERS = {
    "did",
    "card_id",
    "human_readable_id",
    "name",
    "description",
    "tags",
    "pricing",
    "origin",
    "is_federated",
    "settlement_currency",
    "trust_domain",
    "reputation",
    "liveness",
    "score",
    "marks",
    "matched_in",
    "matched_words",
}


async def test_a_result_says_who_where_and_why(registry):
    card = await publish(
        registry, "Translator", description="Turns words around.", tags=["language"], pricing={"base_rate": 2}
    )
    await registry.indexed()
    answer = (await registry.get("/discover", params={"query": "LANGuage"})).json()
    assert (answer["total"], answer["limit"]) == (1, 20)
    (result,) = answer["results"]
    assert set(result) == RESULT_MEMBERS
    assert (result["did"], result["card_id"]) == (card.did, str(card.id))
    assert (result["origin"], result["is_federated"]) == ("local", False)
    assert (result["settlement_currency"], result["trust_domain"]) == ("AVT", "hansa.local")
    assert result["tags"] == ["language", "test"]
    assert result["pricing"] == {"base_rate": 2}
    assert result["matched_in"] == ["tags"]
    assert result["liveness"] == {"state": "unknown", "checked_at": None}
    assert result["reputation"] == {
        "score": 0,
        "grade": "unrated",
        "verified_jobs": 0,
        "mark": None,
        "next_mark_at": 1,
    }
    assert result["marks"] == {"earned": None, "verified": False, "encircled": False, "bonded": False}
    assert result["matched_words"] == ["language"]
    assert result["score"] > 0


async def test_the_name_counts_more_than_tags_these_more_than_the_description(registry):
    await publish(registry, "Third", description="About weather.")
    await publish(registry, "Second", tags=["weather"])
    await publish(registry, "Weather watch")
    await publish(registry, "Weather")
    assert await found(registry, "weather") == ["Weather", "Weather watch", "Second", "Third"]
    assert await found(registry, "weather", limit=2) == ["Weather", "Weather watch"]
    assert (await registry.get("/discover", params={"query": "weather", "limit": 2})).json()["total"] == 4


async def test_cards_with_every_word_come_before_those_with_most_of_them(registry):
    await publish(registry, "German translator")
    await publish(registry, "French translator", tags=["legal"])
    await publish(registry, "Weather")
    assert await found(registry, "translator legal") == ["French translator", "German translator"]
    assert await found(registry, "legal german") == ["German translator", "French translator"]


async def test_what_may_not_be_shown_is_never_found(registry):
    for name, members in (
        ("Hidden one", {"status": "suspended"}),
        ("Hidden two", {"status": "revoked"}),
        ("Hidden three", {"unlisted": True}),
        ("Hidden four", {"is_active": False}),
        ("Hidden five", {"did": None}),
    ):
        card = await publish(registry, name)
        assert await found(registry, "hidden") == [name]
        await change(registry, card, **members)
        assert await found(registry, "hidden") == []


async def test_a_stub_is_found_by_its_host_and_a_mirror_by_its_origin(registry):
    await stub(registry, "https://weather.example.org")
    mirror = await publish(registry, "Weather abroad")
    await change(registry, mirror, source_registry="peer", developer_id=None)
    await registry.indexed()
    answer = (await registry.get("/discover", params={"query": "weather"})).json()
    assert {result["name"]: result["origin"] for result in answer["results"]} == {
        "weather.example.org": "local",
        "Weather abroad": "peer",
    }


async def test_signs_in_a_query_command_nothing(registry):
    await publish(registry, "Plain")
    await publish(registry, "Odd name:(one)")
    for query in (
        "___",
        "%%%",
        "x' OR '1'='1",
        "\\\\\\",
        "'; DROP TABLE x --",
        "]}){",
        "title:*",
        "/.*/",
        "* AND *",
    ):
        assert await found(registry, query) == [], query
    for query in ("+odd -name", "odd AND name", "odd^9 name~2", 'odd "one', "name:odd", "odd name:("):
        assert await found(registry, query) == ["Odd name:(one)"], query


@pytest.mark.parametrize(
    "query",
    ["", "query=ab", "query=%20%20a%20%20", "q=weather", "query=" + "x" * 201]
    + [f"query=weather&limit={limit}" for limit in ("0", "101", "-1", "1000000000000000000000", "x")],
)
async def test_a_query_out_of_bounds_is_a_422(registry, query):
    assert (await registry.get(f"/discover?{query}")).status_code == 422


async def test_an_agent_is_read_by_its_did(registry):
    card = await publish(registry)
    agent = (await registry.get(f"/agents/by-did/{card.did}")).json()
    assert (agent["did"], agent["origin"], agent["trust_domain"]) == (card.did, "local", "hansa.local")
    assert agent["card_data"]["name"] == "Translator"
    for unknown in ("did:hansa:nobody", "1", str(card.id), "x" * 1000):
        assert (await registry.get(f"/agents/by-did/{unknown}")).status_code == 404


async def test_many_words_are_bounded_and_answered(registry):
    await publish(registry)
    assert await found(registry, " ".join(chr(97 + number % 26) for number in range(100))) == []
