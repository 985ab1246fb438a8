"""Ends of children that a bond, a dispute or a stake holds up: each ends once it is over, and the books are exact."""

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest

from hansa.rooms import auditor
from tests.conversations.test_disputes import transferred
from tests.properties.proof import prove_book
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.commerce.agreements import in_days, refused
from tests.rooms.commerce.disputing import FOR_COMPLAINANT, FOR_DEFENDANT, Disputing, open_disputing
from tests.rooms.reputation.bonded import DAY, Bonded
from tests.spawning import child_of, children, end_those_due, ended
from tests.work_orders import offering

UNLOCK = """
UPDATE ledger_stake_position p SET unlocks_at = clock_timestamp() - interval '1 second' FROM ledger_account a
WHERE a.id = p.account_id AND a.did = $1
"""


@pytest.fixture(scope="module")
async def open_here(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Disputing]:
    directory = tmp_path_factory.mktemp("ends")
    async with open_disputing(database_farm, directory, bond_mode="enforce") as disputing:
        yield disputing


@pytest.fixture
async def disputes(open_here: Disputing) -> AsyncIterator[Disputing]:
    """No unit is made or lost."""
    yield open_here
    await open_here.agreements.prove()
    verdict = await open_here.registry.database.transaction(auditor.audit_from_zero, one_snapshot=True)
    assert (verdict.status, verdict.supply.delta) == ("OK", 0)
    await open_here.registry.database.read(prove_book)


@pytest.fixture
def bonds(disputes: Disputing) -> Bonded:
    return Bonded(disputes.agreements)


@pytest.fixture
async def parent(disputes: Disputing) -> TestAgent:
    """An agent with 1000 units."""
    agent = await disputes.agreements.contractor()
    given = await disputes.registry.http.put(
        f"/api/v1/agents/{agent.did}/authz",
        json={"roles": ["client", "trader", "staker"]},
        headers=disputes.agreements.purses.developer.headers,
    )
    assert given.status_code == 200, given.text
    return agent


def reasons(answer: dict[str, Any]) -> list[str]:
    return [reason["kind"] for reason in answer["waits_for"]]


async def came_back(disputes: Disputing, parent: TestAgent, before: str) -> Decimal:
    """The child of the parent has ended; returns the units that went back, which the balance of the parent shows."""
    await end_those_due(disputes.registry)
    (read,) = await children(parent)
    assert (read["state"], read["status"], read["balance"], read["held"]) == ("ended", "revoked", "0", "0")
    returned = Decimal(read["returned"])
    assert Decimal(await parent.balance()) == Decimal(before) + returned
    return returned


async def test_a_bond_is_released_by_the_end_and_swept_with_the_rest(
    disputes: Disputing, bonds: Bonded, parent: TestAgent
) -> None:
    child = await child_of(parent, funding="200")
    await bonds.act(child, "deposit", amount="150")
    before = await parent.balance()
    answer = await ended(child, parent)
    assert (answer["state"], answer["held"], reasons(answer)) == ("ending", "150", ["hold"])
    assert (await bonds.status(child))["state"] == "releasing"
    await end_those_due(disputes.registry)
    assert (await children(parent))[0]["state"] == "ending"
    await bonds.elapse(child, 60 * DAY)
    returned = await came_back(disputes, parent, before)
    assert Decimal(199) - Decimal("0.01") < returned < 200
    assert (await bonds.status(child))["state"] == "released"


async def test_a_bond_that_is_being_released_already_is_completed(
    disputes: Disputing, bonds: Bonded, parent: TestAgent
) -> None:
    child = await child_of(parent, funding="200")
    await bonds.act(child, "deposit", amount="100")
    await bonds.act(child, "release")
    await bonds.elapse(child, 60 * DAY)
    before = await parent.balance()
    answer = await ended(child, parent)
    assert (answer["state"], answer["held"]) == ("ended", "0")
    assert Decimal(await parent.balance()) == Decimal(before) + Decimal(answer["returned"])


@pytest.mark.parametrize("ruling", [FOR_COMPLAINANT, FOR_DEFENDANT])
async def test_a_sweep_that_an_open_dispute_blocks_goes_on_when_it_is_closed(
    disputes: Disputing, parent: TestAgent, ruling: str
) -> None:
    child, other = await child_of(parent, funding="200"), await disputes.agreements.contractor()
    filed = await disputes.in_voting(
        child, other, transaction_id=await transferred(child, other), claimed_amount="20"
    )
    before = await parent.balance()
    answer = await ended(child, parent)
    assert answer["state"] == "ending"
    assert "agreements" in reasons(answer)
    await end_those_due(disputes.registry)
    assert (await children(parent))[0]["state"] == "ending"
    await disputes.rule(filed, ruling)
    assert await came_back(disputes, parent, before) > 100


async def test_a_dispute_against_a_child_keeps_its_bond_and_its_end_until_it_is_closed(
    disputes: Disputing, bonds: Bonded, parent: TestAgent
) -> None:
    child, payer = await child_of(parent, funding="200"), await disputes.agreements.contractor()
    await bonds.act(child, "deposit", amount="150")
    filed = await disputes.in_voting(
        payer, child, transaction_id=await transferred(payer, child), claimed_amount="20"
    )
    before = await parent.balance()
    answer = await ended(child, parent)
    assert (answer["state"], sorted(reasons(answer))) == ("ending", ["agreements", "hold"])
    await bonds.elapse(child, 60 * DAY)
    await end_those_due(disputes.registry)
    # The release gave back what the dispute does not keep.
    (read,) = await children(parent)
    assert (read["state"], Decimal(read["held"])) != ("ended", Decimal(0))
    await disputes.rule(filed, FOR_COMPLAINANT, slash_amount="20")
    await bonds.elapse(child, 60 * DAY)
    await came_back(disputes, parent, before)
    assert (await bonds.status(child))["amount"] == "0"


async def test_a_position_is_released_when_its_lock_has_ended(disputes: Disputing, parent: TestAgent) -> None:
    child = await child_of(parent, funding="20")
    staked = await disputes.registry.post(
        "/staking/stake", json={"amount": "10", "lock_period": 30}, headers=child.headers
    )
    assert staked.status_code == 200, staked.text
    before = await parent.balance()
    answer = await ended(child, parent)
    assert (answer["state"], answer["held"], reasons(answer)) == ("ending", "10", ["stake"])
    await disputes.registry.database.transaction(lambda tx: tx.execute(UNLOCK, child.did))
    assert await came_back(disputes, parent, before) > 19


async def test_a_child_that_is_ending_binds_itself_to_nothing_new(
    disputes: Disputing, bonds: Bonded, parent: TestAgent
) -> None:
    child, other = await child_of(parent, funding="300"), await disputes.agreements.contractor()
    await bonds.act(child, "deposit", amount="100")
    proposed = await disputes.agreements.propose(other, child)
    with_bond = await disputes.agreements.propose(
        other, child, funded=True, submit_by=in_days(2), review_by=in_days(4)
    )
    assert (await ended(child, parent))["state"] == "ending"
    for contract in (proposed, with_bond):
        answer = await disputes.agreements.post(child, f"/{contract['id']}/accept")
        assert refused(answer) == (409, "CHILD_ENDING")
    assert refused(await bonds.post(child, "deposit", amount="100")) == (409, "CHILD_ENDING")
    assert (await bonds.status(child))["amount"] == "100"


async def test_a_child_that_is_ending_bids_for_no_work_and_is_awarded_none(
    disputes: Disputing, bonds: Bonded, parent: TestAgent
) -> None:
    child, work = await child_of(parent, funding="300"), await offering(disputes.registry)
    await bonds.act(child, "deposit", amount="100")
    orders = [await work.open(title=title) for title in ("Translate", "Proofread")]
    bid = await work.bid(child, orders[0])
    assert (await ended(child, parent))["state"] == "ending"
    assert refused(await work.try_bid(child, orders[1])) == (409, "CHILD_ENDING")
    assert refused(await work.award(bid)) == (409, "CHILD_ENDING")
    assert (await work.read(orders[0]))["status"] == "OPEN"
