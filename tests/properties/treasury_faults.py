"""Faults planted in the use cases of treasuries, each with the first history that finds it."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.money import Minor
from hansa.rooms.commerce.contracts import paying
from hansa.rooms.organizations.approvals.rules import Approver, Demand, Tally, tally
from hansa.rooms.organizations.invitations import acts as invitations
from hansa.rooms.organizations.records import Organization, Request
from hansa.rooms.organizations.requests import tally as tallying
from hansa.rooms.organizations.requests.kinds import RequestKind
from hansa.rooms.organizations.rules import Role
from hansa.rooms.treasury import counting, store
from hansa.rooms.treasury.payments import contracting, crossings
from hansa.rooms.treasury.records import Limits, Outlay, Spent


def _leavers_approve(patch: pytest.MonkeyPatch) -> None:
    def judged(
        demands: Iterable[Demand],
        approvers: Collection[Approver],
        approved: Collection[int],
        excluded: Collection[int | None],
        *,
        may_delay: bool,
    ) -> Tally:
        known = {one.developer_id for one in approvers}
        leavers = [Approver(one, Role.OWNER) for one in approved if one not in known]
        return tally(demands, [*approvers, *leavers], approved, excluded, may_delay=may_delay)

    patch.setattr(tallying.rules, "tally", judged)


def _budget_before_the_lock(patch: pytest.MonkeyPatch) -> None:
    read_before: dict[UUID, int] = {}

    async def spend(tx: Tx, organization_id: UUID, budget_id: UUID, amount: Minor) -> Any:
        budget = await store.find_budget(tx, organization_id, budget_id)
        if budget is None or read_before.setdefault(budget_id, budget.spent) + amount > budget.amount:
            return None
        row = await tx.fetchrow(
            "UPDATE treasury_budget SET spent = spent + $2 WHERE id = $1 RETURNING period_start, period_number, amount - spent AS rest",
            budget_id,
            amount,
        )
        return row and Spent(**{**row, "rest": Minor(int(row["rest"]))})

    patch.setattr(store, "spend_of_budget", spend)


def _unapproved_not_counted(patch: pytest.MonkeyPatch) -> None:
    count = counting.count

    async def counted(
        tx: Tx, organization: Organization, outlay: Outlay, limits: Limits, runtime: Runtime
    ) -> Minor | None:
        return await count(tx, organization, replace(outlay, is_unapproved=False), limits, runtime)

    patch.setattr(counting, "count", counted)


def _rules_of_creation_forgotten(patch: pytest.MonkeyPatch) -> None:
    async def demanded(
        tx: Tx, kind: RequestKind, organization: Organization, requests: Sequence[Request]
    ) -> list[tuple[Demand, ...]]:
        return list(await kind.demands(tx, organization, requests))

    patch.setattr(tallying, "demands_now", demanded)


def _contracts_not_counted(patch: pytest.MonkeyPatch) -> None:
    async def uncounted(*_: object) -> None: ...

    patch.setattr(contracting, "count_request", uncounted)


def _hold_of_failed_work_stays(patch: pytest.MonkeyPatch) -> None:
    async def kept(*_: object) -> None: ...

    patch.setattr(paying, "free_hold", kept)


def _aborted_payments_count(patch: pytest.MonkeyPatch) -> None:
    async def kept(*_: object) -> None: ...

    patch.setattr(crossings.store, "return_outlay", kept)


def _aborts_are_of_today(patch: pytest.MonkeyPatch) -> None:
    today = "(now() AT TIME ZONE 'UTC')::date AND $2::date IS NOT NULL AND spent >= $3"
    patch.setattr(store, "_RETURN_DAY", store._RETURN_DAY.replace("day = $2", f"day = {today}"))


def _inviter_not_judged_again(patch: pytest.MonkeyPatch) -> None:
    locked = invitations.reading.locked

    async def found(tx: Tx, key: str, developer_id: int, role: Role) -> Organization:
        number = invitations.reading.as_key(key)
        if isinstance(number, UUID):
            return await invitations.reading.lock(tx, number)
        return await locked(tx, key, developer_id, role)

    patch.setattr(invitations.reading, "locked", found)


def _rules_of_now_forgotten_at_acceptance(patch: pytest.MonkeyPatch) -> None:
    find = invitations.store.find

    async def granted(tx: Tx, token_sha256: bytes) -> invitations.store.Answerable | None:
        found = await find(tx, token_sha256)
        return found and replace(found, request_id=found.request_id or UUID(int=0))

    patch.setattr(invitations.store, "find", granted)


FAULTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], int]] = {
    "approvals of leavers are counted": (_leavers_approve, 2525),
    "a budget is judged by what was read before the lock": (_budget_before_the_lock, 245),
    "payments without approvals are not counted": (_unapproved_not_counted, 0),
    "the rules of the creation are forgotten": (_rules_of_creation_forgotten, 1147),
    "contracts are not counted": (_contracts_not_counted, 2),
    "the hold of failed work stays": (_hold_of_failed_work_stays, 89),
    "an aborted payment counts": (_aborted_payments_count, 0),
    "an abort is taken off the day of the abort": (_aborts_are_of_today, 162),
    "the inviter is not judged again": (_inviter_not_judged_again, 73),
    "an invitation is judged by the rules of its creation alone": (_rules_of_now_forgotten_at_acceptance, 88),
}
