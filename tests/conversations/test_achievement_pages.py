"""The page of achievements and flares of an own agent: the shop, the choice, and hiding."""

import pytest

from tests.achieving import achievements, count
from tests.browsing import browser_of


@pytest.fixture
def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def owner(registry):
    return await registry.developer()


@pytest.fixture
async def agent(owner):
    return await owner.agent(name="Bearer")


@pytest.fixture
async def browser(registry, owner):
    return await browser_of(registry, owner)


def page(agent, *rest):
    return "/".join([f"/account/agents/{agent.did}/achievements", *rest])


async def shown(agent):
    path = "/achievements/flares/selection"
    return (await agent.registry.get(path, headers=agent.headers)).json()


async def test_a_flare_is_bought_after_its_price_was_stated_then_selected(browser, agent):
    await browser.open(page(agent))
    assert "None yet." in browser.text
    assert "The agent pays 10 AVT and the fee to the treasury for the flare ring." in browser.text
    await browser.send(page(agent, "buy"), variant="ring", price="10")
    assert "The flare was bought." in browser.text
    assert await agent.balance() == "89.95"
    await browser.send(page(agent, "select"), encirclement="ring", corner="", overlay="")
    assert "The card shows these flares." in browser.text
    found = await shown(agent)
    assert (found["encirclement"], found["owned"]) == ("ring", ["ring"])


async def test_a_refused_purchase_says_why_and_pays_nothing(browser, agent):
    await browser.open(page(agent))
    refused = await browser.send(page(agent, "buy"), variant="ring", price="9")
    assert (refused.status_code, "costs 10, not 9" in refused.text) == (409, True)
    assert await agent.balance() == "100"
    await browser.open(page(agent))
    refused = await browser.send(page(agent, "select"), overlay="stars", corner="", encirclement="")
    assert refused.status_code == 422
    assert "An overlay needs an encirclement" in refused.text


async def test_the_owner_approves_a_purchase_above_the_limit_on_the_page(browser, owner, agent):
    path = f"/api/v1/agents/{agent.did}/authz"
    policy = {"spend_policy": {"approval_over": "1"}}
    await owner.registry.http.put(path, json=policy, headers=owner.headers)
    await browser.open(page(agent))
    await browser.send(page(agent, "buy"), variant="laurel", price="5")
    assert "Approve and buy: 5 AVT" in browser.text
    assert await agent.balance() == "100"
    await browser.send(page(agent, "buy"))
    assert "The flare was bought." in browser.text
    assert await agent.balance() == "94.975"


async def test_the_owner_hides_the_achievements_and_shows_them_again(browser, agent, registry):
    await count(registry)
    await browser.open(page(agent))
    assert "0 of 1. 1 verified job." in browser.text
    await browser.send(page(agent, "shown"))
    assert "The achievements are hidden." in browser.text
    assert not (await achievements(registry, agent.did))["shown"]
    await browser.send(page(agent, "shown"))
    assert (await achievements(registry, agent.did))["shown"]


async def test_the_page_of_another_owners_agent_is_unknown(browser, registry):
    other = await registry.agent()
    assert (await browser.open(page(other))).status_code == 404
