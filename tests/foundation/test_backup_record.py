"""Record of the newest backup in the database, and its age in the metrics."""

import re
from datetime import timedelta

from hansa.foundation.plumbing.descriptor import PLUMBING
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.backup_record import (
    BackupRecord,
    read_backup_record,
    record_backup,
    record_failed_backup,
)
from tests.registry import TestRegistry


async def read(registry: TestRegistry) -> BackupRecord:
    record = await registry.database.query(read_backup_record)
    assert record is not None
    return record


async def test_a_backup_that_began_earlier_and_ends_later_does_not_replace_the_newest(registry: TestRegistry):
    now = await registry.database.query(clock.now)
    for taken_at in (now - timedelta(hours=2), now - timedelta(hours=3)):
        await registry.database.transaction(lambda tx, taken_at=taken_at: record_backup(tx, taken_at))
    assert (await read(registry)).taken_at == now - timedelta(hours=2)


async def test_a_failed_attempt_leaves_the_newest_backup_and_states_its_reason(registry: TestRegistry):
    now = await registry.database.query(clock.now)
    await registry.database.transaction(lambda tx: record_backup(tx, now))
    await registry.database.transaction(lambda tx: record_failed_backup(tx, "x" * 1000))
    record = await read(registry)
    assert (record.taken_at, record.last_failed, record.failure) == (now, True, "x" * 500)


async def test_the_metrics_have_the_age_of_the_newest_backup(registry: TestRegistry):
    [show_age] = [one for one in PLUMBING.rounds if one.name.startswith("backup: ")]
    now = await registry.database.query(clock.now)
    await registry.database.transaction(lambda tx: record_backup(tx, now - timedelta(hours=5)))
    await show_age.work(registry.runtime)
    shown = await registry.http.get("/metrics")
    [age] = re.findall(r"^hansa_backup_age_seconds ([0-9.e+]+)$", shown.text, re.MULTILINE)
    assert float(age) >= 5 * 3600
