"""Two acts on one contract that meet, in many orders of their statements."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias

import pytest

from hansa.foundation.values.errors import Refused
from hansa.rooms.commerce.contracts.contract import Status
from hansa.rooms.commerce.contracts.reading import ContractShown
from hansa.rooms.commerce.contracts.store import find
from tests.properties.contract_scene import Scene, administrator_of, caller_of
from tests.properties.interleaving import Choose, Director, directing, in_some_orders
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm
from tests.rooms.commerce.agreements import Agreements, in_days
from tests.rooms.commerce.disputing import open_disputing

SAMPLE = by_tier(6, 100, 1_000)

ENDS = {
    "approved",
    "marked_failed",
    "cancelled",
    "not_submitted",
    "not_reviewed",
    "proposal_expired",
    "party_revoked",
}


# In which state they meet, whether a deadline has just come, the two acts, and the states that may be left.
MEETINGS: dict[str, tuple[str, bool, tuple[str, str], set[Status]]] = {
    "two accepts": ("PROPOSED", False, ("accept", "accept"), {Status.ACCEPTED}),
    "accept and cancel": ("PROPOSED", False, ("accept", "cancel"), {Status.ACCEPTED, Status.CANCELLED}),
    "accept and a revocation": ("PROPOSED", False, ("accept", "revoke"), {Status.CANCELLED, Status.FAILED}),
    "accept and the end of the proposal": ("PROPOSED", True, ("accept", "deadline"), {Status.EXPIRED}),
    "accept and a suspension": ("PROPOSED", False, ("accept", "suspend"), {Status.ACCEPTED}),
    "two submissions": ("ACCEPTED", False, ("submit", "submit"), {Status.SUBMITTED}),
    "submission and failure": ("ACCEPTED", False, ("submit", "fail"), {Status.FAILED}),
    "submission and its date": ("ACCEPTED", True, ("submit", "deadline"), {Status.FAILED}),
    "submission and a revocation": ("ACCEPTED", False, ("submit", "revoke"), {Status.FAILED}),
    "two approvals": ("SUBMITTED", False, ("approve", "approve"), {Status.COMPLETED}),
    "approval and changes": ("SUBMITTED", False, ("approve", "return"), {Status.COMPLETED, Status.ACCEPTED}),
    "approval and failure": ("SUBMITTED", False, ("approve", "fail"), {Status.COMPLETED, Status.FAILED}),
    "approval and the date of the review": ("SUBMITTED", True, ("approve", "deadline"), {Status.FAILED}),
    "approval and a revocation": (
        "SUBMITTED",
        False,
        ("approve", "revoke"),
        {Status.COMPLETED, Status.FAILED},
    ),
    "approval and a suspension": ("SUBMITTED", False, ("approve", "suspend"), {Status.COMPLETED}),
    "changes and failure": ("SUBMITTED", False, ("return", "fail"), {Status.FAILED}),
    "changes and the date of the review": ("SUBMITTED", True, ("return", "deadline"), {Status.FAILED}),
    "failure and the date of the review": ("SUBMITTED", True, ("fail", "deadline"), {Status.FAILED}),
    "two deadlines": ("SUBMITTED", True, ("deadline", "deadline"), {Status.FAILED}),
    "failure and a suspension": ("SUBMITTED", False, ("fail", "suspend"), {Status.FAILED}),
    "a suspension and a revocation": ("SUBMITTED", False, ("suspend", "revoke"), {Status.FAILED}),
}


Make: TypeAlias = Callable[[str, bool], Awaitable[Scene]]


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Agreements, Director, Make]]:
    async with open_disputing(database_farm, tmp_path_factory.mktemp("met")) as disputing:
        contracts = disputing.agreements
        administrator = await administrator_of(disputing)
        alice, bob = await contracts.contractor("1000000"), await contracts.provider()

        async def make(state: str, is_due: bool) -> Scene:
            dates = {"submit_by": in_days(2), "review_by": in_days(4)}
            made = await contracts.propose(alice, bob, amount="1", funded=True, **dates)
            for act in {"PROPOSED": (), "ACCEPTED": ("accept",), "SUBMITTED": ("accept", "submit")}[state]:
                await contracts.act(bob, made, act)
            if is_due:
                await contracts.move_clock(made, {"SUBMITTED": 4 * 86_400 + 1}.get(state, 2 * 86_400 + 1))
            callers = [await caller_of(disputing.registry, agent) for agent in (alice, bob)]
            return Scene(disputing, made["id"], 0, *callers, administrator)

        async with directing(contracts.registry.runtime.database.dsn, 2) as director:
            yield contracts, director, make


@pytest.mark.parametrize("name", MEETINGS)
async def test_however_two_acts_meet_the_contract_is_in_one_state(
    name: str, stage: tuple[Agreements, Director, Make]
) -> None:
    contracts, director, make = stage
    state, is_due, acts, left = MEETINGS[name]

    async def play(choose: Choose) -> None:
        scene = await make(state, is_due)
        outcomes = await director.play([scene.act(act) for act in acts], choose)
        for outcome in outcomes:
            assert outcome is None or isinstance(outcome, ContractShown | Refused), repr(outcome)
        contract = await contracts.registry.database.read(lambda tx: find(tx, scene.contract_id))
        assert contract is not None
        assert contract.status in left, outcomes
        lines = await contracts.registry.database.read(
            lambda tx: tx.fetch(
                "SELECT act FROM commerce_contract_history WHERE contract_id = $1", scene.contract_id
            )
        )
        ends = [line["act"] for line in lines if line["act"] in ENDS]
        assert len(ends) == (contract.ended_because is not None), ends

    await in_some_orders(play, count=SAMPLE, seed=printed_seed())
    await contracts.prove()
