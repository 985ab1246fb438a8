"""The faceted search, over HTTP."""

from typing import Any

import pytest

from tests.founded import open_copy
from tests.registry import TestRegistry
from tests.rooms.catalogue.catalogue_cards import change, publish, stub


async def searched(registry: TestRegistry, **query: Any) -> dict[str, Any]:
    await registry.indexed()
    answer = await registry.get("/agent-cards/discover", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def named(registry: TestRegistry, **query: Any) -> list[str]:
    return [result["name"] for result in (await searched(registry, **query))["results"]]


@pytest.fixture
async def weather(registry: TestRegistry) -> TestRegistry:
    """Four cards about weather, one about law."""
    await publish(registry, "Weather now", tags=["weather", "maps"], pricing={"base_rate": 2})
    await publish(registry, "Weather later", tags=["weather"], pricing={"base_rate": "0.5"})
    free = await publish(registry, "Weather free", tags=["weather"])
    abroad = await publish(registry, "Weather abroad", tags=["Weather"], pricing={"base_rate": 0.1})
    await publish(registry, "Contract review", tags=["law"])
    await change(registry, free, verified_jobs=41, liveness="alive", last_alive_at="now()", bonded=True)
    await change(
        registry, abroad, source_registry="peer", developer_id=None, settlement_currency="NRD", encircled=True,
        host_verified_at="now()", verified_jobs=300,
    )  # fmt: skip
    return registry


async def test_the_answer_says_how_many_of_what_there_are_beside_a_page_of_them(weather):
    answer = await searched(weather, q="weather", limit=2, offset=1)
    assert len(answer["results"]) == 2
    assert {name: answer[name] for name in ("total", "limit", "offset", "sort")} == {
        "total": 4,
        "limit": 2,
        "offset": 1,
        "sort": "relevance",
    }
    assert answer["facets"] == {
        "origins": {"local": 3, "peer": 1},
        "pricing": {"free": 1, "paid": 3},
        "tags": {"test": 4, "weather": 3, "Weather": 1, "maps": 1},
    }
    assert (await searched(weather))["total"] == 5
    assert (await searched(weather, offset=10**9))["results"] == []


async def test_a_price_that_only_the_payment_extension_states_is_a_price(registry):
    terms = {"base_rate": "3", "currency": "AVT", "pricing_model": "per_call"}
    payment = {"uri": "https://cards.example/extensions/v1/auth/a2a-payment", "params": terms}
    await publish(registry, "Paid by extension", extensions=[payment])
    await publish(registry, "Paid by block", pricing={"base_rate": 2})
    answer = await searched(registry, pricing="paid", sort="price_high")
    assert [result["name"] for result in answer["results"]] == ["Paid by extension", "Paid by block"]
    assert answer["results"][0]["pricing"] == terms
    assert answer["facets"]["pricing"] == {"free": 0, "paid": 2}


async def test_each_condition_narrows_results_total_and_facets(weather):
    conditions = {
        ("origins", "local"): {"Weather now", "Weather later", "Weather free"},
        ("origins", "peer, nobody"): {"Weather abroad"},
        ("origins", "nobody"): set(),
        ("pricing", "free"): {"Weather free"},
        ("max_price", "0"): {"Weather free"},
        ("tag", "maps"): {"Weather now"},
        ("tag", "map"): set(),
        ("verified_only", "true"): {"Weather abroad"},
        ("active_24h", "true"): {"Weather free"},
        ("encircled_only", "true"): {"Weather abroad"},
        ("foreign_only", "true"): {"Weather abroad"},
        ("bonded_only", "true"): {"Weather free"},
    }
    for (name, value), expected in conditions.items():
        answer = await searched(weather, q="weather", **{name: value})
        assert {result["name"] for result in answer["results"]} == expected, name
        assert answer["total"] == sum(answer["facets"]["origins"].values()) == len(expected), name


async def test_each_order_sorts_by_what_it_says(weather):
    orders = {
        "newest": ["Contract review", "Weather abroad", "Weather free", "Weather later", "Weather now"],
        "price_low": ["Weather later", "Weather now", "Weather abroad"],
        "price_high": ["Weather now", "Weather later", "Weather abroad"],
        "proven": ["Weather free"],
        "reputation": ["Weather free"],
    }
    for sort, expected in orders.items():
        query = {"pricing": "paid"} if sort.startswith("price") else {}
        assert (await named(weather, sort=sort, **query))[: len(expected)] == expected, sort


async def test_agents_of_this_registry_carry_what_they_earned_and_mirrors_do_not(weather):
    answer = await searched(weather, q="weather")
    results = {result["name"]: result for result in answer["results"]}
    assert results["Weather free"]["reputation"] == {
        "score": 0,
        "grade": "unrated",
        "verified_jobs": 41,
        "mark": "Veteran",
        "next_mark_at": 80,
    }
    assert results["Weather free"]["marks"]["earned"] == "Veteran"
    assert results["Weather free"]["liveness"]["state"] == "alive"
    assert results["Weather abroad"]["reputation"] is None
    assert results["Weather abroad"]["marks"] == {
        "earned": None,
        "verified": True,
        "encircled": True,
        "bonded": False,
    }


async def test_what_cannot_answer_is_left_out_when_asked(registry):
    await stub(registry, "https://weather.example.org")
    silent = await publish(registry, "Weather silent")
    await publish(registry, "Weather unknown")
    await change(registry, silent, liveness="unreachable")
    assert len(await named(registry, q="weather")) == 3
    assert await named(registry, q="weather", answerable_only=True) == ["Weather unknown"]


async def test_a_listing_card_is_found_among_cards_and_is_no_agent(registry):
    card = await publish(registry, "Listed only")
    await change(registry, card, did=None)
    (result,) = (await searched(registry, q="listed"))["results"]
    assert (result["did"], result["reputation"]) == (None, None)
    answer = await registry.get("/discover", params={"query": "listed"})
    assert answer.json()["total"] == 0


async def test_what_is_hidden_is_in_no_result_and_no_count(weather):
    before = await searched(weather, q="weather")
    for result in before["results"]:
        hidden = {"unlisted": True} if result["is_federated"] else {"status": "suspended"}
        sql = "UPDATE catalogue_card SET {} = $2 WHERE uuid = $1".format(*hidden)
        await weather.database.transaction(
            lambda tx, sql=sql, result=result, hidden=hidden: tx.execute(
                sql, result["card_id"], *hidden.values()
            )
        )
        # Even before the index has heard of it.
        answer = await weather.get("/agent-cards/discover", params={"q": "weather"})
        assert result["name"] not in [other["name"] for other in answer.json()["results"]]
    after = await searched(weather, q="weather")
    assert (after["results"], after["total"]) == ([], 0)
    assert after["facets"] == {"origins": {}, "pricing": {"free": 0, "paid": 0}, "tags": {}}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Translator", "Translator"),
        ("translating", "Translator"),
        ("tranlsator", "Translator"),
        ("transl", "Translator"),
        ("ubersetzer", "Übersetzer für Verträge"),
        ("翻訳", "文書翻訳エージェント"),
        ("訳文", None),
        ("tr", "Translator"),
        ("weather", None),
        ("c++ review", "C++ Review"),
        ("C# review", "C# Review"),
    ],
)
async def test_words_are_found_in_other_forms(languages, query, expected):
    names = await named(languages, q=query)
    assert names[:1] == ([expected] if expected else []), names


@pytest.fixture(scope="module")
async def languages(database_farm, tmp_path_factory):
    async with open_copy(database_farm, tmp_path_factory.mktemp("languages")) as registry:
        for name in (
            "Translator",
            "Übersetzer für Verträge",
            "文書翻訳エージェント",
            "C++ Review",
            "C# Review",
        ):
            await publish(registry, name, description="An agent.")
        yield registry


async def test_an_agent_is_found_by_its_did_and_by_the_beginning_of_its_last_part(registry):
    card = await publish(registry, "Hidden behind a number")
    await publish(registry, "Another")
    for query in (card.did, card.did.upper(), card.did.rpartition(":")[2], card.did.rpartition(":")[2][:13]):
        answer = await searched(registry, q=query)
        assert [result["did"] for result in answer["results"]] == [card.did], query
        assert answer["results"][0]["matched_in"] == ["did"]


@pytest.mark.parametrize(
    "query",
    [
        "q=" + "x" * 101,
        "origins=" + "x" * 601,
        "tag=" + "x" * 61,
        "pricing=cheap",
        "sort=best",
        "verified_only=2",
    ]
    + [f"limit={limit}" for limit in (0, 121, -1, 10**20, "x")]
    + [f"offset={offset}" for offset in (-1, 10**18, "x")],
)
async def test_a_value_out_of_bounds_is_a_422(languages, query):
    assert (await languages.get(f"/agent-cards/discover?{query}")).status_code == 422


async def test_paid_and_free_are_counted_by_what_makes_a_card_a_paid_one(registry: TestRegistry):
    extension = {"uri": "https://hansa.dev/extensions/v1/auth/a2a-payment"}
    cards: dict[str, dict[str, Any]] = {
        "Required": {"pricing": {"payment_required": True}},
        "Required at zero": {"pricing": {"payment_required": True, "base_rate": 0}},
        "Text": {"pricing": {"base_rate": "1.5"}},
        "Extension": {"extensions": [{**extension, "params": {"base_rate": "2"}}]},
        "Nothing": {},
    }
    for name, card in cards.items():
        await publish(registry, name, **card)
    await registry.indexed()
    found = {}
    for pricing in ("paid", "free"):
        answer = (await registry.get("/agent-cards/discover", params={"pricing": pricing})).json()
        found[pricing] = {one["name"] for one in answer["results"]}
    assert found == {
        "paid": {"Required", "Required at zero", "Text", "Extension"},
        "free": {"Nothing"},
    }
