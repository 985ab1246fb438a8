"""Pages of the children of an own agent: the cost before, the credentials once, and the end."""

import pytest

from tests.browsing import browser_of
from tests.spawning import child_of, children


@pytest.fixture
def registry(registry_of_file):
    return registry_of_file


@pytest.fixture
async def owner(registry):
    return await registry.developer()


@pytest.fixture
async def parent(owner):
    return await owner.agent(name="Parent")


@pytest.fixture
async def browser(registry, owner):
    return await browser_of(registry, owner)


def page(parent, *rest):
    return "/".join([f"/account/agents/{parent.did}/children", *rest])


async def test_a_child_is_spawned_after_its_cost_was_shown_and_its_secret_is_shown_once(
    browser, parent, registry
):
    await browser.open(page(parent))
    assert "No children." in browser.text
    await browser.send(
        page(parent, "check"), name="Helper", funding="10", ttl_seconds="3600", per_tx_max="2,5"
    )
    for cost in ("Spawn for 10.05", "0.05", "An hour"):
        assert cost in browser.text
    assert await children(parent) == []
    await browser.send(page(parent))
    (child,) = await children(parent)
    assert child["child_did"] in browser.text
    assert "hsk_" in browser.text
    policy = (
        "SELECT per_tx_max FROM agents_spend_policy p JOIN agents_agent a ON a.id = p.agent_id WHERE did = $1"
    )
    bound = await registry.database.query(lambda tx: tx.fetchval(policy, child["child_did"]))
    assert bound == 250_000_000
    await browser.open(page(parent))
    assert "hsk_" not in browser.text
    assert "Helper" in browser.text


async def test_a_purse_above_the_balance_is_refused_and_stays_in_the_form(browser, parent):
    await browser.open(page(parent))
    await browser.send(page(parent, "check"), name="Helper", funding="5000")
    refused = await browser.send(page(parent))
    assert (refused.status_code, await children(parent)) == (402, [])
    await browser.open(page(parent))
    wrong = await browser.send(page(parent, "check"), name="Helper", funding="much")
    assert (wrong.status_code, "A decimal number above zero" in wrong.text) == (422, True)


async def test_a_child_is_ended_after_its_effect_was_stated(browser, parent):
    child = await child_of(parent)
    await browser.open(page(parent))
    assert "its purse of 10" in browser.text
    await browser.send(page(parent, "end"))
    assert "The child has ended." in browser.text
    (read,) = await children(parent)
    assert (read["child_did"], read["state"]) == (child.did, "ended")


async def test_an_agent_without_children_names_its_tab(browser, parent):
    await browser.open(f"/account/agents/{parent.did}")
    assert page(parent) in browser.text


async def test_a_purse_above_the_limit_is_approved_and_spawned_in_one_step(browser, parent, owner, registry):
    body = {"spend_policy": {"approval_over": "5"}}
    await registry.http.put(f"/api/v1/agents/{parent.did}/authz", json=body, headers=owner.headers)
    await browser.open(page(parent))
    await browser.send(page(parent, "check"), name="Helper", funding="10")
    await browser.send(page(parent))
    assert "Approval required" in browser.text
    assert await children(parent) == []
    await browser.send(page(parent))
    assert len(await children(parent)) == 1


async def test_the_pages_of_children_are_those_of_the_owner(registry, parent):
    stranger = await browser_of(registry, await registry.developer())
    answer = await stranger.http.get(page(parent))
    assert answer.status_code == 404
