"""Two processes on one database change the fee at one moment: each transfer pays the rate in force when its transaction began.

One is restarted between two changes, and paused over the moment of another.
"""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from random import SystemRandom

import asyncpg
import httpx2
import pytest

from hansa.foundation.plumbing.settings import Settings, read_settings
from hansa.foundation.plumbing.storage.database import Database
from hansa.foundation.plumbing.storage.embedded import EmbeddedPostgres
from hansa.foundation.values.money import share
from tests.data_directories import copy_data_directory
from tests.governed_values import scheduled, shorten_lead
from tests.operation.conftest import Launch
from tests.operation.history import History
from tests.operation.registry_process import RegistryProcess, free_port, until_async
from tests.operation.storm import Storm

SEED = int(os.environ.get("HANSA_TEST_SEED", SystemRandom().randrange(2**32)))
FEE = "fee_base_rate_percent"
LEAD_SECONDS = 3.0
ENOUGH = 30
AGENTS, CLIENTS = 4, 6
TRANSFERS = """
SELECT t.amount, t.fee, t.recorded_at, payer.did AS payer FROM ledger_transaction t
JOIN ledger_account payer ON payer.id = t.payer_id WHERE t.tx_type = 'transfer' ORDER BY t.id
"""


@pytest.fixture
async def server(tmp_path: Path, migrated_data: Path) -> AsyncIterator[str]:
    copy_data_directory(migrated_data, tmp_path / "server")
    postgres = EmbeddedPostgres(tmp_path / "server")
    yield await postgres.start()
    await postgres.stop()


@pytest.fixture
async def database(server: str) -> AsyncIterator[Database]:
    database = Database(server, pool_size=2)
    await database.open()
    yield database
    await database.close()


async def transfers(database: Database) -> list[asyncpg.Record]:
    return await database.query(lambda tx: tx.fetch(TRANSFERS))


async def since(database: Database, moment: datetime, storm: Storm) -> int:
    """Return the number of transfers of the agents of a storm that began at or after a moment."""
    found = await transfers(database)
    return sum(row["recorded_at"] >= moment and row["payer"] in storm.payers for row in found)


async def paid_by_both(database: Database, moment: datetime, *storms: Storm) -> None:
    """Wait until enough transfers of each storm began after a moment."""

    async def are_enough() -> bool:
        return min([await since(database, moment, storm) for storm in storms]) >= ENOUGH

    await until_async(are_enough)


async def change(database: Database, settings: Settings, old: str, new: str) -> datetime:
    return await scheduled(database, settings, {FEE: (old, new)}, f"proposal:{new}")


async def test_no_transfer_has_another_fee_than_that_of_its_moment(
    operated: Launch, server: str, database: Database, tmp_path: Path
):
    ports = [free_port(), free_port()]
    one, two = (
        operated(f"number{number}", port=port, DATABASE_URL=server, TRUSTED_PROXIES="127.0.0.1")
        for number, port in enumerate(ports)
    )
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    for registry in (one, two):
        registry.data_dir.mkdir(mode=0o700)
        (registry.data_dir / "keys").symlink_to(keys)
    # The first start applies the files of the functions; the lead is shorter from then on.
    await one.start()
    await one.stop()
    await shorten_lead(database, LEAD_SECONDS)
    await asyncio.gather(one.start(), two.start())
    settings = read_settings(data_dir=tmp_path, database_url=server)
    histories = [History(tmp_path / f"{number}.jsonl") for number in range(2)]
    storms = [
        Storm(
            registry.url,
            histories[number],
            SEED,
            clients=CLIENTS,
            agents=AGENTS,
            first=number * 10**6,
        )
        for number, registry in enumerate((one, two))
    ]
    try:
        changes = await _storm_through_changes(database, settings, one, two, storms)
    finally:
        for storm, history in zip(storms, histories, strict=True):
            await storm.close()
            history.close()
    await _judge(database, changes)
    async with httpx2.AsyncClient(base_url=one.url, trust_env=False, timeout=60) as http:
        # The auditor recomputes every balance, that of the fee collector too, from the journal.
        supply = (await http.get("/api/v1/public/supply-invariant")).json()
        assert supply["status"] == "OK", supply

        async def is_stated() -> bool:
            card = (await http.get("/.well-known/registry-card.json")).json()
            return card["fees"]["intra_registry"]["base_rate_percent"] == 0.25

        await until_async(is_stated)


async def _storm_through_changes(
    database: Database, settings: Settings, one: RegistryProcess, two: RegistryProcess, storms: list[Storm]
) -> list[tuple[datetime, str]]:
    await asyncio.gather(*(storm.gather() for storm in storms))
    for storm in storms:
        storm.rage()
    changes = [(await change(database, settings, "0.5", "2"), "2")]
    await paid_by_both(database, changes[-1][0], *storms)
    # A restart between two changes.
    await one.stop()
    await one.start()
    changes.append((await change(database, settings, "2", "1"), "1"))
    await paid_by_both(database, changes[-1][0], *storms)
    # One process is paused before the decision, and resumed after the moment.
    two.send_signal(signal.SIGSTOP)
    changes.append((await change(database, settings, "1", "0.25"), "0.25"))
    await paid_by_both(database, changes[-1][0], storms[0])
    two.send_signal(signal.SIGCONT)
    await paid_by_both(database, changes[-1][0], *storms)
    for storm in storms:
        await storm.calm()
    return changes


async def _judge(database: Database, changes: list[tuple[datetime, str]]) -> None:
    """Compare each fee with that of the moment at which its transaction began."""

    def rate(at: datetime) -> str:
        return next((new for moment, new in reversed(changes) if moment <= at), "0.5")

    found = await transfers(database)
    wrong = [
        dict(row)
        for row in found
        if row["fee"] != share(row["amount"], Fraction(rate(row["recorded_at"])) / 100)
    ]
    assert wrong == [], changes
    assert min(Counter(rate(row["recorded_at"]) for row in found).values()) >= ENOUGH
