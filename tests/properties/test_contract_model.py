"""The registry and a model of contracts and disputes are given the same acts and never differ.

After each act: the allowed acts, every state, and the units of both parties. After each history: no unit made or lost, no hold
that binds nobody, one ending for each contract that ended.
"""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import httpx2
import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from hansa.rooms import ledger
from hansa.rooms.commerce.contracts import CONTRACT_DEADLINES
from hansa.rooms.commerce.contracts.suspension import end_of_revoked, resume, stop
from hansa.rooms.commerce.disputes import DISPUTE_DEADLINES
from tests.properties.contract_model import ALICE, BOB, Model, ModelContract
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.commerce.agreements import CONTRACTS_EARLIER, WORK, in_days
from tests.rooms.commerce.disputing import DISPUTES_EARLIER, EVIDENCE, Disputing, open_disputing
from tests.running_jobs import run_due, time_passes

HELD_CENTS = 3_000
CONTRACTS_MAX = 3
PLACES = st.integers(0, CONTRACTS_MAX - 1)
CENT = 10**6

_STATES = """
SELECT c.id, c.status, c.ended_because, c.amount_paid,
  (SELECT array_agg(m.state ORDER BY m.index) FROM commerce_contract_milestone m WHERE m.contract_id = c.id) AS parts,
  (SELECT array_agg(concat(d.status, ' ', d.ruling) ORDER BY d.id) FROM commerce_dispute d WHERE d.contract_id = c.id)
    AS disputes,
  (SELECT count(*) FROM commerce_contract_history h WHERE h.contract_id = c.id AND h.act IN ('cancelled',
    'proposal_expired', 'marked_failed', 'not_submitted', 'not_reviewed', 'party_revoked', 'closed')
    OR h.contract_id = c.id AND h.act = 'approved' AND c.completed_at = h.at) AS endings
FROM commerce_contract c WHERE c.id = ANY($1) ORDER BY c.id
"""

Result = TypeVar("Result")


@dataclass
class Driver:
    """The registry, driven from outside an event loop."""

    loop: asyncio.AbstractEventLoop
    disputing: Disputing

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self.loop.run_until_complete(work)

    def execute(self, statement: str, *values: object) -> None:
        self.run(self.disputing.agreements.purses.execute(statement, *values))

    def fetch(self, statement: str, *values: object) -> list[Any]:
        return self.run(self.disputing.registry.database.query(lambda tx: tx.fetch(statement, *values)))


class ContractMachine(RuleBasedStateMachine):
    """One history of a few contracts between two new agents."""

    driver: ClassVar[Driver]

    @initialize()
    def meet(self) -> None:
        agreements = self.driver.disputing.agreements
        self.model = Model(HELD_CENTS)
        self.agents: dict[str, TestAgent] = {
            ALICE: self.driver.run(agreements.contractor(str(HELD_CENTS // 100))),
            BOB: self.driver.run(agreements.provider()),
        }
        self.ids: list[int] = []
        self.dispute_ids: dict[int, int] = {}
        self.disputes_ever: list[int] = []
        self.propose([2], has_milestones=False, funded=True, auto_approve=False, path=("accept", "submit"))

    @rule(
        parts=st.lists(st.sampled_from([2, 4, 10]), min_size=1, max_size=3),
        has_milestones=st.booleans(),
        funded=st.booleans(),
        auto_approve=st.booleans(),
        path=st.sampled_from([(), ("accept",), ("accept", "submit")]),
    )
    def propose(
        self, parts: list[int], has_milestones: bool, funded: bool, auto_approve: bool, path: tuple[str, ...]
    ) -> None:
        if len(self.ids) == CONTRACTS_MAX:
            return
        parts = parts if has_milestones else parts[:1]
        # Of two that are paid by deadlines at once from what is left, it would not be certain which comes first.
        terms: dict[str, Any] = {
            "amount": str(sum(parts)),
            "funded": funded,
            "auto_approve": auto_approve and funded,
            "submit_by": in_days(2),
            "review_by": in_days(4),
        }
        if has_milestones:
            terms["milestones"] = [{"title": "Part", "amount": str(amount)} for amount in parts]
        made = self.driver.run(
            self.driver.disputing.agreements.propose(self.agents[ALICE], self.agents[BOB], **terms)
        )
        self.ids.append(made["id"])
        cents = [amount * 100 for amount in parts]
        self.model.propose(
            ModelContract(cents, has_milestones, funded, auto_approve and funded, self.model.now)
        )
        for act in path:
            self.act_of_the_provider(len(self.ids) - 1, act)

    @rule(at=PLACES, act=st.sampled_from(["accept", "submit"]))
    def act_of_the_provider(self, at: int, act: str) -> None:
        one = self.pick(at)
        expected = {"accept": self.model.accept, "submit": self.model.submit}[act]
        self.both(BOB, act, at, lambda: expected(one))

    @rule(
        at=PLACES,
        act=st.sampled_from(
            ["cancel", "request-changes", "approve-completion", "approve-completion", "mark-failed"]
        ),
    )
    def act_of_the_contractor(self, at: int, act: str) -> None:
        one = self.pick(at)
        expected = {
            "cancel": self.model.cancel,
            "request-changes": self.model.return_work,
            "approve-completion": self.model.approve,
            "mark-failed": self.model.fail,
        }[act]
        self.both(ALICE, act, at, lambda: expected(one))

    @rule(at=PLACES, act=st.sampled_from(["submit", "approve-completion", "mark-failed"]))
    def act_of_the_wrong_party(self, at: int, act: str) -> None:
        by = ALICE if act == "submit" else BOB
        answer = self.post(by, f"/contracts/{self.id_at(at)}/{act}")
        assert answer.status_code == 403, answer.text

    @rule(at=PLACES, by=st.sampled_from([ALICE, BOB]), claimed=st.sampled_from([None, 2, 100]))
    def file(self, at: int, by: str, claimed: int | None) -> None:
        one = self.pick(at)
        against = self.agents[BOB if by == ALICE else ALICE]
        body: dict[str, Any] = {
            "defendant_did": against.did,
            "reason_code": "OTHER",
            "description": "No.",
            "contract_id": self.id_at(at),
        }
        if claimed is not None:
            body["claimed_amount"] = str(claimed)
        answer = self.post(by, "/disputes/", **body)
        is_filed = self.model.file(one, by, one.amount if claimed is None else claimed * 100)
        assert (answer.status_code, is_filed) in {(201, True), (402, False), (409, False)}, answer.text
        if is_filed:
            self.dispute_ids[self.id_at(at)] = answer.json()["id"]
            self.disputes_ever.append(answer.json()["id"])

    @rule(at=PLACES, by=st.sampled_from([ALICE, BOB]))
    def add_evidence(self, at: int, by: str) -> None:
        if dispute_id := self.dispute_ids.get(self.id_at(at)):
            answer = self.post(by, f"/disputes/{dispute_id}/evidence", **EVIDENCE)
            expected = self.model.add_evidence(self.pick(at))
            assert (answer.status_code, expected) in {(201, True), (409, False)}, answer.text

    @rule(at=PLACES)
    def open_voting(self, at: int) -> None:
        if dispute_id := self.dispute_ids.get(self.id_at(at)):
            answer = self.driver.run(self.driver.disputing.try_put({"id": dispute_id}, "open-voting"))
            expected = self.model.open_voting(self.pick(at))
            assert (answer.status_code, expected) in {(200, True), (409, False)}, answer.text

    @rule(
        at=PLACES,
        ruling=st.sampled_from(["IN_FAVOR_OF_COMPLAINANT", "IN_FAVOR_OF_DEFENDANT", "DISMISSED"]),
        compensation=st.sampled_from([0, 0, 2, 8]),
        slash=st.sampled_from([0, 0, 2, 8]),
    )
    def rule_on(self, at: int, ruling: str, compensation: int, slash: int) -> None:
        dispute_id = self.dispute_ids.get(self.id_at(at))
        if dispute_id is None or self.pick(at).dispute is None:
            return
        answer = self.driver.run(
            self.driver.disputing.try_rule(
                {"id": dispute_id},
                ruling,
                note="As the model has it.",
                compensation_amount=str(compensation),
                slash_amount=str(slash),
            )
        )
        expected = self.model.rule(self.pick(at), ruling, compensation * 100, slash * 100)
        assert answer.status_code == 200 if expected else answer.status_code in {409, 422}, answer.text

    @rule(at=PLACES, party=st.sampled_from([ALICE, BOB]))
    def suspend(self, at: int, party: str) -> None:
        if self.pick(at).status in {"PROPOSED", "ACCEPTED", "SUBMITTED", "FAILED", "DISPUTED"}:
            did, contract_id = self.agents[party].did, self.id_at(at)
            self.transact(lambda tx: stop(tx, contract_id, did, datetime.now(UTC)))
            self.model.stop(self.pick(at), party)

    @rule(at=PLACES, party=st.sampled_from([ALICE, BOB]))
    def reinstate(self, at: int, party: str) -> None:
        did, contract_id = self.agents[party].did, self.id_at(at)
        self.transact(lambda tx: resume(tx, contract_id, did, datetime.now(UTC)))
        self.pick(at).resume(party, self.model.now)

    @rule(
        at=PLACES,
        party=st.sampled_from([ALICE, BOB]),
        is_meant=st.sampled_from([False, False, True]),
    )
    def revoke(self, at: int, party: str, is_meant: bool) -> None:
        if is_meant:
            did, contract_id = self.agents[party].did, self.id_at(at)
            registry = self.driver.disputing.registry
            self.transact(lambda tx: end_of_revoked(tx, contract_id, did, registry.settings))
            self.model.revoke(self.pick(at), party)

    @rule(hours=st.sampled_from([1, 20, 30, 50, 80, 100, 31 * 24]), are_jobs_late=st.booleans())
    def time_passes(self, hours: int, are_jobs_late: bool) -> None:
        registry = self.driver.disputing.registry
        time = timedelta(hours=hours)
        self.driver.execute(CONTRACTS_EARLIER, self.ids, time)
        self.driver.execute(DISPUTES_EARLIER, self.disputes_ever, time)
        self.driver.run(time_passes(registry.runtime, hours * 3600))
        self.model.now += hours
        if not are_jobs_late:
            self.run_jobs()

    @rule()
    def run_jobs(self) -> None:
        kinds = (CONTRACT_DEADLINES, DISPUTE_DEADLINES, CONTRACT_DEADLINES)
        self.driver.run(run_due(self.driver.disputing.registry.runtime, *kinds))
        self.model.meet_deadlines()

    @invariant()
    def both_say_the_same(self) -> None:
        rows = self.driver.fetch(_STATES, self.ids)
        for row, one in zip(rows, self.model.contracts, strict=True):
            disputes = [f"{dispute.status} {dispute.ruling or ''}" for dispute in one.disputes] or None
            assert (row["status"], row["ended_because"], row["amount_paid"], row["disputes"]) == (
                one.status,
                one.because,
                one.paid * CENT,
                disputes,
            )
            if one.has_milestones:
                assert row["parts"] == one.states
            assert row["endings"] <= 1 + (one.status == "CLOSED")
        for name, purse in self.model.purses.items():
            held = self.driver.run(self.held_by(name))
            assert held == (purse.liquid * CENT, purse.escrow * CENT), name

    def teardown(self) -> None:
        self.driver.run(self.driver.disputing.agreements.prove())

    async def held_by(self, name: str) -> tuple[int, int]:
        did = self.agents[name].did
        held = await self.driver.disputing.registry.database.read(lambda tx: ledger.balance_of(tx, did))
        return held.liquid, held.escrow

    def both(self, by: str, act: str, at: int, expected: Any) -> None:
        # Nobody's turnover of the last hour makes a fee higher.
        self.driver.execute("UPDATE ledger_account SET pace = '{}' WHERE pace <> '{}'")
        members = {"deliverable": WORK} if act == "submit" else {}
        answer = self.post(by, f"/contracts/{self.id_at(at)}/{act}", **members)
        is_done = expected()
        assert answer.status_code == 200 if is_done else answer.status_code in {402, 409}, answer.text

    def post(self, by: str, path: str, **members: Any) -> httpx2.Response:
        headers = self.agents[by].headers
        return self.driver.run(self.driver.disputing.registry.post(path, json=members, headers=headers))

    def transact(self, work: Any) -> None:
        self.driver.run(self.driver.disputing.registry.database.transaction(work))

    def pick(self, at: int) -> ModelContract:
        return self.model.contracts[at % len(self.ids)]

    def id_at(self, at: int) -> int:
        return self.ids[at % len(self.ids)]


@pytest.fixture
def driver(database_farm: DatabaseFarm, tmp_path: Path) -> Iterator[Driver]:
    loop, stack = asyncio.new_event_loop(), AsyncExitStack()
    opened = open_disputing(
        database_farm, tmp_path, rate_limit_writes="off", access_token_expire_minutes=24 * 60
    )
    yield Driver(loop, loop.run_until_complete(stack.enter_async_context(opened)))
    loop.run_until_complete(stack.aclose())
    loop.close()


def test_contracts_and_disputes_do_what_the_model_says(driver: Driver) -> None:
    ContractMachine.driver = driver
    histories, steps = by_tier((10, 40), (600, 50), (6_000, 60))
    run_state_machine_as_test(
        seed(printed_seed())(ContractMachine),
        settings=settings(
            max_examples=histories,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
