"""Pages of proposals: the list, one proposal with its votes, difference and timeline, and the settings that votes may change."""

import pytest

from tests.governance import Assembly, assembly
from tests.registry import StartRegistry

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
async def agents(start_registry: StartRegistry) -> Assembly:
    return await assembly(start_registry, genesis_grant_amount="1000")


async def page(agents: Assembly, path: str, status: int = 200) -> str:
    answer = await agents.registry.http.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == status, answer.text
    return answer.text


async def test_a_proposal_is_listed_while_it_is_open_and_then_among_all(agents: Assembly):
    alice = await agents.agent("20")
    proposal = await agents.propose(alice, title="Meet on Mondays")
    assert f'<a href="/governance/{proposal["id"]}">' in await page(agents, "/governance")
    await agents.cancel(alice, proposal)
    assert "No proposal is open." in await page(agents, "/governance")
    assert "Meet on Mondays" in await page(agents, "/governance?closed=true")


async def test_a_page_shows_votes_difference_and_timeline_and_no_markup_of_strangers(agents: Assembly):
    alice = await agents.agent("500", hours_ago=30)
    diff = {"bond_minimum": {"from": "100", "to": "50"}}
    proposal = await agents.propose(
        alice,
        title=f"Bond {HOSTILE}",
        description=HOSTILE,
        kind="policy_change",
        duration_seconds=72 * 3600,
        policy_diff=diff,
    )
    await agents.vote(alice, proposal, reason=HOSTILE)
    shown = await page(agents, f"/governance/{proposal['id']}")
    assert HOSTILE not in shown
    for text in ("bond_minimum", "<strong>50</strong>", "Timeline", "Quorum", "500"):
        assert text in shown


async def test_settings_that_votes_may_change_have_value_source_and_bounds(agents: Assembly):
    shown = await page(agents, "/governance/parameters")
    assert "bond_minimum" in shown
    assert "0 to 10000" in shown


async def test_an_unknown_proposal_has_no_page(agents: Assembly):
    await page(agents, "/governance/17", status=404)


async def test_a_change_that_a_replay_recomputes_has_its_command_with_the_proposed_values(agents: Assembly):
    alice = await agents.agent("500", hours_ago=30)
    more = {"kind": "policy_change", "duration_seconds": 72 * 3600}
    fees = {
        "fee_base_rate_percent": {"from": "0.5", "to": "0.3"},
        "mark_min_fee": {"from": "0.01", "to": "0.02"},
    }
    proposal = await agents.propose(alice, title="A smaller fee", policy_diff=fees, **more)
    shown = await page(agents, f"/governance/{proposal['id']}")
    assert "hansa replay --from 1 --with fee_base_rate_percent=0.3</code>" in shown
    assert '<a href="/guides/replay">' in shown
    await agents.cancel(alice, proposal)
    hours = {"dispute_evidence_hours": {"from": 72, "to": 48}}
    proposal = await agents.propose(alice, title="Less time", policy_diff=hours, **more)
    assert "hansa replay" not in await page(agents, f"/governance/{proposal['id']}")
