"""State machine of a run, without I/O: (state, fact) → state, and the attempts that a state asks for.

- An attempt is asked for by the state alone: after a crash the same state asks for the same attempt, by the same number.
- A step waits for the end of its token. An attempt that ended unpaid is followed by the next one; one that was paid without an answer makes
  the step `unknown`, which the owner decides on.
- A run that is to end (`leaving`) begins nothing, and ends once no token is open: what it spent is then final.
"""

from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from .definition import Definition

STEPS_AT_ONCE = 5

StepStatus: TypeAlias = Literal[
    "pending", "running", "waiting_approval", "succeeded", "failed", "skipped", "unknown"
]
RunStatus: TypeAlias = Literal[
    "queued",
    "running",
    "waiting_approval",
    "waiting_funds",
    "succeeded",
    "failed",
    "cancelled",
    "expired",
    "budget_exceeded",
]
Leaving: TypeAlias = Literal["waiting_funds", "budget_exceeded", "failed", "cancelled", "expired"]
Shortage: TypeAlias = Literal["waiting_funds", "budget_exceeded"]

DONE = frozenset({"succeeded", "skipped"})
UNDECIDED = frozenset({"waiting_approval", "unknown"})
ENDED = frozenset({"succeeded", "failed", "cancelled", "expired", "budget_exceeded"})
FINAL = frozenset({"succeeded", "cancelled", "expired"})
RESUMABLE = frozenset({"failed", "budget_exceeded", "waiting_funds"})


class OutOfPlace(Exception):
    """A fact or an act does not fit the state, and changes nothing."""


class StepState(msgspec.Struct, frozen=True):
    """State of a step. `made` counts its attempts, `base` those before the run was resumed, `most` how many it may have in all.

    `is_open`: the token of the last attempt has not ended. `is_short`: it waits for the end of another token, which may free units.
    `is_paid`: an attempt was paid without an answer, so that no other one is made unless the owner says so.
    `approval_id`: spend approval of the next attempt. `is_approved`: the owner let a step with `approval` go on.
    """

    id: str
    status: StepStatus = "pending"
    made: int = 0
    base: int = 0
    most: int = 1
    is_open: bool = False
    is_short: bool = False
    is_paid: bool = False
    is_approved: bool = False
    approval_id: str | None = None
    reason: str | None = None


class RunState(msgspec.Struct, frozen=True):
    """State of a run; `leaving` is the status that it takes once no token is open."""

    status: RunStatus
    steps: tuple[StepState, ...]
    leaving: Leaving | None = None

    def step(self, step_id: str) -> StepState:
        """The step with this id."""
        return next(step for step in self.steps if step.id == step_id)

    @property
    def has_open(self) -> bool:
        """Return whether the token of an attempt has not ended."""
        return any(step.is_open for step in self.steps)


class Attempt(msgspec.Struct, frozen=True):
    """Attempt that is to be made: the purchase number `n` of a step."""

    step: str
    n: int
    payee: str
    approval_id: str | None = None


def begun(definition: Definition) -> RunState:
    """The state of a new run."""
    return RunState(
        "queued", tuple(StepState(step.id, most=step.attempts_in_all) for step in definition.steps)
    )


def attempts_of(definition: Definition, state: RunState) -> list[Attempt]:
    """The attempts that the state asks for; one that is in hand is asked for as well."""
    if state.leaving is not None or state.status in ENDED:
        return []
    return [
        Attempt(
            step.id,
            step.made + 1,
            definition.step(step.id).payee_of(step.made + 1 - step.base),
            step.approval_id,
        )
        for step in state.steps
        if step.status == "running" and not step.is_open
    ]


# Facts of attempts.


def on_picked_up(definition: Definition, state: RunState) -> RunState:
    """A process works on the run."""
    return _settled(definition, state)


def on_authorized(definition: Definition, state: RunState, step_id: str, n: int) -> RunState:
    """The token of this attempt is authorized, in the same commit. Raises: OutOfPlace."""
    step = state.step(step_id)
    asked = [(one.step, one.n) for one in attempts_of(definition, state)]
    if (step_id, n) not in asked:
        raise OutOfPlace
    return _with(state, replace(step, made=n, is_open=True, approval_id=None, reason=None))


def on_refused(definition: Definition, state: RunState, step_id: str, reason: str) -> RunState:
    """An attempt was refused before a token was authorized; it counts. Raises: OutOfPlace."""
    step = _running(state, step_id)
    counted = replace(step, made=step.made + 1, approval_id=None, reason=reason)
    return _settled(definition, _after_unpaid(definition, state, counted))


def on_impossible(definition: Definition, state: RunState, step_id: str, reason: str) -> RunState:
    """No attempt of the step can succeed, as where a reference names nothing. Raises: OutOfPlace."""
    step = _running(state, step_id)
    return _settled(definition, _failed(definition, state, replace(step, reason=reason)))


def on_unmet(definition: Definition, state: RunState, step_id: str) -> RunState:
    """The condition of the step is not met. Raises: OutOfPlace."""
    step = _running(state, step_id)
    return _settled(definition, _with(state, replace(step, status="skipped", reason="condition_not_met")))


def on_short(definition: Definition, state: RunState, step_id: str, shortage: Shortage) -> RunState:
    """Budget or balance did not cover the attempt. Tokens that are open may give units back. Raises: OutOfPlace."""
    step = _running(state, step_id)
    if state.has_open:
        return _settled(definition, _with(state, replace(step, status="pending", is_short=True)))
    left = _with(state, replace(step, status="pending", reason=shortage))
    return _settled(definition, replace(left, leaving=shortage))


def on_approval_asked(definition: Definition, state: RunState, step_id: str, approval_id: str) -> RunState:
    """The owner was asked about the payment. Raises: OutOfPlace."""
    step = _running(state, step_id)
    waiting = replace(step, status="waiting_approval", approval_id=approval_id)
    return _settled(definition, _with(state, waiting))


def on_ended(
    definition: Definition,
    state: RunState,
    step_id: str,
    *,
    is_paid: bool,
    is_answered: bool,
    reason: str | None,
) -> RunState:
    """The token of the last attempt has ended. Raises: OutOfPlace."""
    step = state.step(step_id)
    if not step.is_open:
        raise OutOfPlace
    closed = replace(step, is_open=False, reason=reason)
    state = replace(state, steps=tuple(replace(one, is_short=False) for one in state.steps))
    if not is_paid:
        state = _after_unpaid(definition, state, closed)
    elif is_answered:
        state = _with(state, replace(closed, status="succeeded", reason=None))
    else:
        state = _with(state, replace(closed, status="unknown", is_paid=True, reason=reason or "no_answer"))
    return _settled(definition, state)


# Acts on a run.


def approve(definition: Definition, state: RunState, step_id: str) -> RunState:
    """A waiting step goes on, an unknown one gets one more attempt. Raises: OutOfPlace."""
    step = _undecided(state, step_id)
    if step.status == "unknown":
        step = replace(step, status="running", most=step.made + 1, reason=None)
    elif step.approval_id is not None:
        step = replace(step, status="running")
    else:
        step = replace(step, status="pending", is_approved=True)
    return _settled(definition, _with(state, step))


def deny(definition: Definition, state: RunState, step_id: str, reason: str = "denied") -> RunState:
    """A waiting or unknown step fails. Raises: OutOfPlace."""
    step = replace(_undecided(state, step_id), approval_id=None, reason=reason)
    return _settled(definition, _failed(definition, state, step))


def cancel(definition: Definition, state: RunState) -> RunState:
    """The run begins nothing more, and is cancelled once no token is open. Raises: OutOfPlace."""
    if state.status in ENDED:
        raise OutOfPlace
    return _settled(definition, replace(state, leaving="cancelled"))


def expire(definition: Definition, state: RunState) -> RunState:
    """The deadline has passed; a run that ended, or is to be cancelled, stays."""
    if state.status in ENDED or state.leaving in {"cancelled", "expired"}:
        return state
    return _settled(definition, replace(state, leaving="expired"))


def resume(definition: Definition, state: RunState) -> RunState:
    """A run that failed or lacked units goes on: steps that are done stay, failed ones have all their attempts again.

    A step that was paid without an answer waits for its owner again. Raises: OutOfPlace.
    """
    if state.status not in RESUMABLE:
        raise OutOfPlace
    steps = tuple(_again(definition, step) for step in state.steps)
    return _settled(definition, RunState("running", steps))


# The rules behind them.


def _again(definition: Definition, step: StepState) -> StepState:
    if step.status not in {"failed", "pending"}:
        return step
    if step.is_paid:
        return replace(step, status="unknown", is_short=False)
    most = step.made + definition.step(step.id).attempts_in_all
    return replace(step, status="pending", base=step.made, most=most, is_short=False, reason=None)


def _with(state: RunState, changed: StepState) -> RunState:
    return replace(state, steps=tuple(changed if one.id == changed.id else one for one in state.steps))


def _running(state: RunState, step_id: str) -> StepState:
    """The step whose next attempt is in hand."""
    step = state.step(step_id)
    if step.status != "running" or step.is_open or state.leaving is not None or state.status in ENDED:
        raise OutOfPlace
    return step


def _undecided(state: RunState, step_id: str) -> StepState:
    step = state.step(step_id)
    if step.status not in UNDECIDED or state.leaving is not None or state.status in ENDED:
        raise OutOfPlace
    return step


def _after_unpaid(definition: Definition, state: RunState, step: StepState) -> RunState:
    """The next attempt of a step whose last one was not paid, or its failure."""
    if step.made < step.most:
        return _with(state, replace(step, status="running"))
    return _failed(definition, state, step)


def _failed(definition: Definition, state: RunState, step: StepState) -> RunState:
    if definition.step(step.id).on_failure == "skip":
        return _with(state, replace(step, status="skipped"))
    failed = _with(state, replace(step, status="failed"))
    return replace(failed, leaving=failed.leaving or "failed")


def _settled(definition: Definition, state: RunState) -> RunState:
    """The state with every step begun that can begin, and with the status that follows from its steps."""
    if state.leaving is not None:
        return _left(state)
    state = _started(definition, state)
    statuses = {step.status for step in state.steps}
    if statuses <= DONE:
        return replace(state, status="succeeded")
    if "running" in statuses:
        return replace(state, status="running")
    assert statuses & UNDECIDED, "a step that is not done runs or waits"
    return replace(state, status="waiting_approval")


def _left(state: RunState) -> RunState:
    """A run that begins nothing more; it has its last status once no token is open."""
    assert state.leaving is not None
    steps = tuple(
        replace(step, status="pending") if step.status == "running" and not step.is_open else step
        for step in state.steps
    )
    state = replace(state, steps=steps)
    return replace(state, status="running") if state.has_open else replace(state, status=state.leaving)


def _started(definition: Definition, state: RunState) -> RunState:
    done = {step.id for step in state.steps if step.status in DONE}
    room = STEPS_AT_ONCE - sum(step.status == "running" for step in state.steps)
    for step in state.steps:
        defined = definition.step(step.id)
        if step.status != "pending" or step.is_short or not done.issuperset(defined.needs):
            continue
        if defined.approval and not step.is_approved:
            state = _with(state, replace(step, status="waiting_approval"))
        elif room > 0:
            state = _with(state, replace(step, status="running"))
            room -= 1
    return state
