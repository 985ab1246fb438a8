"""Two acts on a dispute and its contract that meet, in many orders of their statements."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pytest

from hansa.foundation.plumbing.caller import Agent, Developer
from hansa.foundation.plumbing.database import Tx
from hansa.foundation.values.errors import Refused
from hansa.foundation.values.money import ZERO, parse_amount
from hansa.rooms import agents
from hansa.rooms.commerce.contracts.approve import Approval, approve
from hansa.rooms.commerce.contracts.deadlines import meet_deadline as meet_deadline_of_contract
from hansa.rooms.commerce.contracts.ending import mark_failed
from hansa.rooms.commerce.contracts.paying import Consent
from hansa.rooms.commerce.contracts.suspension import end_of_revoked, resume, stop
from hansa.rooms.commerce.contracts.work import request_changes
from hansa.rooms.commerce.disputes import SLASH_BOND
from hansa.rooms.commerce.disputes.deciding import Ordered, meet_deadline, open_voting, rule
from hansa.rooms.commerce.disputes.dispute import Complaint, Decision, Piece, Ruling
from hansa.rooms.commerce.disputes.evidence import add_evidence
from hansa.rooms.commerce.disputes.filing import file
from tests.paying import Payments
from tests.properties.interleaving import Choose, Director, UseCase, directing, in_some_orders
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm, TestAgent
from tests.rooms.commerce.agreements import in_days
from tests.rooms.commerce.disputing import SHA256, Disputing, open_disputing

SAMPLE = by_tier(3, 60, 600)
DAY = 86_400

_ENDINGS = """
SELECT (SELECT status FROM commerce_contract WHERE id = $1) AS contract,
  (SELECT count(*) FROM commerce_contract_history WHERE contract_id = $1
    AND act IN ('approved', 'marked_failed', 'not_reviewed', 'party_revoked', 'closed')) AS endings,
  (SELECT count(*) FROM commerce_dispute WHERE contract_id = $1) AS disputes,
  (SELECT count(*) FROM commerce_dispute WHERE contract_id = $1 AND status <> 'CLOSED') AS open_disputes,
  (SELECT count(*) FROM journal_event WHERE event_type = 'DisputeRuled' AND (data ->> 'contract_id')::bigint = $1) AS ruled
"""


@dataclass(frozen=True)
class Scene:
    """A contract of Alice and Bob, its dispute if there is one, and what may be done to both."""

    disputing: Disputing
    contract_id: int
    dispute_id: int
    alice: Agent
    bob: Agent
    administrator: Developer
    token: str | None

    @property
    def settings(self) -> Any:
        return self.disputing.registry.settings

    def act(self, name: str) -> UseCase:
        return getattr(self, f"_{name}")

    async def _file(self, tx: Tx) -> Any:
        complaint = Complaint(self.alice.did, self.bob.did, "OTHER", "No.", contract_id=self.contract_id)
        return await file(tx, self.alice, complaint, self.settings)

    async def _file_back(self, tx: Tx) -> Any:
        complaint = Complaint(self.bob.did, self.alice.did, "OTHER", "No.", contract_id=self.contract_id)
        return await file(tx, self.bob, complaint, self.settings)

    async def _evidence(self, tx: Tx) -> Any:
        return await add_evidence(tx, self.bob, self.dispute_id, Piece(SHA256))

    async def _open_voting(self, tx: Tx) -> Any:
        return await open_voting(tx, self.administrator, self.dispute_id)

    async def _rule(self, tx: Tx) -> Any:
        decision = Decision(Ruling.IN_FAVOR_OF_COMPLAINANT, ZERO, parse_amount("1"), None)
        return await self._decide(tx, decision)

    async def _rule_back(self, tx: Tx) -> Any:
        return await self._decide(tx, Decision(Ruling.IN_FAVOR_OF_DEFENDANT, ZERO, ZERO, None))

    async def _dismiss(self, tx: Tx) -> Any:
        return await self._decide(tx, Decision(Ruling.DISMISSED, ZERO, ZERO, None))

    async def _decide(self, tx: Tx, decision: Decision) -> Any:
        ordered = Ordered(self.dispute_id, decision)
        slash_bond = SLASH_BOND.of(self.disputing.registry.runtime)
        return await rule(tx, self.administrator, ordered, slash_bond, self.settings)

    async def _deadline(self, tx: Tx) -> Any:
        return await meet_deadline(tx, self.dispute_id, self.settings)

    async def _approve(self, tx: Tx) -> Any:
        approval = Approval(None, Consent(), self.token)
        return await approve(tx, self.alice, self.contract_id, approval, self.settings)

    async def _return(self, tx: Tx) -> Any:
        return await request_changes(tx, self.alice, self.contract_id, None)

    async def _fail(self, tx: Tx) -> Any:
        return await mark_failed(tx, self.alice, self.contract_id, None, self.settings)

    async def _review(self, tx: Tx) -> Any:
        return await meet_deadline_of_contract(tx, self.contract_id, self.settings)

    async def _suspend(self, tx: Tx) -> Any:
        return await stop(tx, self.contract_id, self.bob.did, datetime.now(UTC))

    async def _reinstate(self, tx: Tx) -> Any:
        return await resume(tx, self.contract_id, self.bob.did, datetime.now(UTC))

    async def _revoke(self, tx: Tx) -> Any:
        return await end_of_revoked(tx, self.contract_id, self.bob.did, self.settings)


@dataclass(frozen=True)
class Meeting:
    """In which state the dispute is, or None; the two acts; and the states in which the contract may be left."""

    state: str | None
    acts: tuple[str, str]
    left: set[str]
    is_funded: bool = True
    is_due: bool = False


MEETINGS = {
    "a dispute and an approval": Meeting(None, ("file", "approve"), {"DISPUTED"}),
    "a dispute and an approval by token": Meeting(None, ("file", "approve"), {"DISPUTED"}, is_funded=False),
    "a dispute and changes": Meeting(None, ("file", "return"), {"DISPUTED"}),
    "a dispute and a failure": Meeting(None, ("file", "fail"), {"DISPUTED"}),
    "a dispute and the date of the review": Meeting(
        None, ("file", "review"), {"DISPUTED", "FAILED"}, is_due=True
    ),
    "a dispute and a suspension": Meeting(None, ("file", "suspend"), {"DISPUTED"}),
    "a dispute and a revocation": Meeting(None, ("file", "revoke"), {"DISPUTED"}),
    "two disputes": Meeting(None, ("file", "file_back"), {"DISPUTED"}),
    "the same dispute twice": Meeting(None, ("file", "file"), {"DISPUTED"}),
    "evidence and voting": Meeting("OPEN", ("evidence", "open_voting"), {"DISPUTED"}),
    "evidence and the end of its time": Meeting("OPEN", ("evidence", "deadline"), {"DISPUTED"}, is_due=True),
    "evidence twice": Meeting("OPEN", ("evidence", "evidence"), {"DISPUTED"}),
    "voting twice": Meeting("OPEN", ("open_voting", "open_voting"), {"DISPUTED"}),
    "voting and the end of the time for evidence": Meeting(
        "OPEN", ("open_voting", "deadline"), {"DISPUTED"}, is_due=True
    ),
    "voting and a ruling": Meeting("OPEN", ("open_voting", "rule"), {"DISPUTED", "CLOSED"}),
    "the same ruling twice": Meeting("VOTING", ("rule", "rule"), {"CLOSED"}),
    "two rulings": Meeting("VOTING", ("rule", "rule_back"), {"CLOSED"}),
    "a ruling and a dismissal": Meeting("VOTING", ("rule", "dismiss"), {"CLOSED", "SUBMITTED"}),
    "a ruling and the end of its time": Meeting(
        "VOTING", ("rule_back", "deadline"), {"SUBMITTED"}, is_due=True
    ),
    "a ruling and an approval": Meeting("VOTING", ("rule_back", "approve"), {"CLOSED"}),
    "a ruling and a suspension": Meeting("VOTING", ("rule", "suspend"), {"CLOSED"}),
    "a ruling and a revocation": Meeting("VOTING", ("rule_back", "revoke"), {"CLOSED"}),
    "a ruling and evidence": Meeting("VOTING", ("rule", "evidence"), {"CLOSED"}),
    "a dismissal and an approval": Meeting("VOTING", ("dismiss", "approve"), {"SUBMITTED", "COMPLETED"}),
    "a dismissal and a failure": Meeting("VOTING", ("dismiss", "fail"), {"SUBMITTED", "FAILED"}),
    "a dismissal and a suspension": Meeting("VOTING", ("dismiss", "suspend"), {"SUBMITTED"}),
    "a dismissal and a reinstatement": Meeting("VOTING", ("dismiss", "reinstate"), {"SUBMITTED"}),
    "a dismissal and a revocation": Meeting("VOTING", ("dismiss", "revoke"), {"SUBMITTED", "FAILED"}),
    "a dismissal and another dispute": Meeting("VOTING", ("dismiss", "file_back"), {"SUBMITTED", "DISPUTED"}),
    "two ends of the time for a ruling": Meeting(
        "VOTING", ("deadline", "deadline"), {"SUBMITTED"}, is_due=True
    ),
}
Make: TypeAlias = Callable[[Meeting], Awaitable[Scene]]


@pytest.fixture(scope="module")
async def stage(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Disputing, Director, Make]]:
    async with open_disputing(database_farm, tmp_path_factory.mktemp("met")) as disputing:
        agreements = disputing.agreements
        alice, bob = await agreements.contractor("1000000"), await agreements.provider()
        payments = Payments(disputing.registry, alice, bob)
        administrator = await _administrator(disputing)

        async def make(meeting: Meeting) -> Scene:
            dates = {"submit_by": in_days(2), "review_by": in_days(4)}
            made = await agreements.submitted(alice, bob, amount="1", funded=meeting.is_funded, **dates)
            token = None if meeting.is_funded else (await payments.authorized("1"))["token"]
            dispute_id = 0
            if meeting.state is not None:
                filed = await disputing.file(alice, bob, contract_id=made["id"])
                dispute_id = filed["id"]
                if meeting.state == "VOTING":
                    await disputing.open_voting(filed)
                if meeting.is_due:
                    await disputing.move_clock(filed, (31 if meeting.state == "VOTING" else 4) * DAY)
            elif meeting.is_due:
                await agreements.move_clock(made, 4 * DAY + 1)
            callers = [await _caller(disputing, agent) for agent in (alice, bob)]
            return Scene(disputing, made["id"], dispute_id, *callers, administrator, token)

        async with directing(disputing.registry.runtime.database.dsn, 2) as director:
            yield disputing, director, make


@pytest.mark.parametrize("name", MEETINGS)
async def test_however_two_acts_meet_the_dispute_and_its_contract_agree(
    name: str, stage: tuple[Disputing, Director, Make]
) -> None:
    disputing, director, make = stage
    meeting = MEETINGS[name]

    async def play(choose: Choose) -> None:
        scene = await make(meeting)
        outcomes = await director.play([scene.act(act) for act in meeting.acts], choose)
        for outcome in outcomes:
            assert not isinstance(outcome, BaseException) or isinstance(outcome, Refused), repr(outcome)
        row = await disputing.registry.database.read(lambda tx: tx.fetchrow(_ENDINGS, scene.contract_id))
        assert row["contract"] in meeting.left, (dict(row), outcomes)
        assert row["open_disputes"] == (row["contract"] == "DISPUTED")
        assert row["ruled"] == row["disputes"] - row["open_disputes"]
        assert row["endings"] <= 1 + (row["contract"] in {"DISPUTED", "CLOSED"})

    await in_some_orders(play, count=SAMPLE, seed=printed_seed())
    await disputing.agreements.prove()


async def _caller(disputing: Disputing, agent: TestAgent) -> Agent:
    owner = await disputing.registry.database.read(lambda tx: agents.owner_of(tx, agent.did))
    assert owner is not None
    return Agent(agent.did, owner, ("client",), frozenset({"payment.pay"}), is_governed=False)


async def _administrator(disputing: Disputing) -> Developer:
    """The administrator as a route knows it."""
    email = disputing.administrator.email
    developer_id = await disputing.registry.database.read(
        lambda tx: tx.fetchval("SELECT id FROM people_developer WHERE email = $1", email)
    )
    areas = frozenset({"admin_enforcement"})
    return Developer(developer_id, email, "test", is_verified=True, areas=areas, is_admin=False)
