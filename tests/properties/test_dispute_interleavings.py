"""Two acts on a dispute and its contract that meet, in many orders of their statements."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import pytest

from hansa.foundation.values.errors import Refused
from tests.paying import Payments
from tests.properties.contract_scene import Scene, administrator_of, caller_of
from tests.properties.interleaving import Choose, Director, directing, in_some_orders
from tests.properties.scale import by_tier, printed_seed
from tests.registry import DatabaseFarm
from tests.rooms.commerce.agreements import in_days
from tests.rooms.commerce.disputing import Disputing, open_disputing

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
        None, ("file", "deadline"), {"DISPUTED", "FAILED"}, is_due=True
    ),
    "a dispute and a suspension": Meeting(None, ("file", "suspend"), {"DISPUTED"}),
    "a dispute and a revocation": Meeting(None, ("file", "revoke"), {"DISPUTED"}),
    "two disputes": Meeting(None, ("file", "file_back"), {"DISPUTED"}),
    "the same dispute twice": Meeting(None, ("file", "file"), {"DISPUTED"}),
    "evidence and voting": Meeting("OPEN", ("evidence", "open_voting"), {"DISPUTED"}),
    "evidence and the end of its time": Meeting(
        "OPEN", ("evidence", "dispute_deadline"), {"DISPUTED"}, is_due=True
    ),
    "evidence twice": Meeting("OPEN", ("evidence", "evidence"), {"DISPUTED"}),
    "voting twice": Meeting("OPEN", ("open_voting", "open_voting"), {"DISPUTED"}),
    "voting and the end of the time for evidence": Meeting(
        "OPEN", ("open_voting", "dispute_deadline"), {"DISPUTED"}, is_due=True
    ),
    "voting and a ruling": Meeting("OPEN", ("open_voting", "rule"), {"DISPUTED", "CLOSED"}),
    "the same ruling twice": Meeting("VOTING", ("rule", "rule"), {"CLOSED"}),
    "two rulings": Meeting("VOTING", ("rule", "rule_back"), {"CLOSED"}),
    "a ruling and a dismissal": Meeting("VOTING", ("rule", "dismiss"), {"CLOSED", "SUBMITTED"}),
    "a ruling and the end of its time": Meeting(
        "VOTING", ("rule_back", "dispute_deadline"), {"SUBMITTED"}, is_due=True
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
        "VOTING", ("dispute_deadline", "dispute_deadline"), {"SUBMITTED"}, is_due=True
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
        administrator = await administrator_of(disputing)

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
            callers = [await caller_of(disputing.registry, agent) for agent in (alice, bob)]
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
