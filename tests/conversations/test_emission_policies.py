"""Emission policies: recorded events, suppressed events, and events that may not be switched off."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hansa.foundation.events import AgentOnboarded, event_types
from hansa.foundation.values.errors import Unavailable
from hansa.rooms import journal
from tests.all_events import ALL_EVENTS
from tests.founded import open_copy
from tests.registry import DatabaseFarm, StartRegistry, TestDeveloper, TestRegistry, open_registry

PATH = "/admin/event-emission-policies"


@pytest.fixture(scope="module")
async def refused(
    database_farm: DatabaseFarm, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TestDeveloper]:
    """An administrator of a registry whose policies nobody changes, though many try."""
    async with open_copy(database_farm, tmp_path_factory.mktemp("policies")) as registry:
        yield await registry.administrator("admin_platform")


@pytest.fixture
async def administrator(registry: TestRegistry) -> TestDeveloper:
    return await registry.administrator("admin_platform")


async def put(who: TestDeveloper, event_type: str, **change: object) -> Any:
    return await who.registry.http.put(f"/api/v1{PATH}/{event_type}", json=change, headers=who.headers)


async def recorded(registry: TestRegistry) -> Counter[str]:
    rows = await registry.database.read(lambda tx: tx.fetch(f"SELECT event_type FROM {ALL_EVENTS} e"))
    return Counter(row["event_type"] for row in rows)


async def test_only_administrators_of_the_platform_see_and_change_policies(refused: TestDeveloper):
    registry = refused.registry
    developer, agent = await registry.developer(), await registry.agent()
    other = await registry.administrator("admin_treasury")
    for who, status in ((None, 401), (agent, 401), (developer, 403), (other, 403)):
        headers = who.headers if who else {}
        change = {"skip_in_projection": True}
        assert (await registry.get(PATH, headers=headers)).status_code == status
        answer = await registry.http.put(f"/api/v1{PATH}/TokensTransferred", json=change, headers=headers)
        assert answer.status_code == status
    assert (await registry.get(PATH, headers=registry.internal)).status_code == 401


async def test_every_event_type_has_its_policy_from_the_start(refused: TestDeveloper):
    answer = await refused.registry.get(PATH, headers=refused.headers)
    assert answer.status_code == 200
    returned = {row["event_type"]: row for row in answer.json()["items"]}
    assert {kind.__name__ for kind in event_types()} <= returned.keys()
    assert answer.json()["fail_closed"] is False
    mover = returned["LedgerBalanceChanged"]
    assert mover.keys() == {
        *("event_type", "emit_from_teg", "emit_from_registry", "skip_in_projection", "updated_at")
    }
    assert (mover["emit_from_teg"], mover["emit_from_registry"], mover["skip_in_projection"]) == (
        *(True, False),
        False,
    )


async def test_an_event_that_is_switched_off_is_not_recorded_and_the_act_goes_on(
    registry: TestRegistry, administrator: TestDeveloper
):
    payer, payee = await registry.agent(), await registry.agent()
    answer = await put(administrator, "TokensTransferred", emit_from_teg=False)
    assert (answer.status_code, answer.json()["emit_from_teg"]) == (200, False)
    before = await recorded(registry)
    assert (await payer.transfer(payee, "1")).status_code == 200
    await registry.agent()
    difference = await recorded(registry) - before
    assert difference == {"LedgerBalanceChanged": 2, "TransactionFeeCollected": 1, "AgentOnboarded": 1}
    await put(administrator, "TokensTransferred", emit_from_teg=True)
    assert (await payer.transfer(payee, "1")).status_code == 200
    assert (await recorded(registry))["TokensTransferred"] == before["TokensTransferred"] + 1
    assert (await registry.supply())["status"] == "OK"


async def test_an_event_of_the_registry_that_is_switched_off_is_not_recorded_either(
    registry: TestRegistry, administrator: TestDeveloper
):
    await put(administrator, "AgentOnboarded", emit_from_registry=False)
    agent = await registry.agent()
    assert (await agent.balance()) == "100"
    assert "AgentOnboarded" not in await recorded(registry)


async def test_the_ledger_does_nothing_of_which_no_policy_speaks(
    registry: TestRegistry, administrator: TestDeveloper
):
    payer, payee = await registry.agent(), await registry.agent()
    assert (await put(administrator, "TokensTransferred", emit_from_teg=None)).status_code == 200
    before = await recorded(registry)
    answer = await payer.transfer(payee, "1", key="again")
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "EMISSION_UNDECIDED"
    assert answer.json()["error"]["context"] == {"event_types": ["TokensTransferred"]}
    assert "TokensTransferred" in answer.json()["detail"]
    assert (await payer.balance(), await recorded(registry)) == ("100", before)
    await put(administrator, "TokensTransferred", emit_from_teg=True)
    assert (await payer.transfer(payee, "1", key="again")).status_code == 200


async def forget_policy(registry: TestRegistry, event_type: str) -> None:
    await registry.database.transaction(
        lambda tx: tx.execute("DELETE FROM journal_emission_policy WHERE event_type = $1", event_type)
    )


def onboarded() -> AgentOnboarded:
    return AgentOnboarded(did="did:x", card_id="card", first_agent=False, initial_funding_status="none")


async def test_the_registry_records_events_without_a_policy_unless_it_fails_closed(
    start_registry: StartRegistry,
):
    for fails_closed in (False, True):
        registry = await start_registry(event_emitter_fail_closed=fails_closed)
        administrator = await registry.administrator("admin_platform")
        returned = (await registry.get(PATH, headers=administrator.headers)).json()
        assert returned["fail_closed"] is fails_closed
        await forget_policy(registry, "AgentOnboarded")
        if fails_closed:
            with pytest.raises(Unavailable, match="AgentOnboarded"):
                await registry.database.transaction(lambda tx: journal.append(tx, onboarded()))
        else:
            await registry.database.transaction(lambda tx: journal.append(tx, onboarded()))
        assert (await recorded(registry))["AgentOnboarded"] == (0 if fails_closed else 1)


async def test_a_registry_that_fails_closed_still_does_all_it_knows(start_registry: StartRegistry):
    registry = await start_registry(event_emitter_fail_closed=True)
    payer, payee = await registry.agent(), await registry.agent()
    assert (await payer.transfer(payee, "1")).status_code == 200


@pytest.mark.parametrize(
    ("event_type", "change"),
    [
        ("LedgerBalanceChanged", {"emit_from_teg": False}),
        ("LedgerBalanceChanged", {"emit_from_teg": None}),
        ("LedgerBalanceChanged", {"skip_in_projection": True}),
        ("TokensIssued", {"emit_from_teg": False}),
        ("TokensDestroyed", {"emit_from_teg": False}),
        ("TokensDestroyed", {"emit_from_teg": None}),
        ("EventEmissionPolicyUpdated", {"emit_from_registry": False}),
        ("EventEmissionPolicyUpdated", {"emit_from_registry": None}),
        ("DisputeSlash", {"emit_from_teg": False}),
        ("DisputeSlash", {"emit_from_registry": False}),
        ("DisputeCompensationMinted", {"emit_from_registry": False}),
        ("DisputeCompensationMinted", {"emit_from_teg": None}),
        ("BalanceCorrected", {"emit_from_teg": False}),
    ],
)
async def test_what_moves_makes_or_destroys_units_cannot_be_switched_off(
    refused: TestDeveloper, event_type: str, change: dict[str, Any]
):
    registry = refused.registry
    before = await recorded(registry)
    answer = await put(refused, event_type, **change)
    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "EMISSION_REQUIRED"
    assert await recorded(registry) == before


async def test_a_policy_that_switched_off_what_destroys_or_issues_units_is_corrected_at_the_next_start(
    database_farm: DatabaseFarm, tmp_path: Path
):
    dsn = await database_farm.fresh()
    types = ["DisputeSlash", "DisputeCompensationMinted"]
    async with open_registry(dsn, tmp_path) as registry:
        await registry.database.transaction(
            lambda tx: tx.execute(
                "UPDATE journal_emission_policy SET emit_from_teg = false, emit_from_registry = NULL"
                " WHERE event_type = ANY($1)",
                types,
            )
        )
    async with open_registry(dsn, tmp_path) as registry:
        administrator = await registry.administrator("admin_platform")
        policies = (await registry.get(PATH, headers=administrator.headers)).json()["items"]
        sides = {
            row["event_type"]: (row["emit_from_teg"], row["emit_from_registry"])
            for row in policies
            if row["event_type"] in types
        }
        assert sides == dict.fromkeys(types, (True, True))


async def test_each_change_is_recorded_in_the_journal_and_only_changes_are(
    registry: TestRegistry, administrator: TestDeveloper
):
    await put(administrator, "TokensStaked", emit_from_teg=False)
    await put(administrator, "TokensStaked", emit_from_teg=False)
    await put(administrator, "TokensStaked", skip_in_projection=False)
    answer = await registry.get(
        "/events/", params={"event_type": "EventEmissionPolicyUpdated"}, headers=registry.internal
    )
    returned = [event["data"] for event in answer.json()["items"]]
    first, second, third = (
        {"emit_from_teg": teg, "emit_from_registry": False, "skip_in_projection": skip}
        for teg, skip in ((True, True), (False, True), (False, False))
    )
    assert [(one["event_type"], one["before"], one["after"]) for one in returned] == [
        ("TokensStaked", first, second),
        ("TokensStaked", second, third),
    ]
    assert {one["changed_by"].partition(":")[0] for one in returned} == {"developer"}


async def test_a_type_that_nobody_has_heard_of_gets_a_policy(administrator: TestDeveloper):
    answer = await put(administrator, "BridgeCompleted", emit_from_registry=False)
    assert answer.status_code == 200
    returned = answer.json()
    assert (returned["emit_from_teg"], returned["emit_from_registry"], returned["skip_in_projection"]) == (
        *(None, False),
        False,
    )


@pytest.mark.parametrize(
    ("event_type", "change"),
    [
        ("TokensStaked", {}),
        ("TokensStaked", {"emit_from_teg": "no"}),
        ("TokensStaked", {"emit_from_teg": 0}),
        ("TokensStaked", {"skip_in_projection": None}),
        ("*", {"emit_from_registry": False}),
        ("tokens_staked", {"emit_from_teg": False}),
        ("T" * 81, {"emit_from_teg": False}),
    ],
)
async def test_a_change_that_says_nothing_is_refused(
    refused: TestDeveloper, event_type: str, change: dict[str, Any]
):
    assert (await put(refused, event_type, **change)).status_code == 422
