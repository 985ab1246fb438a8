"""Administrators gain nothing for agents of their own, and issue nothing without a second administrator."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from tests.browsing import browser_of
from tests.registry import DatabaseFarm, TestAgent, TestDeveloper, at_once
from tests.rooms.commerce.agreements import refused
from tests.rooms.commerce.disputing import FOR_COMPLAINANT, Disputing, open_disputing

REASON = "For a test."


@pytest.fixture(scope="module")
async def open_here(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Disputing]:
    async with open_disputing(database_farm, tmp_path_factory.mktemp("own")) as disputing:
        yield disputing


@pytest.fixture
async def disputes(open_here: Disputing) -> AsyncIterator[Disputing]:
    yield open_here
    await open_here.agreements.prove()


@pytest.fixture
async def alice(disputes: Disputing) -> TestAgent:
    return await disputes.agreements.contractor()


@pytest.fixture
async def bob(disputes: Disputing) -> TestAgent:
    return await disputes.agreements.provider()


@pytest.fixture
async def treasurer(disputes: Disputing) -> TestDeveloper:
    return await disputes.registry.administrator("admin_treasury")


async def ordered(disputes: Disputing, alice: TestAgent, bob: TestAgent, **members: str) -> Any:
    """A ruling about 50 units that alice paid to bob."""
    paid = (await alice.transfer(bob, "50")).json()["transaction_id"]
    filed = await disputes.in_voting(alice, bob, transaction_id=paid)
    return await disputes.rule(filed, FOR_COMPLAINANT, **members)


async def decide(by: TestDeveloper, dispute: Any, act: str, **body: str) -> httpx2.Response:
    path = f"/admin/awards/{dispute['id']}/{act}"
    return await by.registry.post(path, json=body or None, headers=by.headers)


async def log_of(disputes: Disputing, act: str, subject: object) -> list[str]:
    statement = "SELECT reason FROM plumbing_admin_act WHERE act = $1 AND subject = $2 ORDER BY id"
    rows = await disputes.registry.database.query(lambda tx: tx.fetch(statement, act, str(subject)))
    return [row["reason"] for row in rows]


async def test_an_administrator_does_not_rule_on_a_dispute_of_its_own_agent(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    ruler = await disputes.registry.administrator("admin_enforcement")
    own = await ruler.agent()
    await disputes.agreements.purses.grant(own, "60")
    by_ruler = replace(disputes, administrator=ruler)
    for complainant, defendant in ((own, bob), (alice, own)):
        filed = await disputes.file(complainant, defendant)
        assert refused(await by_ruler.try_put(filed, "open-voting")) == (403, "OWN_AGENT")
        await disputes.open_voting(filed)
        assert refused(await by_ruler.try_rule(filed, FOR_COMPLAINANT)) == (403, "OWN_AGENT")
        assert (await disputes.read(disputes.administrator, filed)).json()["status"] == "VOTING"
        await disputes.rule(filed, FOR_COMPLAINANT)


async def test_an_administrator_neither_suspends_nor_reinstates_nor_revokes_its_own_agent(
    disputes: Disputing,
) -> None:
    enforcer = await disputes.registry.administrator("admin_enforcement")
    own = await enforcer.agent()
    act = {"agent_dids": [own.did], "reason": REASON}
    for verb, by in (("suspend", enforcer), ("reinstate", enforcer), ("revoke", enforcer)):
        if verb == "reinstate":
            await disputes.registry.post(
                "/admin/agents/bulk/suspend", json=act, headers=disputes.administrator.headers
            )
        answer = await disputes.registry.post(f"/admin/agents/bulk/{verb}", json=act, headers=by.headers)
        assert refused(answer) == (403, "OWN_AGENT")
    read = await disputes.registry.get("/agents/me", headers=own.headers)
    assert read.status_code == 403, "still suspended"
    # A refused act of a list changes nothing for the others either.
    stranger = await disputes.agreements.provider()
    both = {"agent_dids": [stranger.did, own.did], "reason": REASON}
    answer = await disputes.registry.post("/admin/agents/bulk/suspend", json=both, headers=enforcer.headers)
    assert refused(answer) == (403, "OWN_AGENT")
    assert (await disputes.registry.get("/agents/me", headers=stranger.headers)).status_code == 200


async def test_an_administrator_of_the_treasury_grants_its_own_agent_nothing(disputes: Disputing) -> None:
    treasurer = await disputes.registry.administrator("admin_treasury")
    own = await treasurer.agent()
    before = await own.balance()
    browser = await browser_of(treasurer.registry, treasurer)
    await browser.open("/administration/treasury")
    fields = {"payee": own.did, "granted": "10", "grant_ref": "to-own"}
    answer = await browser.send("/administration/treasury/grant", **fields)
    assert answer.status_code == 403
    assert "another administrator" in answer.text
    assert await own.balance() == before


async def test_a_compensation_beyond_the_slash_waits_for_an_administrator_of_the_treasury(
    disputes: Disputing, alice: TestAgent, bob: TestAgent, treasurer: TestDeveloper
) -> None:
    issued, destroyed = await disputes.supply()
    ruled = await ordered(disputes, alice, bob, compensation_amount="40", slash_amount="15")
    assert (ruled["compensation_amount"], ruled["slash_applied"]) == ("40", "15")
    assert (ruled["award_amount"], ruled["award_status"]) == ("25", "PENDING")
    assert await disputes.supply() == (issued + 15, destroyed + 15)
    assert await log_of(disputes, "award.order", ruled["id"]) == [
        "25 of 40 wait as an award, destroyed 15 AVT."
    ]
    listed = await disputes.registry.get(
        "/admin/awards", params={"status": "PENDING"}, headers=treasurer.headers
    )
    (award,) = [one for one in listed.json()["items"] if one["dispute_id"] == ruled["id"]]
    assert (award["amount"], award["paid"], award["slash_applied"]) == ("25", "50", "15")
    assert refused(await decide(disputes.administrator, ruled, "approve")) == (403, "AREA_MISSING")
    answers = await at_once(*(decide(treasurer, ruled, "approve") for _ in range(3)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409]
    assert refused(await decide(treasurer, ruled, "reject", reason=REASON)) == (409, "AWARD_DECIDED")
    assert await disputes.supply() == (issued + 40, destroyed + 15)
    assert await log_of(disputes, "award.approve", ruled["id"]) == ["Issued 40 AVT, destroyed 15 AVT."]
    minted = [data for name, data in await disputes.events(ruled) if name == "DisputeCompensationMinted"]
    assert [one["amount"] for one in minted] == ["15", "25"]


async def test_the_administrator_who_ruled_and_the_owner_of_a_party_decide_no_award(
    disputes: Disputing, alice: TestAgent, bob: TestAgent, treasurer: TestDeveloper
) -> None:
    both = await disputes.registry.administrator("admin_enforcement", "admin_treasury")
    ruled = await ordered(replace(disputes, administrator=both), alice, bob, compensation_amount="50")
    issued = (await disputes.supply())[0]
    for act, body in (("approve", {}), ("reject", {"reason": REASON})):
        assert refused(await decide(both, ruled, act, **body)) == (403, "SECOND_ADMINISTRATOR_NEEDED")
    own = await treasurer.agent()
    await disputes.agreements.purses.grant(own, "60")
    of_own = await ordered(disputes, own, bob, compensation_amount="50")
    assert refused(await decide(treasurer, of_own, "approve")) == (403, "OWN_AGENT")
    assert (await disputes.supply())[0] == issued


async def test_a_rejected_award_leaves_the_payment_to_another_ruling(
    disputes: Disputing, alice: TestAgent, bob: TestAgent, treasurer: TestDeveloper
) -> None:
    contract = await disputes.agreements.submitted(alice, bob)
    paid = await disputes.agreements.act(alice, contract, "approve-completion")
    filed = await disputes.in_voting(alice, bob, contract_id=paid["id"])
    ruled = await disputes.rule(filed, FOR_COMPLAINANT, compensation_amount="40")
    issued = (await disputes.supply())[0]
    rejected = await decide(treasurer, ruled, "reject", reason=REASON)
    assert (rejected.json()["status"], rejected.json()["reason"]) == ("REJECTED", REASON)
    assert (await disputes.supply())[0] == issued
    assert (await disputes.read(alice, ruled)).json()["award_status"] == "REJECTED"


async def test_an_award_that_waits_keeps_its_complainant_from_ending(
    disputes: Disputing, bob: TestAgent, treasurer: TestDeveloper
) -> None:
    owner = await disputes.registry.developer()
    dora = await owner.agent()
    await disputes.agreements.purses.grant(dora, "60")
    ruled = await ordered(disputes, dora, bob, compensation_amount="50")
    other = await disputes.agreements.provider()
    left = await disputes.agreements.balances(dora)
    assert (await dora.transfer(other, str(int(float(left[0]) - 1)))).status_code == 200
    ended = await disputes.registry.http.delete(f"/api/v1/agents/{dora.did}", headers=owner.headers)
    assert refused(ended)[0] == 409
    assert (await decide(treasurer, ruled, "approve")).status_code == 200
    assert float(await dora.balance()) >= 50


async def test_the_page_of_awards_shows_what_waits_and_issues_it(
    disputes: Disputing, alice: TestAgent, bob: TestAgent, treasurer: TestDeveloper
) -> None:
    ruled = await ordered(disputes, alice, bob, compensation_amount="30")
    browser = await browser_of(treasurer.registry, treasurer)
    assert "wait for a second administrator" in (await browser.open("/administration")).text
    await browser.open("/administration/awards")
    issued = (await disputes.supply())[0]
    done = await browser.send(f"/administration/awards/{ruled['id']}/approve")
    assert "The units are issued." in done.text
    assert (await disputes.supply())[0] == issued + 30
