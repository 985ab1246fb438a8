"""`hansa demo URL` never fails on a sound registry: run after run against one that serves with one worker, and with two."""

import json

import asyncpg
import pytest

from tests.operation.conftest import Launch
from tests.operation.registry_process import run
from tests.properties.scale import TIER, by_tier

RUNS = by_tier(0, 100, 100)

if TIER:

    @pytest.mark.timeout(0)
    @pytest.mark.parametrize("workers", [1, 2])
    async def test_the_demo_succeeds_each_time_and_removes_what_it_made(operated: Launch, workers: int):
        registry = operated(workers=workers)
        await registry.start()
        connection = await asyncpg.connect(await registry.database())
        for number in range(RUNS):
            # One address may register five developers in a minute; the demo itself would wait for the next one.
            await connection.execute("DELETE FROM plumbing_rate_limit")
            ended = await run("demo", registry.url, "--remove", "--json", data_dir=registry.data_dir)
            assert (ended.code, ended.complaint) == (0, ""), (number, ended)
            report = json.loads(ended.output)
            assert report["transfers"] + report["refused"] == 200, number
            assert (report["payments"], len(report["removed"]["agents"])) == (3, 5), number
            assert (report["supply"]["status"], report["supply"]["delta"]) == ("OK", "0"), number
        await connection.close()
        ended = await registry.stop()
        assert ended.code == 0, ended
