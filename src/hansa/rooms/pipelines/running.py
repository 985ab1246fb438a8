"""The job of a run: facts that the rows know are applied, attempts are made, until the run ends or waits for something else.

One process at a time works on a run, under a lease. Two at once, when one lost its lease and does not know it, harm nothing: an attempt is
written once by its number, in the commit that authorizes its token.
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
import structlog

from hansa.foundation.plumbing.jobs import Job, LeasedKind, Retries, conclude
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents, commerce, people

from . import machine
from . import run_store as store
from .advancing import RUNS, write
from .attempting import Attempting
from .machine import Attempt, OutOfPlace, RunState, StepState
from .records import Run

LEASE_SECONDS = 10.0
AT_ONCE, STARTED_AT_ONCE = 200, 16
# Another process has the call in hand, or the token of one that died is ended by its own job.
LOOK_SECONDS = 1.0
LATER_SECONDS = 3.0
# Owners decide on spend approvals in several places.
APPROVAL_SECONDS = 10.0
_log = structlog.get_logger()
OPEN_STATUSES = frozenset({"authorized", "consumed", "settling"})


class Plan(msgspec.Struct, frozen=True):
    """Attempts that a run asks for; `is_concluded`: there was nothing to do, and the job ended."""

    run: Run
    attempts: list[Attempt]
    is_concluded: bool = False


class _Hand:
    """The attempts of one run that this process has in hand."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._tasks: dict[tuple[str, int], asyncio.Task[bool]] = {}
        self.put_off: set[tuple[str, int]] = set()

    @property
    def is_empty(self) -> bool:
        return not self._tasks

    def take(self, plan: Plan) -> None:
        """Begin the attempts that are neither in hand nor put off."""
        for attempt in plan.attempts:
            key = attempt.step, attempt.n
            if key not in self._tasks and key not in self.put_off:
                making = Attempting(self._runtime, plan.run, attempt).make()
                self._tasks[key] = asyncio.create_task(making)

    async def wait(self) -> None:
        """Wait until an attempt has ended, or the run may have been changed by others."""
        await asyncio.wait(self._tasks.values(), timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for key, task in [*self._tasks.items()]:
            if task.done():
                del self._tasks[key]
                if not _is_made(task):
                    self.put_off.add(key)

    async def let_go(self) -> None:
        """Cancel what is in hand: the process ends. Their tokens say what became of them."""
        for task in self._tasks.values():
            task.cancel()
        for task in self._tasks.values():
            with suppress(asyncio.CancelledError, Exception):
                await task


def _is_made(task: asyncio.Task[bool]) -> bool:
    """Return whether an attempt that has ended was made; one that crashed is tried again later, and the others go on."""
    try:
        return task.result()
    except Exception:  # noqa: BLE001
        _log.exception("attempt of a pipeline crashed")
        return False


async def _work(runtime: Runtime, job: Job) -> None:
    run_id, hand = UUID(job.key), _Hand(runtime)
    try:
        while True:
            plan = await runtime.database.transaction(lambda tx: _plan(tx, job, run_id, hand))
            if plan is None or plan.is_concluded:
                return
            hand.take(plan)
            if not hand.is_empty:
                await hand.wait()
    finally:
        await hand.let_go()


async def _plan(tx: Tx, job: Job, run_id: UUID, hand: _Hand) -> Plan | None:
    """Apply what the rows know, and return the attempts to be made; where there is nothing to do the job ends."""
    run = await store.lock(tx, run_id)
    if run is None:
        await conclude(tx, job)
        return None
    state = await _with_facts(tx, run)
    await write(tx, run, state)
    now = Run(run.row, run.definition, state)
    attempts = machine.attempts_of(run.definition, state)
    fresh = [one for one in attempts if (one.step, one.n) not in hand.put_off]
    if fresh or not hand.is_empty:
        return Plan(now, attempts)
    await conclude(tx, job, due_at=await _next_look(tx, now, is_put_off=bool(hand.put_off)))
    return Plan(now, [], is_concluded=True)


async def _with_facts(tx: Tx, run: Run) -> RunState:
    """The state of a locked run after the facts that other rows know: ends of tokens, decisions of owners, time."""
    state = run.state
    if state.status == "queued":
        state = machine.on_picked_up(run.definition, state)
    state = await _after_tokens(tx, run, state)
    state = await _after_approvals(tx, run, state)
    if run.row.is_cancel_asked or await _lost_its_grant(tx, run):
        with suppress(OutOfPlace):
            state = machine.cancel(run.definition, state)
    return machine.expire(run.definition, state) if run.row.is_past else state


async def _lost_its_grant(tx: Tx, run: Run) -> bool:
    """Return whether the grant that the run bears has ended, maybe before the run was committed."""
    return run.row.grant_id is not None and await people.has_grant_ended(tx, run.row.grant_id)


async def _after_tokens(tx: Tx, run: Run, state: RunState) -> RunState:
    if not state.has_open:
        return state
    made = {(one.step, one.n): one for one in await store.attempts(tx, run.row.id)}
    open_ones = {step.id: made[step.id, step.made] for step in state.steps if step.is_open}
    ids = [one.token_id for one in open_ones.values() if one.token_id is not None]
    tokens = await commerce.tokens_of_ids(tx, ids)
    for step_id, attempt in open_ones.items():
        assert attempt.token_id is not None, "an open attempt has a token"
        token = tokens[attempt.token_id]
        if token.status not in OPEN_STATUSES:
            state = machine.on_ended(
                run.definition,
                state,
                step_id,
                is_paid=token.status == "settled",
                is_answered=attempt.is_answered,
                reason=attempt.reason or token.reason or token.status,
            )
    return state


async def _after_approvals(tx: Tx, run: Run, state: RunState) -> RunState:
    for step in _asked_about(state):
        assert step.approval_id is not None
        approval = await agents.find_approval(tx, run.row.agent_did, UUID(step.approval_id))
        status = "gone" if approval is None else approval.status
        if status == "pending" or state.leaving is not None:
            continue
        if status == "approved":
            state = machine.approve(run.definition, state, step.id)
        else:
            state = machine.deny(run.definition, state, step.id, f"approval_{status}")
    return state


def _asked_about(state: RunState) -> Iterator[StepState]:
    return (
        step for step in state.steps if step.status == "waiting_approval" and step.approval_id is not None
    )


async def _next_look(tx: Tx, run: Run, *, is_put_off: bool) -> datetime | None:
    """When the run is to be looked at again; None once it has ended."""
    if run.state.status in machine.ENDED:
        return None
    seconds = [LATER_SECONDS] if is_put_off else []
    if run.state.has_open:
        seconds.append(LOOK_SECONDS)
    if any(_asked_about(run.state)):
        seconds.append(APPROVAL_SECONDS)
    if not seconds:
        return run.row.deadline_at
    soon = await clock.now(tx) + timedelta(seconds=min(seconds))
    return soon if run.row.is_past else min(run.row.deadline_at, soon)


RUN_JOBS = LeasedKind(
    RUNS,
    _work,
    at_once=AT_ONCE,
    lease_seconds=LEASE_SECONDS,
    retries=Retries(attempts_max=None, pause_max_seconds=60.0),
    concludes=True,
    started_at_once=STARTED_AT_ONCE,
)
