"""Governance in a browser: an owner proposes and votes as an own agent; an administrator decides. Each act states its effect first."""

import re
from html import unescape

import pytest

from tests.browsing import BrowserOf, browser_of
from tests.governance import Assembly, assembly, passed, take_effect
from tests.organizations import found
from tests.registry import StartRegistry, TestAgent


@pytest.fixture
async def agents(start_registry: StartRegistry) -> Assembly:
    return await assembly(start_registry, genesis_grant_amount="1000")


def words(browser: BrowserOf) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", browser.text)).split())


async def owner_of(agents: Assembly, staked: str, *, hours_ago: float = 0) -> tuple[BrowserOf, TestAgent]:
    """A person at a browser with an agent that has this stake."""
    developer = await agents.registry.developer()
    agent = await developer.agent(name="Lingua")
    await agents.stake(agent, staked, hours_ago=hours_ago)
    return await browser_of(agents.registry, developer), agent


async def administrator(agents: Assembly, area: str = "admin_platform") -> BrowserOf:
    return await browser_of(agents.registry, await agents.registry.administrator(area))


async def test_an_owner_votes_as_an_own_agent_and_sees_weight_and_pin_before(agents):
    proposal = await agents.propose(await agents.agent("15"))
    voter = await agents.agent_staked_before(proposal, "20")
    browser, agent = await owner_of(agents, "10")
    path = f"/account/agents/{agent.did}/governance"
    await browser.open(f"/governance/{proposal['id']}")
    assert f'href="/account/governance/{proposal["id"]}"' in browser.text
    await browser.open(f"/account/governance/{proposal['id']}")
    assert f'href="{path}/{proposal["id"]}"' in browser.text
    # Staked after the snapshot: no weight, and no form.
    shown = await browser.open(f"{path}/{proposal['id']}")
    assert (shown.status_code, "has no weight" in browser.text) == (200, True)
    assert f'action="{path}/{proposal["id"]}"' not in browser.text
    later = await agents.propose(voter)
    path = f"{path}/{later['id']}"
    await browser.open(path)
    assert "Weight of its vote now 10 AVT" in words(browser)
    assert "The vote is final and public. It counts with 10 AVT, and so much stays staked" in words(browser)
    refused = await browser.send(path, vote="")
    assert (refused.status_code, 'role="alert"' in browser.text) == (422, True)
    await browser.send(path, vote="against", reason="Mondays are taken.")
    assert "The vote counts." in browser.text
    assert "Vote of this agent Against, with 10 AVT" in words(browser)
    assert "Pinned by votes 10 AVT" in words(browser)
    (cast,) = await agents.votes(later)
    assert (cast["voter_did"], cast["vote"], cast["reason"]) == (agent.did, "against", "Mondays are taken.")
    assert f'action="{path}"' not in browser.text, "a vote is final"


async def test_a_vote_that_is_sent_twice_counts_once(agents):
    browser, agent = await owner_of(agents, "10")
    proposal = await agents.propose(agent)
    path = f"/account/agents/{agent.did}/governance/{proposal['id']}"
    await browser.open(path)
    form = browser.form(path)
    for _ in range(2):
        sent = await browser.post(path, [pair for pair in form.fields if pair[0] != "vote"], vote="for")
        assert (sent.status_code, "The vote counts." in sent.text) == (200, True)
    assert (await agents.read(proposal))["total_voters"] == 1


async def test_an_owner_proposes_a_text_and_cancels_it(agents):
    browser, agent = await owner_of(agents, "10")
    path = f"/account/agents/{agent.did}/governance"
    await browser.open(path)
    assert "Staked 10 AVT" in words(browser)
    refused = await browser.send(path, title="Meet \u202e on Mondays", days="3")
    assert (refused.status_code, 'role="alert"' in browser.text) == (422, True)
    await browser.send(path, title="Meet on Mondays", description="At ten.\r\nSharp.", days="3")
    assert "The proposal is made." in browser.text
    (proposal,) = (await agents.registry.get("/governance/proposals")).json()["items"]
    assert (proposal["title"], proposal["description"]) == ("Meet on Mondays", "At ten.\nSharp.")
    await browser.send(f"{path}/{proposal['id']}/cancel")
    assert "The proposal is cancelled." in browser.text
    assert (await agents.read(proposal))["status"] == "CANCELLED"


async def test_an_owner_proposes_a_change_of_settings_from_the_values_that_the_form_shows(agents):
    browser, agent = await owner_of(agents, "500", hours_ago=30)
    path = f"/account/agents/{agent.did}/governance"
    await browser.open(path)
    assert "bond_minimum, now 100" in words(browser)
    fields = {"title": "A smaller bond", "days": "4", "kind": "policy_change"}
    changes = {
        "change_1": 'bond_minimum="100"',
        "change_1_to": "50,5",
        "change_10": "bond_maturity_days=14",
        "change_10_to": "20",
    }
    refused = await browser.send(path, **fields, change_1='bond_minimum="70"', change_1_to="50")
    assert (refused.status_code, "Not the present value" in browser.text) == (409, True)
    await browser.send(path, **fields, **changes)
    assert "The proposal is made." in browser.text, words(browser)
    (proposal,) = (await agents.registry.get("/governance/proposals")).json()["items"]
    assert proposal["policy_diff"] == {
        "bond_minimum": {"from": "100", "to": "50.5"},
        "bond_maturity_days": {"from": 14, "to": 20},
    }


async def test_a_member_without_the_right_to_operate_opens_no_page_of_votes(agents):
    guild = await found(agents.registry)
    agent = await guild.agent()
    viewer = await browser_of(agents.registry, await guild.member("viewer"))
    assert (await viewer.open(f"/account/agents/{agent.did}/governance")).status_code == 403
    stranger = await browser_of(agents.registry, await agents.registry.developer())
    assert (await stranger.open(f"/account/agents/{agent.did}/governance")).status_code == 404


async def test_an_administrator_applies_a_change_vetoes_it_and_declines_another(agents):
    first = await passed(agents)
    browser, page = await administrator(agents), f"/administration/governance/{first['id']}"
    await browser.open("/administration/governance")
    assert f'href="{page}"' in browser.text
    await browser.open(page)
    assert "The settings change 48 hours from now" in words(browser)
    assert f'action="{page}/veto"' not in browser.text
    refused = await browser.send(f"{page}/apply", reason="  ")
    assert (refused.status_code, 'role="alert"' in browser.text) == (422, True)
    await browser.send(f"{page}/apply", reason="Agreed.")
    queued = await agents.read(first)
    assert (queued["execution"], queued["reason"]) == ("QUEUED", "Agreed.")
    await browser.send(f"{page}/veto", reason="An error.")
    assert (await agents.read(first))["execution"] == "VETOED"
    assert "No decision is left." in browser.text
    second = await passed(agents)
    page = f"/administration/governance/{second['id']}"
    await browser.open(page)
    form = browser.form(f"{page}/apply")
    await browser.send(f"{page}/decline", reason="Not now.")
    assert (await agents.read(second))["execution"] == "DECLINED"
    late = await browser.post(
        f"{page}/apply", [pair for pair in form.fields if pair[0] != "reason"], reason="Yes."
    )
    assert (late.status_code, 'role="alert"' in late.text) == (409, True)


async def test_an_administrator_vetoes_an_open_proposal_and_resets_a_setting(agents):
    change = await passed(agents)
    browser, page = await administrator(agents), f"/administration/governance/{change['id']}"
    await browser.open(page)
    await browser.send(f"{page}/apply", reason="Agreed.")
    await take_effect(agents, change)
    proposal = await agents.propose(await agents.agent("15"))
    page = f"/administration/governance/{proposal['id']}"
    await browser.open(page)
    await browser.send(f"{page}/veto", reason="Spam.")
    assert (await agents.read(proposal))["status"] == "CANCELLED"
    await browser.open("/administration/governance")
    assert "No proposal waits for a decision." in browser.text
    path = "/administration/governance/parameters/bond_minimum/reset"
    await browser.send(path, reason="An error.")
    assert "The setting returns to the environment in a minute." in browser.text
    assert (await agents.reset_event())["after"] == "100"
    again = await browser.send(path, reason="Again.")
    assert (again.status_code, 'role="alert"' in again.text) == (409, True)


async def test_only_administrators_of_the_platform_open_the_pages_of_decisions(agents):
    proposal = await agents.propose(await agents.agent("15"))
    for path in ("/administration/governance", f"/administration/governance/{proposal['id']}"):
        assert (await (await administrator(agents, "admin_support")).open(path)).status_code == 403
        assert (await (await owner_of(agents, "10"))[0].open(path)).status_code == 403
