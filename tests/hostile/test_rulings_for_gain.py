"""Parties of a dispute gain no units by a ruling: it compensates the paid amount, once."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.paying import Payments
from tests.registry import DatabaseFarm, TestAgent, at_once
from tests.rooms.commerce.agreements import DAY, in_days, refused
from tests.rooms.commerce.disputing import FOR_COMPLAINANT, FOR_DEFENDANT, Disputing, open_disputing


@pytest.fixture(scope="module")
async def open_here(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Disputing]:
    directory = tmp_path_factory.mktemp("gains")
    async with open_disputing(database_farm, directory, teg_mint_max_avt="2000000") as disputing:
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


async def try_compensate(disputes: Disputing, filed: Any, amount: str) -> str:
    """The most that the refusal names."""
    issued = (await disputes.supply())[0]
    answer = await disputes.try_rule(filed, FOR_COMPLAINANT, compensation_amount=amount, note="For a test.")
    assert refused(answer) == (422, "RULING_INVALID")
    assert (await disputes.supply())[0] == issued
    most: str = answer.json()["error"]["context"]["maximum"]
    return most


async def test_a_contract_that_nobody_funded_or_paid_compensates_nothing(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    await disputes.agreements.purses.grant(alice, "10000")
    contract = await disputes.agreements.accepted(alice, bob, amount="1000000", submit_by=in_days(1))
    await disputes.agreements.elapse(contract, DAY + 1)
    members = {"contract_id": contract["id"], "reason_code": "SERVICE_NOT_DELIVERED"}
    filed = await disputes.in_voting(alice, bob, **members)
    shown = (await disputes.read(disputes.administrator, filed)).json()
    assert (shown["proposal"]["ruling"], shown["bound"]) == (FOR_COMPLAINANT, "1000000")
    assert (shown["paid"], shown["held"]) == ("0", "0")
    assert (shown["proposal"]["paid"], shown["proposal"]["held"]) == ("0", "0")
    path = f"/disputes/{filed['id']}/bundle"
    bundle = (await disputes.registry.get(path, headers=alice.headers)).json()
    assert (bundle["dispute"]["paid"], bundle["dispute"]["held"]) == ("0", "0")
    assert await try_compensate(disputes, filed, "1000000") == "0"
    await disputes.rule(filed, FOR_COMPLAINANT)
    assert await disputes.agreements.balances(alice) == ("11000", "0")


async def test_a_slash_for_an_unpaid_contract_reaches_the_amount_that_was_agreed(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    await disputes.agreements.purses.grant(bob, "30")
    contract = await disputes.agreements.submitted(alice, bob)
    filed = await disputes.in_voting(alice, bob, contract_id=contract["id"])
    assert (await disputes.rule(filed, FOR_COMPLAINANT, slash_amount="100"))["slash_applied"] == "30"


async def test_a_payment_token_that_ended_unpaid_compensates_nothing(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    payments = Payments(disputes.registry, alice, bob)
    used = await payments.authorized(amount="500")
    await payments.verify(used["token"])
    await payments.settle(used["token"], success=False)
    for complainant, defendant in ((alice, bob), (bob, alice)):
        filed = await disputes.in_voting(complainant, defendant, token_id=used["token_id"])
        assert await try_compensate(disputes, filed, "500") == "0"


async def test_of_milestones_those_that_were_paid_are_compensated(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    parts = [{"title": "First", "amount": "10"}, {"title": "Second", "amount": "90"}]
    contract = await disputes.agreements.submitted(alice, bob, milestones=parts)
    await disputes.agreements.act(alice, contract, "approve-completion")
    filed = await disputes.in_voting(alice, bob, contract_id=contract["id"])
    assert (filed["paid"], filed["held"], filed["bound"]) == ("10", "0", "100")
    assert await try_compensate(disputes, filed, "100") == "10"
    await disputes.rule(filed, FOR_COMPLAINANT, compensation_amount="10", slash_amount="10")


async def test_of_funded_milestones_the_ruling_returns_what_is_held_and_compensates_what_was_paid(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    parts = [{"title": "First", "amount": "10"}, {"title": "Second", "amount": "90"}]
    dates = {"submit_by": in_days(2), "review_by": in_days(4)}
    contract = await disputes.agreements.submitted(alice, bob, funded=True, milestones=parts, **dates)
    await disputes.agreements.act(alice, contract, "approve-completion")
    filed = await disputes.in_voting(alice, bob, contract_id=contract["id"])
    assert (filed["paid"], filed["held"]) == ("10", "90")
    assert await try_compensate(disputes, filed, "100") == "10"
    await disputes.rule(filed, FOR_COMPLAINANT, slash_amount="10", compensation_amount="10")


async def test_a_hold_that_was_returned_before_the_dispute_compensates_nothing(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    dates = {"submit_by": in_days(2), "review_by": in_days(4)}
    contract = await disputes.agreements.accepted(alice, bob, funded=True, **dates)
    await disputes.agreements.act(alice, contract, "mark-failed")
    filed = await disputes.in_voting(alice, bob, contract_id=contract["id"])
    assert (filed["paid"], filed["held"]) == ("0", "0")
    assert await try_compensate(disputes, filed, "100") == "0"
    await disputes.rule(filed, FOR_DEFENDANT, note="For a test.")


async def test_rulings_at_the_same_moment_compensate_one_payment_once(
    disputes: Disputing, alice: TestAgent, bob: TestAgent
) -> None:
    payments = Payments(disputes.registry, alice, bob)
    for _ in range(6):
        token = await payments.authorized("20")
        await payments.settle(token["token"], wait=20)
        first = await disputes.in_voting(alice, bob, token_id=token["token_id"])
        second = await disputes.in_voting(bob, alice, token_id=token["token_id"])
        issued = (await disputes.supply())[0]
        answers = await at_once(
            *(
                disputes.try_rule(one, FOR_COMPLAINANT, compensation_amount="15", slash_amount="20")
                for one in (first, second)
            )
        )
        assert sorted(answer.status_code for answer in answers) == [200, 422]
        assert (await disputes.supply())[0] == issued + 15
