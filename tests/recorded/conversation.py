"""The recorded conversation: requests over the whole API in one order, and the journal that they leave."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.all_events import ALL_EVENTS
from tests.recorded.accounts import record_accounts
from tests.recorded.cards import record_cards, record_onboarding
from tests.recorded.enforcement import record_administration, record_enforcement
from tests.recorded.journal import record_journal
from tests.recorded.parties import gather_parties
from tests.recorded.recorder import Recorder
from tests.recorded.refusals import record_public, record_refusals
from tests.recorded.rights import record_rights
from tests.recorded.staking import record_staking
from tests.recorded.transfers import record_statements, record_transfers
from tests.registry import TestRegistry, open_registry

DIRECTORY = Path(__file__).parent
CONVERSATION, EVENTS = DIRECTORY / "conversation.jsonl", DIRECTORY / "events.jsonl"
PARTS = (
    record_public,
    record_transfers,
    record_staking,
    record_rights,
    record_cards,
    record_onboarding,
    record_accounts,
    record_enforcement,
    record_administration,
    record_statements,
    record_journal,
    record_refusals,
)

_JOURNAL = f"""
SELECT seq, event_type, aggregate_type, aggregate_id, data::text AS data, metadata::text AS metadata, version,
  source_service, idempotency_key
FROM {ALL_EVENTS} e ORDER BY seq
"""


@asynccontextmanager
async def registry_to_record(dsn: str, directory: Path) -> AsyncIterator[TestRegistry]:
    """A registry with the settings of the record, on a fresh database."""
    settings = {
        "public_base_url": "https://registry.example.org",
        "enable_projection_snapshots": True,
        "staking_rewards_enabled": True,
        "staking_min_stake_amount": "0.01",
        "internal_api_key": "internal-key-of-the-recorded-conversation",
        # No request is refused for its frequency.
        "rate_limit_reads": 0,
    }
    async with open_registry(dsn, directory, **settings) as registry:
        yield registry


async def hold_conversation(registry: TestRegistry) -> tuple[list[str], list[str]]:
    """Send every request; returns the lines of the conversation and of the journal."""
    record = Recorder(registry)
    parties = await gather_parties(record)
    for part in PARTS:
        await part(record, parties)
    rows = await registry.database.read(lambda tx: tx.fetch(_JOURNAL))
    events = [
        record.placeholders.replace(
            {**dict(row), "data": json.loads(row["data"]), "metadata": json.loads(row["metadata"])}
        )
        for row in rows
    ]
    return [_line(line) for line in record.lines], [_line(event) for event in events]


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
