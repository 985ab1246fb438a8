"""A probe of the database whose callers have gone leaves nothing in the log."""

import asyncio
import gc
import logging

import pytest

from hansa.foundation.plumbing.process import write_probe
from hansa.foundation.plumbing.process.write_probe import WriteProbe
from hansa.foundation.plumbing.storage.database import Database
from tests.registry import DatabaseFarm


async def test_a_probe_that_fails_after_its_caller_has_gone_writes_no_traceback(
    database_farm: DatabaseFarm, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(write_probe, "ANSWER_SECONDS", 0.1)
    database = Database(await database_farm.fresh(), pool_size=1)
    await database.open()
    probe = WriteProbe(database)
    async with database.pinned():
        calling = asyncio.create_task(probe.require())
        await asyncio.sleep(0)
        calling.cancel()
        assert probe._probing is not None
        await asyncio.wait([calling, probe._probing])
    await database.close()
    assert calling.cancelled()
    caplog.set_level(logging.DEBUG)
    probe._probing = None
    gc.collect()
    assert caplog.records == []
