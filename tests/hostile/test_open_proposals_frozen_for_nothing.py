"""An agent without bond or record freezes no units of others by accepting open, funded proposals."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from hansa.foundation.values.money import parse_amount
from hansa.rooms.commerce.contracts.rules import OPEN_ACCEPTED_MAX
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.commerce.agreements import Agreements, in_days, proposal, refused
from tests.rooms.commerce.disputing import Disputing, open_disputing


@pytest.fixture(scope="module")
async def open_here(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Disputing]:
    async with open_disputing(database_farm, tmp_path_factory.mktemp("open")) as disputing:
        yield disputing


@pytest.fixture
async def disputes(open_here: Disputing) -> AsyncIterator[Disputing]:
    yield open_here
    await open_here.agreements.prove()


@pytest.fixture
def contracts(disputes: Disputing) -> Agreements:
    return disputes.agreements


@pytest.fixture
async def alice(contracts: Agreements) -> TestAgent:
    return await contracts.contractor("20000")


@pytest.fixture
async def bob(contracts: Agreements) -> TestAgent:
    return await contracts.contractor()


async def offered(contracts: Agreements, alice: TestAgent, amount: str = "100", **members: Any) -> Any:
    """An open, funded proposal."""
    dates = {"submit_by": in_days(2), "review_by": in_days(4)}
    return await contracts.propose(alice, None, amount=amount, funded=True, **dates, **members)


async def deposit(contracts: Agreements, agent: TestAgent, amount: str) -> None:
    path = f"/agents/{agent.did}/reputation-bond/deposit"
    answer = await contracts.registry.post(path, json={"amount": amount}, headers=agent.headers)
    assert answer.status_code == 200, answer.text


async def earn(contracts: Agreements, agent: TestAgent, *, fees: str) -> None:
    """A record of one verified job."""
    record = """
    INSERT INTO reputation_record (agent_did, jobs_verified, fees, first_job_at) VALUES ($1, 1, $2, now())
    """
    await contracts.purses.execute(record, agent.did, parse_amount(fees))


async def try_accept(contracts: Agreements, agent: TestAgent, made: Any) -> httpx2.Response:
    return await contracts.post(agent, f"/{made['id']}/accept")


async def test_an_agent_without_a_bond_accepts_no_open_funded_proposal(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    made = await offered(contracts, alice)
    assert (made["provider_bond_min"], made["provider_jobs_min"]) == ("1", None)
    refusal = await try_accept(contracts, bob, made)
    assert refused(refusal) == (403, "BOND_REQUIRED")
    context = {"provider_bond_min": "1", "provider_jobs_min": None, "provider_fees_min": None}
    assert refusal.json()["error"]["context"] == context
    assert (await contracts.balances(alice))[1] == "0"
    assert (await contracts.read(alice, made))["status"] == "PROPOSED"
    await deposit(contracts, bob, "100")
    accepted = await contracts.act(bob, made, "accept")
    assert (accepted["status"], accepted["provider_did"]) == ("ACCEPTED", bob.did)


async def test_a_bond_is_one_percent_of_the_amount_rounded_up_or_as_the_proposal_states(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    await deposit(contracts, bob, "100")
    large = await offered(contracts, alice, "10000.00000001")
    assert large["provider_bond_min"] == "100.00000001"
    assert refused(await try_accept(contracts, bob, large)) == (403, "BOND_REQUIRED")
    strict = await offered(contracts, alice, provider_bond_min="101")
    assert refused(await try_accept(contracts, bob, strict)) == (403, "BOND_REQUIRED")
    carol = await contracts.provider()
    free = await offered(contracts, alice, provider_bond_min="0")
    assert (await try_accept(contracts, carol, free)).status_code == 200


async def test_a_bond_that_is_being_released_admits_nobody(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    await deposit(contracts, bob, "100")
    path = f"/agents/{bob.did}/reputation-bond/release"
    assert (await contracts.registry.post(path, headers=bob.headers)).status_code == 200
    made = await offered(contracts, alice)
    assert refused(await try_accept(contracts, bob, made)) == (403, "BOND_REQUIRED")


async def test_a_record_that_the_proposal_states_admits_without_a_bond(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    made = await offered(contracts, alice, provider_jobs_min=1)
    assert (made["provider_bond_min"], made["provider_jobs_min"]) == (None, 1)
    assert refused(await try_accept(contracts, bob, made)) == (403, "BOND_REQUIRED")
    await earn(contracts, bob, fees="100")
    assert (await try_accept(contracts, bob, made)).status_code == 200


async def test_a_record_replaces_bonds_as_far_as_a_hundredth_of_its_fees(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    await earn(contracts, bob, fees="100")
    # By default the bond is one percent.
    above = await offered(contracts, alice, "100.00000001", provider_jobs_min=1)
    refusal = await try_accept(contracts, bob, above)
    assert refused(refusal) == (403, "BOND_REQUIRED")
    assert refusal.json()["error"]["context"]["provider_fees_min"] == "100.000001"
    stated = await offered(contracts, alice, "1", provider_jobs_min=1, provider_bond_min="1.00000001")
    assert refused(await try_accept(contracts, bob, stated)) == (403, "BOND_REQUIRED")
    half = await offered(contracts, alice, "50", provider_jobs_min=1)
    assert (await try_accept(contracts, bob, half)).status_code == 200
    # Contracts under way count together.
    one_more = await offered(contracts, alice, "50.00000001", provider_jobs_min=1)
    assert refused(await try_accept(contracts, bob, one_more)) == (403, "BOND_REQUIRED")
    other_half = await offered(contracts, alice, "50", provider_jobs_min=1)
    assert (await try_accept(contracts, bob, other_half)).status_code == 200
    await contracts.act(alice, half, "mark-failed")
    last = await offered(contracts, alice, "50", provider_jobs_min=1)
    assert (await try_accept(contracts, bob, last)).status_code == 200


async def test_proposals_accepted_at_the_same_moment_replace_no_more_than_the_fees_allow(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    await earn(contracts, bob, fees="10")
    made = [await offered(contracts, alice, "10", provider_jobs_min=1) for _ in range(6)]
    answers = await asyncio.gather(*(try_accept(contracts, bob, one) for one in made))
    assert sorted(answer.status_code for answer in answers) == [200, *[403] * 5]


async def test_a_proposal_that_asks_for_no_job_needs_no_fees(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    free = await offered(contracts, alice, "100", provider_jobs_min=0)
    assert (await try_accept(contracts, bob, free)).status_code == 200


async def test_only_an_open_funded_proposal_states_a_requirement(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    for body in (
        proposal(None, provider_bond_min="1"),
        proposal(bob, funded=True, review_by=in_days(2), provider_jobs_min=1),
    ):
        assert refused(await contracts.post(alice, "", **body)) == (422, "CONTRACT_TERMS_INVALID")


async def test_a_provider_has_so_many_accepted_open_funded_proposals_and_no_more(
    contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    await deposit(contracts, bob, "100")
    for _ in range(OPEN_ACCEPTED_MAX):
        made = await offered(contracts, alice, "1")
        assert (await try_accept(contracts, bob, made)).status_code == 200
    one_more = await offered(contracts, alice, "1")
    assert refused(await try_accept(contracts, bob, one_more)) == (409, "TOO_MANY_ACCEPTED")
    await contracts.act(alice, made, "mark-failed")
    assert (await try_accept(contracts, bob, one_more)).status_code == 200


async def test_a_submission_without_a_digest_opens_no_dispute_for_its_author(
    disputes: Disputing, contracts: Agreements, alice: TestAgent, bob: TestAgent
) -> None:
    dates = {"submit_by": in_days(2), "review_by": in_days(4)}
    accepted = await contracts.accepted(alice, bob, funded=True, **dates)
    await contracts.act(bob, accepted, "submit")
    subject = {"contract_id": accepted["id"]}
    assert refused(await disputes.try_file(bob, alice, **subject)) == (409, "NOTHING_SUBMITTED")
    await contracts.act(alice, accepted, "request-changes")
    await contracts.act(bob, accepted, "submit", deliverable={"sha256": "0" * 64})
    assert (await disputes.try_file(bob, alice, **subject)).status_code == 201
