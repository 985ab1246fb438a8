"""Decisions on governed settings: schedule a change, withdraw it before it takes effect, return to the environment's value.

- A change takes effect at the earliest one lead after its transaction holds the lock, so that each process knows it before.
- A setting has at most one pending change.
- The values fit together at every moment from the change on.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from hansa.foundation.plumbing import jobs
from hansa.foundation.plumbing.settings import Knowledge, Settings, Turn, Value, fault_over_time
from hansa.foundation.plumbing.storage.database import Tx

from . import store
from .diff import Change, Diff, require_known, require_within_bounds
from .effect import EFFECT
from .errors import (
    ParameterCombinationRefused,
    ParameterNotGoverned,
    ParameterStale,
    ParameterUnderWay,
)


async def require_acceptable(tx: Tx, settings: Settings, diff: Diff) -> None:
    """Judge the new values, and their combination with the values in force and pending; `from` is not compared.

    Raises: ParameterUnknown, ParameterValueInvalid, ParameterCombinationRefused.
    """
    require_within_bounds(diff)
    now, decided = await store.decided(tx)
    _require_fitting(settings, decided, _turns(_afters(diff), now), now)


async def require_current(tx: Tx, settings: Settings, diff: Diff) -> None:
    """Require that `from` is the value in force of each setting, and that no change of it is pending. Raises: ParameterStale."""
    now, decided = await store.decided(tx)
    _require_current(settings, decided, diff, now)


async def schedule(tx: Tx, settings: Settings, diff: Diff, effective_at: datetime, by: str) -> datetime:
    """Let the changes take effect at `effective_at`, or one lead from now where that is later; returns the moment.

    `by` names the decision, one for each act. The lock is held until the transaction ends.

    Raises: ParameterUnknown, ParameterValueInvalid, ParameterStale, ParameterCombinationRefused.
    """
    require_within_bounds(diff)
    now, lead = await store.lock(tx)
    moment = max(effective_at, now + lead)
    _, decided = await store.decided(tx)
    _require_current(settings, decided, diff, now)
    _require_fitting(settings, decided, _turns(_afters(diff), moment), now)
    await store.add(tx, {name: (one.before, one.after) for name, one in diff.items()}, moment, by)
    await _enqueue_effect(tx, moment)
    return moment


async def unschedule(tx: Tx, by: str) -> Diff:
    """Withdraw the pending changes of a decision, and return them. Raises: ParameterUnderWay."""
    await store.lock(tx)
    withdrawn = await store.withdraw(tx, by)
    if not withdrawn:
        raise ParameterUnderWay
    return {name: Change(before, after) for name, (before, after) in withdrawn.items()}


async def reset(tx: Tx, settings: Settings, name: str, by: str) -> datetime:
    """Let the value of the environment be in force again one lead from now; returns the moment. `by` names the decision.

    Raises: ParameterUnknown, ParameterNotGoverned, ParameterUnderWay, ParameterCombinationRefused.
    """
    require_known(name)
    now, lead = await store.lock(tx)
    _, decided = await store.decided(tx)
    governed = _values(decided).overlay(now)
    if any(one.turn.name == name for one in _pending(decided, now)):
        raise ParameterUnderWay(f"A change of {name} is pending: withdraw it, or wait until it is in force.")
    if name not in governed:
        raise ParameterNotGoverned
    moment = now + lead
    _require_fitting(settings, decided, _turns({name: None}, moment), now)
    await store.add(tx, {name: (governed[name], None)}, moment, by)
    await _enqueue_effect(tx, moment)
    return moment


async def _enqueue_effect(tx: Tx, moment: datetime) -> None:
    # The transaction of the job begins after the moment.
    await jobs.enqueue(tx, EFFECT, moment.isoformat(), due_at=moment + timedelta(seconds=1))


def _require_current(settings: Settings, decided: Sequence[store.Decided], diff: Diff, now: datetime) -> None:
    values = {**settings.governed.stated, **_values(decided).overlay(now)}
    pending = {one.turn.name for one in _pending(decided, now)}
    stale = sorted(name for name, one in diff.items() if name in pending or values[name] != one.before)
    if stale:
        raise ParameterStale(
            f"Not the present value, or another change is pending: {', '.join(stale)}.",
            context={"names": stale},
        )


def _require_fitting(
    settings: Settings, decided: Sequence[store.Decided], added: Iterable[Turn], now: datetime
) -> None:
    turns = sorted([*(one.turn for one in decided), *added], key=lambda turn: turn.at)
    if fault := fault_over_time(settings.governed.stated, turns, now):
        raise ParameterCombinationRefused(f"The values do not fit together: {fault}.")


def _values(decided: Sequence[store.Decided]) -> Knowledge:
    return Knowledge(tuple(one.turn for one in decided))


def _pending(decided: Sequence[store.Decided], now: datetime) -> list[store.Decided]:
    return [one for one in decided if one.turn.at > now]


def _afters(diff: Diff) -> dict[str, Value | None]:
    return {name: one.after for name, one in diff.items()}


def _turns(values: Mapping[str, Value | None], at: datetime) -> list[Turn]:
    return [Turn(name, value, at) for name, value in values.items()]
