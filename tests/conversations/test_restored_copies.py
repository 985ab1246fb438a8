"""A copy of the database in another cluster, whose transaction ids begin anew, loses nothing that readers follow."""

from dataclasses import replace
from pathlib import Path

import pytest

from hansa.rooms.journal.projection.snapshot import projected_balances
from hansa.rooms.journal.reading import seal, unseal
from tests.registry import DatabaseFarm, TestRegistry, open_registry

PATH = "/admin/projection-snapshot"
AHEAD = 5_000_000
"""So far the transactions of the former cluster were ahead of those of this one."""

MOVE_TO_ANOTHER_CLUSTER = f"""
UPDATE plumbing_cluster SET system_identifier = system_identifier + 1;
ALTER TABLE journal_event DISABLE TRIGGER USER;
UPDATE journal_event SET xid = xid + {AHEAD};
UPDATE journal_event SET data = jsonb_set(data, '{{position}}', '"{AHEAD}:{AHEAD}:"')
  WHERE event_type = 'ProjectionSnapshot';
ALTER TABLE journal_event ENABLE TRIGGER USER;
ALTER TABLE catalogue_card DISABLE TRIGGER USER;
UPDATE catalogue_card SET changed_xid = changed_xid + {AHEAD}, search_xid = search_xid + {AHEAD};
ALTER TABLE catalogue_card ENABLE TRIGGER USER;
UPDATE journal_reactor SET xid = xid + {AHEAD};
UPDATE journal_counted SET before_xid = before_xid + {AHEAD};
UPDATE journal_volume_counted SET before_xid = before_xid + {AHEAD} WHERE before_xid > 0;
"""


async def move_to_another_cluster(registry: TestRegistry) -> None:
    """Leave the database as a dump and restore would in a cluster that has run few transactions."""
    await registry.database.transaction(lambda tx: tx.execute(MOVE_TO_ANOTHER_CLUSTER))


async def in_the_book(registry: TestRegistry) -> dict[tuple[str, str], int]:
    rows = await registry.database.read(lambda tx: tx.fetch("SELECT did, liquid, staked FROM ledger_account"))
    both = {(row["did"], bucket): row[bucket] for row in rows for bucket in ("liquid", "staked")}
    return {key: amount for key, amount in both.items() if amount}


async def projected(registry: TestRegistry) -> dict[tuple[str, str], int]:
    async def read(tx):
        return {(held.account, held.bucket): held.amount async for held in projected_balances(tx)}

    return await registry.database.read(read)


@pytest.fixture
async def dsn(database_farm: DatabaseFarm) -> str:
    return await database_farm.fresh()


async def test_projections_agree_with_the_balances_after_a_dump_and_restore_and_a_difference_is_still_found(
    dsn: str, tmp_path: Path
):
    async with open_registry(dsn, tmp_path, enable_projection_snapshots=True) as registry:
        administrator = await registry.administrator("admin_platform")
        one, other = await registry.agent(), await registry.agent()
        await one.transfer(other, "3")
        assert (await registry.post(PATH, headers=administrator.headers)).status_code == 200
        await move_to_another_cluster(registry)
    async with open_registry(dsn, tmp_path, enable_projection_snapshots=True) as registry:
        one, other = replace(one, registry=registry), replace(other, registry=registry)
        assert (await one.transfer(other, "2")).status_code == 200
        for _ in range(2):
            assert await projected(registry) == await in_the_book(registry)
            answer = await registry.post(PATH, headers=administrator.headers)
            assert answer.status_code == 200, answer.text
            assert (await one.transfer(other, "1")).status_code == 200
        assert await projected(registry) == await in_the_book(registry)
        await registry.database.transaction(
            lambda tx: tx.execute("UPDATE ledger_account SET liquid = liquid + 1 WHERE did = $1", one.did)
        )
        answer = await registry.post(PATH, headers=administrator.headers)
        assert answer.json()["error"]["code"] == "PROJECTION_DIVERGES"
        assert answer.json()["error"]["context"]["account"] == one.did


async def test_a_reader_that_follows_events_goes_on_with_its_cursor_after_a_dump_and_restore(
    dsn: str, tmp_path: Path
):
    async with open_registry(dsn, tmp_path) as registry:
        developer = await registry.developer()
        await developer.agent()
        page = (await registry.get("/events/?limit=500", headers=registry.internal)).json()
        seen = {event["id"] for event in page["items"]}
        await move_to_another_cluster(registry)
    async with open_registry(dsn, tmp_path) as registry:
        agent = await replace(developer, registry=registry).agent()
        xid, sequence = unseal(page["position"], 2)
        path = f"/events/?limit=500&next={seal(xid + AHEAD, sequence)}"
        new = (await registry.get(path, headers=registry.internal)).json()["items"]
        assert agent.did in {event["aggregate_id"] for event in new}
        assert not seen & {event["id"] for event in new}


async def test_positions_rise_across_clusters_and_stay_as_they_are_in_one(dsn: str, tmp_path: Path):
    async def present(registry: TestRegistry) -> tuple[int, int]:
        row = await registry.database.transaction(
            lambda tx: tx.fetchrow(
                "SELECT plumbing_position() AS position, plumbing_position_shift() AS shift"
            )
        )
        return row["position"], row["shift"]

    async with open_registry(dsn, tmp_path) as registry:
        assert (await present(registry))[1] == 0
        await move_to_another_cluster(registry)
    async with open_registry(dsn, tmp_path) as registry:
        first, shift = await present(registry)
        assert first > AHEAD
    async with open_registry(dsn, tmp_path) as registry:
        second, same = await present(registry)
        assert second > first
        assert same == shift
        await registry.database.transaction(
            lambda tx: tx.execute("UPDATE plumbing_cluster SET system_identifier = system_identifier + 1")
        )
    async with open_registry(dsn, tmp_path) as registry:
        third, _ = await present(registry)
        assert third > second


async def test_reactors_and_the_audit_go_on_after_a_dump_and_restore(dsn: str, tmp_path: Path):
    async with open_registry(dsn, tmp_path) as registry:
        developer = await registry.developer()
        await developer.agent()
        await move_to_another_cluster(registry)
    async with open_registry(dsn, tmp_path) as registry:
        await replace(developer, registry=registry).agent()
        behind = await registry.database.query(
            lambda tx: tx.fetchval(
                "SELECT count(*) FROM journal_reactor WHERE xid > (SELECT max(xid) FROM journal_event)"
            )
        )
        assert behind == 0, "a reactor that stands beyond the newest event misses the next ones"
        assert (await registry.get("/public/supply-invariant")).json()["status"] == "OK"
