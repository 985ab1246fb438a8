"""Log of the acts of administrators."""

import asyncpg
import pytest

from hansa.foundation.plumbing.web.admin_acts import record_operator_act
from tests.registry import TestRegistry

LOG = "/admin/audit-log"
POLICIES = "/api/v1/admin/event-emission-policies"


async def log_of(who, **query):
    answer = await who.registry.get(LOG, params=query, headers=who.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def change_policy(who, event_type, **change):
    return await who.registry.http.put(f"{POLICIES}/{event_type}", json=change, headers=who.headers)


async def test_an_act_is_logged_with_who_did_it_and_to_what(registry: TestRegistry):
    admin = await registry.administrator("admin_platform")
    assert (await change_policy(admin, "TokensStaked", skip_in_projection=True)).status_code == 200
    page = await log_of(admin)
    (logged,) = page["items"]
    assert (logged["act"], logged["subject"]) == ("emission_policy.change", "TokensStaked")
    assert logged["developer_name"] == admin.email.partition("@")[0]
    assert logged["reason"] is None
    assert page["pagination"]["total_items"] == 1


async def test_the_log_is_read_newest_first_in_pages_and_by_who_what_and_to_whom(registry: TestRegistry):
    one, two = [await registry.administrator("admin_platform") for _ in range(2)]
    for who, event_type in ((one, "TokensStaked"), (two, "TokensStaked"), (two, "TokensUnstaked")):
        assert (await change_policy(who, event_type, skip_in_projection=True)).status_code == 200
    everything = (await log_of(one))["items"]
    assert [logged["id"] for logged in everything] == sorted(
        (logged["id"] for logged in everything), reverse=True
    )
    assert (await log_of(one, limit=1, offset=1))["items"] == everything[1:2]
    theirs = everything[0]["developer_id"]
    assert (await log_of(one, developer_id=theirs))["items"] == everything[:2]
    assert (await log_of(one, subject="TokensStaked"))["items"] == everything[1:]
    assert (await log_of(one, act="something.else"))["items"] == []


async def test_what_the_operator_does_by_hand_is_logged_without_a_developer(registry: TestRegistry):
    admin = await registry.administrator("admin_platform")
    await registry.database.transaction(
        lambda tx: record_operator_act(tx, act="units.mint", subject="tx-1", reason="For tests.")
    )
    (logged,) = (await log_of(admin))["items"]
    assert (logged["developer_id"], logged["developer_name"], logged["credential"]) == (
        *(None, None),
        "command line",
    )
    assert (logged["act"], logged["reason"]) == ("units.mint", "For tests.")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE plumbing_admin_act SET reason = 'never'",
        "DELETE FROM plumbing_admin_act",
        "DELETE FROM plumbing_admin_act WHERE false",
        "TRUNCATE plumbing_admin_act",
    ],
)
async def test_nothing_in_the_log_is_ever_changed_or_deleted(registry: TestRegistry, change: str):
    admin = await registry.administrator("admin_platform")
    await change_policy(admin, "TokensStaked", skip_in_projection=True)
    before = await log_of(admin)
    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="append-only"):
        await registry.database.transaction(lambda tx: tx.execute(change))
    assert await log_of(admin) == before


async def test_only_administrators_of_the_platform_read_the_log(registry: TestRegistry):
    other, developer = await registry.administrator("admin_support"), await registry.developer()
    for who in (other, developer):
        assert (await registry.get(LOG, headers=who.headers)).status_code == 403
    assert (await registry.get(LOG)).status_code == 401
