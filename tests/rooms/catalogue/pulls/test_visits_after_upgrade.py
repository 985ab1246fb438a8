"""Visits that an older version had planned are made by the jobs of this one."""

from pathlib import Path

import pytest

from hansa.foundation.plumbing.database import Database
from hansa.foundation.plumbing.migrate import migrate
from hansa.rooms.catalogue.pulls import CARD_PULLS, HEALTH_CHECKS
from tests.operation.own_database import own_database

BEFORE = "0051"

_CARDS = """
INSERT INTO catalogue_card (uuid, did, developer_id, human_readable_id, name, description, card_data, card_bytes, host,
  is_stub, settlement_currency, trust_domain, name_text, description_text, tags_text, skills_text)
SELECT gen_random_uuid(), 'did:hansa:hansa.local:' || n, 1, 'a/' || n, 'a', '', '{}', 1, 'https://a' || n || '.example.org',
  true, 'AVT', 'x.local', '', '', '', '' FROM generate_series(1, 3) n
"""

_STATE = """
UPDATE catalogue_visit SET due_at = now() + card_id * interval '1 day', failures = card_id - 1,
  lease = CASE WHEN card_id = 2 THEN gen_random_uuid() END
"""


@pytest.mark.parametrize("kind", [CARD_PULLS, HEALTH_CHECKS], ids=lambda kind: kind.name)
async def test_planned_visits_keep_their_time_host_and_priority(postgres: str, tmp_path: Path, kind):
    async with own_database(postgres) as dsn:
        await migrate(dsn, BEFORE)
        database = Database(dsn, pool_size=1)
        await database.open()
        await database.act(lambda tx: tx.execute(_CARDS))
        await database.act(lambda tx: tx.execute(_STATE))
        planned = await database.look(
            lambda tx: tx.fetch(
                "SELECT card_id::text, place, due_at, failures > 0 FROM catalogue_visit WHERE errand = $1 ORDER BY due_at",
                "pull" if kind is CARD_PULLS else "liveness",
            )
        )
        await database.close()
        await migrate(dsn)
        database = Database(dsn, pool_size=1)
        await database.open()
        rows = await database.look(
            lambda tx: tx.fetch(
                "SELECT key, concurrency_key, due_at, low_priority FROM plumbing_job"
                " WHERE kind = $1 AND lease_until IS NULL AND attempts = 0 ORDER BY due_at",
                kind.name,
            )
        )
        await database.close()
    assert [tuple(row) for row in rows] == [tuple(row) for row in planned]
    assert [row["low_priority"] for row in rows] == [False, True, True]
