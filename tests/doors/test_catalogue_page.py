"""Catalogue page over HTTP: its results, its state in its address, and cards that stay in their place."""

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from hansa.doors.console.search_parameters import EMPTY, SearchParameters
from hansa.rooms import catalogue
from hansa.rooms.catalogue.search import SEARCHER
from tests.doors.pages_read import ReadPage
from tests.registry import TestRegistry

HOSTILE = '"><svg onload=alert(1)><script>alert(2)</script>{{ 7*7 }}'
NAMES = re.compile(r'<h2><svg class="avatar.*?</svg> <a href="[^"]+"><bdi>(.*?)</bdi></a></h2>')
STATES = [
    {},
    {"q": "a & b=c#d"},
    {"origins": "local,peer.example"},
    {"pricing": "paid", "sort": "price_low"},
    {"tag": "ä+ö/%"},
    dict.fromkeys(("verified_only", "active_24h", "answerable_only", "bonded_only"), "true"),
    {"encircled_only": "true", "foreign_only": "true", "offset": "40", "sort": "newest"},
]


async def catalogue_of(registry: TestRegistry, **query: str) -> str:
    await registry.indexed()
    answer = await registry.http.get("/catalogue", params=query)
    assert answer.status_code == 200, answer.text
    return answer.text


def choice(text: str, label: str) -> tuple[str, int | None]:
    """Return the address of a choice of the page, and the count beside it."""
    found = re.search(
        rf'<li><a href="([^"]+)"[^>]*>(?:<bdi>|<span>){re.escape(label)}</(?:bdi|span)>(?: <span class="count">(\d+))?',
        text,
    )
    assert found, label
    return unescape(found[1]), None if found[2] is None else int(found[2])


@pytest.fixture
async def market(registry: TestRegistry) -> TestRegistry:
    """Three agents of which two are paid, two translate, and one has been called."""
    developer = await registry.developer()
    await developer.agent(
        name="Lingua", tags=["translation"], pricing={"model": "per_request", "base_rate": 2.5}
    )
    alive = await developer.agent(name="Babel", tags=["translation"])
    await developer.agent(name="Invoicer", tags=["billing"], pricing={"model": "per_request", "base_rate": 1})
    await registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE catalogue_card SET liveness = 'alive', liveness_checked_at = now(), last_alive_at = now(), "
            "host_verified_at = now(), verified_jobs = 16, bonded = true WHERE did = $1",
            alive.did,
        )
    )
    return registry


async def test_the_catalogue_shows_who_an_agent_is_what_it_costs_and_what_the_registry_says_of_it(market):
    text = await catalogue_of(market)
    assert set(NAMES.findall(text)) == {"Lingua", "Babel", "Invoicer"}
    for shown in (
        "2.5 <bdi>AVT</bdi></strong> <bdi>per request</bdi>",
        "Not checked yet",
        "3 agents",
        "This registry",
    ):
        assert shown in text
    for mark in ("Seasoned", "Verified", "With a bond"):
        assert f"<li>{mark}</li>" in text
    assert re.search(
        r'liveness alive">Responded</span> <time datetime="[^"]+" title="[^"]+ UTC">[^<]+ ago</time>', text
    )


async def test_an_agent_whose_name_another_one_has_is_marked(market):
    twin = "Another agent has the same name"
    assert twin not in await catalogue_of(market)
    other = await market.agent(name="LINGUA")
    text = await catalogue_of(market)
    cards = re.findall(r'<div class="theirs">.*?</dl>', text, re.DOTALL)
    marked = [NAMES.findall(card)[0] for card in cards if twin in card]
    assert sorted(marked) == ["LINGUA", "Lingua"]
    # A card that is written anew is no other card.
    await market.database.transaction(
        lambda tx: tx.execute("UPDATE catalogue_card SET name = 'Wordsmith' WHERE did = $1", other.did)
    )
    assert twin not in await catalogue_of(market)


async def test_agents_that_do_not_respond_are_last_where_no_order_is_chosen(market):
    await market.database.transaction(
        lambda tx: tx.execute(
            "UPDATE catalogue_card SET liveness = 'unreachable', agent_score = 900 WHERE name = 'Lingua'"
        )
    )
    assert NAMES.findall(await catalogue_of(market))[-1] == "Lingua"
    assert NAMES.findall(await catalogue_of(market, sort="reputation"))[0] == "Lingua"


async def test_the_front_page_has_rows_of_agents_that_lead_to_the_same_order_in_the_catalogue(market):
    await market.indexed()
    text = (await market.http.get("/")).text
    rows = {
        title: re.findall(r'<h3><svg class="avatar.*?</svg> <a href="[^"]+"><bdi>(.*?)</bdi>', part)
        for title, part in re.findall(r'<h2 id="row-\d+">([^<]+)</h2>(.*?)</section>', text, re.DOTALL)
    }
    assert rows == {
        "Answers now": ["Babel"],
        "Cheap": ["Invoicer", "Lingua"],
        "Most proven": ["Babel"],
        "New": ["Invoicer", "Babel", "Lingua"],
    }
    for title, names in rows.items():
        address = unescape(re.search(rf'<a href="([^"]+)" aria-label="All agents: {title}">', text)[1])
        listed = NAMES.findall((await market.http.get(address)).text)
        assert listed[: len(names)] == names, title


async def test_the_front_page_of_a_registry_without_agents_has_no_rows(registry: TestRegistry):
    await registry.indexed()
    text = (await registry.http.get("/")).text
    assert 'id="row-1"' not in text


async def test_words_find_and_say_where_they_were_found(market):
    text = await catalogue_of(market, q="lingua")
    assert NAMES.findall(text) == ["Lingua"]
    assert "1 agent<" in text
    assert re.search(r"Matched in name[^<]*: <bdi>lingua</bdi>", text)


async def test_every_choice_shows_its_count_and_leads_to_just_that(market):
    text = await catalogue_of(market)
    for label, count in [("Free", 1), ("Paid", 2), ("This registry", 3), ("translation", 2), ("billing", 1)]:
        address, stated = choice(text, label)
        assert (label, stated) == (label, count)
        found = (await market.http.get(address)).text
        assert (label, len(NAMES.findall(found))) == (label, count)
        # The same choice is left again by the same link.
        assert choice(found, label)[0] == "/catalogue"
    for label, names in [
        ("Verified", ["Babel"]),
        ("Responded in the last 24 hours", ["Babel"]),
        ("With a bond", ["Babel"]),
        ("Encirclement flare", []),
        ("Other settlement currency", []),
    ]:
        address, count = choice(text, label)
        found = (await market.http.get(address)).text
        assert (label, NAMES.findall(found), count) == (label, names, len(names))


async def test_a_count_is_what_a_click_gives_also_beside_a_chosen_value_of_the_same_group(market):
    for query in ({"pricing": "paid"}, {"tag": "translation"}, {"verified_only": "true", "pricing": "free"}):
        text = await catalogue_of(market, **query)
        for label in ("Free", "Paid", "translation", "billing", "Verified", "With a bond"):
            if f">{label}</" in text.split('class="found"')[0]:
                address, count = choice(text, label)
                if not re.search(rf'href="[^"]+"[^>]*aria-current="true">(?:<bdi>|<span>){label}<', text):
                    found = (await market.http.get(address)).text
                    assert (query, label, len(NAMES.findall(found))) == (query, label, count)


async def test_choices_add_up_and_the_form_keeps_them(market):
    text = await catalogue_of(market, tag="translation", pricing="paid", sort="price_low", q="lingua")
    assert NAMES.findall(text) == ["Lingua"]
    hidden = dict(
        re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', text.split("data-catalogue")[0])
    )
    assert hidden == {"tag": "translation", "pricing": "paid", "sort": "price_low"}
    assert parse_qs(urlsplit(choice(text, "With a bond")[0]).query) == {
        "tag": ["translation"],
        "pricing": ["paid"],
        "sort": ["price_low"],
        "q": ["lingua"],
        "bonded_only": ["true"],
    }


async def test_the_highest_price_is_chosen_in_the_unit_of_the_registry(market):
    for most, expected in {
        "1": {"Babel", "Invoicer"},
        "0,5": {"Babel"},
        "2.5": {"Babel", "Invoicer", "Lingua"},
    }.items():
        text = await catalogue_of(market, max_price=most)
        assert (most, set(NAMES.findall(text))) == (most, expected)
        assert f"At most {most.replace(',', '.')}<" in text
    text = await catalogue_of(market, max_price="1", tag="translation")
    kept = text.split('class="most"')[1].split("</form>")[0]
    assert 'name="tag" value="translation"' in kept
    assert set(NAMES.findall(await catalogue_of(market, max_price="cheap"))) == {
        "Babel",
        "Invoicer",
        "Lingua",
    }


async def test_the_order_is_chosen(market):
    cheap, dear = [
        NAMES.findall(await catalogue_of(market, sort=sort)) for sort in ("price_low", "price_high")
    ]
    assert cheap == ["Babel", "Invoicer", "Lingua"]
    assert dear == ["Lingua", "Invoicer", "Babel"]


@pytest.mark.parametrize("query", STATES)
def test_a_state_of_the_page_is_an_address_and_the_address_is_the_state(query):
    looking = SearchParameters.at(query)
    read = {name: values[0] for name, values in parse_qs(urlsplit(looking.address).query).items()}
    assert read == query
    assert SearchParameters.at(read) == looking


async def test_an_address_that_means_nothing_shows_everybody(market):
    for query in (
        {"sort": "; DROP TABLE", "pricing": "x", "offset": "-1", "verified_only": "maybe"},
        {"offset": "1e9", "origins": ",,, ,", "q": "   "},
        {"offset": "9" * 30, "limit": "x", "unknown": "y"},
    ):
        assert SearchParameters.at(query) == EMPTY
        assert len(NAMES.findall(await catalogue_of(market, **query))) == 3
    for query in (
        {"q": "x" * 5000},
        {"tag": HOSTILE * 9},
        {"origins": "a," * 2000},
        {"q": 'AND OR ( " : * ~'},
    ):
        assert NAMES.findall(await catalogue_of(market, **query)) == []


async def test_where_nobody_matches_or_nobody_is_there_the_page_says_so(registry: TestRegistry):
    assert "No agents are listed yet." in await catalogue_of(registry)
    await registry.agent()
    text = await catalogue_of(registry, q="nobody of that name")
    assert "No agents found." in text
    assert "0 agents" in text
    assert "This page does not exist" in await catalogue_of(registry, offset="20")


async def test_every_listed_agent_is_on_exactly_one_page_of_the_catalogue(registry: TestRegistry):
    developer = await registry.developer()
    names = [f"Agent number {number}" for number in range(23)]
    for name in names:
        await developer.agent(name=name)
    await registry.indexed()
    seen, path = [], "/catalogue?sort=newest"
    while path:
        text = (await registry.http.get(path)).text
        seen += NAMES.findall(text)
        further = re.search(r'rel="next" href="([^"]+)"', text)
        path = unescape(further[1]) if further else None
    assert seen == names[::-1]
    assert 'rel="prev"' in text


async def test_who_may_not_be_shown_is_neither_shown_nor_counted(market):
    for name, column in (("Lingua", "unlisted = true"), ("Babel", "is_active = false")):
        await market.database.transaction(
            lambda tx, name=name, column=column: tx.execute(
                f"UPDATE catalogue_card SET {column} WHERE name = $1", name
            )
        )
    text = await catalogue_of(market)
    assert NAMES.findall(text) == ["Invoicer"]
    assert choice(text, "This registry")[1] == 1
    assert "translation" not in text


async def test_what_a_card_says_is_shown_as_text(registry: TestRegistry):
    skill = {"id": "s", "name": HOSTILE, "description": HOSTILE, "tags": [HOSTILE[:60]]}
    pricing = {"model": HOSTILE[:40], "base_rate": "1", "currency": "<b>"}
    await registry.agent(
        name=HOSTILE, description=HOSTILE, skills=[skill], tags=["<svg onload=1>"], pricing=pricing
    )
    for text in (await catalogue_of(registry), await catalogue_of(registry, tag="<svg onload=1>")):
        page = ReadPage(text)
        assert text.count("&lt;svg onload=") >= 4
        assert "b" not in page.elements
        assert set(re.findall(r"<svg[^>]{0,12}", text)) == {'<svg class="icon', '<svg class="avat'}
        assert "onload" not in page.attributes
        assert page.inline == []


async def test_no_card_can_wear_the_marks_of_the_registry(registry: TestRegistry):
    claim = "Sovereign ✓ Verified"
    await registry.agent(name=claim, description=claim, tags=["Verified", "Sovereign"])
    text = await catalogue_of(registry)
    for vouched in re.findall(r'<div class="vouched".*?</dl>', text, re.DOTALL):
        assert "Verified" not in vouched
        assert "Sovereign" not in vouched


async def test_what_is_searched_is_shown_as_text(registry: TestRegistry):
    text = await catalogue_of(registry, q=HOSTILE)
    assert "&lt;svg onload" in text
    assert "onload" not in ReadPage(text).attributes


async def test_while_the_index_is_not_ready_the_page_says_so_and_when_to_come_again(registry: TestRegistry):
    searcher = SEARCHER.of(registry.runtime)
    SEARCHER.put(
        registry.runtime,
        catalogue.Searcher(
            registry.database, registry.settings.data_dir / "another", registry.settings.settlement_currency
        ),
    )
    answer = await registry.http.get("/catalogue", params={"q": "x"})
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
    assert 'href="/catalogue?q=x"' in answer.text
    await SEARCHER.of(registry.runtime).close()
    SEARCHER.put(registry.runtime, searcher)
