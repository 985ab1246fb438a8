"""Decisions on governed settings: bounds, combinations, staleness, veto, reset, and every setting with its source."""

from datetime import timedelta
from typing import Any

import pytest

from hansa.foundation.plumbing import parameters
from hansa.foundation.plumbing.storage.clock import now
from hansa.foundation.values.errors import Refused
from tests.governed_values import changed, scheduled, time_passed
from tests.registry import StartRegistry, TestRegistry

FEE, FEE_MAX = "fee_base_rate_percent", "fee_max_rate_percent"


def diff_of(name: str, old: Any, new: Any) -> parameters.Diff:
    return parameters.diff_of({name: {"from": old, "to": new}})


async def row(registry: TestRegistry, name: str) -> parameters.Parameter:
    rows = await registry.database.query(lambda tx: parameters.current(tx, registry.settings))
    assert [one.name for one in rows] == list(parameters.NAMES)
    return next(one for one in rows if one.name == name)


async def value_of(registry: TestRegistry, name: str) -> Any:
    in_force = await registry.database.query(lambda tx: parameters.in_force(tx, registry.settings))
    return getattr(in_force, name)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        (FEE, "0", "2"),
        (FEE_MAX, "0", "10"),
        ("staking_min_stake_amount", "1", "1000"),
        ("dispute_evidence_hours", 24, 720),
        ("dispute_window_hours", 24, 720),
        ("dispute_ruling_days", 7, 90),
        ("bond_minimum", "0", "10000"),
        ("bond_maturity_days", 1, 365),
        ("mark_min_fee", "0.001", "1"),
    ],
)
def test_a_value_is_allowed_from_its_least_to_its_most_and_not_beyond(name: str, least: Any, most: Any):
    def beyond(value: Any, step: int) -> Any:
        return value + step if isinstance(value, int) else f"{float(value) + step / 100_000:.6f}"

    for value in (least, most):
        diff_of(name, "3" if isinstance(value, str) else 3, value)
    refused = [beyond(most, 1)] if least == "0" else [beyond(least, -1), beyond(most, 1)]
    for value in refused:
        with pytest.raises(parameters.ParameterValueInvalid, match=name):
            diff_of(name, "3" if isinstance(value, str) else 3, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (FEE, 1),
        (FEE, "1e0"),
        (FEE, "-1"),
        (FEE, "١"),
        (FEE, "0.1234567"),
        (FEE, None),
        ("dispute_window_hours", "72"),
        ("dispute_window_hours", True),
        ("dispute_window_hours", 72.0),
        ("dispute_window_hours", 10**30),
        ("staking_rewards_enabled", 1),
        ("staking_rewards_enabled", "true"),
    ],
)
def test_a_value_of_another_form_is_refused(name: str, value: Any):
    for stated in ({"from": value, "to": value}, {"from": "1", "to": value}):
        with pytest.raises(parameters.ParameterValueInvalid):
            parameters.diff_of({name: stated})


@pytest.mark.parametrize("name", ["teg_mint_max_avt", "peer_trust_mode", "governance", ""])
def test_only_governed_settings_can_be_changed(name: str):
    with pytest.raises(parameters.ParameterUnknown):
        diff_of(name, "1", "2")


@pytest.mark.parametrize(
    "stated",
    [{"to": "1"}, {"from": "1"}, {"from": "1", "to": "2", "more": 1}, "1", None, {"from": "1.0", "to": "1"}],
)
def test_a_change_states_two_different_values_and_nothing_else(stated: Any):
    with pytest.raises(parameters.ParameterValueInvalid):
        parameters.diff_of({FEE: stated})


async def test_a_change_is_in_force_from_its_moment_on_and_shown_before(registry: TestRegistry):
    before = await row(registry, FEE)
    assert (before.value, before.source, before.scheduled) == ("0.5", "default", None)
    moment = await scheduled(registry.database, registry.settings, {FEE: ("0.50", "1.250")}, "proposal:1")
    pending = await row(registry, FEE)
    assert (pending.value, pending.scheduled) == ("0.5", parameters.Scheduled("1.25", moment))
    assert await value_of(registry, FEE) == "0.5"
    await time_passed(registry.database)
    after = await row(registry, FEE)
    assert (after.value, after.source, after.scheduled) == ("1.25", "governance", None)
    assert await value_of(registry, FEE) == "1.25"


async def test_a_governed_value_stands_above_the_environment(start_registry: StartRegistry):
    registry = await start_registry(bond_minimum="7.0")
    found = await row(registry, "bond_minimum")
    assert (found.value, found.source) == ("7", "environment")
    await changed(registry.database, registry.settings, {"bond_minimum": ("7", "8")})
    found = await row(registry, "bond_minimum")
    assert (found.value, found.source) == ("8", "governance")


async def test_a_change_takes_effect_a_minute_after_its_decision_at_the_earliest(registry: TestRegistry):
    began = await registry.database.query(now)
    moment = await scheduled(registry.database, registry.settings, {FEE: ("0.5", "1")}, "proposal:1")
    assert timedelta(minutes=1) <= moment - began < timedelta(minutes=2)
    later = began + timedelta(days=2)
    given = {"bond_maturity_days": (14, 15)}
    assert await scheduled(registry.database, registry.settings, given, "proposal:2", later) == later


async def refusal_of(
    registry: TestRegistry, changes: dict[str, tuple[Any, Any]], by: str = "proposal:9"
) -> str:
    with pytest.raises(Refused) as refused:
        await scheduled(registry.database, registry.settings, changes, by)
    return refused.value.code


async def test_a_change_from_another_value_or_beside_a_pending_one_is_stale(registry: TestRegistry):
    assert await refusal_of(registry, {FEE: ("0.6", "1")}) == "PARAMETER_STALE"
    await scheduled(registry.database, registry.settings, {FEE: ("0.5", "1")}, "proposal:1")
    for assumed in ("0.5", "1"):
        assert await refusal_of(registry, {FEE: (assumed, "2")}) == "PARAMETER_STALE"
    await time_passed(registry.database)
    assert await refusal_of(registry, {FEE: ("0.5", "2")}) == "PARAMETER_STALE"
    await scheduled(registry.database, registry.settings, {FEE: ("1", "2")}, "proposal:2")


@pytest.mark.parametrize(
    "changes",
    [
        {FEE_MAX: ("5", "0.4")},
        {"peer_trust_warn_below": ("0.7", "0.4")},
        {"peer_trust_suspend_below": ("0.3", "0.6")},
        {"peer_trust_restrict_below": ("0.5", "0.95"), "peer_trust_warn_below": ("0.7", "0.99")},
    ],
)
async def test_values_that_do_not_fit_together_are_refused(
    registry: TestRegistry, changes: dict[str, tuple[Any, Any]]
):
    assert await refusal_of(registry, changes) == "PARAMETER_COMBINATION"
    diff = parameters.diff_of({name: {"from": old, "to": new} for name, (old, new) in changes.items()})
    with pytest.raises(parameters.ParameterCombinationRefused):
        await registry.database.query(lambda tx: parameters.require_acceptable(tx, registry.settings, diff))


async def test_changes_are_judged_with_what_is_pending_at_each_later_moment(registry: TestRegistry):
    later = await registry.database.query(now) + timedelta(days=2)
    await scheduled(registry.database, registry.settings, {FEE: ("0.5", "2")}, "proposal:1", later)
    # It fits now, and no longer when the other one is in force.
    assert await refusal_of(registry, {FEE_MAX: ("5", "1")}) == "PARAMETER_COMBINATION"
    await scheduled(registry.database, registry.settings, {FEE_MAX: ("5", "2")}, "proposal:2")


async def test_a_veto_withdraws_a_pending_change_and_none_that_is_less_than_a_minute_ahead(
    registry: TestRegistry,
):
    later = await registry.database.query(now) + timedelta(hours=48)
    await scheduled(registry.database, registry.settings, {FEE: ("0.5", "1")}, "proposal:1", later)
    withdrawn = await registry.database.transaction(lambda tx: parameters.unschedule(tx, "proposal:1"))
    assert parameters.diff_json(withdrawn) == {FEE: {"from": "0.5", "to": "1"}}
    await time_passed(registry.database, timedelta(hours=49))
    assert await value_of(registry, FEE) == "0.5"
    await scheduled(registry.database, registry.settings, {FEE: ("0.5", "2")}, "proposal:2")
    for by in ("proposal:2", "proposal:1", "proposal:3"):
        await time_passed(registry.database, timedelta(seconds=1))
        with pytest.raises(parameters.ParameterUnderWay):
            await registry.database.transaction(lambda tx, by=by: parameters.unschedule(tx, by))
    await time_passed(registry.database)
    assert await value_of(registry, FEE) == "2"


async def test_a_reset_leads_back_to_the_environment(start_registry: StartRegistry):
    registry = await start_registry(staking_min_stake_amount="20")
    name = "staking_min_stake_amount"

    async def reset(by: str) -> None:
        await registry.database.transaction(lambda tx: parameters.reset(tx, registry.settings, name, by))

    with pytest.raises(parameters.ParameterNotGoverned):
        await reset("reset:1")
    await scheduled(registry.database, registry.settings, {name: ("20", "30")}, "proposal:1")
    with pytest.raises(parameters.ParameterUnderWay):
        await reset("reset:1")
    await time_passed(registry.database)
    await reset("reset:1")
    pending = await row(registry, name)
    assert pending.scheduled is not None
    assert (pending.value, pending.source, pending.scheduled.value) == ("30", "governance", "20")
    await time_passed(registry.database)
    found = await row(registry, name)
    assert (found.value, found.source) == ("20", "environment")
    assert await value_of(registry, name) == "20"


async def test_a_reset_to_a_value_that_does_not_fit_is_refused(start_registry: StartRegistry):
    registry = await start_registry(fee_base_rate_percent="2")
    await changed(registry.database, registry.settings, {FEE: ("2", "0.1"), FEE_MAX: ("5", "1")})
    with pytest.raises(parameters.ParameterCombinationRefused):
        await registry.database.transaction(
            lambda tx: parameters.reset(tx, registry.settings, FEE, "reset:1")
        )
