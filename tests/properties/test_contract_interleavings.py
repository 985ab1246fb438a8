"""Two acts on one contract that meet, in many orders of their statements."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pytest

from hansa.foundation.plumbing.caller import Agent
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.rooms import agents
from hansa.rooms.commerce.contracts.accept import accept
from hansa.rooms.commerce.contracts.approve import Approval, approve
from hansa.rooms.commerce.contracts.contract import Contract, Status
from hansa.rooms.commerce.contracts.deadlines import meet_deadline
from hansa.rooms.commerce.contracts.ending import cancel, mark_failed
from hansa.rooms.commerce.contracts.paying import Consent
from hansa.rooms.commerce.contracts.store import find
from hansa.rooms.commerce.contracts.suspension import end_of_revoked, stop
from hansa.rooms.commerce.contracts.work import Submission, request_changes, submit
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_some_orders
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.commerce.agreements import Agreements, in_days, open_agreements

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


@dataclass(frozen=True)
class Scene:
    """One contract of Alice and Bob, and what either may do to it."""

    contracts: Agreements
    contract_id: int
    alice: Agent
    bob: Agent

    @property
    def settings(self) -> Any:
        return self.contracts.registry.settings

    def act(self, name: str) -> UseCase:
        return getattr(self, f"_{name}")

    async def _accept(self, tx: Tx) -> Any:
        return await accept(tx, self.bob, self.contract_id, self.settings, _admits)

    async def _cancel(self, tx: Tx) -> Any:
        return await cancel(tx, self.alice, self.contract_id, None)

    async def _submit(self, tx: Tx) -> Any:
        return await submit(tx, self.bob, self.contract_id, Submission(None, None))

    async def _return(self, tx: Tx) -> Any:
        return await request_changes(tx, self.alice, self.contract_id, None)

    async def _approve(self, tx: Tx) -> Any:
        return await approve(tx, self.alice, self.contract_id, Approval(None, Consent()), self.settings)

    async def _fail(self, tx: Tx) -> Any:
        return await mark_failed(tx, self.alice, self.contract_id, None, self.settings)

    async def _deadline(self, tx: Tx) -> Any:
        return await meet_deadline(tx, self.contract_id, self.settings)

    async def _revoke(self, tx: Tx) -> Any:
        return await end_of_revoked(tx, self.contract_id, self.bob.did, self.settings)

    async def _suspend(self, tx: Tx) -> Any:
        return await stop(tx, self.contract_id, self.bob.did, datetime.now(UTC))


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


# What left a deadline that was already past was changed by an act that comes before it in no order.
async def _admits(_: Tx, __: str, ___: Any) -> bool:
    return True


Make: TypeAlias = Callable[[str, bool], Awaitable[Scene]]


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Agreements, Director, Make]]:
    async with open_agreements(database_farm, tmp_path_factory.mktemp("met")) as contracts:
        alice, bob = await contracts.contractor("1000000"), await contracts.provider()

        async def make(state: str, is_due: bool) -> Scene:
            dates = {"submit_by": in_days(2), "review_by": in_days(4)}
            made = await contracts.propose(alice, bob, amount="1", funded=True, **dates)
            for act in {"PROPOSED": (), "ACCEPTED": ("accept",), "SUBMITTED": ("accept", "submit")}[state]:
                await contracts.act(bob, made, act)
            if is_due:
                await contracts.move_clock(made, {"SUBMITTED": 4 * 86_400 + 1}.get(state, 2 * 86_400 + 1))
            return Scene(contracts, made["id"], await caller(contracts, alice), await caller(contracts, bob))

        async with directing(contracts.registry.runtime.database.dsn, 2) as director:
            yield contracts, director, make


async def caller(contracts: Agreements, agent: TestAgent) -> Agent:
    owner = await contracts.registry.database.read(lambda tx: agents.owner_of(tx, agent.did))
    assert owner is not None
    return Agent(agent.did, owner, ("client",), frozenset({"payment.pay"}), is_governed=False)


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
            assert outcome is None or isinstance(outcome, Contract | Refused), repr(outcome)
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
